"""All benchmarks on one page of the documentation: python benchmarks/report.py (or make bench-report).

Reads ``benchmarks/results/*.jsonl``. Writes ``docs/reference/benchmarks.md``, its charts in ``docs/_static``, and the
table of the README. First wordferry beside its peers (the last run of benchmarks/peers.py), then the history of each
benchmark; every table says which machine, versions, commit and data it comes from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness import RESULTS, ROOT

PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
CHART = ROOT / "docs" / "_static" / "history.svg"
SHOWN = 5
"""How many of the last runs of a benchmark are in its table."""
HEAD = """# Benchmarks

Made by `make bench-report` from `benchmarks/results/`, where `python benchmarks/NAME.py --save` appends one line per
run; `make bench` runs them all, with every peer that can be installed. Figures of quality on larger collections are on
[the page on which one to take](../explanation/which.md), each with the command that prints it.
"""
PEERS = """
## Beside others

`python benchmarks/peers.py`: how well each library finds the right of 637 articles for 120 judged queries (nDCG@10,
1 is perfect), the processor time to index the articles and answer the queries, and the processor time of one exact Word
Mover's Distance. Values of POT and gensim are compared with ours first. A library without a figure does not do that.
"""
HISTORY = """
## History

Each column is a run, with its date and commit (a `+` means that files differed from it). Runs on different machines or
on other data are not comparable; what a run was made on stands under its table.
"""
README = ROOT / "README.md"
TITLES = {
    "wordferry": "**wordferry**",
    "bm25s": "bm25s, with a stemmer",
    "scikit-learn": "scikit-learn, tf-idf and cosine",
    "wordllama": "wordllama, a small sentence encoder",
    "sentence-transformers": "a sentence-transformers model",
    "POT": "POT",
    "gensim": "gensim",
}
FIGURES = ("nDCG@10", "index and answer, cpu s", "exact wmd, cpu us per pair")


def runs_of(file: Path) -> list[dict[str, Any]]:
    """The runs of one benchmark, oldest first."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return sorted((json.loads(line) for line in lines if line.strip()), key=lambda run: str(run["date"]))


def table(name: str, runs: list[dict[str, Any]]) -> Iterable[str]:
    """The last runs side by side, and what they were made on."""
    last = runs[-SHOWN:]
    keys = list(dict.fromkeys(key for run in reversed(last) for key in run["values"]))
    yield f"\n### {name}\n"
    yield "| figure | " + " | ".join(f"{run['date'][:10]} {run['commit']}" for run in last) + " |"
    yield "|---|" + "---:|" * len(last)
    for key in keys:
        yield f"| {key} | " + " | ".join(shown(run["values"].get(key)) for run in last) + " |"
    yield ""
    for about in dict.fromkeys(made_on(run) for run in last):
        yield f"Made on {about}.\n"


def made_on(run: dict[str, Any]) -> str:
    """The machine and the data of a run."""
    machine = run["machine"]
    facts = f"{machine['processor']}, {machine['kernels']} kernels, Python {machine['python']}"
    return f"{facts}; {run['data']}" if "data" in run else facts


def peers_table(run: dict[str, Any]) -> list[str]:
    """The libraries side by side, as lines of Markdown; the README has the same."""
    lines = ["| | finds, nDCG@10 | indexes and answers | one exact WMD |", "|---|---:|---:|---:|"]
    for name, title in TITLES.items():
        quality, seconds, pair = (run["values"].get(f"{name}: {figure}") for figure in FIGURES)
        cells = [
            "" if quality is None else f"{quality:.3f}",
            "" if seconds is None else f"{shown(1e3 * seconds)} ms",
            "" if pair is None else f"{shown(pair)} µs",
        ]
        if any(cells):
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def peers_section(run: dict[str, Any], drawn: Path) -> list[str]:
    """The table, its picture, and what they come from."""
    packages = ", ".join(f"{name} {version}" for name, version in run["machine"].get("packages", {}).items())
    about = f"{run['date'][:10]}, commit {run['commit']}, load {run.get('load')} at the start. {packages}."
    picture = f"\n![Quality and speed of each library](../_static/{drawn.name})\n"
    return [PEERS, *peers_table(run), picture, f"Made on {made_on(run)}. {about}"]


def peers_chart(run: dict[str, Any], path: Path) -> None:
    """Three panels of bars, one for each figure."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(FIGURES), figsize=(11, 2.6))
    for place, name in zip(axes, FIGURES, strict=True):
        found = {key: run["values"].get(f"{key}: {name}") for key in TITLES}
        bars = {key: value for key, value in reversed(found.items()) if value is not None}
        colours = ["#0f766e" if key == "wordferry" else "#b0b0b0" for key in bars]
        place.barh(list(bars), list(bars.values()), color=colours)
        place.bar_label(place.containers[0], labels=[shown(value) for value in bars.values()], padding=3, fontsize=8)
        place.set(title=name + (" (more is better)" if name == FIGURES[0] else " (less is better)"))
        place.title.set_fontsize(9)
        place.margins(x=0.2)
        place.spines[["top", "right"]].set_visible(False)
        place.tick_params(labelsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # text as text: small files
    matplotlib.rcParams["svg.hashsalt"] = "wordferry"
    import matplotlib.pyplot as plt

    return plt


def readme_with(text: str, table: list[str]) -> str:
    """The README with a new table between its marks."""
    start, end = "<!-- peers: make bench-report -->\n", "<!-- end of peers -->"
    before, _, rest = text.partition(start)
    return f"{before}{start}{chr(10).join(table)}\n{end}{rest.partition(end)[2]}" if rest else text


def shown(value: Any) -> str:
    """Three digits that count."""
    if value is None or not isinstance(value, int | float) or not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def chart(histories: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Every figure relative to its first run, one panel per benchmark that has run more than once."""
    plt = _pyplot()
    figure, axes = plt.subplots(len(histories), 1, figsize=(8, 2.6 * len(histories)), squeeze=False)
    for place, (name, runs) in zip(axes[:, 0], histories.items(), strict=True):
        for key in runs[0]["values"]:
            points = [(i, run["values"][key]) for i, run in enumerate(runs) if key in run["values"]]
            if len(points) > 1 and points[0][1] > 0:
                place.plot([i for i, _ in points], [value / points[0][1] for _, value in points], marker="o", alpha=0.6)
        place.set(title=name, ylabel="relative to the first run", yscale="log")
        place.set_xticks(range(len(runs)), [f"{run['date'][:10]}\n{run['commit']}" for run in runs], fontsize=7)
        place.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def write(results: Path, page: Path, drawn: Path) -> None:
    """The page, and the charts where there is something to draw."""
    histories = {file.stem: runs_of(file) for file in sorted(results.glob("*.jsonl"))}
    lines = [HEAD]
    if peers := histories.get("peers"):
        beside = drawn.with_name("peers.svg")
        peers_chart(peers[-1], beside)
        lines += peers_section(peers[-1], beside)
    lines.append(HISTORY)
    several = {name: runs for name, runs in histories.items() if len(runs) > 1}
    if several:
        chart(several, drawn)
        lines.append(f"\n![every figure relative to its first run](../_static/{drawn.name})")
    for name, runs in histories.items():
        lines += table(name, runs)
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(RESULTS, PAGE, CHART)
    if (RESULTS / "peers.jsonl").exists():
        table_of_peers = peers_table(runs_of(RESULTS / "peers.jsonl")[-1])
        README.write_text(readme_with(README.read_text(encoding="utf-8"), table_of_peers), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
