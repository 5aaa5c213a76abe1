"""How an index grows: exact answers at 10^4 to 10^6 documents and beyond, with bm25s beside it.

    python benchmarks/million.py [--documents 10000,100000] [--queries 250] [--data FOLDER | --jsonl FILE]

Documents are recombined from real texts: two windows of two texts each, about 45 different words that have a vector,
and three names that have none, of three times as many as there are documents. The index compares as a new one does.
The texts are those of a JSON-lines file, or all collections under ``--data`` (default: $WORDFERRY_DATA), or the sample
of the package. Queries are titles (8 words), tweets (where there are some), 40 and 110 words; those of 110 words come
from texts that no document was made of. One thread; times are of the processor, in milliseconds. Every size is built in
a process of its own, whose peak of memory is shown, and so is the first query after opening. ``--keep FOLDER`` keeps
the indexes and uses those it finds there. The service is asked by 32 clients for ``--seconds``.

At a million documents every line that has a goal says it, and whether it is met.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import harness
import serve
import wordferry
from harness import Results
from wordferry.index import Index
from wordferry.index.config import RECOMMENDED
from wordferry.texts.tokenizers import default_tokenizer

KINDS = {"title": 8, "tweet": 15, "40 words": 40, "110 words": 110}
SOURCES = ("20news/train", "amazon/all", "classic/all", "r8/train", "ir/cisi/docs")
OTHERS = ("ohsumed-single23/test",)
TWEETS = ("twitter/all",)
BASELINES = ("cosine", "tfidf-cosine", "bow-l1", "tfidf-l1")
WEIGHED = (("rel-rwmd", "log-idf"), ("rel-rwmd", "bm25"), ("cosine", "log-idf"), ("wcd", "idf"))
BATCH = 1000
NEW_WORDS = (20, 200)
"""How many words that are new to the index 1,000 documents bring."""
CLIENTS = 32
MILLION = 1_000_000
GOALS = {
    "create, by the clock": 60.0,
    "create: peak of memory": 600.0,
    "size on disk": 700.0,
    "open and first query, new process, by the clock": 300.0,
    "open and first query: peak of memory": 300.0,
    "wordferry similar, the whole command, by the clock": 300.0,
    "wordferry search, the whole command, by the clock": 300.0,
    "words, open and first query, new process, by the clock": 300.0,
    "words, open and first query: peak of memory": 300.0,
    "rel-rwmd, title": 3.0,
    "rel-rwmd, tweet": 4.0,
    "rel-rwmd, 40 words": 12.0,
    "rel-rwmd, 110 words": 25.0,
    "rel-rwmd, the slowest of all of these": 100.0,
    "memory of the open index": 150.0,
    f"rel-rwmd, batch of {BATCH}, a query": 10.0,
    "wcd, 40 words": 30.0,
    "wmd, 40 words": 150.0,
    "a new filter, 1 % of the documents": 30.0,
    "a new filter, 50 % of the documents": 30.0,
    "next search": 40.0,
    **{f"next search, {count} new words": 40.0 for count in NEW_WORDS},
    f"service, {CLIENTS} clients, 2 threads": 150.0,
    f"service, {CLIENTS} clients: 99th percentile": 500.0,
}
"""What is aimed at with a million documents: times and sizes at most, searches a second at least."""
SHOWN = (
    *("rel-rwmd, title", "rel-rwmd, 40 words", "rel-rwmd, 110 words"),
    *("wcd, 40 words", "wmd, 40 words", "words, title", "bm25s, title"),
)
CREATE = "import million, sys; million.create(*sys.argv[1:])"
FIRST = "import million, sys; million.first(*sys.argv[1:])"
FIRST_WORDS = "import million, sys; million.first(*sys.argv[1:], words=True)"
KEPT = "import million, sys; million.kept(*sys.argv[1:])"


def texts_of(arguments: Any) -> tuple[list[list[str]], list[list[str]], list[list[str]]]:
    """Token lists to make documents of, others, and tweets."""

    def read(files: list[Path]) -> list[list[str]]:
        tokenizer, found = default_tokenizer(), []
        for file in files:
            opener = gzip.open if file.suffix == ".gz" else open
            with opener(file, "rt", encoding="utf-8") as stream:
                found += [tokenizer(json.loads(line)["text"]) for line in stream]
        return found

    def under(names: tuple[str, ...]) -> list[Path]:
        folder = arguments.data
        return [] if folder is None else [p for p in (folder / f"{name}.jsonl.gz" for name in names) if p.is_file()]

    if arguments.jsonl is not None:
        texts = read([arguments.jsonl])
    else:
        texts = read(under(SOURCES))
    if not texts:
        tokenizer = default_tokenizer()
        texts = [tokenizer(str(record.text)) for record in wordferry.sample().articles]
    others, tweets = read(under(OTHERS)), read(under(TWEETS))
    long = [text for text in texts if len(text) >= 60]
    return long or texts, others or texts[::7], tweets or texts[::5]


def window(rng: random.Random, texts: list[list[str]], length: int) -> list[str]:
    """Some words in a row of some text."""
    text = rng.choice(texts)
    start = rng.randrange(max(1, len(text) - length + 1))
    return text[start : start + length]


def documents(texts: list[list[str]], count: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Recombined texts, with metadata to filter on."""
    rng = random.Random(seed)
    for number in range(count):
        words = window(rng, texts, rng.randrange(10, 60)) + window(rng, texts, rng.randrange(10, 60))
        words += [f"zq{rng.randrange(3 * count)}" for _ in range(3)]
        year = 1950 + rng.randrange(100)
        yield {"id": f"n{number}", "text": " ".join(words), "year": year, "half": number % 2 == 0}


