"""Words: vocabularies, their vectors, and which words are related."""
