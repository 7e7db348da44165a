"""Mechanisms in model files: every key, every refusal, and the way there and back."""

from __future__ import annotations

import contextlib
import math
import re
import tomllib

import numpy as np
import pytest
from helpers import angles, links, load_strategies, rates, tenths
from hypothesis import given
from hypothesis import strategies as st

import nlink
from nlink import (
    GROUND,
    At,
    Chain,
    Distance,
    Gear,
    Gravity,
    Guide,
    Link,
    Mechanism,
    ModelError,
    Pin,
    PointForce,
    PointSpring,
    Ramp,
    Scenario,
    Sine,
    Slider,
    Spline,
    TipForce,
)

CART = '[[links]]\nkind = "slider"\nmass = 2.0\n[[links]]\n'
TREE = "[[links]]\n[[links]]\nparent = 0\nat = 0.5\n"

FOUR_BAR = """
[[links]]
[[links]]
length = 3.0
[[links]]
length = 2.5
parent = -1
at = [2.5, 0.0]
[[pins]]
a = { link = 1 }
b = { link = 2 }
[start]
"""


def read(text: str) -> Scenario:
    return Scenario.from_dict(tomllib.loads(text))


def test_every_key_of_a_body():
    text = """
    [[links]]
    kind = "slider"
    mass = 2.0
    direction = "90 deg"
    motion = { amplitude = 0.02, frequency = 40.0, phase = 1.0, offset = 0.1 }
    [[links]]
    length = 2.0
    parent = -1
    at = [2.0, 1.0]
    motion = [{ start = 0.1, rate = 2.0 }, { times = [0, 1, 3], values = [0, 1, 0] }]
    [[links]]
    shape = "point"
    parent = 1
    at = 0.5
    [[links]]
    parent = 1
    at = [0.5, 0.25]
    """
    scenario = read(text)
    assert scenario.chain == Mechanism(
        [
            Slider(2.0, direction=math.pi / 2).with_motion(Sine(0.02, 40.0, 1.0, 0.1)),
            Link.rod(2.0, 1.0).on(GROUND, (2.0, 1.0)).with_motion(Ramp(0.1, 2.0), Spline((0, 1, 3), (0, 1, 0))),
            Link.point(1.0, 1.0).on(1, 0.5),
            Link.rod(1.0, 1.0).on(1, (0.5, 0.25)),
        ]
    )


def test_what_closes_and_what_acts_at_points():
    text = """
    links = 3
    pins = [
      { a = { link = 2 }, b = [3.0, 0.0] },
      { kind = "guide", point = { link = 0, along = 0.5 }, through = { x = 1.0 }, direction = "90 deg" },
      { kind = "distance", a = { link = 1, along = 0.5, left = 0.1 }, b = [0.0, 1.0], length = 2.0 },
      { kind = "gear", i = 0, j = 1, ratio = -2.0 },
    ]
    [loads]
    tip_force = { fx = 1.0, fy = 2.0, link = 1 }
    point_spring = { a = { link = 2 }, b = [1.0, 1.0], stiffness = 5.0, length = 0.5 }
    point_force = [{ point = { link = 0 }, fx = 1.0, fy = 0.0 }, { point = { link = 1 }, fx = 0.0, fy = 1.0 }]
    [start]
    theta = 0.5
    """
    model = read(text).chain
    assert model.pins == (
        Pin(At(2), (3.0, 0.0)),
        Guide(At(0, 0.5), (1.0, 0.0), math.pi / 2),
        Distance(At(1, 0.5, 0.1), (0.0, 1.0), 2.0),
        Gear(0, 1, -2.0),
    )
    assert model.loads == (
        Gravity(9.81),
        TipForce(1.0, 2.0, link=1),
        PointSpring(At(2), (1.0, 1.0), 5.0, 0.5),
        PointForce(At(0), 1.0, 0.0),
        PointForce(At(1), 0.0, 1.0),
    )


def test_a_file_without_a_key_of_mechanisms_stays_a_chain():
    assert isinstance(read("[[links]]\n[[links]]\nmass = 2").chain, Chain)
    assert isinstance(read("links = 2\nloads.tip_force = { fx = 1, fy = 2, link = 1 }").chain, Chain)
    assert isinstance(read('[[links]]\nkind = "link"\n[[links]]').chain, Mechanism)
    assert isinstance(read("links = 2\nloads.tip_force = { fx = 1, fy = 2, link = 0 }").chain, Mechanism)


def test_floating_links_take_two_sliders_more():
    scenario = read('floating = true\nlinks = 3\nloads = { gravity = 0, joint_damper = 0.1 }\nstart = "zigzag"')
    assert scenario.chain == Mechanism.floating([Link.rod(1.0, 1.0)] * 3, [Gravity(0.0), nlink.JointDamper(0.1)])
    assert scenario.theta == (0.0, 0.0, math.pi / 2, math.pi, math.pi / 2)
    assert isinstance(read("floating = false\nlinks = 3").chain, Chain)


