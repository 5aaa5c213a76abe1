"""Related words of a whole vocabulary: shipped for the default vectors, kept on disk for others.

Single pairs of texts are compared through these, so that a pair has one value whoever asks. Finding the neighbours of
sixty thousand words takes seconds, too long for one pair: those of the default vectors come with the package (ids only;
distances follow from the vectors), those of other vectors are found once and kept in the user's cache folder.
"""

from __future__ import annotations

import shutil
from collections import OrderedDict
from pathlib import Path
from threading import Lock

import numpy as np

from wordferry.base.runtime import ShowProgress, logger, thread_count
from wordferry.base.storage import cache_folder
from wordferry.data import FOLDER
from wordferry.errors import WordferryError
from wordferry.kernels import native
from wordferry.texts import datasets
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.build import RelatedRecord
from wordferry.words.related.exact import OwnLists
from wordferry.words.related.graph import DEFAULT_R, RelatedWords, checked_r

SHIPPED = "glove.6B.100d-60k-related.npz"
SHIPPED_R = 16
_WORTH_KEEPING = 1e9
"""Multiplications above which related words are written to the cache folder: some 20 milliseconds of work."""
_KEPT = 4
_known: OrderedDict[tuple[str, int], RelatedWords] = OrderedDict()
_lock = Lock()


def related_of(
    embeddings: Embeddings, r: int = DEFAULT_R, *, threads: int | None = None, progress: ShowProgress = None
) -> RelatedWords:
    """The related words of all words of some embeddings.

    The first call for other vectors than the default ones builds them (:meth:`RelatedWords.build` says how long that
    takes) and keeps them under :func:`cache_folder`; a folder that cannot be written or is damaged costs time only.

    >>> from wordferry import default_embeddings
    >>> [word for word, _ in related_of(default_embeddings()).neighbors("ferry")[:3]]
    ['ferries', 'boat', 'barge']
    """
    embeddings = embeddings.stored
    key = embeddings.fingerprint, checked_r(r)
    with _lock:
        found = _known.get(key)
        if found is not None:
            _known.move_to_end(key)
            return found
    found = _shipped(embeddings, r, threads) or _kept(embeddings, r) or _built(embeddings, r, threads, progress)
    with _lock:
        _known[key] = found
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found


def forget() -> None:
    """Let go of the related words that this process holds in memory."""
    with _lock:
        _known.clear()


def _shipped(embeddings: Embeddings, r: int, threads: int | None) -> RelatedWords | None:
    """Those of the package, if these are the default vectors."""
    if embeddings.matrix.shape != datasets.DEFAULT_SHAPE or r > SHIPPED_R:
        return None
    if embeddings.fingerprint != datasets.default_embeddings().fingerprint:
        return None
    file = FOLDER / SHIPPED
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        own = arrays["own"].astype(np.int32)
        rank_sums, total = arrays["rank_sums"], float(arrays["total"])
    words = np.repeat(np.arange(len(own), dtype=np.int32), SHIPPED_R)
    distances = native.pair_distances(
        embeddings.matrix, embeddings.matrix, words, own.ravel(), thread_count(threads)
    ).astype(np.float32)
    record = RelatedRecord(SHIPPED_R, "exact", "shipped with the package", "all pairs")
    lists = OwnLists(own, distances.reshape(own.shape), rank_sums, total)
    related = RelatedWords(embeddings.vocabulary, lists, record, embeddings.fingerprint)
    return related if r == SHIPPED_R else related.restrict(r)


def _kept(embeddings: Embeddings, r: int) -> RelatedWords | None:
    """Those of the cache folder, if they are there and whole."""
    if not _worth_keeping(embeddings):
        return None
    path = _path(embeddings, r)
    try:
        if not path.exists():
            return None
        related = RelatedWords.load(path, verify=True)
    except (WordferryError, OSError, ValueError) as error:
        logger.warning("%s cannot be read and is made again: %s", path, str(error))
        shutil.rmtree(path, ignore_errors=True)  # it lies under a name that only this module gives
        return None
    right = related.fingerprint == embeddings.fingerprint and related.r == r and len(related) == len(embeddings)
    return related if right else None


def _built(embeddings: Embeddings, r: int, threads: int | None, progress: ShowProgress) -> RelatedWords:
    """Those found now, and kept for the next process where that pays and is possible."""
    related = RelatedWords.build(embeddings, r, threads=threads, progress=progress)
    if _worth_keeping(embeddings):
        try:
            related.save(_path(embeddings, r), overwrite=True)
        except (WordferryError, OSError) as error:
            logger.info("related words are not kept: %s", str(error))
    return related


def _worth_keeping(embeddings: Embeddings) -> bool:
    return len(embeddings) ** 2 / 2 * embeddings.dimensions > _WORTH_KEEPING


def _path(embeddings: Embeddings, r: int) -> Path:
    return cache_folder() / "related" / f"{embeddings.fingerprint}-r{r}"
