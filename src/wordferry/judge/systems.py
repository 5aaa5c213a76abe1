"""What can be judged: our word search, every distance, and the peers that people know."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from wordferry.base.arrays import Float64Array, Int64Array
from wordferry.base.checks import nearest_name
from wordferry.base.runtime import Run, optional_import
from wordferry.compare.distances import DISTANCES, find_distance
from wordferry.compare.measure import Measure
from wordferry.compare.search import Searcher
from wordferry.errors import InputError, MissingDependency
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
    """Our word search."""

    constants: Mapping[str, Any]

    def __call__(self, texts: Sequence[str], queries: Sequence[str], k: int) -> Iterator[Answer]:
        index = WordSearch(texts)
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
class Encoder:
    """Any object with ``encode(texts)`` that gives one vector per text, compared by cosine."""

    model: Any

    def vectors(self, texts: Sequence[str]) -> Any:
        """Unit vectors; a text without one gets zeros."""
        found = np.asarray(self.model.encode(list(texts)), dtype=np.float32)
        if found.ndim != 2 or len(found) != len(texts):
            raise InputError(f"encode() must give one vector per text ({len(texts)}), got shape {found.shape}.")
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)

    def __call__(self, texts: Sequence[str], queries: Sequence[str], k: int) -> Iterator[Answer]:
        documents = self.vectors(texts)
        asked = self.vectors(queries)
        for row in asked:
            yield best(documents @ row, k)


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
    "wordllama": lambda _: Encoder(_wordllama()),
    "model2vec": lambda path: Encoder(_peer("model2vec").StaticModel.from_pretrained(path)),
    "sentence-transformers": lambda path: Encoder(_peer("sentence_transformers").SentenceTransformer(path)),
}
NAMES = ("words", *_PEERS, *DISTANCES)
"""Everything that can be judged by name."""


def _wordllama() -> Any:
    class Embedder:
        """wordllama calls it embed."""

        def __init__(self) -> None:
            module = _peer("wordllama")
            # The weights lie in the package itself; nothing is fetched.
            self.model = module.WordLlama.load(cache_dir=Path(module.__file__).parent, disable_download=True)

        def encode(self, texts: list[str]) -> Any:
            return self.model.embed(texts)

    return Embedder()


def _peer(module: str) -> Any:
    """A package that is judged beside us, and that none of our extras brings."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.replace("_", "-")
        raise MissingDependency(f"{package} is not installed. Install it with: pip install {package}") from None


def make_system(
    text: str, *, embeddings: Embeddings | None = None, threads: int | None = None, r: int | None = None, **options: Any
) -> System:
    """A system by name, with options after a colon.

    ``words`` (``words:lift=0``), ``bm25``, ``bm25-stem``, ``tfidf``, ``wordllama``, ``model2vec:PATH``,
    ``sentence-transformers:PATH``, or a distance (``rel-rwmd``, ``rel-rwmd:weights=counts,overlap=keep``). A distance
    weighs words as an index does ("idf") unless its formula, its own options or ``options`` say otherwise; ``r`` is the
    number of related words of each word of the vocabulary.
    """
    name, _, rest = text.partition(":")
    if name in _PEERS:
        if name in ("model2vec", "sentence-transformers") and not rest:
            raise InputError(f"{name} needs the path of a model: {name}:PATH.")
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
