"""How much code one question walks through, so that somebody can read all of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

import wordferry

PACKAGE = str(Path(wordferry.__file__).parent)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wordferry.Index]:
    """The sample four times: more documents than any distance compares one by one."""
    with wordferry.Index.create(tmp_path_factory.mktemp("entered") / "index") as made:
        made.add(wordferry.sample().texts * 4)
        yield made


def entered(job: Callable[[], object]) -> set[tuple[str, str]]:
    """The (file, function) pairs of the package that a job enters when everything it keeps was made before."""
    job()
    job()
    found = set()

    def tell(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and "<" not in code.co_name:
            found.add((code.co_filename, code.co_name))

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        job()
    finally:
        sys.setprofile(before)
    return found


TEXT = "The astronauts landed on the moon and gathered rocks"
JOBS: dict[str, tuple[Callable[[wordferry.Index], object], int, int]] = {
    "similar": (lambda index: index.similar(TEXT), 70, 20),
    "similar by wmd": (lambda index: index.similar(TEXT, distance="wmd"), 150, 31),
    "search": (lambda index: index.search("rocks of the moon"), 65, 18),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_question_enters_few_functions_of_few_files(name: str, index: wordferry.Index) -> None:
    job, functions, files = JOBS[name]
    walk = entered(lambda: job(index))
    assert 30 < len(walk) <= functions
    assert len({file for file, _ in walk}) <= files


def test_weights_do_not_change_the_way(index: wordferry.Index) -> None:
    text = f"{TEXT} with apiaries and ladybirds"  # which documents have, and which have no vector
    plain = entered(lambda: index.similar(text, weights="counts", unknown="drop"))
    assert plain == entered(lambda: index.similar(text))
