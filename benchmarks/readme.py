"""The chart of the README: microseconds per pair, on the articles that the package carries.

    python benchmarks/readme.py                               # prints the table
    python benchmarks/readme.py --svg docs/_static/speed.svg  # and draws it

Every article against every other, one thread, CPU time, best of three, graph of related words built before. POT and
gensim (extra "bench") are timed on some of the same pairs with the same vectors; their values are compared first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import harness
import wordferry
from harness import GensimWmd, Results, least, pot_wmd

PEER_PAIRS = 300
NAMES = ("wcd", "rel-rwmd", "rwmd", "rel-wmd", "act", "wmd")


def ours(
    X: Any, embeddings: wordferry.Embeddings, related: wordferry.RelatedWords, names: Sequence[str] = NAMES
) -> dict[str, float]:
    """Microseconds per pair of each distance."""
    result = {}
    for name in names:
        graph = related if name.startswith("rel-") else None
        distance: Any = name
        seconds = least(
            lambda d=distance, g=graph: wordferry.pairwise(X, X, d, embeddings=embeddings, related=g, threads=1)
        )
        result[name] = 1e6 * seconds / X.shape[0] ** 2
    return result


def with_pot(X: Any, embeddings: wordferry.Embeddings, pairs: list[tuple[int, int]]) -> tuple[float, np.ndarray]:
    """Exact transport by POT, cost matrix included."""

    def all_values() -> list[float]:
        return [pot_wmd(X[[i]], X[[j]], embeddings) for i, j in pairs]

    return 1e6 * least(all_values) / len(pairs), np.array(all_values())


def with_gensim(X: Any, embeddings: wordferry.Embeddings, pairs: list[tuple[int, int]]) -> tuple[float, np.ndarray]:
    """KeyedVectors.wmdistance of gensim."""
    distance = GensimWmd(embeddings)
    texts = [distance.tokens(X[[i]]) for i in range(X.shape[0])]

    def all_values() -> list[float]:
        return [distance(texts[i], texts[j]) for i, j in pairs]

    return 1e6 * least(all_values, 1) / len(pairs), np.array(all_values())


def measure(processor: str, names: Sequence[str] = NAMES) -> tuple[list[tuple[str, float]], str]:
    """Rows of (name, microseconds per pair), and where they were measured."""
    from wordferry.texts.tokenizers import default_tokenizer

    embeddings = wordferry.default_embeddings()
    texts = [[t for t in default_tokenizer()(text) if t in embeddings] for text in wordferry.sample().texts]
    X = wordferry.encode(texts, embeddings)
    related = wordferry.RelatedWords.build(embeddings.restrict(np.unique(X.indices).astype(np.int64)))
    rng = np.random.default_rng(0)
    pairs = [(int(i), int(j)) for i, j in rng.integers(0, X.shape[0], (PEER_PAIRS, 2))]
    expected = wordferry.pairwise(X, X, "wmd", embeddings=embeddings)[tuple(np.array(pairs).T)]
    rows = [(f"wordferry {name}", value) for name, value in ours(X, embeddings, related, names).items()]
    for name, run in (
        ("POT wmd", lambda: with_pot(X, embeddings, pairs)),
        ("gensim wmd", lambda: with_gensim(X, embeddings, pairs)),
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
        f"{X.shape[0]} articles of {words:.0f} distinct words, 100 dimensions; {processor}, one thread, CPU time",
    )


def svg(rows: list[tuple[str, float]], note: str) -> str:
    """Horizontal bars on a logarithmic scale."""
    low, high = 0.01, 10 ** np.ceil(np.log10(max(value for _, value in rows)))
    left, width, step = 150, 430, 26
    span = np.log10(high / low)
    height = step * len(rows) + 74
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" viewBox="0 0 720 {height}" '
        'font-family="sans-serif" font-size="13" role="img" aria-label="Microseconds per pair of documents">',
        f'<rect width="720" height="{height}" fill="white"/>',
        '<text x="10" y="20" font-weight="bold">'
        "Microseconds per pair of documents (logarithmic, less is better)</text>",
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
    parser = harness.parser(__doc__)
    parser.add_argument("--svg", type=Path, help="draw the chart into this file")
    options = parser.parse_args()
    results = Results("readme", options)
    rows, note = measure(results.facts["machine"]["processor"])
    print(f"{'':<20}{'us per pair':>12}")
    for name, value in rows:
        results.add(f"{name}: us", value, f"{name:<20}{shown(value):>12}")
    results.note("data", note)
    if options.svg:
        options.svg.write_text(svg(rows, note), encoding="utf-8")
    results.finish()


if __name__ == "__main__":
    main()
