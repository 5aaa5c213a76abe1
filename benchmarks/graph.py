"""Building related words: exact against the bare matrix product and other libraries, clusters against exact.

    python benchmarks/graph.py                    # exact: 20,000 words x 300 dimensions, r = 16
    python benchmarks/graph.py --large            # clusters: 200,000 words x 100 dimensions of real vectors
    python benchmarks/graph.py --large --rivals   # also faiss IVF and pynndescent, set to reach our recall

Every line gives the best wall time of --repeats runs, and the CPU time of that run: on a busy machine compare the
latter. The large part reads glove.6B.100d-341k-f16.npz from --data or $WORDFERRY_DATA.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import harness
from harness import Results, Took, timed
from wordferry import Embeddings, RelatedWords
from wordferry.base.runtime import thread_count
from wordferry.words.related.clusters import true_neighbours
from wordferry.words.related.exact import scaled_points

GLOVE = "embeddings/glove.6B.100d-341k-f16.npz"


def line(results: Results, name: str, run: Took, base: Took, note: str = "") -> None:
    """One line of the report; the processor time relative to the base is what the history keeps."""
    results.values[f"{name}: CPU ratio"] = run.cpu / base.cpu
    ratio = f"{run.wall / base.wall:6.2f}x wall {run.cpu / base.cpu:6.2f}x CPU"
    print(f"{name:34} {run.wall:8.3f} s wall {run.cpu:8.3f} s CPU   {ratio}   {note}", flush=True)


def named(matrix: np.ndarray) -> Embeddings:
    embeddings = Embeddings([str(i) for i in range(len(matrix))], matrix)
    _ = embeddings.fingerprint
    return embeddings


def bare_product(matrix: np.ndarray, threads: int, rows: int = 1024) -> Callable[[], None]:
    """The blocked product of all pairs, results overwritten: what any exact method that uses all of it must pay."""
    out = np.empty((rows, len(matrix)), np.float32)

    def work() -> None:
        with threadpool_limits(threads, "blas"):
            for start in range(0, len(matrix), rows):
                block = matrix[start : start + rows]
                np.matmul(block, matrix.T, out=out[: len(block)])

    return work


def build(embeddings: Embeddings, r: int, method: str, threads: int, **options: Any) -> Callable[[], RelatedWords]:
    def work() -> RelatedWords:
        related = RelatedWords.build(embeddings, r, method, threads=threads, **options)
        _ = related.graph, related.c_max
        return related

    return work


def faiss_flat(matrix: np.ndarray, r: int, threads: int) -> Callable[[], np.ndarray]:
    import faiss

    faiss.omp_set_num_threads(threads)

    def work() -> np.ndarray:
        index = faiss.IndexFlatL2(matrix.shape[1])
        index.add(matrix)
        return index.search(matrix, r + 1)[1]

    return work


def sklearn_brute(matrix: np.ndarray, r: int, threads: int) -> Callable[[], np.ndarray]:
    from sklearn.neighbors import NearestNeighbors
    from threadpoolctl import threadpool_limits

    def work() -> np.ndarray:
        with threadpool_limits(threads):
            search = NearestNeighbors(n_neighbors=r, algorithm="brute").fit(matrix)
            return search.kneighbors(return_distance=False)

    return work


def agreement(own: np.ndarray, other: np.ndarray) -> float:
    """Share of own neighbours that another answer has (it may list the word itself)."""
    found = sum(len(set(a) & set(b)) for a, b in zip(own.tolist(), other.tolist(), strict=True))
    return found / own.size


def exact_part(results: Results, words: int, dimensions: int, r: int, threads: int, repeats: int) -> None:
    print(f"\nexact: {words} random unit vectors x {dimensions}, r = {r}, {threads} threads, best of {repeats}")
    matrix = np.random.default_rng(0).standard_normal((words, dimensions), dtype=np.float32)
    embeddings = named(matrix)
    matrix = embeddings.matrix
    base = timed(bare_product(matrix, threads), repeats)
    line(results, "bare blocked sgemm", base, base)
    ours = timed(build(embeddings, r, "exact", threads), repeats)
    line(results, "wordferry exact, graph and c_max", ours, base, f"c_max {ours.value.c_max:.6f}")
    for name, rival in (("faiss IndexFlatL2", faiss_flat), ("scikit-learn brute force", sklearn_brute)):
        try:
            run = timed(rival(matrix, r, threads), repeats)
        except ImportError as error:
            print(f"{name}: left out ({error}; pip install 'wordferry[bench]')")
            continue
        line(results, name, run, base, f"agreement {agreement(ours.value.own, run.value):.6f}, no c_max")


def recall_on(points: Any, own: Callable[[np.ndarray], np.ndarray], r: int, threads: int) -> float:
    """Recall on 1,000 words that no method has seen as a sample (another seed)."""
    sample = np.sort(np.random.default_rng(12345).choice(len(points.norms), 1000, replace=False)).astype(np.int32)
    true = true_neighbours(points, sample, r, threads=threads, memory=256 << 20)
    return agreement(true, own(sample))


def large_part(results: Results, data: Path, words: int, r: int, threads: int, rivals: bool) -> None:
    with np.load(data / GLOVE) as arrays:
        matrix = arrays["vectors"][:words].astype(np.float32)
    embeddings = named(matrix)
    matrix = embeddings.matrix
    points, _ = scaled_points(matrix)
    print(f"\nlarge: {len(matrix)} GloVe words x {matrix.shape[1]}, r = {r}, {threads} threads, one run each")
    exact = timed(build(embeddings, r, "exact", threads), 1)
    line(results, "wordferry exact", exact, exact, f"c_max {exact.value.c_max:.6f}")
    ours = timed(build(embeddings, r, "clusters", threads), 1)
    record = ours.value.record
    goal = recall_on(points, lambda sample: ours.value.own[sample], r, threads)
    line(
        results,
        "wordferry clusters, auto probes",
        ours,
        exact,
        f"recall {goal:.3f}, {record.probes} of {record.clusters}",
    )
    difference = abs(ours.value.c_max - exact.value.c_max) / record.c_max_standard_error
    print(
        f"  exact/clusters: {exact.wall / ours.wall:.1f}x wall, {exact.cpu / ours.cpu:.1f}x CPU; recall in the record "
        f"{record.recall:.3f}; c_max {ours.value.c_max:.6f}, standard error {record.c_max_standard_error:.6f}, "
        f"{difference:.1f} of them from exact"
    )
    paper = timed(build(embeddings, r, "clusters", threads, probes=1), 1)
    recall = recall_on(points, lambda sample: paper.value.own[sample], r, threads)
    line(results, "wordferry clusters, probes=1", paper, exact, f"recall {recall:.3f} (the paper's way)")
    if rivals:
        rival_part(results, matrix, points, r, threads, exact, goal, record.clusters)
    megabytes = peak_memory(data, words, r, threads)
    results.add(
        "clusters: peak MB", megabytes, f"  peak memory of clusters alone: {megabytes:.0f} MB (interpreter included)"
    )


def rival_part(
    results: Results, matrix: np.ndarray, points: Any, r: int, threads: int, exact: Took, goal: float, lists: int
) -> None:
    """Each rival at the cheapest of its settings that reaches our recall, every setting tried being printed."""

    def until_goal(name: str, settings: Iterable[int], make: Callable[[int], Callable[[], np.ndarray]]) -> None:
        for setting in settings:
            run = timed(make(setting), 1)
            recall = recall_on(points, lambda sample, run=run: run.value[sample], r, threads)
            line(results, f"{name}={setting}", run, exact, f"recall {recall:.3f}, no c_max")
            if recall >= goal - 0.005:
                return
        print(f"  {name}: no setting tried reached a recall of {goal:.3f}")

    import faiss

    faiss.omp_set_num_threads(threads)

    def inverted(probes: int) -> Callable[[], np.ndarray]:
        def work() -> np.ndarray:
            index = faiss.IndexIVFFlat(faiss.IndexFlatL2(matrix.shape[1]), matrix.shape[1], lists)
            index.train(matrix)
            index.add(matrix)
            index.nprobe = probes
            return index.search(matrix, r + 1)[1]

        return work

    until_goal(f"faiss IVF{lists}, nprobe", (10, 13, 16), inverted)
    os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))
    try:
        import pynndescent
    except ImportError:
        print("pynndescent is not installed")
        return
    pynndescent.NNDescent(matrix[:2000], n_neighbors=r + 1, n_jobs=threads, random_state=0)  # compile

    def descent(neighbors: int) -> Callable[[], np.ndarray]:
        def work() -> np.ndarray:
            index = pynndescent.NNDescent(matrix, n_neighbors=neighbors, n_jobs=threads, random_state=0)
            return index.neighbor_graph[0][:, : r + 1]

        return work

    until_goal("pynndescent, n_neighbors", (r + 1, 24, 32, 48), descent)


def peak_memory(data: Path, words: int, r: int, threads: int) -> float:
    """Peak resident memory in MB of a process that builds once, by clusters (Linux)."""
    script = f"""
import re
import numpy as np
from wordferry import Embeddings, RelatedWords
with np.load({str(data / GLOVE)!r}) as arrays:
    matrix = arrays["vectors"][:{words}]
embeddings = Embeddings([str(i) for i in range(len(matrix))], matrix)
RelatedWords.build(embeddings, {r}, "clusters", threads={threads}).graph
# not ru_maxrss, which a child process begins with its parent's
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return float(output)


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--large", action="store_true", help="the clustered build on real vectors instead")
    parser.add_argument("--rivals", action="store_true", help="with --large: also faiss IVF and pynndescent")
    parser.add_argument("--words", type=int, help="default 20000, or 200000 with --large")
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--r", type=int, default=16)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    threads = thread_count(options.threads)
    if options.large and options.data is None:
        parser.error("--large needs --data or WORDFERRY_DATA, a folder with " + GLOVE)
    results = Results("graph", options)
    if options.large:
        large_part(results, options.data, options.words or 200_000, options.r, threads, options.rivals)
    else:
        exact_part(results, options.words or 20_000, options.dimensions, options.r, threads, options.repeats)
    results.finish()


if __name__ == "__main__":
    main()
