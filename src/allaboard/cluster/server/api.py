"""One request in, one answer or one stream of events out.

`handle` never raises: refusals become Status answers, and an unexpected error becomes a 500 whose
story goes to the log while the server goes on. Whatever shows a revision waits until it is on disk.
"""

import asyncio
import logging
from random import Random

from allaboard.api.errors import ApiError, InternalError
from allaboard.clock import Clock
from allaboard.cluster.admission.chain import AdmissionChain
from allaboard.cluster.crds.registry import CrdRegistry
from allaboard.cluster.server import routes
from allaboard.cluster.server.auth import Authenticator
from allaboard.cluster.server.catalogue import Catalogue
from allaboard.cluster.server.discovery import Discovery
from allaboard.cluster.server.exchange import JSON, ApiRequest, ApiResponse, refusal
from allaboard.cluster.server.metrics import Metrics
from allaboard.cluster.server.negotiate import Form, choose
from allaboard.cluster.server.refusals import absent, no_such_endpoint, verb_not_served
from allaboard.cluster.server.render import Renderer
from allaboard.cluster.server.routes import Target
from allaboard.cluster.server.services import Config, Services
from allaboard.cluster.server.tables import included
from allaboard.cluster.server.verbs.bodies import decode_object, read_body, read_options
from allaboard.cluster.server.verbs.deletes import (
    SHOW_DELETED,
    DeleteOptions,
    Deleter,
    gone_status,
)
from allaboard.cluster.server.verbs.lists import Lister, wait_for_revision
from allaboard.cluster.server.verbs.options import (
    ListOptions,
    WriteOptions,
    boolean,
    check_timeout,
    revision,
)
from allaboard.cluster.server.verbs.patches import Patcher, options_of
from allaboard.cluster.server.verbs.selection import select
from allaboard.cluster.server.verbs.subresources import Subresources
from allaboard.cluster.server.verbs.watches import Stream
from allaboard.cluster.server.verbs.writes import Write, Writer, Written
from allaboard.cluster.store.store import Store

log = logging.getLogger(__name__)
READS = ("get", "list", "watch")