def test_starts_have_the_units_of_their_bodies():
    start = '[start]\ntheta = ["20 cm", "90 deg"]\nomega = ["-0.5 m/s", "180 deg/s"]'
    scenario = read(CART + start)
    assert scenario.theta == (0.2, math.pi / 2)
    assert scenario.omega == (-0.5, math.pi)
    scenario = read(CART + '[start]\ntheta = [0.3, 90]\nomega = [1, 180]\nunit = "deg"')
    assert scenario.theta == (0.3, math.pi / 2)
    assert scenario.omega == (1.0, math.pi)
    assert read(CART + '[start]\nangle = "45 deg"').theta == (0.0, math.pi / 4)
    assert read(CART + "[start]\ntheta = 0").theta == (0.0, 0.0)


def test_a_closed_mechanism_starts_with_coordinates_that_are_driven():
    model = read(FOUR_BAR + "drive = 1.0").chain
    for name, theta in nlink.branches(model, {0: 1.0}).items():
        assert read(FOUR_BAR + f'drive = 1.0\nbranch = "{name}"').theta == tuple(theta)
    crossed = nlink.driven(model, {0: 1.0}, "crossed")
    near = FOUR_BAR + f'drive = {{ 0 = "60 deg" }}\ntheta = {crossed.tolist()}\nomega = [1.0, 0.0, 0.0]'
    assert read(near).theta == tuple(nlink.driven(model, {0: math.pi / 3}, near=crossed))
    assert read(near).omega == (1.0, 0.0, 0.0)
    assert read(FOUR_BAR + 'drive = { 2 = 10 }\nunit = "deg"').theta[2] == math.pi / 18


def test_a_prescribed_joint_starts_as_its_motion_says():
    text = CART.replace("mass = 2.0", "motion = { amplitude = 0.5, frequency = 2.0, offset = 1.0 }")
    scenario = read(text + "[start]\ntheta = [7.0, 0.5]")
    assert scenario.theta == (1.0, 0.5)
    assert scenario.omega == (0.5 * 4 * math.pi, 0.0)


def test_displacements_may_be_larger_than_angles():
    model = read(CART).chain
    assert Scenario(model, (1e12, 0.0)).theta == (1e12, 0.0)
    with pytest.raises(ModelError, match=r"theta\[1\] must be within 1e\+09 rad, got 1e\+12"):
        Scenario(model, (0.0, 1e12))
    assert nlink.formulate(model).angles("theta", (1e12, 0.0)).tolist() == [1e12, 0.0]


