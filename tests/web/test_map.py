"""The map behind the service: the same view as the file, drawn when asked for, with the token of the service."""

from __future__ import annotations

import gzip
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import wordferry
from tests.web.conftest import DOCUMENTS, open_client, serving

pytest.importorskip("openTSNE", reason="openTSNE is not installed (pip install 'wordferry[map]')")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def ready(client: Any, **options: Any) -> dict[str, Any]:
    """The answer once the map has been drawn."""
    for _ in range(600):
        answer = client.get("/api/map", **options)
        assert answer.status_code == 200, answer.text
        if answer.json()["ready"]:
            return answer.json()
        assert 0 <= answer.json()["progress"] < 1
        time.sleep(0.1)
    raise AssertionError("no map within a minute")


def texts(client: Any) -> dict[str, Any]:
    answer = client.get("/api/map/texts")
    assert answer.headers["content-type"] == "application/octet-stream"
    return dict(json.loads(gzip.decompress(answer.content)))


def test_a_map_is_drawn_when_asked_for_and_again_after_a_change(own_index: Path) -> None:
    writer = {"headers": {"authorization": "Bearer w"}}
    with open_client(own_index, writer_token="w") as client:
        assert client.get("/api/map/texts").status_code == 404
        assert ready(client) == {"ready": True, "progress": 1.0, "documents": DOCUMENTS}
        before = texts(client)
        assert len(before["ids"]) == DOCUMENTS
        assert client.get("/api/map/arrays").content[:2] == b"\x1f\x8b"
        assert client.delete("/api/documents/animals-01", **writer).status_code == 200
        assert client.get("/api/map/texts").status_code == 404  # what was deleted is not shown again
        assert ready(client)["documents"] == DOCUMENTS - 1
        assert "animals-01" not in texts(client)["ids"]
        assert client.get("/api/map/nonsense").status_code == 400


def test_a_map_that_cannot_be_drawn_says_why(tmp_path: Path, built_index: Path) -> None:
    from wordferry.web.settings import Limits

    with open_client(built_index, limits=Limits(map_documents=10)) as client:
        answer = client.get("/api/map")
        assert answer.status_code == 422
        assert "10 at most. Draw it with 'wordferry map' instead" in answer.json()["error"]
    wordferry.Index.create(tmp_path / "empty").close()
    with open_client(tmp_path / "empty") as client:
        assert "nothing to draw" in client.get("/api/map").json()["error"]
    with wordferry.Index.create(tmp_path / "strange") as index:
        index.add(["qqzzx", "xqzzq"])
    with open_client(tmp_path / "strange") as client:
        for _ in range(2):  # and again to whoever asks again
            answer = client.get("/api/map")
            assert answer.status_code == 422
            assert "No document has a word with a vector" in answer.json()["error"]


def test_the_page_is_open_and_the_data_need_the_token(built_index: Path) -> None:
    with open_client(built_index, token="secret") as client:
        assert client.get("/map").status_code == 200
        assert client.get("/static/map.js").headers["content-type"].startswith("text/javascript")
        for path in ("/api/map", "/api/map/texts", "/api/map/arrays"):
            assert client.get(path).status_code == 401


def test_a_service_that_stops_does_not_wait_for_a_map(built_index: Path) -> None:
    with serving(built_index, "--quiet") as (address, process):
        assert httpx.get(f"{address}/api/map", timeout=30).status_code == 200
        start = time.monotonic()
        process.terminate()
        process.wait(15)
        assert time.monotonic() - start < 10


# -- in a browser -----------------------------------------------------------------------------------------------------

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (make browser installs it)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from tests.web.test_page import FLAGS

    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@in_browser
def test_search_on_the_map_click_and_flows_that_add_up(browser: Any, built_index: Path) -> None:
    from tests.web.test_page import UNHURRIED, Visit

    with serving(built_index, "--quiet", *UNHURRIED) as (address, _):
        visit = Visit(browser, address, accept_downloads=True)
        page = visit.open()
        page.click("#to-map")
        page.wait_for_selector("body[data-ready]")
        assert page.inner_text("#count") == f"{DOCUMENTS} documents"
        page.fill("#find", "planet")
        lit = page.evaluate("wordferryMap.picture.lit.reduce((a, b) => a + b)")
        wanted = sum("planet" in str(one.text).lower() for one in wordferry.sample().articles)
        assert lit == wanted
        page.click("#list .entry >> nth=0")
        page.click(".near summary >> nth=0")
        shown = float(page.get_attribute(".flows", "data-distance"))
        costs = page.eval_on_selector_all(".flows .flow", "rows => rows.map(row => +row.dataset.cost)")
        assert sum(costs) == pytest.approx(shown, abs=1e-6)
        place = page.evaluate(
            "(() => { const p = wordferryMap.picture; const at = p.toPixel(p.points[80], p.points[81]);"
            " const box = p.canvas.getBoundingClientRect();"
            " return at.map((v, n) => v / p.ratio + (n ? box.top : box.left)); })()"
        )
        page.mouse.click(*place)
        current = page.evaluate("wordferryMap.picture.current")
        assert page.evaluate("i => wordferryMap.data.texts[i]", current) in page.inner_text("#document")
        with page.expect_download() as waiting:
            page.click("#json")
        assert len(json.loads(waiting.value.path().read_text(encoding="utf-8"))) == wanted
        page.fill("#find", "document.title")  # a document that would like to be a script
        page.click("#list .entry >> nth=0")
        assert "<script>" in page.inner_text("#document")
        page.click("text=Back to the search")
        page.wait_for_selector("#query")
        visit.end()


@in_browser
def test_the_map_asks_for_the_token_and_says_why_a_wrong_one_is_refused(browser: Any, built_index: Path) -> None:
    from tests.web.test_page import UNHURRIED, Visit

    with serving(built_index, "--quiet", *UNHURRIED, WORDFERRY_TOKEN="secret") as (address, _):
        visit = Visit(browser, address)
        page = visit.page
        page.goto(f"{address}/map")
        page.wait_for_selector("#token[open]")
        page.fill("#token-value", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#token-reason:not([hidden])")
        assert "token" in page.inner_text("#token-reason")
        page.fill("#token-value", "secret")
        page.keyboard.press("Enter")
        page.wait_for_selector("body[data-ready]")
        visit.errors = [text for text in visit.errors if "401" not in text]  # the browser's own words on a refusal
        visit.end()
