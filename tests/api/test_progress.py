"""``progress=True``: a bar on a terminal and in a notebook, wherever work can take long, and nothing anywhere else."""

from __future__ import annotations

import errno
import os
import pty
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import wordferry
from wordferry.base import progress as shown
from wordferry.base.runtime import Run
from wordferry.errors import InputError

BEGIN = """
import wordferry, numpy as np
texts = wordferry.sample().texts[:40]
vectors = wordferry.default_embeddings().restrict(list(wordferry.default_embeddings().vocabulary)[:300])
"""
JOBS = {
    "pairwise": "wordferry.pairwise(texts, distance='rwmd', progress=True)",
    "run": "wordferry.Measure('rwmd').pairwise(texts, run=wordferry.Run(progress=True))",
    "top_k": "wordferry.top_k(texts[:5], texts, 3, 'wmd', progress=True)",
    "paired": "wordferry.paired(texts, texts[::-1], progress=True)",
    "searcher": "wordferry.Searcher(texts, 'cosine').top_k(texts, 2, progress=True)",
    "related words": "wordferry.RelatedWords.build(vectors, progress=True)",
    "vectors": "vectors.save('v'); wordferry.load_embeddings(dict(a=[1.0], b=[2.0]), progress=True)",
    "index": "ix = wordferry.Index.create('ix'); ix.add(texts, progress=True)",
    "search": "ix = wordferry.Index.create('ix'); ix.add(texts); ix.search(texts, 2, progress=True)",
    "similar": "ix = wordferry.Index.create('ix'); ix.add(texts); ix.similar(texts[0], 2, progress=True)",
    "duplicates": "ix = wordferry.Index.create('ix'); ix.add(texts); ix.duplicates(0.1, progress=True)",
    "leakage": "ix = wordferry.Index.create('ix'); ix.add(texts); ix.leakage(texts, 0.1, progress=True)",
    "graph": "ix = wordferry.Index.create('ix'); ix.add(texts); ix.knn_graph(3, progress=True)",
    "clouds": "from wordferry import clouds; clouds.pairwise([np.eye(3), np.eye(3)[:1]], progress=True)",
}


