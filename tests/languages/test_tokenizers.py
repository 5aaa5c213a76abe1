"""Words of every script, with where they stand; stop words, elision, segmentation; tokenizers with names."""

from __future__ import annotations

import itertools
import unicodedata
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wordferry
from wordferry import Embeddings, Vocabulary
from wordferry.errors import InputError
from wordferry.index import Index
from wordferry.texts.boundaries import unicode_words
from wordferry.texts.coverage import CoverageWarning
from wordferry.texts.folding import fold
from wordferry.texts.languages import LANGUAGES, LanguageTokenizer
from wordferry.texts.tokenizers import (
    WordTokenizer,
    as_tokenizer,
    make_tokenizer,
    register_tokenizer,
    stop_words,
    tokenizer_config,
    tokenizer_from_config,
)

SAMPLES = {
    "Latin": "The naïve café-owner's co\u00adoperation, don’t you think?",
    "German": "Die Präsidentin begrüßt die Presse im Garten",
    "Cyrillic": "Президент встретил журналистов в саду",
    "Greek": "Ο ΠΡΌΕΔΡΟΣ χαιρετά τους δημοσιογράφους",
    "Arabic": "استقبل الرئيس الصحفيين في الحديقة",
    "Hebrew": "הנשיא פגש את העיתונאים בגן",
    "Hindi": "राष्ट्रपति ने पत्रकारों से मुलाकात की",
    "Korean": "대통령이 기자들을 만났다",
    "Wide": "Ｗｏｒｄ　Ｍｏｖｅｒ ｶﾞﾗｽ",
    "Turkish": "İstanbul'da ışık",
    "Digits": "3 apples, 2.5 pears and 1,000 plums_in_a_row",
    "Emoji": "I ❤️ tea 👩‍👩‍👧 very much",
}


@pytest.mark.parametrize("name", list(SAMPLES))
@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_spans_are_the_words_and_stand_where_they_say(name, form, lowercase):
    text = unicodedata.normalize(form, SAMPLES[name])
    tokenizer = WordTokenizer(lowercase=lowercase)
    spans = tokenizer.spans(text)
    assert [span.word for span in spans] == tokenizer(text)
    for span in spans:
        piece = fold(text[span.start : span.end].lower() if lowercase else text[span.start : span.end])
        assert piece.replace("'", "").replace("ς", "σ") == span.word.replace("ς", "σ")
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))


@given(st.text(max_size=60), st.booleans(), st.booleans())
def test_spans_of_any_text(text, lowercase, whole):
    tokenizer = WordTokenizer(lowercase=lowercase, keep_compounds=whole)
    spans = tokenizer.spans(text)
    assert all(0 <= span.start < span.end <= len(text) and span.word for span in spans)
    assert all(a.end <= b.start or a.start == b.start for a, b in itertools.pairwise(spans))
    if "\u03a3" not in text and "\u0130" not in text:
        assert [span.word for span in spans] == [word for word in tokenizer(text) if word]


@pytest.mark.parametrize("name", list(SAMPLES))
def test_both_normal_forms_give_the_same_words(name):
    composed, apart = (WordTokenizer()(unicodedata.normalize(form, SAMPLES[name])) for form in ("NFC", "NFD"))
    assert composed == apart


def test_wide_letters_are_letters():
    assert WordTokenizer()("Ｗｏｒｄ　Ｍｏｖｅｒ＿２ ｶﾞﾗｽ") == ["word", "mover", "2", "ガラス"]


def test_vocabularies_that_spell_otherwise_are_matched():
    words = [unicodedata.normalize("NFD", "café"), "ｗｉｄｅ", "naïve", "ｶﾞﾗｽ", "plain"]
    vocabulary = Vocabulary(words)
    found = [vocabulary.get(word) for word in ("café", "wide", "naïve", "ガラス", "plain", "none")]
    assert found == [0, 1, 2, 3, 4, -1]
    assert list(vocabulary) == words
    both = Vocabulary([unicodedata.normalize("NFD", "é"), "é"])
    assert both.get("é") == 1
    embeddings = Embeddings(words, np.eye(5))
    texts = ["CAFÉ wide naïve", unicodedata.normalize("NFD", "café ｗｉｄｅ naïve")]
    X = wordferry.encode(texts, embeddings)
    assert X.toarray().tolist() == [[1, 1, 1, 0, 0]] * 2


# --- languages


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (
            "fr",
            "L'homme qu'elle aime n’est pas d'ici, aujourd'hui",
            ["homme", "elle", "aime", "est", "pas", "ici", "aujourdhui"],
        ),
        ("italian", "L’amica dell'uomo è un'artista", ["amica", "uomo", "è", "artista"]),
        ("de", "Das Haus des Nachbarn's", ["das", "haus", "des", "nachbarn"]),
    ],
)
def test_elision(language, text, words):
    tokenizer = LanguageTokenizer(language)
    assert tokenizer(text) == words
    for span in tokenizer.spans(text):
        assert fold(text[span.start : span.end].lower()).replace("'", "") == span.word


