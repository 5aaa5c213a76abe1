"""Documents as clouds of vectors of their own: one vector per token, from any model, instead of one per word.

A cloud is a matrix with one row per token. The distances are those of bags of words, with every token a word of its
own, so the exact solver, the bounds and the explanations are the same:

- ``wmd`` of contextual token vectors is the comparison that MoverScore makes.
- ``rwmd`` with ``side="left"`` lets every token of the first cloud go to its nearest token of the second: the matching
  that ColBERT's MaxSim and BERTScore's recall use, priced by distance instead of by cosine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise as pairwise_of
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array, Neighbors
from wordferry.base.checks import nearest_name
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import ShowProgress
from wordferry.compare.calls import explain as explain_documents
from wordferry.compare.calls import pairwise as pairwise_documents
from wordferry.compare.calls import top_k as nearest_documents
from wordferry.encoders.words import PieceEncoder, WordCloud, WordClouds, encode_words
from wordferry.errors import InputError
from wordferry.explanations.explain import Explanation
from wordferry.texts.tokenizers import stop_words
from wordferry.words.embeddings import Embeddings

DISTANCES = ("wmd", "rwmd", "wcd", "act")
"""The distances that need nothing but vectors and masses."""


@dataclass(frozen=True)
class _Stacked:
    """Collections of clouds over one vocabulary: every token is a word of its own."""

    embeddings: Embeddings
    sides: tuple[sp.csr_array, ...]


def encode(
    texts: Sequence[str],
    encoder: str | PieceEncoder,
    *,
    stop: str | Iterable[str] | None = None,
    progress: ShowProgress = None,
) -> WordClouds:
    """Texts as clouds of word vectors in context, from a model that reads whole sentences.

    Models cut words into pieces; the pieces of a word are joined to one vector, their mean. Words are those of
    :class:`wordferry.WordTokenizer`; punctuation is left out. What is beyond the length that a model reads is cut off.

    Parameters
    ----------
    texts : the texts; one without a word is an error.
    encoder : "sentence-transformers:PATH", a model on this machine; or a function that takes a list of texts and gives
        for each of them its pieces as (start, end) in the text, and a matrix with a row for each piece.
    stop : words to leave out after the model has read them: "english" or the name of another language, or words of your
        own; None keeps all.
    progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)`` now and then.

    Returns
    -------
    WordClouds
        A sequence of clouds that all functions here take, and whose words :func:`explain` shows; ``vectors`` and
        ``offsets`` are all of them packed.

    Examples
    --------
    >>> def letters(texts):
    ...     return [([(i, i + 1) for i in range(len(t))], [[ord(c), 1.0] for c in t]) for t in texts]
    >>> found = encode(["a cat", "the bank"], letters, stop=["the"])
    >>> found[0].words, found[1].words, found.vectors.shape
    (('a', 'cat'), ('bank',), (3, 2))
    """
    if isinstance(texts, str):
        raise InputError("texts must be a list of texts; put one text into a list.")
    words = frozenset[str]() if stop is None else stop_words(stop) if isinstance(stop, str) else frozenset(stop)
    return encode_words(list(texts), encoder, words, progress)


def distance(
    a: Any,
    b: Any,
    distance: str = "wmd",
    *,
    weights: tuple[Any, Any] = (None, None),
    side: str = "both",
    normalize: bool = True,
    device: str | None = None,
) -> float:
    """The distance of two clouds.

    Parameters
    ----------
    a, b : matrices with one row per token and the same number of columns.
    distance : one of ``wordferry.clouds.DISTANCES``.
    weights : how much each token of a and of b counts; None means that all tokens of a cloud count the same.
    side : for rwmd: "left" moves the tokens of a onto those of b, "right" the other way, "both" is the larger of the
        two.
    normalize : scale vectors to unit length first.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None means
        ``WORDFERRY_DEVICE``, else "cpu".

    Returns
    -------
    float
        The distance, 0 for equal clouds.

    Examples
    --------
    >>> print(distance([[1.0, 0.0], [0.0, 1.0]], [[0.0, 2.0], [3.0, 0.0]]))
    0.0
    """
    both = [weights[0]], [weights[1]]
    found = pairwise([a], [b], distance, weights=both, side=side, normalize=normalize, threads=1, device=device)
    return float(found[0, 0])


def pairwise(
    X: Sequence[Any],
    Y: Sequence[Any] | None = None,
    distance: str = "wmd",
    *,
    weights: tuple[Sequence[Any] | None, Sequence[Any] | None] = (None, None),
    side: str = "both",
    normalize: bool = True,
    threads: int | None = None,
    progress: ShowProgress = None,
    device: str | None = None,
) -> Float32Array:
    """Distances of all clouds of X to all of Y, or of X to each other.

    Parameters
    ----------
    X, Y : lists of clouds: matrices with one row per token and the same number of columns; or packed clouds: a pair
        ``(vectors, offsets)`` of one matrix of all tokens and where clouds begin in it, cloud i being the rows from
        ``offsets[i]`` to ``offsets[i + 1]``; or padded ones: ``(vectors, mask)`` of shapes (clouds, tokens, dimensions)
        and (clouds, tokens). ``Y=None`` compares X with itself.
    distance : one of ``wordferry.clouds.DISTANCES``.
    weights : two lists, for X and for Y, with the weights of each cloud's tokens; None means that all tokens of a cloud
        count the same.
    side : for rwmd: "left" moves the tokens of X's clouds onto those of Y's, "right" the other way, "both" is the
        larger of the two.
    normalize : scale vectors to unit length first.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)`` now and then.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None means
        ``WORDFERRY_DEVICE``, else "cpu".

    Returns
    -------
    numpy.ndarray
        float32, one row for each cloud of X and one column for each of Y.

    Examples
    --------
    >>> pairwise([[[1.0, 0.0]], [[0.0, 1.0]]]).round(2).tolist()
    [[0.0, 1.409999966621399], [1.409999966621399, 0.0]]
    """
    stacked = _stack(distance, (X, Y), weights, normalize)
    first, second = stacked.sides[0], None if Y is None else stacked.sides[1]
    how: dict[str, Any] = {"side": side, "threads": threads, "progress": progress, "device": device}
    result: Float32Array = pairwise_documents(first, second, distance, embeddings=stacked.embeddings, **how)
    return result


def top_k(
    X: Sequence[Any],
    Y: Sequence[Any],
    k: int,
    distance: str = "wmd",
    *,
    weights: tuple[Sequence[Any] | None, Sequence[Any] | None] = (None, None),
    side: str = "both",
    normalize: bool = True,
    threads: int | None = None,
    progress: ShowProgress = None,
    device: str | None = None,
) -> Neighbors:
    """The k clouds of Y nearest to each of X, exact; wmd solves only what can still win.

    Parameters
    ----------
    X, Y : the queries and the clouds to search: lists of matrices with one row per token and the same number of
        columns; or packed clouds: a pair ``(vectors, offsets)`` of one matrix of all tokens and where clouds begin in
        it, cloud i being the rows from ``offsets[i]`` to ``offsets[i + 1]``; or padded ones: ``(vectors, mask)`` of
        shapes (clouds, tokens, dimensions) and (clouds, tokens).
    k : number of clouds to find for each query; where Y has fewer, all of them are given.
    distance : one of ``wordferry.clouds.DISTANCES``.
    weights : two lists, for X and for Y, with the weights of each cloud's tokens; None means that all tokens of a cloud
        count the same.
    side : for rwmd: "left" moves the tokens of X's clouds onto those of Y's, "right" the other way, "both" is the
        larger of the two.
    normalize : scale vectors to unit length first.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)`` now and then.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None means
        ``WORDFERRY_DEVICE``, else "cpu".

    Returns
    -------
    Neighbors
        ``indices`` and ``distances`` with a row for each query and min(k, clouds of Y) columns, sorted by distance and
        then index.

    Examples
    --------
    >>> clouds = [[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]]]
    >>> top_k([[[2.0, 0.1]]], clouds, 2).indices.tolist()
    [[0, 2]]
    """
    stacked = _stack(distance, (X, Y), weights, normalize)
    first, second = stacked.sides
    how: dict[str, Any] = {"side": side, "threads": threads, "progress": progress, "device": device}
    return nearest_documents(first, second, k, distance, embeddings=stacked.embeddings, **how)


def explain(
    a: Any,
    b: Any,
    distance: str = "wmd",
    *,
    tokens: tuple[Sequence[str], Sequence[str]] | None = None,
    weights: tuple[Any, Any] = (None, None),
    side: str = "both",
    normalize: bool = True,
) -> Explanation:
    """Take the distance of two clouds apart: which token went where, and what that cost.

    Parameters
    ----------
    a, b : matrices with one row per token and the same number of columns.
    tokens : names of the tokens of a and of b; None takes the words of clouds that :func:`encode` made, and calls
        others a0, a1, ... and b0, b1, ... A token that occurs more than once in a cloud is told apart by its place:
        "bank", "bank (2)".
    distance : one of ``wordferry.clouds.DISTANCES``.
    weights : how much each token of a and of b counts; None means that all tokens of a cloud count the same.
    side : for rwmd: "left" moves the tokens of a onto those of b, "right" the other way, "both" is the larger of the
        two.
    normalize : scale vectors to unit length first.

    Returns
    -------
    Explanation
        Rows whose costs sum to the distance.

    Examples
    --------
    >>> told = explain([[1.0, 0.0]], [[0.0, 1.0]], tokens=(["river"], ["money"]))
    >>> told.rows[0].source, told.rows[0].target
    ('river', 'money')
    """
    stacked = _stack(distance, ([a], [b]), ([weights[0]], [weights[1]]), normalize)
    sizes = len(np.asarray(a)), len(np.asarray(b))
    if tokens is None and isinstance(a, WordCloud) and isinstance(b, WordCloud):
        tokens = a.words, b.words
    named = dict(zip(stacked.embeddings.vocabulary, _names(tokens, sizes), strict=True))
    first, second = stacked.sides
    found = explain_documents(first, second, distance, embeddings=stacked.embeddings, side=side)
    rows = tuple(
        replace(row, source=row.source and named[row.source], target=row.target and named[row.target])
        for row in found.rows
    )
    return replace(
        found,
        rows=rows,
        a={named[word]: mass for word, mass in found.a.items()},
        b={named[word]: mass for word, mass in found.b.items()},
    )


def _names(tokens: tuple[Sequence[str], Sequence[str]] | None, sizes: tuple[int, int]) -> list[str]:
    """What each token of the two clouds is called, without two of a kind on one side."""
    if tokens is None:
        return [f"{letter}{place}" for letter, size in zip("ab", sizes, strict=True) for place in range(size)]
    names: list[str] = []
    for letter, given, size in zip("ab", tokens, sizes, strict=True):
        if len(given) != size:
            raise InputError(f"tokens must name every token: {letter} has {size} vectors, got {len(given)} names.")
        seen: dict[str, int] = {}
        for token in map(str, given):
            seen[token] = seen.get(token, 0) + 1
            names.append(token if seen[token] == 1 else f"{token} ({seen[token]})")
    return names


def _stack(
    distance: str,
    sides: tuple[Sequence[Any], Sequence[Any] | None],
    weights: tuple[Sequence[Any] | None, Sequence[Any] | None],
    normalize: bool,
) -> _Stacked:
    """Every token under an id of its own, and each collection as rows over those ids."""
    if distance not in DISTANCES:
        meant = nearest_name(distance, DISTANCES)
        raise InputError(f"Clouds are compared by {', '.join(DISTANCES)}; got {distance!r}.{meant}")
    used = [(name, side, given) for name, side, given in zip("XY", sides, weights, strict=True) if side is not None]
    blocks = [_matrices(name, side) for name, side, _ in used]
    matrices = [matrix for block in blocks for matrix in block]
    widths = sorted({matrix.shape[1] for matrix in matrices})
    if len(widths) > 1:
        raise InputError(f"All clouds must have the same dimensions; got {widths[0]} and {widths[-1]}.")
    names = [
        f"token {place} of {name}[{number}]"
        for (name, _, _), block in zip(used, blocks, strict=True)
        for number, matrix in enumerate(block)
        for place in range(len(matrix))
    ]
    vectors = np.concatenate(matrices) if matrices else np.zeros((0, 1), dtype=np.float32)
    rows, start = [], 0
    for (name, _, given), block in zip(used, blocks, strict=True):
        rows.append(_rows(name, block, given, start, len(names)))
        start += sum(map(len, block))
    return _Stacked(Embeddings(names, vectors, normalize=normalize), tuple(rows))


def _matrices(name: str, clouds: Sequence[Any]) -> list[Float32Array]:
    """The clouds of one side as matrices of finite numbers."""
    if isinstance(clouds, tuple) and len(clouds) == 2 and np.ndim(clouds[1]) == 1:
        clouds = _unpacked(name, *clouds)
    elif isinstance(clouds, tuple) and len(clouds) == 2 and np.ndim(clouds[0]) == 3:
        clouds = _unpadded(name, *clouds)
    if isinstance(clouds, str) or not hasattr(clouds, "__iter__"):
        raise InputError(f"{name} must be a list of matrices, one per document; got {type(clouds).__name__}.")
    result = []
    for number, cloud in enumerate(clouds):
        try:
            matrix = np.asarray(cloud)
        except ValueError:
            matrix = np.zeros(0, dtype=object)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
            raise InputError(
                f"{name}[{number}] must be a matrix of numbers with one row per token; "
                f"got {type(cloud).__name__} of shape {matrix.shape} and type {matrix.dtype}."
            )
        if not len(matrix):
            raise InputError(f"{name}[{number}] has no token. Leave such documents out.")
        result.append(matrix)
    return result


def _unpacked(name: str, vectors: Any, offsets: Any) -> list[Any]:
    """Packed clouds as views of their matrix."""
    matrix, ends = np.asarray(vectors), np.asarray(offsets)
    sound = ends.dtype.kind in "iu" and len(ends) > 0 and matrix.ndim == 2
    if not sound or ends[0] != 0 or ends[-1] != len(matrix) or (np.diff(ends.astype(np.int64)) < 0).any():
        raise InputError(
            f"Packed clouds are (vectors, offsets): {name} needs whole offsets that rise from 0 to the number of rows "
            f"of its matrix; got offsets of type {ends.dtype} for an array of shape {matrix.shape}."
        )
    return [matrix[low:high] for low, high in pairwise_of(ends.tolist())]


def _unpadded(name: str, vectors: Any, mask: Any) -> list[Any]:
    """The clouds of a padded batch, without the tokens that its mask leaves out."""
    batch, kept = np.asarray(vectors), np.asarray(mask)
    if kept.shape != batch.shape[:2] or kept.dtype.kind not in "biuf":
        raise InputError(
            f"A padded batch is (vectors, mask): {name} needs a mask of shape {batch.shape[:2]}, which is not 0 where "
            f"there is a token; got {kept.dtype} of shape {kept.shape}."
        )
    return [matrix[some] for matrix, some in zip(batch, kept != 0, strict=True)]


def _rows(name: str, clouds: list[Float32Array], weights: Any, start: int, tokens: int) -> sp.csr_array:
    """One row per cloud over the ids of its own tokens."""
    sizes = [len(cloud) for cloud in clouds]
    if weights is not None and len(weights) != len(clouds):
        raise InputError(f"The weights of {name} must hold one list per cloud ({len(clouds)}), got {len(weights)}.")
    values = [
        np.ones(size) if weights is None or weights[number] is None else _weights(name, number, weights[number], size)
        for number, size in enumerate(sizes)
    ]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indices = np.arange(start, start + indptr[-1], dtype=np.int32)
    data = np.concatenate(values) if values else np.zeros(0)
    return sp.csr_array((data, indices, indptr), shape=(len(clouds), tokens))


def _weights(name: str, number: int, given: Any, size: int) -> Any:
    """The weights of one cloud: as many as its tokens, none negative, not all zero."""
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (size,):
        raise InputError(f"{name}[{number}] has {size} tokens, but weights of shape {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise InputError(f"The weights of {name}[{number}] must be finite, not negative, and not all zero.")
    return values
