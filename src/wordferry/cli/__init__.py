"""The command line: one file per command, each of which parses, calls one public function and prints."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from wordferry.cli.plain import plain_call
from wordferry.errors import EmptyDocumentError, NotFound, WordferryError


class Commands(TyperGroup):
    """All commands in the order of COMMANDS, with our own manners on Ctrl-C and on a reader that goes away."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=COMMANDS.index)

    def invoke(self, ctx: Any) -> Any:
        with _manners():
            return super().invoke(ctx)


@contextmanager
def _manners() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("wordferry: stopped", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        # Whoever read our output has seen enough (| head): that is not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def _one_line(error: Exception, arguments: Sequence[str]) -> str:
    if isinstance(error, WordferryError):
        return _with_options(error, arguments)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return f"{type(error).__name__}: {error} (this should not happen; 'wordferry --debug ...' shows where it did)"


def _with_options(error: WordferryError, arguments: Sequence[str]) -> str:
    """Python's ``on_empty='drop'`` as ``--on-empty drop``, where the command that was called has such an option.

    Advice about empty documents that is an option of no use here is left out.
    """
    command: Any = typer.main.get_command(commands())
    for argument in arguments:
        command = getattr(command, "commands", {}).get(argument, command)
    options = {parameter.name: max(parameter.opts, key=len) for parameter in command.params if parameter.opts}
    if isinstance(error, EmptyDocumentError) and "on_empty" not in options:
        error = error.with_ways()

    def translated(match: re.Match[str]) -> str:
        option = options.get(match["name"], "")
        if not option.startswith("--"):
            return match[0]
        return f"{option} {match['value']}" if match["value"] else option

    return re.sub(r"\b(?P<name>[a-z_]+)=(?:'(?P<value>[^']*)')?(?![\w=])", translated, str(error))


PROGRAM = "wordferry"
# Each module has a function register(app). Heavy imports stay inside the commands.
# One a line, in the order of the help.
COMMANDS: tuple[str, ...] = (
    "demo",
    "embeddings",
    "related",
    "index",
    "search",
    "similar",
    "distance",
    "explain",
    "duplicates",
    "classify",
    "triplets",
    "agreement",
    "judge",
    "reproduce",
    "plot",
    "map",
    "cluster",
    "export",
    "serve",
    "info",
)


def _show_version(value: bool) -> None:
    if value:
        from wordferry import __version__
        from wordferry.base.runtime import thread_count
        from wordferry.kernels.native import cpu_variant

        typer.echo(f"wordferry {__version__} (kernels: {cpu_variant()}, threads: {thread_count()})")
        raise typer.Exit


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


@cache
def commands(*some: str) -> typer.Typer:
    """The command line with some commands, or with all of them."""
    made = typer.Typer(
        name=PROGRAM,
        cls=Commands,
        help="Word Mover's Distance and its fast relatives: compare, search, classify and explain texts.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(options)
    for name in some or COMMANDS:
        importlib.import_module(f"wordferry.cli.{name}").register(made)
    return made


def __getattr__(name: str) -> Any:
    if name == "app":
        return commands()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line and exit: 0 done, 1 not found, 2 bad input, 130 stopped by Ctrl-C.

    An error is one line on stderr; its traceback is shown only with ``--debug``.
    """
    given = sys.argv[1:] if arguments is None else arguments
    try:
        _run(given)
    except Exception as error:
        if os.environ.get("WORDFERRY_DEBUG"):
            raise
        typer.echo(f"wordferry: {_one_line(error, given)}", err=True)
        sys.exit(1 if isinstance(error, NotFound) else 2)


def _run(given: list[str]) -> None:
    """Only the command that is asked for is loaded, where it is plain which one that is."""
    completing = f"_{PROGRAM.upper()}_COMPLETE" in os.environ  # set by the shell, for typer
    if not given or given[0] not in COMMANDS or completing:
        commands()(args=given, prog_name=PROGRAM)
        return
    made = commands(given[0])
    called = plain_call(made, given[1:])
    if called is None:
        made(args=given, prog_name=PROGRAM)
        return
    try:
        with _manners():
            called()
    except typer.Exit as ended:
        sys.exit(ended.exit_code)
    sys.exit(0)
