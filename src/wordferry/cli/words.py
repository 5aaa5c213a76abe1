"""``wordferry embeddings | related``: word vectors, and the words that are near each other by them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

import wordferry
from wordferry.cli import options
from wordferry.cli.options import PATH, POSITIVE, Argument, Group, option
from wordferry.cli.output import ROWS, SUMMARY, Output, note, progress_bar

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
BAR = 24
"""Characters of the longest bar."""
embeddings = Group("embeddings", help="Convert word vectors and look into files of them.")
related = Group("related", help="Find related words, keep them, show them and draw them.")


@embeddings.subcommand(
    Argument("source", "word2vec, GloVe, fastText .vec, .npz, .npy or .safetensors, also gzipped.", type=PATH),
    Argument("target", "The folder to write.", type=PATH),
    "--limit",
    option("--words", "Keep only words of this file, one per line.", type=FILE),
    option("--vocabulary", "The words of an array file, one per line.", type=FILE),
    option("--format", "text, word2vec-binary, array or folder (default: look at the file)."),
    option("--normalize/--no-normalize", "Scale every vector to length 1.", default=True),
    option("--keep-first", "Keep the first of a word that appears twice.", is_flag=True),
    "--overwrite",
    SUMMARY,
    examples=["wordferry embeddings convert glove.6B.300d.txt.gz glove --limit 100000"],
)
def convert(
    source: Path, target: Path, words: Path | None, keep_first: bool, overwrite: bool, out: Output, **given: Any
) -> None:
    """Write word vectors as a folder that opens at once (memory-mapped)."""
    from wordferry.words.loaders import describe, read_words

    options.check_target(target, overwrite)
    with progress_bar(f"reading {source.name}") as progress:
        given |= {"words": read_words(words) if words else None, "on_duplicate": "first" if keep_first else "error"}
        found = wordferry.load_embeddings(source, progress=progress, **given)
    found.save(target, overwrite=overwrite)
    note(f"wrote {len(found)} words of {found.dimensions} dimensions to {target}")
    out.facts(describe(target))


@embeddings.subcommand(
    Argument("path", "A folder that wordferry wrote, or any file of vectors.", type=PATH),
    option("--verify", "Compare a folder's files with their checksums first.", is_flag=True),
    SUMMARY,
    examples=["wordferry embeddings info glove --verify"],
    name="info",
)
def describe_vectors(path: Path, verify: bool, out: Output) -> None:
    """Show what a file or folder of word vectors holds.

    The vectors themselves are not read.
    """
    from wordferry.base.storage import verify_folder
    from wordferry.words.loaders import describe

    if verify:
        verify_folder(path)
    out.facts(describe(path))


@related.subcommand(
    Argument("target", "The folder to write.", type=PATH),
    "--embeddings --limit -r",
    option("--method", "How to find related words: auto, exact or clusters.", default="auto"),
    option("--iterations", "How many iterations of k-means to run, with --method clusters.", type=int, default=5),
    option("--probes", "How many clusters to search for each word (default: chosen by recall).", type=int),
    "--seed",
    option("--memory", "Megabytes to use for blocks of distances.", type=POSITIVE, default=256),
    "--threads --overwrite",
    SUMMARY,
    examples=["wordferry related build glove-related --embeddings glove -r 16"],
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


@related.subcommand(
    Argument("path", "A folder of related words.", type=PATH),
    option("--verify", "Compare the files with their checksums first.", is_flag=True),
    SUMMARY,
    examples=["wordferry related info glove-related --verify"],
    name="info",
)
def describe_related(path: Path, verify: bool, out: Output) -> None:
    """Show how related words were found: method, r, c_max, recall."""
    out.facts(_facts(wordferry.RelatedWords.load(path, verify=verify)))


@related.subcommand(
    Argument("word", "The word to look up."),
    option("--related", "A folder of related words (default: those of all words with a vector).", type=PATH),
    "--embeddings --limit -r --threads",
    ROWS,
    examples=["wordferry related show cat"],
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
    if out.table:
        far = 0.0 if math.isnan(found.c_max) else found.c_max
        longest = max([far, *(row["distance"] for row in rows)]) or 1.0
        for row in rows:
            row[""] = "█" * max(1, round(BAR * row["distance"] / longest))
    out.write(rows)
    if math.isnan(found.c_max):
        note(f"every pair of the {len(found)} words is related (r={found.r}): there is no c_max")
    else:
        how = f"r={found.r}, {found.record.method}: {found.record.reason}"
        note(f"c_max {found.c_max:.4f}: the distance of every other word ({how})")


@related.subcommand(
    option("-w --word", "A word to measure from (repeat for up to five).", multiple=True, required=True),
    option("-o --output", "The file to write: .png, .svg or .pdf.", type=PATH, required=True),
    "--embeddings --limit",
    option("--pairs", "How many pairs to draw for the histogram.", type=POSITIVE, default=1000000),
    "--seed --threads",
    examples=["wordferry related plot --word cat -o cat.png"],
)
def plot(word: tuple[str, ...], output: Path, embeddings: Path | None, limit: int | None, **given: Any) -> None:
    """Draw the distances from words, and the histogram of all pairs."""
    from wordferry.words.plots import distance_figure, save_figure

    vectors = options.load_vectors(embeddings, limit)
    save_figure(distance_figure(vectors, list(word), **given), output)
    note(f"wrote {output}")


def _facts(related: wordferry.RelatedWords) -> dict[str, Any]:
    """What is known about related words, flat; what does not apply is None."""
    facts: dict[str, Any] = {
        "words": len(related),
        "c_max": None if math.isnan(related.c_max) else round(related.c_max, 6),
        "pairs": int(related.graph.nnz) // 2,
    }
    return facts | vars(related.record) | {"embeddings": related.fingerprint}
