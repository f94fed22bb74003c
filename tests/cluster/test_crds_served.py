"""A definition makes an endpoint: black-box tests through the server."""

import asyncio
from typing import Any

import pytest
from customs import DEFINITIONS, GROUP, definition, fields, kite, two_versions, world

from allaboard.api.meta import Json

STRING = {"type": "string"}
NAME = f"kites.{GROUP}"
DEFINITION_KEY = "customresourcedefinitions.apiextensions.k8s.io"
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def conditions(crd: Json) -> dict[str, str]:
    return {c["type"]: c["status"] for c in crd["status"]["conditions"] or ()}


async def test_the_endpoint_is_there_as_soon_as_the_definition_is() -> None:
    async with world() as it:
        created = await it.must("POST", DEFINITIONS, definition(fields(a=STRING)))
        assert created["status"]["conditions"] is None
        await it.must("POST", it.kites(), kite(a="1"))
        crd = await it.must("GET", f"{DEFINITIONS}/{NAME}")
        assert conditions(crd) == {"NamesAccepted": "True", "Established": "True"}
        assert crd["status"]["storedVersions"] == ["v1"]


async def test_a_dry_run_serves_nothing() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition(), query={"dryRun": "All"})
        assert (await it.call("GET", it.kites())).status == 404


async def test_generation_counts_changes_of_the_spec_and_status_is_apart() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition(fields(a=STRING)))
        made = await it.must("POST", it.kites(), kite(a="1") | {"status": {"x": 1}})
        assert (made["metadata"]["generation"], "status" in made) == (1, False)
        for path, patch, generation in (
            (it.kites("k"), {"spec": {"a": "2"}}, 2),
            (it.kites("k"), {"metadata": {"labels": {"l": "m"}}}, 2),
            (it.kites("k"), {"status": {"x": 1}}, 2),
            (it.kites("k", sub="status"), {"spec": {"a": "3"}, "status": {"x": 2}}, 2),
        ):
            answer = await it.patch(path, patch)
            assert answer.body["metadata"]["generation"] == generation
        got = await it.must("GET", it.kites("k"))
        assert (got["spec"], got["status"]) == ({"a": "2"}, {"x": 2})


async def test_an_update_needs_a_resource_version() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition())
        await it.must("POST", it.kites(), kite())
        answer = await it.call("PUT", it.kites("k"), kite())
        assert (answer.status, "must be specified" in answer.body["message"]) == (422, True)


async def test_several_versions_show_one_object() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, two_versions())
        old = await it.call("POST", it.kites(version="v1beta1"), kite(version="v1beta1", a="x"))
        assert old.body["spec"] == {"a": "x"}
        assert f"{GROUP}/v1beta1 Kite is deprecated" in old.headers["warning"]
        new = await it.must("GET", it.kites("k"))
        assert (new["apiVersion"], new["spec"]) == (f"{GROUP}/v1", {"a": "x", "n": 1})
        listed = await it.must("GET", it.kites(version="v1beta1"))
        assert listed["items"][0]["apiVersion"] == f"{GROUP}/v1beta1"


async def test_a_registered_function_converts() -> None:
    async def convert(objects: list[Json], target: str) -> list[Json]:
        swap = {"a": "b", "b": "a"}
        return [
            {**o, "apiVersion": target, "spec": {swap.get(k, k): v for k, v in o["spec"].items()}}
            for o in objects
        ]

    async with world() as it:
        it.server.definitions.register(NAME, convert)
        await it.must("POST", DEFINITIONS, two_versions())
        await it.must("POST", it.kites(), kite(a="x"))
        shown = await it.must("GET", it.kites("k", version="v1beta1"))
        assert shown["spec"] == {"b": "x"}


async def test_defaults_added_later_show_on_objects_stored_before() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition(fields(a=STRING)))
        await it.must("POST", it.kites(), kite(a="1"))
        crd = definition(fields(a=STRING, b=STRING | {"default": "later"}))
        answer = await it.patch(f"{DEFINITIONS}/{NAME}", {"spec": crd["spec"]})
        assert answer.status == 200
        assert (await it.must("GET", it.kites("k")))["spec"] == {"a": "1", "b": "later"}


