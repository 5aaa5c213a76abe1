"""Tokenizers: from a text to its words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.data import FOLDER
from wordferry.errors import InputError
from wordferry.texts.boundaries import unicode_words, word_pattern
from wordferry.texts.folding import fold, folded_with_places

Tokenizer = Callable[[str], list[str]]

_registered: dict[str, Tokenizer] = {}
_REGISTERED = "registered:"
_NAME = re.compile(r"[\w.\-]+")
_WITHOUT_LIST = ("th",)

# Letters and digits, with inner apostrophes or hyphens ("don't", "well-known").
_ASCII_WORD = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*")
_SIGNS = ("++", "#", ".net")
_E_PREFIX = re.compile(r"e-(?<=\be-)")
"""The text with a word that has signs in it has one of these; such texts are rare. (What begins with letters is found
much faster than what begins with the boundary of a word.)"""
_SIGNED = r"(?<![\w+#.])(?:[A-Za-z](?:\+\+|\#)(?![\w+#])|\.[Nn][Ee][Tt](?!\w))"
"""C++, C#, F# and .NET, whose signs are a part of the name."""


@cache
def _word(ascii: bool, signed: bool) -> re.Pattern[str]:
    """A word of a text without underscores. Beyond ASCII combining marks belong to the letter before them."""
    pattern = _ASCII_WORD.pattern
    if not ascii:
        marks = "".join(c for c in map(chr, range(0x300, 0x20000)) if unicodedata.category(c) in ("Mn", "Mc", "Me"))
        pattern = rf"\w[\w{marks}]*(?:['\-]\w[\w{marks}]*)*"
    return re.compile(f"{_SIGNED}|{pattern}" if signed else pattern)


def _is_special(text: str) -> bool:
    small = text.lower()
    return any(sign in small for sign in _SIGNS) or _E_PREFIX.search(small) is not None


def is_simple(text: str) -> bool:
    """True for ASCII without names such as C++ and e-mail: the kernels split it as :class:`WordTokenizer` does."""
    return text.isascii() and not _is_special(text)


_PREFIXES = ("e-", "E-")
"""Letters that are written with a hyphen or without: e-mail, email."""
BOUNDARIES = ("plain", "unicode")
_SELECTORS = re.compile("[\ufe0e\ufe0f]")  # whether an emoji is meant in colour: no difference of words


@cache
def stop_words(language: str = "english") -> frozenset[str]:
    """The stop words of a language, by its name or its code of ISO 639-1.

    The English list is shipped with the package; those of some thirty other languages come from the package stop-words.
    None of them holds the words that turn a meaning round, such as "not", "without" and "off", or "nicht" and "ohne".
    """
    from wordferry.texts.languages import LANGUAGES, language_code

    code = language_code(language)
    if code != "en":
        module = optional_import("stop_words", "languages")
        try:
            found = frozenset(fold(word).lower() for word in module.get_stop_words(LANGUAGES[code]))
        except module.StopWordError:
            raise InputError(f"There is no stop-word list for {LANGUAGES[code]}. Pass your own words.") from None
        return found - negations(code)
    return frozenset(data_lines("stop_words_english.txt"))


@cache
def negations(code: str) -> frozenset[str]:
    """The words of a language, given by its code, that turn a meaning round."""
    return frozenset(word for line in data_lines("negations.txt") if line[:2] == code for word in line.split()[1:])


