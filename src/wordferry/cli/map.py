"""``wordferry map``: a collection as a page on which near documents stand together."""

from __future__ import annotations

from pathlib import Path

from wordferry.cli.options import PATH, command, option
from wordferry.cli.output import SUMMARY, Output, note, progress_bar


@command(
    "INDEX",
    option("-o --output", "The HTML file to write; it needs nothing beside itself.", type=PATH, required=True),
    option("--parquet", "Also write places, neighbours and clusters, for Embedding Atlas.", type=PATH),
    "-k=15",
    option("--title", "The title of the page (default: the folder's name)."),
    "--seed --threads",
    SUMMARY,
    examples=["wordferry map news -o news.html", "wordferry map news -o news.html --parquet news.parquet --seed 7"],
)
def map(
    index: Path,
    output: Path,
    parquet: Path | None,
    k: int,
    title: str | None,
    seed: int,
    threads: int | None,
    out: Output,
) -> None:
    """Draw a map of an index, as one offline page.

    It has clusters, search, and the reasons why neighbours are near.
    """
    from wordferry.index import Index

    with Index.open(index) as opened, progress_bar("drawing the map") as progress:
        drawn = opened.map(neighbours=k, seed=seed, threads=threads, progress=progress)
    drawn.to_html(output, title=title or index.resolve().name)
    if parquet is not None:
        drawn.to_parquet(parquet)
    levels = [len(level.names) for level in drawn.levels]
    if drawn.unplaced:
        note(f"wordferry: {len(drawn.unplaced)} documents have no word with a vector: listed, but not on the map.")
    row = {"documents": len(drawn), "unplaced": len(drawn.unplaced), "clusters": levels, "page": str(output)}
    out.facts(row | ({} if parquet is None else {"parquet": str(parquet)}))
