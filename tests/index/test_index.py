"""Adding, replacing, deleting, reading and searching."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import wordferry
from tests.index.collection import PLAIN, assert_equals_brute_force, brute_force, documents, embeddings
from wordferry.errors import EmptyDocumentError, InputError, NotFound, StorageError, VocabularyMismatch
from wordferry.index import Index
from wordferry.texts.documents import Record

Make = Callable[..., Index]
QUERIES = ["w01 w02 w03", "w10 w10 w20 w30", "w55 w56"]


def test_add_get_iterate(make: Make) -> None:
    index = make()
    ids = index.add(documents(5))
    assert ids == ["d0", "d1", "d2", "d3", "d4"]
    assert len(index) == 5
    assert index.ids() == ids
    assert "d3" in index
    assert "d9" not in index
    found = index.get("d3")
    assert (found.label, found.metadata) == ("l1", {"year": 1993, "topic": "sport"})
    assert [doc.id for doc in index] == ids
    with pytest.raises(NotFound, match="no document 'd9'"):
        index.get("d9")


def test_every_form_of_document(make: Make) -> None:
    index = make()
    ids = index.add(
        [
            "w01 w02",
            ["w03", "w04"],
            Record("w05", id="r", label="x", split="train", metadata={"n": 1}),
            {"text": "w06", "year": 3, "metadata": {"flag": True}},
            {"tokens": ["w07"], "id": 7},
        ]
    )
    assert ids[2] == "r"
    assert ids[4] == "7"
    assert len(set(ids)) == 5
    assert index.get(ids[1]).text == ("w03", "w04")
    assert index.get("r").metadata == {"n": 1, "split": "train"}
    assert index.get(ids[3]).metadata == {"flag": True, "year": 3}
    assert index.similar(("w07",), k=1)[0].id == "7"


def test_generated_ids_are_stable_and_never_used_again(make: Make) -> None:
    index = make()
    first = index.add(["w01", "w02"])
    index.delete(first[1])
    second = index.add(["w03"])
    assert second[0] not in first
    index.compact()
    assert index.ids() == [first[0], second[0]]


def test_generated_id_avoids_a_given_one(make: Make) -> None:
    index = make()
    index.add([{"id": "doc-2", "text": "w01"}])
    assert len({*index.add(["w02", "w03"]), "doc-2"}) == 3


@pytest.mark.parametrize("count", [3, 1500])
def test_search_equals_brute_force_in_buffer_and_segments(make: Make, count: int) -> None:
    index = make()
    index.add(documents(count, length=3))
    assert index.stats().segments == (count >= 1000)
    assert_equals_brute_force(index, QUERIES[:1])


@pytest.mark.parametrize("distance", ["cosine", "tfidf-cosine", "wcd", "rwmd", "wmd", "rel-wmd"])
def test_any_distance(make: Make, distance: str) -> None:
    index = make()
    index.add(documents(12))
    index.delete(["d1", "d5"])
    assert_equals_brute_force(index, QUERIES, k=4, distance=distance)


def test_segments_and_buffer_answer_as_one(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordferry.index.write.segment_writer.BUFFER", 5)
    index = make()
    docs = documents(34)
    for start in range(0, 34, 4):
        index.add(docs[start : start + 4])
    stats = index.stats()
    assert stats.segments >= 1
    assert stats.buffered >= 1
    index.delete(["d2", "d9", "d33"])
    assert index.ids() == [d["id"] for d in docs if d["id"] not in {"d2", "d9", "d33"}]
    assert_equals_brute_force(index, QUERIES)
    everything = index.similar(QUERIES[0], k=40)
    for topic in ("law", "food"):
        hits = index.similar(QUERIES[0], k=40, filter={"topic": topic})
        assert hits == [hit for hit in everything if hit.metadata["topic"] == topic]
    index.verify()


def test_very_small_indexes(make: Make) -> None:
    """One word, two words: every pair is related and c_max does not exist."""
    index = make()
    index.add([{"id": "a", "text": "w01"}])
    assert index.similar("w01", k=3)[0].distance == 0
    assert_equals_brute_force(index, ["w01", "w02", "w01 w05"])
    index.add([{"id": "b", "text": "w02 w02"}])
    for distance in ("rel-rwmd", "rel-wmd", "wmd", "rwmd", "cosine"):
        assert_equals_brute_force(index, ["w01", "w02", "w01 w05", "w07"], distance=distance)
    index.verify()


def test_ten_batches_equal_all_at_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordferry.index.write.segment_writer.BUFFER", 7)
    docs = documents(50)
    one, ten = make("one"), make("ten")
    one.add(docs)
    for start in range(0, 50, 5):
        ten.add(docs[start : start + 5])
        ten.similar("w01 w02", k=2)  # so that the graph is extended on the way
    with one.backend.state() as (_, a), ten.backend.state() as (_, b):
        assert a.terms.rows.tolist() == b.terms.rows.tolist()
        assert a.terms.numbers.tolist() == b.terms.numbers.tolist()
    first, second = one.related, ten.related
    assert first is not None
    assert second is not None
    assert first.c_max == pytest.approx(second.c_max, rel=1e-8)
    np.testing.assert_array_equal(first.own, second.own)
    np.testing.assert_array_equal(first.graph.toarray(), second.graph.toarray())
    for a_hits, b_hits in zip(one.similar(QUERIES, k=50), ten.similar(QUERIES, k=50), strict=True):
        assert [hit.id for hit in a_hits] == [hit.id for hit in b_hits]
        np.testing.assert_allclose([h.distance for h in a_hits], [h.distance for h in b_hits], rtol=1e-6)


def test_deleting_and_compacting_equals_never_having_added(make: Make) -> None:
    docs = documents(30, words=30)
    extra = documents(20, seed=9)
    for doc in extra:
        doc["id"] = "x" + doc["id"]
    index, plain = make("both"), make("plain")
    index.add([*extra[:10], *docs, *extra[10:]])
    index.delete([doc["id"] for doc in extra])
    before = index.stats().words
    index.compact()
    plain.add(docs)
    assert index.stats().words == plain.stats().words < before
    for a_hits, b_hits in zip(index.similar(QUERIES, k=30), plain.similar(QUERIES, k=30), strict=True):
        np.testing.assert_allclose([h.distance for h in a_hits], [h.distance for h in b_hits], rtol=1e-6)
    assert_equals_brute_force(index, QUERIES)
    index.verify()


def test_related_words_that_are_given_are_used_as_they_are(make: Make, emb: wordferry.Embeddings) -> None:
    related = wordferry.RelatedWords.build(emb, 4)
    index = make(related=related)
    docs = documents(10, words=20)
    index.add(docs)
    row = wordferry.pairwise([QUERIES[0]], [d["text"] for d in docs], embeddings=emb, related=related)[0]
    assert [h.distance for h in index.similar(QUERIES[0], k=10)] == pytest.approx(sorted(row.tolist()), abs=1e-6)
    index.delete(["d0"])
    index.compact()
    assert index.stats().words == len(emb)


def test_given_related_words_are_extended(make: Make, emb: wordferry.Embeddings) -> None:
    half = emb.restrict([f"w{i:02d}" for i in range(30)])
    index = make(related=wordferry.RelatedWords.build(half, 4))
    index.add(documents(20))
    everything = make("plain", related=4)
    everything.add(["w00 " + " ".join(half.vocabulary), *documents(20)])
    found, wanted = index.similar(QUERIES[0], k=20), everything.similar(QUERIES[0], k=21)
    by_id = {hit.id: hit.distance for hit in wanted}
    assert [hit.distance for hit in found] == pytest.approx([by_id[hit.id] for hit in found], abs=1e-5)
    index.delete(index.ids()[5:])
    index.compact()
    index.verify()
    assert 30 <= index.stats().words < 60


def test_query_words_outside_the_documents(make: Make) -> None:
    index = make()
    index.add(documents(20, words=25))
    assert_equals_brute_force(index, ["w40 w41 w01", "w59"])


def test_upsert_replaces(make: Make) -> None:
    index = make()
    index.add(documents(3))
    index.upsert([{"id": "d1", "text": "w50 w51"}, {"id": "new", "text": "w52"}])
    assert index.get("d1").text == "w50 w51"
    assert index.get("d1").metadata == {}
    assert index.ids() == ["d0", "d2", "d1", "new"]
    assert index.similar("w50 w51", k=1)[0].distance == 0


def test_add_is_all_or_nothing(make: Make) -> None:
    index = make()
    index.add(documents(2))
    for bad in (
        [{"id": "x", "text": "w01"}, {"id": "d1", "text": "w02"}],
        [{"id": "x", "text": "w01"}, {"id": "x", "text": "w02"}],
        [{"id": "x", "text": "w01"}, {"id": "y", "text": "?!"}],
        [{"id": "x", "text": "w01"}, {"id": "y", "text": "w01", "metadata": {"a": {"b": 1}}}],
    ):
        with pytest.raises(InputError):
            index.add(bad)
        assert index.ids() == ["d0", "d1"]
    index.verify()


def test_delete(make: Make) -> None:
    index = make()
    index.add(documents(6))
    with pytest.raises(NotFound, match="no document 'q'"):
        index.delete(["d1", "q"])
    assert len(index) == 6
    assert index.delete(["d1", "q"], missing_ok=True) == 1
    assert index.delete("d2") == 1
    assert index.delete([]) == 0
    assert all(hit.id not in {"d1", "d2"} for hit in index.similar("w01", k=10))
    index.delete(index.ids())
    assert len(index) == 0
    assert index.similar("w01") == []
    index.compact()
    assert index.similar(["w01", "w02"]) == [[], []]
    index.verify()


def test_random_history_equals_a_plain_dictionary(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred random changes; after each few the index holds exactly what a dict holds and answers the same."""
    monkeypatch.setattr("wordferry.index.write.segment_writer.BUFFER", 6)
    rng = random.Random(11)
    index = make()
    model: dict[str, str] = {}
    pool = [doc["text"] for doc in documents(300, seed=2, length=4)]
    for step in range(200):
        action = rng.choice(["add", "add", "upsert", "delete", "compact" if step % 17 == 0 else "add"])
        if action in ("add", "upsert"):
            batch = {f"k{rng.randrange(60)}": rng.choice(pool) for _ in range(rng.randrange(1, 5))}
            if action == "add":
                batch = {key: text for key, text in batch.items() if key not in model}
            getattr(index, action)([{"id": key, "text": text} for key, text in batch.items()])
            for key, text in batch.items():
                model.pop(key, None)
                model[key] = text
        elif action == "delete" and model:
            gone = rng.sample(sorted(model), min(len(model), 3))
            index.delete(gone)
            for key in gone:
                del model[key]
        else:
            index.compact()
        if step % 25 == 24:
            assert {doc.id: doc.text for doc in index} == model
            assert index.ids() == list(model)
            index.verify()
            assert_equals_brute_force(index, QUERIES[:2])


