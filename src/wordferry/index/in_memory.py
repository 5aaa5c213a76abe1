"""Questions about texts that are in no index: each is asked of an index that is made for it and goes with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wordferry.base.runtime import ShowProgress
from wordferry.index.duplicates import Duplicates
from wordferry.index.index import Index
from wordferry.texts.bow import OnEmpty


def duplicates(
    documents: Any,
    threshold: float | None = None,
    *,
    distance: str | None = None,
    text: str | Iterable[str] = "text",
    id: str = "id",
    on_empty: OnEmpty = "error",
    language: str | None = None,
    embeddings: Any = None,
    threads: int | None = None,
    progress: ShowProgress = None,
) -> Duplicates:
    """Pairs of texts that are nearly the same, nearest first, as :meth:`Index.duplicates` finds them.

    Parameters
    ----------
    documents : what :meth:`Index.add` takes: texts, token lists, mappings, records, or a table of any library.
    threshold : the largest distance of a pair; None is the default of :meth:`Index.duplicates`.
    distance : a name of ``wordferry.DISTANCES``; None is the default of :meth:`Index.duplicates`.
    text, id : the columns (or keys) that hold these; documents without an id are doc-1, doc-2 and so on.
    on_empty : documents without any word, None and NaN among them: "error", or "drop" and "keep", which are no pairs.
    language : the language of the texts; None is English.
    embeddings : word vectors, their path or name; None means the default ones.
    threads : the number of threads; None is all that ``WORDFERRY_THREADS`` allows.
    progress : True for a bar, or a callable that is told how much of how much is done.

    Returns
    -------
    Duplicates
        A table of pairs, with the ``groups`` that they form and the ``reason`` of a pair.

    Examples
    --------
    >>> found = duplicates(["The cat sleeps.", "Stocks fell.", "the cat sleeps"], 0.3)
    >>> [(pair.first, pair.second) for pair in found]
    [('doc-1', 'doc-3')]
    """
    with Index.create(language=language, embeddings=embeddings) as index:
        index.add(documents, text=text, id=id, on_empty=on_empty, threads=threads)
        return index.duplicates(threshold, distance=distance, threads=threads, progress=progress)
