"""``wordferry classify``: name the classes of documents by their nearest labelled ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordferry.cli.common import JSON_OPTION, THREADS_OPTION, complete_distance, note
from wordferry.cli.output import CSV_OPTION, OUTPUT_OPTION, put
from wordferry.cli.vectors import EMBEDDINGS_OPTION, load_vectors
from wordferry.cli.weighing import UNKNOWN_OPTION, WEIGHTS_HELP


def register(app: Any) -> None:
    """Add the command to the command line."""
    app.command()(classify)


def classify(
    train: Path = typer.Argument(..., help="Labelled documents: JSON lines, CSV, TSV, Parquet, or a folder."),
    test: Path | None = typer.Argument(
        None, help="Documents to classify. Without it, TRAIN must have a field 'split' with 'train' and 'test'."
    ),
    distance: str = typer.Option(
        "rel-rwmd + 2*cosine",
        "--distance",
        "-d",
        autocompletion=complete_distance,
        help="The distance: rel-rwmd, rwmd, wmd, wcd ..., or a sum of several.",
    ),
    neighbors: int = typer.Option(19, "--neighbors", "-k", min=1, help="How many neighbours vote."),
    r: str = typer.Option(
        "16", "--r", "-r", help="How many related words each word has, or cv to choose by cross-validation."
    ),
    weights: str = typer.Option("log-idf", "--weights", help=WEIGHTS_HELP),
    unknown: str = UNKNOWN_OPTION,
    vocabulary: str = typer.Option(
        "train", help="Look for related words among those of the training documents (train) or of all."
    ),
    embeddings: Path | None = EMBEDDINGS_OPTION,
    text: str = typer.Option("text", help="The field that holds the text."),
    label: str = typer.Option("label", help="The field that holds the class."),
    threads: int | None = THREADS_OPTION,
    as_json: bool | None = JSON_OPTION,
    as_csv: bool = CSV_OPTION,
    output_file: Path | None = OUTPUT_OPTION,
) -> None:
    """Classify documents by a vote of their nearest labelled ones, and count errors where the classes are known.

    Example: wordferry classify train.jsonl test.jsonl --distance rel-rwmd --r cv
    """
    from wordferry.neighbors import WordMoverClassifier

    known, asked = _read(train, test, text, label)
    _check_classes(known, train, label)
    model = WordMoverClassifier(
        neighbors,
        distance,
        r=r if r == "cv" else _number(r),
        weights=weights,
        unknown=unknown,
        vocabulary=vocabulary,
        embeddings=load_vectors(embeddings),
        on_empty="keep",
        threads=threads,
    ).fit([record.text for record in known], [record.label for record in known])
    predicted = model.predict([record.text for record in asked])
    if r == "cv" and hasattr(model, "cv_errors_"):
        tried = ", ".join(f"{value}: {error:.2f} %" for value, error in model.cv_errors_.items())
        note(f"r = {model.r_} chosen (cross-validation error {tried})")
    put(_rows(asked, predicted), as_json, as_csv, output_file)


def _rows(asked: list[Any], predicted: Any) -> list[dict[str, Any]]:
    """One row per document; where classes are known, errors are counted in a note."""
    rows = []
    for number, (record, name) in enumerate(zip(asked, predicted, strict=True), start=1):
        rows.append(
            {"id": record.id or str(record.metadata.get("line", number)), "predicted": name, "label": record.label}
        )
    judged = [row for row in rows if row["label"] is not None]
    if judged:
        wrong = sum(row["predicted"] != row["label"] for row in judged)
        note(f"{wrong} of {len(judged)} wrong: test error {100 * wrong / len(judged):.2f} %")
    return rows


def _number(r: str) -> int:
    from wordferry.errors import InputError

    try:
        return int(r)
    except ValueError:
        raise InputError(f"--r must be a whole number or cv, got {r!r}.") from None


def _read(train: Path, test: Path | None, text: str, label: str) -> tuple[list[Any], list[Any]]:
    from wordferry.errors import InputError
    from wordferry.texts.documents import read_documents

    records = list(read_documents(train, text=text, label=label))
    if test is not None:
        # The class of a document to classify may well be unknown.
        try:
            return records, list(read_documents(test, text=text, label=label))
        except InputError:
            if label == "label":
                raise
            return records, list(read_documents(test, text=text))
    known = [record for record in records if record.split == "train"]
    asked = [record for record in records if record.split == "test"]
    if not known or not asked:
        raise InputError(f"Pass the documents to classify, or give those of {train} a 'split' of 'train' or 'test'.")
    return known, asked


def _check_classes(known: list[Any], train: Path, label: str) -> None:
    from wordferry.errors import InputError

    if any(record.label is None for record in known):
        raise InputError(f"Every document of {train} needs a class in the field {label!r}.")