def data_lines(name: str) -> list[str]:
    """The lines of a file of the package, without comments."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


class KeptText(str):
    """A text beside the tokens that were made of it elsewhere: people read the one, what compares takes the others."""

    tokens: tuple[str, ...]

    def __new__(cls, text: str, tokens: Iterable[str]) -> KeptText:
        made = super().__new__(cls, text)
        made.tokens = tuple(tokens)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.tokens


def words_of(text: str | Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """The words of a document: its own tokens where it has them, else what the tokenizer makes of its text."""
    if isinstance(text, KeptText):
        return list(text.tokens)
    return tokenizer(text) if isinstance(text, str) else list(text)


@dataclass(frozen=True)
class Span:
    """A word of a text and where it stands in it: ``text[start:end]``."""

    word: str
    start: int
    end: int


@dataclass(frozen=True)
class WordTokenizer:
    """Unicode words, lower-cased, without stop words.

    >>> WordTokenizer(stop=frozenset({"the"}))("The cat's pyjamas, 2 of them")
    ['cat', 'pyjamas', '2', 'of', 'them']

    A possessive ``'s`` and other apostrophes are removed and hyphenated words are split unless ``keep_compounds`` is
    set; "e-mail" is "email". C++, C# and .NET keep their signs. Any script with spaces between words will do; for one
    without, pass a function of your own (text -> words) wherever a ``tokenizer`` is asked for.

    ``boundaries="unicode"`` cuts as Unicode's default word boundaries do (UAX #29): "1,000.5" and "example.com" are
    words, each Han letter is one, and emoji are words too; see :mod:`wordferry.texts.boundaries`.
    """

    lowercase: bool = True
    stop: frozenset[str] = frozenset()
    min_length: int = 1
    keep_compounds: bool = False
    boundaries: str = "plain"

    def __post_init__(self) -> None:
        if self.boundaries not in BOUNDARIES:
            known = ", ".join(map(repr, BOUNDARIES))
            raise InputError(f"boundaries must be one of {known}; got {self.boundaries!r}.")

    @property
    def name(self) -> str:
        """Under which name an index stores it."""
        return "words.v1" if self.boundaries == "plain" else "words.v2"

    def __call__(self, text: str, elided: frozenset[str] | None = None) -> list[str]:
        """The words of a text; ``elided`` are beginnings that are left out before an apostrophe."""
        stop = self.stop
        return [word for word in self.all_words(text, elided) if word not in stop]

    def all_words(self, text: str, elided: frozenset[str] | None = None) -> list[str]:
        """The words of a text with its stop words, which are those in ``stop``.

        >>> WordTokenizer(stop=frozenset({"the"})).all_words("The cat's pyjamas")
        ['the', 'cat', 'pyjamas']
        """
        if self.lowercase:
            text = text.lower()
        if self.boundaries == "plain":
            found = _word(text.isascii(), _is_special(text)).findall(text if text.isascii() else fold(text))
        else:
            found = unicode_words(fold(text))
            if not text.isascii():
                found = [_SELECTORS.sub("", word) for word in found]
        if not self.keep_compounds:
            found = [
                part
                for word in found
                for part in (_split_compound(word, elided) if "-" in word or "'" in word else (word,))
            ]
        least = self.min_length
        return found if least < 2 and "" not in found else [word for word in found if len(word) >= least]

    def spans(self, text: str, elided: frozenset[str] | None = None) -> list[Span]:
        """The words, each with where it stands in the text. Slower than the call, which gives the words alone.

        ``elided`` are beginnings that are left out before an apostrophe, as the article of "l'homme".

        >>> [(span.word, span.start, span.end) for span in WordTokenizer().spans("The cat's well-being")]
        [('the', 0, 3), ('cat', 4, 7), ('well', 10, 14), ('being', 15, 20)]
        """
        folded, starts, ends = folded_with_places(text, lowercase=self.lowercase)
        found = []
        pattern = _word(text.isascii(), _is_special(text)) if self.boundaries == "plain" else word_pattern()
        for match in pattern.finditer(folded):
            for part, start, end in _parts(match[0], match.start(), self.keep_compounds, elided):
                word = part if self.boundaries == "plain" else _SELECTORS.sub("", part)
                if word and len(word) >= self.min_length and word not in self.stop:
                    found.append(Span(word, starts[start], ends[end - 1]))
        return found

    def with_stop(self, stop: frozenset[str]) -> WordTokenizer:
        """A tokenizer that leaves out other words."""
        return replace(self, stop=stop)

    def config(self) -> dict[str, object]:
        """What is needed to make the same tokenizer again."""
        return {
            "name": self.name,
            "lowercase": self.lowercase,
            "stop": sorted(self.stop),
            "min_length": self.min_length,
            "keep_compounds": self.keep_compounds,
        }

    @classmethod
    def from_config(cls, config: dict[str, object]) -> WordTokenizer:
        """The tokenizer that :meth:`config` described."""
        name = config.get("name")
        if name not in ("words.v1", "words.v2"):
            raise InputError(f"Unknown tokenizer {name!r}; this version knows 'words.v1' and 'words.v2'.")
        values: dict[str, Any] = {key: value for key, value in config.items() if key != "name"}
        unknown = set(values) - {"lowercase", "stop", "min_length", "keep_compounds"}
        if unknown:
            raise InputError(f"The tokenizer {name!r} has no option {min(unknown)!r}.")
        values["stop"] = frozenset(values.get("stop", ()))
        return cls(**values, boundaries="plain" if name == "words.v1" else "unicode")


def _parts(word: str, start: int, whole: bool, elided: frozenset[str] | None) -> Iterator[tuple[str, int, int]]:
    """The words of a match as :func:`_split_compound` gives them, with where they begin and end."""
    if whole:
        yield word, start, start + len(word)
        return
    if word[:2] in _PREFIXES and len(word) > 2:  # e-mail is email
        size = len(word.split("-", 2)[1]) + 2
        yield word[0] + word[2:size].removesuffix("'s").replace("'", ""), start, start + size
        word, start = word[size + 1 :], start + size + 1
        if not word:
            return
    for part in word.split("-"):
        bare = part.removesuffix("'s").removesuffix("'S")
        at, kept = start, bare
        if elided and "'" in bare:
            kept = _without_elision(bare, elided)
            at = start + len(bare) - len(kept)
        yield kept.replace("'", ""), at, at + len(kept)
        start += len(part) + 1


def _split_compound(word: str, elided: frozenset[str] | None = None) -> list[str]:
    if word[:2] in _PREFIXES and len(word) > 2:
        word = word[0] + word[2:]
    parts = word.split("-") if "-" in word else [word]
    if "'" not in word:
        return parts
    bare = [part.removesuffix("'s").removesuffix("'S") for part in parts]
    if elided:
        bare = [_without_elision(part, elided) for part in bare]
    return [part.replace("'", "") for part in bare]


def _without_elision(word: str, elided: frozenset[str]) -> str:
    before, apostrophe, after = word.partition("'")
    return after if apostrophe and before.lower() in elided else word


@cache
def default_tokenizer() -> WordTokenizer:
    """Lower-cased Unicode words without English stop words."""
    return WordTokenizer(stop=stop_words("english"))


def make_tokenizer(
    language: str | None = None,
    *,
    lowercase: bool = True,
    stop: Iterable[str] | str | None = "",
    min_length: int = 1,
    boundaries: str | None = None,
    compounds: Any = None,
) -> Any:
    """A tokenizer from plain options, which an index can store.

    Parameters
    ----------
    language : a name or code such as ``"french"`` or ``"zh"``; Chinese, Japanese and Thai are segmented. None: English.
    lowercase : whether words are lower-cased.
    stop : a language whose stop words are left out, words of your own, or None to keep all words. Not given: those of
        the language where there is a list.
    min_length : words with fewer letters are left out.
    boundaries : ``"unicode"`` cuts where Unicode's default word boundaries are (UAX #29), ``"plain"`` at everything
        that is no letter or digit. Not given: ``"plain"`` for English, ``"unicode"`` for every other language.
    compounds : words that have vectors: an Embeddings, a Vocabulary or a set. A word that is not among them is cut
        into parts that are, as in German or Dutch ("Apfelbaum": apfel, baum).
    """
    made = _made(language, lowercase, stop, min_length, boundaries)
    if compounds is None:
        return made
    from wordferry.texts.compounds import CompoundTokenizer

    return CompoundTokenizer.of(made, compounds)


def _made(
    language: str | None, lowercase: bool, stop: Iterable[str] | str | None, min_length: int, boundaries: str | None
) -> Any:
    if language is None:
        words = stop_words(stop or "english") if isinstance(stop, str) else frozenset(stop or ())
        return WordTokenizer(lowercase, words, min_length, boundaries=boundaries or "plain")
    from wordferry.texts.languages import LanguageTokenizer, language_code

    code = language_code(language)
    if stop == "":
        stop = None if code in _WITHOUT_LIST else code
    words = stop_words(stop) if isinstance(stop, str) else frozenset(stop or ())
    return LanguageTokenizer(code, lowercase, words, min_length, boundaries or ("plain" if code == "en" else "unicode"))


def register_tokenizer(name: str, tokenizer: Tokenizer) -> None:
    """Give a function of your own (a text to its words) a name, under which an index can store it.

    The name stands for the function wherever a tokenizer is asked for. A program that opens the index registers it
    first; a package can offer it as an entry point of the group ``wordferry.tokenizers``.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"A tokenizer's name is made of letters, digits, '.', '_' and '-'; got {name!r}.")
    if not callable(tokenizer):
        raise InputError(f"A tokenizer is a function from a text to a list of words; got {type(tokenizer).__name__}.")
    _registered[name] = tokenizer


