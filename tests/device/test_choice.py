"""Which device is used, and what is said where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wordferry
from tests.device.collections import documents, vectors
from tests.device.conftest import ON_GPU
from wordferry.base.runtime import device_name
from wordferry.cli import main
from wordferry.device import launch
from wordferry.errors import InputError, MissingDependency, Unsupported


def test_the_environment_names_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_name() == "cpu"
    monkeypatch.setenv("WORDFERRY_DEVICE", "auto")
    assert device_name() == "auto"
    assert device_name("cpu") == "cpu"
    monkeypatch.setenv("WORDFERRY_DEVICE", "gpu")
    with pytest.raises(InputError, match="WORDFERRY_DEVICE must be one of 'cpu', 'cuda', 'auto'; got 'gpu'"):
        wordferry.pairwise(documents(4, 1), embeddings=vectors())
    with pytest.raises(InputError, match="device must be one of"):
        wordferry.Run(device="gpu")


@pytest.mark.skipif(ON_GPU, reason="there is a GPU here")
def test_without_a_gpu_the_error_says_what_to_do() -> None:
    with pytest.raises((MissingDependency, Unsupported), match=r"wordferry\[gpu\]|device='auto'"):
        wordferry.pairwise(documents(4, 1), embeddings=vectors(), device="cuda")
    assert not launch.available()
    expected = wordferry.pairwise(documents(4, 1), embeddings=vectors())
    np.testing.assert_array_equal(wordferry.pairwise(documents(4, 1), embeddings=vectors(), device="auto"), expected)


@pytest.mark.skipif(ON_GPU, reason="there is a GPU here")
def test_a_command_is_told_where_to_compute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDFERRY_DEVICE", "cpu")  # so that it is put back: the option sets it for the process
    for device, code in (("auto", 0), ("cuda", 2), ("gpu", 2)):
        with pytest.raises(SystemExit) as stopped:
            main(["--device", device, "distance", "a cat sleeps", "a dog barks", "-d", "rel-rwmd"])
        assert stopped.value.code == code
    said = capsys.readouterr().err
    assert "wordferry[gpu]" in said or "device='auto'" in said
    assert "'gpu' is not one of 'cpu', 'cuda', 'auto'" in said


def test_plans_name_methods_of_the_device(device: Any) -> None:
    def method(where: str | None, **options: Any) -> str:
        measure = wordferry.Measure("rel-rwmd", embeddings=vectors(), **options)
        return measure.plan(documents(9, 1), run=wordferry.Run(device=where)).method

    assert method("cuda") == method("auto") == "cuda panels"
    assert not method(None).startswith("cuda")
    blend = wordferry.Measure("rel-rwmd + 2*cosine", embeddings=vectors())
    assert blend.plan(documents(9, 1), run=wordferry.Run(device="cuda")).method == "cuda sum"
    # what no method of the device computes is computed by the CPU
    assert not method("cuda", overlap="residual").startswith("cuda")


def test_a_failed_allocation_halves_the_block() -> None:
    tried: list[int] = []

    class Small:
        def free_bytes(self) -> int:
            return 64 << 20

        def out_of_memory(self, error: Exception) -> bool:
            return isinstance(error, MemoryError)

        def release(self) -> None:
            tried.append(0)

    def work(room: int) -> int:
        tried.append(room)
        if room > 20 << 20:
            raise MemoryError
        return room

    with launch.using(Small()):  # type: ignore[arg-type]
        assert launch.within_memory(work, 50 << 20) == 25 << 19
    assert tried == [50 << 20, 0, 25 << 20, 0, 25 << 19]
