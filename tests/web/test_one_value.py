"""A pair of texts has one value, whoever is asked: Python, the command line, or the service."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wordferry
from wordferry.web.models import EXPLAINED

ASKED = "Volunteers repair the old xyzzyq software in Chicago"
TEXTS = "Volunteers repair old software in Chicago", "Helpers fix ancient code and print the press in Illinois"
NAMES = ["rel-rwmd", "rel-wmd", "wmd", "rwmd", "wcd", "cosine"]


@pytest.fixture(scope="module")
def opened(built_index: Path) -> Iterator[wordferry.Index]:
    with wordferry.Index.open(built_index) as index:
        yield index


def command(*arguments: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "wordferry", *arguments, "--json"], capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_distances_agree_to_the_last_digit(reader: Any) -> None:
    expected = {name: wordferry.distance(*TEXTS, name) for name in NAMES}
    measures = {name: wordferry.Measure(name) for name in NAMES}
    assert {name: measure.pair(*TEXTS) for name, measure in measures.items()} == expected
    assert {name: float(measure.paired(TEXTS[:1], TEXTS[1:])[0]) for name, measure in measures.items()} == expected
    rows = command("distance", *TEXTS, "--all")
    assert {row["distance"]: row["value"] for row in rows if row["distance"] in NAMES} == expected
    answer = reader.post("/api/distance", json={"a": TEXTS[0], "b": TEXTS[1], "distances": NAMES})
    assert answer.json()["values"] == expected


@pytest.mark.parametrize("name", ["rel-rwmd", "rel-wmd", "wmd"])
def test_explanations_agree_to_the_last_digit(reader: Any, name: str) -> None:
    expected = wordferry.explain(*TEXTS, name)
    assert expected.distance == pytest.approx(wordferry.distance(*TEXTS, name), abs=1e-6)
    assert command("explain", *TEXTS, "-d", name) == expected.to_rows()
    body = {"a": {"text": TEXTS[0]}, "b": {"text": TEXTS[1]}, "distance": name}
    answer = reader.post("/api/explain", json=body).json()
    assert answer["value"] == expected.distance
    assert sorted(flow["cost"] for flow in answer["flows"]) == sorted(row.cost for row in expected.rows)


HOW = [
    {"distance": distance, "weights": weights, "unknown": unknown}
    for distance in EXPLAINED
    for weights in (None, "idf", "log-idf", "bm25", "norm", "counts")
    for unknown in (None, "match", "drop")
]


@pytest.mark.parametrize("how", HOW, ids=lambda how: "-".join(value or "own" for value in how.values()))
def test_a_hit_is_explained_with_the_value_it_was_found_by(reader: Any, opened: wordferry.Index, how: Any) -> None:
    """Every route that finds documents by a distance, and every option: Python's distance, and the explanation's."""
    said = {name: value for name, value in how.items() if value}
    expected = [(hit.id, hit.distance) for hit in opened.similar([ASKED], 4, **said)[0]]
    searched = reader.post("/api/search", json={"texts": [ASKED], "k": 4, **said}).json()["results"][0]["hits"]
    similar = reader.post("/api/similar", json={"like": {"text": ASKED}, "k": 4, **said}).json()["hits"]
    for hits in (searched, similar):
        assert [(hit["id"], hit["distance"]) for hit in hits] == expected
    for id, distance in expected[:2]:
        told = reader.post("/api/explain", json={"a": {"text": ASKED}, "b": {"id": id}, **said}).json()
        assert told["value"] == pytest.approx(distance, abs=1e-6)
        assert sum(flow["cost"] for flow in told["flows"]) == pytest.approx(distance, abs=1e-5)
    like = {"id": "computing-01"}
    (hit,) = reader.post("/api/similar", json={"like": like, "k": 1, **said}).json()["hits"]
    told = reader.post("/api/explain", json={"a": like, "b": {"id": hit["id"]}, **said}).json()
    assert told["value"] == pytest.approx(hit["distance"], abs=1e-6)


def test_the_command_line_finds_the_same_documents_at_the_same_distance(built_index: Any) -> None:
    with wordferry.Index.open(built_index) as index:
        for said in ({}, {"weights": "bm25", "unknown": "drop"}):
            options = [part for name, value in said.items() for part in (f"--{name}", value)]
            rows = command("similar", str(built_index), TEXTS[0], "-k", "3", *options)
            expected = [(hit.id, hit.distance) for hit in index.similar(TEXTS[0], 3, **said)]
            assert [(row["id"], row["distance"]) for row in rows] == expected
        rows = command("search", str(built_index), TEXTS[0], "-k", "3")
        assert [(row["id"], row["score"]) for row in rows] == [(hit.id, hit.score) for hit in index.search(TEXTS[0], 3)]