async def test_a_stricter_schema_does_not_lock_old_objects() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition(fields(a=STRING)))
        await it.must("POST", it.kites(), kite(a="long"))
        crd = definition(fields(a=STRING | {"maxLength": 2}))
        await it.patch(f"{DEFINITIONS}/{NAME}", {"spec": crd["spec"]})
        ok = await it.patch(it.kites("k"), {"metadata": {"labels": {"l": "m"}}})
        no = await it.patch(it.kites("k"), {"spec": {"a": "other"}})
        assert (ok.status, no.status) == (200, 422)


async def test_names_belong_to_whoever_has_them_first() -> None:
    names = {"plural": "dragons", "singular": "kite", "kind": "Dragon", "listKind": "DragonList"}
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition())
        await it.must("POST", DEFINITIONS, definition(names=names))
        path = f"{DEFINITIONS}/dragons.{GROUP}"
        rival = await it.must("GET", path)
        assert conditions(rival) == {"NamesAccepted": "False", "Established": "False"}
        assert rival["status"]["conditions"][0]["reason"] == "SingularConflict"
        dragons = f"/apis/{GROUP}/v1/namespaces/ns/dragons"
        assert (await it.call("GET", dragons)).status == 404
        await it.must("DELETE", f"{DEFINITIONS}/{NAME}")
        assert conditions(await it.must("GET", path))["Established"] == "True"
        await it.must("GET", dragons)


async def test_a_served_definition_keeps_its_names_when_new_ones_are_taken() -> None:
    names = {"plural": "dragons", "singular": "dragon", "kind": "Dragon", "shortNames": ["dr"]}
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition())
        await it.must("POST", DEFINITIONS, definition(names=names))
        patch = {"spec": {"names": {"shortNames": ["dr", "k"]}}}
        answer = await it.patch(f"{DEFINITIONS}/{NAME}", patch)
        assert answer.status == 200
        crd = await it.must("GET", f"{DEFINITIONS}/{NAME}")
        assert conditions(crd) == {"NamesAccepted": "False", "Established": "True"}
        assert "shortNames" not in crd["status"]["acceptedNames"]
        assert it.server.definitions.resource(NAME).short_names == ()
        await it.must("POST", it.kites(), kite())


async def test_a_stored_definition_that_makes_no_sense_does_not_stop_the_others() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition())
        broken = definition(group="broken.example.com")
        del broken["spec"]["versions"][0]["storage"]
        it.store.commit(DEFINITION_KEY, "", "kites.broken.example.com", broken)
        await it.must("GET", it.kites())
        assert (await it.call("GET", "/apis/broken.example.com/v1/kites")).status == 404


async def test_deleting_a_definition_takes_its_objects_along() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition())
        await it.must("POST", it.kites(), kite())
        gone = await it.must("DELETE", f"{DEFINITIONS}/{NAME}")
        assert gone["metadata"]["finalizers"] == [FINALIZER]
        assert (await it.call("GET", f"{DEFINITIONS}/{NAME}")).status == 404
        assert (await it.call("GET", it.kites())).status == 404
        assert it.store.count(NAME) == 0


async def test_a_finalizer_of_an_object_holds_the_definition_back() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition())
        held = kite()
        held["metadata"]["finalizers"] = ["a.io/hold"]
        await it.must("POST", it.kites(), held)
        await it.must("DELETE", f"{DEFINITIONS}/{NAME}")
        crd = await it.must("GET", f"{DEFINITIONS}/{NAME}")
        assert conditions(crd)["Terminating"] == "True"
        assert (await it.call("POST", it.kites(), kite("other"))).status == 405
        await it.patch(it.kites("k"), {"metadata": {"finalizers": None}})
        for _ in range(5):
            await asyncio.sleep(0)
        assert (await it.call("GET", f"{DEFINITIONS}/{NAME}")).status == 404


async def test_stored_definitions_are_served_after_a_restart() -> None:
    from random import Random

    from customs import World

    from allaboard.clock import system_clock
    from allaboard.cluster.server.assembly import assemble
    from allaboard.cluster.store.store import Store

    async with world() as it:
        await it.must("POST", DEFINITIONS, definition())
        await it.must("POST", it.kites(), kite())
        store = Store(system_clock())
        for key in it.store.resources():
            for record in it.store.list(key):
                store.commit(key, record.namespace, record.name, record.obj)
        again = World(await assemble(system_clock(), Random(2), store))
        assert (await again.must("GET", again.kites("k")))["kind"] == "Kite"
        await again.server.close()


