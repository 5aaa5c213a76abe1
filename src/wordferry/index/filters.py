"""Filters on metadata: a small mapping becomes one SQL condition, applied before the nearest are chosen.

``{"topic": "sport", "year": {"gte": 2001, "lt": 2010}}`` means every condition at once. Values are compared with
values of their own kind only (text with text, numbers with numbers, bools with bools).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from wordferry.errors import InputError
from wordferry.index.model import check_encodable, check_key, shown

OPERATORS = ("eq", "ne", "in", "gt", "gte", "lt", "lte", "exists")
_SQL = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_COLUMNS = ("id", "label")
MOST_CONDITIONS = 100
MOST_VALUES = 200_000
LONGEST_VALUE = 100_000
Part = tuple[str, list[Any]]


@dataclass(frozen=True)
class Condition:
    """A filter as SQL over the table of documents."""

    sql: str
    values: tuple[Any, ...]


def compile_filter(filter: Mapping[str, Any] | None) -> Condition | None:
    """Check a filter and turn it into SQL; None and {} mean no filter."""
    if filter is None:
        return None
    if not isinstance(filter, Mapping):
        raise InputError(
            'filter must be a mapping such as {"topic": "sport", "year": {"gte": 2001}}, '
            f"got {type(filter).__name__}."
        )
    _check_size(filter)
    parts: list[str] = []
    values: list[Any] = []
    for key, wanted in filter.items():
        check_key(key, "filter")
        rules = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
        if not rules:
            raise InputError(f"filter: {key!r} has no condition. Use one of {', '.join(OPERATORS)}, or a plain value.")
        for operator, value in rules.items():
            sql, bound = _rule(key, operator, value)
            parts.append(f"({sql})")
            values.extend(bound)
    return Condition(" AND ".join(parts), tuple(values)) if parts else None


def _check_size(filter: Mapping[str, Any]) -> None:
    count = sum(len(rules) if isinstance(rules, Mapping) else 1 for rules in filter.values())
    if max(count, len(filter)) > MOST_CONDITIONS:
        raise InputError(
            f"A filter has at most {MOST_CONDITIONS} conditions, this one has {max(count, len(filter))}. Many values "
            'of one field are one condition: {"id": {"in": [...]}}.'
        )


def _rule(key: str, operator: str, value: Any) -> Part:
    where = f"filter on {key!r}"
    if operator not in OPERATORS:
        raise InputError(f"{where}: unknown operator {shown(operator)}. Choose one of: {', '.join(OPERATORS)}.")
    if operator == "exists":
        if not isinstance(value, bool):
            raise InputError(f"{where}: 'exists' takes true or false, got {shown(value)}.")
        return _either(key, lambda kind, _: (f"{kind} IS {'NOT ' if value else ''}NULL", []), any_of=value)
    if operator == "in":
        if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
            raise InputError(f"{where}: 'in' takes a list of values, got {shown(value)}.")
        if len(value) > MOST_VALUES:
            raise InputError(f"{where}: 'in' takes at most {MOST_VALUES:,} values, got {len(value):,}.")
        return _either(key, _one_of(where, value))
    if operator in ("eq", "ne"):
        sql, bound = _either(key, _equal(where, value))
        return (sql, bound) if operator == "eq" else (f"NOT ({sql})", bound)
    if value is None or isinstance(value, bool):
        raise InputError(f"{where}: {operator!r} compares numbers or text, got {shown(value)}.")
    kinds, one = _kinds(where, value)
    return _either(key, lambda kind, got: (f"ifnull({kind} IN {kinds} AND {got} {_SQL[operator]} ?, 0)", [one]))


def _equal(where: str, value: Any) -> Callable[[str, str], Part]:
    kinds, one = _kinds(where, value)
    if value is None or isinstance(value, bool):
        return lambda kind, _: (f"ifnull({kind} IN {kinds}, 0)", [])
    return lambda kind, got: (f"ifnull({kind} IN {kinds} AND {got} = ?, 0)", [one])


def _one_of(where: str, values: Collection[Any]) -> Callable[[str, str], Part]:
    """Any of several values; however many, they are at most two bound ones: the numbers and the texts."""
    lists: dict[str, list[Any]] = {}
    for value in values:
        kinds, one = _kinds(where, value)
        lists.setdefault(kinds, []).append(one)

    def make(kind: str, got: str) -> Part:
        parts, bound = ["0"], []
        for kinds, some in lists.items():
            if some[0] is None:  # null, true or false: the kind says it all
                parts.append(f"ifnull({kind} IN {kinds}, 0)")
            else:
                parts.append(f"ifnull({kind} IN {kinds} AND {got} IN (SELECT value FROM json_each(?)), 0)")
                bound.append(json.dumps(some))
        return f"({' OR '.join(parts)})", bound

    return make


def _kinds(where: str, value: Any) -> tuple[str, Any]:
    """The JSON types a value may meet, and the value as SQL takes it."""
    if value is None:
        return "('null')", None
    if isinstance(value, bool):
        return ("('true')" if value else "('false')"), None
    if isinstance(value, str):
        if len(value) > LONGEST_VALUE:
            raise InputError(f"{where}: a text is at most {LONGEST_VALUE:,} characters, got {len(value):,}.")
        check_encodable(value, where)
        return "('text')", value
    if isinstance(value, int) and -(1 << 63) <= value < (1 << 63):
        return "('integer', 'real')", value
    if isinstance(value, float) and math.isfinite(value):
        return "('integer', 'real')", value
    raise InputError(f"{where}: a value is a str, finite number, bool or None; got {shown(value)}.")


def _either(key: str, make: Callable[[str, str], Part], *, any_of: bool = True) -> Part:
    """The rule on the metadata; ``id`` and ``label`` mean the document's own where its metadata has no such key."""
    path = "'$.\"" + key.replace("'", "''") + "\"'"
    kind, got = f"json_type(metadata, {path})", f"json_extract(metadata, {path})"
    sql, bound = make(kind, got)
    if key not in _COLUMNS:
        return sql, bound
    own_kind = f"CASE WHEN {key} IS NULL THEN NULL ELSE 'text' END"
    own_sql, own_bound = make(f"(CASE WHEN {kind} IS NULL THEN {own_kind} END)", key)
    joint = "OR" if any_of else "AND"
    return f"({sql} {joint} {own_sql})", [*bound, *own_bound]
