"""``wordferry embeddings convert | info``: word vectors into our own format, and what a file of them holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, emit_json, examples, note, progress_bar, wants_json

commands = typer.Typer(no_args_is_help=True, help="Convert word vectors and look into files of them.")

LIMIT = typer.Option(None, "--limit", min=1, help="Read only the first NUMBER words.")
WORDS = typer.Option(None, "--words", exists=True, dir_okay=False, help="Keep only words of this file, one per line.")
VOCABULARY = typer.Option(
    None, "--vocabulary", exists=True, dir_okay=False, help="The words of an array file, one per line."
)
FORMAT = typer.Option(None, "--format", help="text, word2vec-binary, array or folder (default: look at the file).")


def register(app: Any) -> None:
    """Add the commands to the command line."""
    app.add_typer(commands, name="embeddings")


@commands.command(epilog=examples("wordferry embeddings convert glove.6B.300d.txt.gz glove --limit 100000"))
def convert(
    source: Path = typer.Argument(
        ..., help="word2vec, GloVe, fastText .vec, .npz, .npy or .safetensors, also gzipped."
    ),
    target: Path = typer.Argument(..., help="The folder to write."),
    limit: int | None = LIMIT,
    words: Path | None = WORDS,
    vocabulary: Path | None = VOCABULARY,
    format: str | None = FORMAT,
    normalize: bool = typer.Option(True, help="Scale every vector to length 1."),
    keep_first: bool = typer.Option(False, "--keep-first", help="Keep the first of a word that appears twice."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace the folder if it exists."),
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Write word vectors as a folder that opens at once (memory-mapped)."""
    from wordferry.errors import InputError
    from wordferry.words.loaders import describe, load_embeddings, read_words

    if target.exists() and not overwrite:
        raise InputError(f"{target} exists already. Choose another folder, or pass --overwrite.")
    with progress_bar(f"reading {source.name}") as progress:
        embeddings = load_embeddings(
            source,
            limit,
            read_words(words) if words else None,
            normalize,
            progress,
            format=format,
            vocabulary=vocabulary,
            on_duplicate="first" if keep_first else "error",
        )
    embeddings.save(target, overwrite=overwrite)
    note(f"wrote {len(embeddings)} words of {embeddings.dimensions} dimensions to {target}")
    _show(describe(target), as_json)


@commands.command(epilog=examples("wordferry embeddings info glove --verify"))
def info(
    path: Path = typer.Argument(..., help="A folder that wordferry wrote, or any file of vectors."),
    verify: bool = typer.Option(False, "--verify", help="Compare a folder's files with their checksums first."),
    as_json: bool | None = JSON_OPTION,
) -> None:
    """Show what a file or folder of word vectors holds, without reading the vectors."""
    from wordferry.base.storage import verify_folder
    from wordferry.words.loaders import describe

    if verify:
        verify_folder(path)
    _show(describe(path), as_json)


def _show(facts: dict[str, Any], as_json: bool | None) -> None:
    """One JSON object, or one line per fact."""
    if wants_json(as_json):
        emit_json([facts])
        return
    for name, value in facts.items():
        typer.echo(f"{name:<12} {', '.join(value) if isinstance(value, list) else value}")
