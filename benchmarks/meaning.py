"""Search by words and meaning: what it finds, what the codes keep, and what a query costs over a million documents.

    python benchmarks/meaning.py                                          # all parts, with wordllama
    python benchmarks/meaning.py --quality-only --encoder wordllama sentence-transformers:PATH
    python benchmarks/meaning.py --speed-only --documents 200000

Quality is nDCG@10 and recall@100 on the judged collections in ``ir/`` and on the sample, and the mean reciprocal rank
of known-item search (see ``benchmarks/search.py``), of words, of each encoder, and of both. Recall of codes is the
share of the best k by float32 cosines that codes of one byte find. Speed is processor time on one thread, over
documents put together from halves of real texts with vectors that lie in clusters, as those of real texts do.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import harness
import search as words
from harness import Results
from wordferry import Index
from wordferry.encoders import CodedQuery, Codes, Encoder, find_encoder
from wordferry.find import WordSearch
from wordferry.judge.judged import sample_collection
from wordferry.judge.systems import ByEncoder
from wordferry.kernels.words import nearest_by_meaning

DIMENSION = 256
MEMORY = """
import sys
from wordferry import Index
with Index.open(sys.argv[1]) as index:
    for n in range(5):
        index.search(sys.argv[2], vector=[1.0, *[0.1 * n] * (int(sys.argv[3]) - 1)])
    print(1024 * int(next(l for l in open("/proc/self/status") if l.startswith("RssAnon")).split()[1]))
