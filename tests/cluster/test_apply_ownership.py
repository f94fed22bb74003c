"""Server-side apply: who may set what, what leaves with its owner, how members are ordered."""

import time
from dataclasses import replace
from typing import Any

import pytest
import yaml
from ownership_model import KIND, SPEC

from allaboard.api.errors import BadRequest
from allaboard.api.meta import Json
from allaboard.cluster.patching.apply import LAST_APPLIED, ApplyConflict, apply
from allaboard.cluster.patching.fieldset import from_paths
from allaboard.cluster.patching.managed import Manager, track_update
from allaboard.cluster.schema.builtin import schema_of
from allaboard.cluster.schema.node import Schema

NOW = 1767225600.0  # 2026-01-01T00:00:00Z
CONFIG_MAP = schema_of("", "v1", "ConfigMap")
DEPLOYMENT = schema_of("apps", "v1", "Deployment")


class World:
    """One object that managers write to, one after the other."""

    def __init__(self, schema: Schema, api_version: str, kind: str) -> None:
        self.schema, self.head = schema, {"apiVersion": api_version, "kind": kind}
        self.live: Json | None = None
        self.now = NOW

    def config(self, body: str) -> Json:
        given = yaml.safe_load(body)
        return {**self.head, **given, "metadata": {"name": "x", **given.get("metadata", {})}}

    def apply(self, who: str, body: str, force: bool = False, **door: Any) -> Json:
        manager = Manager(who, "Apply", self.head["apiVersion"], **door)
        self.live = apply(self.live, self.config(body), self.schema, manager, self.now, force)
        return self.live

    def update(self, who: str, body: str) -> Json:
        new = self.config(body)
        manager = Manager(who, "Update", self.head["apiVersion"])
        entries = track_update(self.live, new, self.schema, manager, self.now)
        self.live = {**new, "metadata": {**new["metadata"], "managedFields": entries}}
        return self.live

    def owners(self) -> dict[str, Any]:
        entries = (self.live or {})["metadata"].get("managedFields", [])
        return {e["manager"] + "/" + e["operation"]: e["fieldsV1"] for e in entries}


@pytest.fixture
def cm() -> World:
    return World(CONFIG_MAP, "v1", "ConfigMap")


@pytest.fixture
def thing() -> World:
    return World(KIND, "x/v1", "Thing")


def data(*names: str) -> Json:
    return {"f:data": {f"f:{n}": {} for n in names}}


def test_applying_to_nothing_creates_and_owns_leaves(cm: World) -> None:
    obj = cm.apply("m1", "data: {x: '1'}")
    assert obj["data"] == {"x": "1"}
    assert obj["metadata"]["managedFields"] == [
        {
            "manager": "m1",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": data("x"),
        }
    ]


def test_the_same_again_changes_nothing_at_all(cm: World) -> None:
    first = cm.apply("m1", "data: {x: '1'}")
    cm.now += 100
    assert cm.apply("m1", "data: {x: '1'}") is first


def test_equal_values_are_shared_and_move_no_clock(cm: World) -> None:
    cm.apply("m1", "data: {x: '1'}")
    obj = cm.apply("m2", "data: {x: '1'}")
    assert cm.owners() == {"m1/Apply": data("x"), "m2/Apply": data("x")}
    assert [e.get("time") for e in obj["metadata"]["managedFields"]] == [
        None,
        "2026-01-01T00:00:00Z",
    ]


def test_a_conflict_names_manager_and_field(cm: World) -> None:
    cm.apply("m1", "data: {x: '1', y: '1'}")
    with pytest.raises(ApplyConflict) as refused:
        cm.apply("m2", "data: {x: '2'}")
    assert refused.value.to_status()["message"] == (
        'Apply failed with 1 conflict: conflict with "m1": .data.x'
    )
    assert refused.value.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "m1"',
                "field": ".data.x",
            }
        ]
    }


