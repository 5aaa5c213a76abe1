"""Distances between documents: what is compared, how, and which are nearest."""
