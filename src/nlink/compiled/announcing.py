"""The line that a user reads when something compiles: what it is, and about how long it takes.

The caches of entries know when compiling begins (`kernel_cache`), and say so here. What one call of the user compiles is one wait,
with one line: the call opens a `waiting`, and what is in it gives the words. The seconds of each compilation are kept beside the
folders of kernels, where they outlive a change of the sources. The estimate is the sum over the parts of the wait that the cache
does not hold.

NLINK_QUIET=1 in the environment silences the line.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from nlink._support.files import written_whole
from nlink._support.progress import QUIET

USUAL: dict[str, float] = {
    "the steps of Taylor in recursive": 7,
    "the steps of DOP853 in recursive": 4,
    "the steps of DOP853 in momentum": 4,
    "the steps of DOP853 in projection": 4,
    "the steps of DOP853 in maximal": 4,
    "the steps of DOP853 in natural": 5,
    "the steps of DOP853 in linear": 3,
    "the steps of DOP853 in recursive for closed chains": 6,
    "the steps of DOP853 in momentum for closed chains": 7,
    "the steps of DOP853 in maximal for closed chains": 14,
    "the steps of DOP853 in natural for closed chains": 15,
    "the equations of motion": 2,
    "ensembles by Taylor": 6,
    "ensembles by DOP853": 5,
    "exponents": 3,
    "sections": 4,
}
"""Seconds of a wait on a machine that has not had it yet, by its words: measured on a server of 2 cores."""
HELD: dict[str, Callable[[str], bool]] = {}
"""For each cached function: whether the cache holds its code for some types."""


class Part(NamedTuple):
    """A function that is compiled for some types of arguments, or what is made before it."""

    name: str
    types: str
    kept: bool = True
    """whether later processes find it in the cache"""


class Wait:
    """What a user waits for in one call."""

    def __init__(self, words: str) -> None:
        self.words, self.told = words, ""
        self.parts: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def tell(self, part: Part) -> None:
        """Write the line, once."""
        if not self.told:
            self.told = next((wait.words for wait in _open if wait.words), part.name)
            often = "once on this machine" if part.kept else "in each process, as it calls a function of yours"
            text = f"compiling {self.told}, {_about(_estimate(self.told, part))}, {often}"
            for listener in _listeners or [_say]:
                listener(text)

    def close(self, words: str) -> None:
        """Remember the parts of the wait, and the seconds that they took."""
        times = Times.read()
        known = {name: types for name, types in times.waits.get(words, {}).items() if name in HELD}
        times.waits[words] = known | self.parts
        times.seconds.update(self.seconds)
        times.write()


_listeners: list[Callable[[str], object]] = []
_open: list[Wait] = []
_began: dict[Part, float] = {}


@contextmanager
def waiting(words: str = "", noted: bool = False) -> Iterator[None]:
    """Make one wait of all that is compiled inside. Of several, one inside the other, the outermost with words gives them.

    With `noted`, its parts are remembered even if the cache held all of them.
    """
    wait = Wait(words)
    _open.append(wait)
    try:
        yield
    finally:
        _open.remove(wait)
        if wait.seconds or (noted and wait.parts):
            wait.close(wait.told or words)


def began(part: Part) -> None:
    """Announce a part that is not in the cache and is made now."""
    _began[part] = time.perf_counter()
    for wait in _open[:1]:
        wait.tell(part)


def ended(part: Part) -> None:
    """Note the seconds that a part has taken."""
    seconds = time.perf_counter() - _began.pop(part, time.perf_counter())
    for wait in _open[:1]:
        wait.parts[part.name] = part.types
        wait.seconds[f"{part.name} {part.types}"] = round(seconds, 2)


def loaded(part: Part) -> None:
    """Note a part of the wait that was in the cache."""
    for wait in _open[:1]:
        wait.parts[part.name] = part.types


class Times(NamedTuple):
    """What is known of earlier compilations on this machine."""

    seconds: dict[str, float]
    """by the name and the types of a part"""
    waits: dict[str, dict[str, str]]
    """the types of each part by its name, by the words of a wait"""

    @classmethod
    def read(cls) -> Times:
        """Read the file; one that is damaged counts as empty."""
        try:
            (path,) = _file
            table = json.loads(path.read_text(encoding="utf-8"))
            waits = {
                str(words): {str(name): str(types) for name, types in parts.items()} for words, parts in table["waits"].items()
            }
            return cls({str(part): float(seconds) for part, seconds in table["seconds"].items()}, waits)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return cls({}, {})

    def write(self) -> None:
        """Write the file; on a full disk there is none."""
        with contextlib.suppress(OSError):
            for path in _file:
                with written_whole(path, r"\{") as temporary:
                    temporary.write_text(json.dumps(self._asdict(), indent=1), encoding="utf-8")


_file: list[Path] = []


def keep_times(path: Path) -> None:
    """Keep the seconds of compilations in this file."""
    _file[:] = [path]


def held(words: str) -> bool:
    """Whether the cache holds all parts of a wait, as far as this machine has had it."""
    parts = Times.read().waits.get(words, {})
    return bool(parts) and not _missing(parts)


def _missing(parts: dict[str, str]) -> dict[str, str]:
    """Return the parts that the cache does not hold."""
    return {name: types for name, types in parts.items() if name not in HELD or not HELD[name](types)}


def _estimate(words: str, first: Part) -> float | None:
    """Return the seconds of a wait that begins with a part: those of all its parts that the cache does not hold."""
    times = Times.read()
    parts = times.waits.get(words, {})
    if first.name not in parts:
        usual = USUAL.get(words)
        return None if usual is None else max(usual - _shared(words, first, times), 1.0)
    usual = times.seconds.get(f"{first.name} {parts[first.name]}", 0.0)
    own = times.seconds.get(f"{first.name} {first.types}", usual)
    rest = [f"{name} {types}" for name, types in _missing(parts).items() if name != first.name]
    return own + sum(times.seconds.get(part, 0.0) for part in rest)


def _shared(words: str, first: Part, times: Times) -> float:
    """Return the seconds of parts that the cache holds because another formulation has been integrated by the same method."""
    method = words.split(" in ")[0]
    waits = [parts for other, parts in times.waits.items() if other.startswith(f"{method} in ")]
    parts = {name: types for each in waits for name, types in each.items()}
    missing = _missing(parts)
    known = (f"{name} {types}" for name, types in parts.items() if name not in missing and name != first.name)
    return sum(times.seconds.get(part, 0.0) for part in known)


def _about(seconds: float | None) -> str:
    return "some seconds" if seconds is None else f"about {max(1, round(seconds))} s"


def announce_to(listener: Callable[[str], object]) -> None:
    """Give the lines to a function from now on, and write none to stderr."""
    _listeners[:] = [listener]


def _say(text: str) -> None:
    """Write a line to stderr, if there is one and it is wanted."""
    stream: Any = sys.stderr
    if stream is not None and not os.environ.get(QUIET):
        with contextlib.suppress(OSError, ValueError):
            print(f"nlink: {text}", file=stream, flush=True)