def test_a_displacement_is_not_taken_for_degrees(tmp_path):
    path = tmp_path / "cart.toml"
    path.write_text(CART + "[start]\ntheta = [90, 0.5]")
    Scenario.load(path)
    path.write_text(CART + "[start]\ntheta = [0.5, 90]")
    with pytest.warns(UserWarning, match=re.escape("start.theta: 90 rad is 14.3 turns; degrees?")):
        Scenario.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[links]]\nkind = "wheel"', "links[0].kind must be one of link, slider; got 'wheel'"),
        ('[[links]]\nkind = "slider"\nlength = 1', "links[0], a slider, has no key 'length'"),
        ("[[links]]\ndirection = 1", "links[0] has no key 'direction'"),
        ('[[links]]\nkind = "slider"\nmass = -1', "links[0].mass must not be negative, got -1"),
        ('[[links]]\nkind = "slider"\nmass = 1\ndirection = "1 m"', "links[0].direction must be a number, or a text like '90 deg'"),
        ("[[links]]\n[[links]]\nparent = 1", "links[1].parent must be a body listed before it, 0 to 0, or GROUND (-1), got 1"),
        ("[[links]]\n[[links]]\nparent = [0, -1]", "links[1].parent must be one body, got [0, -1]; a body hangs on one parent"),
        ("[[links]]\n[[links]]\n[[links]]\nparent = 0.5", "links[2].parent must be a whole number, at least -1, got 0.5"),
        ("[[links]]\n[[links]]\nparent = 0\nat = 2", "links[1].at is a point off its link: 2 m along link 0, which is 1 m long"),
        ("[[links]]\n[[links]]\nparent = 0\nat = [1, 2, 3]", "links[1].at must be a distance along the parent, or (along, left)"),
        ("[[links]]\n[[links]]\nparent = -1\nat = 2", "links[1].at must be (x, y) in m on the ground, got 2.0"),
        ("[[links]]\nmotion = 3", "links[0].motion must be a table, got 3"),
        ("[[links]]\nmotion = []", "links[0].motion must not be an empty list"),
        ("[[links]]\nmotion = { amplitude = 1 }", "links[0].motion, a sine, needs 'frequency'"),
        ("[[links]]\nmotion = { amplitud = 1 }", "links[0].motion has no key 'amplitud' (did you mean 'amplitude'?)"),
        ("[[links]]\nmotion = { amplitude = 1, rate = 1 }", "links[0].motion must be a sine (amplitude, frequency), a ramp"),
        ("[[links]]\nmotion = [{ start = 0, rate = nan }]", "links[0].motion[0].rate must be finite, got nan"),
        ("[[links]]\nmotion = { times = [0, 0], values = [1, 1] }", "links[0].motion.times must increase"),
        (TREE + "[pin]\nx = 1", "pin is the key of a plain chain, and links[1].parent makes this a mechanism; give [[pins]]"),
        ("links = 2\nfloating = 1", "floating must be true or false, got 1"),
        ("links = 2\npins = 3", "pins must be [[pins]] tables, got 3"),
        ("links = 2\npins = [3]", "pins[0] must be a table, got 3"),
        ('links = 2\npins = [{ kind = "nail" }]', "pins[0].kind must be one of pin, guide, distance, gear; got 'nail'"),
        ("links = 2\npins = [{ a = { link = 1 } }]", "pins[0], a pin, needs 'b'"),
        ("links = 2\npins = [{ a = { link = 1 }, c = [1, 2] }]", "pins[0] has no key 'c'"),
        ("links = 2\npins = [{ a = { link = 5 }, b = [1, 2] }]", "pins[0].a.link must be a body of the mechanism, 0 to 1, got 5"),
        ("links = 2\npins = [{ a = { link = -1 }, b = [1, 2] }]", "pins[0].a.link must be a whole number, at least 0, got -1"),
        ("links = 2\npins = [{ a = { link = 1, alon = 2 }, b = [1, 2] }]", "pins[0].a has no key 'alon' (did you mean 'along'?)"),
        ("links = 2\npins = [{ a = { link = 1 }, b = [1] }]", "pins[0].b must be a point, { link = 2, along = 0.5 } of a body, or"),
        ("links = 2\npins = [{ a = { link = 1 }, b = { z = 1 } }]", "pins[0].b, which has no link, has no key 'z'"),
        ("links = 2\npins = [{ a = [0, 0], b = [1, 2] }]", "pins[0] joins two points of the ground, which are held by it already"),
        ('links = 2\npins = [{ kind = "guide", point = [0, 0] }]', "pins[0].point must be a point of a body, like { link = 2 }"),
        ('links = 2\npins = [{ kind = "gear", i = 0, j = 3, ratio = 1 }]', "pins[0].j must be a body of the mechanism, 0 to 1"),
        ('links = 2\npins = [{ kind = "distance", a = { link = 1 }, b = [3, 0], length = 0 }]', "pins[0].length must be positive"),
        ("links = 2\npins = [{ a = { link = 1 }, b = [1, 0] }]", "start.theta must be given for a mechanism with pins"),
        ("links = 2\nloads.point_spring = 3", "loads.point_spring[0] must be a table, got 3"),
        ("links = 2\nloads.point_force = [{ point = { link = 0 }, fx = 1 }]", "loads.point_force[0] needs 'fy'"),
        ("links = 2\nloads.point_force = { point = 1, fx = 1, fy = 1 }", "loads.point_force[0].point must be a point"),
        (
            "links = 2\nloads.point_force = [{ point = { link = 0 }, fx = 1, fy = 1 }, { point = { link = 7 }, fx = 1, fy = 1 }]",
            "loads.point_force[1].point.link must be a body of the mechanism, 0 to 1, got 7",
        ),
        ("links = 2\nloads.tip_force = { fx = 1, fy = 1, link = 4 }", "loads.tip_force.link must be a body of the"),
        (CART + '[start]\ntheta = ["90 deg", 0]', "start.theta[0], a slider, must be a number, or a text like '0.2 m'"),
        (CART + '[start]\ntheta = [0, "1 m"]', "start.theta[1] must be a number, or a text like '90 deg'"),
        (CART + '[start]\nomega = ["90 deg/s", 0]', "start.omega[0], a slider, must be a number, or a text like '0.2 m/s'"),
        (CART + "[start]\ntheta = 0.5", "start.theta must be a list for a mechanism with sliders, a value for each body"),
        (f"[[links]]\nparent = {10**4200}", "links[0].parent must be GROUND (-1), got a whole number of about 4,201 digits"),
        (CART + "[start]\ntheta = [1]", "start.theta has 1 value for 2 bodies"),
        (CART + "[start]\ndrive = 1", "start.drive belongs to a model with pins; give start.theta"),
        (FOUR_BAR + "drive = { 7 = 1.0 }", "start.drive must name bodies, 0 to 2, like { 0 = '60 deg' }, got '7'"),
        (FOUR_BAR + "drive = { a = 1.0 }", "start.drive must name bodies, 0 to 2, like { 0 = '60 deg' }, got 'a'"),
        (FOUR_BAR + 'drive = { 0 = "1 m" }', "start.drive.0 must be a number, or a text like '90 deg'"),
        (FOUR_BAR + 'drive = 1.0\nshape = "line"', "start has both drive and shape; give one"),
        (FOUR_BAR + 'drive = 1.0\ntheta = 1.0\nbranch = "open"', "start has both theta and branch; give one"),
        (FOUR_BAR + 'drive = 1.0\nbranch = "shut"', "branch must be one of open, crossed, got 'shut'"),
        (FOUR_BAR.replace("2.5, 0", "12.5, 0") + "drive = 1.0", "the mechanism does not close with body 0 at 1: Mechanism."),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(text, message):
    with pytest.raises(ModelError, match="^" + re.escape(f"model: {message}")):
        read(text)


