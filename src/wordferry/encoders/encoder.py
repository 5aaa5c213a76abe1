"""Encoders by name, or of your own: a name, a dimension, and a fingerprint by which another one is found out."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.checks import nearest_name
from wordferry.base.runtime import check_cancelled, optional_import
from wordferry.encoders import strength
from wordferry.errors import InputError

NAMES = ("wordllama", "model2vec:PATH", "sentence-transformers:PATH")
SENTENCES = (
    "A ship crosses the river at night.",
    "The committee rejected the proposal because it was too expensive.",
    "How do bees find their way home?",
)
"""Their vectors are an encoder's fingerprint."""
BATCH = 256
"""Texts that are encoded at once; between batches work can be stopped."""
_APART = 0.04
"""How far apart two vectors of one sentence may be: machines round differently, encoders differ by far more."""
Call = Callable[[list[str]], Any]


@dataclass(frozen=True, eq=False)
class Encoder:
    """Texts to vectors of unit length."""

    name: str
    dimension: int
    fingerprint: str
    """The vectors of :data:`SENTENCES` as float16, in base64."""
    weight: float
    """What meaning counts for in a search, unless it is told otherwise: see :mod:`wordferry.encoders.strength`."""
    call: Call

    @classmethod
    def of(cls, name: str, call: Call) -> Encoder:
        """An encoder made from a function of a list of texts; its dimension and fingerprint are looked at once."""
        looked_at = [*SENTENCES, *strength.SENTENCES]
        units = _units(_array(call(looked_at), len(looked_at), name))
        marks, others = units[: len(SENTENCES)], units[len(SENTENCES) :]
        if not marks.any():
            raise InputError(f"The encoder {name} gives zeros for plain sentences, so it cannot tell texts apart.")
        mark = base64.b64encode(marks.astype("<f2").tobytes()).decode("ascii")
        return cls(name, units.shape[1], mark, strength.weight_of(strength.strength_of(others)), call)

    def encode(self, texts: Sequence[str], progress: Callable[[int, int], object] | None = None) -> Float32Array:
        """The vector of each text; one that is zero stays so. ``progress`` is told after each batch."""
        parts = [np.zeros((0, self.dimension), dtype=np.float32)]
        for start in range(0, len(texts), BATCH):
            check_cancelled()
            some = list(texts[start : start + BATCH])
            found = _array(self.call(some), len(some), self.name)
            if found.shape[1] != self.dimension:
                raise InputError(f"The encoder {self.name} gave vectors of {found.shape[1]} and {self.dimension}.")
            parts.append(_units(found))
            if progress is not None:
                progress(start + len(some), len(texts))
        return np.concatenate(parts)

    def to_json(self) -> dict[str, Any]:
        """Everything but the function, as an index keeps it."""
        return {name: value for name, value in vars(self).items() if name != "call"}

    def check(self, stored: Mapping[str, Any], where: str) -> Encoder:
        """This encoder, if it is the one that vectors were made with."""
        same = self.dimension == stored["dimension"]
        if same:
            ours, theirs = (_unpacked(mark, self.dimension) for mark in (self.fingerprint, stored["fingerprint"]))
            same = bool((np.linalg.norm(ours - theirs, axis=1) < _APART).all())
        if not same:
            raise InputError(
                f"{where} was made with the encoder {stored['name']} ({stored['dimension']} dimensions), and "
                f"{self.name} ({self.dimension}) gives other vectors. Open it with the encoder that it was made with, "
                "or make a new one."
            )
        return self


def find_encoder(given: Any) -> Encoder:
    """The encoder that a caller means: one of :data:`NAMES`, a function of texts, or an object with ``encode``."""
    if isinstance(given, Encoder):
        return given
    if isinstance(given, str):
        return _named(given)
    call = getattr(given, "encode", None) or getattr(given, "embed", None) or given
    if isinstance(given, type) or not callable(call):
        raise InputError(
            f"encoder must be one of {', '.join(map(repr, NAMES))}, or a function from a list of texts to an array of "
            f"vectors; got {type(given).__name__}."
        )
    own = given if inspect.isroutine(given) else type(given)
    return Encoder.of(f"{'function' if own is given else 'object'} {own.__qualname__}", call)


def stored_encoder(stored: Mapping[str, Any], where: str) -> Encoder:
    """The encoder that vectors were made with, found by its name."""
    name = stored["name"]
    if name.partition(":")[0] not in [one.partition(":")[0] for one in NAMES]:
        raise InputError(
            f"{where} was made with an encoder of your own ({name}): open it with encoder=, or search by words alone "
            "with meaning=0."
        )
    return _named(name).check(stored, where)


def checked(encoder: Encoder, stored: Mapping[str, Any] | None, dimension: int, where: str) -> Encoder:
    """An encoder, if it is the stored one; with vectors that were brought, if it makes such of their dimension."""
    if stored is not None:
        return encoder.check(stored, where)
    if encoder.dimension != dimension:
        has = f"vectors of {dimension} dimensions" if dimension else "no vectors of documents"
        raise InputError(
            f"{where} has {has}, and {encoder.name} makes such of {encoder.dimension}. Make a new index with it."
        )
    return encoder


def _named(text: str) -> Encoder:
    name, _, path = text.partition(":")
    if text == "wordllama":
        module: Any = optional_import("wordllama", "wordllama")
        # The weights lie in the package itself; nothing is fetched.
        model = module.WordLlama.load(cache_dir=Path(module.__file__).parent, disable_download=True)
        return Encoder.of(text, model.embed)
    if name not in ("model2vec", "sentence-transformers"):
        meant = nearest_name(name, [one.partition(":")[0] for one in NAMES])
        raise InputError(f"There is no encoder {text!r}.{meant} Choose one of {', '.join(NAMES)}, or pass a function.")
    place = Path(path)
    if not path or not place.exists():
        raise InputError(f"{name} needs the path of a model on this machine ({name}:PATH), got {path!r}.")
    place = place.resolve()
    if name == "model2vec":
        call = optional_import("model2vec", "model2vec").StaticModel.from_pretrained(str(place)).encode
    else:
        made = sentence_transformer(place)

        def call(texts: list[str]) -> Any:
            return made.encode(texts, show_progress_bar=False)

    return Encoder.of(f"{name}:{place}", call)


@lru_cache(maxsize=2)
def sentence_transformer(place: Path) -> Any:
    """A model of sentence-transformers, which takes seconds to load: for whole texts and for their words it is one."""
    return optional_import("sentence_transformers", "sentence-transformers").SentenceTransformer(str(place))


def _array(found: Any, rows: int, name: str) -> Float32Array:
    """What an encoder gave, checked."""
    try:
        array = np.asarray(found, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"The encoder {name} must give an array of numbers: {error}.") from None
    if array.ndim != 2 or len(array) != rows or not array.shape[1]:
        raise InputError(f"The encoder {name} must give one vector per text ({rows}), got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"The encoder {name} gave a vector with numbers that are not finite.")
    return array


def _units(found: Float32Array) -> Float32Array:
    """Vectors of length 1, and zeros as they are."""
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    units: Float32Array = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    return units


def _unpacked(mark: str, dimension: int) -> Float32Array:
    values = np.frombuffer(base64.b64decode(mark), dtype="<f2").astype(np.float32)
    return values.reshape(len(SENTENCES), dimension)


def text_of(words: str | Sequence[str]) -> str:
    """A document or query as an encoder reads it: its text, or its tokens with spaces between them."""
    return words if isinstance(words, str) else " ".join(words)
