"""Every part of a definition, of a custom resource and of a webhook configuration, spoilt in
every way: always an answer, never a failure."""

import copy
from collections.abc import Iterator
from typing import Any

from customs import DEFINITIONS, World, definition, fields, kite, world

from allaboard.api.meta import Json

STRING = {"type": "string"}
DEFECTS: list[Any] = [
    None, True, -1, 10**30, 1.5, "", "x", "Ünïcode ", "y" * 70_000, [], [None], {}, {"x": {}},
]  # fmt: skip
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
ITEM = {"type": "object", "properties": {"k": STRING, "v": STRING}, "required": ["k"]}
RICH = definition(
    fields(
        a=STRING | {"default": "d", "pattern": "^d", "maxLength": 5, "enum": ["d", "dd"]},
        n={"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 1, "format": "int32"},
        l={"type": "array", "items": ITEM, "maxItems": 3, **KEYED},
        m={"type": "object", "additionalProperties": STRING, "maxProperties": 3},
        o={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        e={"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"a": STRING}},
    )
    | {"x-kubernetes-validations": [{"rule": "self.a != 'x'", "message": "m"}]},
    subresources={
        "status": {},
        "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
    },
    additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
    selectableFields=[{"jsonPath": ".spec.a"}],
)
EMBEDDED = {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": "b"}}, "a": "1"}
OBJECT = kite(a="d", n=1, l=[{"k": "1", "v": "2"}], m={"x": "y"}, o="50%", e=EMBEDDED)
HOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "h"},
    "webhooks": [
        {
            "name": "a.b.c",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/x", "caBundle": "eA=="},
            "objectSelector": {"matchExpressions": [{"key": "k", "operator": "Exists"}]},
            "matchConditions": [{"name": "c", "expression": "true"}],
            "rules": [
                {
                    "apiGroups": ["none"],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["x"],
                }
            ],
        }
    ],
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document, the document itself left out."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, member in value.items():
            yield from places(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from places(member, (*path, index))


def spoilt(document: Json) -> Iterator[tuple[str, Json]]:
    for path in places(document):
        for defect in DEFECTS:
            broken = copy.deepcopy(document)
            parent: Any = broken
            for step in path[:-1]:
                parent = parent[step]
            parent[path[-1]] = copy.deepcopy(defect)
            yield f"{path}: {str(defect)[:20]!r}", broken


async def failures(it: World, path: str, document: Json) -> list[str]:
    found = []
    for what, broken in spoilt(document):
        answer = await it.call("POST", path, broken, query={"dryRun": "All"})
        if answer.status >= 500 or (answer.status >= 400 and answer.body["kind"] != "Status"):
            found.append(f"{what} -> {answer.status}")
    return found


async def test_definitions() -> None:
    async with world() as it:
        assert await failures(it, DEFINITIONS, RICH) == []


async def test_definitions_that_are_stored_can_be_served() -> None:
    """What was accepted works: it lists, shows a table and takes a bad object with a refusal."""
    async with world() as it:
        for _, broken in spoilt(RICH):
            made = await it.call("POST", DEFINITIONS, broken)
            assert made.status < 500
            if made.status != 201:
                continue
            name, spec = made.body["metadata"]["name"], made.body["spec"]
            version = next((v["name"] for v in spec["versions"] if v["served"]), None)
            if version is not None and spec["scope"] == "Namespaced":
                group, plural = spec["group"], spec["names"]["plural"]
                path = f"/apis/{group}/{version}/namespaces/ns/{plural}"
                body = {**OBJECT, "apiVersion": f"{group}/{version}", "kind": spec["names"]["kind"]}
                assert (await it.call("POST", path, body)).status < 500
                table = "application/json;as=Table;g=meta.k8s.io;v=v1"
                assert (await it.call("GET", path, accept=table)).status == 200
            await it.must("DELETE", f"{DEFINITIONS}/{name}")


async def test_objects() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, RICH)
        assert await failures(it, it.kites(), OBJECT) == []


async def test_webhook_configurations() -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    async with world() as it:
        assert await failures(it, path, HOOK) == []
