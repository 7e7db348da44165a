"""Maps as data: netCDF files (.nc) that hold all of a map, and tables (.csv)."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nlink._support import guarded
from nlink._support.checks import ModelError
from nlink._support.files import written_whole
from nlink.analysis.maps import Map
from nlink.analysis.plane import centres, make_plane
from nlink.run.file import links_in
from nlink.scenario import Scenario

if TYPE_CHECKING:
    import h5py

FORMAT = 2
"""Since 2 with a checksum; files of format 1 are read, too."""
ENDINGS = (".nc", ".csv")
TYPES = {"values": "f8", "status": "i1", "forbidden": "i1", "link": "i4"}
MOST_PIXELS, MOST_LINKS = 2**28, 100_000
"""Larger maps are taken for damage."""
SLIGHT = 1e-9
"""Part of a region by which a pixel may be off its place, for the sake of rounding errors."""
HINT = "make one with: nlink map flip --data map.nc"


class MapFileError(OSError):
    """A map file that cannot be read; the message says why."""


def save_map(found: Map, path: str | os.PathLike[str]) -> Path:
    """Write a map as .nc (all of it) or .csv (a row for each pixel), whole or not at all."""
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise ModelError(f"the data of a map must end in .nc or .csv, got {path}")
    content = None if path.suffix == ".csv" else _netcdf(found)
    begin = re.escape(f"{found.plane.x.name},{found.plane.y.name}") if content is None else ""
    with written_whole(path, begin) as temporary:
        if content is None:
            _write_table(found, temporary)
        else:
            temporary.write_bytes(content)
    return path


def _netcdf(found: Map) -> bytes:
    """Return a map as the content of a netCDF4 file, with what is needed to make it again among its attributes.

    It is made in memory: HDF5 does not survive a disk that becomes full.
    """
    import h5netcdf
    import h5py

    plane, content = found.plane, io.BytesIO()
    scenario = Scenario(plane.chain, tuple(plane.theta.tolist()), tuple(plane.omega.tolist()))
    variables = {
        "values": (found.values, {"units": found.unit, "long_name": found.meaning}),
        "status": (found.status, {"long_name": "0 finished, 1 event, 2 not finite, 3 too many steps, -1 not run"}),
        "forbidden": (found.forbidden, {"long_name": "the start has not the energy to flip", "dtype": "bool"}),
        "link": (found.link, {"long_name": "link that flips first, from 1; 0: none"}),
        "x": (found.x, {"long_name": plane.x.name, "units": plane.x.unit}),
        "y": (found.y, {"long_name": plane.y.name, "units": plane.y.unit}),
    }
    attributes = {
        "nlink_map": FORMAT,
        "quantity": found.quantity,
        "region": list(found.region),
        "t_end": plane.t_end,
        "model": json.dumps(scenario.to_dict()),
        "settings": json.dumps(found.settings),
    }
    with h5netcdf.File(content, "w", libver="latest") as file:
        file.dimensions = {"y": len(found.y), "x": len(found.x)}
        for name, (values, attrs) in variables.items():
            if values is not None:
                dims, packed = (("y", "x"), {"compression": "gzip"}) if name in TYPES else ((name,), {})
                data = values.astype(TYPES.get(name, "f8"))
                file.create_variable(name, dims, data.dtype, data=data, **packed).attrs.update(attrs)
        file.attrs.update(attributes)
    with h5py.File(content, "r+", libver="latest") as file:
        file.attrs["checksum"] = _checksum(file)
    return content.getvalue()


def _checksum(file: h5py.File) -> str:
    """Return the SHA-256 of all numbers and attributes of a map file."""
    told = {
        name: [each.shape, hashlib.sha256(each[()].tobytes()).hexdigest(), guarded.attributes_of(each)]
        for name, each in file.items()
    }
    head = {name: value for name, value in guarded.attributes_of(file).items() if name != "checksum"}
    return hashlib.sha256(json.dumps([head, told], sort_keys=True).encode()).hexdigest()


def load_map(path: str | os.PathLike[str]) -> Map:
    """Read a map from its .nc file; one that is damaged, or not of nlink's making, raises MapFileError."""
    path = Path(path)
    if not path.is_file():
        raise MapFileError(f"there is no map {path}; make one with: nlink map flip --data {path}")
    with guarded.guarded(path, MapFileError, "use another copy or make the map again"):
        file, closed = guarded.opened_hdf5(path, "a map")
        with file:
            if "nlink_map" not in file.attrs or not closed:
                raise guarded.Unread(f"is not a map that this nlink reads; {HINT}")
            try:
                return _read(file)
            except ModelError as error:
                raise guarded.Refused(str(error)[:300]) from None


