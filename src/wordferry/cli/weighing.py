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
OWN_WEIGHTS_OPTION = typer.Option(
    None, "--weights", help="What words count for: counts, idf, log-idf, bm25 or norm (default: the index's own)."
)
OWN_UNKNOWN_OPTION = typer.Option(
    None,
    "--unknown",
    help="Words without a vector: match (kept), drop (left out) or error (refused; default: the index's own).",
)
