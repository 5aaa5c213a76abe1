"""Results as notebooks show them."""

from __future__ import annotations

import numpy as np
import pytest

import wordferry
from wordferry.base.frames import html_table
from wordferry.errors import InputError
from wordferry.index.results import Document, Hit
from wordferry.judge.agreement import agreement
from wordferry.judge.choosing import RChoice
from wordferry.judge.likeness import judge_pairs
from wordferry.judge.triplets import triplets
from wordferry.texts.published import RatedPairs


def test_tables_are_escaped_shortened_and_cut():
    shown = html_table({"text": ["<b>" + "x" * 500] * 30, "distance": [0.5] * 30, "n": [1] * 30, "none": [None] * 30})
    assert "<b>" not in shown
    assert "x" * 201 not in shown
    assert shown.count("<tr>") == 21
    assert "10 more rows" in shown
    assert "0.5000" in shown
    assert "none" not in shown  # nothing is in that column
    assert "<th>a</th>" in html_table({"a": []})
    assert "min-width" in shown
    assert "min-width" not in html_table({"word": ["moon"]})


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One of each kind of result that people look at."""
    texts = wordferry.sample().texts[:60]
    vectors = wordferry.default_embeddings()
    related = wordferry.RelatedWords.build(vectors.restrict(np.arange(100)), 4)
    pairs = RatedPairs("few", tuple(texts[:9]), tuple(texts[9:18]), tuple(range(9)))
    made = {
        "neighbours": wordferry.top_k(texts[:2], texts, 3),
        "explanation": wordferry.explain("Obama speaks to the media", "The president greets the press"),
        "related words": related,
        "related to a word": related.neighbors(related.vocabulary[5]),
        "choice of r": RChoice(2, {1: 30.5, 2: 20.25, 4: 21.0}, 100),
        "agreement": agreement(texts[:3], texts[3:6], [1.0, 2.0, 3.0]),
        "triplets": triplets(texts, [(0, 1, 40)]),
        "pairs report": judge_pairs(pairs, ["cosine", "tfidf"]),
    }
    with wordferry.Index.create(tmp_path_factory.mktemp("few") / "index") as index:
        index.add(texts)
        made["hits by words"] = index.search("the dog and the water", k=5, explain=True)
        made["hits by distance"] = index.similar(texts[0], k=5)
        made["score"] = made["hits by words"][0].explain()
        made["duplicates"] = index.duplicates(0.9)
        made["stats"], made["verification"] = index.stats(), index.verify()
    return made


SHOWN = (
    "neighbours", "explanation", "related words", "related to a word", "choice of r", "agreement", "triplets",
    "pairs report", "hits by words", "hits by distance", "score", "duplicates", "stats", "verification",
)  # fmt: skip
DRAWN = (
    "neighbours", "explanation", "related to a word", "choice of r", "hits by words", "hits by distance", "score",
    "duplicates",
)  # fmt: skip


@pytest.mark.parametrize("kind", SHOWN)
def test_every_result_shows_itself_in_a_notebook(results, kind):
    shown = results[kind]._repr_html_()
    assert "<table" in shown if kind != "explanation" else shown.startswith("<iframe srcdoc=")


@pytest.mark.parametrize("kind", SHOWN)
def test_every_result_has_a_short_repr(results, kind):
    if kind in ("stats", "verification"):
        assert len(repr(results[kind])) < 500  # all numbers
    else:
        assert len(repr(results[kind])) < 160


@pytest.mark.parametrize("kind", DRAWN)
def test_every_result_with_values_can_be_drawn(results, kind):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'wordferry[plot]')")
    from matplotlib.figure import Figure

    figure = results[kind].plot()
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")
    axes = Figure().add_subplot()
    assert results[kind].plot(ax=axes) is axes
    assert axes.has_data() or axes.patches


def test_a_flow_diagram_says_what_it_shows(results):
    shown = results["explanation"]._repr_html_()
    assert "<svg" not in shown
    assert "&lt;svg" in shown
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    with pytest.raises(InputError, match="leave path out"):
        results["explanation"].plot("flows.png", ax=axes)


def test_the_words_related_to_a_word_are_a_list_with_a_table(results):
    found = results["related to a word"]
    word, distance = found[0]
    assert found.to_columns()["word"][0] == word
    assert repr(found).startswith(f"RelatedTo({found.word}: {word} {distance:.3f}")
    assert sorted(found, key=lambda one: one[1]) == list(found)


def test_bars_are_as_long_as_the_values_say(results):
    pytest.importorskip("matplotlib")
    figure = results["choice of r"].plot()
    (axes,) = figure.axes
    assert [bar.get_width() for bar in axes.patches] == [30.5, 20.25, 21.0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["r = 1", "r = 2", "r = 4"]
    hits = results["hits by distance"]
    (axes,) = hits.plot().axes
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([hit.distance for hit in hits])


def test_the_parts_of_a_score_sum_to_it_in_its_table(results):
    assert sum(results["score"].to_columns()["part"]) == pytest.approx(results["score"].score, abs=1e-4)


def test_a_document_is_named_briefly():
    hit = Hit("a1", "word " * 500, {"year": 1999}, "news", distance=0.25)
    assert len(repr(hit)) < 140
    assert repr(hit).startswith("Hit('a1', 'word word")
    assert repr(hit).endswith("label='news', distance=0.2500)")
    assert repr(Document("b", ("two", "words"))) == "Document('b', ('two', 'words'))"


def test_judgements_are_reports(tmp_path):
    pytest.importorskip("ir_measures", reason="ir-measures is not installed (pip install 'wordferry[judge]')")
    from wordferry.judge.judged import Judged
    from wordferry.judge.retrieval import judge_retrieval
    from wordferry.judge.systems import make_system

    sample = wordferry.sample()
    articles = sample.articles[:40]
    ids = tuple(str(article.id) for article in articles)
    texts = tuple(article.text for article in articles)
    right = {"q": {ids[0]: 1, ids[1]: 1}}
    judged = Judged("few", ids, texts, {"q": texts[0][:80]}, right)
    found = judge_retrieval(judged, {"words": make_system("words"), "cosine": make_system("cosine")})
    assert "<table" in found._repr_html_()
    assert repr(found).startswith("Retrieval(few, nDCG@10: words ")
    (axes,) = found.plot().axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["words", "cosine"]
