"""Lines of text files and of the standard input: what they are is seen, or asked for."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

from wordferry import read_documents
from wordferry.errors import FormatError, InputError


@pytest.fixture
def piped(monkeypatch):
    def pipe(data, **options):
        data = data if isinstance(data, bytes) else data.encode()
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
        monkeypatch.setattr(sys, "stdin", stdin)
        return list(read_documents("-", **options))

    return pipe


ROWS = [{"id": "1", "body": "one", "n": 3}, {"id": "2", "body": "two", "n": 4}]
LINES = "\n".join(map(json.dumps, ROWS)) + "\n"


@pytest.mark.parametrize(
    "data",
    [
        LINES,
        "\n\n" + LINES,
        "\ufeff" + LINES,
        gzip.compress(LINES.encode(), mtime=0),
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        "id,body,n\n1,one,3\n2,two,4\n",
        "id;body;n\r\n1;one;3\r\n2;two;4\r\n",
        "id\tbody\tn\n1\tone\t3\n2\ttwo\t4\n",
        '"id"|"body"|"n"\n1|one|3\n2|two|4\n',
    ],
)
def test_the_standard_input_is_looked_at(piped, data):
    found = piped(data, text="body")
    assert [(r.id, r.text, r.metadata) for r in found] == [("1", "one", {"n": 3}), ("2", "two", {"n": 4})]


def test_plain_text_stays_plain_text(piped):
    assert [r.text for r in piped("a line, with commas\nanother line\n")] == ["a line, with commas", "another line"]
    assert [r.text for r in piped("text\nis one of the words\n")] == ["text", "is one of the words"]
    assert piped("") == []
    assert [r.text for r in piped("id,text\n1,a\n")] == ["a"]
    assert [r.text for r in piped("id,text\n1,a\n", format="text")] == ["id,text", "1,a"]


@pytest.mark.parametrize("options", [{"text": "body"}, {"id": "key"}, {"skip": ["year"]}, {"label": "class"}])
def test_fields_of_plain_text_are_refused(piped, options):
    with pytest.raises(InputError, match="plain text has no fields"):
        piped("a line\nanother\n", **options)


def test_json_files(tmp_path):
    def read(text, name="d.json"):
        (tmp_path / name).write_text(text)
        return [(r.id, r.text) for r in read_documents(tmp_path / name, text="body")]

    expected = [("1", "one"), ("2", "two")]
    assert read(json.dumps(ROWS)) == expected
    assert read("\n" + json.dumps(ROWS, indent=1)) == expected
    assert read(LINES) == expected
    assert read("") == []
    (tmp_path / "d.json.gz").write_bytes(gzip.compress(json.dumps(ROWS).encode()))
    assert len(list(read_documents(tmp_path / "d.json.gz", text="body"))) == 2
    for text, said in (
        ("[1]", "object 0.*got int"),
        ("7", "got int"),
        ("[{]", "column 3"),
        ('[{"body": "a"},\n {"body" 7}]', "line 2"),
        ('{"body":\n "a"}', "line 1"),
    ):
        with pytest.raises(FormatError, match=said):
            read(text)


def test_separators_of_csv_files(tmp_path):
    def read(text, **options):
        (tmp_path / "d.csv").write_text(text)
        return [(r.text, dict(r.metadata)) for r in read_documents(tmp_path / "d.csv", **options)]

    assert read("text;n\na, b;1,5\n") == [("a, b", {"n": "1,5"})]
    assert read('text,"a;b;c"\nx,1\n') == [("x", {"a;b;c": 1})]
    assert read("text\nx;y\n") == [("x;y", {})]
    assert read("\n\ntext,n\nx,1\n") == [("x", {"n": 1})]
    with pytest.raises(FormatError, match="line 5"):
        read("\n\ntext,n\nx,1\ny\n")


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("7", 7),
        ("-7", -7),
        ("0", 0),
        ("2.50", 2.5),
        ("1e3", 1000.0),
        ("", None),
        ("007", "007"),
        ("+7", "+7"),
        ("1,5", "1,5"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e999", "1e999"),
        ("true", "true"),
        ("2024-05-01", "2024-05-01"),
        ("1_000", "1_000"),
        (" 7", " 7"),
        ("12345678901234567890123", "12345678901234567890123"),
    ],
)
def test_cells_that_are_numbers(tmp_path, cell, value):
    (tmp_path / "d.csv").write_text(f'text,id,n\nx,007,"{cell}"\n')
    (found,) = read_documents(tmp_path / "d.csv")
    assert found.id == "007"
    assert found.metadata["n"] == value
    assert type(found.metadata["n"]) is type(value)
    (kept,) = read_documents(tmp_path / "d.csv", numbers=False)
    assert kept.metadata["n"] == cell


def test_fields_can_be_left_out(tmp_path):
    (tmp_path / "d.csv").write_text("text,id,a,b\nx,1,2,3\n")
    (found,) = read_documents(tmp_path / "d.csv", skip=["a", "id"])
    assert (found.id, found.metadata) == (None, {"b": 3})
