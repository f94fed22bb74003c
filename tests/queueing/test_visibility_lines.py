"""Who waits where? Positions, pages, and what a reader may not see."""

from explained_stage import Stage, play

from allaboard.api.kueue.types.queues import LocalQueue
from allaboard.api.meta import Json


async def two_teams(stage: Stage) -> None:
    """One ClusterQueue, a LocalQueue in each of two namespaces, and one job that blocks all."""
    await stage.namespace("red")
    await stage.queue("q", "2", namespace="default")
    await stage.create(LocalQueue, "q", {"clusterQueue": "q"}, "red")
    await stage.submit("blocker", "q", "2", namespace="red", priority=9)
    await stage.submit("d1", "q", "1")
    await stage.submit("r1", "q", "1", namespace="red")
    await stage.submit("d2", "q", "1", priority=3)


def test_positions_in_both_queues() -> None:
    async def scene(stage: Stage) -> None:
        await two_teams(stage)
        everybody = [("d2", 0, 0), ("d1", 1, 1), ("r1", 2, 0)]
        assert await stage.line("clusterqueues/q") == everybody
        assert await stage.line("namespaces/red/localqueues/q") == [("r1", 2, 0)]
        assert await stage.line("clusterqueues/q", limit="1", offset="1") == [("d1", 1, 1)]
        told = await stage.why("r1", "red")
        assert (told["positionInClusterQueue"], told["positionInLocalQueue"]) == (2, 0)

    play(scene)


def test_each_says_what_it_waits_for() -> None:
    async def scene(stage: Stage) -> None:
        await two_teams(stage)
        answer = await stage.ask("clusterqueues/q/pendingworkloads")
        first = answer.body["items"][0]
        assert first["reason"] == "WaitingForQuota" and "1 more needed" in first["message"]
        assert (first["priority"], first["localQueueName"]) == (3, "q")

    play(scene)


def test_refusals() -> None:
    async def scene(stage: Stage) -> None:
        await two_teams(stage)
        for path, query, status in (
            ("clusterqueues/none/pendingworkloads", {}, 404),
            ("namespaces/default/localqueues/none/pendingworkloads", {}, 404),
            ("namespaces/default/workloads/none/explanation", {}, 404),
            ("namespaces/default/workloads/d1", {}, 404),
            ("clusterqueues/q/pendingworkloads", {"limit": "-1"}, 400),
            ("clusterqueues/q/pendingworkloads", {"offset": "many"}, 400),
        ):
            assert (await stage.ask(path, **query)).status == status, path

    play(scene)


async def only_default(user: Json, attributes: Json) -> bool:
    """`ann` works in the namespace default, `root` everywhere; nobody else anywhere."""
    name, verb, namespace = user["username"], attributes["verb"], attributes.get("namespace", "")
    return bool(name == "root" or (name == "ann" and (namespace == "default" or verb == "get")))


def test_no_name_of_a_namespace_that_the_reader_cannot_list() -> None:
    async def scene(stage: Stage) -> None:
        await two_teams(stage)
        told = await stage.why("d1", user="ann")
        assert "red" not in str(told) and "blocker" not in str(told) and "r1" not in str(told)
        assert told["holders"] == [
            {"name": "", "amounts": [{"flavor": "f", "resource": "cpu", "amount": "2"}],
             "leaving": False}
        ]  # fmt: skip
        assert told["remedies"][0]["message"] == "2 cpu come free when another workload ends"
        assert await stage.line("clusterqueues/q", "ann") == [("d2", 0, 0), ("d1", 1, 1)]
        known = await stage.why("d1", user="root")
        assert known["remedies"][0]["workloads"] == ["red/blocker"]

    play(scene, only_default)


def test_a_stranger_is_refused() -> None:
    async def scene(stage: Stage) -> None:
        await two_teams(stage)
        for path in (
            "clusterqueues/q/pendingworkloads",
            "namespaces/default/localqueues/q/pendingworkloads",
            "namespaces/default/workloads/d1/explanation",
            "namespaces/default/workloads/none/explanation",
        ):
            answer = await stage.ask(path, "eve")
            assert answer.status == 403, path
            assert 'User "eve" cannot get resource' in answer.body["message"]

    play(scene, only_default)
