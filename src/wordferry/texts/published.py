"""Published data sets that the user brings: one form for all, checked against the paper's counts.

Nothing is downloaded: an error tells where a set is published. The form is JSON lines (gzipped or not) with ``id``,
``label``, ``text`` or ``tokens``, and a ``split`` ("train" or "test") or ``splits`` (one such word for each of several
divisions). A folder holds ``all.jsonl``, or ``train.jsonl`` and ``test.jsonl``. Kusner's ``.mat`` files are read by
:func:`wordferry.texts.published_mat.read_mat`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.streams import text_lines
from wordferry.errors import FormatError, InputError, NotFound
from wordferry.texts.collection import Collection, Split, split_of
from wordferry.texts.documents import Record, json_rows


@dataclass(frozen=True)
class Published:
    """What the paper says of a data set (Table 1), and where the set is published."""

    name: str
    documents: int
    words: int
    mean_words: float
    classes: int
    splits: int
    source: str


_KUSNER = "https://github.com/mkusner/wmd (section Paper Datasets)"
PUBLISHED: dict[str, Published] = {
    p.name: p
    for p in (
        Published("20news", 18820, 22439, 69.3, 20, 1, f"{_KUSNER}, 20ng2_500-emd_tr_te.mat"),
        Published("amazon", 8000, 30249, 44.5, 4, 5, f"{_KUSNER}, amazon-emd_tr_te_split.mat"),
        Published("bbcsport", 737, 10103, 116.5, 5, 5, f"{_KUSNER}, bbcsport-emd_tr_te_split.mat"),
        Published("classic", 7093, 18080, 38.6, 4, 5, f"{_KUSNER}, classic-emd_tr_te_split.mat"),
        Published("ohsumed", 9152, 19954, 60.2, 10, 1, f"{_KUSNER}, ohsumed-emd_tr_te_ix.mat"),
        Published("recipe", 4370, 5225, 48.3, 15, 5, f"{_KUSNER}, recipe2-emd_tr_te_split.mat"),
        Published("reuters", 7674, 15115, 36.0, 8, 1, f"{_KUSNER}, r8-emd_tr_te3.mat"),
        Published("twitter", 3108, 4489, 9.9, 3, 5, f"{_KUSNER}, twitter-emd_tr_te_split.mat"),
    )
}
TRIPLETS_SOURCE = "http://cs.stanford.edu/~quocle/triplets-data.tar.gz (Dai, Olah & Le 2015)"

# What a folder or file of the set may be called, beside its name in the paper.
_ALSO_CALLED = {"reuters": ("r8",), "20news": ("20ng2_500",), "recipe": ("recipe2",)}


def published(name: str) -> Published:
    """What the paper says of a set, by its name there or a usual other one (``r8`` is ``reuters``)."""
    for key, entry in PUBLISHED.items():
        if name == key or name in _ALSO_CALLED.get(key, ()):
            return entry
    raise NotFound(f"The paper has no data set {name!r}; it has: {', '.join(PUBLISHED)}.")


def read_collection(path: str | os.PathLike[str], *, name: str | None = None) -> Collection:
    """Read a labelled data set: a folder, a JSON-lines file, or one of Kusner's ``.mat`` files."""
    source = Path(path)
    title = name or source.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".mat")
    if source.suffix == ".mat":
        from wordferry.texts.published_mat import read_mat

        return read_mat(source, name=title)
    if source.is_dir():
        rows = [*_folder_rows(source)]
    else:
        rows = [(None, row) for _, row in json_rows(source)]
    if not rows:
        raise FormatError(f"{source} holds no documents.")
    records = tuple(_record(row, split, f"{source}, document {i}") for i, (split, row) in enumerate(rows))
    return Collection(title, records, _splits(rows, source))


