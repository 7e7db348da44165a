"""HDF5 files that others may have made or changed: only what nlink itself would have written is read.

A file is refused before anything large is allocated: links and storage outside the file, groups, filters, types and shapes that
nlink does not write, and declared sizes that the stored bytes cannot fill. Every error of the libraries below becomes one sentence.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlink._support.files import HDF5

if TYPE_CHECKING:
    import h5py

    Item = h5py.Group | h5py.Dataset | h5py.Datatype

HEAP = b"GCOL\x01\x00\x00\x00"
MOST_VARIABLES = 64
MOST_VALUES = 16
"""Numbers in an attribute."""
MOST_PACKED = 1032
"""Largest ratio by which deflate shrinks anything."""
DEFLATE = 1
INTERNAL = (
    "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_FillValue",
)  # fmt: skip
"""Attributes by which netCDF and HDF5 keep their own books."""
JSON_TYPES: dict[type, tuple[type, ...]] = {float: (int, float), int: (int,), str: (str,), dict: (dict,), list: (list,)}
Shape = tuple[int | None, ...]


class Refused(Exception):
    """What is wrong with a file, in words that follow its name."""


class Unread(Refused):
    """A file that is not of the kind that was asked for at all."""


@contextmanager
def guarded(path: Path, error: type[OSError], remedy: str) -> Iterator[None]:
    """Turn all that goes wrong with a file into one sentence of this type."""
    try:
        yield
    except error:
        raise
    except Unread as why:
        raise error(f"{path} {why}") from None
    except Refused as why:
        raise error(f"{path} is damaged: {why}; {remedy}") from None
    except MemoryError:
        raise error(f"{path} does not fit into memory") from None
    except OSError as why:
        if why.errno and why.strerror:
            raise error(f"cannot read {path}: {why.strerror}") from None
        raise error(f"{path} is damaged ({type(why).__name__} while reading); {remedy}") from None
    except Exception as why:  # what a library makes of a file that was tampered with is not foreseen
        raise error(f"{path} is damaged ({type(why).__name__} while reading); {remedy}") from None


def opened_hdf5(path: Path, kind: str, made_here: bool = False) -> tuple[h5py.File, bool]:
    """Open an HDF5 file to read, and say whether its writer has closed it. Heaps of one that was just made are not looked at."""
    import h5py

    with path.open("rb") as raw:
        if raw.read(len(HDF5)) != HDF5:
            raise Unread(f"is not {kind} (not netCDF4)")
        if not made_here:
            with mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content:
                _check_heaps(content)
    try:
        return h5py.File(path, "r", locking=False), True
    except OSError as error:
        if "already open for write" not in str(error):
            raise Refused("it is not a whole HDF5 file") from None
        return h5py.File(path, "r", libver="latest", swmr=True, locking=False), False


def _check_heaps(content: mmap.mmap) -> None:
    """Refuse heaps of texts whose objects do not follow one another: HDF5, which has no checksum there, would never come back.

    A heap is a head (signature, size in bytes) and objects, each a head (number, references, size) and its bytes, padded to 8.
    """
    begin = content.find(HEAP)
    while begin >= 0:
        size = int.from_bytes(content[begin + 8 : begin + 16], "little")
        at, end = begin + 16, begin + size
        while at + 16 <= end:
            number, length = int.from_bytes(content[at : at + 2], "little"), int.from_bytes(content[at + 8 : at + 16], "little")
            step = 16 + -(-length // 8) * 8 if number else length
            if step < 16 or at + step > min(end, len(content)):
                raise Refused("its texts are not whole")
            at += step
        begin = content.find(HEAP, begin + len(HEAP))


def variables_of(file: h5py.File, kind: str) -> dict[str, h5py.Dataset]:
    """Return the datasets of a file by name; refuse what is none, or not in this very file."""
    import h5py

    if len(file) > MOST_VARIABLES:
        raise Unread(f"is not {kind}: it holds {len(file)} variables")
    found = {}
    for name in map(str, file):
        data = file[name] if isinstance(file.get(name, getlink=True), h5py.HardLink) else None
        if not isinstance(data, h5py.Dataset) or data.external or data.is_virtual:
            inside = isinstance(data, h5py.Group | h5py.Datatype)
            raise Unread(f"is not {kind}: {name[:40]!r} {'is not a variable' if inside else 'points outside the file'}")
        found[name] = data
    return found


def check_array(data: h5py.Dataset, dtype: str, shape: Shape, *, rows: int | None = None, packed: bool = False) -> None:
    """Refuse an array of another type or shape (None: any length), or with less in the file than its rows (all, if None)."""
    import h5py

    name, size = str(data.name).strip("/"), data.id.get_storage_size()
    if not data.id.get_type().equal(h5py.h5t.py_create(np.dtype(dtype))):
        raise Refused(f"{name} holds no numbers of the type {np.dtype(dtype).name}")
    fits = len(data.shape or ()) == len(shape) and all(want in (None, has) for has, want in zip(data.shape, shape, strict=True))
    if not fits or (rows is not None and data.shape[0] < rows):
        raise Refused(f"{name} has the shape {data.shape}")
    settings = data.id.get_create_plist()
    filters = [settings.get_filter(i)[0] for i in range(settings.get_nfilters())]
    if filters not in ([], [DEFLATE] if packed else []):
        raise Refused(f"{name} is packed in a way that nlink does not use")
    if filters and any(chunk > max(length, 1) for chunk, length in zip(data.chunks or (), data.shape, strict=True)):
        raise Refused(f"{name} has the shape {data.shape} in chunks of {data.chunks}")
    needed = (data.shape[0] if rows is None else rows) * math.prod(data.shape[1:]) * data.dtype.itemsize
    most = size * MOST_PACKED if packed and data.chunks else size
    unflushed = data.file.swmr_mode  # what lies in chunks that are not full counts as stored, too
    if needed > most or (not unflushed and size > Path(data.file.filename).stat().st_size):
        raise Refused(f"{name} should hold {needed:,} bytes, and {size:,} are there")
    if packed and data.chunks and data.size:
        chunks = math.prod(-(-length // chunk) for length, chunk in zip(data.shape, data.chunks, strict=True))
        if data.id.get_num_chunks() != chunks:
            raise Refused(f"{name} lacks some of its {chunks} chunks")


def attributes_of(item: Item) -> dict[str, str | list[float]]:
    """Return the attributes of a file or of a variable, texts and lists of numbers, but for those of the format itself."""
    names = [name for name in map(str, item.attrs) if name not in INTERNAL]
    if len(names) > MOST_VARIABLES:
        raise Refused(f"it has {len(names)} attributes")
    return {name: _value(item, name) for name in names}


def attribute(item: Item, name: str, kind: type) -> Any:
    """Return an attribute: a text (str), a whole number (int), a number (float), or a few of them (list)."""
    if name not in item.attrs:
        raise Refused(f"its attribute {name} is missing")
    value = _value(item, name)
    if isinstance(value, str) != (kind is str):
        raise Refused(f"its attribute {name} is not a {'text' if kind is str else 'number'}")
    if kind in (str, list):
        return value
    if len(value) != 1 or (kind is int and not isinstance(value[0], int)):
        raise Refused(f"its attribute {name} is not a {'whole ' * (kind is int)}number")
    return kind(value[0])


def _value(item: Item, name: str) -> str | list[float]:
    """Return a text, or a list of numbers."""
    import h5py

    shape = h5py.h5a.open(item.id, name.encode("utf-8", "surrogateescape")).shape or ()
    value = item.attrs[name] if len(shape) < 2 and math.prod(shape) <= MOST_VALUES else None
    if isinstance(value, str):
        return value
    numbers = np.ravel(np.asarray(value))
    if numbers.dtype.kind not in "iuf":
        raise Refused(f"its attribute {name[:40]} is neither a text nor a few numbers")
    return numbers.tolist()


def parsed(text: str | bytes) -> dict[str, Any]:
    """Return a table from JSON."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused("its text is not a table of JSON")
    return found


def entry(table: dict[str, Any], name: str, kind: type, *, least: float | None = None, most: float | None = None) -> Any:
    """Return a value of a table, if it has this type and lies within its bounds."""
    value: Any = table.get(name)
    if not isinstance(value, JSON_TYPES[kind]) or isinstance(value, bool):
        raise Refused(f"its {name[:40]} is {'missing' if value is None else 'not a ' + JSON_TYPES[kind][-1].__name__}")
    value = float(value) if kind is float else value
    if (least is not None and not value >= least) or (most is not None and not value <= most):
        raise Refused(f"its {name} is {str(value)[:40]}")
    return value
