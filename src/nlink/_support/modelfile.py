"""Model files (TOML) as tables: how large and how deep a text may be is looked at before it is parsed.

The parser takes time and memory with the square of the depth of a key, and calls itself for every bracket. So the text is first
looked through once, without its strings and comments; a text that is too large is refused at once.
"""

from __future__ import annotations

import os
import re
import tomllib
from itertools import accumulate
from pathlib import Path
from typing import Any

from nlink._support.checks import ModelError

MOST_BYTES = 16 * 2**20
MOST_VALUES = 1_200_000
"""Values of a model file; a bracket counts as three, by the time that it takes."""
MOST_DEPTH = 20
"""Parts of a dotted key, and brackets within brackets."""
ASIDE = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"{1,2}(?!"))[^"\\]*+)*+(?:"{3,5}|\\?\Z)'
    r"|'''[^']*+(?:'{1,2}(?!')[^']*+)*+(?:'{3,5}|\Z)"
    r'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
"""Strings and comments; one that does not end goes on to the end of its line, or of the text."""
LONG_KEY = re.compile(rf"(?:\.[^.=,\n\[\]{{}}]*+){{{MOST_DEPTH}}}")
OTHERS = re.compile(r"[^\[\]{}]+")
STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
WIDE = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x00", "UTF-32"))


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the tables of a model file; a file that cannot be read or parsed raises OSError or ModelError."""
    with Path(path).open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ModelError(f"{path} is too large for a model file: it may have up to {MOST_BYTES:,} bytes")
    for mark, name in WIDE:
        if content.startswith(mark):
            raise ModelError(f"{path} is not a model file (TOML): it is written in {name}; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} is not a model file (TOML): it is not UTF-8 at byte {error.start}") from None
    return tables(text.replace("\r\n", "\n"), str(path))


def tables(text: str, where: str) -> dict[str, Any]:
    """Return the tables of a model's text, or refuse it in one sentence that begins with `where`."""
    refuse_large(text, where)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{where} is not a model file (TOML): {error}") from None
    except ValueError:  # Python reads no decimal numbers of more than some thousand digits
        raise ModelError(f"{where} is not a model: one of its whole numbers has thousands of digits") from None
    except RecursionError:
        raise ModelError(f"{where} is not a model: {DEEP}") from None


DEEP = f"brackets and dotted keys may go {MOST_DEPTH} deep"


def refuse_large(text: str, where: str) -> None:
    """Refuse a text with too many values, or too deep a key or list, in a time that grows with its length alone."""
    bare = ASIDE.sub('""', text)
    count = bare.count(",") + bare.count("=") + 3 * bare.count("[")
    if count > MOST_VALUES:
        raise ModelError(f"{where} has about {count:,} values, more than the {MOST_VALUES:,} of a model file; build it in Python")
    deepest = max(accumulate(map(STEPS.__getitem__, OTHERS.sub("", bare))), default=0)
    if deepest > MOST_DEPTH or LONG_KEY.search(bare):
        raise ModelError(f"{where} is not a model: {DEEP}")
