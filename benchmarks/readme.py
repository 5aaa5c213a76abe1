"""The chart of the README: microseconds a pair, on the articles that the package carries.

    python benchmarks/readme.py                               # prints the table
    python benchmarks/readme.py --svg docs/_static/speed.svg  # and draws it

Every article against every other, one thread, CPU time, best of three, graph of related words built before. POT and
gensim (extra "bench") are timed on some of the same pairs with the same vectors; their values are compared first.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wordferry

PEER_PAIRS = 300
NAMES = ("wcd", "rel-rwmd", "rwmd", "rel-wmd", "act", "wmd")


def best(work: Callable[[], Any], times: int = 3) -> float:
    """CPU seconds of the fastest run."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def ours(X: Any, embeddings: wordferry.Embeddings, related: wordferry.RelatedWords) -> dict[str, float]:
    """Microseconds a pair of each distance."""
    result = {}
    for name in NAMES:
        graph = related if name.startswith("rel-") else None
        distance: Any = name
        seconds = best(
            lambda d=distance, g=graph: wordferry.pairwise(X, X, d, embeddings=embeddings, related=g, threads=1)
        )
        result[name] = 1e6 * seconds / X.shape[0] ** 2
    return result


def with_pot(X: Any, embeddings: wordferry.Embeddings, pairs: list[tuple[int, int]]) -> tuple[float, np.ndarray]:
    """Exact transport by POT, cost matrix included."""
    import ot

    def value(i: int, j: int) -> float:
        a, b = X[[i]], X[[j]]
        cost = ot.dist(embeddings.matrix[a.indices], embeddings.matrix[b.indices], metric="euclidean")
        return float(ot.emd2(a.data / a.data.sum(), b.data / b.data.sum(), cost))

    values = np.array([value(i, j) for i, j in pairs])
    return 1e6 * best(lambda: [value(i, j) for i, j in pairs]) / len(pairs), values


def with_gensim(
    texts: list[list[str]], embeddings: wordferry.Embeddings, pairs: list[tuple[int, int]]
) -> tuple[float, np.ndarray]:
    """KeyedVectors.wmdistance of gensim."""
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(embeddings.dimensions)
    vectors.add_vectors(list(embeddings.vocabulary), embeddings.matrix)
    values = np.array([vectors.wmdistance(texts[i], texts[j]) for i, j in pairs])
    work = lambda: [vectors.wmdistance(texts[i], texts[j]) for i, j in pairs]  # noqa: E731
    return 1e6 * best(work, 1) / len(pairs), values


def measure() -> tuple[list[tuple[str, float]], str]:
    """Rows of (name, microseconds a pair), and where they were measured."""
    from wordferry.texts.tokenizers import default_tokenizer

    embeddings = wordferry.default_embeddings()
    texts = [[t for t in default_tokenizer()(text) if t in embeddings] for text in wordferry.sample().texts]
    X = wordferry.encode(texts, embeddings)
    related = wordferry.RelatedWords.build(embeddings.restrict(np.unique(X.indices).astype(np.int64)))
    rng = np.random.default_rng(0)
    pairs = [(int(i), int(j)) for i, j in rng.integers(0, X.shape[0], (PEER_PAIRS, 2))]
    expected = wordferry.pairwise(X, X, "wmd", embeddings=embeddings)[tuple(np.array(pairs).T)]
    rows = [(f"wordferry {name}", value) for name, value in ours(X, embeddings, related).items()]
    for name, run in (
        ("POT wmd", lambda: with_pot(X, embeddings, pairs)),
        ("gensim wmd", lambda: with_gensim(texts, embeddings, pairs)),
    ):
        try:
            microseconds, values = run()
        except ImportError:
            print(f"{name}: not installed (pip install 'wordferry[bench]')")
            continue
        np.testing.assert_allclose(values, expected, rtol=2e-3, atol=1e-3)
        rows.append((name, microseconds))
    words = X.nnz / X.shape[0]
    return (
        rows,
        f"{X.shape[0]} articles of {words:.0f} distinct words, 100 dimensions; {hardware()}, one thread, CPU time",
    )


def hardware() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def svg(rows: list[tuple[str, float]], note: str) -> str:
    """Horizontal bars on a logarithmic scale."""
    low, high = 0.01, 10 ** np.ceil(np.log10(max(value for _, value in rows)))
    left, width, step = 150, 430, 26
    span = np.log10(high / low)
    height = step * len(rows) + 74
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" viewBox="0 0 720 {height}" '
        'font-family="sans-serif" font-size="13" role="img" aria-label="Microseconds a pair of documents">',
        f'<rect width="720" height="{height}" fill="white"/>',
        '<text x="10" y="20" font-weight="bold">Microseconds a pair of documents (logarithmic, less is better)</text>',
    ]
    for row, (name, value) in enumerate(rows):
        y = 34 + row * step
        length = max(2.0, width * np.log10(value / low) / span)
        colour = "#2a7f9e" if name.startswith("wordferry") else "#b0b0b0"
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{name}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="18" fill="{colour}"/>')
        parts.append(f'<text x="{left + length + 6:.1f}" y="{y + 14}">{shown(value)}</text>')
    parts.append(f'<text x="10" y="{height - 16}" font-size="11" fill="#444">{note}</text>')
    return "\n".join([*parts, "</svg>", ""])


def shown(value: float) -> str:
    """Two digits that count."""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--svg", type=Path, help="draw the chart into this file")
    options = parser.parse_args()
    rows, note = measure()
    print(f"{'':<20}{'us a pair':>10}")
    for name, value in rows:
        print(f"{name:<20}{shown(value):>10}")
    print(note)
    if options.svg:
        options.svg.write_text(svg(rows, note), encoding="utf-8")


if __name__ == "__main__":
    main()