def _folder_rows(folder: Path) -> Iterator[tuple[str | None, dict[str, Any]]]:
    found = {stem: file for stem in ("all", "train", "test") if (file := _either(folder / f"{stem}.jsonl")) is not None}
    if set(found) not in ({"all"}, {"train", "test"}):
        raise NotFound(
            f"{folder} must hold all.jsonl, or train.jsonl and test.jsonl (each may be gzipped); "
            f"it holds {', '.join(sorted(p.name for p in folder.iterdir())[:8]) or 'nothing'}."
        )
    for stem, file in found.items():
        for _, row in json_rows(file):
            yield (None if stem == "all" else stem), row


def _either(file: Path) -> Path | None:
    packed = file.with_name(file.name + ".gz")
    return file if file.is_file() else packed if packed.is_file() else None


def _record(row: dict[str, Any], split: str | None, where: str) -> Record:
    text = row.get("tokens", row.get("text"))
    if isinstance(text, list):
        text = tuple(text)
    if not isinstance(text, str | tuple):
        raise FormatError(f"{where}: expected a 'text' or a list of 'tokens', found fields {', '.join(row)}.")
    if "label" not in row:
        raise FormatError(f"{where}: expected a 'label', found fields {', '.join(row)}.")
    rest = {k: v for k, v in row.items() if k not in ("id", "label", "text", "tokens", "split")}
    return Record(
        text, id=_text(row.get("id")), label=_text(row["label"]), split=split or row.get("split"), metadata=rest
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _splits(rows: Sequence[tuple[str | None, dict[str, Any]]], source: Path) -> tuple[Split, ...]:
    sides = [row.get("splits", [split or row.get("split")]) for split, row in rows]
    if len({len(side) for side in sides}) != 1:
        raise FormatError(f"{source}: every document must name the same number of splits.")
    table = np.array(sides, dtype=object)
    result = []
    for number, column in enumerate(table.T):
        strange = sorted({str(side) for side in column} - {"train", "test"})
        if strange:
            raise FormatError(
                f"{source}: each document must say 'train' or 'test' in 'split' or 'splits'; split {number} says "
                f"{', '.join(strange[:3])}."
            )
        result.append(split_of(np.flatnonzero(column == "train"), np.flatnonzero(column == "test"), number, source))
    return tuple(result)


def differences(collection: Collection, entry: Published) -> list[str]:
    """Where counts of the user's set differ from the paper's table; empty when it is the paper's set."""
    found = {
        "documents": (len(collection.records), entry.documents),
        "classes": (len(set(collection.labels)), entry.classes),
        "splits": (len(collection.splits), entry.splits),
    }
    if collection.embeddings is not None:
        found["words"] = (len(collection.embeddings), entry.words)
    return [f"{what}: {here:,} here, {there:,} in the paper" for what, (here, there) in found.items() if here != there]


def find_set(folder: str | os.PathLike[str], name: str) -> Path:
    """The file or folder of a set inside the user's data folder, or an error that says where it is published."""
    root = Path(folder)
    if not root.is_dir():
        raise NotFound(f"There is no data folder {root}. Name one with --data or WORDFERRY_DATA.")
    names = [name, *_ALSO_CALLED.get(name, ())]
    for known in names:
        for candidate in (root / known, root / f"{known}.jsonl", root / f"{known}.jsonl.gz", root / f"{known}.mat"):
            if candidate.exists():
                return candidate
        for candidate in sorted(root.glob(f"{known}-emd_tr_te*.mat")):
            return candidate
    try:
        where = f" The paper's set is published at {published(name).source}."
    except NotFound:
        where = ""
    raise NotFound(f"{root} holds no data set {name!r} (looked for {', '.join(names)}).{where}")


def list_sets(folder: str | os.PathLike[str]) -> list[str]:
    """Names of the labelled sets inside a data folder."""
    root = Path(folder)
    if not root.is_dir():
        raise NotFound(f"There is no data folder {root}. Name one with --data or WORDFERRY_DATA.")
    found = [
        entry.name
        for entry in sorted(root.iterdir())
        if entry.is_dir() and (_either(entry / "all.jsonl") or _either(entry / "train.jsonl"))
    ]
    files = {file.name.partition("-emd_tr_te")[0] for file in root.glob("*-emd_tr_te*.mat")}
    return sorted({*found, *files})


@dataclass(frozen=True)
class TripletSet:
    """Documents and triplets of their numbers, a and b being the related pair."""

    name: str
    documents: tuple[Any, ...]
    triples: tuple[tuple[int, int, int], ...]
    missing: int = 0
    """Triplets of the published list that were left out because a document is not here."""


def read_triplets(path: str | os.PathLike[str], *, name: str | None = None) -> TripletSet:
    """Read JSON lines with ``a``, ``b`` and ``c``: each a text or a list of tokens."""
    documents: dict[Any, int] = {}
    triples: list[tuple[int, int, int]] = []
    for where, row in json_rows(Path(path)):
        keys = [_document(row, side, where) for side in "abc"]
        a, b, c = (documents.setdefault(key, len(documents)) for key in keys)
        triples.append((a, b, c))
    return TripletSet(name or Path(path).parent.name, tuple(documents), tuple(triples))


def _document(row: dict[str, Any], side: str, where: str) -> Any:
    value = row.get(side)
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, str):
        return value
    raise FormatError(f"{where}: expected a text or a list of tokens in {side!r}, found fields {', '.join(row)}.")


