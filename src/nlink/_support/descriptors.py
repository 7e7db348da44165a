"""The standard streams: a command may be started with some of them closed (`nlink run 2>&-`)."""

from __future__ import annotations

import os
import sys


def open_standard_streams() -> None:
    """Open closed descriptors 0, 1 and 2 on the null device, and give Python a stream for each that it misses.

    Else the next file that is opened would get such a descriptor, and what is printed would go into that file.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it is the lowest free descriptor, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
