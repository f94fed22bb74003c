"""What shall become of an object whose owners come and go?

no owner left                      delete it
some owners left                   drop the references to those that are gone or going
its owner waits for it             delete it, in the foreground if it has dependents itself
it waits for its own dependents    delete those that block it; with none left, let it go
it gives up its dependents         drop their references to it, then let it go
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from allaboard.cluster.controllers.gc.graph import FOREGROUND, ORPHAN, Graph, Item, Reference


class Owner(Enum):
    """How an owner fares, as seen by a dependent."""

    SOLID = "solid"  # exists
    ABSENT = "absent"
    FOREIGN = "foreign"  # exists, but in another namespace, where it owns nothing here
    WAITING = "waiting"  # is being deleted and waits for its dependents


@dataclass(frozen=True, slots=True)
class Judgement:
    """What to do with one item. Empty: nothing."""

    delete: str = ""  # the propagation policy to delete it with
    drop_owners: tuple[str, ...] = ()  # UIDs of owners to forget
    unblock: bool = False  # its references must no longer hold its owners back
    look_at: tuple[Item, ...] = ()  # dependents to judge next
    orphan: tuple[Item, ...] = ()  # dependents that lose their reference to it
    drop_finalizer: str = ""
    foreign: tuple[Reference, ...] = field(default=())


NOTHING = Judgement()


def judge(item: Item, graph: Graph, fate: Callable[[Item, Reference], Owner]) -> Judgement:
    """The verdict about `item`; `fate` tells how one of its owners fares."""
    if item.orphans_dependents:
        return Judgement(orphan=tuple(graph.dependents(item.uid)), drop_finalizer=ORPHAN)
    if item.waits_for_dependents:
        blocking = [d for d in graph.dependents(item.uid) if d.blocks(item.uid)]
        if not blocking:
            return Judgement(drop_finalizer=FOREGROUND)
        return Judgement(look_at=tuple(d for d in blocking if not d.waits_for_dependents))
    if item.deleting or not item.owners:
        return NOTHING
    return _by_owners(item, graph, [(owner, fate(item, owner)) for owner in item.owners])


def _by_owners(item: Item, graph: Graph, owners: list[tuple[Reference, Owner]]) -> Judgement:
    foreign = tuple(owner for owner, fate in owners if fate is Owner.FOREIGN)
    leaving = tuple(owner.uid for owner, fate in owners if fate is not Owner.SOLID)
    if len(leaving) < len(owners):
        return Judgement(drop_owners=leaving, foreign=foreign) if leaving else NOTHING
    waiting = any(fate is Owner.WAITING for _, fate in owners)
    dependents = graph.dependents(item.uid)
    if waiting and dependents:
        # A dependent that is itself being deleted in the foreground closes a circle: unless the
        # block is lifted, each of the two would wait for the other.
        circle = any(dependent.waits_for_dependents for dependent in dependents)
        return Judgement(delete="Foreground", unblock=circle, foreign=foreign)
    if ORPHAN in item.finalizers:
        return Judgement(delete="Orphan", foreign=foreign)
    if FOREGROUND in item.finalizers:
        return Judgement(delete="Foreground", foreign=foreign)
    return Judgement(delete="Background", foreign=foreign)
