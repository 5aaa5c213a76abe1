"""The relatives of the Word Mover's Distance: Word Rotator's Distance and cosine costs, Sinkhorn distances.

    python benchmarks/relatives.py --data FOLDER likeness
    python benchmarks/relatives.py --data FOLDER sinkhorn
    python benchmarks/relatives.py --data FOLDER cascade

``likeness`` prints the correlation with people's ratings of the pairs of the STS benchmark: all words, those with a
vector, for the vectors of word2vec and of GloVe. ``sinkhorn`` prints processor time and the gap to wmd by
regularisation, for pairs of documents of 20news, beside wmd and POT; and what a search computes. ``cascade`` puts act
between the bounds of exact search by wmd, on 3,000 documents of 20news: what it spares, and what it costs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import harness
from harness import Results
from wordferry import Embeddings, Searcher, default_embeddings, encode, find_distance, load_embeddings, pairwise
from wordferry.compare.nearest import lower_bounds, top_k_problem
from wordferry.compare.problem import fill
from wordferry.judge.likeness import judge_pairs
from wordferry.texts.published import read_collection, read_pairs
from wordferry.texts.tokenizers import WordTokenizer

VECTORS = ("word2vec-google-news-300-subset31k", "glove.6B.100d-60k-int8")
RATED = {
    "wmd": "wmd:weights=counts",
    "wmd, idf": "wmd:weights=idf",
    "wmd, cosine costs": "wmd(cost=cosine):weights=counts",
    "wrd": "wrd",
    "wmd, cosine costs, idf": "wmd(cost=cosine):weights=idf",
    "wrd, idf": "wrd:weights=norm-idf",
    "rel-rwmd, idf": "rel-rwmd:weights=idf",
    "rel-rwmd, cosine costs, norm-idf": "rel-rwmd(cost=cosine):weights=norm-idf",
}


def vectors(data: Path, name: str) -> Embeddings:
    """Vectors of the folder, with the lengths that they had."""
    return load_embeddings(data / "embeddings" / f"{name}.npz")


def likeness(results: Results, options: Any) -> None:
    """Every measure against the ratings."""
    pairs = read_pairs(options.data / "pairs" / "stsb" / "test.jsonl.gz")
    split = WordTokenizer(stop=frozenset())
    words = replace(pairs, first=[split(text) for text in pairs.first], second=[split(text) for text in pairs.second])
    for name in VECTORS:
        found = judge_pairs(words, list(RATED.values()), embeddings=vectors(options.data, name), unknown="drop")
        for title, row in zip(RATED, found, strict=True):
            key = f"{name.split('-')[0].split('.')[0]}, {title}"
            results.add(f"{key}: spearman", row["spearman"], f"{key:45} {row['spearman']:.3f}  {row['pearson']:.3f}")


def news(data: Path, count: int) -> list[str]:
    """``count`` texts of 20news, spread evenly over the collection."""
    records = read_collection(data / "20news").records
    return [str(record.text) for record in records[:: max(1, len(records) // count)]][:count]


def sinkhorn(results: Results, options: Any) -> None:
    """One thread, 400 pairs; POT gets the costs of its pairs."""
    from ot import dist, sinkhorn2

    texts = news(options.data, 820)
    embeddings = default_embeddings()
    x, y = (encode(some, embeddings, on_empty="drop") for some in (texts[:20], texts[400:420]))
    wmd = pairwise(x, y, "wmd", embeddings=embeddings)
    took = harness.least(lambda: pairwise(x, y, "wmd", embeddings=embeddings, threads=1))
    results.add("wmd: us a pair", 1e6 * took / wmd.size)
    for softness in (0.2, 0.1, 0.05, 0.02, 0.01, 0.001):
        name = f"sinkhorn(regularization={softness})"
        values = pairwise(x, y, name, embeddings=embeddings)
        took = harness.least(lambda name=name: pairwise(x, y, name, embeddings=embeddings, threads=1), 2)  # type: ignore[misc]
        results.add(f"{name}: us a pair", 1e6 * took / wmd.size)
        results.add(f"{name}: mean gap to wmd", float((values - wmd).mean()))

    def peer() -> None:
        for i in range(8):
            a, b = x[i : i + 1], y[i : i + 1]
            costs = dist(embeddings.matrix[a.indices], embeddings.matrix[b.indices], metric="euclidean")
            masses = (a.data / a.data.sum(), b.data / b.data.sum())
            sinkhorn2(*masses, costs, 0.05, method="sinkhorn_log", stopThr=1e-6, warn=False)

    results.add("POT, sinkhorn_log, regularization 0.05: us a pair", 1e6 * harness.least(peer, 2) / 8)
    searcher = Searcher(texts[20:], "sinkhorn", embeddings=embeddings, on_empty="keep", threads=1)
    found = searcher.top_k(texts[:10], 10)
    took = harness.least(lambda: searcher.top_k(texts[:10], 10), 1)
    results.add("search of 800, k = 10: ms a query", 1e3 * took / 10)
    results.add("search of 800, k = 10: plans a query", found.solved / 10)


def cascade(results: Results, options: Any) -> None:
    """Searches with given bounds; act is computed for what the first bounds leave below the k-th distance."""
    texts, k = news(options.data, 3000), 11
    searcher = Searcher(texts, "wmd", on_empty="keep", threads=1)
    problem = searcher.problem(texts[5::100], threads=1)
    first = lower_bounds(problem)
    kth = top_k_problem(problem, k).distances[:, -1]
    for name in ("none", "act(transfers=1)", "act"):
        bounds = first.copy()

        def tighten(name: str = name, bounds: Any = bounds) -> None:
            for row, limit in enumerate(kth if name != "none" else ()):
                some = np.flatnonzero(first[row] <= limit)
                one = replace(problem, x=problem.x.slice(row, row + 1), y=problem.y.take(some))
                one = one.by(find_distance(name), "omr")
                bounds[row, some] = np.maximum(first[row, some], fill(one, np.empty(one.shape, np.float32))[0])

        took = harness.least(tighten, 2)

        def search(bounds: Any = bounds) -> Any:
            with mock.patch("wordferry.compare.nearest.lower_bounds", return_value=bounds):
                return top_k_problem(problem, k)

        found = search()
        results.add(f"{name}: dual ascents", found.counts["candidates"])
        results.add(f"{name}: problems solved", found.counts["solved"])
        results.add(f"{name}: search, s", harness.least(search, 3))
        results.add(f"{name}: the bound itself, s", took)


PARTS = {"likeness": likeness, "sinkhorn": sinkhorn, "cascade": cascade}


def main() -> None:
    """Parse, measure, keep."""
    made = harness.parser(__doc__)
    harness.data_option(made)
    made.add_argument("parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    options = made.parse_args()
    results = Results("relatives", options)
    for part in options.parts:
        PARTS[part](results, options)
    results.finish()


if __name__ == "__main__":
    main()
