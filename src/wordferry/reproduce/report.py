"""The report: ``results.json`` with everything, and one ``index.html`` that needs nothing but itself."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from wordferry.base.storage import write_whole
from wordferry.errors import MissingDependency
from wordferry.reproduce.findings import Finding, findings
from wordferry.reproduce.run import Results
from wordferry.reproduce.summary import Table, tables

_TITLES = {
    "paper": "The experiments of Werner & Laber (2020), run again",
    "fair": "A fair comparison, after Sato, Yamada & Kashima (2022)",
    "learned": "Learned distances beside those that are not, and beside tf-idf",
}
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --good: #1a7f4b; --bad: #b3423a; }
@media (prefers-color-scheme: dark) { :root { --good: #5fd39a; --bad: #ff9a8f; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.6rem; }
p.about { max-width: 60rem; opacity: .8; font-size: .92rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; background: var(--soft); white-space: nowrap; }
td.number, th.number { text-align: right; white-space: nowrap; } td.published { opacity: .62; }
tr:last-child td { border-bottom: 0; } tr.average td { font-weight: 600; border-top: 2px solid var(--line); }
ul.findings { list-style: none; padding: 0; }
ul.findings li { margin: .8rem 0; padding-left: 1rem; border-left: 4px solid; }
li.yes { border-color: var(--good) !important; } li.no { border-color: var(--bad) !important; }
li small { display: block; opacity: .85; } .verdict { font-weight: 600; } li.yes .verdict { color: var(--good); }
li.no .verdict { color: var(--bad); } svg { max-width: 100%; height: auto; } figure { margin: 1rem 0; }
figcaption { font-size: .88rem; opacity: .8; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { opacity: .7; } dd { margin: 0; }
"""


def write_report(results: Results, folder: Path) -> None:
    """Write ``results.json``, ``index.html`` and the charts as PNG files."""
    protocol = results.plan.protocol
    made = tables(results.cells, protocol)
    said = findings(results.cells, protocol)
    data = results.to_json()
    data["tables"] = [table.to_json() for table in made]
    data["findings"] = [finding.to_json() for finding in said]
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "results.json", json.dumps(data, indent=1, allow_nan=True).encode())
    write_whole(folder / "index.html", page(results, made, said, _charts(results, folder)).encode())


def page(results: Results, made: list[Table], said: list[Finding], charts: dict[str, str]) -> str:
    """The whole page: findings first, then tables and charts, then the machine."""
    title = _TITLES[results.plan.protocol]
    charts = dict(charts)
    parts = [f"<h1>{html.escape(title)}</h1>", _intro(results), "<h2>What came out</h2>", _findings(said)]
    for table in made:
        parts += [f"<h2>{html.escape(table.title)}</h2>", charts.pop(table.title, ""), _table(table)]
    if charts:
        parts += ["<h2>The paper's figures</h2>", *charts.values()]
    parts += ["<h2>The machine</h2>", _machine(results.machine)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )


def _intro(results: Results) -> str:
    data = results.to_json()
    command = f"wordferry reproduce --protocol {results.plan.protocol} -o FOLDER"
    text = (
        f"Made by <code>{command}</code>. Word vectors: {html.escape(str(data['embeddings']))}, scaled to unit length; "
        f"stop words: {html.escape(str(data['stop_words']))} (tweets keep theirs). Numbers in grey are published ones."
    )
    return f'<p class="about">{text}</p>'


def _findings(said: list[Finding]) -> str:
    if not said:
        return "<p>The distances that the claims compare were not all run.</p>"
    items = []
    for finding in said:
        verdict = "holds" if finding.holds else "does not hold here"
        apart = f"<small>Disagrees: {html.escape('; '.join(finding.disagree))}</small>" if finding.disagree else ""
        items.append(
            f'<li class="{"yes" if finding.holds else "no"}">{html.escape(finding.claim)}: '
            f'<span class="verdict">{verdict}</span><small>{html.escape(finding.detail)}</small>{apart}</li>'
        )
    return f'<ul class="findings">{"".join(items)}</ul>'


def _table(table: Table) -> str:
    numeric = [any(isinstance(value, int | float) for value in column) for column in zip(*table.rows, strict=True)]
    head = "".join(_head(name, right) for name, right in zip(table.columns, numeric, strict=True))
    body = []
    for row in table.rows:
        kind = ' class="average"' if row[0] == "average" else ""
        cells = "".join(_cell(name, value, row) for name, value in zip(table.columns, row, strict=True))
        body.append(f"<tr{kind}>{cells}</tr>")
    about = f'<p class="about">{html.escape(table.about)}</p>' if table.about else ""
    return (
        f'{about}<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
    )


def _head(name: str, numeric: bool) -> str:
    return f'<th class="number">{html.escape(name)}</th>' if numeric else f"<th>{html.escape(name)}</th>"


def _cell(column: str, value: Any, row: tuple[Any, ...]) -> str:
    published = column in ("paper", "paper s", "Sato et al.") or str(row[1]).startswith(("paper", "recalled"))
    kinds = ["number"] if isinstance(value, int | float) else []
    kinds += ["published"] if published else []
    seconds = column.endswith(" s") and isinstance(value, float) and value < 1000
    text = f"{value:.2f}" if seconds else shown(value, small=3 if column.startswith("us ") else 2)
    return f'<td class="{" ".join(kinds)}">{html.escape(text)}</td>'


def shown(value: Any, small: int = 2) -> str:
    """A value as people read it, with ``small`` decimals below 100."""
    if value is None:
        return ""
    if isinstance(value, float):
        if value != value:  # NaN
            return "-"
        size = abs(value)
        return f"{value:.1e}" if 0 < size < 1e-3 else f"{value:.{small}f}" if size < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def draw(results: Results) -> dict[str, Any]:
    """Matplotlib figures by the title of the table they belong to, or by their own name."""
    from wordferry.reproduce import charts

    if results.plan.protocol == "learned":
        return {}
    if results.plan.protocol == "fair":
        drawn = {"Fair protocol": charts.fair_chart(results.cells)}
    else:
        drawn = {
            "Test error by distance": charts.error_chart(results.cells),
            "Test error of rel-rwmd by r": charts.r_chart(results.cells),
            **charts.paper_figures(results.cells),
        }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _charts(results: Results, folder: Path) -> dict[str, str]:
    """Charts as parts of the page, and each as a PNG file; without matplotlib the page says so instead."""
    from wordferry.reproduce import charts

    try:
        figures = draw(results)
    except MissingDependency as error:
        return {"none": f'<p class="about">No charts: {html.escape(str(error))}</p>'}
    captions = charts.captions(results.cells)
    made = {}
    for name, figure in figures.items():
        figure.savefig(folder / f"{name.lower().replace(' ', '-')}.png", dpi=150)
        text = html.escape(captions.get(name, name))
        made[name] = f"<figure>{charts.figure_svg(figure, name)}<figcaption>{text}</figcaption></figure>"
    return made


def _machine(facts: dict[str, Any]) -> str:
    rows = []
    for name, value in facts.items():
        text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else shown(value)
        rows.append(f"<dt>{html.escape(name.replace('_', ' '))}</dt><dd>{html.escape(text)}</dd>")
    return f"<dl>{''.join(rows)}</dl>"
