"""An index with an encoder, or with vectors that were brought, which are kept, changed and checked like bags."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import wordferry
from tests.encoders.hashing import hashed
from wordferry import Index
from wordferry.base.runtime import Cancel, cancellable
from wordferry.encoders import Codes
from wordferry.errors import Cancelled, FormatError, InputError
from wordferry.find import WordSearch

QUERIES = ("feline on a chair", "credit for farmers", "prison and music", "a vessel in the harbour")
OTHER = lambda texts: hashed([text[::-1] for text in texts])  # noqa: E731


def documents() -> list[dict[str, object]]:
    articles = wordferry.sample().articles[:120]
    extra = ["the kitten sleeps", "a loan from the bank", "the sailor left", "tomcat and cat", "interest grows"]
    found = [{"id": str(one.id), "text": one.text, "long": len(one.text) > 1200} for one in articles]
    return [*found, *({"id": f"x{n}", "text": text, "long": False} for n, text in enumerate(extra))]


@pytest.fixture
def index(tmp_path: Path):
    with Index.create(tmp_path / "index", encoder=hashed) as made:
        made.add(documents())
        yield made


def answers(index: Index, **options: object) -> list[list[tuple[str, float]]]:
    return [[(hit.id, hit.score) for hit in index.search(query, 40, **options)] for query in QUERIES]


def test_scores_are_those_of_a_search_in_memory(index: Index) -> None:
    texts = WordSearch([one["text"] for one in documents()], encoder=hashed, tokenizer=index.tokenizer)
    ids = [one["id"] for one in documents()]
    for query in QUERIES:
        found, other = index.search(query, 40), texts.search(query, 40)
        assert found.method == "words and meaning"
        assert [hit.id for hit in found] == [ids[row] for row in other.rows]
        np.testing.assert_allclose([hit.score for hit in found], other.scores, rtol=0, atol=1e-12)


def test_parts_sum_to_the_score(index: Index) -> None:
    for query in QUERIES:
        for hit in index.search(query, 40):
            told = hit.explain()
            total = sum(one.part for one in (*told.words, *told.neighbours)) + told.meaning.part
            assert total == pytest.approx(hit.score, abs=1e-9)


def test_a_text_without_a_shared_word_is_found(index: Index) -> None:
    assert "x0" in [hit.id for hit in index.search("felines tomcats feline", 5)]
    assert "x0" in [hit.id for hit in index.search("feline", 5, filter={"long": False})]
    assert "x0" not in [hit.id for hit in index.search("feline", 40, filter={"long": True})]


def test_without_an_encoder_nothing_changes(index: Index, tmp_path: Path) -> None:
    with Index.create(tmp_path / "plain") as plain:
        plain.add(documents())
        assert answers(plain) == answers(index, meaning=0)
        assert plain.search(QUERIES[0]).method == "words"
        assert index.search(QUERIES[0], meaning=0).method == "words"
        told = plain.search(QUERIES[0])[0].explain()
        assert told.meaning is None
        names = {file.name for file in (tmp_path / "plain").rglob("*") if file.is_file()}
        assert not any("code_scales" in name for name in names)


def test_every_change_keeps_the_vectors(index: Index) -> None:
    """One index that was changed in all ways answers as one to which the same documents were added at once."""
    many = [{"id": f"m{n}", "text": f"{one['text']} {n}", "long": False} for n, one in enumerate(documents() * 9)]
    index.add(many)  # a segment
    index.upsert([{"id": "x0", "text": "a kitten in a boat", "long": True}])
    index.delete([f"m{n}" for n in range(0, 900, 7)])
    before = answers(index)
    index.verify()
    index.compact()
    assert answers(index) == before
    index.verify()
    index.compact(rebuild=True)
    assert answers(index) == before
    index.revector()
    assert answers(index) == before
    again = Index.create(encoder=hashed)
    again.add([{"id": one.id, "text": one.text, **one.metadata} for one in index])
    for one, other in zip(answers(again), before, strict=True):
        assert [id for id, _ in one] == [id for id, _ in other]
        np.testing.assert_allclose([score for _, score in one], [score for _, score in other], atol=1e-12)
    again.close()


def test_it_is_opened_again_with_its_encoder(index: Index) -> None:
    before = answers(index)
    index.close()
    with Index.open(index.path, encoder=hashed) as again:
        assert answers(again) == before
    with Index.open(index.path) as again:
        assert answers(again, meaning=0) != before
        with pytest.raises(InputError, match=r"an encoder of your own \(function hashed\)"):
            again.search("cat")
        vectors = [hashed([query])[0] for query in QUERIES]
        found = again.search(list(QUERIES), 40, vector=vectors)
        assert [[(hit.id, hit.score) for hit in hits] for hits in found] == before
    with pytest.raises(InputError, match="was made with the encoder function hashed"):
        Index.open(index.path, encoder=OTHER)


def test_a_named_encoder_is_found_again(tmp_path: Path) -> None:
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    with Index.create(tmp_path / "index", encoder="wordllama") as made:
        made.add(documents())
        before = answers(made)
    with Index.open(tmp_path / "index") as again:
        assert answers(again) == before
        assert again.config.encoder["name"] == "wordllama"
        with pytest.raises(InputError, match="wordllama"):
            Index.open(tmp_path / "index", encoder=hashed)


def test_vectors_are_brought_as_an_array_or_a_column(index: Index, tmp_path: Path) -> None:
    vectors = hashed([str(one["text"]) for one in documents()])
    with Index.create(tmp_path / "array") as one, Index.create(tmp_path / "column") as other:
        one.add(documents(), vectors=vectors)
        other.add([{**d, "v": v.tolist()} for d, v in zip(documents(), vectors, strict=True)], vectors="v")
        assert list(other.page(1)[0].metadata) == ["long"]
        asked = [hashed([query])[0] for query in QUERIES]
        for some in (one, other):
            found = some.search(list(QUERIES), 40, vector=asked)
            assert [[(hit.id, hit.score) for hit in hits] for hits in found] == answers(index, meaning=2)
            some.verify()
        with pytest.raises(InputError, match="no encoder for the query"):
            one.search("cat")
        with pytest.raises(InputError, match="there is no encoder"):
            one.add(["a cat at sea"])
        with pytest.raises(InputError, match="3 dimensions, and those that are there have 64"):
            one.add(["a cat at sea"], vectors=[[1, 2, 3]])
        assert len(one) == len(documents())
        one.add(["a cat at sea"], vectors=hashed(["a cat at sea"]))
        assert len(one) == len(documents()) + 1
    with Index.open(tmp_path / "array", encoder=hashed) as again:
        assert len(again.search("feline"))
        again.add(["the purring feline"])


def test_a_table_brings_vectors_in_a_column(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    texts = [str(one["text"]) for one in documents()]
    table = pandas.DataFrame({"text": texts, "embedding": list(hashed(texts))})
    with Index.create() as made:
        made.add(table, vectors="embedding")
        assert made.search("feline", 1, vector=hashed(["feline"])[0])[0].id.startswith("doc-")
    with Index.create() as made, pytest.raises(FormatError, match="expected a field 'missing' with the vector"):
        made.add(table, vectors="missing")


@pytest.mark.parametrize(("rows", "message"), [(3, "There are 3 vectors"), (200, "more vectors than that")])
def test_as_many_vectors_as_documents(rows: int, message: str) -> None:
    with Index.create() as made:
        with pytest.raises(InputError, match=message):
            made.add(documents(), vectors=np.ones((rows, 4)))
        assert len(made) == 0


def test_documents_without_vectors_take_none_later(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index") as made:
        made.add(["a cat at sea"])
        with pytest.raises(InputError, match="has documents without vectors"):
            made.add(["a ship at sea"], vectors=[[1.0, 2.0]])
        with pytest.raises(InputError, match="documents that have vectors"):
            made.search("cat", vector=[1.0, 2.0])
    with pytest.raises(InputError, match="has no vectors of documents"):
        Index.open(tmp_path / "index", encoder=hashed)


def test_encoding_stops_and_goes_on(tmp_path: Path) -> None:
    """What was encoded and stored before a stop is not encoded again, and the index is the same in the end."""
    many = [{"id": f"m{n}", "text": f"{one['text']} {n}"} for n, one in enumerate(documents() * 25)]
    seen: list[int] = []

    def counted(texts: list[str]) -> np.ndarray:
        seen.append(len(texts))
        return hashed(texts)

    cancel = Cancel()
    with Index.create(tmp_path / "stopped", encoder=counted) as made:
        with cancellable(cancel), pytest.raises(Cancelled):
            made.fill(many, step=1024, progress=lambda done, total: cancel.cancel() if done >= 2048 else None)
        stored = len(made)
        assert 0 < stored < len(many)
        seen.clear()
        assert made.fill(many, step=1024, resume=True) == len(many)
        assert sum(seen) == len(many) - stored
        made.verify()
        with Index.create(tmp_path / "whole", encoder=hashed) as whole:
            whole.fill(many)
            assert answers(made) == answers(whole)


def _damage(index: Index, name: str) -> None:
    file = next((index.path / "segments").rglob(f"{name}.npy"))
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def stored_codes(index: Index) -> np.ndarray:
    with index.backend.state() as (_, snapshot):
        return np.concatenate([part.rows.bags.codes.codes for part in snapshot.parts])


def test_documents_of_many_chunks_have_their_own_vectors(tmp_path: Path) -> None:
    texts = [f"ship number{n}" if n % 50 else "!" for n in range(3000)]
    made = []
    for threads in (1, 2):
        with Index.create(tmp_path / str(threads), encoder=hashed, on_empty="drop") as index:
            index.add([{"id": str(n), "text": text} for n, text in enumerate(texts)], threads=threads)
            given = [{"id": str(n), "text": f"cat number{n}"} for n in range(1, 2500, 3)]
            index.upsert(given, threads=threads)
            index.compact()
            made.append((stored_codes(index), [one.id for one in index.documents()]))
    assert np.array_equal(made[0][0], made[1][0])
    assert made[0][1] == made[1][1]
    found = np.array([int(n) for n in made[1][1]])
    wanted = Codes.of(hashed([f"cat number{n}" if n % 3 == 1 and n < 2500 else f"ship number{n}" for n in found]))
    assert np.array_equal(made[1][0], wanted.codes)


def test_an_encoder_that_fails_costs_nothing(tmp_path: Path) -> None:
    def fails(texts: list[str]) -> np.ndarray:
        if any("number1500" in text for text in texts):
            raise RuntimeError("out of memory")
        return hashed(texts)

    with Index.create(tmp_path / "index", encoder=fails) as index:
        index.add(["ship number1"])
        with pytest.raises(RuntimeError, match="out of memory"):
            index.add([f"ship number{n}" for n in range(3000)], threads=2)
        assert len(index) == 1
        index.add(["ship number2"], threads=2)
        assert len(stored_codes(index)) == len(index) == 2


def test_damaged_codes_are_found_and_made_again(index: Index, tmp_path: Path) -> None:
    many = [{"id": f"m{n}", "text": f"{one['text']} {n}", "long": False} for n, one in enumerate(documents() * 9)]
    index.add(many)
    before = answers(index)
    index.close()
    for name in ("codes", "code_scales"):
        shutil.copytree(index.path, tmp_path / name)
        with Index.open(tmp_path / name, encoder=hashed) as copy:
            _damage(copy, name)
            with pytest.raises(FormatError, match="damaged"):
                copy.verify()
            copy.compact(rebuild=True)
            copy.verify()
            assert answers(copy) == before


def test_vectors_that_were_brought_cannot_be_made_again(tmp_path: Path) -> None:
    texts = [f"{one['text']} {n}" for n, one in enumerate(documents() * 9)]
    with Index.create(tmp_path / "index") as made:
        made.add(texts, vectors=hashed(texts))
        _damage(made, "codes")
        with pytest.raises(FormatError, match="brought with the documents are lost"):
            made.compact(rebuild=True)


def test_similar_by_meaning(index: Index) -> None:
    found = index.similar("feline tomcat", 3, by="meaning")
    assert found.method == "meaning"
    vectors = Codes.of(hashed([str(one["text"]) for one in documents()])).vectors()
    query = hashed(["feline tomcat"])[0]
    cosines = vectors @ (query / np.linalg.norm(query))
    order = np.argsort(-cosines, kind="stable")[:3]
    assert [hit.id for hit in found] == [str(documents()[row]["id"]) for row in order]
    np.testing.assert_allclose([hit.distance for hit in found], 1 - cosines[order], atol=1e-4)
    assert found[0].explain() is None
    assert "distance" in found.to_columns()
    near = index.similar(id="x0", by="meaning")
    assert "x0" not in [hit.id for hit in near]
    assert all(0 <= hit.distance <= 2 for hit in near)
    both = index.similar(["feline tomcat", "credit"], 3, by="meaning", filter={"long": False})
    assert [hit.id for hit in both[0]] == [
        hit.id for hit in index.similar("feline tomcat", 3, by="meaning", filter={"long": False})
    ]
    given = index.similar("anything", 3, by="meaning", vector=query)
    assert [hit.distance for hit in given] == [hit.distance for hit in found]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "meaning", "distance": "wmd"}, "distance= is for by='words'"),
        ({"by": "meaning", "explain": True}, "explain= is for by='words'"),
        ({"by": "sound"}, "by must be 'words' or 'meaning'"),
        ({"vector": [1.0]}, "vector= is for by='meaning'"),
    ],
)
def test_what_similar_by_meaning_does_not_take(index: Index, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        index.similar("cat", **options)


def test_near_in_words_and_in_meaning() -> None:
    """Bags cannot tell who bites whom; an encoder can."""

    def ordered(texts: list[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 2), dtype=np.float32)
        for row, text in enumerate(texts):
            rows[row] = (1, 0) if text.find("dog") < text.find("man") else (0, 1)
        return rows

    texts = {"a": "the dog bites the man", "b": "the man bites the dog", "c": "a dog bites the man"}
    with Index.create(encoder=ordered) as made:
        made.add([{"id": id, "text": text} for id, text in texts.items()])
        assert len(made.duplicates(0.1)) == 3
        assert [(pair.first, pair.second) for pair in made.duplicates(0.1, meaning=0.1)] == [("a", "c")]
        with pytest.raises(InputError, match="meaning"):
            made.duplicates(0.1, meaning=-1)
    with Index.create() as made, pytest.raises(InputError, match="no vectors of documents"):
        made.duplicates(0.1, meaning=0.1)
    with Index.create() as made, pytest.raises(InputError, match="no vectors of documents"):
        made.similar("cat", by="meaning")


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_vectors_are_exported_and_come_back(index: Index, tmp_path: Path, name: str) -> None:
    from wordferry.texts.documents import read_documents

    index.export(tmp_path / name, vectors="embedding")
    with Index.create() as again:
        again.add(read_documents(tmp_path / name, vectors="embedding"))
        for query, before in zip(QUERIES, answers(index, meaning=2), strict=True):
            found = again.search(query, 40, vector=hashed([query])[0])
            assert [(hit.id, hit.score) for hit in found] == before
    with pytest.raises(InputError, match="csv has no lists"):
        index.export(tmp_path / "out.csv", vectors="embedding")


def test_leakage_in_words_and_in_meaning():
    """The same words in another order are near in words, and only one of them in meaning."""
    texts = ["dog bites man", "stocks fell sharply"]
    with Index.create() as index:
        index.add(texts, vectors=[[1.0, 0.0], [0.0, 1.0]])
        given, vectors = ["man bites dog", "dog bites man"], [[0.0, 1.0], [1.0, 0.1]]
        assert len(index.leakage(given, 0.5)) == 2
        (pair,) = index.leakage(given, 0.5, meaning=0.2, vectors=vectors)
        assert (pair.first, pair.second) == (index.ids()[0], "document 1")
        with pytest.raises(InputError, match="no encoder to make those of the documents given"):
            index.leakage(given, 0.5, meaning=0.2)
    with Index.create() as index:
        index.add(texts)
        with pytest.raises(InputError, match="has no vectors of documents"):
            index.leakage(texts, 0.5, meaning=0.2)
