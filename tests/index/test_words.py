"""Finding by words in an index: like the search in memory, whatever the index went through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordferry
from tests.index.collection import documents, embeddings
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.find import WordSearch
from wordferry.index import Index
from wordferry.texts.tokenizers import make_tokenizer

NAMES = ["cobol", "cobols", "fortran", "zebra", "zebras", "heat", "heating", "heated"]
QUERIES = ["cobol w01", "heated zebra w02 w03", "w05", "zebra zebra w07 unheard", "nothing of this"]
Make = Callable[..., Index]


def texts(count: int, seed: int = 3) -> list[dict[str, Any]]:
    """Documents of words with vectors and of words without."""
    rng = np.random.default_rng(seed)
    made = documents(count, seed=seed)
    for one in made:
        one["text"] += " " + " ".join(NAMES[i] for i in rng.integers(0, len(NAMES), rng.integers(0, 4)))
    return made


def assert_like_in_memory(index: Index, **constants: Any) -> None:
    """Ids and scores are those of a search in memory over the documents that are there."""
    there = list(index)
    plain = WordSearch([one.text for one in there], tokenizer=index.tokenizer)
    for query in QUERIES:
        wanted = plain.search(query, 30, **constants)
        hits = index.search(query, 30, **constants)
        assert [hit.id for hit in hits] == [there[row].id for row in wanted.rows]
        assert [hit.score for hit in hits] == pytest.approx(wanted.scores.tolist(), rel=1e-9)
        assert all(hit.distance is None for hit in hits)


def test_scores_are_those_of_the_collection_however_it_came_about(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordferry.index.write.segment_writer.BUFFER", 10)
    index = make()
    index.add(texts(25))
    index.search("cobol")  # so that lists are there before more words come
    for start in (25, 29, 45):
        index.add([{**one, "id": f"{one['id']}-{start}"} for one in texts(4 if start == 25 else 13, seed=start)])
    index.delete([f"d{i}" for i in range(0, 24, 3)])
    index.upsert([{"id": "d1", "text": "xylophone heats w01"}])
    assert_like_in_memory(index)
    assert_like_in_memory(index, lift=0)
    index.compact()
    index.verify()
    assert_like_in_memory(index)
    index.compact(rebuild=True)
    index.verify()
    assert_like_in_memory(index)
    index.close()
    with Index.open(tmp_path / "index") as again:
        assert_like_in_memory(again, stem=0.2, k1=0.9)
        assert [hit.id for hit in again.search("xylophone")] == ["d1"]


def test_a_document_of_unknown_words_is_found_by_them_and_by_nothing_else(make: Make) -> None:
    index = make()
    index.add([{"id": "a", "text": "cobol"}, {"id": "b", "text": "w01 w02"}, {"id": "c", "text": ["Ünïcode", "w03"]}])
    assert [hit.id for hit in index.search("cobol")] == ["a"]
    assert [hit.id for hit in index.search(("Ünïcode",))] == ["c"]
    assert index.search("fortran") == []
    assert index.search(["fortran", "cobol"])[0] == []
    assert index.search("") == []
    index.delete("a")
    assert index.search("cobol") == []
    index.compact()
    index.add([{"id": "d", "text": "cobol fortran"}])
    assert [hit.id for hit in index.search("fortran")] == ["d"]
    index.verify()


def test_filters_and_explanations(make: Make) -> None:
    index = make()
    index.add(texts(40))
    hits = index.search("heated cobol w01", 10, filter={"topic": "law"}, explain=True)
    assert hits
    assert {hit.metadata["topic"] for hit in hits} == {"law"}
    for hit in hits:
        parts = [one.part for one in hit.explanation.words] + [one.part for one in hit.explanation.neighbours]
        assert sum(parts) == pytest.approx(hit.score)
        assert all(one.id in index for one in hit.explanation.neighbours)
        assert hit.explanation == hit.explain()
    assert hits.to_columns()["score"] == [hit.score for hit in hits]


def test_similar_by_text_and_by_id(make: Make) -> None:
    index = make()
    index.add(texts(30))
    everything = index.similar(index.get("d4").text, 30)
    assert everything[0].id == "d4"
    found = index.similar(id="d4", k=29)
    assert [hit.id for hit in found] == [hit.id for hit in everything if hit.id != "d4"]
    assert all(hit.score is None for hit in found)
    assert index.similar("w01 w02", 5) == index.similar("w01 w02", 5, distance="rel-rwmd")
    with pytest.raises(EmptyDocumentError, match="d4"):  # a text, not an id
        index.similar("d4", 1)
    reason = index.similar(id="d4", k=1)[0].explain()
    assert sum(row["cost"] for row in reason.to_rows()) == pytest.approx(reason.distance, abs=1e-5)


def test_settings_and_language_are_kept(make: Make, tmp_path: Path) -> None:
    with make(language="none", settings={"lift": 0}) as index:
        index.add(["heat", "heating", "heat heat"])
        assert len(index.search("heat")) == 2
    with Index.open(tmp_path / "index") as again:
        plain = WordSearch(["heat", "heating", "heat heat"], language="none")
        wanted = plain.search("heat", lift=0)
        assert [hit.score for hit in again.search("heat")] == wanted.scores.tolist()
        assert [hit.score for hit in again.search("heat", lift=0.3)] == plain.search("heat").scores.tolist()


def test_what_makes_no_sense_is_refused(make: Make, tmp_path: Path) -> None:
    index = make()
    index.add(["w01 w02"])
    with pytest.raises(InputError, match=r"ask similar\(text, distance="):
        index.search("w01", distance="wmd")
    with pytest.raises(InputError, match="no setting 'bonus'"):
        index.search("w01", bonus=1)
    with pytest.raises(InputError, match="Query 1 must be a text"):
        index.search(["w01", 5])
    with pytest.raises(InputError, match="either a query"):
        index.similar()
    with pytest.raises(EmptyDocumentError):
        index.similar("cobol")
    with pytest.raises(InputError, match=r"There is no language .klingon"):
        Index.create(tmp_path / "other", embeddings=embeddings(), language="klingon")
    with pytest.raises(InputError, match="lift must be a number"):
        Index.create(tmp_path / "other", embeddings=embeddings(), settings={"lift": 7})
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("distance", ["rel-rwmd", "wmd", "cosine", "tfidf-cosine"])
@pytest.mark.parametrize("weights", ["counts", "idf"])
def test_similar_weighs_like_a_search_in_memory(make: Make, distance: str, weights: str) -> None:
    index = make(weights="idf", unknown="match")
    index.add(texts(25))
    index.delete(["d3", "d7"])
    index.add([{"id": "late", "text": "xylophone w01 w02"}])
    there = list(index)
    asked = "w01 w02 cobol cobol unheard"
    related = index.related
    searcher = wordferry.Searcher(
        [one.text for one in there],
        distance,
        embeddings=index.embeddings,
        related=related,
        weights="counts" if distance.startswith("tfidf") else weights,
        tokenizer=index.tokenizer,
    )
    wanted = searcher.top_k([asked], 24)
    hits = index.similar(asked, 24, distance=distance, weights=weights, explain=True)
    assert [hit.id for hit in hits] == [there[row].id for row in wanted.indices[0]]
    np.testing.assert_allclose([hit.distance for hit in hits], wanted.distances[0], rtol=1e-6)
    for hit in hits[:3]:
        assert sum(row["cost"] for row in hit.explanation.to_rows()) == pytest.approx(hit.distance, abs=1e-5)
    other = index.similar(asked, 3, distance=distance, weights=weights, filter={"topic": "law"})
    assert [hit.id for hit in other] == [hit.id for hit in hits if hit.metadata.get("topic") == "law"][:3]


def test_similar_knows_words_without_vectors(make: Make) -> None:
    index = make(weights="idf", unknown="match")
    index.add([{"id": "a", "text": "cobol"}, {"id": "b", "text": "fortran zebra"}, {"id": "c", "text": "w01 w02"}])
    assert index.similar("cobol", 1)[0].distance == 0
    assert index.similar(id="a", k=3)[0].distance > 0
    assert [hit.id for hit in index.similar("zebra", 1)] == ["b"]
    assert len(index.similar(["zebra", "w01"], 1, rerank="wmd")) == 2
    with pytest.raises(EmptyDocumentError, match="The query has no words"):
        index.similar("?!")
    with pytest.raises(InputError, match="weights must be one of"):
        index.similar("cobol", weights="heavy")


def test_similar_weighs_by_idf_and_keeps_every_word_unless_told_otherwise(
    tmp_path: Path, emb: wordferry.Embeddings
) -> None:
    with Index.create(tmp_path / "index", embeddings=emb, related=4) as index:
        assert (index.config.weights, index.config.unknown) == ("idf", "match")
        index.add([*texts(20), {"id": "name", "text": "xyzzyq", "topic": "law"}, {"id": "both", "text": "w01 xyzzyq"}])
        asked = "w01 w02 xyzzyq unheard"
        hits = index.similar(asked, 30, explain=True)
        assert index.similar(asked, 30) == index.similar(asked, 30, weights="idf", unknown="match")
        for hit in hits:
            assert hit.explain().distance == pytest.approx(hit.distance, abs=1e-6)
            assert sum(row["cost"] for row in hit.explanation.to_rows()) == pytest.approx(hit.distance, abs=1e-5)
        assert [(hit.id, hit.distance) for hit in index.similar("xyzzyq", 1)] == [("name", 0)]
        assert index.similar(id="name", k=1)[0].id == "both"
        assert [hit.id for hit in index.similar("xyzzyq", 1, filter={"topic": "law"})] == ["name"]
        farthest = index.similar("unheard", 30)
        assert len(farthest) == 22
        assert farthest[0].distance == pytest.approx(farthest[-1].distance)
        assert index.similar("w01", 1)[0].passages()[0].text
        plain = index.similar(asked, 30, weights="counts", unknown="drop")
        assert plain == index.similar("w01 w02", 30, weights="counts", unknown="drop")
        assert [hit.distance for hit in plain] != [hit.distance for hit in hits]
        for empty, options in (("?!", {}), ("of the", {}), ("xyzzyq", {"unknown": "drop"})):
            first, none, last = index.similar(["w01", empty, "w02"], 3, **options)
            assert (first, last) == tuple(index.similar(one, 3, **options) for one in ("w01", "w02"))
            assert (none, none.method, none.exact) == ([], first.method, True)
            assert isinstance(none.error, EmptyDocumentError)
            assert first.error is None
            assert index.similar([empty], **options) == [[]]
            with pytest.raises(EmptyDocumentError):
                index.similar(empty, **options)
        with pytest.raises(EmptyDocumentError, match="this index has no vector for xyzzyq"):
            index.similar("xyzzyq", unknown="drop")


def test_passages_show_where_the_words_of_the_query_go(make: Make) -> None:
    index = make()
    text = "w30 w31 w32 w33 w34. Here are w01 w02 w03 and cobol! w40 w41 w42 w43 w44"
    index.add([{"id": "a", "text": text}, {"id": "b", "text": ["w50", "w51"]}])
    (hit,) = index.search("cobol w01", 1)
    passages = hit.passages(2)
    assert passages[0].text == "Here are w01 w02 w03 and cobol!"
    assert text[passages[0].start : passages[0].stop].strip() == passages[0].text
    assert passages[0].distance == 0
    for one in passages:
        assert sum(row["cost"] for row in one.explanation.to_rows()) == pytest.approx(one.distance, abs=1e-5)
    assert hit.passages(1, "wmd")[0].explanation.name == "wmd"
    assert index.search(("w50",), 1)[0].passages()[0].text == "w50 w51"
    assert index.similar("w50", 1)[0].passages()[0].text == "w50 w51"
    with pytest.raises(InputError, match="count must be"):
        hit.passages(0)


@pytest.mark.parametrize(("tokenizer", "language"), [(None, "english"), ("german", "german"), ("vi", "none")])
def test_the_stems_are_those_of_the_tokenizers_language(make: Make, tokenizer: str | None, language: str) -> None:
    words = None if tokenizer is None else make_tokenizer(tokenizer, stop=None)
    assert make(tokenizer=words).config.language == language


def test_an_index_may_refuse_words_without_a_vector(make: Make) -> None:
    index = make(unknown="error")
    index.add([{"id": "a", "text": "w01 w02"}])
    with pytest.raises(InputError, match=r"Document 1 \(id 'c'\) holds the word 'cobol'.*Nothing was added"):
        index.add([{"id": "b", "text": "w03"}, {"id": "c", "text": "w01 cobol"}])
    assert index.ids() == ["a"]
    index.add([{"id": "b", "text": "w03"}])
    with pytest.raises(InputError, match="The query holds the word 'cobol'"):
        index.similar("w01 cobol")
    assert index.similar("w01", 1)[0].id == "a"
    with pytest.raises(InputError, match="Query 1 holds the word 'cobol'"):
        make("other").similar(["w01", "cobol"], unknown="error")
