"""Every command on every mechanism preset: it works, or one sentence says what to use."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import linkages
import numpy as np
import pytest

import nlink
from nlink import Mechanism, Scenario
from nlink.cli import COMMANDS
from nlink.cli.codes import BAD_MODEL, USAGE
from nlink.scenario import Settings

PRESETS = [name for name in nlink.presets() if isinstance(nlink.preset(name).chain, Mechanism)]
OPEN, CLOSED = ([name for name in PRESETS if nlink.preset(name).chain.closed == closed] for closed in (False, True))
RUNGE_KUTTA = "use DOP853, RK45 or RK4"
EVENT = "in Python give nlink.simulate an Event where the motion crosses the section"
REFUSED = {
    "derive {}": "{} is a mechanism, and equations are derived for chains; give a number of links, or simulate it",
    "live {} -o live.html": "a live page takes chains, not mechanisms; simulate it and play the run: nlink run, then nlink animate",
    "poincare {} --until 1": "{} is a mechanism, and sections are taken of chains; " + EVENT,
    "bifurcation {} --vary gravity --from 9 --to 10": "{} is a mechanism, and sections are taken of chains; " + EVENT,
    "map flip {} -o map.png": "{} is a mechanism, and maps are drawn of chains; in Python give its starts to nlink.simulate_many",
    "run {} --integrator Gauss": "Gauss does not support mechanisms; " + RUNGE_KUTTA,
    "run {} --integrator IDA": "IDA does not support mechanisms; " + RUNGE_KUTTA,
}
"""What no mechanism is taken for, and what is said instead; {} stands for the preset."""
FORMULATIONS = ("momentum", "maximal", "natural", "lagrange", "linear")
REFUSED |= {f"run {{}} --formulation {name}": f"{name} takes chains, not mechanisms; use recursive" for name in FORMULATIONS}
REFUSED_CLOSED = {
    "run {} --integrator Taylor": "Taylor does not support closed mechanisms; " + RUNGE_KUTTA,
    "run {} --integrator Radau": "the solvers of SciPy do not support closed mechanisms; " + RUNGE_KUTTA,
    "run {} --formulation projection": "projection takes open mechanisms, without pins; use recursive",
}


def check_refusal(call, line: str, said: str, exit_code: int = BAD_MODEL) -> None:
    code, out, err = call(line)
    assert (code, out) == (exit_code, "")
    lines = [each for each in err.splitlines() if not each.startswith("nlink: compiling")]
    assert len(lines) == 1
    assert lines[0].startswith(f"nlink: {said}"), lines[0]
    assert not list(Path().iterdir())


@pytest.mark.parametrize("line", REFUSED)
@pytest.mark.parametrize("name", ["cart-pole", "jansen"])
def test_what_takes_chains_only_is_refused(call, line, name):
    check_refusal(call, line.format(name), REFUSED[line].format(name))


@pytest.mark.parametrize("line", REFUSED_CLOSED)
@pytest.mark.parametrize("name", ["slider-crank", "andrews"])
def test_what_takes_open_mechanisms_only_is_refused(call, line, name):
    check_refusal(call, line.format(name), REFUSED_CLOSED[line].format(name))


BARS = "[[links]]\n[[links]]\n"
TIP = "[[pins]]\na = { link = 1 }\n"
MODELS = {
    "two parents": (BARS + "parent = [0, -1]", "links[1].parent must be one body, got [0, -1]; .* hold it at another by a Pin"),
    "loop of parents": ("[[links]]\nparent = 1\n" + BARS, "links[0].parent must be GROUND (-1), got 1: it is the first body"),
    "a later parent": (BARS + "parent = 1", "links[1].parent must be a body listed before it, .* close a loop by a Pin"),
    "off its link": (BARS + "at = 1.5", "links[1].at is a point off its link: 1.5 m .* 1 m long; take a place on it"),
    "pin off its link": (
        BARS + "[[pins]]\na = { link = 1, along = 3.0 }\nb = [1.0, 0.0]\n[start]\ntheta = 0",
        "pins[0].a is a point off its link: 3 m along link 1, which is 1 m long; take a place on it",
    ),
    "out of reach": (
        "[[links]]\n" + BARS + "parent = 0\n" + TIP + "b = [9.0, 0.0]\n[start]\ndrive = 1.0",
        "the mechanism does not close with body 0 at 1: .* stays 7.* m open at best; give other coordinates, lengths or points",
    ),
    "not closed": (
        "[[links]]\n" + BARS + "parent = 0\n" + TIP + "b = [1.0, -1.0]\n[start]\ntheta = 0",
        "the start does not close the mechanism: .* 1.41 m open; give coordinates that nearly close it, to 0.05 m",
    ),
    "over-constrained": (
        BARS + TIP + "b = [1.0, 0.0]\n[[pins]]\na = { link = 0 }\nb = [0.5, -0.8660254037844386]\n"
        '[start]\ntheta = ["30 deg", "150 deg"]',
        "the mechanism is over-constrained: its pins, 4 rows for 2 coordinates, hold it, .*; leave out a pin",
    ),
    "a rigid chain": (
        BARS + TIP + 'b = [1.0, 0.0]\n[start]\ntheta = ["30 deg", "150 deg"]',
        "the chain is over-constrained: its pin holds both links, .*; give it more links, or leave out the pin",
    ),
    "drives that do not fit": (
        "[[links]]\nmotion = { start = 3.0, rate = 1.0 }\n[[links]]\n[[links]]\nparent = -1\nat = [1.0, 0.0]\n"
        "motion = { start = 3.0, rate = 1.5 }\n" + TIP + 'b = { link = 2 }\n[start]\ntheta = [3.0, "90 deg", 3.0]',
        "the prescribed motions do not fit each other: .* would open at 0.495 m/s; prescribe fewer joints",
    ),
    "only drives": (
        "[[links]]\nmotion = { start = 3.0, rate = 1.0 }\n[[pins]]\na = { link = 0 }\nb = [1.0, 0.0]\n[start]\ntheta = 0",
        "pins[0] closes a loop of prescribed joints only; leave one of them free, or leave out the pin",
    ),
    "singular": (BARS + "mass = 0\n[[links]]\nparent = 0", "Mechanism.links[1] makes the mass matrix singular: .*; give it a mass"),
}
"""Model files, and what is said of them."""


@pytest.mark.parametrize("name", MODELS)
def test_models_that_cannot_move_are_refused_with_a_remedy(call, name):
    text, said = MODELS[name]
    Path("m.toml").write_text(text)
    pattern = ".*".join(map(re.escape, said.split(".*")))
    code, out, err = call("run m.toml --dry-run")
    assert (code, out) == (BAD_MODEL, "")
    assert re.search(f"^nlink: (m: )?{pattern}", err), err
    assert len(err.splitlines()) == 1
    with pytest.raises(nlink.ModelError, match=pattern):
        Scenario.from_dict(tomllib.loads(text)).run()
    assert [path.name for path in Path().iterdir()] == ["m.toml"]


def test_each_command_is_known_to_this_table():
    tried = {line.split()[0] for line in REFUSED} | {"run", "show", "presets", "plot", "animate", "export"}
    elsewhere = {"compare", "modes", "stability", "lyapunov", "compile", "studio"}
    assert tried | elsewhere == set(COMMANDS)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_shown_and_come_back_from_what_is_printed(call, name):
    code, out, _ = call(f"show {name}")
    assert code == 0
    assert out.splitlines()[0] == nlink.preset(name).title
    code, out, _ = call(f"show {name} --toml")
    assert code == 0
    assert Scenario.from_dict(tomllib.loads(out)) == nlink.preset(name)


@pytest.mark.parametrize("name", CLOSED)
def test_closed_presets_start_closed_and_say_their_freedom(call, name):
    code, out, _ = call(f"run {name} --dry-run")
    assert code == 0
    driven = nlink.preset(name).chain.prescribed.any()
    assert (", driven, " if driven else ", 1 freedom, ") in out
    assert "closed by turning" not in out


@pytest.mark.parametrize("name", OPEN)
def test_links_of_mechanisms_are_not_multiplied(call, name):
    if name != "floating-3":
        check_refusal(call, f"run {name} --links 3 --dry-run", f"--links goes with uniform chains; {name} lists its links", USAGE)
    code, out, _ = call(f'run {name} --set "loads.gravity=1.6" --dry-run')
    assert code == 0
    assert "gravity 1.6" in out


def test_a_run_of_a_closed_mechanism_from_start_to_pictures(call):
    """Run, resume, show, export, draw and animate: each file is there, and the resumed run is the whole one."""
    assert call("run jansen --until 0.2 -o half.nc -q")[0] == 0
    assert call("run --resume half.nc --until 0.4 -o whole.nc -q")[0] == 0
    assert call("run jansen --until 0.4 -o once.nc -q")[0] == 0
    assert (nlink.load("whole.nc").theta == nlink.load("once.nc").theta).all()
    assert "7 links, 3 loops, driven" in call("show whole.nc")[1]
    assert call("export whole.nc theta reactions -o run.csv")[0] == 0
    head = Path("run.csv").read_text().splitlines()[0].split(",")
    assert head[:8] == ["t [s]", *(f"theta_{i} [rad]" for i in range(1, 8))]
    assert head[-6:] == [f"r{axis}_pin_{i} [N]" for i in (1, 2, 3) for axis in "xy"]
    assert len(head) == 8 + 2 * 7 + 6
    code, out, _ = call("plot whole.nc -o plots tip energy --trace 7")
    assert (code, out) == (0, "plots/tip.png\nplots/energy.png\n")
    assert call("animate whole.nc -o run.html -q")[0] == 0
    assert call("animate whole.nc -o run.gif --size 64x64 --fps 5 -q")[0] == 0
    code, out, err = call("plot whole.nc coupler -o none")
    assert (code, out) == (BAD_MODEL, "")
    assert err.endswith("one with a pin; of a mechanism take paths, with trace\n")


def test_andrews_ends_where_the_published_values_say():
    preset, tight = nlink.preset("andrews"), Settings(t_end=0.03, save=0.01, integrator="DOP853(rtol=1e-12, atol=1e-12)")
    end = replace(preset, settings=tight).run().theta[-1]
    np.testing.assert_allclose(end, linkages.andrews_angles(linkages.ANDREWS_END), rtol=0, atol=2e-8)
    np.testing.assert_allclose(preset.run().theta[-1], end, rtol=0, atol=1e-6)


def test_the_far_corner_of_peaucellier_stays_on_its_line():
    run = nlink.preset("peaucellier").run()
    corner = run.points(nlink.At(6))[:, 0]
    assert np.abs(corner[:, 0] - 3.375).max() < 1e-10
    assert np.ptp(corner[:, 1]) > 4.0


def test_jansens_foot_is_where_circles_meet():
    """Points of tests/data/mechanisms/jansen_leg.json, whose unit is a cm here."""
    scenario, places = nlink.preset("jansen"), linkages.reference("jansen_leg")["results"]
    angles = {int(name): np.array(place["foot"], float) / 100 for name, place in places.items()}
    times = sorted(-np.radians(angle) % (2 * np.pi) / np.pi for angle in angles)  # the crank begins along +x and turns clockwise
    run = replace(scenario, settings=replace(scenario.settings, t_end=2.0, save=tuple(times))).run()
    foot = run.points(nlink.At(6))[:, 0]
    for angle, place in angles.items():
        k = int(np.argmin(np.abs(run.t - (-np.radians(angle) % (2 * np.pi)) / np.pi)))
        np.testing.assert_allclose(foot[k], place, atol=1e-9)


def test_the_loops_of_a02_stay_parallel():
    scenario = nlink.preset("a02-40")
    run = replace(scenario, settings=replace(scenario.settings, t_end=2.0, save=0.1)).run()
    assert np.ptp(run.theta[:, :41], axis=1).max() < 1e-9
    np.testing.assert_allclose(run.theta[:, 41:], np.pi / 2, atol=1e-9)
    assert run.theta[-1, 0] < -np.pi / 2  # past both positions in line
