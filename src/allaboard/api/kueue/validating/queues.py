"""What may ClusterQueues, LocalQueues and Cohorts say? (Reference §§1.4, 1.5, 1.8.)"""

from typing import Final

from allaboard.api.fields import FieldError, forbidden, required, too_many
from allaboard.api.kueue.validating.fallback import validate_fallback
from allaboard.api.kueue.validating.reading import (
    IMMUTABLE,
    MAX_REPORTED,
    amount_errors,
    bad,
    bounded,
    changed,
    counted,
    duplicate,
    entries,
    name_errors,
    not_supported,
    parsed,
    part,
    resource_name_errors,
    text,
    texts,
)
from allaboard.api.kueue.validating.selectors import selector_errors
from allaboard.api.meta import Json

MAX_FLAVORS: Final = 256  # of a queue, over all its groups
MAX_COVERED: Final = 256
MAX_PAIRS: Final = 512  # flavors times resources of one group
MAX_CONCURRENT: Final = 16
_TRY_PREFERRED: Final = "TryPreferredFlavors"


def validate_cluster_queue(obj: Json, old: Json | None = None) -> list[FieldError]:
    errors: list[FieldError] = []
    if changed(obj, old, "spec"):
        errors += _cluster_queue_spec(part(obj, "spec"))
    if old is not None:
        errors += _policy_kept(part(obj, "spec"), part(old, "spec"))
    return bounded(errors)


def validate_cohort(obj: Json, old: Json | None = None) -> list[FieldError]:
    if not changed(obj, old, "spec"):
        return []
    spec = part(obj, "spec")
    errors: list[FieldError] = []
    parent = text(spec, "parentName")
    if parent:
        errors += name_errors(parent, "spec.parentName")
        if parent == text(part(obj, "metadata"), "name"):
            detail = "a cohort cannot be its own parent; name another one or none"
            errors.append(bad("spec.parentName", parent, detail))
    errors += _groups(spec, has_cohort=bool(parent), is_queue=False)
    errors += fair_sharing_errors(spec)
    return bounded(errors)


def validate_local_queue(obj: Json, old: Json | None = None) -> list[FieldError]:
    spec = part(obj, "spec")
    errors: list[FieldError] = []
    name = text(spec, "clusterQueue")
    if changed(obj, old, "spec"):
        if name:
            errors += name_errors(name, "spec.clusterQueue")
        errors += fair_sharing_errors(spec)
    before = text(part(old, "spec"), "clusterQueue")
    if before and name != before:
        # Removing it is refused too: it could be added again with another name.
        errors.append(bad("spec.clusterQueue", name, f"{IMMUTABLE}; it is {before!r}"))
    return bounded(errors)


# --- parts of a ClusterQueue ------------------------------------------------------------------


def _cluster_queue_spec(spec: Json) -> list[FieldError]:
    cohort = text(spec, "cohortName")
    errors = name_errors(cohort, "spec.cohortName") if cohort else []
    errors += _groups(spec, has_cohort=bool(cohort), is_queue=True)
    flavors = flavor_names(spec)
    if spec.get("namespaceSelector") is not None:
        errors += selector_errors(spec["namespaceSelector"], "spec.namespaceSelector")
    errors += _fungibility(part(spec, "flavorFungibility"), flavors)
    errors += _preemption(part(spec, "preemption"))
    errors += _checks(part(spec, "admissionChecksStrategy"), flavors)
    errors += fair_sharing_errors(spec)
    if spec.get("concurrentAdmissionPolicy") is not None:
        errors += _concurrent_admission(spec, flavors)
    return errors


def flavor_names(spec: Json) -> list[str]:
    return [
        text(flavor, "name")
        for _, group in entries(spec, "resourceGroups")
        for _, flavor in entries(group, "flavors")
    ]