def _read(file: h5py.File) -> Map:
    """Return the map in an open file, after all checks."""
    version = guarded.attribute(file, "nlink_map", int)
    if version not in (1, FORMAT):
        raise guarded.Unread(f"is not a map that this nlink reads (format {version}); update nlink, or {HINT}")
    arrays = _arrays(guarded.variables_of(file, "a map of nlink"))
    if version > 1 and guarded.attribute(file, "checksum", str) != _checksum(file):
        raise guarded.Refused("its data do not match their checksum")
    model, settings = (guarded.parsed(guarded.attribute(file, name, str)) for name in ("model", "settings"))
    if links_in({"scenario": model}) > MOST_LINKS:
        raise guarded.Refused("its chain is too long")
    scenario = Scenario.from_dict(model)
    across, up = (guarded.attribute(file[axis], "long_name", str) for axis in ("x", "y"))
    plane = make_plane(scenario.chain, across, up, scenario.theta, scenario.omega, guarded.attribute(file, "t_end", float))
    x0, x1, y0, y1 = _region(guarded.attribute(file, "region", list), arrays)
    for name, least, largest in (("status", -1, 3), ("forbidden", 0, 1), ("link", 0, scenario.chain.n)):
        if name in arrays and not (arrays[name].min() >= least and arrays[name].max() <= largest):
            raise guarded.Refused(f"its {name} is not within {least} and {largest}")
    x, y, values, status, forbidden = (arrays[name] for name in ("x", "y", "values", "status", "forbidden"))
    quantity = guarded.attribute(file, "quantity", str)
    found = Map(x, y, values, arrays.get("link"), status, forbidden > 0, plane, (x0, x1, y0, y1), quantity, settings)
    _ = found.unit  # refuses a quantity that is not known
    return found


def _arrays(data: dict[str, h5py.Dataset]) -> dict[str, np.ndarray]:
    """Return the arrays of a map, none of them larger than what is stored."""
    if {*data, "link"} != {"x", "y", *TYPES}:
        raise guarded.Refused("its variables are not those of a map")
    for name in ("x", "y"):
        guarded.check_array(data[name], "f8", (None,))
    shape = (len(data["y"]), len(data["x"]))
    if not 0 < shape[0] * shape[1] <= MOST_PIXELS:
        raise guarded.Refused(f"it has {shape[1]} x {shape[0]} pixels")
    for name in TYPES:
        if name in data:
            guarded.check_array(data[name], TYPES[name], shape, packed=True)
    return {name: each[()] for name, each in data.items()}


def _region(region: list[float], arrays: dict[str, np.ndarray]) -> list[float]:
    """Return the edges of a map, between which its pixels must lie."""
    edges = [float(edge) for edge in region]
    if len(edges) != 4 or not np.isfinite(edges).all():
        raise guarded.Refused("its region is not four numbers")
    for name, low, high in (("x", *edges[:2]), ("y", *edges[2:])):
        if not np.abs(arrays[name] - centres(low, high, len(arrays[name]))).max() <= SLIGHT * abs(high - low):
            raise guarded.Refused(f"its {name} is not the centres of its pixels")
    return edges


def _write_table(found: Map, path: Path) -> None:
    x, y = np.meshgrid(found.x, found.y)
    columns = {found.plane.x.name: x, found.plane.y.name: y, found.quantity: found.values}
    columns |= {} if found.link is None or found.quantity == "link" else {"link": found.link}
    columns |= {"status": found.status, "forbidden": found.forbidden}
    table = np.column_stack([values.ravel().astype(float) for values in columns.values()])
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")
