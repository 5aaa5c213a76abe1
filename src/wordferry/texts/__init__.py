"""Texts: tokenizers, documents, bags of words, collections."""
