"""The main jobs on the data in the package: find, compare, explain, be judged. ``wordferry demo`` prints it."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from wordferry.base.runtime import Progress, no_progress
from wordferry.compare.measure import Measure
from wordferry.explanations.explain import Explanation
from wordferry.find import ScoreExplanation, WordSearch
from wordferry.judge.gain import ndcg
from wordferry.judge.likeness import judge_triplets
from wordferry.judge.voting import PAPER_K, class_numbers, vote
from wordferry.texts.datasets import Sample, default_embeddings, sample
from wordferry.texts.tokenizers import default_tokenizer
from wordferry.words.related.graph import RelatedWords

QUERIES = (
    "my flight was five hours late, can I get money back",
    "how can sheep farmers live with wolves",
    "Kestrel Air 13 keyboard problem",
)
LIKE = "sport-15"
"""The article that others are compared with."""
DISTANCE = "rel-rwmd"
JUDGED = ("tfidf-cosine", "wcd", "rel-rwmd", "wmd", "rel-wmd")
SEARCHES: dict[str, dict[str, Any]] = {
    "BM25": {"stem": 0.0, "lift": 0.0},
    "BM25 with stems": {"lift": 0.0},
    "word search": {},
}
"""What is added to plain BM25, step by step; the last is what ``search`` does unless told otherwise."""
ENCODER = "wordllama"
"""Where this encoder is installed, search by words and meaning is shown as well."""
HELD_OUT = 5  # every fifth article is classified by the others
FIRST = 10
Stage = Callable[[str], AbstractContextManager[Progress]]


@dataclass(frozen=True)
class DemoHit:
    """An article found for a query, or near another article."""

    id: str
    topic: str
    title: str
    value: float
    """The score of a word search, or a distance."""


@dataclass(frozen=True)
class DemoRetrieval:
    """How well the queries of the sample were answered."""

    method: str
    ndcg: float
    """The mean nDCG@10."""
    first: int
    """For how many queries the first hit answers."""
    seconds: float


@dataclass(frozen=True)
class ClassifierScore:
    """How many articles k-NN with one distance gave the wrong topic."""

    distance: str
    wrong: int
    error_percent: float
    seconds: float


@dataclass(frozen=True)
class Solved:
    """How many triplets a distance solved."""

    distance: str
    solved: int
    failed: int
    error_percent: float


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    collection: Sample
    words: int
    unknown: int
    """Words of the articles without a vector."""
    related_edges: int
    c_max: float
    found: tuple[tuple[str, tuple[DemoHit, ...], str], ...]
    """For each query the best hits, and what the score of the first is made of."""
    like: str
    """The title of the article that others are near."""
    near: tuple[DemoHit, ...]
    explanation: Explanation
    """Why the nearest is as near as it is."""
    retrieval: tuple[DemoRetrieval, ...]
    train: int
    test: int
    scores: tuple[ClassifierScore, ...]
    triplets: tuple[Solved, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Everything as plain rows; ``step`` says which part a row belongs to."""
        sizes = {"articles": len(self.collection.articles), "topics": len(set(self.collection.labels))}
        sizes |= {"queries": len(self.collection.queries), "triplets": len(self.collection.triplets)}
        rows: list[dict[str, Any]] = [{"step": "collection", **sizes, "words": self.words, "unknown": self.unknown}]
        rows.append({"step": "related", "edges": self.related_edges, "c_max": self.c_max})
        for query, hits, why in self.found:
            about = {"step": "search", "query": query}
            rows += [{**about, "rank": n, **_row(hit, "score")} for n, hit in enumerate(hits, 1)]
            rows.append({"step": "score", "query": query, "why": why})
        rows += [{"step": "similar", "rank": n, **_row(hit, "distance")} for n, hit in enumerate(self.near, 1)]
        rows += [{"step": "explain", **row} for row in self.explanation.to_rows()]
        parts = (("retrieval", self.retrieval), ("classify", self.scores), ("triplets", self.triplets))
        return rows + [{"step": step, **vars(one)} for step, found in parts for one in found]


def run(stage: Stage | None = None, k: int = 3) -> Demo:
    """Do it all. ``stage(label)`` is entered for each long step and gives the progress to report to."""
    steps: Stage = stage or (lambda label: nullcontext(no_progress))
    collection = sample()
    words = WordSearch(collection.texts)
    with steps("related words") as progress:
        task = _Task.of(collection, progress)
    near = task.near(LIKE, k)
    with steps("retrieval") as progress:
        retrieval = tuple(_retrieval(task, words, progress))
    with steps("classification") as progress:
        scores, train, test = _classify(task, progress)
    with steps("triplets") as progress:
        triplets = tuple(_triplets(task, progress))
    articles = {str(article.id): article for article in collection.articles}
    return Demo(
        collection,
        len(task.related.vocabulary),
        task.unknown,
        int(task.related.graph.nnz) // 2,
        float(task.related.c_max),
        tuple(_find(collection, words, query, k) for query in QUERIES),
        str(articles[LIKE].metadata["title"]),
        near,
        task.measure(DISTANCE).explain(articles[LIKE].text, articles[near[0].id].text),
        retrieval,
        train,
        test,
        scores,
        triplets,
    )


