"""A small collection in files, as jobs take it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import wordferry


def write(folder: Path, count: int = 90, files: int = 3) -> Path:
    """Sample articles in JSON lines, one of the files gzipped."""
    folder.mkdir(parents=True, exist_ok=True)
    articles = wordferry.sample().articles[:count]
    for number in range(files):
        lines = [json.dumps({"id": one.id, "text": one.text, "label": one.label}) for one in articles[number::files]]
        data = ("\n".join(lines) + "\n").encode()
        if number == 1:
            (folder / f"docs-{number}.jsonl.gz").write_bytes(gzip.compress(data))
        else:
            (folder / f"docs-{number}.jsonl").write_bytes(data)
    return folder
