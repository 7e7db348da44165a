"""Numba's cache of compiled functions, sealed: a file that is damaged, cut off or empty counts as absent, and is compiled anew.

Every file begins with the SHA-256 of the rest, so that neither a crash of the machine nor a flipped bit lets wrong code run.
A file of code has a name of its own for each process that made one, and is on the disk before the index names it: two processes
that compile at once cannot exchange their code. What cannot be written (a full disk) is not kept, and that is all.

Code that calls functions of the user (a formulation, an output) is never kept: its sources do not name the folder.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import hashlib
import os
import pickle
import uuid
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from nlink._support.files import UNFINISHED, discard
from nlink.compiled import announcing

SEAL = 32
"""Bytes of a SHA-256."""


@cache
def leave_without_collecting() -> None:
    """Let the interpreter end without a search for cycles among all objects of Numba and LLVM. It takes a quarter of a second, and
    twice that after something has been compiled, also after Ctrl-C.
    """
    atexit.register(gc.freeze)


class SealedFile(IndexDataCacheFile):
    """The index and the code of one function on disk."""

    def __init__(self, folder: str, base: str, stamp: Any) -> None:
        super().__init__(folder, base, stamp)
        self._base = base

    def save(self, key: Any, data: Any) -> None:
        """Write the code of one signature, then the index that names it."""
        with contextlib.suppress(OSError):
            name = f"{self._base}.{uuid.uuid4().hex[:16]}.nbc"
            write_sealed(Path(self._data_path(name)), self._dump(data))
            self._save_index(self._load_index() | {in_words(key): name})

    def load(self, key: Any) -> Any:
        """Return the code of one signature, or None if there is none that can be read."""
        try:
            return super().load(in_words(key))
        except Exception:  # whole, but written by a library that has changed since
            return None

    def _load_index(self) -> dict[tuple[str, ...], str]:
        try:
            version, stamp, names = pickle.loads(read_sealed(Path(self._index_path)))
        except OSError:
            return {}
        return names if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[tuple[str, ...], str]) -> None:
        write_sealed(Path(self._index_path), self._dump((self._version, self._source_stamp, overloads)))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(read_sealed(Path(self._data_path(name))))


class KernelCache(FunctionCache):
    """The cache of one compiled function, in sealed files."""

    _impl_class = CompileResultCacheImpl

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = SealedFile(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())
        announcing.HELD[_name(function)] = self.holds

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for these types of arguments, or None: then it is compiled now.

        Numba would always load what compiling needs, SciPy too: 0.3 s in each process. Code that is in the cache needs the symbols
        of Numba's runtime alone.
        """
        leave_without_collecting()
        part = part_of(self._py_func, sig)
        rtsys.initialize(target_context)
        found = self._load_overload(sig, target_context) if part.kept else None
        if found is None:
            target_context.refresh()
            announcing.began(part)
        else:
            announcing.loaded(part)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for these types of arguments."""
        part = part_of(self._py_func, sig)
        if part.kept:
            super().save_overload(sig, data)
        announcing.ended(part)

    def holds(self, types: str) -> bool:
        """Whether the code for these types of arguments, as a part of a wait names them, is there for this processor."""
        processor = repr(cpu_target.target_context.codegen().magic_tuple())  # pyright: ignore[reportAttributeAccessIssue]
        return any((types, processor) == key[:2] for key in self._cache_file._load_index())


class NoCache(NullCache):
    """In the place of a cache of a function that cannot be kept on disk."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def load_overload(self, sig: Any, target_context: Any) -> None:
        """Find nothing: it is compiled now."""
        leave_without_collecting()
        announcing.began(part_of(self._function, sig)._replace(kept=False))

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep nothing."""
        announcing.ended(part_of(self._function, sig)._replace(kept=False))


def part_of(function: Any, sig: Any) -> announcing.Part:
    """Return a function with these types of arguments as a part of a wait."""
    return announcing.Part(_name(function), _digest(sig), own(getattr(sig, "args", sig)))


def _name(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _digest(sig: Any) -> str:
    kinds = getattr(sig, "args", sig)
    return hashlib.sha256(f"{kinds} {_places(kinds)}".encode()).hexdigest()[:16]


def _places(kinds: Any) -> list[str]:
    """Return the modules of all records among these types, and in them: two classes may have one name."""
    found = []
    for kind in kinds:
        if isinstance(kind, types.BaseNamedTuple):
            record: type = kind.instance_class  # pyright: ignore[reportAttributeAccessIssue]
            found.append(f"{record.__module__}.{record.__qualname__}")
        if isinstance(kind, types.BaseTuple):
            found += _places(kind)
    return found


def in_words(key: Any) -> tuple[str, ...]:
    """Return a key of Numba's index, types of arguments, a processor and a source, as words: to read the types themselves from a
    file would import every module whose records some function has been compiled for.
    """
    sig, *rest = key
    return (_digest(sig), *map(repr, rest))


def own(kinds: Any) -> bool:
    """Whether all records among these types, and in them, are classes of nlink, at the top of their modules."""
    for kind in kinds:
        if isinstance(kind, types.BaseNamedTuple):
            record: type = kind.instance_class  # pyright: ignore[reportAttributeAccessIssue]
            if not record.__module__.startswith("nlink.") or record.__qualname__ != record.__name__:
                return False
        if isinstance(kind, types.BaseTuple) and not own(kind):
            return False
    return True


def write_sealed(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, behind its checksum."""
    temporary = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
    UNFINISHED.add(temporary)
    try:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(temporary, path)
    finally:
        discard(temporary)


def read_sealed(path: Path) -> bytes:
    """Return what was written to a file; raise OSError if it is not there or not what was written."""
    found = path.read_bytes()
    if hashlib.sha256(found[SEAL:]).digest() != found[:SEAL]:
        raise OSError(f"{path} is damaged")
    return found[SEAL:]
