"""Learned relatives: a step of supervised WMD and the features of Word Mover's Embedding beside versions with POT.

    python benchmarks/learn.py                                        # one step of each, generated documents
    python benchmarks/learn.py --data FOLDER --sets r8 twitter        # also whole trainings, features and test errors
    python benchmarks/learn.py --data FOLDER --sets 20news --train 2000 --asked 500              # some documents only
    python benchmarks/learn.py --data FOLDER --sets r8 20news --times --features 512                   # times only
    python benchmarks/learn.py --data FOLDER --sets r8 --held-out --max-words 24 64 --cost 3 10  # settings only

Steps are CPU seconds of one thread, the least of several runs, and their results are compared. With ``--data`` the sets
are read with the vectors and the tokenizer of the package; errors are in percent, on the first division. Settings are
chosen with ``--held-out``, which never reads a test document: a third of the training documents is asked in place of
them. What was chosen is the default of the package and of this script; test errors are then printed once.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import harness
from harness import Results, least, timed
from wordferry.base.runtime import one_blas_thread
from wordferry.judge.voting import error_rate
from wordferry.learn import SupervisedWordMover, WordMoverEmbedding
from wordferry.learn.metric import LabelledDocuments, Metric, TransportLoss
from wordferry.neighbors import WordMoverClassifier
from wordferry.reproduce.learned import SVM_COST, linear_svm
from wordferry.texts.published import read_collection
from wordferry.words.embeddings import Embeddings

WORDS, DIMENSIONS, DISTINCT, COUNT, ANCHORS = 2000, 100, 40, 200, 8


def generated() -> tuple[LabelledDocuments, Metric]:
    """Documents of 40 words out of 2,000, in four classes."""
    rng = np.random.default_rng(0)
    columns = np.concatenate([rng.choice(WORDS, DISTINCT, replace=False) for _ in range(COUNT)])
    rows = np.repeat(np.arange(COUNT), DISTINCT)
    counts = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(COUNT, WORDS))
    vectors = rng.standard_normal((WORDS, DIMENSIONS)) / 10
    return LabelledDocuments(counts, vectors, rng.integers(0, 4, COUNT)), Metric(
        np.eye(DIMENSIONS) * 10, np.zeros(WORDS)
    )


def step_with_pot(
    metric: Metric, documents: LabelledDocuments, anchors: Any, others: list[Any]
) -> tuple[float, Metric]:
    """The gradient of one step, by POT's exact solver and its duals, pair by pair."""
    import ot

    masses, mapped = documents.masses(metric), documents.vectors @ metric.map.T
    slope, logs, losses = np.zeros_like(metric.map), np.zeros_like(metric.logs), []

    def words_of(row: int) -> tuple[Any, Any]:
        span = slice(masses.indptr[row], masses.indptr[row + 1])
        return masses.indices[span], masses.data[span]

    for anchor, near in zip(anchors.tolist(), others, strict=True):
        (ours, a), solved = words_of(anchor), []
        for other in near.tolist():
            theirs, b = words_of(other)
            costs = ot.dist(mapped[ours], mapped[theirs], metric="euclidean")
            plan, log = ot.emd(a, b, costs, log=True)
            solved.append((theirs, b, costs, plan, log))
        totals = np.array([log["cost"] for *_, log in solved])
        chances = np.exp(totals.min() - totals)
        same = documents.classes[near] == documents.classes[anchor]
        losses.append(-np.log(chances[same].sum() / chances.sum()))
        weights = np.where(same, chances, 0) / chances[same].sum() - chances / chances.sum()
        for weight, (theirs, b, costs, plan, log) in zip(weights, solved, strict=True):
            rows, columns = np.nonzero(plan)
            apart = documents.vectors[ours[rows]] - documents.vectors[theirs[columns]]
            paid = costs[rows, columns]
            pull = np.divide(plan[rows, columns], paid, out=np.zeros(len(paid)), where=paid > 0)
            slope += weight * metric.map @ (apart.T * pull) @ apart
            np.add.at(logs, ours, weight * a * (log["u"] - a @ log["u"]))
            np.add.at(logs, theirs, weight * b * (log["v"] - b @ log["v"]))
    return float(np.mean(losses)), Metric(slope / len(anchors), logs / len(anchors))


