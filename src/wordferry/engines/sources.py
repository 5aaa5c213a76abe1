"""Documents in files, cut into parts that any worker can read on its own."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.engines.location import system_of
from wordferry.errors import FormatError, InputError, NotFound

SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


@dataclass(frozen=True)
class SourceFields:
    """Which columns hold what."""

    text: str = "text"
    id: str = "id"
    label: str = "label"
    rest: bool = False
    """Whether all other columns are kept, as metadata."""
    vector: str | None = None
    """The column that holds a vector of each document, if there is one."""


@dataclass(frozen=True)
class SourcePart:
    """Rows of one file: a worker reads them without looking at any other."""

    number: int
    source: str
    """The folder, file or bucket address that was given."""
    path: str
    """The file, as its file system names it."""
    start: int
    """The first row of the file that belongs to the part."""
    rows: int
    first: int
    """The number in the whole collection of the first document."""
    size: int
    """Bytes of the file, with its time and checksum: what a job that goes on is held to."""
    time: int | None
    sha256: str

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class SourceRow:
    """One document of a part."""

    id: str
    text: Any
    label: str | None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    vector: Sequence[float] | None = None


def cut(source: str, block: int, fields: SourceFields) -> list[SourcePart]:
    """The parts of a file, a folder or a bucket, in the order of file names; none has more than ``block`` rows.

    Columns are looked at now, so that a file without the text column is refused before any work is done. Every part
    knows its file's size, time and checksum: a plan made of parts differs once a file was edited.
    """
    system, files = _files(source)
    parts: list[SourcePart] = []
    first = 0
    for info in files:
        path = info.path
        rows = _count_rows(system, path, fields)
        own = (info.size, info.mtime_ns, _digest(system, path))
        for start in range(0, rows, block):
            count = min(block, rows - start)
            parts.append(SourcePart(len(parts), source, path, start, count, first, *own))
            first += count
    if not parts:
        raise InputError(f"{source} holds no documents.")
    return parts


def _files(source: str) -> tuple[Any, list[Any]]:
    """The file system of a source and its files, sorted by name."""
    fs = optional_import("pyarrow.fs", "cluster")
    system, path = system_of(source)
    try:
        info = system.get_file_info(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{source} cannot be reached: {error}.") from None
    if info.type == fs.FileType.NotFound:
        raise NotFound(f"{source} does not exist.")
    if info.type == fs.FileType.File:
        found = [info]
    else:
        inside = system.get_file_info(fs.FileSelector(path, recursive=True))
        found = [one for one in inside if one.type == fs.FileType.File and one.path.endswith(SUFFIXES)]
        found.sort(key=lambda one: one.path)
    wrong = [one.path for one in found if not one.path.endswith(SUFFIXES)]
    if wrong or not found:
        raise InputError(f"{wrong[0] if wrong else source}: expected files that end in {', '.join(SUFFIXES)}.")
    return system, found


def _count_rows(system: Any, path: str, fields: SourceFields) -> int:
    if path.endswith(".parquet"):
        table = _parquet(system, path)
        names = table.schema_arrow.names
        for column, what in ((fields.text, "text"), (fields.vector, "vector")):
            if column is not None and column not in names:
                raise FormatError(f"{path}: expected a column {column!r} with the {what}, found {', '.join(names)}.")
        return int(table.metadata.num_rows)
    with _lines(system, path) as stream:
        return sum(1 for line in stream if line.strip())


def _digest(system: Any, path: str) -> str:
    """The checksum of a file; of a Parquet file in a bucket only that of its footer, which is read anyway."""
    found = hashlib.sha256()
    with system.open_input_file(path) as stream:
        if path.endswith(".parquet") and system.type_name != "local":
            length = stream.size()
            stream.seek(max(0, length - 8))
            stream.seek(max(0, length - 8 - int.from_bytes(stream.read(4), "little")))
        while block := stream.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def _parquet(system: Any, path: str) -> Any:
    module = optional_import("pyarrow.parquet", "cluster")
    try:
        return module.ParquetFile(system.open_input_file(path))
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} is not a readable Parquet file: {error}") from None


def _lines(system: Any, path: str) -> Any:
    stream = io.BufferedReader(system.open_input_stream(path, compression=None))
    return gzip.open(stream) if path.endswith(".gz") else stream


def read_part(part: SourcePart, fields: SourceFields) -> Iterator[SourceRow]:
    """The documents of one part; an error names the file and the row."""
    system, _ = system_of(part.source)
    _check_unchanged(system, part)
    rows = _parquet_rows if part.path.endswith(".parquet") else _json_rows
    count = 0
    name = part.path.rsplit("/", 1)[-1]
    for offset, row in enumerate(rows(system, part, fields)):
        where = f"{part.path}, row {part.start + offset + 1}"
        yield _checked(row, where, fields, f"{name}:{part.start + offset + 1}")
        count += 1
    _check_unchanged(system, part, count)


def _check_unchanged(system: Any, part: SourcePart, rows: int | None = None) -> None:
    """Refuse a file that is not the one that was planned with: one job must not mix two states of its documents."""
    info = system.get_file_info(part.path)
    if (info.size, info.mtime_ns) != (part.size, part.time) or rows not in (None, part.rows):
        raise FormatError(f"{part.path} has changed since the job was planned. Start the job again elsewhere.")


def _parquet_rows(system: Any, part: SourcePart, fields: SourceFields) -> Iterator[Any]:
    table = _parquet(system, part.path)
    names = table.schema_arrow.names
    wanted = [name for name in (fields.text, fields.id, fields.label, fields.vector) if name in names]
    wanted = list(names) if fields.rest else wanted
    before, stop = 0, part.start + part.rows
    for group in range(table.metadata.num_row_groups):
        size = table.metadata.row_group(group).num_rows
        if before + size > part.start and before < stop:
            low, high = max(0, part.start - before), min(size, stop - before)
            try:
                rows = table.read_row_group(group, columns=wanted)
            except (OSError, ValueError) as error:
                raise FormatError(f"{part.path} is damaged (rows {before + 1} to {before + size}): {error}") from None
            for batch in rows.slice(low, high - low).to_batches(max_chunksize=4096):
                yield from batch.to_pylist()
        before += size


def _json_rows(system: Any, part: SourcePart, fields: SourceFields) -> Iterator[Any]:
    with _lines(system, part.path) as stream:
        row = -1
        for line in stream:
            if not line.strip():
                continue
            row += 1
            if row < part.start:
                continue
            if row >= part.start + part.rows:
                return
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise FormatError(f"{part.path}, row {row + 1}: not valid JSON ({error}).") from None


def _checked(row: Any, where: str, fields: SourceFields, otherwise: str) -> SourceRow:
    if not isinstance(row, dict) or fields.text not in row:
        raise FormatError(f"{where}: expected a field {fields.text!r} with the text.")
    text = row[fields.text]
    tokens = isinstance(text, Sequence) and not isinstance(text, bytes)
    if not tokens or (not isinstance(text, str) and not all(isinstance(token, str) for token in text)):
        raise FormatError(f"{where}: the text must be a str or a list of tokens, got {type(text).__name__}.")
    given = row.get(fields.id)
    if given is not None and not isinstance(given, str | int):
        raise FormatError(f"{where}: the id must be a str or a whole number, got {type(given).__name__}.")
    label = row.get(fields.label)
    metadata = _metadata(row, where, fields) if fields.rest else {}
    id, label = otherwise if given is None else str(given), None if label is None else str(label)
    return SourceRow(id, text, label, metadata, None if fields.vector is None else _vector(row, where, fields.vector))


def _vector(row: dict[str, Any], where: str, column: str) -> Sequence[float] | None:
    """The vector of a document; None where it has none."""
    if column not in row:
        raise FormatError(f"{where}: expected a field {column!r} with the vector.")
    found = row[column]
    if found is None:
        return None
    numbers = isinstance(found, list) and found and all(type(value) in (float, int) for value in found)
    if not numbers:
        raise FormatError(f"{where}: the vector must be a list of numbers, got {type(found).__name__}.")
    return found  # type: ignore[no-any-return]


def _metadata(row: dict[str, Any], where: str, fields: SourceFields) -> dict[str, Any]:
    """All other columns; an object called "metadata" is taken apart."""
    own = (fields.text, fields.id, fields.label, fields.vector, "metadata")
    given = row.get("metadata")
    if given is not None and not isinstance(given, dict):
        raise FormatError(f"{where}: metadata must be a flat object, got {type(given).__name__}.")
    found = {key: value for key, value in row.items() if key not in own}
    for key, value in (given or {}).items():
        if key in found:
            raise FormatError(f"{where}: {key!r} stands both beside the text and in its metadata.")
        found[key] = value
    return found
