"""Collections cut at random and merged in random order give the undivided answer, ties included."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordferry
from tests.engines.test_jobs import rows
from wordferry.index.config import RECOMMENDED
from wordferry.shards import Choices, jobs
from wordferry.texts.bow import TfIdf
from wordferry.texts.weights import fit_weights, weights_of_counts
from wordferry.words.related.graph import RelatedWords

pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'wordferry[cluster]')")
WORDS = ["cat", "dog", "cow", "car", "bus", "sea", "sun", "oak"]
EMBEDDINGS = wordferry.Embeddings(WORDS, np.random.default_rng(3).normal(size=(8, 3)))
DOCUMENTS = st.lists(st.lists(st.sampled_from([*WORDS, "qqq", "zzz"]), min_size=1, max_size=4), min_size=3, max_size=12)


@settings(max_examples=12, deadline=None)
@given(DOCUMENTS, st.integers(1, 12), st.integers(1, 3), st.integers(1, 5), st.sampled_from(["counts", "idf", "bm25"]))
def test_a_graph_in_blocks_and_shards_of_any_size(texts, block, shards, k, weights):
    """Few words, so many documents are equal and most distances come more than once.

    Where all words are related to each other, no c_max can be taken from the graph, and it is that of all shards still.
    """
    texts = [*texts, ["cat"]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts)]
        (folder / "docs.jsonl").write_text("\n".join(lines) + "\n")
        options, run = Choices(block=block, weights=weights, r=2), {"embeddings": EMBEDDINGS, "shards": shards}
        jobs.knn_graph(str(folder / "docs.jsonl"), str(folder / "near"), k, options, **run)
        jobs.duplicates(str(folder / "docs.jsonl"), str(folder / "close"), 0.5, options, **run)
        near, close = rows(folder / "near"), rows(folder / "close")
    used = sorted({word for text in texts for word in text} & set(WORDS), key=WORDS.index)
    own = EMBEDDINGS.restrict([WORDS.index(word) for word in used])
    related = RelatedWords.build(own, 2)
    distances = wordferry.pairwise(texts, None, RECOMMENDED, embeddings=EMBEDDINGS, related=related, weights=weights)
    pairs = {(i, j) for i, j in zip(*np.nonzero(np.triu(distances <= 0.5, 1)), strict=True)}
    assert {(int(row["first"]), int(row["second"])) for row in close} == pairs
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, : min(k, len(texts) - 1)]
    assert [row["neighbors"] for row in near] == [[str(j) for j in places] for places in order]


@settings(max_examples=30, deadline=None)
@given(DOCUMENTS, st.integers(0, 2**16))
def test_weights_from_partial_counts_in_any_order(texts, seed):
    matrix = wordferry.encode(texts, EMBEDDINGS, on_empty="keep")
    chance = random.Random(seed)
    places = list(range(len(texts)))
    chance.shuffle(places)
    cut = chance.randint(0, len(places))
    df, tokens = np.zeros(len(WORDS), dtype=np.int64), 0.0
    for some in (places[cut:], places[:cut]):
        part = matrix[some]
        df += np.bincount(part.indices, minlength=len(WORDS))
        tokens += part.sum()
    for scheme in ("idf", "log-idf", "bm25"):
        whole = fit_weights(scheme, matrix, EMBEDDINGS)
        merged = weights_of_counts(scheme, len(texts), df, tokens, EMBEDDINGS)
        assert np.array_equal(whole.per_word, merged.per_word)
        assert (whole.unseen, whole.mean_length) == (merged.unseen, merged.mean_length)
    assert np.array_equal(TfIdf.fit(matrix).idf, TfIdf.of_counts(len(texts), df).idf)
