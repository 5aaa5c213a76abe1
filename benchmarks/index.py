"""The index at 100,000 documents of about 50 words: time to create, open and search it, and its size.

    python benchmarks/index.py [--documents 100000] [--threads 2] [--data FOLDER]
    python benchmarks/index.py --commands        only how long commands take from start to end

Documents are windows of 50 tokens of real texts in which a tenth of the words is exchanged for others of the same
collection, so that no two are equal. The texts are 20news and the Amazon reviews under ``--data`` (default:
$WORDFERRY_DATA) where they are, else the sample of the package. Words have the default vectors. Times are wall times,
of repeated actions the median; processor time of all threads is shown beside them, because it is what remains true on
a machine that others use too. Commands work on an index of the package's sample; theirs is the least processor time of
nine runs, with the byte code of all modules written before.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import wordferry
from harness import Results, Took, least, timed
from wordferry.index import Index
from wordferry.texts.tokenizers import default_tokenizer

LENGTH = 50
QUERIES = 64
OPEN = """
import sys, time
import numpy, scipy.sparse
from wordferry.index import Index
start = time.perf_counter()
index = Index.open(sys.argv[1])
opened = time.perf_counter() - start
index.similar(sys.argv[2], threads=int(sys.argv[3]))
print(opened, time.perf_counter() - start)
"""


def real_texts(data: Path | None) -> tuple[str, list[list[str]]]:
    """Token lists of at least one window, and where they come from."""
    texts: list[str] = []
    source = "the sample of the package"
    if data is not None:
        files = [data / name for name in ("20news/train.jsonl.gz", "20news/test.jsonl.gz", "amazon/all.jsonl.gz")]
        for file in (file for file in files if file.is_file()):
            with gzip.open(file, "rt", encoding="utf-8") as stream:
                texts += [json.loads(line)["text"] for line in stream]
            source = "20news and amazon"
    if not texts:
        texts = [str(record.text) for record in wordferry.sample().articles]
    vocabulary = wordferry.default_embeddings().vocabulary
    tokenizer = default_tokenizer()
    tokens = ([word for word in tokenizer(text) if word in vocabulary] for text in texts)
    return source, [words for words in tokens if len(words) >= LENGTH]


def varied(texts: list[list[str]], count: int, seed: int = 7) -> list[str]:
    """Windows of real texts with a tenth of the words exchanged."""
    rng = random.Random(seed)
    documents = []
    for _ in range(count):
        words = rng.choice(texts)
        start = rng.randrange(len(words) - LENGTH + 1)
        window = words[start : start + LENGTH]
        for _ in range(LENGTH // 10):
            window[rng.randrange(LENGTH)] = rng.choice(rng.choice(texts))
        documents.append(" ".join(window))
    return documents


def main() -> None:
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--commands", action="store_true")
    arguments = parser.parse_args()
    os.environ["WORDFERRY_THREADS"] = str(arguments.threads)
    if arguments.commands:
        results = Results("commands", arguments)
        with tempfile.TemporaryDirectory() as folder:
            measure_commands(results, Path(folder) / "index")
        results.finish()
        return
    source, texts = real_texts(arguments.data)
    documents = varied(texts, arguments.documents)
    queries = varied(texts, QUERIES, seed=8)
    emb = wordferry.default_embeddings()
    results = Results("index", arguments)
    results.note("data", f"{len(documents)} documents from {source}, {arguments.threads} threads")
    with tempfile.TemporaryDirectory() as folder:
        measure(results, Path(folder) / "index", documents, queries, emb, arguments.threads)
    results.finish()


def measure(
    results: Results,
    place: Path,
    documents: list[str],
    queries: list[str],
    emb: wordferry.Embeddings,
    threads: int,
) -> None:
    """One line per measurement."""
    words = sorted({word for text in documents for word in text.split()})
    related: list[wordferry.RelatedWords] = []
    took = timed(lambda: related.append(wordferry.RelatedWords.build(emb.restrict(words), threads=threads)))
    show(results, f"graph over {len(words)} words (before)", took)

    def create() -> None:
        with Index.create(place, embeddings=emb, related=related[0], weights="counts", unknown="drop") as index:
            index.add({"text": text, "number": i} for i, text in enumerate(documents))

    show(results, "create", timed(create), wanted="< 60 s")
    command = [sys.executable, "-c", OPEN, str(place), queries[0], str(threads)]
    opened, first = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    results.add("open: s", opened, f"{'open (a new process)':42s} {opened:10.2f} s   (wanted < 1 s)")
    results.add("open and first query: s", first, f"{'open and first query':42s} {first:10.2f} s")
    with Index.open(place) as index:
        measure_opened(results, index, queries, threads, len(documents))
    with Index.open(place) as index:
        stats = index.stats()
    line = f"{'a distinct word-document pair, all in':42s} {stats.bytes_per_pair:10.1f} bytes   (wanted < 200)"
    results.add("bytes per word-document pair", stats.bytes_per_pair, line)
    print(json.dumps(stats.to_json()))


def measure_opened(results: Results, index: Index, queries: list[str], threads: int, count: int) -> None:
    """Searches and changes of an index that has answered before."""
    index.similar(queries[0], threads=threads)
    singles, extra = iter(queries[1:] * 4), iter(queries[1:30])
    rule = {"number": {"lt": count // 10}}

    def often(what: str, times: int, action: Callable[[], Any], **options: Any) -> None:
        show(results, what, timed(action, times, median=True), unit="ms", **options)

    often("one query", 60, lambda: index.similar(next(singles), threads=threads), wanted="< 60 ms")
    batch = {"share": len(queries), "wanted": "< 10 ms"}
    often("a query in a batch of 64", 5, lambda: index.similar(queries, threads=threads), **batch)
    often("first query with a filter", 1, lambda: index.similar(queries[0], filter=rule))
    often("a query with the same filter", 5, lambda: index.similar(queries[1], filter=rule))
    often("a query reranked by wmd", 5, lambda: index.similar(queries[1], rerank="wmd"))
    index.add([queries[0]])
    often("add one document", 20, lambda: index.add([next(extra)]))
    often("add one and search", 5, lambda: (index.add([next(extra)]), index.similar(queries[2])))
    show(results, "compact", timed(index.compact))
    show(results, "verify", timed(index.verify))


COMMANDS = {
    "--version": "0.15",
    "--help": "0.15",
    "search --help": "0.15",
    "search INDEX bread": "0.2",
    "search INDEX bread --table": "0.2",
    "similar INDEX bread": "0.2",
    "index info INDEX": "0.2",
    "index list INDEX -k 3": "0.2",
    "distance bread butter": "",
    "related show bread": "0.5",
}
"""Commands, and the processor time that each may take, in seconds."""


def measure_commands(results: Results, place: Path) -> None:
    """The processor time of commands, each a process of its own."""
    with Index.create(place) as index:
        index.add([str(record.text) for record in wordferry.sample().articles])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def spent() -> float:
        return sum(os.times()[2:4])

    for words, wanted in {"": "", **COMMANDS}.items():
        line = [sys.executable, "-m", "wordferry", *words.replace("INDEX", str(place)).split()]
        if not words:  # what Python and NumPy take by themselves
            line = [sys.executable, "-c", "import numpy"]
        seconds = least(lambda line=line: subprocess.run(line, env=environment, capture_output=True), 9, spent)
        name = f"wordferry {words}" if words else "python, with NumPy"
        goal = f"   (wanted {wanted} s)" if wanted else ""
        results.add(f"{name}: CPU s", seconds, f"{name:42s} {seconds:10.3f} s{goal}")


def show(results: Results, what: str, took: Took, *, share: int = 1, wanted: str = "", unit: str = "s") -> None:
    """One line of the report; the history keeps the processor time."""
    scale = (1e3 if unit == "ms" else 1.0) / share
    line = f"{what:42s} {took.wall * scale:10.2f} {unit}, processor {took.cpu * scale:.2f} {unit}"
    results.add(f"{what}: CPU {unit}", took.cpu * scale, line + (f"   (wanted {wanted})" if wanted else ""))


if __name__ == "__main__":
    main()
