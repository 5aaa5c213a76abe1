"""What the wheel carries is what the issue asked for."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np

import wordferry
from wordferry.texts import datasets
from wordferry.texts.bow import bags


def test_sample_holds_what_it_promises() -> None:
    sample = wordferry.sample()
    assert len(sample.articles) >= 240
    assert len(sample.triplets) == 60
    topics = Counter(sample.labels)
    assert len(topics) >= 8
    assert min(topics.values()) >= 20
    ids = [article.id for article in sample.articles]
    assert len(set(ids)) == len(ids)
    assert len(set(sample.texts)) == len(ids)
    for article in sample.articles:
        assert 80 <= len(str(article.text).split()) <= 150, article.id
        assert article.metadata["topic"] == article.label
        assert article.metadata["title"]
        assert article.metadata["subtopic"]
    paraphrases = [a for a in sample.articles if a.metadata["paraphrase_of"]]
    assert len(paraphrases) >= 30
    labels = dict(zip(ids, sample.labels, strict=True))
    assert all(labels[a.metadata["paraphrase_of"]] == a.label for a in paraphrases)
    assert all({a, b, c} <= set(ids) and len({a, b, c}) == 3 for a, b, c in sample.triplets)


def test_default_vectors_cover_the_sample() -> None:
    embeddings = wordferry.default_embeddings()
    assert embeddings.matrix.shape == (60_000, 100)
    np.testing.assert_allclose(np.linalg.norm(embeddings.matrix, axis=1), 1, atol=1e-6)
    found = bags(wordferry.sample().texts, embeddings.vocabulary)
    assert found.coverage.min() > 0.85
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
