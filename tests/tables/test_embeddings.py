"""``embeddings=`` takes what people have, everywhere; pickles are recognised and not opened."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import wordferry
from tests.transport.helpers import random_embeddings
from wordferry import Embeddings, RelatedWords, distance, encode, explain, load_embeddings, paired, pairwise, top_k
from wordferry.errors import FormatError, InputError
from wordferry.index import Index
from wordferry.neighbors import WordMoverNeighbors
from wordferry.words.loaders.given import as_embeddings

OURS = random_embeddings(20, 6)
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("gensim", "spaCy")]
"""Packages that make check brings."""
TEXTS = [["w1", "w2"], ["w3", "w4", "w5"], ["w1", "w7"]]


def _gensim():
    models = pytest.importorskip("gensim.models", reason="gensim is not installed (make check brings it)")
    keyed = models.KeyedVectors(6)
    keyed.add_vectors(list(OURS.vocabulary), OURS.matrix * 3)
    return keyed


def _spacy():
    """A pipeline without a model, whose vectors are ours."""
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (make check brings it)")
    pipeline = spacy.blank("en")
    for word, vector in zip(OURS.vocabulary, OURS.matrix, strict=True):
        pipeline.vocab.set_vector(word, vector * 2)
    return pipeline


def _model2vec():
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed (pip install 'wordferry[dev]')")
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, **{word: i + 1 for i, word in enumerate(OURS.vocabulary)}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.add_special_tokens(["[UNK]"])
    return model2vec.StaticModel(np.vstack([np.zeros((1, 6), np.float32), OURS.matrix]), tokenizer)


def _given(tmp_path, package="ours"):
    """Word vectors in the forms that a package has, by name."""
    if package == "gensim":
        return {"gensim": _gensim()}
    if package == "spaCy":
        return {"spaCy": (pipeline := _spacy()), "spaCy's vocabulary": pipeline.vocab}
    OURS.save(tmp_path / "folder")
    rows = zip(OURS.vocabulary, OURS.matrix.tolist(), strict=True)
    (tmp_path / "v.txt").write_text("".join(f"{word} {' '.join(map(repr, row))}\n" for word, row in rows))
    return {
        "folder": tmp_path / "folder",
        "path": tmp_path / "v.txt",
        "text of a path": str(tmp_path / "v.txt"),
        "dict": dict(zip(OURS.vocabulary, OURS.matrix, strict=True)),
        "dict of lists": dict(zip(OURS.vocabulary, OURS.matrix.tolist(), strict=True)),
        "model2vec": _model2vec(),
    }


@pytest.mark.parametrize("package", ["ours", *OTHERS])
def test_every_call_takes_every_kind(tmp_path, package):
    expected = pairwise(TEXTS, TEXTS, "wmd", embeddings=OURS)
    for name, given in _given(tmp_path, package).items():
        np.testing.assert_allclose(pairwise(TEXTS, TEXTS, "wmd", embeddings=given), expected, rtol=1e-5, atol=1e-6)
        assert top_k(TEXTS, TEXTS, 1, "rel-rwmd", embeddings=given).indices.ravel().tolist() == [0, 1, 2], name
        assert distance(TEXTS[0], TEXTS[1], "wmd", embeddings=given) == pytest.approx(float(expected[0, 1]), rel=1e-5)
        assert explain(TEXTS[0], TEXTS[1], embeddings=given).distance == pytest.approx(float(expected[0, 1]), rel=1e-5)
        assert encode(TEXTS, given).shape == (3, 20)
        np.testing.assert_allclose(
            paired(TEXTS, TEXTS[::-1], embeddings=given), expected[[0, 1, 2], [2, 1, 0]], 1e-5, 1e-6
        )
        assert wordferry.Measure("wmd", embeddings=given).pair(TEXTS[0], TEXTS[2]) == pytest.approx(
            expected[0, 2], 1e-5
        )
        assert len(wordferry.Searcher(TEXTS, "rwmd", embeddings=given)) == 3
        assert RelatedWords.build(given, 3).r == 3
        assert WordMoverNeighbors(1, embeddings=given, r=3).fit(TEXTS).kneighbors(TEXTS)[1].tolist() == [[0], [1], [2]]
        with Index.create(tmp_path / f"index of {name}", embeddings=given) as index:
            index.add(TEXTS)
            assert index.search([TEXTS[1]], k=1)[0][0].text == tuple(TEXTS[1])


def test_what_was_read_is_read_once_and_again_when_it_changes(tmp_path):
    given = _given(tmp_path)
    for name in ("folder", "path", "model2vec"):
        assert as_embeddings(given[name]) is as_embeddings(given[name]), name
    first = as_embeddings(given["path"])
    (tmp_path / "v.txt").write_text("cat 1 2\n")
    assert len(as_embeddings(given["path"])) == 1
    assert len(first) == 20
    assert as_embeddings(OURS) is OURS


@pytest.mark.parametrize("package", OTHERS)
def test_what_a_package_holds_is_read_once(tmp_path, package):
    given = _given(tmp_path, package)[package]
    assert as_embeddings(given) is as_embeddings(given)


@pytest.mark.slow
def test_what_gensim_is_given_later_is_read():
    keyed = _gensim()
    assert "new" not in as_embeddings(keyed)
    keyed.add_vectors(["new"], np.ones((1, 6), np.float32))
    assert "new" in as_embeddings(keyed)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "shapes none"),
        ({"a": [1, 2], "b": [1]}, "one length"),
        ({"a": 1.0}, "one length"),
        ({1: [1.0, 2.0]}, "words as keys"),
        ({"a": ["x", "y"]}, "real numbers"),
        (17, "got int"),
        (object(), "got object"),
        (np.eye(3), "got ndarray"),
    ],
)
def test_what_is_no_word_vectors(given, said):
    with pytest.raises(InputError, match=said):
        pairwise(TEXTS, TEXTS, embeddings=given)


def test_a_dict_with_options():
    found = load_embeddings({"a": [3, 4], "b": [0, 2], "c": [1, 1]}, limit=2, normalize=False)
    assert list(found.vocabulary) == ["a", "b"]
    assert found.matrix.tolist() == [[3, 4], [0, 2]]


class _Trap:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_are_not_opened(tmp_path, protocol):
    (tmp_path / "v.kv").write_bytes(pickle.dumps(_Trap(), protocol))
    for read in (load_embeddings, as_embeddings):
        with pytest.raises(FormatError, match=r"pickle.*trusted=True.*save_word2vec_format"):
            read(tmp_path / "v.kv")


@pytest.mark.slow
def test_gensims_own_files_are_opened_when_trusted(tmp_path):
    keyed = _gensim()
    keyed.save(str(tmp_path / "v.kv"))
    with pytest.raises(FormatError, match="trusted=True"):
        load_embeddings(tmp_path / "v.kv")
    found = load_embeddings(tmp_path / "v.kv", trusted=True)
    np.testing.assert_allclose(found.matrix, OURS.matrix, rtol=1e-5, atol=1e-6)
    (tmp_path / "broken.kv").write_bytes(b"\x80\x04nonsense")
    with pytest.raises(FormatError, match="cannot be opened by gensim"):
        load_embeddings(tmp_path / "broken.kv", trusted=True)
    (tmp_path / "other.kv").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(FormatError, match="cannot be opened by gensim"):
        load_embeddings(tmp_path / "other.kv", trusted=True)


def test_embeddings_are_still_checked():
    with pytest.raises(InputError, match="'b'"):
        Embeddings(["a", "b"], [[1.0, 0.0], [np.nan, 1.0]])