def test_many_conflicts_are_listed_by_manager(cm: World) -> None:
    cm.apply("m1", "data: {x: '1', y: '1'}")
    cm.apply("m2", "data: {x: '1'}")
    cm.update("editor", "data: {x: '1', y: '1', z: '1'}")
    with pytest.raises(ApplyConflict) as refused:
        cm.apply("m3", "data: {x: '2', y: '2', z: '2'}")
    assert refused.value.message == (
        'Apply failed with 4 conflicts: conflicts with "editor" using v1:\n- .data.z\n'
        'conflicts with "m1":\n- .data.x\n- .data.y\nconflicts with "m2":\n- .data.x'
    )


def test_force_takes_ownership(cm: World) -> None:
    cm.apply("m1", "data: {x: '1', y: '1'}")
    obj = cm.apply("m2", "data: {x: '2'}", force=True)
    assert obj["data"] == {"x": "2", "y": "1"}
    assert cm.owners() == {"m1/Apply": data("y"), "m2/Apply": data("x")}


def test_what_is_left_out_leaves_unless_co_owned(cm: World) -> None:
    cm.apply("m1", "data: {x: '1', y: '1'}")
    cm.apply("m2", "data: {y: '1'}")
    assert cm.apply("m1", "{}")["data"] == {"y": "1"}
    assert cm.owners() == {"m2/Apply": data("y")}
    assert "data" not in cm.apply("m2", "{}")
    assert cm.owners() == {}


def test_an_update_by_the_same_name_is_another_manager(cm: World) -> None:
    cm.update("m1", "data: {x: '1'}")
    with pytest.raises(ApplyConflict, match=r'conflict with "m1" using v1: \.data\.x'):
        cm.apply("m1", "data: {x: '2'}")


def test_an_untracked_object_belongs_to_before_first_apply(cm: World) -> None:
    cm.live = cm.config("data: {x: '1', y: '1'}")
    with pytest.raises(ApplyConflict, match='"before-first-apply" using v1'):
        cm.apply("m1", "data: {x: '2'}")
    cm.apply("m1", "data: {x: '2'}", force=True)
    assert cm.owners() == {
        "m1/Apply": data("x"),
        "before-first-apply/Update": {"f:data": {".": {}, "f:y": {}}},
    }


def test_subresources_are_told_apart(thing: World) -> None:
    status = {"subresource": "status", "reset": from_paths((("metadata",), ("spec",)))}
    thing.apply("m", "spec: {text: a}", reset=from_paths((("status",),)))
    obj = thing.apply("m", "{spec: {text: b}, status: {text: c}}", **status)
    entries = obj["metadata"]["managedFields"]
    assert [(e.get("subresource"), e["fieldsV1"]) for e in entries] == [
        (None, {"f:spec": {"f:text": {}}}),
        ("status", {"f:status": {"f:text": {}}}),
    ]
    with pytest.raises(ApplyConflict, match='conflict with "m" with subresource "status"'):
        thing.apply("n", "status: {text: d}", **status)


@pytest.mark.parametrize("sent", [[], [{}], [{"manager": "x"}]])
def test_nobody_may_apply_managed_fields(cm: World, sent: list[Json]) -> None:
    with pytest.raises(BadRequest, match=r"metadata\.managedFields must be nil"):
        cm.apply("m1", f"metadata: {{managedFields: {sent}}}")


ALL = """
spec:
  text: a
  plain: [a]
  set: [s1, s2]
  parts: [{name: x, port: 1, value: v}, {name: y}]
  map: {k: v}
  whole: {k: v}
  free: {deep: {l: [1], x: 1}}
  inner: {a: b}
"""


