r"""Mechanisms: bodies that hang on each other as a tree, on hinges and slides, closed by pins, guides, bars and gears.

    y ^                     body i hangs on its parent at (along e, left t), on the ground at (x, y); its coordinate is
      |      o===o          a link    the absolute angle theta_i, as in a chain
      |     /    |          a slider  the displacement s_i along its direction; it keeps the angle of its parent
    --+----[ ]---o--- > x   the ground has e = (0, -1), t = (1, 0): the angle 0

Parents come before their children. A joint with a prescribed motion has its coordinate given in time. What closes a loop is a row
of the constraints, and which of the hinges of a loop is the pin makes no difference to the motion: absolute angles are the state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, listed, number, set_checked, shown
from nlink._support.lazy import shown_by
from nlink.mechanics import assembly, branches, kinematics, loop_closure, mobility, tree_kinematics
from nlink.mechanics.chain import Chain, Multibody, bodies, check_lengths, ordered_loads, refuse_forward
from nlink.mechanics.links import Jointed, Link
from nlink.mechanics.loads import LOADS, POINT_LOADS, Gravity, JointTorque, Load, PointForce, PointSpring, each
from nlink.mechanics.loads.base import parameters_of
from nlink.mechanics.motions import Motion, motion_at
from nlink.mechanics.points import CLOSURES, GROUND, At, Closure, Gear, Guide, Pin, Point, ends
from nlink.mechanics.resistance import unresisted
from nlink.mechanics.space.refusals import refuse_space

BEYOND = 1e-9
"""Part of a link's length by which a point may lie beyond its ends: rounding."""


@dataclass(frozen=True, repr=False)
class Slider(Jointed):
    """A body that moves along a line fixed in its parent and keeps the parent's angle; massless unless it has a mass.

    `direction` in rad, from +x on the ground, from the left normal t of a parent. Centre of mass from its origin: `com` along e and
    `offset` along t of the parent. In a Mechanism: `Jointed`.

    >>> Slider(2.0)
    Slider(mass=2.0, direction=0.0, com=0.0, offset=0.0, inertia=0.0)
    """

    length: ClassVar[float] = 0.0
    mass: float = each("kg", "Mass", "m", 0.0, least=0)
    direction: float = 0.0
    com: float = each("m", "Centre of mass", "d", 0.0)
    offset: float = each("m", "Off the axis", "b", 0.0, odd=True)
    inertia: float = each("kg m^2", "Inertia", "I", 0.0, least=0)
    parent: int | None = None
    at: float | tuple[float, float] | None = None
    motion: Motion | None = None

    def __post_init__(self) -> None:
        for name, parameter in parameters_of(Slider).items():
            set_checked(self, number, name, least=parameter.least)
        set_checked(self, number, "direction")
        self.check_joint()

    hinge_inertia = Link.hinge_inertia


