"""Kusner's .mat files, written here in each of their layouts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io

from wordferry.errors import FormatError, NotFound
from wordferry.texts.published import read_collection

VECTORS = {w: np.eye(6)[i] + 0.5 for i, w in enumerate(["cat", "dog", "cow", "hen", "ant", "bee"])}
DOCUMENTS = [{"cat": 2, "dog": 1}, {"cow": 1}, {"hen": 3, "cat": 1}, {"ant": 1, "bee": 2}, {"dog": 4}]
LABELS = [1, 1, 2, 2, 3]


def cells(values):
    """A MATLAB cell array of one row."""
    result = np.empty((1, len(values)), dtype=object)
    for i, value in enumerate(values):
        result[0, i] = value
    return result


def matrix(bag):
    return np.array([VECTORS[w] for w in bag]).T if bag else np.zeros((0, 0))


def counts(bag):
    return np.array([list(bag.values())], dtype=float)


def names(bag):
    return cells(list(bag)) if bag else np.empty((0, 0), dtype=object)


def tokens(bag):
    return tuple(word for word, count in bag.items() for _ in range(count))


def split_file(bags=DOCUMENTS, labels=LABELS):
    return {
        "X": cells([matrix(bag) for bag in bags]),
        "Y": np.array([labels], dtype=float),
        "BOW_X": cells([counts(bag) for bag in bags]),
        "TR": np.array([[1, 2, 3], [3, 4, 5]]),
        "TE": np.array([[4, 5], [1, 2]]),
    }


def save(tmp_path, name, variables):
    scipy.io.savemat(tmp_path / name, variables)
    return tmp_path / name


def test_documents_with_index_splits(tmp_path):
    file = save(tmp_path, "classic-emd_tr_te_split.mat", split_file() | {"words": cells([names(b) for b in DOCUMENTS])})
    found = read_collection(file)
    assert found.texts == [tokens(bag) for bag in DOCUMENTS]
    assert found.labels == ["1", "1", "2", "2", "3"]
    assert [(s.train.tolist(), s.test.tolist()) for s in found.splits] == [([0, 1, 2], [3, 4]), ([2, 3, 4], [0, 1])]
    assert set(found.embeddings.vocabulary) == set(VECTORS)
    expected = VECTORS["hen"] / np.linalg.norm(VECTORS["hen"])
    assert np.allclose(found.embeddings.vector("hen"), expected)


def test_the_shifted_words_of_recipe(tmp_path):
    # Two empty entries push the rest on; the last two documents have no words and are named by their vectors.
    entries = [names(DOCUMENTS[0]), names({}), names(DOCUMENTS[1]), names({}), names(DOCUMENTS[2])]
    found = read_collection(save(tmp_path, "recipe2.mat", split_file() | {"the_words": cells(entries)}))
    assert found.texts[:3] == [tokens(bag) for bag in DOCUMENTS[:3]]
    assert found.texts[3] == ("word#1", "word#2", "word#2")  # ant and bee stand nowhere else
    assert found.texts[4] == ("dog",) * 4  # known from the first document
    assert len(found.embeddings) == 6


def presplit(words=True):
    variables = {
        "xtr": cells([matrix(b) for b in DOCUMENTS[:3]]),
        "xte": cells([matrix(b) for b in [*DOCUMENTS[3:], {}]]),
        "BOW_xtr": cells([counts(b) for b in DOCUMENTS[:3]]),
        "BOW_xte": cells([counts(b) for b in [*DOCUMENTS[3:], {}]]),
        "ytr": np.array([LABELS[:3]]),
        "yte": np.array([[*LABELS[3:], 3]]),
    }
    if words:
        variables["words_tr"] = cells([names(b) for b in DOCUMENTS[:3]])
        variables["words_te"] = cells([names(b) for b in [*DOCUMENTS[3:], {}]])
    return variables


def test_a_division_made_beforehand(tmp_path):
    found = read_collection(save(tmp_path, "r8-emd_tr_te3.mat", presplit()))
    assert found.texts == [*[tokens(bag) for bag in DOCUMENTS], ()]
    assert [(s.train.tolist(), s.test.tolist()) for s in found.splits] == [([0, 1, 2], [3, 4, 5])]


def test_20news_has_no_words_so_vectors_name_them(tmp_path):
    found = read_collection(save(tmp_path, "20ng2_500-emd_tr_te.mat", presplit(words=False)))
    assert len(found.embeddings) == 6
    first, last = found.texts[0], found.texts[4]
    assert [len(text) for text in found.texts] == [3, 1, 4, 3, 4, 0]
    assert first[2] == last[0]  # dog, in two documents
    assert len(set(first)) == 2


def test_what_his_script_writes_has_no_division(tmp_path):
    variables = split_file()
    del variables["TR"], variables["TE"], variables["Y"]
    variables |= {"y": np.array([LABELS], dtype=float), "C": cells(["sad", "glad", "odd"])}
    variables["words"] = cells([names(b) for b in DOCUMENTS])
    found = read_collection(save(tmp_path, "twitter_vec.mat", variables))
    assert found.texts == [tokens(bag) for bag in DOCUMENTS]
    assert found.splits == ()


def test_broken_files_are_named(tmp_path):
    with pytest.raises(FormatError, match="X or xtr"):
        read_collection(save(tmp_path, "a.mat", {"Z": np.eye(2)}))
    wrong = split_file() | {"words": cells([names(b) for b in DOCUMENTS])}
    wrong["X"][0, 0] = np.ones((6, 3))
    with pytest.raises(FormatError, match="3 vectors, 2 counts"):
        read_collection(save(tmp_path, "b.mat", wrong))
    with pytest.raises(FormatError, match=r"1 \.\. 9 of 5"):
        read_collection(save(tmp_path, "c.mat", split_file() | {"TR": np.array([[1, 9]]), "TE": np.array([[3]])}))
    with pytest.raises(FormatError, match="both sides"):
        read_collection(save(tmp_path, "d.mat", split_file() | {"TR": np.array([[1, 2]]), "TE": np.array([[2]])}))
    (tmp_path / "e.mat").write_bytes(b"no matlab file" * 20)
    with pytest.raises(FormatError, match="not a readable"):
        read_collection(tmp_path / "e.mat")
    with pytest.raises(NotFound):
        read_collection(tmp_path / "none.mat")
