"""The numbers of a run as a table: columns by quantities, with their units in their heads, one row for each saved time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nlink._support.checks import choice
from nlink.run.run import Run

Columns = dict[str, np.ndarray]


def _coordinates(names: tuple[str, str], rate: str, run: Run, values: np.ndarray) -> Columns:
    """Return a column for each body: of a link its angle, or its rate, of a slider its displacement."""
    if run.chain.spatial:
        return _vectors(f"{names[0]}_", f"rad{rate}", values)
    slides = enumerate(run.chain.slides.tolist(), start=1)
    titles = [f"{names[1]}_{i} [m{rate}]" if slide else f"{names[0]}_{i} [rad{rate}]" for i, slide in slides]
    return dict(zip(titles, values.T, strict=True))


def _vectors(name: str, unit: str, values: np.ndarray) -> Columns:
    """Return a column for each component of vectors (T, N, 2) or (T, N, 3)."""
    axes, unit = list(enumerate("xyz"[: values.shape[2]])), f" [{unit}]" if unit else ""
    return {f"{name}{axis}_{i + 1}{unit}": values[:, i, k] for i in range(values.shape[1]) for k, axis in axes}


def _each(name: str, unit: str, values: np.ndarray) -> Columns:
    """Return a column for each link."""
    return {f"{name}_{i + 1} [{unit}]": values[:, i] for i in range(values.shape[1])}


def _rotation(run: Run) -> Columns:
    """Return the quaternions of the bodies; lines have none."""
    values = run.rotation
    known = np.flatnonzero(~np.isnan(values).all((0, 2)))
    return {f"q{part}_{i + 1}": values[:, i, k] for i in known.tolist() for k, part in enumerate("wxyz")}


def _momentum(run: Run) -> Columns:
    """Return the angular momentum about the pivot: in the plane one column, in space three."""
    values = run.angular_momentum()
    names = "xyz" if run.chain.spatial else [""]
    return {f"L{axis} [kg m^2/s]": column for axis, column in zip(names, np.atleast_2d(values.T), strict=True)}


def _energy(run: Run) -> Columns:
    energy = run.energy()
    columns = {"kinetic [J]": energy.kinetic, "potential [J]": energy.potential, "residual [J]": energy.residual}
    return columns | {f"work_{name} [J]": values for name, values in energy.work.items()}


def _reactions(run: Run) -> Columns:
    """Return the forces at the hinges and, of a closed chain, that of its pin on the last tip; of a mechanism those of its pins."""
    forces, n = run.reactions(), run.chain.n
    pinned = ["pin"] if run.chain.pin else [f"pin_{i + 1}" for i in range(forces.shape[1] - n)]
    pins = {f"r{axis}_{name} [N]": forces[:, n + i, k] for i, name in enumerate(pinned) for k, axis in enumerate("xy")}
    return _vectors("r", "N", forces[:, :n]) | pins


QUANTITIES: dict[str, Callable[[Run], Columns]] = {
    "theta": lambda run: _coordinates(("theta", "s"), "", run, run.theta),
    "omega": lambda run: _coordinates(("omega", "v"), "/s", run, run.omega),
    "alpha": lambda run: _coordinates(("alpha", "a"), "/s^2", run, run.alpha),
    "positions": lambda run: _vectors("", "m", run.positions()[:, 1:]),
    "velocities": lambda run: _vectors("v", "m/s", run.velocities()[:, 1:]),
    "centres": lambda run: _vectors("g", "m", run.centres()),
    "direction": lambda run: _vectors("e", "", run.direction),
    "inclination": lambda run: _each("inclination", "rad", run.inclination),
    "azimuth": lambda run: _each("azimuth", "rad", run.azimuth),
    "rotation": _rotation,
    "tensions": lambda run: _each("tension", "N", run.tensions()),
    "momentum": _momentum,
    "energy": _energy,
    "reactions": _reactions,
    "violation": lambda run: {"violation": run.violation()},
}


def columns(run: Run, quantities: Sequence[str]) -> Columns:
    """Return the columns of a table, the time first, by their heads.

    >>> import nlink
    >>> list(columns(nlink.simulate(nlink.Chain.uniform(1), [0.5], t_end=0.1), ["theta"]))
    ['t [s]', 'theta_1 [rad]']
    """
    found: Columns = {"t [s]": run.t}
    for name in quantities:
        found |= QUANTITIES[choice("the quantity", name, QUANTITIES)](run)
    return found


def csv_text(table: Columns) -> str:
    """Return a table as CSV, with full precision."""
    rows = np.column_stack(list(table.values())).tolist()
    return "\n".join([",".join(table), *(",".join(map(repr, row)) for row in rows)]) + "\n"
