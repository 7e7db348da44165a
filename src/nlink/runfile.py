"""Run files: netCDF4 with named dimensions and units, written whole or not at all, checked by a sum on loading.

The file opens in plain xarray. What netCDF cannot hold (scenario, status, events' details) is JSON. A run that is under way, or was
cut off, is read from its part beside the name (see runwriter). Long arrays stay in the file and are read as they are asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nlink._version import __version__
from nlink.files import locked
from nlink.loads import LEDGER
from nlink.run import Checkpoint, Occurrence, Run, Stats, Status, Track
from nlink.runwriter import FORMAT, MOTION, RunFileError, RunWriter, checksum, dimensions, notes, part_name
from nlink.scenario import Scenario

MOST_READ = 2**26
"""Bytes of an array that is read at once; longer ones stay in the file."""
BLOCK = 1_000_000
"""Numbers that are copied at a time."""
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
        return np.asarray(self.data[: len(self)], dtype)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(function, method)(*(np.asarray(v) if isinstance(v, Stored) else v for v in inputs), **options)

    def __getitem__(self, key: Any) -> Any:
        """Read the rows from the first to the last that is asked for."""
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
        rows = np.arange(len(self))[first] if not (first is None or first is Ellipsis) else None
        if rows is None or rows.ndim > 1:
            return np.asarray(self)[key]
        low, high = (int(rows.min()), int(rows.max()) + 1) if rows.size else (0, 0)
        return self.data[low:high][(rows - low, *rest)]

    def __getattr__(self, name: str) -> Any:
        """Do for the whole what is done with arrays."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


def columns(run: Run) -> dict[str, Any]:
    """Return what a run holds over time: name in the file -> values."""
    out = {"time": run.t, **{name: getattr(run, name) for name in MOTION}}
    out |= {"kinetic": run.kinetic, "potential": run.potential, "violation": run.drift}
    out |= {"pin_force": run.pin_force} if run.pin_force is not None else {}
    return out | {f"work_{name}": values for name, values in run.work.items()}


def variables(run: Run) -> Variables:
    """Return what a run holds as name -> (dimensions, values, attributes)."""
    data = columns(run) | {"link": np.arange(1, run.chain.n + 1)}
    if run.knots is not None:
        data |= {"knot": run.knots.t} | {f"knot_{name}": getattr(run.knots, name) for name in MOTION}
    if run.events:
        data |= {f"event_{name}": np.array([getattr(e, name) for e in run.events]) for name in ("theta", "omega")}
        data["event_time"] = np.array([e.t for e in run.events])
    return {name: (dimensions(name), np.asarray(values), notes(name)) for name, values in data.items()}


