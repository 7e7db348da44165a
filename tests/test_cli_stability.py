"""`nlink stability`: the critical loads in words and as JSON, paths, maps and cycles as files, and wrong input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def test_the_critical_load_is_printed(tmp_path: Path, here: Any) -> None:
    done = here(
        "stability", "follower-5", "--vary", "follower", "--to", "0.3", "-o", "locus.png", "--csv", "locus.csv", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "flutter begins at follower force = 0.183201078917 N, 5.56508756887 rad/s (0.885711 Hz)" in done.stdout
    assert (tmp_path / "locus.png").stat().st_size > 20_000
    rows = np.genfromtxt(tmp_path / "locus.csv", delimiter=",", names=True)
    assert len(rows) == 200
    assert rows["load"][-1] == 0.3
    assert rows.dtype.names[:2] == ("load", "re_1")


def test_as_json(tmp_path: Path, here: Any) -> None:
    done = here("stability", "follower-5", "--to", "0.3", "--json", cwd=tmp_path)
    (critical,) = json.loads(done.stdout)["critical"]
    assert critical["kind"] == "flutter"
    assert critical["load"] == pytest.approx(1.869398764455984526 * 0.01 * 9.8, rel=1e-12)


def test_nothing_lost(tmp_path: Path, here: Any) -> None:
    done = here("stability", "follower-5", "--to", "0.1", cwd=tmp_path)
    assert done.returncode == 0
    assert "stability does not change between 0 and 0.1" in done.stdout


def test_a_map(tmp_path: Path, here: Any) -> None:
    options = ["--to", "0.4", "--points", "40", "--vary2", "damping", "--to2", "0.02", "--points2", "30"]
    done = here("stability", "follower-5", *options, "-o", "map.svg", "--csv", "map.csv", cwd=tmp_path)
    assert "40 x 30 chains: stable 4" in done.stdout
    assert (tmp_path / "map.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert len((tmp_path / "map.csv").read_text(encoding="utf-8").splitlines()) == 1201
    found = json.loads(here("stability", "follower-5", *options, "--json", cwd=tmp_path).stdout)
    assert np.array(found["kind"]).shape == (30, 40)


def test_limit_cycles(tmp_path: Path, here: Any) -> None:
    options = ["--from", "0.17", "--to", "0.192", "--points", "2", "--amplitudes", "300"]
    done = here("stability", "follower-5", *options, "-o", "cycles.png", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[-2].endswith("no limit cycle")
    assert "deg    1.13" in lines[-1]
    assert (tmp_path / "cycles.png").exists()


@pytest.mark.slow
def test_a_run_that_settles_says_so(tmp_path: Path, here: Any) -> None:
    settings = ["--set", "loads.follower_force=0.1911", "--until", "300", "--set", "run.save=0.05", "--set", "start.theta=0.05"]
    done = here("run", "follower-5", *settings, "--rtol", "1e-8", "--atol", "1e-10", "-o", "run.nc", cwd=tmp_path)
    assert "cycle      settled on a limit cycle of 1.13" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--vary", "folower"], 2, "got 'folower' (did you mean 'follower'?)"),
        (["--from", "1", "--to", "0"], 2, "--to must be above --from 1, got 0"),
        (["--from", "0.25", "--to", "0.4"], 3, "the chain is unstable at load 0.25 already"),
        (
            ["--vary", "links", "--from", "2", "--to", "4"],
            2,
            "or a key of the model like loads.drag.linear, links[0].motion.amplitude",
        ),
        (["--to", "0.3", "-o", "locus.gif"], 2, "--output must end in .png, .svg or .pdf, got locus.gif"),
        (["--to", "0.3", "--points", "1"], 2, "--points must be a whole number, at least 2, got 1"),
    ],
)
def test_wrong_input(tmp_path: Path, arguments: list[str], code: int, message: str, here: Any) -> None:
    done = here("stability", "follower-5", *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
