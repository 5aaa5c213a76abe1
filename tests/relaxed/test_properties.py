"""What DESIGN states of the distances, on corpora made by hypothesis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.relaxed.cases import Corpus, corpora, matrix
from wordferry import Embeddings, RelatedWords, pairwise

SMALL = 1e-5
FAST = ["cosine", "bow-l1", "tfidf-l1", "tfidf-cosine", "wcd", "rwmd", "rel-rwmd"]


def scale(corpus: Corpus) -> float:
    """The largest distance there is, for tolerances."""
    x = corpus.embeddings.matrix
    return float(np.abs(np.linalg.norm(x[:, None] - x[None], axis=2)).max()) + 1e-9


def values(corpus: Corpus, distance: str, **options: object) -> np.ndarray:
    return pairwise(corpus.x, corpus.y, distance, **{**corpus.options, **options})


@given(corpora(), st.sampled_from(["omr", "keep", "residual"]), st.sampled_from(["both", "left", "right"]))
def test_relaxed_values_are_the_reference(corpus: Corpus, overlap: str, side: str) -> None:
    for distance in ("rwmd", "rel-rwmd"):
        truth = corpus.truth(distance, overlap, side)
        for algorithm in ("standard", "linear"):
            if (overlap, algorithm) == ("residual", "linear"):
                continue
            out = values(corpus, distance, overlap=overlap, side=side, algorithm=algorithm)
            np.testing.assert_allclose(out, truth, atol=SMALL * scale(corpus))


@given(corpora())
def test_baselines_are_the_reference(corpus: Corpus) -> None:
    for distance in ("cosine", "bow-l1", "wcd"):
        np.testing.assert_allclose(values(corpus, distance), corpus.truth(distance), atol=SMALL * max(1, scale(corpus)))


@given(corpora(most_documents=2))
@settings(max_examples=30)
def test_the_chain_of_bounds(corpus: Corpus) -> None:
    near = SMALL * scale(corpus)
    wmd = corpus.truth("wmd")
    keep, omr, residual = (values(corpus, "rwmd", overlap=o) for o in ("keep", "omr", "residual"))
    assert (values(corpus, "wcd") <= wmd + near).all()
    assert (keep <= omr + near).all()
    assert (omr <= residual + near).all()
    assert (residual <= wmd + near).all()


@given(corpora(most_documents=2))
@settings(max_examples=30)
def test_the_chain_of_related_bounds(corpus: Corpus) -> None:
    near = SMALL * scale(corpus)
    keep, omr, residual = (values(corpus, "rel-rwmd", overlap=o) for o in ("keep", "omr", "residual"))
    assert (omr <= residual + near).all()
    assert (residual <= corpus.truth("rel-wmd", "residual") + near).all()
    assert (keep <= corpus.truth("rel-wmd", "keep") + near).all()


@given(corpora())
@settings(max_examples=30)
def test_every_pair_related_is_the_plain_distance(corpus: Corpus) -> None:
    related = RelatedWords.build(corpus.embeddings, len(corpus.embeddings))
    for overlap in ("omr", "keep", "residual"):
        np.testing.assert_allclose(
            values(corpus, "rel-rwmd", related=related, overlap=overlap),
            values(corpus, "rwmd", overlap=overlap),
            atol=SMALL * scale(corpus),
        )


@given(corpora(), st.sampled_from(FAST))
def test_symmetry_and_zero(corpus: Corpus, distance: str) -> None:
    near = SMALL * max(1, scale(corpus))
    idf = np.linspace(0.5, 1.5, len(corpus.embeddings)) if distance.startswith("tfidf") else None
    there = values(corpus, distance, weights=idf)
    back = values(replace(corpus, first=corpus.second, second=corpus.first), distance, weights=idf)
    np.testing.assert_allclose(there, back.T, atol=near)
    bags = corpus.first + corpus.second
    same = pairwise(
        matrix(bags, len(corpus.embeddings)),
        matrix(bags, len(corpus.embeddings)),
        distance,
        weights=idf,
        **corpus.options,
    )
    assert (np.diag(same) == 0).all()
    assert np.isfinite(same).all()
    assert (same >= 0).all()


@given(corpora(), st.sampled_from(FAST), st.integers(2, 9))
def test_scaled_counts_change_nothing(corpus: Corpus, distance: str, factor: int) -> None:
    scaled = pairwise(corpus.x * factor, corpus.y, distance, **corpus.options)
    np.testing.assert_array_equal(scaled, values(corpus, distance))


@given(corpora(), st.sampled_from(FAST), st.randoms(use_true_random=False))
def test_permuted_vocabulary_changes_nothing(corpus: Corpus, distance: str, random) -> None:
    """Also the graph is permuted, rather than built again: equal distances are ranked by id, so it could differ."""
    n = len(corpus.embeddings)
    order = list(range(n))
    random.shuffle(order)
    words = corpus.embeddings.vocabulary
    permuted = Embeddings([words[i] for i in order], corpus.embeddings.matrix[order], normalize=False)
    out = pairwise(corpus.x[:, order], corpus.y[:, order], distance, embeddings=permuted, related=corpus.related)
    np.testing.assert_allclose(out, values(corpus, distance), atol=SMALL * max(1, scale(corpus)))


@given(corpora(), st.sampled_from(FAST))
@settings(max_examples=30)
def test_empty_documents_are_kept_at_inf(corpus: Corpus, distance: str) -> None:
    with_empty = replace(corpus, first=[{}, *corpus.first], second=[*corpus.second, {}])
    out = values(
        with_empty, distance, on_empty="keep", weights=np.ones(len(corpus.embeddings)) if "tfidf" in distance else None
    )
    assert out[0, -1] == 0
    assert np.isinf(out[0, :-1]).all()
    assert np.isinf(out[1:, -1]).all()
    assert np.isfinite(out[1:, :-1]).all()
    dropped = values(
        with_empty, distance, on_empty="drop", weights=np.ones(len(corpus.embeddings)) if "tfidf" in distance else None
    )
    # The products behind rwmd may round the last bit otherwise in a batch of another shape.
    np.testing.assert_allclose(dropped, out[1:, :-1], rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@given(
    corpora(most_documents=6), st.sampled_from(["omr", "keep", "residual"]), st.sampled_from(["both", "left", "right"])
)
@settings(max_examples=1000)
def test_relaxed_values_are_the_reference_at_length(corpus: Corpus, overlap: str, side: str) -> None:
    for distance in ("rwmd", "rel-rwmd"):
        truth = corpus.truth(distance, overlap, side)
        out = values(corpus, distance, overlap=overlap, side=side)
        np.testing.assert_allclose(out, truth, atol=SMALL * scale(corpus))
