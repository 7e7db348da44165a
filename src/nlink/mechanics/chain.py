r"""Links and chains, and THE sign convention of nlink.

        y ^
          |                 theta_i   absolute angle of link i from straight down, counter-clockwise positive
          o----> x          e = (sin theta, -cos theta)   along the link
         /|\                 t = (cos theta,  sin theta)   its left normal, de/dtheta
        / | theta           centre of mass: com along e, offset along t, from the upper hinge
       *  |                 hinge i joins link i-1 to link i; hinge 0 is the pivot at the origin
      /   v  gravity        SI units, radians

In Python links count from 0 (`theta[0]`), in texts and plots from 1 (theta_1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, choice, listed, number, shown, spread, whole
from nlink._support.lazy import shown_by
from nlink.mechanics.loads import LOADS, Gravity, Load, each, parameters_of

L = TypeVar("L")
Shape = Literal["rod", "point"]
STANDARD_GRAVITY = Gravity(9.81)
MOST_LINKS = 10_000_000
REACH = 1e-12
"""Rounding that is allowed when a pin lies just at the end of a chain's reach."""


@dataclass(frozen=True)
class Link:
    """One rigid link: length, mass, centre of mass (`com` along, `offset` to the left), inertia about it.

    >>> Link.rod(1.0, 2.0)
    Link(length=1.0, mass=2.0, com=0.5, inertia=0.16666666666666666, offset=0.0)
    """

    length: float = each("m", "Length", "l", above=0)
    mass: float = each("kg", "Mass", "m", least=0)
    com: float = each("m", "Centre of mass", "d")
    inertia: float = each("kg m^2", "Inertia", "I", least=0)
    offset: float = each("m", "Off the axis", "b", 0.0, odd=True)

    def __post_init__(self) -> None:
        for name, parameter in LINK.items():
            value = number(f"Link.{name}", getattr(self, name), least=parameter.least, above=parameter.above)
            object.__setattr__(self, name, value)

    @classmethod
    def rod(cls, length: float, mass: float) -> Link:
        """Return a uniform rod: centre of mass in the middle, inertia m l^2/12."""
        length, mass = number("Link.length", length, above=0), number("Link.mass", mass, least=0)
        return cls(length, mass, length / 2, mass * length**2 / 12)

    @classmethod
    def point(cls, length: float, mass: float) -> Link:
        """Return a massless link with a point mass at its end."""
        return cls(length, mass, length, 0.0)

    @property
    def hinge_inertia(self) -> float:
        """Moment of inertia about the upper hinge."""
        return self.inertia + self.mass * (self.com**2 + self.offset**2)


LINK = parameters_of(Link)


@dataclass(frozen=True)
class Chain:
    """Links hinged one after another from a pivot at the origin, the loads on them, and a pin that may hold the last tip.

    Gravity is 9.81 m/s^2 unless a `Gravity` load says otherwise: Gravity(0) for none. The order of loads does not matter. With
    pin = (x, y) in m the chain is a closed loop.

    >>> Chain([Link.rod(1.0, 1.0), Link.point(0.5, 2.0)]).loads
    (Gravity(g=9.81),)
    """

    links: tuple[Link, ...]
    loads: tuple[Load, ...] = ()
    pin: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "links", _links(self.links))
        object.__setattr__(self, "loads", _loads(self.loads))
        object.__setattr__(self, "pin", _pin(self.pin, self.links))
        for load in self.loads:
            _check_lengths(load, self.n)
        _refuse_singular(self.links)

    @classmethod
    def uniform(
        cls,
        n: int,
        *,
        length: float = 1.0,
        mass: float = 1.0,
        shape: Shape = "rod",
        loads: Any = (),
        pin: tuple[float, float] | None = None,
    ) -> Chain:
        """Return n equal links, with gravity 9.81 unless a Gravity load says otherwise.

        Parameters: n up to 10,000,000; length in m and mass in kg of each link; shape "rod" or "point".

        >>> Chain.uniform(3, mass=0.5).links[2].mass
        0.5
        """
        make = {"rod": Link.rod, "point": Link.point}[choice("Chain.uniform: shape", shape, ("rod", "point"))]
        return cls((make(length, mass),) * whole("Chain.uniform: n", n, most=MOST_LINKS), loads, pin)

    def with_loads(self, *loads: Load) -> Chain:
        """Return the chain with these loads added, each replacing one of its own type.

        >>> from nlink.mechanics.loads import JointDamper
        >>> Chain.uniform(2).with_loads(JointDamper(0.1)).loads
        (Gravity(g=9.81), JointDamper(damping=0.1))
        """
        _loads(loads)
        new = {type(load): load for load in loads}
        kept = tuple(new.pop(type(load), load) for load in self.loads)
        return replace(self, loads=kept + tuple(new.values()))

    def load(self, kind: type[L]) -> L | None:
        """Return the load of this type, or None."""
        return next((load for load in self.loads if isinstance(load, kind)), None)

    def each(self, kind: type, name: str) -> np.ndarray:
        """Return the value `name` of a load as an (N,) array; zeros where the chain has no such load, or the name is empty."""
        load = self.load(kind) if name else None
        return np.broadcast_to(np.asarray(getattr(load, name, 0.0), float), (self.n,)).copy()

    def __repr__(self) -> str:
        """Return one line: how many links, how long and heavy, and what acts on them."""
        equal = "equal " if self.n > 1 and self.links.count(self.links[0]) == self.n else ""
        loads = ", ".join(load.name.replace("_", " ") for load in self.loads if load != Gravity(0.0)) or "no loads"
        pin = f", pin at ({self.pin[0]:g}, {self.pin[1]:g}) m" if self.pin else ""
        size = f"{self.length.sum():g} m, {self.mass.sum():g} kg"
        return f"<Chain of {self.n} {equal}link{'s' * (self.n > 1)}, {size}, {loads}{pin}>"

    @shown_by("words.chain_html")
    def _repr_html_(self) -> str:
        """Return a sketch and the system in words, for a notebook."""
        ...

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.links)

    @property
    def g(self) -> float:
        """Gravity in m/s^2."""
        return next(load.g for load in self.loads if isinstance(load, Gravity))

    @cached_property
    def length(self) -> np.ndarray:
        """Lengths (N,) in m."""
        return np.array([link.length for link in self.links])

    @cached_property
    def mass(self) -> np.ndarray:
        """Masses (N,) in kg."""
        return np.array([link.mass for link in self.links])

    @cached_property
    def com(self) -> np.ndarray:
        """Distances (N,) of the centres of mass along the links, in m."""
        return np.array([link.com for link in self.links])

    @cached_property
    def offset(self) -> np.ndarray:
        """Distances (N,) of the centres of mass to the left of the links, in m."""
        return np.array([link.offset for link in self.links])

    @cached_property
    def inertia(self) -> np.ndarray:
        """Moments of inertia (N,) about the centres of mass, in kg m^2."""
        return np.array([link.inertia for link in self.links])


