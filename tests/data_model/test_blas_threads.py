"""The limit on NumPy's own threads holds inside the block only, also when the block fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from wordferry.base.runtime import blas_threads


def limits():
    """Of NumPy's own library; SciPy may bring another one, which no product of ours uses."""
    places = str(Path(np.__file__).parent)
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return [pool["num_threads"] for pool in blas if pool["filepath"].startswith(places)] or [
        pool["num_threads"] for pool in blas
    ]


def test_the_limit_is_restored():
    before = limits()
    with blas_threads(1):
        assert set(limits()) == {1}
    assert limits() == before
    with pytest.raises(KeyError), blas_threads(1):
        raise KeyError
    assert limits() == before
