"""What cluster jobs cost: two workers against one, memory of a worker, what is sent, a model up to 1,000 workers.

    python benchmarks/cluster.py --pairs 2e9

Seconds are of the processor (user and system, all processes) unless they are called wall: those hold on a busy machine.
The speed-up is also given by the clock, which means something on a quiet machine only.
"""

from __future__ import annotations

import json
import math
import resource
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import harness
import wordferry
from harness import Results
from wordferry.engines.on_ray import Ray
from wordferry.shards import Choices, jobs

WORKERS = (1, 10, 100, 1000)
SHARD = 10**6
"""Documents of a shard that is built for a job."""


def write(folder: Path, count: int, words: int) -> str:
    """So many documents, put together from pieces of the sample's articles."""
    folder.mkdir(parents=True)
    pieces = [text.split() for text in wordferry.sample().texts]
    with (folder / "docs.jsonl").open("w") as stream:
        for number in range(count):
            some, other = pieces[number % len(pieces)], pieces[(number * 31 + number // len(pieces)) % len(pieces)]
            start = 7 * (number // len(pieces)) % max(1, len(some) - words)
            text = " ".join([*some[start : start + 2 * words // 3], *other[: words // 3]])
            stream.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
    return str(folder)


def driver_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Measured:
    """One run of a job on Ray with some workers, and what its journal says."""

    def __init__(self, source: str, folder: Path, workers: int, block: int, store: int) -> None:
        engine = Ray(workers=workers, store=store)
        try:
            jobs.top_k(f"{source}/../few", f"{source}/../few", str(folder / f"warm-{workers}"), 1, engine=engine)
            wall, cpu = time.perf_counter(), driver_seconds()
            self.summary = jobs.knn_graph(
                source, str(folder / f"out-{workers}"), 10, Choices(block=block), engine=engine, keep=True
            )
            self.wall, self.driver = time.perf_counter() - wall, driver_seconds() - cpu
        finally:
            engine.close()
        self.journal = folder / f"out-{workers}.job"
        self.done = [json.loads(line) for line in (self.journal / "done.jsonl").read_text().splitlines()]
        self.by_worker: dict[str, float] = defaultdict(float)
        for one in self.done:
            self.by_worker[one["facts"]["worker"]] += one["facts"]["cpu"]

    def of(self, kind: str) -> list[dict]:
        return [one for one in self.done if one["task"].startswith(kind)]

    def seconds(self, kind: str = "") -> float:
        return sum(one["facts"]["cpu"] for one in self.of(kind))

    @property
    def busiest(self) -> float:
        return max(self.by_worker.values())

    def output(self) -> list[bytes]:
        folder = self.journal.with_name(self.journal.name.removesuffix(".job"))
        return [file.read_bytes() for file in sorted(folder.glob("part-*.parquet"))]


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--pairs", type=float, default=2e9, help="pairs of documents to compare")
    parser.add_argument("--words", type=int, default=60, help="words of a document, before stop words go")
    parser.add_argument("--block", type=int, default=3000, help="documents of a part")
    parser.add_argument("--store", type=int, default=200 << 20, help="bytes of Ray's object store")
    parser.add_argument("--price", type=float, default=0.04, help="the price of a core for an hour, for costs on paper")
    options = parser.parse_args()
    results = Results("cluster", options)
    count = math.isqrt(int(options.pairs))
    with tempfile.TemporaryDirectory() as folder:
        source = write(Path(folder) / "in", count, options.words)
        write(Path(folder) / "few", 50, options.words)
        one, two = (Measured(source, Path(folder), workers, options.block, options.store) for workers in (1, 2))
        (Path(folder) / "quarter").mkdir()
        part = write(Path(folder) / "less", count // 4, options.words)
        less = Measured(part, Path(folder) / "quarter", 1, options.block, options.store)
        overhead(results, one, two)
        memory(results, two)
        sizes(results, one, count)
        model(results, (less, count // 4), (one, count), options.price)
    results.finish()


def overhead(results: Results, one: Measured, two: Measured) -> None:
    assert one.output() == two.output(), "the number of workers must not show"
    pairs = one.summary.facts["pairs"]
    results.add("pairs", float(pairs), f"{pairs:.3g} pairs, {one.summary.tasks} tasks, same bytes from both")
    alone = min(run.driver + run.seconds() for run in (one, two))  # of the same work, the run that was disturbed less
    shared = two.driver + two.busiest
    gain, seen = alone / shared, one.wall / two.wall
    results.add("two_workers_by_processor", gain, f"two workers by processor time: {gain:.2f} times one")
    results.add("two_workers_by_clock", seen, f"two workers by the clock: {seen:.2f} times one")
    results.add("one_wall_s", one.wall, f"wall: {one.wall:.1f} s with one worker, {two.wall:.1f} s with two")
    results.add(
        "driver_share",
        one.driver / alone,
        f"the driver's own part: {one.driver:.1f} s of {alone:.1f} s; more work with two workers: "
        f"{100 * (two.seconds() / one.seconds() - 1):.1f} %",
    )


def memory(results: Results, run: Measured) -> None:
    """The peak of a worker."""
    base = min(one["facts"]["base"] for one in run.done)
    peak = max(one["facts"]["peak"] for one in run.of("near"))
    mb = 2**20
    results.add(
        "worker_peak_mb",
        peak / mb,
        f"peak of a worker: {peak / mb:.0f} MB, {base / mb:.0f} MB of them Python and libraries",
    )


def sizes(results: Results, run: Measured, count: int) -> None:
    shards = sum(file.stat().st_size for file in (run.journal / "shards" / "shards").rglob("*") if file.is_file())
    results.add("bytes_per_document", shards / count, f"shards on disk: {shards / count:.0f} bytes a document")
    building = 1e6 * (run.seconds("counts") + run.seconds("shard")) / count
    results.add("building_us", building, f"counting words and building shards: {building:.0f} us a document")
    asking = 1e3 * run.seconds("near") / count
    results.add("query_ms", asking, f"asking: {asking:.2f} ms a document of {count:,}")
    billion = 1e9 * run.seconds("near") / run.summary.facts["pairs"]
    results.add("seconds_per_billion_pairs", billion, f"comparing: {billion:.1f} s a billion pairs and core")


def model(results: Results, small: tuple[Measured, int], large: tuple[Measured, int], price: float) -> None:
    """Time by number of workers: the driver's part does not shrink, the rest does, in whole tasks.

    A query costs something of its own in every shard, and something for each document there.
    """
    run, count = large
    each = [one.seconds("near") / documents for one, documents in (small, large)]
    slope = max(0.0, (each[1] - each[0]) / (count - small[1]))
    fixed = each[1] - slope * count
    results.add("query_fixed_ms", 1e3 * fixed, f"a query of one shard: {1e3 * fixed:.2f} ms, whatever its size")
    results.add("query_per_million_ms", 1e9 * slope, f"and {1e9 * slope:.1f} ms for every million documents")
    other = (run.seconds() - run.seconds("near")) / count
    serial = run.driver / count
    for documents, kind, share in ((10**6, "k-NN graph", 1.0), (10**8, "near-duplicates", 0.5)):
        work = share * documents * (fixed * math.ceil(documents / SHARD) + slope * documents) + other * documents
        for workers in WORKERS:
            hours = (serial * documents + work / workers) / 3600
            results.add(
                f"{kind.replace(' ', '_')}_{documents}_{workers}_h",
                hours,
                f"{kind} of {documents:,} documents, {workers:,} worker(s): {hours:,.2f} h",
            )
        cost = price * work / 3600
        results.add(
            f"{kind.replace(' ', '_')}_{documents}_cost",
            cost,
            f"{kind} of {documents:,} documents: {work / 3600:,.1f} core hours, {cost:,.2f} at {price} an hour",
        )


if __name__ == "__main__":
    main()
