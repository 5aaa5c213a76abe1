"""Filters on metadata: a small mapping that says which documents may be found, before the nearest are chosen.

``{"topic": "sport", "year": {"gte": 2001, "lt": 2010}}`` means every condition at once. Values are compared with
values of their own kind only (text with text, numbers with numbers, bools with bools).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from wordferry.base.arrays import BoolArray
from wordferry.errors import InputError
from wordferry.index.results import shown
from wordferry.index.storage.columns import ID, LABEL, MISSING, Columns
from wordferry.index.write.entries import check_encodable, check_key, is_plain

OPERATORS = ("eq", "ne", "in", "gt", "gte", "lt", "lte", "exists")
OWN = (ID, LABEL)
"""Fields that every document has: they mean its own id and label where its metadata has no such key."""
MOST_CONDITIONS = 100
MOST_VALUES = 200_000
LONGEST_VALUE = 100_000


class Rule(NamedTuple):
    """One condition on one field."""

    key: str
    operator: str
    values: tuple[Any, ...]

    def passed(self, columns: Columns) -> BoolArray:
        """The rows that meet it."""
        column = columns.get(self.key)
        codes = np.zeros(column.size, dtype=bool)
        if self.operator == "exists":
            codes[MISSING + 1 :] = True
        elif self.operator in ("eq", "ne", "in"):
            column.equal(codes, self.values)
        else:
            column.between(codes, self.operator, self.values[0])
        if self.operator == "ne" or (self.values == (False,) and self.operator == "exists"):
            codes = ~codes
        result: BoolArray = codes[column.codes]
        return result


class Condition(NamedTuple):
    """A checked filter: all its rules at once."""

    rules: tuple[Rule, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this condition from others; 1, 1.0 and True are equal in Python and differ here."""
        return tuple((r.key, r.operator, tuple((type(v).__name__, v) for v in r.values)) for r in self.rules)

    def passed(self, columns: Columns) -> BoolArray:
        """The rows that meet every rule."""
        return reduce(np.logical_and, (rule.passed(columns) for rule in self.rules))

    def check_fields(self, parts: Sequence[Columns], more: Collection[str] = ()) -> None:
        """Refuse a field that no document has: a typing error would otherwise find nothing, or everything."""
        known = {name for part in parts for name in part.names} | set(OWN) | set(more)
        for rule in self.rules:
            if rule.key not in known:
                fields = ", ".join(map(repr, sorted(known)[:50]))
                raise InputError(f"filter: no document has a field {rule.key!r}. The fields are: {fields}.")


def compile_filter(filter: Mapping[str, Any] | None) -> Condition | None:
    """Check a filter; None and {} mean no filter."""
    if filter is None:
        return None
    if not isinstance(filter, Mapping):
        raise InputError(
            'filter must be a mapping such as {"topic": "sport", "year": {"gte": 2001}}, '
            f"got {type(filter).__name__}."
        )
    count = max(len(filter), sum(len(rules) if isinstance(rules, Mapping) else 1 for rules in filter.values()))
    if count > MOST_CONDITIONS:
        raise InputError(
            f"A filter has at most {MOST_CONDITIONS} conditions, this one has {count}. Many values of one field are "
            'one condition: {"id": {"in": [...]}}.'
        )
    found: list[Rule] = []
    for key, wanted in filter.items():
        check_key(key, "filter")
        rules = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
        if not rules:
            raise InputError(f"filter: {key!r} has no condition. Use one of {', '.join(OPERATORS)}, or a plain value.")
        found.extend(_rule(key, operator, value) for operator, value in rules.items())
    return Condition(tuple(found)) if found else None


def _rule(key: str, operator: Any, value: Any) -> Rule:
    where, values = f"filter on {key!r}", (value,)
    if operator not in OPERATORS:
        raise InputError(f"{where}: unknown operator {shown(operator)}. Choose one of: {', '.join(OPERATORS)}.")
    if operator == "exists":
        if not isinstance(value, bool):
            raise InputError(f"{where}: 'exists' takes true or false, got {shown(value)}.")
        return Rule(key, operator, values)
    if operator == "in":
        if not isinstance(value, list | tuple | set | frozenset):
            raise InputError(f"{where}: 'in' takes a list of values, got {shown(value)}.")
        if len(value) > MOST_VALUES:
            raise InputError(f"{where}: 'in' takes at most {MOST_VALUES:,} values, got {len(value):,}.")
        values = tuple(value)
    for one in values:
        if isinstance(one, str):
            if len(one) > LONGEST_VALUE:
                raise InputError(f"{where}: a text is at most {LONGEST_VALUE:,} characters, got {len(one):,}.")
            check_encodable(one, where)
        elif not is_plain(one):
            raise InputError(f"{where}: a value is a str, finite number, bool or None; got {shown(one)}.")
    if operator not in ("eq", "ne", "in"):
        if value is None or isinstance(value, bool):
            raise InputError(f"{where}: {operator!r} compares numbers or text, got {shown(value)}.")
    elif key in OWN:  # ids and labels are texts, so that a number stands for itself as it is written: label=1 finds "1"
        values += tuple(json.dumps(one) for one in values if one is not None and not isinstance(one, str))
    return Rule(key, operator, values)
