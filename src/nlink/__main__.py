"""The command `nlink`, also as `python -m nlink`: signals are answered before anything heavy is imported."""

from __future__ import annotations

import sys

from nlink.descriptors import open_standard_streams
from nlink.interrupt import answer_signals


def main() -> None:
    """Run the command."""
    open_standard_streams()
    answer = answer_signals()
    from nlink.cli import command

    code = command()
    answer.ignore()
    sys.exit(code)


if __name__ == "__main__":
    main()