"""
"""Opens an index, asks it, and prints the bytes of memory that belong to the process alone and lie in no file."""


def sample() -> words.Judged:
    found = sample_collection()
    rows = {id: row for row, id in enumerate(found.ids)}
    right = [{rows[d] for d, grade in found.right[query].items() if grade > 0} for query in found.queries]
    return words.Judged("sample", list(found.texts), list(found.queries.values()), right)


def recall(found: list[int], right: set[int]) -> float:
    return len(right & set(found[:100])) / len(right)


class Remembering:
    """An encoder's function that encodes each text once, however often it is asked for."""

    def __init__(self, call: Callable[[list[str]], np.ndarray]) -> None:
        self.call, self.known = call, dict[str, np.ndarray]()

    def __call__(self, texts: list[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known |= zip(new, np.asarray(self.call(new)), strict=True)
        return np.stack([self.known[text] for text in texts])


def rankings(one: words.Judged, encoders: dict[str, Encoder], depth: int, weights: list[float]) -> dict[str, list]:
    """The rows that each system finds for each query: words, each encoder, and both."""

    def by_words(encoder: Encoder | None, weight: float | None) -> list[list[int]]:
        searcher = WordSearch(one.texts, encoder=encoder)
        return [searcher.search(query, depth, meaning=weight).rows.tolist() for query in one.queries]

    found = {"words": by_words(None, None)}
    for name, encoder in encoders.items():
        alone = ByEncoder(encoder)(one.texts, one.queries, depth)
        found[name] = [rows.tolist() for rows, _ in alone]
        found[f"words+{name}"] = by_words(encoder, None)
        found |= {f"words+{name}, weight {weight:g}": by_words(encoder, weight) for weight in weights}
    return found


def quality(results: Results, options: argparse.Namespace) -> None:
    """What words, each encoder, and both find; the weight of meaning is the encoder's own, and those that are named."""
    encoders = {}
    for text in options.encoder:
        plain = find_encoder(text)
        name = Path(text.partition(":")[2] or text).name
        encoders[name] = replace(plain, call=Remembering(plain.call))
        results.add(f"weight of {name}", plain.weight, f"{name}: {plain.dimension} dimensions, weight {plain.weight}")
    groups = [
        ("nDCG@10", "R@100", [sample(), *map(words.judged, ("cran", "cisi", "lisa"))], (words.ndcg, recall), 100),
        ("MRR", "", [*map(words.known_titles, ("cran", "cisi", "lisa"))], (words.reciprocal_rank,), 1000),
    ]
    for first, second, collections, scores, depth in groups:
        measures, means = [first, second][: len(scores)], {}
        for one in collections:
            for system, found in rankings(one, encoders, depth, options.weights).items():
                pairs = list(zip(found, one.right, strict=True))
                values = [float(np.mean([score(*pair) for pair in pairs])) for score in scores]
                means.setdefault(system, []).append(values)
                shown = "  ".join(f"{measure} {value:.4f}" for measure, value in zip(measures, values, strict=True))
                results.add(f"{one.name}, {system}: {first}", values, f"{one.name:14} {system:30} {shown}")
        for system, values in means.items():
            shown = "  ".join(f"{m} {v:.4f}" for m, v in zip(measures, np.mean(values, axis=0), strict=True))
            print(f"{'mean':14} {system:30} {shown}", flush=True)


def clustered(rows: int, seed: int = 0) -> np.ndarray:
    """Vectors around a thousand centres."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((1000, DIMENSION)).astype(np.float32)
    made = np.empty((rows, DIMENSION), dtype=np.float32)
    for start in range(0, rows, 100_000):
        some = made[start : start + 100_000]
        some[:] = centres[rng.integers(0, 1000, len(some))] + rng.standard_normal(some.shape, dtype=np.float32)
    return made


def codes(results: Results, options: argparse.Namespace) -> None:
    """How many of the nearest documents by float32 the codes find."""
    for name, vectors in (
        ("clusters", clustered(50_000)),
        ("sample", find_encoder("wordllama").encode(sample().texts)),
    ):
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        kept = Codes.of(units)
        for k in (10, 100):
            shares = []
            for query in units[:: len(units) // 100]:
                exact = set(np.argsort(-(units @ query), kind="stable")[:k].tolist())
                coded = CodedQuery.of(query)
                found = nearest_by_meaning([kept.native], (coded.levels, coded.scale), k, (None, None))
                shares.append(len(exact & set(found.rows.tolist())) / k)
            results.add(f"{name}: recall of codes at {k}", float(np.mean(shares)))


def speed(results: Results, options: argparse.Namespace) -> None:
    """A large index with vectors that were brought: adding it, its size, a search, the scan alone."""
    count, vectors = options.documents, clustered(options.documents)
    texts = halves(count)
    with TemporaryDirectory(dir=options.folder) as folder:
        with Index.create(Path(folder) / "index") as index:
            took = harness.timed(lambda: index.fill(texts, vectors=vectors))
            results.add("adding, documents a second", round(count / took.cpu))
        with Index.open(Path(folder) / "index") as index:
            queries = [" ".join(text.split()[3:9]) for text in texts[:: count // 60]][:50]
            asked = vectors[:: count // 60][:50]
            index.search(queries[0], vector=asked[0])
            for name, options_ in (("words and meaning", {}), ("words alone", {"meaning": 0})):
                times = []
                for query, vector in zip(queries, asked, strict=True):
                    given = options_ or {"vector": vector}
                    start = time.process_time()
                    index.search(query, 10, **given)
                    times.append(time.process_time() - start)
                results.add(f"search, {name}: p50 ms of processor time", 1000 * float(np.median(times)))
            parts = [part.rows.bags.codes for part in _snapshot(index).parts]
            coded = CodedQuery.of(asked[0])
            natives = [one.native for one in parts if one is not None]
            scan = harness.least(lambda: nearest_by_meaning(natives, (coded.levels, coded.scale), 300, (None, None)), 5)
            results.add("scan of the codes alone, ms", 1000 * scan)
            here = [sys.executable, "-c", MEMORY, str(Path(folder) / "index"), queries[0], str(DIMENSION)]
            told = subprocess.run(here, capture_output=True, text=True, check=True).stdout
            results.add("own memory of a process with the open index, MB", float(told) / 1e6)
    for name in options.encoder:
        encoder, size = find_encoder(name), 40_000 if name == "wordllama" else 2000
        some = texts[:: max(count // size, 1)]  # as many words that come once as in the whole
        alone = harness.timed(lambda: encoder.encode(some), 3)  # noqa: B023

        def add_all(encoder: Encoder = encoder, some: list[str] = some) -> None:
            with Index.create(encoder=encoder) as index:
                index.fill(some)

        took = harness.timed(add_all, 3)
        kind = encoder.name.partition(":")[0]
        results.add(f"{kind} alone, documents a second", round(len(some) / alone.wall))
        results.add(f"adding with {kind}, documents a second", round(len(some) / took.wall))
        results.add(f"adding with {kind}, share of the encoder's own speed", alone.wall / took.wall)


def _snapshot(index: Index):
    with index.backend.state() as (_, snapshot):
        return snapshot


def halves(count: int) -> list[str]:
    """Documents put together from halves of the sample's articles."""
    rng = np.random.default_rng(1)
    parts = [text.split()[:25] for text in sample().texts]
    pairs = rng.integers(0, len(parts), (count, 2)).tolist()
    return [" ".join(parts[a] + parts[b] + [f"w{n % 50_000}"]) for n, (a, b) in enumerate(pairs)]


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--encoder", nargs="+", default=["wordllama"])
    parser.add_argument("--weights", type=float, nargs="*", default=[], help="more weights of meaning to try")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None, help="where the large index is made")
    for part in ("quality", "codes", "speed"):
        parser.add_argument(f"--{part}-only", action="store_true")
    options = parser.parse_args()
    only = [part for part in ("quality", "codes", "speed") if getattr(options, f"{part}_only")]
    results = Results("meaning", options)
    for part in only or ("quality", "codes", "speed"):
        {"quality": quality, "codes": codes, "speed": speed}[part](results, options)
    results.finish()


if __name__ == "__main__":
    main()