def queries(
    texts: list[list[str]], others: list[list[str]], tweets: list[list[str]], count: int
) -> dict[str, list[str]]:
    """Queries by kind."""
    rng = random.Random(11)
    tweets = [tweet for tweet in tweets if sum(token in wordferry.default_embeddings() for token in tweet) > 2]
    short = [" ".join(rng.choice(tweets)[:30]) for _ in range(count)]
    return {
        "title": [" ".join(window(rng, texts, 8)) for _ in range(count)],
        "tweet": short,
        "40 words": [" ".join(window(rng, texts, 55)) for _ in range(count)],
        "110 words": [" ".join(window(rng, others, 160)) for _ in range(count)],
    }


def create(place: str, source: str, count: str) -> None:
    """Run in a process of its own: build an index and say what it took."""
    texts = json.loads(Path(source).read_text(encoding="utf-8"))
    before = peak()
    wall, cpu = time.perf_counter(), time.process_time()
    with Index.create(place, overwrite=True, on_empty="drop") as index:
        index.fill(documents(texts, int(count)))
    facts = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak": peak(), "before": before}
    print(json.dumps(facts))


def first(place: str, query: str, *, words: bool = False) -> None:
    """Run in a process of its own: open an index, search once, and say what that took."""
    before = peak()
    wall, cpu = time.perf_counter(), time.process_time()
    with Index.open(place) as index:
        if words:
            index.search(query)
        else:
            index.similar(query, threads=1)
        facts = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak": peak(), "before": before}
        facts["own"] = memory()[0]
    print(json.dumps(facts))


def kept(place: str, *asked: str) -> None:
    """Run in a process of its own: how much memory an open index takes that was searched for a while."""
    with Index.open(place) as index:
        own, _ = memory()
        for query in asked:
            index.similar(query, threads=1)
        after, mapped = memory()
    print(json.dumps({"own": after - own, "mapped": mapped}))


def commanded(name: str, place: Path, query: str) -> float:
    """The least time of five runs of a command, from its start to its end, in milliseconds."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "wordferry", name, str(place), query, "--json"]
    found = []
    for _ in range(6):
        start = time.perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        found.append(1000 * (time.perf_counter() - start))
    return min(found[1:])  # the first may have to compile


def peak() -> float:
    """The most memory this process has had, in MB (what getrusage says includes the process it was forked from)."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def memory() -> tuple[float, float]:
    """MB of this process that are its own, and that are mapped from files."""
    facts = dict.fromkeys(("Anonymous", "Rss"), 0.0)
    with open("/proc/self/smaps_rollup", encoding="ascii") as lines:
        for line in lines:
            name, _, rest = line.partition(":")
            if name in facts:
                facts[name] = float(rest.split()[0]) / 1024
    return facts["Anonymous"], facts["Rss"] - facts["Anonymous"]


