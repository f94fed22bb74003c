"""Webhooks: who is asked, what they may do, and that none of them can hurt the server."""

import base64
from typing import Any

import pytest
from customs import DEFINITIONS, GROUP, World, definition, fields, kite, two_versions, world
from tests.vectors.webhook_server import HookServer

from allaboard.api.meta import Json
from allaboard.cluster.admission.matching import hooks_of, matched_version

HOOKS = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/ns/configmaps"
STRING = {"type": "string"}


@pytest.fixture
async def hook():
    server = HookServer(("localhost", "hook.ns.svc"))
    await server.start()
    yield server
    await server.stop()


def config(name: str, url: str, ca: str, **changes: Any) -> Json:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["*"],
        "resources": ["configmaps"],
    }
    entry = {
        "name": f"{name}.hooks.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url, "caBundle": ca},
        "rules": [rule | changes.pop("rule", {})],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": name},
        "webhooks": [entry | changes],
    }


async def register(it: World, kind: str, configuration: Json) -> None:
    body = {"kind": f"{kind}WebhookConfiguration", **configuration}
    await it.must("POST", f"{HOOKS}/{kind.lower()}webhookconfigurations", body)


def config_map(name: str = "m", **more: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **more},
        "data": {"a": "1"},
    }


async def test_a_mutating_webhook_changes_what_is_stored(hook: HookServer) -> None:
    async with world() as it:
        await register(it, "Mutating", config("m", f"{hook.url}/mutate/one", hook.ca))
        made = await it.must("POST", MAPS, config_map())
        assert made["data"] == {"a": "1", "mutate-one": "yes"}
        review = hook.received[0]["review"]["request"]
        assert (review["operation"], review["name"], review["dryRun"]) == ("CREATE", "m", False)


async def test_mutating_webhooks_run_by_name_and_again_if_needed(hook: HookServer) -> None:
    async with world() as it:
        first = config("a", f"{hook.url}/mutate/one", hook.ca, reinvocationPolicy="IfNeeded")
        await register(it, "Mutating", config("b", f"{hook.url}/mutate/two", hook.ca))
        await register(it, "Mutating", first)
        await it.must("POST", MAPS, config_map())
        paths = [r["path"].partition("?")[0] for r in hook.received]
        assert paths == ["/mutate/one", "/mutate/two", "/mutate/one"]


@pytest.mark.parametrize(
    ("mode", "status", "message"),
    [
        ("deny", 403, 'admission webhook "v.hooks.example.com" denied the request: no thanks'),
        ("deny422", 422, "denied the request: bad value"),
        ("denybare", 400, "denied the request without explanation"),
        ("wronguid", 500, "expected response.uid="),
        ("garbage", 500, "couldn't get version/kind"),
        ("noversion", 500, "got /, Kind="),
        ("http500", 500, 'an error on the server ("unknown")'),
        ("redirect", 500, "a redirect, which is not followed"),
        ("huge", 500, "the answer is larger than"),
        ("slow", 500, "context deadline exceeded"),
        ("badpatch", 500, "response.patch must not be set for a validating webhook"),
    ],
)
async def test_answers_and_their_effect(
    hook: HookServer, mode: str, status: int, message: str
) -> None:
    async with world() as it:
        await register(it, "Validating", config("v", hook.url, hook.ca, timeoutSeconds=1))
        hook.mode = mode
        answer = await it.call("POST", MAPS, config_map())
        assert answer.status == status
        assert message in answer.body["message"]
        assert it.store.get("configmaps", "ns", "m") is None


@pytest.mark.parametrize("mode", ["http500", "garbage", "wronguid", "huge"])
async def test_a_webhook_that_fails_may_be_ignored(hook: HookServer, mode: str) -> None:
    async with world() as it:
        await register(it, "Validating", config("v", hook.url, hook.ca, failurePolicy="Ignore"))
        hook.mode = mode
        await it.must("POST", MAPS, config_map())
        hook.mode = "deny"
        assert (await it.call("POST", MAPS, config_map("n"))).status == 403


