"""Bad calls of everything that the extension module binds: ``python -m tests.kernels.fuzz LAST CALLS NAME...``.

Arguments are made from the signatures, so what is bound tomorrow is called too: most have the right type and a shape
that may fit, some have not. A call may return, or raise TypeError, ValueError, MemoryError or one of our errors;
anything else ends this process. The call that is running is kept in the file LAST.
"""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.kernels.fitting import fitting
from wordferry import _native
from wordferry.errors import WordferryError

ALLOWED = (TypeError, ValueError, MemoryError, WordferryError)
EXTREMES = [-1, -(2**31), 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63), 2**64, 2**70]
ODD_FLOATS = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e38, 1e-40, -1.0, 0.0]
SECONDS_A_CALL = 60


def targets() -> dict[str, Callable[..., Any]]:
    """Functions, constructors and methods by name; methods take an object first."""
    found: dict[str, Callable[..., Any]] = {}
    for name in dir(_native):
        thing = getattr(_native, name)
        if isinstance(thing, type) and hasattr(thing.__init__, "__nb_signature__"):
            found[name] = thing
            for part in dir(thing):
                if hasattr(getattr(thing, part), "__nb_signature__") and not part.startswith("_"):
                    found[f"{name}.{part}"] = getattr(thing, part)
        elif hasattr(thing, "__nb_signature__"):
            found[name] = thing
    return found


def kinds(function: Any) -> Iterator[list[str]]:
    """The type of each argument, for each overload; of a constructor without self."""
    signed = function.__init__ if isinstance(function, type) else function
    for signature, *_ in signed.__nb_signature__:
        inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
        parts = re.split(r", (?=\w+(?:: |$|,))", inside) if inside else []
        yield [
            part.partition(": ")[2].partition(" = ")[0] or "self"
            for part in parts
            if not (isinstance(function, type) and part == "self")
        ]


starts = cache(fitting)
"""The calls that fit, made once."""


