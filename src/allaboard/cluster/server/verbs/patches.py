"""What becomes of an object under a patch: JSON, merge, strategic merge, apply?

The first three change the stored object, which is then decoded and tracked like an update. Apply
brings its owners along and creates what is not there.
"""

from typing import Any

from allaboard.api.codec import MAX_VALUES, Malformed, has_more_values, read_json, write_json
from allaboard.api.errors import AlreadyExists, ApiError, BadRequest, UnsupportedMedia
from allaboard.api.meta import Json
from allaboard.api.yaml_text import read_first
from allaboard.cluster.patching.apply import apply
from allaboard.cluster.patching.json_patch import MAX_COPIED_BYTES, apply_json_patch
from allaboard.cluster.patching.merge_patch import apply_merge_patch
from allaboard.cluster.patching.refusal import undecodable
from allaboard.cluster.patching.strategic import (
    apply_strategic_patch,
    check_restorable,
    merge_strategically,
)
from allaboard.cluster.schema.decode import DecodeError
from allaboard.cluster.server.exchange import ApiRequest
from allaboard.cluster.server.negotiate import check_body_type
from allaboard.cluster.server.refusals import absent, conflict
from allaboard.cluster.server.services import Services
from allaboard.cluster.server.verbs.bodies import decode_patched, too_large
from allaboard.cluster.server.verbs.options import WriteOptions
from allaboard.cluster.server.verbs.ownership import APPLY as APPLYING
from allaboard.cluster.server.verbs.ownership import Ownership
from allaboard.cluster.server.verbs.writes import (
    Write,
    Writer,
    Written,
    check_name,
    check_namespace,
)

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
CREATE_ATTEMPTS = 4
# Parts that the defaults of a kind never touch: a patch of these alone need not look at the rest.
# A Job's labels come from its template, a namespace's from its name.
WITHOUT_DEFAULTS = {"pods": ("metadata", "status"), "jobs.batch": ("status",)}


class Patcher:
    def __init__(self, services: Services, writer: Writer) -> None:
        self._services = services
        self._writer = writer

    async def patch(self, request: ApiRequest, write: Write) -> Written:
        target, how = write.target, request.content_type
        allowed: tuple[str, ...] = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
        if target.resource.custom:
            allowed = (JSON_PATCH, MERGE, APPLY)
        if how not in (JSON_PATCH, MERGE, STRATEGIC, APPLY):
            raise UnsupportedMedia("415: Unsupported Media Type", details={})
        check_body_type(how, allowed, ", ".join(allowed))
        if how == APPLY:
            return await self._apply(request, write)
        patch = read_patch(request)
        ownership = Ownership(target, write.manager)

        async def change(old: Json) -> Json:
            if how == STRATEGIC:
                patched = merge_strategically(old, patch, target.version.schema)
            else:
                patched = patched_by(how, old, patch, write)
            if not isinstance(patched, dict):
                raise BadRequest("the patched document is not an object")
            self._check_size(request, write, patched)
            try:
                obj = self._decoded(request, write, patched, old)
            except BadRequest as refused:
                if how == STRATEGIC:
                    check_restorable(patched, patch, target.version.schema)
                why = why_undecodable(refused)
                if not why:
                    raise
                raise undecodable(patched, target.version.schema, why) from None
            return ownership.track(old, obj, self._services.clock.now())

        return await self._writer.update(write, change)

    def _decoded(self, request: ApiRequest, write: Write, data: Json, old: Json) -> Json:
        target = write.target
        obj = decode_patched(request, data, old, target)
        if may_lack_defaults(data, old, target.key):
            target.resource.strategy.default(obj)
        return obj

    def _check_size(self, request: ApiRequest, write: Write, patched: Json) -> None:
        """Refuse what many small patches would make: an object that nobody could send whole."""
        target, limit = write.target, self._services.config.max_body_bytes
        record = self._services.store.get(target.key, target.namespace, target.name)
        if request.data is not None or record is None:
            return
        most = len(record.data) + len(request.body)
        if b"copy" in request.body:
            most += MAX_COPIED_BYTES
        if most > limit and len(write_json(patched)) > limit:
            raise too_large(limit)

    async def _apply(self, request: ApiRequest, write: Write) -> Written:
        target, store = write.target, self._services.store
        config = read_configuration(request)
        check_configuration(write, config)
        ownership = Ownership(target, write.manager, APPLYING)
        force = bool(write.options.force)

        async def change(old: Json) -> Json:
            now = self._services.clock.now()
            merged = apply(old, config, ownership.schema, ownership.manager, now, force)
            if merged is old:
                return {**old, "metadata": dict(old["metadata"])}
            self._check_size(request, write, merged)
            return self._decoded(request, write, merged, old)

        for attempt in range(CREATE_ATTEMPTS):
            if store.get(target.key, target.namespace, target.name) is not None:
                return await self._writer.update(write, change)
            if target.subresource:
                raise absent(target.resource, target.name)
            now = self._services.clock.now()
            new = apply(None, config, ownership.schema, ownership.manager, now, force)
            check_new(write, config)
            try:
                obj = self._decoded(request, write, new, {})
                obj["metadata"].pop("resourceVersion", None)
                return await self._writer.create(write, obj, False)
            except AlreadyExists:
                if attempt == CREATE_ATTEMPTS - 1:
                    raise
        raise AssertionError("the loop returns or raises")


