"""The numbers behind the figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from wordferry import Embeddings
from wordferry.errors import InputError, NotFound
from wordferry.words.plots import distance_figure, distances_from, pair_sample


@pytest.fixture(scope="module")
def embeddings():
    return Embeddings([f"w{i}" for i in range(80)], np.random.default_rng(1).standard_normal((80, 5)))


def test_distances_from_a_word(embeddings):
    x = embeddings.matrix.astype(np.float64)
    expected = np.sort(np.linalg.norm(np.delete(x, 3, axis=0) - x[3], axis=1))
    np.testing.assert_allclose(distances_from(embeddings, "w3"), expected, rtol=1e-12)
    with pytest.raises(NotFound):
        distances_from(embeddings, "unknown")


def test_all_pairs_or_a_sample(embeddings):
    everything = pdist(embeddings.matrix.astype(np.float64))
    np.testing.assert_allclose(np.sort(pair_sample(embeddings)), np.sort(everything), rtol=1e-12)
    sample = pair_sample(embeddings, 3000, seed=2)
    assert len(sample) == 3000
    assert set(np.round(sample, 9)) <= set(np.round(everything, 9))
    assert sample.mean() == pytest.approx(everything.mean(), abs=4 * everything.std() / 3000**0.5)
    assert (sample == pair_sample(embeddings, 3000, seed=2)).all()
    assert (sample != pair_sample(embeddings, 3000, seed=3)).any()
    with pytest.raises(InputError, match="at least 2"):
        pair_sample(embeddings.restrict(["w0"]))


def test_figure_draws_those_numbers(embeddings):
    pytest.importorskip("matplotlib")
    left, right = distance_figure(embeddings, ["w3", "w4"]).axes
    np.testing.assert_array_equal(left.lines[1].get_ydata(), distances_from(embeddings, "w4"))
    heights = [bar.get_height() for bar in right.patches]
    assert sum(heights) == pytest.approx(100)
    assert "all 3,160 pairs" in right.get_title(loc="left")
    with pytest.raises(InputError, match="1 to 5"):
        distance_figure(embeddings, "w3")
