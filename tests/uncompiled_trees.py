"""The power series of open mechanisms as plain Python, against the virtual work of `trees`; needs NUMBA_DISABLE_JIT=1,
`test_uncompiled.py` runs it so.

A series to order p leaves a residual in the equations of motion that falls as h^(p-1): half the step, 2^(p-1) times less.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from trees import Tree, moving, with_series
from uncompiled import LEFT, at

from nlink import (
    GROUND,
    At,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    Mechanism,
    ModelError,
    PointForce,
    PointSpring,
    Ramp,
    Sine,
    Slider,
    Spline,
    Table,
    TipForce,
    formulate,
    simulate,
)
from nlink.compiled.interpreted import Vectors
from nlink.formulations.series import tree
from nlink.mechanics.loads import Load
from nlink.mechanics.motions import motion_at
from nlink.mechanics.series import ORDER_BY_ORDER, SERIES, SeriesRoom, series_layout
from nlink.mechanics.tree import TreeParameters

WAY = SERIES[TreeParameters][ORDER_BY_ORDER]
LATE = 1e9
ROD = Link(1.0, 1.0, 0.4, 0.1, 0.1)


def made(model: Mechanism, y: np.ndarray, t: float, ahead: bool, order: int):
    """Return the room of a series, what it returned, and the coefficients of coordinates, rates and works from the first on."""
    system, lanes = formulate(model), model.n + 1
    p, size = system.parameters, WAY.size
    terms, w, u = (np.full((*shape, lanes), LEFT) for shape in ((size.terms, order + 2), (size.scratch,), (size.scratch,)))
    w[:, model.n :] = 0.0
    wide, v, uv = (Vectors(each[..., None, :]) for each in (terms, w, u))
    room = SeriesRoom(p.chain, terms, wide, w, v, u, uv, series_layout(ORDER_BY_ORDER), (0,) * order)
    sizes = WAY.series(t, system.bounds(t, LATE if ahead else -LATE)[0], ahead, y, p, room, order)
    q = np.full((order, system.full_size), np.nan)
    if system.full_size > system.size:
        WAY.powers(p, room, order, q)
    WAY.polynomials(p, room, order, q)
    return system, room, sizes, q


def residuals(system, y, t, q, h):
    """Return how far accelerations and works at h are off their equations, and the size of both."""
    model, n = system.chain, system.chain.n
    state, rate = at(q[:, : 2 * n], y, h)
    here = Tree(model, state[:n], state[n:], t + h)
    wanted, forces = here.accelerations(), here.generalised() if len(q[0]) > 2 * n else {}
    powers = [
        here.drive_power() if name == "motion" else forces.get(name, np.zeros(n)) @ state[n:] for name in system.rows_of_ledger
    ]
    works = at(q[:, 2 * n :], 0.0, h)[1]
    return rate[:n] - state[n:], rate[n:] - wanted, works - powers[: len(works)]


def falls(errors, order):
    """Check that an error at h is so many times larger than at h/4, unless both are rounding."""
    large, small = (float(np.max(np.abs(error), initial=0.0)) for error in errors)
    power = math.log(large / small, 4) if min(large, small) > 0 else math.inf
    told = f"the error {large:.2g} falls as h^{power:.1f}, not as h^{order}: coefficient {power:.0f} is the first wrong one"
    assert small <= 2e-13 or power >= order - 0.5, told


def span(system, sizes, t, ahead, order, share):
    """Return a part of the radius of convergence, up to the next kink of what is given in time."""
    h = min(share * max(sizes[0], 1e-300) ** (-1 / order), 0.5)
    way = 1.0 if ahead else -1.0
    return way * min(h, abs(system.bounds(t, way * LATE)[0] - t))


# Load by load --------------------------------------------------------------------------------------------------------

SPLINE = Spline((-0.5, 0.0, 0.3, 0.9), (0.1, -0.2, 0.3, 0.0))
SHAPES: dict[str, list] = {
    "cart": [Slider(2.0), ROD, ROD],
    "tree": [ROD, ROD.on(0, (0.5, 0.2)), ROD.on(0), ROD.on(GROUND, (1.0, 0.3))],
    "slide on a link": [ROD, Slider(0.7, 0.4, 0.1, -0.2, 0.05).on(0, (0.6, 0.1)), ROD],
    "slide on a slide on a link": [ROD, Slider(0.5, 0.4).on(0, 0.3), Slider(0.3, -1.0, 0.2).on(1, (0.1, 0.2)), ROD.on(2)],
    "sine": [Slider(1.0, math.pi / 2, motion=Sine(0.2, 1.5, 0.3)), ROD, ROD.on(0, (0.3, 0.0))],
    "spline": [Slider(1.0, 0.3, motion=(SPLINE, SPLINE, Ramp(0.1, 0.5))), ROD],
    "hinge by a sine": [ROD, ROD.with_motion((Sine(0.5, 0.7), Spline((0.0, 1.0, 2.0), (0.0, 0.3, 0.1)))), ROD],
    "slide by a spline on a link": [ROD, Slider(0.5, 0.2, motion=SPLINE).on(0, 0.5), ROD],
}  # fmt: skip
ACTING: dict[str, list[Load]] = {
    "none": [Gravity(9.81)],
    "weightless": [Gravity(0.0)],
    "spring": [JointSpring(3.0, 0.2)],
    "joint damper": [JointDamper(0.4)],
    "link damper": [LinkDamper(0.3)],
    "torque": [JointTorque(1.5)],
    "sine": [JointTorque(Sine(2.0, 0.7, 0.3))],
    "table": [JointTorque(Table([-1.0, 1.5], [1.0, -2.0]))],
    "drag": [Drag(0.3)],
    "follower": [FollowerForce(2.0, 1)],
    "tip": [TipForce(1.0, -0.5, link=1)],
    "point": [PointForce(At(1, 0.3, 0.2), 2.0, 1.0)],
}
ACTING["all"] = [
    load for name in ("spring", "joint damper", "link damper", "sine", "drag", "follower", "tip", "point") for load in ACTING[name]
]


@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("shape", SHAPES)
def test_series(shape, acting):
    """Order by order, from four starts: the residuals of the equations of motion and of the powers; the end of a step."""
    model, order, errors = Mechanism(SHAPES[shape], ACTING[acting]), 8, []
    rng, n = np.random.default_rng(5), model.n
    for t, ahead in ((0.0, True), (0.0, False), (0.1, True), (0.1, False)):
        y = np.concatenate(model.given(t, rng.uniform(-2, 2, n), rng.uniform(-1, 1, n)))
        system, room, sizes, q = made(model, y, t, ahead, order)
        h = span(system, sizes, t, ahead, order, 0.04)
        errors.append([residuals(system, y, t, q, step)[1:] for step in (h, h / 4)])
        for step in (h, 10 * h):
            new, reached = np.empty(2 * n), at(q[:, :n], y[:n], step)
            WAY.arrival(step, y, system.parameters, room, order, new)
            np.testing.assert_allclose(new, np.concatenate(reached), rtol=1e-13, atol=1e-13)
    for what, lost in ((0, 1), (1, int(model.prescribed.any()))):  # of the power of a drive the last coefficient is not computed
        falls([np.concatenate([each[k][what] for each in errors]) for k in (0, 1)], order - lost)


# Random mechanisms ---------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(moving(), st.booleans())
def test_series_of_random_mechanisms(case, ahead):
    """Of any bodies and loads that have a series: within the step the equations of motion hold, and so do the powers."""
    model, q, v, t = case
    model, n, order = with_series(model), model.n, 12
    assume(model.as_chain() is None)
    y = np.concatenate([q, v])
    system, room, sizes, terms = made(model, y, t, ahead, order)
    h = span(system, sizes, t, ahead, order, 0.05)
    here, f = Tree(model, q, v, t), np.full(2 * n, np.nan)
    wanted = here.accelerations()
    assume(np.linalg.cond(here.free_mass()) < 1e4)
    scale = 1.0 + np.abs(wanted).max()
    np.testing.assert_allclose(terms[0, : 2 * n], [*v, *wanted], atol=1e-9 * scale)
    WAY.accelerations(system.parameters, room, f)
    np.testing.assert_allclose(f[n:], wanted, atol=1e-9 * scale)
    rates, steps, works = residuals(system, y, t, terms, h)
    assert np.abs(rates).max() <= 1e-8 * (scale + np.abs(v).max())
    assert np.abs(steps).max() <= 1e-8 * scale
    power = 1.0 + sum(np.abs(force * v).sum() for force in here.generalised().values()) + abs(here.drive_power())
    assert np.abs(works).max(initial=0.0) <= 1e-7 * power * (1.0 + np.abs(v).max())


# Splines -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-100, 500).map(lambda k: k / 100), min_size=1, max_size=5), st.booleans())
def test_many_pieces(times, ahead):
    """The piece of each time, at knots too, and the coefficients of both sides of a knot."""
    knots = np.arange(41) / 10
    spline = Spline(tuple(knots), tuple(np.sin(3 * knots)))
    numbers = formulate(Mechanism([Slider(motion=(spline, Sine(0.1, 1.0), spline)), ROD])).parameters.tree
    times += [0.0, float(knots[7]), 4.0]
    for t in times:
        q = np.zeros((5, 2))
        tree.motion_series(t, ahead, 0, numbers, q, 4)
        around = t + (1e-6 if ahead else -1e-6) * np.arange(1, 3)
        bend = motion_at((spline, spline), around)[2]
        third = (bend[1] - bend[0]) / (around[1] - around[0])
        sines = [math.pi**k * 2**k * 0.1 * math.sin(2 * math.pi * t + k * math.pi / 2) / math.factorial(k) for k in range(5)]
        assert 2 * (q[2, 0] - sines[2]) == pytest.approx(2 * bend[0] - bend[1], abs=1e-6)
        assert 6 * (q[3, 0] - sines[3]) == pytest.approx(third, abs=1e-3 * (1 + abs(third)))
        assert q[4, 0] == pytest.approx(sines[4], abs=1e-12)


def test_what_has_no_series_is_refused_by_name():
    cart = Mechanism([Slider(2.0), ROD], [PointSpring(At(1), (1.0, 1.0), 3.0, 0.2)])
    with pytest.raises(ModelError, match=r"Taylor does not take springs between points \(PointSpring\); use DOP853"):
        simulate(cart, 0.1, t_end=0.1, integrator="Taylor")
    with pytest.raises(ModelError, match="Taylor does not take quadratic drag of mechanisms; use DOP853"):
        simulate(Mechanism([Slider(2.0), ROD], [Drag(0.0, 0.1)]), 0.1, t_end=0.1, integrator="Taylor")
