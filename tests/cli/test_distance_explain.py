"""wordferry distance and wordferry explain."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import wordferry
from wordferry.cli import app
from wordferry.errors import InputError, NotFound

A, B = "Obama speaks to the media in Illinois", "The president greets the press in Chicago"


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result


def rows(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_one_distance():
    found = rows(run("distance", A, B))
    assert found == [{"distance": "wmd", "value": wordferry.distance(A, B), "title": "Word Mover's Distance"}]


def test_every_distance():
    result = run("distance", A, B, "--all")
    assert [row["distance"] for row in rows(result)] == list(wordferry.DISTANCES)
    values = {row["distance"]: row["value"] for row in rows(result)}
    assert values["rwmd"] <= values["act"] + 1e-5 <= values["wmd"] + 2e-5
    assert values["rel-rwmd"] <= values["rel-wmd"] + 1e-5


def test_texts_from_files(tmp_path):
    (tmp_path / "a.txt").write_text(A)
    (tmp_path / "b.txt").write_text(B)
    found = rows(run("distance", f"@{tmp_path / 'a.txt'}", f"@{tmp_path / 'b.txt'}", "-d", "rwmd"))
    assert found[0]["value"] == pytest.approx(wordferry.distance(A, B, "rwmd"))
    with pytest.raises(NotFound, match="no file"):
        run("distance", "@nowhere.txt", B)


def test_wrong_names():
    with pytest.raises(InputError, match="Choose one of"):
        run("distance", A, B, "-d", "levenshtein")
    with pytest.raises(InputError, match="--overlap belongs to one distance"):
        run("distance", A, B, "--all", "--overlap", "keep")


def test_explain(tmp_path):
    page, picture = tmp_path / "flow.html", tmp_path / "flow.png"
    result = run("explain", A, B, "--html", str(page), "--png", str(picture))
    found = rows(result)
    assert sum(row["cost"] for row in found) == pytest.approx(wordferry.distance(A, B), abs=1e-6)
    assert page.read_text().startswith("<!doctype html>")
    assert picture.stat().st_size > 1000
    assert "wrote" in result.stderr


def test_explain_as_a_table():
    text = run("explain", A, B, "-d", "rel-rwmd", "--table", "--limit", "2").stdout
    assert text.startswith("rel-rwmd = ")
    assert "more rows" in text


def test_explain_by_sentence():
    texts = "The cat sleeps. Prices fell.", "Costs dropped. A kitten rests."
    found = rows(run("explain", *texts, "--by", "sentence"))
    assert [(row["a"], row["b"], row["words"]) for row in found] == [
        ("The cat sleeps.", "A kitten rests.", "sleeps → rests, cat → kitten"),
        ("Prices fell.", "Costs dropped.", "prices → costs, fell → dropped"),
    ]
    assert sum(row["cost"] for row in found) == pytest.approx(wordferry.distance(*texts), abs=1e-6)
    text = run("explain", *texts, "--by", "sentence", "--table", "--limit", "1").stdout
    assert "  → A kitten rests.\n" in text
    assert text.endswith("1 more pairs\n")


def test_explanations_fit_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    a = "Internationalisation engineers discussed constitutional responsibilities. They agreed on almost everything."
    b = "Telecommunications representatives negotiated with administrative organisations. Nobody misunderstood them."
    whole = wordferry.explain(a, b)
    assert max(map(len, whole.to_text().splitlines())) > 80
    for by in ("word", "sentence"):
        text = run("explain", a, b, "--table", "--by", by).stdout
        assert max(map(len, text.splitlines())) <= 80
        assert f"wmd = {whole.distance:.6f}" in text
    assert all(row.kind in line for row, line in zip(whole.rows, whole.to_text(width=60).splitlines()[2:], strict=True))
