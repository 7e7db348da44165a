"""A run as plain data, and a sketch of a chain: what `run` and `show` print beside the words."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nlink.cli.common import Table
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Chain

if TYPE_CHECKING:
    from nlink.run.run import Run


def run_table(run: Run, path: Path) -> Table:
    """Return what happened in a run as plain data."""
    residual = np.abs(run.energy().residual)
    return {
        "title": run.scenario.title,
        "links": run.chain.n,
        **run_state(run),
        "formulation": run.meta.get("formulation"),
        "integrator": run.meta.get("integrator"),
        "steps": run.stats.steps,
        "rejected": run.stats.rejected,
        "evaluations": run.stats.nfev,
        "wall": run.stats.wall,
        "energy_residual": float(residual.max()) if len(residual) else None,
        "start": run.meta.get("start", {}),
        "work": {name: float(values[-1]) for name, values in run.work.items() if len(values)},
        "trusted_until": run.trusted_until,
        "events": [{"t": event.t, "name": event.name, **event.info} for event in run.events],
        "file": str(path),
    }


def run_state(run: Run) -> Table:
    """Return how far a run has come as plain data."""
    last = float(run.t[-1]) if len(run.t) else None
    return {"status": run.status.code, "message": str(run.status), "t": last, "points": len(run.t)}


def sketch(chain: Chain, theta: np.ndarray, width: int = 56, height: int = 18) -> str:
    """Draw a chain in characters: the pivot as +, a pin as X, link ends as o, the last of an open chain as O, links dotted."""
    points, pins = kinematics.hinges(chain, theta), np.array([chain.pin] if chain.pin else []).reshape(-1, 2)
    seen = np.concatenate([points, pins])
    low, high = seen.min(0), seen.max(0)
    cell = max((high[0] - low[0]) / (width - 1), 2 * (high[1] - low[1]) / (2 * height - 2), 1e-9)
    columns, rows = round((high[0] - low[0]) / cell) + 1, round((high[1] - low[1]) / (2 * cell)) + 1
    grid = [[" "] * columns for _ in range(rows)]

    def dot(point: np.ndarray, mark: str) -> None:
        column, row = round((point[0] - low[0]) / cell), round((high[1] - point[1]) / (2 * cell))
        grid[min(row, rows - 1)][min(column, columns - 1)] = mark

    for a, b in pairwise(points):
        for share in np.linspace(0, 1, 2 + int(4 * np.hypot(*(b - a)) / cell)):
            dot(a + share * (b - a), ".")
    for i, point in enumerate(points):
        dot(point, "o" if i < chain.n or chain.pin else "O")
    for pin in pins:
        dot(pin, "X")
    dot(points[0], "+")
    return "\n".join("    " + "".join(row).rstrip() for row in grid)
