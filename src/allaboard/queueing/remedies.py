"""Who holds what a workload lacks, and what would let it in? Trials on the ledger, no trace left.

The nearest remedy first: what comes by itself, then what its owner can do, then what only an
administrator can.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from allaboard.api.times import format_time
from allaboard.clock import Instant
from allaboard.core.flavors import Market, Mode, Proposal, propose
from allaboard.core.ledger import Ledger
from allaboard.core.matching import check_flavor
from allaboard.core.nominating import (
    find_victims_for,
    needed_pods,
    propose_for,
    room_of_replaced,
)
from allaboard.core.preemption import Running
from allaboard.core.quota import available, potential
from allaboard.core.reasons import ExceedsMaximum
from allaboard.core.state import Entry, QueueState
from allaboard.core.values import FlavorResource, PodSet, ResourceGroup
from allaboard.queueing.explanation import Advice, Holder, Remedy, Viewer, amounts, listed
from allaboard.queueing.translate import render_amount

MAX_HOLDERS = 20  # the largest are told
MAX_NAMED = 5  # in one sentence
MAX_TRIED = 1000  # residents whose going is tried one by one
MAX_PRIORITIES = 20


def proposals(ledger: Ledger, entry: Entry, state: QueueState) -> list[Proposal]:
    """What admission would look like if nobody may be preempted: the rules' choice first, then
    each flavor by itself."""
    pods = needed_pods(entry.workload)
    flavors = [f.flavor for group in state.config.groups for f in group.flavors]
    found = [_propose(ledger, state, pods)]
    for group in state.config.groups:
        names = [f.flavor for f in group.flavors]
        for name in names if len(names) > 1 else ():
            others = {f: None for f in names if f != name and f in flavors}
            found.append(_propose(ledger, state, pods, others))
    return found


def _propose(
    ledger: Ledger,
    state: QueueState,
    pods: Sequence[PodSet],
    excluded: Mapping[str, None] | None = None,
) -> Proposal:
    def nobody(key: FlavorResource, total: int) -> Mode:
        return Mode.NO_CANDIDATES

    market = Market(
        state.config,
        state.node,
        ledger.flavors,
        nobody,
        may_preempt_while_borrowing=True,
        excluded=excluded,
    )
    return propose(pods, market)


def missing_for(state: QueueState, proposal: Proposal) -> dict[FlavorResource, int]:
    gaps = {key: n - available(state.node, key) for key, n in proposal.usage.items()}
    return {key: gap for key, gap in sorted(gaps.items()) if gap > 0}


def whom(found: Sequence[Running], viewer: Viewer) -> tuple[str, tuple[str, ...]]:
    """In words, and the names among them that the reader may know."""
    names = [viewer.name_of(other.workload) for other in found]
    known = tuple(name for name in names if name)
    told = known if len(known) <= MAX_NAMED else known[: MAX_NAMED - 1]
    others = len(names) - len(told)
    if not others:
        return listed(told), known
    rest = "another workload" if others == 1 else f"{others} other workloads"
    return listed([*told, rest]), known


def _held(found: Iterable[Running], keys: Iterable[FlavorResource]) -> dict[FlavorResource, int]:
    wanted = dict.fromkeys(keys, 0)
    for other in found:
        for key in wanted:
            wanted[key] += other.usage.get(key, 0)
    return wanted


class Remedies:
    """Of one workload that waits in line."""

    def __init__(self, ledger: Ledger, entry: Entry, state: QueueState, viewer: Viewer) -> None:
        self._ledger, self._entry, self._state = ledger, entry, state
        self._viewer = viewer
        self._found: dict[tuple[FlavorResource, ...], list[Running]] = {}

    def holders(self, missing: Mapping[FlavorResource, int]) -> tuple[Holder, ...]:
        """Those whose going would help, the largest first; those without a name are added up."""

        def size(other: Running) -> tuple[object, ...]:
            return (-sum(other.usage.get(key, 0) for key in missing), other.workload.key)

        line = sorted(self._helpful(missing), key=size)
        known = [other for other in line if self._viewer.sees(other.workload.key.namespace)]
        named = known[:MAX_HOLDERS]
        rest = [other for other in line if other not in named]
        found = [
            Holder(
                self._viewer.name_of(other.workload),
                {key: n for key, n in _held([other], missing).items() if n},
                other.workload.priority,
                other.evicting,
            )
            for other in named
        ]
        if rest:
            held = {key: n for key, n in _held(rest, missing).items() if n}
            found.append(Holder("", held, 0, all(other.evicting for other in rest)))
        return tuple(found)

    def for_shortage(self, options: Iterable[Proposal]) -> Iterator[Advice]:
        """It could fit, but not now."""
        options = [option for option in options if option.mode is Mode.NO_CANDIDATES]
        wait = self._wait(options)
        if wait is not None:
            yield wait
        yield from self._smaller(Mode.FIT, "that would fit now")
        yield from self._more_important()
        yield from self._more_quota(options[0])

    def for_excess(self, refused: Iterable[ExceedsMaximum]) -> Iterator[Advice]:
        """It can never fit here."""
        yield from self._smaller(Mode.NO_CANDIDATES, "more can never fit there")
        for reason in refused:
            more = reason.before + reason.request - reason.maximum
            yield self._raise(FlavorResource(reason.flavor, reason.resource), more)

    # Waiting

    def _wait(self, options: Sequence[Proposal]) -> Advice | None:
        """The fewest workloads whose end makes room, on whichever flavor."""
        best: tuple[Running, ...] = ()
        freed: dict[FlavorResource, int] = {}
        for option in options:
            found = self._enough(option)
            if found and (not best or self._rank(found) < self._rank(best)):
                best, freed = found, _held(found, missing_for(self._state, option))
        if not best:
            return None
        words, names = whom(best, self._viewer)
        ends = "end" if len(best) > 1 else "ends"
        message = f"{amounts(freed)} come free when {words} {ends}"
        return self._timed(best, message, names)

    def _timed(self, ending: tuple[Running, ...], message: str, names: tuple[str, ...]) -> Advice:
        if all(other.evicting for other in ending):
            return Advice(Remedy.WAIT, f"{message}, which is under way", names)
        ends = [self._end_of(other) for other in ending]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            return Advice(Remedy.WAIT, message, names)
        at = max(known)
        return Advice(Remedy.WAIT, f"{message}, at {format_time(at)} at the latest", names, at)

    def _end_of(self, running: Running) -> Instant | None:
        return self._ledger.execution_ends.get(running.workload.uid)

    def _rank(self, found: tuple[Running, ...]) -> tuple[object, ...]:
        ends = [self._end_of(other) for other in found]
        last = max((e for e in ends if e is not None), default=0.0)
        unknown = sum(1 for e in ends if e is None)
        return (not all(other.evicting for other in found), len(found), unknown, last)

    def _enough(self, option: Proposal) -> tuple[Running, ...]:
        """Some whose end would be enough, none of them for nothing."""
        charges, node = self._ledger.forest.charges, self._state.node

        def fits() -> bool:
            return all(n <= available(node, key) for key, n in option.usage.items())

        order = sorted(self._helpful(missing_for(self._state, option)), key=self._order)
        for other in order[:MAX_TRIED]:
            with charges.trial():
                charges.release(other.node, other.usage)
                if fits():
                    return (other,)
        taken: list[Running] = []
        with charges.trial():
            for other in order:
                charges.release(other.node, other.usage)
                taken.append(other)
                if fits():
                    break
            else:
                return ()
            for other in reversed(taken[:-1]):
                charges.charge(other.node, other.usage)
                if fits():
                    taken.remove(other)
                else:
                    charges.release(other.node, other.usage)
        return tuple(taken)

    def _order(self, running: Running) -> tuple[object, ...]:
        end = self._end_of(running)
        workload = running.workload
        known = float("inf") if end is None else end
        return (not running.evicting, known, workload.reserved_at, workload.key, workload.uid)

    def _helpful(self, missing: Mapping[FlavorResource, int]) -> list[Running]:
        """Whose going would leave more of it for this queue."""
        keys = tuple(missing)
        if keys not in self._found:
            self._found[keys] = self._search(keys)
        return self._found[keys]

    def _search(self, keys: tuple[FlavorResource, ...]) -> list[Running]:
        charges, node = self._ledger.forest.charges, self._state.node
        before = {key: available(node, key) for key in keys}
        found = []
        for leaf in node.root.leaves():
            for other in self._ledger.residents(leaf):
                held = {key: other.usage[key] for key in keys if other.usage.get(key)}
                if not held:
                    continue
                with charges.trial():
                    charges.release(other.node, held)
                    if any(available(node, key) > had for key, had in before.items()):
                        found.append(other)
        return found

    # What its owner can do

    def _smaller(self, enough: Mode, why: str) -> Iterator[Advice]:
        """The most pods that would do, or the most of each resource."""
        pods = needed_pods(self._entry.workload)
        if len(pods) != 1 or pods[0].count < 2:
            yield from self._less(pods, enough, why)
            return
        only = pods[0]
        low, high = 0, only.count - 1
        while low < high:
            middle = (low + high + 1) // 2
            tried = _propose(self._ledger, self._state, [replace(only, count=middle)])
            low, high = (middle, high) if tried.mode >= enough else (low, middle - 1)
        if low:
            asked = f"ask for at most {low} pods instead of {only.count}"
            yield Advice(Remedy.LOWER_REQUEST, f"{asked}; {why}".replace("1 pods", "1 pod"))
        else:
            yield from self._less(pods, enough, why)

    def _less(self, pods: Sequence[PodSet], enough: Mode, why: str) -> Iterator[Advice]:
        """In all, for a workload that cannot do with fewer pods; on its best flavor."""
        best: dict[str, tuple[int, int]] = {}
        asked: dict[str, int] = {}
        for one in pods:
            for resource, amount in one.requests.items():
                asked[resource] = asked.get(resource, 0) + amount * one.count
        for group in self._state.config.groups:
            for flavor in self._possible(group, pods):
                found = {}
                for resource in group.resources:
                    if resource in asked:
                        key = FlavorResource(flavor, resource)
                        room = self._room(key, enough)
                        found[resource] = (min(room, asked[resource]), asked[resource])
                if found and all(room > 0 for room, _ in found.values()):
                    best |= {r: pair for r, pair in found.items() if pair > best.get(r, (0, 0))}
        shrunk = {r: pair for r, pair in best.items() if pair[0] < pair[1]}
        if shrunk:
            words = listed(
                f"{render_amount(r, room)} {r} in all instead of {render_amount(r, whole)}"
                for r, (room, whole) in sorted(shrunk.items())
            )
            yield Advice(Remedy.LOWER_REQUEST, f"ask for at most {words}; {why}")

    def _possible(self, group: ResourceGroup, pods: Sequence[PodSet]) -> list[str]:
        """The group's flavors on whose nodes all these pods may run."""
        known = self._ledger.flavors
        there = [known[f.flavor] for f in group.flavors if f.flavor in known]
        keys = {label: None for flavor in there for label in flavor.labels}
        return [
            flavor.name
            for flavor in there
            if not any(check_flavor(one, flavor, keys) for one in pods)
        ]

    def _room(self, key: FlavorResource, enough: Mode) -> int:
        return (available if enough is Mode.FIT else potential)(self._state.node, key)

    def _more_important(self) -> Iterator[Advice]:
        """The lowest priority at which it could take somebody's place."""
        if self._state.config.preemption.within_cluster_queue == "Never":
            return
        own = self._entry.workload
        ranks = sorted(p for p in self._state.priorities if p >= own.priority)
        for rank in ranks[:MAX_PRIORITIES]:
            raised = Entry(replace(own, priority=rank + 1), queue=self._entry.queue)
            with room_of_replaced(self._ledger, own):
                proposal = propose_for(self._ledger, raised, self._state)
                victims = (
                    find_victims_for(self._ledger, raised, self._state, proposal)
                    if proposal.mode in (Mode.PREEMPT, Mode.RECLAIM)
                    else ()
                )
            if victims:
                others, names = whom([v.running for v in victims], self._viewer)
                words = f"give it a priority above {rank}: it would take the place of {others}"
                yield Advice(Remedy.RAISE_PRIORITY, words, names)
                return

    # What an administrator can do

    def _more_quota(self, option: Proposal) -> Iterator[Advice]:
        for key, missing in missing_for(self._state, option).items():
            yield self._raise(key, missing)

    def _raise(self, key: FlavorResource, more: int) -> Advice:
        node, queue = self._state.node, self._state.config.name
        cell = node.cells.get(key)
        nominal = cell.nominal if cell is not None else 0
        what, now = "nominalQuota", nominal
        if cell is not None and cell.borrowing is not None and node.parent is not None:
            room = max(0, cell.local - cell.usage) + available(node.parent, key)
            if room >= available(node, key) + more:
                what, now = "borrowingLimit", cell.borrowing
        before, after = (render_amount(key.resource, n) for n in (now, now + more))
        return Advice(
            Remedy.RAISE_QUOTA,
            f"raise the {what} of {key.resource} in flavor {key.flavor} of ClusterQueue {queue} "
            f"from {before} to {after}",
        )
