"""The paper's figures: how far words are from one word, and how all distances between words are spread."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.runtime import optional_import, thread_count
from wordferry.errors import InputError
from wordferry.kernels import native
from wordferry.words.embeddings import Embeddings

SAMPLE_PAIRS = 1_000_000
_BINS = 100
_COLOURS = ("#1f6f8b", "#c8553d", "#5b8e7d", "#8d6a9f", "#b08900")


def distances_from(embeddings: Embeddings, word: str, *, threads: int | None = None) -> Float64Array:
    """Distances from one word to all others, smallest first."""
    i = embeddings.vocabulary.id(word)
    others = np.delete(np.arange(len(embeddings), dtype=np.int32), i)
    rows = np.full(len(others), i, np.int32)
    matrix = embeddings.matrix
    return np.sort(native.pair_distances(matrix, matrix, rows, others, thread_count(threads)))


def pair_sample(
    embeddings: Embeddings, pairs: int = SAMPLE_PAIRS, *, seed: int = 0, threads: int | None = None
) -> Float64Array:
    """Distances of all pairs of different words, or of a uniform sample of ``pairs`` of them where there are more."""
    n = len(embeddings)
    if n < 2:
        raise InputError(f"Distances between words need at least 2 words, got {n}.")
    if n * (n - 1) // 2 <= pairs:
        upper = np.triu_indices(n, 1)
        rows, columns = upper[0].astype(np.int32), upper[1].astype(np.int32)
    else:
        rng = np.random.default_rng(seed)
        rows = rng.integers(n, size=pairs, dtype=np.int32)
        columns = rng.integers(n - 1, size=pairs, dtype=np.int32)
        columns += columns >= rows
    return native.pair_distances(embeddings.matrix, embeddings.matrix, rows, columns, thread_count(threads))


def distance_figure(
    embeddings: Embeddings,
    words: Sequence[str],
    *,
    pairs: int = SAMPLE_PAIRS,
    seed: int = 0,
    threads: int | None = None,
) -> Any:
    """A matplotlib figure of two panels: sorted distances from each of the words, and the histogram of all pairs.

    Figures 1 and 2 of Werner & Laber (2020): few words are near, nearly all others are almost equally far.
    """
    figures = optional_import("matplotlib.figure", "plot")
    if isinstance(words, str) or not 1 <= len(words) <= len(_COLOURS):
        raise InputError(f"words must be a list of 1 to {len(_COLOURS)} words, got {words!r}.")
    curves = [distances_from(embeddings, word, threads=threads) for word in words]
    sample = pair_sample(embeddings, pairs, seed=seed, threads=threads)
    figure = figures.Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for word, curve, colour in zip(words, curves, _COLOURS, strict=False):
        left.plot(np.arange(1, len(curve) + 1), curve, color=colour, linewidth=1.6, label=word)
    left.set_xlim(left=0)
    left.set_ylim(bottom=0)
    left.set_xlabel("other words, nearest first")
    left.set_ylabel("distance")
    left.set_title("Distances from " + (f"“{words[0]}”" if len(words) == 1 else "each word"), loc="left")
    if len(words) > 1:
        left.legend(frameon=False)
    _draw_histogram(right, sample, len(embeddings))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_histogram(axes: Any, sample: Float64Array, n: int) -> None:
    shares = np.full(len(sample), 100 / len(sample))
    axes.hist(sample, bins=_BINS, weights=shares, color=_COLOURS[0])
    mean = float(sample.mean())
    axes.axvline(mean, color=_COLOURS[1], linewidth=1.2)
    axes.annotate(
        f"mean {mean:.3f} ",
        (mean, 1),
        xycoords=("data", "axes fraction"),
        ha="right",
        va="top",
        color=_COLOURS[1],
    )
    axes.set_xlim(left=0)
    axes.set_xlabel("distance")
    axes.set_ylabel("pairs, %")
    whole = n * (n - 1) // 2
    counted = f"all {whole:,}" if len(sample) == whole else f"{len(sample):,} of {whole:,}"
    axes.set_title(f"Distances of {counted} pairs", loc="left")


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure; the format follows from the ending (png, svg, pdf)."""
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise InputError(f"{path} cannot be written: {error}.") from None
