"""``wordferry triplets``: does a distance find the related pair among three documents?"""

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
    app.command()(triplets)


def triplets(
    file: Path | None = typer.Argument(
        None, help="JSON lines with the texts (or token lists) a, b and c, a and b being related. Default: the sample."
    ),
    distance: list[str] = DISTANCES_OPTION,
    rule: str = typer.Option(
        "closer",
        help="When a triplet is solved: closer if d(a,b) < d(a,c), smallest if d(a,b) is the smallest of the three.",
    ),
    embeddings: Path | None = EMBEDDINGS_OPTION,
    r: int = R_OPTION,
    weights: str = WEIGHTS_OPTION,
    unknown: str = UNKNOWN_OPTION,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Judge distances on triplets: the error in percent, with counts; ties fail, documents without words are apart.

    Example: wordferry triplets triplets.jsonl.gz -d wmd -d rel-rwmd -d cosine
    """
    from wordferry.judge.triplets import triplets as judge
    from wordferry.texts.published import read_triplets

    if file is None:
        documents, triples = sample_triplets()
    else:
        found = read_triplets(file)
        documents, triples = list(found.documents), list(found.triples)
    rows = []
    for setting in settings(distance, embeddings, r, threads, weights, unknown):
        result = judge(documents, triples, setting, rule=rule)
        rows.append({"distance": setting.distance, **result.to_json()})
    put(rows, as_json, as_csv, output_file)


def sample_triplets() -> tuple[list[Any], list[tuple[int, int, int]]]:
    """The texts of the sample collection, and its triplets by their numbers."""
    from wordferry.texts.datasets import sample

    found = sample()
    numbers = {record.id: i for i, record in enumerate(found.articles)}
    triples = [(numbers[a], numbers[b], numbers[c]) for a, b, c in found.triplets]
    return [record.text for record in found.articles], triples
