"""Learned relatives: a step of supervised WMD and the features of Word Mover's Embedding beside versions with POT.

    python benchmarks/learn.py                                        # one step of each, generated documents
    python benchmarks/learn.py --data FOLDER --sets r8 twitter        # also whole trainings, features and test errors
    python benchmarks/learn.py --data FOLDER --sets 20news --limit 500   # at most 500 test documents

Steps are CPU seconds of one thread, the least of several runs, and their results are compared. With ``--data`` the sets
are read with the vectors and the tokenizer of the package; errors are in percent, on the first division.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import harness
from harness import Results, least, timed
from wordferry.judge.voting import error_rate
from wordferry.learn import SupervisedWordMover, WordMoverEmbedding
from wordferry.learn.metric import LabelledDocuments, Metric, TransportLoss
from wordferry.neighbors import WordMoverClassifier
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
    model = WordMoverEmbedding(64, embeddings=words, weights="counts", gamma=1.0, threads=1).fit(documents.counts)
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


def run_set(results: Results, folder: Path, limit: int | None, threads: int | None) -> None:
    """Times and test errors on one set: wmd k-NN, supervised WMD, and Word Mover's Embedding with a linear SVM."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    name, collection = folder.name, read_collection(folder)
    split, texts, labels = collection.splits[0], collection.texts, np.array(collection.labels)
    test = split.test if limit is None else np.random.default_rng(1).permutation(split.test)[:limit]
    train, asked = [texts[i] for i in split.train], [texts[i] for i in test]
    given: dict[str, Any] = {"on_empty": "keep", "threads": threads}

    def error(model: Any) -> float:
        return error_rate(labels[test], model.predict(asked))

    plain = WordMoverClassifier(distance="wmd", weights="counts", **given).fit(train, labels[split.train])
    results.add(f"{name}: wmd k-NN, error %", error(plain))
    took = timed(lambda: SupervisedWordMover(**given).fit(train, labels[split.train]))
    results.add(f"{name}: training, s", took.wall)
    results.add(f"{name}: training, processor s", took.cpu)
    learned: dict[str, Any] = {"embeddings": took.value.embeddings_, "weights": "norm", "max_iter": 0, **given}
    for distance in ("wmd", "rel-rwmd"):
        model = SupervisedWordMover(distance=distance, **learned).fit(train, labels[split.train])
        results.add(f"{name}: supervised, {distance}, error %", error(model))
    embedding = WordMoverEmbedding(512, **given)
    took = timed(lambda: embedding.fit_transform(train, labels[split.train]))
    results.add(f"{name}: features of the training documents, s", took.wall)
    results.add(f"{name}: features of the training documents, processor s", took.cpu)
    choice = GridSearchCV(LinearSVC(random_state=0), {"C": [0.0003, 0.001, 0.003, 0.01, 0.03]}, cv=3)
    svm = make_pipeline(StandardScaler(), choice).fit(took.value, labels[split.train])
    results.add(f"{name}: wme + svm, error %", error_rate(labels[test], svm.predict(embedding.transform(asked))))


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--sets", nargs="*", default=[], help="sets of the folder to run whole")
    parser.add_argument("--limit", type=int, help="test documents, at most")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    results = Results("learn", options)
    compare_steps(results)
    for name in options.sets:
        run_set(results, Path(options.data) / name, options.limit, options.threads)
    results.finish()


if __name__ == "__main__":
    main()
