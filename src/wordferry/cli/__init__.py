"""The command line: one file per command, each of which parses, calls one public function and prints."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import typer

app = typer.Typer(
    name="wordferry",
    help="Word Mover's Distance and its fast relatives: compare, search, classify and explain texts.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Each module has a function register(app). Heavy imports stay inside the commands.
COMMANDS: tuple[str, ...] = (
    "embeddings",
    "classify",
    "triplets",
    "agreement",
    "reproduce",
    "related",
    "plot",
    "index",
    "search",
)


def _show_version(value: bool) -> None:
    if value:
        from wordferry import __version__
        from wordferry.kernels.native import cpu_variant
        from wordferry.runtime import thread_count

        typer.echo(f"wordferry {__version__} (kernels: {cpu_variant()}, threads: {thread_count()})")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Show version, CPU variant and threads.",
    ),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
) -> None:
    """Options of every command."""
    if debug:
        os.environ["WORDFERRY_DEBUG"] = "1"


for _name in COMMANDS:
    importlib.import_module(f"wordferry.cli.{_name}").register(app)


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; errors of ours are one line on stderr and exit code 2, Ctrl-C is 130."""
    from wordferry.errors import NotFound, WordferryError

    try:
        app(args=arguments, standalone_mode=True)
    except WordferryError as error:
        if os.environ.get("WORDFERRY_DEBUG"):
            raise
        typer.echo(f"wordferry: {error}", err=True)
        sys.exit(1 if isinstance(error, NotFound) else 2)
    except KeyboardInterrupt:
        typer.echo("wordferry: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output went away (| head): that is no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
