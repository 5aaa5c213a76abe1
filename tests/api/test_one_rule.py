"""One pair, one name, one value: c_max and related words are those of the vectors' vocabulary, whatever is compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordferry
from wordferry.words.related.whole import related_of

WORDS = [f"w{i:03d}" for i in range(120)]
OWN = wordferry.Embeddings(WORDS, np.random.default_rng(4).normal(size=(len(WORDS), 6)))
TEXT = st.lists(st.sampled_from([*WORDS, "unseen", "qzx", "w1000"]), min_size=1, max_size=12).map(" ".join)
PLAIN = [name for name, distance in wordferry.DISTANCES.items() if not distance.own_weights]
"""The tf-idf distances weigh by the frequencies of what is compared, which is another collection in each call."""


@pytest.mark.parametrize("name", [*PLAIN, "rel-rwmd + 0.5*cosine", "act(transfers=3)"])
@settings(max_examples=25, deadline=None)
@given(a=TEXT, b=TEXT, company=st.lists(TEXT, min_size=1, max_size=5), unknown=st.sampled_from(["match", "drop"]))
def test_a_pair_has_one_value(name: str, a: str, b: str, company: list[str], unknown: str) -> None:
    """Asked for alone, among others, one beside the other, as the nearest, and explained; and with the graph passed."""
    how = {"embeddings": OWN, "unknown": unknown, "tokenizer": str.split, "on_empty": "keep"}
    expected = wordferry.distance(a, b, name, **how)
    same = pytest.approx(expected, abs=2e-6)
    assert wordferry.pairwise([a], [b], name, **how)[0, 0] == same
    assert wordferry.pairwise([*company, a], [b, *company], name, **how)[-1, 0] == same
    assert wordferry.paired([a, *company], [b, *company], name, **how)[0] == same
    near = wordferry.top_k([a], [b, *company], len(company) + 1, name, **how)
    assert near.distances[0][near.indices[0].tolist().index(0)] == same
    if np.isfinite(expected) and (unknown == "match" or {*a.split(), *b.split()} <= {*WORDS}):
        del how["on_empty"]
        assert wordferry.explain(a, b, name, **how).distance == same
        assert wordferry.distance(a, b, name, related=related_of(OWN), **how) == same
