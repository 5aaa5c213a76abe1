"""This state of the code against another one, job by job, in turns: has anything become slower?

    git worktree add ../before COMMIT        # and build it there: make demo
    python benchmarks/versus.py ../before [--data FOLDER] [--rounds 5]

Each state runs in a process of its own, with the interpreter of its own ``.venv``, and both do the same job one after
the other, round after round, so that they meet the same neighbours on the machine. A line is the least processor time
of each and the ratio; below 1 means that this state is faster. Jobs use the public face alone, one thread unless they
say otherwise, and unknown words are dropped, which is what older states do. With ``--data`` (default: $WORDFERRY_DATA)
the documents are those of 20news with Google News vectors, otherwise random ones.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

HERE = Path(__file__).resolve()
VECTORS = "embeddings/word2vec-google-news-300-subset31k"
Job = Callable[[], Any]


def generated(words: int, dimensions: int) -> Any:
    """Unit vectors in clusters, like those of words."""
    import wordferry

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(words // 16, dimensions))
    vectors = centres[rng.integers(0, len(centres), words)] + 0.8 * rng.normal(size=(words, dimensions))
    return wordferry.Embeddings([f"w{i}" for i in range(words)], vectors)


def documents(count: int, distinct: int, words: int, seed: int) -> sp.csr_array:
    """Counts of some different words per document; words are as frequent as in texts (Zipf and Mandelbrot's law)."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(count), distinct)
    law = 1 / (np.arange(words) + 50.0)
    drawn = rng.choice(words, count * distinct, p=law / law.sum())
    made = sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, drawn)), shape=(count, words))
    made.sum_duplicates()
    return made


def newsgroups(folder: Path) -> tuple[sp.csr_array, sp.csr_array, Any]:
    """Test and training documents of 20news as counts, and vectors of the words in play."""
    import wordferry

    words = gzip.decompress((folder / f"{VECTORS}.vocab.txt.gz").read_bytes()).decode("utf-8").rstrip("\n").split("\n")
    stop = set((folder / "stop_words_smart570.txt").read_text(encoding="utf-8").split())
    numbers = {word: i for i, word in enumerate(words) if word not in stop}
    sides = []
    for part in ("test", "train"):
        with gzip.open(folder / "20news" / f"{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
            tokens = [json.loads(line)["text"].split() for line in lines]
        found = [(row, numbers[word]) for row, text in enumerate(tokens) for word in text if word in numbers]
        rows, columns = np.array(found).T
        made = sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=(len(tokens), len(words)))
        made.sum_duplicates()
        sides.append(made[np.diff(made.indptr) > 0])
    used = np.union1d(sides[0].indices, sides[1].indices)
    with np.load(folder / f"{VECTORS}.npz") as arrays:
        vectors = arrays["vectors"][used].astype(np.float32)
    embeddings = wordferry.Embeddings([words[i] for i in used], vectors)
    return sp.csr_array(sides[0][:, used]), sp.csr_array(sides[1][:, used]), embeddings


def relaxed_jobs(folder: Path | None) -> Iterator[tuple[str, Job]]:
    """Whole matrices and single queries of the distances that need no solver."""
    import wordferry

    if folder is None:
        embeddings = wordferry.default_embeddings().restrict(np.arange(20000))
        X, Y = documents(1500, 60, 20000, 1), documents(11000, 60, 20000, 2)
    else:
        X, Y, embeddings = newsgroups(folder)
        X = X[:1500]
    options = {"embeddings": embeddings, "related": wordferry.RelatedWords.build(embeddings, 16), "threads": 1}
    out = np.zeros((X.shape[0], Y.shape[0]), dtype=np.float32)
    for name in ("rel-rwmd", "bow-l1", "cosine", "wcd", "rwmd"):
        yield f"pairwise {name}", lambda name=name: wordferry.pairwise(X, Y, name, out=out, **options)
    for name in ("rel-rwmd", "cosine", "wcd", "rwmd", "wmd"):
        yield f"top_k {name}, 20 queries", lambda name=name: wordferry.top_k(X[:20], Y, 10, name, **options)
    for name in ("rel-rwmd", "wcd", "rwmd", "wmd"):
        searcher = wordferry.Searcher(Y, name, **options)
        searcher.top_k(X[:1], 10)
        queries = [X[i : i + 1] for i in range(10)]
        yield (
            f"Searcher {name}, 10 single queries",
            lambda searcher=searcher, queries=queries: [searcher.top_k(query, 10) for query in queries],
        )


