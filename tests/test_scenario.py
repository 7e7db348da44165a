"""Model files: every key, every refusal, and the way there and back."""

from __future__ import annotations

import math
import re
import tomllib

import numpy as np
import pytest
from helpers import angles, chains, rates
from hypothesis import given
from hypothesis import strategies as st

import nlink
from nlink import Chain, Gravity, JointTorque, Link, ModelError, Scenario, Settings, Sine, Table


def read(text: str) -> Scenario:
    return Scenario.from_dict(tomllib.loads(text))


def test_three_lines_are_enough():
    scenario = read('links = 5\nstart = "zigzag"\nloads.joint_damper = 0.1')
    assert scenario.chain == Chain.uniform(5).with_loads(nlink.JointDamper(0.1))
    assert scenario.theta == (math.pi / 2, math.pi, math.pi / 2, math.pi, math.pi / 2)
    assert scenario.omega == (0.0,) * 5
    assert scenario.settings == Settings()


def test_lists_and_values_that_replace_the_shape():
    chain = read('links = 2\nlength = [1.0, 2.0]\nmass = 3\nshape = ["rod", "point"]\noffset = [0, 0.5]\nloads.gravity = 0').chain
    assert chain.links == (Link.rod(1.0, 3.0), Link(2.0, 3.0, 2.0, 0.0, 0.5))
    assert chain.loads == (nlink.Gravity(0.0),)
    assert read("links = 1\ncom = 0.2\ninertia = 0.3").chain.links == (Link(1.0, 1.0, 0.2, 0.3),)


def test_links_one_by_one():
    chain = read('[[links]]\nlength = 2.0\n[[links]]\nshape = "point"\nmass = 100').chain
    assert chain.links == (Link.rod(2.0, 1.0), Link.point(1.0, 100.0))
    assert chain.loads == (Gravity(9.81),)


def test_every_load():
    text = """
    links = 2
    [loads]
    gravity = 1.6
    joint_spring = { stiffness = [1, 2], rest = 0.1 }
    joint_damper = [0.1, 0.2]
    link_damper = { damping = 0.3 }
    joint_torque = [{ amplitude = 1, frequency = 2, phase = 3 }, { times = [0, 1], values = [2, 3] }]
    drag = { linear = 0.1, quadratic = [0.2, 0.3] }
    follower_force = 2
    tip_force = [1, -1]
    """
    assert read(text).chain.loads == (
        Gravity(1.6),
        nlink.JointSpring((1.0, 2.0), 0.1),
        nlink.JointDamper((0.1, 0.2)),
        nlink.LinkDamper(0.3),
        JointTorque([Sine(1, 2, 3), Table([0, 1], [2, 3])]),
        nlink.Drag(0.1, (0.2, 0.3)),
        nlink.FollowerForce(2.0),
        nlink.TipForce(1.0, -1.0),
    )


