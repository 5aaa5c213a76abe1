"""Documents as people have them: records with a text or tokens, an id, a label, metadata and a split.

:func:`read_documents` reads them from JSON lines, JSON, CSV, TSV, plain text, a folder of text files, or Parquet.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.base.streams import text_lines, too_large, unpack_limit
from wordferry.errors import FormatError, InputError, NotFound
from wordferry.texts.records import Fields as Fields
from wordferry.texts.records import Record as Record
from wordferry.texts.tables import batch_rows, table_records

FORMATS = ("jsonl", "json", "csv", "tsv", "text", "folder", "parquet")
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".text": "text",
    ".parquet": "parquet",
}
_LONGEST_CELL = 1 << 30
_DELIMITERS = ",;\t|"
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")  # more digits are a name, and would not fit into 64 bits
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+([eE][+-]?\d{1,3})?|[eE][+-]?\d{1,3})")

Lines = Iterator[tuple[int, str]]


def read_documents(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    text: str | Iterable[str] = "text",
    id: str = "id",
    label: str = "label",
    split: str | None = "split",
    title: str = "title",
    skip: Iterable[str] = (),
    numbers: bool = True,
    pattern: str = "*.txt",
    encoding: str = "utf-8",
    unpack: int | None = None,
    vectors: str | None = None,
) -> Iterator[Record]:
    """Read documents one after another; nothing is kept, so a file may be larger than memory.

    Parameters
    ----------
    path : a file (gzipped or not), a folder with a text file per document, or ``"-"`` for the standard input; or a
        table of another library (a DataFrame, an Arrow table, a Hugging Face dataset, a dict of columns).
    format : ``"jsonl"``, ``"json"`` (a list of objects, read into memory), ``"csv"`` (cells separated by commas,
        semicolons, tabs or bars, whichever the first line has most of), ``"tsv"``, ``"text"`` (one document per line),
        ``"folder"`` or ``"parquet"``; None goes by the file's name, and looks at the first line of the standard input.
    text, id, label, split : the fields that hold them. Only the text must be there, and in JSON and Parquet it may be a
        list of tokens; a field that is named here otherwise than by default must be there too. Several fields make one
        text, ``text=["title", "body"]``, with a blank line between two. Other fields become metadata, and with
        ``split=None`` that one does as well.
    title : the field that becomes the metadata ``title``, be it a part of the text or not.
    skip : fields to leave out.
    numbers : make numbers of cells of CSV and TSV files that are numbers (metadata only), and None of empty ones.
        Digits after a leading zero (``007``) stay text. False keeps every cell as it is.
    pattern : which files of a folder are documents. The id is the path below the folder, the label the first
        folder on it, if any.
    encoding : that of text files, for those that are not UTF-8, e.g. ``"latin-1"``, ``"cp1252"`` or ``"utf-16"``.
    unpack : bytes that a gzipped or Parquet file may become; None: 64 MiB and 64 times its size (or what
        ``WORDFERRY_UNPACK`` says), so that a small file cannot fill the memory.
    vectors : the field that holds a vector of each document, a list of numbers, for an index that is to keep them.

    Blank lines are not documents. A row whose text is missing (an empty cell, null, None, NaN) is a document with an
    empty text; ``on_empty=`` of the call that takes the documents says what becomes of it. TSV has no quoting, as its
    definition says. Anything broken is a :class:`~wordferry.errors.FormatError` that names the file and the line, and
    each record says in ``where`` which line it is from.

    Returns
    -------
    Iterator[Record]
        Documents with text, id, label and metadata.

    Examples
    --------
    >>> [(one.id, one.metadata) for one in read_documents({"id": ["a"], "text": ["a cat"], "year": [2001]})]
    [('a', {'year': 2001})]
    """
    fields = Fields.of(text, id, label, split, skip, title, vectors)
    if not isinstance(path, str | os.PathLike):
        return table_records(path, fields)
    source = str(path) if str(path) == "-" else Path(path)
    kind = _format_of(source, format)
    if kind == "folder":
        return _read_folder(Path(source), pattern, encoding, unpack)
    if kind == "parquet":
        return _read_parquet(Path(source), fields, unpack)
    lines = text_lines(source, encoding=encoding, unpack=unpack)
    return _read_lines(source, lines, kind, fields, numbers)


def _read_lines(source: str | Path, lines: Lines, kind: str | None, fields: Fields, numbers: bool) -> Iterator[Record]:
    """Documents of a file of lines; without a kind, the first line that is not blank tells it."""
    if kind is None:
        kind, lines = _sniffed(lines, fields)
    if kind == "text":
        return _read_text(source, lines)
    if kind in ("jsonl", "json"):
        rows = json_lines(source, lines) if kind == "jsonl" else _json_rows(source, lines)
        return (fields.record(row, where) for where, row in rows)
    return _read_csv(source, lines, fields, kind, numbers)


def _sniffed(lines: Lines, fields: Fields) -> tuple[str, Lines]:
    """The format of the standard input by its first line, and the lines with that one in its place again."""
    before = []
    for number, line in lines:
        before.append((number, line))
        if line.strip():
            break
    again = chain(before, lines)
    first = before[-1][1].strip() if before else ""
    if first.startswith("["):
        return "json", again
    if first.startswith("{"):
        return "jsonl", again
    header = next(csv.reader([first], delimiter=_delimiter(first)), [])
    if {fields.text, *fields.more} <= set(header) and (len(header) > 1 or fields.named):
        return "csv", again
    if fields.named:
        raise InputError(
            f"The standard input begins with {first[:60]!r}, which is neither JSON nor the first line of a table "
            f"with a column {fields.text!r}, and plain text has no fields. Say what it is with format=, one of: jsonl, "
            "json, csv, tsv."
        )
    return "text", again


def _format_of(source: str | Path, format: str | None) -> str | None:
    """The format that was asked for, else by the name; None for the standard input, which must be looked at."""
    if format is not None and format not in FORMATS:
        raise InputError(f"Unknown document format {format!r}. Choose one of: {', '.join(FORMATS)}.")
    if isinstance(source, str):
        if format in ("folder", "parquet"):
            raise InputError(f"The standard input cannot be read as {format!r}; pass a path.")
        return format
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


def _read_text(source: str | Path, lines: Lines) -> Iterator[Record]:
    for number, line in lines:
        text = line.strip()
        if text:
            yield Record(text, metadata={"line": number}, where=f"{source}, line {number}")


def json_rows(source: str | Path, *, unpack: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of JSON lines, gzipped or not, each with the words for where it stands; a broken line is named."""
    return json_lines(source, text_lines(source, unpack=unpack))


