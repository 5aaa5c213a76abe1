"""The term dictionary: one number for a word, never given to another, and looked up without reading the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordferry
from tests.index.collection import PLAIN, embeddings
from wordferry.errors import FormatError
from wordferry.index import Index
from wordferry.index.storage.terms import TermDictionary
from wordferry.index.write.counting import Counting
from wordferry.texts.tokenizers import WordTokenizer

Make = Callable[..., Index]
WEIGHTS = ["counts", "idf", "log-idf", "bm25", "norm", "norm-idf"]


def numbers(index: Index) -> dict[str, int]:
    with index.backend.state() as (connection, _):  # type: ignore[attr-defined]
        return dict(connection.execute("SELECT word, number FROM words"))


def answers(index: Index, **options: Any) -> list[Any]:
    return [(hit.id, hit.distance) for hit in index.similar("w01 w05 cobol simula", 50, **options)]


def test_words_are_numbered_as_they_come_and_keep_their_numbers(make: Make) -> None:
    """Whether or not they have a vector; a word that comes back after it was forgotten gets a new number."""
    index = make()
    index.add([{"id": "a", "text": "w05 cobol"}, {"id": "b", "text": "w01 fortran w05"}])
    first = numbers(index)
    assert sorted(first.values()) == list(range(4))
    index.add([{"id": "c", "text": "simula w02 cobol"}])
    second = numbers(index)
    assert second.items() >= first.items()
    assert sorted(second.values()) == list(range(6))
    index.delete(["b"])
    assert numbers(index) == second
    index.compact()
    third = numbers(index)
    assert third == {word: second[word] for word in ("w05", "cobol", "simula", "w02")}
    index.add([{"id": "d", "text": "fortran w01 ada w09"}])
    last = numbers(index)
    assert last.items() >= third.items()
    assert sorted(last[word] for word in ("fortran", "w01", "ada", "w09")) == [6, 7, 8, 9]
    index.compact(rebuild=True)
    assert numbers(index) == last
    index.verify()


def test_numbers_are_not_reused_by_another_writer(make: Make, tmp_path: Path) -> None:
    with make() as index:
        index.add([{"id": "a", "text": "w05 cobol w06 fortran"}])
        index.delete(["a"])
        index.compact()
        assert numbers(index) == {}
    with Index.open(tmp_path / "index") as again:
        again.add([{"id": "b", "text": "cobol w06"}])
        assert sorted(numbers(again).values()) == [4, 5]
        again.verify()
        assert [hit.id for hit in again.search("cobol")] == ["b"]


def test_a_call_that_fails_numbers_nothing(make: Make) -> None:
    index = make()
    index.add([{"id": "a", "text": "w05 cobol"}])
    before = numbers(index)
    with pytest.raises(wordferry.errors.InputError):
        index.add([{"id": "b", "text": "fortran w06"}, {"id": "a", "text": "ada"}])
    assert numbers(index) == before
    index.add([{"id": "b", "text": "ada w07"}])
    assert sorted(numbers(index).values()) == [0, 1, 2, 3]
    assert [hit.id for hit in index.search("ada")] == ["b"]
    assert index.search("fortran") == []
    index.verify()


@contextmanager
def statements(index: Index) -> Iterator[list[str]]:
    """The statements that are executed over the catalogue of an opened index."""
    found: list[str] = []
    catalogue = index.backend._catalogue  # type: ignore[attr-defined]
    with catalogue.reading() as connection:
        connection.set_trace_callback(found.append)
    yield found


@pytest.mark.parametrize("ask", ["search", "similar", "wmd", "wcd", "cosine", "explain"])
def test_a_search_in_a_fresh_process_does_not_read_the_words_without_vectors(tmp_path: Path, ask: str) -> None:
    """Those of the query are looked up by their spelling; of all others only the vectors of those that have one."""
    with Index.create(tmp_path / "index", embeddings=embeddings(), related=4) as index:
        index.add([{"id": f"d{i}", "text": f"w{i % 60:02d} w{i % 7:02d} name{i} cobol"} for i in range(1500)])
    with Index.open(tmp_path / "index") as index, statements(index) as executed:
        if ask == "search":
            assert index.search("name7 cobol", 3)[0].id == "d7"
        else:
            distance = None if ask in ("similar", "explain") else ask
            hits = index.similar("w07 name7 cobol", 3, distance=distance)
            assert hits[0].id == "d7"
            if ask == "explain":
                hits[1].explain()
    over_words = [one for one in executed if re.search(r"\bwords\b", one) and one.lstrip().upper().startswith("SELECT")]
    assert over_words
    for one in over_words:
        assert "IN (" in one or "vector IS NOT NULL" in one or "word < '\x02'" in one, one  # the last: stop words
        assert "name8'" not in one


def test_a_damaged_word_is_named_when_it_is_looked_up(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordferry.index.write.segment_writer.BUFFER", 1)
    index = make()
    index.add([{"id": "a", "text": "w05 cobol"}, {"id": "b", "text": "w01 fortran"}])
    with index.backend._catalogue.writing() as connection:  # type: ignore[attr-defined]
        connection.execute("UPDATE words SET number = number + 10 WHERE word = 'cobol'")
    assert [hit.id for hit in index.search("fortran")] == ["b"]
    for ask in (index.search, index.similar):
        with pytest.raises(FormatError, match="the word 'cobol'"):
            ask("w05 cobol", **({"unknown": "match"} if ask == index.similar else {}))


def test_a_lost_word_of_the_buffer_is_damage_of_the_catalogue_and_nothing_else(make: Make) -> None:
    """Not of a segment, which could be made again."""
    index = make()
    index.add([{"id": "a", "text": "w05 cobol"}])
    with index.backend._catalogue.writing() as connection:  # type: ignore[attr-defined]
        connection.execute("DELETE FROM words WHERE word = 'cobol'")
    with pytest.raises(FormatError, match="the list of words") as caught:
        index.search("w05")
    assert "segment" not in str(caught.value)


def test_a_lost_word_with_a_vector_is_damage(make: Make, tmp_path: Path) -> None:
    with make() as index:
        index.add([{"id": "a", "text": "w05 cobol"}])
        with index.backend._catalogue.writing() as connection:  # type: ignore[attr-defined]
            connection.execute("DELETE FROM words WHERE word = 'w05'")
    with Index.open(tmp_path / "index") as again, pytest.raises(FormatError, match="the list of words"):
        again.similar("w05")


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("distance", ["rel-rwmd", "wmd", "rwmd", "wcd", "cosine", "bow-l1", "tfidf-cosine"])
def test_words_of_weight_0_are_as_if_they_were_not_there(make: Make, weights: str, distance: str) -> None:
    """With unknown="drop" words without a vector weigh nothing: documents and queries answer as without them."""
    texts = [f"w{i % 11:02d} w{i % 5:02d} w{i * 7 % 60:02d}" for i in range(60)]
    index, plain = make("whole", weights=weights), make("without", weights=weights)
    index.add([{"id": str(i), "text": f"cobol name{i} {text} {'simula ' * (i % 4)}"} for i, text in enumerate(texts)])
    plain.add([{"id": str(i), "text": text} for i, text in enumerate(texts)])
    assert index.config.unknown == PLAIN["unknown"] == "drop"
    wanted = answers(plain, distance=distance)
    assert answers(index, distance=distance) == wanted
    assert answers(index, distance=distance, unknown="match") != wanted
    for hit in index.similar("w01 w05 cobol", 2, distance=distance):
        assert hit.explain().distance == pytest.approx(hit.distance, abs=1e-5)
        assert "cobol" not in str(hit.explain())


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("unknown", ["match", "drop"])
@pytest.mark.parametrize("overlap", ["omr", "keep", "residual"])
def test_queries_together_are_answered_as_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weights: str, unknown: str, overlap: str
) -> None:
    """Panels serve every weighting and growth, bit by bit."""
    monkeypatch.setattr("wordferry.index.search.lists.FEW", 0)
    options: dict[str, Any] = {"weights": weights, "unknown": unknown, "overlap": overlap}
    with Index.create(tmp_path / "index", embeddings=embeddings(), related=4, **options) as index:
        texts = [
            f"w{i % 11:02d} w{i % 5:02d} w{i * 7 % 60:02d} {'w03 ' * (i % 4)}name{i % 9} cobol" for i in range(400)
        ]
        index.add(texts)
        queries = [f"w{i:02d} w{i * 3 % 60:02d} cobol name{i % 12}" for i in range(37)]
        together = index.similar(queries, 7)
        for query, hits in zip(queries, together, strict=True):
            alone = index.similar(query, 7)
            assert [(hit.id, hit.distance) for hit in hits] == [(hit.id, hit.distance) for hit in alone]


def test_few_documents_do_not_have_all_words_copied() -> None:
    """Copying two million words took seconds, for the first thousand documents of whoever opened the index."""
    few, many = (Counting(TermDictionary.of_no_index(embeddings().vocabulary), WordTokenizer()) for _ in range(2))
    for counting in (few, many):
        for number in range(64 * 1000):
            counting.terms.number(f"name{number}")
    texts = [f"w{n % 60:02d} name{n} name{7 * n} new{n % 50}" for n in range(900)]
    once = many.count([*texts, *texts])
    in_python = [few.count(texts[start : start + 300]) for start in range(0, 900, 300)]
    assert few._counter is None
    assert many._counter is not None
    for name in ("words", "counts"):
        own = np.concatenate([getattr(part.bags, name) for part in in_python])
        assert np.array_equal(own, getattr(once.bags, name)[: len(own)])
