"""A small collection with known vectors, and the search that compares with every document one after another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import wordferry
from wordferry.index import Document, Hit, Index
from wordferry.kernels import reference
from wordferry.words.loaders.demand import VectorSource
from wordferry.words.related.graph import DEFAULT_R

Related = tuple[dict[int, dict[int, float]], float]
"""A graph of distances, and c_max."""

PLAIN = {"weights": "counts", "unknown": "drop"}
"""What an index is made with that compares documents as its files hold them."""
WORDS = [f"w{i:02d}" for i in range(60)]
HISTORY = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 30)),
        st.tuples(st.just("delete"), st.floats(0, 1)),
        st.tuples(st.just("compact"), st.none()),
    ),
    min_size=1,
    max_size=5,
)
"""What happens to an index before it is searched."""


def embeddings(dimensions: int = 8, seed: int = 3) -> wordferry.Embeddings:
    """Sixty words with random vectors."""
    return wordferry.Embeddings(WORDS, np.random.default_rng(seed).normal(size=(len(WORDS), dimensions)))


def source() -> VectorSource:
    """The vectors of :func:`embeddings`, each made when its word comes; words that end in "?" have none."""
    table = embeddings()

    def make(words: list[str]) -> list[Any]:
        return [np.zeros(8) if word.endswith("?") else _vector(word, table) for word in words]

    return VectorSource("letters", make)


def _vector(word: str, table: wordferry.Embeddings) -> Any:
    return table.vector(word) if word in table else np.random.default_rng(list(word.encode())).normal(size=8)


def source_of(place: Path) -> VectorSource | None:
    """What an index of these tests is opened with: the source, where it makes its vectors."""
    with Index.open(place) as index:
        return source() if index.config.source is not None else None


def documents(count: int, *, seed: int = 5, words: int = len(WORDS), length: int = 6) -> list[dict[str, Any]]:
    """Documents of random words with an id, a label and metadata."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        text = " ".join(WORDS[j] for j in rng.integers(0, words, size=length))
        metadata = {"year": int(1990 + i % 20), "topic": ["sport", "law", "food"][i % 3]}
        made.append({"id": f"d{i}", "text": text, "label": f"l{i % 2}", "metadata": metadata})
    return made


def play(index: Index, history: Sequence[tuple[str, Any]], rng: np.random.Generator, text: Callable[[], str]) -> None:
    """Do to an index what a history says; ``parity`` of a document is that of the number of its words."""
    for action, amount in history:
        if action == "add":
            made = [text() for _ in range(amount)]
            index.add([{"text": one, "parity": len(one.split()) % 2} for one in made])
        elif action == "delete":
            index.delete([id for id in index.ids() if rng.random() < amount])
        else:
            index.compact()


Bag = dict[int, float]


def bag(text: str, emb: wordferry.Embeddings) -> Bag:
    """Shares of the words of a text."""
    ids = [word for word in emb.vocabulary.ids(text.split()).tolist() if word >= 0]
    return {word: ids.count(word) / len(ids) for word in sorted(set(ids))}


def formula(name: str, emb: wordferry.Embeddings, related: Related | None) -> Callable[[Bag, Bag], float]:
    """A distance as the reference has it; ``related`` is a graph over the ids of the embeddings, and c_max."""
    plain = reference.euclidean_cost(emb.matrix)
    if name in ("cosine", "tfidf-cosine"):
        return reference.cosine
    if name == "wcd":
        return lambda x, y: reference.wcd(x, y, emb.matrix)
    if name in ("rwmd", "wmd"):
        return lambda x, y: getattr(reference, name)(x, y, plain)
    assert related is not None
    cost = reference.related_cost(*related)
    if name == "rel-rwmd":
        return lambda x, y: reference.rwmd(x, y, cost)
    return lambda x, y: reference.wmd(x, y, cost, "residual")


def brute_force(
    docs: list[Document],
    query: str,
    k: int,
    emb: wordferry.Embeddings,
    distance: str = "rel-rwmd",
    related: Related | None = None,
) -> list[tuple[str, float]]:
    """Ids and distances of the k nearest documents, one after another by the formulas."""
    if not docs:
        return []
    bags = [bag(str(doc.text), emb) for doc in docs]
    asked = bag(query, emb)
    if distance.startswith("tfidf"):
        held = Counter(word for one in bags for word in one)
        idf = {word: math.log((1 + len(docs)) / (1 + held[word])) + 1 for word in range(len(emb))}
        bags, asked = [weighted(one, idf) for one in bags], weighted(asked, idf)
    if distance.startswith("rel-") and related is None:
        related = graph_over(sorted({word for one in bags for word in one}), DEFAULT_R, emb)
    value = formula(distance, emb, related)
    row = np.array([value(asked, one) for one in bags])
    order = np.argsort(row.round(6), kind="stable")[:k]
    return [(docs[i].id, float(row[i])) for i in order]


def weighted(one: Bag, weights: dict[int, float]) -> Bag:
    """A bag times a weight for each word, scaled to sum 1."""
    total = sum(mass * weights[word] for word, mass in one.items())
    return {word: mass * weights[word] / total for word, mass in one.items()}


def graph_over(words: list[int], r: int, emb: wordferry.Embeddings) -> Related:
    """Related words among some ids of the embeddings; all other words are joined to them."""
    return reference.related_words(emb.matrix, r, set(range(len(emb))) - set(words))


def assert_hits(hits: list[Hit], wanted: list[tuple[str, float]]) -> None:
    """The same distances in the same order, and the same documents wherever no tie allows another."""
    got = [hit.distance for hit in hits]
    np.testing.assert_allclose(got, [distance for _, distance in wanted], rtol=1e-5, atol=1e-5)
    for place, (hit, (identifier, distance)) in enumerate(zip(hits, wanted, strict=True)):
        others = [d for i, (_, d) in enumerate(wanted) if i != place]
        last = place == len(wanted) - 1
        if not last and all(abs(distance - other) > 1e-4 for other in others):
            assert hit.id == identifier


def assert_equals_brute_force(index: Index, queries: list[str], k: int = 5, distance: str = "rel-rwmd") -> None:
    """Search equals comparing with everything that is there, by a graph built at once over the index's words."""
    docs = list(index)
    related = None
    if distance.startswith("rel-") and docs:
        with index.backend.state() as (_, snapshot):
            words = snapshot.terms.rows.tolist()
        assert {word for doc in docs for word in bag(str(doc.text), index.embeddings)} <= set(words)
        related = graph_over(words, index.config.r, index.embeddings)
    for query, hits in zip(queries, index.similar(queries, k, distance=distance, **PLAIN), strict=True):
        assert_hits(hits, brute_force(docs, query, k, index.embeddings, distance, related))
