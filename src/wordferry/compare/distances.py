"""The calls that compute distances: ``pairwise``, ``one_to_many``, ``pair``, ``distance``."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.runtime import Progress, thread_count
from wordferry.compare import relaxed, transport
from wordferry.compare.measures import DISTANCES as DISTANCES
from wordferry.compare.measures import Distance as Distance
from wordferry.compare.measures import find_distance as find_distance
from wordferry.compare.plan import Plan, check_algorithm, make_plan
from wordferry.compare.problem import Problem, is_matrix, prepare, vectors_for
from wordferry.errors import InputError
from wordferry.kernels.native_transport import transport_pair
from wordferry.texts import bow
from wordferry.texts.bow import Document, OnEmpty
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords


def pairwise(
    X: Any,
    Y: Any = None,
    distance: str | Distance = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    algorithm: str = "auto",
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    idf: Any = None,
    out: Float32Array | None = None,
    memory: int = relaxed.MEMORY,
    threads: int | None = None,
    progress: Progress | None = None,
    explain_plan: bool = False,
) -> Any:
    """Distances of all documents of X to all of Y, or of X to each other.

    Parameters
    ----------
    X, Y : lists of texts or token lists, or sparse matrices of non-negative weights over ``embeddings.vocabulary``
        with a row a document; rows are scaled to sum 1. ``Y=None`` compares X with itself in half the work.
    distance : a name of ``wordferry.DISTANCES``.
    embeddings : word vectors; None means the default ones (texts only).
    related : related words; None builds them (r = 16) over the words of X and Y, and keeps them for the next call.
    overlap : what happens to words in both documents: "keep", "omr" or "residual"; None is the distance's default.
    algorithm : "standard" works pair by pair, "linear" on all documents at once; the values are the same.
    side : "left" moves only X's words onto Y's, "right" only Y's onto X's, "both" is the larger of the two.
    on_empty : documents without known words: "error", "drop" (rows and columns disappear) or "keep" (at distance
        inf from all but other empty documents).
    tokenizer : splits texts; token lists are taken as they are.
    idf : inverse document frequencies for the tf-idf distances (a TfIdf or an array); None fits them on Y
        (on X when there is no Y).
    out : a float32 array to fill instead of a new one.
    memory : bytes to work in beside the inputs and the output.
    threads, progress : see :mod:`wordferry.runtime`.
    explain_plan : return the :class:`~wordferry.compare.plan.Plan` (the method chosen, and what it is expected to cost)
        instead of distances.

    >>> pairwise([["cat"], ["dog"]], [["cat"]], "bow-l1", embeddings=Embeddings(["cat", "dog"], np.eye(2)))
    array([[0.],
           [2.]], dtype=float32)
    """
    problem = prepare(
        X,
        Y,
        distance,
        embeddings=embeddings,
        related=related,
        overlap=overlap,
        side=side,
        on_empty=on_empty,
        tokenizer=tokenizer,
        idf=idf,
        threads=threads,
        progress=progress,
    )
    check_memory(memory)
    if problem.distance.by_pairs:
        check_algorithm(problem, algorithm)
        if explain_plan:
            raise InputError(f"explain_plan describes the relaxed distances; {problem.distance.name} has no plan.")
        return evaluate(problem, _output(problem, out))
    plan = make_plan(problem, algorithm)
    return plan if explain_plan else evaluate(problem, _output(problem, out), plan, memory)


def evaluate(
    problem: Problem, out: Float32Array, plan: Plan | None = None, memory: int = relaxed.MEMORY
) -> Float32Array:
    """All distances of a prepared problem, written to ``out``."""
    if problem.distance.by_pairs:
        return transport.pairwise_problem(problem, out)
    return relaxed.fill(problem, out, plan, memory)


def check_memory(memory: Any) -> int:
    """A number of bytes, at least a megabyte."""
    if isinstance(memory, bool) or not hasattr(memory, "__index__") or int(memory) < 1 << 20:
        raise InputError(f"memory must be a whole number of bytes, at least {1 << 20}; got {memory!r}.")
    return int(memory)


def _output(problem: Problem, out: Float32Array | None) -> Float32Array:
    if out is None:
        return np.empty(problem.shape, dtype=np.float32)
    if not isinstance(out, np.ndarray) or out.shape != problem.shape or out.dtype != np.float32:
        came = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out must be a float32 array of shape {problem.shape}; got {came}.")
    if not out.flags.writeable or not out.flags.c_contiguous:
        raise InputError("out must be writeable and C-contiguous.")
    return out


def one_to_many(x: Any, Y: Any, distance: str | Distance = "rel-rwmd", **options: Any) -> Float32Array:
    """Distances of one document (a text, a token list, or a matrix of one row) to all of Y; a vector.

    The options are those of :func:`pairwise`.
    """
    row: Float32Array = pairwise(_single(x), Y, distance, **options)[0]
    return row


def pair(x: Any, y: Any, distance: str | Distance = "rel-rwmd", **options: Any) -> float:
    """The distance of two documents. The options are those of :func:`pairwise`.

    Without ``related=`` the related words are sought among the words of these two documents only, which is rarely
    what is wanted: pass the related words of a whole vocabulary.
    """
    value = _quick_wmd(x, y, options) if distance == "wmd" else None
    return float(pairwise(_single(x), _single(y), distance, **options)[0, 0]) if value is None else value


def _quick_wmd(x: Any, y: Any, options: dict[str, Any]) -> float | None:
    """wmd of two texts or token lists without what is needed for collections; None where there is more to see to."""
    if not options.keys() <= {"embeddings", "tokenizer", "threads"} or is_matrix(x) or is_matrix(y):
        return None
    thread_count(options.get("threads"))
    embeddings = vectors_for(x, y, DISTANCES["wmd"], options.get("embeddings"))
    if not isinstance(embeddings, Embeddings):
        return None
    bags = [bow.bag(document, embeddings.vocabulary, options.get("tokenizer")) for document in (x, y)]
    if not all(bags):
        return None
    value = float(np.float32(transport_pair(embeddings.matrix, *bags)))
    return None if np.isnan(value) else value


def distance(text_a: Document, text_b: Document, distance: str | Distance = "wmd", **options: Any) -> float:
    """The distance of two texts: Word Mover's Distance with the default vectors unless told otherwise.

    >>> obama, president = "Obama speaks to the media in Illinois", "The president greets the press in Chicago"
    >>> distance(obama, president) < distance(obama, "The band gave a concert in Japan")
    True
    """
    return pair(text_a, text_b, distance, **options)


def _single(x: Any) -> Any:
    """One document as a collection of one."""
    if is_matrix(x):
        if x.shape[0] != 1:
            raise InputError(f"Expected one document (a matrix of one row), got {x.shape[0]} rows.")
        return x
    return [x]
