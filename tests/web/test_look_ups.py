"""A request looks each of its tokens up once, however many parts of the program want to know it."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import Any

import pytest
from fastapi.testclient import TestClient

import wordferry
from tests.web.conftest import SCRIPT
from wordferry.web.app import create_app

A = "Fishermen repaired their wooden harbour qwertzal beside a lighthouse. Storms wrecked seven boats yesterday"
B = "Orchestras rehearse symphonies bleepling in concert halls. Violinists tune their instruments before concerts"


class _Counted(dict[str, int]):
    """A table of words that counts how often each is asked for."""

    asked: Counter[str]

    def get(self, word: str, default: Any = None) -> Any:
        self.asked[word] += 1
        return super().get(word, default)

    def __getitem__(self, word: str) -> int:
        self.asked[word] += 1
        return super().__getitem__(word)

    def __contains__(self, word: object) -> bool:
        self.asked[str(word)] += 1
        return super().__contains__(word)


REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "words": ("/api/search", {"texts": [A]}),
    "distance": ("/api/search", {"texts": [A], "distance": "rel-rwmd"}),
    "two": ("/api/search", {"texts": [A, B], "distance": "wmd", "filter": {"topic": {"ne": "none"}}}),
    "similar": ("/api/similar", {"like": {"text": A}}),
    "like": ("/api/similar", {"like": {"id": "script/<b>"}}),
    "pair": ("/api/distance", {"a": A, "b": B, "distances": ["wmd", "rel-rwmd", "wcd", "rel-wmd", "cosine"]}),
    "explain": ("/api/explain", {"a": {"text": A}, "b": {"text": B}, "distance": "wmd"}),
    "passages": ("/api/explain", {"a": {"text": A}, "b": {"text": B}, "passages": 1}),
    "stored": ("/api/explain", {"a": {"text": A}, "b": {"id": "script/<b>"}}),
    "plain": ("/api/explain", {"a": {"text": A}, "b": {"id": "script/<b>"}, "plain": True}),
}


@pytest.fixture(scope="module", params=[("idf", "match"), ("idf", "drop"), ("counts", "drop")], ids="-".join)
def counted(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A client, and the counts of look-ups in the vocabulary of its index."""
    weights, unknown = request.param
    path = tmp_path_factory.mktemp("counted") / "index"
    articles = wordferry.sample().articles[:60]
    with wordferry.Index.create(path, weights=weights, unknown=unknown) as index:
        index.add([*articles, {"id": "script/<b>", "text": SCRIPT}])
        index.embeddings.vocabulary.__dict__["spellings"] = table = _Counted(index.embeddings.vocabulary.spellings)
        index.embeddings.vocabulary.__dict__["_ids"] = table
        table.asked = Counter()
        with TestClient(create_app(index), "http://127.0.0.1") as client:
            yield client, table.asked
    shutil.rmtree(path)


@pytest.mark.parametrize("name", REQUESTS)
def test_each_token_is_looked_up_once(counted: tuple[TestClient, Counter[str]], name: str) -> None:
    client, asked = counted
    path, body = REQUESTS[name]
    first = client.post(path, json=body)  # what is made once for the whole index is made
    assert first.status_code == 200, first.text
    asked.clear()
    assert client.post(path, json=body).json() == first.json()
    assert {word: count for word, count in asked.items() if count > 1} == {}
    assert bool(asked) == (name != "words")
