"""The option that names word vectors, and what it stands for: one wording and one meaning for all commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from wordferry.words.embeddings import Embeddings

EMBEDDINGS_OPTION = typer.Option(
    None, "--embeddings", "-e", help="Word vectors: a file or folder (default: those that come with wordferry)."
)


def load_vectors(path: Path | None, limit: int | None = None) -> Embeddings:
    """The vectors of a file or folder, or the default ones; only the first ``limit`` words if given."""
    import numpy as np

    from wordferry.texts.datasets import default_embeddings
    from wordferry.words.loaders import load_embeddings

    if path is not None:
        return load_embeddings(path, limit=limit)
    vectors = default_embeddings()
    return vectors if limit is None or limit >= len(vectors) else vectors.restrict(np.arange(limit))
