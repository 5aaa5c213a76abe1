"""The one place that talks to a GPU: arrays on the device, kernels compiled and launched, memory. It uses CuPy.

Everything else under ``wordferry.device`` asks :func:`runtime` for a :class:`Runtime` and is written against it, so
another library can take CuPy's place here, and tests run the same kernels in plain C++.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from wordferry.base.runtime import MEMORY, check_cancelled, optional_import
from wordferry.errors import Unsupported

SOURCES = Path(__file__).parent / "cuda"
HEADERS = (
    "panels.cuh",
    "best.cuh",
    "related_pairs.cuh",
    "vector_pairs.cuh",
    "cosine_pairs.cuh",
    "word_costs.cuh",
    "neighbours.cuh",
)
SIZED_HEADERS = ("batches.cuh",)
"""Compiled for one kernel, one number of slots and one rule; their kernels are launched as ``name:slots:rule``."""
_MOST_BLOCKS = 2**31 - 1
_STREAMS = 32
"""Many, because a launch ends with its last problem, and those of one stream wait for each other."""
_Result = TypeVar("_Result")


class Runtime(Protocol):
    """What kernels need of a device."""

    xp: Any
    """An array module with NumPy's names: its arrays lie on the device."""
    shared_bytes: int
    """Shared memory that a block may have."""
    streams: int
    """Launches that may overlap."""

    def put(self, array: Any) -> Any:
        """A contiguous copy of a NumPy array on the device; arrays that are there already stay as they are."""

    def get(self, array: Any) -> Any:
        """A NumPy copy of an array of the device."""

    def launch(self, kernel: str, blocks: int, threads: int, shared: int, *arguments: Any) -> None:
        """Run a kernel. Python's int becomes a 64-bit integer, bool a 32-bit one, float a float32 and None a null."""

    def overlapping(self) -> AbstractContextManager[Callable[[], AbstractContextManager[Any]]]:
        """Launches, each inside a ``with`` of what the given function makes, may run at the same time as the others."""

    def products(self, a: Any, b: Any, out: Any) -> None:
        """Inner products of two sets of rows, into the upper left of ``out``; inputs may be rounded as ``rounded``."""

    def rounded(self, vectors: Any) -> Any:
        """Vectors rounded to what the tensor cores take of float32, ten bits of fraction."""

    def free_bytes(self) -> int:
        """Memory that can still be had."""

    def out_of_memory(self, error: Exception) -> bool:
        """Whether an exception says that memory has run out."""

    def release(self) -> None:
        """Give memory back that is held for later arrays."""


