"""Results as tables of other libraries: pandas, Polars, and whatever takes the Arrow interface."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Generic, TypeVar, overload

from wordferry.base.runtime import optional_import
from wordferry.base.values import column_kind, kind_of

_LONGEST = 200
"""Letters of a text that a notebook shows."""
_LONG = 60
"""Letters from which on a text is given room, so that columns of single words do not squeeze it."""


_Row = TypeVar("_Row")


class Tabular:
    """A result with rows and columns. Who has one gives ``to_columns``; the rest follows.

    ``to_arrow`` and ``__arrow_c_stream__`` need pyarrow; Polars, DuckDB, pandas and others take the result through the
    latter, without a name of ours.
    """

    def to_columns(self) -> dict[str, Any]:
        """The columns by name, each a list or an array, all of the same length."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        return optional_import("pandas", "pandas").DataFrame(self.to_columns())

    def to_polars(self) -> Any:
        """A Polars DataFrame."""
        return optional_import("polars", "polars").DataFrame(self.to_columns(), strict=False)

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        return optional_import("pyarrow", "parquet").table(self.to_columns())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """The first rows as notebooks show them."""
        return html_table(self.to_columns())


class TableRow(Mapping[str, Any]):
    """A result that is a row of a :class:`TableRows`: by the names of its columns it is a mapping, for pandas."""

    def to_row(self) -> dict[str, Any]:
        """The columns of this row by name."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> Any:
        return self.to_row()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_row())

    def __len__(self) -> int:
        return len(self.to_row())

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class TableRows(Tabular, Generic[_Row]):
    """Results in order, which ``pd.DataFrame``, ``pl.DataFrame`` and ``pa.table`` take.

    Each is a :class:`TableRow`, a dict, or a dataclass whose fields are the columns.

    It has all that a list has for reading. It is no list, and not registered as a sequence either, because Polars and
    pyarrow would then look at its items and never ask for ``__arrow_c_stream__``.
    """

    def __init__(self, rows: Iterable[_Row] = ()) -> None:
        self._rows = list(rows)

    def to_columns(self) -> dict[str, Any]:
        """The columns of all rows; where a row has no such column, None."""
        plain = (row.to_row() if isinstance(row, TableRow) else row for row in self._rows)
        return columns_of([row if isinstance(row, dict) else vars(row) for row in plain])

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[_Row]:
        return iter(self._rows)

    def __reversed__(self) -> Iterator[_Row]:
        return reversed(self._rows)

    @overload
    def __getitem__(self, place: int) -> _Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[_Row]: ...
    def __getitem__(self, place: int | slice) -> _Row | list[_Row]:
        return self._rows[place]

    def __contains__(self, row: object) -> bool:
        return row in self._rows

    def __eq__(self, other: object) -> bool:
        theirs = other._rows if isinstance(other, TableRows) else other
        return self._rows == theirs if isinstance(theirs, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._rows!r})"


class Facts:
    """A small result, a dataclass of single values, which notebooks show as a table of two columns."""

    def _repr_html_(self) -> str:
        """The values by their names."""
        values: Any = self
        names = [one.name for one in fields(values)]
        return html_table({"": names, "value": [getattr(self, name) for name in names]})


class Rows(TableRows[dict[str, Any]]):
    """Rows of a report: plain dicts, which notebooks show as a table."""

    def append(self, row: dict[str, Any]) -> None:
        """Add a row at the end."""
        self._rows.append(row)

    def __repr__(self) -> str:
        return f"Rows({len(self)}: {', '.join(dict.fromkeys(key for row in self for key in row))})"


def html_table(columns: Mapping[str, Sequence[Any]], limit: int = 20) -> str:
    """Columns as an HTML table: the first rows, long texts shortened, numbers to the right.

    A column that has nothing in these rows is left out.

    >>> html_table({"id": ["a<b"]})
    '<table><thead><tr><th>id</th></tr></thead><tbody><tr><td>a&lt;b</td></tr></tbody></table>'
    """
    from html import escape

    total = len(next(iter(columns.values()), ()))
    columns = {
        name: values for name, values in columns.items() if not total or any(one is not None for one in values[:limit])
    }
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    rows = ["".join(_html_cell(values[row], escape) for values in columns.values()) for row in range(min(limit, total))]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    rest = f"<p>{total - limit:,} more rows</p>" if total > limit else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _html_cell(value: Any, escape: Callable[[str], str]) -> str:
    if isinstance(value, bool) or value is None:
        return f"<td>{'' if value is None else value}</td>"
    if isinstance(value, int | float) or hasattr(value, "dtype"):
        number = float(value)
        text = f"{number:.4f}" if math.isfinite(number) and number % 1 else str(value)
        return f'<td style="text-align:right">{text}</td>'
    text = str(value)
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    wide = ' style="min-width:22em;text-align:left"' if len(text) > _LONG else ""
    return f"<td{wide}>{escape(shown)}</td>"


def columns_of(rows: Sequence[Mapping[str, Any]], names: Iterable[str] | None = None) -> dict[str, list[Any]]:
    """Rows turned into columns. A key that a row does not have is None there.

    A column is of one kind, as tables need it: where texts, numbers and lists meet, all are written as text, and
    what is not text as JSON.
    """
    keys = dict.fromkeys(key for row in rows for key in row) if names is None else dict.fromkeys(names)
    return {key: _uniform([row.get(key) for row in rows]) for key in keys}


def _uniform(values: list[Any]) -> list[Any]:
    kinds = {kind_of(value) for value in values} - {"", "list "}  # an empty list is of any kind
    if len(kinds) < 2 or column_kind(kinds) != "other":
        return values
    return [value if value is None or isinstance(value, str) else json.dumps(value, default=str) for value in values]
