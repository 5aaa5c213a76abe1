"""Results as tables of other libraries: pandas, Polars, and whatever takes the Arrow interface."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wordferry.base.runtime import optional_import


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


def columns_of(rows: Sequence[Mapping[str, Any]], names: Iterable[str] | None = None) -> dict[str, list[Any]]:
    """Rows turned into columns. A key that a row does not have is None there.

    A column is of one kind, as tables need it: where texts, numbers and lists meet, all are written as text, and
    what is not text as JSON.
    """
    keys = dict.fromkeys(key for row in rows for key in row) if names is None else dict.fromkeys(names)
    return {key: _uniform([row.get(key) for row in rows]) for key in keys}


def _uniform(values: list[Any]) -> list[Any]:
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) < 2:
        return values
    return [value if value is None or isinstance(value, str) else json.dumps(value, default=str) for value in values]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, list | tuple):
        return "list of " + "/".join(sorted({_kind(one) for one in value}))
    return type(value).__name__
