"""Every command on every mechanism preset: it works, or one sentence says what to use."""

from __future__ import annotations

import shlex
import sys
import tomllib
from pathlib import Path

import pytest

import nlink
from nlink import Mechanism, Scenario
from nlink.cli import COMMANDS, command
from nlink.cli.codes import BAD_MODEL, USAGE

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


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder; return its exit code and what it prints."""
    monkeypatch.chdir(tmp_path)

    def called(line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nlink", *shlex.split(line)])
        code = command()
        return code, *capsys.readouterr()

    return called


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
    assert head[-6:] == [f"pin{axis}_{i} [N]" for i in (1, 2, 3) for axis in "xy"]
    assert len(head) == 8 + 2 * 7 + 6
    code, out, _ = call("plot whole.nc -o plots tip energy --trace 7")
    assert (code, out) == (0, "plots/tip.png\nplots/energy.png\n")
    assert call("animate whole.nc -o run.html -q")[0] == 0
    assert call("animate whole.nc -o run.gif --size 64x64 --fps 5 -q")[0] == 0
    code, out, err = call("plot whole.nc coupler -o none")
    assert (code, out) == (BAD_MODEL, "")
    assert err.endswith("of a mechanism draw the plot tip with a trace\n")
