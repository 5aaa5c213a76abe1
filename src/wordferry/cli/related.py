"""``wordferry related build | info | show | plot``: the related words of a set of vectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import wordferry
from wordferry.cli import options
from wordferry.cli.options import PATH, POSITIVE, Group, argument, command, option
from wordferry.cli.output import ROWS, SUMMARY, Output, note, progress_bar

related = Group("related", "Find related words, keep them, show them and draw them.")
BAR = 24


@command(
    argument("target", "The folder to write.", type=PATH),
    "--embeddings --limit -r",
    option("--method", "How to find related words: auto, exact or clusters.", default="auto"),
    option("--iterations", "How many iterations of k-means to run, with --method clusters.", type=int, default=5),
    option("--probes", "How many clusters to search for each word (default: chosen by recall).", type=int),
    "--seed",
    option("--memory", "Megabytes to use for blocks of distances.", type=POSITIVE, default=256),
    "--threads --overwrite",
    SUMMARY,
    examples=["wordferry related build glove-related --embeddings glove -r 16"],
    group=related,
)
def build(target: Path, embeddings: Path | None, limit: int | None, overwrite: bool, out: Output, **given: Any) -> None:
    """Find the r nearest words of every word and keep them in a folder."""

    options.check_target(target, overwrite)
    vectors = options.load_vectors(embeddings, limit)
    given["memory"] <<= 20
    with progress_bar(f"related words of {len(vectors)} words") as progress:
        found = wordferry.RelatedWords.build(vectors, progress=progress, **given)
    found.save(target, overwrite=overwrite)
    note(f"wrote related words of {len(found)} words to {target} ({found.record.method})")
    out.facts(_facts(found))


@command(
    argument("path", "A folder of related words.", type=PATH),
    option("--verify", "Compare the files with their checksums first.", is_flag=True),
    SUMMARY,
    examples=["wordferry related info glove-related --verify"],
    group=related,
)
def info(path: Path, verify: bool, out: Output) -> None:
    """Show how related words were found: method, r, c_max, recall."""

    out.facts(_facts(wordferry.RelatedWords.load(path, verify=verify)))


@command(
    argument("word", "The word to look up."),
    option("--related", "A folder of related words (default: those of all words with a vector).", type=PATH),
    "--embeddings --limit -r --threads",
    ROWS,
    examples=["wordferry related show cat"],
    group=related,
)
def show(
    word: str, related: Path | None, embeddings: Path | None, limit: int | None, out: Output, **given: Any
) -> None:
    """Show the words related to a word, nearest first.

    Beside their distances stands c_max, the distance of all others.
    A word is related when it is among the r nearest of the word asked for (own), or that one among its.
    """
    from wordferry.words.related.whole import related_of

    if related is not None:
        found = wordferry.RelatedWords.load(related)
    else:
        vectors = options.load_vectors(embeddings, limit)
        vectors.vocabulary.id(word)  # an unknown word fails before the work begins
        with progress_bar(f"related words of {len(vectors)} words") as progress:
            found = related_of(vectors, progress=progress, **given)
    own = {found.vocabulary[int(i)] for i in found.own[found.vocabulary.id(word)]}
    rows: list[dict[str, Any]] = [
        {"word": other, "distance": round(distance, 6), "own": other in own}
        for other, distance in found.neighbors(word)
    ]
    out.write(_with_bars(rows, found.c_max) if out.table else rows)
    if math.isnan(found.c_max):
        note(f"every pair of the {len(found)} words is related (r={found.r}): there is no c_max")
    else:
        how = f"r={found.r}, {found.record.method}: {found.record.reason}"
        note(f"c_max {found.c_max:.4f}: the distance of every other word ({how})")


@command(
    option("-w --word", "A word to measure from (repeat for up to five).", multiple=True, required=True),
    option("-o --output", "The file to write: .png, .svg or .pdf.", type=PATH, required=True),
    "--embeddings --limit",
    option("--pairs", "How many pairs to draw for the histogram.", type=POSITIVE, default=1000000),
    "--seed --threads",
    examples=["wordferry related plot --word cat -o cat.png"],
    group=related,
)
def plot(word: tuple[str, ...], output: Path, embeddings: Path | None, limit: int | None, **given: Any) -> None:
    """Draw the distances from words, and the histogram of all pairs."""
    from wordferry.words.plots import distance_figure, save_figure

    vectors = options.load_vectors(embeddings, limit)
    save_figure(distance_figure(vectors, list(word), **given), output)
    note(f"wrote {output}")


def _with_bars(rows: list[dict[str, Any]], c_max: float) -> list[dict[str, Any]]:
    """The rows with a bar as long as the distance, for people."""
    longest = max([row["distance"] for row in rows] + ([] if math.isnan(c_max) else [c_max]), default=1.0)
    bars = ["█" * max(1, round(BAR * row["distance"] / longest)) if longest > 0 else "" for row in rows]
    return [{**row, "": bar} for row, bar in zip(rows, bars, strict=True)]


def _facts(related: wordferry.RelatedWords) -> dict[str, Any]:
    """What is known about related words, flat; what does not apply is None."""
    from dataclasses import asdict

    facts: dict[str, Any] = {
        "words": len(related),
        "c_max": None if math.isnan(related.c_max) else round(related.c_max, 6),
        "pairs": int(related.graph.nnz) // 2,
    }
    return facts | asdict(related.record) | {"embeddings": related.fingerprint}
