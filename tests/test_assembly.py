"""Closed mechanisms without masses: gaps and their derivatives, assembly, freedom, branches, poses over a turn of a crank."""

from __future__ import annotations

import math
from typing import Any

import linkages
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from linkages import Linkage

from nlink import (
    GROUND,
    At,
    Chain,
    Distance,
    Gear,
    Guide,
    Link,
    Mechanism,
    ModelError,
    Pin,
    Ramp,
    Slider,
    assemble,
    branches,
    driven,
    formulate,
    posed,
    simulate,
)
from nlink.mechanics import assembly, closures, loop_closure
from nlink.mechanics.assembly import scales, size_of
from nlink.mechanics.mobility import mobility

ROD = Link.rod(1.0, 1.0)
COUNTS = {
    "four-bar": (linkages.four_bar, 1, 1, 0),
    "five-bar": (linkages.five_bar, 1, 2, 0),
    "slider-crank": (linkages.slider_crank, 1, 1, 0),
    "guided rod": (lambda: linkages.slider_crank(guided=True), 1, 1, 0),
    "three rockers": (lambda: linkages.rockers((0.0, 0.3, 1.1)), 2, 1, 1),
    "four rockers": (linkages.rockers, 3, 1, 2),
    "A02": (lambda: linkages.a02(4), 4, 1, 0),
    "Peaucellier": (linkages.peaucellier, 3, 1, 0),
    "Watt": (linkages.watt, 1, 1, 0),
    "Jansen": (linkages.jansen, 3, 1, 0),
    "Andrews": (linkages.andrews, 3, 1, 0),
}
"""Linkages with their loops, freedom and spare rows."""


