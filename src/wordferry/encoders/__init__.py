"""Sentence encoders: from texts to vectors, and vectors as codes of one byte."""

from wordferry.encoders.codes import CodedQuery as CodedQuery
from wordferry.encoders.codes import Codes as Codes
from wordferry.encoders.encoder import Encoder as Encoder
from wordferry.encoders.encoder import find_encoder as find_encoder

__all__ = ["CodedQuery", "Codes", "Encoder", "find_encoder"]
