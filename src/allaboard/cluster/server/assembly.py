"""Puts a server together from its parts, as tests, benches and the embedded cluster need it."""

from random import Random

from allaboard.clock import Clock
from allaboard.cluster.admission.caller import WebhookCaller
from allaboard.cluster.admission.services import service_resolver
from allaboard.cluster.admission.standard import standard_chain
from allaboard.cluster.crds.registry import (
    CrdRegistry,
    NoCreationWhileTerminating,
    with_definition_rules,
)
from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.catalogue import Catalogue
from allaboard.cluster.server.services import Config
from allaboard.cluster.store.store import Store


async def assemble(
    clock: Clock, rng: Random, store: Store | None = None, config: Config | None = None
) -> ApiServer:
    """A server with the built-in kinds and plugins; in memory unless a store is given."""
    catalogue = Catalogue(with_definition_rules(builtin_resources()))
    store = store if store is not None else Store(clock)
    caller = WebhookCaller(rng, service_resolver(store))
    definitions = CrdRegistry(store, clock, catalogue, caller)
    definitions.start()
    admission = standard_chain(store, rng, caller)
    admission.insert(NoCreationWhileTerminating(definitions), before="LimitRanger")
    catalogue.on_change(admission.refresh)
    server = ApiServer(store, clock, rng, catalogue, admission, config)
    server.definitions = definitions
    return server
