"""Vectors that a caller brings, of documents and of queries, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.encoders.codes import CodedQuery
from wordferry.encoders.encoder import Encoder, text_of
from wordferry.errors import InputError


def rows_of(given: Any, documents: int | None, dimension: int | None) -> Float32Array:
    """Vectors of documents as an array; a row of zeros, or of NaN, is that of a document without one."""
    try:
        found = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"vectors must be an array of numbers with a row for each document: {error}.") from None
    if found.ndim != 2 or not found.shape[1] or (documents is not None and len(found) != documents):
        wanted = "a row for each document" if documents is None else f"{documents} rows, one for each document"
        raise InputError(f"vectors must have {wanted}, got shape {found.shape}.")
    if dimension and found.shape[1] != dimension:
        raise InputError(f"The vectors have {found.shape[1]} dimensions, and those that are there have {dimension}.")
    return found


def query_vectors(
    texts: Sequence[str | Sequence[str]],
    given: Any,
    dimension: int,
    weight: float | None,
    encoder: Callable[[], Encoder | None],
) -> list[CodedQuery] | None:
    """The vector of each query, given or encoded; None where only words count.

    ``dimension`` is that of the documents' vectors, 0 where there are none. Each query is encoded alone, because with
    most encoders the last digits depend on what else is in a batch.
    """
    if not dimension:
        if given is not None:
            raise InputError("vector= is for documents that have vectors, made by encoder= or given as vectors=.")
        return None
    if weight == 0:
        return None
    if given is None:
        how = encoder()
        if how is None:
            raise InputError(
                "The documents have vectors, and there is no encoder for the query. Pass its vector (vector=), or an "
                "encoder=, or search by words alone with meaning=0."
            )
        found = [how.encode([text_of(text)])[0] for text in texts]
    else:
        try:
            array = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"vector must be a row of numbers for each query: {str(error).rstrip('.')}.") from None
        found = list(rows_of(array[None, :] if array.ndim == 1 and len(texts) == 1 else array, len(texts), None))
    if any(len(one) != dimension for one in found):
        raise InputError(f"The query's vector has {len(found[0])} dimensions, those of the documents have {dimension}.")
    return [CodedQuery.of(one) for one in found]
