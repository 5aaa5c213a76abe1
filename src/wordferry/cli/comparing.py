"""What ``@FILE`` stands for wherever a text is given, and what ``distance`` and ``explain`` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from wordferry.words.related.graph import RelatedWords

FIRST = typer.Argument(..., help="A text; @FILE reads one from a file, @- from the standard input.")
SECOND = typer.Argument(..., help="The text to compare it with, or @FILE or @-.")
RELATED = typer.Option(
    None, "--related", help="A folder of related words (default: those of all words that have a vector)."
)
OVERLAP = typer.Option(None, "--overlap", help="What happens to words in both texts: keep, omr or residual.")


def read_text(argument: str) -> str:
    """The text itself; the content of the file after @, as one text; or, after @@, a text that begins with @."""
    if not argument.startswith("@"):
        return argument
    if argument.startswith("@@"):
        return argument[1:]
    from wordferry.base.streams import text_lines
    from wordferry.errors import NotFound

    path = argument[1:]
    if path != "-" and not Path(path).is_file():
        raise NotFound(f"There is no file {path!r}. A text that begins with @ is taken for a file; @@ stands for an @.")
    return "".join(line for _, line in text_lines(path))


def load_related(path: Path | None) -> RelatedWords | None:
    """Saved related words; None means those of the whole vocabulary of the vectors."""
    from wordferry.words.related.graph import RelatedWords

    return None if path is None else RelatedWords.load(path)
