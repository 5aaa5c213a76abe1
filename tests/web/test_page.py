"""The page in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

import wordferry
from tests.web.conftest import serving

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

PATIENCE = 120_000
"""Milliseconds for what must come: nothing here is about speed, and the machine may be busy."""
UNHURRIED = ("--max-seconds", "120", "--max-head-seconds", "120")
"""A service that gives a slow browser time; tests of its own time limits are in test_connections and test_load."""
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
playwright.expect.set_options(timeout=PATIENCE)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
QUERY = "Volunteers repair abandoned software"
PLANET = "Astronomers find a distant planet circling a dim star"
OBAMA, PRESIDENT = "Obama speaks to the media in Illinois", "The president greets the press in Chicago"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (make browser installs it)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def address(built_index: Path) -> Iterator[str]:
    with serving(built_index, "--quiet", *UNHURRIED) as (where, _):
        yield where


class Visit:
    """A tab that remembers what went wrong in it."""

    def __init__(self, browser: Any, address: str, width: int = 1280, height: int = 900, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type in {"error", "warning"} else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        host = urlsplit(address).netloc
        self.page.on("request", lambda r: self.elsewhere.append(r.url) if urlsplit(r.url).netloc != host else None)

    def open(self, **state: str) -> Any:
        self.page.goto(f"{self.address}/" + (f"#{urlencode(state)}" if state else ""))
        self.page.wait_for_selector("#distance option", state="attached")
        return self.page

    def end(self) -> None:
        """Nothing was complained about and nothing was asked of another host."""
        assert self.errors == []
        assert self.elsewhere == []
        self.context.close()


def drawn_sum(page: Any) -> float:
    """The sum of mass times distance over the bands in the picture."""
    pairs = page.eval_on_selector_all(".flow", "nodes => nodes.map(n => [+n.dataset.mass, +n.dataset.distance])")
    assert pairs
    return float(sum(mass * distance for mass, distance in pairs))


def shown_value(page: Any) -> float:
    return float(page.inner_text("#value"))


def check_picture(page: Any) -> float:
    """What is drawn sums to what is shown, and the page says so."""
    value = shown_value(page)
    assert drawn_sum(page) == pytest.approx(value, abs=2e-4)
    assert float(page.inner_text("#sum")) == pytest.approx(value, abs=2e-4)
    assert page.locator(".total .equal").count() == 1
    return value


def test_search_open_switch_and_deep_link(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.open()
    page.fill("#query", QUERY)
    page.wait_for_selector("#hits .hit")
    assert page.locator("#hits .hit").count() == 20
    scores = [float(text) for text in page.locator(".hit .number").all_inner_texts()]
    assert scores == sorted(scores, reverse=True)
    assert "volunteers" in page.locator(".why").first.inner_text()
    page.locator("#hits .hit").first.click()
    page.wait_for_selector(".flow", state="attached")
    assert float(page.inner_text("#score")) == scores[0]
    parts = [float(text) for text in page.locator(".score td.number").all_inner_texts()]
    assert sum(parts) == pytest.approx(scores[0], abs=0.05)
    first = check_picture(page)

    thick = page.eval_on_selector_all(".flow", "n => n.map(x => [+x.dataset.mass, +x.getAttribute('stroke-width')])")
    assert max(thick)[1] == max(width for _, width in thick)
    flows = page.eval_on_selector_all(".flow", "n => n.map(x => x.dataset.source + '>' + x.dataset.target).sort()")
    page.select_option("#distance", "wmd")
    page.wait_for_selector('#value[data-distance="wmd"]')
    second = check_picture(page)
    assert second != pytest.approx(first, abs=1e-4)
    assert flows != page.eval_on_selector_all(
        ".flow", "n => n.map(x => x.dataset.source + '>' + x.dataset.target).sort()"
    )
    link = page.url
    assert "distance=wmd" in link
    visit.end()

    again = Visit(browser, address)
    again.page.goto(link)
    again.page.wait_for_selector(".flow", state="attached")
    assert check_picture(again.page) == pytest.approx(second, abs=1e-4)
    assert again.page.input_value("#query") == QUERY
    assert again.page.input_value("#distance") == "wmd"
    again.page.keyboard.press("Escape")
    again.page.wait_for_selector("#detail", state="hidden")
    again.page.go_back()
    again.page.wait_for_selector(".flow", state="attached")
    again.end()


def test_texts_like_the_query(browser: Any, address: str) -> None:
    """By distance the nearest come first, and the flows to one of them add up to its distance."""
    visit = Visit(browser, address)
    page = visit.open(q=QUERY, distance="wmd")
    page.select_option("#by", "near")
    playwright.expect(page.locator("#status")).to_contain_text("20 nearest")
    distances = [float(text) for text in page.locator(".hit .number").all_inner_texts()]
    assert distances == sorted(distances)
    page.locator("#hits .hit").nth(1).click()
    page.wait_for_selector(".flow", state="attached")
    assert check_picture(page) == pytest.approx(distances[1], abs=1e-4)
    page.reload()
    page.wait_for_selector(".flow", state="attached")
    assert page.input_value("#by") == "near"
    visit.end()


def test_hover_and_related_words(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.open(q=QUERY, id="computing-01", distance="rel-wmd")
    page.wait_for_selector(".flow", state="attached")
    word = page.locator('text.word[data-side="source"]').first
    name = word.get_attribute("data-word")
    word.hover()
    assert page.locator(".flow.lit").count() >= 1
    assert page.locator(f'.flow.lit:not([data-source="{name}"])').count() == 0
    assert name in page.inner_text(".hint")
    word.click()
    page.wait_for_selector("#related[open] .neighbours li")
    assert "c_max" in page.inner_text("#related")
    assert page.locator("#related .neighbours li").count() >= 16
    page.keyboard.press("Escape")
    page.wait_for_selector("#related", state="hidden")
    visit.end()


def test_compare(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.open()
    page.click("#tab-compare")
    page.fill("#text-a", OBAMA)
    page.fill("#text-b", PRESIDENT)
    page.click("#compare-now")
    page.wait_for_selector(".values dd")
    check_picture(page)
    values = dict(
        zip(page.locator(".values dt").all_inner_texts(), page.locator(".values dd").all_inner_texts(), strict=True)
    )
    assert float(values["rwmd"]) <= float(values["wmd"]) + 1e-4
    page.reload()
    page.wait_for_selector(".flow", state="attached")
    assert page.input_value("#text-b") == PRESIDENT
    visit.end()


def test_keyboard_only(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.open()
    page.keyboard.type("football match")
    page.wait_for_selector("#hits .hit")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("[...document.querySelectorAll('.hit')].indexOf(document.activeElement)") == 1
    page.keyboard.press("Enter")
    page.wait_for_selector(".flow", state="attached")
    check_picture(page)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className") == "hit"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    visit.end()


def test_documents_cannot_run(browser: Any, address: str) -> None:
    """A document full of tags is shown as text."""
    visit = Visit(browser, address)
    page = visit.open(q="volunteers repair software", id="script/<b>")
    page.wait_for_selector(".flow", state="attached")
    page.wait_for_selector("#hits .hit")
    assert page.title() == "wordferry"
    assert page.locator("#hits script, #hits i:not(.bar i), #detail img, #detail script").count() == 0
    assert "<script>" in page.inner_text("#detail")
    assert "<i>title</i>" in page.inner_text("#hits")
    visit.end()


def test_messages(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.open()
    page.fill("#query", "xyzzyq")
    playwright.expect(page.locator("#status")).to_contain_text("No document has any of these words")
    page.fill("#query", "software xyzzyq")
    playwright.expect(page.locator("#status")).to_contain_text("In no document: xyzzyq")
    page.select_option("#by", "near")
    playwright.expect(page.locator("#status")).to_contain_text("No vector for: xyzzyq")
    page.select_option("#by", "")
    page.fill("#query", "?!")
    playwright.expect(page.locator("#status")).to_have_text("The query has no words.")
    page.click("#tab-compare")
    page.fill("#text-a", QUERY)
    page.fill("#text-b", "of the")
    page.click("#compare-now")
    playwright.expect(page.locator("#compare-status")).to_contain_text("The second text has only words")
    visit.errors = [text for text in visit.errors if "422" not in text]  # the browser's own note of the refusal
    visit.end()


def test_token_is_asked_for(browser: Any, built_index: Path) -> None:
    with serving(built_index, "--quiet", *UNHURRIED, WORDFERRY_TOKEN="secret") as (where, _):
        visit = Visit(browser, where)
        visit.page.goto(where)
        visit.page.wait_for_selector("#token[open]")
        assert not visit.page.is_visible("#token-reason")
        visit.page.fill("#token-value", "wrong")
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_selector("#token-reason", state="visible")
        assert "not the right one" in visit.page.inner_text("#token-reason")
        visit.page.fill("#token-value", "secret")
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_selector("#distance option", state="attached")
        visit.page.fill("#query", QUERY)
        visit.page.wait_for_selector("#hits .hit")
        visit.errors = [text for text in visit.errors if "401" not in text]  # the browser's own note of the refusal
        visit.end()


def test_filter(browser: Any, address: str) -> None:
    """A filter chosen in the form, one by a click on a hit's metadata, both in the address, and both taken away."""
    visit = Visit(browser, address)
    page = visit.open(q=QUERY, by="near")
    page.wait_for_selector("#hits .hit")
    page.click("#filters summary")
    page.select_option("#filter-field", "topic")
    label = next(text for text in page.locator("#filter-one option").all_inner_texts() if text.startswith("health ("))
    page.select_option("#filter-one", label=label)
    page.click("#filter-form .main")
    page.wait_for_selector("#chosen .tag")
    playwright.expect(page.locator(".card .tag", has_text="topic: health")).to_have_count(20)
    page.reload()
    playwright.expect(page.locator("#chosen .tag")).to_have_text(["topic: health ✕"])
    playwright.expect(page.locator(".card .tag", has_text="topic: health")).to_have_count(20)
    subtopic = page.locator(".card .tag", has_text="subtopic:").first
    name = subtopic.inner_text()
    subtopic.click()
    playwright.expect(page.locator("#chosen .tag")).to_have_count(2)
    others = page.locator(".card", has_not=page.locator(".tag", has_text=name))
    playwright.expect(others).to_have_count(0)
    assert page.locator(".card").count() > 0
    for _ in range(2):
        page.locator("#chosen .tag").first.click()
    playwright.expect(page.locator("#chosen .tag")).to_have_count(0)
    page.goto(f"{address}/#{urlencode({'q': QUERY, 'by': 'near', 'filter': '{broken'})}")
    page.wait_for_selector("#hits .hit")
    visit.end()


