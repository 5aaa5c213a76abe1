"""One rule for what commands print: a table on a terminal, JSON lines in a pipe, CSV if asked for, or a file.

Data goes to stdout, everything else to stderr.
"""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wordferry.base.progress import Bar, Progress, no_progress
from wordferry.cli.options import PATH, Bundle, option
from wordferry.errors import InputError

if TYPE_CHECKING:
    from wordferry.base.writing import RowWriter


def terminal_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns


def note(message: str) -> None:
    """A line for people, on stderr."""
    click.echo(message, err=True)


def progress_bar(label: str) -> AbstractContextManager[Progress]:
    """A bar on stderr with the time left, only on a terminal; else a progress that does nothing."""
    return closing(Bar(label, keep=False)) if sys.stderr.isatty() else nullcontext(no_progress)


def emit_table(rows: Iterable[Mapping[str, Any]], *, title: str | None = None) -> None:
    """A table on stdout, as wide as the terminal at most; nothing in a cell is taken for markup.

    Numbers are right-aligned. Texts and metadata are cut to what fits on one line; other cells are wrapped. Where there
    are more columns than fit, halves of them stand below each other, each behind the first column.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    data, cells, room = list(rows), [], terminal_width()
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    names = list(dict.fromkeys(key for row in data for key in row))
    for name in names:
        values = [row.get(name) for row in data]
        numeric, places = all(isinstance(value, int | float) for value in values), _decimals(values)
        texts = [_cell(value, places) for value in values]
        cut, least = name in ("text", "title", "metadata"), max(map(len, [*texts, *name.split()]))
        head = textwrap.fill(name, least) if numeric else name
        table.add_column(head, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
        room -= (least if numeric else min(least, 8)) + 2  # a text may be wrapped to 8 columns
        flow: Any = {"no_wrap": True, "overflow": "ellipsis"} if cut else {}
        cells.append([Text(" ".join(text.split()) if cut else text, **flow) for text in texts])
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    if len(names) > 2 and room < -2:  # the last column needs no space behind it
        half = 1 + len(names) // 2
        for some in (names[:half], [names[0], *names[half:]]):
            emit_table([{name: row.get(name) for name in some} for row in data], title=title)
    elif data:
        Console().print(table)


def _decimals(values: Sequence[Any]) -> int:
    """Four, or two where a column's numbers have no more (percentages)."""
    numbers = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    return 2 if numbers and all(abs(value - round(value, 2)) < 1e-9 for value in numbers) else 4


def _cell(value: Any, decimals: int) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{decimals}f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_cell(one, decimals)}" for key, one in value.items())
    return str(value)


class Output:
    """Where the rows of a command go. ``table`` is True when people read them, so that they are better shortened."""

    def __init__(self, writer: RowWriter | None) -> None:
        self.table = writer is None
        self._writer = writer

    def write(self, rows: Iterable[Mapping[str, Any]], *, title: str | None = None) -> None:
        """Write rows; in a table all of one call stand together. CSV and Parquet have a column per metadata field."""
        if self._writer is None:
            emit_table(rows, title=title)
            return
        for row in rows:
            self._writer.write(_flat(row) if self._writer.format in ("csv", "parquet") else row)
        sys.stdout.flush()

    def facts(self, row: Mapping[str, Any]) -> None:
        """Write one row, which people see as one line for each fact."""
        if not self.table:
            self.write([row])
            return
        first = max(map(len, row)) + 2
        width = max(first + 20, terminal_width())
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        wrapper.subsequent_indent = " " * first
        for name, value in row.items():
            wrapper.initial_indent = f"{name:<{first}}"
            click.echo(wrapper.fill(_cell(value, 4)) or name)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its metadata as columns; a field called like another column is ``metadata_`` and its name."""
    found = {key: value for key, value in row.items() if key != "metadata"}
    fields = row.get("metadata") or {}
    return found | {f"metadata_{key}" if key in found else key: value for key, value in fields.items()}


@contextmanager
def output(as_json: bool | None = None, as_csv: bool = False, output_file: Path | None = None) -> Iterator[Output]:
    """What ``--json``, ``--table``, ``--csv`` and ``-o`` stand for; a file is there when the block has ended well."""
    if as_csv and as_json is not None:
        raise InputError(f"--csv and {'--json' if as_json else '--table'} exclude each other.")
    if output_file is not None and (as_csv or as_json is not None):
        raise InputError(f"The ending of -o {output_file} says what is written; leave out --json, --table and --csv.")
    if as_json is None and not as_csv and output_file is None:
        as_json = not sys.stdout.isatty()
    if as_json is False:
        yield Output(None)
        return
    from wordferry.base.writing import RowWriter

    with RowWriter(output_file, None if output_file else "csv" if as_csv else "jsonl") as writer:
        yield Output(writer)
    if output_file is not None:
        note(f"{output_file}: {writer.count} row{'' if writer.count == 1 else 's'}")


def shortened(text: Any, width: int = 80) -> str:
    """The head of a text, on one line."""
    line = " ".join(text.split() if isinstance(text, str) else text)
    return line if len(line) <= width else line[: width - 1] + "…"


JSON = option("--json/--table as_json", "JSON lines or a table (default: a table on a terminal).", default=None)
CSV = option("--csv as_csv", "Print CSV.", is_flag=True)
OUTPUT = option("-o --output output_file", "Write a file instead: .jsonl, .json (a list), .csv or .parquet.", type=PATH)
ROWS = Bundle("out", JSON, CSV, OUTPUT, make=output)
"""The options of a command that prints rows, which gets its :class:`Output` as ``out``."""
SUMMARY = Bundle("out", JSON, CSV, make=output)
"""Those of a command whose ``-o`` is something else, or that has only a summary to print."""
