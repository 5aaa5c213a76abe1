"""Writers of the formats that the loaders read, kept apart from the code under test."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]


def example(words: int = 50, dimensions: int = 7, seed: int = 1) -> tuple[list[str], Matrix]:
    """Words of several scripts and random vectors."""
    names = ["the", "naïve", "東京", "don't", "a_b", "..."] + [f"word{i}" for i in range(words - 6)]
    matrix = np.random.default_rng(seed).normal(size=(words, dimensions)).astype(np.float32)
    return names[:words], matrix


def word2vec_binary(words: list[str], matrix: Matrix, newline: bool = True) -> bytes:
    body = b"".join(
        word.encode() + b" " + row.astype("<f4").tobytes() + (b"\n" if newline else b"")
        for word, row in zip(words, matrix, strict=True)
    )
    return f"{len(words)} {matrix.shape[1]}\n".encode() + body


def text(words: list[str], matrix: Matrix, header: bool, trailing_blank: bool = False) -> bytes:
    lines = [f"{len(words)} {matrix.shape[1]}"] if header else []
    end = " " if trailing_blank else ""
    lines += [f"{word} {' '.join(repr(float(v)) for v in row)}{end}" for word, row in zip(words, matrix, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def write(path: Path, data: bytes) -> Path:
    """Write bytes, gzipped when the name says so."""
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)
    return path
