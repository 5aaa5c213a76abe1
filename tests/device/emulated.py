"""The kernels of the device as plain C++: warps are loops over lanes, device arrays are NumPy's."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.device.launch import HEADERS, SIZED_HEADERS, SOURCES, plain, round_bits, size_options

_ENTRY = """
extern "C" void wf_place(long long block, int warps, void* memory) {
  wordferry::emulated = {block, warps, static_cast<double*>(memory)};
}
"""
_POISON = 0xA5
_KINDS = {
    np.int32: ctypes.c_int32,
    np.uint32: ctypes.c_uint32,
    np.int64: ctypes.c_int64,
    np.float32: ctypes.c_float,
    np.float64: ctypes.c_double,
}


class Library:
    """The headers, compiled with the machine's C++ compiler when first used; warnings are errors.

    With WORDFERRY_SANITIZE=1 in the environment they are compiled with the sanitizers.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.compiled: dict[str, ctypes.CDLL] = {}

    def kernel(self, kernel: str) -> tuple[Any, ctypes.CDLL]:
        """A kernel, and the library it is in; ``name:slots:rule`` is compiled for a number of slots and a rule."""
        name, _, sized = kernel.partition(":")
        if sized not in self.compiled:
            self.compiled[sized] = self._compile(sized)
        return getattr(self.compiled[sized], name), self.compiled[sized]

    def _compile(self, sized: str) -> ctypes.CDLL:
        name = "kernels" + sized.replace(":", "_")
        source, library = self.folder / f"{name}.cpp", self.folder / f"{name}.so"
        headers = SIZED_HEADERS if sized else HEADERS
        source.write_text("\n".join(f'#include "{name}"' for name in headers) + _ENTRY, encoding="utf-8")
        strict = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "-Wno-unknown-pragmas", "-ffp-contract=off"]
        checked = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        flags = strict + (checked if os.environ.get("WORDFERRY_SANITIZE") else [])
        flags += [*size_options(sized), "-DWF_solve_given", "-DWF_solve_documents"] if sized else []
        command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-g", "-fPIC", "-shared", *flags, f"-I{SOURCES}"]
        subprocess.run([*command, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


class Emulated:
    """A runtime without a GPU. Shared memory is poisoned before every block, and fresh arrays hold no zeros."""

    def __init__(self, library: Library, free: int = 1 << 30) -> None:
        self.xp: Any = np
        self.shared_bytes = 227 << 10
        self.streams = 2
        self.free = free
        self._library = library
        self.launches: list[str] = []

    def put(self, array: Any) -> Any:
        return np.ascontiguousarray(array)

    def get(self, array: Any) -> Any:
        return np.array(array)

    def launch(self, kernel: str, blocks: int, threads: int, shared: int, *arguments: Any) -> None:
        assert shared <= self.shared_bytes, "no device has that much shared memory"
        assert threads % 32 == 0
        self.launches.append(kernel)
        function, library = self._library.kernel(kernel)
        given = [self._argument(plain(argument)) for argument in arguments]
        memory = np.empty(shared + 8, dtype=np.uint8)
        for block in range(blocks):
            memory.fill(_POISON)
            library.wf_place(ctypes.c_int64(block), threads // 32, ctypes.c_void_p(memory.ctypes.data))
            function(*given)

    @staticmethod
    def _argument(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous, "kernels take contiguous arrays"
            return ctypes.c_void_p(value.ctypes.data)
        if isinstance(value, np.uint64):
            return ctypes.c_void_p(None)
        return _KINDS[type(value)](value.item())

    @contextmanager
    def overlapping(self) -> Iterator[Callable[[], AbstractContextManager[Any]]]:
        yield nullcontext

    def products(self, a: Any, b: Any, out: Any) -> None:
        out[: len(a), : len(b)] = a @ b.T

    def rounded(self, vectors: Any) -> Any:
        return round_bits(vectors)

    def free_bytes(self) -> int:
        return self.free

    def out_of_memory(self, error: Exception) -> bool:
        return isinstance(error, MemoryError)

    def release(self) -> None:
        pass
