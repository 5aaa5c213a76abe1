"""Stop words are kept: they weigh nothing when texts are compared, and are found where a query means them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import wordferry
from wordferry import Index
from wordferry.find.memory import WordSearch
from wordferry.texts.stop_marks import all_words, marked_words, query_words
from wordferry.texts.tokenizers import default_tokenizer, make_tokenizer

TEXTS = {
    "who": "The Who play tonight in London",
    "hamlet": "To be or not to be, that is the question",
    "us": "Our US office opens in May",
    "it": "IT support for laptops",
    "cat": "A cat sleeps in the office",
    "yes": "The refund was received",
    "no": "The refund was not received",
    "stop": "of the and",
}
FILLING = [f"some text number {i} on a topic that is not of interest, with support" for i in range(300)]


@pytest.fixture(params=["few", "many"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Index:
    """Few texts are split in Python, many by the kernels."""
    made = Index.create(tmp_path / request.param)
    filling = [{"id": f"f{i}", "text": text} for i, text in enumerate(FILLING)] if request.param == "many" else []
    made.add([*({"id": id, "text": text} for id, text in TEXTS.items()), *filling])
    return made


@pytest.mark.parametrize(
    ("query", "best"),
    [("the who", "who"), ("to be or not to be", "hamlet"), ("US", "us"), ("IT support", "it"), ("of the", "stop")],
)
def test_a_query_that_means_stop_words_finds_them(index: Index, query: str, best: str) -> None:
    assert index.search(query, 3)[0].id == best
    index.compact(rebuild=True)
    assert index.search(query, 3)[0].id == best
    index.verify()


def test_other_queries_are_answered_as_if_stop_words_were_not_there(index: Index, tmp_path: Path) -> None:
    texts = [(one.id, default_tokenizer()(one.text)) for one in index]
    with Index.create(tmp_path / "without", on_empty="keep") as without:
        without.add([{"id": id, "tokens": tokens} for id, tokens in texts])
        for query in ("the support of an office", "refund of the question", "not on a topic"):
            own, other = index.search(query, 5), without.search(tuple(default_tokenizer()(query)), 5)
            assert [(hit.id, hit.score) for hit in own] == [(hit.id, hit.score) for hit in other]


def test_distances_are_those_without_stop_words(index: Index, tmp_path: Path) -> None:
    texts = [(one.id, default_tokenizer()(one.text)) for one in index]
    with Index.create(tmp_path / "without", on_empty="keep") as without:
        without.add([{"id": id, "tokens": tokens} for id, tokens in texts])
        assert without.related is not None
        assert index.related is not None
        assert sorted(index.related.vocabulary) == sorted(without.related.vocabulary)
        for distance in ("rel-rwmd", "wmd", "wcd", "cosine", "act"):
            for weights in ("idf", "counts", "bm25"):
                options = {"distance": distance, "weights": weights}
                own, other = (
                    {hit.id: hit.distance for hit in one.similar("the office refund", len(one), **options)}
                    for one in (index, without)
                )
                assert own == pytest.approx(other, rel=1e-5), (distance, weights)


def test_a_score_of_stop_words_is_explained_in_the_words_of_the_text(index: Index) -> None:
    hit = index.search("the who", 1)[0]
    told = hit.explain()
    assert [part.word for part in told.words] == ["the", "who"]
    assert all(part.forms == {part.word: 1} for part in told.words)
    parts = [*told.words, *told.neighbours]
    assert sum(part.part for part in parts) == pytest.approx(hit.score)
    assert hit.passages(1)[0].text == TEXTS["who"]


def test_tokens_are_taken_as_they_are(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index") as index:
        index.add([{"id": "tokens", "tokens": ["the", "cat"]}, {"id": "text", "text": "the cat"}])
        assert [hit.id for hit in index.search(("the",))] == ["tokens"]
        near = {hit.id: hit.distance for hit in index.similar(("the", "cat"), distance="cosine")}
        assert near["tokens"] < 1e-6 < near["text"]


def test_deleted_and_replaced_documents_are_not_found_by_stop_words(index: Index) -> None:
    index.delete("who")
    index.upsert([{"id": "us", "text": "our office"}])
    assert "who" not in [hit.id for hit in index.search("the who", 400)]
    assert index.search("US") == []
    index.compact()
    assert index.search("US") == []
    index.verify()


def test_vectors_can_be_replaced(index: Index) -> None:
    words = [*default_tokenizer()(" ".join(TEXTS.values())), "the", "who", "us"]
    words = list(dict.fromkeys(words))
    index.revector(wordferry.Embeddings(words, np.random.default_rng(1).normal(size=(len(words), 8))))
    assert index.search("the who", 1)[0].id == "who"
    assert index.related is not None
    assert "the" not in index.related.vocabulary
    index.verify()


def test_stop_none_keeps_every_word_with_its_weight(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", stop=None) as index:
        index.add([{"id": id, "text": text} for id, text in TEXTS.items()])
        assert index.search("the who", 1)[0].id == "who"
        assert index.related is not None
        assert "the" in index.related.vocabulary


def test_memory_answers_as_the_index_does(index: Index) -> None:
    texts = [one.text for one in index]
    ids = index.ids()
    search = WordSearch(texts)
    for query in ("the who", "US", "IT support", "to be or not to be", "refund", "support on a topic"):
        own = [(hit.id, hit.score) for hit in index.search(query, 5)]
        assert own == [(ids[row], score) for row, score in search.search(query, 5)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("the refund", ["refund"]),
        ("the who", ["\x01the", "\x01who"]),
        ("IT support for the US", ["\x01it", "support", "\x01us"]),
        ("IT SUPPORT", ["support"]),
        ("I was not there", ["\x01i", "\x01was", "not", "\x01there"]),
        ("", []),
    ],
)
def test_which_words_a_query_means(query: str, words: list[str]) -> None:
    assert query_words(query, default_tokenizer()) == words


def test_words_of_a_function_of_ones_own_are_all_there_is() -> None:
    split: Callable[[str], list[str]] = str.split
    assert marked_words("the cat", split) == query_words("the cat", split) == all_words("the cat", split)


def test_compounds_are_cut_and_stop_words_are_not() -> None:
    words = make_tokenizer("german", stop=["oder"], compounds={"apfel", "baum", "oder", "od"})
    assert marked_words("Apfelbaum oder", words) == ["apfel", "baum", "\x01oder"]
