"""The standard sentences of refusal, so that each is written once.

`qualified` is the resource with its group (`jobs.batch`), as messages name it.
"""

from allaboard.api.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    MethodNotAllowed,
    NotFound,
    Timeout,
)
from allaboard.api.meta import Json
from allaboard.cluster.resource import Resource


def qualified(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def details_of(resource: Resource, name: str = "") -> Json:
    details: Json = {"name": name, "group": resource.group, "kind": resource.plural}
    return {key: value for key, value in details.items() if value}


def no_such_endpoint() -> NotFound:
    return NotFound("the server could not find the requested resource", details={})


def verb_not_served() -> MethodNotAllowed:
    return MethodNotAllowed(
        "the server does not allow this method on the requested resource", details={}
    )


def absent(resource: Resource, name: str) -> NotFound:
    return NotFound(f'{qualified(resource)} "{name}" not found', details=details_of(resource, name))


def exists(resource: Resource, name: str, terminating: bool = False) -> AlreadyExists:
    prefix = "object is being deleted: " if terminating else ""
    return AlreadyExists(
        f'{prefix}{qualified(resource)} "{name}" already exists',
        details=details_of(resource, name),
    )


def conflict(resource: Resource, name: str, why: str) -> Conflict:
    return Conflict(
        f'Operation cannot be fulfilled on {qualified(resource)} "{name}": {why}',
        details=details_of(resource, name),
    )


def modified(resource: Resource, name: str) -> Conflict:
    return conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and"
        " try again",
    )


def too_large_version(wanted: int, current: int) -> Timeout:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return Timeout(
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        details={"causes": [cause], "retryAfterSeconds": 1},
    )


def bad_version(text: str) -> BadRequest:
    """Kubernetes differs: it answers 500 with the same sentence."""
    return BadRequest(
        f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}":'
        " invalid syntax"
    )
