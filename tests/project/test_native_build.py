"""The extension that is loaded is the one that was built, whichever build that is."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import wordferry
from wordferry.base.runtime import thread_count
from wordferry.kernels import native

X86_64 = platform.machine() in ("x86_64", "AMD64")
LEVELS = {
    "x86-64-v4": {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"},
    "x86-64-v3": {"fma", "movbe", "avx", "f16c", "bmi1", "avx2", "bmi2", "abm"},
    "x86-64": set[str](),
}
"""The levels of x86-64 that there are builds for, best first, with what Linux calls their instructions."""


def levels_of_this_machine() -> list[str]:
    """The levels that the processor has, best first."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = set(next(line for line in lines if line.startswith("flags")).partition(":")[2].split())
    needed = set[str]()
    found = []
    for level, new in reversed(LEVELS.items()):
        needed |= new
        if needed <= flags:
            found.append(level)
    return found[::-1]


def test_variant() -> None:
    expected = os.environ.get("WORDFERRY_EXPECT_VARIANT")
    if expected is not None or not X86_64:
        assert native.cpu_variant() == (expected or "plain")
        return
    assert native.cpu_variant() in LEVELS  # never silently plain
    if sys.platform == "linux":
        assert native.cpu_variant() == levels_of_this_machine()[0]


ANSWERS = """
import numpy as np, wordferry
from wordferry.kernels import native
print(native.cpu_variant())
words = wordferry.Embeddings([f"w{i}" for i in range(80)], np.random.default_rng(1).normal(size=(80, 24)))
rng = np.random.default_rng(2)
texts = [[f"w{i}" for i in rng.integers(0, 80, size=20)] for _ in range(30)]
for distance in wordferry.DISTANCES:
    values = wordferry.pairwise(texts, texts, distance=distance, embeddings=words)
    print(distance, *np.asarray(values).ravel().tolist())
"""


@pytest.mark.skipif(find_spec("wordferry._native_v3") is None, reason="this build is for one level alone")
def test_every_level_gives_the_same_answers() -> None:
    answers = {}
    for level in levels_of_this_machine():
        number = level.partition("-v")[2] or "1"
        environment = {**os.environ, "WORDFERRY_CPU_LEVEL": number}
        done = subprocess.run([sys.executable, "-c", ANSWERS], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        variant, _, rest = done.stdout.partition("\n")
        assert variant == level
        answers[level] = [line.split() for line in rest.splitlines()]
    best, *others = answers.values()
    for other in others:
        for mine, wanted in zip(other, best, strict=True):
            values = [float(value) for value in mine[1:]]
            assert values == pytest.approx([float(value) for value in wanted[1:]], rel=1e-5, abs=1e-6), mine[0]


def test_version_line() -> None:
    for command in ([sys.executable, "-m", "wordferry"],):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        expected = f"wordferry {wordferry.__version__} (kernels: {native.cpu_variant()}, threads: {thread_count()})"
        assert done.stdout.strip() == expected


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_loop_that_gcc_12_gets_wrong_is_right_with_the_flag_we_use(tmp_path: Path) -> None:
    source, program = Path(__file__).with_name("unroll_and_jam.cpp"), tmp_path / "minima"
    flag = "-fno-loop-unroll-and-jam"
    assert flag in (Path(__file__).parents[2] / "CMakeLists.txt").read_text(encoding="utf-8")
    subprocess.run(["g++", "-O3", flag, str(source), "-o", str(program)], check=True)
    assert subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout == "0\n"