@dataclass(frozen=True)
class _Task:
    """The collection and how its articles are compared: one graph of related words, one set of weights."""

    collection: Sample
    related: RelatedWords
    idf: dict[str, float]
    unknown: int

    @classmethod
    def of(cls, collection: Sample, progress: Progress) -> _Task:
        embeddings, tokenize = default_embeddings(), default_tokenizer()
        df = Counter(word for text in collection.texts for word in set(tokenize(text)))
        size = len(collection.texts)
        idf = {word: math.log((1 + size) / (1 + count)) + 1 for word, count in df.items()}
        known = sorted(word for word in df if word in embeddings)
        related = RelatedWords.build(embeddings.restrict(known), progress=progress)
        return cls(collection, related, idf, len(df) - len(known))

    def measure(self, name: str) -> Measure:
        """The distance with rare words weighing more, and words without a vector kept."""
        return Measure(name, weights=self.idf, related=self.related if name.startswith("rel-") else None)

    def near(self, id: str, k: int) -> tuple[DemoHit, ...]:
        """The articles nearest to one of them, without itself."""
        number = [article.id for article in self.collection.articles].index(id)
        others = np.arange(len(self.collection.articles)) != number
        texts = self.collection.texts
        found = self.measure(DISTANCE).top_k([texts[number]], texts, k, mask=others)
        return _hits(self.collection, found.indices[0].tolist(), found.distances[0].tolist())


def _find(collection: Sample, words: WordSearch, query: str, k: int) -> tuple[str, tuple[DemoHit, ...], str]:
    found = words.search(query, k)
    return query, _hits(collection, found.rows.tolist(), found.scores.tolist()), _why(found.explain(0))


def _why(explanation: ScoreExplanation) -> str:
    """What a score is made of, in one line; forms are named where they are not the word of the query."""
    parts = []
    for word in explanation.words:
        if word.part:
            forms = "" if set(word.forms) == {word.word} else f" ({', '.join(word.forms)})"
            parts.append(f"{word.word}{forms} {word.part:.2f}")
    neighbours = math.fsum(one.part for one in explanation.neighbours)
    return ", ".join([*parts, f"near articles {neighbours:.2f}"])


def _hits(collection: Sample, rows: Sequence[int], values: Sequence[float]) -> tuple[DemoHit, ...]:
    articles = [collection.articles[row] for row in rows]
    parts = zip(articles, values, strict=True)
    return tuple(DemoHit(str(a.id), str(a.label), str(a.metadata["title"]), value) for a, value in parts)


def _row(hit: DemoHit, name: str) -> dict[str, Any]:
    row = vars(hit).copy()
    row[name] = row.pop("value")
    return row


def _retrieval(task: _Task, words: WordSearch, progress: Progress) -> list[DemoRetrieval]:
    """The queries of the sample, answered by words and by distances."""
    collection = task.collection
    queries = [text for _, text in collection.queries]
    both = {f"words and {ENCODER}": WordSearch(collection.texts, encoder=ENCODER)} if find_spec(ENCODER) else {}
    steps = len(SEARCHES) + len(both) + len(JUDGED)
    results = []
    for name, settings in SEARCHES.items():
        start = time.perf_counter()
        rows = [words.search(query, FIRST, **settings).rows.tolist() for query in queries]
        results.append(_graded(collection, name, rows, time.perf_counter() - start))
        progress(len(results), steps)
    for name, searched in both.items():
        start = time.perf_counter()
        rows = [searched.search(query, FIRST).rows.tolist() for query in queries]
        results.append(_graded(collection, name, rows, time.perf_counter() - start))
        progress(len(results), steps)
    for name in JUDGED:
        start = time.perf_counter()
        found = task.measure(name).top_k(queries, collection.texts, FIRST)
        results.append(_graded(collection, name, found.indices.tolist(), time.perf_counter() - start))
        progress(len(results), steps)
    return results


def _graded(collection: Sample, method: str, rows: Sequence[Sequence[int]], seconds: float) -> DemoRetrieval:
    ids = [str(article.id) for article in collection.articles]
    grades = [collection.judgements[number] for number, _ in collection.queries]
    found = [[ids[row] for row in places if row >= 0] for places in rows]
    values = [ndcg(some, good) for some, good in zip(found, grades, strict=True)]
    first = sum(bool(some) and some[0] in good for some, good in zip(found, grades, strict=True))
    return DemoRetrieval(method, float(np.mean(values)), first, seconds)


def _classify(task: _Task, progress: Progress) -> tuple[tuple[ClassifierScore, ...], int, int]:
    """k-NN as in the paper (k = 19, halved on ties)."""
    classes, names = class_numbers(task.collection.labels)
    held = np.arange(len(classes)) % HELD_OUT == 0
    texts = np.array(task.collection.texts, dtype=object)
    train, test = texts[~held].tolist(), texts[held].tolist()
    scores: list[ClassifierScore] = []
    for name in JUDGED:
        progress(len(scores), len(JUDGED))
        start = time.perf_counter()
        found = task.measure(name).top_k(test, train, PAPER_K)
        seconds = time.perf_counter() - start
        wrong = int((vote(classes[~held][found.indices], len(names)).winner != classes[held]).sum())
        scores.append(ClassifierScore(name, wrong, 100 * wrong / len(test), seconds))
    progress(len(JUDGED), len(JUDGED))
    return tuple(scores), len(train), len(test)


def _triplets(task: _Task, progress: Progress) -> list[Solved]:
    """The triplets of the sample, judged as ``wordferry judge triplets`` does."""
    numbers = {article.id: number for number, article in enumerate(task.collection.articles)}
    triples = [(numbers[a], numbers[b], numbers[c]) for a, b, c in task.collection.triplets]
    results: list[Solved] = []
    for name in JUDGED:
        progress(len(results), len(JUDGED))
        (row,) = judge_triplets(task.collection.texts, triples, [name])
        results.append(Solved(name, row["triplets"] - row["wrong"], row["wrong"], row["error %"]))
    progress(len(JUDGED), len(JUDGED))
    return results