def test_empty_documents(make: Make) -> None:
    with pytest.raises(EmptyDocumentError, match="Document 1 has no words: its text is '\\?!'"):
        make("error").add(["w01", "?!"])
    dropping = make("drop", on_empty="drop")
    assert len(dropping.add(["w01", "??", "w02", "zzz"])) == 3
    keeping = make("keep", on_empty="keep")
    keeping.add([{"id": "a", "text": "zzz"}, {"id": "b", "text": "w01 w02"}, {"id": "c", "text": ""}])
    hits = keeping.similar("w01 w05", k=3)
    assert [hit.id for hit in hits] == ["b", "a", "c"]
    assert [hit.distance for hit in hits][1:] == [np.inf, np.inf]
    keeping.verify()
    with pytest.raises(EmptyDocumentError):
        keeping.similar("zzz")


def test_open_again(make: Make, tmp_path: Path) -> None:
    with make() as index:
        index.add(documents(20))
        wanted = index.similar(QUERIES, k=5)
    assert "closed" in repr(index)
    with pytest.raises(StorageError, match="was closed"):
        len(index)
    with Index.open(tmp_path / "index") as again:
        assert again.similar(QUERIES, k=5) == wanted
        assert again.stats().graph_words == again.stats().words
        again.add(["w01"])
        assert len(again) == 21


