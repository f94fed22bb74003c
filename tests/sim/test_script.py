"""Documents become timed steps; what cannot be one is named by file, document and field."""

from typing import Any

import pytest

from allaboard.sim.script import Owner, ScriptError, read_script, read_step

P = "sim.allaboard.dev/"


def document(kind: str = "ConfigMap", annotations: Any = None, **more: Any) -> dict[str, Any]:
    meta = {"name": "x", "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **more}


def test_a_plain_document_is_applied_at_once() -> None:
    step = read_step("f.yaml, document 1", document(), order=0)
    assert (step.at_s, step.action, step.owner, step.name) == (0.0, "apply", None, "x")


def test_steering_annotations_stay_out_of_the_object_and_stages_stay_in() -> None:
    steering = {P + "at": "90s", P + "action": "patch", P + "start-after": "5s"}
    step = read_step("f", document(annotations=steering), 0)
    assert (step.at_s, step.action) == (90.0, "patch")
    assert step.document["metadata"]["annotations"] == {P + "start-after": "5s"}


def test_steps_of_one_instant_keep_the_order_of_the_documents() -> None:
    documents = [
        ("f, document 1", document("B", {P + "at": "5s"})),
        ("f, document 2", document("C")),
        ("f, document 3", None),
        ("g, document 1", document("D", {P + "at": "5s"})),
    ]
    assert [step.kind for step in read_script(documents)] == ["C", "B", "D"]


def test_lists_are_unfolded() -> None:
    bundle = {"apiVersion": "v1", "kind": "List", "items": [document("A"), document("B")]}
    steps = read_script([("f, document 1", bundle)])
    assert [(s.kind, s.where) for s in steps] == [
        ("A", "f, document 1, items[0]"),
        ("B", "f, document 1, items[1]"),
    ]


def test_the_object_may_be_named_by_its_owner() -> None:
    steering = {P + "action": "patch", P + "of": "Job/train"}
    unnamed = {"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": steering}}
    assert read_step("f", unnamed, 0).owner == Owner("Job", "train")


POD_TEMPLATE = {"metadata": {"annotations": {P + "run-for": "soon"}}, "spec": {"containers": []}}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("text", "expected an object"),
        ({"kind": "Pod", "metadata": {"name": "x"}}, "apiVersion: required"),
        ({"apiVersion": "v1", "metadata": {"name": "x"}}, "kind: required"),
        ({"apiVersion": "v1", "kind": "Pod"}, "metadata: required"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, "metadata.name: required"),
        (document(annotations={P + "at": "soon"}), "must be a duration such as 90s"),
        (document(annotations={P + "at": "-1s"}), "must not be negative"),
        (document(annotations={P + "at": 90}), "write it in quotes"),
        (document(annotations={P + "action": "replace"}), "one of apply, patch, delete"),
        (document(annotations={P + "of": "Job/a"}), "goes with patch or delete only"),
        (document(annotations={P + "action": "delete", P + "of": "a"}), "must be Kind/name"),
        (document(annotations=["x"]), "must be a map of strings"),
        (
            document("Job", spec={"template": POD_TEMPLATE}),
            "spec.template.metadata.annotations: sim.allaboard.dev/run-for: 'soon'",
        ),
    ],
)
def test_bad_documents_are_refused_with_place_and_reason(data: Any, words: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read_step("f.yaml, document 3", data, 0)
    assert str(caught.value).startswith("f.yaml, document 3: ")
    assert words in str(caught.value)
