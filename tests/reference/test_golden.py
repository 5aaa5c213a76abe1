"""The references against independently computed values (60 documents, 400 words, r = 16)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from wordferry.kernels import reference


@pytest.fixture(scope="module")
def corpus(golden: Path):
    vectors = np.load(golden / "embeddings.npy")
    docs = json.loads((golden / "docs.json").read_text())["docs"]
    bags = [{i: count / len(doc) for i, count in Counter(doc).items()} for doc in docs]
    graph, c_max = reference.related_words(vectors, 16)
    return golden, vectors, bags, graph, c_max


def check(name, corpus, value):
    golden, _, bags, _, _ = corpus
    truth = np.load(golden / f"formula_{name}.npy")
    for i in range(0, 60, 4):
        for j in range(i % 5, 60, 5):
            assert value(bags[i], bags[j]) == pytest.approx(truth[i, j], abs=1e-6), (i, j)


def test_c_max_and_graph(corpus):
    golden, _, _, graph, c_max = corpus
    assert c_max == pytest.approx(1.32184185, abs=1e-8)
    cache = np.load(golden / "related_r16.npz")
    theirs = set(zip(cache["i"].tolist(), cache["j"].tolist(), strict=True))
    ours = {(i, j) for i in graph for j in graph[i]}
    assert {pair for pair in theirs if pair[0] != pair[1]} == ours


@pytest.mark.parametrize(("name", "overlap"), [("plain", "keep"), ("second", "omr"), ("strict", "residual")])
def test_rwmd(corpus, name, overlap):
    cost = reference.euclidean_cost(corpus[1])
    check(f"rwmd_{name}", corpus, lambda x, y: reference.rwmd(x, y, cost, overlap))


def test_rel_rwmd(corpus):
    cost = reference.related_cost(corpus[3], corpus[4])
    check("rel-rwmd_r16", corpus, lambda x, y: reference.rwmd(x, y, cost, "omr"))


def test_wmd(corpus):
    cost = reference.euclidean_cost(corpus[1])
    check("wmd", corpus, lambda x, y: reference.wmd(x, y, cost))


def test_rel_wmd_residual(corpus):
    cost = reference.related_cost(corpus[3], corpus[4])
    check("rel-wmd_residual_r16", corpus, lambda x, y: reference.wmd(x, y, cost, "residual"))


def test_rel_wmd_keep_without_the_clamp(corpus):
    """The golden "full" values do not clamp related distances at c_max; ours do (see the explanation of rel-wmd).

    They differ only against document 52, a single outlier whose related words are all beyond c_max.
    """
    _, _, bags, graph, c_max = corpus
    unclamped = {i: dict(row) for i, row in graph.items()}
    check(
        "rel-wmd_full_r16",
        corpus,
        lambda x, y: reference.wmd(x, y, lambda i, j: 0.0 if i == j else unclamped[i].get(j, c_max)),
    )
    clamped = reference.related_cost(graph, c_max)
    assert reference.wmd(bags[3], bags[52], clamped) == pytest.approx(c_max)
