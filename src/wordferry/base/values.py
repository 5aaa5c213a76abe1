"""Values as other libraries hand them over, as plain Python for metadata; and the kinds of values of a column."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

_PLAIN = frozenset({str, int, bool, type(None)})


def plain_value(value: Any) -> Any:
    """A value that JSON knows, where there is one that means the same; anything else comes back as it is.

    NumPy's scalars become Python's; NaN, NaT and pandas' NA become None; dates and times become ISO 8601 text; decimal
    numbers become numbers and UUIDs text; tuples, sets and arrays become lists.

    >>> from datetime import date
    >>> plain_value([np.int64(3), float("nan"), date(2024, 5, 1)])
    [3, None, '2024-05-01']
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, float) and type(value) is float:
        return None if value != value else value
    if isinstance(value, list | tuple):
        return [plain_value(one) for one in value]
    if isinstance(value, AbstractSet):
        return sorted((plain_value(one) for one in value), key=str)
    if isinstance(value, np.ndarray):
        return [plain_value(one) for one in value]
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.generic):
        return plain_value(value.item())
    return _named(value)


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
    if len(found) == 1:
        return next(iter(found))
    return "float" if found == {"int", "float"} else "other"
