"""What the calls accept, refuse and report."""

from __future__ import annotations

import logging
import os
import signal
import threading
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp

import wordferry
from tests.relaxed.cases import Corpus, matrix, random_corpus
from wordferry import Embeddings, Measure, RelatedWords, distance, pairwise
from wordferry.compare.problem import MethodPlan
from wordferry.errors import EmptyDocumentError, InputError, VocabularyMismatch
from wordferry.words.related import whole


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return random_corpus(seed=11)


def test_rows_of_the_matrix(corpus: Corpus) -> None:
    D = pairwise(corpus.x, corpus.y, "rel-rwmd", **corpus.options)
    np.testing.assert_allclose(pairwise(corpus.x[:1], corpus.y, "rel-rwmd", **corpus.options)[0], D[0], atol=1e-6)
    assert distance(corpus.x[:1], corpus.y[3:4], "rel-rwmd", **corpus.options) == pytest.approx(D[0, 3], abs=1e-6)
    with pytest.raises(InputError, match="one row"):
        distance(corpus.x[:2], corpus.y[:1], "rel-rwmd", **corpus.options)


def test_one_text_is_a_document() -> None:
    emb = Embeddings(["cat", "dog", "cow"], np.eye(3))
    assert distance("cat dog", "dog cat", "wcd", embeddings=emb) == 0
    assert distance(["cat"], ["dog"], "bow-l1", embeddings=emb) == 2


def test_out_is_filled(corpus: Corpus) -> None:
    out = np.empty((len(corpus.first), len(corpus.second)), dtype=np.float32)
    assert pairwise(corpus.x, corpus.y, "rel-rwmd", out=out, **corpus.options) is out
    np.testing.assert_array_equal(out, pairwise(corpus.x, corpus.y, "rel-rwmd", **corpus.options))


