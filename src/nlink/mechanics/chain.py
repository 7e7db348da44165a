r"""Chains, and THE sign convention of nlink.

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
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import (
    ANGLES,
    DISPLACEMENTS,
    RATES,
    SPEEDS,
    WIDEST_ANGLE,
    ModelError,
    angle_or_each,
    choice,
    listed,
    measured_each,
    number,
    number_or_each,
    shown,
    spread,
    whole,
)
from nlink._support.lazy import shown_by
from nlink.mechanics.links import Jointed, Link, refuse_singular
from nlink.mechanics.loads import LOADS, POINT_LOADS, SPACE_LOADS, Gravity, Load, TipForce

L = TypeVar("L")
Shape = Literal["rod", "point"]
STANDARD_GRAVITY = Gravity(9.81)
MOST_LINKS = 10_000_000
REACH = 1e-12
"""Rounding that is allowed when a pin lies just at the end of a chain's reach."""


class Multibody:
    """What chains and mechanisms have in common: links (the bodies), loads, and their numbers."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    spatial: ClassVar[bool] = False
    """whether the chain moves in space: its coordinates are not angles then"""
    links: tuple[Any, ...]
    loads: tuple[Load, ...]
    pin: Any
    """(x, y) in m where a pin holds the last tip of a chain, or None"""

    def __repr__(self) -> str:
        """Return one line: how many links, how long and heavy, and what acts on them."""
        equal = "equal " if self.n > 1 and self.links.count(self.links[0]) == self.n else ""
        loads = ", ".join(load.name.replace("_", " ") for load in self.loads if load != Gravity(0.0)) or "no loads"
        pin = f", pin at ({self.pin[0]:g}, {self.pin[1]:g}) m" if self.pin else ""
        size = f"{self.length.sum():g} m, {self.mass.sum():g} kg"
        return f"<{type(self).__name__} of {self.n} {equal}link{'s' * (self.n > 1)}, {size}, {loads}{pin}>"

    def with_loads(self, *loads: Load) -> Self:
        """Return the model with these loads added, each replacing one of its own type; springs and forces at points add up.

        >>> from nlink.mechanics.loads import JointDamper
        >>> Chain.uniform(2).with_loads(JointDamper(0.1)).loads
        (Gravity(g=9.81), JointDamper(damping=0.1))
        """
        replaced = {type(load) for load in loads if not (isinstance(load, Load) and load.several)}
        return replace(self, loads=(*(load for load in self.loads if type(load) not in replaced), *loads))

    def load(self, kind: type[L]) -> L | None:
        """Return the load of this type, or None."""
        return next((load for load in self.loads if isinstance(load, kind)), None)

    def each(self, kind: type, name: str) -> np.ndarray:
        """Return the value `name` of a load as an (N,) array; zeros where the chain has no such load, or the name is empty."""
        load = self.load(kind) if name else None
        return np.broadcast_to(np.asarray(getattr(load, name, 0.0), float), (self.n,)).copy()

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.links)

    @property
    def size(self) -> int:
        """Number K of coordinates: in the plane one for each link."""
        return self.n

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the coordinates: "1", "2" in the plane."""
        return tuple(str(i + 1) for i in range(self.n))

    @cached_property
    def turning(self) -> np.ndarray:
        """Which coordinates are angles (K,): all but the displacements of sliders."""
        return ~self.slides

    def start(self, pose: object, omega: object = None) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and rates (K,) of a pose and of rates, checked; rates that are not given are zero."""
        theta = self.coordinates("theta", pose)
        return np.array(theta), np.array(self.coordinates("omega", 0.0 if omega is None else omega))

    @property
    def made_of(self) -> str:
        """What the model is made of, in words."""
        return f"{self.n} link{'s' * (self.n > 1)}"

    @property
    def closed(self) -> bool:
        """Whether something closes a loop: a pin."""
        return False

    @cached_property
    def parents(self) -> np.ndarray:
        """The number of the body on which each hangs (N,), GROUND for the ground: in a chain the one before."""
        return np.arange(-1, self.n - 1)

    @cached_property
    def slides(self) -> np.ndarray:
        """Which bodies slide (N,): none of a chain."""
        return np.zeros(self.n, bool)

    @cached_property
    def prescribed(self) -> np.ndarray:
        """Which joints have a prescribed motion (N,): none of a chain."""
        return np.zeros(self.n, bool)

    def coordinates(self, name: str, values: Any) -> tuple[float, ...]:
        """Return theta or omega as N numbers, checked: one serves all links; only angles are bounded by WIDEST_ANGLE.

        Texts say their units: "90 deg", "10 deg/s"; of sliders "20 cm", "5 mm/s".
        """
        plain = type(values) is tuple and len(values) == self.n and {*map(type, values)} == {float}  # as simulate gives them
        if plain and math.isfinite(sum(values)) and max(map(abs, values)) <= WIDEST_ANGLE:
            return values
        if name != "theta" or self.slides.any():
            turning, sliding = (ANGLES, DISPLACEMENTS) if name == "theta" else (RATES, SPEEDS)
            units = [sliding if slide else turning for slide in self.slides.tolist()] if self.slides.any() else [turning]
            values = measured_each(name, values, *units)
            found = spread(name, number_or_each(name, values), self.n, "links")
            if name == "theta":
                angle_or_each(name, tuple(0.0 if slide else q for q, slide in zip(found, self.slides.tolist(), strict=True)))
            return found
        return spread(name, angle_or_each(name, values), self.n, "links")

    def given(self, t: ArrayLike, theta: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and rates (..., N) with those of joints with a prescribed motion as they are at times t (...)."""
        return theta, omega

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
    def mass_behind(self) -> np.ndarray:
        """Mass (N,) of the links of a chain that hang on each, in kg."""
        return np.append(np.cumsum(self.mass[::-1])[::-1][1:], 0.0)

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


