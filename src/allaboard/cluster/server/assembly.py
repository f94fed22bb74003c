"""Puts a server together from its parts, as tests, benches and the embedded cluster need it."""

from random import Random

from allaboard.clock import Clock
from allaboard.cluster.admission.chain import AdmissionChain
from allaboard.cluster.crds.registry import CrdRegistry, NoCreationWhileTerminating
from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.catalogue import Catalogue
from allaboard.cluster.server.services import Config
from allaboard.cluster.store.store import Store


async def assemble(
    clock: Clock, rng: Random, store: Store | None = None, config: Config | None = None
) -> ApiServer:
    """A server with the built-in kinds and admission; in memory unless a store is given."""
    catalogue = Catalogue(builtin_resources())
    store = store if store is not None else Store(clock)
    definitions = CrdRegistry(store, clock, catalogue)
    definitions.start()
    admission = AdmissionChain([NoCreationWhileTerminating(definitions)])
    return ApiServer(store, clock, rng, catalogue, admission, config)
