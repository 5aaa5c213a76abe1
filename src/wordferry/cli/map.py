"""``wordferry map``: a collection as a page on which near documents stand together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import wordferry
from wordferry.cli.options import PATH, POSITIVE, command, option
from wordferry.cli.output import SUMMARY, Output, note, progress_bar
from wordferry.errors import InputError


@command(
    "INDEX",
    option("-o --output", "The HTML file to write; it needs nothing beside itself.", type=PATH),
    option("--parquet", "Also write places, neighbours and clusters, for Embedding Atlas.", type=PATH),
    option("--topics", "Print the clusters: size, words, and the ids of representative documents.", is_flag=True),
    option("--min-size", "With --topics: leave out clusters of fewer documents.", type=POSITIVE, default=1),
    "-k=15",
    option("--title", "The title of the page (default: the folder's name)."),
    "--seed --threads",
    SUMMARY,
    examples=[
        "wordferry map news -o news.html",
        "wordferry map news -o news.html --parquet news.parquet --seed 7",
        "wordferry map news --topics --min-size 20",
    ],
)
def map(
    index: Path, output: Path | None, parquet: Path | None, topics: bool, min_size: int, out: Output, **given: Any
) -> None:
    """Draw a map of an index, as one offline page, or list its topics.

    The page has clusters, search, and the reasons why neighbours are near.
    """

    if output is None and parquet is None and not topics:
        raise InputError("Say what to make of the map: -o PAGE.html, --parquet FILE or --topics.")
    title = given.pop("title") or index.resolve().name
    with wordferry.Index.open(index) as opened, progress_bar("drawing the map") as progress:
        drawn = opened.map(neighbours=given.pop("k"), progress=progress, **given)
    if output is not None:
        drawn.to_html(output, title=title)
    if parquet is not None:
        drawn.to_parquet(parquet)
    levels = [len(level.names) for level in drawn.levels]
    if drawn.unplaced:
        note(f"wordferry: {len(drawn.unplaced)} documents have no word with a vector: listed, but not on the map.")
    if topics:
        out.write(drawn.topics(min_size))
        return
    row = {"documents": len(drawn), "unplaced": len(drawn.unplaced), "clusters": levels}
    out.facts(row | {name: str(file) for name, file in (("page", output), ("parquet", parquet)) if file is not None})
