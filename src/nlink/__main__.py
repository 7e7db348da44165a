"""The command `nlink`, also as `python -m nlink`: signals are answered before anything heavy is imported."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

from nlink._support.interrupt import answer_signals

OBJECTS = 50_000
"""New objects after which the garbage collector looks at them: imports make many that stay, and it would look at them again and
again, a seventh of the time that a command takes whose kernels are compiled.
"""


def main() -> None:
    """Run the command, and end the process without freeing compiled code: LLVM takes up to 0.6 s for that."""
    codes: list[int] = []
    atexit.register(_end, codes)  # registered first, so that it is called last
    _open_standard_streams()
    answer = answer_signals()
    gc.set_threshold(OBJECTS)
    from nlink.cli import command

    codes.append(command())
    answer.end()
    sys.exit(codes[0])


def _open_standard_streams() -> None:
    """Open closed descriptors 0, 1 and 2 on the null device (`nlink run 2>&-`), and give Python a stream for each that it misses.

    Else the next file that is opened would get such a descriptor, and what is printed would go into that file.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it is the lowest free descriptor, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _end(codes: list[int]) -> None:
    for code in codes:  # none after an exception that nothing caught
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
