"""A judgement as one HTML page that needs nothing beside itself."""

from __future__ import annotations

from html import escape
from typing import Any

from wordferry.judge.retrieval import MEASURES, Retrieval, moved_most

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --bar: #0f766e; --good: #1a7f4b; --bad: #b3423a; }
@media (prefers-color-scheme: dark) { :root { --bar: #5eead4; --good: #5fd39a; --bad: #ff9a8f; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } .about { opacity: .8; font-size: .92rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; text-align: left; border-bottom: 1px solid var(--line); }
th { font-weight: 600; background: var(--soft); white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; } tr:last-child td { border-bottom: 0; }
.up { color: var(--good); } .down { color: var(--bad); }
svg { width: 100%; height: auto; } svg text { fill: currentColor; font: 13px system-ui, sans-serif; }
"""


def report_page(results: list[Retrieval], command: str) -> str:
    """All collections on one page: a chart and a table each, and the queries that moved most."""
    title = "Retrieval: " + ", ".join(result.collection.name for result in results)
    parts = [f"<h1>{escape(title)}</h1>", f'<p class="about">Made by <code>{escape(command)}</code>. {_ABOUT}</p>']
    for result in results:
        found = result.collection
        parts.append(f"<h2>{escape(found.name)}</h2>")
        parts.append(
            f'<p class="about">{len(found.ids)} documents, {len(found.queries)} judged queries'
            + (f" ({found.left_out} more have no right answer and are left out)" if found.left_out else "")
            + ".</p>"
        )
        parts += [_chart(result), _table([score.cells() for score in result.scores]), _moves(result)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


_ABOUT = (
    "nDCG@10: how good the first ten are; AP: average precision (its mean is MAP); R@100: the share of right answers "
    "among the first hundred; RR: one over the place of the first right answer (its mean is MRR). Ranges hold 95 % of "
    "draws of as many queries. A system is ahead of the baseline for certain only where the whole range of the "
    "difference is above 0."
)


def _chart(result: Retrieval) -> str:
    """Bars of the first measure with their ranges."""
    width, row, left = 760, 26, 190
    height = row * len(result.scores) + 24
    scale = (width - left - 70) / max(0.01, *(score.means[MEASURES[0]].high for score in result.scores))
    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{MEASURES[0]} by system">']
    for place, score in enumerate(result.scores):
        y = place * row + 6
        mean = score.means[MEASURES[0]]
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(score.system)}</text>')
        bar = mean.value * scale
        parts.append(f'<rect x="{left}" y="{y + 2}" width="{bar:.1f}" height="15" fill="var(--bar)" rx="2"/>')
        low, high = left + mean.low * scale, left + mean.high * scale
        parts.append(f'<path d="M{low:.1f} {y + 9.5}H{high:.1f}" stroke="currentColor" stroke-width="1.5"/>')
        parts.append(f'<text x="{high + 6:.1f}" y="{y + 13}">{mean.value:.3f}</text>')
    return "".join(parts) + "</svg>"


def _table(rows: list[dict[str, Any]]) -> str:
    head = "".join(f'<th class="{"n" if name != "system" else ""}">{escape(name)}</th>' for name in rows[0])
    body = "".join("<tr>" + "".join(_cell(value) for value in row.values()) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    return f"<td>{escape(value)}</td>" if isinstance(value, str) else f'<td class="n">{value:.4g}</td>'


def _moves(result: Retrieval) -> str:
    """For each system the queries that gained and lost most against the baseline."""
    parts = []
    for score in result.scores:
        gained, lost = moved_most(result, score)
        if not gained and not lost:
            continue
        items = [
            f'<li class="{"up" if gain > 0 else "down"}">{gain:+.3f} {escape(result.collection.queries[query])}</li>'
            for query, gain in (*gained, *lost)
        ]
        name = escape(f"{score.system}: queries that moved most against {result.baseline}")
        parts.append(f"<details><summary>{name}</summary><ul>{''.join(items)}</ul></details>")
    return "".join(parts)
