"""The letters of the equations: angles, rates, and the parameters of links and loads, as plain SymPy symbols by name.

    theta_i, omega_i   absolute angle of link i from straight down and its rate; relative: phi_i, phidot_i
    l m d b I          length, mass, centre of mass along and to the left of the link, inertia about it
    g                  gravity                   k_i, r_i     joint spring and its rest angle
    c_i                joint damper              kappa_i      link damper
    T_i                joint torque at time t    c1_i, c2_i   linear and quadratic drag
    alpha              follower force            F_x, F_y     force at the tip
    vx_i, vy_i         velocity of the centre of mass of link i: short for an expression in angles and rates

Links are counted from 1. What a chain has not is the number zero here, so that no equation needs to ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Integer, Symbol

OF_LINKS = {"length": "l", "mass": "m", "com": "d", "offset": "b", "inertia": "I"}
OF_LOADS = {
    "joint_spring": {"stiffness": "k", "rest": "r"},
    "joint_damper": {"joint_damping": "c"},
    "link_damper": {"link_damping": "kappa"},
    "joint_torque": {"torque": "T"},
    "drag": {"linear_drag": "c1", "quadratic_drag": "c2"},
}
OF_CHAIN = {
    "gravity": {"gravity": "g"},
    "follower_force": {"follower": "alpha"},
    "tip_force": {"tip_x": "F_x", "tip_y": "F_y"},
}
COORDINATES = {"absolute": ("theta", "omega"), "relative": ("phi", "phidot")}
ZERO: Any = Integer(0)
Row = tuple[Any, ...]


def row(letter: str, n: int) -> Row:
    """Return the symbols letter_1 ... letter_n."""
    return tuple(Symbol(f"{letter}_{i + 1}") for i in range(n))


@dataclass(frozen=True)
class Letters:
    """The symbols of a chain of n links under the given loads; zeros for what it has not."""

    n: int
    angle: Row
    rate: Row
    velocity_x: Row
    velocity_y: Row
    length: Row
    mass: Row
    com: Row
    offset: Row
    inertia: Row
    stiffness: Row
    rest: Row
    joint_damping: Row
    link_damping: Row
    torque: Row
    linear_drag: Row
    quadratic_drag: Row
    gravity: Any
    follower: Any
    tip_x: Any
    tip_y: Any

    @classmethod
    def of(cls, n: int, shape: str, loads: tuple[str, ...], offset: bool) -> Letters:
        """Return the letters of n links of a shape ("rigid", "point") under these loads, in absolute angles."""
        rows = {name: row(letter, n) for name, letter in OF_LINKS.items()}
        if shape == "point":
            rows |= {"com": rows["length"], "inertia": (ZERO,) * n}
        if not offset:
            rows["offset"] = (ZERO,) * n
        for load, letters in OF_LOADS.items():
            rows |= {name: row(letter, n) if load in loads else (ZERO,) * n for name, letter in letters.items()}
        single = {}
        for load, letters in OF_CHAIN.items():
            single |= {name: Symbol(letter) if load in loads else ZERO for name, letter in letters.items()}
        angle, rate = (row(letter, n) for letter in COORDINATES["absolute"])
        return cls(n, angle, rate, row("vx", n), row("vy", n), **rows, **single)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that are there, by their letters: a tuple with one for each link, or a single symbol."""
        found = {}
        for names in (OF_LINKS, *OF_LOADS.values(), *OF_CHAIN.values()):
            for name, letter in names.items():
                value = getattr(self, name)
                first = value[0] if isinstance(value, tuple) else value
                if str(first) in (letter, f"{letter}_1"):
                    found[letter] = value
        return found
