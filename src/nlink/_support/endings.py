"""The endings of the files that nlink reads and writes."""

from __future__ import annotations

from pathlib import Path

from nlink._support.checks import ModelError

NUMBERS = "its numbers as a table: nlink export RUN.nc -o out.csv"
MODEL, RUN, TABLE, PAGE = ".toml", ".nc", ".csv", ".html"
PICTURES = (".png", ".svg", ".pdf")
FORMATS = tuple(ending.removeprefix(".") for ending in PICTURES)
"""The same as names of formats."""
ANIMATIONS = (".gif", ".mp4", PAGE)
OTHERS = (".jpg", ".jpeg", ".eps", ".ps", ".tif", ".tiff", ".bmp", ".webp", ".docx", ".odt", ".pptx", ".mov", ".avi", ".webm")
ENDINGS = (MODEL, RUN, TABLE, *PICTURES, *ANIMATIONS, *OTHERS)
"""Endings of files, some of which nlink does not write; a folder is not named so."""


def check_ending(what: str, path: Path, endings: tuple[str, ...] = PICTURES, remedy: str = "") -> None:
    """Refuse a file whose name has another ending; `what` names the option or the file in the message."""
    if path.suffix not in endings:
        raise ModelError(f"{what} must end in {any_of(endings)}, got {path}{remedy and '; '}{remedy}")


def any_of(names: tuple[str, ...]) -> str:
    """Return names as words.

    >>> any_of(PICTURES)
    '.png, .svg or .pdf'
    """
    return " or ".join([", ".join(names[:-1])] * (len(names) > 1) + [names[-1]])
