"""The scikit-learn estimators, under the name that people import them by."""

from __future__ import annotations

from wordferry.judge.columns import WordColumns as WordColumns
from wordferry.judge.estimators import WordMoverClassifier as WordMoverClassifier
from wordferry.judge.estimators import WordMoverNeighbors as WordMoverNeighbors
from wordferry.judge.estimators import WordMoverTransformer as WordMoverTransformer
from wordferry.judge.graphs import symmetric_graph as symmetric_graph
