"""The service over an index with an encoder: what meaning gives is in the answers and on the page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordferry
from tests.web.conftest import open_client, post, serving
from tests.web.test_page import CHROMIUM, Visit, playwright

pytest.importorskip("wordllama", reason="wordllama is not installed")
QUERY = "teaching inmates to play instruments"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("meaning") / "index"
    with wordferry.Index.create(path, encoder="wordllama") as made:
        made.add(wordferry.sample().articles)
    return path


def test_answers_have_the_part_of_meaning(index: Path) -> None:
    with open_client(index) as client, wordferry.Index.open(index) as opened:
        found = post(client, "/api/search", {"texts": [QUERY], "k": 5, "explain": True})["results"][0]["hits"]
        for hit, expected in zip(found, opened.search(QUERY, 5), strict=True):
            told = hit["explanation"]
            assert (hit["id"], hit["score"]) == (expected.id, expected.score)
            assert told["meaning"] == expected.explain().to_json()["meaning"]
            parts = sum(one["part"] for one in (*told["words"], *told["neighbours"])) + told["meaning"]["part"]
            assert parts == pytest.approx(hit["score"], abs=1e-9)


def test_documents_that_are_added_are_encoded(index: Path, tmp_path: Path) -> None:
    shutil.copytree(index, tmp_path / "index")
    with open_client(tmp_path / "index", writer_token="writer") as client:
        new = {"documents": [{"id": "new", "text": "Prisoners are taught to play the violin."}]}
        post(client, "/api/documents", new, 201, headers={"authorization": "Bearer writer"})
        found = post(client, "/api/search", {"texts": [QUERY], "k": 3})["results"][0]["hits"]
        assert "new" in [hit["id"] for hit in found]


def test_vectors_that_were_brought_are_left_aside(tmp_path: Path) -> None:
    articles = wordferry.sample().articles[:50]
    with wordferry.Index.create(tmp_path / "index") as made:
        made.add(articles, vectors=np.random.default_rng(0).standard_normal((50, 8)))
    with open_client(tmp_path / "index") as client, wordferry.Index.open(tmp_path / "index") as opened:
        text = " ".join(str(articles[3].text).split()[:6])
        found = post(client, "/api/search", {"texts": [text], "k": 5, "explain": True})["results"][0]["hits"]
        assert [hit["score"] for hit in found] == [hit.score for hit in opened.search(text, 5, meaning=0)]
        assert found
        assert found[0]["explanation"].get("meaning") is None


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of 50 articles with vectors of 8 dimensions, and no encoder."""
    path = tmp_path_factory.mktemp("brought") / "index"
    with wordferry.Index.create(path) as made:
        made.add(wordferry.sample().articles[:50], vectors=np.random.default_rng(0).standard_normal((50, 8)))
    return path


def test_a_search_by_words_and_a_vector(brought: Path) -> None:
    vectors = np.random.default_rng(1).standard_normal((2, 8)).tolist()
    texts = ["planets around a star", "the price of bread"]
    with open_client(brought) as client, wordferry.Index.open(brought) as opened:
        asked = {"texts": texts, "vectors": vectors, "k": 5, "explain": True}
        for result, text, vector in zip(post(client, "/api/search", asked)["results"], texts, vectors, strict=True):
            expected = opened.search(text, 5, vector=vector)
            assert [(hit["id"], hit["score"]) for hit in result["hits"]] == [(hit.id, hit.score) for hit in expected]
            assert result["hits"][0]["explanation"]["meaning"] == expected[0].explain().to_json()["meaning"]


def test_similar_by_meaning(brought: Path) -> None:
    vector = np.random.default_rng(1).standard_normal(8).tolist()
    with open_client(brought) as client, wordferry.Index.open(brought) as opened:
        id = opened.ids()[7]
        for asked, expected in (
            ({"like": {"id": id}}, opened.similar(id=id, k=5, by="meaning")),
            ({"like": {"text": "bread"}, "vector": vector}, opened.similar("bread", 5, by="meaning", vector=vector)),
        ):
            found = post(client, "/api/similar", {**asked, "k": 5, "by": "meaning"})
            assert found["distance"] == "meaning"
            assert [(hit["id"], hit["distance"]) for hit in found["hits"]] == [
                (hit.id, hit.distance) for hit in expected
            ]
            assert "known_words" not in found


