"""Commands with their examples, and the options that several commands share: one name and one wording for one thing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import wordferry
from wordferry.errors import EmptyDocumentError, InputError, NotFound, WordferryError

if TYPE_CHECKING:
    from wordferry.words.embeddings import Embeddings

PATH = click.Path(path_type=Path)
POSITIVE = click.IntRange(min=1)
SECONDS = click.FloatRange(min=0.1)
_PYTHON = re.compile(
    r"\b(?P<name>[a-z_]+)=(?:'(?P<value>[^']*)'|(?P<truth>True|False)\b)?(?![\w=])|^(?P<first>[a-z_]+)(?= must be )"
)
_PHRASES = {
    "Use upsert ": "Use --upsert ",
    "Open it with Index.open, or replace": "Replace",
    "Make one with Index.create or wordferry": "Make one with: wordferry",
    "on_duplicate='first'": "--keep-first",
    "Pass its vector (vector=), or an ": "Pass an ",
    "with meaning=0": "with --set meaning=0",
}
"""What the library says of its functions, and the command line of its own."""


class Argument(click.Argument):
    """An argument that is explained in the help."""

    def __init__(self, name: str, help: str, **settings: Any) -> None:
        super().__init__([name], **settings)
        self.help = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return self.make_metavar(ctx), str(self.help)


class Group(click.Group):
    """Commands in the order in which they are defined."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def subcommand(self, *parts: Part, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
        """Make a command of this group of a function, as :func:`command` does."""

        def made(function: Callable[..., Any]) -> Command:
            result = Command(function, parts, **settings)
            self.add_command(result)
            return result

        return made


class Command(click.Command):
    """A command made of a function, whose help explains its arguments and ends with examples."""

    def __init__(
        self, function: Callable[..., Any], parts: Sequence[Part], examples: Sequence[str], name: str | None = None
    ) -> None:
        title = name or function.__name__.rstrip("_").replace("_", "-")
        super().__init__(title, params=_params(parts), callback=function, help=function.__doc__)
        self.bundles, self.examples = [one for one in parts if isinstance(one, Bundle)], examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, kind in (("Arguments", click.Argument), ("Options", click.Option)):
            found = [one.get_help_record(ctx) for one in self.get_params(ctx) if isinstance(one, kind)]
            if rows := [row for row in found if row is not None]:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Newer versions of click write a section of arguments themselves; ours is written with the options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples" if self.examples[1:] else "Example"):
            formatter.write("".join(f"  {line}\n" for line in self.examples))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with ExitStack() as stack:
                for one in self.bundles:
                    values = {str(param.name): ctx.params.pop(str(param.name)) for param in one.params}
                    ctx.params[one.name] = stack.enter_context(one.make(**values))
                return super().invoke(ctx)
        except WordferryError as error:
            raise self._with_options(error) from error.__cause__

    def _with_options(self, error: WordferryError) -> WordferryError:
        """Say ``--on-empty drop`` instead of Python's ``on_empty='drop'``, where the command has that option.

        Advice about empty documents that this command has no option for is left out.
        """
        options = {one.name: one for one in self.params if isinstance(one, click.Option)}
        if isinstance(error, EmptyDocumentError) and "on_empty" not in options:
            error = error.with_ways()

        def translated(match: re.Match[str]) -> str:
            option = options.get(match["name"] or match["first"])
            if option is None:
                return match[0]
            name = (option.secondary_opts or option.opts)[0] if match["truth"] == "False" else max(option.opts, key=len)
            return f"{name} {match['value']}" if match["value"] else name

        text = str(error)
        for phrase, ours in _PHRASES.items():
            text = text.replace(phrase, ours)
        error.args = (_PYTHON.sub(translated, text), *error.args[1:])
        return error


class Bundle:
    """Several parameters of which a function gets one thing, called ``name``: what ``make`` gives for their values.

    It is a context manager that is entered before the function is called and left after it; by default a mapping.
    """

    def __init__(
        self,
        name: str,
        *parts: Part,
        make: Callable[..., AbstractContextManager[Any]] = lambda **given: nullcontext(given),
    ) -> None:
        self.name, self.params, self.make = name, _params(parts), make


