"""The parameter of a model that a command varies: its key, its values, and the chains."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from nlink._support.checks import ModelError, number, whole
from nlink.cli.common import Table, put
from nlink.mechanics.loads import LOADS
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
"""Short names of parameters; any other is named by its key in the model file."""
MOST_POINTS = 1_000_000


def parameter(text: str) -> tuple[str, str]:
    """Return the key of a parameter in the model, and its label in pictures."""
    key = SHORT.get(text, text)
    name = key.removeprefix("loads.")
    unit = f" ({next(iter(LOADS[name].parameters().values())).unit})" if name in LOADS else ""
    return key, name.replace("_", " ") + unit


def values_between(first: str, last: str, low: float, high: float, points: int) -> np.ndarray:
    """Return values from low to high; `first` and `last` are the options they come from."""
    low, high = number(first, low), number(last, high)
    if low >= high:
        raise ModelError(f"{last} must be above {first} {low:g}, got {high:g}")
    return np.linspace(low, high, whole("--points", points, least=2, most=MOST_POINTS))


def chains(name: str, table: Table, *keys: str) -> Callable[..., Chain]:
    """Return the function that makes the chain with these values put into the model."""

    def chain_of(*values: float) -> Chain:
        model = copy.deepcopy(table)
        for key, value in zip(keys, values, strict=True):
            put(model, key, float(value))
        return Scenario.from_dict(model, where=name).chain

    return chain_of
