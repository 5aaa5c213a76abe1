"""Jobs in parts: the answer of the undivided collection, whatever the parts, the order, the engine or the stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

import wordferry
from tests.engines.collection import write
from wordferry.engines import tasks
from wordferry.engines.engine import Local
from wordferry.engines.sources import SourceFields, cut, read_part
from wordferry.errors import FormatError, InputError, NotFound, WordferryError
from wordferry.index.config import RECOMMENDED
from wordferry.shards import Choices, jobs

parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (pip install 'wordferry[cluster]')")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return str(write(tmp_path_factory.mktemp("documents") / "in"))


def rows(folder) -> list[dict]:
    files = sorted(folder.glob("part-*.parquet"))
    return [row for file in files for row in parquet.read_table(file).to_pylist()]


def contents(folder) -> list[tuple[str, bytes]]:
    return [(file.name, file.read_bytes()) for file in sorted(folder.iterdir())]


def documents(source) -> list:
    parts = cut(source, 1000, SourceFields())
    return [row for part in parts for row in read_part(part, SourceFields())]


def whole_matrix(texts, **options) -> np.ndarray:
    """The distances of the undivided collection, with weights and related words over all of it."""
    emb = wordferry.default_embeddings()
    words = np.unique(wordferry.encode(texts, emb).indices).astype(np.int64)
    related = wordferry.RelatedWords.build(emb.restrict(words))
    options = {"weights": "idf", **options}
    return wordferry.pairwise(texts, None, RECOMMENDED, embeddings=emb, related=related, **options)


def test_the_graph_of_parts_is_the_graph_of_the_whole(source, tmp_path):
    summary = jobs.knn_graph(source, str(tmp_path / "out"), 5, Choices(block=7), shards=3)
    read = documents(source)
    distances = whole_matrix([row.text for row in read])
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, :5]
    found = rows(tmp_path / "out")
    assert [row["id"] for row in found] == [row.id for row in read]
    assert [row["neighbors"] for row in found] == [[read[j].id for j in places] for places in order]
    assert np.allclose([row["distances"] for row in found], np.take_along_axis(distances, order, axis=1), atol=2e-6)
    assert summary.facts["pairs"] == 90 * 90
    assert not (tmp_path / "out.job").exists()


@pytest.mark.parametrize(("weights", "unknown"), [("counts", "drop"), ("bm25", "match")])
def test_weights_and_words_without_vectors_are_those_of_pairwise(source, tmp_path, weights, unknown):
    jobs.knn_graph(source, str(tmp_path / "out"), 5, Choices(block=17, weights=weights, unknown=unknown))
    distances = whole_matrix([row.text for row in documents(source)], weights=weights, unknown=unknown)
    np.fill_diagonal(distances, np.inf)
    assert np.allclose([row["distances"] for row in rows(tmp_path / "out")], np.sort(distances)[:, :5], atol=2e-6)


def test_a_word_without_a_vector_is_refused_where_that_is_asked_for(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "a cat"}\n{"text": "zzyzx qwertz"}\n')
    with pytest.raises(FormatError, match=r"docs\.jsonl, rows 1 to 2: .*zzyzx"):
        jobs.knn_graph(str(tmp_path / "docs.jsonl"), str(tmp_path / "out"), 1, Choices(unknown="error"))


@pytest.mark.parametrize("block", [1000, 8])
def test_the_size_of_parts_does_not_show(source, tmp_path, block):
    jobs.knn_graph(source, str(tmp_path / "a"), 4, Choices(block=13), shards=2)
    jobs.knn_graph(source, str(tmp_path / "b"), 4, Choices(block=block))
    a, b = rows(tmp_path / "a"), rows(tmp_path / "b")
    assert a == b


def test_processes_give_the_same_bytes(source, tmp_path):
    jobs.knn_graph(source, str(tmp_path / "a"), 4, Choices(block=30))
    jobs.knn_graph(source, str(tmp_path / "b"), 4, Choices(block=30), engine=Local(2))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_close_pairs_and_their_groups(source, tmp_path):
    jobs.duplicates(source, str(tmp_path / "out"), 2.5, Choices(block=11), shards=2)
    read = documents(source)
    distances = whole_matrix([row.text for row in read])
    i, j = np.nonzero(np.triu(distances <= 2.5, 1))
    assert len(i)
    found = rows(tmp_path / "out")
    assert {(row["first"], row["second"]) for row in found} == {
        (read[a].id, read[b].id) for a, b in zip(i, j, strict=True)
    }
    groups = {row["id"]: row["group"] for row in parquet.read_table(tmp_path / "out" / "groups.parquet").to_pylist()}
    assert set(groups) == {read[n].id for n in {*i.tolist(), *j.tolist()}}
    parts = connected_components(distances <= 2.5, directed=False)[1]
    assert groups == {read[n].id: read[np.flatnonzero(parts == parts[n])[0]].id for n in {*i.tolist(), *j.tolist()}}


def test_top_k_and_votes(source, tmp_path):
    train, test = f"{source}/docs-0.jsonl", f"{source}/docs-2.jsonl"
    jobs.top_k(test, train, str(tmp_path / "near"), 5, Choices(block=9))
    summary = jobs.classify(train, test, str(tmp_path / "votes"), 5, Choices(block=9))
    labels = {row.id: row.label for row in documents(train)}
    near = {row["id"]: row["neighbors"] for row in rows(tmp_path / "near")}
    for row in rows(tmp_path / "votes"):
        assert row["predicted"] in {labels[one] for one in near[row["id"]]}
    assert summary.facts["labelled"] == 30
    assert summary.facts["right"] > 15


@pytest.mark.parametrize("given", [{}, {"voting": "majority", "k": 5}])
def test_votes_are_those_of_the_classifier(tmp_path, given):
    neighbors = pytest.importorskip("wordferry.neighbors", reason="scikit-learn is not installed")
    articles = wordferry.sample().articles[::2]
    for name, some in (("train", articles[::2]), ("test", articles[1::2])):
        lines = [json.dumps({"id": one.id, "text": one.text, "label": one.label}) for one in some]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    train, test = (str(tmp_path / f"{name}.jsonl") for name in ("train", "test"))
    jobs.classify(train, test, str(tmp_path / "votes"), **given, choices=Choices(block=40), shards=2)
    own = {"n_neighbors": given["k"], "voting": given["voting"]} if given else {}
    model = neighbors.WordMoverClassifier(**own).fit(
        [one.text for one in articles[::2]], [one.label for one in articles[::2]]
    )
    asked, found = [one.text for one in articles[1::2]], rows(tmp_path / "votes")
    assert [row["predicted"] for row in found] == model.predict(asked).tolist()
    assert np.allclose([row["share"] for row in found], model.predict_proba(asked).max(axis=1), atol=1e-5)


def test_a_stopped_job_goes_on_and_repeats_only_what_was_not_done(source, tmp_path, monkeypatch):
    jobs.knn_graph(source, str(tmp_path / "a"), 4, Choices(block=9), shards=2)
    done = []
    true = tasks.perform

    def stopping(task, folder, shared):
        if len(done) == 15:
            raise KeyboardInterrupt
        done.append(task.name)
        return true(task, folder, shared)

    monkeypatch.setattr("wordferry.engines.engine.perform", stopping)
    with pytest.raises(KeyboardInterrupt):
        jobs.knn_graph(source, str(tmp_path / "b"), 4, Choices(block=9), shards=2)
    again = []
    monkeypatch.setattr("wordferry.engines.engine.perform", lambda *a: (again.append(a[0].name), true(*a))[1])
    summary = jobs.knn_graph(source, str(tmp_path / "b"), 4, Choices(block=9), shards=2)
    assert not set(done) & set(again)
    assert summary.resumed == 15
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_file_that_lost_its_bytes_is_made_again(source, tmp_path):
    jobs.knn_graph(source, str(tmp_path / "a"), 4, Choices(block=20), keep=True)
    expected = contents(tmp_path / "a")
    victim = tmp_path / "a.job" / "near-000001.parquet"
    victim.write_bytes(victim.read_bytes()[:-1])
    with (tmp_path / "a.job" / "done.jsonl").open("ab") as stream:
        stream.write(b'{"task": "near-0000')  # a kill in the middle of a line
    for file in (tmp_path / "a").iterdir():
        file.unlink()
    summary = jobs.knn_graph(source, str(tmp_path / "a"), 4, Choices(block=20))
    assert summary.tasks - summary.resumed == 1
    assert contents(tmp_path / "a") == expected


@pytest.mark.parametrize("kind", ["text", "time", "tokenizer", "queries"])
def test_an_edited_input_does_not_go_on_with_the_old_one(tmp_path, kind):
    """Size, time and contents of every file are in the plan: old and new documents must not be mixed."""
    files = {name: tmp_path / f"{name}.jsonl" for name in ("docs", "queries")}
    files["docs"].write_text('{"id": "a", "text": "a cat"}\n{"id": "b", "text": "a dog"}\n')
    files["queries"].write_text('{"id": "q", "text": "a cow"}\n')
    run = {"work": tmp_path / "job", "keep": True}
    arguments = (str(files["queries"]), str(files["docs"]))
    jobs.top_k(*arguments, tmp_path / "a", 1, **run)
    changed = files["queries" if kind == "queries" else "docs"]
    before = changed.stat()
    if kind in ("text", "queries"):
        changed.write_text(changed.read_text().replace("a cat", "a car").replace("a cow", "a bus"))
    if kind != "tokenizer":
        shift = 1 if kind == "time" else 0
        os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns + shift * 10**9))
        assert changed.stat().st_size == before.st_size
    more = {"tokenizer": "de"} if kind == "tokenizer" else {}
    with pytest.raises(InputError, match="have changed since"):
        jobs.top_k(*arguments, tmp_path / "b", 1, **run, **more)


def test_a_file_that_changes_while_the_job_runs_is_named(tmp_path):
    file = tmp_path / "docs.jsonl"
    file.write_text('{"id": "a", "text": "a cat"}\n')
    (part,) = cut(str(file), 10, SourceFields())
    file.write_text('{"id": "a", "text": "a dog and a cow"}\n')
    with pytest.raises(FormatError, match=r"docs\.jsonl has changed since the job was planned"):
        list(read_part(part, SourceFields()))


def test_documents_without_words_have_no_neighbours(tmp_path):
    file = tmp_path / "docs.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in ("a cat", "...", "a dog", "zzyzx")))
    jobs.knn_graph(str(file), tmp_path / "match", 3)
    jobs.knn_graph(str(file), tmp_path / "drop", 3, Choices(unknown="drop"))
    assert [len(row["neighbors"]) for row in rows(tmp_path / "match")] == [2, 0, 2, 2]
    assert [len(row["neighbors"]) for row in rows(tmp_path / "drop")] == [1, 0, 1, 0]


def test_many_equal_documents_are_all_found(tmp_path):
    """More of them than a query asks for at first."""
    file = tmp_path / "docs.jsonl"
    file.write_text("".join(json.dumps({"text": f"a cat {'and a dog' * (n % 2)}"}) + "\n" for n in range(60)))
    summary = jobs.duplicates(str(file), tmp_path / "out", 0.0, Choices(block=25), shards=2)
    assert summary.facts["pairs_found"] == 2 * (30 * 29 // 2)
    assert len({row["group"] for row in parquet.read_table(tmp_path / "out" / "groups.parquet").to_pylist()}) == 2


def test_training_documents_need_a_label(tmp_path):
    file = tmp_path / "docs.jsonl"
    file.write_text('{"id": "a", "text": "a cat", "label": "x"}\n{"id": "b", "text": "a dog"}\n')
    with pytest.raises(FormatError, match=r"docs\.jsonl, row 2: a training document needs a label"):
        jobs.classify(str(file), str(file), tmp_path / "out", 1)


def test_another_job_in_the_same_folder_is_refused(source, tmp_path):
    jobs.knn_graph(source, str(tmp_path / "a"), 4, Choices(block=20), work=tmp_path / "job", keep=True)
    with pytest.raises(InputError, match="another job"):
        jobs.knn_graph(source, str(tmp_path / "b"), 5, Choices(block=20), work=tmp_path / "job")


@pytest.mark.disk
def test_kill_the_driver_and_start_again(source, tmp_path):
    jobs.knn_graph(source, str(tmp_path / "a"), 4, Choices(block=5))
    line = [sys.executable, "-m", "wordferry", "cluster", "knn-graph", source, "-k", "4", "--block", "5"]
    line += ["--shards", "3", "-o", str(tmp_path / "b"), "--json"]
    journal = tmp_path / "b.job" / "done.jsonl"
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    limit = time.monotonic() + 120
    while not journal.exists() or journal.read_bytes().count(b"\n") < 25:
        assert process.poll() is None, "the job was done before it could be killed"
        assert time.monotonic() < limit
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["resumed"] >= 25
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"id": "a", "body": "cat"}'], r"docs.jsonl, row 1.*'text'"),
        (['{"text": "cat"}', "{broken"], "row 2: not valid JSON"),
        (['{"text": 7}'], "row 1.*got int"),
        (['{"id": "a", "text": "cat"}', '{"id": "b", "text": "dog"}', '{"id": "a", "text": "cow"}'], "rows 1 and 3"),
    ],
)
def test_bad_rows_are_named(tmp_path, lines, words):
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(FormatError, match=words):
        jobs.knn_graph(str(tmp_path / "docs.jsonl"), str(tmp_path / "out"), 1)


def test_an_id_in_two_files_is_named_with_both(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"id": "same", "text": "a cat"}\n')
    with pytest.raises(FormatError, match=r"a\.jsonl, row 1 and .*b\.jsonl, row 1 have the same id 'same'"):
        jobs.knn_graph(str(tmp_path), str(tmp_path / "out"), 1)


def test_a_parquet_file_that_is_damaged_inside_is_named_with_its_rows(tmp_path):
    """Its footer is whole, so only reading the rows shows it: while words are counted, before any distance."""
    pyarrow = pytest.importorskip("pyarrow")
    texts = [f"a cat and a dog number {number}" for number in range(30)]
    file = tmp_path / "docs.parquet"
    parquet.write_table(
        pyarrow.table({"text": texts}), file, row_group_size=10, compression="zstd", use_dictionary=False
    )
    start = parquet.ParquetFile(file).metadata.row_group(1).column(0).data_page_offset
    data = bytearray(file.read_bytes())
    data[start + 20 : start + 60] = bytes(40)
    file.write_bytes(data)
    with pytest.raises(FormatError, match=r"docs\.parquet is damaged \(rows 11 to 20\)"):
        jobs.knn_graph(str(file), str(tmp_path / "out"), 1)
    assert not list((tmp_path / "out.job").glob("near-*"))


def test_bad_sources_are_refused_before_work(tmp_path, source):
    with pytest.raises(NotFound, match="does not exist"):
        jobs.knn_graph(str(tmp_path / "none"), str(tmp_path / "out"))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 this is none")
    with pytest.raises(FormatError, match=r"broken\.parquet is not a readable Parquet file"):
        jobs.knn_graph(str(tmp_path / "broken.parquet"), str(tmp_path / "out"))
    pyarrow = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.table({"body": ["cat"]}), tmp_path / "column.parquet")
    with pytest.raises(FormatError, match=r"expected a column 'text'.*found body"):
        jobs.knn_graph(str(tmp_path / "column.parquet"), str(tmp_path / "out"))
    for bad in (Choices(distance="nonsense"), Choices(weights="many"), Choices(block=0)):
        with pytest.raises(WordferryError):
            jobs.knn_graph(source, str(tmp_path / "out"), 3, bad)
