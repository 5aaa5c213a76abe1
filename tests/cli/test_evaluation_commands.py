"""classify, learn, judge pairs, judge triplets and reproduce as people run them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import wordferry
from wordferry import demo
from wordferry.cli import app
from wordferry.errors import InputError
from wordferry.judge.agreement import agreement
from wordferry.judge.evaluation import judged_measure
from wordferry.judge.triplets import triplets
from wordferry.words.related.whole import related_of

runner = CliRunner()
TRAIN = [
    ("pets", "the cat chased a mouse"),
    ("pets", "my dog loves its bone"),
    ("money", "the bank raised interest rates"),
    ("money", "stock prices fell today"),
]
TEST = [("pets", "a kitten and a puppy"), ("money", "shares and bonds lost value")]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def run(*arguments):
    result = runner.invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()], result.stderr


def test_classify_two_files(tmp_path):
    train = write(tmp_path / "train.jsonl", [{"label": label, "text": text} for label, text in TRAIN])
    test = write(tmp_path / "test.jsonl", [{"id": f"t{i}", "label": a, "text": b} for i, (a, b) in enumerate(TEST)])
    rows, notes = run("classify", train, test, "-k", "1", "--distance", "wmd")
    assert rows == [
        {"id": "t0", "predicted": "pets", "label": "pets"},
        {"id": "t1", "predicted": "money", "label": "money"},
    ]
    assert "0 of 2 wrong: test error 0.00 %" in notes


def test_classify_one_file_with_a_split_and_unknown_classes(tmp_path):
    rows = [{"label": label, "text": text, "split": "train"} for label, text in TRAIN]
    rows += [{"text": text, "split": "test"} for _, text in TEST]
    found, notes = run("classify", write(tmp_path / "all.jsonl", rows), "-k", "1")
    assert [row["predicted"] for row in found] == ["pets", "money"]
    assert "wrong" not in notes


def test_classify_chooses_r(tmp_path):
    rows = [{"topic": label, "text": text} for label, text in TRAIN * 3]
    train = write(tmp_path / "train.jsonl", rows)
    test = write(tmp_path / "test.jsonl", [{"text": "a kitten"}])
    _, notes = run("classify", train, test, "--label", "topic", "--r", "cv", "-k", "3")
    assert "r = 1 chosen" in notes


def test_classify_says_what_is_wrong(tmp_path):
    train = write(tmp_path / "train.jsonl", [{"text": "the cat"}])
    with pytest.raises(InputError, match="Pass the documents"):
        run("classify", train)
    with pytest.raises(InputError, match="needs a class"):
        run("classify", train, train)
    with pytest.raises(InputError, match="or cv"):
        run("classify", write(tmp_path / "l.jsonl", [{"text": "cat", "label": "x"}]), train, "--r", "best")


def test_triplets_of_a_file_and_of_the_sample(tmp_path):
    file = write(tmp_path / "t.jsonl", [{"a": "the cat sleeps", "b": "a kitten rests", "c": "stocks fell"}])
    rows, _ = run("judge", "triplets", file, "-s", "wmd", "-s", "cosine", "--rule", "smallest")
    assert [(row["system"], row["wrong"], row["triplets"]) for row in rows] == [("wmd", 0, 1), ("cosine", 1, 1)]
    rows, _ = run("judge", "triplets", "-s", "wcd")
    assert rows[0]["triplets"] == len(wordferry.sample().triplets)
    assert rows[0]["from"] <= rows[0]["error %"] <= rows[0]["to"] < 20


def test_triplets_have_one_number():
    """The command, the demonstration and the function say the same of the sample."""
    names = ["wcd", "rel-rwmd"]
    rows, _ = run("judge", "triplets", *(word for name in names for word in ("-s", name)))
    shown = {row.distance: row.failed for row in demo.run().triplets}
    found = wordferry.sample()
    numbers = {article.id: number for number, article in enumerate(found.articles)}
    triples = [(numbers[a], numbers[b], numbers[c]) for a, b, c in found.triplets]
    for row in rows:
        result = triplets(found.texts, triples, judged_measure(row["system"]))
        assert row["wrong"] == shown[row["system"]] == result.failed
        assert row["error %"] == round(result.error, 2)


def test_pairs(tmp_path):
    documents = write(
        tmp_path / "d.jsonl", [{"text": "the cat sleeps"}, {"text": "a kitten rests"}, {"text": "stocks fell"}]
    )
    pairs = write(tmp_path / "p.jsonl", [{"i": 0, "j": 1, "score": 5}, {"i": 0, "j": 2, "score": 1}])
    rows, _ = run("judge", "pairs", pairs, "--documents", documents, "-s", "wmd")
    assert rows[0] | {"from": 1, "to": 1} == {
        "system": "wmd", "spearman": 1.0, "from": 1, "to": 1, "pearson": 1.0, "pairs": 2, "empty": 0
    }  # fmt: skip


@pytest.mark.parametrize("options", [[], ["--weights", "counts"], ["--unknown", "drop"], ["-r", "4"]])
def test_pairs_have_one_number(tmp_path, options):
    """The command and the function agree, and leave out the same pairs."""
    texts = [article.text.split(".")[0] for article in wordferry.sample().articles[:60]]
    first, second, ratings = [*texts[:30], "qwxyz"], [*texts[30:], "a cat"], [i % 7 for i in range(31)]
    lines = [{"a": a, "b": b, "score": c} for a, b, c in zip(first, second, ratings, strict=True)]
    rows, _ = run("judge", "pairs", write(tmp_path / "p.jsonl", lines), "-s", "rel-rwmd", *options)
    named = {options[0].lstrip("-"): int(options[1]) if options[1].isdigit() else options[1]} if options else {}
    if "r" in named:
        named = {"related": related_of(wordferry.default_embeddings(), named["r"])}
    found = agreement(first, second, ratings, judged_measure("rel-rwmd", **named))
    assert (rows[0]["spearman"], rows[0]["pearson"]) == (round(found.spearman, 4), round(found.pearson, 4))
    assert (rows[0]["pairs"], rows[0]["empty"]) == (found.pairs, found.empty)


def test_reproduce_writes_a_report(tmp_path):
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    write(folder / "train.jsonl", [{"label": label, "text": text} for label, text in TRAIN])
    write(folder / "test.jsonl", [{"label": label, "text": text} for label, text in TEST])
    rows, notes = run(
        "reproduce", "--data", str(tmp_path / "data"), "-s", "tiny", "-d", "wcd,cosine", "-o", str(tmp_path / "out")
    )
    assert rows[0]["data set"] == "tiny"
    assert set(rows[0]) == {"data set", "wcd", "cosine"}
    assert "paper/tiny/0/wcd: error" in notes
    assert (tmp_path / "out" / "index.html").is_file()


@pytest.fixture
def files(tmp_path):
    rows = [{"label": label, "text": text} for label, text in TRAIN * 3]
    asked = [{"label": label, "text": text} for label, text in TEST]
    return write(tmp_path / "train.jsonl", rows), write(tmp_path / "test.jsonl", asked), str(tmp_path / "learned")


def test_learned_vectors_and_weights_are_written_and_used(files):
    train, test, folder = files
    facts, notes = run("learn", train, folder, "--steps", "20", "--dimensions", "30")
    assert (facts[0]["documents"], facts[0]["classes"], facts[0]["dimensions"]) == (12, 2, 30)
    assert "30 dimensions" in notes
    learned = wordferry.load_embeddings(folder)
    assert learned.lengths is not None
    assert not learned.normalized
    for more in ([], ["--distance", "rel-rwmd"]):
        rows, notes = run("classify", train, test, "-k", "3", "--learned", folder, *more)
        assert [row["predicted"] for row in rows] == ["pets", "money"]
        assert "0 of 2 wrong" in notes


def test_as_many_neighbours_vote_as_with_the_estimator(files, tmp_path, monkeypatch):
    from wordferry.learn import SupervisedWordMover

    train, test, folder = files
    run("learn", train, folder, "--steps", "1")
    asked = []
    nearest = SupervisedWordMover._nearest
    monkeypatch.setattr(
        SupervisedWordMover, "_nearest", lambda self, *given: (asked.append(self.n_neighbors), nearest(self, *given))[1]
    )
    run("classify", train, test, "--learned", folder)
    run("classify", train, test, "--learned", folder, "-k", "3")
    assert asked == [SupervisedWordMover().n_neighbors, 3]


def test_a_distance_is_weighed_as_it_is_defined(files, monkeypatch):
    from wordferry.neighbors import WordMoverClassifier

    train, test, _ = files
    fitted = []
    fit = WordMoverClassifier.fit
    monkeypatch.setattr(WordMoverClassifier, "fit", lambda self, *given: (fitted.append(self), fit(self, *given))[1])
    for more in ([], ["--weights", "norm"], ["--weights", "log-idf"]):
        run("classify", train, test, "-k", "3", "--distance", "wrd", *more)
    own, norm, idf = (model.idf_ for model in fitted)
    assert (own == norm).all()
    assert (own != idf).any()


def test_distance_takes_the_learned_folder(files):
    train, _, folder = files
    run("learn", train, folder, "--steps", "20")
    row = run("distance", "the cat sleeps", "a dog barks", "-e", folder, "--weights", "norm", "-d", "wmd")[0][0]
    learned = wordferry.load_embeddings(folder)
    expected = wordferry.distance("the cat sleeps", "a dog barks", "wmd", embeddings=learned, weights="norm")
    assert row["value"] == pytest.approx(expected, rel=1e-5)


def test_learn_says_what_is_wrong(files, tmp_path):
    train, test, folder = files
    run("learn", train, folder, "--steps", "1")
    with pytest.raises(InputError, match="--overwrite"):
        run("learn", train, folder)
    with pytest.raises(InputError, match="expected a field"):
        run("learn", train, str(tmp_path / "other"), "--label", "topic")
    with pytest.raises(InputError, match="leave out --weights"):
        run("classify", train, test, "--learned", folder, "--weights", "idf")
    with pytest.raises(InputError, match="leave out --voting"):
        run("classify", train, test, "--learned", folder, "--voting", "majority")
    wordferry.Embeddings(["cat"], [[1.0]]).save(tmp_path / "plain")
    with pytest.raises(InputError, match="no learned weights"):
        run("classify", train, test, "--learned", str(tmp_path / "plain"))
