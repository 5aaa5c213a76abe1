"""The words of an index: one language, a tokenizer of one's own, and combinations that contradict each other."""

from __future__ import annotations

import numpy as np
import pytest

from wordferry import Embeddings, Index
from wordferry.cli import main
from wordferry.errors import InputError
from wordferry.texts.tokenizers import WordTokenizer, make_tokenizer, register_tokenizer

WORDS = Embeddings(["homme", "hommes", "haus", "dog"], np.eye(4))


def make(path, **options):
    return Index.create(path, embeddings=WORDS, distance="cosine", **options)


@pytest.mark.parametrize("name", ["french", "fr"])
def test_a_language_brings_stop_words_boundaries_and_stems(tmp_path, name):
    with make(tmp_path / "i", language=name) as index:
        assert index.tokenizer("l'homme et les hommes") == ["homme", "hommes"]
        assert index.config.language == "french"
        index.add(["l'homme"])
        assert len(index.search("hommes")) == 1


def test_a_tokenizer_of_a_language_brings_its_stems_and_english_is_the_default(tmp_path):
    with make(tmp_path / "a", tokenizer="de") as index:
        assert index.config.language == "german"
    with make(tmp_path / "b") as index:
        assert index.config.language == "english"
        assert index.tokenizer("the dog") == ["dog"]
    with make(tmp_path / "c", tokenizer="de", language="german") as index:
        assert index.config.language == "german"


def test_a_language_without_stems_or_without_stop_words(tmp_path):
    with make(tmp_path / "a", language="thai", tokenizer=WordTokenizer()) as index:
        assert index.config.language == "none"
    with make(tmp_path / "b", language="basque") as index:
        assert index.config.language == "basque"
        assert index.tokenizer("the dog") == ["the", "dog"]  # no English stop words in Basque
    with make(tmp_path / "c", language="none", tokenizer="fr") as index:
        assert index.config.language == "none"
        assert index.tokenizer("l'homme") == ["homme"]


def test_two_languages_contradict_each_other(tmp_path):
    with pytest.raises(InputError, match="The tokenizer is german and language='french' another language"):
        make(tmp_path / "i", tokenizer="german", language="french")
    with pytest.raises(InputError, match="klingon"):
        make(tmp_path / "i", language="klingon")
    assert not (tmp_path / "i").exists()


def test_a_tokenizer_of_ones_own_goes_with_any_stems(tmp_path):
    register_tokenizer("by-blanks", lambda text: text.split())
    with make(tmp_path / "i", tokenizer="by-blanks", language="french") as index:
        assert (index.tokenizer("l'homme et"), index.config.language) == (["l'homme", "et"], "french")
    with make(tmp_path / "j", tokenizer=make_tokenizer(stop=["dog"]), language="english") as index:
        assert index.tokenizer("the dog") == ["the"]


def test_the_options_of_the_command_line(tmp_path, capsys):
    def create(name, *options):
        with pytest.raises(SystemExit) as stop:
            main(["index", "create", str(tmp_path / name), *options])
        return stop.value.code, capsys.readouterr().err

    def words(name, text):
        with Index.open(tmp_path / name) as index:
            return index.tokenizer(text)

    (tmp_path / "stop.txt").write_text("dog\ncat\n")
    assert create("fr", "--language", "fr")[0] == 0
    assert words("fr", "l'homme et le chien") == ["homme", "chien"]
    assert create("all", "--stop", "none")[0] == 0
    assert words("all", "the dog") == ["the", "dog"]
    assert create("own", "--stop", f"@{tmp_path}/stop.txt", "--language", "fr")[0] == 0
    assert words("own", "l'homme et dog") == ["homme", "et"]
    assert create("other", "--stop", "german")[0] == 0
    assert words("other", "the und") == ["the"]
    code, said = create("x", "--stop", "none", "--tokenizer", "fr")
    assert (code, "--tokenizer names another" in said) == (2, True)
    code, said = create("x", "--language", "german", "--tokenizer", "fr")
    assert (code, "The tokenizer is french and --language german another language" in said) == (2, True)
