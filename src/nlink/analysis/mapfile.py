"""Maps as data: an xarray.Dataset, netCDF files (.nc) that hold all of a map, and tables (.csv)."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nlink._check import ModelError
from nlink.analysis.maps import Map
from nlink.analysis.plane import make_plane
from nlink.files import written_whole
from nlink.scenario import Scenario

if TYPE_CHECKING:
    import xarray

FORMAT = 1
ENDINGS = (".nc", ".csv")


def to_xarray(found: Map) -> xarray.Dataset:
    """Return a map as a Dataset over y and x, with what is needed to make it again among its attributes."""
    import xarray

    plane, unit = found.plane, {"units": found.unit, "long_name": found.meaning}
    scenario = Scenario(plane.chain, tuple(plane.theta.tolist()), tuple(plane.omega.tolist()))
    variables = {
        "values": (("y", "x"), found.values, unit),
        "status": (("y", "x"), found.status, {"long_name": "0 finished, 1 event, 2 not finite, 3 too many steps, -1 not run"}),
        "forbidden": (("y", "x"), found.forbidden, {"long_name": "the start has not the energy to flip"}),
    }
    if found.link is not None:
        variables["link"] = (("y", "x"), found.link, {"long_name": "link that flips first, from 1; 0: none"})
    coordinates = {
        name: (name, values, {"long_name": axis.name, "units": axis.unit})
        for name, values, axis in (("x", found.x, plane.x), ("y", found.y, plane.y))
    }
    settings = {
        "nlink_map": FORMAT,
        "quantity": found.quantity,
        "region": list(found.region),
        "t_end": plane.t_end,
        "model": json.dumps(scenario.to_dict()),
        "settings": json.dumps(found.settings),
    }
    return xarray.Dataset(variables, coordinates, settings)


def save_map(found: Map, path: str | os.PathLike[str]) -> Path:
    """Write a map as .nc (all of it) or .csv (a row for each pixel), whole or not at all."""
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise ModelError(f"the data of a map must end in .nc or .csv, got {path}")
    table = path.suffix == ".csv"
    with written_whole(path, re.escape(f"{found.plane.x.name},{found.plane.y.name}") if table else "") as temporary:
        _write_table(found, temporary) if table else temporary.write_bytes(_image(found))
    return path


def _image(found: Map) -> bytes:
    """Return the bytes of a map's netCDF file: made in memory, for HDF5 does not survive a full disk."""
    data, image = to_xarray(found), io.BytesIO()
    packed = {name: {"zlib": True, "complevel": 4} for name in data.data_vars}
    data.to_netcdf(image, engine="h5netcdf", encoding=packed)
    return image.getvalue()


def load_map(path: str | os.PathLike[str]) -> Map:
    """Read a map from its .nc file."""
    import xarray

    if not Path(path).is_file():
        raise OSError(f"there is no map {path}; make one with: nlink map flip --data {path}")
    try:
        data = xarray.load_dataset(path, engine="h5netcdf")
    except (OSError, ValueError):
        raise OSError(f"{path} is not a map (.nc)") from None
    if data.attrs.get("nlink_map") != FORMAT:
        raise OSError(f"{path} is not a map that this nlink reads; make one with: nlink map flip --data map.nc")
    scenario = Scenario.from_dict(json.loads(data.attrs["model"]))
    names = data["x"].attrs["long_name"], data["y"].attrs["long_name"]
    plane = make_plane(scenario.chain, *names, scenario.theta, scenario.omega, float(data.attrs["t_end"]))
    link = data["link"].values if "link" in data else None
    x0, x1, y0, y1 = (float(edge) for edge in data.attrs["region"])
    x, y, values, status, forbidden = (data[name].values for name in ("x", "y", "values", "status", "forbidden"))
    settings = json.loads(data.attrs["settings"])
    return Map(x, y, values, link, status, forbidden, plane, (x0, x1, y0, y1), data.attrs["quantity"], settings)


def _write_table(found: Map, path: Path) -> None:
    x, y = np.meshgrid(found.x, found.y)
    columns = {found.plane.x.name: x, found.plane.y.name: y, found.quantity: found.values}
    columns |= {} if found.link is None or found.quantity == "link" else {"link": found.link}
    columns |= {"status": found.status, "forbidden": found.forbidden}
    table = np.column_stack([values.ravel().astype(float) for values in columns.values()])
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")
