"""Over which values of a load stability is looked at where the user does not say: chosen from the chain."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nlink._support.checks import ModelError
from nlink.analysis.stability import Critical, critical_load
from nlink.mechanics.chain import STANDARD_GRAVITY, Multibody
from nlink.mechanics.loads import LOADS, Gravity, JointSpring
from nlink.studio.messages import Json, ranged

WIDE, BEYOND = 4.0, 1.6
"""How far a range goes in units of the chain's own load, and of the first critical load."""
PINS = 0.3
"""How far a pin is moved, as a part of the chain's length."""


def ends(request: Json, key: str, chain_of: Callable[[float], Multibody], low: str, high: str) -> tuple[float, float]:
    """Return the ends of a range: those that are asked for, the others chosen."""
    given = [request.get(name) in (None, "") for name in (low, high)]
    if not any(given):
        return ranged(request, low, high)
    chosen = dict(zip((low, high), chosen_ends(key, chain_of, request.get("model", {})), strict=True))
    asked = {name: request[name] for name, absent in zip((low, high), given, strict=True) if not absent}
    return ranged(chosen | asked, low, high)


def chosen_ends(key: str, chain_of: Callable[[float], Multibody], model: Json) -> tuple[float, float]:
    """Return a range that shows where stability is lost, if it is lost within some units of the chain's own load."""
    table, _, name = key.partition(".")
    chain = chain_of(float(model["pin"][name]) if table == "pin" else 0.0)
    if table == "pin":
        middle, half = float(model["pin"][name]), PINS * float(chain.length.sum())
        return _rounded(middle - half), _rounded(middle + half)
    wide = WIDE * _unit(chain, LOADS[name])
    found = _first(chain_of, wide)
    return 0.0, _rounded(BEYOND * found if found else wide)


def _first(chain_of: Callable[[float], Multibody], wide: float) -> float | None:
    try:
        found = critical_load(chain_of, (0.0, wide))
    except ModelError:
        return None
    return found.load if isinstance(found, Critical) and found.load > 0 else None


def _unit(chain: Multibody, kind: type) -> float:
    """Return the chain's own load in the unit of a kind of loads: its weight and the torque of its springs, at its length."""
    length, mass = float(chain.length.sum()), float(chain.mass.sum())
    stiffness = float(np.max(chain.each(JointSpring, "stiffness"))) if chain.load(JointSpring) else 0.0
    force = mass * abs(chain.g) + stiffness / length or 1.0
    moment, time = force * length, math.sqrt(mass * length / force)
    units = {
        "N": force,
        "N m": moment,
        "N m/rad": moment,
        "N m s/rad": moment * time / WIDE,
        "N s/m": mass / time / WIDE,
        "m/s^2": STANDARD_GRAVITY.g if kind is Gravity else 1.0,
    }
    return units.get(next(iter(kind.parameters().values())).unit, 1.0)  # pyright: ignore[reportAttributeAccessIssue]


def _rounded(value: float) -> float:
    """Return a value to two digits."""
    return float(f"{value:.2g}")
