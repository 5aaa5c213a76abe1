"""The limit on NumPy's own threads holds inside the block only, also when the block fails."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info

from wordferry.runtime import blas_threads


def limits():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_the_limit_is_restored():
    before = limits()
    with blas_threads(1):
        assert set(limits()) == {1}
    assert limits() == before
    with pytest.raises(KeyError), blas_threads(1):
        raise KeyError
    assert limits() == before
