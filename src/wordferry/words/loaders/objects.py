"""Vectors that are in memory: a dict, gensim, spaCy, model2vec. None of these libraries is imported here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.runtime import Progress
from wordferry.errors import InputError, Unsupported
from wordferry.words.loaders.rows import Rows, Selection

_TELL_EVERY = 4096


def read_object(source: Any, selection: Selection, progress: Progress) -> tuple[list[str], Float32Array]:
    """Words and vectors of a dict, a gensim ``KeyedVectors``, a spaCy vocabulary, or a model2vec ``StaticModel``."""
    if isinstance(source, Mapping):
        return _read_mapping(source, selection, progress)
    library = type(source).__module__.partition(".")[0]
    keyed = getattr(source, "wv", source)  # a gensim model keeps its KeyedVectors there
    if hasattr(keyed, "index_to_key") and hasattr(keyed, "vectors"):
        return _collect(keyed.index_to_key, keyed.vectors, selection, progress, "gensim")
    vocabulary = getattr(source, "vocab", source)  # a spaCy pipeline keeps its Vocab there
    if hasattr(vocabulary, "strings") and hasattr(vocabulary, "vectors"):
        return _read_spacy(vocabulary, selection, progress)
    if hasattr(source, "embedding") and hasattr(source, "tokenizer"):
        return _read_model2vec(source, selection, progress)
    raise InputError(
        "Expected a path, a dict of vectors, a gensim KeyedVectors, a spaCy pipeline or vocabulary, or a model2vec "
        f"StaticModel; got {type(source).__name__} of {library}. From words and an array: "
        "wordferry.Embeddings(words, array)."
    )


def _collect(
    words: Iterable[str], vectors: Any, selection: Selection, progress: Progress, what: str
) -> tuple[list[str], Float32Array]:
    """Take the rows of ``vectors``, or (row, vector) by number, in order."""
    total = len(vectors)
    rows = Rows(int(np.shape(vectors)[1]), selection, lambda row: f"{what}, row {row}", total)
    stop = total if selection.limit is None else min(total, selection.limit)
    for row, word in enumerate(words):
        if row == stop or rows.complete:
            break
        if rows.wants(word, row):
            rows.add(word, vectors[row], row)
        if row % _TELL_EVERY == 0:
            progress(row, stop)
    progress(stop, stop)
    return rows.finish()


def _read_mapping(
    source: Mapping[Any, Any], selection: Selection, progress: Progress
) -> tuple[list[str], Float32Array]:
    sizes = {np.shape(vector) for vector in source.values()}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        shown = ", ".join(map(str, sorted(sizes)[:4])) or "none"
        raise InputError(f"A dict of words must hold vectors of one length; it holds arrays of shapes {shown}.")
    strange = next((word for word in source if not isinstance(word, str)), None)
    if strange is not None:
        raise InputError(f"A dict of vectors must have words as keys; it has {strange!r}.")
    vectors = np.array([np.asarray(vector) for vector in source.values()])
    if vectors.dtype.kind not in "fiu":
        raise InputError(f"A dict of words must hold vectors of real numbers; it holds {vectors.dtype}.")
    return _collect(list(source), vectors, selection, progress, "dict")


def _read_spacy(vocabulary: Any, selection: Selection, progress: Progress) -> tuple[list[str], Float32Array]:
    """Several words of a spaCy vocabulary may share a row of its table; each gets its own copy here."""
    table = vocabulary.vectors
    if getattr(table, "mode", "default") != "default":
        raise Unsupported("These spaCy vectors are made from pieces of words (floret), so there is no table of words.")
    pairs = sorted(((row, vocabulary.strings[key]) for key, row in table.key2row.items() if row >= 0))
    if not pairs:
        raise InputError("This spaCy vocabulary has no vectors. Load a pipeline with vectors, such as en_core_web_md.")
    rows_of = np.array([row for row, _ in pairs])
    return _collect([word for _, word in pairs], _Taken(table.data, rows_of), selection, progress, "spaCy")


def _read_model2vec(model: Any, selection: Selection, progress: Progress) -> tuple[list[str], Float32Array]:
    """The tokens of a static model but its special ones ([PAD] and the like). Most have pieces of words among them."""
    special = {str(token) for token in model.tokenizer.get_added_tokens_decoder().values() if token.special}
    entries = model.tokenizer.get_vocab().items()
    ids = sorted((token_id, token) for token, token_id in entries if token not in special)
    mapping = getattr(model, "token_mapping", None)
    weights = getattr(model, "weights", None)
    rows = np.array([token_id for token_id, _ in ids])
    if mapping is not None:
        rows = np.asarray(mapping)[rows]
    scale = None if weights is None else np.asarray(weights)[[token_id for token_id, _ in ids]]
    table = _Taken(np.asarray(model.embedding), rows, scale)
    return _collect([token for _, token in ids], table, selection, progress, "model2vec")


class _Taken:
    """Rows of a table by another numbering, each times a weight, without making the new table."""

    def __init__(self, table: Any, rows: Any, scale: Any = None) -> None:
        self.table, self.rows, self.scale = table, rows, scale
        self.shape: Sequence[int] = (len(rows), int(table.shape[1]))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Any:
        row = self.table[self.rows[i]]
        return row if self.scale is None else row * self.scale[i]
