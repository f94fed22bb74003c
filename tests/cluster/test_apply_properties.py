"""Laws of server-side apply, for any configuration."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ownership_model import KIND, flatten, paths_of
from test_patch_properties import specs

from allaboard.api.meta import Json
from allaboard.cluster.patching.apply import ApplyConflict, apply
from allaboard.cluster.patching.managed import Manager

writers = st.sampled_from("pqr")


def config(spec: Json) -> Json:
    return {"apiVersion": "x/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec}


def applied(live: Json | None, who: str, spec: Json, now: float = 0.0, force: bool = True) -> Json:
    return apply(live, config(spec), KIND, Manager(who, "Apply", "x/v1"), now, force)


def by_all(writes: list[tuple[str, Json]]) -> Json | None:
    live: Json | None = None
    for who, spec in writes:
        live = applied(live, who, spec)
    return live


histories = st.lists(st.tuples(writers, specs), max_size=4)


@given(histories, writers, specs)
def test_applying_again_changes_nothing(history: Any, who: str, spec: Json) -> None:
    once = applied(by_all(history), who, spec)
    assert applied(once, who, spec, now=100.0) is once


@given(histories, writers, specs)
def test_what_is_applied_is_there(history: Any, who: str, spec: Json) -> None:
    """Every leaf of the configuration has its value in the object."""
    live = flatten(KIND, {"spec": applied(by_all(history), who, spec)["spec"]})
    for path, value in flatten(KIND, {"spec": spec}).items():
        if value is not None:
            assert live.get(path) == value


@given(histories, specs)
def test_applying_then_dropping_restores(history: Any, spec: Json) -> None:
    """A guest who conflicts with nobody leaves no trace, except in the order of lists."""
    before = by_all([*history, ("p", {"text": "kept"})])
    assert before is not None
    try:
        during = applied(before, "guest", spec, force=False)
    except ApplyConflict:
        return
    after = apply(during, {**config({}), "spec": {}}, KIND, Manager("guest", "Apply", "x/v1"), 0.0)
    after = apply(after, _nothing(), KIND, Manager("guest", "Apply", "x/v1"), 0.0)
    assert _leaves(after) == _leaves(before)
    assert after["metadata"]["managedFields"] == before["metadata"]["managedFields"]


def _nothing() -> Json:
    return {"apiVersion": "x/v1", "kind": "Thing", "metadata": {"name": "t"}}


def _leaves(obj: Json) -> dict[Any, Any]:
    return {p: v for p, v in flatten(KIND, {"spec": obj.get("spec", {})}).items() if v is not None}


@given(histories)
def test_without_updates_every_leaf_has_an_owner(history: Any) -> None:
    live = by_all(history)
    if live is None:
        return
    owned = set().union(
        *(paths_of(e["fieldsV1"]) for e in live["metadata"].get("managedFields", []))
    )
    assert set(_leaves(live)) <= owned


@settings(max_examples=60)
@given(histories, writers, specs)
def test_inputs_are_never_changed(history: Any, who: str, spec: Json) -> None:
    live, given_config = by_all(history), config(spec)
    before = copy.deepcopy((live, given_config))
    apply(live, given_config, KIND, Manager(who, "Apply", "x/v1"), 5.0, True)
    assert (live, given_config) == before