@pytest.mark.parametrize(
    ("start", "theta", "omega"),
    [
        ('"hanging"', (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ('{ shape = "line" }', (math.pi / 4,) * 3, (0.0,) * 3),
        ("{ angle = 0.5, omega = [1, 2, 3] }", (0.5,) * 3, (1.0, 2.0, 3.0)),
        ('{ shape = "line", angle = 90, unit = "deg", omega = 180 }', (math.pi / 2,) * 3, (math.pi,) * 3),
        ('{ theta = [0, 90, 180], unit = "deg" }', (0.0, math.pi / 2, math.pi), (0.0,) * 3),
        ("{ theta = 0.25 }", (0.25,) * 3, (0.0,) * 3),
        ('{ shape = "zigzag", omega = 1 }', (math.pi / 2, math.pi, math.pi / 2), (1.0,) * 3),
    ],
)
def test_starts(start, theta, omega):
    scenario = read(f"links = 3\nstart = {start}")
    assert scenario.theta == theta
    assert scenario.omega == omega


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the model has no 'links'"),
        ("links = 0", "links must be a whole number, at least 1, got 0"),
        ("links = true", "links must be a whole number"),
        ('links = "3"', "links must be a whole number"),
        ("links = 2.0", "links must be a whole number"),
        ("links = []", "links must not be an empty list"),
        ("links = 2\nmas = 1", r"the model has no key 'mas' \(did you mean 'mass'\?\)"),
        ("links = 2\nmass = [1, 2, 3]", "mass has 3 values for 2 links; give one number, or 2"),
        ("links = 2\nmass = [1]", "mass has 1 value for 2 links"),
        ("links = 2\nmass = [1, -0.3]", r"links\[1\].mass must not be negative, got -0.3"),
        ("links = 2\nlength = 0", r"links\[0\].length must be positive, got 0"),
        ("links = 2\nlength = nan", r"links\[0\].length must be finite, got nan"),
        ("links = 2\nmass = true", r"links\[0\].mass must be a number, got True"),
        ('links = 2\nmass = "1"', r"links\[0\].mass must be a number, got '1'"),
        ('links = 2\nshape = "bar"', r"links\[0\].shape must be one of rod, point; got 'bar'"),
        ("mass = 1\n[[links]]\nmass = 1", r"mass belongs inside the \[\[links\]\] tables"),
        ("[[links]]\nmas = 1", r"links\[0\] has no key 'mas'"),
        ("links = 2\nmass = 0\ninertia = 0", r"links\[1\] makes the mass matrix singular"),
        ("links = 2\nloads.gravty = 1", r"\[loads\] has no key 'gravty' \(did you mean 'gravity'\?\)"),
        ("links = 2\nloads = 3", "loads must be a table, got 3"),
        ("links = 2\nloads.joint_spring = { stifness = 1 }", "did you mean 'stiffness'"),
        ("links = 2\nloads.joint_spring = { rest = 1 }", "loads.joint_spring needs 'stiffness'"),
        ("links = 2\nloads.joint_spring = [1, 2, 3]", "JointSpring.stiffness has 3 values for 2 links"),
        ("links = 2\nloads.joint_damper = -1", "JointDamper.damping must not be negative, got -1"),
        ("links = 2\nloads.tip_force = 3", r"tip_force: must be \[fx, fy\], got 3"),
        ("links = 2\nloads.joint_torque = { amplitude = 1 }", "a sine needs 'frequency'"),
        ("links = 2\nloads.joint_torque = { times = [0] }", "a table needs 'values'"),
        ("links = 2\nloads.joint_torque = { times = [1, 0], values = [1, 1] }", "Table.times must increase"),
        ("links = 2\nloads.joint_torque = { amplitude = 1, frequenzy = 1 }", "did you mean 'frequency'"),
        ('links = 2\nloads.joint_torque = "sin(t)"', "JointTorque.torque must be a number, got 'sin"),
        ('links = 2\nstart = "zigzg"', "start.shape must be one of line, zigzag, hanging; got 'zigzg' .did you mean 'zigzag'"),
        ("links = 2\nstart = { theta = [1] }", "start.theta has 1 value for 2 links"),
        ("links = 2\nstart = { theta = [1, 2], angle = 3 }", "start has both theta and angle"),
        ('links = 2\nstart = { shape = "zigzag", angle = 3 }', "start.angle belongs to the shape line"),
        ('links = 2\nstart = { unit = "grad" }', "start.unit must be one of rad, deg"),
        ("links = 2\nstart = { thta = [1, 2] }", "did you mean 'theta'"),
        ("links = 2\nrun.tend = 3", r"\[run\] has no key 'tend' \(did you mean 't_end'\?\)"),
        ("links = 2\nrun.t_end = inf", "run.t_end must be finite"),
        ("links = 2\nrun.save = 0", "run.save must be positive"),
        ("links = 2\nrun.rtol = -1", "run.rtol must be positive"),
        ('links = 2\nrun.flips = "yes"', "run.flips must be one of record, stop, off"),
        ("links = 2\ntitle = 3", "title must be a text, got 3"),
    ],
)
def test_what_cannot_be_meant_is_refused(text, message):
    with pytest.raises(ModelError, match=message):
        read(text)


