"""Small requests that would like to be large: bodies, nesting, aliases, copies, patches.

Each is sent to a server in a process of its own, several times. It answers 4xx with a Status, soon,
and its memory does not grow by more than 50 MB.
"""

import gzip
import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from child_server import Child, child
from good_manifests import GROUP, definition

MiB = 1024 * 1024
MOST_MB = 50.0
LIMIT_S = 5.0  # of real time, on a machine that has other things to do
CONFIGMAPS = "/api/v1/namespaces/ns/configmaps"
PODS = "/api/v1/namespaces/ns/pods"
YAML = {"Content-Type": "application/yaml"}
PROTOBUF = {"Content-Type": "application/vnd.kubernetes.protobuf"}
GZIP = {"Content-Encoding": "gzip"}
ROOM = 3 * MiB - 4096

pytestmark = pytest.mark.xdist_group("bad-input-child")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    with child(Path(tmp_path_factory.mktemp("child"))) as it:
        for method, path, body in (
            ("POST", CONFIGMAPS, {"metadata": {"name": "there"}, "data": {"k": "v" * 100_000}}),
            ("POST", "/api/v1/namespaces/ns/serviceaccounts", {"metadata": {"name": "default"}}),
        ):
            assert it.call(method, path, body)[0] == 201
        it.call("POST", CONFIGMAPS, _full(b'{"metadata":{"name":"w","x":"', b"x", b'"}}'))
        yield it


def _full(head: bytes, item: bytes, tail: bytes, between: bytes = b"") -> bytes:
    """As many items as three MiB can hold."""
    count = (ROOM - len(head) - len(tail)) // (len(item) + len(between))
    return head + between.join([item] * count) + tail


def _keys(head: bytes, value: bytes, tail: bytes) -> bytes:
    return head + b",".join(b'"%d":%s' % (n, value) for n in range(ROOM // 14)) + tail


def _laughs(levels: int, wide: int) -> bytes:
    lines = ["l0: &l0 [x]"]
    for n in range(1, levels):
        lines.append(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * wide)}]")
    return "\n".join([*lines, "metadata: {name: laugh}"]).encode()


def _merges(levels: int) -> bytes:
    lines = ["a0: &a0 {k0: 1}"]
    for n in range(1, levels):
        lines.append(f"a{n}: &a{n} {{k{n}: 1, x: *a{n - 1}, <<: [*a{n - 1}, *a{n - 1}]}}")
    return "\n".join(lines).encode()


def _gzip_of_zeros(size: int) -> bytes:
    return gzip.compress(bytes(size), compresslevel=9)


def _field(number: int, value: bytes) -> bytes:
    """One field of protobuf: tag, length, bytes."""
    length, out = len(value), b""
    while True:
        out += bytes([length & 127 | (128 if length > 127 else 0)])
        length >>= 7
        if not length:
            return bytes([number << 3 | 2]) + out + value


def _pod_in_protobuf(member: bytes) -> bytes:
    """A pod whose specification is nothing but this, as often as there is room."""
    spec = _field(2, _full(b"", member, b""))
    meta = _field(1, _field(1, b"p"))
    kind = _field(1, _field(1, b"v1") + _field(2, b"Pod"))
    return b"k8s\x00" + kind + _field(2, meta + spec)


