"""The words related to one word, as people look at them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wordferry.base.frames import Tabular, bars

_SHOWN = 4


class RelatedTo(list[tuple[str, float]], Tabular):
    """Words and their distances to one word, nearest first."""

    def __init__(self, word: str, related: Iterable[tuple[str, float]]) -> None:
        super().__init__(related)
        self.word = word

    def __repr__(self) -> str:
        near = ", ".join(f"{word} {distance:.3f}" for word, distance in self[:_SHOWN])
        return f"RelatedTo({self.word}: {near}{', ...' if len(self) > _SHOWN else ''})"

    def to_columns(self) -> dict[str, Any]:
        """One row per word."""
        return {"word": [word for word, _ in self], "distance": [distance for _, distance in self]}

    def plot(self, ax: Any = None) -> Any:
        """A bar for each word, as long as its distance; on ``ax``, or on a figure that a notebook shows."""
        names, distances = [word for word, _ in self], [distance for _, distance in self]
        return bars(names, distances, ax=ax, label="distance", title=f"related to {self.word}")
