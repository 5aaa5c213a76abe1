"""``wordferry related build | info | show``: the related words of a set of vectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordferry.cli.common import JSON_OPTION, THREADS_OPTION, emit, examples, note, progress_bar, wants_json
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, output
from wordferry.cli.vectors import EMBEDDINGS_OPTION, load_vectors

if TYPE_CHECKING:
    from wordferry.words.related.graph import RelatedWords

commands = typer.Typer(no_args_is_help=True, help="Find related words once, keep them, and look at them.")

LIMIT = typer.Option(None, "--limit", min=1, help="Use only the first NUMBER words (usually the most frequent).")
R = typer.Option(16, "--r", "-r", help="How many related words each word has.")
BAR = 24


def register(app: Any) -> None:
    """Add the commands to the command line."""
    app.add_typer(commands, name="related")


@commands.command(epilog=examples("wordferry related build glove-related --embeddings glove -r 16"))
def build(
    target: Path = typer.Argument(..., help="The folder to write."),
    embeddings: Path | None = EMBEDDINGS_OPTION,
    limit: int | None = LIMIT,
    r: int = R,
    method: str = typer.Option("auto", "--method", help="How to find related words: auto, exact or clusters."),
    iterations: int = typer.Option(
        5, "--iterations", help="How many iterations of k-means to run, with --method clusters."
    ),
    probes: int | None = typer.Option(
        None, "--probes", help="How many clusters to search for each word (default: chosen by recall)."
    ),
    seed: int = typer.Option(0, "--seed", help="The seed of all random draws."),
    memory: int = typer.Option(256, "--memory", min=1, help="Megabytes to use for blocks of distances."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace the folder if it exists."),
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Find the r nearest words of every word and write them as a folder that opens at once."""
    from wordferry.errors import InputError
    from wordferry.words.related.graph import RelatedWords

    if target.exists() and not overwrite:
        raise InputError(f"{target} exists already. Choose another folder, or pass --overwrite.")
    vectors = load_vectors(embeddings, limit)
    with progress_bar(f"related words of {len(vectors)} words") as progress:
        related = RelatedWords.build(
            vectors,
            r,
            method,
            iterations=iterations,
            probes=probes,
            seed=seed,
            memory=memory << 20,
            threads=threads,
            progress=progress,
        )
    related.save(target, overwrite=overwrite)
    note(f"wrote related words of {len(related)} words to {target} ({related.record.method})")
    emit([_facts(related)], as_json)


@commands.command(epilog=examples("wordferry related info glove-related --verify"))
def info(
    path: Path = typer.Argument(..., help="A folder of related words."),
    verify: bool = typer.Option(False, "--verify", help="Compare the files with their checksums first."),
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Show how related words were found: method, r, c_max, recall."""
    from wordferry.words.related.graph import RelatedWords

    facts = _facts(RelatedWords.load(path, verify=verify))
    if wants_json(as_json):
        emit([facts], True)
    else:
        emit([{"what": name, "value": "" if value is None else str(value)} for name, value in facts.items()], False)


@commands.command(epilog=examples("wordferry related show cat"))
def show(
    word: str = typer.Argument(..., help="The word to look up."),
    related: Path | None = typer.Option(
        None, "--related", help="A folder of related words (default: they are found now)."
    ),
    embeddings: Path | None = EMBEDDINGS_OPTION,
    limit: int | None = LIMIT,
    r: int = R,
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Show the words related to a word, nearest first, with their distances, and c_max, the distance of all others.

    A word is related when it is among the r nearest of the word asked for (own), or that one among its.
    """
    from wordferry.words.related.graph import RelatedWords

    if related is not None:
        found = RelatedWords.load(related)
    else:
        vectors = load_vectors(embeddings, limit)
        vectors.vocabulary.id(word)  # an unknown word fails before the work begins
        with progress_bar(f"related words of {len(vectors)} words") as progress:
            found = RelatedWords.build(vectors, r, threads=threads, progress=progress)
    own = {found.vocabulary[int(i)] for i in found.own[found.vocabulary.id(word)]}
    rows: list[dict[str, Any]] = [
        {"word": other, "distance": round(distance, 6), "own": other in own}
        for other, distance in found.neighbours(word)
    ]
    everything = math.isnan(found.c_max)
    with output(as_json, as_csv, output_file) as out:
        out.write(_with_bars(rows, found.c_max) if out.table else rows)
    if everything:
        note(f"every pair of the {len(found)} words is related (r={found.r}): there is no c_max")
    else:
        note(f"c_max {found.c_max:.4f}: the distance of every other word (r={found.r}, {found.record.method})")


def _with_bars(rows: list[dict[str, Any]], c_max: float) -> list[dict[str, Any]]:
    """The rows with a bar as long as the distance, for people."""
    longest = max([row["distance"] for row in rows] + ([] if math.isnan(c_max) else [c_max]), default=1.0)
    bars = ["█" * max(1, round(BAR * row["distance"] / longest)) if longest > 0 else "" for row in rows]
    return [{**row, "own": "yes" if row["own"] else "", "": bar} for row, bar in zip(rows, bars, strict=True)]


def _facts(related: RelatedWords) -> dict[str, Any]:
    """What is known about related words, flat; what does not apply is None."""
    from dataclasses import asdict

    facts: dict[str, Any] = {
        "words": len(related),
        "c_max": None if math.isnan(related.c_max) else round(related.c_max, 6),
        "pairs": int(related.graph.nnz) // 2,
    }
    return facts | asdict(related.record) | {"embeddings": related.fingerprint}
