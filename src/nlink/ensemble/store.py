"""An ensemble in a folder x.zarr: blocks land as they are done, and the same call goes on with one that was cut off.

The folder is a Zarr group (format 3). Its arrays are the results, one chunk for each block of members, and `done`, one number for
each block. A chunk is a file that appears whole or not at all, and that of `done` comes after those of the results: a block that
counts as done is. The process that goes on with a store holds a lock on its zarr.json; one that is killed lets go.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray

from nlink._check import BackendError
from nlink.ensemble.backends import Backend, Results, Sink
from nlink.ensemble.fingerprint import difference, fingerprint, parts
from nlink.ensemble.job import Job
from nlink.ensemble.results import Block, EnsembleInterrupted, blocks, coordinates, settings
from nlink.files import hold
from nlink.interrupt import Interrupt
from nlink.progress import Bar

MISSING = {"f": np.nan, "i": -1}
"""What stands for members that are not done, by the kind of number."""
HEAD = "zarr.json"


class StoreError(OSError):
    """A store that cannot be used: the message says which, why, and what to do."""


def stored(job: Job, backend: Backend, path: str | os.PathLike[str], progress: bool = False) -> xarray.Dataset:
    """Compute what is missing in the store; return all of it as a Dataset that reads from the store what is looked at."""
    _zarr()
    path, told = Path(path).absolute(), parts(job)
    if not path.exists():
        _create(job, path, backend.size(job), told)
    _refuse_other(path, told)
    with _held(path):
        writer = Writer(str(path))
        everything, done = writer.blocks(), writer.done()
        missing = [block for block, there in zip(everything, done, strict=True) if not there]
        if missing:
            _fill(job, backend, writer, missing, progress)
    return opened(path, job)


def _fill(job: Job, backend: Backend, writer: Writer, missing: list[Block], progress: bool) -> None:
    """Compute the missing blocks into the store."""
    backend.size(job)  # compiles, while Ctrl-C still works at once
    opened(writer.path, job)  # imports half a second of what the answer to Ctrl-C needs
    _sweep(Path(writer.path))
    count = job.members - sum(last - first for first, last in missing)
    with Interrupt() as interrupt, Bar("simulating", progress, "members") as bar:
        bar.update(count, job.members)
        for (first, last), _ in backend.run(job, missing, lambda: interrupt.asked, writer):
            count += last - first
            bar.update(count, job.members)
    done = np.repeat(writer.done(), [last - first for first, last in writer.blocks()])
    if not done.all():
        raise EnsembleInterrupted(opened(writer.path, job), done, f"the same call goes on from {writer.path}")


@dataclass(frozen=True)
class Writer(Sink):
    """Writes blocks to a store, each by whoever computed it."""

    keeps: ClassVar[bool] = True
    path: str

    def has(self, block: Block) -> bool:
        """Whether a block is done."""
        group = self._group()
        return bool(group["done"][block[0] // group.attrs["block_size"]] > 0)

    def take(self, block: Block, found: Results) -> Results:
        """Write a block: the results, then that it is done."""
        group, (first, last) = self._group(), block
        for name, values in found.items():
            group[name][first:last] = values
        group["done"][first // group.attrs["block_size"]] = 1
        return {}

    def blocks(self) -> list[Block]:
        """Return all blocks of the store."""
        group = self._group()
        return blocks(group["status"].shape[0], group.attrs["block_size"])

    def done(self) -> np.ndarray:
        """Return for each block whether it is done."""
        return self._group()["done"][:] > 0

    def _group(self) -> Any:
        return _zarr().open_group(self.path, mode="r+", zarr_format=3, use_consolidated=False)


def opened(path: str | os.PathLike[str], job: Job) -> xarray.Dataset:
    """Return the results in a store as a Dataset that reads what is looked at."""
    return xarray.open_zarr(path, consolidated=False)[list(job.outputs())]


def _create(job: Job, path: Path, size: int, told: dict[str, str]) -> None:
    """Make an empty store: beside its place, and renamed, so that it is whole or not there."""
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        _lay_out(job, new, size, told)
        new.rename(path)
    except OSError as error:
        if not path.exists():  # else another process was faster, and its store is looked at as any other
            raise StoreError(f"cannot write {path}: {error.strerror}; give another store") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _lay_out(job: Job, path: Path, size: int, told: dict[str, str]) -> None:
    """Write the head of a store and of its arrays, and the coordinates."""
    group = _zarr().create_group(path, zarr_format=3)
    group.attrs.update(settings(job) | {"fingerprint": fingerprint(told), "scenario": json.dumps(told), "block_size": size})
    for name, output in job.outputs().items():
        dims, about = ("member", *output.dims), {"units": output.units, "long_name": output.meaning}
        _array(group, name, (job.members, *output.shape), (size, *output.shape), output.dtype, dims, about)
    for name, (dim, values, about) in coordinates(job).items():
        _array(group, name, values.shape, values.shape, values.dtype.str, (dim,), about)[:] = values
    count = len(blocks(job.members, size))
    _array(group, "done", (count,), (1,), "i1", ("block",), {"long_name": "1: the block is done"})


def _array(group: Any, name: str, shape: Any, chunks: Any, dtype: str, dims: Any, about: dict[str, str]) -> Any:
    fill = MISSING[np.dtype(dtype).kind]
    chunks = tuple(max(length, 1) for length in chunks)
    return group.create_array(
        name, shape=shape, chunks=chunks, dtype=dtype, dimension_names=dims, attributes=about, fill_value=fill
    )


def _refuse_other(path: Path, ours: dict[str, str]) -> None:
    """Refuse what is not a store of this very ensemble."""
    try:
        theirs = json.loads(json.loads((path / HEAD).read_text())["attributes"]["scenario"])
    except (OSError, ValueError, KeyError):
        raise StoreError(f"{path} is there already and is no store of an ensemble; give another store, or remove it") from None
    if fingerprint(theirs) != fingerprint(ours):
        raise StoreError(f"{path} holds another ensemble: {difference(theirs, ours)}; give another store, or remove it")


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep other processes from going on with the same store."""
    try:
        lock = hold(path / HEAD)
    except BlockingIOError:
        raise StoreError(f"another process is computing into {path}; wait for it to end, or give another store") from None
    try:
        yield
    finally:
        os.close(lock)


def _sweep(path: Path) -> None:
    """Remove what killed processes had begun to write."""
    for half in path.glob("**/*.partial"):
        half.unlink(missing_ok=True)


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise BackendError("a store needs zarr, which is not installed; install nlink[cluster]") from None
    return zarr
