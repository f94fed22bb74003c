"""What can be done to a part of an object, or through it?

`status`, `finalize`, `resize` and `ephemeralcontainers` are other doors to the same object: the
rules of its kind say what passes. `scale`, `binding`, `eviction`, `log` and `token` are things of
their own.
"""

from typing import TYPE_CHECKING

from allaboard.api.errors import BadRequest
from allaboard.api.meta import Json
from allaboard.cluster.admission.chain import CREATE
from allaboard.cluster.kinds.registry import SUBRESOURCE_VERBS
from allaboard.cluster.patching.apply import apply
from allaboard.cluster.schema.builtin import schema_of
from allaboard.cluster.schema.envelope import Body, decode_body
from allaboard.cluster.schema.node import Schema
from allaboard.cluster.server.exchange import ApiRequest, ApiResponse
from allaboard.cluster.server.negotiate import choose
from allaboard.cluster.server.refusals import absent, conflict, verb_not_served
from allaboard.cluster.server.routes import Target
from allaboard.cluster.server.verbs.bodies import complain, read_body
from allaboard.cluster.server.verbs.deletes import DeleteOptions
from allaboard.cluster.server.verbs.options import WriteOptions
from allaboard.cluster.server.verbs.ownership import APPLY as APPLYING
from allaboard.cluster.server.verbs.ownership import Ownership
from allaboard.cluster.server.verbs.patches import (
    APPLY,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    options_of,
    patched_by,
    read_configuration,
    read_patch,
)
from allaboard.cluster.server.verbs.pods import (
    LogSource,
    bind,
    check_budget,
    created_status,
    evicting,
    no_logs,
    read_log,
)
from allaboard.cluster.server.verbs.reviews import answer_review
from allaboard.cluster.server.verbs.scale import KIND as SCALE
from allaboard.cluster.server.verbs.scale import replicas_in, scale_of, with_value
from allaboard.cluster.server.verbs.tokens import issue_token
from allaboard.cluster.server.verbs.writes import Change, Write, check_name, storage_refusal

if TYPE_CHECKING:
    from allaboard.cluster.server.api import ApiServer

DOORS = ("status", "finalize", "resize", "ephemeralcontainers")


