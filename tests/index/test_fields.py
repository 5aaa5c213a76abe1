"""The fields that documents can be filtered by."""

from __future__ import annotations

from pathlib import Path

import wordferry
from wordferry.index.storage.columns import Field


def test_fields_of_an_index(tmp_path: Path) -> None:
    """Counts over segments, the buffer and deletions; kinds that Python takes for equal are kept apart."""
    with wordferry.Index.create(tmp_path / "index") as index:
        assert index.fields() == []
        index.add([{"id": f"a{i}", "text": "a boat", "year": 2000 + i % 3, "label": "sea"} for i in range(5)])
        index.compact()
        index.add([{"id": "b", "text": "a river", "year": 1.5, "open": True, "title": "River"}])
        index.add([{"id": "c", "text": "a ferry", "year": "2000", "open": None, "note": "gone"}])
        index.add([{"id": "d", "text": "a ferry", "open": 1}])
        index.delete(["c", "a4"])
        found = {field.name: field for field in index.fields()}
    assert found["year"] == Field("year", 5, ((2000, 2), (1.5, 1), (2001, 1), (2002, 1)), 1.5, 2002)
    assert found["label"] == Field("label", 4, (("sea", 4),), None, None)
    assert [(type(value), count) for value, count in found["open"].values] == [(bool, 1), (int, 1)]
    assert found["title"].values == (("River", 1),)
    assert set(found) == {"year", "label", "open", "title"}


def test_many_values_are_not_listed(tmp_path: Path) -> None:
    with wordferry.Index.create(tmp_path / "index") as index:
        index.add([{"text": "a boat", "number": i} for i in range(10_050)])
        (field,) = index.fields()
    assert field == Field("number", 10_050, (), 0, 10_049)
