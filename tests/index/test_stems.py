"""The stems that segments keep: those of the words, whoever made them, and made again where they are missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordferry
from wordferry.errors import FormatError
from wordferry.find.stems import edition, stem_keys
from wordferry.index import Index
from wordferry.index.storage import segments, stems
from wordferry.index.storage.segments import SegmentRows
from wordferry.index.write import segment_writer

ARTICLES = wordferry.sample().articles[:90]
QUERIES = ["the cost of heating and the price of bread", "zzyzx heated qwertzuiop", "planets and their moons"]


def filled(place: Path) -> Index:
    """Two segments and a buffer, with words that have no vector."""
    index = Index.create(place)
    for start, stop in ((0, 40), (40, 80), (80, 90)):
        texts = [f"{one.text} zzyzx{'es' * (n % 2)} qwertzuiop{n}" for n, one in enumerate(ARTICLES[start:stop], start)]
        index.add([{"id": str(start + n), "text": text} for n, text in enumerate(texts)])
    return index


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_writer, "BUFFER", 20)
    monkeypatch.setattr(segment_writer, "SEGMENT", 40)


def answers(index: Index) -> list[Any]:
    return [[(hit.id, hit.score, str(hit.explain())) for hit in hits] for hits in index.search(QUERIES, 20)]


def of_another_edition(rows: SegmentRows) -> SegmentRows:
    assert rows.stems is not None
    return replace(rows, stems=replace(rows.stems, edition="english, Snowball 0", keys=rows.stems.keys + np.uint64(1)))


@pytest.mark.usefixtures("small_segments")
def test_stems_of_another_version_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(tmp_path / "right") as index:
        wanted = answers(index)
        index.verify()
    write = segments.write
    monkeypatch.setattr(segments, "write", lambda folder, rows, *rest: write(folder, of_another_edition(rows), *rest))
    with filled(tmp_path / "other") as index:
        assert answers(index) == wanted
        index.verify()
        monkeypatch.undo()
        index.compact()
        assert [hits[0].score for hits in index.search(QUERIES)] == [hits[0][1] for hits in wanted]


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("wrong", ["keys", "words", "df"])
def test_verify_sees_stems_of_other_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    def changed(rows: SegmentRows) -> SegmentRows:
        assert rows.stems is not None
        array = np.array(getattr(rows.stems, wrong))
        array[3] = array[3] + 1 if wrong != "words" else array[4]
        return replace(rows, stems=replace(rows.stems, **{wrong: array}))

    write = segments.write
    monkeypatch.setattr(segments, "write", lambda folder, rows, *rest: write(folder, changed(rows), *rest))
    with filled(tmp_path / "index") as index, pytest.raises(FormatError, match="stems do not agree"):
        index.verify()


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("wrong", ["starts", "words", "df"])
def test_stems_that_lead_outside_are_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """Of a segment too large to be compared with its checksums when it is opened."""

    def changed(rows: SegmentRows) -> SegmentRows:
        assert rows.stems is not None
        array = np.array(getattr(rows.stems, wrong))
        if wrong == "df":
            array = array[:-1]
        else:
            array[3] = 2**31 - 1
        return replace(rows, stems=replace(rows.stems, **{wrong: array}))

    write = segments.write
    monkeypatch.setattr(segments, "write", lambda folder, rows, *rest: write(folder, changed(rows), *rest))
    with filled(tmp_path / "index") as index, pytest.raises(FormatError, match=r"A segment of .* is damaged"):
        index.search("heating")


@pytest.mark.usefixtures("small_segments")
def test_only_the_words_that_are_asked_for_are_read(tmp_path: Path) -> None:
    with filled(tmp_path / "index") as index:
        wanted = answers(index)
    with Index.open(tmp_path / "index") as index:
        assert answers(index) == wanted
        with index.backend.state() as state:
            _, forms = index.backend.words.ranker(state)
            (number,) = state.connection.execute("SELECT number FROM words WHERE word = 'qwertzuiop7'").fetchone()
        assert number not in forms._names
        assert 0 < len(forms._names) < 100 < state.snapshot.terms.size
        assert forms.places.keys() == {word for query in QUERIES for word in index.tokenizer(query)}
    with Index.open(tmp_path / "index") as index:  # a word that is not the one whose stem the segment knows
        index.search("planets")
        with index.backend._catalogue.writing() as connection:
            connection.execute("UPDATE words SET word = 'qwertzuiop888' WHERE word = 'qwertzuiop8'")
        with pytest.raises(FormatError, match="the word 'qwertzuiop888'"):
            index.search("qwertzuiop888")
        with pytest.raises(FormatError, match="the word 'qwertzuiop888'"):
            index.verify()


def test_keys_of_stems_are_the_same_everywhere() -> None:
    assert stem_keys(["heat", ""]).tolist() == [3462486874480012446, 13020603013274838756]
    assert edition("none") == "none"
    assert edition("english").startswith("english, Snowball ")


def test_numbers_of_stems_grow_and_stay() -> None:
    numbers = stems.StemNumbers()
    first = np.array([5, 9, 70], dtype=np.uint64)
    assert numbers.find(5) == -1
    assert numbers.take(first).tolist() == [0, 1, 2]
    assert numbers.take(np.array([1, 9, 80], dtype=np.uint64)).tolist() == [3, 1, 4]
    assert numbers.take(first).tolist() == [0, 1, 2]
    assert [numbers.find(key) for key in (80, 1, 2)] == [4, 3, -1]
    assert stems.StemNumbers(first).take(np.array([9, 10], dtype=np.uint64)).tolist() == [1, 3]
