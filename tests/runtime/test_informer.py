"""A cache follows the server through everything that a connection can do to it."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from scripted_api import GONE, ScriptedApi

from allaboard.api.errors import InternalError
from allaboard.api.meta import Key
from allaboard.api.types import Pod
from allaboard.client.client import Client
from allaboard.runtime.informer import Informer, Scope
from allaboard.runtime.informers import Informers
from allaboard.sim.loop import run_virtual, virtual_clock

PODS = "/api/v1/namespaces/a/pods"


def run(scenario: Callable[[ScriptedApi, Informers], Awaitable[None]]) -> None:
    async def main() -> None:
        api = ScriptedApi()
        informers = Informers(Client(api), virtual_clock(), random.Random(1))
        await scenario(api, informers)
        await informers.stop()

    run_virtual(main())


async def settled(api: ScriptedApi, informer: Informer[Any]) -> None:
    """Give it a few minutes, then compare with the truth."""
    await asyncio.sleep(120)
    truth = {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in api.objects.values()}
    assert {p.name: p.metadata.resource_version for p in informer.all()} == truth


def story(changes: list[str]) -> Callable[[Pod | None, Pod | None], None]:
    def heard(old: Pod | None, new: Pod | None) -> None:
        sign = "+" if old is None else "-" if new is None else "~"
        pod = new or old
        assert pod is not None
        changes.append(f"{sign}{pod.name}")

    return heard


def test_lists_then_follows() -> None:
    async def scenario(api: ScriptedApi, informers: Informers) -> None:
        api.put(f"{PODS}/x")
        pods = informers.of(Pod)
        changes: list[str] = []
        pods.on_change(story(changes))
        informers.start()
        await informers.wait_synced()
        assert pods.get(Key("a", "x")) is not None
        api.put(f"{PODS}/y")
        api.put(f"{PODS}/x", spec={"nodeName": "n"})
        api.remove(f"{PODS}/y")
        await settled(api, pods)
        assert changes == ["+x", "+y", "~x", "-y"]

    run(scenario)


def test_shares_one_informer_and_tells_latecomers_what_is_there() -> None:
    async def scenario(api: ScriptedApi, informers: Informers) -> None:
        api.put(f"{PODS}/x")
        informers.start()
        pods = informers.of(Pod)
        await informers.wait_synced()
        assert informers.of(Pod) is pods
        changes: list[str] = []
        pods.on_change(story(changes))
        assert changes == ["+x"]

    run(scenario)


def test_two_views_of_one_kind_share_one_watch() -> None:
    async def scenario(api: ScriptedApi, informers: Informers) -> None:
        api.put(f"{PODS}/x")
        typed_pods, plain_pods = informers.of(Pod), informers.of(Pod.KIND)
        informers.start()
        await informers.wait_synced()
        late = informers.of(Pod.KIND, transform=lambda raw: {"name": raw["metadata"]["name"]})
        api.put(f"{PODS}/y")
        await settled(api, typed_pods)
        assert [p["metadata"]["name"] for p in plain_pods.all()] == ["x", "y"]
        assert late.all() == [{"name": "x"}, {"name": "y"}]
        assert len([r for r in api.requests if "watch" in r.query]) == 2

    run(scenario)


def break_now(api: ScriptedApi) -> None:
    api.break_streams()


def gone_event(api: ScriptedApi) -> None:
    api.forget_history()
    api.break_streams({"type": "ERROR", "object": GONE})


def gone_answer(api: ScriptedApi) -> None:
    api.break_streams()
    api.forget_history()


def server_error(api: ScriptedApi) -> None:
    api.break_streams({"type": "ERROR", "object": {"kind": "Status", "code": 500}})


def garbage(api: ScriptedApi) -> None:
    api.break_streams({"type": "ADDED", "object": {"metadata": {"name": "no version"}}})


def not_even_json_shaped(api: ScriptedApi) -> None:
    api.break_streams({"nothing": "here"})


@pytest.mark.parametrize(
    "harm", [break_now, gone_event, gone_answer, server_error, garbage, not_even_json_shaped]
)
def test_finds_what_it_missed(harm: Callable[[ScriptedApi], None]) -> None:
    """Deletions, re-creations and changes during the break are all found, as if seen."""

    async def scenario(api: ScriptedApi, informers: Informers) -> None:
        for name in ("gone", "kept", "changed", "reborn"):
            api.put(f"{PODS}/{name}")
        pods = informers.of(Pod)
        informers.start()
        await informers.wait_synced()
        await asyncio.sleep(1)
        changes: list[str] = []
        pods.on_change(story(changes))
        changes.clear()
        api.mute = True
        api.remove(f"{PODS}/gone")
        api.remove(f"{PODS}/reborn")
        api.put(f"{PODS}/reborn")
        api.put(f"{PODS}/changed", spec={})
        api.put(f"{PODS}/new")
        harm(api)
        api.mute = False
        await settled(api, pods)
        assert sorted(changes) == ["+new", "+reborn", "-gone", "-reborn", "~changed"]
        assert changes.index("-reborn") < changes.index("+reborn")

    run(scenario)


def test_waits_longer_and_longer_for_a_server_that_is_down() -> None:
    async def scenario(api: ScriptedApi, informers: Informers) -> None:
        api.down = True
        pods = informers.of(Pod)
        informers.start()
        await asyncio.sleep(600)
        tries = len(api.requests)
        assert 15 < tries < 6 * 40  # each turn retries a read a few times
        api.down = False
        api.put(f"{PODS}/x")
        await settled(api, pods)

    run(scenario)


def test_a_server_begun_anew_is_noticed_when_the_watch_is_resumed() -> None:
    async def scenario(api: ScriptedApi, informers: Informers) -> None:
        for number in range(20):
            api.put(f"{PODS}/old{number}")
        pods = informers.of(Pod)
        informers.start()
        await informers.wait_synced()
        await asyncio.sleep(1)
        api.objects.clear()
        api.log.clear()
        api.version = 0
        api.put(f"{PODS}/new")
        api.break_streams()
        await settled(api, pods)
        api.put(f"{PODS}/newer")
        await settled(api, pods)
        assert len(pods) == 2

    run(scenario)


def test_bookmarks_move_the_version_without_news() -> None:
    async def scenario(api: ScriptedApi, informers: Informers) -> None:
        pods = informers.of(Pod)
        informers.start()
        await informers.wait_synced()
        await asyncio.sleep(1)
        api.version = 77  # other kinds moved on
        waiter = asyncio.ensure_future(pods.wait_seen(77))
        api.say({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "77"}}})
        await asyncio.wait_for(waiter, 5)
        api.break_streams()
        await asyncio.sleep(30)
        assert api.requests[-1].query["resourceVersion"] == "77"

    run(scenario)


@pytest.mark.parametrize("seed", [*range(10), 1025, 1095])
def test_converges_whatever_happens(seed: int) -> None:
    """Random changes and random harm; after a quiet while the cache equals the truth."""

    async def scenario(api: ScriptedApi, informers: Informers) -> None:
        rng = random.Random(seed)
        pods = informers.of(Pod)
        mirror: dict[str, Pod] = {}

        def follow(old: Pod | None, new: Pod | None) -> None:
            if old is not None:
                assert mirror.pop(old.uid) is old
            if new is not None:
                mirror[new.uid] = new

        pods.add_index("node", lambda pod: [pod.spec.node_name])
        pods.on_change(follow)
        informers.start()
        harms = [break_now, gone_event, gone_answer, server_error, garbage, not_even_json_shaped]
        for _ in range(150):
            path = f"{PODS}/p{rng.randrange(8)}"
            if path in api.objects and rng.random() < 0.4:
                api.remove(path)
            else:
                api.put(path, spec={"nodeName": f"n{rng.randrange(3)}"})
            if rng.random() < 0.15:
                rng.choice(harms)(api)
            if rng.random() < 0.1:
                _, type_, _, obj = rng.choice(api.log)
                api.say({"type": type_, "object": obj})  # an old story, told again
            api.down = rng.random() < 0.1
            api.mute = rng.random() < 0.2
            await asyncio.sleep(rng.choice([0, 0, 0.1, 3]))
        api.down = api.mute = False
        api.put(f"{PODS}/last")
        await settled(api, pods)
        assert [p.uid for p in pods.all()] == [mirror[p.uid].uid for p in pods.all()]
        assert len(mirror) == len(pods)
        for node in ("n0", "n1", "n2"):
            assert pods.by_index("node", node) == [
                p for p in pods.all() if p.spec.node_name == node
            ]

    run(scenario)


def pod(name: str, uid: str, version: int, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "a", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": metadata, **fields}


def test_old_news_change_nothing() -> None:
    informer: Informer[Pod] = Informer(Scope(Pod.KIND), Pod)
    changes: list[str] = []
    informer.on_change(story(changes))
    informer.apply("ADDED", pod("x", "u1", 5))
    informer.apply("MODIFIED", pod("x", "u1", 5))
    informer.apply("MODIFIED", pod("x", "u1", 4))
    informer.apply("ADDED", pod("x", "u2", 9))
    informer.apply("DELETED", pod("x", "u1", 7))
    assert changes == ["+x", "-x", "+x"]
    assert informer.by_uid("u1") is None
    assert informer.by_uid("u2") is informer.get(Key("a", "x"))


def test_a_broken_handler_does_not_keep_news_from_others() -> None:
    informer: Informer[Pod] = Informer(Scope(Pod.KIND), Pod)
    changes: list[str] = []
    informer.on_change(lambda old, new: 1 / 0)
    informer.on_change(story(changes))
    informer.apply("ADDED", pod("x", "u1", 5))
    assert changes == ["+x"]


def test_live_state_overtakes_the_watch() -> None:
    """An object absorbed ahead of the watch is not undone by the older news that follow."""
    informer: Informer[Pod] = Informer(Scope(Pod.KIND), Pod)
    informer.apply("ADDED", pod("x", "u1", 5))
    informer.apply("ADDED", pod("y", "u2", 6))
    informer.absorb(Key("a", "x"), pod("x", "u1", 20))
    informer.absorb(Key("a", "y"), None)
    informer.apply("MODIFIED", pod("x", "u1", 10))
    found = informer.get(Key("a", "x"))
    assert found is not None and found.metadata.resource_version == "20"
    assert informer.get(Key("a", "y")) is None
    informer.apply("BOOKMARK", {"metadata": {"resourceVersion": "30"}})
    informer.apply("ADDED", pod("y", "u3", 31))
    assert informer.by_uid("u3") is not None


def test_transform_keeps_only_what_is_needed() -> None:
    def slim(raw: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": raw["metadata"]}

    informer: Informer[dict[str, Any]] = Informer(Scope(Pod.KIND), None, slim)
    informer.apply("ADDED", pod("x", "u1", 5, spec={"huge": "x" * 1000}))
    assert informer.get(Key("a", "x")) == {"metadata": pod("x", "u1", 5)["metadata"]}


def test_says_what_is_no_event() -> None:
    informer: Informer[Pod] = Informer(Scope(Pod.KIND), Pod)
    for bad in ({}, {"metadata": None}, {"metadata": {"resourceVersion": "x", "name": "n"}}):
        with pytest.raises(InternalError):
            informer.apply("ADDED", bad)


@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        pytest.param(Scope(Pod.KIND), True, id="everything"),
        pytest.param(Scope(Pod.KIND, "b"), False, id="another namespace"),
        pytest.param(Scope(Pod.KIND, "a", "app=web"), True, id="its label"),
        pytest.param(Scope(Pod.KIND, "a", "!app"), False, id="not its label"),
        pytest.param(Scope(Pod.KIND, "", "", "spec.nodeName=n1"), True, id="its node"),
        pytest.param(Scope(Pod.KIND, "", "", "spec.nodeName!=n1"), False, id="not its node"),
    ],
)
def test_scope_knows_what_it_covers(scope: Scope, covered: bool) -> None:
    obj = {"metadata": {"labels": {"app": "web"}}, "spec": {"nodeName": "n1"}}
    assert scope.covers(Key("a", "x"), obj) is covered


def test_a_server_that_lost_its_past_is_believed() -> None:
    """Restored from a backup or started anew, its versions begin low again."""
    informer: Informer[Pod] = Informer(Scope(Pod.KIND), Pod)
    informer.replace([pod("x", "u1", 500), pod("y", "u2", 501), pod("z", "u3", 502)], 600)
    changes: list[str] = []
    informer.on_change(story(changes))
    changes.clear()
    informer.replace([pod("x", "u1", 3), pod("z", "u9", 4)], 7)
    assert changes == ["~x", "-z", "+z", "-y"]
    assert informer.resource_version == 7
    informer.apply("MODIFIED", pod("x", "u1", 8))
    assert changes[-1] == "~x"


def test_an_object_that_does_not_fit_its_view_hides_no_other() -> None:
    informer: Informer[Pod] = Informer(Scope(Pod.KIND), Pod)
    odd = pod("odd", "u1", 5, spec={"containers": "many"})
    informer.replace([odd, pod("x", "u2", 6)], 7)
    assert [p.name for p in informer.all()] == ["x"]
    informer.apply("MODIFIED", pod("odd", "u1", 8, spec={"containers": []}))
    assert [p.name for p in informer.all()] == ["odd", "x"]
