"""What ensembles in space keep besides states: extremes, exponents; bodies side by side, and numbers of bodies that vary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_space import mixed_chain

from nlink import (
    DOP853,
    FTLE,
    Body,
    EnergyDrift,
    Extremes,
    Final,
    Gravity,
    Hinge,
    JointDamper,
    JointSpring,
    JointTorque,
    JointTorsion,
    Link,
    ModelError,
    Sine,
    SpatialChain,
    Taylor,
    ftle,
    simulate,
    simulate_many,
)
from nlink.ensemble.engines import side_by_side
from nlink.ensemble.varied import Varied
from nlink.formulations import formulate
from nlink.mechanics.space.tangents import frames

FINE = DOP853(1e-13, 1e-13)
LINES = SpatialChain([Link.rod(1.0, 1.0), Link.point(0.7, 0.5)])
BALLS = SpatialChain(
    [Link.rod(1.0, 1.0), Body.cylinder(0.8, 1.0, 0.1), Body.box(0.6, 1.0, 0.2, 0.3)],
    [JointSpring(1.0), JointTorsion((0.0, 0.0, 2.0)), JointDamper(0.1)],
)
DRIVEN = SpatialChain(
    [Body.box(0.6, 1.0, 0.25, 0.12, joint=Hinge((0.0, 0.0, 1.0))), *mixed_chain().links[1:]],
    [JointTorque((Sine(1.0, 0.7, 0.2), *(0.0,) * 5)), JointTorsion((3.0, 2.0, 1.0, 0.0, 0.0, 0.0))],
)


def poses(chain, members, seed=1):
    """Return wild poses of members."""
    rows = np.random.default_rng(seed).normal(size=(members, chain.size))
    for place in chain.places:
        if place.stop - place.start > 2:
            rows[:, place] /= np.linalg.norm(rows[:, place], axis=-1, keepdims=True)
    return [
        [row[place].tolist() if place.stop - place.start > 1 else float(row[place][0]) for place in chain.places] for row in rows
    ]


@pytest.mark.parametrize("chain", [BALLS, DRIVEN], ids=["balls", "any joints"])
def test_bodies_go_side_by_side(chain):
    starts, method = poses(chain, 18), DOP853(1e-12, 1e-12)
    assert side_by_side(formulate(chain), method, Varied(chain, None, 18))
    many = simulate_many(chain, starts, t_end=0.3, keep=(Final(), EnergyDrift()), integrator=method)
    assert not many["status"].any()
    assert many["energy_drift"].max() < 1e-8
    for k in (0, 17):
        run = simulate(chain, starts[k], t_end=0.3, save=(0.3,), integrator=method)
        np.testing.assert_allclose(many["direction"][k], run.direction[-1], atol=1e-10)
        np.testing.assert_allclose(many["rotation"][k], run.rotation[-1], atol=1e-10)
        np.testing.assert_allclose(many["omega"][k], run.omega[-1], atol=1e-9)


def test_numbers_of_bodies_vary():
    """Every number that a body has, against bodies that are made with them, side by side."""
    fields = {
        "mass": [1.0, 2.0], "length[2]": [0.5, 0.9], "com.x[2]": [0.1, -0.05], "com.y": [-0.3, -0.4], "com.z[3]": [0.0, 0.1],
        "inertia.xx[2]": [0.1, 0.12], "inertia.yy[2]": [0.05, 0.06], "inertia.zz[2]": [0.11, 0.1], "inertia.xy[2]": [0.01, 0.0],
        "inertia.xz[3]": [0.004, 0.001], "inertia.yz[3]": [0.0, 0.002], "inertia[1]": [0.1, 0.2], "com[1]": [0.4, 0.6],
        "gravity": [9.0, 8.0],
    }  # fmt: skip
    starts, box = poses(BALLS, 2), BALLS.links[2].inertia
    assert side_by_side(formulate(BALLS), FINE, Varied(BALLS, fields, 2))
    many = simulate_many(BALLS, starts, t_end=0.3, vary=fields, keep=(Final(), EnergyDrift()), integrator=FINE)
    for k in range(2):
        value = {name: values[k] for name, values in fields.items()}
        mass, y, xy, xz, yz = (value[name] for name in ("mass", "com.y", "inertia.xy[2]", "inertia.xz[3]", "inertia.yz[3]"))
        xx, yy, zz = (value[f"inertia.{name}[2]"] for name in ("xx", "yy", "zz"))
        second = Body(value["length[2]"], mass, (value["com.x[2]"], y, 0.0), [(xx, xy, 0.0), (xy, yy, 0.0), (0.0, 0.0, zz)])
        tensor = [(box[0][0], 0.0, xz), (0.0, box[1][1], yz), (xz, yz, box[2][2])]
        links = Link(1.0, mass, value["com[1]"], value["inertia[1]"]), second, Body(0.6, mass, (0.0, y, value["com.z[3]"]), tensor)
        chain = SpatialChain(links, BALLS.loads).with_loads(Gravity(value["gravity"]))
        run = simulate(chain, starts[k], t_end=0.3, integrator=FINE)
        np.testing.assert_allclose(many["direction"][k], run.direction[-1], atol=1e-10)
        np.testing.assert_allclose(many["omega"][k], run.omega[-1], atol=1e-9)
        assert many["energy_drift"][k] < 1e-9


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"inertia.xx[2]": [0.055, 9.0]}, "vary: member 1: Body.inertia is one that no body can have"),
        ({"inertia.yy[2]": [0.1, 0.0], "com[1]": [0.5, 0.5]}, "vary: member 1: SpatialChain.links.1. has no inertia about an axis"),
        ({"com.x[1]": [0.0, 0.1]}, "link 1 is a line, which has no com.x; use a Body"),
        ({"inertia[2]": [0.1, 0.1]}, "link 2 is a Body, which has no single inertia; vary inertia.xx, inertia.xy"),
        ({"offset": [0.0, 0.1]}, "every link is a line, which has no offset; use a Body"),
        ({"mass": [1.0, 1.0], "com.x": [0.0]}, "must give a value for each of the 2 members"),
        ({"com.u": [0.0, 0.0]}, "vary does not know 'com.u'; did you mean com"),
    ],
)
def test_what_does_not_vary_is_refused(vary, message):
    with pytest.raises(ModelError, match=message):
        simulate_many(SpatialChain(BALLS.links[:2]), [[0.1, 0.2]] * 2, t_end=0.1, vary=vary)


def test_extremes_of_a_pendulum_in_a_plane():
    """Released at rest it is as far up as ever, and passes the bottom with the speed of its fall."""
    chain = SpatialChain.uniform(1, length=0.5, shape="point")
    for t_end in (2.0, -2.0):
        many = simulate_many(chain, [[(1.2, 0.7)]], t_end=t_end, keep=Extremes(), integrator=Taylor(1e-13))
        fall = math.sqrt(2 * 9.81 * 0.5 * (1 - math.cos(1.2)))
        for name, value in {"largest_inclination": 1.2, "largest_speed": fall, "largest_omega": 2 * fall}.items():
            assert many[name].item() == pytest.approx(value, abs=1e-9), name
        for name in ("least_inclination", "least_omega", "least_speed"):
            assert many[name].item() < 3e-8, name
        assert (many["largest_speed"].units, many["least_inclination"].units) == ("m/s", "rad")


@pytest.mark.parametrize("method", [Taylor(1e-13), DOP853(1e-12, 1e-12)], ids=["series", "stages"])
def test_extremes_in_lanes_are_those_of_runs(method):
    starts, rates = poses(LINES, 18), np.random.default_rng(2).normal(size=(18, 2, 3))
    many = simulate_many(LINES, starts, rates, t_end=1.0, keep=Extremes(), integrator=method)
    one = simulate_many(LINES, starts, rates, t_end=1.0, keep=Extremes(), integrator="RK45(rtol=1e-10, atol=1e-10)")
    for name in Extremes().kept(LINES):
        np.testing.assert_allclose(many[name], one[name], atol=2e-6 if "least" in name else 1e-7, err_msg=name)


def test_extremes_of_bodies():
    """A cylinder that turns steadily about its axis, which is level: its end moves, and the rest of its turning is constant."""
    spin = simulate_many(
        SpatialChain([Body.cylinder(0.5, 1.0, 0.1)], [Gravity(0.0)]), [[(1.0, 0.0, 0.0)]], [[(3.0, 4.0, 0.0)]], t_end=1.0,
        keep=Extremes(),
    )  # fmt: skip
    run = simulate(SpatialChain([Body.cylinder(0.5, 1.0, 0.1)], [Gravity(0.0)]), [(1.0, 0.0, 0.0)], [(3.0, 4.0, 0.0)], t_end=1.0)
    assert spin["largest_inclination"].item() == pytest.approx(run.inclination.max(), abs=1e-4)
    for which in ("least", "largest"):
        assert spin[f"{which}_omega"].item() == pytest.approx(5.0, abs=1e-7)
        assert spin[f"{which}_speed"].item() == pytest.approx(2.0, abs=1e-7)


@pytest.mark.parametrize("method", [Taylor(1e-15, 16), FINE], ids=["series", "stages"])
def test_exponents_of_lines_are_those_of_one_start(method):
    starts, rates = poses(LINES, 3), np.random.default_rng(3).normal(size=(3, 2, 3))
    found = simulate_many(LINES, starts, rates, t_end=1.5, keep=FTLE(), integrator=method).ftle.values
    alone = [ftle(LINES, *each, 1.5).exponent for each in zip(starts, rates, strict=True)]
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-9)


def test_exponents_of_bodies_are_the_stretching_of_neighbours():
    """Against differences of runs, turned and pushed in every way that the bodies allow."""
    chain, t, h = BALLS, 0.5, 1e-5
    (pose,) = poses(chain, 1)
    position, velocity = chain.start(pose, [(0.5, 1.0, 0.2)] * 3)
    found = ftle(chain, pose, [(0.5, 1.0, 0.2)] * 3, t)

    def end(state):
        run = simulate(chain, state=state, t_end=t, save=(t,), integrator=FINE)
        return np.concatenate([run.position[-1], run.velocity[-1]])

    start = np.concatenate([position, velocity])
    columns = [(end(start + h * way) - end(start - h * way)) / (2 * h) for way in frames(chain, position, velocity).T]
    sizes = np.linalg.svd(np.array(columns).T, compute_uv=False)
    assert len(found.singular_values) == 16
    np.testing.assert_allclose(found.singular_values, sizes, rtol=1e-6, atol=1e-9)
    assert found.exponent == pytest.approx(math.log(sizes[0]) / t, abs=1e-7)
    many = simulate_many(chain, [pose], [[(0.5, 1.0, 0.2)] * 3], t_end=t, keep=(FTLE(), Extremes()))
    assert many["ftle"].item() == pytest.approx(found.exponent, abs=1e-9)


def test_a_chain_that_hangs_still_swings_and_does_not_part():
    """Its motion allows steps of any length: deviations set them."""
    found = simulate_many(LINES, [[0.0, 0.0]], t_end=20.0, keep=FTLE(), integrator=Taylor(1e-14))
    assert found.ftle.item() == pytest.approx(ftle(LINES, [0.0, 0.0], t=20.0).exponent, abs=1e-8)