def test_wrong_out(corpus: Corpus) -> None:
    shape = (len(corpus.first), len(corpus.second))
    frozen = np.empty(shape, dtype=np.float32)
    frozen.flags.writeable = False
    wrong = [
        np.empty(shape),
        np.empty((2, 2), dtype=np.float32),
        [1],
        np.empty(shape[::-1], dtype=np.float32).T,
        frozen,
    ]
    for out in wrong:
        with pytest.raises(InputError, match="out must be"):
            pairwise(corpus.x, corpus.y, "rel-rwmd", out=out, **corpus.options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distance": "rmwd"}, "Choose one of: cosine"),
        ({"overlap": "none"}, "overlap must be one of 'omr'"),
        ({"distance": "cosine", "overlap": "omr"}, "no meaning for cosine"),
        ({"side": "up"}, "side must be one of"),
        ({"distance": "wcd", "side": "left"}, "one-sided values exist for rwmd, rel-rwmd"),
        ({"algorithm": "fast"}, "algorithm must be one of 'auto'"),
        ({"distance": "bow-l1", "algorithm": "linear"}, "no meaning for bow-l1"),
        ({"overlap": "residual", "algorithm": "linear"}, "no linear algorithm"),
        ({"on_empty": "ignore"}, "on_empty must be one of"),
        ({"distance": "tfidf-l1", "weights": np.ones(3)}, "one finite, non-negative number for each word"),
        ({"distance": "tfidf-l1", "weights": -np.ones(80)}, "one finite, non-negative number for each word"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"memory": 10}, "memory must be"),
    ],
)
def test_wrong_options_say_what_is_right(corpus: Corpus, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pairwise(corpus.x, corpus.y, **{**corpus.options, **options})


def test_wrong_documents(corpus: Corpus) -> None:
    emb = corpus.embeddings
    nan = corpus.x.astype(float)
    nan.data[0] = np.nan
    negative = corpus.x.astype(float)
    negative.data[0] = -1
    outside = corpus.x.copy()
    outside.indices = outside.indices.copy()
    outside.indices[0] = 80
    broken = corpus.x.copy()
    broken.indptr = broken.indptr.copy()
    broken.indptr[1] = 10**6
    for X, message in (
        (nan, "NaN"),
        (negative, "negative"),
        (outside, "out of range"),
        (broken, "indptr"),
        (corpus.x[:, :50], "50 columns"),
        ("a text", "list of texts"),
        (7, "list of texts"),
        ([["w1", 3]], "tokens must be str"),
        (corpus.x * 1j, "complex"),
    ):
        with pytest.raises(InputError, match=message):
            pairwise(X, corpus.y, "rel-rwmd", embeddings=emb)


def test_empty_documents_name_their_row(corpus: Corpus) -> None:
    X = matrix([corpus.first[0], {}], len(corpus.embeddings))
    with pytest.raises(EmptyDocumentError, match="Document 1"):
        pairwise(X, corpus.y, "rel-rwmd", **corpus.options)
    with pytest.raises(EmptyDocumentError, match="0 of 2 tokens: 'zebra', 'lion'"):
        pairwise([["w1"], ["zebra", "lion"]], corpus.y, "rel-rwmd", unknown="drop", **corpus.options)


@pytest.mark.parametrize("distance", ["cosine", "bow-l1", "wcd", "rwmd", "rel-rwmd"])
def test_no_documents(corpus: Corpus, distance: str) -> None:
    assert pairwise(corpus.x[:0], corpus.y, distance, **corpus.options).shape == (0, len(corpus.second))
    assert pairwise(corpus.x, corpus.y[:0], distance, **corpus.options).shape == (len(corpus.first), 0)


def test_a_matrix_needs_its_vectors(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="pass embeddings="):
        pairwise(corpus.x, corpus.y, "rwmd")
    assert pairwise(corpus.x, corpus.y, "cosine").shape == (len(corpus.first), len(corpus.second))


def test_related_words_of_other_vectors_are_refused(corpus: Corpus) -> None:
    rng = np.random.default_rng(9)
    words = list(corpus.embeddings.vocabulary)
    other = RelatedWords.build(Embeddings(words, rng.normal(size=corpus.embeddings.matrix.shape)), 5)
    with pytest.raises(VocabularyMismatch, match="other vectors"):
        pairwise(corpus.x, corpus.y, embeddings=corpus.embeddings, related=other)
    foreign = RelatedWords.build(Embeddings(["p", "q", "s"], np.eye(3)), 1)
    with pytest.raises(VocabularyMismatch, match="None of the words of embeddings="):
        pairwise(corpus.x, corpus.y, embeddings=corpus.embeddings, related=foreign)


def test_graphs_are_built_once(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    whole.forget()
    built = []
    build = RelatedWords.build
    monkeypatch.setattr(RelatedWords, "build", lambda *a, **k: built.append(1) or build(*a, **k))
    first = pairwise(corpus.x, corpus.y, embeddings=corpus.embeddings)
    again = pairwise(corpus.x, corpus.y, embeddings=Embeddings(corpus.embeddings.vocabulary, corpus.embeddings.matrix))
    np.testing.assert_allclose(first, again, atol=1e-6)
    assert len(built) in (1, 2)  # scaling unit vectors again may change a last bit, and with it the fingerprint
    pairwise(corpus.x, corpus.y, embeddings=corpus.embeddings)
    pairwise(corpus.x[:3], corpus.y[:3], embeddings=corpus.embeddings)  # fewer words, the same vocabulary
    assert len(built) in (1, 2)


def test_plans(corpus: Corpus, caplog: pytest.LogCaptureFixture) -> None:
    plan = Measure("rel-rwmd", **corpus.options).plan(corpus.x, corpus.y)
    assert isinstance(plan, MethodPlan)
    assert plan.pairs == corpus.x.shape[0] * corpus.y.shape[0]
    assert set(plan.considered) == {"panels", "scan", "lists"}
    assert plan.seconds == min(plan.considered.values())
    assert str(plan).startswith("rel-rwmd: ")
    for algorithm, methods in (("standard", {"lists"}), ("linear", {"panels", "scan"})):
        forced = Measure("rel-rwmd", **corpus.options).plan(corpus.x, corpus.y, algorithm=algorithm)
        assert forced.algorithm == algorithm
        assert forced.method in methods
    with caplog.at_level(logging.DEBUG, logger="wordferry"):
        pairwise(corpus.x, corpus.y, "rwmd", **corpus.options)
    assert any(message.startswith("rwmd: ") for message in caplog.messages)


def test_work_decides(corpus: Corpus) -> None:
    """One query is scanned, many documents go by panels, and the smaller side plays the queries."""
    many = matrix(corpus.first * 30, len(corpus.embeddings))
    plans = {
        shape: Measure("rel-rwmd", **corpus.options).plan(X, Y)
        for shape, X, Y in (("many", many, many), ("row", many[:1], many), ("column", many, many[:1]))
    }
    assert (plans["many"].method, plans["row"].method, plans["column"].method) == ("panels", "scan", "scan")
    assert not plans["row"].swapped
    assert plans["column"].swapped


def test_problem_holds_whole_counts(corpus: Corpus) -> None:
    measure = Measure("rwmd", **corpus.options)
    problem = measure.problem(corpus.x, corpus.y)
    assert problem.x.counts is not None
    assert problem.x.counts.tolist() == corpus.x.data.tolist()
    assert measure.problem(corpus.x * 0.5, corpus.y).x.counts is None
    sums = np.add.reduceat(problem.x.masses.data, problem.x.masses.indptr[:-1])
    np.testing.assert_allclose(sums, 1, atol=1e-6)
    assert problem.frame.words.tolist() == sorted(set(corpus.x.indices) | set(corpus.y.indices))


def test_progress_and_its_errors(corpus: Corpus) -> None:
    for name in ("rel-rwmd", "rwmd", "wcd", "cosine"):
        tell = Mock()
        pairwise(corpus.x, corpus.y, name, progress=tell, **corpus.options)
        assert tell.call_args.args == (corpus.x.shape[0] * corpus.y.shape[0],) * 2

    def stop(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        pairwise(corpus.x, corpus.y, "rel-rwmd", progress=stop, **corpus.options)


@pytest.mark.skipif(os.name == "nt", reason="signals work otherwise there")
@pytest.mark.parametrize("algorithm", ["linear", "standard"])
def test_interrupts_stop_the_kernels(corpus: Corpus, algorithm: str) -> None:
    """The job would take minutes; it must end with the interrupt, not with the result."""
    X = sp.csr_array(sp.vstack([corpus.x] * 1200))
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            pairwise(X, X[:20000], "rel-rwmd", algorithm=algorithm, overlap="omr", threads=2, **corpus.options)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, previous)


def test_the_one_liner() -> None:
    """With the default vectors; any two texts will do."""
    value = wordferry.distance("the president greets the press", "obama speaks to the media", "rwmd")
    assert 0.1 < value < 1.5
