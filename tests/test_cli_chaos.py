"""`nlink lyapunov`, `nlink poincare`, `nlink bifurcation`: what they print, their JSON, files, exit codes, and wrong input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import COMMAND, call, worked
from test_notebook import logistic, made_points

from nlink.analysis import Bifurcation
from nlink.cli.chaos import _period_lines
from nlink.run.run import Status


def test_exponents(tmp_path: Path, here: Any) -> None:
    done = here("lyapunov", "point-2", "--until", "100", "-o", "exponents.png", "--csv", "exponents.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in ("exponents ", "+- ", "volumes change by", "chaotic: neighbours part tenfold every", "balance closed to"):
        assert text in done.stdout
    assert (tmp_path / "exponents.png").stat().st_size > 20_000
    rows = np.genfromtxt(tmp_path / "exponents.csv", delimiter=",", names=True)
    assert rows.dtype.names == ("time", "exponent_1", "exponent_2", "exponent_3", "exponent_4")
    assert rows["time"][-1] == 100.0


def test_exponents_as_json(tmp_path: Path, here: Any) -> None:
    done = here("lyapunov", "nice-3", "--links", "1", "--until", "50", "--json", cwd=tmp_path)
    data = json.loads(done.stdout)
    assert data["chaotic"] is False
    assert len(data["exponents"]) == len(data["errors"]) == 2
    assert data["sum"] == pytest.approx(data["divergence"], abs=1e-9)
    assert data["status"] == "finished"
    short = json.loads(here("lyapunov", "nice-3", "--count", "1", "--until", "1", "--json", cwd=tmp_path).stdout)
    assert len(short["exponents"]) == 1
    assert short["pairing"] == []


def test_ctrl_c_keeps_the_exponents(tmp_path: Path) -> None:
    assert call("lyapunov", "point-2", "--until", "1", "-q", cwd=tmp_path).returncode == 0  # compiled from here on
    process = subprocess.Popen(
        [COMMAND, "lyapunov", "point-2", "--until", "1e7", "--json"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"NO_COLOR": "1"},
    )  # fmt: skip
    worked(3.0, process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped by the user at t = " in err
    data = json.loads(out)
    assert data["status"] == "interrupted"
    assert data["exponents"][0] > 0.3


def test_a_section(tmp_path: Path, here: Any) -> None:
    options = ["--set", "start.angle=60", "--until", "60", "--starts", "4", "--section", "link=2, angle=30deg, direction=-1"]
    done = here("poincare", "point-2", *options, "-o", "section.svg", "--csv", "section.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Link 2 passes 30\N{DEGREE SIGN} downwards" in done.stdout
    assert "from 4 starts" in done.stdout
    assert (tmp_path / "section.svg").read_text(encoding="utf-8").startswith("<?xml")
    rows = np.genfromtxt(tmp_path / "section.csv", delimiter=",", names=True)
    assert set(rows["start"]) == {1, 2, 3, 4}
    assert np.abs(np.sin((rows["theta_2"] - np.pi / 6) / 2)).max() < 1e-10
    data = json.loads(here("poincare", "point-2", *options, "--json", cwd=tmp_path).stdout)
    assert data["section"] == {"kind": "section", "link": 1, "angle": pytest.approx(np.pi / 6), "direction": -1}
    assert len(data["t"]) == len(rows)
    assert data["status"] == ["finished"] * 4


def test_a_driven_chain_is_seen_once_a_period(tmp_path: Path, here: Any) -> None:
    done = here("poincare", "driven-1", "--until", "300", "--transient", "100", "-o", "attractor.png", cwd=tmp_path)
    assert "Every 3.0091 s" in done.stdout
    assert "from 1 start\n" in done.stdout
    assert (tmp_path / "attractor.png").stat().st_size > 10_000


def test_a_bifurcation_diagram(tmp_path: Path, here: Any) -> None:
    options = ["--vary", "loads.joint_torque.amplitude", "--from", "1.055", "--to", "1.075", "--points", "5", "--until", "600"]
    done = here("bifurcation", "driven-1", *options, "-o", "diagram.png", "--csv", "diagram.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1.055 to 1.065         repeats after 1 point" in done.stdout
    assert "repeats after 2 points" in done.stdout
    assert (tmp_path / "diagram.png").stat().st_size > 10_000
    assert np.genfromtxt(tmp_path / "diagram.csv", delimiter=",", names=True)["value"][0] == 1.055
    data = json.loads(here("bifurcation", "driven-1", *options, "--json", cwd=tmp_path).stdout)
    assert [row["period"] for row in data["values"]] == [1, 1, 1, 2, 2]
    assert [row["settling"] for row in data["values"]] == [0] * 5


def test_what_a_diagram_says_of_motions_that_do_not_repeat_yet() -> None:
    node, chaos = 0.3 * 0.99 ** np.arange(100), logistic(3.9, 100)
    diagram = Bifurcation(
        np.arange(4.0), tuple(map(made_points, (0 * node, node, node, chaos))), Status("finished", "all 4 values")
    )
    assert [text[23:] for _, text in _period_lines(diagram)] == [
        "repeats after 1 point", "settles slowly, to repeat after 1 point: a longer --transient shows it", "does not repeat",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lyapunov", "nice-3", "--until", "0"], "--until must be positive, got 0"),
        (["lyapunov", "nice-3", "--count", "7"], "count must be at most 6, the number of exponents of this chain, got 7"),
        (["lyapunov", "nice-3", "-o", "x.gif"], "--output must end in .png, .svg or .pdf, got x.gif"),
        (["poincare", "nice-3", "--section", "link=4"], "--section link must be a whole number from 1 to 3, got 4"),
        (["poincare", "nice-3", "--section", "link=0"], "--section link must be a whole number from 1 to 3, got 0"),
        (["poincare", "nice-3", "--section", "lnk=1"], "--section has no key 'lnk' (did you mean 'link'?)"),
        (["poincare", "nice-3", "--section", "angle=up"], "--section angle must be a number, got 'up'"),
        (["poincare", "nice-3", "--section", "period=1,link=1"], "--section with a period has no key 'link'"),
        (["poincare", "nice-3", "--link", "4"], "--link must be from 1 to 3, got 4"),
        (["poincare", "nice-3", "--starts", "0"], "--starts must be a whole number, at least 1, got 0"),
        (["bifurcation", "nice-3", "--vary", "gravity", "--from", "2", "--to", "1"], "--to must be above --from 2, got 1"),
        (
            ["bifurcation", "nice-3", "--vary", "gravty", "--from", "1", "--to", "2"],
            "--vary must be one of follower, damping, stiffness, gravity, torque, ",
        ),
    ],
)
def test_wrong_input(tmp_path: Path, arguments: list[str], message: str, here: Any) -> None:
    done = here(*arguments, cwd=tmp_path)
    assert done.returncode == (2 if message.startswith("--") else 3), done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
