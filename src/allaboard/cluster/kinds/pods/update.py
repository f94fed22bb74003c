"""What may change in a pod that exists? Very little, and each subresource a little more."""

from typing import Any

from allaboard.api.fields import FieldError, bad_value, forbidden, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.pods.status import qos_class

_MAX_SECONDS = 2147483647
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_ADDED_ONLY = "only additions to {} are allowed (no mutations or deletions)"


def validate_spec_update(spec: Json, old: Json, path: str = "spec") -> list[FieldError]:
    """The main resource: images, deadlines, more tolerations, fewer gates, where gates still hold
    the pod narrower placement; nothing else."""
    out: list[FieldError] = []
    munged = dict(spec)
    for key in ("containers", "initContainers"):
        if spec.get(key) == old.get(key):
            continue
        new, before = spec.get(key) or [], old.get(key) or []
        if not _same_containers(new, before, f"{path}.{key}", out):
            return out
        munged[key] = _with_images(new, before)
        if not before:
            _restore(munged, old, key)
    if not _deadline(spec, old, path, out):
        return out
    _restore(munged, old, "activeDeadlineSeconds")
    _tolerations(spec.get("tolerations") or [], old.get("tolerations") or [], path, out)
    _restore(munged, old, "tolerations")
    _gates(spec.get("schedulingGates") or [], old.get("schedulingGates") or [], path, out)
    _restore(munged, old, "schedulingGates")
    if (
        old.get("terminationGracePeriodSeconds", 0) < 0
        and munged.get("terminationGracePeriodSeconds") == 1
    ):
        _restore(munged, old, "terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        _gated_placement(spec, old, munged, path, out)
    if munged != old:
        changed = sorted(k for k in munged.keys() | old.keys() if munged.get(k) != old.get(k))
        if changed:
            detail = f"pod updates may not change fields other than {_UPDATABLE}\n"
            listing = "".join(f"{path}.{key} differs\n" for key in changed)
            out.append(forbidden(path, detail + listing))
    return out


def _same_containers(new: list[Json], old: list[Json], path: str, out: list[FieldError]) -> bool:
    if len(new) != len(old):
        out.append(forbidden(path, "pod updates may not add or remove containers"))
        return False
    for i, container in enumerate(new):
        image = container.get("image") or ""
        if not image:
            out.append(required(f"{path}[{i}].image"))
    return True


def _with_images(new: list[Json], old: list[Json]) -> list[Json]:
    return [{**n, "image": o.get("image")} for n, o in zip(new, old, strict=True)]


def _restore(munged: Json, old: Json, key: str) -> None:
    if key in old:
        munged[key] = old[key]
    else:
        munged.pop(key, None)


def _deadline(spec: Json, old: Json, path: str, out: list[FieldError]) -> bool:
    at = f"{path}.activeDeadlineSeconds"
    new, before = spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if new is not None:
        if not 0 <= new <= _MAX_SECONDS:
            out.append(bad_value(at, new, f"must be between 0 and {_MAX_SECONDS}, inclusive"))
            return False
        if before is not None and before < new:
            out.append(bad_value(at, new, "must be less than or equal to previous value"))
            return False
    elif before is not None:
        detail = "must not update from a positive integer to nil value"
        out.append(bad_value(at, None, detail))
    return True


def _tolerations(new: list[Json], old: list[Json], path: str, out: list[FieldError]) -> None:
    if new == old:
        return

    def bare(toleration: Json) -> frozenset[tuple[str, Any]]:
        return frozenset((k, v) for k, v in toleration.items() if k != "tolerationSeconds" and v)

    given = {bare(t) for t in new}
    if any(bare(t) not in given for t in old):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        out.append(forbidden(f"{path}.tolerations", detail))


def _gates(new: list[Json], old: list[Json], path: str, out: list[FieldError]) -> None:
    known = {g.get("name") for g in old}
    for i, gate in enumerate(new):
        if gate.get("name") not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            out.append(forbidden(f"{path}.schedulingGates[{i}].name", detail))


def _gated_placement(spec: Json, old: Json, munged: Json, path: str, out: list[FieldError]) -> None:
    """A pod that is still gated may be told more precisely where to run."""
    selector, before = spec.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if selector != before:
        if any(selector.get(k) != v for k, v in before.items()):
            detail = _ADDED_ONLY.format(f"{path}.nodeSelector")
            out.append(bad_value(f"{path}.nodeSelector", selector, detail))
        _restore(munged, old, "nodeSelector")
    affinity, affinity_before = spec.get("affinity") or {}, old.get("affinity") or {}
    node, node_before = affinity.get("nodeAffinity"), affinity_before.get("nodeAffinity")
    if node != node_before:
        if node_before and not _narrower(node or {}, node_before):
            at = f"{path}.affinity.nodeAffinity"
            out.append(
                bad_value(
                    at,
                    node,
                    "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
                )
            )
        rest = {k: v for k, v in affinity.items() if k != "nodeAffinity"}
        rest_before = {k: v for k, v in affinity_before.items() if k != "nodeAffinity"}
        if rest == rest_before:
            _restore(munged, old, "affinity")


def _narrower(new: Json, old: Json) -> bool:
    """Each old term is still there, perhaps with more conditions."""
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    terms: Any = (new.get(key) or {}).get("nodeSelectorTerms") or []
    before: Any = (old.get(key) or {}).get("nodeSelectorTerms") or []
    if not before:
        return True
    if len(terms) != len(before):
        return False
    for term, was in zip(terms, before, strict=True):
        for part in ("matchExpressions", "matchFields"):
            given = {_requirement(r) for r in term.get(part) or ()}
            if any(_requirement(r) not in given for r in was.get(part) or ()):
                return False
    return True


def _requirement(requirement: Json) -> tuple[Any, ...]:
    values = tuple(requirement.get("values") or ())
    return requirement.get("key"), requirement.get("operator"), values


def keep_for_resize(spec: Json, old: Json) -> Json:
    """The old specification with the new amounts of containers that exist in both."""
    wanted = {c.get("name"): c for c in spec.get("containers") or ()}
    containers = []
    for container in old.get("containers") or ():
        new = wanted.get(container.get("name"), container)
        merged = dict(container)
        for key in ("resources", "resizePolicy"):
            if key in new:
                merged[key] = new[key]
        containers.append(merged)
    return {**old, "containers": containers}


def validate_resize(pod: Json, old: Json) -> list[FieldError]:
    before = (old.get("status") or {}).get("qosClass") or qos_class(old["spec"])
    if qos_class(pod["spec"]) != before:
        return [bad_value("spec", before, "Pod QOS Class may not change as a result of resizing")]
    return []


def validate_ephemeral(spec: Json, old: Json) -> list[FieldError]:
    """Ephemeral containers may be added, never changed or removed."""
    out: list[FieldError] = []
    now = {c.get("name"): c for c in spec.get("ephemeralContainers") or ()}
    for i, container in enumerate(old.get("ephemeralContainers") or ()):
        name = container.get("name")
        path = f"spec.ephemeralContainers[{i}]"
        if name not in now:
            detail = f'existing ephemeral containers "{name}" may not be removed\n'
            out.append(forbidden(path, detail))
        elif now[name] != container:
            detail = f'existing ephemeral containers "{name}" may not be changed\n'
            out.append(forbidden(path, detail))
    return out
