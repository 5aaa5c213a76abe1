"""Results as notebooks and other libraries take them: as tables, as small pictures, and their values as plain Python.

A result is a table of pandas, Polars or of whatever takes the Arrow interface; a picture is drawn on axes that a caller
brings, or on a figure of its own that a notebook shows.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Generic, TypeVar, overload

import numpy as np

from wordferry.base.runtime import optional_import

_LONGEST = 200
"""Letters of a text that a notebook shows."""
_LONG = 60
"""Letters from which on a text is given room, so that columns of single words do not squeeze it."""
COLOUR = "#1f6f8b"
_BAR_HEIGHT = 0.32
"""In inches, of one bar."""
_LONGEST_NAME = 40
"""Letters of the name of a bar."""
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

    @overload
    def __getitem__(self, place: int) -> _Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[_Row]: ...
    def __getitem__(self, place: int | slice) -> _Row | list[_Row]:
        return self._rows[place]

    def __eq__(self, other: object) -> bool:
        theirs = other._rows if isinstance(other, TableRows) else other
        return self._rows == theirs if isinstance(theirs, list) else NotImplemented

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._rows!r})"


class Facts:
    """A small result, a dataclass of single values, which notebooks show as a table of two columns."""

    def _repr_html_(self) -> str:
        """The values by their names."""
        return html_table({"": list(vars(self)), "value": list(vars(self).values())})


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


def plain_value(value: Any) -> Any:
    """A value that JSON knows, where there is one that means the same; anything else comes back as it is.

    NumPy's scalars become Python's; NaN, NaT and pandas' NA become None; dates and times become ISO 8601 text; decimal
    numbers become numbers and UUIDs text; tuples, sets and arrays become lists.

    >>> from datetime import date
    >>> plain_value([np.int64(3), float("nan"), date(2024, 5, 1)])
    [3, None, '2024-05-01']
    """
    if value is None or type(value) in (str, int, bool):
        return value
    if type(value) is float:
        return None if value != value else value
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_value(one) for one in value]
    if isinstance(value, AbstractSet):
        return sorted((plain_value(one) for one in value), key=str)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else str(value)
    return plain_value(value.item()) if isinstance(value, np.generic) else _named(value)


def _named(value: Any) -> Any:
    """Values of the standard library and of pandas."""
    from datetime import date, time, timedelta
    from decimal import Decimal
    from uuid import UUID

    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, date | time):  # a datetime is a date, and pandas' Timestamp a datetime
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, UUID):
        return str(value)
    for kind in (str, int, float):  # subclasses of the plain kinds, such as members of an Enum
        if isinstance(value, kind):
            return plain_value(kind(value))
    return value


def kind_of(value: Any) -> str:
    """The kind of a value, as far as columns care; "" for None."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return f"list {column_kind({kind_of(one) for one in value})}"
    kinds = {bool: "bool", int: "int", float: "float", str: "str"}
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "other")


def column_kind(kinds: Iterable[str]) -> str:
    """The kind of a column that holds values of these kinds: "other" is written as JSON.

    >>> column_kind({"int", "float", ""}), column_kind({"int", "str"}), column_kind({"list str", "list "})
    ('float', 'other', 'list str')
    """
    found = set(kinds) - {""}
    if not found:
        return ""
    if all(kind.startswith("list ") for kind in found):
        inner = column_kind({kind.removeprefix("list ") for kind in found})
        return f"list {inner}" if inner != "other" and not inner.startswith("list") else "other"
    return next(iter(found)) if len(found) == 1 else "float" if found == {"int", "float"} else "other"


def new_figure(width: float, height: float) -> Any:
    """A matplotlib figure of no window, which a notebook shows as a picture whatever backend is in use."""
    figure = optional_import("matplotlib.figure", "plot").Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_png, figure)
    return figure


def _png(figure: Any) -> bytes:
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=96)
    return written.getvalue()


def drawn_on(ax: Any, width: float, height: float) -> tuple[Any, Any]:
    """The axes to draw on, and what the caller gets back: the axes that were given, or a figure with new ones."""
    if ax is not None:
        return ax, ax
    figure = new_figure(width, height)
    return figure.add_subplot(), figure


def bars(
    names: Sequence[str],
    values: Sequence[float],
    *,
    ax: Any = None,
    label: str = "",
    title: str = "",
    ranges: Sequence[tuple[float, float]] | None = None,
) -> Any:
    """One bar a name, the first on top; ``ranges`` are drawn as whiskers. The axes given, or a figure that is shown."""
    axes, result = drawn_on(ax, 7.0, max(1.5, 0.8 + _BAR_HEIGHT * len(names)))
    places = range(len(names))
    numbers = [float(value) for value in values]
    whiskers = None
    if ranges is not None:
        pairs = list(zip(numbers, ranges, strict=True))
        whiskers = [[max(0.0, v - low) for v, (low, _) in pairs], [max(0.0, high - v) for v, (_, high) in pairs]]
    axes.barh(places, numbers, color=COLOUR, xerr=whiskers, ecolor="#444444", height=0.7)
    axes.set_yticks(places, [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.set_title(title, fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return result
