"""A collection as a map: places, clusters, tables, and the same map from the same seed."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import wordferry
from wordferry.errors import InputError
from wordferry.maps.atlas import make_map
from wordferry.maps.clusters import characteristic_words
from wordferry.texts.documents import Record

pytest.importorskip("openTSNE", reason="openTSNE is not installed (pip install 'wordferry[map]')")


@pytest.fixture(scope="module")
def drawn():
    return make_map(wordferry.sample().articles, threads=1)


def test_neighbours_are_the_exact_ones(drawn):
    weights = drawn.masses
    emb = wordferry.default_embeddings().restrict(list(drawn.vocabulary))
    whole = wordferry.pairwise(weights, None, "rel-rwmd", embeddings=emb, related=wordferry.RelatedWords.build(emb))
    np.fill_diagonal(whole, np.inf)
    assert drawn.neighbors.indices[:, :5].tolist() == np.argsort(whole, axis=1, kind="stable")[:, :5].tolist()


def test_documents_of_one_topic_stand_together(drawn):
    labels = np.array([record.label for record in drawn.records])
    apart = np.linalg.norm(drawn.points[:, None] - drawn.points[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    same = (labels[apart.argmin(axis=1)] == labels).mean()
    chance = (np.unique(labels, return_counts=True)[1] / len(labels)).max()
    assert same > 3 * chance


def test_the_same_seed_gives_the_same_page_and_another_seed_another(drawn):
    articles = wordferry.sample().articles
    assert make_map(articles, threads=1).to_html() == drawn.to_html()
    assert not np.array_equal(make_map(articles, threads=1, seed=1).points, drawn.points)


def test_clusters_get_finer_and_are_named_by_their_words(drawn):
    sizes = [len(level.names) for level in drawn.levels]
    assert sizes == sorted(set(sizes))
    assert sizes[0] >= 2
    for level in drawn.levels:
        for number, name in enumerate(level.names):
            members = np.flatnonzero(level.cluster == number)
            first = drawn.vocabulary.id(name.split(" · ")[0])
            inside = (drawn.masses[members][:, [first]].toarray() > 0).mean()
            outside = (drawn.masses[:, [first]].toarray() > 0).mean()
            assert inside > outside


def test_a_word_that_is_everywhere_names_no_cluster():
    counts = np.array([[1, 3, 0], [1, 2, 0], [1, 0, 4], [1, 0, 1]])
    vocabulary = wordferry.Vocabulary(["a", "b", "c"])
    names = characteristic_words(np.array([0, 0, 1, 1], np.int32), sp.csr_array(counts), vocabulary)
    assert [name.split(" · ")[0] for name in names] == ["b", "c"]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 12])
def test_few_documents_have_places_too(count):
    drawn = make_map(wordferry.sample().texts[:count], threads=1)
    assert drawn.points.shape == (count, 2)
    assert np.isfinite(drawn.points).all()
    assert "wordferryMap" in drawn.to_html()


def test_equal_documents_do_not_disturb():
    drawn = make_map(["the cat sat"] * 9 + ["stocks fell sharply"] * 9, threads=1)
    assert np.isfinite(drawn.points).all()


def test_documents_without_a_known_word_are_listed_but_have_no_place():
    drawn = make_map([*wordferry.sample().texts[:6], Record("qzxv wvuq", "odd")], threads=1)
    assert len(drawn) == 6
    assert [record.id for record in drawn.unplaced] == ["odd"]


@pytest.mark.parametrize(
    ("documents", "options", "words"),
    [([], {}, "nothing to map"), (["zzqq"], {}, "nothing can be placed"), (["cat"], {"neighbours": 0}, "at least 1")],
)
def test_what_cannot_be_mapped_is_said(documents, options, words):
    with pytest.raises(InputError, match=words):
        make_map(documents, **options)


def test_the_table_has_what_embedding_atlas_reads(drawn, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    drawn.to_parquet(tmp_path / "map.parquet")
    table = parquet.read_table(tmp_path / "map.parquet").to_pylist()
    assert {"id", "text", "x", "y", "neighbors", "cluster_1", "topic"} <= table[0].keys()
    assert len(table[0]["neighbors"]["ids"]) == len(table[0]["neighbors"]["distances"]) == 15
    assert table[3]["neighbors"]["ids"][0] == drawn.records[drawn.neighbors.indices[3, 0]].id


def test_the_command_writes_the_page(tmp_path):
    with wordferry.Index.create(tmp_path / "few") as index:
        index.add([{"id": str(i), "text": text} for i, text in enumerate(wordferry.sample().texts[:30])])
    page = tmp_path / "few.html"
    line = [sys.executable, "-m", "wordferry", "map", str(tmp_path / "few"), "-o", str(page), "--threads", "1"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["documents"] == 30
    assert "<title>few</title>" in page.read_text(encoding="utf-8")


def test_a_map_is_a_table(drawn):
    pandas = pytest.importorskip("pandas")
    frame = drawn.to_pandas()
    assert len(frame) == len(drawn)
    assert frame["id"].tolist() == [record.id for record in drawn.records]
    names = {*drawn.levels[0].names, None}
    assert {None if pandas.isna(name) else name for name in frame["cluster_1"]} <= names
    assert np.allclose(frame[["x", "y"]], drawn.points)


def test_topics_count_every_document(drawn):
    for level in range(len(drawn.levels)):
        rows = drawn.topics(level=level)
        assert sum(row["size"] for row in rows) == len(drawn) + len(drawn.unplaced)
        named = [row for row in rows if row["cluster"] is not None]
        assert [row["size"] for row in named] == sorted((row["size"] for row in named), reverse=True)
        ids = {record.id: number for number, record in enumerate(drawn.records)}
        for row in named:
            assert len(row["words"].split(", ")) == 10
            assert row["words"].startswith(drawn.levels[level].names[row["cluster"]].split(" · ")[0])
            assert {drawn.levels[level].cluster[ids[id]] for id in row["documents"]} == {row["cluster"]}
    few = drawn.topics(min_size=10**6)
    assert [(row["cluster"], row["size"]) for row in few] == [(None, len(drawn))]
    assert drawn.topics().to_pandas()["size"].sum() == len(drawn)


def test_an_index_lists_its_topics(tmp_path):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    texts = wordferry.sample().texts[:60]
    with wordferry.Index.create(tmp_path / "few") as index:
        index.add([*texts, "zzqq qqzz"])
        rows = index.topics(6, words=4, threads=1)
        assert rows == list(index.map(threads=1).topics(6, words=4))
    assert all(row["size"] >= 6 and len(row["words"].split(", ")) == 4 for row in rows[:-1])
    assert (rows[-1]["cluster"], rows[-1]["documents"]) == (None, [])
    assert sum(row["size"] for row in rows) == len(texts) + 1
    columns = {"cluster", "size", "words", "documents"}
    assert set(pandas.DataFrame(rows).columns) == set(polars.DataFrame(rows).columns) == columns
    assert pyarrow.table(rows).to_pydict() == rows.to_columns()
    assert rows.to_columns()["documents"][0] == rows[0]["documents"]
    line = [sys.executable, "-m", "wordferry", "map", str(tmp_path / "few")]
    done = subprocess.run([*line, "--topics", "--min-size", "6", "--threads", "1"], capture_output=True, text=True)
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["cluster"], row["size"]) for row in printed] == [(row["cluster"], row["size"]) for row in rows]
    done = subprocess.run(line, capture_output=True, text=True)
    assert (done.returncode, "--topics" in done.stderr) == (2, True)


def test_few_documents_are_between_clusters(drawn):
    assert all((level.cluster < 0).mean() < 0.35 for level in drawn.levels)


def test_a_notebook_shows_a_picture(drawn):
    shown = drawn._repr_html_()
    assert shown.count("<circle") == len(drawn)
    assert drawn.levels[0].names[0] in shown
    assert f"{len(drawn)} documents" in shown
    assert "<script" not in shown


def test_tables_can_be_mapped():
    table = {"text": wordferry.sample().texts[:4], "id": ["a", "b", "c", "d"], "year": [1, 2, 3, 4]}
    drawn = make_map(table, threads=1)
    assert [(record.id, record.metadata) for record in drawn.records][1] == ("b", {"year": 2})
    rows = [{"text": text, "id": name} for text, name in zip(table["text"], table["id"], strict=True)]
    assert [record.id for record in make_map(rows, threads=1).records] == table["id"]
