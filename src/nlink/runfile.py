"""Run files: netCDF4 with named dimensions and units, written whole or not at all, checked by a sum on loading.

The file opens in plain xarray. What netCDF cannot hold (scenario, status, events' details) is one JSON attribute.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from nlink._version import __version__
from nlink.files import written_whole
from nlink.loads import LEDGER
from nlink.run import Checkpoint, Occurrence, Run, Stats, Status, Track
from nlink.scenario import Scenario

FORMAT = 1
DIMENSIONS_ONLY = ("event", "part", "state", "axis")
"""Dimensions without values of their own: netCDF keeps a placeholder for each."""
Variables = dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]]

_SERIES = {
    "theta": ("rad", "absolute angle from straight down, counter-clockwise"),
    "omega": ("rad/s", "angular velocity"),
    "alpha": ("rad/s^2", "angular acceleration"),
}


class RunFileError(OSError):
    """A run file that cannot be read or written; the message says why."""


def variables(run: Run) -> Variables:
    """Return what a run holds as name -> (dimensions, values, attributes)."""
    out: Variables = {
        "time": (("time",), run.t, {"units": "s", "long_name": "time"}),
        "link": (("link",), np.arange(1, run.chain.n + 1), {"long_name": "link, counted from the pivot"}),
    }
    for name, (units, meaning) in _SERIES.items():
        out[name] = (("time", "link"), getattr(run, name), {"units": units, "long_name": meaning})
    out["kinetic"] = (("time",), run.kinetic, {"units": "J", "long_name": "kinetic energy"})
    out["potential"] = (("time",), run.potential, {"units": "J", "long_name": "potential energy of gravity and springs"})
    out["violation"] = (("time",), run.drift, {"long_name": "distance from the constraints"})
    if run.pin_force is not None:
        out["pin_force"] = (("time", "axis"), run.pin_force, {"units": "N", "long_name": "force of the pin on the last tip"})
    for name, values in run.work.items():
        out[f"work_{name}"] = (("time",), values, {"units": "J", "long_name": f"work done by {name.replace('_', ' ')}"})
    if run.knots is not None:
        out["knot"] = (("knot",), run.knots.t, {"units": "s", "long_name": "times of the integrator's steps"})
        for name, values in zip(_SERIES, run.knots[1:], strict=True):
            out[f"knot_{name}"] = (("knot", "link"), values, {"units": _SERIES[name][0]})
    if run.events:
        out["event_time"] = (("event",), np.array([e.t for e in run.events]), {"units": "s"})
        out["event_theta"] = (("event", "link"), np.array([e.theta for e in run.events]), {"units": "rad"})
        out["event_omega"] = (("event", "link"), np.array([e.omega for e in run.events]), {"units": "rad/s"})
    if run.checkpoint is not None:
        both = np.stack([run.checkpoint.state, run.checkpoint.rates])
        out["checkpoint"] = (("part", "state"), both, {"long_name": "state, and its rates, from which the run goes on"})
    return out


def attributes(run: Run) -> dict[str, Any]:
    """Return the attributes of a run file: format, title, and one JSON text with the rest."""
    point = run.checkpoint
    rest = {
        "scenario": run.scenario.to_dict(),
        "status": run.status._asdict(),
        "stats": run.stats._asdict(),
        "meta": run.meta,
        "events": [{"name": e.name, "info": e.info} for e in run.events],
        "checkpoint": point and {"t": point.t, "step": point.step, "origin": point.origin, "count": point.count},
        "trusted_until": run.trusted_until,
    }
    title = run.scenario.title or f"{run.chain.n}-link chain"
    return {"title": title, "nlink_format": FORMAT, "nlink_version": __version__, "nlink": json.dumps(rest)}


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run, whole or not at all."""
    import h5netcdf

    path, data, attrs = Path(path), variables(run), attributes(run)
    attrs["nlink_checksum"] = checksum({name: v[1] for name, v in data.items()}, attrs["nlink"])
    try:
        with written_whole(path) as temporary, h5netcdf.File(temporary, "w") as file:
            _write(file, data, attrs)
    except OSError as error:
        raise RunFileError(f"cannot write {path}: {error.strerror or error}") from None


