"""``wordferry similar``: the documents of an index nearest to a text, or to one of its documents, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, THREADS_OPTION, complete_distance, examples
from wordferry.cli.hits import FILTER_OPTION, STRICT_OPTION, ask_all, parse_filters
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, output
from wordferry.cli.weighing import OWN_UNKNOWN_OPTION, OWN_WEIGHTS_OPTION


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(
        epilog=examples(
            "wordferry similar news 'The president greets the press in Chicago' -k 5",
            "wordferry similar news article-17 --distance wmd --explain",
            "cat texts.txt | wordferry similar news - --rerank wmd --json",
        )
    )(similar)


def similar(
    index: Path = typer.Argument(..., help="The folder of the index."),
    query: str = typer.Argument(
        ...,
        help="A text, the id of a document, @FILE to read a text from a file, or - for one a line from standard input.",
    ),
    k: int = typer.Option(10, "-k", min=1, help="How many documents to find."),
    distance: str | None = typer.Option(
        None, "--distance", "-d", autocompletion=complete_distance, help="The distance (default: the index's own)."
    ),
    weights: str | None = OWN_WEIGHTS_OPTION,
    unknown: str | None = OWN_UNKNOWN_OPTION,
    filter: list[str] = FILTER_OPTION,
    explain: bool = typer.Option(False, "--explain", help="Show which word moved where."),
    rerank: str | None = typer.Option(
        None,
        "--rerank",
        autocompletion=complete_distance,
        help="Re-order the candidates by this second distance; the answer is then not exact.",
    ),
    candidates: int | None = typer.Option(
        None, "--candidates", min=1, help="How many candidates the first stage finds."
    ),
    strict: bool = STRICT_OPTION,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Find the documents of an index that are nearest to a text, or to one of them."""
    from wordferry.index import Hits, Index

    options: dict[str, Any] = {
        "distance": distance,
        "weights": weights,
        "unknown": unknown,
        "filter": parse_filters(filter),
        "explain": explain,
        "rerank": rerank,
        "candidates": candidates,
        "threads": threads,
    }
    with Index.open(index) as opened, output(as_json, as_csv, output_file) as out:

        def ask(batch: list[str]) -> list[Hits]:
            if any(text in opened for text in batch):
                return [opened.similar(text, k, **options) for text in batch]
            found: list[Hits] = opened.similar(batch, k, **options)
            return found

        code = ask_all(query, ask, opened, options, out, strict=strict)
    raise typer.Exit(code)