def test_reader_sees_what_a_writer_adds(make: Make, tmp_path: Path) -> None:
    writer = make()
    writer.add(documents(5))
    reader = Index.open(tmp_path / "index")
    assert len(reader.similar("w01", k=10)) == 5
    writer.add(["w58 w59"])
    assert reader.similar("w58 w59", k=1)[0].distance == 0
    writer.compact()
    assert reader.similar("w58 w59", k=1)[0].distance == 0
    reader.close()


def test_iteration_is_one_state(make: Make, tmp_path: Path) -> None:
    writer = make()
    writer.add(documents(5))
    with Index.open(tmp_path / "index") as reader:
        everything = iter(reader)
        assert next(everything).id == "d0"
        writer.delete(["d3"])
        assert [doc.id for doc in everything] == ["d1", "d2", "d3", "d4"]
        assert len(reader) == 4


def test_create_refuses_what_is_there(make: Make, tmp_path: Path, emb: wordferry.Embeddings) -> None:
    make().add(documents(2))
    with pytest.raises(InputError, match="is an index already"):
        Index.create(tmp_path / "index", embeddings=emb)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(InputError, match="not a wordferry index"):
        Index.create(tmp_path / "other", embeddings=emb, overwrite=True)
    assert (tmp_path / "other" / "file").read_text() == "mine"


