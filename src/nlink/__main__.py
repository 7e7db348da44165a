"""`python -m nlink` and the command `nlink`."""

from __future__ import annotations

from nlink.cli import main

if __name__ == "__main__":
    main()
