"""How does an object go away: at once, after a grace period, or when nothing holds it any more?

Pods on a node get a deadline and stay until their kubelet deletes them with grace 0. Whatever has
finalizers is marked and stays until the last one is removed. `propagationPolicy` becomes a
finalizer for the garbage collector: `orphan` or `foregroundDeletion`. A namespace is marked and
stays until its content is gone.

Source of the order of steps: the registry's generic store in apiserver (facts only).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allaboard.api.errors import BadRequest, Conflict, NotFound
from allaboard.api.fields import FieldError, bad_value, invalid, not_supported
from allaboard.api.meta import Json
from allaboard.cluster.admission.chain import DELETE
from allaboard.cluster.crds.conditions import FINALIZER as CLEANUP
from allaboard.cluster.crds.registry import KEY as DEFINITIONS
from allaboard.cluster.resource import Resource
from allaboard.cluster.server.refusals import absent, details_of, modified
from allaboard.cluster.server.routes import Target
from allaboard.cluster.server.services import Services, rfc3339
from allaboard.cluster.server.verbs.options import boolean, dry_run_problems, integer
from allaboard.cluster.server.verbs.writes import CAS_ATTEMPTS, Write, Writer, Written
from allaboard.cluster.store.errors import StoreConflict
from allaboard.cluster.store.records import Record, same_content

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
POLICIES = ("Foreground", "Background", "Orphan")
# Kinds whose deletion is answered with the object instead of a Status.
SHOW_DELETED = frozenset(
    {
        "pods", "services", "serviceaccounts", "persistentvolumes", "persistentvolumeclaims",
        "podtemplates", "resourcequotas",
    }
)  # fmt: skip
# Kinds whose dependents are orphaned unless told otherwise, for old clients' sake.
ORPHANED_BY_DEFAULT = frozenset({"jobs.batch", "replicationcontrollers"})
NO_GARBAGE_COLLECTION = frozenset({"events", "namespaces"})
# Kinds that are only marked: somebody empties and finalizes them.
MARKED_ONLY = frozenset({"namespaces"})
JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to"
    " remove them or set propagationPolicy=Orphan to suppress this warning"
)


@dataclass(slots=True)
class DeleteOptions:
    grace_s: int | None = None
    policy: str = ""
    orphan: bool | None = None
    uid: str = ""
    version: str = ""
    dry_run: bool = False

    @staticmethod
    def parse(query: Mapping[str, str], body: Any) -> "DeleteOptions":
        """From the body if there is one, else from the query."""
        options = _from_body(body) if body else _from_query(query)
        problems: list[FieldError] = []
        if options.policy and options.orphan is not None:
            problems.append(
                bad_value(
                    "propagationPolicy",
                    options.policy,
                    "orphanDependents and deletionPropagation cannot be both set",
                )
            )
        elif options.policy and options.policy not in POLICIES:
            problems.append(not_supported("propagationPolicy", options.policy, (*POLICIES, "nil")))
        problems += dry_run_problems(query.get("dryRun", ""))
        if problems:
            raise invalid("DeleteOptions", "meta.k8s.io", "", problems)
        return options

    def to_json(self) -> Json:
        shown: Json = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
        if self.grace_s is not None:
            shown["gracePeriodSeconds"] = self.grace_s
        if self.uid or self.version:
            pairs = (("uid", self.uid), ("resourceVersion", self.version))
            shown["preconditions"] = {key: value for key, value in pairs if value}
        if self.orphan is not None:
            shown["orphanDependents"] = self.orphan
        if self.policy:
            shown["propagationPolicy"] = self.policy
        if self.dry_run:
            shown["dryRun"] = ["All"]
        return shown


def _from_query(query: Mapping[str, str]) -> DeleteOptions:
    orphan = boolean(query, "orphanDependents") if "orphanDependents" in query else None
    return DeleteOptions(
        integer(query, "gracePeriodSeconds"),
        query.get("propagationPolicy", ""),
        orphan,
        dry_run=bool(query.get("dryRun")),
    )


def _from_body(body: Any) -> DeleteOptions:
    if not isinstance(body, dict):
        raise BadRequest("couldn't get version/kind; json parse error: the body is not an object")
    kind, version = body.get("kind", "DeleteOptions"), body.get("apiVersion", "v1")
    if kind != "DeleteOptions":
        raise BadRequest(
            f'no kind "{kind}" is registered for version "{version}" in scheme'
            ' "pkg/apis/meta/internalversion/scheme/register.go:27"'
        )
    grace = body.get("gracePeriodSeconds")
    policy = body.get("propagationPolicy")
    orphan = body.get("orphanDependents")
    conditions = body.get("preconditions") or {}
    dry = body.get("dryRun") or []
    if (
        not isinstance(grace, int | None)
        or isinstance(grace, bool)
        or not isinstance(policy, str | None)
        or not isinstance(orphan, bool | None)
        or not isinstance(conditions, dict)
        or not isinstance(dry, list)
    ):
        raise BadRequest("DeleteOptions: a field has the wrong type")
    if problems := [p for value in dry for p in dry_run_problems(str(value))]:
        raise invalid("DeleteOptions", "meta.k8s.io", "", problems)
    uid, rv = conditions.get("uid") or "", conditions.get("resourceVersion") or ""
    return DeleteOptions(grace, policy or "", orphan, str(uid), str(rv), bool(dry))


class Deleter:
    def __init__(self, services: Services, writer: Writer) -> None:
        self._services = services
        self._writer = writer

    async def delete(self, write: Write, options: DeleteOptions) -> Written:
        """Delete or mark one object; the answer is its last state, `deleted` if it is gone."""
        target, store = write.target, self._services.store
        for attempt in range(CAS_ATTEMPTS):
            record = store.get(target.key, target.namespace, target.name)
            if record is None:
                raise absent(target.resource, target.name)
            try:
                return await self._delete_once(write, options, record)
            except StoreConflict:
                if attempt == CAS_ATTEMPTS - 1:
                    raise modified(target.resource, target.name) from None
        raise AssertionError("the loop returns or raises")

    async def delete_if_there(self, write: Write, options: DeleteOptions) -> None:
        """As one step of a collection: somebody else may have been faster."""
        try:
            await self.delete(write, options)
        except NotFound:
            return

    async def _delete_once(self, write: Write, options: DeleteOptions, record: Record) -> Written:
        target, store = write.target, self._services.store
        check_preconditions(target.resource, target.name, options, record)
        await self._admit(write, options, record)
        marked, stays, at_once = self._decide(write, options, record.obj)
        now = store.get(target.key, target.namespace, target.name)
        if now is None or now.rev != record.rev:
            raise StoreConflict(target.key, target.name, record.rev, now.rev if now else 0)
        last = record
        if marked is not None and not same_content(marked, record.obj):
            if options.dry_run:
                return Written(marked, deleted=not stays)
            last = store.commit(target.key, target.namespace, target.name, marked, record.rev)
        if stays or not at_once:
            return await self._writer.written(target, last)
        if not options.dry_run:
            last = store.commit(target.key, target.namespace, target.name, None, last.rev)
        written = await self._writer.written(target, last)
        written.deleted = True
        return written

    async def _admit(self, write: Write, options: DeleteOptions, record: Record) -> None:
        admission, resource = self._services.admission, write.target.resource
        wanted = admission.mutators(resource, "", DELETE) or admission.validators(
            resource, "", DELETE
        )
        if not wanted:
            return
        old = await self._writer.old_object(write.target, record)
        attributes = write.attributes(DELETE, None, old)
        attributes.options = options.to_json()
        attributes.dry_run = options.dry_run
        await admission.mutate(attributes)
        await admission.validate(attributes)

    def _decide(
        self, write: Write, options: DeleteOptions, old: Json
    ) -> tuple[Json | None, bool, bool]:
        """The marked object (None if marking is needless), whether it stays, whether to remove."""
        resource, now = write.target.resource, self._services.clock.now()
        meta = dict(old["metadata"])
        obj = {**old, "metadata": meta}
        if resource.key in MARKED_ONLY:
            return self._mark_namespace(obj, meta)
        finalizers = finalizers_for(resource, options, meta.get("finalizers") or [])
        changes_finalizers = finalizers != (meta.get("finalizers") or [])
        if resource.key == "jobs.batch" and not options.policy and options.orphan is None:
            write.warnings.append(JOB_WARNING)
        grace = graceful(resource, options, old, meta, now)
        if grace is Grace.PENDING:
            return None, True, False
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)
        if grace is Grace.SET:
            stays = bool(finalizers) or bool(meta["deletionGracePeriodSeconds"])
            return obj, stays, not stays
        if not finalizers:
            return (obj, False, True) if changes_finalizers else (None, False, True)
        mark(meta, now)
        return obj, True, False

    def _mark_namespace(self, obj: Json, meta: Json) -> tuple[Json | None, bool, bool]:
        if "deletionTimestamp" not in meta:
            meta["deletionTimestamp"] = self._services.timestamp()
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        held = bool((obj.get("spec") or {}).get("finalizers") or meta.get("finalizers"))
        return obj, held, not held


class Grace:
    """What the grace period means for one deletion."""

    NONE = "none"  # this kind, or this object, needs no grace
    SET = "set"  # a deadline was written into the metadata
    PENDING = "pending"  # a deadline stands already and is not shortened


def graceful(resource: Resource, options: DeleteOptions, old: Json, meta: Json, now: float) -> str:
    """Set the deadline of a pod's deletion in `meta`, or say why not."""
    if resource.key != "pods":
        return Grace.NONE
    wanted = options.grace_s
    if "deletionTimestamp" in meta:
        standing = meta.get("deletionGracePeriodSeconds")
        if standing is None:
            return Grace.NONE
        if wanted is None or max(wanted, 0) >= standing:
            # The kubelet's "now": grace 0 over a standing 0 removes what is left.
            return Grace.NONE if wanted == 0 and standing == 0 else Grace.PENDING
        begun = parse_time(meta["deletionTimestamp"]) - standing
        meta["deletionTimestamp"] = rfc3339(begun + max(wanted, 0))
        meta["deletionGracePeriodSeconds"] = max(wanted, 0)
        return Grace.SET
    spec = old.get("spec") or {}
    phase = (old.get("status") or {}).get("phase")
    period = wanted if wanted is not None else spec.get("terminationGracePeriodSeconds", 30)
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        period = 0
    period = 1 if period < 0 else period
    meta["deletionTimestamp"] = rfc3339(now + period)
    meta["deletionGracePeriodSeconds"] = period
    if meta.get("generation"):
        meta["generation"] += 1
    return Grace.SET