def test_an_encoder_makes_the_vector_of_a_text(index: Path) -> None:
    with open_client(index) as client, wordferry.Index.open(index) as opened:
        found = post(client, "/api/similar", {"like": {"text": QUERY}, "k": 4, "by": "meaning"})["hits"]
        assert [hit["id"] for hit in found] == [hit.id for hit in opened.similar(QUERY, 4, by="meaning")]


LIKE = {"like": {"text": "bread"}}
WRONG = [
    ("search", {"texts": ["bread"], "vectors": [[1.0] * 7]}, 422, "vectors: The documents' vectors have 8 dimensions"),
    ("search", {"texts": ["bread"], "vectors": [[1.0] * 8] * 2}, 422, "vectors: Expected one for each of 1 texts"),
    ("search", {"texts": ["bread"], "vectors": [[1.0] * 8], "distance": "wmd"}, 422, "vectors: A distance compares"),
    ("search", {"texts": ["bread"], "vectors": [["a"]]}, 400, "vectors"),
    ("search", {"texts": ["bread"], "vectors": [[1.0] * 8193]}, 400, "vectors"),
    ("similar", {**LIKE, "vector": [1.0] * 8}, 422, 'vector: Vectors are compared by meaning; send "by"'),
    ("similar", {**LIKE, "by": "meaning"}, 422, "by: This service has no encoder. Send the text's vector, of 8"),
    ("similar", {**LIKE, "by": "meaning", "vector": [1.0] * 9}, 422, "by: The documents' vectors have 8 dimensions"),
    ("similar", {**LIKE, "by": "meaning", "distance": "wmd"}, 422, "distance: By meaning, the cosine"),
    ("similar", {"like": {"id": "no"}, "by": "meaning"}, 404, "There is no document 'no'"),
    ("similar", {**LIKE, "by": "order"}, 400, "by"),
]


@pytest.mark.parametrize(("path", "asked", "status", "said"), WRONG)
def test_what_cannot_be_asked_by_meaning(
    brought: Path, path: str, asked: dict[str, Any], status: int, said: str
) -> None:
    with open_client(brought) as client:
        assert said in post(client, f"/api/{path}", asked, status)["error"]


def test_documents_without_a_vector_are_refused(brought: Path, tmp_path: Path) -> None:
    """Nobody is told where the index lies."""
    shutil.copytree(brought, tmp_path / "index")
    with open_client(tmp_path / "index", writer_token="writer") as client:
        new = {"documents": [{"id": "new", "text": "Prisoners are taught to play the violin."}]}
        said = post(client, "/api/documents", new, 422, headers={"authorization": "Bearer writer"})["error"]
    assert "this service has no encoder to make more. Nothing was added" in said
    assert str(tmp_path) not in said


def test_an_index_without_vectors_says_so(tmp_path: Path) -> None:
    with wordferry.Index.create(tmp_path / "index") as made:
        made.add(["bread and butter", "a river at night"])
    with open_client(tmp_path / "index") as client:
        for path, asked in (("similar", {**LIKE, "by": "meaning"}), ("search", {"texts": ["x"], "vectors": [[1.0]]})):
            said = post(client, f"/api/{path}", asked, 422)["error"]
            assert "The documents of this index have no vectors" in said
            assert str(tmp_path) not in said


@pytest.fixture(scope="module")
def address(index: Path) -> Iterator[str]:
    with serving(index, "--quiet", "--encoder", "wordllama") as (where, _):
        yield where


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (make browser installs it)")
def test_the_page_shows_meaning_and_leads_to_the_words(address: str) -> None:
    from tests.web.test_page import FLAGS

    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        visit: Any = Visit(browser, address)
        page = visit.open()
        page.fill("#query", QUERY)
        page.wait_for_selector("#hits .hit")
        page.locator("#hits .hit").first.click()
        page.wait_for_selector("#meaning")
        assert re.search(r"cosine 0\.\d+, all documents", page.inner_text("#meaning"))
        parts = [float(text) for text in page.locator(".score td.number").all_inner_texts()]
        assert sum(parts) == pytest.approx(float(page.inner_text("#score")), abs=0.05)
        assert "meaning" in page.locator(".why").first.inner_text()
        page.click("#meaning-flows")
        playwright.expect(page.locator("#detail .mark").first).to_be_focused()
        assert visit.errors == []
        browser.close()
