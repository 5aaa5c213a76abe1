"""Finding texts by words: BM25 with stems over inverted lists, and a lift by documents that stand near."""

from typing import TYPE_CHECKING

from wordferry.base.lazy import late_names

if TYPE_CHECKING:
    from wordferry.find.explaining import MeaningPart as MeaningPart
    from wordferry.find.explaining import NeighbourPart as NeighbourPart
    from wordferry.find.explaining import ScoreExplanation as ScoreExplanation
    from wordferry.find.explaining import WordPart as WordPart
    from wordferry.find.memory import WordHits as WordHits
    from wordferry.find.memory import WordSearch as WordSearch
    from wordferry.find.settings import Settings as Settings
    from wordferry.find.stems import languages as languages

_HOMES = {
    "explaining": ("MeaningPart", "NeighbourPart", "ScoreExplanation", "WordPart"),
    "memory": ("WordHits", "WordSearch"),
    "settings": ("Settings",),
    "stems": ("languages",),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)
__getattr__ = late_names(__name__, _HOMES)