def in_process(code: str, *arguments: object) -> dict[str, float]:
    """What a function of this file says when a process of its own runs it."""
    folder = Path(__file__).resolve().parent
    environment = dict(os.environ, PYTHONPATH=f"{folder}:{os.environ.get('PYTHONPATH', '')}", WORDFERRY_THREADS="1")
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def milliseconds(calls: list[Callable[[], Any]]) -> list[float]:
    """Processor time of each call."""
    found = []
    for call in calls:
        start = time.process_time()
        call()
        found.append(1000 * (time.process_time() - start))
    return found


def show(results: Results, size: int, name: str, values: list[float], unit: str = "ms", note: str = "") -> None:
    """Median, 90th percentile and maximum of one thing at one size, and the goal for a million documents."""
    p50, p90, most = (float(np.percentile(values, q)) for q in (50, 90, 100))
    text = f"{p50:10.1f} {p90:9.1f} {most:9.1f} {unit:3s}" if len(values) > 1 else f"{p50:10.1f} {'':19s} {unit:3s}"
    if size == MILLION and name in GOALS:
        met = p50 >= GOALS[name] if unit == "/s" else p50 <= GOALS[name]
        note = f"goal {GOALS[name]:g}: {'met' if met else 'not met'}  {note}"
    results.add(f"{size} {name}: {unit}", p50, f"{name:48s} {text} {note}")


def measure(results: Results, place: Path, texts: Any, asked: dict[str, list[str]], size: int, seconds: float) -> None:
    """Everything at one size."""
    for what, code in (("", FIRST), ("words, ", FIRST_WORDS)):
        opened = in_process(code, place, asked["40 words"][0])
        note = f"processor {1000 * opened['cpu']:.0f} ms"
        show(
            results, size, f"{what}open and first query, new process, by the clock", [1000 * opened["wall"]], note=note
        )
        note = f"{opened['before']:.0f} after the imports, {opened['own']:.0f} of its own, the rest mapped from files"
        show(results, size, f"{what}open and first query: peak of memory", [opened["peak"]], "MB", note)
    for name in ("similar", "search"):
        took = commanded(name, place, asked["40 words"][0])
        show(results, size, f"wordferry {name}, the whole command, by the clock", [took])
    held = in_process(KEPT, place, *(query for some in asked.values() for query in some[:50]))
    note = f"after {4 * min(50, len(asked['title']))} queries, and {held['mapped']:.0f} MB mapped from files"
    show(results, size, "memory of the open index", [held["own"]], "MB", note)
    with Index.open(place) as index:
        measure_queries(results, index, asked, size)
        measure_others(results, index, asked, size)
        measure_weights(results, index, asked, size)
        measure_changes(results, index, texts, asked, size)
        milliseconds([lambda q=q: index.search(q) for q in asked["title"][:2]])  # what is mapped only once
        for kind, some in asked.items():
            found: list[Any] = []
            took = milliseconds([lambda q=q, f=found: f.append(index.search(q)) for q in some])
            seen = float(np.median([hits.counts["evaluated"] for hits in found]))
            show(results, size, f"words, {kind}", took, note=f"{seen:.0f} scores computed")
    if seconds > 0:
        measure_service(results, place, asked, size, seconds)


