"""Kernels for one GPU: CUDA sources under ``cuda/``, launched by ``launch`` alone; arrays in, arrays out."""
