"""Texts that are not valid Unicode: half a pair of surrogates, as broken decoders leave them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wordferry import Embeddings, distance, encode, explain, pairwise, top_k
from wordferry.errors import InputError
from wordferry.index import Index

BROKEN = "a cat \ud800 sleeps, ca\udcfft"


def test_texts_with_half_pairs_are_compared():
    assert encode([BROKEN]).sum() >= 2
    assert np.isfinite(pairwise([BROKEN], ["a dog rests"])).all()
    assert top_k([BROKEN], ["a dog rests", BROKEN], 1).indices.tolist() == [[1]]
    assert distance(BROKEN, BROKEN) == 0


def test_explanations_of_half_pairs_can_be_written(tmp_path):
    found = explain(["cat", "\ud800"], ["dog", "x\udcff"])
    assert json.loads(found.to_json())["name"] == "wmd"
    found.to_html(tmp_path / "page.html")
    assert "cat" in (tmp_path / "page.html").read_text(encoding="utf-8")
    found.to_text().encode("utf-8")


def test_an_index_refuses_half_pairs_by_document(tmp_path):
    with Index.create(tmp_path / "index") as index:
        for documents in (
            [BROKEN],
            [["cat", "\ud800"]],
            [{"text": "a cat", "id": "\ud800"}],
            [{"text": "a", "k": "\ud800"}],
        ):
            with pytest.raises(InputError, match=r"Document 0.*valid Unicode"):
                index.add(documents)
        index.add(["a cat sleeps"])
        assert index.search(BROKEN, k=1)[0].text == "a cat sleeps"


def test_vectors_of_half_pairs_are_not_saved(tmp_path):
    embeddings = Embeddings(["cat", "\ud800"], np.eye(2))
    assert len(embeddings.fingerprint) == 16
    with pytest.raises(InputError, match="UTF-8"):
        embeddings.save(tmp_path / "v")
