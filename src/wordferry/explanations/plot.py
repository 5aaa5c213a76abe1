"""An explanation as a matplotlib figure: the flows, and a heat map of what each pair of words costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base.frames import new_figure
from wordferry.explanations.layout import NOBODY, Layout, arrange

if TYPE_CHECKING:
    from wordferry.explanations.explain import Explanation

_PIXELS_AN_INCH = 80.0
_MOST_CELLS = 60


def figure(explanation: Explanation) -> Any:
    """Flows on the left, costs on the right; the caller saves or shows it."""
    layout = arrange(explanation)
    drawn = new_figure(15, max(4.0, layout.height / _PIXELS_AN_INCH))
    flows, heat = drawn.subplots(1, 2, width_ratios=(1.15, 1))
    _draw_flows(flows, layout, _largest(explanation))
    shown = _draw_heat(heat, explanation)
    drawn.colorbar(shown, ax=heat, label="cost", shrink=0.8)
    drawn.suptitle(f"{explanation.name} = {explanation.distance:.4f}")
    return drawn


def flows_on(explanation: Explanation, axes: Any) -> Any:
    """The flows alone, on axes of the caller's."""
    _draw_flows(axes, arrange(explanation), _largest(explanation))
    axes.set_title(f"{explanation.name} = {explanation.distance:.4f}", fontsize=10)
    return axes


def _largest(explanation: Explanation) -> float:
    return max((abs(row.distance) for row in explanation.rows), default=0.0) or 1.0


def _draw_flows(axes: Any, layout: Layout, largest: float) -> None:
    from matplotlib import colormaps
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    colours = colormaps["viridis"]
    start, stop = layout.start, layout.stop
    middle = (start + stop) / 2
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    for ribbon in layout.ribbons:
        top, low = ribbon.left, ribbon.left + ribbon.left_height
        other, other_low = ribbon.right, ribbon.right + ribbon.right_height
        points = [(start, top), (middle, top), (middle, other), (stop, other)]
        points += [(stop, other_low), (middle, other_low), (middle, low), (start, low), (start, top)]
        shade = colours(abs(ribbon.row.distance) / largest)
        axes.add_patch(PathPatch(Path(points, codes), facecolor=shade, edgecolor="none", alpha=0.65))
    for node in layout.nodes:
        x, side = (start - 8, "right") if node.left else (stop + 8, "left")
        axes.text(x, node.middle, node.word, ha=side, va="center", fontsize=0.7 * node.size)
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height, 0)
    axes.set_axis_off()
    axes.set_title("flows, coloured by distance", fontsize=10)


def _draw_heat(axes: Any, explanation: Explanation) -> Any:
    """Costs of the pairs in the rows, the most expensive words first."""
    rows = [row for row in explanation.rows if row.mass > 0][: _MOST_CELLS * 2]
    sources = list(dict.fromkeys(row.source or NOBODY for row in rows))[:_MOST_CELLS]
    targets = list(dict.fromkeys(row.target or NOBODY for row in rows))[:_MOST_CELLS]
    costs = np.full((len(sources), len(targets)), np.nan)
    for row in rows:
        source, target = row.source or NOBODY, row.target or NOBODY
        if source in sources and target in targets:
            i, j = sources.index(source), targets.index(target)
            costs[i, j] = row.cost + (0.0 if np.isnan(costs[i, j]) else costs[i, j])
    shown = axes.imshow(costs, cmap="viridis", aspect="auto")
    axes.set_xticks(range(len(targets)), targets, rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(len(sources)), sources, fontsize=8)
    axes.set_title("cost of each move", fontsize=10)
    return shown