POD = b'{"metadata":{"name":"p"},"spec":{"containers":['
NAME = b'{"metadata":{"name":"b",'
BODIES: dict[str, tuple[str, bytes, dict[str, str], int]] = {
    "a million empty containers": (PODS, _full(POD, b"{}", b"]}}", b","), {}, 400),
    "a million empty strings": (CONFIGMAPS, _full(NAME + b'"f":[', b'""', b"]}}", b","), {}, 400),
    "300,000 labels": (CONFIGMAPS, _keys(NAME + b'"labels":{', b'""', b"}}}"), {}, 400),
    "300,000 unknown fields": (CONFIGMAPS, _keys(NAME, b"1", b"}}"), {}, 400),
    "three million brackets": (CONFIGMAPS, b"[" * ROOM, {}, 400),
    "a hundred thousand levels": (CONFIGMAPS, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, {}, 400),
    "levels of lists": (CONFIGMAPS, b"[" * 100_000 + b"]" * 100_000, {}, 400),
    "a number of three million digits": (
        CONFIGMAPS, b'{"metadata":{"generation":' + b"9" * ROOM + b"}}", {}, 400,
    ),
    "an exponent": (CONFIGMAPS, b'{"metadata":{"generation":1e999999999}}', {}, 400),
    "a name of three million letters": (
        CONFIGMAPS, _full(b'{"metadata":{"name":"', b"a.", b'"}}'), {}, 422,
    ),
    "escapes": (CONFIGMAPS, _full(b'{"metadata":{"name":"', b"\\u0000", b'"}}'), {}, 422),
    "the same key a hundred thousand times": (
        CONFIGMAPS, NAME[:-1] + b"}," + b",".join([b'"x":1'] * 90_000) + b"}", {}, 201,
    ),
    "more than three MiB": (CONFIGMAPS, b" " * (3 * MiB + 1), {}, 413),
    "a gigabyte in gzip": (CONFIGMAPS, _gzip_of_zeros(1024 * MiB), GZIP, 413),
    "gzip that is none": (CONFIGMAPS, b"{}", GZIP, 400),
    "gzip cut short": (CONFIGMAPS, _gzip_of_zeros(1000)[:-6], GZIP, 400),
    "an unknown encoding": (CONFIGMAPS, b"{}", {"Content-Encoding": "br"}, 400),
    "a billion laughs": (CONFIGMAPS, _laughs(12, 10), YAML, 400),
    "many small laughs": (CONFIGMAPS, _laughs(3, 2000), YAML, 400),
    "merge keys": (CONFIGMAPS, _merges(40), YAML, 400),
    "an alias of itself": (CONFIGMAPS, b"metadata: &a {name: x, b: *a}", YAML, 400),
    "an object of Python": (
        CONFIGMAPS, b"!!python/object/apply:os.system ['true']", YAML, 400,
    ),
    "levels of YAML": (CONFIGMAPS, b"[" * 50_000, YAML, 400),
    "indented YAML": (
        CONFIGMAPS, b"".join(b" " * n + b"a:\n" for n in range(2000)), YAML, 400,
    ),
    "a million members of YAML": (CONFIGMAPS, b"a:\n" + b"- {}\n" * 600_000, YAML, 400),
    "dashes": (CONFIGMAPS, b"- " * 200_000, YAML, 400),
    "explicit keys": (CONFIGMAPS, b"? " * 20_000, YAML, 400),
    "protobuf of nothing": (PODS, b"k8s\x00" + b"\x12\x00" * MiB, PROTOBUF, 400),
    "protobuf of empty containers": (PODS, _pod_in_protobuf(b"\x12\x00"), PROTOBUF, 400),
    "protobuf of unknown fields": (PODS, _pod_in_protobuf(b"\xf8\x7f\x01"), PROTOBUF, 400),
    "protobuf that claims to be long": (
        PODS, b"k8s\x00\x12\xff\xff\xff\xff\x7f", PROTOBUF, 400,
    ),
}  # fmt: skip


def _judge(server: Child, send: Any, wanted: tuple[int, ...]) -> None:
    before = server.memory_mb()
    for _ in range(3):
        started = time.monotonic()
        status, body = send()
        took_s = time.monotonic() - started
        assert status in wanted, (status, str(body)[:500])
        if status >= 400:
            assert body["kind"] == "Status" and body["code"] == status, str(body)[:500]
            assert len(json.dumps(body)) < 256 * 1024
        assert took_s < LIMIT_S, f"took {took_s:.1f} s"
    grown = server.memory_mb() - before
    assert grown <= MOST_MB, f"grew by {grown:.0f} MB"
    assert server.is_alive()


@pytest.mark.parametrize("name", BODIES)
def test_bombs_in_bodies(server: Child, name: str) -> None:
    path, body, headers, status = BODIES[name]
    wanted = (status, 409) if status == 201 else (status,)
    _judge(server, lambda: server.call("POST", path, body, headers), wanted)


