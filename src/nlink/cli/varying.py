"""What commands share that vary a parameter of a model: its key, its values, the chains, and the files they write."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlink._support.checks import ModelError, number, whole
from nlink.cli.common import put
from nlink.scenario import Scenario

if TYPE_CHECKING:
    from nlink.mechanics.chain import Chain

SHORT = {
    "follower": "loads.follower_force",
    "damping": "loads.joint_damper",
    "stiffness": "loads.joint_spring",
    "gravity": "loads.gravity",
    "torque": "loads.joint_torque",
}
"""Short names of what is often varied; anything else by its key in the model file."""
MOST_POINTS = 1_000_000
UNITS = {"loads.follower_force": "N", "loads.joint_damper": "N m s", "loads.joint_spring": "N m", "loads.gravity": "m/s^2"}


def varied(text: str) -> tuple[str, str]:
    """Return the key of a model that a name stands for, and how a picture calls it."""
    key = SHORT.get(text, text)
    unit = UNITS.get(key)
    return key, f"{key.removeprefix('loads.').replace('_', ' ')}{f' ({unit})' if unit else ''}"


def stretch(first: str, last: str, low: float, high: float, points: int) -> np.ndarray:
    """Return values from low to high; `first` and `last` are the options they come from."""
    low, high = number(first, low), number(last, high)
    if low >= high:
        raise ModelError(f"{last} must be above {first} {low:g}, got {high:g}")
    return np.linspace(low, high, whole("--points", points, least=2, most=MOST_POINTS))


def chains(name: str, table: dict[str, Any], *keys: str) -> Callable[..., Chain]:
    """Return the function that makes the chain with these values put into the model."""

    def chain_of(*values: float) -> Chain:
        made = copy.deepcopy(table)
        for key, value in zip(keys, values, strict=True):
            put(made, key, float(value))
        return Scenario.from_dict(made, where=name).chain

    return chain_of


def write_csv(path: Path, names: list[str], values: np.ndarray, quiet: bool) -> None:
    """Write columns of numbers under their names."""
    from nlink._support.files import written_whole

    header = ",".join(names)
    with written_whole(path, re.escape(header)) as temporary:
        np.savetxt(temporary, values, delimiter=",", header=header, comments="", fmt="%.17g")
    wrote(path, quiet)


def draw(figure: Any, path: Path, quiet: bool) -> None:
    """Write a picture."""
    from nlink.view.style import save_figure

    if path.suffix not in (".png", ".svg", ".pdf"):
        raise ModelError(f"--output must end in .png, .svg or .pdf, got {path}")
    save_figure(figure, path)
    wrote(path, quiet)


def wrote(path: Path, quiet: bool) -> None:
    """Say which file was written."""
    if not quiet:
        print(f"nlink: wrote {path}", file=sys.stderr)
