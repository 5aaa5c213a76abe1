"""The relaxed distances: microseconds per pair, ratios to other ways in the same run, scaling, memory, single queries.

    python benchmarks/relaxed.py                          # the sample collection, repeated
    python benchmarks/relaxed.py --data folder            # 20news, training x test, with Google News vectors
    python benchmarks/relaxed.py --data folder --save     # and keep the results; the chart of docs is drawn again

The folder (or $WORDFERRY_DATA) holds 20news/{train,test}.jsonl.gz, stop_words_smart570.txt and
embeddings/word2vec-google-news-300-subset31k.{npz,vocab.txt.gz}. Times are processor time of one thread, the least of
--repeats runs, unless a line says otherwise; on a busy machine compare ratios only.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import harness
from harness import ROOT, Results, least
from wordferry import Embeddings, RelatedWords, Searcher, default_embeddings, pairwise, sample, top_k
from wordferry.base.runtime import one_blas_thread, thread_count
from wordferry.texts.bow import bags, normalized

VECTORS = "embeddings/word2vec-google-news-300-subset31k"


@dataclass(frozen=True)
class Data:
    name: str
    X: sp.csr_array
    Y: sp.csr_array
    embeddings: Embeddings
    related: RelatedWords

    @property
    def options(self) -> dict[str, Any]:
        return {"embeddings": self.embeddings, "related": self.related}


def real_data(folder: Path) -> Data:
    """20news: test documents against training documents, stop words removed."""
    words = gzip.decompress((folder / f"{VECTORS}.vocab.txt.gz").read_bytes()).decode("utf-8").rstrip("\n").split("\n")
    stop = set((folder / "stop_words_smart570.txt").read_text(encoding="utf-8").split())
    with np.load(folder / f"{VECTORS}.npz") as arrays:
        embeddings = Embeddings(words, arrays["vectors"].astype(np.float32))
    embeddings = embeddings.restrict([word for word in words if word not in stop])
    sides = []
    for part in ("test", "train"):
        with gzip.open(folder / "20news" / f"{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = (json.loads(line)["text"] for line in lines)
            tokens = [text.split() if isinstance(text, str) else text for text in texts]
        sides.append(bags(tokens, embeddings.vocabulary, on_empty="drop").matrix)
    return in_play("20news, test x train", *sides, embeddings)


def sample_data(times: int = 8) -> Data:
    """The articles of the package, each several times with half of its words."""
    embeddings = default_embeddings()
    X = bags([article.text for article in sample().articles], embeddings.vocabulary).matrix
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(times):
        part = X.copy()
        part.data = part.data * rng.integers(0, 2, size=part.nnz)
        part.eliminate_zeros()
        parts.append(part[np.diff(part.indptr) > 0])
    Y = sp.csr_array(sp.vstack(parts))
    return in_play(f"sample collection x {times} halves of it", X, Y, embeddings)


def in_play(name: str, X: sp.csr_array, Y: sp.csr_array, embeddings: Embeddings) -> Data:
    used = np.union1d(X.indices, Y.indices)
    small = embeddings.restrict(used)
    return Data(name, sp.csr_array(X[:, used]), sp.csr_array(Y[:, used]), small, RelatedWords.build(small, 16))


def savings(side: sp.csr_array, related: RelatedWords, step: int = 1000) -> sp.csr_array:
    """c_max less the cost of the nearest word of each document, where that is not 0: one row per document."""
    n = side.shape[1]
    graph = related.graph.copy()
    graph.data = np.maximum(np.float32(related.c_max) - graph.data, 0)
    gain = sp.csr_array(graph + sp.eye_array(n, dtype=np.float32, format="csr") * np.float32(related.c_max))
    parts = []
    for start in range(0, side.shape[0], step):
        block = side[start : start + step]
        rows = gain[block.indices]
        documents = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        keys = np.repeat(documents, np.diff(rows.indptr)).astype(np.int64) * n + rows.indices
        order = np.argsort(keys)
        distinct, first = np.unique(keys[order], return_index=True)
        values = np.maximum.reduceat(rows.data[order], first)
        parts.append(sp.csr_array((values, (distinct // n, distinct % n)), shape=block.shape))
    return sp.csr_array(sp.vstack(parts), dtype=np.float32)


def against_scipy(data: Data, results: Results, rows: int) -> None:
    """Both one-sided values as sparse products, without OMR; making the factors is not counted for SciPy."""
    X, Y = data.X[:rows], data.Y
    pairs = X.shape[0] * Y.shape[0]
    x, y = (normalized(side).astype(np.float32) for side in (X, Y))
    sx, sy = savings(X, data.related), savings(Y, data.related)
    y_columns, sy_columns = sp.csr_array(y.T), sp.csr_array(sy.T)

    def scipy_way() -> np.ndarray:
        left, right = (x @ sy_columns).toarray(), (sx @ y_columns).toarray()
        return np.float32(data.related.c_max) - np.minimum(left, right)

    ours = pairwise(X, Y, "rel-rwmd", overlap="keep", threads=1, **data.options)
    wrong = float(np.abs(ours - scipy_way()).max())
    out = np.zeros((data.X.shape[0], data.Y.shape[0]), dtype=np.float32)
    theirs, mine = np.inf, np.inf
    for _ in range(3):  # in turns, so that both meet the same neighbours on the machine
        theirs = min(theirs, least(scipy_way, 1) / pairs * 1e6)
        whole = least(lambda: pairwise(data.X, Y, "rel-rwmd", threads=1, out=out, **data.options), 2)
        mine = min(mine, whole / out.size * 1e6)
    ratio = theirs / mine
    results.add("scipy_us", theirs, f"scipy, two sparse products, no OMR   {theirs:8.4f} us per pair ({pairs} pairs)")
    results.add("scipy_ratio", ratio, f"rel-rwmd, with OMR, {mine:.4f} us: {ratio:.1f}x as fast as that")
    results.add("scipy_difference", wrong, f"largest difference of values, without OMR {wrong:.1e}")


def numpy_rwmd(data: Data, results: Results) -> None:
    """Pair by pair with NumPy, the way most scripts do it (no OMR)."""
    v = data.embeddings.matrix
    bag = [normalized(side[:20]) for side in (data.X, data.Y)]

    def one(i: int, j: int) -> float:
        (a, p), (b, q) = (
            (m.indices[s], m.data[s]) for m, s in ((bag[0], _span(bag[0], i)), (bag[1], _span(bag[1], j)))
        )
        cost = np.sqrt(np.maximum(2 - 2 * v[a] @ v[b].T, 0))
        return max(float(p @ cost.min(axis=1)), float(q @ cost.min(axis=0)))

    pairs = [(i, j) for i in range(bag[0].shape[0]) for j in range(bag[1].shape[0])]
    with one_blas_thread():
        us = least(lambda: [one(i, j) for i, j in pairs], 2) / len(pairs) * 1e6
    results.add("numpy_rwmd_us", us, f"NumPy RWMD, pair by pair, no OMR     {us:8.4f} us per pair")


def _span(matrix: sp.csr_array, i: int) -> slice:
    return slice(matrix.indptr[i], matrix.indptr[i + 1])


def gensim_soft_cosine(data: Data, results: Results) -> None:
    """Soft cosine over the same graph, as the nearest thing that gensim has."""
    try:
        from gensim.similarities import SparseTermSimilarityMatrix
    except ImportError:
        print("gensim is not installed: soft cosine left out")
        return
    graph = data.related.graph.copy()
    graph.data = np.maximum(1 - graph.data**2 / 2, 0)  # the cosine of unit vectors
    terms = SparseTermSimilarityMatrix(sp.csc_matrix(graph + sp.eye_array(graph.shape[0], format="csr")))
    X, Y = data.X[:50], data.Y[:500]
    corpora = [
        [
            list(zip(m.indices[_span(m, i)].tolist(), m.data[_span(m, i)].tolist(), strict=True))
            for i in range(m.shape[0])
        ]
        for m in (X, Y)
    ]
    pairs = X.shape[0] * Y.shape[0]
    us = least(lambda: terms.inner_product(*corpora, normalized=(True, True)), 2) / pairs * 1e6
    results.add("gensim_soft_cosine_us", us, f"gensim soft cosine                   {us:8.4f} us per pair")


def whole_job(data: Data, results: Results, repeats: int, slow: bool) -> None:
    pairs = data.X.shape[0] * data.Y.shape[0]
    out = np.empty((data.X.shape[0], data.Y.shape[0]), dtype=np.float32)
    out.fill(0)
    for distance in ("rel-rwmd", "bow-l1", "cosine", "wcd", *(("rwmd",) if slow else ())):
        runs = 1 if distance == "rwmd" else repeats
        seconds = least(lambda d=distance: pairwise(data.X, data.Y, d, threads=1, out=out, **data.options), runs)
        us = seconds / pairs * 1e6
        results.add(f"{distance}_us", us, f"{distance:10} all {pairs} pairs     {us:8.4f} us per pair, {seconds:.2f} s")
    walls = {}
    for threads in (1, 2):
        walls[threads] = least(
            lambda t=threads: pairwise(data.X, data.Y, "rel-rwmd", threads=t, out=out, **data.options),
            repeats,
            time.perf_counter,
        )
    gain = walls[1] / walls[2]
    results.add("two_threads", gain, f"rel-rwmd with two threads: {gain:.2f}x the speed of one (wall time)")
    same = data.Y[: data.X.shape[0]]
    half = least(lambda: pairwise(same, None, "rel-rwmd", threads=1, **data.options), repeats)
    full = least(lambda: pairwise(same, same, "rel-rwmd", threads=1, **data.options), repeats)
    results.add("itself", half / full, f"X with itself takes {half / full:.2f} of X with a copy")


def peak_memory(folder: Path | None, results: Results) -> None:
    """top_k on the whole job in a process of its own: the peak above what the inputs took."""
    command = [sys.executable, __file__, "--peak", *(["--data", str(folder)] if folder else [])]
    megabytes = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    results.add("top_k_peak_mb", megabytes, f"top_k(k=19): {megabytes:.0f} MB at the peak above the inputs")


def print_peak(data: Data) -> None:
    """Resident memory is read every few milliseconds from the system's own table."""
    page = os.sysconf("SC_PAGE_SIZE")

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * page

    top_k(data.X[:1], data.Y[:1], 1, "rel-rwmd", **data.options)
    before, peak, done = resident(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.003):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    top_k(data.X, data.Y, 19, "rel-rwmd", **data.options)
    done.set()
    watcher.join()
    print((peak[0] - before) / 1e6)


