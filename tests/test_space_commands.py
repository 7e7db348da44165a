"""Commands on chains in space: they work, or one sentence says what to use."""

from __future__ import annotations

import json

import numpy as np
import pytest

import nlink
from nlink import ModelError, Scenario, Settings, SpatialChain, simulate
from nlink.analysis.space_modes import space_modes
from nlink.analysis.trust import parted
from nlink.cli.codes import BAD_MODEL
from nlink.mechanics.space.rows import turned_further
from nlink.mechanics.space.turning import steady_turning

PRESETS = [name for name in nlink.presets() if nlink.preset(name).chain.spatial]
EVENT = "in Python give nlink.simulate an Event where the motion crosses the section"
STARTS = "in Python give its starts to nlink.simulate_many"
FLAT = "takes chains in the plane, not in space; "
REFUSED = {
    "derive {}": "{} moves in space, and equations are derived for chains in the plane; give a number of links, or simulate it",
    "live {} -o live.html": "a live page takes chains in the plane, not in space; give the run to animate",
    "poincare {} --until 1": "{} moves in space, and sections are taken of chains in the plane; " + EVENT,
    "map flip {} -o map.png": "{} moves in space, and maps are drawn of chains in the plane; " + STARTS,
    "stability {} --vary gravity --from 9 --to 10": "critical_load " + FLAT + "simulate a small motion at each load",
    "run {} --integrator Gauss": "Gauss takes chains in the plane, not in space; use Rattle, DOP853 or Taylor",
    "run {} --formulation lagrange": "lagrange takes chains in the plane, not in space; use recursive or natural",
    "run {} --set run.flips=stop": "{}: run.flips takes chains in the plane, not in space; give run.flips = 'off'",
}


@pytest.mark.parametrize("name", PRESETS)
def test_show_says_what_it_is_and_a_short_run_is_kept(call, name, tmp_path):
    code, out, err = call(f"show {name}")
    assert (code, err) == (0, "")
    assert "in space" in out
    assert "seen from the front" in out
    code, out, err = call(f"show {name} --toml")
    (tmp_path / "model.toml").write_text(out)
    assert Scenario.load(tmp_path / "model.toml").to_dict() == nlink.preset(name).to_dict()
    code, out, err = call(f"run {name} --until 0.1 -o run.nc")
    assert (code, err) == (0, "")
    run = nlink.load(tmp_path / "run.nc")
    assert run.status.code == "finished"
    assert f"{run.stats.steps:,}" in out


def test_a_run_goes_on_is_exported_and_shown(call, tmp_path):
    assert call("run spiral-5 --links 3 --until 0.2 --set loads.joint_damper=0.1 -q")[0] == 0
    code, out, _ = call("run --resume spiral-5.nc --until 0.4 --json")
    assert code == 0
    assert json.loads(out)["t"] == 0.4
    whole = nlink.load(tmp_path / "spiral-5.nc")
    assert whole.chain.n == 3
    assert "links = 3" in whole.scenario.title
    code, out, _ = call("export spiral-5.nc")
    assert out.splitlines()[0].startswith("t [s],ex_1,ey_1,ez_1,")
    assert float(out.splitlines()[-1].split(",")[1]) == whole.direction[-1, 0, 0]
    code, out, _ = call("export spiral-5.nc inclination azimuth tensions")
    assert out.splitlines()[0].endswith("tension_1 [N],tension_2 [N],tension_3 [N]")
    code, _, err = call("export spiral-5.nc theta")
    assert (code, err) == (
        BAD_MODEL,
        "nlink: a chain in space has directions, not angles: use direction, inclination and azimuth\n",
    )
    code, out, _ = call("show spiral-5.nc")
    assert "finished" in out or "reached" in out


def test_bodies_joints_and_rotors_are_listed(call, tmp_path):
    joint = "{ universal = [[1, 0, 0], [0, 0, 1]] }"
    (tmp_path / "two.toml").write_text(f'space = true\nlinks = 2\nshape = "cylinder"\nradius = 0.1\njoint = {joint}\n')
    code, out, _ = call("show two.toml")
    assert code == 0
    assert "  joint 2: universal, about (1, 0, 0), then (0, 0, 1)" in out
    assert "1-2  body         1        1  (0, -0.5, 0)" in out
    assert "  rotor in link 3: 2 kg m2/s" in call("show gyro-3")[1]


@pytest.mark.parametrize(("line", "said"), REFUSED.items())
def test_what_is_refused_names_what_to_use(call, line, said):
    code, out, err = call(line.format("cone-2"))
    assert (code, out) == (BAD_MODEL, "")
    assert err == f"nlink: {said.format('cone-2')}\n"


def test_modes_about_hanging_come_twice(call):
    found = nlink.modes(SpatialChain.uniform(3))
    flat = nlink.modes(nlink.Chain.uniform(3))
    np.testing.assert_allclose([mode.frequency for mode in found], np.repeat([mode.frequency for mode in flat], 2), rtol=1e-11)
    assert found[0].shape.shape == (3, 3)
    code, out, _ = call("modes cone-2")
    assert code == 0
    assert out.count("2.68011") == 2
    assert out.count("7.18867") == 2
    code, out, _ = call("modes cone-2 --from start --json")
    data = json.loads(out)
    assert data["stable"]
    assert [mode["word"] for mode in data["modes"]] == ["neutral", "stable", "stable", "stable"]
    assert call("modes spiral-5 --from start")[2].startswith("nlink: modes are about rest or steady turning round the vertical")


