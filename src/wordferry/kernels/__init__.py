"""The loops: :mod:`~wordferry.kernels.reference` slow and readable, :mod:`~wordferry.kernels.native` fast."""
