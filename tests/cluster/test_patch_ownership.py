"""Every write says who set what: managedFields after creates, updates and status writes."""

import copy
from typing import Any

import pytest
import yaml

from allaboard.api.meta import Json
from allaboard.cluster.patching.fieldset import from_paths
from allaboard.cluster.patching.managed import Manager, Versions, track_update
from allaboard.cluster.patching.resets import reset_fields
from allaboard.cluster.schema.builtin import schema_of
from allaboard.cluster.schema.node import Schema

NOW = 1767225600.0  # 2026-01-01T00:00:00Z
CONFIG_MAP = schema_of("", "v1", "ConfigMap")
POD = schema_of("", "v1", "Pod")


def config_map(data: str, metadata: str = "{}", owners: list[Json] | None = None) -> Json:
    meta = {"name": "a", "namespace": "ns", **yaml.safe_load(metadata)}
    if owners is not None:
        meta["managedFields"] = owners
    obj: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    return obj | ({"data": yaml.safe_load(data)} if data else {})


def by(name: str) -> Manager:
    return Manager(name, "Update", "v1")


def written(old: Json | None, new: Json, who: Manager, now: float = NOW) -> Json:
    """`new` as it would be stored."""
    entries = track_update(old, new, CONFIG_MAP, who, now)
    return {**new, "metadata": {**new["metadata"], "uid": "u", "managedFields": entries}}


def owners(obj: Json) -> dict[str, Any]:
    return {e["manager"]: e["fieldsV1"] for e in obj["metadata"]["managedFields"]}


def data(*names: str, whole: bool = False) -> Json:
    return {"f:data": ({".": {}} if whole else {}) | {f"f:{n}": {} for n in names}}


def test_the_creator_owns_all_it_set() -> None:
    made = written(None, config_map("{x: '1'}", "{labels: {l: v}, uid: u}"), by("m"))
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:data": {".": {}, "f:x": {}},
                "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
            },
        }
    ]


def test_a_struct_of_a_built_in_kind_is_always_there_and_so_not_owned() -> None:
    pod = yaml.safe_load(
        "{metadata: {name: p}, spec: {containers: [{name: a, image: i, resources: {}}]}}"
    )
    (entry,) = track_update(None, pod, POD, by("m"), NOW)
    assert entry["fieldsV1"] == {
        "f:spec": {
            "f:containers": {
                'k:{"name":"a"}': {".": {}, "f:name": {}, "f:image": {}, "f:resources": {}}
            }
        }
    }


def test_a_changed_value_changes_hands() -> None:
    one = written(None, config_map("{x: '1', y: '1'}"), by("a"))
    two = written(one, config_map("{x: '2', y: '1'}"), by("b"))
    assert owners(two) == {"a": data("y", whole=True), "b": data("x")}


def test_a_removed_field_belongs_to_nobody_and_empty_entries_go() -> None:
    one = written(None, config_map("{x: '1'}"), by("a"))
    two = written(one, config_map("{x: '1', y: '1'}"), by("b"))
    three = written(two, config_map("{x: '1'}"), by("c"))
    assert owners(three) == {"a": data("x", whole=True)}
    assert written(three, config_map(""), by("c"))["metadata"]["managedFields"] == []


