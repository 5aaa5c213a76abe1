"""The same jobs on a real Spark cluster of processes (make test-spark)."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.engines.collection import write
from tests.engines.test_jobs import contents, rows
from wordferry.errors import FormatError, InputError
from wordferry.shards import Choices, jobs

pytestmark = [pytest.mark.spark, pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java runtime")]
pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'wordferry[spark]')")


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("wordferry")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.authenticate": "true",
        "spark.authenticate.secret": "a-secret-of-this-test",
        "spark.sql.shuffle.partitions": "4",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def test_spark_gives_the_bytes_of_one_process(session, tmp_path):
    from wordferry.engines.on_spark import Spark

    source = str(write(tmp_path / "in"))
    jobs.knn_graph(source, str(tmp_path / "a"), 4, Choices(block=20))
    summary = jobs.knn_graph(source, str(tmp_path / "b"), 4, Choices(block=20), engine=Spark(session))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert summary.engine.startswith("Spark")


def test_a_frame_in_and_a_frame_out(session, tmp_path):
    from wordferry.shards import frames

    frame = session.read.json(str(write(tmp_path / "in")))
    found = frames.knn_graph(frame, str(tmp_path / "out"), 3, choices=Choices(block=40), work=str(tmp_path / "work"))
    assert found.count() == 90
    assert set(found.columns) == {"id", "neighbors", "distances"}
    again = frames.knn_graph(
        frame.repartition(7), str(tmp_path / "more"), 3, choices=Choices(block=40), work=str(tmp_path / "other")
    )
    assert again.count() == 90
    near = {row["id"]: row["neighbors"] for row in rows(tmp_path / "out")}
    assert near == {row["id"]: row["neighbors"] for row in rows(tmp_path / "more")}


def test_errors_come_back_by_name(session, tmp_path):
    from wordferry.engines.on_spark import Spark
    from wordferry.shards import frames

    with pytest.raises(InputError, match="no column 'text'"):
        frames.knn_graph(session.createDataFrame([("a", "b")], "id string, body string"), "x", work=str(tmp_path))
    (tmp_path / "docs.jsonl").write_text('{"text": "a cat"}\n{"text": 5}\n')
    with pytest.raises(FormatError, match="row 2"):
        jobs.knn_graph(str(tmp_path / "docs.jsonl"), str(tmp_path / "o"), 1, engine=Spark(session))
