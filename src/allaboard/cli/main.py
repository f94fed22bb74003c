"""Which commands are there? Each is imported only when it is called, so that `--help` stays fast.

Exit codes: 0 well, 1 an operation failed, 2 bad input (nothing was done), 3 a simulated run in
which the server refused a document.
"""

import importlib
import sys
from typing import NamedTuple

import click

from allaboard import __version__
from allaboard.cli.failures import Failure


class Entry(NamedTuple):
    module: str
    summary: str


COMMANDS = {
    "apply": Entry("objects", "Create or change objects from files."),
    "delete": Entry("objects", "Delete objects by name, file or label."),
    "demo": Entry("demo", "See it work: a small story in virtual time."),
    "describe": Entry("objects", "Show one object in detail, with its events."),
    "get": Entry("objects", "List objects."),
    "manifests": Entry("manifests", "Print what to apply to a cluster."),
    "queue": Entry("why", "Show who waits in a queue, in which place and for what."),
    "simulate": Entry("simulate", "Run manifests in virtual time and see what would happen."),
    "up": Entry("up", "Start a Kubernetes in this process, with simulated nodes."),
    "wait": Entry("objects", "Wait until objects meet a condition."),
    "why": Entry("why", "Say why a job waits and what would help."),
}


class LazyGroup(click.Group):
    """Knows every command by name; loads one when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"allaboard.cli.{entry.module}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="allaboard")
def commands() -> None:
    """Queue batch jobs on Kubernetes and start them all-or-nothing."""


def main() -> None:
    """The console script: one sentence and an exit code for everything that can go wrong."""
    try:
        # click hands back the code of an Exit that a command raised, and None otherwise.
        sys.exit(commands(standalone_mode=False) or 0)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Failure as failure:
        click.echo(f"Error: {failure}", err=True)
        sys.exit(failure.exit_code)
    except BrokenPipeError:
        sys.exit(0)  # whoever read our output has seen enough