def as_tokenizer(given: Tokenizer | str | None, stop: Iterable[str] | str | None = "") -> Tokenizer:
    """A tokenizer from what a caller passes: a function, a registered name, a language, or None for the default.

    ``stop`` replaces its stop words, where it is one of the package: those of a language by its name, words of your
    own, or None to keep all words.

    >>> as_tokenizer(None, stop=["it"])("Turn it off")
    ['turn', 'off']
    """
    found = _given_tokenizer(given)
    if stop == "":
        return found
    words = stop_words(stop) if isinstance(stop, str) else frozenset(stop or ())
    with_stop = getattr(found, "with_stop", None)
    if with_stop is None:
        raise InputError(
            "stop= goes with the tokenizers of the package; a function of your own leaves out what it leaves out."
        )
    replaced: Tokenizer = with_stop(words)
    return replaced


def _given_tokenizer(given: Tokenizer | str | None) -> Tokenizer:
    if given is None:
        return default_tokenizer()
    if callable(given):
        return given
    if not isinstance(given, str):
        raise InputError(f"A tokenizer is a function, or the name of one; got {type(given).__name__}.")
    found = _find(given)
    return make_tokenizer(given) if found is None else found


def tokenizer_config(tokenizer: Tokenizer | str | None) -> dict[str, Any]:
    """What an index stores of a tokenizer; InputError for one that could not be made again."""
    made = as_tokenizer(tokenizer)
    name = next((name for name, known in _registered.items() if known is made), None)
    if name is not None:
        return {"name": f"{_REGISTERED}{name}"}
    config = getattr(made, "config", None)
    if callable(config):
        found: dict[str, Any] = config()
        return found
    raise InputError(
        "An index keeps its tokenizer, so it must be one of wordferry.texts.tokenizers.make_tokenizer(...), or have a "
        "name: register_tokenizer('my-words', function). Or add and search token lists instead of texts."
    )


def tokenizer_from_config(config: dict[str, Any], words: Any = None) -> Tokenizer:
    """The tokenizer that :func:`tokenizer_config` described; ``words`` are those with vectors, where it needs them."""
    name = str(config.get("name"))
    if name == "compounds.v1":
        from wordferry.texts.compounds import CompoundTokenizer

        return CompoundTokenizer.of(tokenizer_from_config(config["base"]), words)
    if name.startswith(_REGISTERED):
        own = name.removeprefix(_REGISTERED)
        found = _find(own)
        if found is None:
            raise InputError(
                f"The tokenizer {own!r} is a function of the program that made this. Register it before you open it: "
                f"wordferry.texts.tokenizers.register_tokenizer({own!r}, function)."
            )
        return found
    if name in ("language.v1", "language.v2"):
        from wordferry.texts.languages import LanguageTokenizer

        return LanguageTokenizer.from_config(config)
    return WordTokenizer.from_config(config)


def _find(name: str) -> Tokenizer | None:
    if name not in _registered:
        from importlib.metadata import entry_points  # takes longer to load than a search takes

        for entry in entry_points(group="wordferry.tokenizers", name=name):
            register_tokenizer(name, entry.load())
    return _registered.get(name)
