"""Queries in files against all shards: the answers of the undivided index, from any number of workers."""

from __future__ import annotations

import json

import pytest

from tests.engines.test_jobs import contents, rows
from wordferry.engines.engine import Local
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.shards.batch import Questions, search

TEXTS = ["the cost of heating", "planets and moons", "football heated qwertz", "loans and rates", "bread", "cats"]


@pytest.fixture(scope="module")
def queries(tmp_path_factory):
    file = tmp_path_factory.mktemp("queries") / "queries.jsonl"
    file.write_text("".join(json.dumps({"id": f"q{n}", "text": text}) + "\n" for n, text in enumerate(TEXTS)))
    return str(file)


def test_words(whole, folder, queries, tmp_path):
    summary = search(str(folder), queries, tmp_path / "out", Questions(k=7, block=4))
    expected = [[(hit.id, hit.score) for hit in hits] for hits in whole.search(TEXTS, 7)]
    found = rows(tmp_path / "out")
    assert [list(zip(row["neighbors"], row["scores"], strict=True)) for row in found] == expected
    assert [row["id"] for row in found] == [f"q{n}" for n in range(len(TEXTS))]
    assert (summary.queries, summary.shards, summary.documents) == (6, 3, len(whole))


@pytest.mark.parametrize(
    "options", [{"similar": True}, {"distance": "rel-rwmd"}, {"similar": True, "rerank": "wmd", "candidates": 12}]
)
def test_distances(whole, folder, queries, tmp_path, options):
    search(str(folder), queries, tmp_path / "out", Questions(k=7, block=4, filter={"year": {"gt": 1991}}, **options))
    given = {key: value for key, value in options.items() if key != "similar"}
    find = whole.similar if "similar" in options else whole.search
    expected = find(TEXTS, 7, filter={"year": {"gt": 1991}}, **given)
    found = rows(tmp_path / "out")
    assert [row["neighbors"] for row in found] == [[hit.id for hit in hits] for hits in expected]
    assert [row["distances"] for row in found] == [[hit.distance for hit in hits] for hits in expected]


def test_processes_and_resuming_give_the_same_bytes(folder, queries, tmp_path):
    search(str(folder), queries, tmp_path / "a", Questions(block=2), keep=True)
    search(str(folder), queries, tmp_path / "b", Questions(block=2), engine=Local(2))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    (tmp_path / "a.job" / "stems-000001-00001.npz").unlink()
    (tmp_path / "a.job" / "found-000002.parquet").unlink()
    again = search(str(folder), queries, tmp_path / "c", Questions(block=2), work=tmp_path / "a.job")
    assert again.tasks - again.resumed == 2
    assert contents(tmp_path / "a") == contents(tmp_path / "c")


def test_bad_questions(folder, queries, tmp_path):
    with pytest.raises(InputError, match="k must be"):
        search(str(folder), queries, tmp_path / "out", Questions(k=0))
    with pytest.raises(InputError, match="constant of word search"):
        search(str(folder), queries, tmp_path / "out", Questions(similar=True, constants={"lift": 0}))
    (tmp_path / "empty.jsonl").write_text('{"id": "a", "text": "cat"}\n{"id": "b", "text": "  "}\n')
    with pytest.raises(EmptyDocumentError, match=r"empty\.jsonl, row 2: the query has no words"):
        search(str(folder), str(tmp_path / "empty.jsonl"), tmp_path / "out")