def on_a_terminal(code, folder):
    """What a program writes to the standard output, and to a standard error that is a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "120"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, cwd=folder, env=environment
    )
    os.close(theirs)
    pieces = []

    def read():
        try:
            while piece := os.read(ours, 4096):
                pieces.append(piece)
        except OSError as error:  # Linux says so when the other end is closed
            if error.errno != errno.EIO:
                raise

    reader = threading.Thread(target=read)
    reader.start()
    output = process.communicate(timeout=120)[0]
    reader.join()
    os.close(ours)
    return process.returncode, output.decode(), b"".join(pieces).decode()


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    """All jobs in one program, with a line between them."""
    folder = tmp_path_factory.mktemp("bars")
    lines = [BEGIN, "import sys, shutil"]
    for name, job in JOBS.items():
        lines += [f"print('== {name}', file=sys.stderr)", "shutil.rmtree('ix', ignore_errors=True)", job]
    code, output, error = on_a_terminal("\n".join(lines), folder)
    assert code == 0, error
    assert output == ""
    parts = re.split(r"== (.*)\r\n", error)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("job", JOBS)
def test_a_bar_on_a_terminal(terminal, job):
    text = terminal[job]
    assert re.search(r"━{24}.*  100%  ([\d,]+) of \1  in [\d.]+ s\r\n", text), repr(text)
    assert text.endswith("\n")


def test_nothing_is_written_where_nobody_looks(tmp_path):
    code = BEGIN + "\n".join(
        ["import shutil", *(JOBS[name] for name in ("pairwise", "top_k", "index", "related words"))]
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_bar_in_a_notebook():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (make test brings it)")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (make test brings it)")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed (make test brings it)")
    cells = [
        f"import sys; sys.path[:0] = {sys.path!r}" + BEGIN,
        "wordferry.pairwise(texts, distance='rwmd', progress=True).shape",
        "from wordferry.base.progress import Bar\nbar = Bar('half <done>')\nbar(1, 2)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    drawn, result = book.cells[1].outputs
    assert "<progress value='1600' max='1600'" in drawn.data["text/html"]
    assert re.match(r"100%  1,600 of 1,600  in [\d.]+ s", drawn.data["text/plain"])
    assert result.data["text/plain"] == "(40, 40)"
    (half,) = book.cells[2].outputs
    assert "half &lt;done&gt;" in half.data["text/html"]
    assert "<progress value='1' max='2'" in half.data["text/html"]


# The bar by itself ----------------------------------------------------------------------------------------------------


class Terminal(list):
    tty = True

    def write(self, text):
        self.append(text)

    def flush(self):
        pass

    def isatty(self):
        return self.tty


@pytest.fixture
def terminal_here(monkeypatch):
    written, clock = Terminal(), [0.0]

    def begin(tty=True):
        written.tty = tty
        monkeypatch.setattr(sys, "stderr", written)
        monkeypatch.setattr(shown.time, "monotonic", lambda: clock[0])
        return written, clock

    return begin


def test_a_bar_is_drawn_ten_times_a_second_at_most(terminal_here):
    written, clock = terminal_here()
    bar = shown.Bar("work")
    for done in range(1000):
        clock[0] += 0.001
        bar(done, 1000)
    assert 9 <= len(written) <= 11
    bar(1000, 1000)
    bar(1000, 1000)  # told twice of its end, it shows it once
    assert written[-1] == "\n"
    assert "".join(written).count("100%") == 1


def test_a_bar_tells_what_is_left_and_begins_again(terminal_here):
    written, clock = terminal_here()
    bar = shown.Bar()
    bar(0, 100)
    clock[0] = 30.0
    bar(20, 100)
    assert written[-1].endswith("  20%  20 of 100  2:00 left")
    bar(5, 40)  # another part of the job: the first line stays
    assert written[-2:] == ["\n", written[-1]]
    assert "5 of 40" in written[-1]
    clock[0] += 7200
    bar(6, 40)
    assert "11:20:00 left" in written[-1]
    del bar  # stopped before its end
    assert written[-1] == "\n"


def test_a_bar_that_is_not_kept_is_cleared(terminal_here):
    written, _ = terminal_here()
    bar = shown.Bar("work", keep=False)
    bar(1, 2)
    bar.close()
    bar.close()
    assert written[-1] == "\r\x1b[K"
    assert len(written) == 2


def test_a_log_gets_a_line_every_ten_seconds_of_long_work(terminal_here):
    written, clock = terminal_here(tty=False)
    bar = shown.Bar("work")
    bar(0, 25)
    for done in range(1, 26):
        clock[0] += 1
        bar(done, 25)
    assert written == [
        "work  40%  10 of 25  1 a second  0:15 left\n",
        "work  80%  20 of 25  1 a second  5.0 s left\n",
        "work  100%  25 of 25  in 0:25\n",
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_a_bar_fits_the_terminal(terminal_here, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    written, clock = terminal_here()
    bar = shown.Bar("adding documents, relating words")
    bar(0, 94_105)
    clock[0] = 30.0
    bar(47_000, 94_105)
    line = re.sub(r"\x1b\[[\d;]*[mK]|\r", "", written[-1])
    assert len(line) < width
    assert line.endswith("0:30 left")
    drawn = sum(line.count(sign) for sign in "━╸╺")
    assert drawn == 24 if width == 200 else 8 <= drawn < 24 if width >= 60 else drawn == 0


def test_other_values_of_progress():
    told = []
    wordferry.pairwise(["cat"], ["dog", "cow"], progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (2, 2)
    assert Run(progress=False).progress is None
    np.testing.assert_array_equal(wordferry.pairwise(["cat"], progress=False), [[0.0]])
    for call in (
        lambda: Run(progress="yes"),
        lambda: wordferry.pairwise(["cat"], progress=1),
        lambda: wordferry.RelatedWords.build({"a": [1.0], "b": [2.0]}, 1, progress="bar"),
    ):
        with pytest.raises(InputError, match="progress must be True, or a callable"):
            call()
