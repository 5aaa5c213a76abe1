"""Word search beside bm25s: what it finds, how long a query takes, and how much memory it takes to get ready.

    python benchmarks/search.py                     # both parts
    python benchmarks/search.py --quality-only
    python benchmarks/search.py --speed-only --documents 100000

Quality is nDCG@10 on the judged collections in ``ir/``, and the mean reciprocal rank of known-item search: the title of
an article, or the first words of a message, searched in everything but themselves. Speed is CPU time in processes of
their own, over documents put together from halves of real texts. The data are those of ``WORDFERRY_DATA`` (or
``../shared/data``); nothing is downloaded. bm25s and PyStemmer come with ``pip install 'wordferry[bench]'``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import harness
from harness import Results

DATA = Path(os.environ.get("WORDFERRY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
Finder = Callable[[str, int], list[int]]


@dataclass(frozen=True)
class Judged:
    """A collection, queries, and which rows are right for each."""

    name: str
    texts: list[str]
    queries: list[str]
    right: list[set[int]]


def read_lines(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def judged(name: str) -> Judged:
    """One of the collections with judgements."""
    folder = DATA / "ir" / name
    documents = list(read_lines(folder / "docs.jsonl.gz"))
    rows = {one["id"]: row for row, one in enumerate(documents)}
    right: dict[str, set[int]] = {}
    with gzip.open(folder / "qrels.tsv.gz", "rt") as stream:
        for query, document, grade in map(str.split, stream):
            if int(grade) > 0:
                right.setdefault(query, set()).add(rows[document])
    queries = [one for one in read_lines(folder / "queries.jsonl.gz") if one["id"] in right]
    texts = [one["text"] for one in documents]
    return Judged(name, texts, [one["text"] for one in queries], [right[one["id"]] for one in queries])


def known_titles(name: str) -> Judged:
    """Titles of articles, searched in the articles without them."""
    pairs = [
        (one["title"], one["text"].removeprefix(one["title"]).strip())
        for one in read_lines(DATA / "ir" / name / "docs.jsonl.gz")
        if one["title"] and one["text"].startswith(one["title"])
    ]
    return known(f"{name} titles", [(title, rest) for title, rest in pairs if len(rest.split()) >= 20])


def known_beginnings(name: str, file: str) -> Judged:
    """The first seven words of texts, searched in the rest of them."""
    texts = dict.fromkeys(one["text"] for one in read_lines(DATA / name / file))
    words = [text.split() for text in list(texts)[:4000]]
    pairs = [(" ".join(one[:7]), " ".join(one[7:])) for one in words if len(one) >= 40 and one[0] != "re"]
    return known(f"{name} beginnings", pairs)


def known(name: str, pairs: list[tuple[str, str]], queries: int = 300) -> Judged:
    chosen = np.random.default_rng(0).permutation(len(pairs))[:queries].tolist()
    return Judged(name, [rest for _, rest in pairs], [pairs[i][0] for i in chosen], [{i} for i in chosen])


def ndcg(found: list[int], right: set[int]) -> float:
    gain = sum(1 / math.log2(place + 2) for place, row in enumerate(found[:10]) if row in right)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(right))))


def reciprocal_rank(found: list[int], right: set[int]) -> float:
    return next((1 / place for place, row in enumerate(found, 1) if row in right), 0.0)


def bm25s_finder(texts: list[str], stems: bool) -> Finder:
    """bm25s with its own tokenizer and English stop words."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english") if stems else None

    def tokens(some: list[str], ids: bool) -> object:
        return bm25s.tokenize(some, stopwords="en", stemmer=stemmer, show_progress=False, return_ids=ids)

    retriever = bm25s.BM25()
    retriever.index(tokens(texts, True), show_progress=False)

    def find(query: str, k: int) -> list[int]:
        rows, scores = retriever.retrieve(tokens([query], False), k=k, show_progress=False)
        return [int(row) for row, score in zip(rows[0], scores[0], strict=True) if score > 0]

    return find


def our_finder(texts: list[str], **constants: float) -> Finder:
    from wordferry.find import WordSearch

    searcher = WordSearch(texts)
    return lambda query, k: searcher.search(query, k, **constants).rows.tolist()


PEERS: dict[str, Callable[[list[str]], Finder]] = {
    "bm25s": lambda texts: bm25s_finder(texts, False),
    "bm25s, stems": lambda texts: bm25s_finder(texts, True),
    "ours": our_finder,
    "ours, lift=0": lambda texts: our_finder(texts, lift=0),
}


