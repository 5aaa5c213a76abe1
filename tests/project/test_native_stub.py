"""The types of the extension module are what the module has."""

from __future__ import annotations

import pytest
from tools import make_native_stub


def test_the_stub_is_current() -> None:
    pytest.importorskip("nanobind")
    assert make_native_stub.TARGET.read_text(encoding="utf-8") == make_native_stub.stub(), (
        "run: python tools/make_native_stub.py"
    )