@st.composite
def closed(draw: st.DrawFn) -> Linkage:
    """A random tree of links and sliders that random pins, guides, bars and gears close, and a state of it near which it closes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, scale = draw(st.integers(3, 7)), 10.0 ** draw(st.integers(-3, 3))
    bodies: list[Any] = []
    for i in range(n):
        parent = int(rng.integers(GROUND, i))
        at = tuple(scale * rng.uniform(-1, 1, 2)) if parent == GROUND or rng.random() < 0.5 else None
        slides = rng.random() < 0.25
        body = Slider(1.0, rng.uniform(-3, 3)) if slides else Link.rod(scale * rng.uniform(0.5, 2), 1.0)
        bodies.append(body.on(parent, at))
    q = np.array([scale * x if isinstance(body, Slider) else x for x, body in zip(rng.uniform(-3, 3, n), bodies, strict=True)])
    tree, pins = Mechanism(bodies), []
    for _ in range(draw(st.integers(1, max(1, n // 2)))):
        i, j = (int(k) for k in rng.choice(n, 2, replace=False))
        a, b = (At(k, scale * rng.uniform(0.1, 0.4), scale * rng.uniform(0.1, 1)) for k in (i, j))
        at = closures.poses(tree, q)
        there = tuple(float(x) for x in at.place(*tree.located(a)))
        pins.append(
            [
                Pin(a, there),
                Guide(a, there, rng.uniform(-3, 3)),
                Guide(a, b, _line_through(tree, at, a, b)),
                Distance(a, b),
                Distance(a, tuple(scale * rng.uniform(-3, 3, 2))),
                Gear(i, j, rng.uniform(-2, 2)),
            ][rng.integers(6)]
        )
    return Linkage(Mechanism(bodies, pins=pins).as_assembled(q), q)


def _line_through(tree: Mechanism, at: closures.Poses, a: At, b: At) -> float:
    """The direction, in the frame of the body of b, of the line through both points."""
    (x, y), (u, v) = (np.array(at.place(*tree.located(point)), float) for point in (a, b))
    along, left = at.s[b.link], at.c[b.link]
    dx, dy = x - u, y - v
    return math.atan2(-(along * dx - left * dy), left * dx + along * dy)


# Gaps ----------------------------------------------------------------------------------------------------------------


@given(closed(), st.integers(0, 1000))
def test_derivatives_of_the_gaps_are_those_of_differences(case, seed):
    model, q = case.model, np.stack([case.near, case.near + 0.3])
    unit, size = scales(model).columns, max(1.0, size_of(model))
    np.testing.assert_allclose(loop_closure.gap(model, case.near), 0, atol=1e-13 * size)
    J, h = loop_closure.jacobian(model, q), 1e-6
    for j in range(model.n):
        step = h * unit[j] * np.eye(model.n)[j]
        change = (loop_closure.gap(model, q + step) - loop_closure.gap(model, q - step)) / (2 * h)
        np.testing.assert_allclose(J[..., j] * unit[j], change, atol=1e-7 * size)
    v, h = np.random.default_rng(seed).uniform(-1, 1, model.n) * unit, 1e-4
    ahead, here, behind = (loop_closure.gap(model, q + k * h * v) for k in (1, 0, -1))
    bend = closures.curvatures(model, q.T, np.stack([v, v], 1)).T
    np.testing.assert_allclose(bend, (ahead - 2 * here + behind) / h**2, rtol=1e-5, atol=1e-5 * size)


# Assembly ------------------------------------------------------------------------------------------------------------


@given(closed(), st.integers(0, 1000))
def test_an_assembled_state_is_closed_and_the_nearest(case, seed):
    model, rng = case.model, np.random.default_rng(seed)
    unit = scales(model).columns
    guess, rates = case.near + 0.02 * unit * rng.uniform(-1, 1, model.n), unit * rng.uniform(-1, 1, model.n)
    found = assemble(model, guess, rates)
    assert np.abs(loop_closure.gap(model, found.theta)).max() < 1e-12 * max(1.0, size_of(model))
    J = loop_closure.jacobian(model, found.theta) * unit
    sizes = np.linalg.svd(J, compute_uv=False)
    assume(sizes[-1] > 1e-3 * sizes[0])
    assert np.abs(J @ (found.omega / unit)).max() < 1e-12 * sizes[0]
    again = assemble(model, found.theta, found.omega)
    assert again.moved <= 1e-9 * unit.max()
    assert again.sped <= 1e-9 * unit.max()


def test_the_nearest_state_is_found_downhill_along_the_closed_ones():
    model, near = linkages.four_bar()
    guess = near + np.array([0.2, -0.3, 0.1])
    found = assemble(model, guess).theta
    crank = found[0] + np.linspace(-0.05, 0.05, 101)
    away = np.linalg.norm(posed(model, {0: crank}, found).theta - guess, axis=1)
    assert abs(int(np.argmin(away)) - 50) <= 1


def test_units_of_length_make_no_difference():
    found = []
    for scale in (1e-3, 1.0, 1e3):
        bodies = [Link.rod(scale * 0.3, 1.0), Link.rod(scale * 0.9, 1.0), Slider(1.0).on(GROUND, (0.0, 0.0))]
        model = Mechanism(bodies, pins=Pin(At(1), At(2)))
        found.append(assemble(model, [2.3, 1.3, scale * 1.2]).theta / [1.0, 1.0, scale])
        assert (model.freedom, model.spare) == (1, 0)
    np.testing.assert_allclose(found, [found[1]] * 3, atol=1e-9)


def test_joints_with_motions_stand_where_these_begin():
    model, near = linkages.four_bar()
    turned = Mechanism([model.links[0].with_motion(Ramp(1.2, 0.5)), *model.links[1:]], pins=model.pins)
    found = assemble(turned, near, [9.0, 9.0, 9.0])
    assert found.theta[0] == 1.2
    assert found.omega[0] == 0.5
    assert turned.freedom == 0
    rates = posed(model, {0: [1.2]}, near).rates(0.5)[0]
    np.testing.assert_allclose(found.omega, rates, atol=1e-12)


def test_bars_and_gears_are_taken_as_assembled():
    links = [ROD, ROD.on(GROUND, (2.0, 0.0)), ROD.on(GROUND, (4.0, 0.0))]
    model = Mechanism(links, pins=[Distance(At(0), At(1)), Gear(1, 2, -2.0)])
    assert (model.freedom, model.spare, model.loops) == (1, 0, 1)
    firm = model.as_assembled([0.1, 0.4, -0.3])
    assert firm.pins[0].length == pytest.approx(math.dist((math.sin(0.1), -math.cos(0.1)), (2 + math.sin(0.4), -math.cos(0.4))))
    assert firm.pins[1].offset == pytest.approx(0.4 - 2 * 0.3)
    with pytest.raises(ModelError, match=r"pins\[0\]\.length is not given, and is taken as assembled; .*as_assembled\(theta\)"):
        assemble(model, [0.1, 0.4, -0.3])


# Freedom -------------------------------------------------------------------------------------------------------------


def test_the_freedom_of_a_ladder_is_that_of_its_loops_side_by_side():
    """Each of its loops can fold too, so that among random states those with all loops open are rare."""
    model = linkages.a02(40).model
    assert (model.loops, model.freedom, model.spare) == (40, 1, 0)


def test_a_drive_takes_a_freedom_on_the_branch_that_moves():
    """The rhombus of Peaucellier's linkage folds onto itself in most of the states that guesses lead to."""
    model = linkages.peaucellier().model
    driven = Mechanism([model.links[0].with_motion(Ramp(1.6, 0.5)), *model.links[1:]], pins=model.pins)
    assert (model.freedom, model.spare) == (1, 0)
    assert (driven.freedom, driven.spare) == (0, 0)