def _groups(spec: Json, *, has_cohort: bool, is_queue: bool) -> list[FieldError]:
    """Resource groups; `has_cohort` says whether there is anybody to borrow from or lend to."""
    path = "spec.resourceGroups"
    errors: list[FieldError] = []
    resources: dict[str, str] = {}
    flavors: dict[str, str] = {}
    for index, group in entries(spec, "resourceGroups"):
        place = f"{path}[{index}]"
        covered = texts(group, "coveredResources")
        listed = entries(group, "flavors")
        for at, name in covered:
            where = f"{place}.coveredResources[{at}]"
            errors += resource_name_errors(name, where)
            errors += _once(resources, name, where, "resource")
        for at, flavor in listed:
            where = f"{place}.flavors[{at}]"
            errors += _once(flavors, text(flavor, "name"), f"{where}.name", "flavor")
            errors += _flavor(flavor, [name for _, name in covered], where)
            errors += _limits(flavor, where, has_cohort=has_cohort, is_queue=is_queue)
            if len(errors) >= MAX_REPORTED:
                return errors
        if len(covered) * len(listed) > MAX_PAIRS:
            pairs = f"{len(listed)} flavors times {len(covered)} resources"
            errors.append(bad(place, pairs, f"must be at most {MAX_PAIRS} pairs in a group"))
    for what, seen, most in (
        ("flavors", flavors, MAX_FLAVORS),
        ("covered resources", resources, MAX_COVERED),
    ):
        if len(seen) > most:
            errors.append(bad(path, len(seen), f"must have at most {most} {what} in all groups"))
    return errors


def _once(seen: dict[str, str], name: str, where: str, what: str) -> list[FieldError]:
    """A resource and a flavor belong to one group."""
    if name not in seen:
        seen[name] = where
        return []
    found = duplicate(where, name)
    detail = f"{found.text}: it is already at {seen[name]}; a {what} belongs to one group, once"
    return [FieldError(found.reason, found.field, detail)]


def _flavor(flavor: Json, covered: list[str], place: str) -> list[FieldError]:
    errors = name_errors(text(flavor, "name"), f"{place}.name")
    quotas = entries(flavor, "resources")
    if len(quotas) != len(covered):
        detail = "must have the same number of resources as the coveredResources"
        errors.append(bad(f"{place}.resources", len(quotas), f"{detail}, which are {len(covered)}"))
    for (at, quota), wanted in zip(quotas, covered, strict=False):
        name = text(quota, "name")
        if name != wanted:
            detail = f"must match the name in coveredResources, {wanted!r}, in the same order"
            errors.append(bad(f"{place}.resources[{at}].name", name, detail))
    return errors


