"""The index at 100,000 documents of about 50 words: time to create, open and search it, and its size.

    python benchmarks/index.py [--documents 100000] [--threads 2] [--data FOLDER]

Documents are windows of 50 tokens of real texts in which a tenth of the words is exchanged for others of the same
collection, so that no two are equal. The texts are 20news and the Amazon reviews under ``--data`` (default:
$WORDFERRY_DATA) where they are, else the sample of the package. Words have the default vectors. Times are wall times;
of repeated ones the median and the best are shown.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wordferry
from wordferry.index import Index
from wordferry.text import default_tokenizer

LENGTH = 50
QUERIES = 64
OPEN = """
import sys, time
import numpy, scipy.sparse
from wordferry.index import Index
start = time.perf_counter()
index = Index.open(sys.argv[1])
opened = time.perf_counter() - start
index.search(sys.argv[2], threads=int(sys.argv[3]))
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


def timed(action: Callable[[], Any], repeat: int = 1) -> dict[str, float]:
    """Seconds of an action."""
    spent = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        spent.append(time.perf_counter() - start)
    return {"median": statistics.median(spent), "best": min(spent)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=os.environ.get("WORDFERRY_DATA"))
    arguments = parser.parse_args()
    os.environ["WORDFERRY_THREADS"] = str(arguments.threads)
    source, texts = real_texts(arguments.data)
    documents = varied(texts, arguments.documents)
    queries = varied(texts, QUERIES, seed=8)
    emb = wordferry.default_embeddings()
    print(f"{len(documents)} documents from {source}, {arguments.threads} threads, {platform.processor() or 'CPU'}")
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder) / "index", documents, queries, emb, arguments.threads)


def measure(place: Path, documents: list[str], queries: list[str], emb: wordferry.Embeddings, threads: int) -> None:
    """Print one line a measurement."""
    words = sorted({word for text in documents for word in text.split()})
    related: list[wordferry.RelatedWords] = []
    took = timed(lambda: related.append(wordferry.RelatedWords.build(emb.restrict(words), threads=threads)))
    show(f"graph over {len(words)} words (before)", took["best"], "s")

    def create() -> None:
        with Index.create(place, embeddings=emb, related=related[0]) as index:
            index.add({"text": text, "number": i} for i, text in enumerate(documents))

    show("create", timed(create)["best"], "s", "< 60")
    command = [sys.executable, "-c", OPEN, str(place), queries[0], str(threads)]
    opened, first = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    show("open", opened, "s", "< 1")
    show("open and first query", first, "s")
    with Index.open(place) as index:
        index.search(queries[0], threads=threads)
        singles = iter(queries[1:] * 4)
        one = timed(lambda: index.search(next(singles), threads=threads), 60)
        show("one query", one["median"] * 1e3, f"ms (best {one['best'] * 1e3:.1f})", "< 60")
        many = timed(lambda: index.search(queries, threads=threads), 5)
        each = many["median"] / len(queries) * 1e3
        show("a query in a batch of 64", each, f"ms (best {many['best'] / len(queries) * 1e3:.2f})", "< 10")
        rule = {"number": {"lt": len(documents) // 10}}
        show("first query with a filter", timed(lambda: index.search(queries[0], filter=rule))["best"] * 1e3, "ms")
        show("same filter again", timed(lambda: index.search(queries[1], filter=rule), 5)["median"] * 1e3, "ms")
        index.add([queries[0]])
        extra = iter(queries[1:30])
        show("add one document", timed(lambda: index.add([next(extra)]), 20)["median"] * 1e3, "ms")
        both = timed(lambda: (index.add([next(extra)]), index.search(queries[2])), 5)
        show("add one and search", both["median"] * 1e3, "ms")
        show("compact", timed(index.compact)["best"], "s")
        show("verify", timed(index.verify)["best"], "s")
        stats = index.stats()
    with Index.open(place) as index:
        stats = index.stats()
    show("bytes a distinct word-document pair", stats.bytes_per_pair, "bytes, all in", "< 200")
    print(json.dumps(stats.to_json()))


def show(what: str, value: float, unit: str, wanted: str = "") -> None:
    """One line of the report."""
    print(f"{what:42s} {value:10.2f} {unit}" + (f"   (wanted {wanted})" if wanted else ""), flush=True)


if __name__ == "__main__":
    main()
