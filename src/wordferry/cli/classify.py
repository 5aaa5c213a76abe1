"""``wordferry classify | learn``: classes by the nearest labelled documents, and vectors that tell classes apart."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

import wordferry
from wordferry.cli import options
from wordferry.cli.options import PATH, POSITIVE, Argument, Bundle, command, option
from wordferry.cli.output import ROWS, SUMMARY, Output, note, progress_bar
from wordferry.errors import InputError

CLASSIFIED = (
    options.shared("--distance", "rel-rwmd + 4*cosine"),
    option("--weights", "What a word counts for: counts, idf, log-idf, bm25, norm or auto (log-idf).", default="auto"),
    "--unknown=match",
)
VOTING = option("--voting", "Neighbours count by nearness (gap), or all alike (majority).", default="gap")


@command(
    Argument("train", "Labelled documents: JSON lines, CSV, TSV, Parquet, or a folder.", type=PATH),
    Argument("test", "Documents to classify. Default: those whose 'split' is 'test'.", type=PATH, required=False),
    "-k=35",
    option("-r --r", "How many related words each word has, or cv to choose by cross-validation.", default="16"),
    "--embeddings",
    option("--learned", "A folder of 'wordferry learn': its vectors and weights, by wmd or --distance.", type=PATH),
    *CLASSIFIED,
    VOTING,
    option("--vocabulary", "Whose words are related: the training documents' (train) or all.", default="train"),
    "--threads",
    Bundle("fields", "--text --label"),
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
    known, asked = _read(train, test, fields)
    _labelled(known, train, fields)
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


@command(
    Argument("train", "Labelled documents: JSON lines, CSV, TSV, Parquet, or a folder.", type=PATH),
    Argument("target", "The folder to write.", type=PATH),
    "--embeddings",
    option("--dimensions n_components", "Dimensions of the learned vectors (default: all).", type=POSITIVE),
    option("--steps max_iter", "Steps of training, at most.", type=POSITIVE, default=200),
    option("--checkpoint", "A folder to keep the state in; a later call goes on from there.", type=PATH),
    "--threads --seed",
    Bundle("fields", "--text --label"),
    "--overwrite",
    SUMMARY,
    examples=[
        "wordferry learn train.jsonl learned",
        "wordferry classify train.jsonl test.jsonl --learned learned",
    ],
)
def learn(train: Path, target: Path, fields: dict[str, Any], overwrite: bool, out: Output, **given: Any) -> None:
    """Learn word vectors and word weights from labelled documents.

    The folder holds vectors that every command takes as --embeddings; --weights norm uses the learned weights.
    Ctrl-C ends the training and writes the best so far.
    """
    from wordferry.learn import SupervisedWordMover

    options.check_target(target, overwrite)
    known = _labelled(
        [record for record in wordferry.read_documents(train, **fields) if record.split != "test"], train, fields
    )
    given |= {"embeddings": options.load_vectors(given["embeddings"]), "random_state": given.pop("seed")}
    with (
        progress_bar(f"learning from {len(known)} documents") as progress,
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always", RuntimeWarning)
        model = SupervisedWordMover(progress=progress, on_empty="keep", **given)
        model.fit([record.text for record in known], [record.label for record in known])
    for warning in told:
        note(str(warning.message))
    model.embeddings_.save(target, overwrite=overwrite)
    note(f"wrote {len(model.embeddings_)} words of {model.embeddings_.dimensions} dimensions to {target}")
    losses = [held for *_, held in model.history_ if held == held]  # none where nothing was held out
    out.facts(
        {
            "documents": len(known),
            "classes": len(model.classes_),
            "dimensions": model.embeddings_.dimensions,
            "steps": model.n_iter_,
            "loss_before": round(losses[0], 4) if losses else None,
            "loss_after": round(min(losses), 4) if losses else None,
        }
    )


def _labelled(known: list[Any], train: Path, fields: dict[str, Any]) -> list[Any]:
    """Documents of which every one has a class."""
    if any(record.label is None for record in known):
        raise InputError(f"Every document of {train} needs a class in the field {fields['label']!r}.")
    return known


def _read(train: Path, test: Path | None, fields: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The labelled documents, and those to classify."""
    records = list(wordferry.read_documents(train, **fields))
    if test is not None:
        # The class of a document to classify may well be unknown.
        try:
            return records, list(wordferry.read_documents(test, **fields))
        except InputError:
            if fields["label"] == "label":
                raise
            return records, list(wordferry.read_documents(test, text=fields["text"]))
    known = [record for record in records if record.split == "train"]
    asked = [record for record in records if record.split == "test"]
    if not known or not asked:
        raise InputError(f"Pass the documents to classify, or give those of {train} a 'split' of 'train' or 'test'.")
    return known, asked
