"""Tests of the relaxed distances and of top-k."""