def load(path: str | os.PathLike[str]) -> Run:
    """Read a run file; needs no solver.

    >>> load("no-such-file.nc")
    Traceback (most recent call last):
    nlink.runfile.RunFileError: there is no file no-such-file.nc
    """
    import h5py

    path = Path(path)
    if not path.is_file():
        raise RunFileError(f"{path} is a folder, not a run" if path.is_dir() else f"there is no file {path}")
    try:
        with h5py.File(path, "r") as file:
            _refuse_foreign(path, file)
            data = {str(name): _local(path, file, str(name)) for name in file}
            text, sum_ = str(file.attrs["nlink"]), str(file.attrs["nlink_checksum"])
    except RunFileError:
        raise
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        with open(path, "rb") as raw:
            hdf = raw.read(8) == b"\x89HDF\r\n\x1a\n"
        why = f"is damaged ({type(error).__name__} while reading)" if hdf else "is not a run file of nlink (not netCDF4)"
        raise RunFileError(f"{path} {why}") from None
    if checksum({n: v for n, v in data.items() if n not in DIMENSIONS_ONLY}, text) != sum_:
        raise RunFileError(f"{path} is damaged: its data do not match their checksum; use another copy or run again")
    return _run(data, json.loads(text))


def checksum(data: dict[str, np.ndarray], text: str) -> str:
    """Return the SHA-256 of all data and the JSON text, independent of the order of the variables."""
    total = hashlib.sha256(text.encode())
    for name in sorted(data):
        values = np.ascontiguousarray(data[name])
        total.update(f"{name} {values.dtype.str} {values.shape}".encode())
        total.update(values.tobytes())
    return total.hexdigest()


def _write(file: Any, data: Variables, attrs: dict[str, Any]) -> None:
    sizes = {dim: size for dims, values, _ in data.values() for dim, size in zip(dims, values.shape, strict=True)}
    file.dimensions = sizes
    for name, (dims, values, notes) in data.items():
        variable = file.create_variable(name, dims, data=values)
        variable.attrs.update(notes)
    file.attrs.update(attrs)


def _refuse_foreign(path: Path, file: Any) -> None:
    if "nlink_format" not in file.attrs:
        raise RunFileError(f"{path} is not a run of nlink: it is a netCDF or HDF5 file from elsewhere")
    version = int(np.ravel(file.attrs["nlink_format"])[0])
    if version > FORMAT:
        writer = file.attrs.get("nlink_version", "a newer nlink")
        raise RunFileError(
            f"{path} was written by nlink {writer} in format {version}; this is {__version__}, update nlink to read it"
        )


def _local(path: Path, file: Any, name: str) -> np.ndarray:
    """Read a dataset stored in this very file; links and storage outside it are refused."""
    import h5py

    link = file.get(name, getlink=True)
    own = isinstance(link, h5py.HardLink) and isinstance(file[name], h5py.Dataset)
    if not own or file[name].external or file[name].is_virtual:
        raise RunFileError(f"{path} is not a run of nlink: {name!r} points outside the file")
    return file[name][()]


def _run(data: dict[str, np.ndarray], rest: dict[str, Any]) -> Run:
    knots = Track(data["knot"], *(data[f"knot_{name}"] for name in _SERIES)) if "knot" in data else None
    events = [
        Occurrence(float(data["event_time"][i]), e["name"], data["event_theta"][i], data["event_omega"][i], e["info"])
        for i, e in enumerate(rest["events"])
    ]
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
        events=events,
        knots=knots,
        checkpoint=Checkpoint(state=data["checkpoint"][0], rates=data["checkpoint"][1], **rest["checkpoint"])
        if rest["checkpoint"]
        else None,
        trusted_until=rest["trusted_until"],
        pin_force=data.get("pin_force"),
    )
