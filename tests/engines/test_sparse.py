"""Distances as inner products of sparse vectors: equal to the reference, and searched by a real engine."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import wordferry
from wordferry.engines.sparse import FORMATS, Sparse, write_vectors
from wordferry.errors import InputError

TEXTS = wordferry.sample().texts[:120]
QUERIES = ["a distant planet and its moon", "bread from the oven", "loans and interest rates", "the football season"]


@pytest.fixture(scope="module")
def made():
    return Sparse.of(TEXTS)


def sides(queries):
    """The exact one-sided distances over the same related words."""
    options = {"overlap": "keep", "related": None}
    searcher = Sparse.of(TEXTS).searcher
    related = searcher.related
    options = {"overlap": "keep", "related": related, "embeddings": wordferry.default_embeddings()}
    return [wordferry.pairwise(queries, TEXTS, "rel-rwmd", side=side, **options) for side in ("left", "right")]


def known(queries):
    """Queries without the words that no document has: those have no dimension."""
    tokenizer = wordferry.texts.tokenizers.default_tokenizer()
    present = {word for text in TEXTS for word in tokenizer(text)}
    return [[word for word in tokenizer(query) if word in present] for query in queries]


def test_the_inner_product_is_the_sum_of_both_sides(made):
    queries = known(QUERIES)
    products = (made.queries(queries) @ next(made.documents()).T).toarray()
    left, right = sides(queries)
    assert 2 * made.c_max - products == pytest.approx(left + right, abs=2e-5)


@pytest.mark.parametrize("error", [0.05, 0.3])
def test_what_is_left_out_changes_a_distance_by_no_more_than_was_said(error):
    queries = known(QUERIES)
    whole_embeddings = wordferry.default_embeddings()
    words = sorted({word for text in known(TEXTS) for word in text if word in whole_embeddings})
    few = {"embeddings": whole_embeddings.restrict(words)}  # among fewer words, related ones are further apart
    few["related"] = wordferry.RelatedWords.build(few["embeddings"])
    exact, pruned = Sparse.of(TEXTS, **few), Sparse.of(TEXTS, **few, error=error)
    whole = (exact.queries(queries) @ next(exact.documents()).T).toarray()
    less = (pruned.queries(queries) @ next(pruned.documents()).T).toarray()
    assert next(pruned.documents()).nnz < next(exact.documents()).nnz
    assert (whole - less >= -1e-5).all()
    assert (whole - less <= 2 * error + 1e-5).all()


def test_qdrant_finds_what_we_find(made):
    client = pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
    models = client.models
    engine = client.QdrantClient(":memory:")
    engine.create_collection("docs", vectors_config={}, sparse_vectors_config={"words": models.SparseVectorParams()})
    points, number = [], 0
    for block in made.documents():
        for row in range(block.shape[0]):
            span = slice(block.indptr[row], block.indptr[row + 1])
            vector = models.SparseVector(indices=block.indices[span].tolist(), values=block.data[span].tolist())
            points.append(models.PointStruct(id=number, vector={"words": vector}, payload={}))
            number += 1
    engine.upsert("docs", points)
    queries = known(QUERIES)
    vectors = made.queries(queries)
    both = wordferry.top_k(queries, TEXTS, 10, "rel-rwmd", overlap="keep", related=made.searcher.related)
    for row in range(len(queries)):
        span = slice(vectors.indptr[row], vectors.indptr[row + 1])
        asked = models.SparseVector(indices=vectors.indices[span].tolist(), values=vectors.data[span].tolist())
        found = {hit.id for hit in engine.query_points("docs", query=asked, using="words", limit=60).points}
        assert len(found & set(both.indices[row].tolist())) >= 9


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_holds_every_entry(made, tmp_path, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    block = next(made.documents())
    ids = [f"id-{n}" for n in range(block.shape[0])]
    facts = write_vectors(tmp_path / "out", [block], ids, kind, made.dimensions)
    assert facts == {"vectors": len(ids), "entries": block.nnz}
    if kind == "parquet":
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(tmp_path / "out").to_pylist()
        assert sum(len(row["indices"]) for row in rows) == block.nnz
        return
    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    if kind == "opensearch":
        assert lines[0] == {"index": {"_id": "id-0"}}
        lines = lines[1::2]
    assert len(lines) == len(ids)
    if kind == "pgvector":
        text = lines[3]["vector"]
        assert text.endswith(f"}}/{made.dimensions}")
        entries = dict(pair.split(":") for pair in text[1 : text.index("}")].split(","))
        row = block[[3]].toarray()[0]
        assert {int(i) - 1 for i in entries} == set(np.flatnonzero(row).tolist())


def test_the_command_writes_all_three_files(tmp_path):
    with wordferry.Index.create(tmp_path / "few") as index:
        index.add(TEXTS[:10])
    (tmp_path / "queries.txt").write_text("a planet\nbread\n")
    line = [
        sys.executable,
        "-m",
        "wordferry",
        "index",
        "export-sparse",
        str(tmp_path / "few"),
        "-o",
        str(tmp_path / "out"),
    ]
    line += ["--format", "qdrant", "--queries", str(tmp_path / "queries.txt"), "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    assert facts["documents"] == 10
    assert facts["queries"] == 2
    words = (tmp_path / "out" / "words.txt").read_text().split()
    assert 2 * len(words) == facts["dimensions"]


@pytest.mark.parametrize("error", [-1, 5, "much", True])
def test_an_error_that_makes_no_sense_is_refused(error):
    with pytest.raises(InputError, match="error must be"):
        Sparse.of(TEXTS[:3], error=error)
