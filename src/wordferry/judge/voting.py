"""Votes of the k nearest neighbours: the paper's, by number with k halved while classes tie, and votes by nearness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array, Int64Array
from wordferry.errors import InputError

PAPER_K = 19
RECOMMENDED_K, RECOMMENDED_DISTANCE, RECOMMENDED_WEIGHTS = 35, "rel-rwmd + 4*cosine", "log-idf"
"""How documents are classified by default, wherever that is done: chosen, with votes by gap, by cross-validation on
seven collections (python benchmarks/quality.py --choose)."""
VOTINGS = ("gap", "majority")
"""Neighbours count by how much nearer they are than the k-th, or all alike."""


@dataclass(frozen=True)
class Votes:
    """What the neighbours of each query voted for."""

    winner: Int64Array
    """The number of the winning class, -1 for a query without neighbours."""
    used: Int64Array
    """How many neighbours were left when the tie, if any, was broken."""
    shares: Float64Array
    """(queries, classes): the share of each class among the ``used`` nearest neighbours."""


def halvings(k: int) -> list[int]:
    """The numbers of neighbours that are tried one after another.

    >>> halvings(19)
    [19, 9, 4, 2, 1]
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}.")
    result = [k]
    while result[-1] > 1:
        result.append(result[-1] // 2)
    return result


def vote(classes: Any, number: int, k: int = PAPER_K) -> Votes:
    """Let the nearest neighbours vote; ties halve k until one class leads (Werner & Laber 2020, section 4.1).

    Parameters
    ----------
    classes : (queries, places) class numbers of the neighbours, nearest first (ordered by distance, then index); -1
        marks a place without neighbour, and such places come last.
    number : how many classes there are.
    k : how many neighbours vote; where fewer exist, all of them do.

    >>> vote([[1, 0, 0, 1]], 2, k=4).winner.tolist()   # 2:2, then 1:1, then the nearest decides
    [1]
    """
    neighbours = np.asarray(classes, dtype=np.int64)
    if neighbours.ndim != 2:
        raise InputError(
            f"classes must have one row per query, one column per neighbour; got shape {neighbours.shape}."
        )
    if neighbours.size and (neighbours.max() >= number or neighbours.min() < -1):
        raise InputError(f"Class numbers must lie in -1 .. {number - 1}, got {neighbours.min()} .. {neighbours.max()}.")
    halvings(k)  # refuses k < 1
    queries, places = neighbours.shape
    used = np.minimum((neighbours >= 0).sum(axis=1), k)
    shares = np.zeros((queries, number))
    winner = np.full(queries, -1, dtype=np.int64)
    open_rows = np.flatnonzero(used)
    while len(open_rows):
        voters = np.arange(places) < used[open_rows, None]
        rows, columns = np.nonzero(voters)
        ballots = rows * number + neighbours[open_rows[rows], columns]
        counts = np.bincount(ballots, minlength=len(open_rows) * number).reshape(-1, number)
        clear = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
        done = open_rows[clear]
        winner[done] = counts[clear].argmax(axis=1)
        shares[done] = counts[clear] / used[done, None]
        open_rows = open_rows[~clear]
        used[open_rows] //= 2
    return Votes(winner, used, shares)


def vote_by_gap(classes: Any, distances: Any, number: int, k: int) -> Votes:
    """Let each of the k nearest neighbours count by how much nearer it is than the k-th (Dudani 1976).

    The k-th itself has no vote. Where all are equally far, or two classes tie, :func:`vote` decides.

    Parameters
    ----------
    classes : (queries, places) class numbers of the neighbours, nearest first; -1 marks a place without neighbour, and
        such places come last.
    distances : their distances, in ascending order.
    number : how many classes there are.
    k : how many neighbours are looked at; where fewer exist, all of them are.

    >>> vote_by_gap([[1, 0, 0, 0]], [[0.1, 0.8, 0.9, 1.0]], 2, k=4).winner.tolist()   # 0.9 against 0.2 + 0.1
    [1]
    """
    votes = vote(classes, number, k)
    neighbours, far = np.asarray(classes, dtype=np.int64)[:, :k], np.asarray(distances, dtype=np.float64)[:, :k]
    there = neighbours >= 0
    gaps = gap_weights(far, there)
    sums = np.zeros((len(neighbours), number))
    rows, columns = np.nonzero(there)
    np.add.at(sums, (rows, neighbours[rows, columns]), gaps[rows, columns])
    best = sums.max(axis=1, keepdims=True, initial=0.0)
    clear = ((sums == best).sum(axis=1) == 1) & (best[:, 0] > 0)
    shares = np.divide(sums, sums.sum(axis=1, keepdims=True), out=votes.shares.copy(), where=clear[:, None])
    used = np.where(clear, (gaps > 0).sum(axis=1), votes.used)
    return Votes(np.where(clear, sums.argmax(axis=1), votes.winner), used, shares)


def gap_weights(distances: Any, there: Any) -> Float64Array:
    """How much nearer each neighbour is than the last one that is there; 0 for places without a neighbour."""
    far = np.where(there, distances, 0.0).astype(np.float64)
    gaps: Float64Array = np.where(there, far.max(axis=1, initial=0.0, keepdims=True) - far, 0.0)
    return gaps


def check_voting(voting: str) -> str:
    """The voting rule, or an error that names those there are."""
    if voting not in VOTINGS:
        raise InputError(f"voting must be one of {', '.join(map(repr, VOTINGS))}; got {voting!r}.")
    return voting


def decide(classes: Any, distances: Any, number: int, k: int, voting: str) -> Votes:
    """What neighbours vote for by one of ``VOTINGS``."""
    gap = check_voting(voting) == "gap"
    return vote_by_gap(classes, distances, number, k) if gap else vote(classes, number, k)


def error_rate(truth: Any, predicted: Any) -> float:
    """The share of wrong predictions, in percent; a query without prediction (-1) is wrong."""
    expected, got = np.asarray(truth), np.asarray(predicted)
    if expected.shape != got.shape or expected.ndim != 1 or not len(expected):
        raise InputError(
            f"Expected two lists of the same length, at least one long; got {expected.shape}, {got.shape}."
        )
    return 100.0 * float(np.mean(expected != got))


def class_numbers(labels: Sequence[Any]) -> tuple[Int64Array, list[Any]]:
    """Labels as numbers 0 .. c-1 in sorted order, and the labels those numbers stand for."""
    names, numbers = np.unique(np.asarray(labels), return_inverse=True)
    return numbers.astype(np.int64).ravel(), names.tolist()
