"""Which endpoint serves an object that only says its apiVersion and kind?

Plurals cannot be guessed in general; this table knows the kinds we have views of and a few more.
For the rest a caller names the `Kind`, or asks discovery.
"""

from collections.abc import Mapping

from allaboard.api import types
from allaboard.api.meta import Json, Kind
from allaboard.api.types.model import Object


def _known() -> dict[tuple[str, str], Kind]:
    views = [getattr(types, name) for name in types.__all__]
    kinds = [v.KIND for v in views if isinstance(v, type) and issubclass(v, Object) and v != Object]
    kinds += [
        Kind("apps", "v1", "Deployment", "deployments"),
        Kind("apps", "v1", "ReplicaSet", "replicasets"),
        Kind("apps", "v1", "StatefulSet", "statefulsets"),
        Kind("batch", "v1", "CronJob", "cronjobs"),
        Kind("events.k8s.io", "v1", "Event", "events"),
        Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ]
    return {(kind.api_version, kind.kind): kind for kind in kinds}


KNOWN: Mapping[tuple[str, str], Kind] = _known()


def kind_of(obj: Json) -> Kind:
    """The endpoint of a well-known object; ValueError for one that a caller must name."""
    wanted = (str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))
    kind = KNOWN.get(wanted)
    if kind is None:
        raise ValueError(f"no endpoint is known for apiVersion {wanted[0]!r}, kind {wanted[1]!r}")
    return kind
