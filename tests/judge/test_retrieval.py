"""Retrieval judged: files in three shapes, measures against hand-computed ones, intervals, the page."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from wordferry.errors import FormatError, InputError, NotFound
from wordferry.judge.bootstrap import interval_by, interval_of
from wordferry.judge.judged import Judged, read_judged, sample_collection
from wordferry.judge.judged_report import report_page
from wordferry.judge.likeness import judge_pairs, judge_triplets
from wordferry.judge.retrieval import judge_retrieval, mean_rows, moved_most
from wordferry.judge.systems import ByEncoder, make_system
from wordferry.texts.published import RatedPairs

pytest.importorskip("ir_measures", reason="ir-measures is not installed (pip install 'wordferry[judge]')")

TEXTS = {
    "d1": ("Bread", "bake a loaf of bread in a hot oven"),
    "d2": ("Tax", "the minister raised the tax on fuel"),
    "d3": ("Oven", "how to clean an oven"),
    "d4": ("Cat", "a cat sleeps on the sofa"),
}
QUERIES = {"q1": "baking bread", "q2": "fuel taxes", "q3": "nothing judged"}
RIGHT = {"q1": {"d1": 2, "d3": 1, "d2": -1}, "q2": {"d2": 1, "gone": 1}}


def beir(folder):
    (folder / "qrels").mkdir(parents=True)
    lines = [json.dumps({"_id": id, "title": title, "text": text}) for id, (title, text) in TEXTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    (folder / "queries.jsonl").write_text("\n".join(json.dumps({"_id": i, "text": t}) for i, t in QUERIES.items()))
    rows = [f"{q}\t{d}\t{g}" for q, found in RIGHT.items() for d, g in found.items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))


def trec(folder):
    folder.mkdir()
    documents = [f"<DOC>\n<DOCNO> {i} </DOCNO>\n<TITLE>{t}</TITLE> {x}\n</DOC>" for i, (t, x) in TEXTS.items()]
    (folder / "documents.trec").write_text("\n".join(documents))
    topics = [f"<top>\n<num> Number: {i}\n<title> {t}\n<desc> longer words\n</top>" for i, t in QUERIES.items()]
    (folder / "topics.txt").write_text("\n".join(topics))
    (folder / "qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, found in RIGHT.items() for d, g in found.items())
    )


def plain(folder):
    folder.mkdir()
    lines = [json.dumps({"id": id, "title": title, "text": f"{title}\n{text}"}) for id, (title, text) in TEXTS.items()]
    (folder / "docs.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    queries = "\n".join(json.dumps({"id": i, "text": t}) for i, t in QUERIES.items())
    (folder / "queries.jsonl.gz").write_bytes(gzip.compress(queries.encode()))
    rows = "".join(f"{q}\t{d}\t{g}\n" for q, found in RIGHT.items() for d, g in found.items())
    (folder / "qrels.tsv.gz").write_bytes(gzip.compress(rows.encode()))


@pytest.mark.parametrize("shape", [beir, trec, plain])
def test_three_shapes_say_the_same(tmp_path, shape):
    shape(tmp_path / "in")
    found = read_judged(tmp_path / "in")
    assert found.ids == tuple(TEXTS)
    assert [" ".join(text.split()) for text in found.texts] == [f"{t} {x}" for t, x in TEXTS.values()]
    assert found.queries == {"q1": "baking bread", "q2": "fuel taxes"}
    assert found.right == {"q1": {"d1": 2, "d3": 1, "d2": -1}, "q2": {"d2": 1}}
    assert found.left_out == 1


@pytest.fixture
def small():
    ids, texts = tuple(TEXTS), tuple(f"{title}\n{text}" for title, text in TEXTS.values())
    return Judged(
        "small", ids, texts, {"q1": "baking bread", "q2": "fuel"}, {"q1": {"d1": 2, "d3": 1}, "q2": {"d2": 1}}
    )


class Fixed:
    """A system whose answers are known."""

    def __init__(self, *answers):
        self.answers = answers

    def __call__(self, texts, queries, k):
        for rows in self.answers:
            yield np.array(rows, dtype=np.int64), np.zeros(len(rows))


def test_measures_are_those_of_the_definition(small):
    found = judge_retrieval(small, {"fixed": Fixed([3, 2, 0], [])}).scores[0]
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    ndcg = (1 / math.log2(3) + 2 / math.log2(4)) / ideal
    assert found.by_query["nDCG@10"] == pytest.approx({"q1": ndcg, "q2": 0.0})
    assert found.by_query["AP"] == pytest.approx({"q1": (1 / 2 + 2 / 3) / 2, "q2": 0.0})
    assert found.by_query["RR"] == pytest.approx({"q1": 0.5, "q2": 0.0})
    assert found.by_query["R@100"] == {"q1": 1.0, "q2": 0.0}
    assert found.means["RR"].value == pytest.approx(0.25)


def test_differences_are_taken_query_by_query(small):
    systems = {"good": Fixed([0, 2], [1]), "bad": Fixed([3], [1])}
    result = judge_retrieval(small, systems, baseline="bad")
    good, bad = result.scores
    assert good.differences["RR"].value == pytest.approx(0.5)
    assert bad.differences["RR"].value == 0
    assert moved_most(result, good)[0] == [("q1", pytest.approx(1.0))]
    assert mean_rows([result, result])[0]["RR"] == 1.0
    with pytest.raises(InputError, match="baseline 'none'"):
        judge_retrieval(small, systems, baseline="none")


@pytest.mark.parametrize("name", ["words", "words:lift=0", "bm25", "bm25-stem", "tfidf", "rel-rwmd", "wmd", "cosine"])
def test_every_kind_of_system_finds_the_plain_answer(small, name):
    if name.startswith("bm25"):
        pytest.importorskip("bm25s", reason="bm25s is not installed (pip install 'wordferry[judge]')")
    found = judge_retrieval(small, {name: make_system(name)}).scores[0]
    assert found.by_query["RR"]["q2"] == 1.0


def test_an_encoder_is_a_system(small):
    class Letters:
        def encode(self, texts):
            return [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]

    found = judge_retrieval(small, {"letters": ByEncoder(Letters())}).scores[0]
    assert found.means["R@100"].value == 1.0


def test_words_and_an_encoder_are_judged_beside_each(small):
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    systems = {name: make_system(name) for name in ("words", "words:lift=0+wordllama", "words+wordllama", "wordllama")}
    result = judge_retrieval(small, systems, baseline="words")
    assert [score.system for score in result.scores] == list(systems)
    for score in result.scores:
        assert score.means["nDCG@10"].low <= score.means["nDCG@10"].value <= score.means["nDCG@10"].high
    assert result.scores[2].means["R@100"].value == 1.0
    with pytest.raises(InputError, match="There is no encoder 'wordlama'"):
        make_system("words+wordlama")


@pytest.mark.parametrize("name", ["nonsense", "words:lift", "model2vec", "rel-rwmd:colour=red", "words:colour=1"])
def test_systems_that_do_not_exist_are_refused(small, name):
    with pytest.raises(InputError):
        list(make_system(name)(small.texts, ["bread"], 3))


def test_intervals_hold_the_mean_and_come_back_the_same():
    values = np.random.default_rng(1).random(200)
    found = interval_of(values)
    assert found.low < values.mean() < found.high
    assert found == interval_of(values)
    assert found.high - found.low == pytest.approx(4 * values.std() / math.sqrt(200), rel=0.15)
    assert interval_by(lambda rows: values[rows].mean(), 200).value == pytest.approx(values.mean())


def test_the_page_shows_what_was_measured(small):
    result = judge_retrieval(small, {"a<b": Fixed([0], [1]), "bad": Fixed([3], [])}, baseline="bad")
    text = report_page([result], "wordferry judge retrieval small")
    assert "a&lt;b" in text
    assert "a<b" not in text
    assert "4 documents, 2 judged queries" in text
    assert "baking bread" in text


def test_files_that_are_wrong_are_named(tmp_path):
    with pytest.raises(NotFound, match="not a folder"):
        read_judged(tmp_path / "none")
    with pytest.raises(NotFound, match="no file with the documents"):
        read_judged(tmp_path)
    plain(tmp_path / "in")
    (tmp_path / "in" / "qrels.tsv.gz").write_bytes(gzip.compress(b"q1\td1\n"))
    with pytest.raises(FormatError, match="line 1: expected query, document and grade"):
        read_judged(tmp_path / "in")
    (tmp_path / "in" / "qrels.tsv.gz").write_bytes(gzip.compress(b"q1\td1\t1\nq1\td2\tgood\n"))
    with pytest.raises(FormatError, match="line 2: the grade 'good'"):
        read_judged(tmp_path / "in")
    (tmp_path / "in" / "qrels.tsv.gz").write_bytes(gzip.compress(b"q9\td1\t1\n"))
    with pytest.raises(FormatError, match="no query has a right answer"):
        read_judged(tmp_path / "in")
    beir(tmp_path / "beir")
    with pytest.raises(NotFound, match=r"'dev'; it holds test\.tsv"):
        read_judged(tmp_path / "beir", "dev")


def test_the_sample_is_a_judged_collection():
    found = sample_collection()
    assert len(found.ids) >= 600
    assert len(found.queries) >= 120


def test_pairs_and_triplets():
    texts = ["the cat sleeps", "a kitten naps", "stocks fell sharply", "shares dropped", "the dog barks"]
    pairs = RatedPairs("p", tuple(texts[:4]), tuple(texts[1:]), (5.0, 1.0, 4.0, 0.5))
    rows = judge_pairs(pairs, ["wmd", "tfidf"])
    assert [row["system"] for row in rows] == ["wmd", "tfidf"]
    assert rows[0]["spearman"] > 0.5
    found = judge_triplets(texts, [(0, 1, 2), (2, 3, 4), (0, 2, 1)], ["wmd"])
    assert found[0]["wrong"] == 1
    with pytest.raises(InputError, match="ranks documents"):
        judge_pairs(pairs, ["bm25"])


def test_the_command_judges_a_folder(tmp_path):
    beir(tmp_path / "in")
    line = [sys.executable, "-m", "wordferry", "judge", "retrieval", str(tmp_path / "in"), "-s", "words", "-s", "wcd"]
    line += ["--baseline", "wcd", "--report", str(tmp_path / "r.html"), "--details", str(tmp_path / "r.json"), "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    rows = [json.loads(row) for row in done.stdout.splitlines()]
    assert [row["system"] for row in rows] == ["words", "wcd"]
    assert "2 judged queries" in (tmp_path / "r.html").read_text()
    assert json.loads((tmp_path / "r.json").read_text())[0]["queries"] == 2
