"""The command `nlink`, also as `python -m nlink`: signals are answered before anything heavy is imported."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys

from nlink._support.descriptors import open_standard_streams
from nlink._support.interrupt import answer_signals


def main() -> None:
    """Run the command, and end the process without freeing compiled code: LLVM takes up to 0.6 s for that."""
    codes: list[int] = []
    atexit.register(_end, codes)  # registered first, so that it is called last
    open_standard_streams()
    answer = answer_signals()
    from nlink.cli import command

    codes.append(command())
    answer.end()
    sys.exit(codes[0])


def _end(codes: list[int]) -> None:
    for code in codes:  # none after an exception that nothing caught
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
