"""The extension that is loaded is the one that was built, whichever build that is."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

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