async def test_storage_versions_are_remembered() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, two_versions())
        crd = await it.must("GET", f"{DEFINITIONS}/{NAME}")
        first, second = crd["spec"]["versions"]
        swapped = [{**first, "storage": False}, {**second, "storage": True}]
        answer = await it.patch(f"{DEFINITIONS}/{NAME}", {"spec": {"versions": swapped}})
        assert answer.body["status"]["storedVersions"] == ["v1", "v1beta1"]
        dropped = await it.patch(f"{DEFINITIONS}/{NAME}", {"spec": {"versions": [swapped[1]]}})
        assert (dropped.status, "v1 was previously" in dropped.body["message"]) == (422, True)


async def test_objects_of_an_older_storage_version_are_converted_when_read() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, two_versions())
        await it.must("POST", it.kites(), kite(a="x"))
        first, second = (await it.must("GET", f"{DEFINITIONS}/{NAME}"))["spec"]["versions"]
        swapped = [{**first, "storage": False}, {**second, "storage": True}]
        await it.patch(f"{DEFINITIONS}/{NAME}", {"spec": {"versions": swapped}})
        for version, spec in (("v1", {"a": "x", "n": 1}), ("v1beta1", {"a": "x"})):
            shown = await it.must("GET", it.kites("k", version=version))
            assert (shown["apiVersion"], shown["spec"]) == (f"{GROUP}/{version}", spec)
        answer = await it.patch(it.kites("k"), {"spec": {"a": "y"}})
        assert answer.body["apiVersion"] == f"{GROUP}/v1"
        assert it.store.get(NAME, "ns", "k").obj["apiVersion"] == f"{GROUP}/v1beta1"


async def test_selectable_fields_and_scale() -> None:
    schema = fields(colour=STRING, replicas={"type": "integer"})
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    crd = definition(
        schema,
        selectableFields=[{"jsonPath": ".spec.colour"}],
        subresources={"status": {}, "scale": scale},
    )
    async with world() as it:
        await it.must("POST", DEFINITIONS, crd)
        await it.must("POST", it.kites(), kite("red", colour="red", replicas=2))
        await it.must("POST", it.kites(), kite("blue", colour="blue"))
        found = await it.must("GET", it.kites(), query={"fieldSelector": "spec.colour=red"})
        assert [o["metadata"]["name"] for o in found["items"]] == ["red"]
        shown = await it.must("GET", it.kites("red", sub="scale"))
        assert (shown["kind"], shown["spec"]["replicas"]) == ("Scale", 2)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(kite() | {"spec": []}, 422, id="spec is a list"),
        pytest.param(kite() | {"metadata": []}, 400, id="metadata is a list"),
        pytest.param(kite() | {"metadata": {"name": "k", "labels": ["a"]}}, 400, id="bad labels"),
        pytest.param(kite() | {"kind": "Boat"}, 422, id="another kind"),
        pytest.param(kite() | {"apiVersion": "v1"}, 400, id="another version"),
        pytest.param({"metadata": {"name": "k"}}, 400, id="no kind at all"),
        pytest.param(kite(a=10**400), 422, id="a number nobody can hold"),
        pytest.param(kite("Bad_Name"), 422, id="a bad name"),
        pytest.param([], 400, id="a list"),
        pytest.param(kite(a="1", zz={"deep": [1, {"er": 2}]}), 201, id="unknown fields"),
    ],
)
async def test_bad_objects_get_the_right_refusal(body: Any, status: int) -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition(fields(a=STRING)))
        assert (await it.call("POST", it.kites(), body)).status == status


def deep(levels: int) -> Json:
    value: Json = {}
    for _ in range(levels):
        value = {"x": value}
    return value


@pytest.mark.parametrize("levels", [50, 5_000, 100_000])
async def test_depth_is_answered_not_suffered(levels: int) -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition(free))
        answer = await it.call("POST", it.kites(), kite(deep=deep(levels)))
        assert answer.status == (201 if levels == 50 else 400)


async def test_strict_validation_names_every_unknown_field() -> None:
    async with world() as it:
        await it.must("POST", DEFINITIONS, definition(fields(a=STRING)))
        body = kite(b=1, c=2) | {"top": 1}
        strict = await it.call("POST", it.kites(), body, query={"fieldValidation": "Strict"})
        assert strict.status == 400
        assert strict.body["message"].endswith(
            'unknown field "spec.b", unknown field "spec.c", unknown field "top"'
        )
