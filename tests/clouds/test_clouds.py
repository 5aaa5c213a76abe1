"""Documents as clouds of vectors: values against the reference and POT, exact search, explanations that add up."""

from __future__ import annotations

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordferry import clouds
from wordferry.errors import InputError
from wordferry.kernels import reference


def made(seed: int, count: int, dimensions: int = 5, largest: int = 7) -> tuple[list, list]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest + 1, count)
    return [rng.normal(size=(n, dimensions)) for n in sizes], [rng.integers(1, 9, n).astype(float) for n in sizes]


def unit(matrix):
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_wmd_is_the_optimal_transport_that_pot_finds(seed, normalize):
    (x, y), (p, q) = made(seed, 2)
    found = clouds.distance(x, y, weights=(p, q), normalize=normalize)
    a, b = (unit(x), unit(y)) if normalize else (x, y)
    costs = np.linalg.norm(a[:, None] - b[None], axis=2)
    assert found == pytest.approx(ot.emd2(p / p.sum(), q / q.sum(), costs), rel=2e-6, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_rwmd_is_the_reference_of_bags_whose_tokens_are_words(seed):
    (x, y), (p, q) = made(seed, 2)
    vectors = unit(np.concatenate([x, y]))
    bags = dict(enumerate(p / p.sum())), dict(enumerate(q / q.sum(), len(p)))
    expected = reference.rwmd(*bags, lambda i, j: np.linalg.norm(vectors[i] - vectors[j]))
    assert clouds.distance(x, y, "rwmd", weights=(p, q)) == pytest.approx(expected, abs=2e-6)


def test_the_left_side_of_rwmd_picks_the_tokens_that_maxsim_picks():
    (x, y), _ = made(3, 2)
    cosines = unit(x) @ unit(y).T
    expected = np.sqrt(2 - 2 * cosines.max(axis=1)).mean()
    assert clouds.distance(x, y, "rwmd", side="left") == pytest.approx(expected, abs=1e-6)
    rows = {row.source: row.target for row in clouds.explain(x, y, "rwmd", side="left").rows}
    assert rows == {f"a{i}": f"b{j}" for i, j in enumerate(cosines.argmax(axis=1))}


def one_way(a, b, p):
    """The mean over the tokens of a, by weight, of the distance to the nearest token of b."""
    costs = np.linalg.norm(unit(a)[:, None] - unit(b)[None], axis=2)
    return float(costs.min(axis=1) @ (p / p.sum()))


SIDES = {
    "left": lambda a, b, p, q: one_way(a, b, p),
    "right": lambda a, b, p, q: one_way(b, a, q),
    "both": lambda a, b, p, q: max(one_way(a, b, p), one_way(b, a, q)),
}


@pytest.mark.parametrize("side", SIDES)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_every_side_of_rwmd_in_every_call(side, seed):
    (x, p), (y, q) = made(seed, 3), made(seed + 1, 6)
    expected = np.array(
        [[SIDES[side](a, b, v, w) for b, w in zip(y, q, strict=True)] for a, v in zip(x, p, strict=True)]
    )
    found = clouds.pairwise(x, y, "rwmd", weights=(p, q), side=side)
    np.testing.assert_allclose(found, expected, atol=3e-6)
    assert clouds.distance(x[0], y[0], "rwmd", weights=(p[0], q[0]), side=side) == pytest.approx(
        expected[0, 0], abs=3e-6
    )
    near = clouds.top_k(x, y, 2, "rwmd", weights=(p, q), side=side)
    np.testing.assert_allclose(near.distances, np.sort(expected, axis=1)[:, :2], atol=3e-6)
    np.testing.assert_allclose(np.take_along_axis(expected, near.indices, axis=1), near.distances, atol=3e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_wmd_in_every_call(seed, normalize):
    (x, p), (y, q) = made(seed, 3), made(seed + 1, 7)
    left, right = ([unit(one) if normalize else one for one in side] for side in (x, y))
    expected = np.empty((3, 7))
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            costs = np.linalg.norm(a[:, None] - b[None], axis=2)
            expected[i, j] = ot.emd2(p[i] / p[i].sum(), q[j] / q[j].sum(), costs)
    options = {"weights": (p, q), "normalize": normalize}
    np.testing.assert_allclose(clouds.pairwise(x, y, **options), expected, rtol=5e-6, atol=2e-6)
    near = clouds.top_k(x, y, 3, **options)
    np.testing.assert_allclose(near.distances, np.sort(expected, axis=1)[:, :3], rtol=5e-6, atol=2e-6)


@pytest.mark.parametrize(("name", "side"), [("wmd", "both"), ("rwmd", "left"), ("rwmd", "right"), ("rwmd", "both")])
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_explanations_by_token_sum_to_the_distance(name, side, seed):
    (x, y), (p, q) = made(seed, 2)
    found = clouds.explain(x, y, name, weights=(p, q), side=side)
    assert sum(row.cost for row in found.rows) == pytest.approx(
        clouds.distance(x, y, name, weights=(p, q), side=side), abs=3e-6
    )
    assert set(found.a) == {f"a{i}" for i in range(len(x))}
    moved = {row.source: 0.0 for row in found.rows}
    for row in found.rows:
        moved[row.source] += row.mass
    if found.side != "right":
        np.testing.assert_allclose([moved[f"a{i}"] for i in range(len(x))], p / p.sum(), atol=1e-6)


def test_top_k_is_the_sorted_matrix():
    (x, p), (y, q) = made(1, 6), made(2, 40)
    whole = clouds.pairwise(x, y, weights=(p, q))
    found = clouds.top_k(x, y, 5, weights=(p, q))
    assert found.indices.tolist() == np.argsort(whole, axis=1, kind="stable")[:, :5].tolist()
    assert found.distances == pytest.approx(np.sort(whole, axis=1)[:, :5])
    assert found.solved < whole.size


def test_a_collection_with_itself_is_symmetric_and_zero_on_the_diagonal():
    x, _ = made(5, 8)
    whole = clouds.pairwise(x)
    assert np.array_equal(whole, whole.T)
    assert not whole.diagonal().any()


def test_an_explanation_names_the_tokens_and_sums_to_the_distance():
    (x, y), _ = made(9, 2, largest=4)
    names = ["bank"] * len(x), [f"word{i}" for i in range(len(y))]
    found = clouds.explain(x, y, tokens=names)
    assert sum(row.cost for row in found.rows) == pytest.approx(clouds.distance(x, y), abs=1e-6)
    assert set(found.b) == set(names[1])
    assert set(found.a) == {"bank", *(f"bank ({i})" for i in range(2, len(x) + 1))}


@pytest.mark.parametrize(
    ("a", "b", "options", "words"),
    [
        ([[1.0, 2.0]], [[1.0]], {}, "same dimensions"),
        ([], [[1.0]], {}, r"X\[0\]"),
        (np.zeros((0, 2)), [[1.0, 2.0]], {}, "has no token"),
        ([[0.0, 0.0]], [[1.0, 2.0]], {}, "'token 0 of X\\[0\\]'.* is zero"),
        ([[1.0, np.nan]], [[1.0, 2.0]], {}, "NaN"),
        ("text", [[1.0]], {}, "matrix of numbers"),
        ([[1.0]], [[2.0]], {"weights": ([1.0, 2.0], None)}, "1 tokens"),
        ([[1.0]], [[2.0]], {"weights": ([-1.0], None)}, "not negative"),
        ([[1.0]], [[2.0]], {"distance": "rel-rwmd"}, "Clouds are compared by"),
    ],
)
def test_bad_input_says_what_was_wrong(a, b, options, words):
    with pytest.raises(InputError, match=words):
        clouds.distance(a, b, **options)


def test_packed_clouds_are_those_of_the_list() -> None:
    rng = np.random.default_rng(5)
    clouds_of = [rng.normal(size=(size, 6)) for size in (3, 1, 4)]
    packed = np.concatenate(clouds_of), np.array([0, 3, 4, 8])
    for distance in ("wmd", "rwmd"):
        expected = clouds.pairwise(clouds_of, clouds_of[:2], distance)
        np.testing.assert_array_equal(clouds.pairwise(packed, clouds_of[:2], distance), expected)
    found = clouds.top_k(packed, packed, 2)
    np.testing.assert_array_equal(found.indices, clouds.top_k(clouds_of, clouds_of, 2).indices)
    with pytest.raises(InputError, match="offsets that rise from 0"):
        clouds.pairwise((packed[0], np.array([0, 3, 9])))
