"""A process of another user that has an index open and answers questions about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Ask = Callable[..., object]

READER = """
import json, os, sys, tempfile
from tests.index.collection import documents, embeddings
from wordferry.index import Index
from wordferry.errors import WordferryError
with tempfile.TemporaryDirectory() as folder, Index.create(folder + "/x", embeddings=embeddings()) as index:
    index.add(documents(3))  # whatever is imported late is imported now: others may not read Python's own files
    index.compact()
    index.similar("w01", filter={"year": 1990}), index.verify(), index.ids()
os.setgid(65534), os.setuid(65534)
index = None
for line in sys.stdin:
    kind, what = json.loads(line)
    try:
        if kind == "open":
            index, answer = Index.open(what), True
        elif kind == "close":
            index, answer = index and index.close(), True
        elif kind == "search":
            answer = sorted(hit.id for hit in index.similar(what, k=10_000))
        elif kind == "ids":
            answer = index.ids()
        elif kind == "verify":
            answer = index.verify().documents
        else:
            index.add([what])
    except WordferryError as error:
        answer = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps(answer), flush=True)
"""


@contextmanager
def other_user() -> Iterator[Ask]:
    """Asks an index that another user has open; only root can become one."""
    process = subprocess.Popen(
        [sys.executable, "-c", READER],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ, WORDFERRY_THREADS="1"),
    )

    def put(kind: str, what: object = None) -> object:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([kind, what]) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    try:
        yield put
    finally:
        process.communicate()
