"""The data of the paper's two figures: distances from one word, and the distribution of the distances of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.reproduce.bench import Bench
from wordferry.reproduce.cells import Cell
from wordferry.words.plots import distances_from, pair_sample

FROM_WORD = {"amazon": "cat"}
"""Figure 1: distances of all words of this set to this word."""
ALL_PAIRS = ("reuters", "r8")
"""Figure 2: distances of pairs of words of this set."""
_POINTS = 400
_BINS = 120
_RANGE = (0.0, 2.0)


def run_figure(cell: Cell, bench: Bench) -> dict[str, Any]:
    """Sorted distances from one word (thinned for drawing), or a histogram of pairs (a sample where there are many)."""
    if bench.name not in FROM_WORD:
        values = pair_sample(bench.embeddings, threads=bench.threads)
        counts = np.histogram(values, bins=_BINS, range=_RANGE)[0]
        drawn = {"pairs": len(values), "histogram": counts.tolist(), "range": list(_RANGE)}
        return {**cell.to_json(), **drawn, "middle_share": _share(values)}
    word = FROM_WORD[bench.name]
    if word not in bench.embeddings:
        return {**cell.to_json(), "missing": word}
    values = distances_from(bench.embeddings, word, threads=bench.threads)
    ranks = np.unique(np.linspace(1, len(values), _POINTS).astype(int).tolist() + list(range(1, min(60, len(values)))))
    return {
        **cell.to_json(),
        "word": word,
        "words": len(values),
        "ranks": ranks.tolist(),
        "distances": [round(float(values[i - 1]), 4) for i in ranks],
        "middle_share": _share(values),
    }


def _share(values: Any) -> float:
    """The share of distances in the interval that the paper names, [1.2, 1.4]."""
    return round(float(((values >= 1.2) & (values <= 1.4)).mean()), 4)
