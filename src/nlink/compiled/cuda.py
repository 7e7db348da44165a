"""Numba's CUDA, if this machine can use it."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import numpy as np

from nlink._support.checks import ModelError


@cache
def usable_cuda() -> Any:
    """Return the module numba.cuda; raise ModelError if it is not installed or finds no GPU."""
    if not hasattr(np, "row_stack"):  # numba-cuda up to 0.30 asks for it, NumPy has dropped it
        np.row_stack = np.vstack  # pyright: ignore[reportAttributeAccessIssue]
    try:
        from numba import config, cuda

        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # pyright: ignore[reportAttributeAccessIssue]
        logging.getLogger("numba.cuda.cudadrv.driver").setLevel(logging.CRITICAL)  # "not ready" is an answer, no error
        usable = cuda.is_available()
    except ImportError:
        raise ModelError("Cuda needs a package that is not installed: pip install numba-cuda; or use Threads()") from None
    if not usable:
        raise ModelError("Cuda found no NVIDIA GPU with a working driver here; use Threads()")
    return cuda
