"""What each verb sends, and what it makes of the answer."""

from typing import Any

import pytest

from allaboard.api.errors import Expired, InternalError, NotFound
from allaboard.api.meta import Key, Kind
from allaboard.api.types import ConfigMap, Job, Lease, Node, ObjectMeta, Pod
from allaboard.client.client import Client, Written, hears_of_writes
from allaboard.client.counting import CountingTransport
from allaboard.client.transport import Request, Response

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x", "namespace": "a", "uid": "u"}}
WIDGET = Kind("acme.io", "v1", "Widget", "widgets")


class Recorder:
    """Answers what it is told, the last answer for ever."""

    def __init__(self, *answers: Response) -> None:
        self.answers = list(answers) or [Response(200, POD)]
        self.requests: list[Request] = []

    async def request(self, request: Request) -> Response:
        self.requests.append(request)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def stream(self, request: Request) -> Any:
        raise NotImplementedError

    async def close(self) -> None: ...

    @property
    def sent(self) -> tuple[str, str]:
        return self.requests[-1].method, self.requests[-1].path


NOT_FOUND = Response(404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "no"})


async def test_get_and_find() -> None:
    wire = Recorder()
    client = Client(wire)
    assert (await client.get(Pod, "x", "a")).uid == "u"
    assert await client.get(Pod.KIND, "x", "a") == POD
    await client.get(Pod, "x", "a", subresource="status")
    assert wire.sent == ("GET", "/api/v1/namespaces/a/pods/x/status")
    await client.get(Node, "n1")
    assert wire.sent == ("GET", "/api/v1/nodes/n1")
    missing = Client(Recorder(NOT_FOUND))
    assert await missing.find(Pod, "x", "a") is None
    with pytest.raises(NotFound):
        await missing.get(Pod, "x", "a")


@pytest.mark.parametrize("name", ["", "a/b", "..", "."])
async def test_a_name_that_would_reach_elsewhere_is_refused(name: str) -> None:
    """An empty name would turn the deletion of one object into that of all."""
    wire = Recorder()
    with pytest.raises(ValueError, match="not a name"):
        await Client(wire).delete(Pod, name, "a")
    assert wire.requests == []


def page(names: str, version: str = "5", token: str = "") -> Response:
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    items = [{"metadata": {"name": name}} for name in names]
    return Response(200, {"kind": "PodList", "metadata": metadata, "items": items})


async def test_list_follows_pages() -> None:
    wire = Recorder(page("ab", "5", "t1"), page("cd", "5", "t2"), page("e"))
    listing = await Client(wire).list(Pod, "a", labels="x=y", fields="spec.nodeName=n", page=2)
    assert [pod.name for pod in listing.items] == list("abcde")
    assert listing.resource_version == "5"
    queries = [dict(r.query) for r in wire.requests]
    base = {"limit": "2", "labelSelector": "x=y", "fieldSelector": "spec.nodeName=n"}
    assert queries == [base, {**base, "continue": "t1"}, {**base, "continue": "t2"}]


async def test_a_list_whose_token_expired_goes_on_with_the_one_offered() -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "metadata": {"continue": "t9"}}
    wire = Recorder(
        page("ab", "5", "t1"), Response(410, gone), page("cd", "8", "t10"), page("e", "8")
    )
    listing = await Client(wire).list(Pod, page=2)
    assert [pod.name for pod in listing.items] == list("abcde")
    assert listing.resource_version == "5", "a watch from there brings what the later pages lack"
    assert [r.query.get("continue") for r in wire.requests] == [None, "t1", "t9", "t10"]


async def test_a_list_whose_token_expired_without_offer_fails() -> None:
    gone = Response(410, {"kind": "Status", "code": 410, "reason": "Expired"})
    with pytest.raises(Expired):
        await Client(Recorder(page("ab", "5", "t1"), gone)).list(Pod, page=2)


async def test_plain_items_say_what_they_are() -> None:
    listing = await Client(Recorder(page("a"))).list(Pod.KIND)
    assert listing.items == [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}]


