"""What is learned from classes, beside what is not: supervised WMD, Word Mover's Embedding, and tf-idf classifiers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import thread_count
from wordferry.judge.voting import PAPER_K, error_rate
from wordferry.reproduce.bench import Bench, Clock
from wordferry.reproduce.cells import PAPER_DISTANCES, SEED, Cell, run_paper

LEARNED = ("learned wcd", "learned rel-rwmd", "learned wmd")
"""k-NN with vectors and weights that were learned for wmd."""
EMBEDDED = ("wme + svm", "learned wme + svm")
"""Features by the given vectors; half of them by the given ones and half by learned ones."""
TFIDF = ("tf-idf + svm", "tf-idf + logistic")
METHODS = (*PAPER_DISTANCES, *LEARNED, *EMBEDDED, *TFIDF)
_RANDOM_DOCUMENTS = 4096
"""More are better and take time in proportion (benchmarks/learn.py with --held-out and several --features)."""
SVM_COST = 10.0
"""C of the SVM over features, times their number: chosen on held-out training documents (benchmarks/learn.py)."""


def learned_cells(dataset: str, splits: int, methods: tuple[str, ...]) -> list[Cell]:
    """The cells of the protocol: every method, on the first division."""
    return [Cell("learned", dataset, 0, name) for name in methods]


def run_learned(cell: Cell, bench: Bench) -> dict[str, Any]:
    """One method on one division; all of them see the same words, those that have a vector."""
    if cell.distance in PAPER_DISTANCES:
        return {**run_paper(replace(cell, r="16" if cell.distance == "rel-rwmd" else ""), bench), "r": ""}
    split, clock = bench.splits[cell.split], Clock()
    train, test = (_with_small_indices(bench.counts[rows]) for rows in (split.train, split.test))
    model = _model(cell, bench, clock)
    with clock.step("preprocessing"):
        model.fit(train, bench.classes[split.train])
    with clock.step("distances"):
        predicted = model.predict(test)
    return {
        **cell.to_json(),
        "error": error_rate(bench.classes[split.test], predicted),
        "train": len(split.train),
        "test": len(split.test),
        **clock.to_json(),
    }


def _with_small_indices(counts: sp.csr_array) -> sp.csr_array:
    """Counts whose indices scikit-learn's linear models take: of 32 bits."""
    return sp.csr_array(
        (counts.data, counts.indices.astype(np.int32), counts.indptr.astype(np.int32)), shape=counts.shape
    )


def _model(cell: Cell, bench: Bench, clock: Clock) -> Any:
    """The classifier, not yet fitted; a metric is learned once for all distances that use it."""
    from wordferry.learn import SupervisedWordMover

    if cell.distance in LEARNED:
        with clock.step("learning"):
            vectors = _learned_vectors(cell, bench)
        name = cell.distance.removeprefix("learned ")
        settings: dict[str, Any] = {"embeddings": vectors, "weights": "norm", "threads": bench.threads}
        return SupervisedWordMover(PAPER_K, name, max_iter=0, **settings)
    return _embedded(cell, bench, clock) if cell.distance in EMBEDDED else _tfidf(cell.distance)


def _learned_vectors(cell: Cell, bench: Bench) -> Any:
    from wordferry.learn import SupervisedWordMover

    if cell.split not in bench.learned:
        train = bench.splits[cell.split].train
        model = SupervisedWordMover(embeddings=bench.embeddings, random_state=SEED, threads=bench.threads)
        bench.learned[cell.split] = model.fit(bench.counts[train], bench.classes[train]).embeddings_
    return bench.learned[cell.split]


def linear_svm(features: int, cost: float = SVM_COST, threads: int | None = None) -> Any:
    """A linear SVM over some number of features of Word Mover's Embedding, each scaled; not yet fitted.

    C is not chosen by cross-validation here: learned features have seen the classes of all documents they were fitted
    on, and would look better the more they are trusted.
    """
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    # Coordinate descent, which scikit-learn takes where features outnumber documents, often does not converge on these.
    one = LinearSVC(C=cost / features, tol=0.01, dual=False)
    return make_pipeline(StandardScaler(), OneVsRestClassifier(one, n_jobs=thread_count(threads)))


def _embedded(cell: Cell, bench: Bench, clock: Clock) -> Any:
    from sklearn.pipeline import make_pipeline, make_union

    from wordferry.learn import WordMoverEmbedding

    given: dict[str, Any] = {"embeddings": bench.embeddings, "random_state": SEED, "threads": bench.threads}
    svm = linear_svm(_RANDOM_DOCUMENTS, threads=bench.threads)
    if cell.distance == EMBEDDED[0]:
        return make_pipeline(WordMoverEmbedding(_RANDOM_DOCUMENTS, **given), svm)
    # What supervised=True does, with the vectors that are learned already.
    with clock.step("learning"):
        learned = {**given, "embeddings": _learned_vectors(cell, bench), "weights": "norm", "random_state": SEED + 1}
    halves = [WordMoverEmbedding(_RANDOM_DOCUMENTS // 2, **settings) for settings in (given, learned)]
    return make_pipeline(make_union(*halves), svm)


def _tfidf(name: str) -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    classifier = LinearSVC(random_state=SEED) if name == TFIDF[0] else LogisticRegression(C=10.0, max_iter=1000)
    return make_pipeline(TfidfTransformer(sublinear_tf=True), classifier)
