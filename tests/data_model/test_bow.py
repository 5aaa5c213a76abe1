"""Bags of words, weights, coverage, and empty documents."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import wordferry
from wordferry import Vocabulary, encode
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.texts.bow import TfIdf, bag, bags, looked_up, normalized, weighted

V = Vocabulary(["cat", "dog", "cow", "hen"])
TOKENS = st.lists(st.sampled_from(["cat", "dog", "cow", "hen", "yak", "gnu"]), max_size=12)


@given(st.lists(TOKENS, max_size=6))
def test_counts_are_those_of_counter(documents: list[list[str]]) -> None:
    found = bags(documents, V, on_empty="keep")
    dense = found.matrix.toarray()
    assert dense.shape == (len(documents), 4)
    for row, tokens in zip(dense, documents, strict=True):
        assert row.tolist() == [Counter(tokens)[word] for word in V]
    assert found.tokens.tolist() == [len(tokens) for tokens in documents]
    assert found.known.tolist() == dense.sum(axis=1).tolist()
    assert found.unknown == Counter(t for tokens in documents for t in tokens if t not in V)
    assert found.matrix.has_canonical_format
    assert found.dropped.tolist() == []


def test_texts_token_lists_and_arrays_are_documents() -> None:
    X = encode(["The cat; the CAT and a dog", ["cat", "cat", "dog"], ("dog", "cat", "cat")], V)
    assert X.toarray().tolist() == [[2, 1, 0, 0]] * 3
    assert isinstance(X, sp.csr_array)
    assert encode([np.array(["cat"])], V).toarray().tolist() == [[1, 0, 0, 0]]
    assert encode(["Cat"], V, tokenizer=str.split, on_empty="keep").nnz == 0
    assert encode(["cat/dog"], V, tokenizer=lambda text: text.split("/")).nnz == 2


def test_default_vectors_unless_told_otherwise() -> None:
    assert encode(["cat"]).shape == (1, 60_000)
    assert encode(["cat"], wordferry.Embeddings(list(V), np.eye(4))).shape == (1, 4)


def test_empty_documents() -> None:
    documents = ["cat", "yak gnu", "", "dog yak"]
    with pytest.raises(EmptyDocumentError, match=r"Document 1 has no known word \(0 of 2 tokens: 'yak', 'gnu'\)"):
        bags(documents, V)
    with pytest.raises(EmptyDocumentError, match=r"Document 0 has no known word \(it has no tokens"):
        bags(["the"], V)
    with pytest.raises(EmptyDocumentError, match=r"0 of 20 tokens: .*, \.\.\.\)"):
        bags([["yak"] * 20], V)
    dropped = bags(documents, V, on_empty="drop")
    assert dropped.rows.tolist() == [0, 3]
    assert dropped.dropped.tolist() == [1, 2]
    assert dropped.documents == 4
    kept = bags(documents, V, on_empty="keep")
    assert kept.rows.tolist() == [0, 1, 2, 3]
    assert kept.coverage.tolist() == [1, 0, 0, 0.5]
    assert repr(kept) == "Encoded(documents=4, words=4, coverage=40.0%)"
    with pytest.raises(InputError, match="'error', 'drop', 'keep'; got 'skip'"):
        bags(documents, V, on_empty="skip")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ("a text", "Put it in a list"),
        ([["cat", 5]], r"Document 0: tokens must be str, got int \(5\)"),
        ([7], "Document 0 must be a text or a list of tokens, got int"),
        (["cat", {"body": "cat"}], "Document 1: expected a field .text."),
    ],
)
def test_refused(documents: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        bags(documents, V)  # type: ignore[arg-type]


def test_tf_idf_is_frozen_at_fit() -> None:
    X = encode(["cat dog", "cat cow", "cat cat"], V)
    fitted = TfIdf.fit(X)
    np.testing.assert_allclose(fitted.idf, [np.log(4 / d) + 1 for d in (4, 2, 2, 1)])
    assert fitted.documents == 3
    new = fitted.apply(encode(["cat hen"], V)).toarray()
    np.testing.assert_allclose(new, [[1, 0, 0, np.log(4) + 1]])
    with pytest.raises(InputError, match=r"one value per word \(2\)"):
        fitted.apply(sp.csr_array(np.ones((1, 2))))
    with pytest.raises(ValueError, match="read-only"):
        fitted.idf[0] = 1


def test_weights() -> None:
    X = encode(["cat dog dog", "cow"], V)
    before = X.copy()
    W = weighted(X, [2.0, 0.0, 1.0, 1.0])
    assert W.toarray().tolist() == [[2, 0, 0, 0], [0, 0, 1, 0]]
    assert W.nnz == 2
    assert (before != X).nnz == 0  # the caller's matrix is untouched, indices and all
    assert X.indices.tolist() == before.indices.tolist()
    for bad in ([1.0], [-1, 1, 1, 1], [np.nan, 1, 1, 1]):
        with pytest.raises(InputError, match="weights must"):
            weighted(X, bad)


@given(st.lists(st.lists(st.floats(0, 1e6).filter(lambda v: v == 0 or v > 1e-300), min_size=3, max_size=3), min_size=1))
def test_rows_sum_to_one_or_stay_empty(rows: list[list[float]]) -> None:
    N = normalized(sp.csr_array(np.array(rows)))
    sums = N.sum(axis=1)
    for row, total in zip(rows, sums, strict=True):
        assert total == (pytest.approx(1) if any(row) else 0)


def test_two_spellings_of_one_word_are_added() -> None:
    """A composed and a decomposed letter are the same word: both count, known or not."""
    vocabulary = Vocabulary(["cafe\u0301", "tea"])
    tokens = ["caf\u00e9", "cafe\u0301", "tea", "caf\u00e9", "cocoa"]
    for some in (tokens, looked_up(tokens, vocabulary)):
        found = bags([some], vocabulary)
        assert found.matrix.toarray().tolist() == [[3, 1]]
        assert found.unknown == {"cocoa": 1}
        assert bag(some, vocabulary) == {0: 3, 1: 1}


def test_tokens_that_were_looked_up_count_as_themselves() -> None:
    vocabulary, other = Vocabulary(["a", "b"]), Vocabulary(["b", "c"])
    tokens = looked_up(["a", "b", "a", "c"], vocabulary)
    assert bags([tokens], vocabulary, unknown="match").matrix.toarray().tolist() == [[2, 1, 1]]
    assert bags([tokens], other).matrix.toarray().tolist() == [[1, 1]]  # what another vocabulary says is not believed
    assert looked_up(tokens, vocabulary) is tokens
    assert looked_up(["c", "d"], vocabulary, {"c": -1}).others == {"c": 1, "d": 1}