def test_files_that_are_no_models_say_so(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("links = = 3")
    with pytest.raises(ModelError, match=r"broken.toml is not a model file \(TOML\): .*line 1"):
        Scenario.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="is not a model file"):
        Scenario.load(path)
    with pytest.raises(FileNotFoundError):
        Scenario.load(tmp_path / "none.toml")
    path.write_text("links = 2\nmass = -1")
    with pytest.raises(ModelError, match=r"broken.toml: links\[0\].mass must not be negative"):
        Scenario.load(path)


@st.composite
def scenarios(draw) -> Scenario:
    chain = draw(chains())
    save = draw(st.one_of(st.floats(1e-3, 1.0), st.just((0.0, 0.5, 1.0))))
    integrator = draw(st.sampled_from([None, "RK45", nlink.RK4(0.25), nlink.Scipy("BDF")]))
    flips = draw(st.sampled_from(["stop", "off"]))
    settings = Settings(draw(st.sampled_from([1.0, 20.0])), save, "momentum", integrator, 1e-7, 1e-8, flips)
    return Scenario(
        chain,
        tuple(draw(angles(chain.n))),
        tuple(draw(rates(chain.n))),
        settings,
        draw(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=20)),
    )


@given(scenarios())
def test_a_scenario_comes_back_from_its_file(tmp_path_factory, scenario):
    path = tmp_path_factory.mktemp("models") / "model.toml"
    scenario.save(path)
    back = Scenario.load(path)
    assert back.chain == scenario.chain
    assert (back.theta, back.omega, back.title) == (scenario.theta, scenario.omega, scenario.title)
    assert back.settings.integrator in (scenario.settings.integrator, repr(scenario.settings.integrator))
    assert back.to_dict() == scenario.to_dict()


@pytest.mark.parametrize("name", nlink.presets())
def test_presets_run(name):
    scenario = nlink.preset(name)
    assert scenario.title
    short = Scenario(scenario.chain, scenario.theta, scenario.omega, Settings(t_end=0.5))
    run = short.run()
    assert run.status.code == "finished"
    energy = run.energy()
    assert np.abs(energy.residual).max() < 1e-6 * max(1.0, np.ptp(energy.potential))


PRESETS = (
    "nice-3 nice-5 nice-6 chaotic-3 chaotic-5 chaotic-6 chaotic-15 chaotic-3-springs chaotic-3-springs-friction "
    "chaotic-8-driven heavy-tip-5 massless-3 point-2 point-3 follower-5 offaxis-double rayleigh-4 "
    "four-bar five-bar catenary-50 driven-1 cart-pole cart-2 kapitza floating-3 tree-5 watt "
    "slider-crank peaucellier jansen andrews a02-40 "
    "spherical-1 cone-2 spiral-5 lasso-20 rope-50 top turning-over gyro-3"
)


def test_all_presets_are_there():
    assert set(nlink.presets()) == set(PRESETS.split())
    with pytest.raises(
        ModelError, match=r"there is no preset 'nice3' \(did you mean 'nice-3'\?\); presets: a02-40, andrews, cart-2"
    ):
        nlink.preset("nice3")


def test_presets_hold_what_they_say():
    follower = nlink.preset("follower-5")
    assert follower.chain.load(nlink.FollowerForce).force == pytest.approx(1.9 * 0.01 * 9.8, rel=1e-15)
    assert np.diff(follower.theta, prepend=0.0) == pytest.approx(1e-4)
    massless = nlink.formulate(nlink.preset("massless-3").chain).accelerations(math.pi / 2, 0.0)
    assert massless == pytest.approx([-9.81 / (0.1 + 3)] * 3, rel=1e-12)
    offaxis = nlink.preset("offaxis-double")
    assert offaxis.theta == (math.pi, math.pi / 2)
    assert offaxis.chain.links[0] == Link(0.3, 2.0, 0.2, 0.2, 0.05)
    assert nlink.preset("rayleigh-4").theta == pytest.approx([2 * math.pi / 3] * 4)
    assert nlink.preset("chaotic-3-springs-friction").settings.t_end == 40


