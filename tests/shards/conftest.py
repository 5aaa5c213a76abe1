"""A collection in files, the undivided index of it, and the same in shards."""

from __future__ import annotations

import json

import pytest

import wordferry
from wordferry.engines.sources import SourceFields, cut, read_part
from wordferry.index import Index
from wordferry.shards import build

pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'wordferry[cluster]')")


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Sample articles in two files, with metadata; some come twice, so that there are ties."""
    folder = tmp_path_factory.mktemp("documents")
    articles = wordferry.sample().articles[:140]
    rows = [
        {"id": one.id, "text": one.text, "label": one.label, "long": len(one.text) > 1200, "year": 1990 + n % 7}
        for n, one in enumerate(articles)
    ]
    rows += [{**row, "id": f"again-{row['id']}"} for row in rows[::9]]
    rows[90]["rare"] = "yes"
    for name, some in (("a", rows[:100]), ("b", rows[100:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    return str(folder)


def documents(source):
    fields = SourceFields(rest=True)
    for part in cut(source, 1000, fields):
        for row in read_part(part, fields):
            yield {"id": row.id, "text": row.text, "label": row.label, "metadata": dict(row.metadata)}


@pytest.fixture(scope="session")
def whole(source, tmp_path_factory):
    """The undivided index."""
    with wordferry.Index.create(tmp_path_factory.mktemp("undivided") / "index") as index:
        index.add(documents(source))
        yield index


@pytest.fixture(scope="session")
def folder(source, tmp_path_factory):
    path = tmp_path_factory.mktemp("shards") / "built"
    build(source, path, 3)
    return path


@pytest.fixture(scope="session")
def sharded(folder):
    with Index.open(str(folder)) as index:
        yield index
