"""``wordferry explain``: which word of one text moved where in the other, and what it cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, complete_distance, examples, note
from wordferry.cli.comparing import FIRST, OVERLAP, RELATED, SECOND, load_related, read_text
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, output
from wordferry.cli.vectors import EMBEDDINGS_OPTION, load_vectors
from wordferry.cli.weighing import UNKNOWN_OPTION, WEIGHTS_OPTION


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(
        epilog=examples(
            "wordferry explain 'Obama speaks to the media' 'The president greets the press'",
            "wordferry explain @first.txt @second.txt -d rel-wmd --html flow.html --png flow.png",
        )
    )(explain)


def explain(
    a: str = FIRST,
    b: str = SECOND,
    distance: str = typer.Option(
        "wmd", "--distance", "-d", autocompletion=complete_distance, help="The distance to compute."
    ),
    embeddings: Path | None = EMBEDDINGS_OPTION,
    related: Path | None = RELATED,
    overlap: str | None = OVERLAP,
    weights: str = WEIGHTS_OPTION,
    unknown: str = UNKNOWN_OPTION,
    limit: int | None = typer.Option(None, "--limit", "-n", min=1, help="Show only the NUMBER most expensive rows."),
    html: Path | None = typer.Option(None, "--html", help="Write a page with a flow diagram."),
    png: Path | None = typer.Option(None, "--png", help="Write a picture (any format that matplotlib knows)."),
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Take the distance of two texts apart, word by word."""
    from wordferry.compare.distances import find_distance
    from wordferry.compare.measure import Measure

    record = find_distance(distance)
    texts = [read_text(a), read_text(b)]
    vectors = load_vectors(embeddings)
    words = load_related(related)
    measure = Measure(record, overlap, "both", weights, unknown, vectors, words)  # type: ignore[arg-type]
    explanation = measure.explain(*texts)
    if html is not None:
        explanation.to_html(html)
        note(f"wrote {html}")
    if png is not None:
        explanation.plot(png)
        note(f"wrote {png}")
    with output(as_json, as_csv, output_file) as out:
        if out.table:
            typer.echo(explanation.to_text(limit=limit))
        else:
            out.write(explanation.to_rows())
