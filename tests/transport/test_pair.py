"""One pair a call: the short way gives what the long way gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordferry
from tests.transport.helpers import random_embeddings
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.kernels.passes import transport_pair

EMBEDDINGS = random_embeddings(60, 12, duplicates=True)
DOCUMENTS = st.lists(st.integers(0, 64).map("w{}".format), min_size=1, max_size=40)  # some words are unknown


@given(DOCUMENTS, DOCUMENTS)
def test_equals_pairwise_to_the_bit(x, y):
    known = [any(word in EMBEDDINGS.vocabulary for word in document) for document in (x, y)]
    if not all(known):
        with pytest.raises(EmptyDocumentError, match="no known word"):
            wordferry.distance(x, y, "wmd", embeddings=EMBEDDINGS)
        return
    expected = float(wordferry.pairwise([x], [y], "wmd", embeddings=EMBEDDINGS)[0, 0])
    assert wordferry.distance(x, y, "wmd", embeddings=EMBEDDINGS) == expected
    assert wordferry.distance(y, x, "wmd", embeddings=EMBEDDINGS) == expected
    assert wordferry.distance(" ".join(x), np.array(y), "wmd", embeddings=EMBEDDINGS, tokenizer=str.split) == expected


def test_options_are_checked_as_in_pairwise():
    x = ["w1", "w2"]
    for options, message in (
        ({"threads": 0}, "threads must be at least 1"),
        ({"overlap": "none"}, "overlap"),
        ({"weights": np.ones(3)}, "one finite, non-negative number"),
    ):
        with pytest.raises(InputError, match=message):
            wordferry.distance(x, x, "wmd", embeddings=EMBEDDINGS, **options)
    with pytest.raises(InputError, match="tokens must be str"):
        wordferry.distance(x, ["w1", 2], "wmd", embeddings=EMBEDDINGS)
    with pytest.raises(InputError):
        wordferry.distance(x, 3, "wmd", embeddings=EMBEDDINGS)


def test_costs_without_an_optimum_are_no_number():
    vectors = np.eye(3, dtype=np.float32) * np.float32(3e38)  # Embeddings refuses them
    assert np.isnan(transport_pair(vectors, {0: 1, 1: 1}, {1: 2, 2: 1}))


def test_the_kernel_refuses_what_is_out_of_range():
    vectors = EMBEDDINGS.matrix
    for bad, reason in (({-1: 1}, "out of range"), ({60: 1}, "out of range"), ({3: 0}, "positive")):
        with pytest.raises(ValueError, match=reason):
            transport_pair(vectors, bad, {1: 1})
        with pytest.raises(ValueError, match=reason):
            transport_pair(vectors, {1: 1}, bad)
