"""The store against a naive model: a list of everything that ever happened."""

import asyncio
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from allaboard.clock import Clock
from allaboard.cluster.store import Compacted, Store, StoreConflict, Watch

RESOURCES = st.sampled_from(["pods", "jobs.batch"])
NAMESPACES = st.sampled_from(["x", "y"])
SCOPES = st.sampled_from(["x", "y", None])
NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.integers()
Key = tuple[str, str, str]


@dataclass
class Event:
    rev: int
    type: str
    key: Key
    obj: dict[str, Any]
    time: float


@dataclass
class Reader:
    """A watch, and what it must still deliver."""

    watch: Watch
    resource: str | None
    namespace: str | None
    after: int
    early: bool  # asked for revisions that did not exist yet
    got: list[int] = field(default_factory=list)

    def wants(self, event: Event) -> bool:
        resource, namespace, _ = event.key
        return (
            event.rev > self.after
            and self.resource in (None, resource)
            and self.namespace in (None, namespace)
        )


class Agreement(RuleBasedStateMachine):
    durable = False
    window_s = 50.0

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.clock = Clock(0.0, lambda: self.now)
        self.loop = asyncio.new_event_loop()
        self.directory = Path(tempfile.mkdtemp())
        self.events: list[Event] = []
        self.readers: list[Reader] = []
        self.compacted = 0

    @initialize()
    def start(self) -> None:
        if self.durable:
            self.store = Store.open(self.directory / "d", self.clock, window_s=self.window_s)
        else:
            self.store = Store(self.clock, window_s=self.window_s)

    def state_at(self, revision: int) -> dict[Key, dict[str, Any]]:
        state: dict[Key, dict[str, Any]] = {}
        for event in self.events[:revision]:
            state.pop(event.key, None)
            if event.type != "DELETED":
                state[event.key] = event.obj
        return state

    def settle(self) -> None:
        self.loop.run_until_complete(self.store.wait_durable(self.store.revision))

    @rule(
        resource=RESOURCES,
        namespace=NAMESPACES,
        name=NAMES,
        value=st.integers(),
        slip=st.booleans(),
    )
    def put(self, resource: str, namespace: str, name: str, value: int, slip: bool) -> None:
        old = self.state_at(len(self.events)).get((resource, namespace, name))
        current = int(old["metadata"]["resourceVersion"]) if old else 0
        obj = {"metadata": {"name": name}, "value": value}
        if slip:
            with pytest.raises(StoreConflict):
                self.store.commit(resource, namespace, name, obj, current + 1)
            return
        record = self.store.commit(resource, namespace, name, obj, current)
        kind = "MODIFIED" if old else "ADDED"
        self.note(kind, (resource, namespace, name), record.obj)
        assert record.obj["value"] == value

    @rule(data=st.data())
    @precondition(lambda self: self.state_at(len(self.events)))
    def delete(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.state_at(len(self.events)))))
        record = self.store.commit(*key, None)
        self.note("DELETED", key, record.obj)

    def note(self, kind: str, key: Key, obj: dict[str, Any]) -> None:
        self.events.append(Event(len(self.events) + 1, kind, key, obj, self.clock.now()))
        assert obj["metadata"]["resourceVersion"] == str(len(self.events))

    @rule(seconds=st.integers(1, 40))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule(resource=RESOURCES, namespace=SCOPES, back=st.integers(0, 30))
    def list_back(self, resource: str, namespace: str | None, back: int) -> None:
        revision = max(0, len(self.events) - back)
        if revision < self.store.compacted:
            with pytest.raises(Compacted):
                self.store.list_at(resource, namespace, revision)
            return
        listed = self.store.list_at(resource, namespace, revision)
        expected = [
            (key, obj)
            for key, obj in sorted(self.state_at(revision).items())
            if key[0] == resource and namespace in (None, key[1])
        ]
        assert [((r.resource, r.namespace, r.name), r.obj) for r in listed] == expected

    @rule(resource=st.none() | RESOURCES, namespace=SCOPES, back=st.integers(-2, 30))
    def watch(self, resource: str | None, namespace: str | None, back: int) -> None:
        after = max(0, len(self.events) - back)
        namespace = namespace if resource else None
        try:
            if resource is None:
                watch = self.store.watch_all(after)
            else:
                watch = self.store.watch(resource, namespace, after)
        except Compacted:
            assert after < self.store.compacted
            return
        assert after >= self.store.compacted
        self.readers.append(Reader(watch, resource, namespace, after, back < 0))

    @rule(data=st.data(), limit=st.integers(1, 20))
    @precondition(lambda self: self.readers)
    def read(self, data: st.DataObject, limit: int) -> None:
        """A watch gives the next changes of its scope, or says that it cannot; nothing else."""
        self.settle()
        reader = data.draw(st.sampled_from(self.readers))
        left = [e for e in self.events if reader.wants(e)][len(reader.got) :]
        try:
            taken = reader.watch.take(limit)
        except Compacted:
            assert left and left[0].rev <= self.store.compacted
            self.readers.remove(reader)
            return
        seen = [(c.rev, c.type, c.record.obj) for c in taken]
        assert seen == [(e.rev, e.type, e.obj) for e in left[: len(seen)]]
        assert len(seen) == min(limit, len(left)) or reader.early
        reader.got += [c.rev for c in taken]
        bookmark = reader.watch.revision
        assert all(event.rev > bookmark for event in left[len(seen) :])
        assert bookmark >= max([reader.after, *reader.got])

    @rule(back=st.integers(0, 10))
    def compact(self, back: int) -> None:
        self.settle()
        self.store.compact(max(0, len(self.events) - back))

    @rule()
    def forget(self) -> None:
        self.settle()
        self.store.forget_history()
        assert self.store.compacted == len(self.events)

    @rule()
    @precondition(lambda self: self.durable)
    def reopen(self) -> None:
        self.loop.run_until_complete(self.store.close())
        compacted = self.store.compacted
        self.readers = []
        self.start()
        assert self.store.compacted == compacted

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.store.revision == len(self.events)
        assert self.store.compacted >= self.compacted
        self.compacted = self.store.compacted
        for resource in ("pods", "jobs.batch"):
            self.list_back(resource, None, 0)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.loop.run_until_complete(self.store.close())
        self.loop.close()
        shutil.rmtree(self.directory)


class DurableAgreement(Agreement):
    durable = True


class ForgetfulAgreement(Agreement):
    """With a window of nothing, only what nobody was told yet is remembered."""

    window_s = 0.0


_QUICK = settings(max_examples=120, stateful_step_count=40, deadline=None)
Agreement.TestCase.settings = _QUICK
ForgetfulAgreement.TestCase.settings = settings(_QUICK, max_examples=60)
DurableAgreement.TestCase.settings = settings(
    _QUICK, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
TestInMemory = Agreement.TestCase
TestForgetful = ForgetfulAgreement.TestCase
TestDurable = DurableAgreement.TestCase
