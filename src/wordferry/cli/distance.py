"""``wordferry distance``: how far apart two texts are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, complete_distance, examples
from wordferry.cli.comparing import FIRST, OVERLAP, RELATED, SECOND, load_related, read_text
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, put
from wordferry.cli.vectors import EMBEDDINGS_OPTION, load_vectors
from wordferry.cli.weighing import UNKNOWN_OPTION, WEIGHTS_OPTION


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(
        epilog=examples(
            "wordferry distance 'Obama speaks to the media' 'The president greets the press'",
            "wordferry distance @first.txt @second.txt --all",
        )
    )(distance)


def distance(
    a: str = FIRST,
    b: str = SECOND,
    distance: str = typer.Option(
        "wmd", "--distance", "-d", autocompletion=complete_distance, help="The distance to compute."
    ),
    all: bool = typer.Option(False, "--all", help="Compute every distance."),
    embeddings: Path | None = EMBEDDINGS_OPTION,
    related: Path | None = RELATED,
    overlap: str | None = OVERLAP,
    weights: str = WEIGHTS_OPTION,
    unknown: str = UNKNOWN_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """The distance of two texts."""
    from wordferry.compare.distances import DISTANCES, find_distance
    from wordferry.compare.measure import Measure
    from wordferry.errors import InputError

    if all and overlap is not None:
        raise InputError("--overlap belongs to one distance; leave out --all or --overlap.")
    texts = [read_text(a), read_text(b)]
    records = list(DISTANCES.values()) if all else [find_distance(distance)]
    vectors = load_vectors(embeddings)
    words = load_related(related)
    rows = []
    for record in records:
        measure = Measure(record, overlap, "both", weights, unknown, vectors, words)  # type: ignore[arg-type]
        value = measure.pair(texts[0], texts[1])
        rows.append({"distance": record.name, "value": value, "title": record.title})
    put(rows, as_json, as_csv, output_file)
