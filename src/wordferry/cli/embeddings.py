"""``wordferry embeddings convert | info``: word vectors into our own format, and what a file of them holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import wordferry
from wordferry.cli import options
from wordferry.cli.options import PATH, Group, argument, command, option
from wordferry.cli.output import SUMMARY, Output, note, progress_bar

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
embeddings = Group("embeddings", "Convert word vectors and look into files of them.")


@command(
    argument("source", "word2vec, GloVe, fastText .vec, .npz, .npy or .safetensors, also gzipped.", type=PATH),
    argument("target", "The folder to write.", type=PATH),
    "--limit",
    option("--words", "Keep only words of this file, one per line.", type=FILE),
    option("--vocabulary", "The words of an array file, one per line.", type=FILE),
    option("--format", "text, word2vec-binary, array or folder (default: look at the file)."),
    option("--normalize/--no-normalize", "Scale every vector to length 1.", default=True),
    option("--keep-first", "Keep the first of a word that appears twice.", is_flag=True),
    "--overwrite",
    SUMMARY,
    examples=["wordferry embeddings convert glove.6B.300d.txt.gz glove --limit 100000"],
    group=embeddings,
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


@command(
    argument("path", "A folder that wordferry wrote, or any file of vectors.", type=PATH),
    option("--verify", "Compare a folder's files with their checksums first.", is_flag=True),
    SUMMARY,
    examples=["wordferry embeddings info glove --verify"],
    group=embeddings,
)
def info(path: Path, verify: bool, out: Output) -> None:
    """Show what a file or folder of word vectors holds.

    The vectors themselves are not read.
    """
    from wordferry.base.storage import verify_folder
    from wordferry.words.loaders import describe

    if verify:
        verify_folder(path)
    out.facts(describe(path))
