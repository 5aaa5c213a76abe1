"""Rows of commands as tables, JSON, CSV and Parquet, and the documents of an index: list, get, export."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wordferry
from wordferry.base.writing import RowWriter
from wordferry.cli import main
from wordferry.errors import InputError

Capture = pytest.CaptureFixture[str]
DOCUMENTS = [
    {"id": "a", "text": "the cat sat on the mat", "year": 2001, "tags": ["pet", "home"], "split": 3},
    {"id": "b", "text": 'stocks fell, "sharply"\nin new york', "year": 2009, "label": "money", "ok": True},
    {"id": "c", "text": "a dog rests", "code": "007", "year": None},
    {"id": "d", "text": "a long flight over the sea", "code": "x", "score": 2.5},
]


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that no test changes."""
    path = tmp_path_factory.mktemp("rows") / "pets"
    with wordferry.Index.create(path) as index:
        index.add(DOCUMENTS)
    return path


def same(a: Path, b: Path) -> bool:
    with wordferry.Index.open(a) as first, wordferry.Index.open(b) as second:
        return list(first) == list(second)


# -- list, get, export ------------------------------------------------------------------------------------------------


def test_list_shows_heads_in_order_and_says_what_is_left(pets: Path, capsys: Capture) -> None:
    code, out, err = run(capsys, "index", "list", pets, "-k", 2)
    assert code == 0
    assert [(row["id"], row["text"]) for row in rows(out)] == [
        ("a", "the cat sat on the mat"),
        ("b", 'stocks fell, "sharply" in new york'),
    ]
    assert rows(out)[0]["metadata"] == {"year": 2001, "tags": ["pet", "home"], "split": 3}
    assert "1 to 2 of 4 documents; --offset 2 shows the next" in err
    _, out, err = run(capsys, "index", "list", pets, "--offset", 3)
    assert [row["id"] for row in rows(out)] == ["d"]
    assert "4 to 4 of 4 documents" in err
    assert "--offset" not in err


def test_list_by_filter(pets: Path, capsys: Capture) -> None:
    code, out, _ = run(capsys, "index", "list", pets, "--filter", "year>=2001", "--offset", 1)
    assert (code, [row["id"] for row in rows(out)]) == (0, ["b"])
    code, out, err = run(capsys, "index", "list", pets, "--filter", "year=1850")
    assert (code, out) == (0, "")
    assert "0 documents that pass the filter" in err
    code, _, err = run(capsys, "index", "list", pets, "--filter", "yaer=1850")
    assert code == 2
    assert "no document has a field 'yaer'. The fields are: 'code', 'id', 'label', 'ok'" in err


def test_a_long_text_is_shortened_in_the_list_and_whole_when_it_is_asked_for(tmp_path: Path, capsys: Capture) -> None:
    text = "a sentence about cats and dogs " * 20
    with wordferry.Index.create(tmp_path / "one") as index:
        index.add([{"id": "long", "text": text}])
    assert len(rows(run(capsys, "index", "list", tmp_path / "one")[1])[0]["text"]) <= 80
    assert rows(run(capsys, "index", "get", tmp_path / "one", "long")[1])[0]["text"] == text


def test_get_goes_on_after_an_id_that_is_missing(pets: Path, capsys: Capture) -> None:
    code, out, err = run(capsys, "index", "get", pets, "a", "nobody", "c")
    assert (code, [row["id"] for row in rows(out)]) == (1, ["a", "c"])
    assert "no document 'nobody'" in err
    code, out, _ = run(capsys, "index", "get", pets, "b", "--table")
    assert code == 0
    assert "year: 2009" in out
    assert 'stocks fell, "sharply"\nin new york' in out


@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_export_as_json_brings_back_the_same_documents(
    pets: Path, tmp_path: Path, capsys: Capture, ending: str
) -> None:
    assert run(capsys, "index", "export", pets, "-o", tmp_path / f"all.{ending}")[0] == 0
    assert run(capsys, "index", "create", tmp_path / "copy", tmp_path / f"all.{ending}")[0] == 0
    assert same(pets, tmp_path / "copy")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export_as_a_table_brings_back_texts_labels_and_numbers(
    pets: Path, tmp_path: Path, capsys: Capture, ending: str
) -> None:
    assert run(capsys, "index", "export", pets, "-o", tmp_path / f"all.{ending}")[0] == 0
    assert run(capsys, "index", "create", tmp_path / "copy", tmp_path / f"all.{ending}")[0] == 0
    with wordferry.Index.open(pets) as first, wordferry.Index.open(tmp_path / "copy") as second:
        for a, b in zip(first, second, strict=True):
            assert (a.id, a.text, a.label) == (b.id, b.text, b.label)
            found = {key: value for key, value in b.metadata.items() if value is not None}
            wanted = {key: value for key, value in a.metadata.items() if value is not None}
            if ending == "csv":  # which knows numbers and text
                wanted = {k: json.dumps(v) if isinstance(v, bool | list) else v for k, v in wanted.items()}
            assert found == wanted


