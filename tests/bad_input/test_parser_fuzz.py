"""Everything that reads text or data from outside, fed with what hypothesis thinks of.

A reader returns, or raises the one error it documents. Few examples in `make test`, many in
`make soak`.
"""

import asyncio
import base64
import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from judging import Asker, asker

from allaboard.api import quantity, selectors, times, yaml_text
from allaboard.api.codec import Malformed, read_json, write_json
from allaboard.api.errors import ApiError
from allaboard.client.credentials import CredentialError
from allaboard.client.kubeconfig import load_kubeconfig
from allaboard.clock import system_clock
from allaboard.cluster.kubelet.stages import PREFIX, completion_index, read_stages
from allaboard.cluster.patching.apply import apply
from allaboard.cluster.patching.json_patch import apply_json_patch
from allaboard.cluster.patching.managed import Manager
from allaboard.cluster.patching.merge_patch import apply_merge_patch
from allaboard.cluster.patching.strategic import apply_strategic_patch
from allaboard.cluster.schema.builtin import schema_of
from allaboard.cluster.schema.decode import DecodeError, decode
from allaboard.cluster.server.auth import Authenticator
from allaboard.cluster.server.exchange import User
from allaboard.cluster.server.http import gunzip, parse_query
from allaboard.cluster.server.protobuf import read_protobuf
from allaboard.cluster.server.verbs.lists import decode_token
from allaboard.sim.script import ScriptError, read_script

FEW, MANY = 100, 10_000
POD = schema_of("", "v1", "Pod")
STORED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "labels": {"a": "b"},
        "finalizers": ["a/b"],
        "managedFields": [
            {
                "manager": "m",
                "operation": "Update",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}},
            }
        ],
    },
    "spec": {
        "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1}]}],
        "tolerations": [{"key": "a"}],
        "nodeSelector": {"a": "b"},
    },
}

WORDS = st.sampled_from(
    [
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
        "name",
        "namespace",
        "labels",
        "annotations",
        "containers",
        "image",
        "v1",
        "Pod",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "delete",
        "merge",
        "replace",
        "-",
        "0",
        "a",
        "b",
        "c",
        "key",
        "effect",
        "ports",
        "env",
        "finalizers",
        "tolerations",
        "nodeSelector",
        "managedFields",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(WORDS, DATA, max_size=6)
POINTERS = st.lists(WORDS | st.text(max_size=4), max_size=5).map(lambda p: "/" + "/".join(p))
OPERATIONS = st.lists(
    DATA
    | st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"])},
        optional={"path": POINTERS, "from": POINTERS, "value": DATA},
    ),
    max_size=6,
)
GRAMMAR = st.lists(
    st.sampled_from(list("!=,()<> \\\"'\x00ä")) | st.sampled_from(["in", "notin", "a", "x/y", "1"]),
    max_size=12,
).map("".join)
NUMBERS = st.lists(st.sampled_from(list("0123456789+-.eEmkKMGTPiun _")), max_size=14).map("".join)
DURATIONS = st.lists(st.sampled_from(list("0123456789.-+hmsnuµ ")), max_size=10).map("".join)
STAGES = st.dictionaries(
    st.sampled_from(
        ["start-after", "run-for", "fail-after", "fail-attempts", "exit-code", "gang", "at", "of"]
    )
    .map(lambda name: PREFIX + name)
    .flatmap(lambda key: st.sampled_from([key, key + ".3", key + ".x", key + "."])),
    DURATIONS | st.text(max_size=6),
    max_size=5,
)
CONFIGS = st.dictionaries(
    st.sampled_from(["clusters", "users", "contexts", "current-context"]),
    DATA
    | st.lists(
        st.dictionaries(
            st.sampled_from(["name", "cluster", "user", "context", "server", "exec", "token"]),
            DATA
            | st.dictionaries(
                st.sampled_from(
                    [
                        "server",
                        "certificate-authority-data",
                        "token",
                        "exec",
                        "client-key-data",
                        "cluster",
                        "user",
                        "insecure-skip-tls-verify",
                        "proxy-url",
                        "tls-server-name",
                        "command",
                        "args",
                        "env",
                        "as",
                        "as-groups",
                        "as-user-extra",
                        "auth-provider",
                        "username",
                        "password",
                    ]
                ),
                DATA,
                max_size=4,
            ),
            max_size=4,
        ),
        max_size=3,
    ),
)
SELECTORS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
        "matchExpressions": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "key": st.text(max_size=5),
                    "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt"])
                    | st.text(max_size=4),
                    "values": st.lists(st.text(max_size=4), max_size=3),
                },
            ),
            max_size=3,
        ),
    },
)