def json_lines(source: str | Path, lines: Lines) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of numbered JSON lines, each with the words for where it stands."""
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{source}, line {number}"
        row = _parsed(line, where, "one JSON object per line")
        if not isinstance(row, dict):
            raise FormatError(f"{where}: expected a JSON object, got {type(row).__name__}.")
        yield where, row


def _json_rows(source: str | Path, lines: Lines) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON list. Many a ``.json`` file holds JSON lines, which are read too."""
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return
    if first[1].lstrip().startswith("{"):
        yield from json_lines(source, chain([first], lines))
        return
    text = "".join(line for _, line in chain([first], lines))
    rows = _parsed(text, str(source), "a list of JSON objects")
    if not isinstance(rows, list):
        raise FormatError(f"{source}: expected a list of JSON objects, got {type(rows).__name__}.")
    for number, row in enumerate(rows):
        where = f"{source}, object {number}"
        if not isinstance(row, dict):
            raise FormatError(f"{where}: expected a JSON object, got {type(row).__name__}.")
        yield where, row


def _parsed(text: str, where: str, expected: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f" of line {error.lineno}" if "\n" in text.rstrip("\n") else ""
        raise FormatError(f"{where}: expected {expected}; {error.msg} at column {error.colno}{line}.") from None
    except RecursionError:
        raise FormatError(f"{where}: the JSON is nested too deeply.") from None


def _delimiter(line: str) -> str:
    """The separator that stands most often in a header, outside quotes; the comma where none does."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(_DELIMITERS, key=bare.count)


def _read_csv(source: str | Path, lines: Lines, fields: Fields, kind: str, numbers: bool) -> Iterator[Record]:
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        raise FormatError(f"{source}: expected a line with the names of the columns, found an empty file.")
    options: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    if kind == "csv":
        options = {"delimiter": _delimiter(first[1]), "strict": True}
    reader = csv.reader((line for _, line in chain([first], lines)), **options)
    before = first[0] - 1  # blank lines that the reader has not seen
    header = _next_row(reader, source, before) or []
    if len(set(header)) != len(header):
        raise FormatError(f"{source}, line {first[0]}: a column name appears twice in {header}.")
    named, texts = {fields.id, fields.label, fields.split}, {fields.text, *fields.more}
    while (row := _next_row(reader, source, before)) is not None:
        where = f"{source}, line {reader.line_num + before}"
        if len(row) != len(header):
            raise FormatError(f"{where}: expected {len(header)} cells as in the header, found {len(row)}.")
        cells: dict[str, Any] = dict(zip(header, row, strict=True))
        if numbers:
            cells = {
                key: cell if key in texts else (cell or None) if key in named else _value(cell)
                for key, cell in cells.items()
            }
        yield fields.record(cells, where)


def _value(cell: str) -> Any:
    """A number where a cell is one and is written as numbers are; None where it is empty; else the text."""
    if not cell:
        return None
    if _WHOLE.fullmatch(cell):
        return int(cell)
    return float(cell) if _DECIMAL.fullmatch(cell) and abs(float(cell)) < float("inf") else cell


def _next_row(reader: Any, source: str | Path, before: int) -> list[str] | None:
    """The next row with anything in it. The limit on a cell's size is the process's, so it is put back."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        for row in reader:
            if row:
                return list(row)
        return None
    except csv.Error as error:
        raise FormatError(f"{source}, line {reader.line_num + before}: broken quoting or cell ({error}).") from None
    finally:
        csv.field_size_limit(limit)


def _read_folder(folder: Path, pattern: str, encoding: str, unpack: int | None) -> Iterator[Record]:
    files = sorted(file for file in folder.rglob(pattern) if file.is_file())
    if not files:
        raise NotFound(f"{folder} has no file that matches {pattern!r}.")
    for file in files:
        below = file.relative_to(folder)
        text = "".join(line for _, line in text_lines(file, encoding=encoding, unpack=unpack))
        label = below.parts[0] if len(below.parts) > 1 else None
        yield Record(text, id=below.as_posix(), label=label, where=str(file))


def _read_parquet(file: Path, fields: Fields, unpack: int | None) -> Iterator[Record]:
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
                for row in batch_rows(batch, str(file), number + 1):
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
