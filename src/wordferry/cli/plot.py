"""``wordferry plot distances``: the paper's two figures from any embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import THREADS_OPTION, examples, note
from wordferry.cli.vectors import EMBEDDINGS_OPTION, load_vectors

commands = typer.Typer(no_args_is_help=True, help="Draw what the method rests on.")


def register(app: Any) -> None:
    """Add the commands to the command line."""
    app.add_typer(commands, name="plot")


@commands.callback()
def group() -> None:
    """Draw what the method rests on."""


@commands.command(epilog=examples("wordferry plot distances --word cat -o cat.png"))
def distances(
    word: list[str] = typer.Option(..., "--word", "-w", help="A word to measure from (repeat for up to five)."),
    output: Path = typer.Option(..., "--output", "-o", help="The file to write: .png, .svg or .pdf."),
    embeddings: Path | None = EMBEDDINGS_OPTION,
    limit: int | None = typer.Option(None, "--limit", min=2, help="Use only the first NUMBER words."),
    pairs: int = typer.Option(
        1_000_000, "--pairs", min=1, help="How many pairs to draw for the histogram (all, if there are fewer)."
    ),
    seed: int = typer.Option(0, "--seed", min=0, help="The seed of the sample of pairs."),
    threads: int | None = THREADS_OPTION,
) -> None:
    """Draw the sorted distances from a word, and the histogram of the distances of all pairs of words."""
    from wordferry.words.plots import distance_figure, save_figure

    vectors = load_vectors(embeddings, limit)
    save_figure(distance_figure(vectors, word, pairs=pairs, seed=seed, threads=threads), output)
    note(f"wrote {output}")