def compare_steps(results: Results) -> None:
    """One step of training and one block of features, ours and by POT."""
    documents, metric = generated()
    anchors = np.arange(ANCHORS)
    rng = np.random.default_rng(1)
    others = [np.setdiff1d(rng.permutation(COUNT)[:33], [anchor])[:32] for anchor in anchors]
    rows = np.concatenate([anchors, *others])

    def ours() -> tuple[float, Metric]:
        return TransportLoss(metric, documents, rows).gradient(anchors, others)

    def theirs() -> tuple[float, Metric]:
        return step_with_pot(metric, documents, anchors, others)

    (loss, slope), (peer_loss, peer_slope) = ours(), theirs()
    results.add("step: largest difference of slopes of the map", float(np.abs(slope.map - peer_slope.map).max()))
    results.add("step: difference of losses", abs(loss - peer_loss))
    pairs = sum(map(len, others))
    results.add("step: us a pair", 1e6 * least(ours) / pairs)
    results.add("step with POT: us a pair", 1e6 * least(theirs) / pairs)

    import ot

    words = Embeddings([f"w{i}" for i in range(WORDS)], documents.vectors)
    model = WordMoverEmbedding(64, "wmd", embeddings=words, weights="counts", gamma=1.0, threads=1)
    model.fit(documents.counts)
    some = documents.counts[:50]

    def features_with_pot() -> Any:
        found = np.zeros((some.shape[0], model._drawn.shape[0]))
        for i, j in np.ndindex(found.shape):
            a, b = some[[i]], model._drawn[[j]]
            x, y = words.matrix[a.indices].astype(np.float64), words.matrix[b.indices].astype(np.float64)
            costs = ot.dist(x, y, metric="euclidean")
            found[i, j] = ot.emd2(a.data / a.data.sum(), b.data / b.data.sum(), costs)
        return np.exp(-found) / np.sqrt(found.shape[1])

    difference = np.abs(model.transform(some) - features_with_pot()).max()
    results.add("features: largest difference", float(difference))
    pairs = some.shape[0] * model._drawn.shape[0]
    results.add("features: us each", 1e6 * least(lambda: model.transform(some)) / pairs)
    results.add("features with POT: us each", 1e6 * least(features_with_pot, 1) / pairs)


@dataclass(frozen=True)
class Division:
    """Documents to learn from, and documents to count errors on."""

    train: list[Any]
    train_labels: Any
    asked: list[Any]
    asked_labels: Any

    def error(self, model: Any) -> float:
        """Percent of errors of a fitted classifier."""
        return error_rate(self.asked_labels, model.predict(self.asked))


