"""`allaboard simulate`: run manifests in virtual time and see what would happen."""

import click


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--until", metavar="DURATION", help="End at this virtual time, as in 8h or 90s.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--config", metavar="FILE", help="Configuration of the queueing controllers.")
@click.option("--no-queueing", is_flag=True, help="The bare cluster, without Kueue's kinds.")
@click.option("--dump", metavar="FILE.json", help="Write every object at the end, as one List.")
@click.option("--events", metavar="FILE.jsonl", help="Write every committed change, one a line.")
def simulate(  # noqa: PLR0913  (the options are the interface)
    files: tuple[str, ...],
    until: str | None,
    seed: int,
    config: str | None,
    no_queueing: bool,
    dump: str | None,
    events: str | None,
) -> None:
    """Run Kubernetes manifests in virtual time and say what happened.

    FILEs are ordinary multi-document YAML, nodes included; `-` is standard input. Annotations
    under `sim.allaboard.dev/` say when a document is applied and how its pods behave: see
    docs/simulate.md. The same files and seed give the same run, byte for byte.

    Exit code 0; 2 for bad input; 3 when the server refused a document on the way.
    """
    from allaboard.cli.simulation import Request, run_simulation  # heavy; `--help` needs none of it

    run_simulation(Request(files, until, seed, config, no_queueing, dump, events))
