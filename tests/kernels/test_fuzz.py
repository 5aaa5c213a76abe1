"""Whatever a bound function is called with: an answer or an error of the right kind, never a signal, never a hang."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels import fuzz
from tests.kernels.fitting import fitting
from wordferry import _native

TARGETS = sorted(fuzz.targets())
ROOT = Path(fuzz.__file__).parents[2]


def attacked(tmp_path: Path, calls: int, *names: str) -> None:
    last = tmp_path / "last"
    command = [sys.executable, "-m", "tests.kernels.fuzz", str(last), str(calls), *names]
    seconds = 280 if calls < 1000 else 1800
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=seconds, check=False)
    where = last.read_text(encoding="utf-8") if last.exists() else "nothing was called"
    assert done.returncode == 0, f"{where}: {done.returncode}\n{done.stderr[-4000:]}"


def test_everything_bound_is_a_target() -> None:
    assert {"transport_one", "Csr", "Nearest.offer", "TransportDocuments.search", "word_distances"} <= set(TARGETS)
    bound = {name for name in dir(_native) if hasattr(getattr(_native, name), "__nb_signature__")}
    assert bound <= set(TARGETS)


def test_the_calls_that_fit_do() -> None:
    """So that the fuzzing begins where kernels run, not where arguments are refused: everything bound has one."""
    assert sorted(fitting()) == TARGETS
    for name, make in fitting().items():
        fuzz.targets()[name](*make())


@pytest.mark.parametrize("part", range(4))
def test_some_bad_calls(part: int, tmp_path: Path) -> None:
    attacked(tmp_path, 100, *TARGETS[part::4])


def test_two_threads_with_one_object(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.kernels.pairs", str(tmp_path / "last"), "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=280, check=False)
    assert done.returncode == 0, f"{(tmp_path / 'last').read_text()}: {done.returncode}\n{done.stderr[-4000:]}"


@pytest.mark.slow
@pytest.mark.timeout(2000)
@pytest.mark.parametrize("name", TARGETS)
def test_ten_thousand_bad_calls(name: str, tmp_path: Path) -> None:
    attacked(tmp_path, 10_000, name)
