"""Where words and flows of an explanation stand in a diagram; shared by the page and the plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wordferry.explanations.rows import Row

if TYPE_CHECKING:
    from wordferry.explanations.explain import Explanation

NOBODY = "no related word"
_WIDTH, _START, _STOP = 900.0, 270.0, 630.0
_GAP = 8.0
_PIXELS_A_WORD = 34.0
_SMALLEST, _LARGEST = 13.0, 30.0


@dataclass(frozen=True)
class Node:
    """One word on one side."""

    word: str
    left: bool
    mass: float
    top: float
    height: float
    size: float
    """Of the letters."""

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


@dataclass(frozen=True)
class Ribbon:
    """One flow: its upper edge and thickness at either side."""

    row: Row
    left: float
    right: float
    left_height: float
    right_height: float


@dataclass(frozen=True)
class Layout:
    nodes: list[Node]
    ribbons: list[Ribbon]
    width: float
    height: float
    start: float
    stop: float


def arrange(explanation: Explanation) -> Layout:
    """Sources on the left in order of cost, targets on the right near what reaches them."""
    rows = [row for row in explanation.rows if row.mass > 0]
    left: dict[str, float] = {}
    right: dict[str, float] = {}
    pull: dict[str, float] = {}
    for row in rows:
        left.setdefault(row.source or NOBODY, 0.0)
    places = {word: place for place, word in enumerate(left)}
    for row in rows:
        source, target = row.source or NOBODY, row.target or NOBODY
        left[source] += row.mass
        right[target] = right.get(target, 0.0) + row.mass
        pull[target] = pull.get(target, 0.0) + row.mass * places[source]
    order = sorted(right, key=lambda word: (pull[word] / right[word], word))
    most = max(len(left), len(right), 1)
    height = max(220.0, _PIXELS_A_WORD * most)
    nodes = {
        True: _column(list(left.items()), True, height),
        False: _column([(w, right[w]) for w in order], False, height),
    }
    used = {True: dict.fromkeys(left, 0.0), False: dict.fromkeys(right, 0.0)}
    ribbons = []
    place = {word: number for number, word in enumerate(order)}
    for row in sorted(rows, key=lambda row: place[row.target or NOBODY]):
        edges = []
        for side, word in ((True, row.source or NOBODY), (False, row.target or NOBODY)):
            node = nodes[side][word]
            thick = node.height * row.mass / node.mass
            edges.append((node.top + used[side][word], thick))
            used[side][word] += thick
        ribbons.append(Ribbon(row, edges[0][0], edges[1][0], edges[0][1], edges[1][1]))
    everyone = [*nodes[True].values(), *nodes[False].values()]
    return Layout(everyone, ribbons, _WIDTH, height, _START, _STOP)


def _column(words: list[tuple[str, float]], left: bool, height: float) -> dict[str, Node]:
    """Words below each other, half of the height shared evenly and half by mass."""
    total = sum(mass for _, mass in words) or 1.0
    room = height - _GAP * (len(words) + 1)
    heaviest = max((mass for _, mass in words), default=1.0) or 1.0
    nodes = {}
    top = _GAP
    for word, mass in words:
        thick = room * (0.5 / len(words) + 0.5 * mass / total)
        size = _SMALLEST + (_LARGEST - _SMALLEST) * (mass / heaviest) ** 0.5
        size = min(size, _LARGEST if len(word) < 12 else 20.0, 0.9 * thick + 4)
        nodes[word] = Node(word, left, mass, top, thick, max(size, _SMALLEST - 2))
        top += thick + _GAP
    return nodes
