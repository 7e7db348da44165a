"""Run files: netCDF4 with named dimensions and units, written whole or not at all, checked by a sum on loading.

The file opens in plain xarray. What netCDF cannot hold (scenario, status, events' details) is JSON. A run that is under way, or was
cut off, is read from its part beside the name (see runwriter). Long arrays stay in the file and are read as they are asked for.
"""

from __future__ import annotations

import hashlib
import math
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from nlink._support.checks import ModelError
from nlink._support.endings import MODEL, NUMBERS, RUN, check_ending
from nlink._support.files import locked
from nlink._support.guarded import Refused, Unread, attribute, check_array, entry, guarded, opened_hdf5, parsed, variables_of
from nlink._support.version import __version__
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import mechanism_ledger
from nlink.run.readout import HAND, EventRecord, Trajectory, event_record, knot_names, trajectory
from nlink.run.run import COLUMNS, Checkpoint, Run, Stats, Status, columns_of, fields_of
from nlink.run.writer import (
    FORMAT,
    FORMAT_OF_CHAINS,
    RunFileError,
    RunWriter,
    checksum,
    datasets,
    event_columns,
    event_names,
    known_names,
    part_name,
    variable,
)
from nlink.scenario import Scenario

MOST_READ = 2**26
"""Bytes of an array that is read at once; longer ones stay in the file."""
BLOCK = 1_000_000
"""Numbers that are copied at a time."""
LOG_END = 2**20
"""Bytes at the end of the log among which its last lines are looked for."""
REMEDY = "use another copy or run again"
LENGTHS: dict[str, int | None] = {"slot": 2, "part": 2, "axis": 2}
"""Lengths of the dimensions that all run files share."""
UNSUMMED = ("link", "coordinate", "kind", "log", "checkpoint", "axis", "event", "sign", "letter", "slot", "part", "state")
"""What the checksum passes over: numbers and kinds of links, the log it is in, what has a sum there, dimensions without values."""
MOST = 2**53
"""Largest count."""
LINE = {"counts", "status", "stats", "checkpoint", "trusted_until", "checksum"}
"""What a line of the log may hold. A letter of "checksum" that has changed must not make a run an unfinished one."""
TEXTS = ("version", "date", "command", "formulation", "integrator")
"""Texts of `meta`."""
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
    data |= {"coordinate": np.array(run.chain.labels)} if run.chain.spatial else {}
    data |= dict(zip(knot_names(run.chain), run.knots, strict=True)) if run.knots else {}
    data |= event_columns(run.events, event_names(run.chain)) if run.events else {}
    data |= {"kind": run.chain.slides.astype(np.uint8)} if run.chain.slides.any() else {}
    kinds = {name: variable(name, bool(run.chain.slides.any())) for name in data}
    return {name: (kinds[name].dimensions, np.asarray(values), kinds[name].attributes) for name, values in data.items()}


