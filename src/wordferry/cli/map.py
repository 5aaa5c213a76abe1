"""``wordferry map``: a collection as a page on which near documents stand together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, THREADS_OPTION, emit, examples, note, progress_bar


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(
        "map",
        epilog=examples(
            "wordferry map news -o news.html",
            "wordferry map news -o news.html --parquet news.parquet --seed 7",
        ),
    )(draw)


def draw(
    index: Path = typer.Argument(..., help="The folder of the index."),
    output: Path = typer.Option(..., "-o", "--output", help="The HTML file to write; it needs nothing beside itself."),
    parquet: Path | None = typer.Option(
        None, "--parquet", help="Also write places, neighbours and clusters as Parquet, as Embedding Atlas reads them."
    ),
    neighbours: int = typer.Option(
        15, "--neighbours", min=1, help="How many nearest documents of each the layout keeps together."
    ),
    title: str | None = typer.Option(None, "--title", help="The title of the page (default: the folder's name)."),
    seed: int = typer.Option(0, "--seed", min=0, help="Another seed gives another layout of the same neighbours."),
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Draw a map of an index: one offline page with clusters, search, and the reasons why neighbours are near."""
    from wordferry.index import Index

    with Index.open(index) as opened, progress_bar("drawing the map") as progress:
        drawn = opened.map(neighbours=neighbours, seed=seed, threads=threads, progress=progress)
    drawn.to_html(output, title=title or index.resolve().name)
    if parquet is not None:
        drawn.to_parquet(parquet)
    levels = [len(level.names) for level in drawn.levels]
    if drawn.unplaced:
        note(f"wordferry: {len(drawn.unplaced)} documents have no word with a vector: listed, but not on the map.")
    row = {"documents": len(drawn), "unplaced": len(drawn.unplaced), "clusters": levels, "page": str(output)}
    emit([row | ({} if parquet is None else {"parquet": str(parquet)})], as_json)
