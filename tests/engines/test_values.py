"""Jobs in batches over shards give the values of the undivided collection in memory, by every distance and weight."""

from __future__ import annotations

import json

import numpy as np
import pytest

import wordferry
from tests.engines.test_jobs import rows
from wordferry.compare.distances import DISTANCES, find_distance
from wordferry.errors import InputError
from wordferry.shards import Choices, build, jobs
from wordferry.texts.weights import WEIGHTS

pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'wordferry[cluster]')")
NAMES = [*DISTANCES, "act(transfers=0)", "act(transfers=3)"]
QUERIES = ["the cost of heating zzyzx3", "planets and moons", "qwertz5 football", "loans, rates and elephants"]


class Collection:
    """A collection in files, in an undivided index and in shards, and what it is compared with in memory."""

    def __init__(self, folder) -> None:
        """Short texts with words that have no vector, some of them in several documents; two texts are equal."""
        texts = [" ".join(text.split()[:25]) for text in wordferry.sample().texts[:24]]
        lines = [
            {"id": f"d{n}", "text": f"{text} zzyzx{n % 7} qwertz{n}", "label": "even" if n % 2 == 0 else "odd"}
            for n, text in enumerate(texts)
        ]
        lines[7]["text"] = lines[3]["text"]
        self.texts, self.labels = ([line[name] for line in lines] for name in ("text", "label"))
        self.source = str(folder / "docs.jsonl")
        (folder / "docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.queries = str(folder / "queries.jsonl")
        (folder / "queries.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in QUERIES))
        every = wordferry.default_embeddings()
        words = np.unique(wordferry.encode([*self.texts, *QUERIES], every).indices).astype(np.int64)
        self.embeddings = every.restrict(np.union1d(words, np.arange(0, len(every), 50)))
        own = np.unique(wordferry.encode(self.texts, self.embeddings).indices).astype(np.int64)
        self.related = wordferry.RelatedWords.build(self.embeddings.restrict(own))
        with wordferry.Index.create(folder / "index", embeddings=self.embeddings) as index:
            index.add(lines)
        self.folders = [str(folder / "index")]
        for shards in (2, 3):
            build(self.source, folder / f"{shards}", shards, embeddings=self.embeddings)
            self.folders.append(str(folder / f"{shards}"))

    def options(self, distance, weights, unknown):
        record = find_distance(distance)
        related = self.related if record.needs_related else None
        return {"weights": weights, "unknown": unknown, "embeddings": self.embeddings, "related": related}


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """Nothing here is killed, so nothing need be on the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield Collection(tmp_path_factory.mktemp("values"))


CASES = [(distance, unknown, False) for distance in NAMES for unknown in ("match", "drop")]
CASES += [pytest.param(distance, unknown, True, marks=pytest.mark.slow) for distance, unknown, _ in CASES]


def compared(collection, distance, unknown, whole):
    """Each weight, or every second one, with another number of shards and another size of batches."""
    for number, weights in enumerate(WEIGHTS):
        if not whole and number % 2 == ("drop", "match").index(unknown):
            continue
        folder, block = collection.folders[number % 3], (1000, 9, 16)[(number + number // 3) % 3]
        options = collection.options(distance, weights, unknown)
        yield weights, folder, Choices(distance, weights=weights, unknown=unknown, block=block), options


@pytest.mark.parametrize(("distance", "unknown", "whole"), CASES)
def test_the_graph_and_near_duplicates(collection, tmp_path, distance, unknown, whole):
    for weights, folder, choices, options in compared(collection, distance, unknown, whole):
        every = wordferry.pairwise(collection.texts, None, distance, **options)
        np.fill_diagonal(every, np.inf)
        jobs.knn_graph(folder, tmp_path / weights / "near", 5, choices)
        for n, row in enumerate(rows(tmp_path / weights / "near")):
            near = [int(id[1:]) for id in row["neighbors"]]
            assert np.allclose(row["distances"], np.sort(every[n])[:5], atol=2e-6), (weights, n)
            assert np.allclose(row["distances"], every[n, near], atol=2e-6), (weights, n)
        values = np.sort(every[np.triu_indices(len(every), 1)])
        gap = int(np.argmax(np.diff(values[20:40]))) + 20  # no distance is near the threshold
        threshold = float(values[gap] + values[gap + 1]) / 2
        jobs.duplicates(folder, tmp_path / weights / "close", threshold, choices)
        found = {(row["first"], row["second"]): row["distance"] for row in rows(tmp_path / weights / "close")}
        places = np.argwhere(np.triu(every <= threshold, 1)).tolist()
        assert list(found) == [(f"d{i}", f"d{j}") for i, j in places]
        assert np.allclose(list(found.values()), [every[i, j] for i, j in places], atol=2e-6)


@pytest.mark.parametrize(("distance", "unknown", "whole"), CASES)
def test_queries_and_votes(collection, tmp_path, distance, unknown, whole):
    for weights, folder, choices, options in compared(collection, distance, unknown, whole):
        expected = wordferry.top_k(QUERIES, collection.texts, 5, distance, **options)
        jobs.top_k(collection.queries, folder, tmp_path / weights / "near", 5, choices)
        jobs.classify(folder, collection.queries, tmp_path / weights / "votes", 1, choices)
        found = rows(tmp_path / weights / "near")
        assert np.allclose([row["distances"] for row in found], expected.distances, atol=2e-6), weights
        first = [collection.labels[int(row["neighbors"][0][1:])] for row in found]
        assert [row["predicted"] for row in rows(tmp_path / weights / "votes")] == first


def test_shards_that_are_built_for_the_job_give_the_same_bytes(collection, tmp_path):
    """With the parameters of a distance, which must not be lost on the way."""
    choices = Choices("act(transfers=0)", weights="bm25", block=7)
    for number, source in enumerate((collection.source, *collection.folders)):
        own = {"shards": 4, "embeddings": collection.embeddings} if number == 0 else {}
        jobs.knn_graph(source, tmp_path / str(number), 5, choices, **own)
    first, *more = (rows(tmp_path / str(number)) for number in range(4))
    assert more == [first] * 3


NEAR_COPIES = [
    "The refund was received on Monday by the customer of the shop",
    "The refund was not received on Monday by the customer of the shop",
    "A refund was received on Monday by the customer of the shop",
    "The refund was received on Monday by the customer of the shop",
    "Planets and moons turn around the sun, as everybody knows by now",
    "On Monday the refund was received by the customer of the shop",
    "Planets and moons turn round the sun, as everybody has known by now",
]


def near_copies(folder):
    """Near-copies with opposites and changed stop words among other texts, in one file and in an index."""
    others = [" ".join(text.split()[:25]) for text in wordferry.sample().texts[:12]]
    lines = [{"id": f"n{n}", "text": text} for n, text in enumerate([*NEAR_COPIES, *others, others[4], ""])]
    (folder / "docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    index = wordferry.Index.create(folder / "index", on_empty="keep")
    index.add(lines)
    return str(folder / "docs.jsonl"), index


@pytest.mark.parametrize("threshold", [None, 0.0, 0.2])
def test_duplicates_are_those_of_an_index(tmp_path, threshold):
    """Default distance and threshold, a least distance where any word differs, and opposites, which join no group."""
    parquet = pytest.importorskip("pyarrow.parquet")
    source, index = near_copies(tmp_path)
    with index:
        wanted = index.duplicates(threshold)
    assert any(pair.exact for pair in wanted)
    assert any(pair.opposite for pair in wanted) == (threshold is None)
    for name, documents, shards in (("files", source, 3), ("one", str(tmp_path / "index"), None)):
        summary = jobs.duplicates(documents, tmp_path / name, threshold, Choices(block=4), shards=shards)
        assert summary.facts["threshold"] == wanted.threshold
        found = sorted(rows(tmp_path / name), key=lambda row: row["distance"])
        assert found == [vars(pair) for pair in wanted]
        groups = parquet.read_table(tmp_path / name / "groups.parquet").to_pylist()
        every = {(id, group.representative) for group in wanted.groups for id in (group.representative, *group.others)}
        assert {(row["id"], row["group"]) for row in groups} == every


def test_duplicates_by_a_distance_of_their_own_need_a_threshold(tmp_path):
    source, index = near_copies(tmp_path)
    index.close()
    with pytest.raises(InputError, match="no default threshold for wmd"):
        jobs.duplicates(source, tmp_path / "out", choices=Choices("wmd"))
