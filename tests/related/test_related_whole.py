"""Related words of a whole vocabulary: those of the package, and those kept on disk."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.mapped import is_mapped

import wordferry
from wordferry import Embeddings, RelatedWords
from wordferry.words.related import whole
from wordferry.words.related.whole import related_of

WORDS, DIMENSIONS = 1500, 1000  # just enough work to be worth keeping


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORDFERRY_CACHE", str(tmp_path / "cache"))
    whole.forget()
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def vectors() -> Embeddings:
    rng = np.random.default_rng(5)
    return Embeddings([f"w{i}" for i in range(WORDS)], rng.normal(size=(WORDS, DIMENSIONS)))


def assert_same(a: RelatedWords, b: RelatedWords) -> None:
    assert np.array_equal(a.own, b.own)
    assert np.array_equal(a.own_distances, b.own_distances)
    assert a.c_max == b.c_max
    assert (a.graph != b.graph).nnz == 0


def test_the_shipped_neighbours_are_the_true_ones() -> None:
    embeddings = wordferry.default_embeddings()
    related = related_of(embeddings)
    assert (len(related), related.r, related.fingerprint) == (60_000, 16, embeddings.fingerprint)
    x = embeddings.matrix.astype(np.float64)
    for word in (0, 1, 17, 4_711, 31_415, 59_999):
        true = np.sqrt(((x - x[word]) ** 2).sum(axis=1))
        true[word] = np.inf
        expected = np.lexsort((np.arange(len(x)), true))[:16]
        assert related.own[word].tolist() == expected.tolist()
        np.testing.assert_allclose(related.own_distances[word], true[expected], rtol=1e-6)


def test_the_shipped_c_max_is_the_mean_of_unrelated_pairs() -> None:
    embeddings = wordferry.default_embeddings()
    related = related_of(embeddings)
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, len(embeddings), (2, 200_000))
    distances = np.linalg.norm(embeddings.matrix[a] - embeddings.matrix[b], axis=1)[a != b]
    assert related.c_max == pytest.approx(distances.mean(), abs=6 * float(distances.std()) / len(distances) ** 0.5)


@pytest.mark.slow
def test_the_shipped_related_words_equal_those_built_now() -> None:
    embeddings = wordferry.default_embeddings()
    built = RelatedWords.build(embeddings, 16, "exact")
    shipped = related_of(embeddings)
    assert np.array_equal(built.own, shipped.own)
    assert np.array_equal(built.own_distances, shipped.own_distances)
    assert shipped.c_max == pytest.approx(built.c_max, rel=1e-9)


def test_a_smaller_r_is_a_part_of_the_shipped_one() -> None:
    embeddings = wordferry.default_embeddings()
    assert_same(related_of(embeddings, 4), related_of(embeddings).restrict(4))


def test_one_object_for_the_life_of_the_process(cache: Path, vectors: Embeddings) -> None:
    assert related_of(vectors) is related_of(vectors)
    again = Embeddings(vectors.vocabulary, vectors.matrix)
    assert related_of(again) is related_of(vectors)


def test_related_words_are_kept_and_found_again(cache: Path, vectors: Embeddings) -> None:
    first = related_of(vectors)
    assert_same(first, RelatedWords.build(vectors))
    (kept,) = (cache / "related").iterdir()
    written = (kept / "manifest.json").stat().st_mtime_ns
    whole.forget()
    second = related_of(vectors)
    assert is_mapped(second.own)  # read, not built
    assert_same(first, second)
    assert (kept / "manifest.json").stat().st_mtime_ns == written
    assert related_of(vectors, 3).r == 3
    assert len(list((cache / "related").iterdir())) == 2


@pytest.mark.parametrize("name", ["own.npy", "manifest.json", "vocabulary.txt"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_what_is_damaged_is_made_anew(cache: Path, vectors: Embeddings, name: str, damage: str) -> None:
    first = related_of(vectors)
    (kept,) = (cache / "related").iterdir()
    file = kept / name
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    elif damage == "cut":
        os.truncate(file, len(content) // 2)
    else:
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 0x80]) + content[middle + 1 :])
    whole.forget()
    assert_same(related_of(vectors), first)
    whole.forget()
    again = related_of(vectors)
    assert_same(again, first)
    assert is_mapped(again.own)


def test_related_words_of_other_vectors_under_our_name_are_not_taken(cache: Path, vectors: Embeddings) -> None:
    other = Embeddings(vectors.vocabulary, vectors.matrix[::-1])
    related_of(vectors)
    (kept,) = (cache / "related").iterdir()
    kept.rename(kept.with_name(kept.name.replace(vectors.fingerprint, other.fingerprint)))
    assert_same(related_of(other), RelatedWords.build(other))


def test_a_folder_that_cannot_be_written_costs_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectors: Embeddings
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("WORDFERRY_CACHE", str(tmp_path / "file"))
    whole.forget()
    assert_same(related_of(vectors), RelatedWords.build(vectors))


def test_small_vocabularies_leave_nothing_on_disk(cache: Path) -> None:
    few = Embeddings(["a", "b", "c"], np.eye(3))
    assert_same(related_of(few, 1), RelatedWords.build(few, 1))
    assert not cache.exists()
