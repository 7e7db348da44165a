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

from nlink.mechanics.links import LINK
from nlink.mechanics.loads import LOADS

COORDINATES = {"absolute": ("theta", "omega"), "relative": ("phi", "phidot")}
LINK_ORDER = ("length", "mass", "com", "offset", "inertia")
"""The parameters of links as the functions that are written have them."""
Expression = Any
"""An expression of SymPy, whose own annotations say Basic where arithmetic is meant."""
ZERO: Expression = Integer(0)
Row = tuple[Expression, ...]


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
    loads: dict[str, dict[str, Expression]]
    """the parameters of each load by name: a symbol for each link, or one"""

    @classmethod
    def of(cls, n: int, shape: str, loads: tuple[str, ...], offset: bool) -> Letters:
        """Return the letters of n links of a shape ("rigid", "point") under these loads, in absolute angles."""
        rows = {name: row(parameter.symbol, n) for name, parameter in LINK.items()}
        if shape == "point":
            rows |= {"com": rows["length"], "inertia": (ZERO,) * n}
        if not offset:
            rows["offset"] = (ZERO,) * n
        angle, rate = (row(letter, n) for letter in COORDINATES["absolute"])
        known = {name: _of_load(name, n, name in loads) for name in LOADS}
        return cls(n, angle, rate, row("vx", n), row("vy", n), **rows, loads=known)

    def of_load(self, load: str, field: str) -> Row:
        """Return a parameter of a load for each link; zeros without a name."""
        return self.loads[load][field] if field else (ZERO,) * self.n

    def parameters(self) -> dict[str, Row | Expression]:
        """Return the parameters that are there, by their letters: tuples with one for each link, then single symbols."""
        values = [(LINK[name].symbol, getattr(self, name)) for name in LINK_ORDER]
        for load, names in self.loads.items():
            values += [(LOADS[load].parameters()[name].symbol, value) for name, value in names.items()]
        rows = {letter: value for letter, value in values if isinstance(value, tuple) and str(value[0]) == f"{letter}_1"}
        return rows | {letter: value for letter, value in values if str(value) == letter}


def _of_load(load: str, n: int, present: bool) -> dict[str, Row | Expression]:
    """Return the parameters of a load that have a letter; zeros if the load is absent."""
    parameters = {name: each for name, each in LOADS[load].parameters().items() if each.symbol}
    if not present:
        return {name: ZERO if each.single else (ZERO,) * n for name, each in parameters.items()}
    return {name: Symbol(each.symbol) if each.single else row(each.symbol, n) for name, each in parameters.items()}
