"""The calls that most users need: each makes a measure and a run of its arguments, and asks the measure.

``distance``, ``pair``, ``paired`` and ``explain`` are about single pairs, and are Word Mover's Distance unless told
otherwise. ``pairwise``, ``one_to_many``, ``top_k`` and ``Searcher`` compare whole collections, and are ``rel-rwmd``
unless told otherwise, which is thousands of times cheaper.
"""

from __future__ import annotations

from typing import Any

from wordferry.base.arrays import BoolArray, Float32Array, Neighbors
from wordferry.base.runtime import MEMORY, Run, ShowProgress
from wordferry.compare.distances import find_weights
from wordferry.compare.measure import Measure, one
from wordferry.compare.problem import Distance
from wordferry.errors import EmptyDocumentError
from wordferry.explanations.explain import Explanation
from wordferry.texts.bow import Document, OnEmpty, Unknown
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
    weights: Any = "counts",
    unknown: Unknown = "match",
    idf: Any = None,
    out: Float32Array | None = None,
    explain_plan: bool = False,
    memory: int = MEMORY,
    threads: int | None = None,
    progress: ShowProgress = None,
    device: str = "cpu",
) -> Any:
    """Distances of all documents of X to all of Y, or of X to each other.

    Parameters
    ----------
    X, Y : lists of texts or token lists, or sparse matrices of non-negative weights over ``embeddings.vocabulary``
        with one row per document; rows are scaled to sum 1. ``Y=None`` compares X with itself in half the work.
    distance : a name of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``), or a
        distance object.
    embeddings : word vectors; None means the default ones (texts only).
    related : related words; None builds them (r = 16) over the words of X and Y, and keeps them for the next call.
    overlap : what happens to words in both documents: "keep", "omr" or "residual"; None is the distance's default.
    algorithm : "standard" works pair by pair, "linear" on all documents at once; the values are the same.
    side : "left" moves only X's words onto Y's, "right" only Y's onto X's, "both" is the larger of the two.
    on_empty : documents without a word: "error", "drop" (rows and columns disappear) or "keep" (at distance inf from
        all but other empty documents).
    tokenizer : splits texts; token lists are taken as they are.
    weights : what a word counts for: "counts", "idf", "log-idf" ((1 + ln count) idf), "bm25" (saturated and
        length-normalised), "norm" (the length that its vector had), "norm-idf" (that times idf), a TfIdf, a dict of
        words, or one number for each word of the vocabulary. Frequencies are those of Y (of X when there is no Y).
    unknown : words without a vector: "match" keeps them, at no cost onto themselves and at c_max onto every other word;
        "drop" leaves them out, "error" refuses them. A matrix has no such words.
    idf : the weights of the tf-idf distances, if not "idf": a TfIdf or an array.
    out : a float32 array to fill instead of a new one.
    explain_plan : return the :class:`~wordferry.compare.plan.Plan` (the method chosen, and what it is expected to cost)
        instead of distances.
    memory : bytes to work in beside the inputs and the output.
    threads : how many threads; None means ``WORDFERRY_THREADS``, else every usable core.
    progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)`` now and then.
    device : where to compute: "cpu".

    >>> import numpy as np
    >>> pairwise([["cat"], ["dog"]], [["cat"]], "bow-l1", embeddings=Embeddings(["cat", "dog"], np.eye(2)))
    array([[0.],
           [2.]], dtype=float32)
    """
    weighed = find_weights(distance, weights, idf)
    measure = Measure(distance, overlap, side, weighed, unknown, embeddings, related, tokenizer, on_empty)
    run = Run(threads, memory, progress, device)
    return measure.pairwise(X, Y, algorithm=algorithm, out=out, explain_plan=explain_plan, run=run)


def one_to_many(
    x: Any,
    Y: Any,
    distance: str | Distance = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    algorithm: str = "auto",
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    weights: Any = "counts",
    unknown: Unknown = "match",
    idf: Any = None,
    memory: int = MEMORY,
    threads: int | None = None,
    progress: ShowProgress = None,
    device: str = "cpu",
) -> Float32Array:
    """Distances of one document (a text, a token list, or a matrix of one row) to all of Y; a vector.

    The other arguments are those of :func:`pairwise`.
    """
    weighed = find_weights(distance, weights, idf)
    measure = Measure(distance, overlap, side, weighed, unknown, embeddings, related, tokenizer, on_empty)
    run = Run(threads, memory, progress, device)
    rows: Float32Array = measure.pairwise(one(x), Y, algorithm=algorithm, run=run)
    if not len(rows):
        raise EmptyDocumentError("x has no known word, so on_empty='drop' leaves nothing to compare.")
    row: Float32Array = rows[0]
    return row


