"""A collection of documents on disk that answers "what is closest to this text"."""

from __future__ import annotations

from wordferry.index.index import Index
from wordferry.index.results import Document, Hit, Hits

__all__ = ["Document", "Hit", "Hits", "Index"]
