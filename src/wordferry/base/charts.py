"""Small pictures of results: on axes that a caller brings, or on a figure of their own that a notebook shows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from typing import Any

from wordferry.base.runtime import optional_import

COLOUR = "#1f6f8b"
_ROW = 0.32
"""Inches that a bar takes."""
_LONGEST = 40


def new_figure(width: float, height: float) -> Any:
    """A matplotlib figure that belongs to nobody's window and that a notebook shows as a picture."""
    return _figure_class()(figsize=(width, height), layout="constrained")


@cache
def _figure_class() -> Any:
    optional_import("matplotlib", "plot")
    from matplotlib.figure import Figure

    class ShownFigure(Figure):  # type: ignore[misc]  # matplotlib has no types
        """A figure that shows itself where it is the value of a cell, whatever backend is in use."""

        def _repr_png_(self) -> bytes:
            written = io.BytesIO()
            self.savefig(written, format="png", dpi=96)
            return written.getvalue()

    return ShownFigure


def drawn_on(ax: Any, width: float, height: float) -> tuple[Any, Any]:
    """The axes to draw on, and what the caller gets back: the axes that were given, or a figure with new ones."""
    if ax is not None:
        return ax, ax
    figure = new_figure(width, height)
    return figure.add_subplot(), figure


def bars(
    names: Sequence[str],
    values: Sequence[float],
    *,
    ax: Any = None,
    label: str = "",
    title: str = "",
    ranges: Sequence[tuple[float, float]] | None = None,
) -> Any:
    """One bar a name, the first on top; ``ranges`` are drawn as whiskers. The axes given, or a figure that is shown."""
    axes, result = drawn_on(ax, 7.0, max(1.5, 0.8 + _ROW * len(names)))
    places = range(len(names))
    numbers = [float(value) for value in values]
    whiskers = None
    if ranges is not None:
        pairs = list(zip(numbers, ranges, strict=True))
        whiskers = [[max(0.0, v - low) for v, (low, _) in pairs], [max(0.0, high - v) for v, (_, high) in pairs]]
    axes.barh(places, numbers, color=COLOUR, xerr=whiskers, ecolor="#444444", height=0.7)
    axes.set_yticks(places, [name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…" for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.set_title(title, fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return result
