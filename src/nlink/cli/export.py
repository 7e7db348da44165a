"""`nlink export`: chosen quantities of a run as CSV."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from nlink._support.checks import choice
from nlink._support.endings import TABLE, check_ending
from nlink.cli.common import load_run
from nlink.cli.options import RunFile
from nlink.cli.report import write_text

if TYPE_CHECKING:
    from nlink.run.run import Run

Columns = dict[str, np.ndarray]


def _coordinates(names: tuple[str, str], rate: str, run: Run, values: np.ndarray) -> Columns:
    """Return a column for each body: of a link its angle, or its rate, of a slider its displacement."""
    slides = enumerate(run.chain.slides.tolist(), start=1)
    titles = [f"{names[1]}_{i} [m{rate}]" if slide else f"{names[0]}_{i} [rad{rate}]" for i, slide in slides]
    return dict(zip(titles, values.T, strict=True))


def _vectors(name: str, unit: str, values: np.ndarray) -> Columns:
    return {f"{name}{axis}_{i + 1} [{unit}]": values[:, i, k] for i in range(values.shape[1]) for k, axis in enumerate("xy")}


def _energy(run: Run) -> Columns:
    energy = run.energy()
    columns = {"kinetic [J]": energy.kinetic, "potential [J]": energy.potential, "residual [J]": energy.residual}
    return columns | {f"work_{name} [J]": values for name, values in energy.work.items()}


def _reactions(run: Run) -> Columns:
    """Return the forces at the hinges and, of a closed chain, that of its pin on the last tip."""
    forces, n = run.reactions(), run.chain.n
    pin = {f"r{axis}_pin [N]": forces[:, n, k] for k, axis in enumerate("xy")} if run.chain.pin else {}
    return _vectors("r", "N", forces[:, :n]) | pin


QUANTITIES: dict[str, Callable[[Run], Columns]] = {
    "theta": lambda run: _coordinates(("theta", "s"), "", run, run.theta),
    "omega": lambda run: _coordinates(("omega", "v"), "/s", run, run.omega),
    "alpha": lambda run: _coordinates(("alpha", "a"), "/s^2", run, run.alpha),
    "positions": lambda run: _vectors("", "m", run.positions()[:, 1:]),
    "velocities": lambda run: _vectors("v", "m/s", run.velocities()[:, 1:]),
    "centres": lambda run: _vectors("g", "m", run.centres()),
    "energy": _energy,
    "reactions": _reactions,
    "violation": lambda run: {"violation": run.violation()},
}


def export(
    run: RunFile,
    quantities: Annotated[
        list[str] | None, typer.Argument(help=f"Any of {', '.join(QUANTITIES)}; theta and omega if not given.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file (.csv); the standard output if not given.")] = None,
) -> None:
    """Write chosen quantities of a run as CSV, with full precision, one row for each saved time."""
    names = [choice("the quantity", name, QUANTITIES) for name in quantities or ("theta", "omega")]
    if output is not None:
        check_ending("--output", output, (TABLE,), "spreadsheets open it")
    loaded = load_run(run)
    columns: Columns = {"t [s]": loaded.t}
    for name in names:
        columns |= QUANTITIES[name](loaded)
    text = "\n".join([",".join(columns), *(",".join(map(repr, row)) for row in np.column_stack(list(columns.values())).tolist())])
    write_text(text + "\n", output, r"t \[s\]", f"{len(loaded.t)} rows of {len(columns)} columns")