def _limits(flavor: Json, place: str, *, has_cohort: bool, is_queue: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    above = "cohort" if is_queue else "parent"
    for at, quota in entries(flavor, "resources"):
        where, resource = f"{place}.resources[{at}]", text(quota, "name")
        if quota.get("nominalQuota") is None:
            errors.append(required(f"{where}.nominalQuota"))
        else:
            errors += amount_errors(resource, quota["nominalQuota"], f"{where}.nominalQuota")
        for limit in ("borrowingLimit", "lendingLimit"):
            if quota.get(limit) is None:
                continue
            errors += amount_errors(resource, quota[limit], f"{where}.{limit}")
            if not has_cohort:
                detail = f"must be nil when {above} is empty"
                errors.append(bad(f"{where}.{limit}", quota[limit], detail))
        # A cohort may lend more than it adds: what its members bring is lent too.
        if is_queue:
            errors += _lends_what_it_has(quota, resource, f"{where}.lendingLimit")
    return errors


def _lends_what_it_has(quota: Json, resource: str, where: str) -> list[FieldError]:
    lending, nominal = parsed(quota.get("lendingLimit")), parsed(quota.get("nominalQuota"))
    if lending is None or nominal is None:
        return []
    if counted(resource, lending) <= counted(resource, nominal):
        return []
    detail = f"must be less than or equal to the nominalQuota, {nominal}"
    return [bad(where, quota["lendingLimit"], detail)]


def _fungibility(fungibility: Json, flavors: list[str]) -> list[FieldError]:
    path = "spec.flavorFungibility"
    errors: list[FieldError] = []
    searches = [
        text(fungibility, "whenCanBorrow") or "MayStopSearch",
        text(fungibility, "whenCanPreempt") or "TryNextFlavor",
    ]
    if fungibility.get("preference") is not None and searches != ["TryNextFlavor"] * 2:
        detail = (
            "preference can only be set when both whenCanBorrow and whenCanPreempt are"
            " TryNextFlavor"
        )
        errors.append(bad(f"{path}.preference", fungibility["preference"], detail))
    if fungibility.get("fallbackStrategy") is not None:
        strategy = part(fungibility, "fallbackStrategy")
        errors += validate_fallback(strategy, flavors, f"{path}.fallbackStrategy")
    return errors


def _preemption(preemption: Json) -> list[FieldError]:
    policy = text(part(preemption, "borrowWithinCohort"), "policy") or "Never"
    reclaim = text(preemption, "reclaimWithinCohort") or "Never"
    if reclaim == "Never" and policy != "Never":
        detail = (
            "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never; set"
            " reclaimWithinCohort to LowerPriority or Any"
        )
        return [bad("spec.preemption.borrowWithinCohort.policy", policy, detail)]
    return []


def _checks(strategy: Json, flavors: list[str]) -> list[FieldError]:
    path = "spec.admissionChecksStrategy.admissionChecks"
    errors: list[FieldError] = []
    seen: dict[str, None] = {}
    for index, check in entries(strategy, "admissionChecks"):
        place, name = f"{path}[{index}]", text(check, "name")
        errors += name_errors(name, f"{place}.name")
        if name in seen:
            errors.append(duplicate(f"{place}.name", name))
        seen[name] = None
        for at, flavor in texts(check, "onFlavors"):
            if flavor not in flavors:
                errors.append(not_supported(f"{place}.onFlavors[{at}]", flavor, flavors))
    return errors


def fair_sharing_errors(spec: Json) -> list[FieldError]:
    path = "spec.fairSharing.weight"
    weight = part(spec, "fairSharing").get("weight")
    if weight is None:
        return []
    if errors := amount_errors("weight", weight, path):
        return errors
    amount = parsed(weight)
    if amount is not None and 0 < amount.nano <= 1:
        return [bad(path, weight, "must be 0 or greater than 1n")]
    return []


# --- concurrent admission ---------------------------------------------------------------------


def _concurrent_admission(spec: Json, flavors: list[str]) -> list[FieldError]:
    path = "spec.concurrentAdmissionPolicy"
    errors: list[FieldError] = []
    groups = len(entries(spec, "resourceGroups"))
    if groups != 1:
        detail = f"needs exactly one resource group, and there are {groups}"
        errors.append(forbidden(path, detail))
    if len(flavors) > MAX_CONCURRENT:
        errors.append(too_many("spec.resourceGroups[0].flavors", len(flavors), MAX_CONCURRENT))
    if text(spec, "queueingStrategy") == "StrictFIFO":
        detail = "must be BestEffortFIFO with concurrentAdmissionPolicy"
        errors.append(bad("spec.queueingStrategy", "StrictFIFO", detail))
    migration = part(spec, "concurrentAdmissionPolicy", "migration")
    place = f"{path}.migration.constraints"
    if migration.get("constraints") is not None and text(migration, "mode") != _TRY_PREFERRED:
        errors.append(forbidden(place, f"only with mode {_TRY_PREFERRED}"))
    last = text(part(migration, "constraints"), "lastAcceptableFlavorName")
    if last and last not in flavors:
        errors.append(not_supported(f"{place}.lastAcceptableFlavorName", last, flavors))
    return errors


def _policy_kept(spec: Json, before: Json) -> list[FieldError]:
    name = "concurrentAdmissionPolicy"
    if spec.get(name) == before.get(name):
        return []
    detail = f"{IMMUTABLE}: it can be neither added, changed nor removed"
    return [bad(f"spec.{name}", spec.get(name), detail)]
