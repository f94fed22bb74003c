"""Reading objects as Go reads them: messages, complaints, what is dropped and what is filled in."""

from typing import Any

import pytest

from allaboard.api.codec import read_json
from allaboard.cluster.schema.builtin import meta_schema, schema_of
from allaboard.cluster.schema.decode import DecodeError, decode

POD = schema_of("", "v1", "Pod")
JOB = schema_of("batch", "v1", "Job")
CONFIG_MAP = schema_of("", "v1", "ConfigMap")
LEASE = schema_of("coordination.k8s.io", "v1", "Lease")


def pod(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", **container}]}}


def with_metadata(**metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata}


@pytest.mark.parametrize(
    ("schema", "data", "message", "field"),
    [
        pytest.param(
            JOB, {"spec": {"parallelism": "two"}},
            "json: cannot unmarshal string into Go struct field JobSpec.spec.parallelism "
            "of type int32",
            "spec.parallelism", id="a string where a number belongs",
        ),
        pytest.param(
            JOB, {"spec": {"parallelism": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field JobSpec.spec.parallelism "
            "of type int32",
            "spec.parallelism", id="a fraction where a whole number belongs",
        ),
        pytest.param(
            JOB, {"spec": {"parallelism": 2**31}},
            "json: cannot unmarshal number 2147483648 into Go struct field "
            "JobSpec.spec.parallelism of type int32",
            "spec.parallelism", id="a number that needs more than 32 bits",
        ),
        pytest.param(
            JOB, {"spec": {"activeDeadlineSeconds": 2**63}},
            "json: cannot unmarshal number 9223372036854775808 into Go struct field "
            "JobSpec.spec.activeDeadlineSeconds of type int64",
            "spec.activeDeadlineSeconds", id="a number that needs more than 64 bits",
        ),
        pytest.param(
            POD, {"spec": {"containers": {"name": "main"}}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers "
            "of type []v1.Container",
            "spec.containers", id="an object where a list belongs",
        ),
        pytest.param(
            POD, pod(image=5),
            "json: cannot unmarshal number into Go struct field Container.spec.containers.image "
            "of type string",
            "spec.containers[0].image", id="the message has no index, the field has",
        ),
        pytest.param(
            POD, pod(imagePullPolicy=True),
            "json: cannot unmarshal bool into Go struct field "
            "Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
            "spec.containers[0].imagePullPolicy", id="a named type is named",
        ),
        pytest.param(
            POD, pod(resources={"limits": ["cpu"]}),
            "json: cannot unmarshal array into Go struct field "
            "ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
            "spec.containers[0].resources.limits", id="a list where a map belongs",
        ),
        pytest.param(
            CONFIG_MAP, {"data": {"a": 1}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            "data.a", id="a map's value",
        ),
        pytest.param(
            CONFIG_MAP, with_metadata(creationTimestamp=5),
            "json: cannot unmarshal number into Go value of type string",
            "metadata.creationTimestamp", id="a number where a time belongs",
        ),
        pytest.param(
            CONFIG_MAP, with_metadata(creationTimestamp="2026-13-01T00:00:00Z"),
            'parsing time "2026-13-01T00:00:00Z": month out of range',
            "metadata.creationTimestamp", id="the thirteenth month",
        ),
        pytest.param(
            CONFIG_MAP, with_metadata(creationTimestamp="2026-02-30T00:00:00Z"),
            'parsing time "2026-02-30T00:00:00Z": day out of range',
            "metadata.creationTimestamp", id="the thirtieth of February",
        ),
        pytest.param(
            LEASE, {"spec": {"renewTime": "2026-01-01T00:00:00Z"}},
            'parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": '
            'cannot parse "Z" as ".000000"',
            "spec.renewTime", id="a micro time needs its six digits",
        ),
        pytest.param(
            CONFIG_MAP, {"binaryData": {"x": "aGk"}}, "illegal base64 data at input byte 0",
            "binaryData.x", id="base64 without padding",
        ),
        pytest.param(
            POD, pod(resources={"requests": {"cpu": "lots"}}),
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            "spec.containers[0].resources.requests.cpu", id="not a quantity",
        ),
        pytest.param(
            POD, pod(readinessProbe={"httpGet": {"port": True}}),
            "json: cannot unmarshal bool into Go value of type int32",
            "spec.containers[0].readinessProbe.httpGet.port", id="neither number nor string",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_go_s_words(
    schema: Any, data: Any, message: str, field: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(schema, data)
    assert (str(caught.value), caught.value.field) == (message, field)


def test_the_first_wrong_type_is_the_one_reported() -> None:
    with pytest.raises(DecodeError, match=r"field ObjectMeta\.metadata\.name"):
        decode(POD, {"metadata": {"name": 1}, "spec": 2})


def test_what_reads_itself_takes_precedence_over_wrong_types() -> None:
    """Go remembers a wrong type and goes on, but stops at a quantity that cannot be parsed."""
    data = {"metadata": {"name": 1}, **pod(resources={"limits": {"cpu": "x"}})}
    with pytest.raises(DecodeError, match="quantities must match"):
        decode(POD, data)


def test_complaints_come_in_document_order_with_indexes() -> None:
    text = (
        b'{"metadata":{"nope":1},"spec":{"containers":'
        b'[{"name":"a","image":"i","image":"j","bogus":true}],"extra":{"a":1}},"top":1}'
    )
    decoded = decode(POD, read_json(text, doubles=True))
    assert decoded.complaints == [
        'unknown field "metadata.nope"',
        'duplicate field "spec.containers[0].image"',
        'unknown field "spec.containers[0].bogus"',
        'unknown field "spec.extra"',
        'unknown field "top"',
    ]
    assert decoded.data["spec"]["containers"][0]["image"] == "j"
    assert "top" not in decoded.data and "extra" not in decoded.data["spec"]


def test_names_of_fields_are_case_sensitive() -> None:
    assert decode(CONFIG_MAP, {"Data": {"a": "b"}}).complaints == ['unknown field "Data"']


def test_a_key_given_twice_in_a_map_is_noticed() -> None:
    decoded = decode(CONFIG_MAP, read_json(b'{"data":{"a":"1","a":"2"}}', doubles=True))
    assert decoded.complaints == ['duplicate field "data.a"']
    assert decoded.data["data"] == {"a": "2"}


def test_complaints_stop_at_a_hundred() -> None:
    assert len(decode(CONFIG_MAP, {f"x{n}": 1 for n in range(300)}).complaints) == 100


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({}, {"metadata": {}}, id="a struct that was not given is written empty"),
        pytest.param(None, {"metadata": {}}, id="null is an empty object"),
        pytest.param({"data": {}}, {"metadata": {}}, id="an empty map vanishes"),
        pytest.param(
            {"immutable": False}, {"metadata": {}, "immutable": False}, id="a pointer's zero stays"
        ),
        pytest.param({"immutable": None}, {"metadata": {}}, id="null is absent"),
        pytest.param(
            {"data": {"a": None}}, {"metadata": {}, "data": {"a": ""}}, id="a null text is empty"
        ),
        pytest.param(
            with_metadata(name="", generation=0, labels={}, finalizers=[], creationTimestamp=None),
            {"metadata": {}},
            id="empty optional values vanish",
        ),
        pytest.param(
            with_metadata(creationTimestamp="2026-01-01T01:00:00.9+01:00"),
            with_metadata(creationTimestamp="2026-01-01T00:00:00Z"),
            id="times are whole seconds of UTC",
        ),
        pytest.param(
            {"binaryData": {"a": "aGk\n="}},
            {"metadata": {}, "binaryData": {"a": "aGk="}},
            id="line breaks in base64 are dropped",
        ),
    ],
)
def test_objects_are_rewritten_as_go_writes_them(data: Any, expected: Any) -> None:
    assert decode(CONFIG_MAP, data).data == expected


@pytest.mark.parametrize(
    ("kind", "data", "path", "expected"),
    [
        pytest.param("Pod", pod(), "spec.containers.0.resources", {}, id="resources of containers"),
        pytest.param(
            "Pod", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            "status.conditions.0",
            {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None},
            id="times of conditions are null",
        ),
        pytest.param("Pod", {"spec": {}}, "spec", {"containers": None}, id="a nil list is null"),
        pytest.param(
            "Node", {}, "status.daemonEndpoints", {"kubeletEndpoint": {"Port": 0}},
            id="structs within structs",
        ),
        pytest.param("Event", {}, "eventTime", None, id="times of events"),
        pytest.param("Service", {}, "status", {"loadBalancer": {}}, id="a service's status"),
        pytest.param(
            "Pod", pod(resources={"requests": {"cpu": 1.5, "memory": "1024Mi", "x": "1n"}}),
            "spec.containers.0.resources.requests", {"cpu": "1500m", "memory": "1Gi", "x": "1m"},
            id="quantities of resource lists, rounded up to milli units",
        ),
        pytest.param(
            "Pod", {"spec": {"containers": [], "volumes": [{"emptyDir": {"sizeLimit": "1n"}}]}},
            "spec.volumes.0", {"name": "", "emptyDir": {"sizeLimit": "1n"}},
            id="other quantities are not rounded",
        ),
        pytest.param(
            "Pod", {"spec": {"containers": [None]}}, "spec.containers.0",
            {"name": "", "resources": {}}, id="a null member is an empty one",
        ),
    ],
)  # fmt: skip
def test_what_go_cannot_leave_out_is_filled_in(
    kind: str, data: Any, path: str, expected: Any
) -> None:
    found = decode(schema_of("", "v1", kind), data).data
    for step in path.split("."):
        found = found[int(step)] if isinstance(found, list) else found[step]
    assert found == expected


def test_the_input_is_left_alone() -> None:
    data = {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}}
    result = decode(CONFIG_MAP, data).data
    result["metadata"]["labels"]["more"] = "z"
    result["data"]["k"] = "w"
    assert data == {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}}


def test_free_parts_are_kept_as_they_are() -> None:
    fields = {"f:data": {".": {}, "f:a": {}}}
    entry = {"manager": "m", "fieldsV1": fields}
    decoded = decode(meta_schema("ObjectMeta"), {"managedFields": [entry]})
    assert decoded.data == {"managedFields": [entry]} and not decoded.complaints


def test_a_schema_that_contains_itself_is_followed_without_end_and_without_crash() -> None:
    crd = schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    nested: dict[str, Any] = {"type": "object"}
    for _ in range(2_000):
        nested = {"type": "object", "properties": {"x": nested}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": nested}}
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode(crd, {"spec": {"versions": [version]}})