async def test_nobody_listening_and_wrong_certificates_are_failures(hook: HookServer) -> None:
    other = HookServer()
    async with world() as it:
        await register(it, "Validating", config("v", "https://127.0.0.1:1/x", hook.ca))
        answer = await it.call("POST", MAPS, config_map())
        assert "dial tcp 127.0.0.1:1: connect: connection refused" in answer.body["message"]
        await it.must("DELETE", f"{HOOKS}/validatingwebhookconfigurations/v")
        await register(it, "Validating", config("w", hook.url, other.ca))
        answer = await it.call("POST", MAPS, config_map())
        assert "failed to verify certificate" in answer.body["message"]
        await it.must("DELETE", f"{HOOKS}/validatingwebhookconfigurations/w")
        await register(it, "Validating", config("x", hook.url, base64.b64encode(b"?").decode()))
        answer = await it.call("POST", MAPS, config_map())
        assert "unable to load root certificates" in answer.body["message"]


async def test_a_webhook_that_was_restarted_is_called_again(hook: HookServer) -> None:
    """The connection kept from the first call is dead by then."""
    async with world() as it:
        await register(it, "Validating", config("v", hook.url, hook.ca))
        await it.must("POST", MAPS, config_map())
        await hook.stop()
        await hook.start(hook.port)
        await it.must("POST", MAPS, config_map("n"))
        assert len(hook.received) == 2


async def test_a_patch_that_cannot_be_applied_is_the_webhooks_fault(hook: HookServer) -> None:
    async with world() as it:
        await register(it, "Mutating", config("m", f"{hook.url}/mutate/one", hook.ca))
        hook.mode = "badpatch"
        answer = await it.call("POST", MAPS, config_map())
        assert answer.status == 500
        assert "Unable to remove nonexistent key: nope" in answer.body["message"]
        hook.mode = "invalidpatch"
        assert (await it.call("POST", MAPS, config_map())).status == 422


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        pytest.param({"objectSelector": {"matchLabels": {"a": "b"}}}, 1, id="labels match"),
        pytest.param({"objectSelector": {"matchLabels": {"a": "c"}}}, 0, id="labels do not"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ns"}}}, 1,
            id="the namespace matches",
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "x"}}}, 0,
            id="the namespace does not",
        ),
        pytest.param({"rule": {"operations": ["DELETE"]}}, 0, id="another operation"),
        pytest.param({"rule": {"resources": ["*"]}}, 1, id="any resource"),
        pytest.param({"rule": {"resources": ["configmaps/*"]}}, 1, id="and its subresources"),
        pytest.param({"rule": {"resources": ["configmaps/status"]}}, 0, id="only a subresource"),
        pytest.param({"rule": {"scope": "Cluster"}}, 0, id="another scope"),
        pytest.param({"rule": {"apiGroups": ["*"], "apiVersions": ["*"]}}, 1, id="any group"),
    ],
)  # fmt: skip
async def test_who_is_asked(hook: HookServer, changes: Json, asked: int) -> None:
    async with world() as it:
        await register(it, "Validating", config("v", hook.url, hook.ca, **changes))
        await it.must("POST", MAPS, config_map(labels={"a": "b"}))
        assert len(hook.received) == asked


async def test_warnings_reach_the_client(hook: HookServer) -> None:
    async with world() as it:
        await register(it, "Validating", config("v", hook.url, hook.ca))
        hook.mode = "warn"
        answer = await it.call("POST", MAPS, config_map())
        assert "second warning" in answer.headers["warning"]


async def test_conditions_that_cannot_be_evaluated_count_as_a_failure(hook: HookServer) -> None:
    conditions = [{"name": "c", "expression": "object.metadata.name == 'm'"}]
    async with world() as it:
        closed = config("v", hook.url, hook.ca, matchConditions=conditions)
        await register(it, "Validating", closed)
        answer = await it.call("POST", MAPS, config_map())
        assert "match conditions are not evaluated" in answer.body["message"]
        await it.must("DELETE", f"{HOOKS}/validatingwebhookconfigurations/v")
        closed["webhooks"][0]["failurePolicy"] = "Ignore"
        await register(it, "Validating", closed)
        await it.must("POST", MAPS, config_map())
        assert hook.received == []


