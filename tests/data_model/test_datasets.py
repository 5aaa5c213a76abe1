"""What the wheel carries is what the issue asked for."""

from __future__ import annotations

import re
import tracemalloc
from collections import Counter
from importlib import resources
from statistics import median
from typing import Any

import numpy as np
import pytest

import wordferry
from wordferry.texts import datasets
from wordferry.texts.bow import bags
from wordferry.texts.documents import Record


def words(article: Record) -> int:
    return len(str(article.text).split())


def test_sample_holds_what_it_promises() -> None:
    sample = wordferry.sample()
    topics = Counter(sample.labels)
    assert len(sample.articles) >= 600
    assert len(topics) >= 12
    assert min(topics.values()) >= 20
    ids = [str(article.id) for article in sample.articles]
    assert ids == sorted(set(ids))
    assert len(set(sample.texts)) == len(ids)
    for article in sample.articles:
        assert 30 <= words(article) <= 200, article.id
        assert article.metadata["topic"] == article.label == str(article.id).rsplit("-", 1)[0]
        assert article.metadata["title"]
        assert article.metadata["subtopic"]
    assert 70 <= median(words(article) for article in sample.articles) <= 90


@pytest.mark.parametrize(("field", "least"), [("paraphrase_of", 60), ("near_duplicate_of", 20)])
def test_the_other_version_of_an_article_is_another_of_its_topic(field: str, least: int) -> None:
    articles = {article.id: article for article in wordferry.sample().articles}
    marked = [article for article in articles.values() if article.metadata[field]]
    assert len(marked) >= least
    for article in marked:
        other = articles[article.metadata[field]]
        assert other.id != article.id
        assert other.label == article.label


def test_no_sentence_is_in_two_articles_but_near_duplicates() -> None:
    articles = wordferry.sample().articles
    pairs = {frozenset((a.id, a.metadata["near_duplicate_of"])) for a in articles if a.metadata["near_duplicate_of"]}
    where: dict[str, set[Any]] = {}
    for article in articles:
        for sentence in re.split(r"(?<=[.!?])\s+", str(article.text).lower()):
            if len(sentence.split()) > 3:
                where.setdefault(sentence, set()).add(article.id)
    assert [found for found in where.values() if len(found) > 1 and frozenset(found) not in pairs] == []
    repeated = {frozenset(found) for found in where.values() if len(found) > 1}
    assert pairs == repeated  # each marked pair does share a sentence


def test_every_query_is_answered_by_an_article() -> None:
    sample = wordferry.sample()
    ids = {article.id for article in sample.articles}
    numbers = [number for number, _ in sample.queries]
    assert len(numbers) == len(set(numbers)) == len({text for _, text in sample.queries}) == 120
    assert set(sample.judgements) == set(numbers)
    for number, text in sample.queries:
        assert 2 <= len(text.split()) <= 12, text
        assert 1 <= len(sample.judgements[number]) <= 12
        assert set(sample.judgements[number]) <= ids
        assert set(sample.judgements[number].values()) <= {1, 2}
        assert 2 in sample.judgements[number].values(), text
    assert sum(len(grades) >= 3 for grades in sample.judgements.values()) >= 50
    assert sum(len(grades) for grades in sample.judgements.values()) >= 300


def test_triplets_are_of_three_articles_of_the_sample() -> None:
    sample = wordferry.sample()
    ids = {article.id for article in sample.articles}
    assert len(sample.triplets) == len(set(sample.triplets)) >= 150
    assert all({a, b, c} <= ids and len({a, b, c}) == 3 for a, b, c in sample.triplets)


def test_sample_is_small_and_says_what_it_is() -> None:
    folder = resources.files("wordferry.data").joinpath("sample")
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) < 800_000
    sample = wordferry.sample()
    counts = (len(sample.articles), len(set(sample.labels)), len(sample.queries), len(sample.triplets))
    assert repr(sample) == "Sample({} articles, {} topics, {} queries, {} triplets)".format(*counts)
    with pytest.raises(TypeError):
        sample.judgements["q001"]["animals-01"] = 0  # type: ignore[index]


def test_default_vectors_cover_the_sample() -> None:
    embeddings = wordferry.default_embeddings()
    assert embeddings.matrix.shape == (60_000, 100)
    np.testing.assert_allclose(np.linalg.norm(embeddings.matrix, axis=1), 1, atol=1e-6)
    found = bags(wordferry.sample().texts, embeddings.vocabulary)
    assert found.coverage.mean() > 0.9
    assert found.coverage.min() > 0.4  # product and personal names have no vector, as in real texts
    assert embeddings.vector("king") @ embeddings.vector("queen") > 0.7
    assert len(set(embeddings.vocabulary)) == len(embeddings)  # loaded without the check


def test_default_vectors_need_little_memory() -> None:
    tracemalloc.start()
    try:
        datasets.default_embeddings.__wrapped__()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30e6


def test_both_are_loaded_once() -> None:
    assert wordferry.sample() is wordferry.sample()
    assert wordferry.default_embeddings() is wordferry.default_embeddings()
