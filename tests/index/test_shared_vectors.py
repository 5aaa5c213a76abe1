"""The default vectors are in the package: an index refers to them, and says so when they are not the same."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import wordferry
from tests.index.collection import embeddings
from wordferry import Index
from wordferry.errors import InputError, VocabularyMismatch
from wordferry.index.storage.catalogue import Catalogue

DOCUMENTS = [{"id": "a", "text": "the cat sat on the mat"}, {"id": "b", "text": "stock prices fell sharply"}]


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("given", [None, "same"])
def test_two_documents_cost_little(tmp_path: Path, given: Any) -> None:
    vectors = wordferry.default_embeddings() if given else None
    with Index.create(tmp_path / "small", embeddings=vectors) as index:
        index.add(DOCUMENTS)
        hits = index.similar("kittens on rugs", 2)
        assert index.verify().documents == 2
        assert index.stats().bytes_embeddings == 0
    assert size(tmp_path / "small") < 200_000
    with Index.create(tmp_path / "whole", keep="copy") as index:
        index.add(DOCUMENTS)
        assert index.similar("kittens on rugs", 2) == hits
    assert size(tmp_path / "whole") > 20_000_000
    with Index.open(tmp_path / "small") as index:
        assert index.similar("kittens on rugs", 2) == hits
        assert index.embeddings is wordferry.default_embeddings()


def test_words_that_no_document_has_are_related_to_each_other(tmp_path: Path) -> None:
    with Index.create(tmp_path / "small") as index:
        index.add(DOCUMENTS)
        one, two = index.similar(["violin", "violins"], 2)
        assert index.similar("violin concerto", 1)
    assert {hit.id for hit in one} == {hit.id for hit in two}


def test_vectors_of_ones_own_are_copied(tmp_path: Path) -> None:
    with Index.create(tmp_path / "own", embeddings=embeddings()) as index:
        assert index.config.keep == "copy"
        assert index.stats().bytes_embeddings > 0
    with pytest.raises(InputError, match="keep='package' is for the word vectors that come with wordferry"):
        Index.create(tmp_path / "other", embeddings=embeddings(), keep="package")


def test_other_vectors_in_the_package_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with Index.create(tmp_path / "small") as index:
        index.add(DOCUMENTS)
    with Catalogue(tmp_path / "small").writing() as connection:
        config = connection.meta("config")
        config["package"] |= {"sha256": "0" * 64, "version": "0.0.7"}
        connection.set_meta("config", config)
    with pytest.raises(VocabularyMismatch) as refused:
        Index.open(tmp_path / "small")
    said = str(refused.value)
    assert "glove.6B.100d-60k-int8 of wordferry 0.0.7" in said
    assert f"wordferry {wordferry.__version__}, which is installed, has others" in said
    assert "pip install 'wordferry==0.0.7'" in said
    wordferry.default_embeddings().save(tmp_path / "vectors")
    with Index.open(tmp_path / "small", embeddings=tmp_path / "vectors") as index:
        assert len(index) == 2
    with pytest.raises(VocabularyMismatch, match="made with other words"):
        Index.open(tmp_path / "small", embeddings=embeddings())


def test_the_catalogue_names_what_it_needs(tmp_path: Path) -> None:
    with Index.create(tmp_path / "small") as index:
        found = json.loads(json.dumps(asdict(index.config)))["package"]
    assert set(found) == {"name", "sha256", "version"}
    assert len(found["sha256"]) == 64