async def test_configurations_can_always_be_removed(hook: HookServer) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    async with world() as it:
        await register(it, "Validating", config("v", hook.url, hook.ca, rule=everything))
        hook.mode = "deny"
        assert (await it.call("POST", MAPS, config_map())).status == 403
        await it.must("DELETE", f"{HOOKS}/validatingwebhookconfigurations/v")
        await it.must("POST", MAPS, config_map())


async def test_a_rule_for_another_version_sees_that_version(hook: HookServer) -> None:
    rule = {"apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["kites"]}
    async with world() as it:
        await it.must("POST", DEFINITIONS, two_versions())
        await register(it, "Validating", config("v", hook.url, hook.ca, rule=rule))
        await it.must("POST", it.kites(version="v1beta1"), kite(version="v1beta1", a="x"))
        request = hook.received[0]["review"]["request"]
        assert request["object"]["apiVersion"] == f"{GROUP}/v1"
        assert request["requestKind"]["version"] == "v1beta1"
        exact = hooks_of([config("e", "", "", rule=rule, matchPolicy="Exact")])[0]
        attributes: Any = type("A", (), {
            "resource": it.server.definitions.resource(f"kites.{GROUP}"), "version": "v1beta1",
            "subresource": "", "operation": "CREATE",
        })  # fmt: skip
        assert matched_version(exact, attributes) is None


async def test_a_conversion_webhook_converts() -> None:
    class Converter(HookServer):
        def _review(self, path: str, review: Json) -> Json:
            asked = review["request"]
            objects = [
                {**o, "apiVersion": asked["desiredAPIVersion"], "spec": {"a": "turned"}}
                for o in asked["objects"]
            ]
            done = {"uid": asked["uid"], "convertedObjects": objects}
            status = "Failed" if self.mode == "fail" else "Success"
            return {**review, "response": {**done, "result": {"status": status, "message": "m"}}}

    server = Converter()
    await server.start()
    client = {"url": f"{server.url}/convert", "caBundle": server.ca}
    crd = two_versions(
        strategy="Webhook", webhook={"clientConfig": client, "conversionReviewVersions": ["v1"]}
    )
    try:
        async with world() as it:
            await it.must("POST", DEFINITIONS, crd)
            await it.must("POST", it.kites(), kite(a="x"))
            shown = await it.must("GET", it.kites("k", version="v1beta1"))
            assert shown["spec"] == {"a": "turned"}
            server.mode = "fail"
            answer = await it.call("GET", it.kites("k", version="v1beta1"))
            assert answer.status == 500
            assert answer.body["message"] == (
                f"conversion webhook for {GROUP}/v1, Kind=Kite failed: m"
            )
            assert (await it.must("GET", it.kites("k")))["spec"]["a"] == "x"
    finally:
        await server.stop()


async def test_pruning_and_defaults_apply_to_what_a_webhook_wrote(hook: HookServer) -> None:
    rule = {"apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["kites"]}
    schema = fields(a=STRING | {"default": "d"})
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition(schema))
        await register(it, "Mutating", config("m", f"{hook.url}/mutate/x", hook.ca, rule=rule))
        hook.mode, hook.patch = "patch", [{"op": "replace", "path": "/spec", "value": {"z": 1}}]
        made = await it.must("POST", it.kites(), kite(a="x"))
        assert made["spec"] == {"a": "d"}


async def test_a_webhook_may_be_named_by_its_service(hook: HookServer) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "hook"},
        "spec": {"ports": [{"port": 443, "targetPort": hook.port}], "clusterIP": "None"},
    }
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.1"]}],
        "ports": [{"port": hook.port}],
    }
    client = {"service": {"name": "hook", "namespace": "ns", "path": "/v"}, "caBundle": hook.ca}
    async with world() as it:
        await register(it, "Validating", config("v", "", "", clientConfig=client))
        answer = await it.call("POST", MAPS, config_map())
        assert 'https://hook.ns.svc:443/v": service "hook" not found' in answer.body["message"]
        await it.must("POST", "/api/v1/namespaces/ns/services", service)
        discovery = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
        await it.must("POST", discovery, slices)
        await it.must("POST", MAPS, config_map())
        assert hook.received[0]["path"] == "/v?timeout=10s"
