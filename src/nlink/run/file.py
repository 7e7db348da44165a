"""Run files: netCDF4 with named dimensions and units, written whole or not at all, checked by a sum on loading.

The file opens in plain xarray. What netCDF cannot hold (scenario, status, events' details) is JSON. A run that is under way, or was
cut off, is read from its part beside the name (see runwriter). Long arrays stay in the file and are read as they are asked for.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from nlink._support.files import locked
from nlink._support.guarded import Refused, Unread, attribute, check_array, entry, guarded, opened_hdf5, parsed, variables_of
from nlink._support.version import __version__
from nlink.mechanics.loads import ledger
from nlink.run import tables
from nlink.run.run import COLUMNS, Run, Status, Trajectory, columns_of, fields_of
from nlink.run.writer import FORMAT, KNOTS, VARIABLES, RunFileError, RunWriter, checksum, event_columns, part_name, variable

MOST_READ = 2**26
"""Bytes of an array that is read at once; longer ones stay in the file."""
BLOCK = 1_000_000
"""Numbers that are copied at a time."""
LOG_END = 2**20
"""Bytes at the end of the log among which its last lines are looked for."""
REMEDY = "use another copy or run again"
LENGTHS: dict[str, int | None] = {"slot": 2, "part": 2, "axis": 2}
"""Lengths of the dimensions that all run files share."""
UNSUMMED = ("link", "log", "checkpoint", "axis", "event", "sign", "letter", "slot", "part", "state")
"""What the checksum passes over: numbers of links, the log it is in, what has a sum there, and dimensions without values."""
Variables = dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]


class Stored(np.lib.mixins.NDArrayOperatorsMixin):
    """An array in a file: rows asked for are read from it, and where the whole is needed, the whole."""

    def __init__(self, data: Any, count: int) -> None:
        self.data, self.shape, self.ndim, self.dtype = data, (count, *data.shape[1:]), data.ndim, data.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._rows(0, len(self)), dtype)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(function, method)(*(np.asarray(v) if isinstance(v, Stored) else v for v in inputs), **options)

    def __getitem__(self, key: Any) -> Any:
        """Read the rows from the first to the last that is asked for."""
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
        rows = np.arange(len(self))[first] if not (first is None or first is Ellipsis) else None
        if rows is None or rows.ndim > 1:
            return np.asarray(self)[key]
        low, high = (int(rows.min()), int(rows.max()) + 1) if rows.size else (0, 0)
        return self._rows(low, high)[(rows - low, *rest)]

    def _rows(self, low: int, high: int) -> np.ndarray:
        with guarded(Path(self.data.file.filename), RunFileError, REMEDY):
            return self.data[low:high]

    def __getattr__(self, name: str) -> Any:
        """Do for the whole what is done with arrays."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


