"""``wordferry duplicates | map``: an index as a whole, its near-duplicates and a map of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import wordferry
from wordferry.cli.options import PATH, POSITIVE, command, option
from wordferry.cli.output import ROWS, SUMMARY, Output, note, progress_bar
from wordferry.errors import InputError


@command(
    "INDEX --threshold",
    option("--review", "Write a CSV file of what would be kept and deleted, and why, to edit.", type=PATH),
    option("--delete", "Delete what this reviewed CSV file marks with delete; nothing is computed.", type=PATH),
    option("--dry-run", "With --delete: only say what would be deleted.", is_flag=True),
    option("--against", "A file of documents: find those that the index holds already, such as test data.", type=PATH),
    option("--pairs", "Show pairs, the least alike first, instead of groups.", is_flag=True),
    option("--meaning", "With an encoder: the largest distance (1 - cosine) in meaning, too.", type=float),
    "--distance --weights --unknown --threads",
    ROWS,
    examples=[
        "wordferry duplicates news",
        "wordferry duplicates news --review review.csv",
        "wordferry duplicates news --delete review.csv --dry-run",
        "wordferry duplicates train --threshold 0.3 --against test.jsonl",
    ],
)
def duplicates(
    index: Path,
    review: Path | None,
    delete: Path | None,
    dry_run: bool,
    against: Path | None,
    pairs: bool,
    out: Output,
    **given: Any,
) -> None:
    """Find documents that are nearly the same, review and delete them."""
    if given["threshold"] is not None and delete is not None:
        raise InputError(
            "--threshold looks for duplicates and --delete removes those of a reviewed file: leave one out."
        )
    if dry_run and delete is None:
        raise InputError("--dry-run belongs to --delete.")
    with wordferry.Index.open(index) as opened:
        if delete is not None:
            gone = opened.prune(delete, dry_run=dry_run)
            out.write({"id": id, "action": "would be deleted" if dry_run else "deleted"} for id in gone)
            note(f"{len(gone)} documents {'would be' if dry_run else 'were'} deleted, {len(opened)} are in {index}.")
            return
        with progress_bar("comparing") as progress:
            if against is None:
                found = opened.duplicates(progress=progress, **given)
            else:
                found = opened.leakage(wordferry.read_documents(against), progress=progress, **given)
        if review is not None:
            found.to_csv(review)
            note(f"{review}: {len(found.groups)} groups. Look at it, change keep and delete, then --delete {review}.")
        if pairs or against is not None:
            out.write(vars(pair) | {"reason": str(found.reason(pair))} for pair in [*found.review(), *found.copies])
        else:
            out.write(
                {"group": number, "keep": one.representative, "others": list(one.others), "copies": len(one.copies)}
                for number, one in enumerate(found.groups, start=1)
            )
        opposite = sum(pair.opposite for pair in found)
        kept = f" {opposite} pairs differ in a negation alone and are in no group." if opposite else ""
        note(
            f"{len(found)} pairs at a distance of at most {found.threshold:g} ({len(found.copies)} exact copies) in "
            f"{len(found.groups)} groups.{kept}"
        )


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
