"""Metadata of many documents as columns: each value a code into the sorted values of its field.

A filter looks up which codes pass, which costs the logarithm of the number of different values, and then takes one
byte or word for each document. Nothing is parsed and no row of the catalogue is read.
"""

from __future__ import annotations

import json
import operator
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import BoolArray

MISSING, NULL, FIRST = 0, 1, 4
"""Codes of what is neither a number nor a text; those of the numbers and texts begin at FIRST."""
ID, LABEL = "id", "label"
OWN_ID = "\0id"
"""The ids themselves, also where metadata has a key of that name (no key can have this one)."""
LIST = "\0list\0"
"""Before a list of values, which is kept among the texts as JSON; no text of a document begins so."""
_AFTER_LISTS = "\0list\1"
_PARTS = {"codes": np.uint8, "ints": np.int64, "floats": np.float64, "ends": np.int32, "texts": np.uint8}
"""The parts in which columns are stored, each in one array for all fields."""
_PLAIN = (None, False, True)
"""What the codes from NULL on mean."""
_MOST_COUNTED = 10_000
"""Different values of a field above which none is listed: it tells documents apart rather than grouping them."""


class Texts(Sequence[str]):
    """Sorted texts in one piece of UTF-8."""

    def __init__(self, blob: npt.NDArray[np.uint8], ends: npt.NDArray[Any]) -> None:
        self.blob, self.ends = blob, ends

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, place: Any) -> Any:
        return self.blob[int(self.ends[place]) : int(self.ends[place + 1])].tobytes().decode("utf-8")


class Column(NamedTuple):
    """One field of some documents.

    Numbers are kept as views that give Python's own, which compare exactly, whole numbers with fractions too.
    """

    codes: npt.NDArray[Any]
    ints: memoryview
    floats: memoryview
    texts: Texts

    def kinds(self) -> Iterator[tuple[Sequence[Any], int]]:
        """The sorted values of each kind and the code of the first of them."""
        start = FIRST
        for values in (self.ints, self.floats, self.texts):
            yield values, start
            start += len(values)

    @property
    def size(self) -> int:
        """How many codes there are."""
        return FIRST + len(self.ints) + len(self.floats) + len(self.texts)

    def like(self, value: Any) -> list[tuple[Sequence[Any], int]]:
        """The kinds a value can be compared with: texts with texts, numbers with numbers."""
        ints, floats, texts = self.kinds()
        return [texts] if isinstance(value, str) else [ints, floats]

    def values(self, code: int) -> list[Any]:
        """What a code means: the different values of a list, or one value."""
        if code < FIRST:
            return [_PLAIN[code - NULL]]
        value = next(known[code - start] for known, start in self.kinds() if code < start + len(known))
        listed = isinstance(value, str) and value.startswith(LIST)
        return list(dict.fromkeys(json.loads(value[len(LIST) :]))) if listed else [value]

    def lists(self) -> Iterator[tuple[int, list[Any]]]:
        """The lists among the values, each with its code."""
        _, _, (texts, start) = self.kinds()
        for place in range(bisect_left(texts, LIST), bisect_left(texts, _AFTER_LISTS)):
            yield start + place, json.loads(texts[place][len(LIST) :])

    def equal(self, passed: BoolArray, values: Iterable[Any]) -> None:
        """Let the codes of these values pass, and of lists that have one of them."""
        values = list(values)
        wanted = {(_kind(value), value) for value in values}
        for code, some in self.lists():
            passed[code] = any((_kind(one), one) in wanted for one in some)
        for value in values:
            if value is None or isinstance(value, bool):
                passed[NULL + _PLAIN.index(value)] = True
                continue
            for known, start in self.like(value):
                place = _place(known, value)
                if place >= 0:
                    passed[start + place] = True

    def between(self, passed: BoolArray, side: str, value: Any) -> None:
        """Let the codes of the values on one side of a value pass."""
        for known, start in self.like(value):
            place = start + (bisect_right if side in ("gt", "lte") else bisect_left)(known, value)
            if side in ("gt", "gte"):
                passed[place : start + len(known)] = True
            else:
                passed[start:place] = True
        holds = _COMPARE[side]
        for code, some in self.lists():
            passed[code] = any(_kind(one) == _kind(value) and holds(one, value) for one in some)


