"""Runs of mechanisms: files, resumption, streaming, tables of numbers, and what is said of sliders."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import linkages
import numpy as np
import pytest
import xarray
from helpers import check_same
from typer.testing import CliRunner

import nlink
from nlink import (
    GROUND,
    At,
    Chain,
    Distance,
    Drag,
    Flip,
    Gear,
    Guide,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    Mechanism,
    ModelError,
    Pin,
    PointForce,
    PointSpring,
    Ramp,
    Scenario,
    Settings,
    Sine,
    Slider,
    Spline,
    Table,
    TipForce,
)
from nlink.cli import app
from nlink.cli.common import put
from nlink.mechanics import kinematics
from nlink.run.table import columns
from nlink.view.words import scenario_lines


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    """A cart, driven by a sine, with two rods and a spring; the cart passes pi m, and a rod turns over."""
    bodies = (
        Slider(2.0),
        Link.rod(1.0, 1.0),
        Slider(0.5, direction=1.0),
        Link.rod(0.8, 0.6).on(1, 0.5).with_motion(Sine(0.5, 1.0)),
    )
    spring = PointSpring(At(3), (4.0, 1.0), 5.0, 0.5, 0.1)
    settings = Settings(t_end=2.0, save=0.1, integrator="DOP853(rtol=1e-8, atol=1e-8)")
    return Scenario(Mechanism(bodies, (spring,)), (3.0, 2.0, 0.2, 0.0), (4.0, 6.0, 0.0, 0.0), settings, "A cart")


@pytest.fixture(scope="module")
def run(scenario) -> nlink.Run:
    return scenario.run()


def test_a_run_comes_back_from_its_file(run, tmp_path):
    run.save(tmp_path / "run.nc")
    back = nlink.load(tmp_path / "run.nc")
    check_same(back, run)
    assert list(back.work) == list(run.work) == ["motion", "point_spring"]
    assert back.chain == run.chain
    assert back.scenario.settings.formulation == "Recursive()"
    assert back.meta["formulation"] == "recursive"
    assert repr(back).startswith("<Run of 2 links and 2 sliders to 2 s")


def test_a_resumed_run_is_the_whole_run(scenario, run, tmp_path):
    half = Scenario(scenario.chain, scenario.theta, scenario.omega, Settings(1.03, 0.1, integrator=scenario.settings.integrator))
    half.run(file=tmp_path / "half.nc")
    whole = nlink.load(tmp_path / "half.nc").resume(2.0, file=tmp_path / "whole.nc")
    check_same(whole, run)


def test_a_streamed_run_is_the_run_in_memory(scenario, run, tmp_path):
    check_same(scenario.run(file=tmp_path / "run.nc"), run)


def test_xarray_knows_the_sliders(run, tmp_path):
    run.save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as data:
        assert data.kind.values.tolist() == [1, 0, 1, 0]
        assert "units" not in data.theta.attrs
        assert data.omega.attrs["long_name"] == "angular velocity of a link in rad/s; speed of a slider in m/s"
        assert data.attrs["nlink_format"] == 3
        assert data.kinetic.attrs["units"] == "J"
    assert run.to_xarray().kind.values.tolist() == [1, 0, 1, 0]


def test_chains_are_written_as_before(tmp_path):
    nlink.simulate(Chain.uniform(1), 0.5, t_end=0.1).save(tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc") as file:
        assert file.attrs["nlink_format"] == 2
        assert "kind" not in file
        assert file["theta"].attrs["units"] == "rad"


@pytest.fixture(scope="module")
def closed() -> Scenario:
    """A driven four-bar with all kinds of closures, motions and loads; two freedoms are left."""
    rod = Link.rod(1.0, 1.0)
    bodies = [
        rod.with_motion(Sine(0.2, 1.0), Ramp(1.0, 0.3), Spline((0.0, 1.0, 2.0), (0.0, 0.1, 0.0))),
        Link.rod(3.0, 2.0),
        Link.rod(2.5, 2.0).on(GROUND, (2.5, 0.0)),
        rod.on(1, (1.5, 0.2)),
        Link(0.8, 0.7, 0.3, 0.05, 0.1).on(2, 1.0),
        rod.on(4),
        rod.on(GROUND, (4.0, 0.0)),
        Slider(0.5, direction=0.3).on(3, 0.5),
    ]
    pins = [Pin(At(1), At(2)), Guide(At(3), (0.0, -1.2), 0.1), Distance(At(4), (4.5, -1.0)), Gear(6, 2, -2.0)]
    loads = [
        PointSpring(At(7), At(5, 0.5, 0.1), 20.0, 0.5, 0.2),
        PointForce(At(3, 0.2), 1.0, -2.0),
        TipForce(0.5, 0.5, link=6),
        JointDamper(0.05),
        JointSpring((0.0,) * 7 + (50.0,)),
        JointTorque((0.0, 0.0, Sine(0.5, 1.0), 0.0, 0.0, Table((0.0, 0.5, 2.0), (0.0, 0.3, 0.0)), 0.0, 0.0)),
        Drag(0.02, 0.01),
    ]
    model = Mechanism(bodies, loads, pins)
    near = [1.0, 0.95, 0.35, 0.9, 0.9, 0.4, 0.0, 0.1]
    theta = nlink.assemble(model.as_assembled(near), near).theta
    settings = Settings(t_end=1.0, save=0.1, integrator="DOP853(rtol=1e-8, atol=1e-8)")
    return Scenario(model.as_assembled(theta), tuple(theta), (0.3, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0), settings, "All closures")


@pytest.fixture(scope="module")
def closed_run(closed) -> nlink.Run:
    return closed.run()


def test_a_run_with_every_closure_motion_and_load_comes_back_from_its_file(closed, closed_run, tmp_path):
    assert closed.chain.freedom == 2
    closed_run.save(tmp_path / "run.nc")
    back = nlink.load(tmp_path / "run.nc")
    check_same(back, closed_run)
    assert back.chain == closed.chain
    assert np.array_equal(back.reactions(), closed_run.reactions())
    assert np.ptp(closed_run.theta, axis=0).min() > 1e-3  # all bodies move
    assert np.abs(closed_run.energy().residual).max() < 1e-6
    assert closed_run.violation().max() < 1e-10
    with h5py.File(tmp_path / "run.nc") as file:
        assert file.attrs["nlink_format"] == 3


def test_a_resumed_or_streamed_run_of_a_closed_mechanism_is_the_whole_one(closed, closed_run, tmp_path):
    check_same(closed.run(file=tmp_path / "run.nc"), closed_run)
    settings = replace(closed.settings, t_end=0.57)
    replace(closed, settings=settings).run(file=tmp_path / "half.nc")
    whole = nlink.load(tmp_path / "half.nc").resume(1.0, file=tmp_path / "whole.nc")
    check_same(whole, closed_run)
    check_same(nlink.load(tmp_path / "whole.nc"), closed_run)


def test_bars_and_gears_that_are_not_given_are_written_as_assembled(closed, tmp_path):
    pins = (*closed.chain.pins[:2], replace(closed.chain.pins[2], length=None), replace(closed.chain.pins[3], offset=None))
    loose = replace(closed, chain=replace(closed.chain, pins=pins), settings=replace(closed.settings, t_end=0.1))
    loose.run(file=tmp_path / "run.nc")
    written = nlink.load(tmp_path / "run.nc").chain
    assert written.pins[2].length == pytest.approx(closed.chain.pins[2].length, rel=1e-14)
    assert written.pins[3].offset == pytest.approx(closed.chain.pins[3].offset, rel=1e-14)


def test_only_links_turn_over(scenario, run):
    assert np.abs(run.theta[:, 0]).max() > np.pi
    assert {event.info["link"] for event in run.events} == {1}
    watched = nlink.simulate(
        scenario.chain, scenario.theta, scenario.omega, t_end=0.3, integrator="Scipy(method='RK45')", events=[Flip()]
    )
    assert {event.info["link"] for event in watched.events} == {1}
    with pytest.raises(ModelError, match=r"Flip\.link must be a link, got 2, a slider"):
        nlink.simulate(scenario.chain, scenario.theta, t_end=0.1, events=[Flip(2)])


def test_displacements_are_not_warned_about():
    cart = Mechanism([Slider(2.0), Link.rod(1.0, 1.0)])
    nlink.simulate(cart, [90.0, 0.5], t_end=0.02, integrator="DOP853")
    with pytest.warns(UserWarning, match="theta: 90 rad is 14"):
        nlink.simulate(cart, [0.5, 90.0], t_end=0.02, integrator="DOP853")


def test_columns_are_named_after_what_they_hold(run, tmp_path):
    run.save(tmp_path / "run.nc")
    done = CliRunner().invoke(app, ["export", str(tmp_path / "run.nc"), "theta", "omega", "alpha", "-o", str(tmp_path / "run.csv")])
    assert done.exit_code == 0, done.output
    with Path(tmp_path / "run.csv").open() as file:
        head, *rows = csv.reader(file)
    assert head[:5] == ["t [s]", "s_1 [m]", "theta_2 [rad]", "s_3 [m]", "theta_4 [rad]"]
    assert head[5:9] == ["v_1 [m/s]", "omega_2 [rad/s]", "v_3 [m/s]", "omega_4 [rad/s]"]
    assert head[9:] == ["a_1 [m/s^2]", "alpha_2 [rad/s^2]", "a_3 [m/s^2]", "alpha_4 [rad/s^2]"]
    assert np.array_equal(np.array(rows, float)[:, 1:5], run.theta)


def test_a_mechanism_that_is_a_chain_runs_as_one(tmp_path):
    rods = [Link.rod(1.0, 1.0)] * 3
    settings = Settings(t_end=0.1, integrator="DOP853")
    one = Scenario(Mechanism(rods, pins=(Pin(At(2), (1.0, 0.0)),)), (3.1, 1.57, 0.04), settings=settings).run()
    other = Scenario(Chain(rods, pin=(1.0, 0.0)), (3.1, 1.57, 0.04), settings=settings).run()
    check_same(one, other)
    assert one.chain == other.chain
    assert np.array_equal(one.reactions(), other.reactions())


def told(bodies, loads=(), pins=()) -> dict[str, str]:
    """Return a mechanism in words."""
    model = Mechanism(bodies, loads, pins)
    return dict(scenario_lines(Scenario(model, (0.0,) * model.n)))


def test_a_mechanism_in_words():
    rod, bob = Link.rod(1.0, 1.0), Slider(2.0)
    assert told([bob, rod, rod])["system"] == "a cart and 2 links, 2 m and 4 kg in all"
    assert told([rod, bob.on(0, 0.5)])["system"] == "1 slider and 1 link, 1 m and 3 kg in all"
    assert dict(scenario_lines(nlink.preset("floating-3")))["system"].startswith("3 links afloat, ")
    driven = told([Slider().with_motion(Sine(0.02, 40.0, 0.0, 0.1), Ramp(0.0, 2.0)), rod])
    assert driven["driven"] == "body 1 moves as 0.02 sin(2 pi 40 t + 0) + 0.1 + 0 + 2 t"
    spring = PointSpring(At(0, 0.5, 0.1), (2.0, 1.0), 5.0, 0.5, 0.2)
    assert told([rod] * 3, (), [Pin(At(2), (1.0, 0.0))])["system"] == "3 links, 1 loop, 1 freedom, 3 m and 3 kg in all"
    closed = told(
        [rod, rod, bob.on(GROUND), rod],
        [spring, PointForce(At(3), 1.0, 2.0), TipForce(1.0, 0.0, link=1)],
        [Pin(At(1), At(2)), Guide(At(3), (1.0, 0.0), math.pi / 2), Distance(At(0), (3.0, 0.0)), Gear(0, 1, 2.0)],
    )
    assert closed["system"] == "1 slider and 3 links, 3 loops, 5 rows of constraints, 3 m and 5 kg in all"
    assert closed["pins"] == (
        "the tip of body 2 on the tip of body 3; the tip of body 4 on a line through (1, 0) m at 90 deg; "
        "the tip of body 1 on a bar from (3, 0) m; body 1 geared to body 2 by 2"
    )
    assert closed["loads"] == (
        "gravity 9.81; tip force fx 1 at body 2; spring of 5 N/m and 0.5 m, damping 0.2 between body 1 at 0.5 m, 0.1 m to its left "
        "and (2, 1) m; force of (1, 2) N at the tip of body 4"
    )


def test_words_count_freedom_by_the_rank_at_the_start():
    def said(model: Mechanism, theta: Any) -> str:
        return dict(scenario_lines(Scenario(model, tuple(theta))))["system"].partition(" m and")[0]

    rod = Link.rod(1.0, 1.0)
    rockers = [rod.on(GROUND, (x, 0.0)) for x in (0.0, 0.5, 1.0)]
    parallel = Mechanism([*rockers, rod.on(0)], pins=[Pin(At(3, 0.5), At(1)), Pin(At(3), At(2))])
    assert said(parallel, [3.0, 3.0, 3.0, math.pi / 2]) == "4 links, 2 loops, 1 freedom, 1 spare row, 4"
    assert said(parallel, [0.0] * 4) == "4 links, 2 loops, 1 freedom, 1 spare row, 4"  # not closed there: anywhere
    driven = Mechanism([parallel.links[0].with_motion(Ramp(3.0, 1.0)), *parallel.links[1:]], pins=parallel.pins)
    assert said(driven, [3.0, 3.0, 3.0, math.pi / 2]) == "4 links, 2 loops, driven, 1 spare row, 4"
    held = Mechanism([rod, rod], pins=[Pin(At(1), (1.0, 0.0)), Pin(At(0), (0.5, -math.sqrt(0.75)))])
    assert said(held, [math.pi / 6, 5 * math.pi / 6]).startswith("2 links, 2 loops, 0 freedoms")
    apart = Mechanism([rod, rod], pins=Distance(At(1), (5.0, 0.0), 1.0))
    assert said(apart, [0.5, 0.5]) == "2 links, 1 loop, 1 row of constraints, 2"


def test_show_says_where_bodies_hang_and_draws_them(tmp_path):
    model = "[[links]]\n[[links]]\nparent = 0\nat = 0.5\n[[links]]\nkind = 'slider'\nmass = 1\nparent = -1\nat = [2.0, 0.0]\n"
    (tmp_path / "m.toml").write_text(model + '[start]\ntheta = ["90 deg", 0, "-50 cm"]')
    done = CliRunner().invoke(app, ["show", str(tmp_path / "m.toml")])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    rows = [line.split() for line in lines if line.split()[:1] in (["1"], ["2"], ["3"])]
    assert rows[0][:4] == ["1", "link", "ground", "0,"]
    assert rows[1][1:4] == ["link", "1", "0.5"]
    assert rows[2][1:5] == ["slider", "ground", "2,", "0"]
    assert rows[2][-4:] == ["-0.5", "m", "0", "m/s"]
    assert "at the start (+ ground, # slider, o hinge, O free end):" in done.output
    assert "    +................o        #.......+" in lines


def test_derive_refuses_mechanisms_by_name(tmp_path):
    done = CliRunner().invoke(app, ["derive", "tree-5"])
    assert done.exit_code != 0
    assert "tree-5 is a mechanism, and equations are derived for chains" in str(done.exception or done.output)


def test_a_body_is_changed_by_its_number():
    table: dict[str, Any] = {"links": [{}, {"mass": 2.0}], "loads": {}}
    put(table, "links[1].mass", 3.0)
    put(table, "links[0].motion.rate", 1.0)
    assert table["links"] == [{"motion": {"rate": 1.0}}, {"mass": 3.0}]
    with pytest.raises(ModelError, match=r"--set 'links\[2\]\.mass': the model has 2 links, from 0 to 1"):
        put(table, "links[2].mass", 3.0)
    with pytest.raises(ModelError, match=r"--set 'loads\[0\]\.mass': 'loads' is not a list of tables in this model"):
        put(table, "loads[0].mass", 3.0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: nlink.chaos_map(m), "chaos_map takes chains, not mechanisms; simulate it from each start"),
        (lambda m: nlink.poincare(m, [[0.0, 0.0]], t_end=1.0), "poincare takes chains, not mechanisms; give simulate an Event"),
        (lambda m: nlink.on_energy(m, 1.0, [0.0, 0.0]), "on_energy takes chains, not mechanisms; choose the rates by hand"),
        (lambda m: nlink.starts_on_energy(m, 1.0, 2), "starts_on_energy takes chains, not mechanisms; draw starts by hand"),
        (lambda m: nlink.lqr(m), "lqr takes chains, not mechanisms; give simulate a torque function of the state"),
        (lambda m: Scenario(m, (0.0, 0.0)).live(), "a live page takes chains, not mechanisms; simulate it and play the run"),
        (lambda m: nlink.formulate(m, "maximal"), "maximal takes chains, not mechanisms; use recursive or projection"),
    ],
)
def test_what_takes_chains_only_says_what_to_do_instead(call, said):
    with pytest.raises(ModelError, match="^" + re.escape(said)):
        call(Mechanism([Slider(2.0), Link.rod(1.0, 1.0)]))


@pytest.mark.parametrize("linkage", [linkages.four_bar, linkages.slider_crank, linkages.peaucellier, linkages.andrews])
def test_the_forces_of_a_run_of_a_closed_mechanism_balance_each_body(linkage):
    model, start = linkage()
    run = nlink.simulate(model, start, t_end=0.02, save=0.004)
    model, forces, centres = run.chain, run.reactions(), run.centres()
    assert forces.shape == (6, model.n + len(model.pins), 2)
    along, left = model.levers
    net = -model.mass[:, None] * kinematics.centre_accelerations(model, run.theta, run.omega, run.alpha)
    net += kinematics.forces(model, run.theta, run.omega)
    torque = model.load(JointTorque)
    turning = np.tile(np.asarray(torque.torque if torque else np.zeros(model.n), float), (6, 1))
    turning -= model.inertia * run.alpha

    def pull(body: int, point: Any, force: np.ndarray) -> None:
        arm = run.points(point)[:, 0] - centres[:, body]
        net[:, body] += force
        turning[:, body] += arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]

    for i, parent in enumerate(model.parents.tolist()):
        pull(i, At(i, 0.0), forces[:, i])
        if parent >= 0:
            pull(parent, At(parent, along[i], left[i]), -forces[:, i])
    for pin, force in zip(model.pins, forces[:, model.n :].swapaxes(0, 1), strict=True):
        pull(pin.a.link, pin.a, force)
        pull(pin.b.link, pin.b, -force)
    for load in model.loads:
        if isinstance(load, PointSpring):
            force = kinematics.forces(model, run.theta, run.omega)[:, load.a.link]  # no gravity, no other force
            arm = run.points(load.a)[:, 0] - centres[:, load.a.link]
            turning[:, load.a.link] += arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]
    size = np.abs(forces).max()
    np.testing.assert_allclose(net, 0.0, atol=1e-9 * size)
    links = ~model.slides
    np.testing.assert_allclose(turning[:, links], 0.0, atol=1e-9 * size * model.length.max())
    assert list(columns(run, ["reactions"]))[-2:] == [f"rx_pin_{len(model.pins)} [N]", f"ry_pin_{len(model.pins)} [N]"]