def mark(meta: Json, now: float) -> None:
    """Say that deletion was asked for; the object stays because finalizers hold it."""
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = rfc3339(now)
        if meta.get("generation"):
            meta["generation"] += 1
    meta["deletionGracePeriodSeconds"] = 0


def parse_time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def finalizers_for(resource: Resource, options: DeleteOptions, current: list[str]) -> list[str]:
    """The finalizers after the wish for orphans or foreground deletion was written into them."""
    if resource.key in NO_GARBAGE_COLLECTION:
        return current
    orphan, foreground = ORPHAN in current, FOREGROUND in current
    if options.orphan is not None:
        orphan, foreground = options.orphan, False
    elif options.policy:
        orphan, foreground = options.policy == "Orphan", options.policy == "Foreground"
    elif not orphan and not foreground:
        orphan = resource.key in ORPHANED_BY_DEFAULT
    wanted = [f for f in current if f not in (ORPHAN, FOREGROUND)]
    wanted += [ORPHAN] if orphan else []
    wanted += [FOREGROUND] if foreground else []
    if resource.key == DEFINITIONS and CLEANUP not in wanted:
        wanted.append(CLEANUP)
    return current if sorted(wanted) == sorted(current) else wanted


def check_preconditions(
    resource: Resource, name: str, options: DeleteOptions, record: Record
) -> None:
    uid = record.obj["metadata"].get("uid")
    if options.uid and options.uid != uid:
        raise precondition_failed(
            resource,
            name,
            f"the UID in the precondition ({options.uid}) does not match the UID in record"
            f" ({uid}). The object might have been deleted and then recreated",
        )
    if options.version and options.version != str(record.rev):
        raise precondition_failed(
            resource,
            name,
            f"the ResourceVersion in the precondition ({options.version}) does not match the"
            f" ResourceVersion in record ({record.rev}). The object might have been modified",
        )


def precondition_failed(resource: Resource, name: str, why: str) -> Conflict:
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = {"name": name, "group": resource.group, "kind": resource.kind}
    return Conflict(
        f'Operation cannot be fulfilled on {kind} "{name}": {why}',
        details={key: value for key, value in details.items() if value},
    )


def gone_status(target: Target, obj: Json) -> Json:
    """What the deletion of most kinds is answered with."""
    details = details_of(target.resource, target.name)
    details["uid"] = obj["metadata"].get("uid", "")
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
