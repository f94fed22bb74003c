"""Is an object's metadata legal, and may it change like this? The same for all kinds.

Custom resources use these rules too.
"""

from collections.abc import Callable, Mapping
from typing import Any

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, forbidden, required, too_long
from allaboard.api.meta import Json

MAX_ANNOTATIONS_BYTES = 256 * 1024
MAX_REPORTED = 100  # of one map; a hostile object must not make a hostile answer
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_IMMUTABLE = "field is immutable"
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def validate_metadata(
    meta: Json,
    namespaced: bool,
    name_problems: Callable[[str], list[str]] = names.subdomain_problems,
    path: str = "metadata",
) -> list[FieldError]:
    """Every rule on the metadata of a new object, in the order Kubernetes reports them."""
    errors: list[FieldError] = []
    prefix = meta.get("generateName")
    if prefix:
        base = names.as_prefix(prefix)
        errors += [bad_value(f"{path}.generateName", prefix, p) for p in name_problems(base)]
    name = meta.get("name")
    if not name:
        errors.append(required(f"{path}.name", "name or generateName is required"))
    else:
        errors += [bad_value(f"{path}.name", name, p) for p in name_problems(name)]
    namespace = meta.get("namespace")
    if namespaced:
        if not namespace:
            errors.append(required(f"{path}.namespace"))
        else:
            problems = names.label_problems(namespace)
            errors += [bad_value(f"{path}.namespace", namespace, p) for p in problems]
    elif namespace:
        errors.append(forbidden(f"{path}.namespace", "not allowed on this type"))
    if (meta.get("generation") or 0) < 0:
        detail = "must be greater than or equal to 0"
        errors.append(bad_value(f"{path}.generation", meta["generation"], detail))
    errors += validate_labels(meta.get("labels"), f"{path}.labels")
    errors += validate_annotations(meta.get("annotations"), f"{path}.annotations")
    errors += validate_owners(meta.get("ownerReferences"), f"{path}.ownerReferences")
    errors += validate_finalizers(meta.get("finalizers"), f"{path}.finalizers")
    return errors


def validate_metadata_update(meta: Json, old: Json, path: str = "metadata") -> list[FieldError]:
    """What may not change, then the rules on what did."""
    errors: list[FieldError] = []
    finalizers, old_finalizers = meta.get("finalizers"), old.get("finalizers")
    if finalizers != old_finalizers and old.get("deletionTimestamp"):
        extra = sorted(set(finalizers or ()) - set(old_finalizers or ()))
        if extra:
            listing = ", ".join(f'"{f}"' for f in extra)
            detail = (
                "no new finalizers can be added if the object is being deleted, found new "
                f"finalizers []string{{{listing}}}"
            )
            errors.append(forbidden(f"{path}.finalizers", detail))
    for key in ("name", "namespace", "uid", "creationTimestamp"):
        if meta.get(key) != old.get(key):
            errors.append(bad_value(f"{path}.{key}", meta.get(key), _IMMUTABLE))
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if meta.get(key) != old.get(key):
            errors.append(bad_value(f"{path}.{key}", meta.get(key), _IMMUTABLE))
    for key, check in _CHANGED:
        value = meta.get(key)
        if value != old.get(key):
            errors += check(value, f"{path}.{key}")
    return errors


def validate_labels(labels: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in (labels or {}).items():
        if len(errors) >= MAX_REPORTED:
            break
        if not names.is_clean_key(key):
            errors += [bad_value(path, key, p) for p in names.label_key_problems(key)]
        if not names.is_label_value(value) or len(value) > 63:
            errors += [bad_value(path, value, p) for p in names.label_value_problems(value)]
    return errors


def validate_annotations(annotations: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    size = 0
    for key, value in (annotations or {}).items():
        # keys are qualified names of any case
        if len(errors) < MAX_REPORTED and not names.is_clean_key(key):
            problems = names.qualified_name_problems(key.lower())
            errors += [bad_value(path, key, p) for p in problems]
        size += len(key.encode()) + len(value.encode())
    if size > MAX_ANNOTATIONS_BYTES:
        errors.append(too_long(path, MAX_ANNOTATIONS_BYTES))
    return errors


def validate_finalizers(finalizers: list[str] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, name in enumerate(finalizers or ()):
        if len(errors) >= MAX_REPORTED:
            break
        if problems := names.qualified_name_problems(name):
            errors += [bad_value(path, name, p) for p in problems]
        elif "/" not in name and name not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(bad_value(f"{path}[{index}]", name, detail))
    both = {"orphan", "foregroundDeletion"}
    if finalizers and both <= set(finalizers):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(bad_value(path, list(finalizers), detail))
    return errors


def validate_owners(owners: list[Json] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controllers: list[Json] = []
    for owner in owners or ():
        if len(errors) >= MAX_REPORTED:
            break
        version = owner.get("apiVersion") or ""
        group, slash, release = version.rpartition("/")
        if not release or (slash and not group):
            errors.append(bad_value(f"{path}.apiVersion", version, "version must not be empty"))
        for key in ("kind", "name", "uid"):
            if not owner.get(key):
                errors.append(bad_value(f"{path}.{key}", "", "must not be empty"))
        if version == "v1" and owner.get("kind") == "Event":
            detail = "/v1, Kind=Event is disallowed from being an owner"
            errors.append(bad_value(path, _owner_text(owner), detail))
        if owner.get("controller"):
            controllers.append(owner)
    if len(controllers) > 1:
        first, second = controllers[:2]
        detail = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{first.get('kind')}/{first.get('name')} and "
            f"{second.get('kind')}/{second.get('name')}"
        )
        errors.append(bad_value(path, [_owner_text(o) for o in owners or ()], detail))
    return errors


def _owner_text(owner: Json) -> Json:
    """An owner reference with its fields in the order Kubernetes writes them."""
    return {key: owner[key] for key in _OWNER_FIELDS if key in owner}


_CHANGED = (
    ("labels", validate_labels),
    ("annotations", validate_annotations),
    ("ownerReferences", validate_owners),
)
