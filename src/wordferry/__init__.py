"""wordferry: Word Mover's Distance and its fast relatives.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from wordferry.bow import encode as encode
    from wordferry.datasets import default_embeddings as default_embeddings
    from wordferry.datasets import sample as sample
    from wordferry.distances import DISTANCES as DISTANCES
    from wordferry.distances import distance as distance
    from wordferry.distances import one_to_many as one_to_many
    from wordferry.distances import pair as pair
    from wordferry.distances import pairwise as pairwise
    from wordferry.documents import read_documents as read_documents
    from wordferry.embeddings import Embeddings as Embeddings
    from wordferry.explain import explain as explain
    from wordferry.index import Index as Index
    from wordferry.loaders import load_embeddings as load_embeddings
    from wordferry.related import RelatedWords as RelatedWords
    from wordferry.search import Searcher as Searcher
    from wordferry.search import top_k as top_k
    from wordferry.vocabulary import Vocabulary as Vocabulary

_HOMES = {
    "DISTANCES": "distances",
    "Embeddings": "embeddings",
    "Index": "index",
    "RelatedWords": "related",
    "Searcher": "search",
    "Vocabulary": "vocabulary",
    "default_embeddings": "datasets",
    "distance": "distances",
    "encode": "bow",
    "explain": "explain",
    "load_embeddings": "loaders",
    "one_to_many": "distances",
    "pair": "distances",
    "pairwise": "distances",
    "read_documents": "documents",
    "sample": "datasets",
    "top_k": "search",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"wordferry.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'wordferry' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
