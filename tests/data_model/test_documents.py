"""Reading documents from every format, and what is said about broken ones."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from wordferry.errors import FormatError, InputError, MissingDependency, NotFound
from wordferry.texts.documents import Record, read_documents

ROWS = [
    {"id": "a", "label": "x", "split": "train", "text": 'one, "two"\nthree', "year": "1999"},
    {"id": "b", "label": "y", "split": "test", "text": "vier fünf", "year": "2001"},
]
RECORDS = [Record(row["text"], row["id"], row["label"], row["split"], {"year": row["year"]}) for row in ROWS]


def write_jsonl(path: Path, rows: list[dict[str, object]] = ROWS) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_jsonl(tmp_path: Path) -> None:
    assert list(read_documents(write_jsonl(tmp_path / "d.jsonl"))) == RECORDS


def test_gzip_is_seen_from_the_bytes(tmp_path: Path) -> None:
    plain = write_jsonl(tmp_path / "d.jsonl")
    for name in ("e.jsonl.gz", "f.jsonl"):
        (tmp_path / name).write_bytes(gzip.compress(plain.read_bytes()))
        assert list(read_documents(tmp_path / name)) == RECORDS


def test_csv_with_quotes_line_breaks_and_byte_order_mark(tmp_path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(ROWS[0]))
    writer.writeheader()
    writer.writerows(ROWS)
    (tmp_path / "d.csv").write_bytes(text.getvalue().encode("utf-8-sig"))
    assert list(read_documents(tmp_path / "d.csv", numbers=False)) == RECORDS


def test_csv_takes_cells_longer_than_the_process_limit(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    (tmp_path / "d.csv").write_text("text\n" + "word " * 100_000 + "\n")
    (record,) = read_documents(tmp_path / "d.csv")
    assert len(record.text) == 500_000
    assert csv.field_size_limit() == before


def test_tsv_has_no_quoting(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text('id\ttext\n1\ta "quoted word\n2\tb\n')
    assert [(r.id, r.text) for r in read_documents(tmp_path / "d.tsv")] == [("1", 'a "quoted word'), ("2", "b")]


def test_plain_text_keeps_line_numbers(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("first\r\n\n  second  \n")
    assert list(read_documents(tmp_path / "d.txt")) == [
        Record("first", metadata={"line": 1}),
        Record("second", metadata={"line": 3}),
    ]


def test_folder_with_a_file_each(tmp_path: Path) -> None:
    (tmp_path / "sport").mkdir()
    (tmp_path / "sport" / "b.txt").write_text("goal\nscored")
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "a.md").write_text("not read")
    assert list(read_documents(tmp_path)) == [
        Record("hello", "a.txt"),
        Record("goal\nscored", "sport/b.txt", "sport"),
    ]
    assert [r.id for r in read_documents(tmp_path, pattern="*.md")] == ["a.md"]
    with pytest.raises(NotFound, match="rst"):
        list(read_documents(tmp_path, pattern="*.rst"))


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "d.parquet")
    assert list(read_documents(tmp_path / "d.parquet")) == RECORDS
    parquet.write_table(pa.table({"text": [["a", "b"], ["c"]]}), tmp_path / "t.parquet")
    assert [r.text for r in read_documents(tmp_path / "t.parquet")] == [("a", "b"), ("c",)]
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(FormatError, match=r"broken\.parquet"):
        list(read_documents(tmp_path / "broken.parquet"))


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependency, match=r"pip install 'wordferry\[parquet\]'"):
        list(read_documents(tmp_path / "d.parquet"))


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    data = b"one\ntwo\n"
    stream = io.BufferedReader(io.BytesIO(gzip.compress(data) if packed else data))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    assert [r.text for r in read_documents("-")] == ["one", "two"]


def test_fields_by_name_and_numbers_as_text(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"n": 7, "body": ["a", "b"], "class": True, "id": "meta"}]
    path = write_jsonl(tmp_path / "d.jsonl", rows)
    (record,) = read_documents(path, text="body", id="n", label="class")
    assert record == Record(("a", "b"), "7", "true", None, {"id": "meta"})


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("d.jsonl", '{"text": "a"}\n{"text": \n', {}, r"d\.jsonl, line 2: .*JSON"),
        ("d.jsonl", '{"text": "a"}\n\n["b"]\n', {}, r"line 3: expected a JSON object, got list"),
        ("d.jsonl", '{"body": "a"}\n', {}, r"line 1: expected a field 'text' .*'body'.*text="),
        ("d.jsonl", '{"text": 5}\n', {}, r"line 1: the field 'text' must be a text or a list of tokens, got int"),
        ("d.jsonl", '{"text": "a", "id": {}}\n', {}, r"the id must be a text or a number, got dict"),
        ("d.jsonl", '{"text": "a"}\n', {"label": "class"}, r"expected a field 'class' with the label"),
        ("d.csv", "", {}, r"found an empty file"),
        ("d.csv", "text,text\n1,2\n", {}, r"appears twice"),
        ("d.csv", "id,text\n1,a\n2\n", {}, r"line 3: expected 2 cells as in the header, found 1"),
        ("d.csv", 'text\n"never closed\n', {}, r"broken quoting"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, content: str, options: dict[str, str], said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=said):
        list(read_documents(tmp_path / name, **options))


def test_broken_bytes(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_bytes(b"fine\ncaf\xe9\n")
    with pytest.raises(FormatError, match=r"d\.txt, line 2: expected UTF-8 text, found byte 0xe9 at position 3"):
        list(read_documents(tmp_path / "d.txt"))
    whole = gzip.compress(b"some text here\n" * 1000)
    (tmp_path / "d.txt.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match="ends early"):
        list(read_documents(tmp_path / "d.txt.gz"))


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nowhere\.txt"):
        read_documents(tmp_path / "nowhere.txt")
    (tmp_path / "d.bin").write_text("a\n")
    with pytest.raises(InputError, match="format="):
        read_documents(tmp_path / "d.bin")
    with pytest.raises(InputError, match="jsonl, json, csv"):
        read_documents(tmp_path / "d.bin", format="xml")
    with pytest.raises(InputError, match="is a folder"):
        read_documents(tmp_path, format="csv")
    with pytest.raises(InputError, match="is a file"):
        read_documents(tmp_path / "d.bin", format="folder")
    with pytest.raises(InputError, match="standard input"):
        read_documents("-", format="parquet")
    assert [r.text for r in read_documents(tmp_path / "d.bin", format="text")] == ["a"]
