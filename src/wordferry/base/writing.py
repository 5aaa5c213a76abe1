"""Rows as files: JSON lines, a JSON list, CSV or Parquet, one row after another and whole or not at all."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

from wordferry.base.frames import column_kind, kind_of
from wordferry.base.lazy import tempfile
from wordferry.base.runtime import optional_import
from wordferry.errors import InputError

FORMATS = ("jsonl", "json", "csv", "parquet")
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".parquet": "parquet"}
_BLOCK = 4096


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that the ending of a file's name stands for.

    >>> format_of("hits.csv")
    'csv'
    """
    found = _SUFFIXES.get(Path(path).suffix.lower())
    if found is None:
        endings = ", ".join(_SUFFIXES)
        raise InputError(f"{path}: the ending of a file's name says what is written into it; use one of {endings}.")
    return found


class RowWriter:
    """Writes rows into a file that appears when all are written: ``with RowWriter("a.csv") as rows: rows.write(row)``.

    Rows need not have the same keys: CSV and Parquet get a column for each key that any row has. For that they are
    kept in a temporary file until the end, never in memory. Without a path they go to the standard output.

    In CSV a missing value is an empty cell, and a list or an object is written as JSON. A column of a Parquet file has
    one kind of values; where kinds meet, it is text, and what is no text is written as JSON.
    """

    def __init__(self, path: str | os.PathLike[str] | None, format: str | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.format = format or format_of(path or "")
        if self.format not in FORMATS:
            raise InputError(f"Unknown format {self.format!r}. Choose one of: {', '.join(FORMATS)}.")
        if self.format == "parquet":
            if self.path is None:
                raise InputError("A Parquet file cannot be written to the standard output; name a file.")
            optional_import("pyarrow.parquet", "parquet")
        self.count = 0
        self._kinds: dict[str, set[str]] = {}
        self._temporary = None if self.path is None else _beside(self.path)
        self._out: IO[str] = sys.stdout
        if self._temporary is not None:
            self._out = self._temporary.open("w", encoding="utf-8", newline="", errors="surrogatepass")
        self._spool: IO[str] | None = None
        if self.format in ("csv", "parquet"):
            self._spool = tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass")

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one row."""
        if self._spool is not None:
            for key, value in row.items():
                self._kinds.setdefault(key, set()).add(kind_of(value))
            self._spool.write(json.dumps(row, ensure_ascii=False) + "\n")
        else:
            before = "" if self.format == "jsonl" else "[\n" if not self.count else ",\n"
            self._out.write(f"{before}{json_text(row)}{'' if before else chr(10)}")
        self.count += 1

    def finish(self) -> None:
        """Write what is still to be written, and put the file in its place."""
        if self._spool is not None:
            self._spool.seek(0)
            rows = map(json.loads, self._spool)
            if self.format == "csv":
                writer = csv.writer(self._out, lineterminator="\n")
                writer.writerow(self._kinds)
                writer.writerows([cell(row.get(key)) for key in self._kinds] for row in rows)
            else:
                self._write_parquet(rows)
        elif self.format == "json":
            self._out.write("\n]\n" if self.count else "[]\n")
        self._out.flush()
        if self._temporary is not None and self.path is not None:
            self._out.close()
            os.replace(self._temporary, self.path)

    def _write_parquet(self, rows: Iterator[dict[str, Any]]) -> None:
        arrow = optional_import("pyarrow", "parquet")
        parquet = optional_import("pyarrow.parquet", "parquet")
        kinds = {key: column_kind(found) for key, found in self._kinds.items()}
        schema = arrow.schema([(key, _arrow_type(arrow, kind)) for key, kind in kinds.items()])
        with parquet.ParquetWriter(self._temporary, schema) as writer:
            while block := list(islice(rows, _BLOCK)):
                columns = {key: [_as(row.get(key), kind) for row in block] for key, kind in kinds.items()}
                writer.write_table(arrow.table(columns, schema=schema))

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            if self._spool is not None:
                self._spool.close()
            if self._temporary is not None:
                self._out.close()
                self._temporary.unlink(missing_ok=True)


def json_text(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON, which has no infinite numbers and no NaN: they become null."""
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(row), ensure_ascii=False)


def cell(value: Any) -> Any:
    """A value as a cell of a CSV file.

    >>> [cell(value) for value in (None, True, 2.5, ["a", 1])]
    ['', 'true', 2.5, '["a", 1]']
    """
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | list | tuple | Mapping) else value


def _arrow_type(arrow: Any, kind: str) -> Any:
    if kind.startswith("list "):
        return arrow.list_(_arrow_type(arrow, kind.removeprefix("list ")))
    return {"bool": arrow.bool_(), "int": arrow.int64(), "float": arrow.float64()}.get(kind, arrow.string())


def _as(value: Any, kind: str) -> Any:
    if value is None or kind != "other" or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _beside(path: Path) -> Path:
    """A new file in the folder of a path, for what is to be renamed to it."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.absolute().parent}.")
    return path.absolute().with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
