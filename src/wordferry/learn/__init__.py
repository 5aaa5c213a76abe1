"""Learned relatives of Word Mover's Distance: supervised WMD, and Word Mover's Embedding."""

from __future__ import annotations

from wordferry.learn.random_documents import WordMoverEmbedding as WordMoverEmbedding
from wordferry.learn.supervised import SupervisedWordMover as SupervisedWordMover
