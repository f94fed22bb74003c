"""`apply`, `get`, `describe`, `delete`, `wait`: the daily work on any cluster, without kubectl."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import click

from allaboard.api.errors import ApiError, Invalid, NotFound
from allaboard.api.meta import Json
from allaboard.cli.connection import Connection, connected
from allaboard.cli.documents import read_documents
from allaboard.cli.failures import BadInput, Failure
from allaboard.cli.printing import (
    TABLE,
    Table,
    render_description,
    render_objects,
    render_table,
)
from allaboard.cli.targets import Target, find_targets, full_name, read_targets
from allaboard.cli.waiting import parse_condition, wait_for
from allaboard.client.transport import Request

F = TypeVar("F", bound=Callable[..., Any])
OUTPUTS = ("wide", "json", "yaml", "name")


def cluster_options(command: F) -> F:
    """The options every command on objects has."""
    for option in (
        click.option("-n", "--namespace", help="Default: that of the context, or `default`."),
        click.option("--context", help="Which context of the kubeconfig."),
        click.option("--kubeconfig", metavar="FILE", help="Default: $KUBECONFIG, ~/.kube/config."),
    ):
        command = option(command)
    return command


@click.command()
@click.option("-f", "files", multiple=True, required=True, metavar="FILE", help="`-` for stdin.")
@click.option("--dry-run", is_flag=True, help="Ask the server, but store nothing.")
@click.option("--force-conflicts", is_flag=True, help="Take fields over from other managers.")
@cluster_options
def apply(
    files: tuple[str, ...], dry_run: bool, force_conflicts: bool, **cluster: str | None
) -> None:
    """Create or change objects from files (server-side apply)."""
    documents = read_documents(files)

    async def main(connection: Connection) -> bool:
        failed = False
        for target, document in await read_targets(connection, documents):
            try:
                words = await _apply_one(connection, target, document, dry_run, force_conflicts)
                click.echo(f"{full_name(target)} {words}")
            except ApiError as error:
                failed = True
                click.echo(f"Error: {target.where}: {explain(error)}", err=True)
        return failed

    _finish(connected(main, **cluster))


async def _apply_one(
    connection: Connection, target: Target, document: Json, dry_run: bool, force: bool
) -> str:
    kind = target.served.kind
    before = await connection.client.find(kind, target.name, target.namespace)
    query = {"fieldManager": "allaboard", "force": "true" if force else "false"}
    if dry_run:
        query["dryRun"] = "All"
    path = kind.path(target.namespace, target.name)
    body = {**document, "metadata": {**document["metadata"], "namespace": target.namespace}}
    if not target.namespace:
        del body["metadata"]["namespace"]
    after = await connection.send(
        Request("PATCH", path, query, body, content_type="application/apply-patch+yaml")
    )
    suffix = " (dry run)" if dry_run else ""
    if before is None:
        return f"created{suffix}"
    same = before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    return f"{'unchanged' if same else 'configured'}{suffix}"


@click.command()
@click.argument("what")
@click.argument("names", nargs=-1)
@click.option("-A", "--all-namespaces", is_flag=True)
@click.option("-l", "--selector", default="", help="Label selector, as in app=web,tier!=db.")
@click.option("--field-selector", default="", help="As in status.phase=Running.")
@click.option("-o", "--output", type=click.Choice(OUTPUTS))
@click.option("--no-headers", is_flag=True)
@click.option("-w", "--watch", is_flag=True, help="Go on showing changes; Ctrl-C ends it.")
@cluster_options
def get(  # noqa: PLR0913  (the options are the interface)
    what: str,
    names: tuple[str, ...],
    all_namespaces: bool,
    selector: str,
    field_selector: str,
    output: str | None,
    no_headers: bool,
    watch: bool,
    **cluster: str | None,
) -> None:
    """List objects: `get pods`, `get job train`, `get jobs,pods -o wide`."""
    if names and (selector or field_selector):
        raise BadInput("give names or selectors, not both")

    async def main(connection: Connection) -> bool:
        query = {"labelSelector": selector, "fieldSelector": field_selector}
        query = {key: value for key, value in query.items() if value}
        targets = await find_targets(connection, what, names, all_namespaces)
        if watch and (output in ("json", "yaml", "name") or len(targets) > 1):
            raise BadInput("--watch shows a table of one kind or one object")
        if output == "name":
            for target in targets:
                for name in await _names(connection, target, query):
                    click.echo(name)
            return False
        if output in ("json", "yaml"):
            objects = [o for t in targets for o in await _objects(connection, t, query)]
            several = len(targets) != 1 or not targets[0].name
            click.echo(render_objects(objects, output, several))
            return False
        tables = [(target, await _table(connection, target, query)) for target in targets]
        shown = [table for _, table in tables if table.rows]
        for index, table in enumerate(shown):
            lines = render_table(table, wide=output == "wide", namespaced=all_namespaces)
            click.echo("\n".join([""] * bool(index) + lines[no_headers:]))
        if not shown:
            click.echo(_nothing(targets), err=True)
        if watch:
            show = partial(render_table, wide=output == "wide", namespaced=all_namespaces)
            await _follow(connection, *tables[0], query, show)
        return False

    _finish(connected(main, **cluster))


def _nothing(targets: list[Target]) -> str:
    words = " or ".join(target.served.kind.plural for target in targets[:3])
    where = f" in namespace {targets[0].namespace!r}" if targets[0].namespace else ""
    return f"No {words if len(targets) <= 3 else 'objects'} found{where}."


async def _names(connection: Connection, target: Target, query: dict[str, str]) -> list[str]:
    objects = await _objects(connection, target, query)
    return [full_name(replace(target, name=str(o["metadata"]["name"]))) for o in objects]


async def _objects(connection: Connection, target: Target, query: dict[str, str]) -> list[Json]:
    kind = target.served.kind
    if target.name:
        return [await connection.client.get(kind, target.name, target.namespace)]
    listing = await connection.client.list(
        kind, target.namespace, query.get("labelSelector", ""), query.get("fieldSelector", "")
    )
    return listing.items


async def _table(connection: Connection, target: Target, query: dict[str, str]) -> Table:
    path = target.served.kind.path(target.namespace, target.name)
    return Table.read(await connection.send(Request("GET", path, query, accept=TABLE)))


async def _follow(
    connection: Connection,
    target: Target,
    before: Table,
    query: dict[str, str],
    show: Callable[[Table], list[str]],
) -> None:
    """Rows as they change after `before`, until interrupted or the server ends the watch."""
    path = target.served.kind.path(target.namespace)
    query = {**query, "watch": "true"}
    if target.name:
        query["fieldSelector"] = f"metadata.name={target.name}"
    query["resourceVersion"] = before.resource_version
    async with connection.client.transport.stream(
        Request("GET", path, query, accept=TABLE)
    ) as events:
        async for event in events:
            if event["type"] == "ERROR":
                raise Failure(str(event["object"].get("message")))
            table = Table.read(event["object"], before)
            # Laid out with the rows above them, so that columns stay where they are.
            lines = show(replace(table, rows=before.rows + table.rows))
            click.echo("\n".join(lines[1 + len(before.rows) :]))


@click.command()
@click.argument("what")
@click.argument("names", nargs=-1)
@cluster_options
def describe(what: str, names: tuple[str, ...], **cluster: str | None) -> None:
    """Show objects in detail, with their events: `describe job train`, `describe pods`."""

    async def main(connection: Connection) -> bool:
        targets = await find_targets(connection, what, names, all_namespaces=False)
        objects = [o for t in targets for o in await _objects(connection, t, {})]
        texts = [
            render_description(o, await _events_of(connection, o), connection.now())
            for o in objects
        ]
        click.echo("\n\n".join(texts) if texts else _nothing(targets), err=not texts)
        return False

    _finish(connected(main, **cluster))


async def _events_of(connection: Connection, obj: Json) -> list[Json]:
    meta = obj["metadata"]
    fields = f"involvedObject.uid={meta.get('uid', '')},involvedObject.name={meta['name']}"
    path = f"/api/v1/namespaces/{meta.get('namespace') or 'default'}/events"
    found = await connection.send(Request("GET", path, {"fieldSelector": fields}))
    return list(found.get("items") or [])


@click.command()
@click.argument("what", required=False)
@click.argument("names", nargs=-1)
@click.option("-f", "files", multiple=True, metavar="FILE", help="What these files describe.")
@click.option("-l", "--selector", default="", help="Everything with these labels.")
@click.option("--all", "everything", is_flag=True, help="Everything of this kind.")
@click.option("--ignore-not-found", is_flag=True)
@click.option(
    "--cascade",
    type=click.Choice(["background", "foreground", "orphan"]),
    default="background",
    show_default=True,
)
@cluster_options
def delete(  # noqa: PLR0913  (the options are the interface)
    what: str | None,
    names: tuple[str, ...],
    files: tuple[str, ...],
    selector: str,
    everything: bool,
    ignore_not_found: bool,
    cascade: str,
    **cluster: str | None,
) -> None:
    """Delete objects: `delete job train`, `delete -f gang.yaml`, `delete pods -l app=web`."""
    ways = sum((bool(files), bool(names) or "/" in (what or ""), bool(selector), everything))
    if ways != 1 or bool(files) == bool(what):
        raise BadInput("say what to delete: KIND NAME..., KIND -l SELECTOR, KIND --all, or -f FILE")
    documents = read_documents(files) if files else []

    async def main(connection: Connection) -> bool:
        if files:
            targets = [target for target, _ in await read_targets(connection, documents)]
        else:
            targets = await find_targets(connection, what or "", names, all_namespaces=False)
        if selector or everything:
            targets = [found for t in targets for found in await _all_of(connection, t, selector)]
        failed = False
        for target in targets:
            failed |= not await _delete_one(connection, target, cascade, ignore_not_found)
        return failed

    _finish(connected(main, **cluster))


async def _all_of(connection: Connection, target: Target, selector: str) -> list[Target]:
    objects = await _objects(connection, target, {"labelSelector": selector})
    return [
        Target(target.served, target.namespace, str(o["metadata"]["name"]), "") for o in objects
    ]


async def _delete_one(
    connection: Connection, target: Target, cascade: str, ignore_not_found: bool
) -> bool:
    policy: Any = cascade.capitalize()
    try:
        await connection.client.delete(
            target.served.kind, target.name, target.namespace, propagation=policy
        )
    except NotFound as error:
        if not ignore_not_found:
            click.echo(f"Error: {explain(error)}", err=True)
        return ignore_not_found
    click.echo(f"{full_name(target)} deleted")
    return True


@click.command()
@click.argument("what")
@click.argument("names", nargs=-1)
@click.option(
    "--for", "condition", required=True,
    help="condition=NAME[=VALUE], delete, create, or jsonpath={.path}=VALUE.",
)  # fmt: skip
@click.option("--timeout", default="30s", show_default=True, metavar="DURATION")
@cluster_options
def wait(
    what: str, names: tuple[str, ...], condition: str, timeout: str, **cluster: str | None
) -> None:
    """Wait until objects meet a condition: `wait job train --for condition=Complete`."""
    wanted = parse_condition(condition)
    if not names and "/" not in what:
        raise BadInput("say what to wait for: KIND NAME... or KIND/NAME...")

    async def main(connection: Connection) -> bool:
        targets = await find_targets(connection, what, names, all_namespaces=False)
        answers = await asyncio.gather(
            *(wait_for(connection, target, wanted, timeout) for target in targets)
        )
        for target, met in zip(targets, answers, strict=True):
            if met:
                click.echo(f"{full_name(target)} {wanted.past}")
            else:
                words = f"timed out after {timeout} waiting for {condition}"
                click.echo(f"Error: {full_name(target)}: {words}", err=True)
        return not all(answers)

    _finish(connected(main, **cluster))


def _finish(failed: bool) -> None:
    if failed:
        raise click.exceptions.Exit(1)


def explain(error: ApiError) -> str:
    """The server's sentence, and for an invalid object its fields one a line."""
    causes = (error.details or {}).get("causes") or []
    if isinstance(error, Invalid) and len(causes) > 1:
        lines = "".join(f"\n  {c.get('field')}: {c.get('message')}" for c in causes)
        return f"{str(error).partition(': [')[0]}:{lines}"
    return str(error)
