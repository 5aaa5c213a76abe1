"""Exact transport: the solver against POT and gensim, rel-wmd against wmd, and exact top-k against solving every pair.

    python benchmarks/transport.py                          # solver and documents, one thread, generated data
    python benchmarks/transport.py --search                 # also exact top-10 on real data (see --data)
    python benchmarks/transport.py --sizes --explain        # what explanations of long texts cost, beside distances
    python benchmarks/transport.py --save                   # and keep the results

Times are CPU seconds of one thread, the least of several runs; rivals are measured in the same run. The real data is
found in $WORDFERRY_DATA or --data: a folder of sets (twitter, r8) and embeddings/.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import harness
import wordferry
from harness import GensimWmd, Results, least, timed
from wordferry.index.config import RECOMMENDED
from wordferry.kernels import passes
from wordferry.texts.sentences import sentences
from wordferry.words.related.graph import RelatedWords

SIZES = (10, 40, 70, 200)
PAIRS = {10: 2000, 40: 300, 70: 120, 200: 16}
SETS = {"twitter": False, "r8": True}  # and whether stop words go
VECTORS = ("word2vec-google-news-300-subset31k.npz", "glove.6B.100d-60k-int8.npz")


def generated(words: int, dimensions: int) -> wordferry.Embeddings:
    """Unit vectors in clusters, like those of words."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(words // 16, dimensions))
    vectors = centres[rng.integers(0, len(centres), words)] + 0.8 * rng.normal(size=(words, dimensions))
    return wordferry.Embeddings([f"w{i}" for i in range(words)], vectors)


def documents(count: int, distinct: int, words: int, seed: int) -> sp.csr_array:
    """Counts of exactly ``distinct`` different words per document, most of them once; words are as frequent as in texts
    without stop words (Zipf and Mandelbrot's law)."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(count), distinct)
    law = 1 / (np.arange(words) + 50.0)
    columns = np.concatenate([rng.choice(words, distinct, replace=False, p=law / law.sum()) for _ in range(count)])
    return sp.csr_array((np.minimum(rng.geometric(0.7, len(rows)), 9), (rows, columns)), shape=(count, words))


def solver_row(embeddings: wordferry.Embeddings, distinct: int, equal: bool) -> dict[str, Any]:
    """One solve with the cost given, against POT's inner solver on the same masses and costs."""
    from ot.lp.emd_wrap import emd_c

    count = PAIRS[distinct]
    X, Y = (documents(count, distinct, len(embeddings), seed) for seed in (1, 2))
    a, b = (M.data.reshape(count, distinct).astype(np.int64) for M in (X, Y))
    if equal:
        a, b = np.ones_like(a), np.ones_like(b)
    a, b = a * b.sum(axis=1, keepdims=True), b * a.sum(axis=1, keepdims=True)
    x, y = (embeddings.matrix[M.indices.reshape(count, distinct)].astype(np.float64) for M in (X, Y))
    costs = np.stack([np.sqrt(((p[:, None] - q[None]) ** 2).sum(axis=2)) for p, q in zip(x, y, strict=True)])
    shares = a / a.sum(axis=1, keepdims=True), b / b.sum(axis=1, keepdims=True)
    theirs = np.empty(count)

    def pot() -> None:
        for k in range(count):
            theirs[k] = emd_c(shares[0][k], shares[1][k], costs[k], 10**7, 1, True)[1]

    ours = passes.transport_many(a, b, costs, 1)
    seconds = least(lambda: passes.transport_many(a, b, costs, 1), 7) / count
    rival = least(pot, 3) / count
    return {
        "job": "solve, equal masses" if equal else "solve",
        "words": distinct,
        "us": 1e6 * seconds,
        "rival": "POT emd_c",
        "rival us": 1e6 * rival,
        "ratio": rival / seconds,
        "largest difference": float(np.abs(ours[0] / a.sum(axis=1) - theirs).max()),
        "pivots": float(ours[1].mean()),
    }


class Gensim:
    """gensim's wmdistance of twenty pairs of documents."""

    def __init__(self, embeddings: wordferry.Embeddings, X: sp.csr_array, Y: sp.csr_array) -> None:
        self.distance = GensimWmd(embeddings)
        self.texts = [(self.distance.tokens(X[[i]]), self.distance.tokens(Y[[i]])) for i in range(20)]

    def values(self) -> list[float]:
        return [self.distance(x, y) for x, y in self.texts]


