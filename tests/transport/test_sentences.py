"""Explanations of long texts: by sentence, cut to a limit, with the words marked, and stopped when cancelled."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import wordferry
from wordferry.base.runtime import Cancel, cancellable
from wordferry.errors import Cancelled, InputError
from wordferry.explanations.marked import SplitText
from wordferry.kernels.passes import Ways, share_out
from wordferry.texts.datasets import sample
from wordferry.texts.sentences import passages, sentences
from wordferry.texts.tokenizers import WordTokenizer, default_tokenizer, stop_words

A = "The cat sleeps on the sofa. Prices fell at the exchange! Nobody spoke of <b>it</b>."
B = "Shares dropped on Monday. A kitten rests. He said nothing."


@pytest.mark.parametrize("distance", ["wmd", "rel-wmd", "rwmd", "rel-rwmd", "act", "wcd", "cosine", "bow-l1"])
@pytest.mark.parametrize("side", ["both", "left", "right"])
def test_pairs_of_sentences_sum_to_the_distance(distance, side):
    if side != "both" and distance not in ("rwmd", "rel-rwmd"):
        pytest.skip("has no sides")
    found = wordferry.explain(A, B, distance, side=side)
    by = wordferry.explain(A, B, distance, side=side, by="sentence")
    assert math.fsum(pair.cost for pair in by.pairs) == pytest.approx(found.distance, abs=1e-12)
    assert math.fsum(pair.mass for pair in by.pairs) == pytest.approx(math.fsum(row.mass for row in found.rows))
    for pair in by.pairs:
        assert math.fsum(row.cost for row in pair.rows) == pytest.approx(pair.cost)
        assert pair.a is None or pair.a in A
        assert pair.b is None or pair.b in B
    assert by.to_columns()["a"] == [pair.a for pair in by.pairs]


def test_sentences_that_say_the_same_meet():
    by = wordferry.explain(A, B, by="sentence")
    best = {}
    for pair in by.pairs:
        best.setdefault(pair.a, pair.b)
    assert best["The cat sleeps on the sofa."] == "A kitten rests."
    assert best["Prices fell at the exchange!"] == "Shares dropped on Monday."
    assert "  → A kitten rests." in str(by)
    assert by.to_text(limit=1).endswith("more pairs")


def test_a_word_of_several_sentences_goes_where_its_neighbours_go():
    a = "The bank lent money. The river bank flooded."
    b = "The flooded river left its bank. Money is lent by a bank."
    by = wordferry.explain(a, b, by="sentence")
    banks = {(pair.a, pair.b): row.mass for pair in by.pairs for row in pair.rows if row.source == row.target == "bank"}
    assert max(banks, key=banks.get) in (
        ("The bank lent money.", "Money is lent by a bank."),
        ("The river bank flooded.", "The flooded river left its bank."),
    )


@pytest.mark.parametrize("distance", ["wmd", "rwmd"])
def test_a_word_of_every_sentence_goes_from_one_to_the_next(distance):
    animals = ["cats", "dogs", "horses", "cows", "birds", "lions", "wolves", "snakes", "sheep", "rabbits"]
    a = " ".join(f"Farmers saw {one}." for one in animals)
    b = " ".join(f"{one.title()} met farmers." for one in animals)
    by = wordferry.explain(a, b, distance, by="sentence", overlap="keep")
    assert math.fsum(pair.cost for pair in by.pairs) == pytest.approx(by.distance, abs=1e-12)
    whole = {(pair.a, pair.b) for pair in by.pairs if len(pair.rows) >= 2}
    assert {(f"Farmers saw {one}.", f"{one.title()} met farmers.") for one in animals} <= whole


class CountingTokenizer(WordTokenizer):
    """The package's tokenizer, and how often it is called."""

    calls = 0

    def __call__(self, text, elided=None):
        type(self).calls += 1
        return super().__call__(text, elided)


def test_texts_are_split_once():
    by = wordferry.explain(A, B, by="sentence", tokenizer=CountingTokenizer(stop=stop_words()))
    assert CountingTokenizer.calls == 2
    assert by.to_columns() == wordferry.explain(A, B).by_sentence().to_columns()


@pytest.mark.parametrize("more", ["", " A 0Z0 mark.", " Naïve café. 今日は晴れ。明日は雨！", " C++ is\n.NET e-mail"])
def test_words_of_sentences_are_those_of_the_text(more):
    found = SplitText.of(A + more)
    assert found.words == default_tokenizer()(A + more)
    each = [default_tokenizer()((A + more)[start:end]) for start, end in sentences(A + more)]
    assert found.numbers.tolist() == [number for number, words in enumerate(each) for _ in words]


def test_rows_are_a_sequence():
    rows = wordferry.explain(A, B).rows
    assert list(rows) == list(rows[:]) == [rows[n] for n in range(len(rows))]
    assert rows == wordferry.explain(A, B).rows != rows[1:]
    assert replace(wordferry.explain(A, B), rows=rows[:3]).by_sentence().pairs


def test_sentences_need_texts_and_places():
    rows = wordferry.encode([A, B], wordferry.default_embeddings().vocabulary)
    vectors = wordferry.default_embeddings()
    with pytest.raises(InputError, match="with_texts"):
        wordferry.explain(rows[[0]], rows[[1]], embeddings=vectors, by="sentence")
    assert "→ a kitten rests." in str(wordferry.explain(A.lower(), B.lower(), tokenizer=str.split, by="sentence"))
    with pytest.raises(InputError, match="by must be 'word' or 'sentence', got 'clause'"):
        wordferry.explain(A, B, by="clause")
    tokens = ["cat", "sleeps"], ["kitten", "rests"]
    pair = wordferry.explain(*tokens, by="sentence").pairs[0]
    assert (pair.a, pair.b) == ("cat sleeps", "kitten rests")