def variables(run: Run) -> Variables:
    """Return what a run holds as name -> (dimensions, values, attributes)."""
    data = columns_of(run) | {"link": np.arange(1, run.chain.n + 1)}
    data |= dict(zip(KNOTS, run.knots, strict=True)) if run.knots else {}
    data |= event_columns(run.events) if run.events else {}
    kinds = {name: variable(name) for name in data}
    return {name: (kinds[name].dimensions, np.asarray(values), kinds[name].attributes) for name, values in data.items()}


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run, whole or not at all."""
    point, names = run.checkpoint, list(columns_of(run))
    writer = RunWriter(Path(path), run.scenario, run.meta, len(point.state) if point else 0, names, len(run.t))
    try:
        copy(writer, run, np.arange(len(run.t)), np.arange(len(run.knots.t) if run.knots else 0))
        writer.finish(run.status, run.stats, point, lambda part: opened(part, Path(path)), trusted_until=run.trusted_until)
    except BaseException:
        writer.leave()
        raise


def copy(writer: RunWriter, run: Run, points: np.ndarray, knots: np.ndarray) -> None:
    """Write these saved points and steps of a run, and its events, some at a time."""
    data, rows = columns_of(run), max(1, BLOCK // run.chain.n)
    for k in range(0, len(points), rows):
        writer.append({name: values[points[k : k + rows]] for name, values in data.items()})
    for k in range(0, len(knots), rows):
        writer.append({name: values[knots[k : k + rows]] for name, values in zip(KNOTS, run.knots or (), strict=True)})
    writer.append_events(run.events)


def load(path: str | os.PathLike[str]) -> Run:
    """Read a run file; needs no solver. A run that is not done yet is found under the same name, as far as it has come.

    >>> load("no-such-file.nc")
    Traceback (most recent call last):
    nlink.run.writer.RunFileError: there is no file no-such-file.nc
    """
    path = Path(path)
    source = part_name(path) if not path.exists() and part_name(path).is_file() else path
    if not source.is_file():
        raise RunFileError(f"{path} is a folder, not a run" if path.is_dir() else f"there is no file {path}")
    return opened(source, path)


def newest(path: Path) -> Path:
    """Return the part of a run file, if there is one and the file is not younger; else the file.

    A run that was killed when it had ended, but before it had its name, is given it.
    """
    part = part_name(path)
    if not part.is_file() or (path.is_file() and path.stat().st_mtime_ns > part.stat().st_mtime_ns):
        return path
    run = opened(part, path)
    if run.status.code in ("running", "interrupted"):
        return part
    save(run, path)
    part.unlink()
    return path


def opened(source: Path, path: Path) -> Run:
    """Read the run in `source`, which is `path` or its part; long arrays stay there."""
    with guarded(path, RunFileError, REMEDY):
        file, closed = opened_hdf5(source, "a run file of nlink")
        try:
            run = _read(file, closed, source)
        except BaseException:
            file.close()
            raise
    if not any(isinstance(values, Stored) for values in (run.theta, run.pin_force, run.t, run.knots and run.knots.theta)):
        file.close()
    return run


def _read(file: Any, closed: bool, source: Path) -> Run:
    """Return the run in an open file, after all checks."""
    _refuse_foreign(file)
    data, text = variables_of(file, "a run of nlink"), attribute(file, "nlink", str)
    line, fixed = _last_line(data, closed), parsed(text)
    counts, finished = tables.counts_in(line), "checksum" in line
    _refuse_unfit(data, tables.links_in(fixed), counts, finished)
    if finished:
        _verify(data, text, line)
    names = [name for name in (*COLUMNS, *(f"work_{name}" for name in ledger())) if name in data]
    return Run(
        scenario=tables.scenario_in(fixed),
        **fields_of({name: _values(data[name], counts["time"]) for name in names}),
        status=tables.status_in(line) if finished else _status(source, fixed, line),
        stats=tables.stats_in(line),
        meta=tables.meta_in(fixed),
        events=tables.events_in(data, counts["event"]),
        knots=Trajectory(*(_values(data[name], counts["knot"]) for name in KNOTS)) if counts["knot"] else None,
        checkpoint=tables.checkpoint_in(line, data.get("checkpoint")),
        trusted_until=None if line.get("trusted_until") is None else entry(line, "trusted_until", float),
    )


def _last_line(data: dict[str, Any], closed: bool) -> dict[str, Any]:
    """Return the last line of the log that is whole and whose checkpoint is."""
    if "log" not in data:
        raise Refused("its log is missing")
    log = data["log"]
    check_array(log, "u1", (None,), rows=None if closed else 0)
    size = min(len(log), log.id.get_storage_size())
    *lines, rest = log[max(0, size - LOG_END) : size].tobytes().split(b"\n")
    if closed and rest:
        raise Refused("its log does not end with a line")
    for each in [] if closed else data.values():
        each.refresh()  # what was appended before the last line may be younger than what was seen of it so far
    for text in reversed(lines):
        try:
            line = parsed(text)
            if line.get("checkpoint") is None or _whole_checkpoint(data, line):
                return line
        except Refused:
            pass
        if closed:
            break
    raise Refused("its log is not whole")


def _whole_checkpoint(data: dict[str, Any], line: dict[str, Any]) -> bool:
    """Whether the slot that a line of the log points to holds the state that was written there."""
    where = entry(line, "checkpoint", dict)
    if "checkpoint" not in data:
        raise Refused("its checkpoint is missing")
    check_array(data["checkpoint"], "f8", (2, 2, None), rows=tables.slot_in(where) + 1)
    return zlib.crc32(np.ascontiguousarray(data["checkpoint"][tables.slot_in(where)]).data) == entry(where, "crc", int)


def _refuse_unfit(data: dict[str, Any], n: int, counts: dict[str, int], finished: bool) -> None:
    """Refuse variables that no run has, that are missing, or of another type or length."""
    known = {name: variable(name) for name in (*VARIABLES, *(f"work_{name}" for name in ledger()))}
    lengths = LENGTHS | {"link": n} | (counts if finished else {})
    for name in sorted({name for name, each in known.items() if not each.optional} | set(data)):
        if name not in data or name not in {*known, *UNSUMMED}:
            raise Refused(f"its {name[:40]!r} is {'missing' if name in known else 'not of nlink'}")
        if name in known:
            shape = tuple(lengths.get(dim) for dim in known[name].dimensions)
            rows = 0 if name in ("log", "checkpoint") else counts.get(known[name].dimensions[0])
            check_array(data[name], known[name].dtype, shape, rows=rows)


def _status(source: Path, fixed: dict[str, Any], line: dict[str, Any]) -> Status:
    """Return the status of a run that is not finished."""
    t_end = entry(entry(entry(fixed, "scenario", dict), "run", dict), "t_end", float)
    t = entry(entry(line, "checkpoint", dict), "t", float)
    if locked(source):
        return Status("running", f"under way: at t = {t:g} s of {t_end:g} s", "wait for it to end")
    return Status("interrupted", f"cut off after t = {t:g} s of {t_end:g} s", "resume the run to go on")


def _verify(data: dict[str, Any], text: str, line: dict[str, Any]) -> None:
    digests = {name: [list(each.shape), _digest(each)] for name, each in data.items() if name not in UNSUMMED}
    if checksum(text, {key: value for key, value in line.items() if key != "checksum"}, digests) != line["checksum"]:
        raise Refused("its data do not match their checksum")


def _digest(data: Any) -> str:
    total, rows = hashlib.sha256(), max(1, BLOCK // max(1, int(np.prod(data.shape[1:]))))
    for k in range(0, len(data), rows):
        total.update(data[k : k + rows].tobytes())
    return total.hexdigest()


def _refuse_foreign(file: Any) -> None:
    if "nlink_format" not in file.attrs:
        raise Unread("is not a run of nlink: it is a netCDF or HDF5 file from elsewhere")
    version = attribute(file, "nlink_format", int)
    if version != FORMAT:
        writer = attribute(file, "nlink_version", str) if "nlink_version" in file.attrs else "a newer nlink"
        remedy = "update nlink to read it" if version > FORMAT else "run again"
        raise Unread(f"was written by nlink {writer[:20]} in format {version}; this is {__version__}, {remedy}")


def _values(data: Any, count: int) -> Any:
    """Return the first rows of a variable, in the file if they are many; refuse times that are not in order."""
    if count * int(np.prod(data.shape[1:])) * data.dtype.itemsize > MOST_READ:
        return Stored(data, count)
    values = data[:count]
    if data.name in ("/time", "/knot"):
        steps = np.diff(values)
        if not np.isfinite(values).all() or abs(np.sign(steps).sum()) != np.count_nonzero(steps):
            raise Refused("its times are not in order")
    return values
