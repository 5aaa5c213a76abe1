"""What is compared, and how: a distance and its methods, a problem made of documents and a distance, and which method
computes it: the cheapest that applies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int64Array, Neighbors
from wordferry.base.runtime import MEMORY, Progress, Report, Run, device_name, logger
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame
from wordferry.compare.moves import Taken
from wordferry.device.launch import available, runtime
from wordferry.errors import InputError, Unsupported
from wordferry.words.embeddings import Embeddings

ALGORITHMS = ("auto", "standard", "linear")
_OTHER_SIDE = {"both": "both", "left": "right", "right": "left"}
_PARAMETER = "parameter"


class Method:
    """One way to compute a distance. All methods of a distance give the same values."""

    name: str = ""
    title: str = ""
    """What the method does, in a few words."""
    algorithm: str = ""
    """"standard" (pair by pair) or "linear" (all documents at once); "" where a distance has no such choice."""
    few_first: bool = False
    """True when the side with fewer documents should play the part of x."""
    device: bool = False
    """True when it runs on a GPU: such methods, where one applies, are the only ones there, and nowhere else."""

    def applies(self, problem: Problem) -> bool:
        """Whether this method can compute the problem."""
        return True

    def cost(self, problem: Problem) -> float:
        """About how many nanoseconds it would take on one core; only ratios to other methods matter."""
        raise NotImplementedError

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        """Fill ``out``; pairs with an empty document are settled afterwards."""
        raise NotImplementedError

    def device_pass(self, problem: Problem) -> Any:
        """Of a method on a GPU whose values can be reduced there: an object that gives them block by block."""
        raise NotImplementedError

    def nearest(self, problem: Problem, k: int, mask: BoolArray | None) -> tuple[Neighbors, Int64Array] | None:
        """The k nearest rows of y to each row of x without a matrix of values, and the rows in which rounding could
        have decided; None where there is no such way."""
        return None


@dataclass(frozen=True)
class Effort:
    """Steps that a word of a request takes; a step is what the cheapest distances do with a word and a document."""

    document: float = 1.0
    """For each document that it meets in a search."""
    word: float = 0.0
    """For each word of the collection."""
    word_bytes: float = 0.0
    """Bytes held for each word of the collection."""
    pair: float = 4.0
    """For each word of another text, where two texts are compared."""


def parameter(default: Any) -> Any:
    """A field of a distance that a caller may set: ``find_distance("act", transfers=5)``."""
    return field(default=default, metadata={_PARAMETER: True})


class Shared(Enum):
    """What two documents share, where nothing else decides how far apart they are."""

    PRODUCT = "the product of their weights, both scaled to length 1: the distance is 1 less that"
    MASS = "the smaller of their masses of each word: the distance is 2 less twice their sum"


_EFFORT = Effort(20.0, 4.0, 4.0, 20.0)


@dataclass(frozen=True, repr=False)
class Distance:
    """What is known of one distance. Each family has a file of its own under ``compare/distances``."""

    family: str = ""
    """What the formula is called, whatever its parameters; a key or a message wants :attr:`name`."""
    title: str = ""
    needs_vectors: bool = False
    needs_related: bool = False
    overlaps: tuple[str, ...] = ()
    """Valid ``overlap=`` values, the default first; empty when the option has no meaning."""
    sides: tuple[str, ...] = ("both",)
    """Valid ``side=`` values."""
    methods: tuple[Method, ...] = ()
    transport: bool = False
    """True when a value is the optimum of a transport problem, so that a search solves only what can win."""
    costly: bool = False
    """True when a pair compares all its words with each other."""
    by_lists: bool = False
    """True when the inverted lists of an index can compute it, through related words alone."""
    by_centroids: bool = False
    """True when it is the distance of two mean vectors, whose codes an index stores."""
    shared: Shared | None = None
    """What the inverted lists of an index sum up, where the words that two documents share are all that counts."""
    effort: Effort = _EFFORT
    """Rough figures for a service that has to tell light requests from heavy ones."""
    own_weights: str = ""
    """The weights that belong to the formula, used where a caller leaves counts; "" where there are none."""
    cost: str = "euclidean"
    """What moving a word costs: the distance of two vectors, or 1 less their cosine; of distances that move words."""

    def __repr__(self) -> str:
        return self.name

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the formula and their values."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.metadata.get(_PARAMETER)}

    @cached_property
    def name(self) -> str:
        """The identity: the family, with the parameters that are not the default ones. ``find_distance`` reads it."""
        plain = {f.name: f.default for f in fields(self)}
        changed = [f"{name}={_written(value)}" for name, value in self.parameters.items() if value != plain[name]]
        return f"{self.family}({', '.join(changed)})" if changed else self.family

    @property
    def costs(self) -> frozenset[str]:
        """The costs of words that it is made of; none where it moves no words."""
        return frozenset([self.cost]) if self.needs_vectors else frozenset()

    def weighed_by(self, given: Any) -> Any:
        """The weights to use where a caller gave these."""
        plain = given is None or (isinstance(given, str) and given == "counts")
        return self.own_weights if self.own_weights and plain else given

    @property
    def sided(self) -> bool:
        """True when the distance is the larger of two one-sided values, so that ``side=`` has a meaning."""
        return len(self.sides) > 1

    def bounds(self, overlap: str, unknown: bool = False) -> tuple[tuple[Distance, str], ...]:
        """Cheaper distances that this one is never below, each with the overlap for which that holds.

        ``unknown`` says that there are words without a vector, for which fewer bounds may hold.
        """
        return ()

    def least_moves(self, problem: Problem) -> Float64Array | None:
        """What a unit of each word's mass costs at least where it must move; None where it need not, or is not known.

        It must where what a document has more of a word than the other is moved to other words.
        """
        return None

    def single(self, vectors: Float32Array, x: dict[int, int], y: dict[int, int]) -> float | None:
        """The distance of two bags of whole counts without what is needed for collections, where there is a way."""
        return None

    def moves(self, problem: Problem) -> Taken:
        """The distance of the only two documents of the problem as costs that sum to it."""
        raise Unsupported(f"{self.name} cannot be explained: its parts are not known.")


COSTS = ("euclidean", "cosine")


@dataclass(frozen=True, repr=False)
class MoverDistance(Distance):
    """A distance that moves words. ``cost`` is the distance of two vectors, or "cosine": 1 less the cosine of their
    angle, which is half the squared distance of two vectors of length 1."""

    needs_vectors: bool = True
    cost: str = parameter("euclidean")

    def __post_init__(self) -> None:
        if self.cost not in COSTS:
            raise InputError(f"cost must be one of {', '.join(map(repr, COSTS))}; got {self.cost!r}.")

    @cached_property
    def metric(self) -> bool:
        """True when the cost is a metric, so that mass common to two documents may stay where it is."""
        return self.cost == COSTS[0]

    def _set_overlaps(self, *overlaps: str) -> None:
        """Say which overlaps there are where that follows from a parameter."""
        object.__setattr__(self, "overlaps", overlaps)


def _written(value: Any) -> str:
    """A parameter as a name has it: words without quotes, which no command line needs."""
    return value if isinstance(value, str) and value.isidentifier() else repr(value)


_units: WeakKeyDictionary[Embeddings, Embeddings] = WeakKeyDictionary()


def vectors_by_cost(embeddings: Embeddings, record: Distance) -> Embeddings:
    """Vectors of length 1 where words cost the cosine of their angle, made once for as long as the given ones live."""
    if embeddings.normalized or record.costs <= {"euclidean"}:
        return embeddings
    if len(record.costs) > 1:
        raise InputError(
            f"{record.name} has cosine and Euclidean costs, which agree only on vectors of length 1: "
            "pass normalize=True to Embeddings."
        )
    found = _units.get(embeddings)
    if found is None:
        found = _units[embeddings] = embeddings.normalize()
    return found


class Running(NamedTuple):
    """How a problem is run: the fields of a :class:`~wordferry.Run`, which has checked them, all decided."""

    threads: int
    progress: Progress | None = None
    device: str = "cpu"
    memory: int = MEMORY

    @classmethod
    def of(cls, run: Run) -> Running:
        """Of a run that was asked for."""
        return cls(run.workers, run.progress, device_name(run.device), run.memory)  # type: ignore[arg-type]

    @property
    def on_device(self) -> bool:
        """Whether to run on a GPU where that can be. One that was asked for by name must be there."""
        if self.device == "cuda":
            runtime()
        return self.device == "cuda" or (self.device == "auto" and available())


@dataclass(frozen=True, eq=False)
class Problem:
    """Distances to compute, ready for kernels. Words have compact ids that x, y and the frame share."""

    distance: Distance
    overlap: str
    """What happens to words that both documents have; always one that the distance knows."""
    side: str
    x: Bags
    y: Bags
    """The very object ``x`` when X is compared with itself."""
    frame: Frame
    run: Running

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.x), len(self.y)

    @property
    def symmetric(self) -> bool:
        """True when X is compared with itself."""
        return self.x is self.y

    @property
    def methods(self) -> list[Method]:
        """The methods that can compute it where it is to run: those of a GPU, or where none applies the others."""
        known = self.distance.methods
        gpu = self.run.device != "cpu" and self.run.on_device
        found = [one for one in known if one.device and one.applies(self)] if gpu else []
        return found or [one for one in known if not one.device and one.applies(self)]

    def turned(self) -> Problem:
        """The problem with x and y in each other's place."""
        return replace(self, side=_OTHER_SIDE[self.side], x=self.y, y=self.x)

    def part(self, rows: slice, columns: slice) -> Problem:
        """The problem of some rows of x and some of y."""
        x, y = self.x.slice(rows.start, rows.stop), self.y.slice(columns.start, columns.stop)
        return replace(self, x=x, y=y, run=self.run._replace(progress=None))

    def by(self, distance: Distance, overlap: str, side: str = "both") -> Problem:
        """The problem of these documents by another distance, one that needs no word that is not in play."""
        frame = self.frame if distance.needs_related or self.frame.graph is None else self.frame.without_graph
        return replace(self, distance=distance, overlap=overlap, side=side, frame=frame.priced(distance.cost))

    def running(self, **how: Any) -> Problem:
        """The problem, run in another way: with other fields of :class:`Running`."""
        return replace(self, run=self.run._replace(**how))

    def tiles(self, rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
        """Blocks of at most rows x columns pairs, row blocks outside."""
        for i in range(0, self.shape[0], rows):
            for j in range(0, self.shape[1], columns):
                yield slice(i, min(i + rows, self.shape[0])), slice(j, min(j + columns, self.shape[1]))

    def settle_empty(self, out: Float32Array) -> None:
        """An empty document is at distance inf from every other and 0 from another empty one."""
        if not len(self.x.empty) and not len(self.y.empty):
            return
        out[self.x.empty, :] = np.inf
        out[:, self.y.empty] = np.inf
        out[np.ix_(self.x.empty, self.y.empty)] = 0.0


@dataclass(frozen=True)
class MethodPlan:
    """What will be done and what it is expected to cost; ``Measure.plan`` gives one."""

    distance: str
    algorithm: str
    """"standard" or "linear"; "" for distances that have one algorithm only."""
    method: str
    pairs: int
    seconds: float
    """Estimated processor time, for comparison between methods rather than as a promise."""
    considered: dict[str, float] = field(default_factory=dict)
    """Estimated seconds of every method that was possible."""
    swapped: bool = False
    """True when the rows of Y, being fewer, play the part of X."""
    title: str = ""
    """What the method does, in a few words."""
    chosen: Method = field(default_factory=Method, repr=False, compare=False)

    def __str__(self) -> str:
        others = ", ".join(f"{name} {value:.3g} s" for name, value in self.considered.items() if name != self.method)
        text = f"{self.distance}: {self.method} ({self.title}), about {self.seconds:.3g} s for {self.pairs} pairs"
        return f"{text}; instead of {others}" if others else text


def make_plan(problem: Problem, algorithm: str = "auto") -> MethodPlan:
    """The cheapest method that applies, of the algorithm asked for; the choice is logged at debug level."""
    found = problem.methods
    if algorithm != "auto":
        check_algorithm(problem, algorithm)
        found = [method for method in found if method.algorithm == algorithm]
    if not found:
        raise Unsupported(
            f"No method of {problem.distance.name} computes overlap={problem.overlap!r}, side={problem.side!r}, "
            f"algorithm={algorithm!r}."
        )
    costs = {method.name: 1e-9 * float(method.cost(problem)) for method in found}
    best = min(found, key=lambda method: costs[method.name])
    rows, columns = problem.shape
    swapped = best.few_first and columns < rows and not problem.symmetric
    name, pairs, seconds = problem.distance.name, rows * columns, costs[best.name]
    plan = MethodPlan(name, best.algorithm, best.name, pairs, seconds, costs, swapped, best.title, best)
    logger.debug("%s", plan)
    return plan


def fill(problem: Problem, out: Float32Array, plan: MethodPlan | None = None) -> Float32Array:
    """Write all distances of the problem to ``out``, by the method of the plan."""
    plan = plan or make_plan(problem)
    method = plan.chosen
    report = Report(problem.run.progress, problem.shape[0] * problem.shape[1])
    if not problem.x.masses.nnz or not problem.y.masses.nnz:  # every pair has an empty document
        out.fill(np.inf)
        problem.settle_empty(out)
    elif out.size:
        if plan.swapped:
            turned = np.empty(problem.shape[::-1], dtype=np.float32)
            method.run(problem.turned(), turned, report)
            out[...] = turned.T
        else:
            method.run(problem, out, report)
        problem.settle_empty(out)
    report(1.0)
    return out


def check_algorithm(problem: Problem, algorithm: str) -> None:
    """Refuse names and combinations that have no meaning."""
    if algorithm not in ALGORITHMS:
        raise InputError(f"algorithm must be one of {', '.join(map(repr, ALGORITHMS))}; got {algorithm!r}.")
    kinds = {method.algorithm for method in problem.distance.methods}
    if algorithm not in kinds:
        raise InputError(f"algorithm={algorithm!r} has no meaning for {problem.distance.name}. Leave it out.")
    if algorithm == "linear" and problem.overlap == "residual":
        raise InputError(
            "overlap='residual' has no linear algorithm, because a word that one pair has used up cannot be a target "
            "for that pair alone. Use algorithm='standard' (or 'auto')."
        )