class ApiServer:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: Random,
        catalogue: Catalogue,
        admission: AdmissionChain | None = None,
        config: Config | None = None,
    ) -> None:
        self.services = Services(
            store, clock, rng, catalogue, admission or AdmissionChain(), config or Config()
        )
        self.writer = Writer(self.services)
        self.deleter = Deleter(self.services, self.writer)
        self.patcher = Patcher(self.services, self.writer)
        self.lister = Lister(self.services)
        self.metrics = Metrics()
        self.discovery = Discovery(self.services, self.metrics)
        self.authenticator: Authenticator | None = None
        self.definitions: CrdRegistry | None = None  # who adds and removes custom resources
        self.subresources = Subresources(self)

    async def close(self) -> None:
        """Let go of what plugins hold, then of the store."""
        if self.definitions is not None:
            await self.definitions.close()
        await self.services.admission.close()
        await self.services.store.close()

    async def handle(self, request: ApiRequest) -> ApiResponse:
        """Answer a request of an authenticated user."""
        try:
            response = await self._answer(request)
        except ApiError as error:
            response = refusal(error)
            if "yaml" in request.headers.get("accept", ""):
                response.content_type = error_media(request.headers["accept"])
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception(
                "request failed", extra={"method": request.method, "path": request.path[:200]}
            )
            response = refusal(
                InternalError("the server could not answer this request; its log says why")
            )
        self.metrics.count(request.verb or request.method, request.resource, response.status)
        for warning in request.warnings[:100]:
            response.headers.append(("Warning", warning_header(warning)))
        return response

    async def _answer(self, request: ApiRequest) -> ApiResponse:
        parts = routes.split(request.path)
        path = routes.parse(parts) if parts is not None else None
        if path is None:
            return await self.discovery.answer(request, parts)
        target = self._target(request, path)
        if target is None:
            return await self.discovery.answer(request, parts)
        request.verb, request.resource = target.verb, target.resource.plural
        check_timeout(request.query)
        if target.version.deprecation:
            request.warnings.append(target.version.deprecation)
        if target.subresource:
            return await self.subresources.answer(request, target)
        return await self._verb(request, target)

    def _target(self, request: ApiRequest, path: routes.Path) -> Target | None:
        """What the path means; None when its group does not exist at all."""
        catalogue = self.services.catalogue
        found = catalogue.find(path.group, path.version, path.plural)
        if found is None:
            # Groups of custom resources alone are not known to the built-in paths.
            if not catalogue.has_builtin(path.group):
                return None
            raise no_such_endpoint()
        resource, kind = found
        if path.in_namespace and not resource.namespaced:
            raise no_such_endpoint()
        if resource.namespaced and path.name and not path.in_namespace:
            raise no_such_endpoint()
        if path.subresource and path.subresource not in resource.subresources:
            raise absent(resource, path.name) if resource.custom else no_such_endpoint()
        watching = boolean(request.query, "watch")
        verb = routes.verb_of(request.method, path, watching)
        if not path.subresource and verb not in resource.verbs:
            raise verb_not_served()
        if verb == "create" and resource.namespaced and not path.in_namespace:
            raise verb_not_served()
        version = resource.versions[path.version]
        return Target(resource, version, kind, path.namespace, path.name, path.subresource, verb)

    async def _verb(self, request: ApiRequest, target: Target) -> ApiResponse:
        match target.verb:
            case "get":
                return await self.get(request, target)
            case "list":
                return await self.list(request, target)
            case "watch":
                return self.watch(request, target)
            case "create":
                return await self.create(request, target)
            case "update":
                return await self.update(request, target)
            case "patch":
                return await self.patch(request, target)
            case "delete":
                return await self.delete(request, target)
            case "deletecollection":
                return await self.delete_collection(request, target)
        raise verb_not_served()

    # --- reads -------------------------------------------------------------------------------

    async def get(self, request: ApiRequest, target: Target) -> ApiResponse:
        renderer = self.renderer(request, target)
        services = self.services
        text = request.query.get("resourceVersion", "")
        if text:
            await wait_for_revision(services, revision(text))
        record = services.store.get(target.key, target.namespace, target.name)
        if record is None:
            await services.wait_durable(services.store.revision)
            raise absent(target.resource, target.name)
        written = await self.writer.written(target, record)
        return renderer.one(200, written.obj, written.record)

    async def list(self, request: ApiRequest, target: Target) -> ApiResponse:
        renderer = self.renderer(request, target)
        options = ListOptions.parse(request.query, watching=False)
        selection = select(target.resource, options)
        return await self.lister.answer(target, options, selection, renderer)

    def watch(self, request: ApiRequest, target: Target) -> ApiResponse:
        renderer = self.renderer(request, target)
        options = ListOptions.parse(request.query, watching=True)
        selection = select(target.resource, options, target.name)
        stream = Stream(self.services, target, options, selection)
        return ApiResponse(200, stream=stream.lines_in(renderer))

    # --- writes ------------------------------------------------------------------------------

    async def create(self, request: ApiRequest, target: Target) -> ApiResponse:
        renderer = self.renderer(request, target)
        options = WriteOptions.parse(request.query, "CreateOptions")
        body = read_body(request, target.kind.kind)
        obj = decode_object(request, body, target.resource, target.version, target.kind)
        if target.resource.verbs == ("create",):
            return await self.subresources.review(request, target, obj)
        written = await self.writer.create(Write.of(request, target, options), obj)
        return renderer.one(201, written.obj, written.record)

    async def update(self, request: ApiRequest, target: Target) -> ApiResponse:
        renderer = self.renderer(request, target)
        options = WriteOptions.parse(request.query, "UpdateOptions")
        body = read_body(request, target.kind.kind)
        obj = decode_object(request, body, target.resource, target.version, target.kind)
        written = await self.writer.put(Write.of(request, target, options), obj)
        return self._written(renderer, written)

    async def patch(self, request: ApiRequest, target: Target) -> ApiResponse:
        renderer = self.renderer(request, target)
        write = Write.of(request, target, options_of(request))
        return self._written(renderer, await self.patcher.patch(request, write))

    def _written(self, renderer: Renderer, written: Written) -> ApiResponse:
        return renderer.one(201 if written.created else 200, written.obj, written.record)

    async def delete(self, request: ApiRequest, target: Target) -> ApiResponse:
        renderer = self.renderer(request, target)
        options = self.delete_options(request)
        write = Write.of(request, target, WriteOptions("DeleteOptions", options.dry_run))
        written = await self.deleter.delete(write, options)
        if written.deleted and target.key not in SHOW_DELETED:
            return ApiResponse(200, body=gone_status(target, written.obj))
        status = 202 if options.orphan is False and not written.deleted else 200
        return renderer.one(status, written.obj, written.record)

    async def delete_collection(self, request: ApiRequest, target: Target) -> ApiResponse:
        renderer = self.renderer(request, target)
        list_options = ListOptions.parse(request.query, watching=False)
        options = self.delete_options(request)
        selection = select(target.resource, list_options)
        page, meta = await self.lister.page(target, list_options, selection)
        response = await self.lister.rendered(target, page, meta, renderer)
        for record in page:
            one = Target(
                target.resource, target.version, target.kind, record.namespace, record.name
            )
            write = Write.of(request, one, WriteOptions("DeleteOptions", options.dry_run))
            await self.deleter.delete_if_there(write, options)
        return response

    def delete_options(self, request: ApiRequest) -> DeleteOptions:
        body = None
        if request.has_body:
            body = read_options(request)
        return DeleteOptions.parse(request.query, body)

    # --- forms -------------------------------------------------------------------------------

    def renderer(self, request: ApiRequest, target: Target) -> Renderer:
        form: Form = choose(
            request.headers.get("accept", ""), watching=target.verb in ("list", "watch")
        )
        include = "Metadata"
        if form.shape == "Table":
            include = included(request.query.get("includeObject", ""))
        return Renderer(target.resource, target.kind, form, self.services.clock.now(), include)


def error_media(accept: str) -> str:
    """Errors come as YAML only to those who prefer it."""
    try:
        return choose(accept).media
    except ApiError:
        return JSON


def warning_header(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'299 - "{escaped[:2000]}"'
