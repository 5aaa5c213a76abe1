"""The same answer whatever the threads, blocks, order, sparse flavour and index type."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.relaxed.cases import Corpus, matrix, random_corpus
from wordferry import Embeddings, pairwise
from wordferry.compare.distances import relaxed
from wordferry.kernels import passes

RELAXED = ["rwmd", "rel-rwmd"]
FAST = ["cosine", "bow-l1", "tfidf-l1", "tfidf-cosine", "wcd", *RELAXED]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return random_corpus(seed=7, documents=70)


@pytest.mark.parametrize("distance", FAST)
def test_threads(corpus: Corpus, distance: str) -> None:
    one = pairwise(corpus.x, corpus.y, distance, threads=1, **corpus.options)
    for threads in (2, 3, 8):
        out = pairwise(corpus.x, corpus.y, distance, threads=threads, **corpus.options)
        tolerance = 1e-6 if distance == "wcd" else 0  # matrix products may add in another order with other threads
        np.testing.assert_allclose(out, one, rtol=0, atol=tolerance)


@pytest.mark.parametrize("distance", RELAXED)
@pytest.mark.parametrize("algorithm", ["standard", "linear"])
def test_a_part_is_a_part_of_the_whole(corpus: Corpus, distance: str, algorithm: str) -> None:
    whole = pairwise(corpus.x, corpus.y, distance, algorithm=algorithm, **corpus.options)
    for rows, columns in ((slice(0, 1), slice(None)), (slice(3, 20), slice(5, 38)), (slice(None), slice(69, 70))):
        out = pairwise(corpus.x[rows], corpus.y[columns], distance, algorithm=algorithm, **corpus.options)
        np.testing.assert_array_equal(out, whole[rows, columns])


def test_blocks_of_the_vocabulary(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """RWMD with all words in one block, and with sixteen words a block."""
    options = {"algorithm": "linear", **corpus.options}
    whole = pairwise(corpus.x, corpus.y, "rwmd", **options)
    monkeypatch.setattr(relaxed, "COLUMNS", 16)
    monkeypatch.setattr(relaxed, "NEAREST_PART", 1 << 30)
    np.testing.assert_array_equal(pairwise(corpus.x, corpus.y, "rwmd", **options), whole)


def test_more_memory_makes_fewer_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of words is a pass over the output, so a block is as large as the memory lets it be."""
    embeddings = Embeddings([f"w{i}" for i in range(3000)], np.random.default_rng(0).normal(size=(3000, 4)))
    X = sp.random_array((800, 3000), density=0.01, rng=np.random.default_rng(1), format="csr")
    accumulate, blocks = passes.accumulate, []
    monkeypatch.setattr(passes, "accumulate", lambda *given, **named: (blocks.append(1), accumulate(*given, **named)))
    few = pairwise(X, None, "rwmd", embeddings=embeddings, algorithm="linear", memory=1 << 28)
    assert len(blocks) == 1
    many = pairwise(X, None, "rwmd", embeddings=embeddings, algorithm="linear", memory=1 << 20)
    assert len(blocks) == 1 + 3000 // 128 + 1
    np.testing.assert_array_equal(few, many)


@pytest.mark.parametrize("side", ["both", "right"])
def test_memory(corpus: Corpus, side: str) -> None:
    """A small budget computes the second term of RWMD in parts."""
    X = matrix(corpus.first * 8, len(corpus.embeddings))
    options = {"algorithm": "linear", "side": side, **corpus.options}
    np.testing.assert_array_equal(pairwise(X, X, "rwmd", memory=1 << 20, **options), pairwise(X, X, "rwmd", **options))


@pytest.mark.parametrize("distance", FAST)
def test_order_of_documents(corpus: Corpus, distance: str) -> None:
    order = np.random.default_rng(0).permutation(len(corpus.first))
    out = pairwise(corpus.x[order], corpus.y, distance, **corpus.options)
    whole = pairwise(corpus.x, corpus.y, distance, **corpus.options)
    np.testing.assert_array_equal(out, whole[order])


def flavours(X: sp.csr_array) -> dict[str, object]:
    """The same weights in every form that is accepted."""
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    unsorted = X.copy()
    for i in range(X.shape[0]):
        span = slice(X.indptr[i], X.indptr[i + 1])
        unsorted.indices[span] = X.indices[span][::-1]
        unsorted.data[span] = X.data[span][::-1]
    unsorted.has_sorted_indices = False
    half = X.astype(np.float64)
    twice = sp.csr_array(
        (np.repeat(half.data / 2, 2), np.repeat(X.indices, 2), X.indptr.astype(np.int64) * 2), shape=X.shape
    )
    padded = sp.hstack([X, sp.csr_array((X.shape[0], 1))]).tocsr()[:, : X.shape[1]]
    return {
        "csr_matrix": sp.csr_matrix(X),
        "csc": sp.csc_array(X),
        "coo": sp.coo_array(X),
        "lil": sp.lil_array(X),
        "dense": X.toarray(),
        "float64": X.astype(np.float64),
        "float32": X.astype(np.float32),
        "int8": X.astype(np.int8),
        "int64 indices": wide,
        "unsorted": unsorted,
        "duplicates": twice,
        "hstacked": padded,
        "explicit zeros": _with_zero(X),
    }


def _with_zero(X: sp.csr_array) -> sp.csr_array:
    coo = sp.coo_array(X)
    rows, columns = (
        np.append(coo.row, 0),
        np.append(coo.col, int(np.setdiff1d(np.arange(X.shape[1]), X[:1].indices)[0])),
    )
    return sp.csr_array((np.append(coo.data, 0), (rows, columns)), shape=X.shape)


@pytest.mark.parametrize("distance", FAST)
def test_flavours_of_matrices(corpus: Corpus, distance: str) -> None:
    expected = pairwise(corpus.x, corpus.y, distance, **corpus.options)
    for name, X in flavours(corpus.x).items():
        before = X.copy()
        out = pairwise(X, corpus.y, distance, **corpus.options)
        np.testing.assert_array_equal(out, expected, err_msg=name)
        if sp.issparse(X) and X.format == "csr":
            assert np.array_equal(X.indices, before.indices), f"{name}: the caller's matrix was changed"
            assert np.array_equal(X.data, before.data), f"{name}: the caller's matrix was changed"


def test_texts_and_their_matrix(corpus: Corpus) -> None:
    words = corpus.embeddings.vocabulary
    texts = [[words[w] for w, count in bag.items() for _ in range(count)] for bag in corpus.first]
    np.testing.assert_array_equal(
        pairwise(texts, corpus.y, "rel-rwmd", **corpus.options),
        pairwise(corpus.x, corpus.y, "rel-rwmd", **corpus.options),
    )