def read_triplet_list(path: str | os.PathLike[str], documents: dict[str, Any], *, name: str = "triplets") -> TripletSet:
    """Read a list of Dai et al.: three addresses per line, blank lines and ``#`` comments apart.

    ``documents`` maps an address to its text or tokens. Triplets with an address that is not among them are counted,
    not invented.
    """
    file = Path(path)
    if not file.is_file():
        raise NotFound(f"There is no file {file}. The lists are published at {TRIPLETS_SOURCE}.")
    numbers = {address: i for i, address in enumerate(documents)}
    triples: list[tuple[int, int, int]] = []
    missing = 0
    for number, line in text_lines(file):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        if len(fields) != 3:
            raise FormatError(f"{file}, line {number}: expected three addresses, found {len(fields)}.")
        if all(address in numbers for address in fields):
            a, b, c = (numbers[address] for address in fields)
            triples.append((a, b, c))
        else:
            missing += 1
    return TripletSet(name, tuple(documents.values()), tuple(triples), missing)


@dataclass(frozen=True)
class RatedPairs:
    """Pairs of texts with human ratings, higher meaning more alike."""

    name: str
    first: tuple[Any, ...]
    second: tuple[Any, ...]
    ratings: tuple[float, ...]


def read_pairs(path: str | os.PathLike[str], documents: str | os.PathLike[str] | None = None) -> RatedPairs:
    """Read JSON lines with ``score`` and either ``a`` and ``b`` (texts) or ``i`` and ``j`` (rows of ``documents``)."""
    listed = None if documents is None else json_rows(Path(documents))
    texts = None if listed is None else [_document(row, "text", where) for where, row in listed]
    first, second, ratings = [], [], []
    for where, row in json_rows(Path(path)):
        if not isinstance(row.get("score"), int | float):
            raise FormatError(f"{where}: expected a number in 'score', found fields {', '.join(row)}.")
        if "i" in row and "j" in row:
            if texts is None:
                raise InputError(f"{where} names documents by number: pass the file of the documents as well.")
            if not (0 <= row["i"] < len(texts) and 0 <= row["j"] < len(texts)):
                raise FormatError(f"{where}: documents {row['i']} and {row['j']} of {len(texts)}.")
            a, b = texts[row["i"]], texts[row["j"]]
        else:
            a, b = _document(row, "a", where), _document(row, "b", where)
        first.append(a)
        second.append(b)
        ratings.append(float(row["score"]))
    return RatedPairs(Path(path).parent.name or Path(path).name, tuple(first), tuple(second), tuple(ratings))
