"""What becomes of an object when its owners come and go, decided on data alone."""

import pytest

from allaboard.api.meta import Json, Kind
from allaboard.cluster.controllers.gc.graph import FOREGROUND, ORPHAN, Graph, Item, Reference
from allaboard.cluster.controllers.gc.judgement import Judgement, Owner, judge

THING = Kind("", "v1", "ConfigMap", "configmaps")


def item(
    name: str, *owners: str, blocking: bool = False, finalizer: str = "", deleting: bool = False
) -> Item:
    meta: Json = {"name": name, "namespace": "ns", "uid": name}
    meta["ownerReferences"] = [
        {"kind": "ConfigMap", "name": o, "uid": o, "blockOwnerDeletion": blocking} for o in owners
    ]
    if finalizer:
        meta["finalizers"] = [finalizer]
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Item(THING, {"metadata": meta})


def graph_of(*items: Item) -> Graph:
    graph = Graph()
    for each in items:
        graph.put(each)
    return graph


def verdict(about: Item, *others: Item, **fates: Owner) -> Judgement:
    def fate(_: Item, owner: Reference) -> Owner:
        return fates[owner.uid]

    return judge(about, graph_of(about, *others), fate)


@pytest.mark.parametrize(
    ("fates", "expected"),
    [
        pytest.param({"a": Owner.SOLID, "b": Owner.SOLID}, Judgement(), id="both exist"),
        pytest.param(
            {"a": Owner.ABSENT, "b": Owner.SOLID},
            Judgement(drop_owners=("a",)),
            id="one is gone: only its reference goes",
        ),
        pytest.param(
            {"a": Owner.WAITING, "b": Owner.SOLID},
            Judgement(drop_owners=("a",)),
            id="one is going: the other keeps it",
        ),
        pytest.param(
            {"a": Owner.ABSENT, "b": Owner.ABSENT}, Judgement(delete="Background"), id="none left"
        ),
        pytest.param(
            {"a": Owner.ABSENT, "b": Owner.WAITING}, Judgement(delete="Background"), id="waited for"
        ),
    ],
)
def test_an_object_lives_as_long_as_one_owner(fates: dict[str, Owner], expected: Judgement) -> None:
    assert verdict(item("x", "a", "b"), **fates) == expected


def test_an_owner_in_another_namespace_is_no_owner() -> None:
    found = verdict(item("x", "a"), a=Owner.FOREIGN)
    assert (found.delete, [r.uid for r in found.foreign]) == ("Background", ["a"])


def test_a_waiting_owner_stays_while_something_blocks_it() -> None:
    owner = item("a", finalizer=FOREGROUND, deleting=True)
    blocker, other = item("x", "a", blocking=True), item("y", "a")
    assert verdict(owner, blocker, other).look_at == (blocker,)
    assert verdict(owner, other).drop_finalizer == FOREGROUND


def test_an_owner_that_gives_up_its_dependents_frees_them_first() -> None:
    owner, dependent = item("a", finalizer=ORPHAN, deleting=True), item("x", "a")
    assert verdict(owner, dependent) == Judgement(orphan=(dependent,), drop_finalizer=ORPHAN)


def test_a_waited_for_object_with_dependents_goes_in_the_foreground_too() -> None:
    middle, leaf = item("x", "a", blocking=True), item("y", "x", blocking=True)
    assert verdict(middle, leaf, a=Owner.WAITING) == Judgement(delete="Foreground")


def test_a_circle_is_opened() -> None:
    a = item("a", "b", blocking=True, finalizer=FOREGROUND, deleting=True)
    b = item("b", "a", blocking=True)
    assert verdict(b, a, a=Owner.WAITING) == Judgement(delete="Foreground", unblock=True)


def test_the_finalizer_decides_how_a_leftover_is_deleted() -> None:
    assert verdict(item("x", "a", finalizer=ORPHAN), a=Owner.ABSENT).delete == "Orphan"
    assert verdict(item("x", "a", finalizer=FOREGROUND), a=Owner.ABSENT).delete == "Foreground"


def test_the_graph_forgets_what_no_longer_matters() -> None:
    graph = graph_of(item("x", "a"))
    assert graph.has_dependents("a")
    graph.put(item("x"))
    assert not graph.has_dependents("a")
    assert graph.items == {}