class Subresources:
    def __init__(self, server: "ApiServer") -> None:
        self._server = server
        self._services = server.services
        self.logs: LogSource = no_logs

    async def answer(self, request: ApiRequest, target: Target) -> ApiResponse:
        allowed = SUBRESOURCE_VERBS.get(target.subresource, ())
        if target.verb not in allowed:
            raise verb_not_served()
        if target.subresource in DOORS:
            return await self._door(request, target)
        match target.subresource:
            case "scale":
                return await self._scale(request, target)
            case "log":
                return await read_log(self._services, self.logs, request, target)
            case "binding":
                return await self.bind(request, target)
            case "eviction":
                return await self._evict(request, target)
            case "token":
                return await issue_token(self._server, request, target)
        raise BadRequest(
            f"{target.resource.plural}/{target.subresource} needs a container runtime; simulated"
            " nodes have none"
        )

    async def _door(self, request: ApiRequest, target: Target) -> ApiResponse:
        match target.verb:
            case "get":
                return await self._server.get(request, target)
            case "update":
                return await self._server.update(request, target)
        return await self._server.patch(request, target)

    # --- scale -------------------------------------------------------------------------------

    async def _scale(self, request: ApiRequest, target: Target) -> ApiResponse:
        choose(request.headers.get("accept", ""))  # 406 for what cannot be rendered
        if target.verb == "get":
            record = self._services.store.get(target.key, target.namespace, target.name)
            if record is None:
                raise absent(target.resource, target.name)
            obj = await self._server.writer.old_object(target, record)
            return ApiResponse(200, body=scale_of(target.resource, obj))
        if target.verb == "patch":
            write = Write.of(request, target, options_of(request))
        else:
            write = Write.of(request, target, WriteOptions.parse(request.query, "UpdateOptions"))
        written = await self._server.writer.update(write, self._rescale(request, write))
        return ApiResponse(200, body=scale_of(target.resource, written.obj))

    def _rescale(self, request: ApiRequest, write: Write) -> Change:
        """What a Scale makes of the object behind it."""
        target, how = write.target, request.content_type
        schema = schema_of("autoscaling", "v1", "Scale")
        is_apply = write.target.verb == "patch" and how == APPLY
        ownership = Ownership(target, write.manager, APPLYING if is_apply else "Update")
        path = (target.resource.scale_paths or ("", "", ""))[0]

        async def change(old: Json) -> Json:
            now = self._services.clock.now()
            scale = self._new_scale(request, write, scale_of(target.resource, old), schema)
            replicas = replicas_in(scale, target.name)
            meta = {**old["metadata"]}
            given = scale.get("metadata") or {}
            if given.get("resourceVersion"):
                meta["resourceVersion"] = given["resourceVersion"]
            new = with_value({**old, "metadata": meta}, path, replicas)
            if is_apply:
                config = with_value(
                    {"kind": target.kind.kind, "apiVersion": target.kind.api_version},
                    path,
                    replicas,
                )
                force = bool(write.options.force)
                return apply(old, config, ownership.schema, ownership.manager, now, force)
            return ownership.track(old, new, now)

        return change

    def _new_scale(self, request: ApiRequest, write: Write, old: Json, schema: Schema) -> Json:
        if write.target.verb == "update":
            body = read_body(request, "Scale")
        elif request.content_type == APPLY:
            body = Body(read_configuration(request))
        else:
            how = request.content_type
            if how not in (JSON_PATCH, MERGE, STRATEGIC):
                raise BadRequest(f"{how} is not a patch of a Scale")
            body = Body(patched_by(how, old, read_patch(request), write))
        decoded = decode_body(body, SCALE, schema)
        complain(request, decoded.complaints, SCALE)
        meta = decoded.data.get("metadata") or {}
        check_name(write.target, dict(meta))
        return decoded.data

    # --- binding and eviction ----------------------------------------------------------------

    async def bind(self, request: ApiRequest, target: Target) -> ApiResponse:
        """POST of a Binding, to pods/NAME/binding or to bindings."""
        kind = target.resource.subresources["binding"]
        body = read_body(request, kind.kind)
        decoded = decode_body(body, kind, schema_of("", "v1", "Binding"))
        complain(request, decoded.complaints, kind)
        binding = decoded.data
        options = WriteOptions.parse(request.query, "CreateOptions")
        write = Write.of(request, target, options)
        meta = binding.get("metadata") or {}
        if not target.name:
            target.name = str(meta.get("name") or "")
        check_name(target, dict(meta))
        for _ in range(16):
            record = self._services.store.get(target.key, target.namespace, target.name)
            if record is None:
                raise absent(target.resource, target.name)
            uid, found = meta.get("uid"), record.obj["metadata"].get("uid")
            if uid and uid != found:
                raise conflict(
                    target.resource,
                    target.name,
                    storage_refusal(target, uid, found),
                )
            admission = self._services.admission
            attributes = write.attributes(CREATE, binding, None)
            await admission.mutate(attributes)
            await admission.validate(attributes)
            bound = bind(record.obj, binding, self._services.timestamp())
            if options.dry_run:
                break
            now = self._services.store.get(target.key, target.namespace, target.name)
            if now is record:
                new = self._services.store.commit(
                    target.key, target.namespace, target.name, bound, record.rev
                )
                await self._services.wait_durable(new.rev)
                break
        return ApiResponse(201, body=created_status())

    async def _evict(self, request: ApiRequest, target: Target) -> ApiResponse:
        kind = target.resource.subresources["eviction"]
        body = read_body(request, kind.kind)
        decoded = decode_body(body, kind, schema_of("policy", "v1", "Eviction"))
        complain(request, decoded.complaints, kind)
        eviction = decoded.data
        check_name(target, dict(eviction.get("metadata") or {}))
        record = self._services.store.get(target.key, target.namespace, target.name)
        if record is None:
            raise absent(target.resource, target.name)
        write = Write.of(request, target, WriteOptions.parse(request.query, "CreateOptions"))
        attributes = write.attributes(CREATE, eviction, None)
        await self._services.admission.mutate(attributes)
        await self._services.admission.validate(attributes)
        options = DeleteOptions.parse({}, eviction.get("deleteOptions") or {})
        options.dry_run = options.dry_run or write.options.dry_run
        if "deletionTimestamp" not in record.obj["metadata"]:
            counted = check_budget(self._services, record.obj)
            if counted is not None and not options.dry_run:
                budget, changed = counted
                self._services.store.commit(
                    budget.resource, budget.namespace, budget.name, changed, budget.rev
                )
            if not options.dry_run:
                self._services.store.commit(
                    target.key,
                    target.namespace,
                    target.name,
                    evicting(record.obj, self._services.timestamp()),
                )
        pod = Target(target.resource, target.version, target.kind, target.namespace, target.name)
        await self._server.deleter.delete(Write.of(request, pod, write.options), options)
        return ApiResponse(201, body=created_status())

    # --- reviews -----------------------------------------------------------------------------

    async def review(self, request: ApiRequest, target: Target, obj: Json) -> ApiResponse:
        """POST to a resource that is only ever created: bindings and reviews."""
        if target.key == "bindings":
            pods = self._services.catalogue.by_plural("", "pods")
            assert pods is not None
            version = pods.versions["v1"]
            kind = self._services.catalogue.find("", "v1", "pods")
            assert kind is not None
            pod = Target(pods, version, kind[1], target.namespace, "", "binding", "create")
            return await self.bind(request, pod)
        write = Write.of(request, target, WriteOptions.parse(request.query, "CreateOptions"))
        if target.kind.kind not in ("SelfSubjectReview", "SelfSubjectRulesReview"):
            now = self._services.clock.now()
            obj = Ownership(target, write.manager).track(None, obj, now)
        answered = answer_review(
            request,
            target.kind.kind,
            obj,
            self._server.authenticator,
            self._services.timestamp(),
        )
        return ApiResponse(201, body=answered)
