"""One rule for the rows of every command: a table on a terminal, JSON lines in a pipe, CSV if asked for, or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import emit_json, emit_table, wants_json

if TYPE_CHECKING:
    from wordferry.base.writing import RowWriter

CSV_OPTION = typer.Option(False, "--csv", help="Print CSV.")
OUTPUT_OPTION = typer.Option(
    None,
    "-o",
    "--output",
    help="Write a file instead of printing; its ending says what: .jsonl, .json (a list), .csv or .parquet.",
)


class Output:
    """Where the rows of a command go. ``table`` is True when people read them, so that they are better shortened."""

    def __init__(self, as_json: bool, writer: RowWriter | None) -> None:
        self.table = writer is None and not as_json
        self._writer = writer

    def write(self, rows: Iterable[Mapping[str, Any]], *, title: str | None = None) -> None:
        """Write rows; in a table all of one call stand together. CSV and Parquet have a column per metadata field."""
        if self._writer is not None:
            flat = self._writer.format in ("csv", "parquet")
            for row in rows:
                self._writer.write(flattened(row) if flat else row)
        elif self.table:
            data = list(rows)
            columns = list(dict.fromkeys(key for row in data for key in row))
            emit_table(columns, ([row.get(name) for name in columns] for row in data), title=title)
        else:
            emit_json(rows)


@contextmanager
def output(as_json: bool | None, as_csv: bool = False, path: Path | None = None) -> Iterator[Output]:
    """What ``--json``, ``--table``, ``--csv`` and ``-o`` stand for; a file is there when the block has ended well."""
    from wordferry.errors import InputError

    if as_csv and as_json is not None:
        raise InputError(f"--csv and {'--json' if as_json else '--table'} exclude each other.")
    if path is not None and (as_csv or as_json is not None):
        raise InputError(f"The ending of -o {path} says what is written; leave out --json, --table and --csv.")
    if not as_csv and path is None:
        yield Output(wants_json(as_json), None)
        return
    from wordferry.base.writing import RowWriter
    from wordferry.cli.common import note

    with RowWriter(path, "csv" if as_csv else None) as writer:
        yield Output(False, writer)
    if path is not None:
        note(f"{path}: {writer.count} row{'' if writer.count == 1 else 's'}")


def put(rows: Iterable[Mapping[str, Any]], as_json: bool | None, as_csv: bool, path: Path | None) -> None:
    """All rows of a command at once."""
    with output(as_json, as_csv, path) as out:
        out.write(rows)


def flattened(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its metadata as columns; a field called like another column is ``metadata_`` and its name."""
    found = {key: value for key, value in row.items() if key != "metadata"}
    for key, value in (row.get("metadata") or {}).items():
        found[f"metadata_{key}" if key in found else key] = value
    return found