@pytest.mark.parametrize("name", COUNTS)
def test_loops_freedom_and_spare_rows(name):
    build, loops, freedom, spare = COUNTS[name]
    model, near = build()
    assert (model.loops, model.freedom, model.spare) == (loops, freedom, spare)
    assert mobility(model, assemble(model, near).theta) == (freedom, spare)


@pytest.mark.parametrize("build", [lambda: linkages.a02(3), linkages.rockers])
def test_the_freedom_at_a_dead_position_is_that_beside_it(build):
    model, near = build()
    spare = 2 if build is linkages.rockers else 0
    there = np.full_like(near, math.pi / 2)
    assert mobility(model, there) == (1, spare)
    assert mobility(model, there, rates=np.where(near == 3.0, 1.0, 0.0)) == (1, spare)


# Branches and driven starts ------------------------------------------------------------------------------------------


def test_the_branches_of_a_four_bar_are_those_of_the_chain():
    model = linkages.four_bar()[0]
    chain = Chain([Link.rod(x, x) for x in (1.0, 3.0, 2.5)], pin=(2.5, 0.0))
    for angle in (0.3, 2.0, 4.5):
        found = branches(model, {0: angle})
        assert list(found) == ["open", "crossed"]
        for name, q in found.items():
            np.testing.assert_allclose(np.sin(q[:2] - driven(chain, angle, name)[:2]), 0, atol=1e-10)
            np.testing.assert_array_equal(driven(model, {0: angle}, name), q)


def test_branches_are_numbered_by_closeness():
    model, near = linkages.five_bar()
    found = branches(model, {0: 2.0, 2: 3.0}, near=near)
    assert list(found) == ["1", "2"]
    np.testing.assert_allclose(found["1"], near, atol=1e-3)
    assert len(branches(linkages.slider_crank()[0], {0: 2.0})) == 2
    assert len(branches(linkages.watt()[0], {1: 0.1})) == 2


def test_a_driven_start_stays_on_its_branch():
    model, near = linkages.four_bar()
    for q in branches(model, {0: 1.0}, near).values():
        far = driven(model, {0: 1.0 - 4 * math.pi}, near=q)
        np.testing.assert_allclose(far, q - [4 * math.pi, 0.0, 0.0], atol=1e-12)


# Poses ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.tuples(*[st.integers(10, 40)] * 4), st.sampled_from(["open", "crossed"]))
def test_poses_are_the_same_there_and_back_and_on_their_circles(sizes, name):
    crank, coupler, rocker, ground = (x / 10 for x in sizes)
    model = linkages.four_bar(crank, coupler, rocker, ground)[0]
    try:
        near = branches(model, {0: 2.0})[name]
    except (ModelError, KeyError):
        assume(False)
    reach = np.linspace(0.0, 2 * math.pi, 100)
    try:
        there = posed(model, {0: reach}, near)
    except ModelError as error:
        assume("dead position" not in str(error))
        raise
    inside = ~np.isnan(there.theta).any(1)
    assert inside.any()
    assert inside.all() == (not there.limits)
    a, b = there.point(At(0))[inside], there.point(At(1))[inside]
    np.testing.assert_allclose(np.hypot(*(b - a).T), coupler, atol=1e-12)
    np.testing.assert_allclose(np.hypot(*(b - [ground, 0.0]).T), rocker, atol=1e-11)
    last = np.flatnonzero(inside)[-1]
    assume(np.abs(there.rates()[last]).max() < 100)
    back = posed(model, {0: reach[inside]}, there.theta[last])
    np.testing.assert_allclose(back.theta, there.theta[inside], atol=1e-7)