def division_of(folder: Path, options: argparse.Namespace) -> Division:
    """The first division of a set; with ``--held-out`` a third of its training documents in place of the test ones."""
    collection, rng = read_collection(folder), np.random.default_rng(1)
    texts, labels, split = collection.texts, np.array(collection.labels), collection.splits[0]
    train, asked = rng.permutation(split.train), rng.permutation(split.test)
    if options.held_out:
        asked, train = np.split(train, [len(train) // 3])
    train, asked = train[: options.train], asked[: options.asked]
    return Division([texts[i] for i in train], labels[train], [texts[i] for i in asked], labels[asked])


def run_set(results: Results, name: str, division: Division, options: argparse.Namespace) -> None:
    """Times and errors on one set: wmd k-NN, supervised WMD, and Word Mover's Embedding with a linear SVM."""
    train, labels = division.train, division.train_labels
    given: dict[str, Any] = {"on_empty": "keep", "threads": options.threads}
    compared = () if options.times else ("wmd", "rel-rwmd")
    results.add(f"{name}: documents learned from", len(train))
    results.add(f"{name}: documents asked", len(division.asked))
    for distance in compared:
        plain = WordMoverClassifier(distance=distance, weights="counts", **given).fit(train, labels)
        results.add(f"{name}: {distance} k-NN, error %", division.error(plain))
    took = timed(lambda: SupervisedWordMover(**given).fit(train, labels))
    results.add(f"{name}: training, s", took.wall)
    results.add(f"{name}: training, processor s", took.cpu)
    learned: dict[str, Any] = {"embeddings": took.value.embeddings_, "weights": "norm", **given}
    for distance in compared:
        model = SupervisedWordMover(distance=distance, max_iter=0, **learned).fit(train, labels)
        results.add(f"{name}: learned {distance} k-NN, error %", division.error(model))
    for inside, max_words, features in product(options.inside, options.max_words, options.features):
        shape = {"n_components": features, "distance": inside, "max_words": max_words}
        own = WordMoverEmbedding(**shape, **given)
        took = timed(lambda own=own: (own.fit_transform(train), own.transform(division.asked)))
        what = f"{name}: {features} {inside} features of all documents, {max_words} words"
        results.add(f"{what}, s", took.wall)
        results.add(f"{what}, processor s", took.cpu)
        if options.times:
            continue
        ours = took.value
        other = WordMoverEmbedding(random_state=1, **shape, **learned).fit(train)
        theirs = other.transform(train), other.transform(division.asked)
        half = features // 2  # what WordMoverEmbedding(supervised=True) does, without a second training
        mixed = [np.hstack([a[:, :half], b[:, :half]]) for a, b in zip(ours, theirs, strict=True)]
        for cost in options.cost:
            for way, (known, new) in (("wme", ours), ("learned wme", mixed)):
                svm = linear_svm(features, cost, options.threads).fit(known, labels)
                key = f"{name}: {way} + svm, {features} {inside} of {max_words} words, cost {cost:g}, error %"
                results.add(key, error_rate(division.asked_labels, svm.predict(new)))


def add_means(results: Results, names: list[str]) -> None:
    """Mean errors over the sets, and what learning brings on average."""
    first = f"{names[0]}: "
    ways = [key.removeprefix(first) for key in results.values if key.startswith(first) and key.endswith("error %")]
    means = {way: float(np.mean([results.values[f"{name}: {way}"] for name in names])) for way in ways}
    for way, mean in means.items():
        results.add(f"mean: {way}", mean)
    plain, learned, relaxed = (means[f"{way} k-NN, error %"] for way in ("wmd", "learned wmd", "learned rel-rwmd"))
    results.add("mean: errors of wmd k-NN that learning takes away, %", 100 * (plain - learned) / plain)
    if learned < plain:
        results.add("mean: part of that gain that rel-rwmd keeps, %", 100 * (plain - relaxed) / (plain - learned))


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--sets", nargs="*", default=[], help="sets of the folder to run whole")
    parser.add_argument("--held-out", action="store_true", help="ask training documents, held out, not the test ones")
    parser.add_argument("--times", action="store_true", help="count no errors")
    parser.add_argument("--train", type=int, help="documents to learn from, at most")
    parser.add_argument("--asked", type=int, help="documents to count errors on, at most")
    parser.add_argument("--features", type=int, nargs="+", default=[4096], help="random documents of the embedding")
    parser.add_argument("--inside", nargs="+", default=[WordMoverEmbedding().distance], help="distances of features")
    parser.add_argument("--max-words", type=int, nargs="+", default=[WordMoverEmbedding().max_words])
    parser.add_argument("--cost", type=float, nargs="+", default=[SVM_COST], help="C of the SVM, times the features")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    results = Results("learn", options)
    if not options.held_out:
        with one_blas_thread():
            compare_steps(results)
    if options.sets and not options.times:
        asked = "training documents, held out" if options.held_out else "test documents"
        results.note("data", f"errors are those of {asked}")
    for name in options.sets:
        run_set(results, name, division_of(options.data / name, options), options)
    if options.sets and not options.times:
        add_means(results, options.sets)
    results.finish()


if __name__ == "__main__":
    main()