def _place(known: Sequence[Any], value: Any) -> int:
    """The place of a value among sorted ones, or -1."""
    place = bisect_left(known, value)
    return place if place < len(known) and known[place] == value else -1


def _kind(value: Any) -> str:
    """What is compared with each other: texts, numbers, truths, and nothing."""
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)


_COMPARE = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


class _Gathered:
    """The values of one field while documents come in: each different value is kept once, under a number."""

    def __init__(self) -> None:
        self.rows = array("q")
        self.numbers = array("q")
        self.known: dict[type, dict[Any, int]] = {kind: {} for kind in (type(None), bool, int, float, str)}
        self.count = 0

    def put(self, row: int, value: Any) -> None:
        """Note the value of a document."""
        if isinstance(value, list):
            value = LIST + json.dumps(value, ensure_ascii=False)
        number = self.known[type(value)].setdefault(value, self.count)
        if number == self.count:
            self.count += 1
        self.rows.append(row)
        self.numbers.append(number)

    def column(self, rows: int) -> Column:
        """The values in order, and each document's code."""
        codes = np.zeros(self.count, dtype=np.int64)
        ints, floats, texts = (sorted(self.known[kind]) for kind in (int, float, str))
        for code, value in enumerate([*_PLAIN, *ints, *floats, *texts], start=NULL):
            number = self.known[type(value)].get(value)
            if number is not None:
                codes[number] = code
        wide = np.zeros(rows, dtype=np.min_scalar_type(FIRST + self.count - 1))
        wide[np.frombuffer(self.rows, dtype=np.int64)] = codes[np.frombuffer(self.numbers, dtype=np.int64)]
        return _column(wide, ints, floats, [text.encode("utf-8") for text in texts])


def document_fields(identifier: str, label: str | None, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What a filter can ask of a document: its metadata, and its own id and label where that has no such key."""
    return {OWN_ID: identifier, **({} if label is None else {LABEL: label}), **metadata}


class Columns:
    """The fields of some documents, by name."""

    def __init__(self, rows: int, columns: dict[str, Column]) -> None:
        self.rows = rows
        self.columns = columns

    def get(self, name: str) -> Column:
        """A field; one that no document has is missing in all of them."""
        if name == ID and ID not in self.columns:
            name = OWN_ID
        return self.columns.get(name) or _column(np.zeros(self.rows, np.uint8), [], [], [])

    @property
    def names(self) -> set[str]:
        """The fields that some document has."""
        return set(self.columns) - {OWN_ID}

    def own_id(self, row: int) -> str:
        """The id of a document."""
        column = self.get(OWN_ID)
        _, _, (texts, start) = column.kinds()
        found: str = texts[int(column.codes[row]) - start]
        return found

    def rows_with_id(self, identifier: str) -> npt.NDArray[np.int64]:
        """The rows of documents with this id: one that is alive at most, and earlier ones that were replaced."""
        column = self.get(OWN_ID)
        _, _, (texts, start) = column.kinds()
        place = _place(texts, identifier)
        return np.flatnonzero(column.codes == start + place) if place >= 0 else np.zeros(0, dtype=np.int64)

    def store(self) -> tuple[list[dict[str, Any]], dict[str, npt.NDArray[Any]]]:
        """What to write: where each field's parts lie, and the arrays they lie in."""
        parts = {part: [np.zeros(0, kind)] for part, kind in _PARTS.items()}
        sizes = dict.fromkeys(parts, 0)
        fields = []
        for name, column in self.columns.items():
            codes, ints, floats, texts = column
            facts: dict[str, Any] = {"name": name, "type": str(codes.dtype)}
            arrays = codes.view(np.uint8), np.asarray(ints), np.asarray(floats), texts.ends, texts.blob
            for part, values in zip(parts, arrays, strict=True):
                facts[part] = [sizes[part], sizes[part] + len(values)]
                sizes[part] += len(values)
                parts[part].append(values)
            fields.append(facts)
        return fields, {f"field_{part}": np.concatenate(arrays) for part, arrays in parts.items()}

    @classmethod
    def load(cls, rows: int, fields: list[dict[str, Any]], arrays: dict[str, npt.NDArray[Any]]) -> Columns:
        """The columns of :meth:`store`, without copying."""
        columns = {}
        for facts in fields:
            cut = {part: arrays[f"field_{part}"][slice(*facts[part])] for part in _PARTS}
            codes = cut["codes"].view(facts["type"])
            if len(codes) != rows:
                raise ValueError(f"the field {facts['name']!r} has {len(codes)} values for {rows} documents")
            texts = Texts(cut["texts"], cut["ends"])
            columns[facts["name"]] = Column(codes, cut["ints"].data, cut["floats"].data, texts)
        return cls(rows, columns)


class Gathering:
    """Columns on their way in, one document after the other."""

    def __init__(self) -> None:
        self.count = 0
        self._fields: defaultdict[str, _Gathered] = defaultdict(_Gathered)

    def put(self, documents: Iterable[dict[str, Any]]) -> None:
        """The next documents, each as :func:`document_fields` gives it."""
        for fields in documents:
            for name, value in fields.items():
                self._fields[name].put(self.count, value)
            self.count += 1

    def columns(self) -> Columns:
        """Those of all documents so far."""
        found = self._fields
        if ID in found:  # the metadata of some documents has such a key: it means the others' own ids
            own, having = list(found[OWN_ID].known[str]), set(found[ID].rows)
            for row, number in enumerate(found[OWN_ID].numbers):
                if row not in having:
                    found[ID].put(row, own[number])
        return Columns(self.count, {name: one.column(self.count) for name, one in sorted(found.items())})


def _column(codes: npt.NDArray[Any], ints: list[int], floats: list[float], texts: list[bytes]) -> Column:
    ends = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)])
    ends = ends.astype(np.int32 if ends[-1] < 1 << 31 else np.int64)
    blob = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return Column(codes, np.array(ints, np.int64).data, np.array(floats, np.float64).data, Texts(blob, ends))


