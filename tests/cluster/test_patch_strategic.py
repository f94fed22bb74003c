"""A strategic merge patch merges lists by key where the kind says so, and obeys directives."""

import time

import pytest
import yaml

from allaboard.api.errors import BadRequest, Invalid
from allaboard.api.meta import Json
from allaboard.cluster.patching.strategic import apply_strategic_patch
from allaboard.cluster.schema.builtin import schema_of

DEPLOYMENT = schema_of("apps", "v1", "Deployment")
LIVE = """
containers:
- {name: a, image: i1, args: [p, q], env: [{name: X, value: '1'}, {name: Y, value: '2'}]}
- {name: b, image: i2}
volumes: [{name: v, emptyDir: {}}]
tolerations: [{key: k1, operator: Exists}]
nodeSelector: {p: '1'}
"""


def patched(patch: str) -> Json:
    """The pod spec of a Deployment after a patch of its pod spec."""
    doc = {"spec": {"template": {"spec": yaml.safe_load(LIVE)}}}
    full = {"spec": {"template": {"spec": yaml.safe_load(patch)}}}
    spec: Json = apply_strategic_patch(doc, full, DEPLOYMENT)["spec"]["template"]["spec"]
    return spec


def names(members: list[Json]) -> str:
    return "".join(m["name"] for m in members)


def test_members_merge_by_key() -> None:
    spec = patched("containers: [{name: a, image: i9}]")
    assert names(spec["containers"]) == "ab"
    assert spec["containers"][0] == yaml.safe_load(LIVE)["containers"][0] | {"image": "i9"}


@pytest.mark.parametrize(
    ("patch", "order"),
    [
        pytest.param("containers: [{name: c}]", "cab", id="new ones first"),
        pytest.param("containers: [{name: b}, {name: c}]", "abc", id="live order arbitrates"),
        pytest.param("containers: [{name: c}, {name: b}]", "cab", id="kept around live ones"),
        pytest.param("containers: [{name: b}, {name: a}]", "ba", id="patch order wins"),
        pytest.param("containers: [{name: a, $patch: delete}]", "b", id="delete"),
        pytest.param("containers: [{$patch: replace}, {name: z}]", "z", id="replace"),
        pytest.param(
            "{$setElementOrder/containers: [{name: b}, {name: a}]}", "ba", id="order only"
        ),
        pytest.param(
            "{$setElementOrder/containers: [{name: z}, {name: b}], containers: [{name: z}]}",
            "zab",
            id="order with a new one",
        ),
        pytest.param(
            "{$setElementOrder/containers: [{name: b}], containers: [{name: a, $patch: delete}]}",
            "b",
            id="order and delete",
        ),
    ],
)
def test_order_of_a_merged_list(patch: str, order: str) -> None:
    assert names(patched(patch)["containers"]) == order


def test_lists_without_a_merge_key_and_plain_lists_are_replaced() -> None:
    assert patched("tolerations: [{key: k2}]")["tolerations"] == [{"key": "k2"}]
    assert patched("containers: [{name: a, args: [r]}]")["containers"][0]["args"] == ["r"]


def test_null_removes_and_maps_merge() -> None:
    spec = patched("{nodeSelector: {q: '2', p: null}, volumes: null}")
    assert spec["nodeSelector"] == {"q": "2"} and "volumes" not in spec


def test_a_map_can_be_replaced_or_emptied() -> None:
    assert patched("nodeSelector: {$patch: replace, z: '1'}")["nodeSelector"] == {"z": "1"}
    assert patched("nodeSelector: {$patch: delete}")["nodeSelector"] == {}


def test_retain_keys_drops_the_others() -> None:
    spec = patched("volumes: [{name: v, $retainKeys: [name, hostPath], hostPath: {path: /x}}]")
    assert spec["volumes"] == [{"name": "v", "hostPath": {"path": "/x"}}]


def test_new_members_come_without_nulls_and_directives() -> None:
    spec = patched("containers: [{name: c, image: null, env: [{name: E, $patch: delete}]}]")
    assert spec["containers"][0] == {"name": "c", "env": []}


def test_plain_values_merge_as_a_set() -> None:
    doc = {"metadata": {"finalizers": ["x", "y"]}}

    def finalizers(metadata: str) -> list[str]:
        patch = {"metadata": yaml.safe_load(metadata)}
        out: list[str] = apply_strategic_patch(doc, patch, DEPLOYMENT)["metadata"]["finalizers"]
        return out

    assert finalizers("finalizers: [z, x]") == ["z", "x", "y"]
    assert finalizers("$deleteFromPrimitiveList/finalizers: [x]") == ["y"]
    assert finalizers("$setElementOrder/finalizers: [y, x]") == ["y", "x"]


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("$patch: explode", "unknown patch type: explode in map: map[$patch:explode]"),
        (
            "containers: [{image: i}]",
            "map: map[image:i] does not contain declared merge key: name",
        ),
        ("containers: [1]", "list element types are not identical"),
        ("containers: [[1]]", "lists of lists are not supported"),
        ("{$retainKeys: [a], b: 1}", "invalid patch format of retainKeys"),
        ("$retainKeys: 1", "invalid patch format of retainKeys"),
        (
            "{$setElementOrder/containers: [{name: a}], containers: [{name: z, image: i}]}",
            "The order in patch list:\n[map[image:i name:z]]\n doesn't match $setElementOrder "
            "list:\n[map[name:a]]\n",
        ),
        ("$setElementOrder/containers: 1", "invalid patch format of setElementOrder list"),
        ("$deleteFromPrimitiveList/args: 1", "invalid patch format of primitive list"),
    ],
)
def test_bad_patches_are_named(patch: str, said: str) -> None:
    with pytest.raises(BadRequest) as refused:
        patched(patch)
    assert refused.value.message == said


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("spec: []", '"map[spec:[]]": cannot restore struct from: slice'),
        ("spec: {selector: x}", '"map[spec:map[selector:x]]": cannot restore struct from: string'),
        (
            "metadata: {labels: [a]}",
            '"map[metadata:map[labels:[a]]]": cannot restore map from slice',
        ),
        (
            "metadata: {finalizers: {a: b}}",
            '"map[metadata:map[finalizers:map[a:b]]]": cannot restore slice from map',
        ),
        (
            "metadata: {labels: {a: 1}}",
            '"map[metadata:map[labels:map[a:1]]]": cannot convert int64 to string',
        ),
        ("spec: {paused: x}", '"map[spec:map[paused:x]]": unrecognized type: bool'),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_the_patch(patch: str, said: str) -> None:
    doc: Json = {"metadata": {"name": "x", "labels": {}}, "spec": {}}
    with pytest.raises(Invalid) as refused:
        apply_strategic_patch(doc, yaml.safe_load(patch), DEPLOYMENT)
    assert refused.value.message == f' "" is invalid: patch: Invalid value: {said}'


def test_long_lists_take_little_time() -> None:
    many = [{"name": f"c{i}"} for i in range(20_000)]
    live: Json = {"spec": {"template": {"spec": {"containers": many}}}}
    gone = [{"name": f"c{i}", "$patch": "delete"} for i in range(0, 20_000, 2)]
    order = [{"name": f"c{i}"} for i in range(19_999, 0, -2)]
    inner = {"$setElementOrder/containers": order, "containers": gone}
    start = time.perf_counter()
    out = apply_strategic_patch(live, {"spec": {"template": {"spec": inner}}}, DEPLOYMENT)
    assert out["spec"]["template"]["spec"]["containers"] == order
    assert time.perf_counter() - start < 2