@pytest.mark.parametrize(
    ("language", "package", "text", "words"),
    [
        ("zh", "jieba", "总统在花园里会见记者。", {"总统", "会见", "记者"}),
        ("ja", "fugashi", "大統領は庭で記者と会った。", {"大統領", "庭", "記者"}),
        ("th", "pythainlp", "ประธานาธิบดีพบนักข่าวในสวน", {"ประธานาธิบดี", "นักข่าว", "สวน"}),
    ],
)
def test_scripts_without_spaces(language, package, text, words):
    pytest.importorskip(package)
    tokenizer = make_tokenizer(language, stop=None)
    assert words <= set(tokenizer(text))
    spans = tokenizer.spans(text)
    assert all(text[span.start : span.end] == span.word for span in spans)
    mixed = f"Ｗｏｒｄ {text} 2024"
    found = tokenizer.spans(mixed)
    assert found[0].word == "word"
    assert mixed[found[0].start : found[0].end] == "Ｗｏｒｄ"
    assert words <= {span.word for span in found}
    assert not any(character in "。、 " for span in found for character in span.word)


def test_stop_words_of_many_languages():
    pytest.importorskip("stop_words")
    have = [code for code in LANGUAGES if code != "th"]
    assert len(have) >= 30
    assert all(len(stop_words(code)) > 20 for code in have)
    assert {"und", "der", "die"} <= stop_words("german")
    assert stop_words("de") == stop_words("german")
    assert make_tokenizer("de")("Die Katze und der Hund") == ["katze", "hund"]
    assert "press" not in stop_words("english")
    with pytest.raises(InputError, match="thai"):
        stop_words("th")
    with pytest.raises(InputError, match="no language 'klingon'"):
        stop_words("klingon")


def test_options_of_tokenizers():
    assert make_tokenizer()("The cat sat") == ["cat", "sat"]
    assert make_tokenizer(stop=None)("The cat sat") == ["the", "cat", "sat"]
    assert make_tokenizer("en", stop=["cat"], min_length=2)("The cat sat a") == ["the", "sat"]
    assert make_tokenizer("fr", stop=None, lowercase=False)("L'Homme") == ["Homme"]


# --- names


def _letters(text):
    return list(text.replace(" ", ""))


def test_tokenizers_are_made_again_of_their_configuration():
    for tokenizer in (make_tokenizer(), make_tokenizer("fr", stop=["oui"]), WordTokenizer(keep_compounds=True)):
        again = tokenizer_from_config(tokenizer_config(tokenizer))
        assert again == tokenizer
    register_tokenizer("letters", _letters)
    assert tokenizer_config(_letters) == tokenizer_config("letters") == {"name": "registered:letters"}
    assert tokenizer_from_config({"name": "registered:letters"}) is _letters
    assert as_tokenizer("letters") is _letters
    assert as_tokenizer("french").language == "fr"
    with pytest.raises(InputError, match=r"register_tokenizer\('unheard-of'"):
        tokenizer_from_config({"name": "registered:unheard-of"})
    with pytest.raises(InputError, match="have a name"):
        tokenizer_config(str.split)
    for wrong in (17, ["a"]):
        with pytest.raises(InputError, match="A tokenizer is a function"):
            as_tokenizer(wrong)
    for name in ("", "a b", 3):
        with pytest.raises(InputError, match="name is made of"):
            register_tokenizer(name, _letters)
    with pytest.raises(InputError, match="function from a text"):
        register_tokenizer("fine", 3)


def test_an_index_keeps_registered_and_language_tokenizers(tmp_path):
    register_tokenizer("letters", _letters)
    embeddings = Embeddings(list("abcdef"), np.eye(6))
    with Index.create(tmp_path / "letters", embeddings=embeddings, tokenizer="letters", distance="cosine") as index:
        index.add(["a b c", "d e f"])
    with Index.open(tmp_path / "letters") as index:
        assert index.search("fed", k=1)[0].text == "d e f"
    words = Embeddings(["homme", "elle", "chien"], np.eye(3))
    with Index.create(tmp_path / "fr", embeddings=words, tokenizer=LanguageTokenizer("fr"), distance="cosine") as index:
        index.add(["l'homme", "le chien"])
    with Index.open(tmp_path / "fr") as index:
        assert index.search("qu'elle et l’homme", k=1)[0].text == "l'homme"
    assert wordferry.pairwise(["l'homme"], ["d'homme"], "cosine", embeddings=words, tokenizer="fr")[0, 0] == 0