def test_export_to_a_pipe_and_by_filter(pets: Path, capsys: Capture) -> None:
    code, out, err = run(capsys, "index", "export", pets, "--filter", "year>=2001")
    assert (code, [row["id"] for row in rows(out)]) == (0, ["a", "b"])
    assert "2 documents" in err
    _, out, _ = run(capsys, "index", "export", pets, "--csv")
    assert [row["id"] for row in csv.DictReader(io.StringIO(out))] == ["a", "b", "c", "d"]


def test_tokens_come_back_as_tokens_where_the_format_has_lists(tmp_path: Path) -> None:
    with wordferry.Index.create(tmp_path / "t") as index:
        index.add([{"id": "a", "tokens": ["cat", "sat"]}])
        for name in ("t.jsonl", "t.parquet"):
            index.export(tmp_path / name)
            assert [record.text for record in wordferry.read_documents(tmp_path / name)] == [("cat", "sat")]
        with pytest.raises(InputError, match=r"'a' was given as tokens, and csv has no lists. Write \.jsonl instead"):
            index.export(tmp_path / "t.csv")
        index.add(["a dog rests"])
        with pytest.raises(InputError, match=r"was given as a text, and parquet has .* in a column, not both"):
            index.export(tmp_path / "t2.parquet")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["t", "t.jsonl", "t.parquet"]


def test_a_field_called_like_the_text_needs_another_name(tmp_path: Path, capsys: Capture) -> None:
    with wordferry.Index.create(tmp_path / "t") as index:
        index.add([{"id": "a", "text": "a cat", "metadata": {"text": "mine"}}])
    code, _, err = run(capsys, "index", "export", tmp_path / "t")
    assert code == 2
    assert "has a field 'text' of its own. Give the text another name with --text" in err
    assert run(capsys, "index", "export", tmp_path / "t", "-o", tmp_path / "t.jsonl", "--text", "body")[0] == 0
    assert run(capsys, "index", "create", tmp_path / "u", tmp_path / "t.jsonl", "--text", "body")[0] == 0
    assert same(tmp_path / "t", tmp_path / "u")


# -- one rule for rows ------------------------------------------------------------------------------------------------


def test_hits_as_csv_and_parquet(pets: Path, tmp_path: Path, capsys: Capture) -> None:
    _, out, _ = run(capsys, "search", pets, "cat dog", "--csv")
    found = list(csv.DictReader(io.StringIO(out)))
    assert [row["id"] for row in found] == [row["id"] for row in rows(run(capsys, "search", pets, "cat dog")[1])]
    assert {"rank", "id", "score", "label", "text", "year", "tags"} <= set(found[0])
    assert json.loads(next(row["tags"] for row in found if row["id"] == "a")) == ["pet", "home"]
    code, out, err = run(capsys, "similar", pets, "cat dog", "-o", tmp_path / "hits.parquet")
    assert (code, out) == (0, "")
    assert "4 rows" in err
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "hits.parquet").to_pydict()
    assert table["rank"] == [1, 2, 3, 4]
    assert sorted(table["year"], key=str) == [2001, 2009, None, None]