def attributes(scenario: Scenario, meta: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a run file: format, title, and one JSON text with the scenario and where it came from."""
    title = scenario.title or f"{scenario.chain.n}-link chain"
    text = json.dumps({"scenario": scenario.to_dict(), "meta": meta})
    return {"title": title, "nlink_format": FORMAT, "nlink_version": __version__, "nlink": text}


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run, whole or not at all."""
    data, point, attrs = columns(run), run.checkpoint, attributes(run.scenario, run.meta)
    size = len(point.state) if point else 0
    writer = RunWriter(Path(path), attrs["nlink"], attrs["title"], run.chain.n, size, list(data), len(run.t))
    try:
        copy(writer, run, np.arange(len(run.t)), np.arange(len(run.knots.t) if run.knots else 0))
        writer.finish(run.status, run.stats, point, lambda part: opened(part, Path(path)), trusted_until=run.trusted_until)
    except BaseException:
        writer.leave()
        raise


def copy(writer: RunWriter, run: Run, points: np.ndarray, knots: np.ndarray) -> None:
    """Write these saved points and steps of a run, and its events, some at a time."""
    data, rows = columns(run), max(1, BLOCK // run.chain.n)
    for k in range(0, len(points), rows):
        writer.append({name: values[points[k : k + rows]] for name, values in data.items()})
    for k in range(0, len(knots), rows):
        writer.append_knots(tuple(values[knots[k : k + rows]] for values in run.knots or ()))
    writer.append_events(run.events)


def load(path: str | os.PathLike[str]) -> Run:
    """Read a run file; needs no solver. A run that is not done yet is found under the same name, as far as it has come.

    >>> load("no-such-file.nc")
    Traceback (most recent call last):
    nlink.runwriter.RunFileError: there is no file no-such-file.nc
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


def opened(source: Path, path: Path, verify: bool = True) -> Run:
    """Read the run in `source`, which is `path` or its part; long arrays stay there."""
    try:
        file, closed = _opened(source)
        try:
            _refuse_foreign(path, file)
            for name in file:
                _refuse_elsewhere(path, file, str(name))
            text, line = str(file.attrs["nlink"]), _last_line(path, file, closed)
            if verify and "checksum" in line:
                _verify(path, file, text, line)
            rest = json.loads(text) | line
            rest["status"] = _status(source, rest)
            run = _run(file, rest)
        except BaseException:
            file.close()
            raise
    except RunFileError:
        raise
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        with open(source, "rb") as raw:
            hdf = raw.read(8) == b"\x89HDF\r\n\x1a\n"
        why = f"is damaged ({type(error).__name__} while reading)" if hdf else "is not a run file of nlink (not netCDF4)"
        raise RunFileError(f"{path} {why}") from None
    if not any(isinstance(values, Stored) for values in (run.theta, run.pin_force, run.t, run.knots and run.knots.theta)):
        file.close()
    return run


def _opened(path: Path) -> tuple[Any, bool]:
    """Open a file, and say whether its writer has closed it."""
    import h5py

    try:
        return h5py.File(path, "r", locking=False), True
    except OSError as error:
        if "already open for write" not in str(error):
            raise
        return h5py.File(path, "r", libver="latest", swmr=True, locking=False), False


def _last_line(path: Path, file: Any, closed: bool) -> dict[str, Any]:
    """Return the last line of the log that is whole and whose checkpoint is."""
    lines = file["log"][()].tobytes().split(b"\n")[:-1]
    for name in [] if closed else file:
        file[name].refresh()  # what was appended before the last line may be younger than what was seen of it so far
    for text in reversed(lines):
        try:
            line = json.loads(text)
            where = line["checkpoint"]
            if where is None or zlib.crc32(file["checkpoint"][where["slot"]].data) == where["crc"]:
                return line
        except ValueError:
            pass
        if closed:
            break
    raise RunFileError(f"{path} is damaged: its log is not whole; use another copy or run again")


def _status(source: Path, rest: dict[str, Any]) -> dict[str, Any]:
    """Return the status of a finished run as it stands, or that of one which is not."""
    if "checksum" in rest:
        return rest["status"]
    t_end, point = rest["scenario"]["run"]["t_end"], rest["checkpoint"]
    if locked(source):
        status = Status("running", f"under way: at t = {point['t']:g} s of {t_end:g} s", "wait for it to end")
    else:
        status = Status("interrupted", f"cut off after t = {point['t']:g} s of {t_end:g} s", "resume the run to go on")
    return status._asdict()


def _verify(path: Path, file: Any, text: str, line: dict[str, Any]) -> None:
    names = [str(name) for name in file if str(name) not in UNSUMMED]
    digests = {name: [list(file[name].shape), _digest(file[name])] for name in names}
    if checksum(text, {key: value for key, value in line.items() if key != "checksum"}, digests) != line["checksum"]:
        raise RunFileError(f"{path} is damaged: its data do not match their checksum; use another copy or run again")


def _digest(data: Any) -> str:
    total = hashlib.sha256()
    for values in _blocks(data):
        total.update(values.tobytes())
    return total.hexdigest()


def _blocks(data: Any) -> Iterator[np.ndarray]:
    rows = max(1, BLOCK // max(1, int(np.prod(data.shape[1:]))))
    for k in range(0, len(data), rows):
        yield data[k : k + rows]


def _refuse_foreign(path: Path, file: Any) -> None:
    if "nlink_format" not in file.attrs:
        raise RunFileError(f"{path} is not a run of nlink: it is a netCDF or HDF5 file from elsewhere")
    version, writer = int(np.ravel(file.attrs["nlink_format"])[0]), file.attrs.get("nlink_version", "a newer nlink")
    if version != FORMAT:
        remedy = "update nlink to read it" if version > FORMAT else "run again"
        raise RunFileError(f"{path} was written by nlink {writer} in format {version}; this is {__version__}, {remedy}")


def _refuse_elsewhere(path: Path, file: Any, name: str) -> None:
    """Refuse links and storage outside this very file."""
    import h5py

    link = file.get(name, getlink=True)
    own = isinstance(link, h5py.HardLink) and isinstance(file[name], h5py.Dataset)
    if not own or file[name].external or file[name].is_virtual:
        raise RunFileError(f"{path} is not a run of nlink: {name!r} points outside the file")


def _values(file: Any, name: str, count: int) -> Any:
    data = file[name]
    long = count * int(np.prod(data.shape[1:])) * data.dtype.itemsize > MOST_READ
    return Stored(data, count) if long else data[:count]


def _run(file: Any, rest: dict[str, Any]) -> Run:
    counts, where = rest["counts"], rest["checkpoint"]
    data = {
        str(name): _values(file, str(name), counts["time"])
        for name in file
        if str(name) not in UNSUMMED and dimensions(str(name))[0] == "time"
    }
    knots = [_values(file, name, counts["knot"]) for name in ("knot", *(f"knot_{name}" for name in MOTION))]
    point = None
    if where:
        state, rates = file["checkpoint"][where.pop("slot")]
        where.pop("crc")
        point = Checkpoint(state=state, rates=rates, **where | {"thinning": tuple(where["thinning"])})
    return Run(
        scenario=Scenario.from_dict(rest["scenario"]),
        t=data["time"],
        theta=data["theta"],
        omega=data["omega"],
        alpha=data["alpha"],
        kinetic=data["kinetic"],
        potential=data["potential"],
        work={name: data[f"work_{name}"] for name in LEDGER if f"work_{name}" in data},
        drift=data["violation"],
        status=Status(**rest["status"]),
        stats=Stats(**rest["stats"]),
        meta=rest["meta"],
        events=_events(file, counts["event"]),
        knots=Track(*knots) if counts["knot"] else None,
        checkpoint=point,
        trusted_until=rest.get("trusted_until"),
        pin_force=data.get("pin_force"),
    )


def _events(file: Any, count: int) -> list[Occurrence]:
    lines = file["event_text"][()].tobytes().split(b"\n")[:count]
    series = zip(*(file[f"event_{name}"][:count] for name in ("time", "theta", "omega")), map(json.loads, lines), strict=True)
    return [Occurrence(float(t), more["name"], theta, omega, more["info"]) for t, theta, omega, more in series]