def test_the_command_line_takes_a_language(tmp_path, capsys):
    from wordferry.cli import main

    (tmp_path / "d.jsonl").write_text(
        '{"id": "a", "text": "the press greets"}\n{"id": "b", "text": "l\'orange and d\'or"}\n'
    )
    arguments = ["index", "create", str(tmp_path / "index"), str(tmp_path / "d.jsonl"), "--tokenizer", "fr"]
    with pytest.raises(SystemExit, match="0"):
        main(arguments)
    with Index.open(tmp_path / "index") as index:
        assert index.tokenizer.language == "fr"
        assert index.tokenizer("l'orange and d'or") == ["orange", "and"]
    with pytest.raises(SystemExit, match="2"):
        main([*arguments[:2], str(tmp_path / "other"), "--tokenizer", "klingon"])
    assert "klingon" in capsys.readouterr().err


# --- boundaries of Unicode


UNICODE_WORDS = {
    "can't stop 1,000.5 e-mail at example.com, U.S.A.": [
        "can't",
        "stop",
        "1,000.5",
        "e",
        "mail",
        "at",
        "example.com",
        "U.S.A",
    ],
    "10:30 a:b 2·3 x2y 3rd ½ x²": ["10", "30", "a:b", "2", "3", "x2y", "3rd", "½", "x", "²"],
    "总统 カタカナー ひらがな": ["总", "统", "カタカナー", "ひ", "ら", "が", "な"],
    "राष्ट्रपति ने 대통령이 기자들을": ["राष्ट्रपति", "ने", "대통령이", "기자들을"],
    'שב"ס צה״ל "שלום"': ['שב"ס', "צה״ל", "שלום"],
    "cafe\u0301 na\u0308ive": ["cafe\u0301", "na\u0308ive"],
    "ประธานาธิบดี พบ ភាសាខ្មែរ": ["ประธานาธิบดี", "พบ", "ភាសាខ្មែរ"],  # runs: only a dictionary could cut them
    "I ❤️ tea 👩‍👩‍👧, ok 🇩🇪🇫🇷 👍🏽!": ["I", "❤️", "tea", "👩‍👩‍👧", "ok", "🇩🇪", "🇫🇷", "👍🏽"],  # emoji are words
}


@pytest.mark.parametrize("text", list(UNICODE_WORDS))
def test_words_at_the_boundaries_of_unicode(text):
    assert unicode_words(text) == UNICODE_WORDS[text]


_SCRIPTS = "aZéñßœДжλΩاबकिह्हण다한中国ひらカター٣५7 0.,:;'’-·\"́\u0308 \n!?"


@given(st.text(alphabet=_SCRIPTS, max_size=40))
def test_the_boundaries_are_those_of_another_implementation(text):
    regex = pytest.importorskip("regex", reason="regex is not installed (pip install 'wordferry[dev]')")
    assume(not regex.search(r"(?:^|[^\w])\p{M}", text))  # a mark without a letter before it belongs to nothing
    others = [word for word in regex.split(r"(?wV1)\b", text) if any(one.isalnum() for one in word)]
    assert [word for word in unicode_words(text) if any(one.isalnum() for one in word)] == others


@given(st.text(max_size=40))
def test_no_letter_or_digit_is_lost(text):
    kept = "".join(unicode_words(text))
    assert [one for one in text if one.isalnum()] == [one for one in kept if one.isalnum()]


@pytest.mark.parametrize("name", list(SAMPLES))
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_spans_at_the_boundaries_of_unicode(name, form):
    text = unicodedata.normalize(form, SAMPLES[name])
    tokenizer = WordTokenizer(boundaries="unicode")
    spans = tokenizer.spans(text)
    assert [span.word for span in spans] == tokenizer(text)
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    assert WordTokenizer(boundaries="unicode")(unicodedata.normalize("NFC", text)) == tokenizer(text)


def test_boundaries_in_tokenizers():
    text = "Prices rose 1,000.5 at example.com's shop_two ❤️"
    assert make_tokenizer(stop=None)(text) == ["prices", "rose", "1", "000", "5", "at", "example", "com", "shop", "two"]
    found = make_tokenizer(stop=None, boundaries="unicode")
    assert found(text) == ["prices", "rose", "1,000.5", "at", "example.com", "shop", "two", "❤"]
    assert make_tokenizer("sv", stop=None)("Kl. 10.30 på 1.000,5 kr") == ["kl", "10.30", "på", "1.000,5", "kr"]
    assert make_tokenizer("en", stop=None)("1,000") == ["1", "000"]  # English stays as it was
    for tokenizer in (found, make_tokenizer("sv"), make_tokenizer("en")):
        assert tokenizer_from_config(tokenizer_config(tokenizer)) == tokenizer
    old = {"name": "language.v1", "language": "fr", "lowercase": True, "stop": [], "min_length": 1}
    assert tokenizer_from_config(old)("l'an 1.000") == ["an", "1", "000"]  # as the index that holds it was made
    with pytest.raises(InputError, match="'plain', 'unicode'"):
        make_tokenizer(boundaries="ascii")
    with pytest.raises(InputError, match="'plain', 'unicode'"):
        LanguageTokenizer("fr", boundaries="ascii")


