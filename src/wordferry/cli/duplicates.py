"""``wordferry duplicates``: near-duplicates of an index, a list to review, and deleting what was reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import (
    JSON_OPTION,
    THREADS_OPTION,
    complete_distance,
    examples,
    note,
    progress_bar,
)
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, output
from wordferry.cli.weighing import OWN_UNKNOWN_OPTION, OWN_WEIGHTS_OPTION

if TYPE_CHECKING:
    from wordferry.cli.output import Output
    from wordferry.index import Index
    from wordferry.index.duplicates import Duplicates


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command(
        epilog=examples(
            "wordferry duplicates news --threshold 0.3",
            "wordferry duplicates news --threshold 0.3 --review review.csv",
            "wordferry duplicates news --delete review.csv --dry-run",
            "wordferry duplicates train --threshold 0.3 --against test.jsonl",
        )
    )(duplicates)


def duplicates(
    index: Path = typer.Argument(..., help="The folder of the index."),
    threshold: float | None = typer.Option(None, "--threshold", min=0.0, help="The largest distance of a pair."),
    review: Path | None = typer.Option(
        None, "--review", help="Write a CSV file with what would be kept and deleted, and why, to look at and edit."
    ),
    delete: Path | None = typer.Option(
        None, "--delete", help="Delete what this reviewed CSV file marks with delete; nothing is computed."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="With --delete: only say what would be deleted."),
    against: Path | None = typer.Option(
        None,
        "--against",
        help="A file of documents: find those that the index holds already, such as test data.",
    ),
    pairs: bool = typer.Option(False, "--pairs", help="Show pairs, the least alike first, instead of groups."),
    distance: str | None = typer.Option(
        None, "--distance", "-d", autocompletion=complete_distance, help="The distance (default: the index's own)."
    ),
    weights: str | None = OWN_WEIGHTS_OPTION,
    unknown: str | None = OWN_UNKNOWN_OPTION,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Find documents that are nearly the same, and delete the extra ones once they have been looked at."""
    from wordferry.errors import InputError
    from wordferry.index import Index

    if (threshold is None) == (delete is None):
        raise InputError("Give either --threshold, to look for duplicates, or --delete with a reviewed file.")
    if dry_run and delete is None:
        raise InputError("--dry-run belongs to --delete.")
    with Index.open(index) as opened, output(as_json, as_csv, output_file) as out:
        if delete is not None:
            gone = opened.prune(delete, dry_run=dry_run)
            out.write({"id": id, "action": "would be deleted" if dry_run else "deleted"} for id in gone)
            note(f"{len(gone)} documents {'would be' if dry_run else 'were'} deleted, {len(opened)} are in {index}.")
            return
        assert threshold is not None
        options = {"distance": distance, "weights": weights, "unknown": unknown, "threads": threads}
        found = _found(opened, threshold, against, options)
        if review is not None:
            found.to_csv(review)
            note(f"{review}: {len(found.groups)} groups. Look at it, change keep and delete, then --delete {review}.")
        out.write(_pair_rows(found) if pairs or against is not None else _group_rows(found, out))
        note(f"{len(found)} pairs ({len(found.copies)} exact copies) in {len(found.groups)} groups.")


def _found(opened: Index, threshold: float, against: Path | None, options: dict[str, Any]) -> Duplicates:
    if against is not None:
        from wordferry.texts.documents import read_documents

        return opened.leakage(read_documents(against), threshold, **options)
    with progress_bar("comparing") as progress:
        return opened.duplicates(threshold, progress=progress, **options)


def _group_rows(found: Duplicates, out: Output) -> list[dict[str, Any]]:
    return [
        {
            "group": number,
            "keep": group.representative,
            "others": ", ".join(group.others) if out.table else list(group.others),
            "copies": len(group.copies),
        }
        for number, group in enumerate(found.groups, start=1)
    ]


def _pair_rows(found: Duplicates) -> list[dict[str, Any]]:
    ordered = [*found.review(), *found.copies]
    return [
        {
            "first": pair.first,
            "second": pair.second,
            "distance": pair.distance,
            "exact": pair.exact,
            "reason": str(found.reason(pair)),
        }
        for pair in ordered
    ]
