"""Results as notebooks show them."""

from __future__ import annotations

import numpy as np

import wordferry
from wordferry.base.frames import html_table


def test_tables_are_escaped_shortened_and_cut():
    shown = html_table({"text": ["<b>" + "x" * 500] * 30, "distance": [0.5] * 30, "n": [1] * 30, "none": [None] * 30})
    assert "<b>" not in shown
    assert "x" * 201 not in shown
    assert shown.count("<tr>") == 21
    assert "10 more rows" in shown
    assert "0.5000" in shown


def test_every_result_shows_itself(tmp_path):
    texts = wordferry.sample().texts[:30]
    near = wordferry.top_k(texts[:2], texts, 3)
    assert "<table" in near._repr_html_()
    shown = wordferry.explain("Obama speaks to the media", "The president greets the press")._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<svg" not in shown
    assert "&lt;svg" in shown
    related = wordferry.RelatedWords.build(wordferry.default_embeddings().restrict(np.arange(100)), 4)
    assert "related per word" in related._repr_html_()
    with wordferry.Index.create(tmp_path / "few") as index:
        index.add(texts)
        assert "<table" in index.search("planet")._repr_html_()
        assert "<table" in index.duplicates(0.9)._repr_html_()
