"""The same jobs on a real Ray cluster of processes."""

from __future__ import annotations

import pytest

from tests.engines.collection import write
from tests.engines.test_jobs import contents
from wordferry.engines import jobs
from wordferry.engines.jobs import Settings
from wordferry.errors import FormatError

pytest.importorskip("ray", reason="Ray is not installed (pip install 'wordferry[cluster]')")
pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'wordferry[cluster]')")


@pytest.fixture(scope="module")
def ray_engine():
    from wordferry.engines.on_ray import Ray

    engine = Ray(workers=2)
    yield engine
    engine.close()


def test_ray_gives_the_bytes_of_one_process_and_fetches_once(ray_engine, tmp_path):
    source = str(write(tmp_path / "in"))
    jobs.knn_graph(source, str(tmp_path / "a"), 4, Settings(block=30))
    summary = jobs.knn_graph(source, str(tmp_path / "b"), 4, Settings(block=30), engine=ray_engine)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert summary.engine.startswith("Ray, 2 workers")
    assert set(ray_engine.fetched.values()) == {1}


def test_errors_of_a_task_come_back_as_they_are(ray_engine, tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "a cat"}\n{"text": 5}\n')
    with pytest.raises(FormatError, match="row 2"):
        jobs.knn_graph(str(tmp_path / "docs.jsonl"), str(tmp_path / "out"), 1, engine=ray_engine)