def test_every_kind_of_field_is_owned_in_its_own_way(thing: World) -> None:
    thing.apply("m1", ALL)
    assert thing.owners()["m1/Apply"] == {
        "f:spec": {
            "f:text": {},
            "f:plain": {},
            "f:set": {'v:"s1"': {}, 'v:"s2"': {}},
            "f:parts": {
                'k:{"name":"x","port":1}': {".": {}, "f:name": {}, "f:port": {}, "f:value": {}},
                'k:{"name":"y","port":80}': {".": {}, "f:name": {}},
            },
            "f:map": {"f:k": {}},
            "f:whole": {},
            "f:free": {"f:deep": {".": {}, "f:l": {}, "f:x": {}}},
            "f:inner": {"f:a": {}},
        }
    }


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("plain: [b]", ".spec.plain"),
        ("whole: {z: v}", ".spec.whole"),
        ("parts: [{name: x, port: 1, value: w}]", '.spec.parts[name="x",port=1].value'),
        ("free: {deep: {l: [2]}}", ".spec.free.deep.l"),
        ("map: {k: w}", ".spec.map.k"),
    ],
)
def test_where_another_manager_conflicts(thing: World, body: str, path: str) -> None:
    thing.apply("m1", ALL)
    with pytest.raises(ApplyConflict) as refused:
        thing.apply("m2", f"spec: {{{body}}}")
    assert refused.value.message.endswith(f'conflict with "m1": {path}')


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        ("set: [s3]", "set", ["s1", "s2", "s3"]),
        ("map: {z: w}", "map", {"k": "v", "z": "w"}),
        ("free: {deep: {y: 2}}", "free", {"deep": {"l": [1], "x": 1, "y": 2}}),
        ("inner: {b: c}", "inner", {"a": "b", "b": "c"}),
        (
            "parts: [{name: y, port: 80, value: w}, {name: z}]",
            "parts",
            [
                {"name": "x", "port": 1, "value": "v"},
                {"name": "y", "port": 80, "value": "w"},
                {"name": "z"},
            ],
        ),
    ],
)
def test_members_of_several_managers_live_together(
    thing: World, body: str, path: str, expected: Any
) -> None:
    before = thing.apply("m1", ALL)
    assert thing.apply("m2", f"spec: {{{body}}}")["spec"][path] == expected
    after = thing.apply("m2", "{}")
    assert {k: v for k, v in after["spec"].items() if k != "parts"} == {
        k: v for k, v in before["spec"].items() if k != "parts"
    }
    assert [p["name"] for p in after["spec"]["parts"]] == ["x", "y"]


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        ("XY", "Z", "XYZ"),
        ("YZ", "BYA", "BYZA"),
        ("XYZ", "ZXA", "YZXA"),
        ("ABC", "XCBA", "XCBA"),
        ("ABC", "CBA", "ABC"),  # order alone is no change
        ("AB", "XBA", "XBA"),
        ("ABC", "BX", "ABCX"),
    ],
)
def test_order_of_a_merged_list(thing: World, live: str, config: str, expected: str) -> None:
    thing.live = thing.config(f"spec: {{set: {list(live)}}}")
    assert thing.apply("m", f"spec: {{set: {list(config)}}}")["spec"]["set"] == list(expected)