def transport_jobs() -> Iterator[tuple[str, Job]]:
    """Exact transport: many pairs in a call, one pair in a call."""
    import wordferry

    embeddings = generated(20000, 300)
    related = wordferry.RelatedWords.build(embeddings, 16)
    for distinct, count in ((10, 200), (40, 100), (70, 60), (200, 20)):
        X, Y = documents(20, distinct, 20000, 3), documents(count, distinct, 20000, 4)
        options = {"embeddings": embeddings, "threads": 1}
        yield f"wmd, {distinct} words", lambda X=X, Y=Y, options=options: wordferry.pairwise(X, Y, "wmd", **options)
        options = {**options, "related": related}
        yield (
            f"rel-wmd, {distinct} words",
            lambda X=X, Y=Y, options=options: wordferry.pairwise(X, Y, "rel-wmd", **options),
        )
    X, Y = documents(20, 70, 20000, 5), documents(60, 70, 20000, 6)
    yield "wmd, 70 words, two threads", lambda: wordferry.pairwise(X, Y, "wmd", embeddings=embeddings, threads=2)
    for distinct in (10, 40):
        rows = documents(2, distinct, 20000, 7)
        x, y = ([f"w{word}" for word in rows[[i]].indices] for i in range(2))
        one = {"embeddings": embeddings, "related": related}
        for name in ("wmd", "rel-rwmd"):
            yield (
                f"distance {name}, one pair of {distinct} words, 300 times",
                lambda x=x, y=y, name=name, one=one: [wordferry.distance(x, y, name, **one) for _ in range(300)],
            )


def graph_jobs() -> Iterator[tuple[str, Job]]:
    import wordferry

    embeddings = generated(12000, 300)
    yield "graph, 12000 words, r = 16", lambda: wordferry.RelatedWords.build(embeddings, 16, threads=1)


def index_jobs() -> Iterator[tuple[str, Job]]:
    """An index of 10,000 documents: create, add, one query, many queries, exact distances."""
    import inspect

    import wordferry
    from wordferry.index import Index

    embeddings = wordferry.default_embeddings().restrict(np.arange(20000))
    related = wordferry.RelatedWords.build(embeddings, 16)
    rows = documents(10_000, 50, 20000, 8)
    words = np.array(list(embeddings.vocabulary), dtype=object)
    texts = [" ".join(words[rows[[i]].indices]) for i in range(rows.shape[0])]
    old = {"weights": "counts", "unknown": "drop"}  # as before weights and unknown words were thought of
    known = {key: value for key, value in old.items() if key in inspect.signature(Index.create).parameters}
    folder = Path(tempfile.mkdtemp(prefix="versus-"))
    count = iter(range(10**6))

    def create() -> None:
        with Index.create(folder / str(next(count)), embeddings=embeddings, related=related, **known) as index:
            index.add(texts)

    yield "index: create", create
    create()
    index = Index.open(max(folder.iterdir(), key=lambda path: path.stat().st_mtime))
    plain: dict[str, Any] = {"weights": "counts", "unknown": "drop", "threads": 1}  # as an earlier state compared
    for name in ("rel-rwmd", "wcd", "wmd"):
        index.similar(texts[0], distance=name, **plain)
        yield (
            f"index: 20 queries by {name}",
            lambda name=name: [index.similar(text, distance=name, **plain) for text in texts[:20]],
        )
    yield "index: a batch of 64 by rel-rwmd", lambda: index.similar(texts[:64], distance="rel-rwmd", **plain)
    yield "index: open and search", lambda: Index.open(index.path).similar(texts[0], distance="rel-rwmd", **plain)


def work(folder: Path | None, only: str) -> None:
    """The process of one state: a line with the names of the jobs, then seconds for each number that is sent."""
    made = [*relaxed_jobs(folder), *transport_jobs(), *graph_jobs(), *index_jobs()]
    jobs = [(name, job) for name, job in made if only in name]
    print(json.dumps([name for name, _ in jobs]), flush=True)
    for line in sys.stdin:
        job = jobs[int(line)][1]
        start = time.process_time()
        job()
        print(time.process_time() - start, flush=True)


class State:
    """A state of the code in a process that waits for the number of a job."""

    def __init__(self, root: Path, python: str, folder: Path | None, only: str) -> None:
        data = ["--data", str(folder.resolve())] if folder else []
        command = [python, str(HERE), "--worker", "--only", only, *data]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=root
        )
        self.names: list[str] = json.loads(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a process ended: {self.process.wait()}")
        return line

    def seconds(self, job: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{job}\n")
        self.process.stdin.flush()
        return float(self._line())


def main() -> None:
    import harness
    from harness import Results

    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("before", type=Path, nargs="?", help="the folder of the other state, built")
    parser.add_argument("--python", help="the interpreter of the other state (default: that of its .venv)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each job is done by each state (default: 5)")
    parser.add_argument("--only", default="", help="jobs with this in their name")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.data, options.only)
        return
    if options.before is None:
        parser.error("name the folder of the other state")
    results = Results("versus", options)
    before = options.before.resolve()
    states = [
        State(before, options.python or str(before / ".venv/bin/python"), options.data, options.only),
        State(harness.ROOT, sys.executable, options.data, options.only),
    ]
    print(f"{'':46s} {'before ms':>10s} {'now ms':>10s} {'ratio':>6s}")
    for job, name in enumerate(states[1].names):
        least = [float("inf")] * 2
        for turn in range(options.rounds):
            for which in (0, 1) if turn % 2 else (1, 0):
                least[which] = min(least[which], states[which].seconds(job))
        then, now = least
        line = f"{name:46s} {then * 1e3:10.2f} {now * 1e3:10.2f} {now / then:6.2f}"
        results.add(name, {"before": then, "now": now}, line)
    results.finish()


if __name__ == "__main__":
    main()
