"""Views: what they show of plain data, and what they make of odd data."""

from typing import Any

import pytest

from allaboard.api import types
from allaboard.api.meta import Key
from allaboard.api.types import Job, Node, ObjectMeta, Pod, Secret, controller_of, plain, typed
from allaboard.api.types.model import Object, condition_is, find_condition
from allaboard.client.kinds import KNOWN, kind_of

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "x",
        "namespace": "a",
        "ownerReferences": [{"uid": "o1"}, {"uid": "o2", "controller": True}],
    },
    "spec": {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": 1, "memory": "1Gi"}}}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "k", "operator": "Exists"}]}
                    ]
                }
            }
        },
        "somethingNew": {"of": "tomorrow"},
    },
    "status": {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
}


def test_a_view_shows_snake_case_and_drops_what_it_does_not_know() -> None:
    pod = typed(Pod, POD)
    assert pod.key == Key("a", "x")
    assert pod.spec.containers[0].resources.requests == {"cpu": 1, "memory": "1Gi"}
    assert pod.spec.affinity is not None and pod.spec.affinity.node_affinity is not None
    required = pod.spec.affinity.node_affinity.required
    assert required is not None and required.node_selector_terms[0].match_expressions[0].key == "k"
    assert pod.status.pod_ip == "10.0.0.1"
    owner = controller_of(pod.metadata)
    assert owner is not None and owner.uid == "o2"
    assert controller_of(ObjectMeta()) is None
    assert condition_is(pod.status.conditions, "Ready")
    assert find_condition(pod.status.conditions, "Other") is None


def test_null_means_not_set() -> None:
    data = {"metadata": {"name": "x", "labels": None, "creationTimestamp": None}, "spec": None}
    assert typed(Job, data) == Job(metadata=ObjectMeta(name="x"))


def test_plain_data_says_its_kind_and_only_what_is_set() -> None:
    node = Node(metadata=ObjectMeta(name="n1", labels={"a": "b"}))
    assert plain(node) == {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"a": "b"}},
    }  # fmt: skip
    assert typed(Node, plain(node)) == node


def test_defaults_are_not_shared_between_views() -> None:
    ObjectMeta().labels["a"] = "b"
    assert ObjectMeta().labels == {}


def test_a_secret_keeps_its_contents_out_of_its_repr() -> None:
    secret = Secret(metadata=ObjectMeta(name="s"), data={"password": "hunter2"})
    assert repr(secret) == "Secret(s, keys=['password'])"


VIEWS = [getattr(types, n) for n in types.__all__ if isinstance(getattr(types, n), type)]


@pytest.mark.parametrize(
    "view",
    [v for v in VIEWS if issubclass(v, Object) and v is not Object],
    ids=lambda v: v.__name__,
)
def test_every_kind_can_be_empty_and_is_found_by_name(view: type[Object]) -> None:
    assert typed(view, {}) == view()
    assert kind_of({"apiVersion": view.KIND.api_version, "kind": view.KIND.kind}) is view.KIND
    assert KNOWN[view.KIND.api_version, view.KIND.kind].path(name="x").endswith("/x")
