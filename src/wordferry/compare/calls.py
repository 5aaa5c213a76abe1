"""The calls that most users need: each makes a measure and a run of its arguments, and asks the measure.

``distance``, ``paired`` and ``explain`` are about single pairs, and are Word Mover's Distance unless told otherwise.
``pairwise``, ``top_k`` and ``Searcher`` compare whole collections, and are ``rel-rwmd`` unless told otherwise, which is
thousands of times cheaper. One document is called ``a`` or ``b``, a collection ``X`` or ``Y``.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack, overload

from wordferry.base.arrays import BoolArray, Float32Array, Neighbors
from wordferry.base.runtime import MEMORY, Run, ShowProgress
from wordferry.compare.measure import Measure
from wordferry.compare.problem import Distance
from wordferry.explanations.explain import Explanation
from wordferry.explanations.marked import SentenceExplanation
from wordferry.texts.bow import OnEmpty, Unknown
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords


def distance(
    a: Any,
    b: Any,
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
    memory: int = MEMORY,
    threads: int | None = None,
    device: str | None = None,
) -> float:
    """The distance of two documents: Word Mover's Distance with the default vectors unless told otherwise.

    Parameters
    ----------
    a, b : texts, token lists, or sparse matrices of one row over ``embeddings.vocabulary``.
    distance : a name of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``), a sum of
        several (``"rel-rwmd + 0.5*cosine"``), or a distance object.
    embeddings : word vectors; None means the default ones (texts only: a matrix needs the vectors of its columns).
    related : related words. None means those of the whole vocabulary of the vectors (r = 16), with its c_max, so that
        a pair of texts has one value whichever call is asked and whatever else is compared. Those of the default
        vectors come with the package; those of others are found once and kept in the user's cache folder, which takes
        some 20 s of processor time at most for 100,000 words, and half a minute for 340,000 (by clusters).
    overlap : what happens to words that both documents have: "keep", "omr" or "residual"; None is the distance's
        default.
    side : "left" moves only the words of a onto those of b, "right" only the words of b onto those of a, "both" is the
        larger of the two. For the relaxed distances.
    on_empty : documents without a word: "error", or "keep" (at distance inf from one with words, 0 from another empty
        one).
    tokenizer : splits texts; None is the default one. Token lists are taken as they are.
    weights : what a word counts for: "counts", "idf", "log-idf" ((1 + ln count) idf), "bm25" (saturated and
        length-normalised), "norm" (the length that its vector had), "norm-idf" (that times idf), a TfIdf, a dict of
        words, or one number for each word of the vocabulary. Two texts are no collection to count document frequencies
        in: for the schemes with idf pass a TfIdf that was fitted on one.
    unknown : words without a vector: "match" keeps them, at no cost onto themselves and at c_max onto every other word;
        "drop" leaves them out, "error" refuses them. A matrix has no such words.
    memory : bytes to work in beside the inputs.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None means
        ``WORDFERRY_DEVICE``, else "cpu".

    Returns
    -------
    float
        The distance: 0 for equal bags of words, inf where only one document has a word (``on_empty="keep"``).

    Examples
    --------
    >>> obama, president = "Obama speaks to the media in Illinois", "The president greets the press in Chicago"
    >>> distance(obama, president) < distance(obama, "The band gave a concert in Japan")
    True
    """
    measure = Measure(distance, overlap, side, weights, unknown, embeddings, related, tokenizer, on_empty)
    return measure.pair(a, b, Run(threads, memory, None, device))


def paired(
    X: Any,
    Y: Any,
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
    memory: int = MEMORY,
    threads: int | None = None,
    progress: ShowProgress = None,
    device: str | None = None,
) -> Float32Array:
    """The distance of each document of X to the document of Y in the same place.

    Parameters
    ----------
    X, Y : two collections of as many documents: lists of texts or token lists, or sparse matrices over
        ``embeddings.vocabulary`` with one row per document.
    distance : a name of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``), a sum of
        several (``"rel-rwmd + 0.5*cosine"``), or a distance object.
    embeddings : word vectors; None means the default ones (texts only: a matrix needs the vectors of its columns).
    related : related words. None means those of the whole vocabulary of the vectors (r = 16), with its c_max, so that
        a pair of texts has one value whichever call is asked and whatever else is compared. Those of the default
        vectors come with the package; those of others are found once and kept in the user's cache folder, which takes
        some 20 s of processor time at most for 100,000 words, and half a minute for 340,000 (by clusters).
    overlap : what happens to words that both documents have: "keep", "omr" or "residual"; None is the distance's
        default.
    side : "left" moves only the words of X's documents onto those of Y's, "right" only Y's onto X's, "both" is the
        larger of the two. For the relaxed distances.
    on_empty : documents without a word: "error", or "keep" (at distance inf from those with words, 0 from empty ones);
        "drop" is refused, because pairs would get out of step.
    tokenizer : splits texts; None is the default one. Token lists are taken as they are.
    weights : what a word counts for: "counts", "idf", "log-idf" ((1 + ln count) idf), "bm25" (saturated and
        length-normalised), "norm" (the length that its vector had), "norm-idf" (that times idf), a TfIdf, a dict of
        words, or one number for each word of the vocabulary. Document frequencies are those of Y.
    unknown : words without a vector: "match" keeps them, at no cost onto themselves and at c_max onto every other word;
        "drop" leaves them out, "error" refuses them. A matrix has no such words.
    memory : bytes to work in beside the inputs and the output.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)`` now and then.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None means
        ``WORDFERRY_DEVICE``, else "cpu".

    Returns
    -------
    numpy.ndarray
        float32, one distance for each pair.

    Examples
    --------
    >>> paired(["the cat sleeps", "stocks fell"], ["the cat sleeps", "a dog barks"]).round(2).tolist()[0]
    0.0
    """
    measure = Measure(distance, overlap, side, weights, unknown, embeddings, related, tokenizer, on_empty)
    return measure.paired(X, Y, Run(threads, memory, progress, device))


def pairwise(
    X: Any,
    Y: Any = None,
    distance: str | Distance = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    weights: Any = "counts",
    unknown: Unknown = "match",
    algorithm: str = "auto",
    out: Float32Array | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    progress: ShowProgress = None,
    device: str | None = None,
) -> Float32Array:
    """Distances of all documents of X to all of Y, or of X to each other.

    Parameters
    ----------
    X, Y : lists of texts or token lists, or sparse matrices of non-negative weights over ``embeddings.vocabulary``
        with one row per document; rows are scaled to sum 1. ``Y=None`` compares X with itself in half the work.
    distance : a name of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``), a sum of
        several (``"rel-rwmd + 0.5*cosine"``), or a distance object.
    embeddings : word vectors; None means the default ones (texts only: a matrix needs the vectors of its columns).
    related : related words. None means those of the whole vocabulary of the vectors (r = 16), with its c_max, so that
        a pair of texts has one value whichever call is asked and whatever else is compared. Those of the default
        vectors come with the package; those of others are found once and kept in the user's cache folder, which takes
        some 20 s of processor time at most for 100,000 words, and half a minute for 340,000 (by clusters).
    overlap : what happens to words that both documents have: "keep", "omr" or "residual"; None is the distance's
        default.
    side : "left" moves only the words of X's documents onto those of Y's, "right" only Y's onto X's, "both" is the
        larger of the two. For the relaxed distances.
    on_empty : documents without a word: "error", "drop" (rows and columns disappear) or "keep" (at distance inf from
        all but other empty documents).
    tokenizer : splits texts; None is the default one. Token lists are taken as they are.
    weights : what a word counts for: "counts", "idf", "log-idf" ((1 + ln count) idf), "bm25" (saturated and
        length-normalised), "norm" (the length that its vector had), "norm-idf" (that times idf), a TfIdf, a dict of
        words, or one number for each word of the vocabulary. Document frequencies are those of Y (of X when there is
        no Y).
    unknown : words without a vector: "match" keeps them, at no cost onto themselves and at c_max onto every other word;
        "drop" leaves them out, "error" refuses them. A matrix has no such words.
    algorithm : "standard" works pair by pair, "linear" on all documents at once; the values are the same, and "auto"
        takes the cheaper (:meth:`Measure.plan` says which that is).
    out : a float32 array to fill instead of a new one.
    memory : bytes to work in beside the inputs and the output.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)`` now and then.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None means
        ``WORDFERRY_DEVICE``, else "cpu".

    Returns
    -------
    numpy.ndarray
        float32, one row for each document of X and one column for each of Y; ``out`` where that was given.

    Examples
    --------
    >>> import numpy as np
    >>> pairwise([["cat"], ["dog"]], [["cat"]], "bow-l1", embeddings=Embeddings(["cat", "dog"], np.eye(2)))
    array([[0.],
           [2.]], dtype=float32)
    """
    measure = Measure(distance, overlap, side, weights, unknown, embeddings, related, tokenizer, on_empty)
    return measure.pairwise(X, Y, algorithm=algorithm, out=out, run=Run(threads, memory, progress, device))


def top_k(
    X: Any,
    Y: Any,
    k: int,
    distance: str | Distance = "rel-rwmd",
    *,
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    side: str = "both",
    on_empty: OnEmpty = "error",
    tokenizer: Tokenizer | None = None,
    weights: Any = "counts",
    unknown: Unknown = "match",
    algorithm: str = "auto",
    mask: BoolArray | None = None,
    budget: int | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    progress: ShowProgress = None,
    device: str | None = None,
) -> Neighbors:
    """The k documents of Y nearest to each of X, exact; no matrix of all distances is held.

    Parameters
    ----------
    X, Y : the queries and the documents to search: lists of texts or token lists, or sparse matrices of non-negative
        weights over ``embeddings.vocabulary`` with one row per document.
    k : number of documents to find for each query; where Y has fewer, all of them are given.
    distance : a name of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``), a sum of
        several (``"rel-rwmd + 0.5*cosine"``), or a distance object.
    embeddings : word vectors; None means the default ones (texts only: a matrix needs the vectors of its columns).
    related : related words. None means those of the whole vocabulary of the vectors (r = 16), with its c_max, so that
        a pair of texts has one value whichever call is asked and whatever else is compared. Those of the default
        vectors come with the package; those of others are found once and kept in the user's cache folder, which takes
        some 20 s of processor time at most for 100,000 words, and half a minute for 340,000 (by clusters).
    overlap : what happens to words that both documents have: "keep", "omr" or "residual"; None is the distance's
        default.
    side : "left" moves only the words of X's documents onto those of Y's, "right" only Y's onto X's, "both" is the
        larger of the two. For the relaxed distances.
    on_empty : documents without a word: "error", "drop" (one of Y is never found, one of X has no row) or "keep" (at
        distance inf from all but other empty documents).
    tokenizer : splits texts; None is the default one. Token lists are taken as they are.
    weights : what a word counts for: "counts", "idf", "log-idf" ((1 + ln count) idf), "bm25" (saturated and
        length-normalised), "norm" (the length that its vector had), "norm-idf" (that times idf), a TfIdf, a dict of
        words, or one number for each word of the vocabulary. Document frequencies are those of Y.
    unknown : words without a vector: "match" keeps them, at no cost onto themselves and at c_max onto every other word;
        "drop" leaves them out, "error" refuses them. A matrix has no such words.
    algorithm : "standard" works pair by pair, "linear" on all documents at once; the values are the same, and "auto"
        takes the cheaper.
    mask : one bool for each document of Y: which of them may be found.
    budget : the most transport problems to solve for a query; ``.proved`` of the result then says which places are
        those of the full answer. Without it the transport distances solve what can still win.
    memory : bytes to work in beside the inputs and the result.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)`` now and then.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None means
        ``WORDFERRY_DEVICE``, else "cpu".

    Returns
    -------
    Neighbors
        ``indices`` (int64) and ``distances`` (float32) with a row for each query and min(k, documents of Y) columns,
        sorted by distance and then index. Indices count the documents of the Y that was passed. Places that dropped or
        masked documents leave are -1 and inf. ``solved`` counts transport problems.

    Examples
    --------
    >>> top_k(["a dog barks"], ["stocks fell", "the cat sleeps"], 1).indices.tolist()
    [[1]]
    >>> top_k(["a dog barks"], ["stocks fell", "the cat sleeps"], 10).indices.shape
    (1, 2)
    """
    measure = Measure(distance, overlap, side, weights, unknown, embeddings, related, tokenizer, on_empty)
    run = Run(threads, memory, progress, device)
    return measure.top_k(X, Y, k, mask=mask, budget=budget, algorithm=algorithm, run=run)


class ExplainOptions(TypedDict, total=False):
    """How :func:`explain` compares, for type checkers."""

    embeddings: Embeddings | None
    related: RelatedWords | None
    overlap: str | None
    side: str
    tokenizer: Tokenizer | None
    weights: Any
    unknown: Unknown


@overload
def explain(
    a: Any, b: Any, distance: str | Distance = "wmd", *, by: Literal["word"] = "word", **how: Unpack[ExplainOptions]
) -> Explanation: ...
@overload
def explain(
    a: Any, b: Any, distance: str | Distance = "wmd", *, by: Literal["sentence"], **how: Unpack[ExplainOptions]
) -> SentenceExplanation: ...
def explain(
    a: Any,
    b: Any,
    distance: str | Distance = "wmd",
    *,
    by: Literal["word", "sentence"] = "word",
    embeddings: Embeddings | None = None,
    related: RelatedWords | None = None,
    overlap: str | None = None,
    side: str = "both",
    tokenizer: Tokenizer | None = None,
    weights: Any = "counts",
    unknown: Unknown = "match",
) -> Explanation | SentenceExplanation:
    """Take the distance of two documents apart: which word went where, and what that cost.

    The transport distances show the optimal plan; the relaxed ones the assignments of the direction that costs more
    (or of ``side``); ``wcd``, cosine and the L1 distances what each word adds.

    Parameters
    ----------
    a, b : texts, token lists, or sparse matrices of one row over ``embeddings.vocabulary``. Both need a word.
    distance : a name of ``wordferry.DISTANCES``, with parameters if it has any (``"act(transfers=5)"``), a sum of
        several (``"rel-rwmd + 0.5*cosine"``), or a distance object.
    by : "word", or "sentence" for which sentence of a went to which of b, and with which words.
    embeddings : word vectors; None means the default ones (texts only: a matrix needs the vectors of its columns).
    related : related words. None means those of the whole vocabulary of the vectors (r = 16), with its c_max, so that
        a pair of texts has one value whichever call is asked and whatever else is compared. Those of the default
        vectors come with the package; those of others are found once and kept in the user's cache folder, which takes
        some 20 s of processor time at most for 100,000 words, and half a minute for 340,000 (by clusters).
    overlap : what happens to words that both documents have: "keep", "omr" or "residual"; None is the distance's
        default.
    side : "left" moves only the words of a onto those of b, "right" only the words of b onto those of a, "both" is the
        larger of the two. For the relaxed distances.
    tokenizer : splits texts; None is the default one. Token lists are taken as they are.
    weights : what a word counts for: "counts", "idf", "log-idf" ((1 + ln count) idf), "bm25" (saturated and
        length-normalised), "norm" (the length that its vector had), "norm-idf" (that times idf), a TfIdf, a dict of
        words, or one number for each word of the vocabulary. Two texts are no collection to count document frequencies
        in: for the schemes with idf pass a TfIdf that was fitted on one.
    unknown : words without a vector: "match" keeps them, at no cost onto themselves and at c_max onto every other word;
        "drop" leaves them out, "error" refuses them. A matrix has no such words.

    Returns
    -------
    Explanation or SentenceExplanation
        ``rows`` whose costs sum to ``distance``, with ``to_json()``, ``to_html()`` and ``plot()``; or by sentence
        ``pairs`` of sentences with their rows.

    Examples
    --------
    >>> print(explain("Obama speaks to the media", "The president greets the press").rows[-1].kind)
    moved
    >>> pairs = explain("The cat sleeps. Prices fell.", "Costs dropped. A kitten rests.", by="sentence").pairs
    >>> [(pair.a, pair.b) for pair in pairs if pair.mass > 0.2]
    [('The cat sleeps.', 'A kitten rests.'), ('Prices fell.', 'Costs dropped.')]
    """
    measure = Measure(distance, overlap, side, weights, unknown, embeddings, related, tokenizer)
    return measure.explain(a, b, by)
