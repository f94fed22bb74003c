"""`allaboard up`: a Kubernetes in this process, in the foreground, until Ctrl-C."""

import asyncio
import base64
import gc
import logging
import os
import secrets
import signal
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom

import click

from allaboard.api.errors import ApiError
from allaboard.api.meta import Json
from allaboard.api.yaml_text import write_yaml
from allaboard.cli.configuration import read_config
from allaboard.cli.documents import read_documents
from allaboard.cli.failures import BadInput, Failure
from allaboard.clock import system_clock
from allaboard.cluster.embedded import ClusterConfig, EmbeddedCluster
from allaboard.cluster.server.auth import Authenticator
from allaboard.cluster.server.exchange import User
from allaboard.cluster.server.tls import TlsFiles, ensure_tls
from allaboard.cluster.store.errors import StoreUnreadable
from allaboard.queueing.config import Settings
from allaboard.sim.actor import Actor
from allaboard.sim.queued import install_queueing
from allaboard.sim.script import ScriptError, read_script

PORT = 6443
ADMIN = User("admin", ("system:masters", "system:authenticated"))
DEFAULT_NODES = 3


@click.command()
@click.option("--data", metavar="DIR", help="Where objects live; the same DIR resumes.")
@click.option("--in-memory", is_flag=True, help="Keep nothing on disk.")
@click.option("--port", type=click.IntRange(0, 65535), help=f"Default {PORT}, or a free one.")
@click.option("--kubeconfig", metavar="FILE", help="Where to write it; default in the data folder.")
@click.option("--nodes", type=click.IntRange(0, 100_000), help="Have this many simulated nodes.")
@click.option("--nodes-file", metavar="FILE", help="Nodes as manifests, with their status.")
@click.option("--config", metavar="FILE", help="Configuration of the queueing controllers.")
@click.option("--no-queueing", is_flag=True, help="The bare cluster, without Kueue's kinds.")
def up(  # noqa: PLR0913  (the options are the interface)
    data: str | None,
    in_memory: bool,
    port: int | None,
    kubeconfig: str | None,
    nodes: int | None,
    nodes_file: str | None,
    config: str | None,
    no_queueing: bool,
) -> None:
    """Start a Kubernetes in this process, with simulated nodes; Ctrl-C stops it.

    Objects survive a restart, also a crash: a change that was acknowledged is on disk. kubectl and
    every client library can use it through the kubeconfig it writes.
    """
    if data is not None and in_memory:
        raise BadInput("--data and --in-memory exclude one another: give one of them")
    if nodes is not None and nodes_file is not None:
        raise BadInput("--nodes and --nodes-file exclude one another: give one of them")
    settings = None if no_queueing else read_config(config)
    wanted = Wanted(port, node_documents(nodes, nodes_file), settings)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    with tempfile.TemporaryDirectory(prefix="allaboard-") as scratch:
        folder = Path(scratch) if in_memory else _data_folder(data)
        written = Path(kubeconfig).absolute() if kubeconfig else folder / "kubeconfig"
        place = Place(folder, in_memory, written)
        asyncio.run(_serve(place, wanted))


@dataclass(frozen=True, slots=True)
class Wanted:
    port: int | None
    nodes: list[tuple[str, Json]] | None
    queueing: Settings | None  # None: the bare cluster


@dataclass(frozen=True, slots=True)
class Place:
    folder: Path
    in_memory: bool
    kubeconfig: Path


def _data_folder(given: str | None) -> Path:
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    folder = Path(given) if given else Path(home) / "allaboard"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise BadInput(f"--data {folder}: cannot be used: {error.strerror}") from None
    return folder


def node_documents(count: int | None, path: str | None) -> list[tuple[str, Json]] | None:
    """The Nodes asked for; None when nothing was said."""
    if path is not None:
        found = read_documents([path])
        for where, document in found:
            if not isinstance(document, dict) or document.get("kind") not in ("Node", "List"):
                raise BadInput(f"{where}: expected a Node")
        return found
    if count is None:
        return None
    return [(f"node {i}", plain_node(f"node-{i}")) for i in range(count)]


