"""Why does it wait? Asked of the endpoint; the answers follow from who was submitted when."""

import asyncio
from typing import Any

import pytest
from explained_stage import Stage, advice, group, play

from allaboard.api.kueue.types.flavors import ResourceFlavor
from allaboard.api.kueue.types.queues import ClusterQueue, LocalQueue
from allaboard.api.kueue.types.workloads import Workload

HELD = {"flavor": "f", "resource": "cpu"}


def test_short_of_quota_with_one_in_the_way() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "4")
        await stage.submit("one", "a", "3", priority=5)
        await stage.submit("two", "a", "1", pods=2)
        told = await stage.why("two")
        assert told["state"] == "WaitingForQuota"
        assert told["missing"] == [{**HELD, "amount": "1"}]
        assert told["holders"] == [
            {"name": "default/one", "amounts": [{**HELD, "amount": "3"}], "leaving": False,
             "priority": 5}
        ]  # fmt: skip
        assert told["remedies"] == [
            {"remedy": "Wait", "message": "3 cpu come free when default/one ends",
             "workloads": ["default/one"]},
            {"remedy": "LowerRequest",
             "message": "ask for at most 1 pod instead of 2; that would fit now"},
            {"remedy": "RaiseQuota",
             "message": "raise the nominalQuota of cpu in flavor f of ClusterQueue a from 4 to 5"},
        ]  # fmt: skip
        assert told["summary"] == "It waits for quota: 1 cpu more on flavor f of ClusterQueue a."

    play(scene)


def test_the_one_whose_end_is_enough_is_named_before_two_that_are_needed_together() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "4")
        for name, cpu in (("small", "1"), ("little", "1"), ("large", "2")):
            await stage.submit(name, "a", cpu)
        await stage.submit("two", "a", "2")
        await stage.submit("three", "a", "3")
        assert (await stage.why("two"))["remedies"][0]["workloads"] == ["default/large"]
        both = (await stage.why("three"))["remedies"][0]
        assert len(both["workloads"]) == 2 and "default/large" in both["workloads"]

    play(scene)


def test_a_sentence_names_five_at_the_most() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "7")
        for number in range(7):
            await stage.submit(f"w{number}", "a", "1")
        await stage.submit("whole", "a", "7")
        nearest = (await stage.why("whole"))["remedies"][0]
        assert len(nearest["workloads"]) == 7
        assert nearest["message"].endswith("default/w3 and 3 other workloads end")

    play(scene)


def test_who_must_end_by_a_known_time_is_the_nearest() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "2")
        await stage.submit("endless", "a", "1")
        await stage.submit("limited", "a", "1", maximumExecutionTimeSeconds=600)
        await stage.submit("next", "a", "1")
        nearest = (await stage.why("next"))["remedies"][0]
        assert nearest["workloads"] == ["default/limited"]
        limited = await stage.client.get(Workload.KIND, "limited", "default")
        admitted = next(c for c in limited["status"]["conditions"] if c["type"] == "Admitted")
        began = admitted["lastTransitionTime"]
        minutes = (int(began[14:16]) + 10) % 60
        assert nearest["at"][14:16] == f"{minutes:02}"

    play(scene)


def test_who_borrows_is_named_and_who_sits_in_his_own_unlent_quota_is_not() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "2", cohortName="team")
        await stage.queue("b", "2", cohortName="team",
                          resourceGroups=[group({"f": "2"}, lendingLimit="0")])  # fmt: skip
        await stage.queue("c", "2", cohortName="team")
        await stage.submit("own", "b", "2")
        await stage.submit("borrower", "c", "4")
        await stage.submit("asks", "a", "2")
        told = await stage.why("asks")
        assert [h["name"] for h in told["holders"]] == ["default/borrower"]

    play(scene)


def test_a_borrowing_limit_is_raised_before_quota_where_the_cohort_has_room() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "1", cohortName="team",
                          resourceGroups=[group({"f": "1"}, borrowingLimit="2")])  # fmt: skip
        await stage.queue("b", "9", cohortName="team")
        await stage.submit("one", "a", "2")
        await stage.submit("two", "a", "3")
        message = (await stage.why("two"))["remedies"][-1]["message"]
        assert "borrowingLimit" in message and message.endswith("from 2 to 4")

    play(scene)


def test_a_priority_that_would_do_is_told_where_priorities_count() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "2", preemption={"withinClusterQueue": "LowerPriority"})
        await stage.submit("one", "a", "2", priority=7)
        await stage.submit("two", "a", "2", priority=7)
        remedies = (await stage.why("two"))["remedies"]
        raised = next(r for r in remedies if r["remedy"] == "RaisePriority")
        assert "above 7" in raised["message"] and raised["workloads"] == ["default/one"]

    play(scene)


