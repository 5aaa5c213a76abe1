"""Tables of other libraries as documents: DataFrames, Arrow tables, Hugging Face datasets, dicts of columns.

A DataFrame is a list of its column names to whoever loops over it, so it must never reach a loop over documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from wordferry.base.frames import plain_value
from wordferry.base.runtime import optional_import
from wordferry.errors import FormatError, InputError
from wordferry.texts.records import Fields, Record

_AT_ONCE = 4096


def is_table(value: Any) -> bool:
    """True for what has rows and named columns: a table of another library, or a dict (of columns)."""
    if isinstance(value, list | tuple | str | np.ndarray):
        return False
    if isinstance(value, Mapping):
        return True
    named = any(hasattr(type(value), name) for name in ("columns", "column_names", "schema"))
    return named and (
        any(hasattr(value, name) for name in ("__arrow_c_stream__", "__dataframe__", "iterrows", "iter_rows"))
        or _library(value) in ("datasets", "polars", "narwhals", "dask", "pyspark")
    )


def is_column(value: Any) -> bool:
    """True for one column of an Arrow table, whose values are not Python's own."""
    return _library(value) == "pyarrow" and hasattr(value, "to_pylist") and not hasattr(value, "column_names")


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def table_records(table: Any, fields: Fields | None = None, *, name: str = "The table") -> Iterator[Record]:
    """The rows of a table as records: text, id, label and split by the names in ``fields``, the rest metadata."""
    wanted = fields or Fields()
    for number, row in enumerate(table_rows(table, name)):
        yield wanted.record(row, f"{name}, row {number}")


def table_texts(table: Any, name: str) -> list[Any]:
    """The texts of a table for a call that takes documents only: its column ``text``, or its only column."""
    rows = table_rows(table, name)
    first = next(rows, None)
    if first is None:
        return []
    column = "text" if "text" in first else next(iter(first)) if len(first) == 1 else None
    if column is None or isinstance(plain_value(first[column]), int | float | bytes):
        raise _no_texts(table, first, column, name)
    taken = Fields(text=column)
    return [taken.text_of(row, f"{name}, row {i}") for i, row in enumerate(_after(first, rows))]


def _no_texts(table: Any, first: Mapping[str, Any], column: str | None, name: str) -> InputError:
    kind = type(table).__name__
    if column is not None:
        return InputError(
            f"{name} is a {kind} whose column {column!r} holds {type(first[column]).__name__}, not texts. Pass a "
            "column of texts, or a sparse matrix of word counts."
        )
    shown = ", ".join(map(repr, list(first)[:8]))
    return InputError(
        f"{name} is a {kind} with the columns {shown}, and none of them is called 'text'. Pass the column that "
        f"holds the texts: {name}[{next(iter(first), 'text')!r}]."
    )


def _after(first: Any, rest: Iterable[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def as_documents(documents: Any, name: str = "documents") -> Any:
    """Documents for a call without metadata: texts of a table, values of an Arrow column, anything else as given.

    An array with one column, as ``df[["text"]].to_numpy()`` gives, is that column.
    """
    if is_table(documents):
        return table_texts(documents, name)
    if isinstance(documents, np.ndarray) and documents.ndim > 1 and documents.dtype.kind in "OUS":
        if documents.shape[1:] == (1,):
            return documents[:, 0]
        if documents.size and isinstance(documents.flat[0], str):
            raise no_column(documents, name)
    return documents.to_pylist() if is_column(documents) else documents


def no_column(array: Any, name: str) -> InputError:
    """The error for an array of more than one dimension where one text per document is wanted."""
    return InputError(
        f"{name} is an array of shape {array.shape}, and a collection of texts is one-dimensional: one text per "
        f"document. Pass one column of it ({name}[:, 0]), or {name}.tolist() if its rows are token lists."
    )


def table_rows(table: Any, name: str) -> Iterator[dict[str, Any]]:
    """The rows of a table as dicts of Python values."""
    library = _library(table)
    if isinstance(table, Mapping):
        return _mapping_rows(table, name)
    if type(table).__name__ in ("LazyFrame", "LazyGroupBy"):
        raise InputError(f"{name} is a lazy table that has not been computed. Pass {name}.collect().")
    if library == "dask":
        raise InputError(f"{name} is a lazy table that has not been computed. Pass {name}.compute().")
    if library == "pyspark":
        raise InputError(f"{name} is a table of Spark. Pass {name}.toPandas(), or {name}.toArrow().")
    if library == "datasets":
        plain = table.with_format(None) if hasattr(table, "with_format") else table
        return (dict(row) for row in plain)
    if library == "pandas" or (hasattr(table, "iterrows") and hasattr(table, "iloc")):
        return _pandas_rows(table, name)
    if hasattr(table, "iter_rows"):  # Polars and narwhals
        return iter(table.iter_rows(named=True))
    return _arrow_rows(table, name)


def _mapping_rows(table: Mapping[Any, Any], name: str) -> Iterator[dict[str, Any]]:
    if table and all(is_table(value) for value in table.values()):
        keys = ", ".join(map(repr, list(table)[:6]))
        raise InputError(f"{name} is a dict of tables ({keys}). Pass one of them: {name}[{next(iter(table))!r}].")
    columns: dict[str, list[Any]] = {}
    for key, values in table.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise InputError(
                f"{name} is a dict, which is read as a table of columns, but its {key!r} is a {type(values).__name__} "
                "and not a list. A single document goes into a list: [document]."
            )
        columns[str(key)] = list(as_documents(values))
    if len({len(values) for values in columns.values()}) > 1:
        sizes = ", ".join(f"{key!r} has {len(values)}" for key, values in list(columns.items())[:6])
        raise InputError(f"{name} is a dict, which is read as a table, but its columns differ in length: {sizes}.")
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def _pandas_rows(table: Any, name: str) -> Iterator[dict[str, Any]]:
    names = [str(column) for column in table.columns]
    if len(set(names)) < len(names):
        raise InputError(f"{name} has two columns of the same name: {', '.join(map(repr, names[:12]))}.")
    for start in range(0, len(table), _AT_ONCE):
        part = table.iloc[start : start + _AT_ONCE]
        columns = [part.iloc[:, i].tolist() for i in range(len(names))]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))


def _arrow_rows(table: Any, name: str) -> Iterator[dict[str, Any]]:
    arrow = optional_import("pyarrow", "parquet")
    if hasattr(table, "to_pylist") and not hasattr(table, "to_batches"):
        table = arrow.table(table)
    reader = arrow.RecordBatchReader.from_stream(table) if not hasattr(table, "to_batches") else table
    batches = reader.to_batches(max_chunksize=_AT_ONCE) if hasattr(reader, "to_batches") else reader
    number = 0
    for batch in batches:
        yield from batch_rows(batch, name, number)
        number += batch.num_rows


def batch_rows(batch: Any, name: str, before: int) -> list[dict[str, Any]]:
    """The rows of an Arrow batch that stands behind ``before`` others; one that is no UTF-8 is named."""
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except UnicodeDecodeError as error:
        for place in range(batch.num_rows):
            try:
                batch.slice(place, 1).to_pylist()
            except UnicodeDecodeError:
                break
        raise FormatError(f"{name}, row {before + place}: a text is not UTF-8 ({error}).") from None
    return rows
