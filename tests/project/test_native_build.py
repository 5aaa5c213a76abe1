"""The extension that is loaded is the one that was built, whichever build that is."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wordferry
from wordferry.base.runtime import thread_count
from wordferry.kernels import native

VARIANTS = {"x86-64-v4", "x86-64-v3", "x86-64", "plain"}


def test_variant() -> None:
    assert native.cpu_variant() in VARIANTS
    assert native.cpu_variant() == os.environ.get("WORDFERRY_EXPECT_VARIANT", native.cpu_variant())
    if platform.machine() not in ("x86_64", "AMD64"):
        assert native.cpu_variant() == "plain"


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
