"""``wordferry classify``: name the classes of documents by their nearest labelled ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from wordferry.cli import options
from wordferry.cli.options import PATH, argument, bundle, command, option
from wordferry.cli.output import ROWS, Output, note

CLASSIFIED = (
    option(
        "-d --distance", options.SHARED["-d --distance"][0] + ".", default="rel-rwmd + 4*cosine", **options.DISTANCE
    ),
    option("--weights", "What a word counts for: counts, idf, log-idf, bm25, norm or auto (log-idf).", default="auto"),
    "--unknown=match",
)
VOTING = option("--voting", "Neighbours count by nearness (gap), or all alike (majority).", default="gap")


@command(
    argument("train", "Labelled documents: JSON lines, CSV, TSV, Parquet, or a folder.", type=PATH),
    argument("test", "Documents to classify. Default: those whose 'split' is 'test'.", type=PATH, required=False),
    "-k=35",
    option("-r --r", "How many related words each word has, or cv to choose by cross-validation.", default="16"),
    "--embeddings",
    option("--learned", "A folder of 'wordferry learn': its vectors and weights, by wmd or --distance.", type=PATH),
    *CLASSIFIED,
    VOTING,
    option("--vocabulary", "Whose words are related: the training documents' (train) or all.", default="train"),
    "--threads",
    bundle("fields", "--text --label"),
    ROWS,
    examples=[
        "wordferry classify train.jsonl test.jsonl --distance rel-rwmd -r cv",
        "wordferry classify train.jsonl test.jsonl --learned learned",
    ],
)
def classify(train: Path, test: Path | None, r: str, fields: dict[str, Any], out: Output, **given: Any) -> None:
    """Classify documents by a vote of their nearest labelled ones.

    Errors are counted where the classes are known.
    """
    from wordferry.errors import InputError

    known, asked = _read(train, test, fields)
    labelled(known, train, fields)
    if r != "cv" and not r.isdigit():
        raise InputError(f"-r must be a whole number or cv, got {r!r}.")
    model = _model(r=r if r == "cv" else int(r), **given)
    model.fit([record.text for record in known], [record.label for record in known])
    predicted = model.predict([record.text for record in asked])
    if r == "cv" and hasattr(model, "cv_errors_"):
        tried = ", ".join(f"{value}: {error:.2f} %" for value, error in model.cv_errors_.items())
        note(f"r = {model.r_} chosen (cross-validation error {tried})")
    rows = [
        {"id": record.id or str(record.metadata.get("line", number)), "predicted": name, "label": record.label}
        for number, (record, name) in enumerate(zip(asked, predicted, strict=True), start=1)
    ]
    out.write(rows)
    if judged := [row for row in rows if row["label"] is not None]:
        wrong = sum(row["predicted"] != row["label"] for row in judged)
        note(f"{wrong} of {len(judged)} wrong: test error {100 * wrong / len(judged):.2f} %")


def _model(k: int, learned: Path | None, embeddings: Path | None, **given: Any) -> Any:
    """The classifier: with given or default vectors, or with vectors and weights that were learned before."""
    from wordferry.errors import InputError

    if learned is None:
        from wordferry.neighbors import WordMoverClassifier

        return WordMoverClassifier(k, on_empty="keep", embeddings=options.load_vectors(embeddings), **given)
    from wordferry.learn import SupervisedWordMover

    source = click.get_current_context().get_parameter_source
    for name in ("embeddings", "weights", "vocabulary", "voting"):
        if source(name) is ParameterSource.COMMANDLINE:
            raise InputError(f"--learned brings vectors, weights and votes of its own: leave out --{name}.")
    vectors = options.load_vectors(learned)
    if vectors.lengths is None or vectors.normalized:
        raise InputError(f"{learned} holds no learned weights. Make such a folder with: wordferry learn")
    chosen = given["distance"] if source("distance") is ParameterSource.COMMANDLINE else "wmd"
    given = {name: given[name] for name in ("r", "unknown", "threads")}
    if source("k") is ParameterSource.COMMANDLINE:
        given["n_neighbors"] = k
    return SupervisedWordMover(
        distance=chosen, max_iter=0, weights="norm", embeddings=vectors, on_empty="keep", **given
    )


def labelled(known: list[Any], train: Path, fields: dict[str, Any]) -> list[Any]:
    """Documents of which every one has a class."""
    from wordferry.errors import InputError

    if any(record.label is None for record in known):
        raise InputError(f"Every document of {train} needs a class in the field {fields['label']!r}.")
    return known


def _read(train: Path, test: Path | None, fields: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The labelled documents, and those to classify."""
    from wordferry.errors import InputError
    from wordferry.texts.documents import read_documents

    records = list(read_documents(train, **fields))
    if test is not None:
        # The class of a document to classify may well be unknown.
        try:
            return records, list(read_documents(test, **fields))
        except InputError:
            if fields["label"] == "label":
                raise
            return records, list(read_documents(test, text=fields["text"]))
    known = [record for record in records if record.split == "train"]
    asked = [record for record in records if record.split == "test"]
    if not known or not asked:
        raise InputError(f"Pass the documents to classify, or give those of {train} a 'split' of 'train' or 'test'.")
    return known, asked
