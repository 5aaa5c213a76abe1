"""Filling an index in steps: the same as adding, whatever stops it on the way."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.collection import PLAIN, documents, embeddings
from tests.index.crash_worker import die_at
from wordferry.base import storage
from wordferry.cli import app
from wordferry.errors import InputError
from wordferry.index import Index

Make = Callable[..., Index]
DOCS = [*documents(70, words=30), {"id": "empty", "text": "..."}, *({**d, "id": f"x{d['id']}"} for d in documents(90))]
STEP = 40


class StoppedError(Exception):
    """What stops a collection in the middle."""


def stopping(docs: list[Any], after: int) -> Iterator[Any]:
    yield from docs[:after]
    raise StoppedError


def contents(index: Index) -> Any:
    """All that an index holds, but for the names of its files."""
    index.verify()
    with index.backend.state() as (connection, snapshot):
        parts = [
            {file: facts["sha256"] for file, facts in storage.read_manifest(segment)["files"].items()}
            for segment in (index.path / "segments" / one.name for one in snapshot.segments)
        ]
        tables = [
            connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            for table in ("documents", "packs", "dictionaries", "words", "buffer", "tombstones")
        ]
    hits = [(hit.id, hit.distance) for hit in index.similar("w01 w02 w29", k=20)]
    return parts, tables, hits


@pytest.fixture
def whole(make: Make, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("wordferry.index.write.segment_writer.BUFFER", 8)
    index = make("whole", on_empty="drop")
    assert index.fill(DOCS, step=STEP) == len(DOCS) - 1
    return contents(index)


def test_filling_is_adding(make: Make, whole: Any) -> None:
    index = make("added", on_empty="drop")
    index.add(DOCS)
    assert contents(index)[2] == whole[2]
    filled = Index.open(index.path.with_name("whole"))
    assert list(filled) == list(index)
    filled.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(make: Make, whole: Any, threads: int) -> None:
    index = make(on_empty="drop")
    index.fill(DOCS, step=STEP, threads=threads)
    assert contents(index) == whole


@settings(max_examples=8)
@given(stops=st.lists(st.integers(0, len(DOCS) - 1), max_size=4))
def test_what_was_stopped_goes_on(stops: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("filling")
    options = {"embeddings": embeddings(), "related": 4, "on_empty": "drop", "distance": "rel-rwmd", **PLAIN}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordferry.index.write.segment_writer.BUFFER", 8)
        with Index.create(folder / "whole", **options) as index:
            index.fill(DOCS, step=STEP)
            wanted = contents(index)
        with Index.create(folder / "stopped", **options) as index:
            for stop in stops:
                with pytest.raises(StoppedError):
                    index.fill(stopping(DOCS, stop), step=STEP, resume=True)
                assert [doc.id for doc in index] == [d["id"] for d in DOCS[: len(index) + 1] if d["id"] != "empty"][
                    : len(index)
                ]
            assert index.fill(DOCS, step=STEP, resume=True) == len(DOCS) - 1
            assert contents(index) == wanted
            assert index.fill(DOCS, step=STEP, resume=True) == len(DOCS) - 1  # and there is nothing left to do
            assert contents(index) == wanted


@pytest.mark.disk
@pytest.mark.parametrize("every", [23, pytest.param(7, marks=pytest.mark.slow)])
def test_kill_at_every_step(every: int, tmp_path: Path, whole: Any) -> None:
    """At every few steps, in the long form at three times as many."""
    options = {"embeddings": embeddings(), "related": 4, "on_empty": "drop", "distance": "rel-rwmd", **PLAIN}
    step, finished = 1, False
    while not finished:
        place = tmp_path / f"killed{step}"
        Index.create(place, **options).close()
        child = os.fork()
        if child == 0:
            die_at(step)
            with Index.open(place) as index:
                index.fill(DOCS, step=STEP)
            os._exit(0)
        finished = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with Index.open(place) as index:
            index.verify()
            index.fill(DOCS, step=STEP, resume=True)
            assert contents(index) == whole
        step += every
    assert step > 50, "too few steps for the kills to mean anything"


def test_other_documents_are_refused(make: Make) -> None:
    index = make(on_empty="drop")
    with pytest.raises(StoppedError):
        index.fill(stopping(DOCS, 85), step=STEP)
    assert len(index) == 79
    with pytest.raises(InputError, match=r"first 80 documents of a collection. Go on with resume=True"):
        index.fill(DOCS, step=STEP)
    with pytest.raises(InputError, match="had stored 80 documents, and these are 79 in all"):
        index.fill(DOCS[:79], step=STEP, resume=True)
    with pytest.raises(InputError, match="first 80 documents are not those"):
        index.fill([DOCS[1], DOCS[0], *DOCS[2:]], step=STEP, resume=True)
    with pytest.raises(InputError, match=r"already. Use upsert.*The 79 documents of earlier steps are stored"):
        index.fill([*DOCS[:80], DOCS[3]], step=STEP, resume=True)
    assert index.fill(DOCS[:100], step=STEP, resume=True) == 99
    with pytest.raises(InputError, match="step must be at least 1"):
        index.fill(DOCS, step=0)
    assert np.isfinite([hit.distance for hit in index.similar("w01", k=3)]).all()


def test_the_command_line_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordferry.index.write.segment_writer.SEGMENT", STEP)
    file, place = tmp_path / "docs.jsonl", tmp_path / "news"
    lines = [json.dumps({"id": d["id"], "text": f"the number {i} is water"}) for i, d in enumerate(DOCS)]
    file.write_text("\n".join([*lines[:90], "{broken", *lines[90:]]), encoding="utf-8")
    run = CliRunner().invoke
    stopped = run(app, ["index", "create", str(place), str(file)])
    assert stopped.exit_code != 0
    assert "80 documents are stored; go on after them with the same command and --resume" in stopped.stderr
    assert not place.exists()
    file.write_text("\n".join(lines), encoding="utf-8")
    done = run(app, ["index", "create", str(place), str(file), "--resume", "--json"])
    assert done.exit_code == 0, done.output
    assert "80 documents are stored already; going on after them" in done.stderr
    assert json.loads(done.stdout)["added"] == len(DOCS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "news"]
    with Index.open(place) as index:
        assert index.ids() == [doc["id"] for doc in DOCS]
        index.verify()
