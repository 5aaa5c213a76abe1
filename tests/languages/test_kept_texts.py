"""A text kept beside tokens that were made elsewhere: people see the one, and what compares takes the others."""

from __future__ import annotations

import json
import pickle

import pytest

from wordferry.errors import InputError
from wordferry.index import Index
from wordferry.texts.tokenizers import KeptText, words_of

TEXT, TOKENS = "Les chats dormaient.", ["cat", "sleep"]


@pytest.fixture(params=[1, 300])
def index(request, tmp_path):
    """With a few documents, and with so many that the kernel counts."""
    with Index.create(tmp_path / "index") as made:
        made.add([{"id": "kept", "text": TEXT, "tokens": TOKENS, "year": 1999}])
        made.add([{"id": f"n{number}", "text": "The market rose again"} for number in range(request.param)])
        made.add([{"id": "plain", "tokens": ["dog", "bark"]}])
        yield made


def test_the_text_is_shown_and_the_tokens_are_compared(index):
    found = index.get("kept")
    assert found.text == TEXT
    assert found.tokens == ("cat", "sleep")
    assert found.metadata == {"year": 1999}
    assert index.get("n0").tokens is None
    assert index.get("plain").tokens == ("dog", "bark") == index.get("plain").text
    for hits in (index.search("cat"), index.similar("kittens sleep", k=1), index.similar(("cat",), k=1)):
        assert (hits[0].id, hits[0].text) == ("kept", TEXT)
    assert index.search("chats") == []
    explanation = index.similar("cats sleep", k=1)[0].explain()
    assert set(explanation.b) == {"cat", "sleep"}
    assert index.similar(id="kept", k=1)[0].id != "kept"


def test_they_survive_a_rebuild_a_second_opening_and_an_export(index, tmp_path):
    index.compact(rebuild=True)
    assert index.similar("kittens sleep", k=1)[0].text == TEXT
    index.verify()
    path = index.path
    with Index.open(path) as again:
        assert again.get("kept").tokens == ("cat", "sleep")
        again.export(tmp_path / "all.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert rows[0] == {"id": "kept", "text": TEXT, "tokens": TOKENS, "year": 1999}
    with Index.create(tmp_path / "copy") as copy:
        copy.add(rows)
        assert copy.get("kept").tokens == ("cat", "sleep")
        assert copy.similar("kittens sleep", k=1)[0].text == TEXT


def test_what_is_refused(tmp_path):
    with Index.create(tmp_path / "index") as made:
        with pytest.raises(InputError, match="tokens must be str"):
            made.add([{"text": "a cat", "tokens": ["a", 3]}])
        with pytest.raises(InputError, match="leave one out"):
            made.add([{"text": ["a", "cat"], "tokens": ["cat"]}])
        with pytest.raises(InputError, match="must have a 'text' or 'tokens'"):
            made.add([{"id": "x"}])


def test_a_kept_text_is_a_text():
    kept = KeptText(TEXT, TOKENS)
    assert kept == TEXT
    assert words_of(kept, str.split) == TOKENS
    again = pickle.loads(pickle.dumps(kept))
    assert (again, again.tokens) == (TEXT, ("cat", "sleep"))


def test_leakage_compares_tokens_and_tells_texts(index):
    documents = [{"id": "t", "text": TEXT, "tokens": TOKENS}, {"id": "u", "tokens": ["dog", "bark"]}]
    found = index.leakage(documents, 0.1)
    assert [(pair.first, pair.second, pair.exact) for pair in found] == [("kept", "t", True), ("plain", "u", True)]


def test_a_word_without_a_vector_is_sought_among_the_tokens(tmp_path):
    with Index.create(tmp_path / "strict", unknown="error") as strict:
        strict.add([{"text": "Qwxyz!", "tokens": ["cat"]}])
        with pytest.raises(InputError, match="holds the word 'qwxyz'"):
            strict.add([{"text": "a cat", "tokens": ["cat", "qwxyz"]}])
