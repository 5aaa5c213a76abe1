"""Shards with an encoder answer as the undivided index does, to the bit."""

from __future__ import annotations

import json

import pytest

import wordferry
from tests.encoders.hashing import hashed
from tests.shards.conftest import documents
from wordferry.engines.sources import SourceFields
from wordferry.errors import FormatError, InputError
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


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_vectors_in_a_column(source, tmp_path, kind) -> None:
    """Shards that are built of documents with vectors are the undivided index, document by document and bit by bit."""
    import numpy as np

    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    made = np.random.default_rng(0).standard_normal((40, 12)).astype(np.float32)
    rows = [
        {"id": one["id"], "text": one["text"], "year": n, "own": None if n in (0, 30) else made[n].tolist()}
        for n, one in enumerate(list(documents(source))[:40])
    ]
    if kind == "parquet":
        parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "docs.parquet", row_group_size=7)
    else:
        (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = SourceFields(vector="own")
    build(str(tmp_path / f"docs.{kind}"), tmp_path / "shards", 3, Choices(fields=fields, block=9))
    with wordferry.Index.create() as whole, Index.open(tmp_path / "shards") as shards:
        whole.add(rows, vectors="own")
        assert [list(shards.backend.vector(id)) for id in whole.ids()] == [
            list(whole.backend.vector(id)) for id in whole.ids()
        ]
        assert shards.get(rows[3]["id"]).metadata == {"year": 3}
        for number, query in enumerate(QUERIES[:3]):
            vector = made[number + 5]
            assert hits(shards, query, vector=vector) == hits(whole, query, vector=vector)
            assert hits(shards, query, vector=vector, filter={"year": {"lt": 9}})
            found = [
                [(hit.id, hit.distance) for hit in one.similar(query, 9, by="meaning", vector=vector)]
                for one in (whole, shards)
            ]
            assert found[0] == found[1]
        several = [one.search(list(QUERIES[:2]), 9, vector=made[:2]) for one in (whole, shards)]
        scores = [[[(hit.id, hit.score) for hit in some] for some in one] for one in several]
        assert scores[0] == scores[1]
        with pytest.raises(InputError, match="no encoder for the query"):
            shards.search(QUERIES[0])
        with pytest.raises(InputError, match="has 5 dimensions"):
            shards.search(QUERIES[0], vector=[1.0] * 5)


def test_a_wrong_vector_is_named_by_its_row(tmp_path) -> None:
    wrong = {
        '{"text": "a dog", "own": [1, 2]}': "row 2: the vector has 2 dimensions, those before it have 3",
        '{"text": "a dog", "own": "x"}': "row 2: the vector must be a list of numbers, got str",
        '{"text": "a dog"}': "row 2: expected a field 'own' with the vector",
    }
    for number, (line, said) in enumerate(wrong.items()):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(f'{{"text": "a cat", "own": [1, 2, 3]}}\n{line}\n')
        with pytest.raises(FormatError, match=said):
            build(str(file), tmp_path / f"shards-{number}", 1, Choices(fields=SourceFields(vector="own")))


def test_another_encoder_is_refused(both) -> None:
    with pytest.raises(InputError, match="was made with the encoder wordllama"):
        Index.open(both[1].path, encoder=hashed)
    both[1].verify()


def test_parts_of_one_file_whose_documents_have_no_vectors_do_not_count(tmp_path) -> None:
    """A long file is counted in parts, and those with vectors say the dimension, wherever they stand."""
    rows = [
        {"id": str(i), "text": f"the {one} barks", "own": [1, 2, 3] if i < 2 else None}
        for i, one in enumerate(("dog", "cat", "horse", "child"))
    ]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    choices = Choices(fields=SourceFields(vector="own"), block=2)
    build(str(tmp_path / "docs.jsonl"), tmp_path / "shards", 1, choices)
    with Index.open(tmp_path / "shards") as shards:
        assert shards.backend.dimension == 3
    rows[3]["own"] = [1, 2]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(FormatError, match=r"vectors of 2 dimensions, and .* of 3"):
        build(str(tmp_path / "docs.jsonl"), tmp_path / "others", 1, choices)