def measure_queries(results: Results, index: Index, asked: dict[str, list[str]], size: int) -> None:
    """One query at a time, and many: by rel-rwmd, and by the distance that an index has by default."""
    index.similar(asked["title"][0], distance="rel-rwmd", threads=1)
    every: list[float] = []
    for kind, some in asked.items():
        found: list[Any] = []
        took = milliseconds(
            [lambda q=q, f=found: f.append(index.similar(q, distance="rel-rwmd", threads=1)) for q in some]
        )
        seen = float(np.median([hits.counts.get("evaluated", 0) for hits in found]))
        show(results, size, f"rel-rwmd, {kind}", took, note=f"{seen:.0f} compared in full")
        every += took
        took = milliseconds([lambda q=q: index.similar(q, threads=1) for q in some])
        show(results, size, f"{RECOMMENDED}, {kind}", took)
    show(results, size, "rel-rwmd, the slowest of all of these", [max(every)], note=f"{len(every)} queries")
    batch = (asked["40 words"] * (BATCH // len(asked["40 words"]) + 1))[:BATCH]
    for distance in ("rel-rwmd", RECOMMENDED):
        (whole,) = milliseconds([lambda d=distance: index.similar(batch, distance=d, threads=1)])
        show(results, size, f"{distance}, batch of {BATCH}, a query", [whole / BATCH])


def measure_others(results: Results, index: Index, asked: dict[str, list[str]], size: int) -> None:
    """Other distances, and filters."""
    for distance, count in (("wcd", 51), ("wmd", 11), *((name, 51) for name in BASELINES)):
        some = asked["40 words"][:count]
        calls = [lambda q=q, d=distance: index.similar(q, distance=d, threads=1) for q in some]
        own, _ = memory()
        prepared, *others = milliseconds(calls)
        note = f"the first {prepared:.0f} ms, {memory()[0] - own:.0f} MB more of its own"
        show(results, size, f"{distance}, 40 words", others, note=note)
    prepared, *rest = milliseconds(
        [lambda q=q: index.similar(q, distance="wmd", threads=1) for q in asked["title"][:11]]
    )
    show(results, size, "wmd, title", rest, note=f"the first {prepared:.0f} ms")
    for kind in ("title", "40 words"):
        options = {"distance": "rel-rwmd", "weights": "counts", "unknown": "drop", "threads": 1}
        prepared, *rest = milliseconds([lambda q=q, o=options: index.similar(q, **o) for q in asked[kind][:51]])
        show(results, size, f"rel-rwmd by counts, {kind}", rest, note=f"the first {prepared:.0f} ms")
    for name, condition in (("1 %", {"year": 1950}), ("50 %", {"half": True})):
        took = milliseconds([lambda c=condition: index.similar(asked["title"][1], filter=c, threads=1)])
        show(results, size, f"a new filter, {name} of the documents", took)


def measure_weights(results: Results, index: Index, asked: dict[str, list[str]], size: int) -> None:
    """Distances with weights that are not a new index's own."""
    for distance, weights in WEIGHED:
        options = {"distance": distance, "weights": weights, "unknown": "match", "threads": 1}
        calls = [lambda q=q, o=options: index.similar(q, **o) for q in asked["40 words"][:21]]
        own, _ = memory()
        prepared, *rest = milliseconds(calls)
        note = f"the first {prepared:.0f} ms, {memory()[0] - own:.0f} MB more of its own"
        show(results, size, f"{distance}, weights {weights}, 40 words", rest, note=note)


def measure_changes(results: Results, index: Index, texts: Any, asked: dict[str, list[str]], size: int) -> None:
    """Adding documents, and the search after that: with words that others have, and with words that none has."""
    for number, count in enumerate((0, *NEW_WORDS)):
        what = f", {count} new words" if count else ""
        adding = [{**doc, "id": f"new{i}"} for i, doc in enumerate(documents(texts, 1000, seed=size + number))]
        for doc, word in zip(adding[::2], new_words(index, count), strict=False):
            doc["text"] += f" {word}"
        show(results, size, f"add 1,000 documents{what}", milliseconds([lambda some=adding: index.add(some)]))
        took = milliseconds([lambda q=asked["40 words"][1 + number]: index.similar(q, threads=1)])
        show(results, size, f"next search{what}", took)
        index.delete([doc["id"] for doc in adding])


def new_words(index: Index, count: int) -> list[str]:
    """Words that have a vector and come in no document."""
    with index.backend.state() as (_, snapshot):
        unused = np.ones(len(index.embeddings), dtype=bool)
        used = snapshot.terms.rows
        unused[used] = False
    some = np.random.default_rng(len(used)).permutation(np.flatnonzero(unused))[:count]
    return [index.embeddings.vocabulary[word] for word in some.tolist()]


def measure_service(results: Results, place: Path, asked: dict[str, list[str]], size: int, seconds: float) -> None:
    """The service under load: clients that ask for the nearest documents by rel-rwmd, all kinds mixed."""
    mixed = [query for some in zip(*asked.values(), strict=True) for query in some]
    bodies = [json.dumps({"texts": [query], "k": 10, "distance": "rel-rwmd"}).encode() for query in mixed]
    os.environ["WORDFERRY_THREADS"] = "2"
    found = serve.measure(place, "on", CLIENTS, seconds, bodies, [])
    os.environ["WORDFERRY_THREADS"] = "1"
    note = f"{found['processor_ms_per_search']} ms of the processor each, {found['errors']} errors"
    show(results, size, f"service, {CLIENTS} clients, 2 threads", [found["per_second"]], "/s", note)
    note = f"p50 {found['p50_ms']} ms"
    show(results, size, f"service, {CLIENTS} clients: 99th percentile", [found["p99_ms"]], note=note)


def measure_bm25s(results: Results, texts: Any, asked: dict[str, list[str]], size: int) -> None:
    """The same collection and queries with bm25s, where it is installed."""
    try:
        import bm25s
    except ImportError:
        results.note("bm25s", "not installed: pip install bm25s")
        return
    tokens = [doc["text"].split() for doc in documents(texts, size)]
    before, built = time.process_time(), bm25s.BM25()
    built.index(tokens, show_progress=False)
    show(results, size, "bm25s: build", [time.process_time() - before], "s", f"peak {peak():.0f} MB")
    for kind, some in asked.items():
        calls = [lambda q=q: built.retrieve([q.split()], k=10, show_progress=False, n_threads=1) for q in some]
        show(results, size, f"bm25s, {kind}", milliseconds(calls))


def plot() -> None:
    """The growth that the saved runs show, as a picture for the documentation."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    found: dict[str, dict[int, float]] = {}
    for line in (harness.RESULTS / "million.jsonl").read_text(encoding="utf-8").splitlines():
        for key, value in json.loads(line)["values"].items():
            size, _, name = key.partition(" ")
            found.setdefault(name, {})[int(size)] = value
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for name in SHOWN:
        points = sorted(found.get(f"{name}: ms", {}).items())
        axes.loglog([size for size, _ in points], [value for _, value in points], "o-", label=name)
    axes.set(xlabel="documents", ylabel="processor time of a query, ms (median)")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    figure.savefig(harness.ROOT / "docs" / "_static" / "growth.svg", metadata={"Date": None})


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--jsonl", type=Path, default=None, help="make the documents of the texts of this file")
    parser.add_argument("--documents", default="10000", help="sizes, e.g. 10000,100000,1000000")
    parser.add_argument("--queries", type=int, default=250, help="queries of each kind")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the service is asked; 0 leaves it out")
    parser.add_argument("--keep", type=Path, default=None, help="a folder to keep the indexes in")
    parser.add_argument("--without-bm25s", action="store_true")
    parser.add_argument("--plot", action="store_true", help="draw docs/_static/growth.svg from the saved runs")
    arguments = parser.parse_args()
    if arguments.plot:
        plot()
        return
    os.environ["WORDFERRY_THREADS"] = "1"
    texts, others, tweets = texts_of(arguments)
    asked = queries(texts, others, tweets, arguments.queries)
    gc.collect()
    gc.freeze()  # the texts are millions of objects, which no query should pay for
    folder = arguments.keep or Path(tempfile.mkdtemp())
    kept = arguments.keep is not None
    arguments.keep = None  # a path of this machine, and no setting of the measurement
    arguments.jsonl = arguments.jsonl and arguments.jsonl.name
    results = Results("million", arguments)
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "texts.json"
    source.write_text(json.dumps(texts), encoding="utf-8")
    try:
        for size in map(int, arguments.documents.split(",")):
            results.note("size", f"{size} documents")
            place = folder / f"index-{size}"
            if not place.exists():
                made = in_process(CREATE, place, source, size)
                note = f"processor {made['cpu']:.1f} s, one thread"
                show(results, size, "create, by the clock", [made["wall"]], "s", note)
                note = f"({made['before']:.0f} after reading the texts that documents are made of)"
                show(results, size, "create: peak of memory", [made["peak"]], "MB", note)
            with Index.open(place) as index:
                stats = index.stats()
            text = f"{stats.bytes_catalogue / 1e6:.0f} catalogue, {stats.bytes_segments / 1e6:.0f} segments"
            show(results, size, "size on disk", [stats.bytes / 1e6], "MB", text)
            measure(results, place, texts, asked, size, arguments.seconds)
            if not arguments.without_bm25s:
                measure_bm25s(results, texts, asked, size)
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    results.finish()


if __name__ == "__main__":
    main()
