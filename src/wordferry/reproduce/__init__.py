"""The experiments of Werner & Laber (2020) and the fair protocol of Sato et al. (2022), run on data the user brings."""

from __future__ import annotations

from wordferry.reproduce.bench import Source, data_folder
from wordferry.reproduce.run import PROTOCOLS, Plan, Results, reproduce

__all__ = ["PROTOCOLS", "Plan", "Results", "Source", "data_folder", "reproduce"]