def plain_node(name: str) -> Json:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


async def _serve(place: Place, wanted: Wanted) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    clock = system_clock()
    try:
        tls = ensure_tls(place.folder / "tls", clock.now())
        token = _token(place.folder / "admin.token")
    except OSError as error:
        at = error.filename or place.folder
        raise Failure(f"{at}: cannot be used: {error.strerror}") from None
    data = None if place.in_memory else place.folder / "store"
    rng = Random(SystemRandom().getrandbits(128))
    cluster = EmbeddedCluster(ClusterConfig(clock, rng, data, tls.ca.read_text()))
    async with AsyncExitStack() as stack:
        try:
            await cluster.open()
        except StoreUnreadable as error:
            raise Failure(str(error)) from None
        stack.push_async_callback(cluster.stop)
        await cluster.start()
        if wanted.queueing is not None:
            manager = await install_queueing(cluster, wanted.queueing, rng)
            stack.push_async_callback(manager.stop)
        await _ensure_nodes(cluster, wanted.nodes)
        # What exists now lives as long as the process; looking through it again and again is waste.
        gc.freeze()
        gc.set_threshold(100_000, 20, 100)
        served = await _listen(cluster, Authenticator({token: ADMIN}), tls, wanted.port)
        write_private(place.kubeconfig, kubeconfig_text(served, tls, token))
        _greet(place, served)
        await stopping.wait()
        click.echo("Stopping.", err=True)


async def _listen(
    cluster: EmbeddedCluster, authenticator: Authenticator, tls: TlsFiles, port: int | None
) -> int:
    try:
        return await cluster.listen(authenticator, tls, PORT if port is None else port)
    except OSError as error:
        if port is not None:
            raise Failure(
                f"port {port} cannot be used: {error.strerror}; try another, or --port 0"
            ) from None
    return await cluster.listen(authenticator, tls, 0)


async def _ensure_nodes(cluster: EmbeddedCluster, nodes: list[tuple[str, Json]] | None) -> None:
    """Apply what was asked for; a new cluster of which nothing was said gets a few plain nodes."""
    if nodes is None:
        if cluster.store.count("nodes"):
            return
        nodes = node_documents(DEFAULT_NODES, None) or []
    actor = Actor(cluster.client("allaboard-up"))
    try:
        steps = read_script(nodes)
    except ScriptError as error:
        raise BadInput(str(error)) from None
    for step in steps:
        refusal: ApiError | None = await actor.perform(step)
        if refusal is not None:
            raise BadInput(f"{step.where}: {refusal}")


def _token(path: Path) -> str:
    """The administrator's token, made once per data folder."""
    known = path.read_text(errors="replace").strip() if path.exists() else ""
    if known:
        return known
    token = secrets.token_urlsafe(32)
    write_private(path, token + "\n")
    return token


def write_private(path: Path, text: str) -> None:
    """Write for the owner's eyes only, all or nothing."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        beside.replace(path)
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror}") from None


def kubeconfig_text(port: int, tls: TlsFiles, token: str) -> str:
    authority = base64.b64encode(tls.ca.read_bytes()).decode()
    server = f"https://127.0.0.1:{port}"
    return write_yaml(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "allaboard",
            "clusters": [
                {
                    "name": "allaboard",
                    "cluster": {"server": server, "certificate-authority-data": authority},
                }
            ],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [
                {"name": "allaboard", "context": {"cluster": "allaboard", "user": "admin"}}
            ],
        }
    )


def _greet(place: Place, port: int) -> None:
    kept = "nothing is kept" if place.in_memory else f"objects are kept in {place.folder}"
    click.echo(
        f"allaboard is up at https://127.0.0.1:{port} ({kept}).\n\n"
        f"  export KUBECONFIG={place.kubeconfig}\n"
        f"  kubectl get nodes          (or, without kubectl: allaboard get nodes)\n\n"
        f"Ctrl-C stops it."
    )
    sys.stdout.flush()