def synthetic(documents: int, words: int, embeddings: Embeddings, seed: int = 0) -> sp.csr_array:
    """Documents of random words, frequent ones more often."""
    rng = np.random.default_rng(seed)
    chance = 1.0 / (np.arange(len(embeddings)) + 20)
    ids = rng.choice(len(embeddings), size=documents * words, p=chance / chance.sum())
    rows = np.repeat(np.arange(documents), words)
    return sp.csr_array((np.ones(len(ids), dtype=np.float32), (rows, ids)), shape=(documents, len(embeddings)))


def scaling(repeats: int) -> dict[str, dict[str, dict[int, float]]]:
    """Microseconds per pair over documents, words, r (CPU, one thread) and threads (wall), on random documents."""
    embeddings = default_embeddings().restrict(np.arange(20000))
    related = RelatedWords.build(embeddings, 128)
    series: dict[str, dict[str, dict[int, float]]] = {}

    def measure(axis: str, value: int, documents: int, words: int, r: int, names: tuple[str, ...]) -> None:
        X = synthetic(documents, words, embeddings)
        Y = synthetic(documents, words, embeddings, 1)
        chosen = related.restrict(r)
        for name in names:
            work = partial(pairwise, X, Y, name, embeddings=embeddings, related=chosen, threads=1)
            us = least(work, 1 if name == "rwmd" else repeats) / documents**2 * 1e6
            series.setdefault(axis, {}).setdefault(name, {})[value] = us
            print(f"{axis:22} {value:6}  {name:9} {us:9.4f} us per pair", flush=True)

    for documents in (128, 512, 2048, 4096):
        measure("documents", documents, documents, 50, 16, ("rel-rwmd", "rwmd") if documents <= 2048 else ("rel-rwmd",))
    for words in (10, 25, 50, 100, 200):
        measure("words per document", words, 1024, words, 16, ("rel-rwmd", "rwmd") if words <= 100 else ("rel-rwmd",))
    for r in (1, 4, 16, 64, 128):
        measure("r", r, 2048, 50, r, ("rel-rwmd",))
    X, Y = synthetic(4096, 50, embeddings), synthetic(4096, 50, embeddings, 1)
    for threads in range(1, thread_count() + 1):
        work = partial(pairwise, X, Y, "rel-rwmd", embeddings=embeddings, related=related.restrict(16), threads=threads)
        us = least(work, 3 * repeats, time.perf_counter) / X.shape[0] ** 2 * 1e6
        series.setdefault("threads (wall time)", {}).setdefault("rel-rwmd", {})[threads] = us
        print(f"{'threads (wall time)':22} {threads:6}  rel-rwmd  {us:9.4f} us per pair", flush=True)
    return series


