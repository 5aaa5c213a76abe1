"""wordferry: Word Mover's Distance and its fast relatives.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from wordferry.base.runtime import Run as Run
    from wordferry.compare.calls import distance as distance
    from wordferry.compare.calls import explain as explain
    from wordferry.compare.calls import paired as paired
    from wordferry.compare.calls import pairwise as pairwise
    from wordferry.compare.calls import top_k as top_k
    from wordferry.compare.distances import DISTANCES as DISTANCES
    from wordferry.compare.distances import blend as blend
    from wordferry.compare.distances import find_distance as find_distance
    from wordferry.compare.measure import Measure as Measure
    from wordferry.compare.search import Searcher as Searcher
    from wordferry.compare.transport import solve as solve
    from wordferry.compare.transport import solve_batch as solve_batch
    from wordferry.index import Index as Index
    from wordferry.index.duplicates import duplicates as duplicates
    from wordferry.texts.bow import encode as encode
    from wordferry.texts.datasets import default_embeddings as default_embeddings
    from wordferry.texts.datasets import sample as sample
    from wordferry.texts.documents import read_documents as read_documents
    from wordferry.words.embeddings import Embeddings as Embeddings
    from wordferry.words.loaders import load_embeddings as load_embeddings
    from wordferry.words.related.graph import RelatedWords as RelatedWords
    from wordferry.words.vocabulary import Vocabulary as Vocabulary

_HOMES = {
    "DISTANCES": "compare.distances",
    "Embeddings": "words.embeddings",
    "Index": "index",
    "Measure": "compare.measure",
    "RelatedWords": "words.related.graph",
    "Run": "base.runtime",
    "Searcher": "compare.search",
    "Vocabulary": "words.vocabulary",
    "blend": "compare.distances",
    "default_embeddings": "texts.datasets",
    "distance": "compare.calls",
    "duplicates": "index.duplicates",
    "encode": "texts.bow",
    "explain": "compare.calls",
    "find_distance": "compare.distances",
    "load_embeddings": "words.loaders",
    "paired": "compare.calls",
    "pairwise": "compare.calls",
    "read_documents": "texts.documents",
    "sample": "texts.datasets",
    "solve": "compare.transport",
    "solve_batch": "compare.transport",
    "top_k": "compare.calls",
}

# Modules that are reached as wordferry.clouds without an import of their own.
_MODULES = ("clouds", "learn", "neighbors")

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"wordferry.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"wordferry.{name}")
    raise AttributeError(f"module 'wordferry' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