def quality(results: Results) -> None:
    """nDCG@10 and MRR of every peer on every collection."""
    print(f"{'':20}" + "".join(f"{name:>15}" for name in PEERS))
    groups: list[tuple[str, list[Judged], Callable[[list[int], set[int]], float]]] = [
        ("nDCG@10", [judged("cran"), judged("cisi")], ndcg),
        (
            "MRR",
            [
                known_titles("cran"),
                known_titles("cisi"),
                known_beginnings("r8", "train.jsonl.gz"),
                known_beginnings("20news", "test.jsonl.gz"),
            ],
            reciprocal_rank,
        ),
    ]
    for measure, collections, score in groups:
        table = []
        for one in collections:
            values = []
            for make in PEERS.values():
                find = make(one.texts)
                depth = 10 if score is ndcg else len(one.texts)
                values.append(np.mean([score(find(q, depth), r) for q, r in zip(one.queries, one.right, strict=True)]))
            table.append(values)
            results.values.update({f"{one.name}, {measure}: {p}": float(v) for p, v in zip(PEERS, values, strict=True)})
            print(f"{one.name + ', ' + measure:28.28}" + "".join(f"{value:15.4f}" for value in values)[8:])
        print(f"{'mean, ' + measure:28}" + "".join(f"{value:15.4f}" for value in np.mean(table, axis=0))[8:])


def recombined(documents: int, seed: int = 0) -> list[str]:
    """Texts of about the usual length and vocabulary: halves of real ones, joined at random within their set."""
    rng = np.random.default_rng(seed)
    sources = [
        [one["text"].split() for one in read_lines(path)][:8000]
        for path in sorted(DATA.glob("*/*.jsonl.gz"))
        if path.parent.name in ("20news", "amazon", "classic", "ohsumed-single23", "r8")
    ]
    texts = []
    for number in range(documents):
        source = sources[number % len(sources)]
        a, b = (source[i] for i in rng.integers(0, len(source), 2))
        texts.append(" ".join(a[: len(a) // 2][:150] + b[len(b) // 2 :][:150]))
    return texts


def peak_megabytes() -> float:
    """The most memory this process has held. (The system call for it would count the parent's, too.)"""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return math.nan


def child(peer: str, folder: Path) -> None:
    """Get one peer ready and ask it every query: memory and CPU time, as JSON."""
    import time

    with open(folder / "texts.txt", encoding="utf-8") as stream:
        texts = [line.rstrip("\n") for line in stream]  # never held twice, so that the peak is that of building
    queries = (folder / "queries.txt").read_text(encoding="utf-8").split("\n")
    PEERS[peer](texts[:100])("some words to load what is loaded late", 10)
    before = peak_megabytes()
    start = time.process_time()
    find = PEERS[peer](texts)
    built = time.process_time() - start
    peak = peak_megabytes() - before
    spent = []
    for query in queries:
        start = time.process_time()
        find(query, 10)
        spent.append(time.process_time() - start)
    result = {"build": built, "memory": peak, "median": np.median(spent) * 1e3, "mean": np.mean(spent) * 1e3}
    print(json.dumps(result))


def speed(results: Results, documents: int) -> None:
    """CPU time per query and memory to build, in one process per peer."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = recombined(documents)
        (folder / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
        queries = []
        for row in rng.integers(0, documents, 300).tolist():
            words = texts[row].split()
            start = int(rng.integers(0, max(1, len(words) - 8)))
            queries.append(" ".join(words[start : start + int(rng.integers(2, 9))]))
        (folder / "queries.txt").write_text("\n".join(queries), encoding="utf-8")
        tokens = sum(len(text.split()) for text in texts) / documents
        print(f"{documents} documents of {tokens:.0f} words, {len(queries)} queries of 2 to 8 words, k = 10, CPU time")
        print(f"{'':16}{'ms per query':>12}{'median':>10}{'build s':>10}{'build MB':>10}")
        del texts
        for peer in PEERS:
            command = [sys.executable, __file__, "--child", peer, "--folder", name]
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
            out = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
            one = json.loads(out.splitlines()[-1])
            results.values[f"{peer}: CPU ms per query"] = one["mean"]
            results.values[f"{peer}: build MB"] = one["memory"]
            print(f"{peer:16}{one['mean']:12.2f}{one['median']:10.2f}{one['build']:10.1f}{one['memory']:10.0f}")


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--quality-only", action="store_true")
    parser.add_argument("--speed-only", action="store_true")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--child", choices=list(PEERS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.folder)
        return
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there: set WORDFERRY_DATA to the folder that holds ir/, 20news/ and the others.")
    results = Results("search", given)
    if not given.speed_only:
        quality(results)
    if not given.quality_only:
        speed(results, given.documents)
    results.finish()


if __name__ == "__main__":
    main()
