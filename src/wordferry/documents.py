"""Documents as people have them: records with a text or tokens, an id, a label, metadata and a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Record:
    """One document as it was read."""

    text: str | Sequence[str]
    """The text, or its tokens."""
    id: str | None = None
    label: str | None = None
    split: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