def test_the_hung_chain_of_the_presets_comes_to_rest():
    case = nlink.preset("catenary-50")
    run = nlink.simulate(case.chain, case.theta, t_end=case.settings.t_end, save=1.0)
    off = run.theta[-1] - nlink.equilibrium(case.chain).theta
    assert np.abs(off - 2 * math.pi * np.round(off / (2 * math.pi))).max() < 1e-5
    assert np.abs(run.omega[-1]).max() < 1e-5


def test_a_model_is_not_written_under_the_name_of_another_format(tmp_path):
    with pytest.raises(ModelError, match=r"^a model file must end in \.toml, got .*nice\.json$"):
        nlink.preset("nice-3").save(tmp_path / "nice.json")
    assert nlink.preset("nice-3").to_toml().startswith("# A model of nlink\ntitle = ")


def test_angles_and_rates_with_their_units():
    scenario = read('links = 3\nstart.theta = ["90 deg", "1.5 rad", 0.5]\nstart.omega = "180 deg/s"')
    assert scenario.theta == (math.pi / 2, 1.5, 0.5)
    assert scenario.omega == (math.pi,) * 3
    assert read('links = 2\nstart = { theta = ["1 rad", 90], unit = "deg" }').theta == (1.0, math.pi / 2)
    assert read('links = 2\nstart = { angle = "45 deg" }').theta == (math.pi / 4,) * 2
    assert read('links = 2\nstart.theta = "-30deg "'.replace("30deg", "30 deg")).theta == (-math.pi / 6,) * 2


@pytest.mark.parametrize("value", ["'90 grad'", "'deg'", "'ninety deg'", "'90'", "['1 deg', '90 deg/s']"])
def test_angles_with_other_units_are_refused(value):
    with pytest.raises(ModelError, match=r"start\.theta.* must be a number, or a text like '90 deg' or '90 rad', got '"):
        read(f"links = 2\nstart.theta = {value}")


@pytest.mark.parametrize(
    ("start", "warned"),
    [
        ("theta = [0, 90]", "start.theta: 90 rad is 14.3 turns; degrees?"),
        ("angle = -45.5", "start.angle: -45.5 rad is -7.2 turns; degrees?"),
        ("theta = [0, 12.5]", ""),
        ("theta = [0, 90]\nunit = 'rad'", ""),
        ("theta = ['90 rad', '90 deg']", ""),
        ("theta = 15.707963267948966", ""),  # computed, not typed
    ],
)
def test_a_start_that_looks_like_degrees_is_warned_about(tmp_path, start, warned):
    path = tmp_path / "m.toml"
    path.write_text(f"links = 2\n[start]\n{start}\n")
    if warned:
        with pytest.warns(UserWarning, match=re.escape(warned)):
            Scenario.load(path)
    else:
        Scenario.load(path)


def test_degrees_in_python_are_warned_about():
    with pytest.warns(UserWarning, match=r"theta: 90 rad is 14\.3 turns; degrees\? then give np\.radians\(theta\)"):
        run = nlink.simulate(nlink.Chain.uniform(2), [90, 45], t_end=0.02)
    nlink.simulate(run.chain, run.theta[-1], t_end=0.02)
    with pytest.warns(UserWarning, match=r"theta: 90 rad is 14\.3 turns"):
        nlink.simulate_many(nlink.Chain.uniform(2), [[0.5, 0.5], [0.5, 90]], t_end=0.02)


def test_a_text_that_quotes_a_model_is_not_replaced(tmp_path):
    notes = tmp_path / "notes.toml"
    notes.write_text("My model:\n\n# A model of nlink\nlinks = 3\n")
    with pytest.raises(OSError, match="nlink did not make it"):
        nlink.preset("nice-3").save(notes)
    nlink.preset("nice-3").save(tmp_path / "m.toml")
    nlink.preset("nice-5").save(tmp_path / "m.toml")
    assert notes.read_text().startswith("My model")
