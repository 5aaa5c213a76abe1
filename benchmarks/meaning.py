"""Search by words and meaning: what it finds, what the codes keep, and what a query costs over a million documents.

    python benchmarks/meaning.py                                          # all parts, with wordllama
    python benchmarks/meaning.py --encoder sentence-transformers:PATH     # quality with another encoder
    python benchmarks/meaning.py --speed-only --documents 200000

Quality is nDCG@10 and recall@100 on the judged collections in ``ir/`` and on the sample, and the mean reciprocal rank
of known-item search (see ``benchmarks/search.py``), for weights of meaning around the encoder's own. Recall of codes
is the share of the best k by float32 cosines that codes of one byte find. Speed is processor time on one thread, over
documents put together from halves of real texts with vectors that lie in clusters, as those of real texts do.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import harness
import search as words
from harness import Results
from wordferry import Index
from wordferry.encoders import CodedQuery, Codes, find_encoder
from wordferry.find import WordSearch
from wordferry.judge.judged import sample_collection
from wordferry.kernels import meaning

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


def quality(results: Results, options: argparse.Namespace) -> None:
    """What words, the encoder, and both find; the weight of meaning is the encoder's own where none is named."""
    encoder = find_encoder(options.encoder)
    results.add("weight", encoder.weight, f"{options.encoder}: {encoder.dimension} dimensions, weight {encoder.weight}")
    weights = [0.0, None, *options.weights]
    groups = [
        ("nDCG@10 and R@100", [sample(), *map(words.judged, ("cran", "cisi", "lisa"))], (words.ndcg, recall)),
        ("MRR", [*map(words.known_titles, ("cran", "cisi", "lisa"))], (words.reciprocal_rank,)),
    ]
    for measure, collections, scores in groups:
        table = []
        for one in collections:
            texts = WordSearch(one.texts, encoder=encoder)
            depth = 100 if len(scores) > 1 else 1000
            line = []
            for weight in weights:
                found = [texts.search(query, depth, meaning=weight).rows.tolist() for query in one.queries]
                pairs = list(zip(found, one.right, strict=True))
                line.append([float(np.mean([score(*pair) for pair in pairs])) for score in scores])
            table.append(line)
            for weight, values in zip(weights, line, strict=True):
                name = "words" if weight == 0 else "own weight" if weight is None else f"weight {weight:g}"
                shown = " ".join(f"{value:.4f}" for value in values)
                results.add(f"{one.name}, {measure}: {name}", values, f"{one.name:14} {measure:18} {name:12} {shown}")
        for place, weight in enumerate(weights):
            mean = np.mean([line[place] for line in table], axis=0)
            print(
                f"{'mean':14} {measure:18} {weight if weight is not None else 'own'!s:12} {mean.round(4)}", flush=True
            )


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
                found = meaning.nearest([kept.native], (coded.levels, coded.scale), k, (None, None))
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
            scan = harness.least(lambda: meaning.nearest(natives, (coded.levels, coded.scale), 300, (None, None)), 5)
            results.add("scan of the codes alone, ms", 1000 * scan)
            here = [sys.executable, "-c", MEMORY, str(Path(folder) / "index"), queries[0], str(DIMENSION)]
            told = subprocess.run(here, capture_output=True, text=True, check=True).stdout
            results.add("own memory of a process with the open index, MB", float(told) / 1e6)
    encoder = find_encoder("wordllama")
    some = [texts[i] for i in range(2000)]
    results.add("wordllama alone, documents a second", round(2000 / harness.least(lambda: encoder.encode(some), 2)))
    with Index.create(encoder=encoder) as index:
        took = harness.timed(lambda: index.fill(some))
        results.add("adding with wordllama, documents a second", round(2000 / took.cpu))


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
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--weights", type=float, nargs="*", default=[1.0, 2.0, 3.0])
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
