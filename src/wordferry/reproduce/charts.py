"""Charts of the report, as SVG text whose ink follows the page's colour, so that they read on light and dark."""

from __future__ import annotations

import io
import re
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.judge.selection import PAPER_R
from wordferry.reproduce.summary import Cells, Errors

_INK = "#010203"  # replaced by currentColor
_COLOURS = {
    "cosine": "#9a8c98",
    "wcd": "#c9a227",
    "wmd": "#5a8dee",
    "rwmd": "#2a9d8f",
    "rel-rwmd cv": "#e76f51",
    "rel-rwmd r=16": "#f4a261",
}


def error_chart(cells: Cells) -> Any:
    """Bars of test error by data set and distance."""
    errors = Errors(cells, "paper")
    names = [n for n in _COLOURS if any(errors.mean(d, n) is not None for d in errors.datasets)]
    if not names:
        return None
    figure, axes = _figure(9.0, 3.4)
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        heights = [errors.mean(dataset, name) or 0.0 for dataset in errors.datasets]
        where = [i + (place - (len(names) - 1) / 2) * width for i in range(len(heights))]
        axes.bar(where, heights, width, label=name, color=_COLOURS[name])
    axes.set_xticks(range(len(errors.datasets)), errors.datasets)
    axes.set_ylabel("test error %")
    axes.legend(frameon=False, ncols=3, fontsize=8)
    return figure


def r_chart(cells: Cells) -> Any:
    """Lines of rel-rwmd's test error by r, one a data set, as points above its best."""
    errors = Errors(cells, "paper")
    lines = {}
    for dataset in errors.datasets:
        values = [errors.mean(dataset, f"rel-rwmd r={r}") for r in PAPER_R]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            lines[dataset] = [value - min(known) for value in known]
    if not lines:
        return None
    figure, axes = _figure(9.0, 3.2)
    for dataset, above in lines.items():
        axes.plot(range(len(PAPER_R)), above, marker="o", markersize=3, linewidth=1.4, label=dataset)
    axes.set_xticks(range(len(PAPER_R)), [str(r) for r in PAPER_R])
    axes.set_xlabel("r, related words per word")
    axes.set_ylabel("points above the best r")
    axes.legend(frameon=False, ncols=2, fontsize=8)
    return figure


def fair_chart(cells: Cells) -> Any:
    """Dots of the fair protocol's error by data set, with deviations."""
    errors = Errors(cells, "fair")
    names = list(dict.fromkeys(c["distance"] for c in cells if c["protocol"] == "fair"))
    if not names:
        return None
    figure, axes = _figure(9.0, 3.4)
    for place, name in enumerate(names):
        where = [i + (place - (len(names) - 1) / 2) * 0.09 for i in range(len(errors.datasets))]
        means = [errors.mean(d, name) for d in errors.datasets]
        spread = [errors.deviation(d, name) or 0.0 for d in errors.datasets]
        axes.errorbar(where, means, spread, fmt="o", markersize=4, linewidth=1, label=name)
    axes.set_xticks(range(len(errors.datasets)), errors.datasets)
    axes.set_ylabel("test error %")
    axes.legend(frameon=False, ncols=2, fontsize=8)
    return figure


def paper_figures(cells: Cells) -> dict[str, Any]:
    """Figures 1 and 2 of the paper as matplotlib figures, from the cells that hold their data."""
    drawn: dict[str, Any] = {}
    for cell in cells:
        if cell["protocol"] != "figure":
            continue
        figure, axes = _figure(9.0, 2.9)
        if "distances" in cell:
            axes.plot(cell["ranks"], cell["distances"], color=_COLOURS["wmd"], linewidth=1.6)
            axes.set_xlabel(f"words of {cell['dataset']}, by distance to '{cell['word']}'")
            axes.set_ylabel("distance")
            axes.set_ylim(0, 1.6)
            drawn["Figure 1"] = figure
        elif "histogram" in cell:
            low, high = cell["range"]
            width = (high - low) / len(cell["histogram"])
            where = [low + (i + 0.5) * width for i in range(len(cell["histogram"]))]
            axes.bar(where, [100 * count / cell["pairs"] for count in cell["histogram"]], width, color=_COLOURS["wmd"])
            axes.set_xlabel(f"distance of two words of {cell['dataset']}")
            axes.set_ylabel("% of pairs")
            drawn["Figure 2"] = figure
    return drawn


def captions(cells: Cells) -> dict[str, str]:
    """What stands under each chart."""
    made = {
        "Test error by distance": "Lower is better.",
        "Test error of rel-rwmd by r": "How much is lost by another r than the best one, on the test documents.",
        "Fair protocol": "Dots are means over divisions, bars one standard deviation.",
    }
    for cell in cells:
        if cell["protocol"] == "figure" and "middle_share" in cell:
            number, what = ("Figure 1", "words") if "distances" in cell else ("Figure 2", "pairs")
            share = f"{100 * cell['middle_share']:.0f} % of the {what} lie between 1.2 and 1.4."
            made[number] = f"{number} of the paper on {cell['dataset']}: {share}"
    return made


def _figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure without any window or global state."""
    optional_import("matplotlib", "plot")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    return figure, axes


def figure_svg(figure: Any, title: str) -> str:
    """A matplotlib figure as an SVG element for a page."""
    import matplotlib

    for axes in figure.axes:
        _ink(axes)
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(stream, format="svg", transparent=True)
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


def _ink(axes: Any) -> None:
    axes.tick_params(colors=_INK, which="both")
    for part in (axes.xaxis.label, axes.yaxis.label, axes.title):
        part.set_color(_INK)
    for side, spine in axes.spines.items():
        spine.set_color(_INK)
        spine.set_visible(side in ("left", "bottom"))
    legend = axes.get_legend()
    for text in legend.get_texts() if legend else ():
        text.set_color(_INK)