@dataclass(frozen=True, repr=False)
class Chain(Multibody):
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
        object.__setattr__(self, "loads", _chain_loads(self.loads, len(self.links)))
        object.__setattr__(self, "pin", _pin(self.pin, self.links))
        refuse_singular("Chain", self.links)

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

    @property
    def closed(self) -> bool:
        """Whether a pin holds the last tip."""
        return self.pin is not None

    @shown_by("words.chain_html")
    def _repr_html_(self) -> str:
        """Return a sketch and the system in words, for a notebook."""
        ...


def _links(links: Any) -> tuple[Link, ...]:
    links = bodies("Chain", links, Link, "; for equal links use Chain.uniform(n)")
    first = links[0]
    for i, link in enumerate(links if links.count(first) < len(links) else links[:1]):
        if not link.hangs_in_line:
            raise ModelError(f"Chain.links[{i}] has a parent, a place on it or a motion; a chain takes none, use Mechanism")
    return links


def bodies(where: str, links: Any, kinds: Any, remedy: str = "") -> tuple[Any, ...]:
    """Return the bodies of a model, checked to be of these kinds."""
    names = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
    if not listed(links):
        raise ModelError(f"{where}.links must be a list of {names}, got {shown(links)}{remedy}")
    links = tuple(links)
    if not links:
        raise ModelError(f"{where}.links must not be empty; give at least one Link")
    for i, link in enumerate(links):
        if not isinstance(link, kinds):
            of_mechanism = "; use Mechanism" if isinstance(link, Jointed) else ""
            raise ModelError(f"{where}.links[{i}] must be a {names}, got {shown(link)}{of_mechanism}")
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


def ordered_loads(where: str, loads: Any, kinds: dict[str, type[Load]]) -> tuple[Load, ...]:
    """Return the loads in the order of `kinds`, gravity among them."""
    loads = tuple(loads) if listed(loads) else (loads,)
    for i, load in enumerate(loads):
        if not isinstance(load, tuple(kinds.values())):
            known = ", ".join(kind.__name__ for kind in kinds.values())
            remedy = "; for springs and forces at points use Mechanism" if type(load) in POINT_LOADS.values() else ""
            remedy = "; for torsion springs use SpatialChain" if type(load) in SPACE_LOADS.values() else remedy
            raise ModelError(f"{where}.loads[{i}] must be a load ({known}), got {shown(load)}{remedy}")
        if not load.several and any(type(load) is type(other) for other in loads[:i]):
            raise ModelError(f"{where}.loads has two {type(load).__name__}; give one, with a list of values if joints differ")
    order, weightless = list(kinds.values()), not any(isinstance(load, Gravity) for load in loads)
    return tuple(sorted((STANDARD_GRAVITY,) * weightless + loads, key=lambda load: order.index(type(load))))


def _chain_loads(loads: Any, n: int) -> tuple[Load, ...]:
    loads = ordered_loads("Chain", loads, LOADS)
    refuse_forward("Chain", loads)
    for load in loads:
        link = getattr(load, "link", None)
        if link not in (None, n - 1):
            raise ModelError(
                f"{load.name}: link must be the last link of a chain, {n - 1}, got {shown(link)}; use Mechanism for others"
            )
        check_lengths(load, n)
    return loads


def refuse_forward(where: str, loads: tuple[Load, ...]) -> None:
    """Refuse a force out of the plane."""
    for load in loads:
        if isinstance(load, TipForce) and load.fz is not None:
            raise ModelError(
                f"TipForce.fz must not be given for a {where}, which moves in the plane; use SpatialChain, and name a link by link="
            )


def check_lengths(load: Load, n: int) -> None:
    """Refuse a load whose lists have not a value for each of n links."""
    for name in (field.name for field in fields(load)):
        value = getattr(load, name)
        if isinstance(value, tuple):
            spread(f"{type(load).__name__}.{name}", value, n, "links")


def wrapped(theta: ArrayLike, slack: float = 0.0) -> np.ndarray:
    """Return angles brought into (-pi, pi]; those within `slack` of -pi into pi."""
    theta = np.asarray(theta, float) - slack
    return theta - 2 * math.pi * np.ceil((theta - math.pi) / (2 * math.pi)) + slack
