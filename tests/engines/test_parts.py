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
from wordferry.engines import jobs
from wordferry.engines.jobs import Settings
from wordferry.errors import InputError
from wordferry.texts.bow import TfIdf
from wordferry.texts.weights import fit_weights, weights_of_counts
from wordferry.words.related.graph import RelatedWords
from wordferry.words.related.parts import build_stripes, merge_stripes, stripe_count

pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'wordferry[cluster]')")
WORDS = ["cat", "dog", "cow", "car", "bus", "sea", "sun", "oak"]
EMBEDDINGS = wordferry.Embeddings(WORDS, np.random.default_rng(3).normal(size=(8, 3)))
DOCUMENTS = st.lists(st.lists(st.sampled_from([*WORDS, "qqq", "zzz"]), min_size=1, max_size=4), min_size=3, max_size=12)


@settings(max_examples=12, deadline=None)
@given(DOCUMENTS, st.integers(1, 12), st.integers(1, 5), st.sampled_from(["counts", "idf", "bm25"]))
def test_a_graph_in_blocks_of_any_size(texts, block, k, weights):
    """Few words, so many documents are equal and most distances come more than once."""
    texts = [*texts, ["cat"]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts)]
        (folder / "docs.jsonl").write_text("\n".join(lines) + "\n")
        options = Settings(block=block, weights=weights, r=2)
        jobs.knn_graph(str(folder / "docs.jsonl"), str(folder / "near"), k, options, embeddings=EMBEDDINGS)
        jobs.duplicates(str(folder / "docs.jsonl"), str(folder / "close"), 0.5, options, embeddings=EMBEDDINGS)
        near, close = rows(folder / "near"), rows(folder / "close")
    used = sorted({word for text in texts for word in text} & set(WORDS), key=WORDS.index)
    own = EMBEDDINGS.restrict([WORDS.index(word) for word in used])
    related = merge_stripes(own, 2, build_stripes(own, 2, range(stripe_count(len(own)))))
    distances = wordferry.pairwise(texts, None, "rel-rwmd", embeddings=EMBEDDINGS, related=related, weights=weights)
    pairs = {(i, j) for i, j in zip(*np.nonzero(np.triu(distances <= 0.5, 1)), strict=True)}
    assert {(int(row["first"]), int(row["second"])) for row in close} == pairs
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, : min(k, len(texts) - 1)]
    assert [row["neighbors"] for row in near] == [[str(j) for j in places] for places in order]


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 60), st.integers(1, 9), st.integers(1, 12), st.randoms(use_true_random=False))
def test_related_words_and_c_max_from_stripes_in_any_order(n, r, side, chance):
    rng = np.random.default_rng(n)
    vectors = rng.integers(-2, 3, size=(n, 3)) + 0.01  # few places, so many words are equally far
    emb = wordferry.Embeddings([f"w{i}" for i in range(n)], vectors, normalize=False)
    numbers = list(range(stripe_count(n, side)))
    chance.shuffle(numbers)
    cut = chance.randint(0, len(numbers))
    parts = build_stripes(emb, r, numbers[:cut], side=side) + build_stripes(emb, r, numbers[cut:], side=side)
    merged, whole = merge_stripes(emb, r, parts), RelatedWords.build(emb, r)
    chance.shuffle(parts)
    again = merge_stripes(emb, r, parts)
    assert np.array_equal(merged.own, whole.own)
    assert np.array_equal(merged.own_distances, whole.own_distances)
    assert merged.c_max == pytest.approx(whole.c_max, rel=1e-6, nan_ok=True)
    assert np.array_equal([merged.c_max], [again.c_max], equal_nan=True)
    assert (merged.graph != whole.graph).nnz == 0


def test_stripes_that_are_missing_or_come_twice_are_refused():
    emb = wordferry.Embeddings([f"w{i}" for i in range(9)], np.random.default_rng(0).normal(size=(9, 3)))
    parts = build_stripes(emb, 2, range(3), side=3)
    for wrong in (parts[:2], [*parts, parts[0]]):
        with pytest.raises(InputError, match="needed once"):
            merge_stripes(emb, 2, wrong)
    with pytest.raises(InputError, match="3 stripes"):
        build_stripes(emb, 2, [3], side=3)


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
