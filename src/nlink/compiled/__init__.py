"""How code is compiled: Numba and its cache, vectors, dual numbers, tracing. Nothing here knows a chain."""