def test_overwrite(make: Make, tmp_path: Path) -> None:
    with make() as index:
        index.add(documents(2))
    with make(overwrite=True) as index:
        assert len(index) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["index"]


def test_overwrite_removes_nothing_that_is_not_the_index_s(make: Make, tmp_path: Path) -> None:
    with make() as index:
        index.add(documents(2))
    for name in ("notes.txt", "segments.txt", "embeddings-old"):
        mine = tmp_path / "index" / name
        mine.write_text("mine")
        with pytest.raises(InputError, match=f"holds '{name}' beside the index"):
            make(overwrite=True)
        assert mine.read_text() == "mine"
        mine.unlink()
    with make(overwrite=True) as index:
        assert len(index) == 0


def test_documents_without_words_are_no_neighbours() -> None:
    with Index.create(on_empty="keep") as index:
        index.add([{"id": "a", "text": "a cat"}, {"id": "e", "text": "?!"}, {"id": "b", "text": "a dog"}])
        for distance in ("rel-rwmd", "wmd", "cosine", "wcd"):
            graph = index.knn_graph(2, distance=distance)
            assert graph.nonzero()[0].tolist() == [0, 2]
            assert graph.nonzero()[1].tolist() == [2, 0]
            assert np.isfinite(graph.data).all()
        with pytest.raises(InputError, match="The document 'e' has no words"):
            index.similar(id="e")


def test_vectors_by_path(tmp_path: Path, emb: wordferry.Embeddings) -> None:
    emb.save(tmp_path / "vectors")
    with Index.create(tmp_path / "index", embeddings=tmp_path / "vectors", keep="path", related=4) as index:
        index.add(documents(10))
        wanted = index.similar(QUERIES, k=3)
        assert index.stats().bytes_embeddings == 0
    (tmp_path / "vectors").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="open the index with embeddings="):
        Index.open(tmp_path / "index")
    with Index.open(tmp_path / "index", embeddings=tmp_path / "moved") as index:
        assert index.similar(QUERIES, k=3) == wanted
        index.verify()
    other = embeddings(seed=8)
    with pytest.raises(VocabularyMismatch, match="other vectors"):
        Index.open(tmp_path / "index", embeddings=other)
    with pytest.raises(VocabularyMismatch):
        Index.open(tmp_path / "index", embeddings=wordferry.Embeddings(["a"], [[1.0]]))


def test_options_are_checked(make: Make, tmp_path: Path, emb: wordferry.Embeddings) -> None:
    for options in (
        {"distance": "wmdd"},
        {"overlap": "some"},
        {"related": 0},
        {"related": "many"},
        {"keep": "cloud"},
        {"keep": "path"},
        {"tokenizer": str.split},
        {"on_empty": "skip"},
        {"embeddings": 3},
    ):
        with pytest.raises(InputError):
            make("bad", **options)
    assert list(tmp_path.iterdir()) == []
    other = wordferry.RelatedWords.build(embeddings(seed=8), 4)
    with pytest.raises(VocabularyMismatch):
        make("bad", related=other)
    index = make()
    index.add(documents(3))
    for options in ({"k": 0}, {"distance": "x"}, {"rerank": "x"}, {"candidates": 5}, {"rerank": "tfidf-l1"}):
        with pytest.raises(InputError):
            index.similar("w01", **options)
    with pytest.raises(InputError, match="A query is"):
        index.similar(3)
    with pytest.raises(InputError, match="Put it in a list"):
        index.add("w01")


def test_rerank_says_that_it_is_not_exact(make: Make, emb: wordferry.Embeddings) -> None:
    index = make()
    index.add(documents(30))
    hits = index.similar(QUERIES[0], k=3, rerank="wmd", candidates=30)
    assert not hits.exact
    assert "not exact" in hits.method
    wanted = brute_force(list(index), QUERIES[0], 3, emb, "wmd")
    assert [hit.distance for hit in hits] == pytest.approx([d for _, d in wanted], abs=1e-5)
    assert index.similar(QUERIES[0], k=3).exact
    few = index.similar(QUERIES[0], k=3, rerank="wmd", candidates=3)
    assert {hit.id for hit in few} == {hit.id for hit in index.similar(QUERIES[0], k=3)}


