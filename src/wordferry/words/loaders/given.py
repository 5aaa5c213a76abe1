"""What people pass as ``embeddings=``: ours, a path, a dict of vectors, or the vectors of another library."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from wordferry.words.embeddings import Embeddings

_FILES_KEPT = 2
_lock = threading.Lock()
_files: OrderedDict[tuple[str, int, int, bool], Embeddings] = OrderedDict()
_objects: WeakKeyDictionary[Any, dict[bool, tuple[Any, Embeddings]]] = WeakKeyDictionary()


def as_embeddings(given: Any, *, grow: bool = True) -> Embeddings:
    """Word vectors from whatever a caller has.

    An :class:`Embeddings` as it is; a path or a name as :func:`wordferry.load_embeddings` reads it (the last two are
    kept, as long as the files do not change); a mapping of words to vectors; a gensim ``KeyedVectors`` or model, a
    spaCy pipeline or vocabulary, a model2vec ``StaticModel`` (converted once for as long as the object lives). Vectors
    are scaled to length 1; for their true lengths call ``load_embeddings(..., normalize=False)`` yourself. What makes
    vectors of any word (:class:`~wordferry.words.loaders.demand.VectorSource`) does so from when a word is looked up;
    related words and c_max are those of its usual words. With ``grow=False`` it is a table that does not change.

    >>> as_embeddings({"cat": [3.0, 4.0], "dog": [0.0, 1.0]}).vector("dog").tolist()
    [0.0, 1.0]
    """
    if isinstance(given, Embeddings):
        return given
    if isinstance(given, str | os.PathLike):
        return _from_path(given, grow)
    return _from_object(given, grow)


def _load(given: Any, grow: bool) -> Embeddings:
    from wordferry.words.loaders import load_embeddings
    from wordferry.words.loaders.demand import VectorSource

    source = VectorSource.of(given)
    if source is not None and grow:
        return source.growing()
    if source is not None and source.usual is not None and source.name == "model2vec":
        return source.usual()
    return load_embeddings(given)


def _from_path(given: str | os.PathLike[str], grow: bool) -> Embeddings:
    path = Path(given)
    try:
        facts = path.stat()
        key = (str(path.resolve()), facts.st_mtime_ns, facts.st_size, grow)
    except OSError:  # a name, or an error that says what there is
        key = (os.fspath(given), 0, 0, grow)
    with _lock:
        if key in _files:
            _files.move_to_end(key)
            return _files[key]
    found = _load(given, grow)
    with _lock:
        _files[key] = found
        while len(_files) > _FILES_KEPT:
            _files.popitem(last=False)
    return found


def _from_object(given: Any, grow: bool) -> Embeddings:
    state = _state(given)
    try:
        of_object = _objects.setdefault(given, {})
    except TypeError:  # no weak reference, or no hash
        return _load(given, grow)
    kept = of_object.get(grow)
    if kept is not None and kept[0] == state:
        return kept[1]
    found = _load(given, grow)
    of_object[grow] = state, found
    return found


def _state(given: Any) -> Any:
    """What changes when the vectors of a gensim object do: how many there are, and where they lie."""
    keyed = getattr(given, "wv", given)
    vectors = getattr(keyed, "vectors", None)
    if not isinstance(vectors, np.ndarray):
        return None
    return vectors.shape, vectors.__array_interface__["data"][0]