def pair(
    x: Any,
    y: Any,
    distance: str | Distance = "wmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    weights: Any = "counts",
    unknown: Unknown = "match",
    idf: Any = None,
    memory: int = MEMORY,
    threads: int | None = None,
    device: str = "cpu",
) -> float:
    """The distance of two documents: texts, token lists, or matrices of one row; wmd unless told otherwise.

    The other arguments are those of :func:`pairwise`. Without ``related=`` the related words are those of the whole
    vocabulary of the vectors, so that a pair has one value, whatever else is compared.
    """
    weighed = find_weights(distance, weights, idf)
    measure = Measure(distance, overlap, side, weighed, unknown, embeddings, related, tokenizer, on_empty)
    return measure.pair(x, y, Run(threads, memory, None, device))


def distance(
    text_a: Document,
    text_b: Document,
    distance: str | Distance = "wmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    weights: Any = "counts",
    unknown: Unknown = "match",
    idf: Any = None,
    memory: int = MEMORY,
    threads: int | None = None,
    device: str = "cpu",
) -> float:
    """The distance of two texts: Word Mover's Distance with the default vectors unless told otherwise.

    The arguments are those of :func:`pair`, which says more.

    >>> obama, president = "Obama speaks to the media in Illinois", "The president greets the press in Chicago"
    >>> distance(obama, president) < distance(obama, "The band gave a concert in Japan")
    True
    """
    weighed = find_weights(distance, weights, idf)
    measure = Measure(distance, overlap, side, weighed, unknown, embeddings, related, tokenizer, on_empty)
    return measure.pair(text_a, text_b, Run(threads, memory, None, device))


def paired(
    A: Any,
    B: Any,
    distance: str | Distance = "wmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    weights: Any = "counts",
    unknown: Unknown = "match",
    idf: Any = None,
    memory: int = MEMORY,
    threads: int | None = None,
    progress: ShowProgress = None,
    device: str = "cpu",
) -> Float32Array:
    """The distance of each document of A to the document of B in the same place; one value per pair.

    The arguments are those of :func:`pairwise`; ``on_empty="drop"`` is refused, since rows must stay in step.

    >>> paired(["the cat sleeps", "stocks fell"], ["the cat sleeps", "a dog barks"]).round(2).tolist()[0]
    0.0
    """
    weighed = find_weights(distance, weights, idf)
    measure = Measure(distance, overlap, side, weighed, unknown, embeddings, related, tokenizer, on_empty)
    return measure.paired(A, B, Run(threads, memory, progress, device))


def top_k(
    X: Any,
    Y: Any,
    k: int,
    distance: str | Distance = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    algorithm: str = "auto",
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    weights: Any = "counts",
    unknown: Unknown = "match",
    idf: Any = None,
    mask: BoolArray | None = None,
    budget: int | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    progress: ShowProgress = None,
    device: str = "cpu",
) -> Neighbors:
    """The k documents of Y nearest to each of X, sorted by (distance, index); the whole matrix is never held.

    Parameters
    ----------
    X, Y : the queries and the documents to search: lists of texts or token lists, or sparse matrices of non-negative
        weights over ``embeddings.vocabulary`` with one row per document.
    k : how many documents to find for each query.
    distance, embeddings, related, overlap, algorithm, side, on_empty, tokenizer, weights, unknown, idf : how to
        compare; see :func:`pairwise`. Indices count the documents of the Y that was passed, also after
        ``on_empty="drop"``; a dropped document of X has no row.
    mask : one bool for each document of Y: which of them may be found.
    budget : at most how many transport problems are solved for a query; ``.proved`` of the result then says which
        places are those of the full answer. Without it the transport distances solve what can still win.
    memory, threads, progress, device : how to run; see :func:`pairwise`.
    """
    weighed = find_weights(distance, weights, idf)
    measure = Measure(distance, overlap, side, weighed, unknown, embeddings, related, tokenizer, on_empty)
    run = Run(threads, memory, progress, device)
    return measure.top_k(X, Y, k, mask=mask, budget=budget, algorithm=algorithm, run=run)


def explain(
    text_a: Document | Any,
    text_b: Document | Any,
    distance: str | Distance = "wmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    side: str = "both",
    tokenizer: Tokenizer | None = None,
    weights: Any = "counts",
    unknown: Unknown = "match",
    idf: Any = None,
) -> Explanation:
    """Take the distance of two documents apart. The arguments are those of :func:`wordferry.pairwise`.

    The transport distances show the optimal plan; the relaxed ones the assignments of the direction that costs more
    (or of ``side``); ``wcd``, cosine and the L1 distances what each word adds.

    >>> print(explain("Obama speaks to the media", "The president greets the press").rows[-1].kind)
    moved
    """
    weighed = find_weights(distance, weights, idf)
    return Measure(distance, overlap, side, weighed, unknown, embeddings, related, tokenizer).explain(text_a, text_b)
