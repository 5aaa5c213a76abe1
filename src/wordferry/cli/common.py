"""What all commands share: data on stdout, everything else on stderr, tables for people and JSON lines for programs."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from wordferry.base.progress import Bar
from wordferry.base.runtime import Progress, no_progress

JSON_OPTION = typer.Option(
    None, "--json/--table", help="Print JSON lines or a table (default: a table on a terminal, JSON lines in a pipe)."
)
THREADS_OPTION = typer.Option(
    None, "--threads", min=1, help="How many threads to use (default: WORDFERRY_THREADS, else every core)."
)


def examples(*lines: str) -> str:
    """The epilog of a command's help: ``@app.command(epilog=examples("wordferry distance 'a text' 'another'"))``."""
    shown = ["  " + line.replace("[", "\\[") for line in lines]  # a bracket would be taken for markup
    return "\n\n".join(["Examples:" if len(lines) > 1 else "Example:", *shown])


def complete_distance(incomplete: str) -> list[str]:
    """The names of distances that begin so, for the shell's completion."""
    from wordferry.compare.distances import DISTANCES

    return [name for name in DISTANCES if name.startswith(incomplete)]


def wants_json(choice: bool | None) -> bool:
    """JSON when asked for, or when the output is not a terminal."""
    return not sys.stdout.isatty() if choice is None else choice


def note(message: str) -> None:
    """A line for people, on stderr."""
    typer.echo(message, err=True)


def emit_json(rows: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object per line on stdout; JSON has no infinite numbers and no NaN, so they become null."""
    from wordferry.base.writing import json_text

    for row in rows:
        sys.stdout.write(json_text(row) + "\n")
    sys.stdout.flush()


def emit_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """A table on stdout; numbers are right-aligned, nothing in a cell is taken for markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    data = [list(row) for row in rows]
    digits = [_decimals([row[i] for row in data]) for i in range(len(columns))]
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        numeric = bool(data) and all(isinstance(row[i], int | float) for row in data)
        table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for row in data:
        table.add_row(*(Text(_cell(value, places)) for value, places in zip(row, digits, strict=True)))
    Console().print(table)


def emit(rows: Sequence[Mapping[str, Any]], choice: bool | None, *, title: str | None = None) -> None:
    """Rows as JSON lines or as a table, as :func:`wants_json` says."""
    if wants_json(choice):
        emit_json(rows)
    else:
        columns = list(rows[0]) if rows else []
        emit_table(columns, ([row.get(name) for name in columns] for row in rows), title=title)


def _decimals(values: Sequence[Any]) -> int:
    """Four, or two where a column's numbers have no more (percentages)."""
    numbers = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    return 2 if numbers and all(abs(value - round(value, 2)) < 1e-9 for value in numbers) else 4


def _cell(value: Any, decimals: int) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{decimals}f}"
    return str(value)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """A bar on stderr with the time left, only on a terminal; else a progress that does nothing."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    bar = Bar(label, keep=False)
    try:
        yield bar
    finally:
        bar.close()
