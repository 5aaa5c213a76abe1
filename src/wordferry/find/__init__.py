"""Finding texts by words: BM25 with stems over inverted lists, and a lift by documents that stand near."""

from wordferry.find.explaining import MeaningPart as MeaningPart
from wordferry.find.explaining import NeighbourPart as NeighbourPart
from wordferry.find.explaining import ScoreExplanation as ScoreExplanation
from wordferry.find.explaining import WordPart as WordPart
from wordferry.find.memory import WordHits as WordHits
from wordferry.find.memory import WordSearch as WordSearch
from wordferry.find.settings import Settings as Settings
from wordferry.find.stems import languages as languages

__all__ = [
    "MeaningPart",
    "NeighbourPart",
    "ScoreExplanation",
    "Settings",
    "WordHits",
    "WordPart",
    "WordSearch",
    "languages",
]