def _links(links: Any) -> tuple[Link, ...]:
    if not listed(links):
        raise ModelError(f"Chain.links must be a list of Link, got {shown(links)}; for equal links use Chain.uniform(n)")
    links = tuple(links)
    if not links:
        raise ModelError("Chain.links must not be empty; give at least one Link")
    for i, link in enumerate(links):
        if not isinstance(link, Link):
            raise ModelError(f"Chain.links[{i}] must be a Link, got {shown(link)}")
    return links


def _pin(pin: Any, links: tuple[Link, ...]) -> tuple[float, float] | None:
    if pin is None:
        return None
    if not listed(pin) or len(pin := tuple(pin)) != 2:
        raise ModelError(f"Chain.pin must be (x, y) in m, or None, got {shown(pin)}")
    x, y = (number(f"Chain.pin[{i}]", value) for i, value in enumerate(pin))
    if len(links) < 2:
        raise ModelError("Chain.pin needs at least two links: a single one is held by its pivot already")
    lengths = [link.length for link in links]
    distance, far = math.hypot(x, y), math.fsum(lengths)
    near = max(0.0, 2 * max(lengths) - far)
    if not near - REACH * far <= distance <= far * (1 + REACH):
        raise ModelError(
            f"Chain.pin is out of reach: it lies {distance:g} m from the pivot, the last tip can lie {near:g} to {far:g} m from it"
        )
    return x, y


def _loads(loads: Any) -> tuple[Load, ...]:
    """Return the loads in the order of `LOADS`, gravity among them."""
    loads = tuple(loads) if listed(loads) else (loads,)
    for i, load in enumerate(loads):
        if not isinstance(load, tuple(LOADS.values())):
            known = ", ".join(kind.__name__ for kind in LOADS.values())
            raise ModelError(f"Chain.loads[{i}] must be a load ({known}), got {shown(load)}")
        if any(type(load) is type(other) for other in loads[:i]):
            raise ModelError(f"Chain.loads has two {type(load).__name__}; give one, with a list of values if joints differ")
    order, weightless = list(LOADS.values()), not any(isinstance(load, Gravity) for load in loads)
    return tuple(sorted((STANDARD_GRAVITY,) * weightless + loads, key=lambda load: order.index(type(load))))


def _check_lengths(load: Load, n: int) -> None:
    for name in (field.name for field in fields(load)):
        value = getattr(load, name)
        if isinstance(value, tuple):
            spread(f"{type(load).__name__}.{name}", value, n, "links")


def _refuse_singular(links: tuple[Link, ...]) -> None:
    """Refuse a chain whose mass matrix is singular in some configuration.

    Link i has a solvable acceleration if it resists turning about its upper hinge, or if what hangs on its lower end
    resists every motion of that end ("solid"), in whatever configuration. Walking inwards from the tip:
    """
    solid = False
    for i in reversed(range(len(links))):
        link = links[i]
        if link.hinge_inertia == 0 and not solid:
            rest = "nothing behind it" if i == len(links) - 1 else "what hangs on it can swing without moving a mass"
            raise ModelError(
                f"Chain.links[{i}] makes the mass matrix singular: it has no inertia about its upper hinge and {rest}; "
                f"give it a mass away from the hinge or an inertia (mass {link.mass:g}, inertia {link.inertia:g})"
            )
        if link.inertia > 0:
            solid = solid or link.mass > 0
        elif link.mass == 0 or (link.com == link.length and link.offset == 0):
            solid = False
        elif link.com == 0 and link.offset == 0:
            solid = True


def wrapped(theta: ArrayLike) -> np.ndarray:
    """Return angles brought into (-pi, pi]."""
    theta = np.asarray(theta, float)
    return theta - 2 * math.pi * np.ceil((theta - math.pi) / (2 * math.pi))
