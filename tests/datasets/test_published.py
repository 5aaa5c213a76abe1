"""Readers of published sets, on files written here in each layout, and on the real ones where they are."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from wordferry.errors import FormatError, InputError, NotFound
from wordferry.texts.published import (
    PUBLISHED,
    differences,
    find_set,
    list_sets,
    published,
    read_collection,
    read_pairs,
    read_triplet_list,
    read_triplets,
)


def write_rows(path, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def test_a_folder_of_two_files(tmp_path):
    write_rows(tmp_path / "tiny" / "train.jsonl", [{"id": 1, "label": "x", "text": "a b"}] * 2)
    write_rows(tmp_path / "tiny" / "test.jsonl.gz", [{"id": 2, "label": "y", "tokens": ["a", "c"]}])
    found = read_collection(tmp_path / "tiny")
    assert found.name == "tiny"
    assert found.texts == ["a b", "a b", ("a", "c")]
    assert found.labels == ["x", "x", "y"]
    assert [s.train.tolist() for s in found.splits] == [[0, 1]]
    assert [s.test.tolist() for s in found.splits] == [[2]]
    assert [record.split for record in found.records] == ["train", "train", "test"]


def test_one_file_with_several_splits(tmp_path):
    rows = [
        {"id": "a", "label": "x", "text": "one", "splits": ["train", "test"]},
        {"id": "b", "label": "y", "text": "two", "splits": ["test", "train"]},
    ]
    write_rows(tmp_path / "two" / "all.jsonl", rows)
    found = read_collection(tmp_path / "two")
    assert [(s.train.tolist(), s.test.tolist()) for s in found.splits] == [([0], [1]), ([1], [0])]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"label": "x", "text": "a", "split": "train"}], "1 training and 0 test"),
        ([{"label": "x", "text": "a", "split": "dev"}], "'train' or 'test'"),
        ([{"label": "x", "text": "a"}], "'train' or 'test'"),
        ([{"text": "a", "split": "train"}], "'label'"),
        ([{"label": "x", "split": "train"}], "'tokens'"),
        ([], "no documents"),
    ],
)
def test_a_broken_collection_is_named(tmp_path, rows, message):
    write_rows(tmp_path / "bad.jsonl", rows)
    with pytest.raises(FormatError, match=message):
        read_collection(tmp_path / "bad.jsonl")


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"label": "x", "text": "a", "split": "train"}\n{oops\n')
    with pytest.raises(FormatError, match="line 2"):
        read_collection(tmp_path / "bad.jsonl")


def test_counts_are_checked_against_the_paper(tmp_path):
    rows = [{"label": str(i % 2), "text": "a", "split": "train" if i else "test"} for i in range(4)]
    write_rows(tmp_path / "r8" / "all.jsonl", rows)
    entry = published("r8")
    assert entry is PUBLISHED["reuters"]
    assert differences(read_collection(tmp_path / "r8"), entry) == [
        "documents: 4 here, 7,674 in the paper",
        "classes: 2 here, 8 in the paper",
    ]


def test_sets_are_found_by_their_names_and_missing_ones_say_where_they_are_published(tmp_path):
    write_rows(tmp_path / "r8" / "all.jsonl", [{"label": "x", "text": "a", "split": "train"}])
    (tmp_path / "recipe2-emd_tr_te_split.mat").touch()
    assert find_set(tmp_path, "reuters") == tmp_path / "r8"
    assert find_set(tmp_path, "recipe").name == "recipe2-emd_tr_te_split.mat"
    assert list_sets(tmp_path) == ["r8", "recipe2"]
    with pytest.raises(NotFound, match=r"mkusner/wmd.*bbcsport-emd"):
        find_set(tmp_path, "bbcsport")
    with pytest.raises(NotFound, match="WORDFERRY_DATA"):
        find_set(tmp_path / "none", "r8")
    with pytest.raises(NotFound, match="20news, amazon"):
        published("mnist")


def test_triplets_share_documents(tmp_path):
    rows = [{"a": "x", "b": ["y", "z"], "c": "w"}, {"a": "w", "b": "x", "c": ["y", "z"]}]
    write_rows(tmp_path / "t.jsonl", rows)
    found = read_triplets(tmp_path / "t.jsonl")
    assert found.documents == ("x", ("y", "z"), "w")
    assert found.triples == ((0, 1, 2), (2, 0, 1))
    write_rows(tmp_path / "bad.jsonl", [{"a": "x", "b": "y"}])
    with pytest.raises(FormatError, match="'c'"):
        read_triplets(tmp_path / "bad.jsonl")


def test_the_lists_of_dai_et_al(tmp_path):
    file = tmp_path / "wikipedia-triplets-release.txt"
    file.write_text("# comment\n\nhttp://a http://b http://c\nhttp://a http://b http://gone\n")
    found = read_triplet_list(file, {"http://c": "text c", "http://a": "text a", "http://b": "text b"})
    assert found.triples == ((1, 2, 0),)
    assert found.missing == 1
    file.write_text("http://a http://b\n")
    with pytest.raises(FormatError, match="line 1: expected three"):
        read_triplet_list(file, {})
    with pytest.raises(NotFound, match="quocle"):
        read_triplet_list(tmp_path / "none.txt", {})


def test_rated_pairs_by_text_and_by_number(tmp_path):
    write_rows(tmp_path / "p.jsonl", [{"a": "x", "b": "y", "score": 3}])
    assert read_pairs(tmp_path / "p.jsonl").ratings == (3.0,)
    write_rows(tmp_path / "n.jsonl", [{"i": 1, "j": 0, "score": 0.5}])
    write_rows(tmp_path / "docs.jsonl", [{"text": "first"}, {"text": "second"}])
    found = read_pairs(tmp_path / "n.jsonl", tmp_path / "docs.jsonl")
    assert (found.first, found.second) == (("second",), ("first",))
    with pytest.raises(InputError, match="file of the documents"):
        read_pairs(tmp_path / "n.jsonl")
    write_rows(tmp_path / "out.jsonl", [{"i": 2, "j": 0, "score": 0.5}])
    with pytest.raises(FormatError, match="of 2"):
        read_pairs(tmp_path / "out.jsonl", tmp_path / "docs.jsonl")


def test_the_real_sets_have_the_counts_of_their_readme(shared_data):
    expected = {"r8": (7674, 8, 1), "twitter": (3115, 3, 5), "ohsumed-single23": (7400, 23, 1)}
    for name, counts in expected.items():
        found = read_collection(find_set(shared_data, name))
        assert (len(found.records), len(set(found.labels)), len(found.splits)) == counts
    assert differences(read_collection(shared_data / "r8"), published("r8")) == []
    assert np.array_equal([len(s.train) for s in read_collection(shared_data / "r8").splits], [5485])
    assert (
        len(read_pairs(shared_data / "pairs/lee/pairs.jsonl.gz", shared_data / "pairs/lee/docs.jsonl.gz").ratings)
        == 1225
    )
