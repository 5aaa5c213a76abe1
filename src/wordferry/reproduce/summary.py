"""From finished cells to the paper's tables, beside what the papers printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.judge.selection import PAPER_R
from wordferry.reproduce import paper
from wordferry.reproduce.bench import paper_name

Cells = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Table:
    """Rows under named columns; a value is a text, a number, or None where there is nothing to say."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    about: str = ""
    """What the numbers are and where the published ones come from."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "title": self.title,
            "about": self.about,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
        }


class Errors:
    """Test errors by data set and distance, averaged over divisions; ``rel-rwmd`` is with the r that was chosen."""

    def __init__(self, cells: Cells, protocol: str) -> None:
        self.datasets = list(dict.fromkeys(c["dataset"] for c in cells if c["protocol"] == protocol))
        self._values: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
        for cell in cells:
            if cell["protocol"] == protocol and "error" in cell:
                name = f"{cell['distance']} r={cell['r']}" if cell["r"] else cell["distance"]
                self._values.setdefault((cell["dataset"], name), {})[cell["split"]] = cell
        for cell in cells:
            if cell["protocol"] == protocol and cell["r"] == "cv":
                tested = self._values.get((cell["dataset"], f"{cell['distance']} r={cell['chosen']}"), {})
                if cell["split"] in tested:
                    chosen = {**tested[cell["split"]], "chosen": cell["chosen"]}
                    self._values.setdefault((cell["dataset"], f"{cell['distance']} cv"), {})[cell["split"]] = chosen

    def cells(self, dataset: str, name: str) -> list[dict[str, Any]]:
        """The cells of all divisions."""
        return list(self._values.get((dataset, name), {}).values())

    def mean(self, dataset: str, name: str) -> float | None:
        """The error in percent, averaged over divisions."""
        found = [cell["error"] for cell in self.cells(dataset, name)]
        return float(np.mean(found)) if found else None

    def deviation(self, dataset: str, name: str) -> float | None:
        """The standard deviation over divisions; None with fewer than two."""
        found = [cell["error"] for cell in self.cells(dataset, name)]
        return float(np.std(found)) if len(found) > 1 else None

    def average(self, name: str, among: Iterable[str] | None = None) -> float | None:
        """The mean over data sets, when all of them have it."""
        found = [self.mean(dataset, name) for dataset in (self.datasets if among is None else among)]
        values = [value for value in found if value is not None]
        return float(np.mean(values)) if values and len(values) == len(found) else None


PAPER_COLUMNS = ("cosine", "wcd", "wmd", "rwmd", "rel-rwmd cv", "rel-rwmd r=16")


def tables(cells: Cells, protocol: str) -> list[Table]:
    """All tables of a protocol that have something to show."""
    made = [sets_table(cells)]
    if protocol == "paper":
        made += [error_table(cells), time_table(cells), total_table(cells), r_table(cells)]
        made += [choice_table(cells), triplet_table(cells), peer_table(cells)]
    elif protocol == "fair":
        made += [fair_table(cells), total_table(cells)]
    else:
        made += [learned_table(cells), total_table(cells)]
    return [table for table in made if table.rows]


def sets_table(cells: Cells) -> Table:
    """The data sets as they are here."""
    rows = [
        (
            cell["dataset"],
            cell["documents"],
            cell["words"],
            cell["mean_words"],
            cell["classes"],
            cell["splits"],
            100 * cell["coverage"],
            cell["without_known_words"],
            "; ".join(cell["notes"]),
        )
        for cell in cells
        if cell["protocol"] == "facts"
    ]
    columns = ("data set", "documents", "words", "words per document", "classes", "divisions", "coverage %", "left out")
    about = "Words are those with a vector; left out are documents without any. The last column says what differs."
    return Table("Data sets", (*columns, "differs from the paper's"), tuple(rows), about)


def error_table(cells: Cells) -> Table:
    """Table 2 of the paper: ours, and the published value in brackets."""
    errors = Errors(cells, "paper")
    names = [name for name in PAPER_COLUMNS if any(errors.mean(d, name) is not None for d in errors.datasets)]
    rows: list[tuple[Any, ...]] = []
    for dataset in errors.datasets:
        title = paper_name(dataset) or ""
        known = {**paper.ERRORS.get(title, {}), "rel-rwmd r=16": paper.ERRORS_BY_R.get(title, {}).get("16")}
        row: list[Any] = [dataset]
        for name in names:
            row += [errors.mean(dataset, name), known.get(name.removesuffix(" cv"))]
        rows.append(tuple(row))
    if rows:
        average: list[Any] = ["average"]
        for name in names:
            average += [errors.average(name), None]
        rows.append(tuple(average))
    columns = ["data set"]
    for name in names:
        columns += [name, "paper"]
    about = (
        f"Test error in %, 19 neighbours, averaged over divisions. Columns 'paper': {paper.ERROR_TABLE}, "
        "and Table 4 for r = 16; empty where the set is not the paper's."
    )
    return Table("Test error by distance", tuple(columns), tuple(rows), about)


def time_table(cells: Cells) -> Table:
    """Table 3 of the paper, split into preprocessing and distances."""
    errors = Errors(cells, "paper")
    rows = []
    for dataset in errors.datasets:
        known = paper.MINUTES.get(paper_name(dataset) or "", {})
        for name in ("cosine", "wcd", "rwmd", "rel-rwmd r=16", "wmd", "rel-wmd r=16"):
            found = errors.cells(dataset, name)
            if not found:
                continue
            before = float(np.mean([c["seconds"].get("preprocessing", 0.0) for c in found]))
            after = float(np.mean([c["seconds"].get("distances", 0.0) for c in found]))
            pairs = float(np.mean([c["pairs"] for c in found]))
            minutes = known.get(name.partition(" ")[0])
            published = None if minutes is None else 60 * minutes
            cpu = float(np.mean([sum(c["cpu_seconds"].values()) for c in found]))
            rows.append((dataset, name, before, after, cpu, 1e6 * after / pairs, published))
    about = (
        "Seconds on the wall for one division, averaged over divisions; processor seconds are of all threads, for both "
        "steps. Preprocessing is making documents ready and, "
        "for rel-rwmd, building the related words of r = 16 over all words. wmd is the exact 19 nearest, not all "
        f"distances. Last column: {paper.MINUTES_TABLE}, in seconds; rwmd and rel-rwmd are their linear versions."
    )
    columns = ("data set", "distance", "preprocessing s", "distances s", "processor s", "us per pair", "paper s")
    return Table("Run time", columns, tuple(rows), about)


def total_table(cells: Cells) -> Table:
    """What everything together took."""
    sums: dict[str, list[float]] = {}
    for cell in cells:
        if "seconds" in cell:
            task = "choosing r" if cell["r"] == "cv" else cell["distance"]
            row = sums.setdefault(f"{task}{' (triplets)' if cell['protocol'] == 'triplets' else ''}", [0.0] * 4)
            steps, before = cell["seconds"], cell["seconds"].get("preprocessing", 0.0)
            for place, value in enumerate((1, before, sum(steps.values()) - before, sum(cell["cpu_seconds"].values()))):
                row[place] += value
    rows: list[tuple[Any, ...]] = [(name, int(row[0]), *row[1:]) for name, row in sums.items()]
    if rows:
        rows.append(("all", sum(r[1] for r in rows), *(sum(r[i] for r in rows) for i in (2, 3, 4))))
    about = (
        "Sums over data sets and divisions; rel-rwmd is for 8 values of r. Related words are built once a data set and "
        "counted in every result that uses them, so the run itself takes less."
    )
    columns = ("task", "results", "preprocessing s", "the rest s", "processor s")
    return Table("Run time of everything", columns, tuple(rows), about)


def r_table(cells: Cells) -> Table:
    """Table 4 of the paper, for every r."""
    errors = Errors(cells, "paper")
    names = ["rel-rwmd cv", *(f"rel-rwmd r={r}" for r in PAPER_R)]
    rows: list[tuple[Any, ...]] = []
    for dataset in errors.datasets:
        if errors.mean(dataset, names[0]) is None:
            continue
        rows.append((dataset, "here", *(errors.mean(dataset, name) for name in names)))
        known = paper.ERRORS_BY_R.get(paper_name(dataset) or "")
        if known:
            rows.append(
                (dataset, "paper", *(known.get(name.removeprefix("rel-rwmd ").removeprefix("r=")) for name in names))
            )
    if rows:
        rows.append(("average", "here", *(errors.average(name) for name in names)))
    columns = ("data set", "whose", "cv", *(f"r={r}" for r in PAPER_R))
    return Table("Test error of rel-rwmd by r", columns, tuple(rows), f"In %. Published: {paper.ERRORS_BY_R_TABLE}.")


def choice_table(cells: Cells) -> Table:
    """Which r was chosen, and what choosing cost beside one evaluation."""
    errors = Errors(cells, "paper")
    rows = []
    for dataset in errors.datasets:
        chosen = [c for c in cells if c["protocol"] == "paper" and c["dataset"] == dataset and c["r"] == "cv"]
        single = errors.cells(dataset, "rel-rwmd r=16")
        if not chosen or not single:
            continue
        wall = float(np.mean([c["seconds"]["choosing"] for c in chosen]))
        cost = float(np.mean([c["cpu_seconds"]["choosing"] for c in chosen]))
        once = float(np.mean([sum(c["cpu_seconds"].values()) for c in single]))
        values = ", ".join(str(c["chosen"]) for c in chosen)
        rows.append((dataset, values, wall, cost, once, cost / once))
    about = (
        "8 values of r, 5 folds, one graph and shared distances. One evaluation is the test set against the training "
        "set at r = 16, related words included. The last column compares processor seconds of all threads."
    )
    columns = (
        "data set",
        "r chosen, by division",
        "choosing s",
        "choosing, processor s",
        "one evaluation, processor s",
        "times",
    )
    return Table("Choosing r", columns, tuple(rows), about)


def triplet_table(cells: Cells) -> Table:
    """Table 6 of the paper, and the run time."""
    rows = []
    for cell in cells:
        if cell["protocol"] == "triplets":
            closer, smallest = cell["closer"], cell["smallest"]
            seconds = cell["seconds"]
            rows.append(
                (
                    cell["dataset"],
                    cell["distance"],
                    closer["error"],
                    paper.TRIPLETS.get(cell["dataset"], {}).get(cell["distance"]),
                    smallest["error"],
                    closer["solved"] + closer["failed"],
                    closer["empty"],
                    seconds.get("preprocessing", 0.0),
                    seconds.get("distances", 0.0),
                )
            )
    columns = ("set", "distance", "error %", "paper", "error %, smallest of three", "judged", "without words")
    about = (
        f"Solved when d(a,b) < d(a,c). Published: {paper.TRIPLETS_TABLE}, on all "
        f"{paper.TRIPLET_COUNTS['wikipedia']:,} triplets; compare the order of the distances, not the values."
    )
    return Table("Triplets", (*columns, "preprocessing s", "distances s"), tuple(rows), about)


def peer_table(cells: Cells) -> Table:
    """Other libraries on a subsample."""
    rows, sample = [], ""
    for cell in cells:
        if cell["protocol"] == "peers":
            sample = cell["sample"]
            for row in cell["rows"]:
                if row["installed"]:
                    rows.append(
                        (row["library"], row["distance"], row["microseconds_a_pair"], row["largest_difference"])
                    )
                else:
                    rows.append((row["library"], row["distance"], None, "not installed"))
    columns = ("library", "distance", "us per pair", "largest difference to wordferry")
    return Table("Other libraries", columns, tuple(rows), f"All pairs of {sample}.")


def fair_table(cells: Cells) -> Table:
    """The fair protocol: mean and standard deviation over divisions, beside Sato et al."""
    errors = Errors(cells, "fair")
    rows: list[tuple[Any, ...]] = []
    for dataset in errors.datasets:
        known = paper.FAIR_ERRORS.get(paper_name(dataset) or "", {})
        names = dict.fromkeys(c["distance"] for c in cells if c["protocol"] == "fair" and c["dataset"] == dataset)
        for name in names:
            found = errors.cells(dataset, name)
            ks = ", ".join(str(c["k"]) for c in found)
            seconds = float(np.mean([sum(c["seconds"].values()) for c in found]))
            mean, deviation = errors.mean(dataset, name), errors.deviation(dataset, name)
            removed = found[0]["duplicates_removed"]
            rows.append((dataset, name, mean, deviation, known.get(name), ks, removed, seconds))
    about = (
        "Documents with equal bags of words removed but for one; k of 1 to 19 with the lowest error on a fifth of the "
        "training documents; idf and related words from training documents only. Deviation over divisions, where "
        f"there is more than one. Published: {paper.FAIR_TABLE}."
    )
    columns = ("data set", "distance", "error %", "deviation", "Sato et al.", "k, by division", "duplicates", "seconds")
    return Table("Fair protocol", columns, tuple(rows), about)


def learned_table(cells: Cells) -> Table:
    """What is learned from classes beside what is not, and beside the published values."""
    errors = Errors(cells, "learned")
    names = list(dict.fromkeys(c["distance"] for c in cells if c["protocol"] == "learned"))
    rows: list[tuple[Any, ...]] = []
    for dataset in errors.datasets:
        rows.append((dataset, "here", *(errors.mean(dataset, name) for name in names)))
        for source, values in paper.LEARNED_ERRORS.get(paper_name(dataset) or "", {}).items():
            rows.append((dataset, source, *(values.get(name) for name in names)))
    if rows:
        rows.append(("average", "here", *(errors.average(name) for name in names)))
    return Table("Learned from classes", ("data set", "whose", *names), tuple(rows), paper.LEARNED_ABOUT)


def error_rows(cells: Cells, protocol: str) -> list[dict[str, Any]]:
    """Test errors by data set, one column per distance, for the command line."""
    errors = Errors(cells, protocol)
    names = list(PAPER_COLUMNS) if protocol == "paper" else list(dict.fromkeys(c["distance"] for c in cells))
    names = [name for name in names if any(errors.mean(d, name) is not None for d in errors.datasets)]
    rows: list[dict[str, Any]] = [
        {"data set": dataset, **{name: _rounded(errors.mean(dataset, name)) for name in names}}
        for dataset in errors.datasets
    ]
    if len(rows) > 1:
        rows.append({"data set": "average", **{name: _rounded(errors.average(name)) for name in names}})
    return rows


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
