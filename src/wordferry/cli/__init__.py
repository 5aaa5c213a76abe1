"""The command line: each command parses, calls one public function and prints. Only the command asked for is loaded."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from wordferry.base.runtime import DEVICES, thread_count
from wordferry.errors import NotFound, WordferryError

PROGRAM = "wordferry"
COMMANDS = {
    "demo": "judge",
    "embeddings": "words",
    "related": "words",
    "index": "index",
    "search": "search",
    "similar": "search",
    "distance": "search",
    "explain": "search",
    "duplicates": "whole",
    "classify": "classify",
    "learn": "classify",
    "judge": "judge",
    "reproduce": "judge",
    "map": "whole",
    "cluster": "cluster",
    "serve": "cluster",
}
"""The module of each command, in the order of the help. Heavy imports stay inside the functions."""


class Commands(click.Group):
    """All commands, each imported when it is asked for, with our own manners on Ctrl-C and on a broken pipe."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"wordferry.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            code = super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("wordferry: stopped", err=True)
            code = 130
        except BrokenPipeError:
            # Whoever read our output has seen enough (| head): that is not an error of ours.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        ctx.exit(code or 0)


def _show_version() -> None:
    from wordferry import __version__, _native

    click.echo(f"wordferry {__version__} (kernels: {_native.cpu_variant()}, threads: {thread_count()})")


def _show_info() -> None:
    """Versions, CPU variant, threads, extras and distances."""
    import platform
    from importlib.metadata import version

    import wordferry
    from wordferry.cli.output import output
    from wordferry.kernels.native import cpu_variant

    facts = {
        "wordferry": wordferry.__version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "system": f"{platform.system()} {platform.machine()}",
        "kernels": cpu_variant(),
        "threads": thread_count(),
        "extras": _installed_extras(),
        "distances": list(wordferry.DISTANCES),
        "folder": os.path.dirname(wordferry.__file__),
    }
    with output() as out:
        out.facts(facts)


def _installed_extras() -> dict[str, bool]:
    """Every extra of the package, and whether all that it brings is installed."""
    import re
    from importlib.metadata import PackageNotFoundError, distribution

    own = distribution("wordferry")
    brings: dict[str, list[str]] = {name: [] for name in own.metadata.get_all("Provides-Extra") or ()}
    for line in own.requires or ():
        if found := re.match(r"([\w.-]+(?:\[[\w,-]+\])?).*extra == ['\"]([\w-]+)", line):
            brings[found[2]].append(found[1])

    def has(name: str) -> bool:
        package, _, extras = name.rstrip("]").partition("[")
        if package == "wordferry":
            return all(has(one) for extra in extras.split(",") for one in brings[extra])
        try:
            return bool(distribution(package))
        except PackageNotFoundError:
            return False

    return {extra: all(map(has, names)) for extra, names in brings.items()}


def _shown(name: str, show: Callable[[], None], help: str) -> Callable[[Any], Any]:
    """An option that shows something in the place of a command."""

    def called(ctx: click.Context, option: click.Parameter, value: bool) -> None:
        if value:
            show()
            ctx.exit()

    return click.option(name, is_flag=True, is_eager=True, expose_value=False, callback=called, help=help)


@click.group(
    PROGRAM,
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100},
    help="Word Mover's Distance and its fast relatives: compare, search, classify and explain texts.",
)
@_shown("--version", _show_version, "Show version, CPU variant and threads.")
@_shown("--info", _show_info, "Show what is installed and what it runs on: versions, extras, distances.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--device",
    type=click.Choice(DEVICES),
    help="Where to compute: cpu, cuda, or auto for a GPU where there is one (default: WORDFERRY_DEVICE, else cpu).",
)
def app(debug: bool, device: str | None) -> None:
    if debug:
        os.environ["WORDFERRY_DEBUG"] = "1"
    if device:
        os.environ["WORDFERRY_DEVICE"] = device
    if click.get_current_context().invoked_subcommand == "search" and "numpy" not in sys.modules:
        # The threads of NumPy's BLAS spin when they start, for longer than a search takes, which has no use for them.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line and exit: 0 done, 1 not found, 2 bad input, 130 stopped by Ctrl-C.

    An error is one line on stderr; its traceback is shown only with ``--debug``.
    """
    try:
        code = app.main(arguments, prog_name=PROGRAM, standalone_mode=False)
    except click.UsageError as error:  # an option or argument that the parser refuses
        message, where = error.format_message(), error.ctx.command_path if error.ctx else PROGRAM
        if "\n" not in message:  # a whole help is its own explanation
            message = f"wordferry: {message} '{where} --help' explains it."
        click.echo(message, err=True)
        sys.exit(2)
    except Exception as error:
        if os.environ.get("WORDFERRY_DEBUG"):
            raise
        click.echo(f"wordferry: {_one_line(error)}", err=True)
        sys.exit(1 if isinstance(error, NotFound) else 2)
    sys.exit(code)


def _one_line(error: Exception) -> str:
    if isinstance(error, WordferryError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return f"{type(error).__name__}: {error} (this should not happen; 'wordferry --debug ...' shows where it did)"
