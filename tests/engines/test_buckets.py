"""Jobs and shards through pyarrow's file systems: a file address, and a bucket of a mock of S3 on this machine."""

from __future__ import annotations

import gzip
import json

import pytest

import wordferry
from tests.engines.test_jobs import contents
from wordferry.engines.location import Location
from wordferry.errors import InputError, NotFound
from wordferry.index import Index
from wordferry.shards import Choices, build, jobs

pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'wordferry[cluster]')")


@pytest.fixture(scope="module")
def files():
    articles = wordferry.sample().articles[:60]
    rows = [(json.dumps({"id": one.id, "text": one.text}) + "\n").encode() for one in articles]
    lines = b"".join(rows[:25]), b"".join(rows[25:])
    return {"a.jsonl": lines[0], "b.jsonl.gz": gzip.compress(lines[1], mtime=0)}


@pytest.fixture(scope="module", params=["file", "s3"])
def bucket(request, tmp_path_factory):
    """From a name to an address: a folder below it."""
    if request.param == "file":
        folder = tmp_path_factory.mktemp("bucket")
        yield lambda name: (folder / name).as_uri()
        return
    moto = pytest.importorskip("moto.server", reason="moto is not installed (pip install 'moto[server]')")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    options = f"scheme=http&endpoint_override=127.0.0.1:{server.get_host_and_port()[1]}&region=us-east-1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("WORDFERRY_CACHE", str(tmp_path_factory.mktemp("cache")))
        from pyarrow.fs import FileSystem

        system, _ = FileSystem.from_uri(f"s3://wordferry?{options}&allow_bucket_creation=true")
        system.create_dir("wordferry")
        yield lambda name: f"s3://wordferry/{name}?{options}"
    server.stop()


@pytest.fixture(scope="module")
def source(bucket, files):
    place = Location(bucket("documents"))
    for name, data in files.items():
        place.write(name, data)
    return bucket("documents")


def test_from_a_bucket_into_a_bucket(bucket, source, files, tmp_path):
    (tmp_path / "in").mkdir()
    for name, data in files.items():
        (tmp_path / "in" / name).write_bytes(data)
    jobs.knn_graph(str(tmp_path / "in"), str(tmp_path / "out"), 3, Choices(block=20))
    jobs.knn_graph(source, bucket("near"), 3, Choices(block=20), work=tmp_path / "job")
    place = Location(bucket("near"))
    assert [(name, place.read(name)) for name in place.names()] == contents(tmp_path / "out")
    with pytest.raises(InputError, match="not empty"):
        jobs.knn_graph(source, bucket("near"), 3, work=tmp_path / "more")


def test_duplicates_and_their_groups(bucket, source, tmp_path):
    jobs.duplicates(source, bucket("close"), 0.9, Choices(block=20), work=tmp_path / "job")
    assert "groups.parquet" in Location(bucket("close")).names()


def test_shards_in_a_bucket(bucket, source, tmp_path):
    build(source, bucket("shards"), 2, work=tmp_path / "job")
    build(source, tmp_path / "shards", 2)
    with Index.open(bucket("shards")) as there, Index.open(str(tmp_path / "shards")) as here:
        for query in ("bread", "planets and moons"):
            a, b = there.search(query), here.search(query)
            assert [(hit.id, hit.score) for hit in a] == [(hit.id, hit.score) for hit in b]
        there.verify()


def test_what_is_not_there_is_said(bucket, tmp_path):
    with pytest.raises(NotFound):
        jobs.knn_graph(bucket("nothing"), str(tmp_path / "out"), 3)
    with pytest.raises(NotFound, match="no folder of shards"):
        Index.open(bucket("nothing"))


def test_an_answer_in_a_bucket_needs_a_folder_for_the_plan(bucket, source):
    if bucket("x").startswith("file"):
        pytest.skip("beside a folder of this machine there is room for the plan")
    with pytest.raises(InputError, match="work="):
        jobs.knn_graph(source, bucket("other"), 3)