def test_pages_of_hits(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.open(q=QUERY, by="near")
    page.wait_for_selector("#hits .hit")
    page.select_option("#count", "10")
    playwright.expect(page.locator("#hits .hit")).to_have_count(10)
    seen = page.eval_on_selector_all("#hits .hit", "nodes => nodes.map(n => n.dataset.id)")
    page.click("#page-next")
    playwright.expect(page.locator("#pager span")).to_have_text("11 to 20")
    second = page.eval_on_selector_all("#hits .hit", "nodes => nodes.map(n => n.dataset.id)")
    assert not set(seen) & set(second)
    page.go_back()
    playwright.expect(page.locator("#pager span")).to_have_text("1 to 10")
    assert page.is_disabled("#page-before")
    total = len(wordferry.sample().articles) + 1  # the document that would like to be HTML
    page.goto(f"{address}/#{urlencode({'q': QUERY, 'by': 'near', 'from': str(total - 3)})}")
    playwright.expect(page.locator("#pager span")).to_have_text(f"{total - 2} to {total}")
    assert page.is_disabled("#page-next")
    visit.end()


def test_more_like_this(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.open(q=QUERY, by="near")
    page.wait_for_selector("#hits .hit")
    first = page.locator("#hits .hit").first.get_attribute("data-id")
    title = page.locator("#hits .hit strong").first.inner_text()
    page.locator(".like").first.click()
    playwright.expect(page.locator("#like-line strong")).to_have_text(title)
    playwright.expect(page.locator("#status")).to_contain_text("like it")
    ids = page.eval_on_selector_all("#hits .hit", "nodes => nodes.map(n => n.dataset.id)")
    assert len(ids) == 20
    assert first not in ids
    page.locator("#hits .hit").first.click()
    playwright.expect(page.locator("#value")).to_have_text(page.locator(".hit .number").first.inner_text())
    check_picture(page)
    weighed = page.locator(".hit .number").all_inner_texts()
    page.select_option("#weights", "counts")
    playwright.expect(page.locator(".hit .number").nth(3)).not_to_have_text(weighed[3])
    page.locator("#hits .hit").first.click()
    # The flows of the hit before stay until the answer comes, which may take a while.
    playwright.expect(page.locator("#value")).to_have_text(page.locator(".hit .number").first.inner_text())
    check_picture(page)
    page.reload()
    playwright.expect(page.locator("#weights")).to_have_value("counts")
    playwright.expect(page.locator("#like-line strong")).to_have_text(title)
    page.click("#leave-like")
    page.wait_for_selector("#query")
    assert page.input_value("#query") == QUERY
    visit.end()


def test_long_texts_are_folded(browser: Any, own_index: Path) -> None:
    """A long text is folded in the list and beside the flows; the flows can go to its best passages."""
    text = "\n\n".join(wordferry.sample().texts[:20]) + "\n\nA ferry carries sailors over the wide river."
    with wordferry.Index.open(own_index) as index:
        index.add([{"id": "long", "text": text, "title": "Long"}])
        index.add([{"id": "name", "text": "The xyzzyq and its sails"}])
    with serving(own_index, "--quiet", *UNHURRIED) as (where, _):
        visit = Visit(browser, where)
        page = visit.open(q="sailors on a river boat", id="long", filter='{"title": "Long"}')
        page.wait_for_selector(".flow", state="attached")
        card = page.locator(".card")
        assert card.count() == 1
        assert len(card.inner_text()) < 700
        card.get_by_text("Whole text").click()
        assert len(card.inner_text()) > 5_000
        folded = page.locator("#detail .text.folded")
        assert folded.count() == 1
        page.locator("#detail article button").click()
        assert folded.count() == 0
        whole = check_picture(page)
        if not page.get_by_text("Use the whole text").count():
            page.get_by_text("Use the best passages").click()
        page.get_by_text("Use the whole text").wait_for()
        assert check_picture(page) <= whole
        marked = page.locator('.mark[data-side="target"]').all_inner_texts()
        assert "sailors" in marked
        assert len(marked) < 40
        page.goto(f"{where}/#{urlencode({'q': 'xyzzyq', 'id': 'name'})}")
        playwright.expect(page.locator("#detail")).to_contain_text("xyzzyq × 1")
        page.wait_for_selector(".flow", state="attached")
        visit.end()


def test_theme_can_be_switched_and_is_kept(browser: Any, address: str) -> None:
    visit = Visit(browser, address, color_scheme="light")
    page = visit.open()
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.click("#theme")
    dark = page.evaluate(background)
    assert dark != light
    page.reload()
    page.wait_for_selector("#distance option", state="attached")
    assert page.evaluate(background) == dark
    page.click("#theme")
    assert page.evaluate(background) == light
    visit.end()


SEEN = {
    "page-hits": (1280, 900, "light", {"q": PLANET, "filter": '{"topic": "space"}'}),
    "page-hits-phone": (390, 844, "dark", {"q": PLANET, "filter": '{"topic": "space"}'}),
    "page-like": (1280, 900, "dark", {"like": "space-07", "id": "space-10"}),
    "page-desktop": (1280, 900, "light", {"q": PLANET, "id": "space-07", "distance": "wmd"}),
    "page-phone": (390, 844, "light", {"q": PLANET, "id": "space-07", "distance": "rel-rwmd"}),
    "page-compare": (1280, 900, "dark", {"view": "compare", "a": OBAMA, "b": PRESIDENT, "distance": "wmd"}),
    "page-compare-phone": (390, 844, "dark", {"view": "compare", "a": OBAMA, "b": PRESIDENT, "distance": "wmd"}),
}


@pytest.mark.parametrize("name", SEEN)
def test_fits(browser: Any, address: str, tmp_path: Path, name: str) -> None:
    """Nothing sticks out to the right. WORDFERRY_SCREENSHOTS names a folder that keeps what was seen."""
    width, height, scheme, state = SEEN[name]
    visit = Visit(browser, address, width, height, color_scheme=scheme)
    page = visit.open(**state)
    if "id" in state or "a" in state:
        page.wait_for_selector(".flow", state="attached")
    page.wait_for_selector("#hits .hit, .values dd")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in background[4:-1].split(",")) > 380
    assert light is (scheme == "light")
    folder = Path(os.environ.get("WORDFERRY_SCREENSHOTS") or tmp_path)
    file = folder / f"{name}.png"
    page.screenshot(path=file)
    assert file.stat().st_size > 10_000
    visit.end()


def test_under_a_path(browser: Any, built_index: Path) -> None:
    """Addresses on the pages are relative: search, map and description work under the path of a proxy."""
    with serving(built_index, "--quiet", *UNHURRIED, "--root-path", "/tools/search") as (service, _):
        visit = Visit(browser, f"{service}/tools/search")
        page = visit.open(q=QUERY)
        page.wait_for_selector("#hits .hit")
        page.click("#to-map")
        playwright.expect(page).to_have_url(f"{service}/tools/search/map")
        page.get_by_text("Back to the search").click()
        playwright.expect(page).to_have_url(f"{service}/tools/search/")
        page.goto(f"{service}/tools/search/docs")
        page.wait_for_selector(".operation")
        visit.end()


def test_requests_are_described_and_tried(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.page
    page.goto(f"{address}/docs")
    page.wait_for_selector(".operation")
    assert page.locator(".operation").count() == 15
    one = page.locator(".operation", has=page.locator("h2", has_text="POST /api/explain"))
    assert "Whose words travel." in one.inner_text()
    one.locator("summary").click()
    one.locator("button").click()
    playwright.expect(one.locator(".answer")).to_contain_text("president")
    one.locator("textarea").fill("{}")
    one.locator("button").click()
    playwright.expect(one.locator(".answer")).to_contain_text("required")
    visit.errors = [text for text in visit.errors if "400" not in text]  # chromium reports the refusal itself
    visit.end()
