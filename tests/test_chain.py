"""Links and chains: what is accepted, what is refused and in which words; the rule that keeps the mass matrix regular."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nlink import (
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    ModelError,
    Sine,
    Table,
    TipForce,
)
from nlink.mechanics.chain import wrapped
from nlink.mechanics.links import LINK

NOT_NUMBERS = [True, False, "1", None, [1.0], (1.0,), {}, np.True_, np.False_, 1j, b"1", np.array([1.0])]


def test_a_rod_and_a_point():
    assert Link.rod(2.0, 3.0) == Link(length=2.0, mass=3.0, com=1.0, inertia=1.0, offset=0.0)
    assert Link.point(2.0, 3.0) == Link(length=2.0, mass=3.0, com=2.0, inertia=0.0, offset=0.0)
    assert Link.rod(2.0, 3.0).hinge_inertia == pytest.approx(3.0 * 2.0**2 / 3, rel=1e-15)
    assert Link(1.0, 2.0, 0.3, 0.5, offset=-0.4).hinge_inertia == pytest.approx(0.5 + 2.0 * 0.25, rel=1e-15)


@pytest.mark.parametrize("name", ["length", "mass", "com", "inertia", "offset"])
@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_what_is_not_a_number_is_refused(name, value):
    with pytest.raises(ModelError, match=rf"^Link\.{name} must be a number, got "):
        dataclasses.replace(Link.rod(1.0, 1.0), **{name: value})


@pytest.mark.parametrize("name", ["length", "mass", "com", "inertia", "offset"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_what_is_not_finite_is_refused(name, value):
    with pytest.raises(ModelError, match=rf"^Link\.{name} must be finite, got -?(nan|inf)$"):
        dataclasses.replace(Link.rod(1.0, 1.0), **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("length", 0.0, "must be positive, got 0"),
        ("length", -1.5, "must be positive, got -1.5"),
        ("mass", -0.3, "must not be negative, got -0.3"),
        ("inertia", -1e-9, "must not be negative, got -1e-09"),
    ],
)
def test_bounds_of_a_link(name, value, rule):
    with pytest.raises(ModelError, match=rf"^Link\.{name} {rule}$"):
        dataclasses.replace(Link.rod(1.0, 1.0), **{name: value})


def test_centres_of_mass_may_lie_anywhere():
    assert Link(1.0, 1.0, -0.5, 0.1, -2.0).com == -0.5


@pytest.mark.parametrize("make", [Link.rod, Link.point])
def test_makers_refuse_too(make):
    with pytest.raises(ModelError, match=r"Link\.length must be a number, got '1'"):
        make("1", 1.0)
    with pytest.raises(ModelError, match=r"Link\.length must be positive, got 0"):
        make(0, 1.0)
    with pytest.raises(ModelError, match=r"Link\.mass must not be negative, got -1"):
        make(1.0, -1)


@pytest.mark.parametrize("value", [1, np.float64(1), np.float32(1), np.int64(1), Fraction(1, 1)])
def test_numbers_of_every_kind_become_floats(value):
    link = Link(value, value, value, value, value)
    assert all(type(getattr(link, name)) is float and getattr(link, name) == 1.0 for name in LINK)


def test_links_and_chains_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Link.rod(1.0, 1.0).mass = 2.0  # pyright: ignore
    with pytest.raises(dataclasses.FrozenInstanceError):
        Chain.uniform(2).links = ()  # pyright: ignore
    assert Chain.uniform(2) == Chain.uniform(2)
    assert hash(Chain.uniform(2)) == hash(Chain.uniform(2))
    assert Chain.uniform(2) != Chain.uniform(2, mass=2.0)


def test_every_chain_has_gravity_unless_it_says_otherwise():
    for chain in (Chain([Link.rod(1.0, 1.0)]), Chain.uniform(2), Chain.uniform(2, loads=[JointDamper(0.1)])):
        assert (chain.g, chain.loads[0]) == (9.81, Gravity(9.81))
        free = chain.with_loads(Gravity(0.0))
        assert (free.g, free.loads[0]) == (0.0, Gravity(0.0))
        assert Chain(chain.links, free.loads) == free
    assert Chain.uniform(2, loads=[JointDamper(0.1), Gravity(1.62)]).loads == (Gravity(1.62), JointDamper(0.1))


def test_uniform_chains():
    chain = Chain.uniform(3, length=0.5, mass=2.0)
    assert chain.links == (Link.rod(0.5, 2.0),) * 3
    assert chain.loads == (Gravity(9.81),)
    assert (chain.n, chain.g) == (3, 9.81)
    assert Chain.uniform(2, shape="point").links[1] == Link.point(1.0, 1.0)


@pytest.mark.parametrize("n", [0, -1, 2.0, "3", True, None, np.True_])
def test_the_number_of_links_is_a_whole_number(n):
    with pytest.raises(ModelError, match=r"^Chain\.uniform: n must be a whole number, at least 1, got "):
        Chain.uniform(n)


def test_a_numpy_integer_counts():
    assert Chain.uniform(np.int64(3)).n == 3


def test_shapes_are_listed():
    with pytest.raises(ModelError, match=r"Chain\.uniform: shape must be one of rod, point; got 'rods' \(did you mean 'rod'\?\)"):
        Chain.uniform(2, shape="rods")  # pyright: ignore


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([], r"Chain\.links must not be empty; give at least one Link"),
        ((), r"Chain\.links must not be empty"),
        (3, r"Chain\.links must be a list of Link, got 3; for equal links use Chain\.uniform\(n\)"),
        ("abc", r"Chain\.links must be a list of Link, got 'abc'"),
        (None, r"Chain\.links must be a list of Link, got None"),
        (Link.rod(1.0, 1.0), r"Chain\.links must be a list of Link, got Link\("),
        ([Link.rod(1.0, 1.0), 3], r"Chain\.links\[1\] must be a Link, got 3"),
        ([Link], r"Chain\.links\[0\] must be a Link, got <class"),
    ],
)
def test_links_are_a_list_of_links(links, message):
    with pytest.raises(ModelError, match=message):
        Chain(links)


@pytest.mark.parametrize(
    ("loads", "message"),
    [
        ([3], r"Chain\.loads\[0\] must be a load \(Gravity, JointSpring, .*TipForce\), got 3"),
        ([Gravity(1.0), Link.rod(1.0, 1.0)], r"Chain\.loads\[1\] must be a load"),
        (9.81, r"Chain\.loads\[0\] must be a load .* got 9\.81"),
        ([Gravity], r"Chain\.loads\[0\] must be a load .* got <class"),
        ([Gravity(1.0), Gravity(2.0)], r"Chain\.loads has two Gravity; give one, with a list of values if joints differ"),
        ([JointSpring(1.0), Gravity(1.0), JointSpring(1.0)], r"Chain\.loads has two JointSpring"),
    ],
)
def test_loads_are_loads_and_each_once(loads, message):
    with pytest.raises(ModelError, match=message):
        Chain([Link.rod(1.0, 1.0)], loads)


def test_one_load_needs_no_list():
    assert Chain([Link.rod(1.0, 1.0)], Gravity(2.0)).loads == (Gravity(2.0),)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (JointSpring([1.0, 2.0]), r"JointSpring\.stiffness has 2 values for 3 links; give one number, or 3"),
        (JointSpring(1.0, rest=[0.0] * 4), r"JointSpring\.rest has 4 values for 3 links"),
        (JointDamper([1.0]), r"JointDamper\.damping has 1 value for 3 links"),
        (LinkDamper([1.0, 2.0]), r"LinkDamper\.damping has 2 values for 3 links"),
        (Drag([1.0, 2.0]), r"Drag\.linear has 2 values for 3 links"),
        (Drag(1.0, [1.0, 2.0]), r"Drag\.quadratic has 2 values for 3 links"),
        (JointTorque([1.0, Sine(1.0, 1.0)]), r"JointTorque\.torque has 2 values for 3 links"),
    ],
)
def test_lists_have_one_value_for_each(load, message):
    with pytest.raises(ModelError, match=message):
        Chain.uniform(3, loads=[load])
    with pytest.raises(ModelError, match=message):
        Chain.uniform(3).with_loads(load)


def test_with_loads_replaces_its_own_type_and_keeps_the_rest():
    chain = Chain.uniform(2, loads=[Gravity(1.0), JointSpring(2.0), Drag(0.1)])
    new = chain.with_loads(JointSpring(3.0), TipForce(1.0, 2.0))
    assert new.loads == (Gravity(1.0), JointSpring(3.0), Drag(0.1), TipForce(1.0, 2.0))
    assert chain.loads == (Gravity(1.0), JointSpring(2.0), Drag(0.1))
    assert new.links == chain.links
    assert chain.with_loads() == chain
    assert chain.with_loads(Gravity(0.0)).g == 0.0


def test_with_loads_refuses_two_of_one_type():
    with pytest.raises(ModelError, match=r"Chain\.loads has two JointDamper"):
        Chain.uniform(2).with_loads(JointDamper(1.0), JointDamper(2.0))
    with pytest.raises(ModelError, match=r"must be a load"):
        Chain.uniform(2).with_loads(1.0)  # pyright: ignore


def test_values_of_a_load_for_each_link():
    chain = Chain.uniform(3, loads=[JointSpring([1.0, 2.0, 3.0], 0.5), FollowerForce(2.0)])
    assert chain.each(JointSpring, "stiffness").tolist() == [1.0, 2.0, 3.0]
    assert chain.each(JointSpring, "rest").tolist() == [0.5] * 3
    assert chain.each(JointDamper, "damping").tolist() == [0.0] * 3
    chain.each(JointSpring, "stiffness")[0] = 9.0
    assert chain.each(JointSpring, "stiffness")[0] == 1.0
    assert chain.load(FollowerForce) == FollowerForce(2.0)
    assert chain.load(TipForce) is None


def test_columns():
    links = [Link(1.0, 2.0, 0.1, 0.2, 0.3), Link(4.0, 5.0, 0.4, 0.5, 0.6)]
    chain = Chain(links)
    for name in ("length", "mass", "com", "offset", "inertia"):
        assert getattr(chain, name).tolist() == [getattr(link, name) for link in links]


@pytest.mark.parametrize(("angle", "inside"), [(0.0, 0.0), (math.pi, math.pi), (-math.pi, math.pi), (4.0, 4.0 - 2 * math.pi)])
def test_wrapped_angles(angle, inside):
    assert wrapped(angle) == pytest.approx(inside, abs=1e-15)
    assert wrapped([angle, angle + 6 * math.pi]).tolist() == pytest.approx([inside] * 2, abs=1e-14)


# A mass matrix that can be singular --------------------------------------------------------------------------------

BARE = Link(1.0, 0.0, 0.5, 0.0)
HINGED = Link(1.0, 1.0, 0.0, 0.0)  # a point mass on its own hinge
WHEEL = Link(1.0, 0.0, 0.5, 0.2)  # inertia without mass
ROD, POINT = Link.rod(1.0, 1.0), Link.point(1.0, 1.0)
BENT = Link(1.0, 1.0, 0.5, 0.0, 0.5)  # a point mass beside the link


@pytest.mark.parametrize(
    ("links", "named"),
    [
        ([BARE], 0),
        ([HINGED], 0),
        ([ROD, BARE], 1),
        ([BARE, POINT], 0),
        ([ROD, BARE, POINT], 1),
        ([BARE, BARE, ROD], 0),
        ([HINGED, POINT], 0),
        ([BARE, WHEEL, WHEEL], 0),
        ([BARE, POINT, ROD], 0),
        ([BARE, BENT], 0),
        ([BARE, BENT, POINT], 0),
        ([BARE, WHEEL, POINT], 0),
    ],
)
def test_chains_with_a_singular_mass_matrix_are_refused_by_link(links, named):
    with pytest.raises(
        ModelError, match=rf"^Chain\.links\[{named}\] makes the mass matrix singular: .*give it a mass away from the hinge"
    ):
        Chain(links)


@pytest.mark.parametrize(
    ("links", "why"),
    [([ROD, BARE], "nothing behind it"), ([BARE, POINT], "what hangs on it can swing without moving a mass")],
)
def test_the_refusal_says_why(links, why):
    with pytest.raises(ModelError, match=why):
        Chain(links)


@pytest.mark.parametrize(
    "links",
    [
        [POINT] * 3,
        [WHEEL] * 3,
        [BARE, ROD],
        [BARE, HINGED, ROD],
        [BARE, WHEEL, ROD],
        [WHEEL, WHEEL, POINT],
        [BARE, BENT, ROD],
        [HINGED, ROD],
        [HINGED, HINGED, ROD],
        [POINT, BARE, ROD],
        [BENT],
        [Link(1.0, 0.0, 0.0, 1e-12)],
    ],
)
def test_unusual_but_regular_chains_are_accepted(links):
    assert Chain(links).n == len(links)


def determinants(links, theta):
    """Return det M at many configurations (K, N), built from the Jacobians of the centres."""
    e = np.stack([np.sin(theta), -np.cos(theta)], -1)
    left = np.stack([np.cos(theta), np.sin(theta)], -1)
    n = len(links)
    M = np.zeros((len(theta), n, n))
    for j, link in enumerate(links):
        J = np.zeros((len(theta), n, 2))
        for i in range(j):
            J[:, i] = links[i].length * left[:, i]
        J[:, j] = link.com * left[:, j] - link.offset * e[:, j]
        M += link.mass * np.einsum("kix,kjx->kij", J, J)
        M[:, j, j] += link.inertia
    return np.linalg.det(M)


def smallest_determinant(links):
    """Search all relative angles for the smallest determinant: a grid with the aligned shapes, then downhill."""
    n = len(links)
    if n == 1:
        return float(determinants(links, np.zeros((1, 1)))[0])
    side = np.linspace(0, 2 * math.pi, 24, endpoint=False)
    grid = np.array([(0.0, *rest) for rest in itertools.product(side, repeat=n - 1)])
    values = determinants(links, grid)
    best = [float(values.min())]
    for k in np.argsort(values)[:3]:
        found = scipy.optimize.minimize(
            lambda phi: determinants(links, np.array([[0.0, *phi]]))[0],
            grid[k, 1:],
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-20, "maxiter": 400},
        )
        best.append(float(found.fun))
    return min(best)


def accepted(links):
    try:
        return bool(Chain(links))
    except ModelError as error:
        if "singular" not in str(error):
            raise
        return False


CENTRES = [(0.0, 0.0), (1.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5), (1.0, 0.5), (-0.5, 0.0)]
KINDS = [Link(1.0, 0.0, 0.5, inertia) for inertia in (0.0, 0.5)]
KINDS += [Link(1.0, 1.0, com, inertia, offset) for com, offset in CENTRES for inertia in (0.0, 0.5)]


@pytest.mark.parametrize("n", [1, 2])
def test_the_rule_is_that_of_brute_force(n):
    """Every chain of up to two links with zeros in mass, inertia, centre: refused exactly if some shape is singular."""
    verdicts = {accepted(list(links)) for links in itertools.product(KINDS, repeat=n)}
    assert verdicts == {True, False}
    for links in itertools.product(KINDS, repeat=n):
        least = smallest_determinant(list(links))
        assert accepted(list(links)) == (least > 1e-7), (links, least)


@settings(max_examples=120)
@given(st.lists(st.sampled_from(KINDS), min_size=3, max_size=3))
@example([BARE, BENT, POINT])
@example([BARE, WHEEL, ROD])
def test_the_rule_is_that_of_brute_force_for_three(links):
    least = smallest_determinant(links)
    assert accepted(links) == (least > 1e-7), least


def test_tables_in_a_chain():
    chain = Chain.uniform(2, loads=[JointTorque([Table([0.0, 1.0], [0.0, 1.0]), 2.0])])
    assert chain.load(JointTorque).torque == (Table((0.0, 1.0), (0.0, 1.0)), 2.0)
