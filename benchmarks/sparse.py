"""How many of the true ten nearest documents an engine for sparse vectors finds, before they are ranked again.

    python benchmarks/sparse.py --data FOLDER --documents 5000

The engine ranks by one inner product (the sum of both sides of rel-rwmd); the true answer is rel-rwmd, the larger of
the two sides. The table says which share of the true first ten is among the first N of the engine, how many entries a
document has, and what leaving out small entries costs. Exact inner products are used: a real engine does the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import harness
from harness import Results
from wordferry.compare.measure import Measure
from wordferry.compare.search import Searcher
from wordferry.engines.sparse import Sparse
from wordferry.texts.published import read_collection

DEPTHS = (10, 50, 100, 200, 500, 1000)
QUERIES = 200


def recall(found: np.ndarray, true: np.ndarray, depth: int) -> float:
    """The share of the true places that are among the first ``depth`` found."""
    return float(np.mean([np.isin(true[row], found[row, :depth]).mean() for row in range(len(true))]))


def main(results: Results, data: Path, documents: int) -> None:
    texts = [one.text for one in read_collection(data / "20news").records if len(str(one.text).split()) >= 10]
    queries, texts = texts[:QUERIES], texts[QUERIES : QUERIES + documents]
    print(f"{len(texts):,} documents of 20news, {len(queries)} queries of the same kind")
    print(f"{'left out below':>14} {'entries':>8} " + " ".join(f"first {depth:>5}" for depth in DEPTHS))
    true = None
    for error in (0.0, 0.2, 0.4, 0.6):
        made = Sparse.of(texts, error=error)
        if true is None:
            measure = Measure("rel-rwmd", overlap="keep", related=made.searcher.related, on_empty="keep")
            true = Searcher.of(measure, texts).top_k(queries, 10).indices
        asked = made.queries(queries)
        blocks = list(made.documents())
        scores = np.concatenate([(asked @ block.T).toarray() for block in blocks], axis=1)
        found = np.argsort(-scores, axis=1, kind="stable")[:, : max(DEPTHS)]
        entries = sum(block.nnz for block in blocks) / len(texts)
        results.values[f"left out below {error}: entries per document"] = entries
        for depth in DEPTHS:
            results.values[f"left out below {error}: recall among the first {depth}"] = recall(found, true, depth)
        print(f"{error:>14.1f} {entries:>8.0f} " + " ".join(f"{recall(found, true, depth):>11.3f}" for depth in DEPTHS))


if __name__ == "__main__":
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--documents", type=int, default=5000)
    chosen = parser.parse_args()
    if chosen.data is None:
        parser.error("name the folder that holds 20news with --data or WORDFERRY_DATA")
    figures = Results("sparse", chosen)
    main(figures, chosen.data, chosen.documents)
    figures.finish()