def test_dropping_a_source_takes_its_defaults_along() -> None:
    """A struct leaves with its last owned field, or a volume would end up with two sources."""
    world = World(DEPLOYMENT, "apps/v1", "Deployment")
    body = "spec: {{template: {{spec: {{volumes: [{{name: v, {}}}]}}}}}}"
    world.apply("m", body.format("hostPath: {path: /x}"))
    assert world.live is not None
    (volume,) = world.live["spec"]["template"]["spec"]["volumes"]
    volume["hostPath"]["type"] = ""  # a default, owned by nobody
    live = world.apply("m", body.format("emptyDir: {}"))
    assert live["spec"]["template"]["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_when_a_list_becomes_one_its_owners_own_all_of_it(thing: World) -> None:
    thing.apply("m1", "spec: {set: [a]}")
    thing.apply("m2", "spec: {set: [b]}")
    spec = replace(SPEC, properties={**SPEC.properties, "set": Schema(type="array")})
    thing.schema = replace(KIND, properties={**KIND.properties, "spec": spec})
    with pytest.raises(ApplyConflict, match=r'conflict with "m2": \.spec\.set'):
        thing.apply("m1", "spec: {set: [c]}")
    thing.apply("m1", "spec: {set: [c]}", force=True)
    assert thing.owners() == {"m1/Apply": {"f:spec": {"f:set": {}}}}


def test_a_default_key_is_part_of_the_key(thing: World) -> None:
    thing.apply("m1", "spec: {parts: [{name: a, port: 80, value: v}]}")
    assert thing.apply("m2", "spec: {parts: [{name: a}]}")["spec"]["parts"] == [
        {"name": "a", "port": 80, "value": "v"}
    ]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("bogus: 1", ".bogus: field not declared in schema"),
        ("spec: {bogus: 1}", ".spec.bogus: field not declared in schema"),
        (
            "spec: {text: 5}",
            ".spec.text: expected string, got &value.valueUnstructured{Value:5}",
        ),
        (
            "spec: {parts: [{name: a, port: b}]}",
            '.spec.parts[name="a",port="b"].port: expected numeric (int or float), got string',
        ),
        ("spec: {inner: [1]}", ".spec.inner: expected map, got &{[1]}"),
        ("spec: {set: {}}", ".spec.set: expected list, got &{map[]}"),
        ("spec: {set: [a, a]}", '.spec.set: duplicate entries for key [="a"]'),
        (
            "spec: {parts: [{name: a}, {name: a, port: 80}]}",
            '.spec.parts: duplicate entries for key [name="a",port=80]',
        ),
        (
            "spec: {parts: [null]}",
            ".spec.parts: element 0: associative list with keys may not have a null element",
        ),
        (
            "spec: {parts: [1]}",
            ".spec.parts: element 0: associative list with keys may not have non-map elements",
        ),
    ],
)
def test_a_configuration_must_fit_the_schema(thing: World, body: str, said: str) -> None:
    with pytest.raises(BadRequest) as refused:
        thing.apply("m", body)
    prefix = "failed to create typed patch object (/x; x/v1, Kind=Thing): "
    assert refused.value.message == prefix + said


def test_all_misfits_are_named() -> None:
    with pytest.raises(BadRequest, match=r"errors:\n  \.a: .*\n  \.b: field not declared"):
        World(KIND, "x/v1", "Thing").apply("m", "{a: 1, b: 2}")


def test_kubectl_takes_over_what_it_applied_client_side(cm: World) -> None:
    record = '{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"1"}}'
    body = (
        f"{{metadata: {{annotations: {{{LAST_APPLIED}: '{record}'}}}}, data: {{x: '1', y: '1'}}}}"
    )
    cm.update("kubectl-client-side-apply", body)
    with pytest.raises(ApplyConflict):
        cm.apply("other", "data: {x: '2'}")
    with pytest.raises(ApplyConflict):
        cm.apply("kubectl", "data: {x: '2', y: '2'}")
    obj = cm.apply("kubectl", "data: {x: '2'}")
    assert obj["data"] == {"x": "2", "y": "1"}
    assert '"data":{"x":"2"}' in obj["metadata"]["annotations"][LAST_APPLIED]


def test_large_configurations_and_conflicts_stay_bounded(cm: World) -> None:
    start = time.perf_counter()
    manager = Manager("m1", "Apply", "v1")
    one = {**cm.config("{}"), "data": {f"k{i}": "1" for i in range(20_000)}}
    two = {**one, "data": {f"k{i}": "2" for i in range(20_000)}}
    live = apply(None, one, CONFIG_MAP, manager, NOW)
    with pytest.raises(ApplyConflict) as refused:
        apply(live, two, CONFIG_MAP, Manager("m2", "Apply", "v1"), NOW)
    assert len((refused.value.details or {})["causes"]) == 10_000
    assert time.perf_counter() - start < 5
