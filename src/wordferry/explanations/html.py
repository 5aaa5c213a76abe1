"""An explanation as one page of HTML that asks nothing of the network: a flow diagram in SVG and a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from wordferry.explanations.layout import Layout, arrange
from wordferry.explanations.rows import Row

if TYPE_CHECKING:
    from wordferry.explanations.explain import Explanation

_MOVES = frozenset({"same", "moved", "related", "c_max"})
_KINDS = {
    "same": "same word, stays",
    "moved": "moved",
    "related": "related",
    "c_max": "no related word: c_max",
    "both": "in both",
    "a": "only in a",
    "b": "only in b",
}

_MOST_WORDS = 5000
"""Words of a text that are shown."""

_STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1d2328; --soft: #67727c; --line: #dfe3e6; --wash: #f1f3f4; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181b; --ink: #e6eaec; --soft: #98a4ad; --line: #2c343a; --wash: #1c2226; }
}
body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0; font-weight: 600; }
h1 b { font-variant-numeric: tabular-nums; }
.sub, figcaption, th { color: var(--soft); font-size: 0.875rem; font-weight: 400; }
.docs { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin: 1rem 0; }
.docs p { background: var(--wash); border-radius: 0.5rem; padding: 0.6rem 0.9rem; margin: 0; overflow-wrap: anywhere;
  max-height: 24rem; overflow-y: auto; }
mark { color: inherit; border-radius: 0.2rem; }
.docs b { display: block; color: var(--soft); font-size: 0.8rem; font-weight: 400; }
figure { margin: 0; overflow-x: auto; }
svg { width: 100%; height: auto; min-width: 30rem; display: block; }
svg text { fill: var(--ink); font-family: system-ui, sans-serif; }
svg .mass { fill: var(--soft); }
svg path:hover { opacity: 0.95; }
.scale { display: inline-block; width: 10rem; height: 0.6rem; border-radius: 0.3rem; vertical-align: middle;
  margin: 0 0.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin-top: 1.5rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.n, th.n { text-align: right; }
td.bar { width: 30%; min-width: 6rem; }
td.bar span { display: block; height: 0.7rem; border-radius: 0.2rem; min-width: 1px; }
"""


def colour(distance: float, largest: float) -> str:
    """From green for free to red for the most expensive; readable on light and on dark."""
    share = 0.0 if largest <= 0 else max(0.0, min(1.0, distance / largest))
    return f"hsl({165 - 160 * share:.0f} {55 + 20 * share:.0f}% {48 - 2 * share:.0f}%)"


def page(explanation: Explanation, limit: int | None = None) -> str:
    """The whole page; ``limit`` rows at most are drawn and listed."""
    rest = 0 if limit is None else max(0, len(explanation.rows) - limit)
    documents = _documents(explanation)
    if rest:
        explanation = replace(explanation, rows=explanation.rows[:limit])
    title = f"{explanation.name} = {explanation.distance:.4f}"
    largest = max((abs(row.distance) for row in explanation.rows), default=0.0)
    moves = [row for row in explanation.rows if row.kind in _MOVES]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(explanation.name)} = <b>{explanation.distance:.6f}</b></h1>",
        f'<div class="sub">{_subtitle(explanation)}</div>',
        documents,
    ]
    if moves:
        layout = arrange(explanation)
        parts.append(_figure(explanation, layout, largest))
    parts.append(_table(explanation.rows, largest))
    if rest:
        parts.append(f'<p class="sub">These rows cost most; {rest:,} more are left out.</p>')
    parts.append("</body></html>\n")
    return "\n".join(parts)


def _subtitle(explanation: Explanation) -> str:
    direction = {"left": "a's words onto b's", "right": "b's words onto a's"}.get(explanation.side, "")
    facts = [direction, f"overlap: {explanation.overlap}" if explanation.overlap else ""]
    if explanation.c_max == explanation.c_max:
        facts.append(f"unrelated words cost c_max = {explanation.c_max:.4f}")
    return escape(" · ".join(fact for fact in facts if fact))


def _documents(explanation: Explanation) -> str:
    cells = []
    for side, (name, bag) in enumerate((("a", explanation.a), ("b", explanation.b))):
        if explanation.marked is not None and explanation.marked[side].spans:
            text = _marked(explanation, side)
        else:
            words = sorted(bag, key=lambda word: -bag[word])
            text = escape(" ".join(words[:_MOST_WORDS])) + (" …" if len(words) > _MOST_WORDS else "")
        cells.append(f"<p><b>{name}, {len(bag)} distinct words</b>{text}</p>")
    return f'<div class="docs">{"".join(cells)}</div>'