def test_the_order_of_poses_does_not_matter():
    model, near = linkages.four_bar()
    crank = np.random.default_rng(0).uniform(-5, 9, 300)
    found, order = posed(model, {0: crank}, near).theta, np.argsort(crank)
    np.testing.assert_array_equal(found[order], posed(model, {0: crank[order]}, near).theta)


@pytest.mark.parametrize("name", ["open", "crossed"])
def test_dead_positions_are_passed_on_the_smooth_branch(name):
    """The parallelogram and the antiparallelogram, whose joint is that of the parallelogram mirrored by the diagonal."""
    model = linkages.four_bar(1.0, 2.0, 1.0, 2.0)[0]
    crank = np.linspace(0.0, 4 * math.pi, 361)  # with all dead positions
    found = posed(model, {0: crank}, branches(model, {0: 1.0})[name])
    across = np.array([2.0, 0.0])
    a, corner = found.point(At(0)), found.point(At(0)) + across
    line = (across - a) / np.hypot(*(across - a).T)[:, None]
    mirrored = a + 2 * ((corner - a) * line).sum(1, keepdims=True) * line - (corner - a)
    np.testing.assert_allclose(found.point(At(1)), corner if name == "open" else mirrored, atol=1e-9)
    assert np.abs(np.diff(found.theta, axis=0)).max() < 0.15
    assert not found.limits


def test_a_limit_is_told_where_the_linkage_comes_to_it():
    model = linkages.four_bar(2.0, 1.0, 1.8, 1.5)[0]
    found = posed(model, {0: [1.0, 2.5, 4.0]}, branches(model, {0: 2.5})["open"])
    ends = [math.pi - math.asin((4 + 2.25 - reach**2) / 6) for reach in (2.8, 0.8)]
    assert np.isnan(found.theta[[0, 2]]).all()
    assert not np.isnan(found.theta[1]).any()
    assert [float(words.split()[5].rstrip(":")) for words in found.limits] == pytest.approx(ends, abs=1e-5)
    with pytest.raises(ModelError, match=r"body 0 cannot go above 3\.4098: the linkage is at a limit there"):
        driven(model, {0: 4.0}, near=found.theta[1])


def test_two_cranks_are_driven_along_their_way():
    model, near = linkages.five_bar()
    t = np.linspace(0, 1.5, 40)
    there = posed(model, {0: 2 + t, 2: 3 - 0.5 * np.sin(3 * t)}, near)
    assert np.abs(loop_closure.gap(model, there.reached())).max() < 1e-12
    back = posed(model, {0: there.given[::-1, 0], 2: there.given[::-1, 1]}, there.theta[-1])
    np.testing.assert_allclose(back.theta[::-1], there.theta, atol=1e-11)


def test_peaucelliers_point_stays_on_its_line():
    model, near = linkages.peaucellier()
    found = posed(model, {0: np.linspace(-0.5, 3.5, 300)}, near)
    inside = ~np.isnan(found.theta[:, 0])
    assert inside.sum() > 200
    assert len(found.limits) == 2
    np.testing.assert_allclose(found.point(At(5))[inside, 0], 3.375, atol=1e-10)


def test_rates_and_accelerations_are_those_of_peaucelliers_reference():
    model, near = linkages.peaucellier()
    results = linkages.reference("peaucellier_driven")["results"]
    wanted = {name: np.array([[float(x) for x in row[name]] for row in results.values()]) for name in ("theta", "omega", "alpha")}
    found = posed(model, {0: wanted["theta"][:, 0]}, near)
    for name, values in (("theta", found.theta), ("omega", found.rates(0.7)), ("alpha", found.accelerations(0.7))):
        np.testing.assert_allclose(values, wanted[name], atol=1e-12)


