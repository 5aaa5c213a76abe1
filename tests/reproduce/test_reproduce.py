"""The reproduction on a tiny set made here: cells, resuming, both protocols, tables, findings and the page."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from wordferry.errors import InputError, NotFound
from wordferry.judge.selection import PAPER_R
from wordferry.reproduce import Plan, Source, data_folder, learned, reproduce
from wordferry.reproduce import run as running
from wordferry.reproduce.bench import Clock, open_set
from wordferry.reproduce.cells import Cell, run_paper, without_duplicates
from wordferry.reproduce.findings import findings
from wordferry.reproduce.store import Store, fingerprint_of
from wordferry.reproduce.summary import Errors, error_rows, tables

WORDS = {
    "pets": ["cat", "dog", "kitten", "puppy", "animal", "fur", "tail", "pet"],
    "money": ["bank", "stock", "market", "price", "trade", "fund", "loan", "cash"],
    "sea": ["ship", "ocean", "sailor", "wave", "boat", "harbor", "storm", "coast"],
}


def write_set(folder, documents=30, splits=2, seed=0):
    rng = np.random.default_rng(seed)
    names = list(WORDS)
    rows = []
    for i in range(documents):
        label = names[i % 3]
        words = rng.choice(WORDS[label], 4).tolist() + rng.choice(WORDS[names[(i + 1) % 3]], 1).tolist()
        sides = ["test" if rng.random() < 0.3 else "train" for _ in range(splits)]
        rows.append({"id": i, "label": label, "text": " ".join(words), "splits": sides})
    rows[0]["splits"], rows[1]["splits"] = ["train"] * splits, ["test"] * splits
    rows[4]["text"] = rows[2]["text"]  # a duplicate
    rows[5]["text"] = "zzzzqq"  # no known word
    folder.mkdir(parents=True)
    (folder / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def data(tmp_path):
    write_set(tmp_path / "data" / "tiny")
    write_set(tmp_path / "data" / "twitter", splits=1, seed=1)
    triplets = tmp_path / "data" / "triplets" / "wikipedia"
    triplets.mkdir(parents=True)
    rows = [{"a": "cat dog", "b": "kitten puppy", "c": "bank stock"}, {"a": "ship", "b": "boat", "c": "zzzzqq"}]
    (triplets / "triplets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "data"


class Page(HTMLParser):
    """Collects what a page asks for and shows."""

    def __init__(self):
        super().__init__()
        self.asks, self.text = [], []

    def handle_starttag(self, tag, attributes):
        self.asks += [(tag, value) for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_data(self, text):
        self.text.append(text)


def test_the_paper_s_protocol_from_data_to_page(data, tmp_path):
    plan = Plan(Source(data), distances=("cosine", "wcd", "rwmd", "rel-rwmd"))
    results = reproduce(plan, tmp_path / "report")
    saved = json.loads((tmp_path / "report" / "results.json").read_text())
    assert saved["protocol"] == "paper"
    titles = [table["title"] for table in saved["tables"]]
    assert titles == [
        "Data sets",
        "Test error by distance",
        "Run time",
        "Run time of everything",
        "Test error of rel-rwmd by r",
        "Choosing r",
        "Triplets",
        "Other libraries",
    ]
    page = Page()
    text = (tmp_path / "report" / "index.html").read_text()
    page.feed(text)
    assert all(value.startswith("#") for _, value in page.asks)  # nothing outside the page
    assert "url(http" not in text
    shown = " ".join(page.text)
    verdicts = [f"{f['claim']}: {'holds' if f['holds'] else 'does not hold here'}" for f in saved["findings"]]
    assert len(verdicts) == 5  # wmd was not run, so the claim about it is left out; the triplets have one
    for verdict in verdicts:
        assert verdict in "".join(page.text)
    assert saved["findings"] == [
        finding.to_json() | {"disagree": list(finding.disagree)} for finding in findings(results.cells, "paper")
    ]
    assert "not a data set of the paper" in shown
    by_r = [
        c for c in results.cells if c["protocol"] == "paper" and c["dataset"] == "tiny" and c["r"] not in ("", "cv")
    ]
    assert len(by_r) == 2 * len(PAPER_R)
    facts = next(c for c in results.cells if c["protocol"] == "facts" and c["dataset"] == "tiny")
    assert (facts["documents"], facts["without_known_words"], facts["splits"]) == (30, 1, 2)


def test_a_stopped_run_goes_on_where_it_was(data, tmp_path, monkeypatch):
    plan = Plan(Source(data), datasets=("tiny",), distances=("cosine", "wcd"))
    calls = []

    def stops(cell, bench):
        calls.append(cell.key)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run_paper(cell, bench)

    monkeypatch.setattr(running, "run_paper", stops)
    with pytest.raises(KeyboardInterrupt):
        reproduce(plan, tmp_path / "report")
    assert len(list((tmp_path / "report" / "cells").glob("*.json"))) == 3  # the facts and two errors
    reproduce(plan, tmp_path / "report")
    assert len(calls) == 3 + 2  # the stopped cell and the one after it
    lines = []
    reproduce(plan, tmp_path / "report", lines.append)
    assert len(calls) == 5
    assert lines == []


def test_other_data_are_computed_anew(data, tmp_path):
    store = Store(tmp_path)
    before = fingerprint_of(data / "tiny")
    store.save("a/b", before, {"error": 1.0})
    assert store.load("a/b", before) == {"error": 1.0}
    (data / "tiny" / "all.jsonl").write_text("changed\n")
    assert fingerprint_of(data / "tiny") != before
    assert store.load("a/b", fingerprint_of(data / "tiny")) is None
    assert store.load("a/c", before) is None
    next(tmp_path.glob("a~b.json")).write_text("{broken")
    assert store.load("a/b", before) is None


def test_the_fair_protocol_removes_duplicates_and_chooses_k(data, tmp_path):
    plan = Plan(Source(data), "fair", ("tiny",), ("bow-l1", "tfidf-l1", "rwmd+tfidf", "rel-rwmd"))
    results = reproduce(plan, tmp_path / "report")
    cells = [c for c in results.cells if c["protocol"] == "fair"]
    assert len(cells) == 2 * 4
    assert {c["duplicates_removed"] for c in cells} == {2}  # the duplicate and the document without words
    assert all(1 <= c["k"] <= 19 for c in cells)
    table = tables(results.cells, "fair")[1]
    assert [row[3] is not None for row in table.rows] == [True] * 4  # deviations over two divisions
    assert "Fair protocol" in (tmp_path / "report" / "index.html").read_text()


def test_of_equal_documents_one_is_kept(data):
    bench = open_set("tiny", Source(data), Source(data).load_vectors())
    kept = without_duplicates(bench)
    assert kept[[2, 4]].sum() == 1
    assert not kept[5]
    assert kept.sum() == len({bench.counts[[i]].toarray().tobytes() for i in range(30) if i != 5})


def test_a_cell_is_the_classifier_s_error(data):
    pytest.importorskip("sklearn")
    from wordferry.neighbors import WordMoverClassifier

    bench = open_set("tiny", Source(data), Source(data).load_vectors())
    split = bench.splits[1]
    cell = run_paper(Cell("paper", "tiny", 1, "rel-rwmd", "4"), bench)
    related = bench.related(128)[0].restrict(4)
    rule = {"voting": "majority", "weights": "counts", "unknown": "drop"}
    model = WordMoverClassifier(19, "rel-rwmd", embeddings=bench.embeddings, related=related, **rule)
    model.fit(bench.counts[split.train], bench.classes[split.train])
    right = model.score(bench.counts[split.test], bench.classes[split.test])
    assert cell["error"] == pytest.approx(100 * (1 - right))


def test_learned_features_are_those_of_the_supervised_embedding(data):
    pytest.importorskip("sklearn")
    from wordferry.learn import WordMoverEmbedding

    bench = open_set("tiny", Source(data), Source(data).load_vectors(), threads=1)
    cell = Cell("learned", "tiny", 0, "learned wme + svm")
    counts = bench.counts[bench.splits[0].train]
    classes = bench.classes[bench.splits[0].train]
    ours = learned._model(cell, bench, Clock())[0].fit_transform(counts, classes)
    settings = {"embeddings": bench.embeddings, "random_state": learned.SEED, "threads": 1}
    model = WordMoverEmbedding(learned._RANDOM_DOCUMENTS, supervised=True, **settings)
    np.testing.assert_allclose(ours / np.sqrt(2), model.fit_transform(counts, classes), rtol=1e-6)


def made(errors, protocol="paper"):
    """Cells with given errors: {(set, distance, r): error}."""
    cells = []
    for (dataset, distance, r), error in errors.items():
        cell = {"protocol": protocol, "dataset": dataset, "split": 0, "distance": distance, "r": r}
        cells.append(cell | ({"chosen": error} if r == "cv" else {"error": error}))
    return tuple(cells)


def test_findings_say_plainly_where_a_set_disagrees():
    cells = made(
        {
            ("x", "rwmd", ""): 10.0,
            ("x", "rel-rwmd", "16"): 10.5,
            ("x", "rel-rwmd", "2"): 11.5,
            ("x", "rel-rwmd", "cv"): 2,
            ("y", "rwmd", ""): 20.0,
            ("y", "rel-rwmd", "16"): 20.2,
            ("y", "rel-rwmd", "cv"): 16,
            ("x", "wcd", ""): 11.0,
            ("y", "wcd", ""): 30.0,
        }
    )
    said = {finding.claim: finding for finding in findings(cells, "paper")}
    close = said["rel-rwmd with r by cross-validation is as good as rwmd"]
    assert close.holds  # (1.5 + 0.2) / 2 points
    assert close.disagree == ("x: 11.50 against 10.00",)
    behind = said["wcd is behind rel-rwmd"]
    assert behind.holds
    assert behind.disagree == ("x: 11.00 against 11.50",)
    assert "rwmd is as good as exact wmd" not in said
    errors = Errors(cells, "paper")
    assert errors.mean("x", "rel-rwmd cv") == 11.5
    assert errors.average("rel-rwmd cv") == pytest.approx(15.85)
    assert error_rows(cells, "paper")[-1]["rwmd"] == 15.0


def test_findings_on_triplets():
    cells = tuple(
        {"protocol": "triplets", "dataset": "wikipedia", "distance": name, "r": "", "closer": {"error": error}}
        for name, error in (("cosine", 28.0), ("wcd", 31.0), ("rel-rwmd", 30.0))
    )
    (said,) = findings(cells, "paper")
    assert not said.holds
    assert said.disagree == ("cosine 28.00 %",)


def test_wrong_plans_are_named(data, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="'paper', 'fair'"):
        Plan(Source(data), "unfair")
    with pytest.raises(InputError, match="Unknown distance"):
        Plan(Source(data), distances=("wmdd",))
    with pytest.raises(InputError, match="belong to 'fair'"):
        Plan(Source(data), distances=("wmd+tfidf",))
    with pytest.raises(NotFound, match="mkusner"):
        reproduce(Plan(Source(data), datasets=("bbcsport",)), tmp_path / "r")
    monkeypatch.delenv("WORDFERRY_DATA", raising=False)
    with pytest.raises(NotFound, match="nothing is downloaded"):
        data_folder(None)


def test_without_matplotlib_the_page_says_so(data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    reproduce(Plan(Source(data), datasets=("tiny",), distances=("cosine",)), tmp_path / "report")
    assert "wordferry[plot]" in (tmp_path / "report" / "index.html").read_text()
    assert not list((tmp_path / "report").glob("*.png"))


def test_the_protocol_of_learned_distances(data, tmp_path):
    pytest.importorskip("sklearn")
    write_set(tmp_path / "more" / "r8", documents=60, splits=1)
    chosen = ("wmd", "learned wmd", "learned rel-rwmd", "wme + svm", "learned wme + svm")
    chosen = (*chosen, "tf-idf + svm", "tf-idf + logistic")
    plan = Plan(Source(tmp_path / "more"), protocol="learned", distances=chosen)
    results = reproduce(plan, tmp_path / "report")
    table = next(table for table in tables(results.cells, "learned") if table.title == "Learned from classes")
    assert table.columns == ("data set", "whose", *chosen)
    assert [row[1] for row in table.rows] == [
        "here",
        "paper: Kusner 2015",
        "paper: Sato 2022",
        "recalled: Huang 2016",
        "recalled: Wu 2018",
        "here",
    ]
    assert all(0 <= error <= 50 for error in table.rows[0][2:])
    assert table.rows[3][3] == 3.2
    assert table.rows[4][5] == pytest.approx(2.8)
    assert "recalled" in (tmp_path / "report" / "index.html").read_text()
    assert len(findings(results.cells, "learned")) == 4
    with pytest.raises(InputError, match="tf-idf"):
        Plan(Source(data), protocol="learned", distances=("magic",))
