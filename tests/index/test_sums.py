"""What documents weigh after a change, made of what they weighed before it: bounds hold, and answers are the same."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.index.collection import HISTORY, embeddings, play
from tests.index.test_weighed_lists import some_text, text
from wordferry.index import Index, publish, sums, weighed_lists


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    history=HISTORY,
    seed=st.integers(0, 10_000),
    k=st.sampled_from([1, 5, 1000]),
    drift=st.sampled_from([0.0, 0.01, 3.0]),
    many=st.sampled_from([3, 1000]),
    weights=st.sampled_from(["idf", "norm-idf", "log-idf", "bm25"]),
    unknown=st.sampled_from(["match", "drop"]),
)
def test_an_index_that_has_been_searched_answers_as_one_that_has_not(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[tuple[str, Any]],
    seed: int,
    k: int,
    drift: float,
    many: int,
    weights: str,
    unknown: str,
) -> None:
    rng = np.random.default_rng(seed)
    place = tmp_path_factory.mktemp("sums") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "BUFFER", 12)
        patch.setattr(publish, "SEGMENT", 40)
        patch.setattr(weighed_lists, "_FEW", 0)
        patch.setattr(sums, "_FEW", 0)
        patch.setattr(sums, "_DRIFT", drift)
        patch.setattr(sums, "_MANY", many)
        own = {"weights": weights, "unknown": unknown}
        with Index.create(place, embeddings=embeddings(), related=3, on_empty="keep", **own) as index:
            index.add([some_text(rng) for _ in range(60)])
            for step in history:
                play(index, [step], rng, lambda: some_text(rng))
                queries = ["w03 " + text(rng, size, outside=5) for size in (1, 6, 20)]
                with Index.open(place, embeddings=embeddings()) as fresh:
                    wanted = fresh.similar(queries, k)
                assert index.similar(queries, k) == wanted


def test_sums_of_earlier_states_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are off by no more than they say, and come from the last state whose documents were all summed up."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(sums, "_FEW", 0)
    monkeypatch.setattr(publish, "BUFFER", 12)
    with Index.create(tmp_path / "index", embeddings=embeddings(), related=3, on_empty="keep") as index:
        index.add([some_text(rng) for _ in range(400)])
        index.similar("w01 w02")
        first = dict(next(iter(index.weighed._states.values()))._sums)
        for _ in range(2):
            index.add([some_text(rng) for _ in range(9)])
            index.similar("w01 w02")
            later = list(index.weighed._states.values())[-1]._sums
            assert first.keys() <= later.keys()
            for key, earlier in first.items():
                assert later[key].base is earlier
                drifted = later[key]._drifted
                assert drifted is not None
                assert 0 < later[key].error < 0.02
                np.testing.assert_allclose(drifted[0], later[key].exact, rtol=later[key].error)
                assert (drifted[0] != earlier.short).any()


@pytest.mark.parametrize("drift", [0.01, 3.0])
def test_words_that_become_frequent_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drift: float) -> None:
    """Also where none of them is looked up, and sums are off by up to a half, no near document is overlooked."""
    monkeypatch.setattr(sums, "_FEW", 0)
    monkeypatch.setattr(sums, "_DRIFT", drift)
    monkeypatch.setattr(publish, "BUFFER", 12)
    monkeypatch.setattr(publish, "SEGMENT", 400)
    monkeypatch.setattr(weighed_lists, "_FEW", 0)
    for seed in range(6):
        rng, place = np.random.default_rng(seed), tmp_path / f"index-{seed}"
        with Index.create(place, embeddings=embeddings(), related=3, on_empty="keep") as index:
            index.add([some_text(rng) for _ in range(300)])
            index.similar("w01 w02")
            index.add([f"w{i} w{i}" for i in range(40, 45)] * 60)
            queries = ["w03 " + text(rng, size, outside=5) for size in (1, 6, 12, 20) for _ in range(5)]
            with Index.open(place, embeddings=embeddings()) as fresh:
                assert index.similar(queries, 3) == fresh.similar(queries, 3)
            largest = max(one.error for one in list(index.weighed._states.values())[-1]._sums.values())
            assert (largest > 0.1) == (drift > 1)


@pytest.mark.parametrize("many", [0, 1000])
def test_earlier_states_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """No more than the state that sums were made of is kept, however often the index changes."""
    rng, seen = np.random.default_rng(0), []
    monkeypatch.setattr(sums, "_FEW", 0)
    monkeypatch.setattr(sums, "_MANY", many)
    monkeypatch.setattr(sums, "_DRIFT", 0.0)
    monkeypatch.setattr(publish, "SEGMENT", 400)
    with Index.create(tmp_path / "index", embeddings=embeddings(), related=3, on_empty="keep") as index:
        index.add([some_text(rng) for _ in range(300)])
        for _ in range(12):
            index.add([some_text(rng) for _ in range(3)])
            index.similar("w01 w02 w03", 3)
            seen.append(weakref.ref(list(index.weighed._states.values())[-1].scale))
        gc.collect()
        assert sum(one() is not None for one in seen) <= 4
