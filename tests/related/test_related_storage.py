"""Saving and loading related words."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.mapped import is_mapped

from wordferry import Embeddings, RelatedWords
from wordferry.errors import FormatError, InputError
from wordferry.words.related.build import Work


@pytest.fixture
def embeddings():
    return Embeddings([f"w{i}" for i in range(40)], np.random.default_rng(2).standard_normal((40, 6)))


@pytest.mark.parametrize("r", [3, 60])
def test_round_trip(embeddings, tmp_path, r):
    related = RelatedWords.build(embeddings, r)
    related.save(tmp_path / "related")
    loaded = RelatedWords.load(tmp_path / "related", verify=True)
    assert loaded.vocabulary == related.vocabulary
    assert loaded.record == related.record
    assert loaded.fingerprint == related.fingerprint
    assert loaded.c_max == pytest.approx(related.c_max, rel=0, abs=0, nan_ok=True)
    assert (loaded.own == related.own).all()
    assert (loaded.own_distances == related.own_distances).all()
    assert (loaded.graph != related.graph).nnz == 0
    assert is_mapped(loaded.own)
    small = loaded.restrict(2)
    assert (small.graph != related.restrict(2).graph).nnz == 0
    assert (
        loaded.rows_for(embeddings.matrix[:3], embeddings) != related.rows_for(embeddings.matrix[:3], embeddings)
    ).nnz == 0


def test_loaded_words_extend(embeddings, tmp_path):
    RelatedWords.build(embeddings.restrict(np.arange(25)), 4).save(tmp_path / "related")
    grown = RelatedWords.load(tmp_path / "related").extend(embeddings)
    assert (grown.own == RelatedWords.build(embeddings, 4).own).all()


def test_one_word(tmp_path):
    related = RelatedWords.build(Embeddings(["only"], [[1.0, 2.0]]), 3)
    related.save(tmp_path / "one")
    assert RelatedWords.load(tmp_path / "one").graph.shape == (1, 1)


def test_existing_folder_is_kept(embeddings, tmp_path):
    related = RelatedWords.build(embeddings, 2)
    related.save(tmp_path / "related")
    with pytest.raises(InputError, match="exists"):
        related.save(tmp_path / "related")
    related.restrict(1).save(tmp_path / "related", overwrite=True)
    assert RelatedWords.load(tmp_path / "related").r == 1


def test_wrong_kind(embeddings, tmp_path):
    embeddings.save(tmp_path / "vectors")
    with pytest.raises(FormatError, match="embeddings"):
        RelatedWords.load(tmp_path / "vectors")


def test_a_fingerprint_may_be_found_later(tmp_path: Path) -> None:
    """What an index extends is saved, checked and pickled with the fingerprint of all of its words."""
    rng = np.random.default_rng(3)
    whole = Embeddings([f"w{i}" for i in range(40)], rng.normal(size=(40, 5)))
    start = RelatedWords.build(whole.restrict(np.arange(30)), 4)
    work = Work.checked(1 << 20, 1, None)
    made = start.extended(whole, work, lambda: whole.fingerprint)
    asked = start.extend(whole)
    assert pickle.loads(pickle.dumps(start.extended(whole, work, lambda: whole.fingerprint))).fingerprint == (
        asked.fingerprint
    )
    made.save(tmp_path / "made")
    assert RelatedWords.load(tmp_path / "made").fingerprint == asked.fingerprint == whole.fingerprint
    np.testing.assert_array_equal(made.own, asked.own)
