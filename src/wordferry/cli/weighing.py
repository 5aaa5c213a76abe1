"""Options that say which words count, and for how much."""

from __future__ import annotations

import typer

WEIGHTS_HELP = "What a word counts for: counts, idf, log-idf, bm25 or norm (its vector's length)."
WEIGHTS_OPTION = typer.Option("counts", "--weights", help=WEIGHTS_HELP)
UNKNOWN_OPTION = typer.Option(
    "match",
    "--unknown",
    help="What happens to words without a vector: match (kept, related to nothing), drop (left out) or error.",
)
