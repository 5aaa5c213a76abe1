"""Data files of the package: default vectors, sample collection, stop words."""

from pathlib import Path

FOLDER = Path(__file__).parent