def compared(job: str, distinct: int, ours: Callable[[], Any], pairs: int, gensim: Gensim) -> dict[str, Any]:
    """Both a pair, in turns, so that both meet the same neighbours on the machine."""
    found = np.asarray(ours())
    difference = np.abs((found if found.ndim == 1 else found.diagonal()) - gensim.values())
    seconds = rival = np.inf
    for _ in range(4):
        seconds, rival = min(seconds, least(ours, 1) / pairs), min(rival, least(gensim.values, 1) / 20)
    return {
        "job": job,
        "words": distinct,
        "us": 1e6 * seconds,
        "rival": "gensim wmdistance",
        "rival us": 1e6 * rival,
        "ratio": rival / seconds,
        "largest difference": float(difference.max()),
    }


def gensim_row(embeddings: wordferry.Embeddings, distinct: int) -> dict[str, Any]:
    """wmd of some documents to a collection, distances of words included, against gensim's wmdistance."""
    X, Y = documents(20, distinct, len(embeddings), 3), documents(200, distinct, len(embeddings), 4)

    def ours() -> Any:
        return wordferry.pairwise(X, Y, "wmd", embeddings=embeddings, threads=1)

    return compared("wmd of documents", distinct, ours, 20 * 200, Gensim(embeddings, X, Y))


def single_row(embeddings: wordferry.Embeddings, distinct: int) -> dict[str, Any]:
    """One pair of token lists per call: what is left of the speed without anything to share."""
    X, Y = documents(20, distinct, len(embeddings), 3), documents(200, distinct, len(embeddings), 4)
    gensim = Gensim(embeddings, X, Y)

    def ours() -> Any:
        return [wordferry.distance(x, y, "wmd", embeddings=embeddings, threads=1) for x, y in gensim.texts]

    return compared("wmd, one pair per call", distinct, ours, 20, gensim)


def related_row(embeddings: wordferry.Embeddings, distinct: int) -> dict[str, Any]:
    """rel-wmd at r = 16 against wmd, both for all pairs of the same documents."""
    related = RelatedWords.build(embeddings, 16)
    X, Y = documents(40, distinct, len(embeddings), 5), documents(200, distinct, len(embeddings), 6)
    options = {"embeddings": embeddings, "related": related, "threads": 1}
    times = {
        name: least(lambda name=name: wordferry.pairwise(X, Y, name, **options), 3) / (40 * 200)
        for name in ("rel-wmd", "wmd")
    }
    return {
        "job": "rel-wmd, r = 16",
        "words": distinct,
        "us": 1e6 * times["rel-wmd"],
        "rival": "wmd",
        "rival us": 1e6 * times["wmd"],
        "ratio": times["wmd"] / times["rel-wmd"],
    }


def real(folder: Path, name: str, vectors: str, no_stop_words: bool) -> tuple[Any, sp.csr_array, sp.csr_array]:
    """Embeddings, training and test documents of a set's first split."""
    from wordferry.texts import bow
    from wordferry.texts.published import read_collection

    collection = read_collection(folder / name)
    embeddings = wordferry.load_embeddings(folder / "embeddings" / vectors)
    stop = set((folder / "stop_words_smart570.txt").read_text().split()) if no_stop_words else set()
    split = collection.splits[0]

    def encode(rows: Any) -> sp.csr_array:
        texts = [str(collection.records[i].text).split() for i in rows]
        return bow.encode([[w for w in text if w not in stop] for text in texts], embeddings, on_empty="drop")

    return embeddings, encode(split.train), encode(split.test)