def test_time_moves_with_values_only() -> None:
    one = written(None, config_map("{x: '1', y: '1'}"), by("a"))
    same = written(one, config_map("{x: '1', y: '1'}"), by("a"), NOW + 5)
    assert same["metadata"]["managedFields"] is one["metadata"]["managedFields"]
    less = written(one, config_map("{x: '1'}"), by("a"), NOW + 5)
    assert less["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:00Z"
    other = written(one, config_map("{x: '2', y: '1'}"), by("a"), NOW + 5)
    assert other["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:05Z"
    assert owners(other) == owners(one)


def test_untouched_entries_are_the_same_objects() -> None:
    one = written(None, config_map("{x: '1'}"), by("a"))
    two = written(one, config_map("{x: '1', y: '1'}"), by("b"))
    assert two["metadata"]["managedFields"][0] is one["metadata"]["managedFields"][0]


def test_entries_are_kept_when_the_client_sends_none() -> None:
    one = written(None, config_map("{x: '1'}"), by("a"))
    assert owners(written(one, config_map("{x: '1'}"), by("b"))) == owners(one)


@pytest.mark.parametrize("reset", [[], [{}]])
def test_a_client_can_start_afresh(reset: list[Json]) -> None:
    one = written(None, config_map("{x: '1'}"), by("a"))
    two = written(one, config_map("{x: '2'}", owners=reset), by("b"))
    assert two["metadata"]["managedFields"] == []
    three = written(two, config_map("{x: '3'}"), by("b"))
    assert three["metadata"]["managedFields"] == [], "untracked until somebody applies"


def test_a_client_can_edit_entries_and_nonsense_is_ignored() -> None:
    one = written(None, config_map("{x: '1'}"), by("a"))
    entry = one["metadata"]["managedFields"][0]
    renamed = {**entry, "manager": "z", "fieldsV1": {"f:data": {"f:x": {".": {}}}}}
    two = written(one, config_map("{x: '1'}", owners=[renamed]), by("b"))
    assert owners(two) == {"z": data("x")}
    for bad in ({"operation": "Steal"}, {"fieldsV1": {"x": {}}}, {"fieldsV1": 5}, 7):
        sent = [{**entry, **bad}] if isinstance(bad, dict) else [bad]
        kept = written(one, config_map("{x: '1'}", owners=sent), by("b"))
        assert owners(kept) == owners(one)


def test_subresources_are_other_managers_and_take_no_entries_from_the_body() -> None:
    live = {"metadata": {"name": "p"}, "spec": {"containers": []}}
    pod = {**live, "metadata": {"uid": "u", "managedFields": track_update(
        None, {**live, "spec": {"nodeName": "n"}}, POD, by("m"), NOW)}}  # fmt: skip
    door = Manager("m", "Update", "v1", "status", reset_fields("pods", "status", True, False))
    new = {"metadata": {"managedFields": [{}]}, "spec": {"nodeName": "x"}, "status": {"phase": "Z"}}
    entries = track_update(pod, new, POD, door, NOW)
    assert [(e.get("subresource"), e["fieldsV1"]) for e in entries] == [
        (None, {"f:spec": {"f:nodeName": {}}}),
        ("status", {"f:status": {"f:phase": {}}}),
    ]


def test_status_is_not_owned_through_the_main_door() -> None:
    door = Manager("m", "Update", "v1", "", from_paths((("status",),)))
    pod = {"metadata": {}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}}
    (entry,) = track_update(None, pod, POD, door, NOW)
    assert entry["fieldsV1"] == {"f:spec": {"f:nodeName": {}}}


def test_a_scaler_has_no_time() -> None:
    schema = schema_of("apps", "v1", "Deployment")
    old = {"metadata": {"managedFields": track_update(
        None, {"metadata": {}, "spec": {"replicas": 1}}, schema, by("m"), NOW)},
        "spec": {"replicas": 1}}  # fmt: skip
    hpa = Manager("hpa", "Update", "apps/v1", "scale")
    (entry,) = track_update(old, {"metadata": {}, "spec": {"replicas": 5}}, schema, hpa, NOW)
    assert entry["subresource"] == "scale" and "time" not in entry


def test_old_updaters_are_folded_together() -> None:
    obj = written(None, config_map("{k0: '1'}"), by("m0"))
    for i in range(1, 13):
        text = "{" + ", ".join(f"k{n}: '1'" for n in range(i + 1)) + "}"
        obj = written(obj, config_map(text), by(f"m{i}"), NOW + i)
    found = owners(obj)
    assert len(found) == 10
    assert found["ancient-changes"] == data("k0", "k1", "k2", "k3", whole=True)


def test_appliers_come_first_then_the_oldest() -> None:
    fields = {"f:data": {"f:x": {}}}
    base = {"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    sent = [
        {**base, "manager": "new", "operation": "Update", "time": "2026-01-02T00:00:00Z"},
        {**base, "manager": "old", "operation": "Update", "time": "2026-01-01T00:00:00Z"},
        {**base, "manager": "z", "operation": "Apply"},
    ]
    obj = written(None, config_map("", owners=sent), by("m"))
    assert [e["manager"] for e in obj["metadata"]["managedFields"]] == ["z", "old", "new"]


def test_duplicate_members_of_a_list_are_owned_as_one() -> None:
    def pod(*ports: Json) -> Json:
        return {"metadata": {}, "spec": {"containers": [{"name": "a", "ports": list(ports)}]}}

    twin = {"containerPort": 80, "protocol": "TCP"}
    (entry,) = track_update(None, pod(twin, twin), POD, by("m"), NOW)
    ports = entry["fieldsV1"]["f:spec"]["f:containers"]['k:{"name":"a"}']["f:ports"]
    assert ports == {".": {}, 'k:{"containerPort":80,"protocol":"TCP"}': {}}


def test_another_version_is_compared_in_its_own_shape() -> None:
    old_schema = Schema(type="object", properties={"spec": Schema(type="object", values=Schema())})

    def convert(obj: Json, version: str) -> tuple[Json, Schema] | None:
        if version != "v1":
            return None
        return ({"spec": {"old": obj["data"]}} if "data" in obj else {}), old_schema

    entries = [
        {"manager": m, "operation": "Update", "apiVersion": v, "fieldsType": "FieldsV1",
         "fieldsV1": f}
        for m, v, f in [
            ("gone", "v0", {"f:x": {}}), ("late", "v1", {"f:spec": {"f:old": {"f:x": {}}}}),
            ("now", "v2", {"f:data": {"f:x": {}}}),
        ]
    ]  # fmt: skip
    live = config_map("{x: '1'}", owners=entries)
    writer = Manager("w", "Update", "v2")
    out = track_update(live, config_map("{x: '2'}"), Versions(CONFIG_MAP, convert), writer, NOW)
    assert [e["manager"] for e in out] == ["w"]


def test_inputs_are_never_changed() -> None:
    one = written(None, config_map("{x: '1'}", "{labels: {a: b}}"), by("a"))
    new = config_map("{y: '1'}", "{labels: {a: c}}")
    before = copy.deepcopy((one, new))
    written(one, new, by("b"))
    assert (one, new) == before
