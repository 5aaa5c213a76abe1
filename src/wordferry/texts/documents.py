"""Documents as people have them: records with a text or tokens, an id, a label, metadata and a split.

:func:`read_documents` reads them from JSON lines, CSV, TSV, plain text, a folder of text files, or Parquet.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.base.streams import text_lines, too_large, unpack_limit
from wordferry.errors import FormatError, InputError, NotFound

FORMATS = ("jsonl", "csv", "tsv", "text", "folder", "parquet")
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".text": "text",
    ".parquet": "parquet",
}
_LONGEST_CELL = 1 << 30


@dataclass(frozen=True)
class Record:
    """One document as it was read."""

    text: str | Sequence[str]
    """The text, or its tokens."""
    id: str | None = None
    label: str | None = None
    split: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Fields:
    """Which fields of a row hold what. One named otherwise than by default must be there."""

    text: str
    id: str
    label: str
    split: str

    def record(self, row: Mapping[str, Any], where: str) -> Record:
        """The record of one row; ``where`` names the file and line in errors."""
        if self.text not in row:
            raise FormatError(
                f"{where}: expected a field {self.text!r} with the text, found {_listed(row)}. "
                "Name the field that holds it with text=."
            )
        text = row[self.text]
        if isinstance(text, list) and all(isinstance(token, str) for token in text):
            text = tuple(text)
        elif not isinstance(text, str):
            raise FormatError(
                f"{where}: the field {self.text!r} must be a text or a list of tokens, got {type(text).__name__}."
            )
        values = {name: self._optional(row, name, where) for name in ("id", "label", "split")}
        used = {self.text, self.id, self.label, self.split}
        return Record(text, **values, metadata={key: value for key, value in row.items() if key not in used})

    def _optional(self, row: Mapping[str, Any], name: str, where: str) -> str | None:
        key = getattr(self, name)
        if key not in row:
            if key != name:
                raise FormatError(f"{where}: expected a field {key!r} with the {name}, found {_listed(row)}.")
            return None
        value = row[key]
        if value is None:
            return None
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return json.dumps(value)
        raise FormatError(f"{where}: the {name} must be a text or a number, got {type(value).__name__}.")


def read_documents(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    text: str = "text",
    id: str = "id",
    label: str = "label",
    split: str = "split",
    pattern: str = "*.txt",
    unpack: int | None = None,
) -> Iterator[Record]:
    """Read documents one after another; nothing is kept, so a file may be larger than memory.

    Parameters
    ----------
    path : a file (gzipped or not), a folder with a text file per document, or ``"-"`` for the standard input.
    format : ``"jsonl"``, ``"csv"``, ``"tsv"``, ``"text"`` (one document per line), ``"folder"`` or ``"parquet"``; None
        goes by the file's name (the standard input is ``"text"``).
    text, id, label, split : the fields that hold them. Only the text must be there, and in JSON and Parquet it may be a
        list of tokens; a field that is named here otherwise than by default must be there too. Other fields become
        metadata.
    pattern : which files of a folder are documents. The id is the path below the folder, the label the first
        folder on it, if any.
    unpack : bytes that a gzipped or Parquet file may become; None: 64 MiB and 64 times its size (or what
        ``WORDFERRY_UNPACK`` says), so that a small file cannot fill the memory.

    Blank lines are not documents. TSV has no quoting, as its definition says. Anything broken is a
    :class:`~wordferry.errors.FormatError` that names the file and the line.
    """
    source = str(path) if str(path) == "-" else Path(path)
    kind = _format_of(source, format)
    fields = _Fields(text, id, label, split)
    if kind == "folder":
        return _read_folder(Path(source), pattern, unpack)
    if kind == "parquet":
        return _read_parquet(Path(source), fields, unpack)
    if kind == "text":
        return _read_text(source, unpack)
    if kind == "jsonl":
        return (fields.record(row, where) for where, row in json_rows(source, unpack=unpack))
    return _read_csv(source, fields, kind, unpack)


def _format_of(source: str | Path, format: str | None) -> str:
    if format is not None and format not in FORMATS:
        raise InputError(f"Unknown document format {format!r}. Choose one of: {', '.join(FORMATS)}.")
    if isinstance(source, str):
        if format in ("folder", "parquet"):
            raise InputError(f"The standard input cannot be read as {format!r}; pass a path.")
        return format or "text"
    if not source.exists():
        raise NotFound(f"There is no file or folder {source}.")
    if format is None and source.is_dir():
        return "folder"
    if format is not None:
        if source.is_dir() != (format == "folder"):
            what = "a folder" if source.is_dir() else "a file"
            raise InputError(f"{source} is {what}, so it cannot be read as {format!r}.")
        return format
    name = source.name.lower().removesuffix(".gz")
    found = _SUFFIXES.get(Path(name).suffix)
    if found is None:
        raise InputError(
            f"The format of {source} cannot be told from its name. Pass format=, one of: {', '.join(FORMATS)}."
        )
    return found


def _listed(row: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, list(row)[:12])) or "no fields"


def _read_text(source: str | Path, unpack: int | None) -> Iterator[Record]:
    for number, line in text_lines(source, unpack=unpack):
        text = line.strip()
        if text:
            yield Record(text, metadata={"line": number})


def json_rows(source: str | Path, *, unpack: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of JSON lines, gzipped or not, each with the words for where it stands; a broken line is named."""
    for number, line in text_lines(source, unpack=unpack):
        if not line.strip():
            continue
        where = f"{source}, line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise FormatError(
                f"{where}: expected one JSON object per line; {error.msg} at column {error.colno}."
            ) from None
        except RecursionError:
            raise FormatError(f"{where}: the JSON is nested too deeply.") from None
        if not isinstance(row, dict):
            raise FormatError(f"{where}: expected a JSON object, got {type(row).__name__}.")
        yield where, row