def test_jansens_leg_walks_as_its_reference():
    model, near = linkages.massless(linkages.jansen())
    results = linkages.reference("jansen_leg")["results"]
    found = posed(model, {0: np.radians([float(degrees) for degrees in results]) + math.pi / 2}, near)
    np.testing.assert_allclose(
        found.point(linkages.foot()), [[float(x) for x in row["foot"]] for row in results.values()], atol=1e-10
    )


def test_a_slider_crank_by_its_formula():
    model, near = linkages.slider_crank()
    phi = np.linspace(0, 2 * math.pi, 50)
    found = posed(model, {0: phi + math.pi / 2}, near)
    np.testing.assert_allclose(found.theta[:, 2], 0.3 * np.cos(phi) + np.sqrt(0.81 - 0.09 * np.sin(phi) ** 2), atol=1e-13)
    results = linkages.reference("slider_crank")["results"].values()
    q = np.array([[float(x) for x in row["q"]] for row in results])
    rates = np.array([[float(x) for x in row["rate"]] for row in results])
    found = posed(model, {0: q[:, 0]}, near)
    np.testing.assert_allclose(found.theta[:, 2], q[:, 2], atol=1e-12)
    np.testing.assert_allclose(found.rates(rates[:, :1]), rates, atol=1e-10)


def test_andrews_mechanism_closes_where_it_was_published_to():
    model = linkages.andrews()[0]
    for source in (linkages.ANDREWS_START, linkages.ANDREWS_END):
        assert np.abs(loop_closure.gap(model, linkages.andrews_angles(source))).max() < 1e-15


def test_linkages_without_masses_are_posed_but_do_not_move_by_themselves():
    model, near = linkages.massless(linkages.four_bar())
    heavy = linkages.four_bar()[0]
    np.testing.assert_array_equal(posed(model, {0: [0.0, 2.0]}, near).theta, posed(heavy, {0: [0.0, 2.0]}, near).theta)
    with pytest.raises(ModelError, match=r"^Mechanism\.links\[2\] makes the mass matrix singular: .*give it a mass"):
        formulate(model)


# Refusals ------------------------------------------------------------------------------------------------------------

FOUR, NEAR = linkages.four_bar()
TWO, BESIDE = linkages.five_bar()
SHORT = linkages.four_bar(rocker=0.5, ground=9.0).model
NO_CRANK = linkages.four_bar(2.0, 1.0, 1.8, 1.5).model
MISFIT = linkages.rockers((0.0, 0.3, 1.1), (1.0, 1.0, 1.0 + 1e-6))
TRIANGLE = Mechanism([ROD, ROD.on(GROUND, (1.0, 0.0))], pins=Pin(At(0), At(1)))
BOTH = [FOUR.links[0].with_motion(Ramp(1.0, 1.0)), FOUR.links[1], FOUR.links[2].with_motion(Ramp(float(driven(FOUR, 1.0)[2]), 3.0))]
DEAD = [math.pi / 2] * 3
DRIVEN = ROD.with_motion(Ramp(0.0, 1.0))


def test_gaps_that_creep_beside_dead_positions_are_not_followed(monkeypatch):
    """A02 near its dead position closes to second order only: after 30 rounds or so nothing is gained, and 120 were made once."""
    model, rounds = linkages.a02(8).model, []

    def counted(*given: Any) -> Any:
        rounds.append(1)
        return closures.jacobians(*given)

    monkeypatch.setattr(assembly, "jacobians", counted)
    guesses = math.pi / 2 + 0.01 * np.random.default_rng(3).uniform(-1, 1, (8, model.n))
    _, gap = assembly.close_all(model, guesses, ~model.prescribed)
    assert gap.max() <= assembly.CLOSED
    assert len(rounds) <= 40


