"""Word search with an encoder: what meaning finds, what it adds, and that nothing changes without one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.encoders.hashing import hashed

from wordferry.errors import InputError
from wordferry.find import Settings, WordSearch

TEXTS = [
    "the kitten is asleep on a chair",
    "interest on a loan rises every year",
    "a vessel left the harbour in the morning",
    "the cat sits on the chair and purrs",
    "the bank lends money to farmers",
    "trees grow slowly in the north",
    "a road leads over the mountains",
    "music was heard in the old town",
]


@pytest.fixture(scope="module")
def texts() -> WordSearch:
    return WordSearch(TEXTS, encoder=hashed)


def parts_of(explained: object) -> float:
    found = sum(one.part for one in (*explained.words, *explained.neighbours))
    return found + (0 if explained.meaning is None else explained.meaning.part)


def test_a_text_that_shares_no_word_is_found(texts: WordSearch) -> None:
    assert [row for row, _ in WordSearch(TEXTS).search("feline tomcat")] == []
    found = texts.search("feline tomcat", 2)
    assert {row for row, _ in found} == {0, 3}
    told = found.explain(0)
    assert not any(one.part for one in told.words)
    assert told.missing == ("feline", "tomcat")
    assert told.meaning.part > 0
    assert told.meaning.cosine > told.meaning.mean


@pytest.mark.parametrize("lift", [0, 0.3, 1])
def test_the_parts_of_every_score_sum_to_it(texts: WordSearch, lift: float) -> None:
    for query in ("a cat on a chair", "money and music", "credit", "old ship"):
        found = texts.search(query, len(TEXTS), lift=lift)
        assert len(found) >= 2
        for place, (_, score) in enumerate(found):
            assert parts_of(found.explain(place)) == pytest.approx(score, abs=1e-9)


def test_scores_are_words_and_deviations_from_the_mean(texts: WordSearch) -> None:
    query, weight = "a cat on a chair", 3.0
    vectors = hashed([*TEXTS, query])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units[:-1] @ units[-1]
    expected = weight * np.maximum((cosines - cosines.mean()) / cosines.std(), 0)
    words = WordSearch(TEXTS).search(query, lift=0)
    expected[words.rows] += words.scores
    found = texts.search(query, len(TEXTS), lift=0, meaning=weight)
    assert found.rows.tolist() == [row for row in np.argsort(-expected, kind="stable") if expected[row] > 0]
    np.testing.assert_allclose(found.scores, expected[found.rows], atol=2e-2)


def test_meaning_0_is_the_search_by_words_to_the_bit(texts: WordSearch) -> None:
    plain = WordSearch(TEXTS)
    for query in ("a cat on a chair", "money and music"):
        one, other = texts.search(query, meaning=0), plain.search(query)
        assert one.rows.tolist() == other.rows.tolist()
        assert one.scores.tolist() == other.scores.tolist()
        assert one.explain().to_json() == other.explain().to_json()
        assert "meaning" not in other.explain().to_json()


def test_allowed_rows_are_the_only_ones_and_keep_their_scores(texts: WordSearch) -> None:
    whole = dict(texts.search("feline money", len(TEXTS), lift=0))
    allowed = np.arange(len(TEXTS)) % 2 == 0
    some = dict(texts.search("feline money", len(TEXTS), lift=0, allowed=allowed))
    assert some
    assert all(row % 2 == 0 and score == whole[row] for row, score in some.items())


def test_vectors_can_be_brought() -> None:
    encoded = WordSearch(TEXTS, encoder=hashed)
    brought = WordSearch(TEXTS, vectors=hashed(TEXTS))
    one = encoded.search("feline", 3, meaning=2)
    other = brought.search("feline", 3, vector=hashed(["feline"])[0])
    assert list(one) == list(other)
    with pytest.raises(InputError, match="no encoder for the query"):
        brought.search("feline")
    assert list(brought.search("cat", meaning=0)) == list(WordSearch(TEXTS).search("cat"))


def test_a_document_without_a_vector_is_found_by_its_words() -> None:
    vectors = hashed(TEXTS)
    vectors[3] = 0
    found = WordSearch(TEXTS, vectors=vectors).search("cat", len(TEXTS), vector=hashed(["cat"])[0])
    assert 3 in found.rows.tolist()
    assert found.explain(found.rows.tolist().index(3)).meaning.cosine is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vectors": hashed(TEXTS)[:3]}, "8 rows, one for each document"),
        ({"vectors": np.ones(8)}, "8 rows, one for each document"),
        ({"vectors": "text"}, "array of numbers"),
        ({"vectors": hashed(TEXTS)[:, :5], "encoder": hashed}, "5 dimensions, and those that are there have 64"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WordSearch(TEXTS, **arguments)


def test_a_query_vector_must_fit(texts: WordSearch) -> None:
    with pytest.raises(InputError, match="has 3 dimensions, those of the documents have 64"):
        texts.search("cat", vector=[1, 2, 3])
    with pytest.raises(InputError, match="documents that have vectors"):
        WordSearch(TEXTS).search("cat", vector=[1, 2, 3])


def test_a_longer_list_begins_with_the_shorter_one(texts: WordSearch) -> None:
    long = list(texts.search("a ship for money", 8))
    assert list(texts.search("a ship for money", 3)) == long[:3]


def test_the_weight_is_a_setting() -> None:
    assert Settings().changed(meaning=0.5).meaning == 0.5
    with pytest.raises(InputError, match="meaning"):
        Settings(meaning=-1)


def test_a_column_of_a_table_and_progress() -> None:
    seen: list[tuple[int, int]] = []
    WordSearch(TEXTS, encoder=hashed, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(TEXTS), len(TEXTS))
