"""Explanations: the costs of the rows sum to the distance, for every distance, and every form shows the same rows."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import wordferry
from tests.transport.helpers import random_counts, random_embeddings
from wordferry.compare.calls import explain
from wordferry.errors import EmptyDocumentError
from wordferry.words.related.graph import RelatedWords

EMBEDDINGS = random_embeddings(60, 8, seed=4)
RELATED = RelatedWords.build(EMBEDDINGS, 4)
CASES = [
    (record.name, overlap, side)
    for record in wordferry.DISTANCES.values()
    for overlap in (record.overlaps or (None,))
    for side in (("both", "left", "right") if record.sided else ("both",))
]


def options(name, overlap, side):
    related = RELATED if wordferry.DISTANCES[name].needs_related else None
    return {"embeddings": EMBEDDINGS, "related": related, "overlap": overlap, "side": side}


@pytest.mark.parametrize(("name", "overlap", "side"), CASES)
def test_costs_sum_to_the_distance(name, overlap, side):
    X, Y = random_counts(8, 60, 9, seed=1), random_counts(8, 60, 9, seed=2)
    for i in range(8):
        found = explain(X[[i]], Y[[i]], name, **options(name, overlap, side))
        value = wordferry.distance(X[[i]], Y[[i]], name, **options(name, overlap, side))
        assert found.distance == pytest.approx(value, abs=2e-6)
        assert math.fsum(row.cost for row in found.rows) == pytest.approx(found.distance, abs=1e-12)
        if found.distance:
            assert math.fsum(row.share for row in found.rows) == pytest.approx(1)
        if name != "wcd":
            for row in found.rows:
                assert row.cost == pytest.approx(row.mass * row.distance, abs=1e-12)
                assert row.mass >= 0


@pytest.mark.parametrize("name", ["wmd", "rel-wmd"])
def test_a_plan_moves_all_mass_of_both_documents(name):
    X, Y = random_counts(6, 60, 9, seed=7), random_counts(6, 60, 9, seed=8)
    for i in range(6):
        found = explain(X[[i]], Y[[i]], name, **options(name, None, "both"))
        for side, bag in (("source", found.a), ("target", found.b)):
            moved = dict.fromkeys(bag, 0.0)
            for row in found.rows:
                moved[getattr(row, side)] += row.mass
            assert moved == pytest.approx(bag)


def test_kinds_of_related_costs():
    X, Y = random_counts(6, 60, 12, seed=7), random_counts(6, 60, 12, seed=8)
    kinds = set()
    for i in range(6):
        found = explain(X[[i]], Y[[i]], "rel-wmd", **options("rel-wmd", None, "both"))
        for row in found.rows:
            kinds.add(row.kind)
            assert (row.kind == "same") == (row.source == row.target)
            if row.kind == "c_max":
                assert row.distance == pytest.approx(RELATED.c_max)
            if row.kind == "related":
                assert row.target in dict(RELATED.neighbors(row.source))
    assert kinds == {"same", "related", "c_max"}


def test_equal_documents():
    found = explain(["w1", "w2", "w2"], ["w2", "w1", "w2"], "wmd", embeddings=EMBEDDINGS)
    assert found.distance == 0
    assert {row.kind for row in found.rows} == {"same"}
    assert "wmd = 0.000000" in str(found)


def test_no_known_word():
    with pytest.raises(EmptyDocumentError):
        explain(["w1"], ["nothing"], embeddings=EMBEDDINGS, unknown="drop")


def test_rows_json_and_text_agree():
    found = explain("Obama speaks to the media in Illinois", "The president greets the press in Chicago")
    data = json.loads(found.to_json())
    assert data["rows"] == found.to_rows()
    assert data["distance"] == pytest.approx(
        wordferry.distance("Obama speaks to the media in Illinois", "The president greets the press in Chicago"),
        abs=1e-6,
    )
    assert set(data["rows"][0]) == {"from", "to", "mass", "distance", "cost", "share", "kind"}
    lines = str(found).splitlines()
    assert len(lines) == 2 + len(found.rows)
    assert lines[2].startswith(found.rows[0].source)
    assert "more rows" in found.to_text(limit=1)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href")]


def test_page_stands_alone_and_escapes_words(tmp_path):
    nasty = wordferry.Embeddings(["<script>alert(1)</script>", "&amp;", '"quoted"'], [[1.0, 0], [0, 1.0], [1.0, 1.0]])
    found = explain(["<script>alert(1)</script>", "&amp;"], ['"quoted"'], embeddings=nasty)
    text = found.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    page = Page()
    page.feed(text)
    assert "script" not in page.tags
    assert page.links == []
    assert "http" not in text.replace("http-equiv", "")
    assert page.tags.count("path") == len(found.rows)
    assert page.tags.count("tr") == 1 + len(found.rows)
    assert "prefers-color-scheme: dark" in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("name", ["wmd", "rel-rwmd", "cosine"])
def test_plot(tmp_path, name):
    pytest.importorskip("matplotlib")
    X, Y = random_counts(1, 60, 9, seed=1), random_counts(1, 60, 9, seed=2)
    found = explain(X, Y, name, **options(name, None, "both"))
    figure = found.plot(tmp_path / "flow.png")
    assert (tmp_path / "flow.png").read_bytes().startswith(b"\x89PNG")
    moves = [row for row in found.rows if row.mass > 0]
    assert len(figure.axes[0].patches) == len(moves)


@pytest.mark.parametrize("order", ["import wordferry.explanations.explain", "pass"])
def test_the_public_name_can_be_called_whatever_was_imported_first(order):
    code = f"{order}\nimport wordferry\nprint(wordferry.explain(['king'], ['queen']).distance > 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