def _op(op: str, **more: Any) -> dict[str, Any]:
    return {"op": op, **more}


JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
PATCHES: dict[str, tuple[str, Any, tuple[int, ...]]] = {
    "10,001 operations": (JSON_PATCH, [_op("test", path="/kind", value="x")] * 10_001, (413,)),
    "10,000 operations": (
        JSON_PATCH, [_op("test", path="/kind", value="ConfigMap")] * 10_000, (200,),
    ),
    "copies of copies": (
        JSON_PATCH, [_op("copy", **{"from": "/data", "path": "/data/x"})] * 9_000, (400, 413, 422),
    ),
    "copies of a long text": (
        JSON_PATCH,
        [_op("copy", **{"from": "/data/k", "path": f"/data/k{n}"}) for n in range(9_000)],
        (400, 413, 422),
    ),
    "inserts at the head": (
        JSON_PATCH,
        [_op("add", path="/metadata/finalizers", value=[])]
        + [_op("add", path="/metadata/finalizers/0", value="x/y") for _ in range(9_900)],
        (200, 400, 413, 422),
    ),
    "a deep path": (JSON_PATCH, [_op("add", path="/a" * 100_000, value=1)], (400, 422)),
    "a deep value": (MERGE, b'{"data":' * 5000 + b"1" + b"}" * 5000, (400,)),
    "a million members": (MERGE, _full(b'{"x":[', b"{}", b"]}", b","), (400,)),
    "300,000 keys": (MERGE, _keys(b'{"data":{', b'"x"', b"}}"), (400,)),
    "a list of directives": (STRATEGIC, {"data": {"$patch": ["x"] * 1000}}, (400, 422)),
    "an order of many": (
        STRATEGIC, {"metadata": {"$setElementOrder/finalizers": ["a/b"] * 50_000}}, (200, 400, 422),
    ),
    "laughs": (APPLY, _laughs(12, 10), (400,)),
    "an applied million": (APPLY, _full(b'{"x":[', b"{}", b"]}", b","), (400,)),
    "applied labels": (
        APPLY,
        {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there"},
            "data": {f"k{n}": "" for n in range(40_000)},
        },
        (200,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PATCHES)
def test_bombs_in_patches(server: Child, name: str) -> None:
    how, body, wanted = PATCHES[name]
    path = f"{CONFIGMAPS}/there" + ("?fieldManager=m&force=true" if how == APPLY else "")
    headers = {"Content-Type": how}
    _judge(server, lambda: server.call("PATCH", path, body, headers), wanted)


def test_an_object_cannot_be_grown_beyond_what_could_be_sent(server: Child) -> None:
    """Each patch is small enough; the object they would make is not."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert server.call("POST", definitions, definition())[0] == 201
    things = f"/apis/{GROUP}/v1/namespaces/ns/things"
    thing = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "t"}}
    assert server.call("POST", things, thing | {"spec": {"size": 1}})[0] == 201
    path, headers = f"{things}/t", {"Content-Type": MERGE}
    for n in range(8):
        patch = {"spec": {"free": {f"k{n}": "x" * 500_000}}}
        status, body = server.call("PATCH", path, patch, headers)
        if status != 200:
            break
    assert status == 413, str(body)[:500]
    stored = server.call("GET", path)[1]
    assert len(json.dumps(stored)) < 3 * MiB


def test_a_chunked_body_is_counted_as_it_comes(server: Child) -> None:
    head = (
        f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer child-token\r\n"
        "Connection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    answer = server.raw(head + chunk * 60 + b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413") and b'"reason":"RequestEntityTooLarge"' in answer


def test_protobuf_garbage_is_refused(server: Child) -> None:
    for n in range(200):
        body = b"k8s\x00" + struct.pack("<QQ", n * 0x9E3779B97F4A7C15 % 2**64, n) * (1 + n % 7)
        status, answer = server.call("POST", PODS, body, PROTOBUF)
        assert 400 <= status < 500, (n, status, answer)
        assert answer["kind"] == "Status"
