"""The data of the paper's two figures: distances from one word, and the distribution of all distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.reproduce.bench import Bench
from wordferry.reproduce.cells import Cell

FROM_WORD = {"amazon": "cat"}
"""Figure 1: distances of all words of this set to this word."""
ALL_PAIRS = ("reuters", "r8")
"""Figure 2: distances of all pairs of words of this set."""
_POINTS = 400
_BINS = 120
_BLOCK = 2048


def run_figure(cell: Cell, bench: Bench) -> dict[str, Any]:
    """Sorted distances from one word (thinned for drawing), or a histogram of all pairs."""
    vectors = bench.embeddings.matrix
    if bench.name in FROM_WORD:
        word = FROM_WORD[bench.name]
        if word not in bench.embeddings:
            return {**cell.to_json(), "missing": word}
        values = np.sort(np.linalg.norm(vectors - bench.embeddings.vector(word), axis=1))[1:]
        ranks = np.unique(np.geomspace(1, len(values), _POINTS).astype(int))
        return {
            **cell.to_json(),
            "word": word,
            "words": len(values),
            "ranks": ranks.tolist(),
            "distances": [round(float(values[i - 1]), 4) for i in ranks],
            "share_1.2_1.4": _share(values),
        }
    counts = np.zeros(_BINS, dtype=np.int64)
    inside = pairs = 0
    squares = np.einsum("ij,ij->i", vectors, vectors)
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        squared = squares[start : start + len(block), None] + squares[start:] - 2 * (block @ vectors[start:].T)
        upper = np.triu(np.ones(squared.shape, dtype=bool), 1)
        values = np.sqrt(np.maximum(squared[upper], 0))
        counts += np.histogram(values, bins=_BINS, range=(0.0, 2.0))[0]
        inside += int(((values >= 1.2) & (values <= 1.4)).sum())
        pairs += len(values)
    share = round(inside / max(pairs, 1), 4)
    return {**cell.to_json(), "pairs": pairs, "histogram": counts.tolist(), "range": [0.0, 2.0], "share_1.2_1.4": share}


def _share(values: Any) -> float:
    return round(float(((values >= 1.2) & (values <= 1.4)).mean()), 4)
