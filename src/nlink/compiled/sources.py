"""What the compiled code is made from besides the sources of nlink: loads that a user has registered."""

from __future__ import annotations

NOTES: list[str] = []


def note(text: str) -> None:
    """Let kernels that are made from this have a cache folder of their own."""
    NOTES.append(text)
