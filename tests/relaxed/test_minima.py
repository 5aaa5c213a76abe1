"""Minima of word distances over documents, both ways from one block of distances."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from wordferry.base.arrays import Csr
from wordferry.kernels import passes


@given(
    documents=st.integers(1, 40),
    words=st.integers(1, 60),
    others=st.integers(1, 150),
    threads=st.integers(1, 2),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_blocks_of_words_lower_the_minima(documents: int, words: int, others: int, threads: int, seed: int) -> None:
    """Words come in blocks of sixteen; the distances of a block are a part of a wider matrix."""
    rng = np.random.default_rng(seed)
    bags = sp.random_array((documents, words), density=0.2, rng=rng, format="csr", dtype=np.float32)
    bags.sort_indices()
    costs = rng.random((others, words), dtype=np.float32)
    view = passes.view(Csr(bags.indptr.astype(np.int64), bags.indices.astype(np.int32), bags.data, bags.shape))
    panels, rows = -(-documents // 16), -(-others // 16) * 16
    nearest = passes.aligned(panels, rows, 16)
    nearest[...] = passes.FAR_AWAY
    block = passes.aligned(others, 48)
    for first in range(0, words, 16):
        some = costs[:, first : first + 16]
        block[:, : some.shape[1]] = some
        passes.lower_minima(view, first, block[:, :16], nearest, threads)
    for document in range(documents):
        own = bags.indices[bags.indptr[document] : bags.indptr[document + 1]]
        expected = costs[:, own].min(axis=1) if len(own) else np.full(others, passes.FAR_AWAY)
        np.testing.assert_array_equal(nearest[document // 16, :others, document % 16], expected.astype(np.float32))
