"""The short ways through a patch give what the long ways give."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from allaboard.api.meta import Json
from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.patching.strategic import (
    _merge_in_place,
    _merge_members,
    merge_strategically,
)
from allaboard.cluster.schema.builtin import schema_of
from allaboard.cluster.schema.envelope import Body
from allaboard.cluster.server.catalogue import Catalogue
from allaboard.cluster.server.exchange import ApiRequest
from allaboard.cluster.server.routes import Target
from allaboard.cluster.server.verbs.bodies import decode_object, decode_patched

POD = schema_of("", "v1", "Pod")
CONDITIONS = POD.properties["status"].properties["conditions"]
FOUND = Catalogue(builtin_resources()).find("", "v1", "pods")
assert FOUND is not None
TARGET = Target(FOUND[0], FOUND[0].versions["v1"], FOUND[1], "default", "p")

TYPES = st.sampled_from(["Ready", "Initialized", "PodScheduled", "example.com/gate"])
WORDS = st.sampled_from(["True", "False", ""])
condition = st.fixed_dictionaries(
    {"type": TYPES}, optional={"status": WORDS, "reason": st.none() | WORDS}
)
conditions = st.lists(condition, max_size=4, unique_by=lambda c: c["type"])
labels = st.dictionaries(st.sampled_from("abc"), WORDS, max_size=3)
status = st.fixed_dictionaries(
    {}, optional={"conditions": conditions, "phase": WORDS, "hostIPs": st.just([{"ip": "1.1.1.1"}])}
)
patches = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"labels": labels, "uid": st.just("u")}),
        "status": status,
        "spec": st.fixed_dictionaries(
            {}, optional={"nodeName": WORDS, "priority": st.integers(0, 9)}
        ),
    },
)


def without_nulls(member: Json) -> Json:
    return {k: v for k, v in member.items() if v is not None}


@given(conditions, conditions)
def test_merging_in_place_is_merging(live: list[Json], patch: list[Json]) -> None:
    live = [without_nulls(member) for member in live]
    quick = _merge_in_place(live, patch, CONDITIONS)
    if quick is not None:
        assert quick == _merge_members(live, patch, CONDITIONS)


@given(conditions)
def test_a_patch_that_says_what_is_there_gives_back_the_object(live: list[Json]) -> None:
    doc = {"metadata": {"name": "p"}, "status": {"conditions": [without_nulls(c) for c in live]}}
    assert merge_strategically(doc, doc, POD) is doc


@given(status, labels, patches)
def test_only_looking_at_what_changed_decodes_the_same(
    before: Json, tags: Json, patch: dict[str, Any]
) -> None:
    first = {
        "metadata": {"name": "p", "labels": tags},
        "spec": {"containers": []},
        "status": before,
    }
    request = ApiRequest("PATCH", "/")
    version = TARGET.version
    old = decode_object(request, Body(first), TARGET.resource, version, TARGET.kind)
    patched = merge_strategically(old, patch, POD)
    whole = decode_object(request, Body(patched), TARGET.resource, version, TARGET.kind)
    assert decode_patched(request, patched, old, TARGET) == whole
