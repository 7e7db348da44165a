"""The standard streams: a command may be started with some of them closed (`nlink run 2>&-`)."""

from __future__ import annotations

import os
import sys


def open_standard_streams() -> None:
    """Open closed descriptors 0, 1 and 2 on the null device, and give Python a stream for each that it misses.

    Else the next file that is opened would get such a descriptor, and what is printed would go into that file.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if _closed(descriptor):
            _fill(descriptor)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return True
    return False


def _fill(descriptor: int) -> None:
    """Open the null device at just this descriptor."""
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)
    os.set_inheritable(descriptor, True)