@pytest.mark.parametrize(
    "command",
    [
        ["distance", "a cat", "a dog", "--all"],
        ["explain", "a cat", "a dog"],
        ["related", "show", "people", "--limit", "500"],
        ["duplicates", "{pets}", "--threshold", "3.5"],
        ["duplicates", "{pets}", "--threshold", "3.5", "--pairs"],
        ["index", "list", "{pets}"],
        ["index", "get", "{pets}", "a"],
    ],
)
def test_every_command_with_rows_writes_the_same_ones_as_json_csv_and_files(
    pets: Path, tmp_path: Path, capsys: Capture, command: list[str]
) -> None:
    line = [word.format(pets=pets) for word in command]
    plain = rows(run(capsys, *line, "--json")[1])
    assert plain
    run(capsys, *line, "-o", tmp_path / "rows.jsonl")
    assert rows((tmp_path / "rows.jsonl").read_text()) == plain
    run(capsys, *line, "-o", tmp_path / "rows.json")
    assert json.loads((tmp_path / "rows.json").read_text()) == plain
    _, printed, _ = run(capsys, *line, "--csv")
    run(capsys, *line, "-o", tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == printed
    assert len(list(csv.reader(io.StringIO(printed)))) == len(plain) + 1
    pytest.importorskip("pyarrow")
    run(capsys, *line, "-o", tmp_path / "rows.parquet")
    assert len(list(tmp_path.glob("rows.*"))) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "hits.doc"], "use one of .jsonl, .ndjson, .json, .csv, .parquet"),
        (["-o", "nowhere/hits.csv"], "there is no folder"),
        (["-o", "hits.csv", "--json"], "leave out --json, --table and --csv"),
        (["--csv", "--table"], "--csv and --table exclude each other"),
    ],
)
def test_contradictions_are_refused(pets: Path, capsys: Capture, options: list[str], said: str) -> None:
    code, out, err = run(capsys, "search", pets, "cat", *options)
    assert (code, out) == (2, "")
    assert said in err


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("before")

    def half() -> None:
        with RowWriter(tmp_path / "rows.csv") as writer:
            writer.write({"a": 1})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("rows.csv", "before")]


