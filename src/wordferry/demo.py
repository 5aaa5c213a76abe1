"""The main job on the data that the package carries: search, explain, classify. ``wordferry demo`` prints it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.runtime import Progress, no_progress
from wordferry.compare.calls import explain, top_k
from wordferry.compare.distances import DISTANCES
from wordferry.explanations.explain import Explanation
from wordferry.judge.voting import PAPER_K, class_numbers, error_rate, vote
from wordferry.texts.bow import encode
from wordferry.texts.datasets import Sample, default_embeddings, sample
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

QUERIES = (
    "The central bank lifts rates so that loans cost more and inflation cools",
    "Astronomers watch a distant planet cross the face of its star",
    "Bake a crusty loaf from flour, water and salt",
)
HELD_OUT = 7  # every seventh article is held out for the classification
DISTANCE = "rel-rwmd"
SIDE = "left"  # a query is much shorter than an article: let its words travel, not those of the article
Stage = Callable[[str], AbstractContextManager[Progress]]


@dataclass(frozen=True)
class Hit:
    """An article found for a query."""

    id: str
    topic: str
    title: str
    distance: float


@dataclass(frozen=True)
class Score:
    """How well k-NN with one distance classifies the articles held out, and how long that took."""

    distance: str
    error_percent: float
    seconds: float


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    articles: int
    topics: int
    words: int
    related_edges: int
    c_max: float
    graph_seconds: float
    hits: tuple[tuple[str, tuple[Hit, ...]], ...]
    """For each query the nearest articles."""
    explanation: Explanation
    """Why the best hit of the first query is as near as it is."""
    train: int
    test: int
    scores: tuple[Score, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Everything as plain rows; ``step`` says which part a row belongs to."""
        facts = {name: getattr(self, name) for name in ("articles", "topics", "words")}
        graph = {"edges": self.related_edges, "c_max": self.c_max, "seconds": self.graph_seconds}
        rows = [{"step": "collection", **facts}, {"step": "related", **graph}]
        for query, hits in self.hits:
            rows += [{"step": "search", "query": query, "rank": i + 1, **vars(hit)} for i, hit in enumerate(hits)]
        rows += [{"step": "explain", **row} for row in self.explanation.to_rows()]
        return rows + [{"step": "classify", **vars(score)} for score in self.scores]


def run(stage: Stage | None = None, k: int = 3) -> Demo:
    """Do it all. ``stage(label)`` is entered for each long step and gives the progress to report to."""
    steps: Stage = stage or (lambda label: nullcontext(no_progress))
    collection = sample()
    embeddings = default_embeddings()
    X = encode(collection.texts, embeddings)
    start = time.perf_counter()
    with steps("related words") as progress:
        words = embeddings.restrict(np.unique(X.indices).astype(np.int64))
        related = RelatedWords.build(words, progress=progress)
    graph_seconds = time.perf_counter() - start
    hits = _search(collection, X, embeddings, related, k)
    nearest = next(article for article in collection.articles if article.id == hits[0][1][0].id)
    with steps("classification") as progress:
        scores, train, test = _classify(collection, X, embeddings, related, progress)
    return Demo(
        len(collection.articles),
        len(set(collection.labels)),
        len(words),
        int(related.graph.nnz) // 2,
        float(related.c_max),
        graph_seconds,
        hits,
        explain(QUERIES[0], nearest.text, DISTANCE, side=SIDE, embeddings=embeddings, related=related, unknown="drop"),
        train,
        test,
        scores,
    )


def _search(
    collection: Sample, X: Any, embeddings: Embeddings, related: RelatedWords, k: int
) -> tuple[tuple[str, tuple[Hit, ...]], ...]:
    found = top_k(encode(QUERIES, embeddings), X, k, DISTANCE, side=SIDE, embeddings=embeddings, related=related)
    result = []
    for query, (indices, distances) in zip(QUERIES, found, strict=True):
        articles = [collection.articles[i] for i in indices.tolist()]
        titles = [str(article.metadata["title"]) for article in articles]
        parts = zip(articles, titles, distances.tolist(), strict=True)
        result.append((query, tuple(Hit(str(a.id), str(a.label), title, d) for a, title, d in parts)))
    return tuple(result)


def _classify(
    collection: Sample, X: Any, embeddings: Embeddings, related: RelatedWords, progress: Progress
) -> tuple[tuple[Score, ...], int, int]:
    """k-NN as in the paper (k = 19, halved on ties), every seventh article held out."""
    classes, names = class_numbers(collection.labels)
    held = np.arange(len(classes)) % HELD_OUT == 0
    train, test = X[~held], X[held]
    scores = []
    for done, record in enumerate(DISTANCES.values()):
        progress(done, len(DISTANCES))
        start = time.perf_counter()
        graph = related if record.needs_related else None
        found = top_k(test, train, PAPER_K, record, embeddings=embeddings, related=graph)
        seconds = time.perf_counter() - start
        winners = vote(classes[~held][found.indices], len(names)).winner
        scores.append(Score(record.name, error_rate(classes[held], winners), seconds))
    progress(len(DISTANCES), len(DISTANCES))
    return tuple(scores), int(train.shape[0]), int(test.shape[0])
