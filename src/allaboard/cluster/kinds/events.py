"""What is a legal Event, in the old shape of the core group and the new one of events.k8s.io?

Both show the same stored objects, which are kept in the core shape.
"""

from collections.abc import Callable
from typing import Any

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.strategy import KindStrategy

_MAX_MESSAGE = 1024
_MAX_WORD = 128
# core name → events.k8s.io name
_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK = {new: old for old, new in _RENAMED.items()}
_FIXED = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
    "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def as_new(obj: Json) -> Json:
    """A stored Event in the shape of events.k8s.io."""
    shown = {_RENAMED.get(key, key): value for key, value in obj.items()}
    shown["apiVersion"] = "events.k8s.io/v1"
    for key in ("reportingController", "reportingInstance"):
        if key in shown and not shown[key]:
            del shown[key]
    return shown


def as_core(obj: Json) -> Json:
    """An Event of events.k8s.io in the shape in which it is stored."""
    stored = {_BACK.get(key, key): value for key, value in obj.items()}
    stored["apiVersion"] = "v1"
    stored.setdefault("reportingComponent", "")
    stored.setdefault("reportingInstance", "")
    return stored


def _default(obj: Json, named: Callable[[str], str]) -> None:
    """Write out what Kubernetes always writes."""
    for key, empty in (
        ("involvedObject", {}),
        ("source", {}),
        ("firstTimestamp", None),
        ("lastTimestamp", None),
        ("eventTime", None),
    ):
        if obj.get(named(key)) is None:
            obj[named(key)] = empty


class EventStrategy(KindStrategy):
    allow_create_on_update = True
    spec_fields = ()

    def default_spec(self, obj: Json) -> None:
        _default(obj, lambda key: key)
        obj.setdefault("reportingComponent", "")
        obj.setdefault("reportingInstance", "")

    def validate(self, obj: Json) -> list[FieldError]:
        return validate_event(obj, "reportingComponent")

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        del old, subresource
        return self.validate(obj)


class NewEventStrategy(EventStrategy):
    def default_spec(self, obj: Json) -> None:
        _default(obj, lambda key: _RENAMED.get(key, key))

    def validate(self, obj: Json) -> list[FieldError]:
        event = as_core(obj)
        out = validate_event(event, "reportingController")
        if not event.get("eventTime"):
            out.append(required("eventTime"))
        kind = event.get("type") or ""
        if kind not in ("Normal", "Warning"):
            out.append(bad_value("type", "", f"has invalid value: {kind}"))
        for key in ("firstTimestamp", "lastTimestamp", "count"):
            if event.get(key):
                out.append(bad_value(key, "", "needs to be unset"))
        return out

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        del subresource
        event, before = as_core(obj), as_core(old)
        out = validate_event(event, "reportingController")
        if not event.get("eventTime"):
            return out
        for key in _FIXED:
            if (event.get(key) or None) != (before.get(key) or None):
                out.append(bad_value(key, event.get(key), "field is immutable"))
        return out


def validate_event(event: Json, controller_field: str) -> list[FieldError]:
    """The rules both shapes share; events with an eventTime must say who reports them."""
    out: list[FieldError] = []
    home = event["metadata"].get("namespace") or ""
    about = (event.get("involvedObject") or {}).get("namespace") or ""
    if not event.get("eventTime"):
        if about != home and (about or home != "default"):
            out.append(_elsewhere(about))
        return out
    if not about and home not in ("default", "kube-system"):
        out.append(_elsewhere(about))
    controller = event.get("reportingComponent") or ""
    if not controller:
        out.append(required(controller_field))
    problems = names.qualified_name_problems(controller)
    out += [bad_value(controller_field, controller, p) for p in problems]
    for key in ("reportingInstance", "action", "reason"):
        word = event.get(key) or ""
        if not word:
            out.append(required(key))
        if len(word) > _MAX_WORD:
            out.append(bad_value(key, "", f"can have at most {_MAX_WORD} characters"))
    if len(event.get("message") or "") > _MAX_MESSAGE:
        out.append(bad_value("message", "", f"can have at most {_MAX_MESSAGE} characters"))
    return out


def _elsewhere(about: str) -> FieldError:
    return bad_value("involvedObject.namespace", about, "does not match event.namespace")


def _of(key: str) -> Callable[[Json], str]:
    """A field of the object an Event is about, whatever the Event's shape."""

    def read(obj: Json) -> str:
        about: Any = obj.get("involvedObject") or obj.get("regarding") or {}
        return str(about.get(key) or "")

    return read


def _reporter(obj: Json) -> str:
    return str(obj.get("reportingComponent") or obj.get("reportingController") or "")


def _source(obj: Json) -> str:
    source: Any = obj.get("source") or obj.get("deprecatedSource") or {}
    return str(source.get("component") or "") or _reporter(obj)


_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_PLAIN: dict[str, Callable[[Json], str]] = {
    "reason": lambda obj: str(obj.get("reason") or ""),
    "type": lambda obj: str(obj.get("type") or ""),
}
CORE_FIELDS: dict[str, Callable[[Json], str]] = {
    **{f"involvedObject.{key}": _of(key) for key in _ABOUT},
    **_PLAIN,
    "reportingComponent": _reporter,
    "source": _source,
}
NEW_FIELDS: dict[str, Callable[[Json], str]] = {
    **{f"regarding.{key}": _of(key) for key in _ABOUT},
    **_PLAIN,
    "reportingController": _reporter,
}
