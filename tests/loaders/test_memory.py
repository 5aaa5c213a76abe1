"""Reading a part of a large file needs memory for that part only."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from wordferry import load_embeddings

from . import files

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "loaders.py"


def peak_beyond_result(path: Path, words: list[str]) -> int:
    tracemalloc.start()
    try:
        found = load_embeddings(path, words=words)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - found.matrix.nbytes


@pytest.mark.parametrize("kind", ["binary", "text", "npz"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    words = [f"w{i}" for i in range(60_000)]
    matrix = np.tile(np.random.default_rng(0).normal(size=(1, 100)).astype(np.float32), (len(words), 1))  # 24 MB
    if kind == "binary":
        path = files.write(tmp_path / "v.bin", files.word2vec_binary(words, matrix))
    elif kind == "text":
        path = files.write(tmp_path / "v.txt.gz", files.text(words[:5000], matrix[:5000], header=True))  # 10 MB
    else:
        path = tmp_path / "v.npz"
        np.savez_compressed(path, vectors=matrix, words=np.array(words))
    assert peak_beyond_result(path, words[100:5000:50]) < (9e6 if kind == "npz" else 4e6)  # an .npz brings its words


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_three_million_words_restricted_to_twenty_thousand() -> None:
    done = subprocess.run([sys.executable, BENCHMARK, "--bound-only"], capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if "beyond the result" in line)
    assert float(line.split()[-5]) < 300, line
