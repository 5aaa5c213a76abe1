"""De-duplication: groups, reasons, review, deleting what was reviewed, and leakage between two sets."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

import wordferry
from wordferry.errors import FormatError, InputError, NotFound

DOCUMENTS = [
    {"id": "a", "text": "The town library closes on Monday for repairs to the roof"},
    {"id": "b", "text": "A cat slept on the warm bonnet of a parked car"},
    {"id": "c", "text": "The town library closes on Tuesday for repairs to the roof"},
    {"id": "d", "text": "The town library closes on Monday for repairs to the roof"},
    {"id": "e", "text": "The town library closes on Monday for repairs to the leaking roof"},
    {"id": "f", "text": "Interest rates rose again and loans became dearer"},
    {"id": "g", "text": "Interest rates rose again and loans became dearer today"},
]


@pytest.fixture
def index(tmp_path):
    with wordferry.Index.create(tmp_path / "pets", distance="rel-rwmd") as index:
        index.add(DOCUMENTS)
        yield index


def test_groups_have_the_first_document_as_representative(index):
    found = index.duplicates(0.5)
    assert [(group.representative, set(group.others)) for group in found.groups] == [
        ("a", {"c", "d", "e"}),
        ("f", {"g"}),
    ]
    assert found.groups[0].copies == {"d"}
    assert set(found.extras) == {"c", "d", "e", "g"}


def test_copies_are_apart_from_near_ones(index):
    found = index.duplicates(0.5)
    assert [(pair.first, pair.second) for pair in found.copies] == [("a", "d")]
    assert len(found.near) == len(found) - 1
    assert not any(pair.exact for pair in found.near)


def test_the_reason_of_a_pair_is_the_words_that_differ(index):
    found = index.duplicates(0.5)
    pair = next(pair for pair in found if (pair.first, pair.second) == ("a", "c"))
    reason = found.reason(pair)
    assert (reason.only_first, reason.only_second) == (("monday",), ("tuesday",))
    assert "only in the first: monday; only in the second: tuesday" in str(reason)
    assert str(found.reason(found.copies[0])).startswith("the same")


def test_a_lower_threshold_needs_no_new_distances_and_a_higher_one_is_refused(index, monkeypatch):
    found = index.duplicates(0.5)
    monkeypatch.setattr(type(index.backend), "state", None)
    low = sorted(pair.distance for pair in found)[2]
    again = found.rethreshold(low)
    assert [pair for pair in found if pair.distance <= low] == list(again)
    assert again.threshold == low
    with pytest.raises(InputError, match=r"sought up to a distance of 0\.5"):
        found.rethreshold(0.6)


def test_review_shows_the_least_alike_first(index):
    found = index.duplicates(0.5)
    shown = found.review()
    assert [pair.distance for pair in shown] == sorted((pair.distance for pair in found.near), reverse=True)
    assert found.review(1) == shown[:1]


def test_what_was_reviewed_is_deleted_and_nothing_else(index, tmp_path):
    file = tmp_path / "review.csv"
    index.duplicates(0.5).to_csv(file)
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        if row["id"] == "e":
            row["action"] = "keep"
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert set(index.prune(file, dry_run=True)) == {"c", "d", "g"}
    assert len(index) == 7
    index.prune(file)
    assert index.ids() == ["a", "b", "e", "f"]


def test_a_document_that_changed_since_the_review_stops_everything(index, tmp_path):
    index.duplicates(0.5).to_csv(tmp_path / "review.csv")
    index.upsert([{"id": "c", "text": "Something else altogether"}])
    with pytest.raises(InputError, match="'c' has changed since the review"):
        index.prune(tmp_path / "review.csv")
    index.delete("c")
    with pytest.raises(NotFound, match="'c' is no longer in"):
        index.prune(tmp_path / "review.csv")
    assert len(index) == 6


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (",delete,", ",perhaps,", "line 3: the action must be keep or delete"),
        (",keep,", ",delete,", "nothing of group"),
    ],
)
def test_a_review_that_cannot_be_followed_is_refused(index, tmp_path, old, new, words):
    file = tmp_path / "review.csv"
    index.duplicates(0.5).to_csv(file)
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(FormatError, match=words):
        index.prune(file)
    file.write_text("id,text\n")
    with pytest.raises(FormatError, match=r"'(action|checksum)' is missing"):
        index.prune(file)


def test_leakage_names_documents_of_both_sets(index):
    test = [{"id": "t1", "text": DOCUMENTS[1]["text"]}, {"id": "t2", "text": "nothing alike here: a violin"}]
    found = index.leakage(test, 0.3)
    assert [(pair.first, pair.second, pair.exact) for pair in found] == [("b", "t1", True)]
    assert str(found.reason(found[0])).startswith("the same")


def test_tables_come_out(index):
    columns = index.duplicates(0.5).to_columns()
    assert set(columns) == {"first", "second", "distance", "exact", "opposite"}


def test_the_command_from_search_to_delete(index, tmp_path):
    folder = str(index.path)
    index.close()

    def run(*options):
        line = [sys.executable, "-m", "wordferry", "duplicates", folder, *options, "--json"]
        return subprocess.run(line, capture_output=True, text=True)

    review = str(tmp_path / "review.csv")
    groups = [json.loads(line) for line in run("--threshold", "0.5", "--review", review).stdout.splitlines()]
    assert groups[0]["keep"] == "a"
    pairs = [json.loads(line) for line in run("--threshold", "0.5", "--pairs").stdout.splitlines()]
    assert pairs[-1]["exact"]
    assert "would be deleted" in run("--delete", review, "--dry-run").stdout
    assert run("--delete", review).returncode == 0
    assert run("--threshold", "0.5").stdout == ""
    assert "no default threshold for rel-rwmd" in run().stderr
    (tmp_path / "test.jsonl").write_text(json.dumps(DOCUMENTS[1] | {"id": "t"}) + "\n")
    leaked = run("--threshold", "0.1", "--against", str(tmp_path / "test.jsonl"))
    assert json.loads(leaked.stdout)["second"] == "t"


def test_names_without_a_vector_keep_documents_apart(tmp_path):
    """Left out, they made different documents equal: package descriptions that differ in their names alone."""
    texts = [f"{name} is a small library for reading text files" for name in ("zyxlib", "quuxor", "grault", "zyxlib")]
    with wordferry.Index.create(tmp_path / "packages") as packages:
        packages.add([{"id": str(i), "text": text} for i, text in enumerate(texts)])
        for distance in ("rel-rwmd", "wmd", "rel-wmd", "rwmd", "cosine"):
            found = packages.duplicates(0.0, distance=distance)
            assert [(pair.first, pair.second) for pair in found] == [("0", "3")], distance
            assert len(packages.duplicates(0.001, distance=distance, weights="counts", unknown="drop")) == 6
        leaked = packages.leakage([{"id": "x", "text": texts[1]}], 0.0)
        assert [(pair.first, pair.second) for pair in leaked] == [("1", "x")]
        graph = packages.knn_graph(1)
        assert graph[[0], [3]] == 0
        near = packages.similar(id="1", k=1)[0]
        assert graph[[1], [int(near.id)]] == pytest.approx(near.distance, rel=1e-6)


@pytest.mark.parametrize("weights", ["idf", "counts", "bm25"])
@pytest.mark.parametrize("distance", ["rel-rwmd", "wmd"])
def test_pairs_have_the_distances_of_similar(index, weights, distance):
    index.delete(["b"])
    for pair in index.duplicates(2.0, distance=distance, weights=weights):
        hits = index.similar(id=pair.first, k=10, distance=distance, weights=weights)
        assert {hit.id: hit.distance for hit in hits}[pair.second] == pytest.approx(pair.distance, rel=1e-6, abs=1e-6)


def test_texts_in_no_index_are_compared_as_an_index_does_it(index):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    expected = index.duplicates(0.5)
    frame = pandas.DataFrame(DOCUMENTS)
    for documents in (DOCUMENTS, frame, polars.DataFrame(DOCUMENTS), pyarrow.table(frame)):
        found = wordferry.duplicates(documents, 0.5, distance="rel-rwmd")
        assert found == list(expected)
        assert found.groups == expected.groups
        assert str(found.reason(found[0])) == str(expected.reason(expected[0]))
    columns = found.to_columns()
    assert pandas.DataFrame(found).to_dict("list") == columns
    assert polars.DataFrame(found).to_dict(as_series=False) == columns
    assert pyarrow.table(found).to_pydict() == columns
    named = frame.rename(columns={"text": "body", "id": "key"})
    assert wordferry.duplicates(named, 0.5, text="body", id="key", distance="rel-rwmd") == found
    with wordferry.Index.create() as other:
        other.add(DOCUMENTS)
        assert wordferry.duplicates(DOCUMENTS) == other.duplicates()
    texts = [row["text"] for row in DOCUMENTS]
    assert [pair.first for pair in wordferry.duplicates(texts, 0.0)] == ["doc-1"]
    with pytest.raises(wordferry.errors.EmptyDocumentError):
        wordferry.duplicates([*texts, None], 0.0)
    assert len(wordferry.duplicates([*texts, None], 0.0, on_empty="drop")) == 1


OPPOSITES = [
    {"id": "yes", "text": "The refund was received"},
    {"id": "no", "text": "The refund was not received"},
    {"id": "he", "text": "He gave it to her in the house"},
    {"id": "she", "text": "She gave it to him in the house"},
    {"id": "dog", "text": "dog bites man"},
    {"id": "man", "text": "Man bites dog!"},
]


@pytest.mark.parametrize("options", [{}, {"distance": "rel-rwmd"}, {"distance": "wmd", "weights": "counts"}])
def test_texts_that_differ_in_any_word_are_never_at_0_and_the_reason_names_it(tmp_path, options):
    with wordferry.Index.create(tmp_path / "opposites") as index:
        index.add(OPPOSITES)
        every = index.duplicates(3, **options)
        found = {(pair.first, pair.second): pair for pair in every}
        assert found["yes", "no"].distance > 0
        assert str(every.reason(found["yes", "no"])) == "only in the second: not (4 words in common)"
        near = found["he", "she"]
        assert near.distance == pytest.approx(0.001)
        assert str(every.reason(near)) == "differs in: he, her, she, him (6 words in common)"
        assert str(every.reason(found["dog", "man"])) == "the same 3 words in another order"
        assert ("he", "she") not in {(pair.first, pair.second) for pair in index.duplicates(0.0005, **options)}
        every.rethreshold(0.5).to_csv(tmp_path / "review.csv")
        reasons = {row["id"]: row["reason"] for row in csv.DictReader((tmp_path / "review.csv").open())}
        assert reasons["she"].startswith("differs in: ")
        given = [{"id": "given", "text": "They gave it to us in a house"}]
        (pair,) = [pair for pair in index.leakage(given, 0.5, **options) if pair.first == "he"]
        assert pair.distance == pytest.approx(0.001)


def test_a_negated_copy_is_shown_and_never_deleted(tmp_path):
    """Not even where other copies join them."""
    long = "the committee said on Monday that the bridge over the river is safe for lorries and buses this winter"
    texts = {
        "text": long,
        "negated": long.replace("is safe", "is not safe"),
        "late": long.replace("Monday", "Friday") + " and next spring too",
        "copy": long,
    }
    with wordferry.Index.create(tmp_path / "bridges") as index:
        index.add([{"id": id, "text": text} for id, text in texts.items()])
        found = index.duplicates(2)
        opposite = {(pair.first, pair.second) for pair in found if pair.opposite}
        assert {("text", "negated"), ("negated", "copy")} <= opposite
        (group,) = [group for group in found.groups if "text" in (group.representative, *group.others)]
        assert (group.representative, set(group.others)) == ("text", {"late", "copy"})
        assert "negated" not in found.extras
        assert found.to_columns()["opposite"].count(True) == len(opposite)


def test_the_command_needs_no_option(tmp_path):
    folder = str(tmp_path / "index")
    with wordferry.Index.create(folder) as index:
        index.add(DOCUMENTS)
    line = [sys.executable, "-m", "wordferry", "duplicates", folder, "--json"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0
    assert [json.loads(row)["keep"] for row in done.stdout.splitlines()] == ["a", "f"]
    assert "pairs at a distance of at most 0.6 (1 exact copies) in 2 groups" in done.stderr


def test_leakage_compares_texts_whose_ids_are_also_in_the_index():
    """Test data is often numbered as training data is."""
    with wordferry.Index.create() as index:
        index.add([{"id": "1", "text": "The refund was received"}, {"id": "2", "text": "Stocks fell on Monday"}])
        given = [{"id": "2", "text": "The refund was not received"}, {"id": "1", "text": "Stocks fell on the Monday"}]
        found = {(pair.first, pair.second): pair for pair in index.leakage(given, 2.0)}
        assert found["1", "2"].opposite
        assert found["2", "1"].distance == pytest.approx(0.001)
        pairs = index.leakage(given, 2.0)
        assert any(str(pairs.reason(pair)).startswith("differs in: the (") for pair in pairs)
