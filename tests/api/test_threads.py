"""Many threads with one Searcher and one Index get the answers of one thread; without the GIL too, which stays off."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.index.collection import documents, embeddings

import wordferry
from wordferry.index.search import words
from wordferry.index.search.views import View

THREADS = 8
TEXTS = [doc["text"] for doc in documents(120)]
QUERIES = [doc["text"] for doc in documents(24, seed=9, length=4)]


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """What ``work(number)`` gives in each of several threads that start together."""
    start, found, failures = threading.Barrier(THREADS), [None] * THREADS, []

    def run(number: int) -> None:
        try:
            start.wait()
            found[number] = work(number)
        except Exception as error:  # a thread's failure must reach the test
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return found


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has a GIL")
def test_the_gil_stays_off() -> None:
    code = "import sys, wordferry; wordferry.distance('a cat', 'a dog'); print(sys._is_gil_enabled())"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("distance", wordferry.DISTANCES)
def test_one_searcher(distance: str) -> None:
    vectors = embeddings()
    related = wordferry.RelatedWords.build(vectors, 8)

    def searcher() -> wordferry.Searcher:
        return wordferry.Searcher(TEXTS, distance, embeddings=vectors, related=related, threads=1)

    expected = searcher().top_k(QUERIES, 5)
    for _ in range(3):
        shared = searcher()  # what it derives from the collection is made by all threads at once
        for found in at_once(lambda number, shared=shared: shared.top_k(QUERIES, 5)):
            assert np.array_equal(found.indices, expected.indices)
            assert np.array_equal(found.distances, expected.distances)


def answers(index: wordferry.Index, query: str) -> list[Any]:
    """What an index says of a query in each way of asking it."""
    similar, scored = index.similar(query, k=5, distance="rel-rwmd"), index.search(query, k=5)
    return [
        [(hit.id, hit.distance) for hit in similar],
        [(hit.id, hit.score) for hit in scored],
        str(similar[0].explain()),
        str(scored[0].explain()) if scored else "",
        [(hit.id, hit.distance) for hit in index.similar(query, k=5, distance="wmd", weights="counts")],
        index.count({"topic": "law"}),
    ]


def test_one_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_KEPT_WORDS", 7)  # what is remembered of words is forgotten all the time
    with wordferry.Index.create(tmp_path / "index", embeddings=embeddings()) as index:
        index.add(documents(120))
        expected = [answers(index, query) for query in QUERIES]
    for _ in range(3):
        with wordferry.Index.open(tmp_path / "index") as shared:
            order = [np.random.default_rng(number).permutation(len(QUERIES)).tolist() for number in range(THREADS)]
            found = at_once(
                lambda number, shared=shared, order=order: {n: answers(shared, QUERIES[n]) for n in order[number]}
            )
            assert all(of[n] == expected[n] for of in found for n in range(len(QUERIES)))


def test_adding_to_one_index(tmp_path: Path) -> None:
    texts = documents(THREADS * 10)
    with wordferry.Index.create(tmp_path / "index", embeddings=embeddings()) as index:

        def add(number: int) -> None:
            for doc in texts[number::THREADS]:
                index.add([doc])
                assert index.similar(doc["text"], k=1)[0].distance == pytest.approx(0, abs=1e-6)

        at_once(add)
        assert sorted(index.ids()) == sorted(doc["id"] for doc in texts)
        index.verify()


def test_a_query_keeps_its_words_while_others_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_KEPT_WORDS", 2)
    with wordferry.Index.create(tmp_path / "index", embeddings=embeddings()) as index:
        index.add(documents(20))
        local: Any = index.backend
        with local.state() as state:
            _, forms = local.words.ranker(state, [["w01"]])
            for others in (["w02", "w03", "w04"], ["w05"]):
                local.words.ranker(state, [others])
            assert forms.place("w01") is not None


def test_a_view_is_taken_over_while_another_thread_adds_to_it(tmp_path: Path) -> None:
    with wordferry.Index.create(tmp_path / "index", embeddings=embeddings()) as index:
        index.add(documents(20))
        local: Any = index.backend
        with local.state() as (_, snapshot):
            earlier = local.views.get(snapshot, wordferry.Measure("rel-rwmd"))

        class Part:
            """A part whose key adds to the view when it is looked at, as another thread might."""

            key: Any = None

            def __hash__(self) -> int:
                earlier.kept(None, "added meanwhile", list)
                return 0

        part: Any = Part()
        part.key = part
        earlier._kept[("first", part)] = 1
        del earlier._kept[("added meanwhile", None)]  # by the line above
        later = View(snapshot, earlier.weights, local.views.source)
        later.take_over(earlier)
        assert ("first", part) not in later._kept