def in_space(run: Run) -> Variables:
    """Return what the coordinates of a run in space stand for as name -> (dimensions, values, attributes); nothing in the plane."""
    if not run.chain.spatial:
        return {}
    vector = ("time", "link", "axis")
    return {
        "direction": (vector, run.direction, {"long_name": "unit vector along the link: x right, y up, z to the viewer"}),
        "omega": (vector, run.omega, {"units": "rad/s", "long_name": "angular velocity in world axes"}),
        "alpha": (vector, run.alpha, {"units": "rad/s^2", "long_name": "angular acceleration in world axes"}),
    }


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run, whole or not at all."""
    point, names = run.checkpoint, list(columns_of(run))
    check_ending("the file of a run", Path(path), (RUN,), NUMBERS)
    writer = RunWriter(Path(path), run.scenario, run.meta, len(point.state) if point else 0, names, len(run.t))
    try:
        copy(writer, run, np.arange(len(run.t)), np.arange(len(run.knots.t) if run.knots else 0))
        writer.finish(run.status, run.stats, point, trusted_until=run.trusted_until)
    except BaseException:
        writer.leave()
        raise


def copy(writer: RunWriter, run: Run, points: np.ndarray, knots: np.ndarray) -> None:
    """Write these saved points and steps of a run, and its events, some at a time."""
    data, rows = columns_of(run), max(1, BLOCK // run.chain.size)
    for k in range(0, len(points), rows):
        writer.append({name: values[points[k : k + rows]] for name, values in data.items()})
    for k in range(0, len(knots), rows):
        steps = zip(knot_names(run.chain), run.knots or (), strict=True)
        writer.append({name: values[knots[k : k + rows]] for name, values in steps})
    writer.append_events(run.events)


def load(path: str | os.PathLike[str]) -> Run:
    """Read a run file; needs no solver. A run that is not done yet is found under the same name, as far as it has come.

    >>> load("no-such-file.nc")
    Traceback (most recent call last):
    nlink.run.writer.RunFileError: there is no file no-such-file.nc
    """
    path = Path(path)
    if path.suffix == MODEL:
        raise RunFileError(f"{path} is a model, not a run; read it with Scenario.load({str(path)!r}), and run that")
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


def opened(source: Path, path: Path, made_here: bool = False) -> Run:
    """Read the run in `source`, which is `path` or its part; long arrays stay there. Of one that this process has just written
    nothing but its data is looked at, against their checksum.
    """
    with guarded(path, RunFileError, REMEDY):
        file, closed = opened_hdf5(source, "a run file of nlink", made_here)
        try:
            run = _read(file, closed, source, made_here)
        except BaseException:
            file.close()
            raise
    if not any(isinstance(values, Stored) for values in (run.position, run.pin_force, run.t, run.knots and run.knots.position)):
        file.close()
    return run


def _read(file: Any, closed: bool, source: Path, made_here: bool) -> Run:
    """Return the run in an open file, after all checks."""
    if not made_here:
        _refuse_foreign(file)
    data = datasets(file) if made_here else variables_of(file, "a run of nlink")
    text = attribute(file, "nlink", str)
    line, fixed = _last_line(data, closed), parsed(text)
    counts, finished = _counts(line), "checksum" in line
    spatial = file.attrs["nlink_format"] == FORMAT
    if not made_here:
        _refuse_unfit(data, links_in(fixed), counts, finished, spatial)
    read = _verified(data, text, line) if finished else {}
    scenario = _scenario(fixed, data, spatial)
    names = [name for name in (*COLUMNS, *(f"work_{name}" for name in (*mechanism_ledger(), HAND))) if name in data]
    stats = entry(line, "stats", dict)
    steps = (entry(stats, name, int, least=0, most=MOST) for name in ("nfev", "steps", "rejected"))
    return Run(
        scenario=scenario,
        **fields_of({name: _values(data[name], counts["time"], read) for name in names}),
        status=_status(source, fixed, line, finished),
        stats=Stats(*steps, wall=entry(stats, "wall", float, least=0.0, most=math.inf)),
        meta=_meta(fixed),
        events=_events(scenario.chain, data, counts["event"]),
        knots=_knots(scenario.chain, data, counts["knot"], read),
        checkpoint=None if line.get("checkpoint") is None else _checkpoint(data, entry(line, "checkpoint", dict)),
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
            table = None if line.get("checkpoint") is None else entry(line, "checkpoint", dict)
            if table is None or zlib.crc32(_slot(data, table).data) == entry(table, "crc", int):
                return line
        except Refused:
            pass
        if closed:
            break
    raise Refused("its log is not whole")


def _slot(data: dict[str, Any], table: dict[str, Any]) -> np.ndarray:
    """Return a state and its rates (2, size): one of two slots, which the line of the log names."""
    if "checkpoint" not in data:
        raise Refused("its checkpoint is missing")
    slot = entry(table, "slot", int, least=0, most=1)
    check_array(data["checkpoint"], "f8", (2, 2, None), rows=slot + 1)
    return data["checkpoint"][slot]


def _checkpoint(data: dict[str, Any], table: dict[str, Any]) -> Checkpoint:
    """Return where a run goes on."""
    thinning = [entry({"thinning": value}, "thinning", int, least=0, most=MOST) for value in entry(table, "thinning", list)]
    if len(thinning) != 3 or not thinning[0]:
        raise Refused("its thinning is not three numbers")
    t, (state, rates) = entry(table, "t", float, least=-1e300, most=1e300), _slot(data, table)
    step, origin = entry(table, "step", float), entry(table, "origin", float)
    count = entry(table, "count", int, least=0, most=MOST)
    return Checkpoint(t, step, state, rates, origin, count, (thinning[0], thinning[1], thinning[2]))


def _refuse_unfit(data: dict[str, Any], n: int, counts: dict[str, int], finished: bool, spatial: bool) -> None:
    """Refuse variables that no run has, that are missing, or of another type or length."""
    known = {name: variable(name) for name in (*known_names(spatial), *(f"work_{name}" for name in (*mechanism_ledger(), HAND)))}
    lengths = LENGTHS | {"link": n} | (counts if finished else {})
    for name in sorted({name for name, each in known.items() if not each.optional} | set(data)):
        if name not in data or name not in {*known, *UNSUMMED}:
            raise Refused(f"its {name[:40]!r} is {'missing' if name in known else 'not of nlink'}")
        if name in known:
            shape = tuple(lengths.get(dim) for dim in known[name].dimensions)
            rows = 0 if name in ("log", "checkpoint") else counts.get(known[name].dimensions[0])
            check_array(data[name], known[name].dtype, shape, rows=rows)


def _status(source: Path, fixed: dict[str, Any], line: dict[str, Any], finished: bool) -> Status:
    """Return how a run ended, or that it goes on, or that it was cut off."""
    if finished:
        table = entry(line, "status", dict)
        return Status(*(entry(table, name, str) for name in Status._fields))
    t_end = entry(entry(entry(fixed, "scenario", dict), "run", dict), "t_end", float)
    t = entry(entry(line, "checkpoint", dict), "t", float)
    if locked(source):
        return Status("running", f"under way: at t = {t:g} s of {t_end:g} s", "wait for it to end")
    return Status("interrupted", f"cut off after t = {t:g} s of {t_end:g} s", "resume the run to go on")


def _verified(data: dict[str, Any], text: str, line: dict[str, Any]) -> dict[str, np.ndarray]:
    """Refuse data that do not match their checksum; return the arrays that are short enough to be read at once."""
    summed = {name: each for name, each in data.items() if name not in UNSUMMED}
    read = {name: each[:] for name, each in summed.items() if _bytes(each, len(each)) <= MOST_READ}
    digests = {name: [list(each.shape), _digest(read.get(name, each))] for name, each in summed.items()}
    if checksum(text, {key: value for key, value in line.items() if key != "checksum"}, digests) != line["checksum"]:
        raise Refused("its data do not match their checksum")
    return read


def _digest(data: Any) -> str:
    total, rows = hashlib.sha256(), max(1, BLOCK // max(1, int(np.prod(data.shape[1:]))))
    for k in range(0, len(data), rows):
        values = np.ascontiguousarray(data[k : k + rows])
        total.update(values.data.cast("B") if values.size else b"")
    return total.hexdigest()


def _bytes(data: Any, count: int) -> int:
    """Return the bytes of so many rows."""
    return count * int(np.prod(data.shape[1:])) * data.dtype.itemsize


def _refuse_foreign(file: Any) -> None:
    if "nlink_format" not in file.attrs:
        raise Unread("is not a run of nlink: it is a netCDF or HDF5 file from elsewhere")
    version = attribute(file, "nlink_format", int)
    if not FORMAT_OF_CHAINS <= version <= FORMAT:
        writer = attribute(file, "nlink_version", str) if "nlink_version" in file.attrs else "a newer nlink"
        remedy = "update nlink to read it" if version > FORMAT else "run again"
        raise Unread(f"was written by nlink {writer[:20]} in format {version}; this is {__version__}, {remedy}")


def _values(data: Any, count: int, read: dict[str, np.ndarray]) -> Any:
    """Return the first rows of a variable, in the file if they are many; refuse times that are not in order. `read` has those that
    have been read already.
    """
    if _bytes(data, count) > MOST_READ:
        return Stored(data, count)
    found: Any = read.get(str(data.name).strip("/"), data)
    values = found[:count]
    if data.name in ("/time", "/knot"):
        steps = np.diff(values)
        if not np.isfinite(values).all() or abs(np.sign(steps).sum()) != np.count_nonzero(steps):
            raise Refused("its times are not in order")
    return values


def links_in(fixed: dict[str, Any]) -> int:
    """Return the number of links of a run, before any of them is made."""
    table = entry(fixed, "scenario", dict)
    each = table.get("links")
    return len(each) if isinstance(each, list) else entry(table, "links", int, least=1, most=MOST)


def _scenario(fixed: dict[str, Any], data: dict[str, Any], spatial: bool) -> Scenario:
    """Return the scenario of a run, whose chain moves in space or in the plane as its data do."""
    try:
        scenario = Scenario.from_dict(entry(fixed, "scenario", dict), where="its scenario")
    except ModelError as error:
        raise Refused(str(error)[:300]) from None
    if scenario.chain.n != links_in(fixed):  # it floats: nlink writes the sliders that carry it
        raise Refused("its scenario has more bodies than it lists")
    if scenario.chain.spatial != spatial or (spatial and len(data["coordinate"]) != scenario.chain.size):
        raise Refused("its coordinates are not those of its chain")
    return scenario


def _meta(fixed: dict[str, Any]) -> dict[str, Any]:
    """Return where a run comes from."""
    meta = entry(fixed, "meta", dict)
    for name in TEXTS:
        entry(meta, name, str) if name in meta else None
    if ("formulation" in meta) != ("integrator" in meta):
        raise Refused("its meta names a formulation or an integrator only")
    for name, value in {"trusted_angle": meta.get("trusted_angle", 0.0), **meta.get("start", {})}.items():
        entry({name: value}, name, float)
    return meta


def _counts(line: dict[str, Any]) -> dict[str, int]:
    """Return how many saved points, steps and events there are."""
    if set(line) - LINE:
        raise Refused("its log says what nlink does not write")
    counts = entry(line, "counts", dict)
    return {name: entry(counts, name, int, least=0, most=MOST) for name in ("time", "knot", "event")}


def _knots(chain: Multibody, data: dict[str, Any], count: int, read: dict[str, np.ndarray]) -> Trajectory | None:
    """Return the integrator's steps, if the file has some."""
    return trajectory(chain, *(_values(data[name], count, read) for name in knot_names(chain))) if count else None


def _events(chain: Multibody, data: dict[str, Any], count: int) -> list[EventRecord]:
    """Return the first events of a file: a line of JSON for each, times (E,), coordinates and rates (E, K)."""
    lines = data["event_text"][()].tobytes().split(b"\n")[:-1][:count]
    times, positions, velocities = (data[name][:count] for name in event_names(chain))
    if len(lines) != len(times):
        raise Refused(f"it has {len(times)} events and the names of {len(lines)}")
    events = []
    for line, t, position, velocity in zip(lines, times, positions, velocities, strict=True):
        table = parsed(line)
        name, info = entry(table, "name", str), entry(table, "info", dict)
        if name == "flip":
            entry(info, "link", int, least=0, most=len(position) - 1)
        events.append(event_record(chain, float(t), name, position, velocity, info))
    return events