@pytest.mark.parametrize("distance", ["rel-rwmd", "wmd", "tfidf-cosine", "cosine"])
def test_explanations_sum_to_the_distance(make: Make, distance: str) -> None:
    index = make(on_empty="keep")
    index.add([*documents(10), {"id": "empty", "text": "zzz"}])
    index.delete(["d2"])
    hits = index.similar("w01 w02 w40 unknown", k=20, distance=distance, explain=True)
    assert len(hits) == 10
    for hit in hits[:-1]:
        assert hit.explanation.distance == pytest.approx(hit.distance, abs=1e-5)
        assert sum(row["cost"] for row in hit.explanation.to_rows()) == pytest.approx(hit.distance, abs=1e-5)
    assert (hits[-1].id, hits[-1].explanation) == ("empty", None)
    two = index.similar("w01 w02", k=2, rerank="wmd", explain=True)
    assert two[0].explanation.name == "wmd"


def test_batch_equals_single(make: Make) -> None:
    index = make()
    index.add(documents(40))
    queries = [doc["text"] for doc in documents(8, seed=21)]
    for together, query in zip(index.similar(queries, k=4), queries, strict=True):
        alone = index.similar(query, k=4)
        assert [hit.id for hit in together] == [hit.id for hit in alone]
        np.testing.assert_allclose([h.distance for h in together], [h.distance for h in alone], rtol=1e-6)
    assert index.similar([], k=4) == []


def test_duplicates_and_graph_of_neighbours(make: Make) -> None:
    index = make()
    docs = documents(25, length=3)
    docs += [{"id": "copy", "text": docs[4]["text"]}, {"id": "gone", "text": docs[4]["text"]}]
    index.add(docs)
    index.delete(["gone"])
    texts = [str(doc.text) for doc in index]
    ids = index.ids()
    for distance in ("rel-rwmd", "wmd", "rel-wmd"):
        related = index.related if distance.startswith("rel-") else None
        full = wordferry.pairwise(texts, distance=distance, embeddings=index.embeddings, related=related)
        threshold = float(np.quantile(full[np.triu_indices(26, 1)], 0.2)) + 1e-4
        wanted = {(ids[i], ids[j]) for i in range(26) for j in range(i + 1, 26) if full[i, j] <= threshold}
        found = index.duplicates(threshold, distance=distance)
        assert {(pair.first, pair.second) for pair in found} == wanted
        assert [pair.distance for pair in found] == sorted(pair.distance for pair in found)
        assert found[0].distance == 0
        assert (found[0].first, found[0].second) == ("d4", "copy")
    graph = index.knn_graph(3, distance="rel-rwmd")
    full = wordferry.pairwise(
        texts, embeddings=index.embeddings, related=wordferry.RelatedWords.build(_used(index), index.config.r)
    )
    np.fill_diagonal(full, np.inf)
    assert graph.shape == (26, 26)
    assert graph.nnz == 78
    for i in range(26):
        row = graph.data[graph.indptr[i] : graph.indptr[i + 1]]
        np.testing.assert_allclose(np.sort(row), np.sort(full[i])[:3], atol=1e-5)
        assert i not in graph.indices[graph.indptr[i] : graph.indptr[i + 1]]


def _used(index: Index) -> wordferry.Embeddings:
    with index.backend.state() as (_, snapshot):
        return index.embeddings.restrict(snapshot.terms.rows)


@pytest.mark.parametrize("distance", ["rel-rwmd", "wmd"])
def test_the_sample_collection(tmp_path: Path, distance: str) -> None:
    """Real texts and vectors: the index equals pairwise with the related words of the documents."""
    articles = wordferry.sample().articles
    with Index.create(tmp_path / "index", **PLAIN) as index:
        index.add(articles[:100])
        index.add(articles[100:])
        queries = ["volunteers repair an old software library", str(articles[7].text)]
        texts = [str(record.text) for record in articles]
        X = wordferry.encode(texts)
        related = wordferry.RelatedWords.build(index.embeddings.restrict(np.unique(X.indices).astype(np.int64)))
        full = wordferry.pairwise(
            queries, texts, distance, embeddings=index.embeddings, related=related, unknown="drop"
        )
        for row, hits in zip(full, index.similar(queries, k=20, distance=distance), strict=True):
            np.testing.assert_allclose([hit.distance for hit in hits], np.sort(row)[:20], atol=2e-5)
            by_id = {record.id: value for record, value in zip(articles, row.tolist(), strict=True)}
            np.testing.assert_allclose([by_id[hit.id] for hit in hits], [hit.distance for hit in hits], atol=2e-5)
