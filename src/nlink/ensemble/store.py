"""An ensemble in a folder x.zarr: blocks land as they are done, and the same call goes on with one that was cut off.

The folder is a Zarr group (format 3). Its arrays are the results, one chunk for each block of members, and `done`, one number for
each block: the digest of the block's chunks. A chunk is a file that appears whole or not at all, and that of `done` comes after
those of the results. Whoever opens the store compares all digests; a block that does not match its own is computed again. Chunks
are not compressed, so that their sizes are known, and end in a CRC, which Zarr compares whenever it reads one.

What does not depend on the results (metadata, coordinates) is known from the call: where it was changed it is written anew. The
process that goes on with a store holds a lock on its zarr.json; one that is killed lets go.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray

from nlink._support.checks import BackendError
from nlink._support.files import ANYTHING, fcntl, hold, locked, written_whole
from nlink._support.guarded import Refused, entry, parsed
from nlink._support.interrupt import Interrupt
from nlink._support.progress import Bar
from nlink.ensemble.backends import Backend, Sink
from nlink.ensemble.fingerprint import difference, fingerprint, parts
from nlink.ensemble.job import Block, EnsembleInterrupted, Job, Results

FORMAT = 2
"""Since 2 with digests."""
MISSING = {"f": np.nan, "i": -1}
"""What stands for members that are not done, by the kind of number."""
HEAD, MOST_HEAD = "zarr.json", 2**20
CRC = 4
"""Bytes that the CRC adds to a chunk."""
RECORD = 8
"""Bytes of a digest."""
DEEPEST = 16
"""Folders within folders of a store; arrays have few dimensions."""
MARKER, MARK = "nlink.makes.a.store", b"nlink makes a store here. If no nlink is running, this folder can be removed.\n"
Layout = dict[str, bytes]
"""Files of an empty store: name -> content."""


class StoreError(OSError):
    """A store that cannot be used: the message says which, why, and what to do."""


def stored(job: Job, backend: Backend, path: str | os.PathLike[str], progress: bool = False) -> xarray.Dataset:
    """Compute what is missing in the store; return all of it as a Dataset that reads from the store what is looked at."""
    _zarr()
    path, told = Path(path).absolute(), parts(job)
    _clear(path)
    if not path.exists():
        _create(job, path, backend.size(job), told)
    layout = _layout_of(path, job, told)
    writer = Writer.of(job, path, parsed(layout[HEAD])["attributes"]["block_size"])
    with _held(path):
        with _writing(path):
            _sweep(path, layout)
            missing = _missing(writer, job.blocks(writer.size), _restored(path, layout), progress)
        if missing:
            _fill(job, backend, writer, missing, progress)
    return opened(path, job)


def _missing(writer: Writer, everything: list[Block], restored: list[str], progress: bool) -> list[Block]:
    """Return the blocks that are to be computed; report those that have changed since they were done."""
    there = [block for block in everything if writer.has(block)]
    with Bar("checking", progress, "blocks") as bar:
        bad = []
        for k, block in enumerate(there):
            if not writer.sound(block):
                bad.append(block)
            bar.update(k + 1, len(there))
    for block in bad:
        writer.forget(block)
    lost = [f"{len(bad)} of {len(everything)} blocks did not match their digests and are computed again"] if bad else []
    lost += [f"{', '.join(restored[:3])}{', ...' * (len(restored) > 3)} had changed and is as it was"] if restored else []
    text = f"{writer.path} was damaged: {'; '.join(lost)}"
    if lost and progress:
        print(f"nlink: {text}", file=sys.stderr, flush=True)
    elif lost:
        warnings.warn(text, stacklevel=4)  # at the call of simulate_many
    sound = set(there) - set(bad)
    return [block for block in everything if block not in sound]


def _fill(job: Job, backend: Backend, writer: Writer, missing: list[Block], progress: bool) -> None:
    """Compute the missing blocks into the store."""
    backend.size(job)  # compiles, while Ctrl-C still works at once
    count = job.members - sum(last - first for first, last in missing)
    with Interrupt() as interrupt, Bar("simulating", progress, "members") as bar:
        opened(writer.path, job)  # imports half a second of what the answer to Ctrl-C needs
        bar.update(count, job.members)
        for (first, last), _ in backend.run(job, missing, lambda: interrupt.asked, writer):
            count += last - first
            bar.update(count, job.members)
    everything = job.blocks(writer.size)
    done = np.repeat([writer.has(block) for block in everything], [last - first for first, last in everything])
    if not done.all():
        raise EnsembleInterrupted(opened(writer.path, job), done, f"the same call goes on from {writer.path}")


@dataclass(frozen=True)
class Writer(Sink):
    """Writes blocks to a store, each by whoever computed it.

    Parameters
    ----------
    path, size : the store, and members of a block
    files : where the chunks of a block are ({}: its number), and how many bytes each has
    """

    keeps: ClassVar[bool] = True
    path: str
    size: int
    files: dict[str, int]

    @classmethod
    def of(cls, job: Job, path: Path, size: int) -> Writer:
        """Return the writer of a job's store."""
        files = {}
        for name, output in job.outputs().items():
            shape = [max(length, 1) for length in output.shape]
            files["/".join([name, "c/{}", *("0" for _ in shape)])] = (
                size * int(np.prod(shape)) * np.dtype(output.dtype).itemsize + CRC
            )
        return cls(str(path), size, files)

    def has(self, block: Block) -> bool:
        """Whether a block is done."""
        return self._record(block).is_file()

    def take(self, block: Block, results: Results) -> Results:
        """Write a block: the results, then their digest, by which it is done."""
        with _writing(self.path):
            group, (first, last) = _zarr().open_group(self.path, mode="r+", zarr_format=3, use_consolidated=False), block
            for name, values in results.items():
                group[name][first:last] = values
            digest = self._digest(block)
            if digest is None:
                raise StoreError(f"cannot write {self.path}: what was written is not there; look at the disk, and repeat the call")
            group["done"][first // self.size] = int.from_bytes(digest, "little", signed=True)
        return {}

    def sound(self, block: Block) -> bool:
        """Whether a block that is done is as it was written."""
        return _content(self._record(block), RECORD) == self._digest(block)

    def forget(self, block: Block) -> None:
        """Let a block count as not done."""
        self._record(block).unlink()

    def _record(self, block: Block) -> Path:
        return Path(self.path, f"done/c/{block[0] // self.size}")

    def _digest(self, block: Block) -> bytes | None:
        """Return the digest of a block's chunks; a chunk that holds nothing but the fill value has no file."""
        total = hashlib.sha256()
        for name, size in self.files.items():
            path = Path(self.path, name.format(block[0] // self.size))
            if not os.path.lexists(path):
                total.update(b"no file")
            elif not path.is_file() or path.stat().st_size != size:
                return None
            else:
                with path.open("rb") as file:
                    total.update(hashlib.file_digest(file, "sha256").digest())
        return total.digest()[:RECORD]


def opened(path: str | os.PathLike[str], job: Job) -> xarray.Dataset:
    """Return the results in a store as a Dataset that reads what is looked at."""
    return xarray.open_zarr(path, consolidated=False)[list(job.outputs())]


# The empty store: made, compared, restored ---------------------------------------------------------------------------


def _create(job: Job, path: Path, size: int, told: dict[str, str]) -> None:
    """Make an empty store: in a folder beside its place, and renamed, so that it is whole or not there."""
    folder = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        folder.mkdir()
        with contextlib.ExitStack() as leaving:
            leaving.callback(shutil.rmtree, folder, ignore_errors=True)
            leaving.callback(os.close, hold(folder))  # before a marker says whose it is
            (folder / MARKER).write_bytes(MARK)
            for name, content in _layout(job, min(size, max(job.members, 1)), told).items():
                (folder / "store" / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / "store" / name).write_bytes(content)
            (folder / "store").rename(path)
    except OSError as error:
        if not path.exists():  # else another process was faster, and its store is looked at as any other
            raise StoreError(f"cannot write {path}: {error.strerror}; give another store") from None


def _clear(path: Path) -> None:
    """Remove the folders in which killed processes were making this store: they have the marker, whole or not, and no lock."""
    name = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{8}")
    try:
        with os.scandir(path.parent) as entries:
            beside = [each for each in entries if name.fullmatch(each.name) and each.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for folder in (Path(each.path) for each in beside):
        content = _content(folder / MARKER, len(MARK))
        if fcntl and content is not None and MARK.startswith(content) and not locked(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _layout(job: Job, size: int, told: dict[str, str]) -> Layout:
    """Return an empty store: the head, the metadata of its arrays, and the coordinates."""
    zarr, files = _zarr(), {}
    group = zarr.create_group(zarr.storage.MemoryStore(files), zarr_format=3)
    about = job.settings() | {
        "fingerprint": fingerprint(told),
        "scenario": json.dumps(told),
        "block_size": size,
        "nlink_store": FORMAT,
    }
    group.attrs.update(about | {"checksum": fingerprint({name: str(value) for name, value in about.items()})})
    crc = zarr.codecs.Crc32cCodec()
    for name, output in job.outputs().items():
        dims, meaning = ("member", *output.dims), {"units": output.units, "long_name": output.meaning}
        _array(group, name, (job.members, *output.shape), (size, *output.shape), output.dtype, dims, meaning, crc)
    for name, (dim, values, meaning) in job.coordinates().items():
        _array(group, name, values.shape, values.shape, values.dtype.str, (dim,), meaning, crc)[:] = values
    count = len(job.blocks(size))
    _array(group, "done", (count,), (1,), "i8", ("block",), {"long_name": "digest of a block that is done; -1: it is not"}, None)
    return {name: content.to_bytes() for name, content in files.items()}


def _array(group: Any, name: str, shape: Any, chunks: Any, dtype: str, dims: Any, about: dict[str, str], codec: Any) -> Any:
    kind = np.dtype(dtype)
    return group.create_array(
        name,
        shape=shape,
        chunks=tuple(max(length, 1) for length in chunks),
        dtype=dtype,
        filters=None,
        serializer=_zarr().codecs.BytesCodec(endian="little" if kind.itemsize > 1 else None),
        compressors=codec,
        dimension_names=dims,
        attributes=about,
        fill_value=MISSING[kind.kind],
    )


def _layout_of(path: Path, job: Job, told: dict[str, str]) -> Layout:
    """Return what a store of this ensemble holds besides its results; refuse what is not one."""
    content = _content(path / HEAD, MOST_HEAD)
    try:
        head = parsed(content or b"")
        about = entry(head, "attributes", dict)
        theirs = {name: str(value) for name, value in parsed(entry(about, "scenario", str)).items()}
    except Refused:
        raise StoreError(f"{path} is there already and is no store of an ensemble; give another store, or remove it") from None
    if "nlink_store" not in about:
        remedy = "read it with xarray.open_zarr(path, consolidated=False), and give another store"
        raise StoreError(f"{path} is a store of an older nlink, which has no checksums; {remedy}")
    if fingerprint(theirs) != fingerprint(told):
        raise StoreError(f"{path} holds another ensemble: {difference(theirs, told)}; give another store, or remove it")
    try:
        layout = _layout(job, entry(about, "block_size", int, least=1, most=max(job.members, 1)), told)
    except Refused:
        layout = {}
    if not layout or _known(parsed(layout[HEAD])) != _known(head):
        raise StoreError(f"{path} is damaged: its {HEAD} is not as it was written; give another store, or remove it")
    return layout


def _known(head: dict[str, Any]) -> dict[str, Any]:
    """Return a head without what is not said."""
    return {name: value for name, value in head.items() if value is not None}


def _restored(path: Path, layout: Layout) -> list[str]:
    """Write metadata and coordinates anew where they have changed; return their names."""
    changed = [
        name for name, content in layout.items() if name != HEAD and _content(path / name, MOST_HEAD + len(content)) != content
    ]
    for name in changed:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path / name, ANYTHING) as temporary:
            temporary.write_bytes(layout[name])
    return changed


def _sweep(path: Path, layout: Layout) -> None:
    """Remove what killed processes had begun to write; refuse a store with links or other things that no store has."""
    names = {name.partition("/")[0] for name in layout}
    for each, depth in _entries(path):
        name = os.path.relpath(each.path, path)
        stray = depth == 0 and each.name not in names and not each.name.startswith(".")
        plain = each.is_dir(follow_symlinks=False) or each.is_file(follow_symlinks=False)
        if not plain or (stray and not each.name.endswith(".partial")) or depth > DEEPEST:
            raise StoreError(f"{path} holds {name[:80]!r}, which is not of nlink; move it elsewhere, or give another store")
        if each.name.endswith(".partial") and each.is_file(follow_symlinks=False):
            Path(each.path).unlink(missing_ok=True)


def _entries(path: Path) -> Iterator[tuple[os.DirEntry[str], int]]:
    """Yield all that is in a folder, and how deep; links are not followed."""
    todo = [(str(path), 0)]
    while todo:
        folder, depth = todo.pop()
        with os.scandir(folder) as entries:
            inside = list(entries)
        for each in inside:
            yield each, depth
            if each.is_dir(follow_symlinks=False):
                todo.append((each.path, depth + 1))


def _content(path: Path, most: int) -> bytes | None:
    """Return what a file holds, if it is a plain file, not a link, of at most so many bytes."""
    try:
        about = path.lstat()
        return path.read_bytes() if stat.S_ISREG(about.st_mode) and about.st_size <= most else None
    except OSError:
        return None


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep other processes from going on with the same store."""
    try:
        lock = hold(path / HEAD)
    except BlockingIOError:
        raise StoreError(f"another process is computing into {path}; wait for it to end, or give another store") from None
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}; give another store") from None
    try:
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def _writing(path: str | Path) -> Iterator[None]:
    """Turn what the system says of a write that failed into one sentence."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}; what is done stays, the same call goes on") from None


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise BackendError("a store needs a package that is not installed: pip install zarr") from None
    return zarr