class Field(NamedTuple):
    """One field: in how many documents it stands, and with which values."""

    name: str
    documents: int
    values: tuple[tuple[Any, int], ...]
    """The values that come most often, each with its number of documents; none where there are too many values."""
    least: float | None
    most: float | None
    """The range of its numbers, where it has any."""


def fields_of(parts: Sequence[tuple[Columns, BoolArray | None]], most: int) -> list[Field]:
    """The fields of documents in columns, those alive only; the one that most documents have first."""
    names = {name for columns, _ in parts for name in columns.names}
    found = [_field(name, [(columns.get(name), alive) for columns, alive in parts], most) for name in names]
    return sorted((one for one in found if one.documents), key=lambda one: (-one.documents, one.name))


def _field(name: str, parts: list[tuple[Column, BoolArray | None]], most: int) -> Field:
    """What one field holds; values that come equally often in their own order."""
    documents, many = 0, False
    counts: Counter[tuple[str, Any]] = Counter()
    numbers: list[float] = []
    for column, alive in parts:
        codes = column.codes if alive is None else column.codes[alive]
        found = np.bincount(codes, minlength=column.size)
        documents += len(codes) - int(found[MISSING])
        present = np.flatnonzero(found[FIRST:]) + FIRST
        for values, start in list(column.kinds())[:2]:
            inside = present[(present >= start) & (present < start + len(values))]
            if len(inside):
                numbers += [values[int(inside[0]) - start], values[int(inside[-1]) - start]]
        many = many or len(present) > _MOST_COUNTED
        for code in [] if many else [*range(NULL, FIRST), *present.tolist()]:
            if found[code]:  # 1, 1.0 and True are equal in Python, hence the kind
                for value in column.values(code):
                    counts[type(value).__name__, value] += int(found[code])
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0][0], str(item[0][1])))
    shown = () if many else tuple((value, count) for (_, value), count in ordered[:most])
    return Field(name, documents, shown, min(numbers, default=None), max(numbers, default=None))
