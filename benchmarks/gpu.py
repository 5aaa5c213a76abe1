"""One GPU beside the CPU of the same machine: relaxed distances, the graph of related words, exact transport.

    python benchmarks/gpu.py                                # all jobs; real data as --data or $WORDFERRY_DATA says
    python benchmarks/gpu.py --jobs ceilings,wmd            # some of them
    python benchmarks/gpu.py --save                         # and keep the results

GPU times are by the clock, after a first run that compiles the kernels and puts the inputs on the device; a job ends
when its result is on the host. CPU times are by the clock on all cores, on a part of the job where a line says so.
With --profile the time of each kernel is printed, which slows jobs down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

import harness
import wordferry
from harness import Results
from wordferry.compare.distances.transport import solve_pairs, solvers
from wordferry.compare.measure import Measure
from wordferry.compare.nearest import nearest
from wordferry.device import launch

FEW = 64
"""Queries, or documents of either side, of the CPU's part of a costly job."""
VECTORS = "word2vec-google-news-300-subset31k.npz"


def seconds(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least time of some runs by the clock, after one that does not count, and the last result."""
    work()
    best, value = float("inf"), None
    for _ in range(repeats):
        launch.runtime().xp.cuda.Device().synchronize()
        start = time.perf_counter()
        value = work()
        launch.runtime().xp.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - start)
    return best, value


def once(work: Callable[[], Any]) -> tuple[float, Any]:
    """The time of one run by the clock."""
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


@contextmanager
def profiled() -> Iterator[None]:
    """Print how long each kernel took, and how often it was launched, inside the block."""
    device, spent = launch.runtime(), {}
    plain = device.launch

    def timed(kernel: str, *arguments: Any) -> None:
        device.xp.cuda.Device().synchronize()
        start = time.perf_counter()
        plain(kernel, *arguments)
        device.xp.cuda.Device().synchronize()
        count, total = spent.get(kernel, (0, 0.0))
        spent[kernel] = count + 1, total + time.perf_counter() - start

    device.launch = timed  # type: ignore[method-assign]
    try:
        yield
    finally:
        device.launch = plain  # type: ignore[method-assign]
        for kernel, (count, total) in sorted(spent.items(), key=lambda item: -item[1][1]):
            print(f"  {kernel}: {count} launches, {1e3 * total:.2f} ms")


def ceilings(results: Results, options: Any) -> None:
    """What the device can do at best: copying, and matrix products of three precisions."""
    xp = launch.runtime().xp
    memory, copied = xp.random.random(1 << 29, dtype=np.float32), xp.empty(1 << 29, dtype=np.float32)
    took, _ = seconds(lambda: xp.copyto(copied, memory), 5)
    results.add("copy_terabytes_per_second", 2 * memory.nbytes / took / 1e12)
    small = xp.random.random(6 << 20, dtype=np.float32)
    took, _ = seconds(lambda: [xp.copyto(memory[: small.size], small) for _ in range(50)], 5)
    results.add("copy_in_cache_terabytes_per_second", 100 * small.nbytes / took / 1e12)
    for kind in (np.float32, np.float64):
        a = xp.random.random((8192, 8192)).astype(kind)
        took, _ = seconds(lambda a=a: a @ a, 3)
        results.add(f"product_{np.dtype(kind).name}_teraflops", 2 * 8192**3 / took / 1e12)


def news(options: Any) -> tuple[Any, Any, wordferry.Embeddings]:
    """Counts of the train and test documents of 20 newsgroups, stop words removed."""
    if options.data is None:
        raise SystemExit("pass --data: the jobs on 20 newsgroups need the data sets")
    embeddings = wordferry.load_embeddings(options.data / "embeddings" / VECTORS)
    stop = set((options.data / "stop_words_smart570.txt").read_text(encoding="utf-8").split())
    sides = []
    for part in ("train", "test"):
        records = wordferry.read_documents(options.data / "20news" / f"{part}.jsonl.gz", text="text")
        tokens = [[word for word in record.text.split() if word not in stop] for record in records]
        sides.append(wordferry.encode(tokens, embeddings, on_empty="drop"))
    return sides[0], sides[1], embeddings


def relaxed(results: Results, options: Any) -> None:
    """rel-rwmd, rwmd, wcd, cosine and the default of an index over 20 newsgroups: the 19 nearest of train to each of
    test."""
    train, test, embeddings = news(options)
    related = wordferry.RelatedWords.build(embeddings, 16)
    results.note("news", f"{test.shape[0]} x {train.shape[0]} documents, {train.nnz / train.shape[0]:.1f} words")
    for name in ("rel-rwmd", "rwmd", "wcd", "cosine", "rel-rwmd + 2*cosine"):
        measure = Measure(name, embeddings=embeddings, related=related if "rel-rwmd" in name else None)
        problem = measure.problem(test, train, wordferry.Run(device="cuda"))
        took, found = seconds(lambda problem=problem: nearest(problem, 19), 5)
        on_cpu = measure.problem(test[: options.queries], train, wordferry.Run())
        cpu, expected = once(lambda on_cpu=on_cpu: nearest(on_cpu, 19))
        cpu *= test.shape[0] / options.queries
        same = bool((found.indices[: options.queries] == expected.indices).all())
        error = float(np.abs(found.distances[: options.queries] - expected.distances).max())
        refined = (found.counts or {}).get("refined", 0)
        key = "blend" if "+" in name else name
        results.add(f"{key}_20news_top19_ms", 1e3 * took)
        results.add(
            f"{key}_20news_cpu_ms",
            1e3 * cpu,
            f"{name}: {1e3 * took:.1f} ms, CPU {1e3 * cpu:.0f} ms ({options.queries} queries scaled up); "
            f"neighbours equal {same}, largest difference {error:.1e}, {refined} rows refined",
        )


def sustained(results: Results, options: Any) -> None:
    """rel-rwmd of generated documents with the statistics of texts: top 19 of all pairs."""
    rng, words, count = np.random.default_rng(0), 60_000, options.documents
    centres = rng.normal(size=(words // 16, 64))
    vectors = centres[rng.integers(0, len(centres), words)] + 0.8 * rng.normal(size=(words, 64))
    embeddings = wordferry.Embeddings([f"w{i}" for i in range(words)], vectors)
    law = 1 / (np.arange(words) + 50.0)
    lengths = np.clip(rng.lognormal(4.1, 0.6, count).astype(int), 5, 1000)
    columns = rng.choice(words, int(lengths.sum()), p=law / law.sum())
    rows = np.repeat(np.arange(count), lengths)
    matrix = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, words))
    matrix.sum_duplicates()
    related = wordferry.RelatedWords.build(embeddings, 16)
    problem = Measure("rel-rwmd", embeddings=embeddings, related=related).problem(
        matrix, None, wordferry.Run(device="cuda")
    )
    nearest(problem.part(slice(0, 64), slice(0, count)), 19)
    took, _ = seconds(lambda: nearest(problem, 19), 1)
    results.add("rel_rwmd_sustained_billion_pairs_per_second", count * count / took / 1e9)
    results.note("sustained", f"{count} x {count} documents of {matrix.nnz / count:.1f} words in {took:.2f} s")


def graph(results: Results, options: Any) -> None:
    """The exact graph of related words, with the mean of all other distances."""
    rng, words, dimensions = np.random.default_rng(0), options.words, 300
    centres = rng.normal(size=(words // 16, dimensions))
    vectors = centres[rng.integers(0, len(centres), words)] + 0.8 * rng.normal(size=(words, dimensions))
    embeddings = wordferry.Embeddings([f"w{i}" for i in range(words)], vectors)
    took, related = seconds(lambda: wordferry.RelatedWords.build(embeddings, 16, "exact", device="cuda"), 2)
    results.add("graph_seconds", took, f"graph of {words} words: {took:.2f} s, c_max {related.c_max:.6f}")
    some = embeddings.restrict(np.arange(min(words, 30_000)))
    cpu, expected = once(lambda: wordferry.RelatedWords.build(some, 16, "exact"))
    found = wordferry.RelatedWords.build(some, 16, "exact", device="cuda")
    same = bool((found.own == expected.own).all())
    results.add(
        "graph_cpu_seconds_30k", cpu, f"CPU {cpu:.2f} s for {len(some)} words; lists equal {same}, "
        f"c_max {found.c_max:.7f} and {expected.c_max:.7f}",
    )  # fmt: skip


def pairs_of(matrix: Any, size: int, count: int, seed: int) -> Any:
    """Real documents cut to ``size`` different words."""
    lengths = np.diff(matrix.indptr)
    rng = np.random.default_rng(seed)
    chosen = rng.choice(np.flatnonzero(lengths >= size), count)
    indices = np.concatenate([np.sort(rng.choice(matrix[[i]].indices, size, replace=False)) for i in chosen])
    data = np.minimum(rng.geometric(0.7, len(indices)), 9)
    return sp.csr_array((data, indices, np.arange(count + 1) * size), shape=(count, matrix.shape[1]))


def wmd(results: Results, options: Any) -> None:
    """Exact wmd a pair: real documents of one size, all pairs, costs and proofs included."""
    train, test, embeddings = news(options)
    for size, count in ((20, 1500), (40, 800), (70, 400), (120, 200)):
        X, Y = pairs_of(train, size, count, 1), pairs_of(test, size, count, 2)
        measure = Measure("wmd", embeddings=embeddings)
        problem = measure.problem(X, Y, wordferry.Run(device="cuda"))
        (_, _, solver), *_ = list(solvers(problem))
        xp = launch.runtime().xp
        i, j = xp.repeat(xp.arange(count), count), xp.tile(xp.arange(count), count)
        took, (values, left) = seconds(lambda p=problem, s=solver, i=i, j=j: solve_pairs(p, s, i, j), 2)
        cpu, expected = once(lambda X=X, Y=Y, m=measure: m.pairwise(X[:FEW], Y[:FEW]))
        error = float(np.abs(values.reshape(count, count)[:FEW, :FEW] / expected - 1).max())
        results.add(
            f"wmd_{size}_microseconds", 1e6 * took / count**2,
            f"wmd {size} x {size}: {1e6 * took / count**2:.4f} us a pair ({count * count} pairs, {left} of them by the "
            f"CPU), CPU {1e6 * cpu / FEW**2:.2f} us on all cores; largest relative difference {error:.1e}",
        )  # fmt: skip


def other_pairs(results: Results, options: Any) -> None:
    """act and sinkhorn: all pairs of some documents of test with all of train."""
    train, test, embeddings = news(options)
    for name in ("act", "sinkhorn"):
        measure = Measure(name, embeddings=embeddings)
        run, queries = wordferry.Run(device="cuda"), test[:200]
        took, values = seconds(lambda m=measure, q=queries, r=run: m.pairwise(q, train, run=r), 1)
        cpu, expected = once(lambda m=measure, q=queries: m.pairwise(q[:4], train[:500]))
        error = float(np.abs(values[:4, :500] / expected - 1).max())
        results.add(
            f"{name}_microseconds", 1e6 * took / values.size,
            f"{name}: {1e6 * took / values.size:.3f} us a pair ({values.size} pairs), CPU "
            f"{1e6 * cpu / expected.size:.1f} us on all cores; largest relative difference {error:.1e}",
        )  # fmt: skip


def wmd_search(results: Results, options: Any) -> None:
    """Exact wmd: the 10 nearest of train to each of test, with bounds; and all pairs of some rows."""
    train, test, embeddings = news(options)
    measure = Measure("wmd", embeddings=embeddings)
    queries = test[: options.search_queries]
    problem = measure.problem(queries, train, wordferry.Run(device="cuda"))
    took, found = seconds(lambda: nearest(problem, 10), 1)
    few = FEW
    cpu, expected = once(lambda: nearest(measure.problem(queries[:few], train), 10))
    cpu *= queries.shape[0] / few
    same = bool((found.indices[:few] == expected.indices).all())
    results.add(
        "wmd_top10_seconds", took,
        f"wmd top 10 of {queries.shape[0]} queries: {took:.2f} s, {found.counts}; CPU {cpu:.1f} s ({few} queries "
        f"scaled up); neighbours equal {same}",
    )  # fmt: skip
    rows = options.all_rows
    took, _ = seconds(lambda: measure.pairwise(test[:rows], train, run=wordferry.Run(device="cuda")), 1)
    whole = took * test.shape[0] / rows
    results.add(
        "wmd_all_pairs_seconds", whole,
        f"wmd of all pairs: {rows} rows in {took:.1f} s, all {test.shape[0]} rows {whole:.0f} s",
    )  # fmt: skip


def peers(results: Results, options: Any) -> None:
    """Transport by POT's solve_batch on the same GPU, and the products of the graph by torch; both are optional."""
    rng, count, size = np.random.default_rng(0), options.problems, 40
    x, y = (rng.normal(size=(count, size, 50)) for _ in range(2))
    costs = np.sqrt(((x[:, :, None] - y[:, None]) ** 2).sum(axis=3))
    a, b = (rng.integers(1, 10, (count, size)).astype(float) for _ in range(2))
    a, b = a / a.sum(axis=1, keepdims=True), b / b.sum(axis=1, keepdims=True)
    took, ours = seconds(lambda: wordferry.solve_batch(a, b, costs, device="cuda"), 2)
    results.add(
        "solve_batch_microseconds", 1e6 * took / count,
        f"solve_batch of {count} problems of {size} x {size}: {1e6 * took / count:.1f} us a problem, {ours.on_cpu} of "
        f"them by the CPU, largest gap {ours.gaps.max():.1e}",
    )  # fmt: skip
    try:
        import ot.batch
        import torch
    except ImportError as missing:
        results.note("peers", f"not measured: {missing}")
        return
    given = [torch.tensor(part, device="cuda", dtype=torch.float64) for part in (costs, a, b)]
    took, found = seconds(lambda: ot.batch.solve_batch(given[0], a=given[1], b=given[2]), 1)
    above = float((found.value_linear.cpu().numpy() / ours.costs).mean() - 1)
    results.add(
        "pot_solve_batch_microseconds", 1e6 * took / count,
        f"POT's solve_batch, its defaults: {1e6 * took / count:.1f} us a problem, {100 * above:.1f} % too high",
    )  # fmt: skip
    torch.backends.cuda.matmul.allow_tf32 = True
    words = torch.nn.functional.normalize(torch.randn(options.words, 300, device="cuda"), dim=1)

    def lists() -> None:
        for low in range(0, len(words), 4096):
            (words[low : low + 4096] @ words.T).topk(17, dim=1)

    results.add("torch_topk_of_products_seconds", seconds(lists, 1)[0])


JOBS = {
    "ceilings": ceilings,
    "relaxed": relaxed,
    "sustained": sustained,
    "graph": graph,
    "wmd": wmd,
    "pairs": other_pairs,
    "search": wmd_search,
    "peers": peers,
}


def main() -> None:
    made = harness.parser(__doc__)
    harness.data_option(made)
    made.add_argument("--jobs", default=",".join(JOBS), help="which jobs to run")
    made.add_argument("--profile", action="store_true", help="print the time of each kernel")
    made.add_argument("--queries", type=int, default=256, help="queries of the CPU's part of a job")
    made.add_argument("--documents", type=int, default=200_000, help="documents of the sustained job")
    made.add_argument("--words", type=int, default=260_640, help="words of the graph")
    made.add_argument("--search-queries", type=int, default=7528, help="queries of the exact search")
    made.add_argument("--problems", type=int, default=2000, help="problems for the peers")
    made.add_argument("--all-rows", type=int, default=400, help="rows of the job of all pairs")
    options = made.parse_args()
    results = Results("gpu", options)
    xp = launch.runtime().xp
    results.note("device", str(xp.cuda.runtime.getDeviceProperties(0)["name"].decode()))
    for name in options.jobs.split(","):
        if options.profile:
            with profiled():
                JOBS[name](results, options)
        else:
            JOBS[name](results, options)
        launch.runtime().release()
    results.finish()


if __name__ == "__main__":
    main()