def _read_csv(source: str | Path, fields: _Fields, kind: str, unpack: int | None) -> Iterator[Record]:
    lines = (line for _, line in text_lines(source, unpack=unpack))
    options: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if kind == "tsv" else {"strict": True}
    reader = csv.reader(lines, **options)
    header = _next_row(reader, source)
    if header is None:
        raise FormatError(f"{source}: expected a line with the names of the columns, found an empty file.")
    if len(set(header)) != len(header):
        raise FormatError(f"{source}, line 1: a column name appears twice in {header}.")
    while (row := _next_row(reader, source)) is not None:
        where = f"{source}, line {reader.line_num}"
        if len(row) != len(header):
            raise FormatError(f"{where}: expected {len(header)} cells as in the header, found {len(row)}.")
        yield fields.record(dict(zip(header, row, strict=True)), where)


def _next_row(reader: Any, source: str | Path) -> list[str] | None:
    """The next row with anything in it. The limit on a cell's size is the process's, so it is put back."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        for row in reader:
            if row:
                return list(row)
        return None
    except csv.Error as error:
        raise FormatError(f"{source}, line {reader.line_num}: broken quoting or cell ({error}).") from None
    finally:
        csv.field_size_limit(before)


def _read_folder(folder: Path, pattern: str, unpack: int | None) -> Iterator[Record]:
    files = sorted(file for file in folder.rglob(pattern) if file.is_file())
    if not files:
        raise NotFound(f"{folder} has no file that matches {pattern!r}.")
    for file in files:
        below = file.relative_to(folder)
        text = "".join(line for _, line in text_lines(file, unpack=unpack))
        yield Record(text, id=below.as_posix(), label=below.parts[0] if len(below.parts) > 1 else None)


def _read_parquet(file: Path, fields: _Fields, unpack: int | None) -> Iterator[Record]:
    parquet = optional_import("pyarrow.parquet", "parquet")
    arrow = optional_import("pyarrow", "parquet")
    limit = unpack_limit(file.stat().st_size, unpack)
    number = spent = 0
    try:
        with parquet.ParquetFile(file) as table:
            facts = table.metadata
            texts = [facts.schema.column(i).path for i in range(facts.num_columns)]
            texts = [path for i, path in enumerate(texts) if facts.schema.column(i).physical_type == "BYTE_ARRAY"]
            spent = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
        if spent > limit:
            raise too_large(file, limit)
        spent = 0
        # As dictionaries, so that a text that is stored once and used a million times is not yet a million texts.
        with parquet.ParquetFile(file, read_dictionary=texts) as table:
            for batch in table.iter_batches(batch_size=1024):
                spent += sum(map(_expanded, batch.columns))
                if spent > limit:
                    raise too_large(file, limit)
                for row in batch.to_pylist():
                    number += 1
                    yield fields.record(row, f"{file}, row {number}")
    except (arrow.ArrowException, OSError) as error:
        raise FormatError(f"{file}: not a readable Parquet file after row {number} ({error}).") from None


def _expanded(column: Any) -> int:
    """The bytes of an Arrow column once each of its values stands by itself."""
    if hasattr(column, "dictionary"):
        compute = optional_import("pyarrow.compute", "parquet")
        lengths = compute.binary_length(column.dictionary).take(column.indices)
        return int(compute.sum(lengths).as_py() or 0)
    if hasattr(column, "flatten") and column.type.num_fields:
        parts = column.flatten()
        return sum(map(_expanded, parts)) if isinstance(parts, list) else _expanded(parts)
    return int(column.nbytes)
