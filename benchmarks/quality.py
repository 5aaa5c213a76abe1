"""How well the k-NN classifier does with its defaults, beside the settings of the paper and tf-idf classifiers.

    python benchmarks/quality.py --data FOLDER                 # all sets, their first split
    python benchmarks/quality.py --data FOLDER --sets r8 --splits 5
    python benchmarks/quality.py --data FOLDER --peers         # the classifiers of scikit-learn alone
    python benchmarks/quality.py --data FOLDER --choose        # the candidates for defaults, by cross-validation

Test error in percent on seven collections, with the vectors and the tokenizer of the package.
The defaults were chosen with ``--choose``, which looks at training documents only: two folds of at most 3,000 of them.
The peers are scikit-learn's classifiers on its own tf-idf vectors: k-NN as it comes, k-NN with sublinear counts and
votes by distance, logistic regression, and LinearSVC with sublinear counts, the strongest that we know of this kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import harness
from harness import Results
from wordferry import find_distance
from wordferry.compare.problem import fill
from wordferry.judge.selection import folds
from wordferry.judge.voting import VOTINGS, class_numbers, decide, error_rate
from wordferry.neighbors import WordMoverClassifier, WordMoverNeighbors
from wordferry.texts.published import read_collection

SETS = ("twitter", "r8", "amazon", "classic", "20news", "ohsumed-single23", "recipe-archana15")
PAPER: dict[str, Any] = {"distance": "rel-rwmd", "weights": "counts", "unknown": "drop"}
CHOSEN_ON = 3000
"""Training documents of a set that the choice of defaults looks at, at most."""
TRIED_WEIGHTS = ("counts", "idf", "log-idf", "bm25")
TRIED_SHARES = (0, 1, 2, 4, 8)
"""Of cosine beside rel-rwmd."""
TRIED_K = (9, 19, 25, 35, 50)
SHOWN = 12
"""Candidates that are printed: the best of them, and what was the default before."""
BEFORE = "rel-rwmd + 2*cosine, log-idf, k = 19, majority"

Predict = Callable[[list[str], list[str], list[str]], Any]
"""From training texts, their classes and test texts to the predicted classes."""


def ours(*plain: Any, **options: Any) -> Predict:
    """Our classifier with some options."""

    def predict(train: list[str], labels: list[str], test: list[str]) -> Any:
        model = WordMoverClassifier(*plain, on_empty="keep", **options).fit(train, labels)
        return model.predict(test)

    return predict


def tfidf(classifier: str, *, sublinear: bool = False, **options: Any) -> Predict:
    """A classifier of scikit-learn by the name of its class, on tf-idf vectors."""

    def predict(train: list[str], labels: list[str], test: list[str]) -> Any:
        from sklearn import linear_model, neighbors, svm
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline

        home = next(module for module in (linear_model, neighbors, svm) if hasattr(module, classifier))
        model = make_pipeline(TfidfVectorizer(sublinear_tf=sublinear), getattr(home, classifier)(**options))
        return model.fit(train, labels).predict(test)

    return predict


METHODS: dict[str, Predict] = {
    "wordferry, as the paper": ours(19, voting="majority", **PAPER),
    "wordferry, majority of 19, + 2*cosine": ours(19, "rel-rwmd + 2*cosine", voting="majority"),
    "wordferry, defaults": ours(),
}
NEAREST = {"n_neighbors": 19, "metric": "cosine"}
PEERS: dict[str, Predict] = {
    "tf-idf k-NN": tfidf("KNeighborsClassifier", **NEAREST),
    "tf-idf k-NN, sublinear, by distance": tfidf("KNeighborsClassifier", sublinear=True, weights="distance", **NEAREST),
    "tf-idf + logistic regression": tfidf("LogisticRegression", max_iter=1000),
    "tf-idf, sublinear, + LinearSVC": tfidf("LinearSVC", sublinear=True),
}


def error(predict: Predict, train: tuple[list[str], list[str]], test: tuple[list[str], list[str]]) -> float:
    """Percent of test documents whose class is not the predicted one."""
    return 100 * float(np.mean(np.asarray(predict(*train, test[0])) != np.asarray(test[1])))


def show(results: Results, errors: dict[str, dict[str, float]], about: str) -> None:
    """A line per method, a column per set, and the mean of the sets."""
    sets = list(next(iter(errors.values())))
    print(f"\n{about:44}" + "".join(f"{name:>10}" for name in [*sets, "mean"]))
    for method, found in errors.items():
        mean = float(np.mean(list(found.values())))
        print(f"{method:44}" + "".join(f"{value:10.2f}" for value in [*found.values(), mean]), flush=True)
        results.values.update({f"{method}, {name}: error %": value for name, value in found.items()})
        results.values[f"{method}, mean: error %"] = mean


def compare(results: Results, options: Any) -> None:
    """Every method on the test documents of every set."""
    methods = PEERS if options.peers else METHODS | PEERS
    errors: dict[str, dict[str, float]] = {method: {} for method in methods}
    for name in options.sets:
        collection = read_collection(options.data / name)
        texts, labels = [str(r.text) for r in collection.records], [str(r.label) for r in collection.records]

        def part(rows: Any, texts: list[str] = texts, labels: list[str] = labels) -> tuple[list[str], list[str]]:
            return [texts[i] for i in rows], [labels[i] for i in rows]

        splits = collection.splits[: options.splits]
        for method, predict in methods.items():
            values = [error(predict, part(split.train), part(split.test)) for split in splits]
            errors[method][name] = float(np.mean(values))
            print(f"{name:10} {method:44} {errors[method][name]:6.2f} %", flush=True)
    show(results, errors, "test error, percent")


def candidates(train: tuple[list[str], list[str]], test: tuple[list[str], list[str]]) -> dict[str, float]:
    """The error of every candidate; distances are computed once, and shared by all shares, votes and k."""
    errors = {}
    numbers, names = class_numbers([*train[1], *test[1]])
    known, wanted = numbers[: len(train[1])], numbers[len(train[1]) :]
    for weights in TRIED_WEIGHTS:
        model = WordMoverNeighbors(1, "rel-rwmd", weights=weights, on_empty="keep").fit(train[0])
        queries = model._read(test[0], reset=False)
        problem = model._searcher(queries).problem(queries)
        near, cosine = (
            fill(some, np.empty(some.shape, dtype=np.float32))
            for some in (problem, problem.by(find_distance("cosine"), "keep"))
        )
        for share in TRIED_SHARES:
            values = near + np.float32(share) * cosine if share else near
            order = np.argsort(values, axis=1, kind="stable")[:, : max(TRIED_K)]
            far = np.take_along_axis(values, order, axis=1)
            voters = np.where(np.isinf(far), -1, known[order])
            distance = "rel-rwmd" + (f" + {share if share > 1 else ''}{'*' * (share > 1)}cosine" if share else "")
            for k in TRIED_K:
                for voting in VOTINGS:
                    winner = decide(voters, far, len(names), k, voting).winner
                    errors[f"{distance}, {weights}, k = {k}, {voting}"] = error_rate(wanted, winner)
    return errors


def choose(results: Results, options: Any) -> None:
    """Every candidate on folds of the training documents alone."""
    errors: dict[str, dict[str, float]] = {}
    for name in options.sets:
        collection = read_collection(options.data / name)
        train = np.random.default_rng(0).permutation(collection.splits[0].train)[:CHOSEN_ON]
        texts = [str(collection.records[i].text) for i in train]
        labels = [str(collection.records[i].label) for i in train]
        fold = folds(labels, 2, stratified=True)
        halves = [
            ([texts[i] for i in rows], [labels[i] for i in rows])
            for rows in map(np.flatnonzero, (fold == 0, fold == 1))
        ]
        found = [candidates(halves[1 - held], halves[held]) for held in (0, 1)]
        for candidate in found[0]:
            errors.setdefault(candidate, {})[name] = float(np.mean([part[candidate] for part in found]))
        print(f"{name}: {BEFORE}: {errors[BEFORE][name]:.2f} %", flush=True)
    best = sorted(errors, key=lambda candidate: sum(errors[candidate].values()))
    show(results, {one: errors[one] for one in [*best[:SHOWN], BEFORE]}, "cross-validation error, percent")


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--splits", type=int, default=1, help="splits of each set, where it has several")
    parser.add_argument("--peers", action="store_true", help="only the classifiers of scikit-learn")
    parser.add_argument("--choose", action="store_true", help="compare candidates for defaults on training documents")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets with --data or WORDFERRY_DATA; nothing is downloaded")
    results = Results("quality", options)
    (choose if options.choose else compare)(results, options)
    results.finish()


if __name__ == "__main__":
    main()
