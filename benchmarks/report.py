"""The history of the benchmarks as a page of the documentation: python benchmarks/report.py (or make bench-report).

Reads ``benchmarks/results/*.jsonl`` and writes ``docs/reference/benchmarks.md`` and ``docs/_static/history.svg``.
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
"""The last so many runs of a benchmark are in its table."""
HEAD = """# Benchmark history

Made by `make bench-report` from `benchmarks/results/`, where `python benchmarks/NAME.py --save` appends one line per
run. Each column is a run, with its date and commit (a `+` means that files differed from it). Runs on different
machines or on other data are not comparable; what a run was made on stands under its table.
"""


def runs_of(file: Path) -> list[dict[str, Any]]:
    """The runs of one benchmark, oldest first."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return sorted((json.loads(line) for line in lines if line.strip()), key=lambda run: str(run["date"]))


def table(name: str, runs: list[dict[str, Any]]) -> Iterable[str]:
    """The last runs side by side, and what they were made on."""
    last = runs[-SHOWN:]
    keys = list(dict.fromkeys(key for run in reversed(last) for key in run["values"]))
    yield f"\n## {name}\n"
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


def shown(value: Any) -> str:
    """Three digits that count."""
    if value is None or not isinstance(value, int | float) or not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def chart(histories: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Every figure relative to its first run, one panel per benchmark that has run more than once."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

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
    """The page, and the chart where there is a history to draw."""
    histories = {file.stem: runs_of(file) for file in sorted(results.glob("*.jsonl"))}
    lines = [HEAD]
    several = {name: runs for name, runs in histories.items() if len(runs) > 1}
    if several:
        chart(several, drawn)
        lines.append(f"\n![every figure relative to its first run](../_static/{drawn.name})")
    for name, runs in histories.items():
        lines += table(name, runs)
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(RESULTS, PAGE, CHART)
    print(f"wrote {PAGE.relative_to(ROOT)}")