class Cuda:
    """The first GPU that the process sees, through CuPy."""

    def __init__(self) -> None:
        os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", str(_STREAMS))
        cupy = optional_import("cupy", "gpu")
        problem = ""
        try:
            if cupy.cuda.runtime.getDeviceCount() < 1:
                problem = "no GPU was found"
        except cupy.cuda.runtime.CUDARuntimeError as error:
            problem = str(error)
        if problem:
            raise Unsupported(
                f"device='cuda' needs an NVIDIA GPU and its driver ({problem}). Use device='cpu', or device='auto', "
                "which takes a GPU only where one is."
            )
        self.xp = cupy
        self.shared_bytes = int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
        self.streams = _STREAMS
        self._streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(_STREAMS)]
        self._modules: dict[str, Any] = {}
        self._kernels: dict[str, Any] = {}

    def put(self, array: Any) -> Any:
        return self.xp.ascontiguousarray(self.xp.asarray(array))

    def get(self, array: Any) -> Any:
        return self.xp.asnumpy(array)

    def launch(self, kernel: str, blocks: int, threads: int, shared: int, *arguments: Any) -> None:
        check_cancelled()
        if blocks < 1:
            return
        if blocks > _MOST_BLOCKS:
            raise Unsupported(f"{kernel} was asked for {blocks} blocks, more than a GPU takes in one launch.")
        function = self._kernels.get(kernel) or self._found(kernel)
        if shared > function.max_dynamic_shared_size_bytes:
            function.max_dynamic_shared_size_bytes = shared
        function((blocks,), (threads,), tuple(map(plain, arguments)), shared_mem=shared)

    def _found(self, kernel: str) -> Any:
        """A kernel of the module that has it, compiled when first used (CuPy keeps what it compiles on disk)."""
        name, _, sized = kernel.partition(":")
        module = kernel if sized else ""
        if module not in self._modules:
            code = "\n".join(f'#include "{header}"' for header in (SIZED_HEADERS if sized else HEADERS))
            options = ("-std=c++17", f"-I{SOURCES}", f"-DWF_SOURCES={_digest()}", *size_options(sized))
            options += (f"-DWF_{name}",) if sized else ()
            self._modules[module] = self.xp.RawModule(code=code, options=options)
        self._kernels[kernel] = self._modules[module].get_function(name)
        return self._kernels[kernel]

    @contextmanager
    def overlapping(self) -> Iterator[Callable[[], AbstractContextManager[Any]]]:
        main = self.xp.cuda.get_current_stream()
        begun, used = main.record(), 0

        def stream() -> Any:
            nonlocal used
            chosen = self._streams[used % _STREAMS]
            chosen.wait_event(begun)
            used += 1
            return chosen

        try:
            yield stream
        finally:
            for one in self._streams[:used]:
                main.wait_event(one.record())

    def products(self, a: Any, b: Any, out: Any) -> None:
        from cupy_backends.cuda.libs import cublas

        one, zero = np.array(1, dtype=np.float32), np.array(0, dtype=np.float32)
        kind, tf32, best = 0, 77, -1  # CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT
        handle = self.xp.cuda.device.get_cublas_handle()
        size = int(a.shape[1])
        cublas.gemmEx(
            handle, cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, int(b.shape[0]), int(a.shape[0]), size, one.ctypes.data,
            b.data.ptr, kind, size, a.data.ptr, kind, size, zero.ctypes.data, out.data.ptr, kind, int(out.shape[1]),
            tf32, best,
        )  # fmt: skip

    def rounded(self, vectors: Any) -> Any:
        return round_bits(vectors)

    def free_bytes(self) -> int:
        free, _ = self.xp.cuda.runtime.memGetInfo()
        return int(free) + int(self.xp.get_default_memory_pool().free_bytes())

    def out_of_memory(self, error: Exception) -> bool:
        return isinstance(error, self.xp.cuda.memory.OutOfMemoryError)

    def release(self) -> None:
        self.xp.get_default_memory_pool().free_all_blocks()


def _digest() -> str:
    """A number for the headers as they are: CuPy finds what it keeps on disk by options, not by what is included."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.cuh")))
    return f"0x{zlib.crc32(text.encode()):08x}"


def size_options(sized: str) -> tuple[str, ...]:
    """What a compiler is told of ``slots:rule``; nothing of kernels that have none."""
    slots, _, rule = sized.partition(":")
    return (f"-DWF_SLOTS={slots}", f"-DWF_RULE={rule}") if sized else ()


def plain(argument: Any) -> Any:
    """A number as kernels take it; arrays and NumPy's numbers stay as they are."""
    if isinstance(argument, np.generic):
        return argument
    if isinstance(argument, bool):
        return np.int32(argument)
    if isinstance(argument, int):
        return np.int64(argument)
    if isinstance(argument, float):
        return np.float32(argument)
    return np.uint64(0) if argument is None else argument


def round_bits(vectors: Any) -> Any:
    """float32 vectors rounded to ten bits of fraction, to nearest."""
    bits = (vectors.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return bits.view(np.float32)


_opened: list[Runtime] = []


def runtime() -> Runtime:
    """The device of this process, opened when first asked for."""
    if not _opened:
        _opened.append(Cuda())
    return _opened[0]


@contextmanager
def using(other: Runtime) -> Iterator[None]:
    """Another runtime in the place of CuPy's, inside the block; arrays of one must not meet the other."""
    before = list(_opened)
    _opened[:] = [other]
    try:
        yield
    finally:
        _opened[:] = before


def available() -> bool:
    """Whether ``device="auto"`` would take a GPU."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return False
    try:
        runtime()
    except (ImportError, Unsupported):
        return False
    return True


def budget(memory: int) -> int:
    """Bytes to work in on the device: ``memory=`` where it was given, else half of what is free."""
    free = runtime().free_bytes()
    return free // 2 if memory == MEMORY else min(memory, free)


def within_memory(work: Callable[[int], _Result], memory: int) -> _Result:
    """``work(bytes)`` with the budget of ``memory=``, and with half of it as often as an allocation fails."""
    room, device = budget(memory), runtime()
    while True:
        try:
            return work(room)
        except Exception as error:
            if not device.out_of_memory(error) or room < 1 << 20:
                raise
            device.release()
            room //= 2
