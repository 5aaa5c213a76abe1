"""Data files of the package: default vectors, sample collection, stop words."""
