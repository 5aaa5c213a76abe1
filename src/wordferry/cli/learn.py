"""``wordferry learn``: word vectors and weights that tell the classes of documents apart."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from wordferry.cli import options
from wordferry.cli.classify import labelled
from wordferry.cli.options import PATH, POSITIVE, argument, bundle, command, option
from wordferry.cli.output import SUMMARY, Output, note, progress_bar


@command(
    argument("train", "Labelled documents: JSON lines, CSV, TSV, Parquet, or a folder.", type=PATH),
    argument("target", "The folder to write.", type=PATH),
    "--embeddings",
    option("--dimensions n_components", "Dimensions of the learned vectors (default: all).", type=POSITIVE),
    option("--steps max_iter", "Steps of training, at most.", type=POSITIVE, default=200),
    option("--checkpoint", "A folder to keep the state in; a later call goes on from there.", type=PATH),
    "--threads --seed",
    bundle("fields", "--text --label"),
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
    from wordferry.texts.documents import read_documents

    options.check_target(target, overwrite)
    known = labelled([record for record in read_documents(train, **fields) if record.split != "test"], train, fields)
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
