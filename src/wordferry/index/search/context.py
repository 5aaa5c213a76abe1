"""Hits of a word search put into the order of what their words mean in their sentences."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from wordferry import clouds
from wordferry.encoders import Encoder
from wordferry.encoders.encoder import text_of
from wordferry.errors import InputError
from wordferry.index.results import Hits

_HOW = "rwmd"
"""With ``side="left"`` every word of the query goes to the nearest one of the document, as in ColBERT's MaxSim."""


def check_context(rerank: str, encoder: Encoder | None) -> str:
    """The model that ``rerank=`` asks of an index, or an error in the caller's words."""
    if rerank != "clouds":
        raise InputError(
            f"search(rerank=) can be 'clouds', words in context; got {rerank!r}. To compare texts by a distance, "
            "ask similar(text, distance=...)."
        )
    if encoder is None or not encoder.name.startswith("sentence-transformers:"):
        raise InputError(
            "rerank='clouds' asks the model of the index for its words in context: make the index with "
            "encoder='sentence-transformers:PATH'."
        )
    return encoder.name


def in_context(
    query: str | tuple[str, ...], hits: Hits, means: tuple[str, frozenset[str]], k: int, explain: bool
) -> Hits:
    """The k hits whose words are nearest to those of the query, whose stop words count where it has no others.

    ``means`` are the model and the stop words.
    """
    if not hits:
        return hits
    model, stop = means
    asked, *documents = clouds.encode([text_of(one) for one in (query, *(hit.text for hit in hits))], model)
    kept = [float(word not in stop) for word in asked.words]
    weights = kept if any(kept) else [1.0] * len(kept)
    near = clouds.top_k([asked], documents, min(k, len(hits)), _HOW, weights=([weights], None), side="left")
    found = []
    for place, distance in zip(near.indices[0].tolist(), near.distances[0].tolist(), strict=True):
        why = partial(clouds.explain, asked, documents[place], _HOW, weights=(weights, None), side="left")
        told = why() if explain else None
        found.append(replace(hits[place], distance=distance, score=None, explanation=told, why=why))
    method = f"{len(hits)} candidates by words, ordered by word vectors in context: not exact"
    return Hits(found, method=method, exact=False, counts=hits.counts, missing=hits.missing)
