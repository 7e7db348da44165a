"""Random mechanisms, and an independent mechanics of trees by virtual work: places of points, which complex steps differentiate
exactly, give all Jacobians.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from helpers import DATA, angles, links, load_strategies, rates, tenths, torques_at
from hypothesis import assume
from hypothesis import strategies as st

from nlink import (
    At,
    Drag,
    FollowerForce,
    Gravity,
    JointSpring,
    Link,
    Mechanism,
    ModelError,
    PointForce,
    PointSpring,
    Ramp,
    Sine,
    Slider,
    Spline,
    TipForce,
    formulate,
)
from nlink.mechanics.loads import LOADS
from nlink.mechanics.motions import motion_at
from nlink.mechanics.points import GROUND

STEP = 1e-30
APART = 0.2
"""m: a spring between points that come closer has no direction."""


# Random mechanisms ---------------------------------------------------------------------------------------------------


def sliders() -> st.SearchStrategy[Slider]:
    """A body on a line, maybe massless, its centre of mass anywhere."""
    return st.builds(Slider, tenths(0, 30), tenths(-30, 30), tenths(-8, 8), tenths(-8, 8), tenths(0, 10))


def motions() -> st.SearchStrategy[Any]:
    """A sine, a ramp, a spline, or a sum of several, with several splines too."""
    sines = st.builds(Sine, tenths(-20, 20), tenths(0, 20), tenths(-30, 30), tenths(-5, 5))
    knots = st.lists(st.integers(-20, 60), min_size=2, max_size=5, unique=True).map(lambda k: [t / 10 for t in sorted(k)])
    splines = knots.flatmap(lambda t: st.builds(Spline, st.just(t), st.lists(tenths(-20, 20), min_size=len(t), max_size=len(t))))
    term = st.one_of(sines, st.builds(Ramp, tenths(-20, 20), tenths(-20, 20)), splines)
    return st.one_of(term, st.lists(term, min_size=2, max_size=4))


@st.composite
def hung(draw: st.DrawFn, i: int, before: list[Any], driven: bool) -> Any:
    """Body i of a mechanism: on any body before it, or on the ground, at its tip, along it or beside it."""
    body = draw(st.one_of(links(), links(), sliders()))
    parent = draw(st.integers(GROUND, i - 1))
    beside = st.tuples(tenths(-5, 15), tenths(1, 8))
    if parent == GROUND:
        at = draw(st.one_of(st.none(), st.tuples(tenths(-20, 20), tenths(-20, 20))))
    else:
        along = st.integers(0, 10).map(lambda k: k / 10 * before[parent].length)
        at = draw(st.one_of(st.none(), along, beside))
    body = body.on(parent, at)
    return body.with_motion(draw(motions())) if driven and draw(st.integers(0, 3)) == 0 else body


@st.composite
def points(draw: st.DrawFn, n: int) -> Any:
    """A point beside a body, or of the ground."""
    if draw(st.integers(0, 3)) == 0:
        return draw(tenths(-20, 20)), draw(tenths(-20, 20))
    return At(draw(st.integers(0, n - 1)), draw(tenths(-5, 15)), draw(tenths(1, 8)))


@st.composite
def mechanisms(draw: st.DrawFn, most: int = 5, driven: bool = True, loaded: bool = True) -> Mechanism:
    """An open mechanism of unequal bodies with any of the loads."""
    n = draw(st.integers(1, most))
    bodies: list[Any] = []
    for i in range(n):
        bodies.append(draw(hung(i, bodies, driven)))
    strategies = load_strategies(n) | {
        FollowerForce: st.builds(FollowerForce, tenths(-50, 50), st.integers(0, n - 1)),
        TipForce: st.builds(TipForce, tenths(-50, 50), tenths(-50, 50), link=st.integers(0, n - 1)),
    }
    kinds = [kind for kind in strategies if draw(st.booleans())] if loaded else [Gravity]
    loads = [draw(strategies[kind]) for kind in sorted(kinds, key=lambda kind: kind.__name__)]
    if loaded and draw(st.booleans()):
        spring = st.builds(PointSpring, points(n), points(n), tenths(0, 50), tenths(0, 20), tenths(0, 20))
        loads += draw(st.lists(spring, min_size=1, max_size=2))
        loads += [PointForce(point, 3.0, -2.0) for point in draw(st.lists(points(n), max_size=2))]
    model = Mechanism(bodies, loads)
    try:
        model.check_masses()
    except ModelError:
        assume(False)
    return model


@st.composite
def moving(draw: st.DrawFn, **options: Any) -> tuple[Mechanism, np.ndarray, np.ndarray, float]:
    """A mechanism with coordinates, rates and a time; what is prescribed is as prescribed."""
    model = draw(mechanisms(**options))
    t = draw(tenths(-10, 50))
    q, v = model.given(t, draw(angles(model.n)), draw(rates(model.n)))
    here = Tree(model, q, v, t)
    assume(all(abs(here.span(load)[0]) > APART for load in model.loads if isinstance(load, PointSpring)))
    assume(np.linalg.cond(here.free_mass()) < 1e6)
    return model, q, v, t


def with_series(model: Mechanism) -> Mechanism:
    """Return a mechanism without the loads that have no power series: springs between points, and quadratic drag."""
    drag = model.load(Drag)
    kept = [load for load in model.loads if not isinstance(load, PointSpring | Drag)]
    return Mechanism(model.links, [*kept, Drag(drag.linear)] if drag else kept)


# An independent mechanics --------------------------------------------------------------------------------------------


def angle_of(model: Mechanism, q: Any, body: int) -> Any:
    """Return the angle of a body, 0 for the ground."""
    while body != GROUND and isinstance(model.links[body], Slider):
        body = parent_of(model, body)
    return 0.0 if body == GROUND else q[body]


def parent_of(model: Mechanism, body: int) -> int:
    parent = model.links[body].parent
    return body - 1 if parent is None else parent


def placed(model: Mechanism, q: Any, body: int, along: Any, left: Any) -> Any:
    """Return x and y of a point of a body; q may be complex, for its steps."""
    x, y = origin(model, q, body)
    angle = angle_of(model, q, body)
    return x + along * np.sin(angle) + left * np.cos(angle), y - along * np.cos(angle) + left * np.sin(angle)


def origin(model: Mechanism, q: Any, body: int) -> Any:
    """Return where the joint of a body is."""
    if body == GROUND:
        return 0.0, 0.0
    link, parent = model.links[body], parent_of(model, body)
    if parent == GROUND:
        x, y = link.at if link.at is not None else (0.0, 0.0)
    else:
        at = model.links[parent].length if link.at is None else link.at
        x, y = placed(model, q, parent, *(at if isinstance(at, tuple) else (at, 0.0)))
    if isinstance(link, Slider):
        way = link.direction + angle_of(model, q, parent)
        x, y = x + q[body] * np.cos(way), y + q[body] * np.sin(way)
    return x, y


class Tree:
    """Jacobians of places and angles of a mechanism at one state, and what follows from them by virtual work."""

    def __init__(self, model: Mechanism, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> None:
        self.model, self.q, self.v, self.t = model, q, v, t
        self.free = np.flatnonzero([link.motion is None for link in model.links])
        self.given = np.flatnonzero([link.motion is not None for link in model.links])

    def place(self, q: Any) -> np.ndarray:
        """Return (x, y, angle) of each body, its centre of mass (N, 3)."""
        bodies = enumerate(self.model.links)
        return np.array([(*placed(self.model, q, i, k.com, k.offset), angle_of(self.model, q, i)) for i, k in bodies])

    def jacobian(self, q: Any = None) -> np.ndarray:
        """Return the derivatives (N, 3, N) of the places."""
        return derivatives(self.place, self.q if q is None else q)

    def point(self, point: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return where a point is (2,), and its Jacobian (2, N)."""
        if not isinstance(point, At):
            return np.array(point), np.zeros((2, self.model.n))
        along = self.model.links[point.link].length if point.along is None else point.along

        def at(q: Any) -> np.ndarray:
            return np.array(placed(self.model, q, point.link, along, point.left))

        return at(self.q), derivatives(at, self.q)

    def span(self, load: PointSpring) -> tuple[float, np.ndarray]:
        """Return the length of a spring and its derivative (N,)."""
        (a, da), (b, db) = self.point(load.a), self.point(load.b)
        size = float(np.hypot(*(a - b)))
        return size, (a - b) @ (da - db) / (size or 1.0)

    def inertias(self) -> np.ndarray:
        return np.array([(k.mass, k.mass, k.inertia) for k in self.model.links])

    def mass_matrix(self) -> np.ndarray:
        J = self.jacobian()
        return np.einsum("jx,jxi,jxk->ik", self.inertias(), J, J)

    def free_mass(self) -> np.ndarray:
        return self.mass_matrix()[np.ix_(self.free, self.free)] if len(self.free) else np.eye(1)

    def bias(self) -> np.ndarray:
        """Return sum J^T m J' v."""
        turn = slope(lambda s: self.moved(self.q + s * self.v, self.v))
        return np.einsum("jxi,jx,jx->i", self.jacobian(), self.inertias(), turn)

    def moved(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the rates (N, 3) of the places."""
        return derivatives(lambda s: self.place(q + s[0] * v), np.zeros(1))[..., 0]

    def relative(self, values: np.ndarray) -> np.ndarray:
        """Return coordinates or rates of the joints: those of hinges against the angle of the parent."""
        model = self.model
        return np.array(
            [
                values[i] - (0.0 if isinstance(k, Slider) else angle_of(model, values, parent_of(model, i)))
                for i, k in enumerate(model.links)
            ]
        )

    def on_joints(self, moments: np.ndarray) -> np.ndarray:
        """Return the generalised forces of moments, or of forces along slides, at the joints."""
        return moments @ derivatives(self.relative, self.q)

    def generalised(self) -> dict[str, np.ndarray]:
        """Return the generalised force (N,) of every load."""
        model, n = self.model, self.model.n
        bend, pace = self.relative(self.q), self.relative(self.v)
        found: dict[str, np.ndarray] = {"joint_torque": self.on_joints(torques_at(model, self.t))}
        for name, kind in LOADS.items():
            law, load = kind.law, model.load(kind)
            if law and load:
                at, rate = (bend, pace) if law.on == "joint" else (self.q, self.v)
                push, damping, stiffness, rest = (
                    np.broadcast_to(getattr(load, key) if key else 0.0, n)
                    for key in (law.push, law.damping, law.stiffness, law.origin)
                )
                moments = push - damping * rate - stiffness * (at - rest)
                found[name] = self.on_joints(moments) if law.on == "joint" else moments
        J = self.jacobian()[:, :2]
        found["gravity"] = -model.g * np.einsum("j,ji->i", model.mass, J[:, 1])
        drag, tip, follower = model.load(Drag), model.load(TipForce), model.load(FollowerForce)
        if drag:
            speed = np.einsum("jxi,i->jx", J, self.v)
            factor = np.broadcast_to(drag.linear, n) + np.broadcast_to(drag.quadratic, n) * np.hypot(*speed.T)
            found["drag"] = -np.einsum("j,jx,jxi->i", factor, speed, J)
        if tip:
            found["tip_force"] = np.array([tip.fx, tip.fy]) @ self.point(At(tip.link))[1]
        if follower:
            angle = angle_of(model, self.q, follower.link)
            found["follower_force"] = -follower.force * np.array([np.sin(angle), -np.cos(angle)]) @ self.point(At(follower.link))[1]
        found["point_force"] = self.summed(PointForce, lambda load: np.array([load.fx, load.fy]) @ self.point(load.point)[1])
        found["springs"] = self.summed(
            PointSpring, lambda load: -load.stiffness * (self.span(load)[0] - load.length) * self.span(load)[1]
        )
        found["point_spring"] = self.summed(
            PointSpring, lambda load: -load.damping * (self.span(load)[1] @ self.v) * self.span(load)[1]
        )
        return found

    def summed(self, kind: type, force: Any) -> np.ndarray:
        return sum((force(load) for load in self.model.loads if isinstance(load, kind)), np.zeros(self.model.n))

    def accelerations(self) -> np.ndarray:
        M, rest = self.mass_matrix(), sum(self.generalised().values()) - self.bias()
        a = np.zeros(self.model.n)
        for i in self.given:
            a[i] = motion_at(self.model.links[i].motion, self.t)[2]
        f = self.free
        if len(f):
            a[f] = np.linalg.solve(M[np.ix_(f, f)], rest[f] - M[np.ix_(f, self.given)] @ a[self.given])
        return a

    def drive_power(self) -> float:
        """Return the power of the drives of the prescribed joints."""
        forces = self.mass_matrix() @ self.accelerations() + self.bias() - sum(self.generalised().values())
        return float(forces[self.given] @ self.v[self.given])

    def energy(self, q: np.ndarray, v: np.ndarray) -> float:
        """Return the energy at any state."""
        kinetic = (self.inertias() * self.moved(q, v) ** 2).sum() / 2
        total = kinetic + self.model.g * (self.model.mass * self.place(q)[:, 1]).sum()
        spring, here = self.model.load(JointSpring), Tree(self.model, q, v)
        if spring:
            total += (np.asarray(spring.stiffness) * (self.relative(q) - spring.rest) ** 2).sum() / 2
        for load in self.model.loads:
            total += load.stiffness * (here.span(load)[0] - load.length) ** 2 / 2 if isinstance(load, PointSpring) else 0.0
        return total

    def energy_rate(self, a: np.ndarray) -> float:
        """Return dE/dt with these accelerations."""
        step = 4e-3 / math.sqrt(1.0 + np.abs(a).max() / 100.0)  # light bodies turn far in a given time
        return float(slope(lambda s: self.energy(self.q + s * self.v + s * s * a / 2, self.v + s * a), step))


def check_powers(here: Tree, held: float) -> None:
    """Hold each row of the ledger, that of the drives too, against virtual work, and all together against the rate of the energy;
    the constraints have none. `held` is the size of the forces that do no work.
    """
    system, q, v = formulate(here.model), here.q, here.v
    rates = system.rates(here.t, np.concatenate([q, v, np.zeros(system.full_size - system.size)]))
    powers, forces = dict(zip(system.rows_of_ledger, rates[system.size :], strict=False)), here.generalised()
    works = {name: force @ v for name, force in forces.items()} | {"motion": here.drive_power(), "constraints": 0.0}
    scale = 1.0 + sum(np.abs(force * v).sum() for force in forces.values()) + held
    for name in system.ledger:
        assert powers[name] == pytest.approx(works[name], abs=1e-8 * scale)
    assert sum(powers.values()) == pytest.approx(here.energy_rate(system.accelerations(q, v, here.t)), abs=1e-7 * scale)


def derivatives(function: Any, at: np.ndarray) -> np.ndarray:
    """Return the derivatives of a function by complex steps, (..., len(at)): to rounding."""
    return np.stack([np.imag(function(at + 1j * STEP * each)) / STEP for each in np.eye(len(at))], -1)


def slope(function: Any, step: float = 4e-3) -> np.ndarray:
    """Return the derivative at 0 of a function of one number, by a central difference of order 8: to about 1e-11 of it."""
    return sum(w * (np.asarray(function(k * step)) - np.asarray(function(-k * step))) for k, w in WEIGHTS.items()) / step


WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


# References ----------------------------------------------------------------------------------------------------------


def table(name: str) -> dict:
    return json.loads((DATA / "mechanisms" / f"{name}.json").read_text(encoding="utf-8"))


def built(name: str) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Return the mechanism of a reference, and its start."""
    data = table(name)
    bodies = [_body(each) for each in data["model"]["bodies"]]
    start = (np.array([float(value) for value in data["initial"][key]]) for key in ("q", "rate"))
    return Mechanism(bodies, Gravity(float(data["model"]["g"]))), *start


def _body(each: dict) -> Any:
    values = {key: float(each.get(key, 0)) for key in ("length", "mass", "com", "inertia", "offset")}
    x, y = (float(value) for value in each["at"])
    if each.get("joint") != "slide":
        return Link(**values).on(each["parent"], (x, y))
    motion = each.get("motion")
    moved = Sine(*(float(motion[key]) for key in ("amplitude", "frequency", "phase"))) if motion else None
    direction = math.pi / 2 if each["direction"] == "pi/2" else float(each["direction"])
    return Slider(values["mass"], direction, motion=moved).on(each["parent"], (x, y))