def test_columns_of_mixed_kinds(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with RowWriter(tmp_path / "rows.parquet") as writer:
        writer.write({"n": 1, "mixed": 7, "lists": [1], "none": None, "far": float("inf")})
        writer.write({"n": 2.5, "mixed": "x", "lists": [], "late": True, "far": 1.0})
    assert parquet.read_table(tmp_path / "rows.parquet").to_pylist() == [
        {"n": 1.0, "mixed": "7", "lists": [1], "none": None, "far": float("inf"), "late": None},
        {"n": 2.5, "mixed": "x", "lists": [], "none": None, "far": 1.0, "late": True},
    ]


# -- texts and lines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["distance", "{}", "a dog rests"], ["explain", "{}", "a dog rests"]])
def test_at_means_a_file_in_every_command(pets: Path, tmp_path: Path, capsys: Capture, command: list[str]) -> None:
    (tmp_path / "q.txt").write_text("\ufeffthe cat\nsat down", encoding="utf-8")
    for words in (command, ["search", str(pets), "{}"], ["similar", str(pets), "{}"]):
        by_file = run(capsys, *(word.format(f"@{tmp_path}/q.txt") for word in words))
        assert by_file[0] == 0
        assert by_file == run(capsys, *(word.format("the cat\nsat down") for word in words))
        code, _, err = run(capsys, *(word.format("@missing.txt") for word in words))
        assert (code, "no file 'missing.txt'" in err) == (1, True)
        marked = run(capsys, *(word.format("@@cat") for word in words))
        assert marked[:2] == run(capsys, *(word.format("cat") for word in words))[:2]


@pytest.mark.parametrize("id", ["-", "@home"])
def test_a_document_may_be_called_as_an_input_is(tmp_path: Path, capsys: Capture, id: str) -> None:
    with wordferry.Index.create(tmp_path / "odd") as index:
        index.add([{"id": id, "text": "a cat"}, {"id": "b", "text": "two cats"}])
    code, out, _ = run(capsys, "similar", tmp_path / "odd", "--id", id)
    assert (code, [row["id"] for row in rows(out)]) == (0, ["b"])


def test_lines_are_numbered_as_in_the_file_and_a_bad_one_loses_no_other(pets: Path, tmp_path: Path) -> None:
    def ask(command: str) -> subprocess.CompletedProcess[bytes]:
        line = [sys.executable, "-m", "wordferry", command, str(pets), "-", "-k", "1", "-o", str(tmp_path / "h.jsonl")]
        source = {"PYTHONPATH": str(Path(wordferry.__file__).resolve().parents[1])}
        lines = b"cat\n\n?!\n\xff\xfe\n\ndog\n"
        return subprocess.run(line, input=lines, env=os.environ | source, capture_output=True)

    for command, refused in (("search", 1), ("similar", 2)):
        done = ask(command)
        said = done.stderr.decode()
        assert done.returncode == 1
        assert [row["query"] for row in rows((tmp_path / "h.jsonl").read_text())] == [1, 6]
        assert "line 3: The query has no words" in said
        assert "line 4: expected UTF-8 text, found byte 0xff" in said
        assert f"{refused} of 4 queries could not be answered" in said


def test_a_filter_that_matches_nothing_says_so(pets: Path, capsys: Capture) -> None:
    for command in ("search", "similar"):
        code, out, err = run(capsys, command, pets, "cat", "--filter", "year=1850")
        assert (code, out) == (0, "")
        assert 'no document passes the filter {"year": {"eq": 1850}}' in err
        code, _, err = run(capsys, command, pets, "cat", "--filter", "yaer=1850")
        assert code == 2
        assert "no document has a field 'yaer'. The fields are: " in err
    assert "filter" not in run(capsys, "search", pets, "quasar", "--filter", "year=2001")[2]


@pytest.mark.parametrize(
    ("query", "options", "said"),
    [
        ("of the", [], "The query has only words that are left out because nearly every text has them (of, the)"),
        ("?!", [], "The query has no words."),
        ("xyzzyq", ["--unknown", "drop"], "The query has no known word: this index has no vector for xyzzyq"),
        ("xyzzyq", ["--unknown", "drop", "--weights", "counts"], "The query has no known word"),
        ("of", ["--unknown", "drop", "--weights", "counts"], "The query has only words that are left out"),
    ],
)
def test_errors_speak_of_the_query(pets: Path, capsys: Capture, query: str, options: list[str], said: str) -> None:
    code, out, err = run(capsys, "similar", pets, query, *options)
    assert (code, out) == (2, "")
    assert said in err
    assert "Document 0" not in err
    assert "=" not in err
    if query == "?!":  # stop words are kept, and found by a search for nothing else
        code, out, err = run(capsys, "search", pets, query)
        assert (code, out) == (0, "")
        assert said in err


def test_lines_of_a_text_file_are_their_ids_when_classified(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "train.csv").write_text("text,label\na cat purrs,pet\na dog barks,pet\nshares fell,money\n")
    (tmp_path / "test.txt").write_text("\na kitten sleeps\n\n\nstocks rose\n")
    code, out, _ = run(capsys, "classify", tmp_path / "train.csv", tmp_path / "test.txt", "-k", 1)
    assert (code, [row["id"] for row in rows(out)]) == (0, ["2", "5"])


def test_titles_stand_in_tables(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    head = "Cats and dogs of the town that never sleep at night, and their owners"
    (tmp_path / "a.csv").write_text(f'id,head,body\n1,"{head}","They sleep all day, {"and more " * 20}."\n2,,Sleep\n')
    given = ["--text", "body", "--title", "head"]
    assert run(capsys, "index", "create", tmp_path / "index", tmp_path / "a.csv", *given)[0] == 0
    _, table, _ = run(capsys, "search", tmp_path / "index", "sleep", "--table")
    assert table.splitlines()[0].split() == ["rank", "id", "score", "label", "title", "text"]
    assert "Cats and dogs of the" in table
    assert max(map(len, table.splitlines())) <= 80
    _, untitled, _ = run(capsys, "search", tmp_path / "index", "sleep", "--table", "--filter", "id=2")
    assert untitled.splitlines()[0].split() == ["rank", "id", "score", "label", "text"]


def test_a_short_column_leaves_its_room_to_the_text(
    pets: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordferry.cli.output import emit_table

    monkeypatch.setenv("COLUMNS", "60")
    emit_table([{"id": "a", "metadata": "x=1", "text": "word " * 30}, {"id": "b", "metadata": "", "text": "word"}])
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) > 55


def test_more_numbers_than_fit_stand_in_parts_and_none_is_cut(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from wordferry.cli.output import emit_table

    names = ["wcd", "rel-rwmd", "learned rel-rwmd", "learned wme + svm", "tf-idf + logistic"]
    values = [f"{31.25 + number:.2f}" for number in range(12)]
    row = {f"{names[number % 5]} {number}": float(value) for number, value in enumerate(values)}
    for columns in (40, 60, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        emit_table([{"data set": "ohsumed-single23", **row}, {"data set": "average", **row}], title="test error %")
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= columns
        assert all(shown.split().count(value) == 2 for value in values)
        assert shown.split().count("average") > 1
