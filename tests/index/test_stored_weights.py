"""Weights of words and documents that are kept on disk: answers are those of weighing everything again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.index.collection import WORDS, embeddings
from wordferry import Index
from wordferry.errors import FormatError
from wordferry.index.search import memory, similar
from wordferry.index.search.views import Request
from wordferry.index.storage import stored_weights
from wordferry.texts.bow import looked_up

NAMES = [f"name{i}" for i in range(400)]
QUERIES = ["w01 w02 w03", "w05 name3 name3 w11 w40", "name7", "unheard w07"]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are stored of small indexes too."""
    monkeypatch.setattr(stored_weights, "LEAST", 1500)
    monkeypatch.setattr(stored_weights, "LARGE", 1500)


def texts(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    words = [*WORDS, *NAMES]
    return [" ".join(words[i] for i in rng.integers(0, len(words), rng.integers(1, 30))) for _ in range(count)]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with Index.create(tmp_path / "index", embeddings=embeddings(), related=6) as made:
        made.add([{"id": str(i), "text": text} for i, text in enumerate(texts(1900, 4))])
    return tmp_path / "index"


def same_as_scan(index: Index, distance: str) -> None:
    measure, backend = index.measure(distance), index.backend
    with backend.state() as (connection, snapshot):  # type: ignore[attr-defined]
        view = backend.views.get(snapshot, measure)  # type: ignore[attr-defined]
        vocabulary = index.embeddings.vocabulary
        asked = [view.words(connection, looked_up(index.tokenizer(text), vocabulary)) for text in QUERIES]
        for some in ([one] for one in asked), [asked]:
            for queries in some:
                request = Request(measure.distance, measure.overlap, 10, snapshot.alive, 1)
                found, wanted = (find(view, queries, request) for find in (similar.nearest, memory.scan))
                assert np.array_equal(found.indices, wanted.indices)
                assert np.array_equal(found.distances.view(np.int32), wanted.distances.view(np.int32))


@pytest.mark.parametrize("distance", ["rel-rwmd", "rel-rwmd + 2*cosine", "cosine", "wcd", "rwmd"])
def test_answers_after_changes_are_those_of_comparing_with_all(place: Path, distance: str) -> None:
    with Index.open(place) as index:
        assert len(list((place / "weights").iterdir())) == 1
        same_as_scan(index, distance)
        index.add([{"id": f"new{i}", "text": text} for i, text in enumerate(texts(12, 5))])
        same_as_scan(index, distance)
        index.add([{"id": "rare", "text": "name1 name2 quite new words name7"}])
        index.delete([str(i) for i in range(5, 12)])
        same_as_scan(index, distance)
    with Index.open(place) as index:
        same_as_scan(index, distance)


def test_a_later_state_is_not_weighed_again(place: Path) -> None:
    with Index.open(place) as index:
        index.add([{"id": "rare", "text": "name1 name2 quite new words name7"}])
        measure, backend = index.measure(), index.backend
        with backend.state() as (_, snapshot):  # type: ignore[attr-defined]
            view = backend.views.get(snapshot, measure)  # type: ignore[attr-defined]
            large = snapshot.parts[0]
            least, norms = view._least(large)
            sums, exact = view.documents(large).sums, view.norms(large)
            assert view.weights.per_word is not snapshot.weights.weights
            assert (least <= sums).all()
            assert (norms <= exact).all()
            assert (least > 0.98 * sums).mean() > 0.9
            assert (norms > 0.98 * exact).mean() > 0.9


def test_an_unchanged_index_uses_what_is_stored(place: Path) -> None:
    with Index.open(place) as index, index.backend.state() as (_, snapshot):  # type: ignore[attr-defined]
        view = index.backend.views.get(snapshot, index.measure())  # type: ignore[attr-defined]
        assert view.weights.per_word is snapshot.weights.weights
        counted = snapshot.weights.frequencies
        words = np.concatenate([part.bags.words for part in snapshot.parts])
        assert np.array_equal(counted, np.bincount(words, minlength=len(counted)))


def test_a_large_change_stores_them_anew_and_removes_the_old_ones(place: Path) -> None:
    (before,) = (place / "weights").iterdir()
    with Index.open(place) as index:
        index.add([{"id": f"few{i}", "text": text} for i, text in enumerate(texts(5, 6))])
        assert [before] == list((place / "weights").iterdir())
        index.add([{"id": f"more{i}", "text": text} for i, text in enumerate(texts(60, 7))])
        (after,) = (place / "weights").iterdir()
        assert after != before
        same_as_scan(index, "rel-rwmd + 2*cosine")
        index.compact()
        same_as_scan(index, "rel-rwmd + 2*cosine")


def test_lost_ones_are_done_without_and_damaged_ones_are_found(place: Path) -> None:
    (folder,) = (place / "weights").iterdir()
    file = folder / "sums_0.npy"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with Index.open(place) as index, pytest.raises(FormatError, match="sums_0"):
        index.verify()
    file.unlink()
    with Index.open(place) as index:
        same_as_scan(index, "rel-rwmd + 2*cosine")


def test_an_index_with_stored_weights_is_overwritten(place: Path) -> None:
    assert (place / "weights").is_dir()
    with Index.create(place, embeddings=embeddings(), related=6, overwrite=True) as index:
        assert len(index) == 0
    assert not (place / "weights").exists()
