"""``wordferry duplicates``: near-duplicates of an index, a list to review, and deleting what was reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import wordferry
from wordferry.cli.options import PATH, command, option
from wordferry.cli.output import ROWS, Output, note, progress_bar
from wordferry.errors import InputError

if TYPE_CHECKING:
    from wordferry.index.duplicates import Duplicates


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
    index: Path, review: Path | None, delete: Path | None, dry_run: bool, pairs: bool, out: Output, **given: Any
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
        against = given.pop("against")
        found = _found(opened, against, given)
        if review is not None:
            found.to_csv(review)
            note(f"{review}: {len(found.groups)} groups. Look at it, change keep and delete, then --delete {review}.")
        out.write(_pair_rows(found) if pairs or against is not None else _group_rows(found))
        opposite = sum(pair.opposite for pair in found)
        kept = f" {opposite} pairs differ in a negation alone and are in no group." if opposite else ""
        note(
            f"{len(found)} pairs at a distance of at most {found.threshold:g} ({len(found.copies)} exact copies) in "
            f"{len(found.groups)} groups.{kept}"
        )


def _found(opened: wordferry.Index, against: Path | None, given: dict[str, Any]) -> Duplicates:
    if against is not None:
        return opened.leakage(wordferry.read_documents(against), **given)
    with progress_bar("comparing") as progress:
        return opened.duplicates(progress=progress, **given)


def _group_rows(found: Duplicates) -> list[dict[str, Any]]:
    return [
        {"group": number, "keep": group.representative, "others": list(group.others), "copies": len(group.copies)}
        for number, group in enumerate(found.groups, start=1)
    ]


def _pair_rows(found: Duplicates) -> list[dict[str, Any]]:
    return [vars(pair) | {"reason": str(found.reason(pair))} for pair in [*found.review(), *found.copies]]
