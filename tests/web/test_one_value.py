"""A pair of texts has one value, whoever is asked: Python, the command line, or the service."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import wordferry

TEXTS = "Volunteers repair old software in Chicago", "Helpers fix ancient code and print the press in Illinois"
NAMES = ["rel-rwmd", "rel-wmd", "wmd", "rwmd", "wcd", "cosine"]


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


def test_a_hit_is_explained_with_the_value_it_was_found_by(reader: Any) -> None:
    """A comparison uses the related words of its collection, and so does the reason for one of its hits."""
    counted = reader.post("/api/search", json={"texts": [TEXTS[0]], "k": 1, "distance": "rel-rwmd"}).json()["results"][
        0
    ]
    weighed = reader.post("/api/similar", json={"like": {"text": TEXTS[0]}, "k": 1}).json()
    for found, plain in ((counted, True), (weighed, False)):
        (hit,) = found["hits"]
        body = {"a": {"text": TEXTS[0]}, "b": {"id": hit["id"]}, "plain": plain}
        assert reader.post("/api/explain", json=body).json()["value"] == pytest.approx(hit["distance"], abs=1e-6)


@pytest.mark.parametrize("weights", [None, "idf", "log-idf", "bm25", "counts"])
@pytest.mark.parametrize("unknown", [None, "match", "drop"])
def test_documents_like_a_text_have_one_distance(
    reader: Any, built_index: Any, weights: str | None, unknown: str | None
) -> None:
    """Python and the service, with the index's own weights or others; and the explanation of each hit has it too."""
    said = {name: value for name, value in (("weights", weights), ("unknown", unknown)) if value}
    with wordferry.Index.open(built_index) as index:
        expected = [(hit.id, hit.distance) for hit in index.similar(TEXTS[0], 4, **said)]
    hits = reader.post("/api/similar", json={"like": {"text": TEXTS[0]}, "k": 4, **said}).json()["hits"]
    assert [(hit["id"], hit["distance"]) for hit in hits] == expected
    for hit in hits[:2]:
        told = reader.post("/api/explain", json={"a": {"text": TEXTS[0]}, "b": {"id": hit["id"]}, **said}).json()
        assert told["value"] == pytest.approx(hit["distance"], abs=1e-6)
        assert sum(flow["cost"] for flow in told["flows"]) == pytest.approx(hit["distance"], abs=1e-5)


def test_the_command_line_finds_the_same_documents_at_the_same_distance(built_index: Any) -> None:
    with wordferry.Index.open(built_index) as index:
        for said in ({}, {"weights": "bm25", "unknown": "drop"}):
            options = [part for name, value in said.items() for part in (f"--{name}", value)]
            rows = command("similar", str(built_index), TEXTS[0], "-k", "3", *options)
            expected = [(hit.id, hit.distance) for hit in index.similar(TEXTS[0], 3, **said)]
            assert [(row["id"], row["distance"]) for row in rows] == expected
        rows = command("search", str(built_index), TEXTS[0], "-k", "3")
        assert [(row["id"], row["score"]) for row in rows] == [(hit.id, hit.score) for hit in index.search(TEXTS[0], 3)]
