"""What must a kind of job be able to say, so that it can be queued?

An adapter is a handful of pure functions over a `Subject`: what is queued as one thing, a Job or
all pods of a group. It reads plain data and answers with plain data; what it wants written it says
as `Write`s. It decides nothing about quota, and keeps no state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from allaboard.api.meta import Json, Key, Kind, key_of

MAX_COUNT = 2**31 - 1


class JobKey(NamedTuple):
    """Which job: the framework (`batch/job`) and the address of the object, or of the group."""

    framework: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.framework} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is queued as one: a single object, or the members of a group in a fixed order."""

    name: str
    namespace: str
    objects: tuple[Json, ...]

    @property
    def object(self) -> Json:
        """The object; of a group the first member, which events are told about."""
        return self.objects[0]

    @property
    def uid(self) -> str:
        return uid_of(self.object)


@dataclass(frozen=True, slots=True)
class PodSetInfo:
    """What the pods of one pod set are given when they start."""

    name: str
    count: int
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Json, ...] = ()
    scheduling_gates: tuple[Json, ...] = ()


class Finish(NamedTuple):
    """How a job ended."""

    success: bool
    message: str


@dataclass(frozen=True, slots=True)
class Create:
    """Make this object."""

    kind: Kind
    body: Json

    @property
    def key(self) -> Key:
        return key_of(self.body)


@dataclass(frozen=True, slots=True)
class Patch:
    """Change this object, if it is still as it was read."""

    kind: Kind
    target: Json
    body: Json
    subresource: str = ""

    @property
    def key(self) -> Key:
        return key_of(self.target)


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete this object, not a namesake."""

    kind: Kind
    target: Json

    @property
    def key(self) -> Key:
        return key_of(self.target)


Write = Create | Patch | Delete


class PodSetConflict(ValueError):
    """Two sources want different values in one place; waiting cannot help."""


class JobAdapter(Protocol):
    """What every kind answers. All methods are pure."""

    framework: str  # as in `integrations.frameworks`
    kind: Kind  # of the objects

    def key_of(self, obj: Json) -> JobKey | None:
        """The job that this object is, or belongs to; None if it is none of ours."""
        ...

    def workload_name(self, subject: Subject) -> str: ...

    def owner_references(self, subject: Subject) -> list[Json]: ...

    def pod_sets(self, subject: Subject) -> list[Json]:
        """As in a Workload's spec, templates as they are without anything injected."""
        ...

    def notes(self, subject: Subject) -> Json:
        """Annotations for the Workload: what a stop must know and pod sets do not say."""
        ...

    def incomplete(self, subject: Subject) -> str | None:
        """None if a Workload can be made of it; else what is wrong, '' if only time is missing."""
        ...

    def same_pod_sets(self, wanted: Sequence[Json], asked: Sequence[Json]) -> bool:
        """Whether a Workload without a reservation asks for what would be asked for now."""
        ...

    def matches(self, subject: Subject, workload: Json) -> bool:
        """Whether a Workload with a reservation still asks for what the job needs.

        Placement is left out, which is injected at the start, and so are amounts that were filled
        in when the Workload was made.
        """
        ...

    def is_suspended(self, subject: Subject) -> bool:
        """Whether something of it waits to be started."""
        ...

    def is_running(self, subject: Subject) -> bool:
        """Whether something of it was let loose, or a stop of it is not complete."""
        ...

    def is_active(self, subject: Subject) -> bool:
        """Whether pods of it run or terminate, or may be created any moment."""
        ...

    def finish(self, subject: Subject) -> Finish | None: ...

    def is_ready(self, subject: Subject) -> bool: ...

    def reclaimable(self, subject: Subject) -> list[Json]:
        """Pods that are not needed again, as in a Workload's status."""
        ...

    def start(self, subject: Subject, infos: Sequence[PodSetInfo], workload: Json) -> list[Write]:
        """The next writes towards running; raises PodSetConflict. Empty: it runs."""
        ...

    def stop(self, subject: Subject, workload: Json | None) -> list[Write]:
        """The next writes towards standing still with its template restored. Empty: it is so."""
        ...

    def hold(self, subject: Subject) -> list[Write]:
        """Suspend a child whose owner is not admitted."""
        ...

    def let_go(self, subject: Subject) -> list[Write]:
        """Resume what `hold` suspended."""
        ...

    def tidy(self, subject: Subject, workload: Json | None) -> list[Write]:
        """What is to be removed whatever else happens: surplus members, finalizers."""
        ...

    def missing(self, subject: Subject, workload: Json) -> tuple[str, str] | None:
        """Reason and message of `WaitingForReplacementPods`, if members are missing."""
        ...

    def is_parent_of(self, owner: Json, child: Json) -> bool:
        """Whether an object of this kind would itself make or adopt such a child."""
        ...


def count_in(text: str) -> int | None:
    """A count that somebody wrote into a label or an annotation; None if it is none."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_COUNT))):
        return None
    count = int(text)
    return count if count <= MAX_COUNT else None


def uid_of(obj: Json) -> str:
    return str(obj["metadata"].get("uid") or "")


def labels_of(obj: Json) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def annotations_of(obj: Json) -> Mapping[str, str]:
    return obj["metadata"].get("annotations") or {}


def is_deleting(obj: Json) -> bool:
    return obj["metadata"].get("deletionTimestamp") is not None


def controller_reference(obj: Json) -> Json | None:
    """The one owner that manages this object, if it has one."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None


def reference_to(obj: Json, kind: Kind, *, controller: bool) -> Json:
    """An ownerReference to an object."""
    reference: Json = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": obj["metadata"]["name"],
        "uid": uid_of(obj),
    }
    return (
        {**reference, "controller": True, "blockOwnerDeletion": True} if controller else reference
    )


def difference(old: Any, new: Any) -> Json:
    """The merge patch that makes `new` of `old`; empty if they are equal."""
    patch: Json = {}
    for key in old:
        if key not in new:
            patch[key] = None
    for key, value in new.items():
        was = old.get(key)
        if was == value and (value is not None or key in old):
            continue
        both = isinstance(was, dict) and isinstance(value, dict)
        patch[key] = difference(was, value) if both else value
    return patch
