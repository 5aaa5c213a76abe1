"""The transport solver: certified optima, equal to linear programming and to POT; hard costs; interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from wordferry.compare.transport import TransportPlan, scaled_masses, solve
from wordferry.errors import InputError, SolverError
from wordferry.kernels import passes


def linear_program(a, b, costs):
    m, n = costs.shape
    rows = sp.kron(sp.eye_array(m), np.ones((1, n)))
    columns = sp.kron(np.ones((1, m)), sp.eye_array(n))
    total = a.sum()
    equal = sp.csr_array(sp.vstack([rows, columns]))[:-1]
    result = linprog(costs.ravel(), A_eq=equal, b_eq=np.concatenate([a, b])[:-1] / total)
    assert result.status == 0
    return result.fun * total


def certify(a, b, costs, found, tolerance=1e-9):
    """Feasible plan, feasible duals, and complementary slackness, checked here and not only in the solver."""
    a, b, costs = np.asarray(a), np.asarray(b), np.asarray(costs, dtype=np.float64)
    dense = found.plan.to_dense(costs.shape)
    assert (found.plan.masses > 0).all()
    np.testing.assert_allclose(dense.sum(axis=1), a, rtol=1e-12)
    np.testing.assert_allclose(dense.sum(axis=0), b, rtol=1e-12)
    assert len(found.plan.masses) <= len(a) + len(b) - 1
    used = np.ix_(a > 0, b > 0)
    reduced = costs - found.duals[0][:, None] - found.duals[1][None, :]
    scale = max(1.0, np.abs(costs).max())
    assert reduced[used].min(initial=0) >= -tolerance * scale
    assert np.abs(reduced[found.plan.sources, found.plan.sinks]).max(initial=0) <= tolerance * scale
    assert found.cost == pytest.approx(float((dense * costs).sum()), rel=1e-12, abs=1e-12)
    assert found.certified in ("bounded", "exact")


def exact_optimum(a, b, costs):
    """The optimum of a small problem in rational numbers, by moving along improving cycles until there is none."""
    m, n = costs.shape
    cost = [[Fraction(float(costs[i, j])) for j in range(n)] for i in range(m)]
    flow = [[0] * n for _ in range(m)]
    left, right = list(map(int, a)), list(map(int, b))
    i = j = 0
    while i < m and j < n:
        flow[i][j] = mass = min(left[i], right[j])
        left[i] -= mass
        right[j] -= mass
        i, j = (i + 1, j) if left[i] == 0 else (i, j + 1)
    while cycle := _negative_cycle(cost, flow, m, n):
        mass = min(flow[i][j] for i, j, forward in cycle if not forward)
        for i, j, forward in cycle:
            flow[i][j] += mass if forward else -mass
    return sum(flow[i][j] * cost[i][j] for i in range(m) for j in range(n))


def _negative_cycle(cost, flow, m, n):
    """Bellman-Ford on the residual graph."""
    arcs = [(i, m + j, cost[i][j], (i, j, True)) for i in range(m) for j in range(n)]
    arcs += [(m + j, i, -cost[i][j], (i, j, False)) for i in range(m) for j in range(n) if flow[i][j]]
    length, before = [Fraction(0)] * (m + n), [None] * (m + n)
    last = None
    for _ in range(m + n):
        last = None
        for arc in arcs:
            if length[arc[0]] + arc[2] < length[arc[1]]:
                length[arc[1]], before[arc[1]] = length[arc[0]] + arc[2], arc
                last = arc[1]
    if last is None:
        return None
    for _ in range(m + n):
        last = before[last][0]
    cycle, node = [], last
    while not cycle or node != last:
        cycle.append(before[node][3])
        node = before[node][0]
    return cycle


def random_problem(rng, m, n, kind="float"):
    a, b = rng.integers(1, 9, m), rng.integers(1, 9, n)
    costs = rng.random((m, n)) if kind == "float" else rng.integers(0, 4, (m, n)).astype(float)
    return a * b.sum(), b * a.sum(), costs


@pytest.mark.parametrize("kind", ["float", "few values"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 2), (3, 7), (9, 9), (20, 31), (40, 40)])
def test_equals_linear_programming(shape, kind):
    rng = np.random.default_rng(shape)
    for _ in range(3):
        a, b, costs = random_problem(rng, *shape, kind)
        found = solve(a, b, costs)
        certify(a, b, costs, found)
        assert found.cost == pytest.approx(linear_program(a, b, costs), rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("kind", ["distances", "few values", "equal masses"])
def test_a_large_one_equals_linear_programming(kind):
    rng = np.random.default_rng(8)
    a, b, costs = random_problem(rng, 500, 500, "few values")
    if kind != "few values":
        costs = np.linalg.norm(rng.normal(size=(500, 1, 10)) - rng.normal(size=(1, 500, 10)), axis=2)
    if kind == "equal masses":
        a, b = np.ones(500, np.int64), np.ones(500, np.int64)
    found = solve(a, b, costs)
    certify(a, b, costs, found)
    assert found.cost == pytest.approx(linear_program(a, b, costs), rel=1e-7, abs=1e-6 * a.sum())


def degenerate_problems():
    rng = np.random.default_rng(11)
    ones = np.ones(12, np.int64)
    points = rng.random((12, 3))
    points[6:] = points[:6]
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    yield "assignment", ones, ones, rng.random((12, 12))
    yield "equal costs", ones, ones, np.full((12, 12), 0.5)
    yield "zero costs", ones * 3, ones * 3, np.zeros((12, 12))
    yield "duplicate vectors", ones, ones, distances
    yield "two masses", np.repeat([5, 1], 6), np.repeat([1, 5], 6), rng.integers(0, 3, (12, 12)).astype(float)
    yield "negative costs", ones, ones, rng.normal(size=(12, 12))
    yield "zero masses", np.array([0, 3, 0, 1]), np.array([2, 0, 2]), rng.random((4, 3))
    yield "nothing", np.zeros(2, np.int64), np.zeros(3, np.int64), rng.random((2, 3))
    yield "huge masses", np.array([2**59, 1, 7]), np.array([2**58, 2**58 + 8]), rng.random((3, 2))


@pytest.mark.parametrize(
    ("name", "a", "b", "costs"), list(degenerate_problems()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_degenerate(name, a, b, costs):
    found = solve(a, b, costs)
    certify(a, b, costs, found)
    expected = float(exact_optimum(a, b, costs)) if a.sum() else 0.0
    assert found.cost == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shape", [(10, 10), (70, 70), (70, 45), (500, 500)])
def test_equals_pot(shape):
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(shape)
    x, y = rng.normal(size=(shape[0], 20)), rng.normal(size=(shape[1], 20))
    costs = np.linalg.norm(x[:, None] - y[None], axis=2)
    a, b, _ = random_problem(rng, *shape)
    found = solve(a, b, costs)
    certify(a, b, costs, found)
    theirs = ot.emd2(a / a.sum(), b / b.sum(), costs, numItermax=10**7)
    assert found.cost / a.sum() == pytest.approx(theirs, rel=1e-9)


def test_float_masses_are_scaled():
    rng = np.random.default_rng(5)
    a, b, costs = rng.random(9), rng.random(7), rng.random((9, 7))
    a, b = a / a.sum(), b / b.sum()
    found = solve(a, b, costs)
    assert found.cost == pytest.approx(linear_program(a, b, costs), rel=1e-9)
    np.testing.assert_allclose(found.plan.to_dense((9, 7)).sum(axis=1), a, atol=1e-14)


def test_scaled_masses_sum_and_order():
    whole = scaled_masses(np.array([0, 3, 3, 5]), np.array([1.0, 1.0, 1.0, 1e-30, 1.0]))
    assert whole.tolist() == [2**52 // 3 + 1, 2**52 // 3, 2**52 // 3, 1, 2**52 - 1]


def test_the_costs_of_pot_issue_229():
    """Reported there with entries of 1e32: the cheapest plan costs 57.54, where POT finds one of 88.51."""
    far, farther = 2.5e31, 1e32
    costs = np.array(
        [
            [250.275352, 374.653218, 2413.52736, farther, 0.0015175154],
            [213.08203, 328.812836, 2294.87946, farther, 0.1371098],
            [197.333083, 309.175848, 2242.5055, farther, 2.46506283],
            [farther, farther, farther, 5.26223432, far],
            [38.4690152, 80.9465684, 333.064175, far, 0.0],
        ]
    )
    shares = np.array([0.125, 0.125, 0.125, 0.125, 0.5])
    for masses in (shares, (8 * shares).astype(np.int64)):
        found = solve(masses, masses, costs)
        optimum = (0.0015175154 + 0.1371098 + 2.46506283 + 5.26223432 + 38.4690152 + 80.9465684 + 333.064175) / 8
        assert found.cost / masses.sum() == pytest.approx(optimum, rel=1e-12)
        assert found.cost / masses.sum() == pytest.approx(57.54, abs=0.01)


WIDE_SEEDS = range(40)


@pytest.mark.parametrize("seed", WIDE_SEEDS)
def test_costs_over_many_orders_of_magnitude(seed):
    """Entries of 1e32 beside 1e-3 in 5 x 5 problems, where float64 potentials cannot tell good from bad."""
    rng = np.random.default_rng(seed)
    costs = 10.0 ** rng.uniform(-3, 2, (5, 5))
    costs[rng.random((5, 5)) < 0.5] = 1e32 if seed % 2 else 10.0 ** rng.uniform(20, 32)
    a, b = rng.integers(1, 5, 5), rng.integers(1, 5, 5)
    a, b = a * b.sum(), b * a.sum()
    found = solve(a, b, costs)
    expected = exact_optimum(a, b, costs)
    assert found.cost == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("exponents", [(-300, 300), (-320, -300), (290, 306)])
def test_costs_over_the_whole_range_of_doubles(exponents):
    rng = np.random.default_rng(8)
    costs = 10.0 ** rng.uniform(*exponents, (4, 4))
    a = b = np.ones(4, np.int64)
    found = solve(a, b, costs)
    assert found.cost == pytest.approx(float(exact_optimum(a, b, costs)), rel=1e-12)


@pytest.mark.parametrize("side", [4, 20])
def test_costs_at_both_ends_of_the_range(side):
    """Differences of such costs overflow, in float64 but not in exact arithmetic."""
    costs = np.where(np.random.default_rng(side).random((side, side)) < 0.5, -1.5e308, 1.5e308)
    np.fill_diagonal(costs, 1.0)
    a = np.ones(side, np.int64)
    found = passes.transport_one(a, a, costs)
    assert (TransportPlan(found.sources, found.sinks, found.masses).to_dense(costs.shape).sum(axis=0) == 1).all()
    total = sum(Fraction(float(costs[i, j])) for i, j in zip(found.sources, found.sinks, strict=True))
    assert total == exact_optimum(a, a, costs)
    with pytest.raises(InputError, match="too much for float64"):
        solve(a, a, costs)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(1, 3), (5, 5)])
def test_costs_that_are_not_finite(bad, shape):
    costs = np.random.default_rng(1).random(shape)
    costs[0, -1] = bad
    a, b = np.full(shape[0], shape[1]), np.full(shape[1], shape[0])
    with pytest.raises(SolverError, match=r"1 of .* costs are NaN or infinite"):
        solve(a, b, costs)


def test_bad_input():
    costs = np.zeros((2, 2))
    with pytest.raises(InputError, match="equal sums"):
        solve([1, 2], [2, 2], costs)
    with pytest.raises(InputError, match="equal sums"):
        solve([1.0, 2.0], [2.0, 2.0], costs)
    with pytest.raises(InputError, match="shape"):
        solve([1, 2], [3], costs)
    with pytest.raises(InputError, match="not negative"):
        solve([-1, 4], [1, 2], costs)
    with pytest.raises(InputError, match="vector of numbers"):
        solve([[1]], [1], [[0.0]])


def many(count, seed):
    """Random small problems of every kind, solved in batches; each must be proved, and a sample equals the LP."""
    rng = np.random.default_rng(seed)
    solved = 0
    while solved < count:
        m, n, size = int(rng.integers(1, 9)), int(rng.integers(1, 9)), min(5000, count - solved)
        top = int(rng.integers(1, 5))
        a, b = rng.integers(1, top + 1, (size, m)), rng.integers(1, top + 1, (size, n))
        a, b = a * b.sum(axis=1, keepdims=True), b * a.sum(axis=1, keepdims=True)
        kind = solved // 5000 % 3
        costs = rng.random((size, m, n)) if kind == 0 else rng.integers(0, 2 + 2 * kind, (size, m, n)).astype(float)
        total, _, proof = passes.transport_many(a, b, costs, 2)
        assert (proof > 0).all()
        for k in range(0, size, max(1, size // 3)):
            assert total[k] == pytest.approx(linear_program(a[k], b[k], costs[k]), rel=1e-7, abs=1e-6)
        solved += size
    return solved


def test_many_small_problems():
    assert many(60_000, 0) == 60_000


@pytest.mark.slow
def test_a_million_small_problems():
    assert many(1_000_000, 1) == 1_000_000


ONE_LONG = """
import numpy as np
from wordferry import _native
costs = 10.0 ** np.random.default_rng(0).uniform(-30, 30, (1, 1000, 1000))
a, out = np.ones((1, 1000), np.int64), np.full(1, np.nan)
def work():
    out[:] = _native.transport_many(a, a, costs, {threads})[0]
"""
MANY_SHORT = """
import numpy as np, scipy.sparse as sp, wordferry
rng = np.random.default_rng(0)
embeddings = wordferry.Embeddings([str(i) for i in range(2000)], rng.normal(size=(2000, 20)))
X = sp.csr_array(rng.integers(1, 9, (400, 2000)) * (rng.random((400, 2000)) < 0.1))
out = np.full((400, 400), np.nan, np.float32)
def work():
    wordferry.pairwise(X, X.copy(), "wmd", embeddings=embeddings, threads={threads}, out=out)
"""
INTERRUPTED = """
print("ready", flush=True)
try:
    work()
except KeyboardInterrupt:
    print("stopped early" if np.isnan(out).any() else "ran to the end")
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("job", [ONE_LONG, MANY_SHORT], ids=["one long", "many short"])
@pytest.mark.skipif(os.name == "nt", reason="signals work differently there")
def test_ctrl_c_is_heard_inside_a_call(threads, job):
    code = job.format(threads=threads) + INTERRUPTED
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    assert output == b"stopped early\n"
