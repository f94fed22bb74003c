"""The order of plugins, and what the built-in ones do to pods, nodes and namespaces."""

from typing import Any

import pytest
from customs import world

from allaboard.api.errors import Forbidden
from allaboard.api.meta import Json
from allaboard.cluster.admission.chain import AdmissionAttributes, AdmissionChain, Plugin
from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.resource import Resource

PODS = "/api/v1/namespaces/ns/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def resource(key: str) -> Resource:
    return next(r for r in builtin_resources() if r.key == key)


def attributes(key: str = "configmaps", operation: str = "CREATE") -> AdmissionAttributes:
    of = resource(key)
    kind: Any = None
    return AdmissionAttributes(
        operation, of, "v1", "", kind, "ns", "n", {"metadata": {}}, None, None, {}
    )


class Marks(Plugin):
    def __init__(self, name: str, log: list[str], only: str = "") -> None:
        self.name, self.log, self.only = name, log, only

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        return not self.only or operation == self.only

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        self.log.append(f"{self.name} mutates")

    async def validate(self, attributes: AdmissionAttributes) -> None:
        self.log.append(f"{self.name} validates")


class Silent(Plugin):
    name = "silent"


async def test_plugins_are_asked_in_order_and_only_about_what_they_handle() -> None:
    log: list[str] = []
    chain = AdmissionChain([Marks("a", log), Marks("c", log, "DELETE"), Silent()])
    chain.insert(Marks("b", log), before="c")
    a = attributes()
    await chain.mutate(a)
    await chain.validate(a)
    assert log == ["a mutates", "b mutates", "a validates", "b validates"]


async def test_nobody_is_asked_where_nobody_has_anything_to_say() -> None:
    chain = AdmissionChain([Silent()])
    assert not chain.mutators(resource("pods"), "", "CREATE")
    assert not chain.validators(resource("pods"), "", "CREATE")


async def test_the_first_refusal_ends_the_asking() -> None:
    class No(Plugin):
        name = "no"

        async def mutate(self, attributes: AdmissionAttributes) -> None:
            raise Forbidden("no")

    log: list[str] = []
    with pytest.raises(Forbidden):
        await AdmissionChain([No(), Marks("late", log)]).mutate(attributes())
    assert log == []


def pod(name: str = "p", **spec: Any) -> Json:
    container = {"name": "main", "image": "img:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def priority_class(name: str, value: int, **more: Any) -> Json:
    version = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**version, "metadata": {"name": name}, "value": value, **more}


async def test_a_pod_gets_an_account_a_token_patience_and_a_priority() -> None:
    async with world() as it:
        spec = (await it.must("POST", PODS, pod()))["spec"]
        assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
        volume = spec["volumes"][0]["name"]
        assert volume.startswith("kube-api-access-")
        assert spec["containers"][0]["volumeMounts"][0]["name"] == volume
        assert [t["tolerationSeconds"] for t in spec["tolerations"]] == [300, 300]
        assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")


async def test_a_pod_that_wants_no_token_gets_none() -> None:
    async with world() as it:
        spec = (await it.must("POST", PODS, pod(automountServiceAccountToken=False)))["spec"]
        assert "volumes" not in spec


async def test_tolerations_are_added_only_where_they_are_missing() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    async with world() as it:
        spec = (await it.must("POST", PODS, pod(tolerations=[own])))["spec"]
        assert len(spec["tolerations"]) == 2 and spec["tolerations"][0] == own


async def test_priority_comes_from_the_class() -> None:
    async with world() as it:
        await it.must("POST", CLASSES, priority_class("high", 100, preemptionPolicy="Never"))
        spec = (await it.must("POST", PODS, pod(priorityClassName="high")))["spec"]
        assert (spec["priority"], spec["preemptionPolicy"]) == (100, "Never")
        await it.must("POST", CLASSES, priority_class("usual", 7, globalDefault=True))
        spec = (await it.must("POST", PODS, pod("q")))["spec"]
        assert (spec["priorityClassName"], spec["priority"]) == ("usual", 7)
        second = await it.call("POST", CLASSES, priority_class("other", 8, globalDefault=True))
        assert (second.status, "Only one default can exist" in second.body["message"]) == (
            403,
            True,
        )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"priority": 7}, "the integer value of priority (7) must not be provided in pod spec"),
        ({"serviceAccountName": "absent"}, "error looking up service account ns/absent"),
        ({"runtimeClassName": "absent"}, 'pod rejected: RuntimeClass "absent" not found'),
        ({"overhead": {"cpu": "1"}}, "pod rejected: Pod Overhead set without"),
    ],
)
async def test_pods_that_are_refused(spec: Json, message: str) -> None:
    async with world() as it:
        answer = await it.call("POST", PODS, pod(**spec))
        assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
        assert answer.body["message"].startswith(f'pods "p" is forbidden: {message}')


async def test_nothing_is_made_in_a_namespace_that_is_not_there_or_going() -> None:
    async with world() as it:
        answer = await it.call("POST", "/api/v1/namespaces/none/pods", pod())
        assert (answer.status, answer.body["message"]) == (404, 'namespaces "none" not found')
        await it.must("DELETE", "/api/v1/namespaces/ns")
        answer = await it.call("POST", PODS, pod())
        assert (answer.status, answer.body["details"]["causes"][0]["reason"]) == (
            403,
            "NamespaceTerminating",
        )


async def test_a_new_node_takes_no_pods_yet() -> None:
    async with world() as it:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
        taints = (await it.must("POST", "/api/v1/nodes", node))["spec"]["taints"]
        assert taints == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


async def test_a_limit_range_fills_in_and_refuses() -> None:
    limits = {"type": "Container", "max": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}
    body = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l"},
        "spec": {"limits": [limits]},
    }
    async with world() as it:
        await it.must("POST", "/api/v1/namespaces/ns/limitranges", body)
        made = await it.must("POST", PODS, pod())
        assert made["spec"]["containers"][0]["resources"] == {
            "limits": {"cpu": "2"},
            "requests": {"cpu": "1"},
        }
        assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
            "LimitRanger plugin set: cpu request for container main; cpu limit for container main"
        )
        big = pod("big")
        big["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "3"}}
        answer = await it.call("POST", PODS, big)
        assert answer.status == 403
        assert "maximum cpu usage per Container is 2, but limit is 3" in answer.body["message"]
