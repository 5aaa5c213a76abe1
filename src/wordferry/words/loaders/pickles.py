"""Files that gensim's own ``.save`` writes. They are pickles: opening one runs whatever its maker put into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.errors import FormatError

_PROTOCOLS = range(2, 6)


def is_pickle(path: Path) -> bool:
    """True for a file that begins as pickles do; nothing of it is executed."""
    try:
        with open(path, "rb") as stream:
            start = stream.read(2)
    except OSError:
        return False
    return len(start) == 2 and start[0] == 0x80 and start[1] in _PROTOCOLS


def open_pickle(path: Path, trusted: bool) -> Any:
    """The gensim object of a file, or an error with the lines to type instead."""
    if not trusted:
        name, safe = repr(str(path)), repr(str(path.with_suffix(".bin")))
        raise FormatError(
            f"{path} is a pickle, as gensim's .save writes. Opening a pickle runs whatever is in it, so it is not "
            f"opened. If you trust it: load_embeddings({name}, trusted=True). To make a file that is safe for all: "
            f"gensim.models.KeyedVectors.load({name}).save_word2vec_format({safe}, binary=True) (for a whole model, of "
            "its .wv)."
        )
    utils = optional_import("gensim.utils", "gensim")
    try:
        found = utils.SaveLoad.load(str(path))
    except Exception as error:  # a pickle can fail in any way
        raise FormatError(f"{path} cannot be opened by gensim ({type(error).__name__}: {error}).") from error
    keyed = getattr(found, "wv", found)
    if not hasattr(keyed, "index_to_key"):
        raise FormatError(f"{path} holds a {type(found).__name__}, which has no word vectors.")
    return found