def test_an_index_of_many_documents_keeps_to_the_boundaries(tmp_path):
    vectors = Embeddings(["rose", "1,000.5", "000", "5"], np.eye(4))
    tokenizer = make_tokenizer(stop=None, boundaries="unicode")
    with Index.create(tmp_path / "many", embeddings=vectors, tokenizer=tokenizer, distance="cosine") as index:
        index.add([f"rose {number}" for number in range(300)] + ["rose 1,000.5"])
        assert index.similar("1,000.5", k=1)[0].text == "rose 1,000.5"
        assert index.get(index.ids()[-1]).text == "rose 1,000.5"
        assert index.similar("1,000.5", k=2, weights="counts", unknown="drop")[1].distance > 0.9


# --- compounds


GERMAN = frozenset(
    ["apfel", "baum", "arbeit", "platz", "haus", "donau", "dampf", "schiff", "kinder", "garten", "küche", "tisch"]
)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("apfelbaum", ["apfel", "baum"]),
        ("arbeitsplatz", ["arbeit", "platz"]),
        ("küchentisch", ["küche", "tisch"]),
        ("donaudampfschiff", ["donau", "dampf", "schiff"]),
        ("kindergarten", ["kinder", "garten"]),
        ("garten", ["garten"]),  # a word with a vector is not cut
        ("apfelmus", ["apfelmus"]),  # nor one of which a part has none
        ("baumen", ["baumen"]),
        ("arbeits", ["arbeits"]),
    ],
)
def test_compounds_are_cut_where_all_parts_have_vectors(word, parts):
    tokenizer = make_tokenizer("de", stop=None, compounds=GERMAN)
    assert tokenizer(word.capitalize()) == parts
    text = f"Der {word.capitalize()}!"
    spans = tokenizer.spans(text)[1:]
    assert [span.word for span in spans] == parts
    assert [text[span.start : span.end].lower() for span in spans] == parts


def test_an_index_cuts_compounds_by_its_own_vectors(tmp_path):
    vectors = Embeddings(sorted(GERMAN), np.eye(len(GERMAN)))
    tokenizer = make_tokenizer("de", stop=["der", "im"], compounds=vectors)
    with Index.create(tmp_path / "de", embeddings=vectors, tokenizer=tokenizer) as index:
        index.add(["Der Apfelbaum im Garten", "Das Dampfschiff", "Ein Arbeitsplatz"])
        assert index.similar("Schiff", k=1)[0].text == "Das Dampfschiff"
    with Index.open(tmp_path / "de") as index:
        assert index.tokenizer("Küchentisch") == ["küche", "tisch"]
        assert index.similar("der Baum", k=1)[0].text == "Der Apfelbaum im Garten"
    assert wordferry.pairwise(["Apfelbaum"], ["Baum Apfel"], "wmd", embeddings=vectors, tokenizer=tokenizer)[0, 0] == 0
    with pytest.raises(InputError, match="an Embeddings, a Vocabulary or a set"):
        make_tokenizer("de", compounds=3)
    import pickle

    assert pickle.loads(pickle.dumps(tokenizer))("Apfelbaum") == ["apfel", "baum"]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("今日は天気がいいですね", "明日は雨が降るでしょう", r"taken as one word.*tokenizer='ja'.*wordferry\[japanese"),
        ("总统在花园里会见记者们", "昨天股票市场大幅下跌了", r"taken as one word.*tokenizer='zh'"),
        (
            "Die Präsidentin begrüßt heute Journalisten im schönen Garten hinter dem Schlößchen",
            "Wirtschaftsminister kritisiert Krankenhausgesellschaft wegen fehlender Pflegekräfte überall",
            r"Fewer than half.*embeddings='multilingual'",
        ),
    ],
)
def test_languages_that_the_vectors_do_not_know_are_spoken_of(first, second, said):
    for call in (
        lambda: wordferry.distance(first, second),
        lambda: wordferry.pairwise([first], [second], "rel-rwmd"),
        lambda: wordferry.top_k([first], [first, second], 1),
    ):
        with pytest.warns(CoverageWarning, match=said) as told:
            call()
        assert len({str(one.message) for one in told}) == 1


def test_texts_whose_words_are_known_are_compared_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wordferry.pairwise(["The president greets the press in Chicago", "a cat named Xqzzy"])
        assert wordferry.distance("Xqzzy", "Yqzzy") > 0