def single_queries(results: Results, repeats: int, threads: int) -> None:
    embeddings = default_embeddings()
    Y = synthetic(100_000, 50, embeddings)
    searcher = Searcher(
        Y, "rel-rwmd", embeddings=embeddings, related=RelatedWords.build(embeddings, 16), threads=threads
    )
    one = least(lambda: searcher.top_k(Y[:1], 10), 5 * repeats, time.perf_counter) * 1e3
    many = least(lambda: searcher.top_k(Y[:64], 10), repeats, time.perf_counter) / 64 * 1e3
    results.add("query_ms", one, f"one query, 100000 documents of 50 words: {one:.1f} ms wall, {threads} threads")
    results.add("batch_query_ms", many, f"64 queries at once: {many:.2f} ms each")


def chart(scaled: dict[str, dict[str, dict[int, float]]], machine: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(scaled), figsize=(12, 3.2), sharey=True)
    for place, (axis, lines) in zip(axes, scaled.items(), strict=True):
        for name, points in lines.items():
            place.plot(list(points), list(points.values()), marker="o", label=name)
        scale = "linear" if axis.startswith("threads") else "log"
        place.set(xscale=scale, yscale="log", xlabel=axis)
        ticks = sorted({int(value) for points in lines.values() for value in points})
        place.set_xticks(ticks, [str(tick) for tick in ticks])
        place.minorticks_off()
        place.grid(alpha=0.3)
    axes[0].set_ylabel("microseconds per pair, one thread\n(CPU time; wall time over threads)")
    axes[0].legend(frameon=False)
    figure.suptitle(f"random documents over 20,000 words x 100 dimensions; {machine['processor']}", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--rows", type=int, default=500, help="documents for the comparison with SciPy (x 4 times as many)"
    )
    parser.add_argument("--skip-scaling", action="store_true")
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    data = real_data(options.data) if options.data else sample_data()
    if options.peak:
        print_peak(data)
        return
    results = Results("relaxed", options)
    sides = f"{data.X.shape[0]} x {data.Y.shape[0]} documents"
    words = (data.X.nnz + data.Y.nnz) / (data.X.shape[0] + data.Y.shape[0])
    results.note("data", f"{data.name}: {sides} of {words:.0f} words, {len(data.embeddings)} words in play, r = 16")
    whole_job(data, results, options.repeats, slow=True)
    against_scipy(data, results, options.rows)
    numpy_rwmd(data, results)
    gensim_soft_cosine(data, results)
    if Path("/proc/self/statm").exists():
        peak_memory(options.data, results)
    single_queries(results, options.repeats, min(2, thread_count()))
    if not options.skip_scaling:
        series = scaling(options.repeats)
        results.facts["scaling"] = series
        if options.save:
            chart(series, results.facts["machine"], ROOT / "docs" / "_static" / "relaxed-scaling.svg")
    results.finish()


if __name__ == "__main__":
    main()
