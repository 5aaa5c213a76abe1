"""How an index is asked: by words, and by distance."""
