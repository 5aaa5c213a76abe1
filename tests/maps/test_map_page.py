"""The map's page in a real browser: search, click, flows that add up, selection, keys, no request, no complaint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import wordferry

pytest.importorskip("openTSNE", reason="openTSNE is not installed (pip install 'wordferry[map]')")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from wordferry.maps.atlas import make_map  # noqa: E402
from wordferry.texts.documents import Record  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
HOSTILE = Record("</script><img src=x onerror=alert(1)> a planet & a <b>moon</b>", "hostile</script>", "<i>odd</i>")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (make browser installs it)")


@pytest.fixture(scope="module")
def drawn():
    return make_map([*wordferry.sample().articles, HOSTILE, Record("qqzz", "unplaced")], threads=1)


@pytest.fixture(scope="module")
def file(drawn, tmp_path_factory):
    path = tmp_path_factory.mktemp("map") / "map.html"
    drawn.to_html(path, title="Sample & more")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser, file) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1200, "height": 800}, accept_downloads=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda r: complaints.append(r.url) if r.url.startswith(("http", "ws")) else None)
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready]")
    yield page
    assert complaints == []
    context.close()


def lit(page: Any) -> list[int]:
    return page.evaluate("[...(wordferryMap.picture.lit ?? [])].flatMap((one, i) => one ? [i] : [])")


def test_searching_lights_up_the_documents_that_have_the_words(page, drawn):
    page.fill("#find", "planet star")
    expected = [i for i, one in enumerate(drawn.records) if all(w in one.text.lower() for w in ("planet", "star"))]
    assert expected
    assert lit(page) == expected
    assert page.inner_text("#status").startswith(str(len(expected)))
    page.click("#clear")
    assert lit(page) == []


def test_flows_of_a_neighbour_sum_to_the_exact_distance(page, drawn):
    page.fill("#find", "planet")
    page.click("#list .entry >> nth=0")
    page.click(".near summary >> nth=0")
    shown = float(page.get_attribute(".flows", "data-distance"))
    costs = page.eval_on_selector_all(".flows .flow", "rows => rows.map(row => +row.dataset.cost)")
    i = page.evaluate("wordferryMap.picture.current")
    assert sum(costs) == pytest.approx(shown, abs=1e-6)
    assert shown == pytest.approx(drawn.neighbors.distances[i, 0], abs=1e-5)


def test_every_distance_on_the_page_is_the_one_python_computed(page, drawn):
    for i in range(0, len(drawn), 17):
        for rank in (0, 7, 14):
            j = int(drawn.neighbors.indices[i, rank])
            found = page.evaluate("([i, j]) => wordferryMap.flows(i, j).distance", [i, j])
            assert found == pytest.approx(drawn.neighbors.distances[i, rank], abs=2e-5)


def test_a_click_on_a_point_opens_its_document(page, drawn):
    place = page.evaluate(
        "(() => { const p = wordferryMap.picture; const at = p.toPixel(p.points[80], p.points[81]);"
        " const box = p.canvas.getBoundingClientRect();"
        " return at.map((v, n) => v / p.ratio + (n ? box.top : box.left)); })()"
    )
    page.mouse.move(*place)
    assert page.is_visible("#card")
    page.mouse.click(*place)
    i = page.evaluate("wordferryMap.picture.current")
    assert drawn.records[i].metadata["title"] in page.inner_text("#document")


def test_a_lasso_selects_and_the_selection_is_saved(page, drawn):
    page.click("#draw")
    box = page.locator("#canvas").bounding_box()
    corners = [(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8)]
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=4)
    page.mouse.up()
    chosen = lit(page)
    assert 0 < len(chosen) < len(drawn)
    with page.expect_download() as waiting:
        page.click("#json")
    rows = json.loads(waiting.value.path().read_text(encoding="utf-8"))
    assert [row["id"] for row in rows] == [drawn.records[i].id for i in chosen]


def test_keys_move_and_zoom_the_map_and_reach_every_document(page, drawn):
    page.focus("#canvas")
    page.keyboard.press("+")
    assert page.evaluate("wordferryMap.picture.view.scale") > 1
    page.keyboard.press("ArrowRight")
    assert page.evaluate("wordferryMap.picture.view.x") > 0
    page.keyboard.press("0")
    assert page.evaluate("wordferryMap.picture.view.scale") == 1
    page.keyboard.press("/")
    page.keyboard.type("unplaced")
    page.fill("#find", "")
    listed = page.eval_on_selector_all(
        "#list summary", "nodes => nodes.map(n => +n.textContent.match(/\\((\\d+)\\)$/)[1])"
    )
    assert sum(listed) == len(drawn) + 1


def test_closer_views_name_finer_clusters(page, drawn):
    assert page.locator("#names span").count() > 1
    page.focus("#canvas")
    for _ in range(8):
        page.keyboard.press("+")
    page.wait_for_timeout(100)
    finest = set(drawn.levels[-1].names)
    assert set(page.locator("#names span").all_inner_texts()) <= finest


def test_colours_follow_the_choice(page):
    before = page.evaluate("[...wordferryMap.picture.colours]")
    page.select_option("#colour", "topic")
    assert page.evaluate("[...wordferryMap.picture.colours]") != before
    assert "space" in page.inner_text("#legend")


def test_hostile_texts_stay_texts(page):
    page.fill("#find", "onerror")
    page.click("#list .entry >> nth=0")
    assert "<img src=x onerror=alert(1)>" in page.inner_text("#document")
    assert page.locator("#document img").count() == 0


def test_dark_mode_and_phone(browser, file):
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ground = page.evaluate("(() => { const p = wordferryMap.picture; p.draw(); return p.image.data[0]; })()")
    assert ground < 60
    context.close()