def test_what_nothing_with_mass_resists_is_refused_when_it_is_to_move():
    scenario = read('[[links]]\nkind = "slider"')
    with pytest.raises(ModelError, match=r"^Mechanism.links\[0\] makes the mass matrix singular: .* this slider .* a mass"):
        scenario.run()


@st.composite
def mechanisms(draw) -> Mechanism:
    """Links and sliders on any earlier body, driven or not, with any loads and closures."""
    n = draw(st.integers(2, 5))
    motions = st.one_of(
        st.builds(Sine, tenths(-20, 20), tenths(1, 30), tenths(-30, 30), tenths(-5, 5)),
        st.builds(Ramp, tenths(-20, 20), tenths(-20, 20)),
        st.builds(Spline, st.just((0.0, 0.5, 2.0)), st.tuples(*[tenths(-10, 10)] * 3)),
    )
    bodies = []
    for i in range(n):
        body = draw(st.one_of(links(), st.builds(Slider, tenths(1, 30), direction=tenths(-30, 30), inertia=tenths(1, 5))))
        if draw(st.booleans()):
            parent = draw(st.integers(GROUND, i - 1))
            pair = st.tuples(tenths(-20, 20), tenths(1, 20))
            along = 0.0 if parent == GROUND else bodies[parent].length / 2
            body = body.on(parent, draw(st.one_of(pair, st.none() if parent == GROUND else st.just(along))))
        if draw(st.booleans()):
            body = body.with_motion(*draw(st.lists(motions, min_size=1, max_size=2)))
        bodies.append(body)
    ground = st.tuples(tenths(-30, 30), tenths(-30, 30))
    own = [At(i, 0.5 * body.length, left) for i, body in enumerate(bodies) for left in (0.0, 0.25)] + [At(i) for i in range(n)]
    spots = st.sampled_from(own)
    closures = st.one_of(
        st.builds(Pin, spots, ground),
        st.builds(Guide, spots, ground, tenths(-30, 30)),
        st.builds(Distance, ground, spots, st.one_of(st.none(), tenths(1, 30))),
        st.builds(Gear, st.just(0), st.just(1), tenths(-20, 20), st.one_of(st.none(), tenths(-5, 5))),
    )
    kinds = load_strategies(n) | {TipForce: st.builds(TipForce, tenths(-50, 50), tenths(-50, 50), link=st.integers(0, n - 1))}
    loads = [draw(strategy) for strategy in kinds.values() if draw(st.booleans())]
    loads += draw(st.lists(st.builds(PointSpring, spots, ground, tenths(0, 50), tenths(0, 20), tenths(0, 5)), max_size=2))
    loads += draw(st.lists(st.builds(PointForce, spots, tenths(-20, 20), tenths(-20, 20)), max_size=2))
    return Mechanism(bodies, loads, [pin for pin in draw(st.lists(closures, max_size=3)) if serves(bodies, pin)])


def serves(bodies, closure) -> bool:
    """Whether a joint that is free serves a closure."""
    with contextlib.suppress(ModelError):
        return bool(Mechanism(bodies, pins=closure).pins)
    return False


@given(mechanisms(), st.data())
def test_a_mechanism_comes_back_from_its_file(model, data):
    scenario = Scenario(model, tuple(data.draw(angles(model.n))), tuple(data.draw(rates(model.n))))
    back = Scenario.from_dict(tomllib.loads(scenario.to_toml()))
    assert back == scenario
    assert back.to_dict() == scenario.to_dict()


def test_numbers_of_numpy_are_written():
    model = Mechanism([Slider(np.float64(2.0)), Link.rod(1.0, 1.0).on(np.int64(0))])
    assert read(Scenario(model, np.array([0.5, 0.1])).to_toml()).chain == model
