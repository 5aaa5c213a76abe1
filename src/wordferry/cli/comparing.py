"""What ``distance`` and ``explain`` share: two texts, the vectors, and related words to go with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import note

if TYPE_CHECKING:
    from wordferry.words.embeddings import Embeddings

FREQUENT = 10_000
"""Words, counted from the front of the vectors, among which related words are sought when none are given."""

FIRST = typer.Argument(..., help="A text, or @FILE to read one.")
SECOND = typer.Argument(..., help="The text to compare it with, or @FILE.")
RELATED = typer.Option(None, "--related", help="Related words saved by `wordferry related build`.")
OVERLAP = typer.Option(None, "--overlap", help="What happens to words in both texts: keep, omr or residual.")


def read_text(argument: str) -> str:
    """The text itself, or the content of the file after @."""
    if not argument.startswith("@"):
        return argument
    from wordferry.errors import NotFound

    path = Path(argument[1:])
    if not path.is_file():
        raise NotFound(f"There is no file {path}. A text that begins with @ is taken for a file.")
    return path.read_text(encoding="utf-8", errors="replace")


def related_for(embeddings: Embeddings, path: Path | None, texts: list[str]) -> Any:
    """Saved related words, or those among the most frequent words and the words of the texts."""
    import numpy as np

    from wordferry.texts import bow
    from wordferry.words.related.graph import DEFAULT_R, RelatedWords

    if path is not None:
        return RelatedWords.load(path)
    ids = bow.encode(texts, embeddings, on_empty="keep").indices
    words = np.union1d(np.arange(min(FREQUENT, len(embeddings))), ids).astype(np.int64)
    note(f"related words: {DEFAULT_R} nearest among {len(words)} words (pass --related for others)")
    return RelatedWords.build(embeddings.restrict(words), DEFAULT_R)
