"""How long a map takes to build, and how fluently its page moves.

python benchmarks/map.py --data FOLDER             20news (18,821 documents) after its neighbour graph
python benchmarks/map.py --points 100000           frames per second of that many points in headless Chromium
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import harness
from harness import Results, timed
from wordferry import Vocabulary
from wordferry.base.arrays import Neighbors
from wordferry.base.runtime import thread_count
from wordferry.maps import atlas, clusters, layout
from wordferry.texts.documents import Record
from wordferry.texts.published import read_collection

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
SECONDS = 5


def build(results: Results, data: Path) -> None:
    """The parts of a map of 20news, timed one by one."""
    records = read_collection(data / "20news").records
    spent: dict[str, float] = {}
    processor: dict[str, float] = {}

    def watch(module, name):
        whole = getattr(module, name)

        def call(*arguments, **options):
            took = timed(lambda: whole(*arguments, **options))
            spent[name], processor[name] = took.wall, took.cpu
            return took.value

        setattr(atlas, name, call)

    for module, name in ((atlas, "top_k"), (layout, "coordinates"), (clusters, "find_levels")):
        watch(module, name)
    made = timed(lambda: atlas.make_map(records))
    drawn, whole = made.value, made.wall
    page = timed(lambda: len(drawn.to_html()))
    size, spent["page"], processor["page"] = page.value, page.wall, page.cpu
    results.values.update({f"{name}: s": seconds for name, seconds in spent.items()})
    results.values.update({f"{name}: processor s": seconds for name, seconds in processor.items()})
    after, busy = (sum(found[name] for name in ("coordinates", "find_levels", "page")) for found in (spent, processor))
    print(f"{drawn!r}, {thread_count()} threads: {whole + spent['page']:.1f} s in all")
    print(
        f"neighbour graph {spent['top_k']:.1f} s; after it {after:.1f} s: layout {spent['coordinates']:.1f} s, ", end=""
    )
    print(f"clusters and names {spent['find_levels']:.1f} s, page {spent['page']:.1f} s ({size / 1e6:.1f} MB)")
    print(f"after the graph the processors were busy for {busy:.1f} s, whatever else ran beside it")


def frames(results: Results, count: int) -> None:
    """Frames per second while the view moves, each frame drawing all points."""
    from playwright.sync_api import sync_playwright

    rng = np.random.default_rng(0)
    group = rng.integers(0, 20, count)
    points = (rng.normal(0, 0.5, (20, 2))[group] + rng.normal(0, 0.1, (count, 2))).astype(np.float32)
    masses = sp.csr_array((np.ones(count, np.float32), (np.arange(count), np.zeros(count, int))), shape=(count, 1))
    near = Neighbors(np.full((count, 1), -1), np.full((count, 1), np.inf, np.float32))
    level = clusters.Level(group.astype(np.int32), tuple(f"group {number}" for number in range(20)))
    records = tuple(Record(f"text {number}", str(number)) for number in range(count))
    costs = sp.csr_array((1, 1), dtype=np.float32)
    drawn = atlas.Map(records, points, near, (level,), Vocabulary(["text"]), masses, costs, 1.0)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "map.html"
        drawn.to_html(file)
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 850})
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-ready]", timeout=120_000)
        rate = page.evaluate(
            """seconds => new Promise(resolve => {
                 const picture = wordferryMap.picture, start = performance.now();
                 let drawn = 0;
                 const step = () => {
                   const passed = (performance.now() - start) / 1000;
                   if (passed > seconds) return resolve(drawn / passed);
                   picture.view.x = 0.2 * Math.sin(passed * 3);
                   picture.draw(); picture.after(); drawn++;
                   requestAnimationFrame(step);
                 };
                 requestAnimationFrame(step);
               })""",
            SECONDS,
        )
        cost = page.evaluate(
            """() => {
                 const picture = wordferryMap.picture, times = [];
                 for (let i = 0; i < 60; i++) {
                   picture.view.x = 0.01 * i;
                   const start = performance.now();
                   picture.draw(); picture.after();
                   times.push(performance.now() - start);
                 }
                 return times.sort((a, b) => a - b)[6];
               }"""
        )
        browser.close()
    results.add("ms per drawing", float(cost), f"one drawing of {count:,} points: {cost:.1f} ms (best tenth of 60)")
    line = f"{count:,} points, 1280 x 850, headless Chromium without a graphics card: {rate:.0f} frames per second"
    results.add("frames per second", float(rate), line)


if __name__ == "__main__":
    parser = harness.parser(__doc__)
    harness.data_option(parser)
    parser.add_argument("--points", type=int, default=100_000)
    chosen = parser.parse_args()
    figures = Results("map", chosen)
    if chosen.data is not None:
        build(figures, chosen.data)
    frames(figures, chosen.points)
    figures.finish()
