"""Queries in files against all shards: the answers of the undivided index, from any number of workers."""

from __future__ import annotations

import json

import pytest

from tests.engines.test_jobs import contents, rows
from wordferry.engines.engine import Local
from wordferry.errors import EmptyDocumentError, InputError, NotFound
from wordferry.shards import Choices
from wordferry.shards.jobs import search, top_k

TEXTS = ["the cost of heating", "planets and moons", "football heated qwertz", "loans and rates", "bread", "cats"]


@pytest.fixture(scope="module")
def queries(tmp_path_factory):
    file = tmp_path_factory.mktemp("queries") / "queries.jsonl"
    file.write_text("".join(json.dumps({"id": f"q{n}", "text": text}) + "\n" for n, text in enumerate(TEXTS)))
    return str(file)


@pytest.mark.parametrize("constants", [{}, {"candidates": 8, "lift": 0.3}])
def test_words(whole, folder, queries, tmp_path, constants):
    summary = search(str(folder), queries, tmp_path / "out", 7, Choices(block=4), constants=constants)
    expected = [[(hit.id, hit.score) for hit in hits] for hits in whole.search(TEXTS, 7, **constants)]
    found = rows(tmp_path / "out")
    assert [list(zip(row["neighbors"], row["scores"], strict=True)) for row in found] == expected
    assert [row["id"] for row in found] == [f"q{n}" for n in range(len(TEXTS))]
    assert (summary.facts["queries"], summary.facts["shards"], summary.documents) == (6, 3, len(whole))


@pytest.mark.parametrize(
    "options",
    [{}, {"distance": "rel-rwmd", "weights": "counts"}, {"distance": "act(transfers=0)"}, {"rerank": "wmd"}],
)
def test_distances(whole, folder, queries, tmp_path, options):
    options = {"filter": {"year": {"gt": 1991}}, **options, **({"candidates": 12} if "rerank" in options else {})}
    own = {name: options[name] for name in ("distance", "weights") if name in options}
    given = {name: value for name, value in options.items() if name not in own}
    top_k(queries, str(folder), tmp_path / "out", 7, Choices(block=4, **own), **given)
    expected = whole.similar(TEXTS, 7, **options)
    found = rows(tmp_path / "out")
    assert [row["neighbors"] for row in found] == [[hit.id for hit in hits] for hits in expected]
    assert [row["distances"] for row in found] == [[hit.distance for hit in hits] for hits in expected]


def test_processes_and_resuming_give_the_same_bytes(folder, queries, tmp_path):
    search(str(folder), queries, tmp_path / "a", choices=Choices(block=2), keep=True)
    search(str(folder), queries, tmp_path / "b", choices=Choices(block=2), engine=Local(2))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    (tmp_path / "a.job" / "check_queries-000001.npz").unlink()
    (tmp_path / "a.job" / "best-000002.parquet").unlink()
    again = search(str(folder), queries, tmp_path / "c", choices=Choices(block=2), work=tmp_path / "a.job")
    assert again.tasks - again.resumed == 2
    assert contents(tmp_path / "a") == contents(tmp_path / "c")


def test_bad_questions(folder, queries, tmp_path):
    with pytest.raises(InputError, match="k must be"):
        search(str(folder), queries, tmp_path / "out", 0)
    with pytest.raises(InputError, match="no setting 'lifted'"):
        search(str(folder), queries, tmp_path / "out", constants={"lifted": 0})
    with pytest.raises(InputError, match="is an index already"):
        top_k(queries, str(folder), tmp_path / "out", shards=3)
    with pytest.raises(NotFound, match="no folder of shards"):
        search(str(tmp_path), queries, tmp_path / "out")
    (tmp_path / "empty.jsonl").write_text('{"id": "a", "text": "cat"}\n{"id": "b", "text": "  "}\n')
    with pytest.raises(EmptyDocumentError, match=r"empty\.jsonl, row 2: the query has no words"):
        search(str(folder), str(tmp_path / "empty.jsonl"), tmp_path / "out")