def test_the_nearer_flavor_counts_where_there_are_two() -> None:
    async def scene(stage: Stage) -> None:
        await stage.create(ResourceFlavor, "g", {})
        await stage.queue("a", "1", resourceGroups=[group({"f": "4", "g": "4"})])
        for name in ("f1", "f2", "f3", "f4"):
            await stage.submit(name, "a", "1")
        await stage.submit("on-g", "a", "4")
        await stage.submit("asks", "a", "4")
        told = await stage.why("asks")
        assert told["remedies"][0]["workloads"] == ["default/on-g"]
        assert [(f["flavor"], f["missing"]) for f in told["flavors"]] == [("f", "4"), ("g", "4")]

    play(scene)


def test_a_single_pod_hears_how_little_would_do_on_a_flavor_that_takes_it() -> None:
    async def scene(stage: Stage) -> None:
        await stage.create(
            ResourceFlavor, "g", {"nodeTaints": [{"key": "t", "effect": "NoSchedule"}]}
        )
        await stage.queue("a", "1", resourceGroups=[group({"f": "4", "g": "9"})])
        await stage.submit("one", "a", "2500m")
        await stage.submit("two", "a", "3")
        lower = next(r for r in (await stage.why("two"))["remedies"]
                     if r["remedy"] == "LowerRequest")  # fmt: skip
        assert "at most 1500m cpu in all instead of 3;" in lower["message"]

    play(scene)


def test_more_than_there_ever_is() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "4")
        await stage.submit("huge", "a", "1", pods=6)
        told = await stage.why("huge")
        assert told["state"] == "TooLarge"
        assert advice(told) == ["LowerRequest", "RaiseQuota"]
        assert "at most 4 pods instead of 6" in told["remedies"][0]["message"]
        assert told["remedies"][1]["message"].endswith("from 4 to 6")
        assert told["holders"] == []

    play(scene)


@pytest.mark.parametrize(
    ("flavor", "more", "remedy", "word"),
    [
        pytest.param(
            {"nodeTaints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]}, {},
            "ChangePods", "tolerate spot=yes:NoSchedule", id="a taint",
        ),
        pytest.param(
            {"nodeLabels": {"pool": "x"}}, {"pod": {"nodeSelector": {"pool": "y"}}},
            "ChangePods", "node selector", id="a selector",
        ),
        pytest.param(
            {}, {"requests": {"cpu": "1", "example.com/gpu": "1"}},
            "LowerRequest", "example.com/gpu", id="an uncovered resource",
        ),
        pytest.param(None, {}, "CHANGE", "create ResourceFlavor g", id="an unknown flavor"),
    ],
)  # fmt: skip
def test_no_flavor_takes_it(flavor: Any, more: Any, remedy: str, word: str) -> None:
    async def scene(stage: Stage) -> None:
        if flavor is not None:
            await stage.create(ResourceFlavor, "g", flavor)
        await stage.queue("a", "1", resourceGroups=[group({"g": "4"})])
        await stage.submit("w", "a", "1", **more)
        told = await stage.why("w")
        assert told["state"] == "NoFlavor"
        first = told["remedies"][0]
        assert first["remedy"] == ("ChangeQueue" if remedy == "CHANGE" else remedy)
        assert word in first["message"]

    play(scene)


@pytest.mark.parametrize(("what", "noun"), [(ClusterQueue, "ClusterQueue"),
                                            (LocalQueue, "LocalQueue")])  # fmt: skip
def test_a_stopped_queue(what: Any, noun: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "4")
        namespace = "" if what is ClusterQueue else "default"
        await stage.patch(what, "a", namespace, {"stopPolicy": "Hold"})
        await stage.submit("w", "a", "1")
        told = await stage.why("w")
        assert told["state"] == "QueueStopped"
        assert told["summary"].startswith(f"{noun} a is stopped")
        assert told["remedies"][0]["message"] == f"set stopPolicy of {noun} a to None"

    play(scene)


def test_queues_that_do_not_exist() -> None:
    async def scene(stage: Stage) -> None:
        await stage.create(LocalQueue, "dangling", {"clusterQueue": "none"}, "default")
        await stage.submit("w", "nowhere", "1")
        told = await stage.why("w")
        assert told["state"] == "NoLocalQueue"
        assert told["remedies"][0]["message"] == (
            "create LocalQueue nowhere in default or use dangling"
        )
        await stage.submit("v", "dangling", "1")
        told = await stage.why("v")
        assert told["state"] == "NoClusterQueue" and "ClusterQueue none" in told["summary"]
        assert "positionInClusterQueue" not in told

    play(scene)


def test_a_namespace_that_is_not_selected() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "4", namespaceSelector={"matchLabels": {"team": "a"}})
        await stage.submit("w", "a", "1")
        told = await stage.why("w")
        assert told["state"] == "NamespaceNotSelected"
        assert "label" in told["remedies"][0]["message"]

    play(scene)


