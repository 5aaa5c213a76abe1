"""What the wheel carries: the default word vectors and a sample collection."""

from __future__ import annotations

from functools import cache
from importlib import resources

import numpy as np

from wordferry.embeddings import Embeddings


@cache
def default_embeddings() -> Embeddings:
    """GloVe 6B vectors of the 60,000 most frequent alphabetic English words, 100 dimensions, unit length.

    Stored as int8 with a scale per word; sources and licences are in ``wordferry/data/LICENSES.md``.
    """
    import gzip

    folder = resources.files("wordferry.data")
    with folder.joinpath("glove.6B.100d-60k-int8.npz").open("rb") as stream, np.load(stream) as arrays:
        quantised, scale = arrays["vectors_q"], arrays["scale"]
    words = gzip.decompress(folder.joinpath("glove.6B.100d-60k-int8.vocab.txt.gz").read_bytes()).decode("utf-8")
    matrix = quantised.astype(np.float32)
    matrix *= scale.reshape(-1, 1).astype(np.float32)
    return Embeddings(words.rstrip("\n").split("\n"), matrix)