def search_row(folder: Path, name: str, vectors: str, distance: str, queries: int) -> dict[str, Any]:
    """Exact top-10: the share of pairs solved, and the time against solving every pair with the same solver."""
    embeddings, train, test = real(folder, name, vectors, SETS[name])
    chosen = np.random.default_rng(0).choice(test.shape[0], queries, replace=False)
    related = RelatedWords.build(embeddings.restrict(np.union1d(train.indices, test.indices).astype(np.int64)), 16)
    options = {"embeddings": embeddings, "related": related if distance == "rel-wmd" else None, "threads": 1}
    search = timed(lambda: wordferry.top_k(test[chosen], train, 10, distance, **options))
    solving = timed(lambda: wordferry.pairwise(test[chosen], train, distance, **options))
    found, cascade, everything = search.value, search.cpu, solving.cpu
    order = np.argsort(solving.value, axis=1, kind="stable")[:, :10]
    return {
        "job": f"top-10 {distance}",
        "set": f"{name}, {vectors.split('-')[0].split('.')[0]}",
        "training documents": train.shape[0],
        "queries": queries,
        "solved share": found.solved / found.counts["pairs"],
        "stopped by the dual bound": found.counts["dual"] / found.counts["pairs"],
        "ms per query": 1e3 * cascade / queries,
        "speed-up over solving all": everything / cascade,
        "equals brute force": bool((order == found.indices).all()),
    }


def act_row(folder: Path, name: str, vectors: str, queries: int) -> dict[str, Any]:
    """Whether act would pay as a bound: what it rules out at the true threshold, and what a value costs."""
    embeddings, train, test = real(folder, name, vectors, SETS[name])
    chosen = np.random.default_rng(0).choice(test.shape[0], queries, replace=False)
    options = {"embeddings": embeddings, "threads": 1}
    found = wordferry.top_k(test[chosen], train, 10, "wmd", **options)
    limit = found.distances[:, -1:]
    row: dict[str, Any] = {"job": "bounds below the 10th distance", "set": f"{name}, {vectors[:8]}", "queries": queries}
    for bound, overlap in (("rwmd", "omr"), ("act", "omr"), ("act", "residual"), ("wmd", None)):
        took = timed(lambda b=bound, o=overlap: wordferry.pairwise(test[chosen], train, b, overlap=o, **options))
        values, seconds = took.value, took.cpu
        label = bound if overlap is None else f"{bound} {overlap}"
        row[f"{label} share"] = float((values <= limit).mean())
        row[f"{label} us"] = 1e6 * seconds / values.size
    return row


def explained_row(distance: str, count: int) -> dict[str, Any]:
    """An explanation of two texts of some sentences of the sample, by word and by sentence, beside their distance."""
    lines = [text[a:b].strip() for text in wordferry.sample().texts for a, b in sentences(text)]
    texts = [" ".join(lines[start : start + count]) for start in (0, 1000)]
    runs = 3 if count >= 100 else 7
    alone = least(lambda: wordferry.distance(*texts, distance), runs)
    words = least(lambda: wordferry.explain(*texts, distance), runs)
    by = least(lambda: wordferry.explain(*texts, distance, by="sentence"), runs)
    own = {"job": f"explain {distance}, {count} sentences", "distance ms": 1e3 * alone}
    return {**own, "by word, times": words / alone, "by sentence, times": by / alone}


def add(results: Results, row: dict[str, Any]) -> None:
    """Print a row, and keep its figures under what it is about."""
    cells = (f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
    print("; ".join(cells), flush=True)
    about = ", ".join(str(row[key]) for key in ("job", "set") if key in row)
    about += f", {row['words']} words" if "words" in row else ""
    results.values.update({f"{about}: {key}": value for key, value in row.items() if isinstance(value, float)})


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--search", action="store_true", help="exact top-10 on real data")
    parser.add_argument("--explain", action="store_true", help="explanations of long texts")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    arguments = parser.parse_args()
    if arguments.search and arguments.data is None:
        parser.error("--search needs --data or WORDFERRY_DATA, a folder of sets (twitter, r8) and embeddings/")
    results = Results("transport", arguments)
    if arguments.sizes:
        embeddings = generated(20_000, 100)
        for distinct in arguments.sizes:
            for equal in (False, True):
                add(results, solver_row(embeddings, distinct, equal))
            add(results, gensim_row(embeddings, distinct))
            add(results, single_row(embeddings, distinct))
        add(results, related_row(embeddings, 70))
    if arguments.explain:
        for distance in ("wmd", "rel-rwmd", RECOMMENDED):
            for count in (10, 30, 100, 200):
                add(results, explained_row(distance, count))
    if arguments.search:
        for name in SETS:
            for vectors in VECTORS:
                for distance in ("wmd", "rel-wmd"):
                    add(results, search_row(arguments.data, name, vectors, distance, arguments.queries))
            add(results, act_row(arguments.data, name, VECTORS[0], min(20, arguments.queries)))
    results.finish()


if __name__ == "__main__":
    main()