class Maker:
    """Arguments from a source of randomness."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.sizes = [int(self.rng.integers(0, 6)) for _ in range(2)]
        self.oddness = float(self.one_of(0, 0, 0.01, 0.1))
        self.square = bool(self.rng.random() < 0.4)

    def one_of(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def rarely(self) -> bool:
        return bool(self.rng.random() < self.oddness)

    def size(self) -> int:
        if self.square and not self.rarely():
            return self.sizes[0]
        return int(self.one_of(*self.sizes, *self.sizes, self.sizes[0] + 1, self.sizes[1] + 1, 1, 16, 4))

    def whole(self) -> int:
        return int(self.one_of(*EXTREMES)) if self.rarely() else int(self.one_of(0, 1, 2, *self.sizes, self.size()))

    def number(self) -> float:
        return float(self.one_of(*ODD_FLOATS)) if self.rarely() else float(self.rng.random() * 2)

    def values(self, count: int, dtype: np.dtype[Any]) -> Any:
        if dtype.kind == "f":
            values = self.rng.random(count).astype(dtype) + dtype.type(0.1)
            if count and self.rarely():
                with np.errstate(over="ignore"):
                    values[self.rng.integers(count)] = self.one_of(*ODD_FLOATS)
            return values
        top = max(self.sizes) + 1
        made = self.one_of(
            np.ones(count),
            np.arange(count),
            np.sort(self.rng.integers(0, top + 1, count)),
            self.rng.integers(-1, top, count),
            self.rng.integers(1, 4, count),
            np.minimum(np.arange(count), self.sizes[0]),
            np.full(count, self.one_of(0, 1, top)),
        )
        limits = np.iinfo(dtype)
        made = np.clip(made, limits.min, limits.max).astype(dtype)
        if count and self.rarely():
            made[self.rng.integers(count)] = self.one_of(limits.min, limits.max, limits.max // 2)
        return made

    def array(self, kind: str) -> Any:
        dtype = np.dtype(re.search(r"dtype=(\w+)", kind)[1])  # type: ignore[index]
        stars = re.search(r"shape=\(([^)]*)\)", kind)[1]  # type: ignore[index]
        shape = tuple(self.size() for _ in stars.split(","))
        if self.rarely():
            dtype = np.dtype(self.one_of("f4", "f8", "i4", "i8", "u1", "bool", "c8"))
        if self.rarely():
            shape = shape[:-1] if self.rng.random() < 0.5 else (*shape, 2)
        count = int(np.prod(shape))
        plain = dtype if dtype.kind in "fiu" else np.dtype("f4")
        memory = np.empty(count * dtype.itemsize + 64, np.uint8)
        start = int(-memory.ctypes.data % 64) if self.rng.random() < 0.5 else 0
        start += 1 if self.rarely() else 0  # where no element may lie
        array = memory[start : start + count * dtype.itemsize].view(dtype).reshape(shape)
        array[...] = self.values(count, plain).astype(dtype).reshape(shape)
        if array.ndim and self.rarely():
            array = self.one_of(array.T, array[::-1], array[..., ::2], np.asfortranarray(array))
        if self.rarely():
            array.flags.writeable = False
        return array

    def made(self, name: str) -> Any:
        """An object of a class of the module, or None where no attempt to make one succeeds."""
        for _ in range(30):
            try:
                return self.good(name)
            except ALLOWED:
                continue
        return None

    def good(self, name: str) -> Any:
        rows, words = self.size(), self.one_of(*self.sizes, 4)
        if name in ("Csr", "WholeCsr"):
            lists = [np.flatnonzero(self.rng.random(words) < 0.5) for _ in range(rows)]
            indptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
            indices = np.concatenate([np.zeros(0, np.int64), *lists]).astype(np.int32)
            data = self.values(len(indices), np.dtype("f4" if name == "Csr" else "i8"))
            return getattr(_native, name)(indptr, indices, data, words)
        if name == "Candidates":
            return _native.Candidates(rows, int(self.rng.integers(0, 4)))
        if name == "TransportDocuments":
            return _native.TransportDocuments(self.made("WholeCsr"), self.made("WholeCsr"), *self.costs())
        thing, make = getattr(_native, name), starts().get(name)
        if make is not None and self.rng.random() < 0.7:
            return thing(*make())
        return thing(*self.arguments(self.one_of(*kinds(thing))))

    def costs(self) -> tuple[Any, ...]:
        if self.rng.random() < 0.3:
            words = 16
            nothing = np.zeros(words + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), words
            return _native.Csr(*nothing), 1.5, bool(self.rng.random() < 0.5)
        places = np.arange(32, dtype=np.int32)
        costs = self.rng.random((32, 32)).astype(np.float32)
        soft = 0.1, 1e-6, self.one_of(0, 50)
        rule = _native.TransportRule(self.one_of(*_native.TransportKind), 2, bool(self.rng.random() < 0.5), *soft)
        return costs, places, places, rule, False

    def argument(self, kind: str) -> Any:
        if self.rarely():
            return self.one_of(None, "text", 1.5, np.zeros(3), object(), [1, 2], -1)
        if kind.startswith("ndarray"):
            if kind.endswith("| None") and self.rng.random() < 0.5:
                return None
            return self.array(self.one_of(*kind.removesuffix(" | None").split(" | ")))
        if kind.startswith("collections.abc.Sequence"):
            return [self.argument(kind.partition("[")[2][:-1]) for _ in range(self.one_of(0, 1, 2, 3, 17))]
        if kind == "bool":
            return bool(self.rng.random() < 0.5)
        if kind == "int":
            return self.whole()
        if kind == "float":
            return self.number()
        if kind == "bytes":
            return self.one_of(b"", b"1 2 3", b"nan -1e5 x", b"1.5 2.5 " * 3)
        name = kind.rpartition(".")[2]
        thing = getattr(_native, name, None)
        if not isinstance(thing, type):
            return None
        return self.made(name) if hasattr(thing.__init__, "__nb_signature__") else self.one_of(*thing)

    def arguments(self, wanted: list[str]) -> list[Any]:
        return [self.argument(kind) for kind in wanted]

    def bent(self, given: list[Any], wanted: list[str]) -> list[Any]:
        """Arguments that fit, of which some are replaced or have other numbers."""
        for place in self.rng.integers(len(given), size=int(self.rng.integers(1, 4))):
            value = given[place]
            numbers = (
                isinstance(value, np.ndarray) and value.size and value.flags.writeable and value.dtype.kind in "fiu"
            )
            if numbers and self.rng.random() < 0.7:
                value.reshape(-1)[self.rng.integers(value.size)] = self.values(1, value.dtype)[0]
            else:
                given[place] = self.argument(wanted[place])
        return given


def attack(name: str, calls: int, last: str) -> None:
    """Call one target so often."""
    function = targets()[name]
    overloads = list(kinds(function))
    owner = name.partition(".")[0]

    @settings(
        max_examples=calls,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**64 - 1))
    def call(seed: int) -> None:
        maker = Maker(seed)
        wanted = [owner if kind == "self" else kind for kind in maker.one_of(*overloads)]
        os.pwrite(file, f"{name}, seed {seed:20d}".encode(), 0)
        fits = make() if (make := starts().get(name)) else None
        bend = fits and len(fits) == len(wanted) and maker.rng.random() < 0.6
        arguments = maker.bent(fits, wanted) if bend and fits else maker.arguments(wanted)
        set_alarm(SECONDS_A_CALL)
        with suppress(*ALLOWED):
            function(*arguments)
        set_alarm(0)

    file = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    call()
    os.close(file)


def set_alarm(seconds: int) -> None:
    """A signal that ends this process, whatever it does, when a call takes longer; 0 takes it back."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def limit_memory() -> None:
    """Let an absurd size be a MemoryError. Under sanitizers it ends the process, so there is none."""
    if sys.platform == "linux":
        with open("/proc/self/maps", encoding="utf-8") as maps:
            if re.search("lib[at]san", maps.read()):
                EXTREMES[:] = [value for value in EXTREMES if not 0 < value < 2**62]
                return
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))


if __name__ == "__main__":
    limit_memory()
    faulthandler.enable()
    if hasattr(signal, "SIGALRM"):
        faulthandler.register(signal.SIGALRM, chain=True)
    for target in sys.argv[3:] or targets():
        attack(target, int(sys.argv[2]), sys.argv[1])
