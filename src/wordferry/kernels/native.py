"""The one typed door to the C++ kernels: same names as there, arrays only, no decisions."""

from __future__ import annotations

from wordferry import _native


def cpu_variant() -> str:
    """The instruction-set variant that the kernels run as on this machine."""
    return _native.cpu_variant()