def _marked(explanation: Explanation, side: int) -> str:
    """A text with each word that was compared on a ground that tells how far it went, and onto which words."""
    assert explanation.marked is not None
    marked = explanation.marked[side]
    moved: dict[str, list[Row]] = {}
    swapped = explanation.side == "right"  # then rows go from b to a
    for row in explanation.rows:
        own = row.target if bool(side) != swapped else row.source
        if own is not None:
            moved.setdefault(own, []).append(row)
    largest = max((abs(row.distance) for row in explanation.rows), default=0.0)
    parts, at = [], 0
    for span in marked.spans[:_MOST_WORDS]:
        rows = moved.get(span.word, [])
        if not rows:
            continue
        mass = sum(row.mass for row in rows)
        far = sum(row.mass * abs(row.distance) for row in rows) / mass if mass else 0.0
        others = [(row.source if bool(side) != swapped else row.target) or "no related word" for row in rows[:4]]
        hint = f"{', '.join(others)}: distance {far:.4f}"
        parts.append(escape(marked.text[at : span.start]))
        parts.append(
            f'<mark style="background: {colour(far, largest)}33" title="{escape(hint)}">'.replace("%)33", "% / 30%)")
            + f"{escape(marked.text[span.start : span.end])}</mark>"
        )
        at = span.end
    whole = len(marked.spans) <= _MOST_WORDS
    parts.append(escape(marked.text[at:]) if whole else " …")
    return "".join(parts)


@dataclass(frozen=True)
class _Ends:
    """Where a ribbon starts and ends, and how thick it is at either side."""

    left: float
    right: float
    left_height: float
    right_height: float


def _figure(explanation: Explanation, layout: Layout, largest: float) -> str:
    shapes = []
    for ribbon in layout.ribbons:
        ends = _Ends(ribbon.left, ribbon.right, ribbon.left_height, ribbon.right_height)
        row = ribbon.row
        opacity = 0.25 if row.kind == "c_max" else 0.6  # what has no partner stays in the background
        hint = f"{row.source or '-'} to {row.target or 'no related word'}: mass {row.mass:.4f}, "
        hint += f"distance {row.distance:.4f}, cost {row.cost:.4f} ({row.share:.1%})"
        shapes.append(
            f'<path d="{_ribbon(ends, layout)}" fill="{colour(row.distance, largest)}" opacity="{opacity}">'
            f"<title>{escape(hint)}</title></path>"
        )
    for node in layout.nodes:
        x, anchor = (layout.start - 8, "end") if node.left else (layout.stop + 8, "start")
        shapes.append(
            f'<text x="{x:.0f}" y="{node.middle:.1f}" font-size="{node.size:.1f}" text-anchor="{anchor}" '
            f'dominant-baseline="central">{escape(node.word)}'
            f' <tspan class="mass" font-size="11">{node.mass:.3f}</tspan></text>'
        )
    gradient = ", ".join(colour(step / 6 * largest, largest) for step in range(7))
    label = f"Flow of words from one document to the other, {len(layout.ribbons)} flows"
    return (
        f'<figure><svg viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" role="img" aria-label="{label}">'
        + "\n".join(shapes)
        + "</svg><figcaption>Words are sized by their mass, flows by the mass they carry. Distance: 0"
        f'<span class="scale" style="background: linear-gradient(to right, {gradient})"></span>{largest:.3f}'
        "</figcaption></figure>"
    )


def _ribbon(ends: _Ends, layout: Layout) -> str:
    x0, x1, middle = layout.start, layout.stop, (layout.start + layout.stop) / 2
    top, low = ends.left, ends.left + ends.left_height
    other, other_low = ends.right, ends.right + ends.right_height
    return (
        f"M{x0:.0f},{top:.1f}C{middle:.0f},{top:.1f} {middle:.0f},{other:.1f} {x1:.0f},{other:.1f}"
        f"L{x1:.0f},{other_low:.1f}C{middle:.0f},{other_low:.1f} {middle:.0f},{low:.1f} {x0:.0f},{low:.1f}Z"
    )


def _table(rows: Iterable[Row], largest: float) -> str:
    lines = []
    for row in rows:
        bar = max(0.0, min(1.0, row.share))
        style = f"width: {100 * bar:.1f}%; background: {colour(abs(row.distance), largest)}"
        lines.append(
            f"<tr><td>{escape(row.source or '–')}</td><td>{escape(row.target or '–')}</td>"
            f'<td class="n">{row.mass:.4f}</td><td class="n">{row.distance:.4f}</td><td class="n">{row.cost:.4f}</td>'
            f'<td class="n">{row.share:.1%}</td><td class="bar"><span style="{style}"></span></td>'
            f"<td>{escape(_KINDS.get(row.kind, row.kind))}</td></tr>"
        )
    heads = '<th>from</th><th>to</th><th class="n">mass</th><th class="n">distance</th><th class="n">cost</th>'
    heads += '<th class="n">share</th><th></th><th>kind</th>'
    body = "\n".join(lines)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
