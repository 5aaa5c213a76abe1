"""Word search over the stored lists equals word search over lists made of the tokens, bit by bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.collection import embeddings
from wordferry.find.memory import counted, part_of
from wordferry.find.ranking import Ranker
from wordferry.find.settings import Settings
from wordferry.find.stems import stemmer
from wordferry.index import Index
from wordferry.index.write import segment_writer

KNOWN = ["w01", "w02", "w03", "w10"]
OTHERS = ["heat", "heats", "heating", "heated", "flow", "flows", "xyz"]


@settings(max_examples=20, deadline=None)
@given(
    documents=st.lists(st.lists(st.sampled_from(KNOWN + OTHERS), min_size=1, max_size=12), min_size=1, max_size=60),
    query=st.lists(st.sampled_from([*KNOWN, *OTHERS, "heater", "flowing", "nothing"]), min_size=1, max_size=6),
    deleted=st.floats(0, 0.6),
    k=st.sampled_from([1, 5, 100]),
    lift=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 99),
)
def test_stored_lists_equal_lists_of_tokens(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[list[str]],
    query: list[str],
    deleted: float,
    k: int,
    lift: float,
    seed: int,
) -> None:
    """Several segments, a buffer, deletions, forms with and without a vector, words that nobody has."""
    rng = np.random.default_rng(seed)
    place: Path = tmp_path_factory.mktemp("words") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_writer, "BUFFER", 8)
        patch.setattr(segment_writer, "SEGMENT", 25)
        with Index.create(place, embeddings=embeddings(), related=4) as index:
            for start in range(0, len(documents), 17):
                index.add([{"tokens": tokens} for tokens in documents[start : start + 17]])
            index.delete([id for id in index.ids() if rng.random() < deleted])
            left = list(index)
            hits = index.search(tuple(query), k, lift=lift)
        with Index.open(place) as index:
            asked = [tuple(query), *([one] for one in query)]
            for _ in range(2):
                again = index.search(asked, k, lift=lift)[0]
                assert again.counts["pairs"] == len(asked) * len(left) >= again.counts["evaluated"] >= len(again)
                assert [(hit.id, hit.score) for hit in again] == [(hit.id, hit.score) for hit in hits]
        rows, forms = counted([list(doc.text) for doc in left], stemmer("english"))
        whole = Ranker([part_of(rows, forms)], forms, forms.groups)
        wanted = whole.search(query, k, Settings().changed(lift=lift))
        if lift:  # the cosines between candidates are summed in the order in which words came
            assert [hit.score for hit in hits] == pytest.approx(wanted.scores.tolist(), rel=1e-12)
            return
        assert [hit.id for hit in hits] == [left[row].id for row in wanted.rows.tolist()]
        assert [hit.score for hit in hits] == wanted.scores.tolist()