@pytest.fixture(scope="module")
def long():
    words = " ".join(str(record.text) for record in sample().articles).split()
    a, b = " ".join(words[:3000]), " ".join(words[3000:6000])
    return wordferry.explain(a, b)


def test_pages_and_pictures_of_long_texts_are_cut(long):
    pytest.importorskip("matplotlib")
    assert len(long.rows) > 1000
    page, few = long.to_html(), long.to_html(limit=5)
    assert page.count("<tr>") == 201
    assert few.count("<tr>") == 6
    assert f"{len(long.rows) - 5:,} more are left out" in few
    assert long.to_html(limit=None).count("<tr>") == len(long.rows) + 1
    drawn = long.plot(limit=3)
    assert len(drawn.axes[0].patches) == 3
    assert len(long.plot().axes[0].patches) <= 60
    for wrong in (0, -1, 2.5):
        with pytest.raises(InputError, match="limit"):
            long.to_html(limit=wrong)


def test_words_are_marked_in_the_texts():
    page = wordferry.explain(A, B).to_html()
    assert page.count("<mark") == len(wordferry.texts.tokenizers.default_tokenizer()(A + " " + B))
    assert ">sleeps</mark> on the " in page
    assert "&lt;<mark" in page
    assert "<b>it</b>" not in page


def test_an_index_explains_by_sentence():
    with wordferry.Index.create() as index:
        index.add([{"id": "b", "text": B}, {"id": "tokens", "text": ["kitten", "rests"]}, "Shares rose. A dog barked."])
        for hit in index.similar(A):
            by = hit.explain("sentence")
            assert by.distance == pytest.approx(hit.distance, abs=1e-6)
            assert math.fsum(pair.cost for pair in by.pairs) == pytest.approx(hit.distance, abs=1e-6)
        assert index.explain(A, B, by="sentence").to_columns() == index.similar(A)[0].explain("sentence").to_columns()
        assert [pair.b for pair in index.similar(id="b")[0].explain("sentence").pairs if pair.mass > 0.1]
        (hit,) = index.similar(A, 1, explain=True, distance="wmd")
        assert "A kitten rests." in str(hit.explain("sentence"))
        assert "<mark" in hit.explain().to_html()
        with pytest.raises(InputError, match="A score is made of words"):
            index.search("kitten")[0].explain("sentence")


def test_explaining_stops_when_it_is_cancelled(long):
    cancel = Cancel()
    cancel.cancel()
    for work in (
        lambda: wordferry.explain(A, B, "rwmd"),
        lambda: wordferry.explain(A, B, "rel-wmd"),
        long.by_sentence,
    ):
        with cancellable(cancel), pytest.raises(Cancelled):
            work()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("one", ["one"]),
        ("It costs 3.50. Or $4.", ["It costs 3.50. ", "Or $4."]),
        ('"Stop!" he said... Then\nmore', ['"Stop!" ', "he said... ", "Then\n", "more"]),
        ("今日は晴れ。明日は雨！", ["今日は晴れ。", "明日は雨！"]),
        ("see example.com/a?b=c now", ["see example.com/a?b=c now"]),
    ],
)
def test_one_rule_for_sentences(text, parts):
    assert [text[start:end] for start, end in sentences(text)] == parts


def test_passages_split_each_sentence_once():
    text = "A b. C d. E f g h. I."
    given = []

    def split(piece):
        given.append(piece)
        return piece.split()

    found = [(text[start:end], words) for (start, end), words in passages(text, split)]
    assert [passage for passage, _ in found] == ["A b. C d. ", "E f g h. ", "I."]
    assert all(passage.split() == words for passage, words in found)
    assert "".join(given) == text


def test_spans_of_ascii_are_those_of_any_script():
    tokenizer = wordferry.texts.tokenizers.default_tokenizer()
    text = "The cat_s well-being, O'Neill's 3.5 and it's"
    plain = [(span.word, span.start, span.end) for span in tokenizer.spans(text)]
    other = [(span.word, span.start - 2, span.end - 2) for span in tokenizer.spans("é " + text)[1:]]
    assert plain == other
    assert np.all([text[start:end].lower().replace("'", "") == word for word, start, end in plain])


def test_mass_is_shared_out_to_the_ways_of_most_affinity():
    ways = Ways(np.array([0, 3, 5]), np.array([0, 0, 1, 0, 1]), np.array([0, 1, 1, 0, 0]), np.array([1.0, 3, 2, 1, 2]))
    left = np.array([0.5, 0.5]), np.array([0.25, 0.25])
    kept, taken = share_out(ways, np.array([0.75, 0.25]), left)
    assert kept.tolist() == [1, 0, 3]  # the second row's best way has nothing to take, and the last takes it all
    assert taken.tolist() == [0.25, 0.5, 0.25]
    assert [some.tolist() for some in left] == [[-0.5, 0.5], [-0.5, 0.0]]
    with pytest.raises(ValueError, match="starts must rise"):
        share_out(ways._replace(starts=np.array([0, 3, 6])), np.array([0.75, 0.25]), left)


def test_objects_are_made_when_they_are_read():
    by = wordferry.explain(A, B, by="sentence")
    assert "_made" not in vars(by.pairs)
    assert len(by.pairs) == len(list(by.pairs)) == len(by.pairs[:])
    assert by.pairs == tuple(by.pairs)