def may_lack_defaults(new: Json, old: Json, key: str) -> bool:
    """Whether a patch touched what has defaults; `old` has them all."""
    without = WITHOUT_DEFAULTS.get(key, ())
    for name, value in new.items():
        if value is not old.get(name) and name not in without:
            return True
    return not old.keys() <= new.keys()


def why_undecodable(refused: BadRequest) -> str:
    """What is wrong with the patched object; '' when the refusal is about something else."""
    if isinstance(refused.__cause__, DecodeError):
        return str(refused.__cause__)
    _, strict, complaints = refused.message.partition("strict decoding error: ")
    return strict + complaints


def patched_by(how: str, old: Json, patch: Any, write: Write) -> Any:
    if how == JSON_PATCH:
        return apply_json_patch(old, patch)
    if how == MERGE:
        return apply_merge_patch(old, patch)
    return apply_strategic_patch(old, patch, write.target.version.schema)


def read_patch(request: ApiRequest) -> Any:
    if request.data is not None:
        return request.data
    try:
        return read_json(request.body, max_values=MAX_VALUES)
    except Malformed as error:
        raise BadRequest(f"error decoding patch: {error}") from None


def read_configuration(request: ApiRequest) -> Json:
    """The applied configuration; YAML, of which JSON is a part."""
    if request.data is not None:
        data = request.data
    else:
        try:
            if request.body[:1] == b"{":
                if has_more_values(request.body, MAX_VALUES):
                    raise BadRequest(f"error decoding YAML: more than {MAX_VALUES} values")
                data = read_json(request.body)
            else:
                data = _read_yaml(request)
        except Malformed:
            data = _read_yaml(request)
    if not isinstance(data, dict):
        raise BadRequest("error decoding YAML: the configuration is not an object")
    return data


def _read_yaml(request: ApiRequest) -> Any:
    try:
        document = read_first(request.body, MAX_VALUES)
    except Malformed as error:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if document.repeated:
        text = "\n  ".join(["yaml: unmarshal errors:", *document.repeated])
        strictness = request.query.get("fieldValidation") or "Warn"
        if strictness == "Strict":
            raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {text}")
        if strictness == "Warn":
            request.warnings += document.repeated
    return document.data


def check_configuration(write: Write, config: Json) -> None:
    """Whether the configuration is of this endpoint's kind and object."""
    kind = write.target.kind
    said, version = config.get("kind") or "", config.get("apiVersion") or ""
    if (said, version) != (kind.kind, kind.api_version):
        group, _, release = str(version).rpartition("/")
        raise BadRequest(f"invalid object type: {group}/{release}, Kind={said}")
    meta = config.get("metadata")
    if isinstance(meta, dict):
        given = dict(meta)
        if isinstance(given.get("name", ""), str | None):
            check_name(write.target, given)
            check_namespace(given, write.target)


def check_new(write: Write, config: Json) -> None:
    """An absent object is created only by a configuration that names it."""
    meta, target = config.get("metadata") or {}, write.target
    if not meta.get("name"):
        raise BadRequest(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be"
            " provided"
        )
    if meta.get("uid"):
        raise uid_mismatch(write, str(meta["uid"]))


def uid_mismatch(write: Write, uid: str) -> ApiError:
    return conflict(
        write.target.resource,
        write.target.name,
        f"uid mismatch: the provided object specified uid {uid}, and no existing object was found",
    )


def options_of(request: ApiRequest) -> WriteOptions:
    return WriteOptions.parse(request.query, "PatchOptions", request.content_type == APPLY)