def test_cohorts_in_a_circle() -> None:
    async def scene(stage: Stage) -> None:
        await stage.cohort("x", "y")
        await stage.cohort("y", "x")
        await stage.queue("a", "4", cohortName="x")
        await stage.submit("w", "a", "1")
        assert (await stage.why("w"))["state"] == "BrokenCohort"

    play(scene)


def test_behind_the_first_of_a_strict_queue() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "4", queueingStrategy="StrictFIFO")
        await stage.submit("runs", "a", "2")
        await stage.submit("first", "a", "4")
        await stage.submit("second", "a", "1")
        told = await stage.why("second")
        assert told["state"] == "BehindOthers"
        assert told["remedies"][0]["workloads"] == ["default/first"]
        assert told["remedies"][1]["workloads"] == ["default/runs"]
        assert (told["positionInClusterQueue"], told["pendingInClusterQueue"]) == (1, 2)
        assert (await stage.why("first"))["state"] == "WaitingForQuota"

    play(scene)


def test_a_preemptor_and_its_victim() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "2", preemption={"withinClusterQueue": "LowerPriority"})
        await stage.submit("low", "a", "2")
        await stage.submit("high", "a", "2", priority=10)
        high, low = await stage.why("high"), await stage.why("low")
        assert high["state"] == "WaitingForVictims"
        assert high["remedies"][0]["workloads"] == ["default/low"]
        assert high["positionInClusterQueue"] == 0
        assert low["state"] == "Leaving"
        assert "more important workload of its ClusterQueue" in low["summary"]
        await stage.submit("late", "a", "2")
        late = await stage.why("late")
        assert late["state"] == "WaitingForQuota"

    play(scene)


def test_what_has_quota() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "4")
        await stage.submit("w", "a", "1")
        assert (await stage.why("w"))["state"] == "Admitted"
        await stage.says("w", "PodsReady", "False", "WaitForStart")
        assert (await stage.why("w"))["state"] == "WaitingForPods"
        await stage.says("w", "PodsReady", "True", "Started")
        told = await stage.why("w")
        assert told["state"] == "Running" and "flavor f" in told["summary"]
        await stage.says("w", "Finished", "True", "Succeeded")
        assert (await stage.why("w"))["state"] == "Finished"

    play(scene)


def test_an_admission_check_that_is_not_ready() -> None:
    async def scene(stage: Stage) -> None:
        checks = {"admissionChecks": [{"name": "approval"}]}
        await stage.queue("a", "4", admissionChecksStrategy=checks)
        await stage.submit("w", "a", "1")
        told = await stage.why("w")
        assert told["state"] == "WaitingForChecks"
        assert told["remedies"][0]["message"] == "approval must become ready"

    play(scene)


def test_deactivated_by_hand_and_by_its_time_limit() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "1")
        await stage.submit("blocker", "a", "1")
        await stage.submit("w", "a", "1", active=False)
        told = await stage.why("w")
        assert told["state"] == "Deactivated" and "spec.active is false" in told["summary"]
        assert advice(told) == ["Activate"]
        await stage.says("w", "DeactivationTarget", "True", "MaximumExecutionTimeExceeded")
        assert "ran for as long as it may" in (await stage.why("w"))["summary"]

    play(scene)


def test_a_pause_after_pods_were_not_ready() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "4")
        await stage.patch(ClusterQueue, "a", "", {"stopPolicy": "Hold"})
        await stage.submit("w", "a", "1")
        requeue = {"requeueState": {"count": 1, "requeueAt": "2030-01-01T00:00:00Z"}}
        await stage.says("w", "Evicted", "True", "PodsReadyTimeout", **requeue)
        await stage.says("w", "Requeued", "False", "PodsReadyTimeout")
        await stage.patch(ClusterQueue, "a", "", {"stopPolicy": "None"})
        told = await stage.why("w")
        assert (told["state"], told["until"]) == ("Backoff", "2030-01-01T00:00:00Z")
        assert "not ready in time" in told["summary"]
        assert told["remedies"][0]["at"] == told["until"]

    play(scene)


def test_asking_changes_nothing() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "4", preemption={"withinClusterQueue": "LowerPriority"})
        for number in range(6):
            await stage.submit(f"w{number}", "a", "1", priority=number % 2)
        await asyncio.sleep(5)
        before = (stage.world.cluster.store.revision, str(stage.ledger.forest.usage()))
        for number in range(6):
            await stage.why(f"w{number}")
        await asyncio.sleep(5)
        assert (stage.world.cluster.store.revision, str(stage.ledger.forest.usage())) == before

    play(scene)
