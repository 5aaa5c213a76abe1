"""Comparing texts where words weigh more or less, and where words without vectors count: what ``similar`` does.

Documents are compared through their lists, as they are stored, and by ``wcd`` through codes of their centroids. Where
that rules out too little, the living documents of an index that is not large are prepared in memory, with the
frequencies that they have together, and kept until the index changes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base.runtime import ShowProgress, progress_for
from wordferry.index.model import Hit, Hits
from wordferry.index.passages import best_passages
from wordferry.index.searching import Plan, document, found_documents, tokens_of, without
from wordferry.index.snapshot import Snapshot
from wordferry.index.weighed_state import Weighing
from wordferry.texts.bow import LookedUp

if TYPE_CHECKING:
    from wordferry.index.index import Index


def run(
    index: Index,
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    plan: Plan,
    weighing: Weighing,
    asked: Sequence[LookedUp],
    threads: int | None,
    progress: ShowProgress,
) -> list[Hits]:
    """The hits of every query, given as tokens."""
    words = "" if weighing.unknown == "drop" else ", words without vectors kept"
    method = f"{plan.record.name}, weights {weighing.weights}{words}"
    if plan.rerank is not None:
        method = f"{plan.candidates} candidates by {method}, ordered by {plan.rerank.name}: not exact"
    options: dict[str, Any] = {"method": method, "exact": plan.rerank is None}
    mask = without(connection, snapshot, snapshot.allowed(plan.condition), plan.without)
    if not snapshot.documents or not asked or (mask is not None and not mask.any()):
        return [Hits(**options) for _ in asked]
    k = min(plan.k if plan.rerank is None else plan.candidates, snapshot.documents)
    engine, record = index.weighed, plan.rerank or plan.record
    tell = progress_for(progress, "searching")
    near = engine.top_k(connection, snapshot, plan.record, weighing, asked, k, mask, threads, tell)
    options["counts"] = near.counts
    if plan.rerank is not None:
        k = min(plan.k, snapshot.documents)
        near = engine.reranked(connection, snapshot, record, weighing, asked, near, k, threads)
    rows = found_documents(index, connection, snapshot, np.unique(near.indices[near.indices >= 0]))
    reason = engine.reasons(connection, snapshot, record, weighing)
    made = []
    for tokens, row in zip(asked, near, strict=True):
        passages = partial(best_passages, index, snapshot, tokens)
        made.append(Hits(_hits(index, tokens, row, rows, plan.explain, reason, passages), **options))
    return made


def _hits(
    index: Index,
    tokens: LookedUp,
    near: tuple[Any, Any],
    rows: dict[int, tuple[Any, ...]],
    explain: bool,
    reason: Callable[..., Any],
    passages: Callable[..., list[Any]],
) -> list[Hit]:
    hits = []
    for place, distance in zip(*(values.tolist() for values in near), strict=True):
        if place < 0:
            continue
        found = document(rows[place])
        why = partial(_why, index, reason, tokens, found.text, distance)
        told = why() if explain else None
        own = (found.id, found.text, found.metadata, found.label)
        hits.append(Hit(*own, distance, explanation=told, why=why, where=partial(passages, found.text)))
    return hits


def _why(index: Index, reason: Callable[..., Any], tokens: LookedUp, text: str | Sequence[str], distance: float) -> Any:
    """Which word moved where; None for a document without words."""
    return None if np.isinf(distance) else reason(tokens, tokens_of(index, text))
