"""What ``distance`` and ``explain`` share: two texts, the vectors, and related words to go with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from wordferry.words.related.graph import RelatedWords

FIRST = typer.Argument(..., help="A text, or @FILE to read one.")
SECOND = typer.Argument(..., help="The text to compare it with, or @FILE.")
RELATED = typer.Option(
    None, "--related", help="A folder of related words (default: those of all words that have a vector)."
)
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


def load_related(path: Path | None) -> RelatedWords | None:
    """Saved related words; None means those of the whole vocabulary of the vectors."""
    from wordferry.words.related.graph import RelatedWords

    return None if path is None else RelatedWords.load(path)