@dataclass(frozen=True)
class Mechanism(Multibody):
    """Links and sliders that hang on each other as a tree, the loads on them, and the pins that close loops.

    Gravity is 9.81 m/s^2 unless a `Gravity` load says otherwise. `pins` holds Pin, Guide, Distance and Gear.

    >>> cart = Mechanism([Slider(2.0), Link.rod(1.0, 1.0)])
    >>> cart.n, cart.parents.tolist()
    (2, [-1, 0])
    """

    links: tuple[Link | Slider, ...]
    loads: tuple[Load, ...] = ()
    pins: tuple[Closure, ...] = ()
    pin: None = field(default=None, init=False, repr=False, compare=False)
    """that of a chain: a mechanism has `pins`"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "links", bodies("Mechanism", self.links, (Link, Slider)))
        object.__setattr__(self, "loads", ordered_loads("Mechanism", self.loads, LOADS | POINT_LOADS))
        object.__setattr__(self, "pins", self._pins(self.pins))
        for i, body in enumerate(self.links):
            self._check_place(i, body)
        refuse_forward("Mechanism", self.loads)
        for load in self.loads:
            self._check_load(load)
        for i, closure in enumerate(self.pins):
            self._check_closure(f"Mechanism.pins[{i}]", closure)

    @classmethod
    def floating(cls, links: Sequence[Link | Slider], loads: Any = ()) -> Mechanism:
        """Return links that float free: two massless sliders carry the first of them, along x and y.

        A load at joints that is given once acts between the links; any other, once or for each link, not on the sliders.

        >>> Mechanism.floating([Link.rod(1.0, 1.0)] * 2, loads=Gravity(0.0)).n
        4
        """
        listed_loads = tuple(loads) if listed(loads) else (loads,)
        inner = tuple(_between(load, len(links)) if isinstance(load, Load) else load for load in listed_loads)
        return cls((Slider(), Slider(direction=math.pi / 2), *links), inner)

    def __repr__(self) -> str:
        """Return one line: how many links and sliders, how heavy, what acts on them and what closes them."""
        names = dict.fromkeys(load.name.replace("_", " ") for load in self.loads if load != Gravity(0.0))
        closed = f", {len(self.pins)} pin{'s' * (len(self.pins) > 1)}" if self.pins else ""
        return f"<Mechanism of {self.made_of}, {self.mass.sum():g} kg, {', '.join(names) or 'no loads'}{closed}>"

    @shown_by("words.chain_html")
    def _repr_html_(self) -> str:
        """Return a sketch and the system in words, for a notebook."""
        ...

    @property
    def made_of(self) -> str:
        """What the mechanism is made of, in words: "2 links and 1 slider"."""
        kinds = {"link": int((~self.slides).sum()), "slider": int(self.slides.sum())}
        return " and ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in kinds.items() if n)

    @cached_property
    def parents(self) -> np.ndarray:
        """The number of each body's parent (N,), GROUND for the ground."""
        return np.array([i - 1 if body.parent is None else body.parent for i, body in enumerate(self.links)])

    @cached_property
    def slides(self) -> np.ndarray:
        """Which bodies slide (N,)."""
        return np.array([isinstance(body, Slider) for body in self.links])

    @cached_property
    def prescribed(self) -> np.ndarray:
        """Which joints have a prescribed motion (N,)."""
        return np.array([body.motion is not None for body in self.links])

    @cached_property
    def turners(self) -> np.ndarray:
        """The number of the link whose angle each body has (N,): its own, a slider's that of its parent, GROUND for none."""
        found: list[int] = []
        for i, parent in enumerate(self.parents.tolist()):
            found.append((found[parent] if parent >= 0 else GROUND) if self.slides[i] else i)
        return np.array(found)

    @cached_property
    def levers(self) -> np.ndarray:
        """Where each body's joint lies on its parent (2, N): along and left, in m; the ground has e = (0, -1), t = (1, 0)."""
        return np.array([self.lever(parent, body.at) for body, parent in zip(self.links, self.parents.tolist(), strict=True)]).T

    @cached_property
    def directions(self) -> np.ndarray:
        """Directions of the slides in the frames of their parents (2, N): along and left; zeros for hinges."""
        turned = [body.direction if isinstance(body, Slider) else math.nan for body in self.links]
        both = np.nan_to_num(np.array([-np.sin(turned), np.cos(turned)]))
        both[np.abs(both) < 1e-16] = 0.0  # cos(pi/2)
        return both

    def lever(self, body: int, at: float | tuple[float, float] | None) -> tuple[float, float]:
        """Return a place on a body, or on the ground, as (along, left) in its frame."""
        if body == GROUND:
            x, y = at if isinstance(at, tuple) else (at or 0.0, 0.0)
            return -y, x
        if at is None:
            return self.links[body].length, 0.0
        return at if isinstance(at, tuple) else (at, 0.0)

    def located(self, point: Point) -> tuple[int, float, float]:
        """Return the body of a point, and where it is in its frame: along and left in m."""
        if isinstance(point, At):
            return point.link, self.links[point.link].length if point.along is None else point.along, point.left
        return GROUND, *self.lever(GROUND, point)

    def given(self, t: ArrayLike, theta: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and rates (..., N) with those of joints with a prescribed motion as they are at times t (...)."""
        if not self.prescribed.any():
            return theta, omega
        theta, omega = theta.copy(), omega.copy()
        for i, body in enumerate(self.links):
            if body.motion is not None:
                theta[..., i], omega[..., i], _ = motion_at(body.motion, np.asarray(t, float))
        return theta, omega

    @property
    def closed(self) -> bool:
        """Whether something closes a loop: a pin, a guide, a bar or a gear."""
        return bool(self.pins)

    @property
    def rows(self) -> int:
        """Number of rows of the constraints."""
        return sum(closure.rows for closure in self.pins)

    @property
    def loops(self) -> int:
        """Number of loops that are closed: a gear closes none."""
        return sum(not isinstance(closure, Gear) for closure in self.pins)

    @property
    def freedom(self) -> int:
        """Degrees of freedom, by the rank of the rows of the pins at an assembled state; `spare` rows are not needed."""
        return self._mobility.freedom

    @property
    def spare(self) -> int:
        """Rows of the pins that depend on others: those of a redundant bar."""
        return self._mobility.spare

    @cached_property
    def _mobility(self) -> mobility.Mobility:
        return mobility.any_mobility(self)

    def as_assembled(self, theta: ArrayLike) -> Mechanism:
        """Return the mechanism with the bars and gears whose length or offset is not given as they fit at these coordinates.

        >>> from nlink import At, Distance, Link, Mechanism
        >>> Mechanism([Link.rod(1.0, 1.0)], pins=Distance(At(0), (2.0, -1.0))).as_assembled(0.0).pins[0].length
        2.0
        """
        return assembly.as_assembled(self, theta)

    def check_masses(self) -> None:
        """Refuse a motion of bodies that nothing with mass resists, in some configuration; to be posed they need no mass."""
        self._refuse_singular()

    def as_chain(self) -> Chain | None:
        """Return the Chain that this mechanism is: links at the tips of those before, with at most one pin of the last tip."""
        line = (self.parents == np.arange(self.n) - 1).all() and not self.slides.any() and not self.prescribed.any()
        tips = np.array([np.zeros(self.n), np.zeros(self.n)])
        tips[0, 1:] = self.length[:-1]
        if not line or not np.array_equal(self.levers, tips) or any(load.several for load in self.loads):
            return None
        if any(getattr(load, "link", None) not in (None, self.n - 1) for load in self.loads):
            return None
        pin = None
        if self.pins:
            points = set(ends(self.pins[0])) if isinstance(self.pins[0], Pin) else set()
            tip = {point for point in points if isinstance(point, At) and self.located(point) == (self.n - 1, self.length[-1], 0.0)}
            ground = [point for point in points if isinstance(point, tuple)]
            if len(self.pins) > 1 or not tip or not ground or self.n < 2:
                return None
            pin = ground[0]
        links = tuple(replace(link, parent=None, at=None) for link in self.links if isinstance(link, Link))
        return Chain(links, self.loads, pin)

    def _pins(self, pins: Any) -> tuple[Closure, ...]:
        pins = tuple(pins) if listed(pins) else (pins,)
        for i, closure in enumerate(pins):
            if not isinstance(closure, tuple(CLOSURES.values())):
                known = ", ".join(kind.__name__ for kind in CLOSURES.values())
                raise ModelError(f"Mechanism.pins[{i}] must be one of {known}, got {shown(closure)}")
        return pins

    def _check_place(self, i: int, body: Link | Slider) -> None:
        where, parent = f"Mechanism.links[{i}]", int(self.parents[i])
        if parent >= i:
            raise ModelError(
                f"{where}.parent must be a body listed before it, 0 to {i - 1}, or GROUND (-1), got {shown(parent)}; "
                "list parents before their children, and close a loop by a Pin"
                if i
                else f"{where}.parent must be GROUND (-1), got {shown(parent)}: it is the first body, on which the others hang"
            )
        if parent == GROUND and isinstance(body.at, float):
            raise ModelError(f"{where}.at must be (x, y) in m on the ground, got {shown(body.at)}")
        if parent != GROUND and body.at is not None:
            self._check_point(f"{where}.at", parent, *self.lever(parent, body.at))

    def _check_point(self, where: str, body: int, along: float, left: float) -> None:
        """Refuse a point on the axis of a link beyond its ends."""
        length = self.links[body].length
        if left == 0 and length > 0 and not -BEYOND * length <= along <= (1 + BEYOND) * length:
            raise ModelError(
                f"{where} is a point off its link: {along:g} m along link {body}, which is {length:g} m long; "
                "take a place on it, a longer link, or one beside its axis"
            )

    def _check_closure(self, where: str, closure: Closure) -> None:
        if isinstance(closure, Gear):
            for name in ("i", "j"):
                self._check_body(f"{where}.{name}", getattr(closure, name))
            self._check_free(where, closure)
            return
        places = [self._check_end(f"{where}.{name}", point) for name, point in zip(_names(closure), ends(closure), strict=True)]
        if places[0][0] == places[1][0]:
            owner = "the ground" if places[0][0] == GROUND else f"body {places[0][0]}"
            raise ModelError(f"{where} joins two points of {owner}, which are held by it already; take points of two bodies")
        self._check_free(where, closure)

    def _check_free(self, where: str, closure: Closure) -> None:
        """Refuse a closure that no free joint can serve."""
        bodies = (closure.i, closure.j) if isinstance(closure, Gear) else [self.located(point)[0] for point in ends(closure)]
        movers = {mover for body in bodies for mover in self._movers(body)}
        if all(self.prescribed[mover] for mover in movers):
            raise ModelError(f"{where} closes a loop of prescribed joints only; leave one of them free, or leave out the pin")

    def _movers(self, body: int) -> list[int]:
        """Return the coordinates that move a body."""
        found = []
        while body != GROUND:
            found += [body, int(self.turners[body])] if self.turners[body] >= 0 else [body]
            body = int(self.parents[body])
        return found

    def _check_end(self, where: str, point: Point) -> tuple[int, float, float]:
        if isinstance(point, At):
            self._check_body(f"{where}.link", point.link)
            self._check_point(where, *self.located(point))
        return self.located(point)

    def _check_body(self, where: str, body: int) -> None:
        if body >= self.n:
            raise ModelError(f"{where} must be a body of the mechanism, 0 to {self.n - 1}, got {shown(body)}")

    def _check_load(self, load: Load) -> None:
        name = type(load).__name__
        if load.several:
            name += f"[{[other for other in self.loads if type(other) is type(load)].index(load)}]"
        link = getattr(load, "link", None)
        if link is not None:
            self._check_body(f"{name}.link", link)
        if isinstance(load, PointForce | PointSpring):
            for end in ("point",) if isinstance(load, PointForce) else ("a", "b"):
                self._check_end(f"{name}.{end}", getattr(load, end))
        else:
            check_lengths(load, self.n)

    def _refuse_singular(self) -> None:
        """Refuse bodies that nothing with mass resists, in some configuration; all is well where each resists its own joint."""
        own = np.where(self.slides, self.mass, [body.hinge_inertia for body in self.links])
        i = None if (own[~self.prescribed] > 0).all() else unresisted(self)
        if i is not None:
            what, remedy = (
                ("slider along its direction", "give it a mass, or hang a body with a mass and an inertia on it")
                if self.slides[i]
                else ("link about its joint", "give it a mass away from its hinge or an inertia, or hang a body with both on it")
            )
            raise ModelError(
                f"Mechanism.links[{i}] makes the mass matrix singular: in some configuration nothing with mass resists this "
                f"{what}; {remedy}"
            )


def a_model(what: str, model: Any, names: str = "a Chain or a Mechanism") -> Multibody:
    """Return a model; refuse what is none, and say where its chain is."""
    if isinstance(model, Chain | Mechanism):
        return model
    refuse_space(what, model)
    remedies = {"Scenario": "scenario.chain", "Run": "run.chain", "str": "preset(name).chain"}
    kind = type(model).__name__
    remedy = f"; give {remedies[kind]}" if kind in remedies else ""
    raise ModelError(f"{what} needs {names}, got {kind}{remedy}")


def plain_chain(what: str, model: Any, remedy: str) -> Chain:
    """Return the chain that a model is; refuse a mechanism by name, and say what to do instead of `what`."""
    found = model.as_chain() if isinstance(a_model(what, model, "a Chain"), Mechanism) else model
    if not isinstance(found, Chain):
        raise ModelError(f"{what} takes chains, not mechanisms; {remedy}")
    return found


def _names(closure: Closure) -> tuple[str, str]:
    return ("point", "through") if isinstance(closure, Guide) else ("a", "b")


def _between(load: Load, n: int) -> Load:
    """Return a load on n floating links as one on their mechanism: at joints it acts between links, and never on the sliders."""
    names = [name for name, parameter in load.parameters().items() if not parameter.single]
    if isinstance(load, JointTorque):
        names = [] if callable(load.torque) else ["torque"]
    first = isinstance(load, JointTorque) or bool(load.law and load.law.on == "joint")

    def spread(value: Any) -> tuple[Any, ...]:
        return value if isinstance(value, tuple) else (0.0,) * first + (value,) * (n - first)

    return replace(load, **{name: (0.0, 0.0, *spread(getattr(load, name))) for name in names})


for _name in (
    "angles", "segments", "points", "point_velocities", "hinges", "hinge_velocities", "centres", "centre_velocities",
    "centre_accelerations", "energies", "kinetic_energy", "potential_energy", "spring_energy", "forces", "reactions",
    "angular_momentum",
):  # fmt: skip
    getattr(kinematics, _name).register(Mechanism, getattr(tree_kinematics, _name))
for _name in (
    "gap", "jacobian", "jacobian_rate", "pull_slopes", "geometric", "inverse", "tangent", "units", "size_of", "closed_near",
    "smallest_singular_value", "assemble",
):  # fmt: skip
    getattr(loop_closure, _name).register(Mechanism, getattr(assembly, _name))
loop_closure.started.register(Mechanism, mobility.started)
loop_closure.driven.register(Mechanism, branches.driven)
