"""How does an object come to be, and how is it replaced?

    create   decode → default → track owners → mutate → prepare → validate → ask validators → store
    update   decode or patch → track owners → default → mutate → prepare → validate → … → store

Between reading the old state and storing the new one nothing else may have been stored; where a
plugin made us wait, the store's compare-and-swap finds out and the change is made again, unless
the client named the version it meant. A write that changes nothing stores nothing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache

from allaboard.api.errors import AlreadyExists, BadRequest, Invalid
from allaboard.api.fields import FieldError, bad_value, invalid
from allaboard.api.meta import Json
from allaboard.cluster.admission.chain import CREATE, UPDATE, AdmissionAttributes
from allaboard.cluster.resource import Resource
from allaboard.cluster.server.exchange import ApiRequest, User
from allaboard.cluster.server.refusals import absent, conflict, exists, modified
from allaboard.cluster.server.routes import Target
from allaboard.cluster.server.services import Services, is_stored_form, shown, to_stored
from allaboard.cluster.server.verbs.options import (
    WriteOptions,
    manager_of,
    revision,
    shown_options,
)
from allaboard.cluster.server.verbs.ownership import Ownership
from allaboard.cluster.store.errors import StoreConflict
from allaboard.cluster.store.records import Record, same_content

SYSTEM_FIELDS = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
)  # fmt: skip
NAMES = ("name", "generateName", "namespace")
NAME_ATTEMPTS = 8
CAS_ATTEMPTS = 16
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))

# From the old object (in the client's version) to the wanted one; may be asked again after a race.
Change = Callable[[Json], Awaitable[Json]]


@dataclass(slots=True, eq=False)
class Written:
    """The outcome of a write: the object as the client sees it, and the record if stored so."""

    obj: Json
    record: Record | None = None
    created: bool = False
    deleted: bool = False


@dataclass(slots=True, eq=False)
class Write:
    """One write under way."""

    target: Target
    options: WriteOptions
    user: User
    user_agent: str
    warnings: list[str]

    @staticmethod
    def of(request: ApiRequest, target: Target, options: WriteOptions) -> "Write":
        agent = request.headers.get("user-agent", "")
        return Write(target, options, request.user or ANONYMOUS, agent, request.warnings)

    @property
    def manager(self) -> str:
        return manager_of(self.options, self.user_agent)

    def attributes(self, operation: str, obj: Json | None, old: Json | None) -> AdmissionAttributes:
        target = self.target
        kind = target.resource.subresources.get(target.subresource, target.kind)
        if kind.kind == target.kind.kind:
            kind = target.kind
        return AdmissionAttributes(
            operation,
            target.resource,
            target.version.name,
            target.subresource,
            kind,
            target.namespace,
            target.name,
            obj,
            old,
            shown_options(self.options),
            user_info(self.user),
            self.options.dry_run,
            self.warnings,
        )


@lru_cache(maxsize=1024)
def user_info(user: User) -> Json:
    """Shared by all writes of a user; admission does not change it."""
    return user.to_info()


class Writer:
    def __init__(self, services: Services) -> None:
        self._services = services

    # --- create ------------------------------------------------------------------------------

    async def create(self, write: Write, obj: Json, track: bool = True) -> Written:
        """Store a new object; `obj` is ours to change. Without `track` it brings its owners."""
        services, target = self._services, write.target
        strategy = target.resource.strategy
        meta = own_metadata(obj)
        check_namespace(meta, target)
        for name in SYSTEM_FIELDS:
            meta.pop(name, None)
        strategy.default(obj)
        if track:
            obj = Ownership(target, write.manager).track(None, obj, services.clock.now())
        obj = await self._mutate(write, CREATE, obj, None)
        given = obj.get("metadata") or {}
        meta = obj["metadata"] = {key: given[key] for key in NAMES if given.get(key)}
        meta["uid"] = services.new_uid()
        meta["resourceVersion"] = ""  # Kubernetes' order of fields, for those who read JSON
        meta["creationTimestamp"] = services.timestamp()
        meta.update(given)
        generated = not meta.get("name") and bool(meta.get("generateName"))
        for attempt in range(NAME_ATTEMPTS):
            if generated:
                obj["metadata"]["name"] = services.new_name(meta["generateName"])
            try:
                return await self._store_new(write, obj)
            except AlreadyExists:
                if not generated or attempt == NAME_ATTEMPTS - 1:
                    raise
        raise AssertionError("the loop returns or raises")

    async def _store_new(self, write: Write, obj: Json) -> Written:
        services, target = self._services, write.target
        resource, strategy = target.resource, target.resource.strategy
        strategy.prepare_create(obj)
        meta = obj["metadata"]
        errors = strategy.validate_create(obj)
        if errors:
            raise invalid_object(resource, obj, errors)
        write.warnings += strategy.warnings(obj, None)
        await self._validate(write, CREATE, obj, None)
        if meta.get("resourceVersion"):
            # Kubernetes differs: it answers 500 with the same sentence.
            raise BadRequest("resourceVersion should not be set on objects to be created")
        name = meta["name"]
        there = services.store.get(resource.key, target.namespace, name)
        if there is not None:
            raise exists(resource, name, "deletionTimestamp" in there.obj["metadata"])
        if write.options.dry_run:
            meta.pop("resourceVersion", None)
            return Written(obj, created=True)
        stored = await to_stored(resource, target.version.name, obj)
        try:
            record = services.store.commit(resource.key, target.namespace, name, stored, 0)
        except StoreConflict:
            raise exists(resource, name) from None
        return await self.written(target, record, created=True)

    # --- update ------------------------------------------------------------------------------

    async def put(self, write: Write, obj: Json) -> Written:
        """Replace an object by this one, or create it where its kind allows that."""
        services, target = self._services, write.target
        strategy, meta = target.resource.strategy, own_metadata(obj)
        if (
            strategy.allow_create_on_update
            and not target.subresource
            and services.store.get(target.key, target.namespace, target.name) is None
        ):
            check_name(target, meta)
            return await self.create(write, obj)
        strategy.default(obj)
        ownership = Ownership(target, write.manager)

        async def change(old: Json) -> Json:
            fresh = {**obj, "metadata": dict(meta)}
            return ownership.track(old, fresh, services.clock.now())

        return await self.update(write, change, str(meta.get("resourceVersion") or ""))

    async def update(self, write: Write, change: Change, version: str = "") -> Written:
        """Replace an object by what `change` makes of it.

        `version` is the resourceVersion the client named, '' if none; a client that named one is
        told of a race instead of having its change repeated.
        """
        target = write.target
        for attempt in range(CAS_ATTEMPTS):
            record = self._services.store.get(target.key, target.namespace, target.name)
            if record is None:
                raise absent(target.resource, target.name)
            try:
                return await self._update_once(write, change, record)
            except StoreConflict:
                if version or attempt == CAS_ATTEMPTS - 1:
                    raise modified(target.resource, target.name) from None
        raise AssertionError("the loop returns or raises")

    async def _update_once(self, write: Write, change: Change, record: Record) -> Written:
        target = write.target
        resource, strategy = target.resource, target.resource.strategy
        old = await self.old_object(target, record)
        obj = await change(old)
        meta, old_meta = own_metadata(obj), old["metadata"]
        check_identity(target, meta, old_meta, record)
        keep_metadata(meta, old_meta)
        obj = await self._mutate(write, UPDATE, obj, old)
        meta = own_metadata(obj)
        strategy.prepare_update(obj, old, target.subresource)
        errors = strategy.validate_update(obj, old, target.subresource)
        if errors:
            raise invalid_object(resource, obj, errors)
        write.warnings += strategy.warnings(obj, old)
        await self._validate(write, UPDATE, obj, old)
        return await self.replace(write, record, old, obj)

    async def replace(self, write: Write, record: Record, old: Json, obj: Json) -> Written:
        """Store `obj` over `record`, or nothing when it says the same, or remove a finished one."""
        services, target = self._services, write.target
        meta = obj["metadata"]
        meta["resourceVersion"] = old["metadata"].get("resourceVersion", "")
        if same_content(obj, old):
            await services.wait_durable(record.rev)
            if is_stored_form(target.resource, target.version.name):
                return Written(record.obj, record)
            return Written(old)
        is_last = is_finished(obj, target.key) and not is_finished(old, target.key)
        if write.options.dry_run:
            return Written(obj, deleted=is_last)
        current = services.store.get(target.key, target.namespace, target.name)
        if current is None or current.rev != record.rev:
            raise StoreConflict(target.key, target.name, record.rev, current.rev if current else 0)
        if is_last:
            gone = services.store.commit(
                target.key, target.namespace, target.name, None, record.rev
            )
            await services.wait_durable(gone.rev)
            return Written(obj, deleted=True)
        stored = await to_stored(target.resource, target.version.name, obj)
        new = services.store.commit(target.key, target.namespace, target.name, stored, record.rev)
        return await self.written(target, new)

    # --- shared ------------------------------------------------------------------------------

    async def old_object(self, target: Target, record: Record) -> Json:
        if is_stored_form(target.resource, target.version.name):
            return record.obj
        return (await shown(target.resource, target.version.name, [record.obj]))[0]

    async def written(self, target: Target, record: Record, created: bool = False) -> Written:
        await self._services.wait_durable(record.rev)
        if is_stored_form(target.resource, target.version.name):
            return Written(record.obj, record, created)
        obj = await self.old_object(target, record)
        return Written(obj, None, created)

    async def _mutate(self, write: Write, operation: str, obj: Json, old: Json | None) -> Json:
        admission, target = self._services.admission, write.target
        if not admission.mutators(target.resource, target.subresource, operation):
            return obj
        attributes = write.attributes(operation, obj, old)
        await admission.mutate(attributes)
        changed = attributes.object
        assert changed is not None
        if changed is not obj:
            changed = {**changed, "metadata": {**(changed.get("metadata") or {})}}
            target.resource.strategy.default(changed)
        return changed

    async def _validate(self, write: Write, operation: str, obj: Json, old: Json | None) -> None:
        admission, target = self._services.admission, write.target
        if admission.validators(target.resource, target.subresource, operation):
            await admission.validate(write.attributes(operation, obj, old))


def own_metadata(obj: Json) -> Json:
    """The metadata of an object that is being built, which nobody else holds."""
    meta = obj.get("metadata")
    obj["metadata"] = meta = dict(meta) if isinstance(meta, dict) else {}
    return meta


def is_finished(obj: Json, key: str) -> bool:
    """Whether nothing holds an object any more whose deletion was asked for."""
    meta = obj["metadata"]
    if (
        "deletionTimestamp" not in meta
        or meta.get("finalizers")
        or meta.get("deletionGracePeriodSeconds")
    ):
        return False
    return key != "namespaces" or not (obj.get("spec") or {}).get("finalizers")


def check_namespace(meta: Json, target: Target) -> None:
    given = meta.get("namespace")
    if not target.resource.namespaced:
        return
    if given and given != target.namespace:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = target.namespace


def check_name(target: Target, meta: Json) -> None:
    name = meta.get("name")
    if name and name != target.name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    meta["name"] = target.name


def check_identity(target: Target, meta: Json, old_meta: Json, record: Record) -> None:
    """Whether the new object is about the stored one: name, namespace, UID, version."""
    check_name(target, meta)
    check_namespace(meta, target)
    uid = meta.get("uid")
    if uid and uid != old_meta.get("uid") and target.verb == "update":
        raise conflict(
            target.resource,
            target.name,
            storage_refusal(target, uid, str(old_meta.get("uid"))),
        )
    text = meta.get("resourceVersion") or ""
    wanted = written_revision(text)
    if wanted == 0:
        if not target.resource.strategy.allow_unconditional_update:
            problem = bad_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(target.resource.plural, target.resource.group, target.name, [problem])
    elif wanted != record.rev:
        raise modified(target.resource, target.name)


def storage_refusal(target: Target, wanted: str, found: str) -> str:
    """How Kubernetes says that a write was meant for another object of the same name."""
    resource = target.resource
    folder = f"{resource.group}/{resource.plural}" if resource.custom else resource.plural
    key = "/".join(part for part in (folder, target.namespace, target.name) if part)
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0,"
        f" AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object"
        f" meta: {found}"
    )


def written_revision(text: str) -> int:
    """Kubernetes differs: it answers 500 with the same sentence."""
    try:
        return revision(text)
    except BadRequest:
        raise BadRequest(f'strconv.ParseUint: parsing "{text[:100]}": invalid syntax') from None


def keep_metadata(meta: Json, old_meta: Json) -> None:
    """What an update cannot say comes from the stored object."""
    for key in ("uid", "creationTimestamp"):
        if not meta.get(key) and key in old_meta:
            meta[key] = old_meta[key]
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if "deletionTimestamp" in old_meta:
            if key in old_meta:
                meta[key] = old_meta[key]
            else:
                meta.pop(key, None)
        elif meta.get(key) is None:
            meta.pop(key, None)
    if "generation" in old_meta:
        meta["generation"] = old_meta["generation"]
    else:
        meta.pop("generation", None)
    meta.pop("selfLink", None)


def invalid_object(resource: Resource, obj: Json, errors: list[FieldError]) -> Invalid:
    """422 in the name of what is stored, which for the newer Events is the older kind."""
    group = resource.group
    if resource.stored_as:
        group = resource.stored_as.partition(".")[2]
    name = str(obj["metadata"].get("name", ""))
    return invalid(str(obj.get("kind", resource.kind)), group, name, errors)
