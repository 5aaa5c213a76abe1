"""wordferry index and wordferry search."""

from __future__ import annotations

import inspect
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.index.collection import documents, embeddings

from wordferry.cli import main
from wordferry.index import Index
from wordferry.texts.documents import read_documents

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: object) -> tuple[int, list[dict[str, Any]], str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), [json.loads(line) for line in out.splitlines()], err


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with vectors and a file of documents."""
    embeddings().save(tmp_path / "vectors")
    lines = [json.dumps({**doc.pop("metadata"), **doc}) for doc in documents(20)]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_life_of_an_index(place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    index, vectors = place / "index", place / "vectors"
    code, rows, _ = run(capsys, "index", "create", index, place / "docs.jsonl", "--embeddings", vectors, "--r", 4)
    assert code == 0
    assert (rows[0]["added"], rows[0]["documents"]) == (20, 20)
    assert sorted(p.name for p in place.iterdir()) == ["docs.jsonl", "index", "vectors"]

    (place / "more.csv").write_text("key,words,year\na,w01 w02,2024\nd3,w03,2025\n")
    options = ["--text", "words", "--id", "key"]
    code, _, err = run(capsys, "index", "add", index, place / "more.csv", *options)
    assert code == 2
    assert "has a document 'd3' already" in err
    code, rows, _ = run(capsys, "index", "add", index, place / "more.csv", "--upsert", *options)
    assert (code, rows[0]["added"], rows[0]["documents"]) == (0, 2, 21)

    code, hits, _ = run(capsys, "search", index, "w01 w02", "-k", 3, "--filter", "topic!=food")
    assert code == 0
    assert hits[0]["id"] == "a"
    assert hits[0]["metadata"] == {"year": 2024}
    assert [hit["rank"] for hit in hits] == [1, 2, 3]
    with Index.open(index) as opened:
        wanted = opened.search("w01 w02", k=3, filter={"topic": {"ne": "food"}})
    assert [hit["id"] for hit in hits] == [hit.id for hit in wanted]

    monkeypatch.setattr("sys.stdin", io.StringIO("d1\nd2\n"))
    assert run(capsys, "index", "delete", index, "-")[1][0]["deleted"] == 2
    code, _, err = run(capsys, "index", "delete", index, "d1")
    assert code == 1
    assert "no document 'd1'" in err
    assert run(capsys, "index", "delete", index, "d1", "d4", "--missing-ok")[1][0]["deleted"] == 1
    assert run(capsys, "index", "compact", index)[0] == 0
    assert run(capsys, "index", "info", index)[1][0]["documents"] == 18
    code, rows, err = run(capsys, "index", "verify", index)
    assert (code, rows[0]["documents"]) == (0, 18)
    assert "is sound" in err


def test_queries_from_standard_input(place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "index", "create", place / "index", place / "docs.jsonl", "--embeddings", place / "vectors")
    queries = [f"w{i:02d} w{i + 1:02d}" for i in range(50)] * 2
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(queries)))
    code, hits, _ = run(capsys, "similar", place / "index", "-", "-k", 2)
    assert code == 0
    assert [(hit["query"], hit["rank"]) for hit in hits] == [(q, r) for q in range(1, 101) for r in (1, 2)]
    with Index.open(place / "index") as opened:
        assert [hit["id"] for hit in hits[:2]] == [hit.id for hit in opened.similar(queries[0], k=2)]


def test_table(place: Path, capsys: Capture) -> None:
    run(capsys, "index", "create", place / "index", place / "docs.jsonl", "--embeddings", place / "vectors")
    with pytest.raises(SystemExit):
        main(["search", str(place / "index"), "w01", "-k", "2", "--table"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "id", "score", "label", "text"]
    assert len(lines) == 3
    with pytest.raises(SystemExit):
        main(["index", "info", str(place / "index"), "--table"])
    assert "documents" in capsys.readouterr().out


def test_explain(place: Path, capsys: Capture) -> None:
    run(capsys, "index", "create", place / "index", place / "docs.jsonl", "--embeddings", place / "vectors")
    code, hits, _ = run(capsys, "similar", place / "index", "w01 w02", "-k", 2, "--explain")
    assert code == 0
    for hit in hits:
        assert sum(row["cost"] for row in hit["explanation"]) == pytest.approx(hit["distance"], abs=1e-5)
    with pytest.raises(SystemExit):
        main(["similar", str(place / "index"), "w01 w02", "-k", "1", "--explain", "--table"])
    assert "related" in capsys.readouterr().out


def test_rerank_is_said_to_be_inexact(place: Path, capsys: Capture) -> None:
    run(capsys, "index", "create", place / "index", place / "docs.jsonl", "--embeddings", place / "vectors")
    code, hits, err = run(capsys, "similar", place / "index", "w01 w02", "-k", 2, "--rerank", "wmd", "--candidates", 9)
    assert (code, len(hits)) == (0, 2)
    assert err.startswith("9 candidates by rel-rwmd + 2*cosine")
    assert "ordered by wmd: not exact" in err


def test_failed_create_leaves_what_was_there(place: Path, capsys: Capture) -> None:
    index = place / "index"
    run(capsys, "index", "create", index, place / "docs.jsonl", "--embeddings", place / "vectors")
    assert run(capsys, "index", "create", index, "--embeddings", place / "vectors")[0] == 2
    (place / "bad.jsonl").write_text('{"text": "w01"}\n{"text": "?!"}\n')
    code, _, err = run(
        capsys, "index", "create", index, place / "bad.jsonl", "--embeddings", place / "vectors", "--overwrite"
    )
    assert code == 2
    assert "Document 1 has no words" in err
    assert run(capsys, "index", "info", index)[1][0]["documents"] == 20
    assert sorted(p.name for p in place.iterdir()) == ["bad.jsonl", "docs.jsonl", "index", "vectors"]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (["year"], "expected key=value"),
        (["{year}"], "no valid JSON"),
        (["year>1", "year>2"], "has a condition 'gt' already"),
        (['{"year": {"over": 1}}'], "unknown operator 'over'"),
    ],
)
def test_wrong_filters(place: Path, capsys: Capture, filters: list[str], message: str) -> None:
    run(capsys, "index", "create", place / "index", "--embeddings", place / "vectors")
    options = [word for text in filters for word in ("--filter", text)]
    code, _, err = run(capsys, "search", place / "index", "w01", *options)
    assert code == 2
    assert message in err


def test_filters_of_all_kinds(place: Path, capsys: Capture) -> None:
    run(capsys, "index", "create", place / "index", place / "docs.jsonl", "--embeddings", place / "vectors")
    options = ["--filter", "year>=1995", "--filter", "year<2000", "--filter", '{"topic": {"in": ["law", "food"]}}']
    _, hits, _ = run(capsys, "similar", place / "index", "w01", "-k", 50, *options)
    assert sorted(hit["id"] for hit in hits) == ["d5", "d7", "d8"]


def test_no_index(tmp_path: Path, capsys: Capture) -> None:
    code, _, err = run(capsys, "search", tmp_path, "w01")
    assert code == 2
    assert "is not a wordferry index" in err
    code, _, err = run(capsys, "index", "info", tmp_path / "nowhere")
    assert code == 1
    assert "There is no index at" in err


def test_words_find_and_a_line_without_an_answer_stops_no_other(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = place / "index"
    (place / "some.jsonl").write_text('{"id": "a", "text": "cobol"}\n{"id": "b", "text": "w01 cobols w02"}\n')
    assert run(capsys, "index", "create", index, place / "some.jsonl", "--embeddings", place / "vectors")[0] == 0
    code, hits, _ = run(capsys, "search", index, "cobol", "--explain")
    assert (code, [hit["id"] for hit in hits]) == (0, ["a", "b"])
    assert hits[1]["explanation"]["words"][0]["forms"] == {"cobols": 1}
    assert run(capsys, "search", index, "cobol", "--set", "stem=0")[1][0]["id"] == "a"
    assert len(run(capsys, "search", index, "cobol", "--set", "stem=0")[1]) == 1
    assert "expected name=number" in run(capsys, "search", index, "cobol", "--set", "stem")[2]
    assert "no setting 'bonus'" in run(capsys, "search", index, "cobol", "--set", "bonus=1")[2]

    monkeypatch.setattr("sys.stdin", io.StringIO("w01\n?!\nfortran\n"))
    code, hits, err = run(capsys, "similar", index, "-", "-k", 1)
    assert (code, [hit["query"] for hit in hits]) == (1, [1, 3])
    assert "line 2: The query has no words" in err
    assert "1 of 3 queries could not be answered" in err
    code, hits, _ = run(capsys, "similar", index, "--id", "b")
    assert (code, [hit["id"] for hit in hits]) == (0, ["a"])


def test_info_says_how_an_index_compares(place: Path, capsys: Capture) -> None:
    options = ["--embeddings", place / "vectors", "--weights", "bm25", "--unknown", "drop", "--language", "none"]
    run(capsys, "index", "create", place / "index", place / "docs.jsonl", *options)
    facts = run(capsys, "index", "info", place / "index")[1][0]
    assert [facts[name] for name in ("weights", "unknown", "language")] == ["bm25", "drop", "none"]


def test_documents_that_are_dropped_are_counted(place: Path, capsys: Capture) -> None:
    lines = [f'{{"id": "d{i}", "text": "w01 w02"}}' for i in range(50)]
    lines[17] = '{"id": "d17", "text": "?!"}'
    (place / "some.jsonl").write_text("\n".join(lines))
    line = ["index", "create", place / "index", place / "some.jsonl", "--embeddings", place / "vectors"]
    code, rows, _ = run(capsys, *line, "--on-empty", "drop")
    assert (code, rows[0]["added"], rows[0]["dropped"], rows[0]["documents"]) == (0, 49, 1, 49)
    (place / "more.jsonl").write_text('{"id": "x", "text": "w03"}\n{"id": "y", "text": "!!"}\n')
    code, rows, _ = run(capsys, "index", "add", place / "index", place / "more.jsonl")
    assert (code, rows[0]["added"], rows[0]["dropped"]) == (0, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["index", "add", "{}/index", "{}/docs.jsonl"], "Use --upsert to"),
        (["index", "create", "{}/index", "{}/docs.jsonl"], "is an index already. Replace it with --overwrite."),
        (["search", "{}/nowhere", "w01"], "Make one with: wordferry index create"),
        (["similar", "{}/index", "w01", "--candidates", "5"], "--candidates is the size of the first stage"),
        (["duplicates", "{}/index", "--distance", "wmd"], "no default threshold for wmd"),
        (["duplicates", "{}/index", "--threshold", "1", "--delete", "x.csv"], "leave one out"),
    ],
)
def test_errors_speak_of_options(place: Path, capsys: Capture, arguments: list[str], said: str) -> None:
    run(capsys, "index", "create", place / "index", place / "docs.jsonl", "--embeddings", place / "vectors")
    code, rows, err = run(capsys, *(word.format(place) for word in arguments))
    assert code in (1, 2)
    assert rows == []
    assert said in err
    assert len(err.splitlines()) == 1


def test_nothing_found_is_said(place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "index", "create", place / "index", place / "docs.jsonl", "--embeddings", place / "vectors")
    assert run(capsys, "search", place / "index", "quasar") == (0, [], "wordferry: nothing was found.\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("w01\nquasar\n"))
    assert "wordferry: line 2: nothing was found.\n" in run(capsys, "search", place / "index", "-")[2]


def test_several_fields_and_other_encodings(place: Path, capsys: Capture) -> None:
    if "encoding" not in inspect.signature(read_documents).parameters:
        pytest.skip("read_documents has one encoding")
    (place / "l.csv").write_bytes("id,head,body\na,caf\xe9,w01\n".encode("latin-1"))
    line = ["index", "create", place / "index", place / "l.csv", "--text", "head", "--text", "body"]
    code, _, err = run(capsys, *line, "--encoding", "latin-1", "--embeddings", place / "vectors")
    assert code == 0, err
    assert [hit["id"] for hit in run(capsys, "search", place / "index", "café")[1]] == ["a"]


def test_tables_fit_80_columns(place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [{"id": f"document-{i}", "label": "news", "text": "w01 w02 w03 " * 30, "year": 2000} for i in range(3)]
    (place / "long.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run(capsys, "index", "create", place / "index", place / "long.jsonl", "--embeddings", place / "vectors")
    for command in (
        ["search", "{}", "w01"],
        ["similar", "{}", "w01"],
        ["index", "list", "{}"],
        ["index", "info", "{}"],
    ):
        with pytest.raises(SystemExit):
            main([*(word.format(place / "index") for word in command), "--table"])
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        if command[0] != "index":
            assert [line.split()[1] for line in lines[1:]] == ["document-0", "document-1", "document-2"]


def test_add_says_what_becomes_of_documents_without_words(place: Path, capsys: Capture) -> None:
    index = place / "index"
    run(capsys, "index", "create", index, place / "docs.jsonl", "--embeddings", place / "vectors")
    (place / "more.jsonl").write_text('{"id": "empty", "text": "?!"}\n{"id": "full", "text": "w01"}\n')
    code, _, err = run(capsys, "index", "add", index, place / "more.jsonl")
    assert code == 2
    assert "--on-empty drop" in err
    code, facts, _ = run(capsys, "index", "add", index, place / "more.jsonl", "--on-empty", "drop")
    assert (code, facts[0]["added"], facts[0]["dropped"]) == (0, 1, 1)
