"""``wordferry agreement``: how well distances agree with human ratings of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, THREADS_OPTION
from wordferry.cli.evaluating import DISTANCES_OPTION, R_OPTION, settings
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, put
from wordferry.cli.vectors import EMBEDDINGS_OPTION
from wordferry.cli.weighing import UNKNOWN_OPTION, WEIGHTS_OPTION


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command()(agreement)


def agreement(
    file: Path = typer.Argument(
        ..., help="JSON lines with a score (higher = more alike) and the texts a and b, or the numbers i and j."
    ),
    documents: Path | None = typer.Option(None, "--documents", help="JSON lines with the texts that i and j number."),
    distance: list[str] = DISTANCES_OPTION,
    embeddings: Path | None = EMBEDDINGS_OPTION,
    r: int = R_OPTION,
    weights: str = WEIGHTS_OPTION,
    unknown: str = UNKNOWN_OPTION,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Correlate distances with human ratings (Spearman and Pearson; 1 is perfect agreement).

    Example: wordferry agreement pairs.jsonl.gz --documents docs.jsonl.gz -d wmd -d wcd
    """
    from wordferry.judge.agreement import agreement as correlate
    from wordferry.texts.published import read_pairs

    pairs = read_pairs(file, documents)
    rows = []
    for setting in settings(distance, embeddings, r, threads, weights, unknown):
        result = correlate(pairs.first, pairs.second, pairs.ratings, setting)
        rows.append({"distance": setting.distance, **result.to_json()})
    put(rows, as_json, as_csv, output_file)