def no_numbers_beyond_json(value: Any) -> Any:
    """Floats that JSON can hold; what arrives over the wire never holds others."""
    if isinstance(value, float) and value - value != 0:
        return 0.5
    if isinstance(value, dict):
        return {k: no_numbers_beyond_json(v) for k, v in value.items()}
    return [no_numbers_beyond_json(v) for v in value] if isinstance(value, list) else value


JSON_DATA = DATA.map(no_numbers_beyond_json)
JSON_OBJECTS = OBJECTS.map(no_numbers_beyond_json)
JSON_OPERATIONS = OPERATIONS.map(no_numbers_beyond_json)


def unchanged(change: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A patch, after which the stored document must be what it was."""

    def run(patch: Any) -> None:
        document, given_patch = copy.deepcopy(STORED), copy.deepcopy(patch)
        try:
            write_json(change(document, patch))
        finally:
            assert document == STORED, "the stored object was changed"
            assert patch == given_patch, "the patch was changed"

    return run


def connect_by(data: Any, folder: Path) -> None:
    path = folder / "kubeconfig"
    path.write_bytes(msgspec.json.encode(data))
    config = load_kubeconfig([path])
    for name in ["", *config.contexts]:
        config.connection(system_clock(), name)


def script_of(documents: Any) -> None:
    read_script([(f"document {n}", d) for n, d in enumerate(documents)])


@dataclass(frozen=True)
class Reader:
    strategy: st.SearchStrategy[Any]
    read: Callable[[Any], Any]
    documented: tuple[type[Exception], ...] = (ApiError,)


MANAGER = Manager("m", "Apply", "v1")
KNOWN = Authenticator({"t": User("u")})
READERS: dict[str, Reader] = {
    "quantity": Reader(NUMBERS | SCALARS, quantity.parse, (quantity.QuantityError,)),
    "canonical quantity": Reader(NUMBERS | SCALARS, quantity.canonical, (ValueError,)),
    "milli quantity": Reader(NUMBERS, quantity.canonical_milli, (ValueError,)),
    "duration": Reader(DURATIONS | st.text(), times.parse_duration, (ValueError,)),
    "time": Reader(
        st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]{0,18}[Z+-]?[0-9:]{0,6}")
        | st.text(),
        times.parse_time,
        (times.TimeError,),
    ),
    "label selector": Reader(
        GRAMMAR | st.text(), selectors.parse_label_selector, (selectors.SelectorError,)
    ),
    "field selector": Reader(
        GRAMMAR | st.text(), selectors.parse_field_selector, (selectors.SelectorError,)
    ),
    "selector object": Reader(SELECTORS, selectors.selector_of, (selectors.SelectorError,)),
    "JSON": Reader(
        st.binary() | st.text().map(str.encode) | JSON_DATA.map(msgspec.json.encode),
        lambda raw: write_json(read_json(raw, doubles=True, max_values=50)),
        (Malformed,),
    ),
    "YAML": Reader(
        st.binary() | st.text() | GRAMMAR | DATA.map(repr), yaml_text.read_documents, (Malformed,)
    ),
    "continue token": Reader(
        st.text() | st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode())
        | JSON_DATA.map(lambda d: base64.urlsafe_b64encode(msgspec.json.encode(d)).decode())
        | st.fixed_dictionaries({"v": SCALARS, "rv": SCALARS, "start": SCALARS}).map(
            lambda d: base64.urlsafe_b64encode(json.dumps(d).encode()).decode()
        ),
        lambda text: decode_token(text, "ns"),
    ),
    "authorization": Reader(
        st.dictionaries(
            st.sampled_from(
                [
                    "authorization", "impersonate-user", "impersonate-group", "impersonate-uid",
                    "impersonate-extra-x",
                ]
            ),
            st.text() | st.sampled_from(["Bearer t", "Bearer", "Basic t"]),
        ),
        lambda headers: KNOWN.user_of(headers, None, "/api"),
    ),
    "query": Reader(st.text() | GRAMMAR, parse_query),
    "gzip": Reader(st.binary(), lambda raw: gunzip(raw, 1000)),
    "protobuf": Reader(
        st.binary().map(lambda raw: b"k8s\x00" + raw)
        | st.binary().map(
            lambda raw: b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12"
            + bytes([min(len(raw), 127)]) + raw[:127]
        ),
        read_protobuf,
    ),
    "decoding": Reader(JSON_OBJECTS, lambda d: write_json(decode(POD, d).data), (DecodeError,)),
    "JSON patch": Reader(JSON_OPERATIONS | JSON_DATA, unchanged(apply_json_patch)),
    "merge patch": Reader(JSON_DATA, unchanged(apply_merge_patch)),
    "strategic merge": Reader(
        JSON_DATA, unchanged(lambda doc, patch: apply_strategic_patch(doc, patch, POD))
    ),
    "apply": Reader(
        JSON_OBJECTS,
        unchanged(lambda doc, config: apply(doc, config, POD, MANAGER, 0.0, True)),
    ),
    "stages": Reader(
        STAGES, lambda a: (read_stages(a, None), read_stages(a, 3), completion_index(a)), ()
    ),
    "script": Reader(
        st.lists(
            DATA
            | st.fixed_dictionaries(
                {
                    "kind": SCALARS,
                    "metadata": st.fixed_dictionaries(
                        {"name": SCALARS, "annotations": STAGES | DATA}
                    ),
                },
                optional={"spec": DATA, "apiVersion": SCALARS, "items": DATA},
            ),
            max_size=3,
        ),
        script_of,
        (ScriptError,),
    ),
}  # fmt: skip
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]


def try_reader(name: str, value: Any) -> None:
    reader = READERS[name]
    try:
        reader.read(value)
    except reader.documented:
        pass


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=FEW, deadline=None, suppress_health_check=QUIET, derandomize=True)
@given(data=st.data())
def test_readers_return_or_refuse(name: str, data: st.DataObject) -> None:
    try_reader(name, data.draw(READERS[name].strategy))


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
@settings(max_examples=MANY, deadline=None, suppress_health_check=QUIET)
@given(data=st.data())
def test_readers_return_or_refuse_at_length(name: str, data: st.DataObject) -> None:
    try_reader(name, data.draw(READERS[name].strategy))


@settings(max_examples=FEW, deadline=None, suppress_health_check=QUIET, derandomize=True)
@given(data=CONFIGS | DATA)
def test_kubeconfigs_connect_or_say_why_not(data: Any, tmp_path_factory: Any) -> None:
    try:
        encoded = msgspec.json.encode(data)
    except (OverflowError, UnicodeEncodeError):
        assume(False)
    del encoded
    try:
        connect_by(data, tmp_path_factory.getbasetemp())
    except CredentialError:
        pass


# --- the same through the server -----------------------------------------------------------------


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[..., Any]]:
    loop = asyncio.new_event_loop()
    manager = asker()
    it: Asker = loop.run_until_complete(manager.__aenter__())
    yield lambda *args, **more: (it, loop.run_until_complete(it.send(*args, **more)))
    loop.run_until_complete(manager.__aexit__(None, None, None))
    loop.close()


PARAMETERS = st.dictionaries(
    st.sampled_from(
        [
            "limit",
            "continue",
            "resourceVersion",
            "resourceVersionMatch",
            "labelSelector",
            "fieldSelector",
            "timeout",
            "timeoutSeconds",
            "watch",
            "allowWatchBookmarks",
            "sendInitialEvents",
            "dryRun",
            "fieldManager",
            "pretty",
            "fieldValidation",
            "propagationPolicy",
            "gracePeriodSeconds",
            "orphanDependents",
            "force",
        ]
    ),
    st.text(max_size=10) | GRAMMAR | NUMBERS | st.sampled_from(["0", "1", "true", "Exact", "All"]),
    min_size=1,
    max_size=5,
)
TARGETS = st.sampled_from(
    [
        "/api/v1/namespaces/ns/configmaps", "/api/v1/pods", "/api/v1/namespaces/ns/configmaps/x",
        "/apis/bad.example.com/v1/namespaces/ns/things", "/apis/batch/v1/jobs", "/api/v1/events",
    ]
)  # fmt: skip
ACCEPTS = st.sampled_from(["", "application/json", "x", "*/*;q=2", "application/json;as=Table"])


def try_request(ask: Callable[..., Any], data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(["GET", "GET", "POST", "PUT", "PATCH", "DELETE"]))
    path, query = data.draw(TARGETS), data.draw(PARAMETERS)
    if query.get("timeout") or query.get("resourceVersion", "").isdigit():
        query.pop("resourceVersion", None)  # those of the future are waited for, which is tested
    body = data.draw(st.binary(max_size=20) | JSON_DATA.map(msgspec.json.encode))
    how = data.draw(
        st.sampled_from(["application/json", "application/merge-patch+json", "application/yaml"])
        | st.sampled_from(["application/json-patch+json", "application/apply-patch+yaml", "x/y"])
    )
    it, answer = ask(method, path, body if method != "GET" else b"", query, how)
    it.check(f"{method} {path} {query} {body!r} {how}", answer, len(body))
    faults, it.faults = it.faults, []
    assert not faults, faults


@settings(max_examples=4 * FEW, deadline=None, suppress_health_check=QUIET, derandomize=True)
@given(data=st.data())
def test_odd_requests_are_answered(ask: Callable[..., Any], data: st.DataObject) -> None:
    try_request(ask, data)


@pytest.mark.soak
@settings(max_examples=2 * MANY, deadline=None, suppress_health_check=QUIET)
@given(data=st.data())
def test_many_odd_requests_are_answered(ask: Callable[..., Any], data: st.DataObject) -> None:
    try_request(ask, data)
