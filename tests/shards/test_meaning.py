"""Shards with an encoder answer as the undivided index does, to the bit."""

from __future__ import annotations

import json

import pytest

import wordferry
from tests.encoders.hashing import hashed
from tests.shards.conftest import documents
from wordferry.errors import InputError
from wordferry.index import Index
from wordferry.shards import Choices, build, jobs

pytest.importorskip("wordllama", reason="wordllama is not installed")
RECENT = {"year": {"gte": 1993}}
QUERIES = ("teaching music in prison", "animals that sleep through the winter", "the price of oil", "xylophone")


@pytest.fixture(scope="module")
def both(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("meaning")
    build(source, folder / "shards", 3, Choices(encoder="wordllama"))
    with (
        wordferry.Index.create(folder / "whole", encoder="wordllama") as whole,
        Index.open(folder / "shards") as shards,
    ):
        whole.add(documents(source))
        yield whole, shards


def hits(index: Index, query: str, **options: object) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in index.search(query, 30, **options)]


def test_scores_and_order_are_those_of_the_undivided_index(both) -> None:
    whole, shards = both
    for query in QUERIES:
        assert hits(shards, query) == hits(whole, query)
        assert hits(shards, query, filter=RECENT) == hits(whole, query, filter=RECENT)
        assert hits(shards, query, lift=0, meaning=5) == hits(whole, query, lift=0, meaning=5)
        assert hits(shards, query, meaning=0) == hits(whole, query, meaning=0)
    assert shards.search(QUERIES[0]).method == "words and meaning"


def test_explanations_are_equal_and_sum_to_the_score(both) -> None:
    whole, shards = both
    for query in QUERIES[:2]:
        for one, other in zip(whole.search(query, 10), shards.search(query, 10), strict=True):
            told = other.explain()
            assert told.to_json() | {"neighbours": ()} == one.explain().to_json() | {"neighbours": ()}
            parts = sum(part.part for part in (*told.words, *told.neighbours)) + told.meaning.part
            assert parts == pytest.approx(other.score, abs=1e-9)


def test_similar_by_meaning(both) -> None:
    id = both[0].page(5)[4].id
    for options in ({"query": QUERIES[0]}, {"id": id}, {"query": QUERIES[2], "filter": RECENT}):
        found = [[(hit.id, hit.distance) for hit in one.similar(k=20, by="meaning", **options)] for one in both]
        assert found[0] == found[1]
        assert len(found[0]) == 20


def test_a_job_finds_what_the_index_finds(both, tmp_path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    whole, shards = both
    file = tmp_path / "queries.jsonl"
    file.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(QUERIES[:3])))
    jobs.search(str(shards.path), str(file), tmp_path / "out", 20)
    rows = [
        row for part in sorted((tmp_path / "out").glob("*.parquet")) for row in parquet.read_table(part).to_pylist()
    ]
    for row, query in zip(rows, QUERIES, strict=False):
        assert list(zip(row["neighbors"], row["scores"], strict=True)) == hits(whole, query)[:20]


def test_another_encoder_is_refused(both) -> None:
    with pytest.raises(InputError, match="was made with the encoder wordllama"):
        Index.open(both[1].path, encoder=hashed)
    both[1].verify()
