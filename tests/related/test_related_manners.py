"""Progress and Ctrl-C while related words are built."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from wordferry import Embeddings, RelatedWords


@pytest.mark.parametrize("method", ["exact", "clusters"])
@pytest.mark.parametrize("threads", [1, 2])
def test_progress_ends_at_the_total(method, threads):
    embeddings = Embeddings([str(i) for i in range(1500)], np.random.default_rng(0).standard_normal((1500, 8)))
    seen = []
    RelatedWords.build(embeddings, 4, method, threads=threads, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] > 1


def test_an_error_in_progress_stops_the_build():
    embeddings = Embeddings([str(i) for i in range(1500)], np.random.default_rng(0).standard_normal((1500, 8)))

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        RelatedWords.build(embeddings, 4, threads=2, progress=stop)
    assert RelatedWords.build(embeddings, 4).own.min() >= 0


SCRIPT = """
import numpy as np
from wordferry import Embeddings, RelatedWords
embeddings = Embeddings([str(i) for i in range(50_000)], np.random.default_rng(0).standard_normal((50_000, 200)))
started = False

def progress(done, total):
    global started
    if not started:  # everything is loaded: Python ends otherwise when it is stopped while it loads a module
        print("ready", flush=True)
    started = True

try:
    RelatedWords.build(embeddings, 16, {method!r}, probes=50, threads={threads}, progress=progress)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    ("method", "threads", "delay"),
    [("exact", 1, 0.5), ("exact", 2, 0.2), ("exact", 2, 0.5), ("clusters", 2, 0.2), ("clusters", 2, 0.6)],
)
def test_interrupt(method, threads, delay):
    """Ctrl-C ends the build as an exception, and the process then ends well: no thread is left in native code."""
    script = textwrap.dedent(SCRIPT).format(method=method, threads=threads)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (output, errors, process.returncode) == ("interrupted\n", "", 0)