Part = click.Parameter | Bundle | str
"""What a command is made of: an option or argument, several of them as one thing, or the names of shared options."""


def option(names: str, help: str, **settings: Any) -> click.Option:
    """An option by its names, with its explanation: ``option("-o --output", "The file to write.")``."""
    if isinstance(settings.get("type"), click.IntRange | click.FloatRange):
        settings.setdefault("metavar", "NUMBER")
    return click.Option(names.split(), help=help, **settings)


def command(*parts: Part, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function: ``@command("INDEX -k --filter", examples=["wordferry search news 'tax law'"])``.

    ``parts`` are the arguments and options in the order of the help, shared ones by name (:data:`SHARED`).
    """
    return lambda function: Command(function, parts, **settings)


DISTANCE: dict[str, Any] = {
    "metavar": "DISTANCE",
    "shell_complete": lambda ctx, option, begun: [name for name in wordferry.DISTANCES if name.startswith(begun)],
}
_OWN = ("--distance", "--weights", "--unknown", "--encoder")
"""Options that an index answers where nothing is given."""
SHARED = (
    Argument("index", "The folder of the index.", type=PATH),
    option("-k", "How many documents, the best or nearest first.", type=POSITIVE, default=10),
    option("-d --distance", "The distance, by its name or as a sum such as 'rel-rwmd + 2*cosine'", **DISTANCE),
    option("--weights", "What a word counts for: counts, idf, log-idf, bm25 or norm (its vector's length)"),
    option("--unknown", "Words without a vector: match (kept, related to nothing), drop (left out) or error (refused)"),
    option("--overlap", "Words in both texts: keep, omr or residual (default: the distance's own)."),
    option("-r --r", "How many related words each word has.", type=POSITIVE, default=16),
    option(
        "--filter",
        "key=value (or != > >= < <=), or a JSON object; every filter must hold.",
        multiple=True,
        callback=lambda ctx, option, texts: parse_filters(texts),
    ),
    option("--rerank", "Re-order the candidates by this second distance; the answer is then not exact.", **DISTANCE),
    option("--candidates", "How many candidates the first stage finds.", type=POSITIVE),
    option(
        "--set settings",
        "A constant of word search, e.g. lift=0 (k1, b, stem, lift, power ...).",
        multiple=True,
        callback=lambda ctx, option, texts: parse_settings(texts),
    ),
    option("--threshold", "The largest distance of a pair.", type=click.FloatRange(min=0.0)),
    option(
        "-e --embeddings",
        "Word vectors: a file or folder, multilingual or wordllama (default: those of wordferry).",
        type=PATH,
    ),
    option(
        "--encoder", "For words and meaning: wordllama, model2vec:PATH or sentence-transformers:PATH", metavar="NAME"
    ),
    option("--limit", "Use only the first NUMBER words (usually the most frequent).", type=POSITIVE),
    option("--explain", "Show which words met, and what each gives or costs.", is_flag=True),
    option("--strict", "Exit with 1 when a query has no hit.", is_flag=True),
    option("--seed", "The seed of all random draws.", type=click.IntRange(min=0), default=0),
    option("--on-empty", "Documents without any word: error, drop or keep.", default="error"),
    option("--text", "The field that holds the text (or its tokens).", default="text"),
    option("--id", "The field that holds the id.", default="id"),
    option("--label", "The field that holds the label.", default="label"),
    option("--overwrite", "Replace the folder if it exists.", is_flag=True),
    option("--host", "The address to listen on; others than loopback need a token.", default="127.0.0.1"),
    option("--port", "The port to listen on.", type=click.IntRange(1, 65535), default=8080),
    option("--token", "The token that readers must send.", envvar="WORDFERRY_TOKEN"),
    option("--max-seconds seconds", "Seconds that a request may take.", type=SECONDS, default=30.0),
    option("--quiet", "Log errors only, not every request.", is_flag=True),
    option("--threads", "How many threads to use (default: WORDFERRY_THREADS, else every core).", type=POSITIVE),
)
"""What several commands have, in the parts of a command each by one of its names: ``INDEX``, ``-d``, ``--distance``."""


def shared(name: str, default: Any = None) -> Argument | click.Option:
    """A shared argument or option by one of its names, with a default of its own if one is given."""
    found = copy(next(one for one in SHARED if name in one.opts or name == one.human_readable_name))
    if name in _OWN:
        found.help = f"{found.help}." if default is not None else f"{found.help}; default: the index's own."
    if default is not None:
        found.default = default
    return found


def _params(parts: Sequence[Part]) -> list[click.Parameter]:
    """Arguments and options in the order of the help. Shared options stand in one text: ``--filter --weights=idf``."""
    params: list[click.Parameter] = []
    for part in parts:
        if not isinstance(part, str):
            params += part.params if isinstance(part, Bundle) else [part]
            continue
        for name, _, default in (word.partition("=") for word in part.split()):
            params.append(shared(name, int(default) if default.isdigit() else default or None))
    return params


def load_vectors(path: Path | None, limit: int | None = None) -> Embeddings:
    """The vectors of a file or folder, or the default ones; only the first ``limit`` words if given."""
    from wordferry.words.loaders.given import as_embeddings

    if path is not None:
        return as_embeddings(path) if limit is None else wordferry.load_embeddings(path, limit=limit)
    vectors = wordferry.default_embeddings()
    return vectors if limit is None or limit >= len(vectors) else vectors.restrict(vectors.vocabulary[:limit])


def check_target(target: Path, overwrite: bool) -> None:
    """Refuse a folder that exists before the work for it begins."""
    if target.exists() and not overwrite:
        raise InputError(f"{target} exists already. Choose another folder, or pass --overwrite.")


def read_text(argument: str) -> str:
    """The text itself; the content of the file after @, as one text; or, after @@, a text that begins with @."""
    if not argument.startswith("@"):
        return argument
    if argument.startswith("@@"):
        return argument[1:]
    from wordferry.base.streams import text_lines

    path = argument[1:]
    if path != "-" and not Path(path).is_file():
        raise NotFound(f"There is no file {path!r}. A text that begins with @ is taken for a file; @@ stands for an @.")
    return "".join(line for _, line in text_lines(path))


_SHORT = {"=": "eq", "!=": "ne", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_RULE = re.compile(r"^(?P<key>[^=!<>]+)(?P<sign>!=|>=|<=|=|>|<)(?P<value>.*)$", re.DOTALL)


def parse_filters(texts: Sequence[str]) -> dict[str, Any] | None:
    """The filters of the command line as one mapping."""
    rules: dict[str, Any] = {}
    for text in texts:
        if text.lstrip().startswith("{"):
            try:
                given = json.loads(text)
            except json.JSONDecodeError as error:
                raise InputError(f"--filter {text}: no valid JSON ({error}).") from None
        else:
            match = _RULE.match(text)
            if match is None:
                raise InputError(f"--filter {text}: expected key=value, key>=value or a JSON object.")
            given = {match["key"].strip(): {_SHORT[match["sign"]]: _value(match["value"].strip())}}
        for key, rule in given.items():
            added = rule if isinstance(rule, dict) else {"eq": rule}
            known = rules.setdefault(key, {})
            if repeated := known.keys() & added.keys():
                raise InputError(f"--filter {text}: {key!r} has a condition {sorted(repeated)[0]!r} already.")
            known.update(added)
    return rules or None


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Constants of word search as name=value."""
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        number = _value(value.strip())
        if not sign or isinstance(number, bool) or not isinstance(number, int | float):
            raise InputError(f"--set {text}: expected name=number, e.g. --set lift=0.")
        found[name.strip()] = number
    return found


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has them; anything else is text."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return text if isinstance(value, list | dict) else value
