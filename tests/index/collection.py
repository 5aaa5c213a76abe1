"""A small collection with known vectors, and the search that compares with every document one after another."""

from __future__ import annotations

from typing import Any

import numpy as np

import wordferry
from wordferry.index import Document, Hit, Index

WORDS = [f"w{i:02d}" for i in range(60)]


def embeddings(dimensions: int = 8, seed: int = 3) -> wordferry.Embeddings:
    """Sixty words with random vectors."""
    return wordferry.Embeddings(WORDS, np.random.default_rng(seed).normal(size=(len(WORDS), dimensions)))


def documents(count: int, *, seed: int = 5, words: int = len(WORDS), length: int = 6) -> list[dict[str, Any]]:
    """Documents of random words with an id, a label and metadata."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        text = " ".join(WORDS[j] for j in rng.integers(0, words, size=length))
        metadata = {"year": int(1990 + i % 20), "topic": ["sport", "law", "food"][i % 3]}
        made.append({"id": f"d{i}", "text": text, "label": f"l{i % 2}", "metadata": metadata})
    return made


def brute_force(
    docs: list[Document],
    query: str,
    k: int,
    emb: wordferry.Embeddings,
    distance: str = "rel-rwmd",
    related: wordferry.RelatedWords | None = None,
) -> list[tuple[str, float]]:
    """Ids and distances of the k nearest documents, from the full row of distances."""
    if not docs:
        return []
    row = wordferry.pairwise([query], [str(doc.text) for doc in docs], distance, embeddings=emb, related=related)[0]
    order = np.argsort(row, kind="stable")[:k]
    return [(docs[i].id, float(row[i])) for i in order]


def assert_hits(hits: list[Hit], wanted: list[tuple[str, float]]) -> None:
    """The same distances in the same order, and the same documents wherever no tie allows another."""
    got = [hit.distance for hit in hits]
    np.testing.assert_allclose(got, [distance for _, distance in wanted], rtol=1e-5, atol=1e-5)
    for place, (hit, (identifier, distance)) in enumerate(zip(hits, wanted, strict=True)):
        others = [d for i, (_, d) in enumerate(wanted) if i != place]
        last = place == len(wanted) - 1
        if not last and all(abs(distance - other) > 1e-4 for other in others):
            assert hit.id == identifier


def assert_equals_brute_force(index: Index, queries: list[str], k: int = 5, distance: str | None = None) -> None:
    """Search equals comparing with everything that is there, by a graph built at once over the index's words."""
    docs = list(index)
    name = distance or index.config.distance
    related = None
    if name.startswith("rel-") and docs:
        with index.view() as (_, snapshot):
            words = index.embeddings.restrict(snapshot.words)
        assert {word for doc in docs for word in str(doc.text).split()} <= set(words.vocabulary)
        related = wordferry.RelatedWords.build(words, index.config.r)
    for query, hits in zip(queries, index.search(queries, k, distance=distance), strict=True):
        assert_hits(hits, brute_force(docs, query, k, index.embeddings, name, related))