async def test_create_sends_views_and_plain_data() -> None:
    wire = Recorder()
    client = Client(wire, "me/2")
    made = await client.create(
        ConfigMap(metadata=ObjectMeta(name="c", namespace="a"), data={"k": "v"})
    )
    assert isinstance(made, ConfigMap)
    request = wire.requests[-1]
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/a/configmaps")
    assert request.query == {"fieldManager": "me"}
    assert request.body == {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
        "metadata": {"name": "c", "namespace": "a"},
    }  # fmt: skip
    assert isinstance(await client.create(POD, Pod, "b"), Pod)
    assert wire.sent == ("POST", "/api/v1/namespaces/b/pods")
    assert isinstance(await client.create(POD), dict)
    await client.create({"metadata": {"name": "w", "namespace": "a"}}, WIDGET)
    assert wire.requests[-1].body["kind"] == "Widget"
    assert wire.sent == ("POST", "/apis/acme.io/v1/namespaces/a/widgets")
    with pytest.raises(ValueError, match="no endpoint is known"):
        await client.create({"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {}})


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [("merge", "merge-patch+json"), ("json", "json-patch+json"),
     ("strategic", "strategic-merge-patch+json")],
)  # fmt: skip
async def test_patch(kind: Any, content_type: str) -> None:
    wire = Recorder()
    await Client(wire).patch(Job, "x", "a", {"status": {}}, kind, "status")
    assert wire.sent == ("PATCH", "/apis/batch/v1/namespaces/a/jobs/x/status")
    assert wire.requests[-1].content_type == f"application/{content_type}"


async def test_update_and_apply() -> None:
    wire = Recorder()
    client = Client(wire, "me")
    await client.update(POD, Pod, subresource="status")
    assert wire.sent == ("PUT", "/api/v1/namespaces/a/pods/x/status")
    await client.apply(POD, Pod, force=True)
    request = wire.requests[-1]
    assert request.content_type == "application/apply-patch+yaml"
    assert request.query == {"force": "true", "fieldManager": "me"}


async def test_delete_says_under_which_conditions() -> None:
    wire = Recorder(Response(200, {"kind": "Status"}))
    client = Client(wire)
    await client.delete(Pod, "x", "a")
    assert wire.requests[-1].body is None
    await client.delete(
        Pod, "x", "a", uid="u", resource_version="7", propagation="Foreground", grace_s=0
    )
    assert wire.requests[-1].body == {
        "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"}, "propagationPolicy": "Foreground",
    }  # fmt: skip
    await client.delete_collection(Pod, "a", labels="x=y")
    assert wire.sent == ("DELETE", "/api/v1/namespaces/a/pods")
    assert wire.requests[-1].query == {"labelSelector": "x=y"}


async def test_subresources_are_posted() -> None:
    wire = Recorder(Response(201, {"kind": "Status"}))
    answer = await Client(wire).post(Pod, "x", "a", "binding", {"target": {"name": "n1"}})
    assert answer == {"kind": "Status"}
    assert wire.sent == ("POST", "/api/v1/namespaces/a/pods/x/binding")


async def test_confirmed_changes_are_heard_of_and_refused_ones_not() -> None:
    heard: list[Written] = []
    token = hears_of_writes.set(heard.append)
    client = Client(Recorder())
    await client.patch(Pod, "x", "a", {})
    await client.delete(Pod, "x", "a")
    await client.get(Pod, "x", "a")
    refused = Client(Recorder(NOT_FOUND))
    with pytest.raises(NotFound):
        await refused.patch(Lease, "x", "a", {})
    hears_of_writes.reset(token)
    assert [(w.verb, w.kind, w.key) for w in heard] == [
        ("write", Pod.KIND, Key("a", "x")), ("delete", Pod.KIND, Key("a", "x")),
    ]  # fmt: skip


async def test_requests_are_counted_by_verb_kind_and_answer() -> None:
    wire = CountingTransport(Recorder(Response(200, POD), Response(200, POD), NOT_FOUND))
    client = Client(wire)
    await client.patch(Pod, "x", "a", {})
    await client.get(Pod, "x", "a")
    assert await client.find(Pod, "x", "a") is None
    assert wire.counts == {
        ("PATCH", "v1/pods", "200"): 1, ("GET", "v1/pods", "200"): 1, ("GET", "v1/pods", "404"): 1,
    }  # fmt: skip
    assert wire.writes() == 1


async def test_an_answer_that_does_not_fit_its_view_is_an_api_error() -> None:
    odd = {"metadata": {"name": "x", "namespace": "a"}, "spec": {"containers": "many"}}
    with pytest.raises(InternalError, match="Pod a/x cannot be read"):
        await Client(Recorder(Response(200, odd))).get(Pod, "x", "a")
