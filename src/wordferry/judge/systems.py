"""What can be judged: our word search, every distance, and the peers that people know."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wordferry.base.arrays import Float64Array, Int64Array
from wordferry.base.checks import nearest_name
from wordferry.base.runtime import Run, optional_import
from wordferry.compare.distances import DISTANCES, find_distance
from wordferry.compare.measure import Measure
from wordferry.compare.search import Searcher
from wordferry.encoders.encoder import NAMES as ENCODERS
from wordferry.encoders.encoder import find_encoder
from wordferry.errors import InputError
from wordferry.find import WordSearch
from wordferry.texts.datasets import given_or_default
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.whole import related_of

Answer = tuple[Int64Array, Float64Array]
"""Rows of the documents that were found and their scores, best first; a higher score is better."""
_BATCH = 64


class System(Protocol):
    """Something that answers queries over a list of texts."""

    def __call__(self, texts: Sequence[str], queries: Sequence[str], k: int) -> Iterator[Answer]:
        """The k best documents for each query, in the order of the queries."""
        ...


@dataclass(frozen=True)
class ByWords:
    """Our word search, with an encoder by words and meaning."""

    constants: Mapping[str, Any]
    encoder: Any = None

    def __call__(self, texts: Sequence[str], queries: Sequence[str], k: int) -> Iterator[Answer]:
        index = WordSearch(texts, encoder=self.encoder)
        for query in queries:
            found = index.search(query, k, **self.constants)
            yield found.rows, found.scores


@dataclass(frozen=True)
class ByDistance:
    """One of our distances; the score is the distance with its sign turned."""

    measure: Measure
    threads: int | None = None

    def __call__(self, texts: Sequence[str], queries: Sequence[str], k: int) -> Iterator[Answer]:
        run = Run(threads=self.threads)
        searcher = Searcher.of(self.measure, texts, run)
        for start in range(0, len(queries), _BATCH):
            found = searcher.top_k(queries[start : start + _BATCH], min(k, len(texts)), threads=self.threads)
            for rows, distances in found:
                kept = (rows >= 0) & np.isfinite(distances)
                yield rows[kept], -distances[kept].astype(np.float64)


@dataclass(frozen=True)
class Bm25s:
    """The bm25s package, as it comes or with PyStemmer's English stemmer."""

    stemmed: bool

    def __call__(self, texts: Sequence[str], queries: Sequence[str], k: int) -> Iterator[Answer]:
        bm25s = optional_import("bm25s", "judge")
        stemmer = optional_import("Stemmer", "judge").Stemmer("english") if self.stemmed else None
        options = {"stopwords": "en", "stemmer": stemmer, "show_progress": False}
        index = bm25s.BM25()
        index.index(bm25s.tokenize(list(texts), **options), show_progress=False)
        places = min(k, len(texts))
        for query in queries:
            tokens = bm25s.tokenize([query], **options)
            if not tokens.vocab:
                yield np.zeros(0, dtype=np.int64), np.zeros(0)
                continue
            rows, scores = index.retrieve(tokens, k=places, show_progress=False)
            found = scores[0] > 0
            yield rows[0][found].astype(np.int64), scores[0][found].astype(np.float64)


@dataclass(frozen=True)
class TfIdfVectors:
    """scikit-learn's tf-idf vectors, compared by cosine."""

    def __call__(self, texts: Sequence[str], queries: Sequence[str], k: int) -> Iterator[Answer]:
        module = optional_import("sklearn.feature_extraction.text", "sklearn")
        vectorizer = module.TfidfVectorizer(sublinear_tf=True, stop_words="english")
        documents = vectorizer.fit_transform(texts).T.tocsr()
        for start in range(0, len(queries), _BATCH):
            scores = (vectorizer.transform(queries[start : start + _BATCH]) @ documents).toarray()
            yield from (best(row, k, row > 0) for row in scores)


@dataclass(frozen=True)
class ByEncoder:
    """Any encoder, by its name or an object with ``encode(texts)``; texts are compared by the cosine of vectors."""

    model: Any

    def vectors(self, texts: Sequence[str]) -> Any:
        """Unit vectors; a text without one gets zeros."""
        return find_encoder(self.model).encode(texts)

    def __call__(self, texts: Sequence[str], queries: Sequence[str], k: int) -> Iterator[Answer]:
        encoder = find_encoder(self.model)
        documents = encoder.encode(texts)
        for query in queries:
            yield best(documents @ encoder.encode([query])[0], k)


def best(scores: Any, k: int, kept: Any = None) -> Answer:
    """The k highest of some scores, ties by the smaller row."""
    order = np.lexsort((np.arange(len(scores)), -scores))[:k]
    if kept is not None:
        order = order[kept[order]]
    return order.astype(np.int64), np.asarray(scores, dtype=np.float64)[order]


_PEERS: dict[str, Callable[[str], System]] = {
    "bm25": lambda _: Bm25s(stemmed=False),
    "bm25-stem": lambda _: Bm25s(stemmed=True),
    "tfidf": lambda _: TfIdfVectors(),
}
_ENCODERS = tuple(name.partition(":")[0] for name in ENCODERS)
NAMES = ("words", "words+ENCODER", *_PEERS, *_ENCODERS, *DISTANCES)
"""Everything that can be judged by name."""


def make_system(
    text: str, *, embeddings: Embeddings | None = None, threads: int | None = None, r: int | None = None, **options: Any
) -> System:
    """A system by name, with options after a colon.

    ``words`` (``words:lift=0``), ``words+ENCODER`` (``words+wordllama``), ``bm25``, ``bm25-stem``, ``tfidf``, an
    encoder (``wordllama``, ``model2vec:PATH``, ``sentence-transformers:PATH``), or a distance (``rel-rwmd``,
    ``rel-rwmd:weights=counts,overlap=keep``). A distance weighs words as an index does ("idf") unless its formula, its
    own options or ``options`` say otherwise; ``r`` is the number of related words of each word of the vocabulary.
    """
    name, _, rest = text.partition(":")
    words, plus, encoder = text.partition("+")
    if name in _ENCODERS:
        return ByEncoder(find_encoder(text))
    if plus and words.partition(":")[0] == "words":
        return ByWords(_options(words.partition(":")[2], text), find_encoder(encoder))
    if name in _PEERS:
        return _PEERS[name](rest)
    own = _options(rest, text)
    if name == "words":
        return ByWords(own)
    if re.split(r"[\s(+]", name, maxsplit=1)[0] not in DISTANCES:
        meant = nearest_name(name, NAMES)
        raise InputError(f"Nothing called {name!r} can be judged.{meant} Choose one of: {', '.join(NAMES)}.")
    record = find_distance(name)
    settings = {"on_empty": "keep", "weights": "idf", "embeddings": embeddings, **options}
    settings |= ({"weights": record.own_weights} if record.own_weights else {}) | own
    if (r := settings.pop("r", r)) is not None and record.needs_related:
        settings["related"] = related_of(given_or_default(embeddings), r, threads=threads)
    try:
        return ByDistance(Measure(record, **settings), threads)
    except TypeError:
        raise InputError(f"{text}: a distance has no such option ({', '.join(own)}).") from None


def _options(rest: str, text: str) -> dict[str, Any]:
    """``a=1,b=x`` as a mapping; numbers become numbers."""
    found: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, sign, value = part.partition("=")
        if not sign:
            raise InputError(f"{text}: expected option=value after the colon, got {part!r}.")
        try:
            found[key.strip()] = int(value) if value.lstrip("-").isdigit() else float(value)
        except ValueError:
            found[key.strip()] = value.strip()
    return found