REFUSED = {
    "out of reach": (
        lambda: assemble(SHORT, NEAR),
        r"does not close from this start: .*pins\[0\] \(pin\) stays .* m open at best, .* out of reach",
    ),
    "freedom": (
        lambda: SHORT.freedom,
        r"closes from none of 48 random guesses: .*pins\[0\] \(pin\) stays .*out of reach: give other",
    ),
    "start": (
        lambda: simulate(FOUR, [1.0, 2.0, 0.3], t_end=1.0),
        r"the start does not close the mechanism: .*pins\[0\] .* assemble\(",
    ),
    "misfit": (lambda: simulate(*MISFIT, t_end=1.0), r"stays .*e-07 m open; spare rows nearly fit .* cannot move: give"),
    "rigid": (
        lambda: simulate(TRIANGLE, [math.pi / 6, -math.pi / 6], t_end=1.0),
        r"over-constrained: its pins, 2 rows for 2 coordinates, hold it, so that it cannot move; leave out a pin",
    ),
    "two drives": (
        lambda: simulate(Mechanism(BOTH, pins=FOUR.pins), [1.0, 0.9, 0.28], t_end=1.0),
        r"the prescribed motions do not fit each other: .*pins\[0\] .* would open at .* m/s; prescribe fewer joints",
    ),
    "one too few": (
        lambda: posed(TWO, {0: [1.0]}, BESIDE),
        r"body 0 is driven, and the mechanism has a freedom of 2; drive 2 in all",
    ),
    "one too many": (
        lambda: posed(FOUR, {0: [1.0], 1: [1.0]}, NEAR),
        r"body 0 and 1 is driven, and the mechanism has a freedom of 1; drive 1 in all",
    ),
    "rigid posed": (lambda: posed(TRIANGLE, {0: [1.0]}, [math.pi / 6, -math.pi / 6]), r"has a freedom of 0; it cannot move"),
    "few branches": (lambda: branches(TWO, {0: 1.0}), r"1 driven coordinates leave a freedom of 1; drive 1 more"),
    "body": (lambda: branches(FOUR, {3: 1.0}), r"a driven body must be .*3"),
    "angle": (lambda: branches(NO_CRANK, {0: 1.5}), r"does not close with body 0 at 1\.5: .*stays .* open at best"),
    "branch": (lambda: driven(FOUR, {0: 1.0}, "folded"), r"branch must be one of open, crossed, got 'folded'"),
    "both": (lambda: driven(FOUR, {0: 1.0}, "open", near=NEAR), r"takes a branch or the coordinates of a state near it, not both"),
    "nothing": (lambda: driven(FOUR, {}), r"driven needs at least one coordinate"),
    "not finite": (lambda: posed(FOUR, {0: [0.0, math.nan]}, NEAR), r"lists of finite coordinates, all of the same length"),
    "no table": (lambda: posed(FOUR, [0.0], NEAR), r"must be a table of bodies and their coordinates, got"),
    "dead": (
        lambda: posed(linkages.a02(1).model, {0: [1.0]}, DEAD),
        r"at a dead position or a limit for body 0, where branches meet",
    ),
    "chain": (lambda: driven(Chain.uniform(3, pin=(1.0, 0.0)), {1: 1.0}), r"a chain is driven at its first link, got .*\[1\]"),
    "bar": (
        lambda: Mechanism([ROD, ROD], pins=Distance(At(0, 0.5), (0.5, 0.0))).as_assembled([math.pi / 2, 0.0]),
        r"pins\[0\] is a bar without length at this state; use Pin",
    ),
    "prescribed": (
        lambda: Mechanism([DRIVEN, ROD], pins=Pin(At(0), (0.0, -1.0))),
        r"pins\[0\] closes a loop of prescribed joints only; leave one of them free",
    ),
    "own parents": (lambda: Mechanism([ROD.on(1), ROD.on(0)]), r"links\[0\]\.parent must be GROUND"),
    "loop of parents": (
        lambda: Mechanism([ROD, ROD.on(2), ROD.on(1)]),
        r"links\[1\]\.parent must be a body listed before it.*close a loop by a Pin",
    ),
    "off its parent": (
        lambda: Mechanism([ROD, ROD.on(0, 1.5)]),
        r"links\[1\]\.at is a point off its link: 1\.5 m along link 0, which is 1 m long",
    ),
    "off its link": (
        lambda: Mechanism([ROD, ROD], pins=Pin(At(1, 1.5), (0.0, 0.0))),
        r"pins\[0\]\.a is a point off its link: 1\.5 m",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_words(name):
    call, words = REFUSED[name]
    with pytest.raises(ModelError, match=words):
        call()


def test_parents_must_be_one():
    with pytest.raises(ModelError, match=r"Link\.parent must be"):
        ROD.on((0, 1))