def test_modes_about_a_conical_pendulum_and_a_sleeping_top():
    """A conical pendulum nods at W sqrt(1 + 3 cos^2); an upright top is stable beyond its rate."""
    point, rate = SpatialChain.uniform(1, shape="point"), np.sqrt(9.81 / np.cos(1.0))
    nod = space_modes(point, [1.0], [(0.0, rate, 0.0)])[-1].frequency
    assert nod == pytest.approx(rate * np.sqrt(1 + 3 * np.cos(1.0) ** 2), rel=1e-10)
    top = SpatialChain([nlink.Body(0.2, 1.5, (0, -0.1, 0), (0.004, 0.006, 0.004))])
    growth = {w: max(mode.growth for mode in space_modes(top, [np.pi], [(0.0, w, 0.0)])) for w in (55.7, 55.78)}
    assert growth[55.7] > 0.1
    assert growth[55.78] < 1e-5


def test_a_small_motion_about_steady_turning_is_a_sum_of_its_modes():
    chain, turning = SpatialChain.uniform(2), [(0.0, 4.0, 0.0)] * 2
    theta = steady_turning(chain, 4.0)
    modes = space_modes(chain, theta, turning)[1:]
    run = simulate(chain, theta + 1e-5, turning, t_end=20.0, save=0.01, rtol=1e-13, atol=1e-13)
    change = run.inclination - theta
    waves = [wave(mode.frequency * run.t) for mode in modes for wave in (np.cos, np.sin)]
    basis = np.column_stack([*waves, np.ones_like(run.t)])
    fit, *_ = np.linalg.lstsq(basis, change, rcond=None)
    assert np.abs(change - basis @ fit).max() < 1e-3 * np.abs(change).max()
    assert all(np.abs(mode.shape).max() == pytest.approx(1.0) for mode in modes)


def test_modes_refuse_what_is_not_steady():
    chain = SpatialChain.uniform(2)
    with pytest.raises(ModelError, match=r"neither; start\.shape = 'cone' finds it"):
        space_modes(chain, [0.1, 0.2])
    with pytest.raises(ModelError, match="up to 200 links, got 201"):
        space_modes(SpatialChain.uniform(201))
    with pytest.raises(ModelError, match="leave omega out"):
        nlink.modes(nlink.Chain.uniform(2), omega=0.5)


def test_compare_and_trust_take_chains_in_space(call):
    scenario = Scenario(SpatialChain.uniform(2), [(1.5, 0.2), (2.0, 1.0)], [(0, 1, 0), (0, 0.5, 0.3)], Settings(t_end=2.0))
    found = nlink.compare(scenario)
    assert {row.formulation for row in found.rows} == {"recursive", "natural"}
    assert all(row.largest is not None and row.largest < 1e-6 for row in found.rows)
    assert found.trusted_until == nlink.trusted_until(scenario) == 2.0
    loose = simulate(scenario.chain, scenario.theta, scenario.omega, t_end=2.0, integrator="RK4(step=0.02)", strict=False)
    assert nlink.trusted_until(loose) < 2.0
    code, out, _ = call("compare cone-2 --until 0.5")
    assert code == 0
    assert "natural" in out


def test_motions_part_by_angles_between_directions_and_rotations():
    chain = SpatialChain([nlink.Link.rod(1, 1), nlink.Body.cylinder(1, 1, 0.1)])
    c, _ = chain.start([0.3, (1.0, 0.0, 0.0, 0.0)])
    d, _ = chain.start([0.3 + 1e-3, (np.cos(0.1), 0.0, np.sin(0.1), 0.0)])
    assert parted(chain, c[None], c[None])[0] == 0.0
    assert parted(chain, c[None], d[None])[0] == pytest.approx(0.2)
    e = d.copy()
    e[3:] *= -1
    assert parted(chain, d[None], e[None])[0] == 0.0
    d[3:] = c[3:]
    assert parted(chain, c[None], d[None])[0] == pytest.approx(1e-3)


def test_starts_can_be_turned_a_little_further():
    chain = SpatialChain([nlink.Link.rod(1, 1), nlink.Body.cylinder(1, 1, 0.1)])
    scenario = Scenario(chain, [(1.0, 0.5), (np.cos(0.2), 0.0, np.sin(0.2), 0.0)], 1.0)
    pose, omega = turned_further(chain, scenario.theta, scenario.omega, [1.1, 2.0])
    moved = Scenario(chain, pose, omega)
    run, other = (simulate(chain, each.theta, each.omega, t_end=1e-3) for each in (scenario, moved))
    assert other.inclination[0, 0] == pytest.approx(1.1)
    assert other.azimuth[0, 0] == pytest.approx(run.azimuth[0, 0])
    np.testing.assert_allclose(other.rotation[0, 1], [np.cos(0.4), 0.0, np.sin(0.4), 0.0])
    assert omega[1] == (0.0, 0.0, 2.0)
