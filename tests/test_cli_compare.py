"""`nlink compare` and `nlink run --trust` as a user meets them: tables, JSON, plots, files, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers import COMMAND, check_refused, worked

import nlink

TWO = ["--formulation", "recursive", "--formulation", "momentum"]


def test_the_table_tells_the_seeds_story(tmp_path: Path, here: Any) -> None:
    done = here("compare", "chaotic-3", *TWO, "--rtol", "1e-3", "--atol", "1e-6", "--integrator", "RK45", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "recursive   RK45(rtol=0.001, atol=1e-06)" in done.stdout
    assert "momentum    RK45(rtol=0.001, atol=1e-06)" in done.stdout
    assert "its formulations agree with each other until t = " in done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("trusted until t = 0.")
    assert last.endswith("(angles within 0.001 rad)")
    assert list(tmp_path.iterdir()) == []


def test_json_follows_the_options(tmp_path: Path, here: Any) -> None:
    options = [
        "--rtol",
        "1e-6",
        "--rtol",
        "1e-8",
        "--until",
        "-2",
        "--links",
        "4",
        "--set",
        "loads.joint_damper=0.1",
        "--angle",
        "0.01",
    ]
    done = here("compare", "nice-3", *TWO, *options, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert (table["links"], table["t_end"], table["angle"]) == (4, -2.0, 0.01)
    assert [row["integrator"] for row in table["rows"][:2]] == ["Taylor(tol=1e-09, order=18)", "Taylor(tol=1e-11, order=18)"]
    assert [(r["formulation"], r["rtol"], r["atol"]) for r in table["rows"][2:]] == [
        ("recursive", 1e-6, 1e-6),
        ("momentum", 1e-6, 1e-6),
        ("recursive", 1e-8, 1e-8),
        ("momentum", 1e-8, 1e-8),
    ]
    assert table["reference"] == "recursive, DOP853(rtol=1e-13, atol=1e-13)"
    assert table["trusted_until"] == -2.0


def test_one_atol_serves_every_rtol(tmp_path: Path, here: Any) -> None:
    options = ["--rtol", "1e-6", "--rtol", "1e-8", "--atol", "1e-9", "--until", "0.1", "--formulation", "recursive"]
    rows = json.loads(here("compare", "nice-3", *options, "--json", cwd=tmp_path).stdout)["rows"]
    assert [(row["rtol"], row["atol"]) for row in rows if row["rtol"]] == [(1e-6, 1e-9), (1e-8, 1e-9)]
    rows = json.loads(here("compare", "nice-3", *options[4:], "--json", cwd=tmp_path).stdout)["rows"]
    assert [(row["rtol"], row["atol"]) for row in rows if row["rtol"]] == [(1e-9, 1e-9)]


def test_plots_are_written_quietly(tmp_path: Path, here: Any) -> None:
    done = here(
        "compare", "nice-3", *TWO, "--until", "1", "-q", "-o", "plots", "--overlay", "positions", "--link", "1", cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == ["differences.png", "overlay-positions.png"]
    done = here("compare", "nice-3", *TWO, "--until", "1", "--overlay", "angles", cwd=tmp_path)
    assert "wrote nice-3-compare/overlay-angles.png" in done.stderr
    assert "wrote" not in done.stdout
    assert (tmp_path / "nice-3-compare" / "overlay-angles.png").stat().st_size > 5000


def test_a_refused_variant_is_told_and_the_rest_goes_on(tmp_path: Path, here: Any) -> None:
    done = here("compare", "nice-3", *TWO, "--until", "1", "--integrator", "Gauss", cwd=tmp_path)
    assert done.returncode == 0
    assert "Gauss needs Hamilton's form of the equations, which momentum does not have" in done.stdout
    assert done.stdout.splitlines()[-1] == "trusted until t = 1 s (angles within 0.001 rad)"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "Missing argument"),
        (["nice-4"], 3, "there is no preset 'nice-4'"),
        (["nice-3", "--formulation", "momentun"], 3, "did you mean 'momentum'?"),
        (["nice-3", "--integrator", "Euler"], 3, "integrator must be one of"),
        (["nice-3", "--rtol", "0"], 3, "rtol must be positive, got 0"),
        (["nice-3", "--rtol", "tight"], 2, "'--rtol'"),
        (
            ["nice-3", "--rtol", "1e-3", "--atol", "1", "--atol", "2"],
            2,
            "--atol must be given once, or as often as --rtol: 1 times",
        ),
        (["nice-3", "--angle", "-1"], 3, "angle must be positive, got -1"),
        (["nice-3", "--overlay", "rates"], 2, "--overlay must be one of angles, positions"),
        (["nice-3", "--overlay", "angles", "--link", "4"], 2, "--link must be from 1 to 3, got 4"),
        (["nice-3", "--link", "1"], 2, "--link says which link --overlay shows"),
        (["nice-3", "--set", "loads.glue=1"], 3, "has no key 'glue'"),
        (["nice-3", "--until", "0"], 3, "t_end must not be 0"),
    ],
)
def test_wrong_input_gets_one_sentence_and_its_code(tmp_path: Path, arguments: list[str], code: int, said: str, here: Any) -> None:
    check_refused(here("compare", *arguments, cwd=tmp_path), code, said, tmp_path)


def test_a_file_in_the_place_of_the_folder_is_refused_first(tmp_path: Path, here: Any) -> None:
    (tmp_path / "plots").write_text("mine")
    done = here("compare", "nice-3", "-o", "plots", cwd=tmp_path)
    assert done.returncode == 5
    assert done.stderr == "nlink: plots is a file; give a folder for the plots with --output\n"
    assert (tmp_path / "plots").read_text() == "mine"


def test_a_reference_that_fails_is_told(tmp_path: Path, here: Any) -> None:
    """A force beyond all measure needs steps too small to change the time."""
    done = here("compare", "nice-3", *TWO, "--set", "loads.tip_force=[1e40, 0.0]", cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert "nlink: the reference run failed: the steps became too small" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_the_comparison(tmp_path: Path) -> None:
    arguments = ["compare", "chaotic-15", *TWO, "--until", "1e5", "--set", "run.save=10"]
    process = subprocess.Popen([COMMAND, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    worked(3.0, process.pid)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert output == ""
    assert errors.splitlines()[-1] == "nlink: interrupted"


def test_run_trust_states_the_time_and_keeps_it(tmp_path: Path, here: Any) -> None:
    done = here("run", "chaotic-3", "--trust", "-o", "run.nc", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = nlink.load(tmp_path / "run.nc")
    assert run.trusted_until is not None
    assert 6.0 < run.trusted_until < 8.25  # the run departs by 1e-3 at 8.25 s
    assert f"  trusted    until t = {run.trusted_until:.4g} s (angles within 0.001 rad)\n" in done.stdout
    table = json.loads(here("run", "nice-3", "--until", "1", "--trust", "--json", cwd=tmp_path).stdout)
    assert table["trusted_until"] == 1.0


def test_run_without_trust_states_none(tmp_path: Path, here: Any) -> None:
    done = here("run", "nice-3", "--until", "1", cwd=tmp_path)
    assert "trusted" not in done.stdout
    assert nlink.load(tmp_path / "nice-3.nc").trusted_until is None
    done = here("run", "--resume", "nice-3.nc", "--until", "2", "--trust", "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert nlink.load(tmp_path / "nice-3.nc").trusted_until == 2.0
