"""The command as a user meets it: real processes, real files, exit codes, what goes to which stream."""

from __future__ import annotations

import csv
import importlib
import inspect
import io
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import COMMAND, call, check_refused
from PIL import Image, ImageChops
from test_streaming import reached
from typer.models import CommandInfo

import nlink
from nlink import At, Chain, FollowerForce, Gravity, JointSpring, ModelError
from nlink.analysis import locus
from nlink.cli import COMMANDS, app, options
from nlink.cli.common import point_of
from nlink.cli.report import Report
from nlink.view.stability import locus_figure


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def saved(folder: Path) -> Path:
    done = call("run", "chaotic-3-springs-friction", "--until", "2", "-o", "run.nc", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run.nc"


def test_help_version_and_no_arguments(tmp_path: Path) -> None:
    assert "animate" in call("--help", cwd=tmp_path).stdout
    assert call("--version", cwd=tmp_path).stdout.strip() == f"nlink {nlink.__version__}"
    assert "Usage" in call(cwd=tmp_path).stdout + call(cwd=tmp_path).stderr


def test_help_imports_no_heavy_package(tmp_path: Path) -> None:
    code = "import sys, nlink.cli; print([m for m in ('numpy', 'numba', 'pydantic', 'nlink.scenario') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", app.registered_commands, ids=lambda command: command.name)
def test_help_has_the_first_sentence_of_each_command(command: CommandInfo) -> None:
    module, function = COMMANDS[command.name or ""].split(".")
    words = getattr(importlib.import_module(f"nlink.cli.{module}"), function).__doc__
    assert command.help == words.split("\n\n")[0]


def test_the_process_ends_with_its_code_after_all_exit_functions() -> None:
    program = """
        import atexit, nlink.cli, nlink.__main__
        def command():
            atexit.register(print, "removed")
            return 7
        nlink.cli.command = command
        nlink.__main__.main()
    """
    command, buffered = [sys.executable, "-c", textwrap.dedent(program)], {**os.environ, "PYTHONUNBUFFERED": ""}
    done = subprocess.run(command, env=buffered, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "removed\n", "")


def test_a_command_whose_kernels_are_compiled_collects_no_garbage_among_all_objects(
    tmp_path: Path,
) -> None:
    program = """
        import gc, os, sys, nlink.__main__
        leave = os._exit
        def told(code):
            print(gc.get_stats()[2]["collections"], flush=True)
            leave(code)
        os._exit = told
        sys.argv = ["nlink", "run", "nice-3", "--until", "1", "-q"]
        nlink.__main__.main()
    """
    outputs = [
        subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert outputs[1].stdout.strip() == "0"


def test_run_prints_what_happened_and_saves(tmp_path: Path) -> None:
    done = call("run", "nice-3", "--until", "3", cwd=tmp_path)
    assert done.returncode == 0
    for word in (
        "system",
        "3 equal links",
        "gravity 9.81",
        "recursive, Taylor(tol=1e-12, order=22)",
        "rejected",
        "residual",
        "faster than real time",
        "nice-3.nc",
    ):
        assert word in done.stdout, word
    assert nlink.load(tmp_path / "nice-3.nc").t[-1] == 3.0


def test_run_without_a_name_is_the_default_and_never_overwrites(tmp_path: Path) -> None:
    for name in ("chaotic-5.nc", "chaotic-5-2.nc"):
        done = call("run", "--until", "0.5", cwd=tmp_path)
        assert done.returncode == 0
        assert (tmp_path / name).exists()


def test_quiet_prints_nothing_and_json_is_json(tmp_path: Path) -> None:
    done = call("run", "nice-3", "--until", "1", "-q", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("", "")
    table = json.loads(call("run", "chaotic-8-driven", "--until", "1", "--json", cwd=tmp_path).stdout)
    assert table["status"] == "finished"
    assert table["links"] == 8
    assert set(table["work"]) == {"joint_torque", "joint_damper"}
    assert nlink.load(tmp_path / table["file"]).stats.steps == table["steps"]


def test_options_reach_the_run(tmp_path: Path) -> None:
    options = [
        "--links",
        "4",
        "--until",
        "-1",
        "--formulation",
        "momentum",
        "--integrator",
        "RK45",
        "--rtol",
        "1e-6",
        "--atol",
        "1e-7",
    ]
    more = ["--set", "loads.joint_spring=2.5", "--set", "start.shape=zigzag", "--set", "run.save=0.25", "-o", "x.nc"]
    assert call("run", "chaotic-3", *options, *more, cwd=tmp_path).returncode == 0
    run = nlink.load(tmp_path / "x.nc")
    assert run.chain.n == 4
    assert run.t.tolist() == [0.0, -0.25, -0.5, -0.75, -1.0]
    assert run.scenario.settings.formulation == "Momentum()"
    assert run.meta["integrator"] == "RK45(rtol=1e-06, atol=1e-07)"
    assert run.chain.load(nlink.JointSpring) == nlink.JointSpring(2.5)


def test_dry_run_checks_and_writes_nothing(tmp_path: Path, here: Any) -> None:
    done = here("run", "nice-3", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0
    assert "2001 points" in done.stdout
    assert here("run", "nice-3", "--integrator", "Euler", "--dry-run", cwd=tmp_path).returncode == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "nice3"], 3, "did you mean 'nice-3'"),
        (["run", "nice-3", "--links", "0"], 3, "links must be a whole number, at least 1, got 0"),
        (["run", "heavy-tip-5", "--links", "3"], 2, "lists its links one by one"),
        (["run", "nice-3", "--formulation", "lagrnge"], 3, "formulation must be one of recursive, momentum"),
        (["run", "nice-3", "--integrator", "RK4(stp=1)"], 3, "RK4 has no option 'stp' (did you mean 'step'?)"),
        (["run", "nice-3", "--set", "loads.joint_sprng=1"], 3, "did you mean 'joint_spring'"),
        (["run", "nice-3", "--set", "mass=-1"], 3, "links[0].mass must not be negative, got -1"),
        (["run", "nice-3", "--set", "nonsense"], 2, "--set must read key=value"),
        (["run", "nice-3", "--until", "nan"], 3, "run.t_end must be finite, got nan"),
        (["run", "nice-3", "--until", "0"], 3, "t_end must not be 0"),
        (["run", "nice-3", "--rtol", "much"], 2, "--rtol"),
        (["run", "nice-3", "-o", "no/where/run.nc"], 5, "there is no folder no/where"),
        (["run", "missing.toml"], 5, "missing.toml"),
        (["run", "--resume", "missing.nc"], 5, "there is no file missing.nc"),
        (["run", "nice-3", "--resume", "missing.nc"], 2, "--resume goes on with the run as it is"),
        (["show", "nowhere"], 3, "there is no preset 'nowhere'"),
        (["plot", "missing.nc"], 5, "there is no file missing.nc"),
        (["plot", "nice-3"], 5, "is a model, not a run; make one with: nlink run nice-3"),
        (["animate", "missing.nc"], 5, "there is no file"),
        (["export", "missing.nc", "colour"], 3, "the quantity must be one of theta"),
        (["fly"], 2, "fly"),
    ],
)
def test_wrong_input_gets_one_sentence_and_its_code(tmp_path: Path, arguments: list[str], code: int, said: str, here: Any) -> None:
    check_refused(here(*arguments, cwd=tmp_path), code, said, tmp_path)


def test_numerical_failure_keeps_the_part_before(tmp_path: Path) -> None:
    options = ["--set", "loads.joint_spring=1e6", "--integrator", "RK4(step=0.05)", "-o", "bad.nc"]
    done = call("run", "nice-3", *options, cwd=tmp_path)
    assert done.returncode == 4
    assert "stopped being finite" in done.stderr
    assert "try a smaller step than 0.05" in done.stderr
    run = nlink.load(tmp_path / "bad.nc")
    assert run.status.code == "not_finite"
    assert len(run.t) > 1
    assert np.all(np.isfinite(run.theta))


def _long_run(folder: Path, *more: str) -> subprocess.Popen[str]:
    """Start a long run, and wait until its file holds more than 10 s of it."""
    arguments = ["run", "chaotic-15", "--until", "1e6", "--set", "run.save=10", "--set", "run.flips=off", "-o", "long.nc", *more]
    process = subprocess.Popen([COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    part, until = folder / "long.nc.part", time.monotonic() + 300  # it may have to compile
    while not part.exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    reached(part, 11.0)
    return process


def test_interrupt_keeps_the_run_and_resume_goes_on(tmp_path: Path) -> None:
    call("run", "chaotic-15", "--until", "0.1", cwd=tmp_path)  # compiles, so that the signal below meets the loop
    process = _long_run(tmp_path)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "stopped by the user" in errors
    assert "Traceback" not in errors
    first = nlink.load(tmp_path / "long.nc")
    assert first.status.code == "interrupted"
    assert first.t[-1] > 10
    until = first.t[-1] + 20
    done = call("run", "--resume", "long.nc", "--until", str(until), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    second = nlink.load(tmp_path / "long.nc")
    assert second.t[-1] == until
    assert np.array_equal(second.theta[: len(first.t)], first.theta)
    assert call("run", "--resume", "long.nc", "--until", "5", cwd=tmp_path).returncode == 3


def test_a_killed_run_leaves_no_half_file(tmp_path: Path) -> None:
    process = _long_run(tmp_path)
    process.kill()
    process.communicate()
    assert not (tmp_path / "long.nc").exists()


def test_presets_and_show(tmp_path: Path, here: Any) -> None:
    listed = here("presets", cwd=tmp_path).stdout.splitlines()
    assert [line.split()[0] for line in listed] == nlink.presets()
    assert all(len(line.split(maxsplit=1)[1]) > 10 for line in listed)
    for name in nlink.presets():
        text = here("show", name, cwd=tmp_path).stdout
        assert "length m" in text
        sketch = text[text.index("at the start") :].partition("\n")[2]
        assert "+" in sketch
        assert ("X" if nlink.preset(name).chain.closed else "O") in sketch
    assert json.loads(here("show", "nice-3", "--json", cwd=tmp_path).stdout)["links"] == 3


@pytest.fixture(scope="module")
def closed(folder: Path) -> tuple[Path, str]:
    done = call("run", "four-bar", "--until", "2", "-o", "closed.nc", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "closed.nc", done.stdout


def test_show_says_where_the_pin_is(tmp_path: Path) -> None:
    text = call("show", "five-bar", cwd=tmp_path).stdout
    assert "  pin        at x = 1.5 m, y = 0 m, holds the last end\n" in text
    heading, *sketch = text[text.index("  at the start") :].splitlines()
    assert heading == "  at the start (+ pivot, o hinge, X pin):"
    assert sketch[-1].strip().startswith("+")
    assert sketch[-1].count("X") == 1
    assert "".join(sketch).count("o") == 3
    assert "pin" not in call("show", "nice-3", cwd=tmp_path).stdout


def test_dead_positions_are_told(closed: tuple[Path, str]) -> None:
    said = next(line for line in closed[1].splitlines() if line.startswith("  events"))
    dead = "2 dead positions, the first at t = 0.70845 s"
    assert said.split(maxsplit=1)[1] == f"{dead}; link 3 is the first to turn over, at t = 0.961856 s, 2 times in all"


def test_one_dead_position_is_told() -> None:
    from made_loop import made_loop

    from nlink.view.words import run_lines

    run = made_loop(dead=(0.25,))
    run.meta = {"formulation": "recursive", "integrator": "DOP853"}
    assert dict(run_lines(run))["events"] == "1 dead position, at t = 0.25 s"


def test_plots_of_a_closed_chain(closed: tuple[Path, str], saved: Path, tmp_path: Path, here: Any) -> None:
    done = here("plot", str(closed[0]), "-o", "all", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"coupler.png", "reactions.png"} < {Path(line).name for line in done.stdout.split()}
    assert not (tmp_path / "all" / "tip.png").exists()
    done = here("plot", str(closed[0]), "coupler", "--format", "svg", "-o", "one", cwd=tmp_path)
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["coupler.svg"]
    done = here("plot", str(saved), "coupler", "-o", "none", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.strip() == "nlink: the plot 'coupler' needs a closed chain of three links or more: one with a pin"
    assert not (tmp_path / "none").exists()


def test_show_a_model_file_and_a_run(tmp_path: Path, saved: Path) -> None:
    model = tmp_path / "mine.toml"
    model.write_text('links = 2\nstart = "zigzag"\nloads.drag = { linear = 0.5 }\n')
    assert "drag linear 0.5" in call("show", "mine.toml", cwd=tmp_path).stdout
    assert "joint springs 1" in call("show", str(saved), cwd=tmp_path).stdout


def test_export_is_exact_csv(saved: Path, tmp_path: Path) -> None:
    run = nlink.load(saved)
    rows = list(csv.reader(io.StringIO(call("export", str(saved), "theta", "energy", cwd=tmp_path).stdout)))
    assert rows[0][:3] == ["t [s]", "theta_1 [rad]", "theta_2 [rad]"]
    assert rows[0][-1] == "work_joint_damper [J]"
    values = np.array(rows[1:], float)
    assert np.array_equal(values[:, 0], run.t)
    assert np.array_equal(values[:, 1:4], run.theta)
    assert np.array_equal(values[:, -1], run.work["joint_damper"])
    done = call(
        "export",
        str(saved),
        "positions",
        "velocities",
        "centres",
        "reactions",
        "omega",
        "alpha",
        "violation",
        "-o",
        "x.csv",
        cwd=tmp_path,
    )
    assert done.returncode == 0
    assert len((tmp_path / "x.csv").read_text().splitlines()) == len(run.t) + 1


def test_export_into_a_closed_pipe_is_quiet(saved: Path) -> None:
    script = f"{COMMAND} export {saved} | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("t [s]")
    assert "Traceback" not in done.stderr


def test_plot_and_animate_write_files(saved: Path, tmp_path: Path) -> None:
    done = call("plot", str(saved), "angles", "energy", "--format", "svg", "--size", "5x3", "-o", "pictures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [Path(line).name for line in done.stdout.split()] == ["angles.svg", "energy.svg"]
    assert all((tmp_path / line).stat().st_size > 1000 for line in done.stdout.split())
    done = call("animate", str(saved), "-o", "a.gif", "--fps", "20", "--size", "120x160", "--centres", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.gif").read_bytes()[:6] == b"GIF89a"
    assert call("animate", str(saved), "-o", "a.avi", cwd=tmp_path).returncode == 2
    assert call("plot", str(saved), "colours", cwd=tmp_path).returncode == 3
    assert call("plot", str(saved), "--size", "big", cwd=tmp_path).returncode == 2


def test_plots_of_some_links_and_times_for_a_column(saved, tmp_path, here: Any):
    options = ("--links", "1,2-3", "--from", "0.1", "--size", "column", "--theme", "dark", "--dpi", "100")
    done = here("plot", str(saved), "phase", *options, "-o", "pictures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "pictures" / "phase.png") as image:
        assert image.size == (340, 260)
        assert image.convert("RGB").getpixel((0, 0)) == (18, 22, 27)
    for text in ("0", "4", "a", "1,2,3,4", "1,x", "1,nan"):
        with pytest.raises(ModelError, match="--trace must be a link from 1 to 3 and a place on it in m, like 2 or"):
            point_of(text, 3)
    assert (point_of("2", 3), point_of("3,0.5,-1", 3)) == (At(1), At(2, 0.5, -1.0))
    done = here("plot", str(saved), "paths", "angles", "--trace", "2", "--trace", "3,0.5,0.1", "-o", "traced", cwd=tmp_path)
    assert (done.returncode, len(list((tmp_path / "traced").iterdir()))) == (0, 2), done.stderr
    for text in ("0", "1-", "4", "2-1", "a", "1-2-3"):
        done = here("plot", str(saved), "phase", "--links", text, cwd=tmp_path)
        assert (done.returncode, "--links must be links from 1 to 3, like 1 or 1,3-5, got" in done.stderr) == (2, True)
    assert "the run has no saved point from 1e+06" in here("plot", str(saved), "phase", "--from", "1e6", cwd=tmp_path).stderr


def test_a_closed_start_is_told(tmp_path):
    done = call("run", "four-bar", "--until", "0.5", "--set", "start.theta=[179,90,0]", "-o", "run.nc", cwd=tmp_path)
    assert "start      closed by turning links up to 0.0" in done.stdout


def test_the_force_of_a_pin_is_exported_by_its_name(tmp_path: Path) -> None:
    call("run", "four-bar", "--until", "0.2", "-q", "-o", "run.nc", cwd=tmp_path)
    header = call("export", "run.nc", "reactions", cwd=tmp_path).stdout.splitlines()[0]
    assert header.endswith("rx_3 [N],ry_3 [N],rx_pin [N],ry_pin [N]")


# Nothing surprising --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (["nice-3", "--links", "7"], "nice-3, changed: links = 7"),
        (["nice-3", "--set", "loads.joint_damper=0.1", "-n", "4"], "nice-3, changed: links = 4, loads.joint_damper = 0.1"),
        (["nice-3", "--links", "7", "--title", "Seven rods"], "Seven rods"),
        (["nice-3", "--links", "7", "--set", "title=Seven rods"], "Seven rods"),
        (["nice-3", "--until", "3", "--rtol", "1e-8"], "3 unit rods, all at 45 degrees, at rest: a nice, nearly uniform swing"),
    ],
)
def test_a_title_tells_of_the_model_as_it_is(arguments: list[str], title: str, tmp_path: Path, here: Any) -> None:
    done = here("run", *arguments, "--dry-run", cwd=tmp_path)
    assert done.stdout.split("\n")[0] == title, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["run", "nice-3", "-o", "out.csv"],
            "--output must end in .nc, got out.csv; its numbers as a table: nlink export RUN.nc -o",
        ),
        (["export", "run.nc", "-o", "x.xlsx"], "--output must end in .csv, got x.xlsx; spreadsheets open it"),
        (["lyapunov", "nice-3", "--csv", "x.txt"], "--csv must end in .csv, got x.txt"),
        (["animate", "run.nc", "-o", "x.mov"], "--output must end in .gif, .mp4 or .html, got x.mov"),
        (["plot", "run.nc", "-o", "x.pdf"], "--output must be a folder for the plots, got x.pdf; give x --format pdf"),
        (["plot", "run.nc", "-o", "x.jpg"], "--output must be a folder for the plots, got x.jpg; give x --format png|svg|pdf"),
        (["modes", "nice-3", "-o", "x.svg"], "--output must be a folder for the pictures, got x.svg; give x --format svg"),
        (["compare", "nice-3", "-o", "x.png"], "--output must be a folder for the plots, got x.png; give x --format png"),
    ],
)
def test_names_of_other_formats_are_refused(arguments: list[str], said: str, tmp_path: Path, here: Any) -> None:
    done = here(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"nlink: {said}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["poincare", "nice-3", "--section", "link=7"], 2, "--section link must be a whole number from 1 to 3, got 7"),
        (["map", "flip", "--size", "1000"], 2, "--size must read WIDTHxHEIGHT, like 1000x1000, got '1000'"),
        (
            ["stability", "follower-5", "--vary", "foo"],
            2,
            "--vary must be one of follower, damping, stiffness, gravity, torque, length, mass, com, inertia, offset, "
            "or a key of the model like loads.drag.linear, links[0].motion.amplitude, got 'foo'",
        ),
        (["run", "nice-3", "--set", "loads.foo=1"], 3, "nice-3: [loads] has no key 'foo'; known keys: gravity, joint_spring"),
        (["run", "nice-4"], 3, "there is no preset 'nice-4' (did you mean 'nice-3', 'nice-5' or 'nice-6'?); presets: a02-40"),
        (["plot", "run.nc", "--theme", "drak"], 2, "--theme must be one of light, dark; got 'drak' (did you mean 'dark'?)"),
        (["run", "nice-3", "--title", "long " * 201], 2, "--title must have at most 1,000 letters, got 1,005"),
    ],
)
def test_messages_have_their_remedy(arguments: list[str], code: int, said: str, tmp_path: Path, here: Any) -> None:
    done = here(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"nlink: {said}")


def test_a_run_in_the_place_of_a_model_is_told_with_the_remedies(saved: Path, tmp_path: Path) -> None:
    done = call("modes", saved.name, cwd=saved.parent)
    assert done.returncode == 3
    assert "run.nc is a run, not a model; its model: nlink show run.nc --toml > run.toml; to go on with it: nlink" in done.stderr
    assert "method     recursive, Taylor(tol=1e-12, order=" in call("show", str(saved), cwd=tmp_path).stdout


PUSHED = Chain.uniform(2, shape="point", loads=[Gravity(0), JointSpring(1.0)])
LOCUS = locus(lambda force: PUSHED.with_loads(FollowerForce(force)), np.linspace(0, 4, 9))
DRAWING = ("plot", "animate", "modes", "stability", "lyapunov", "poincare", "bifurcation", "compare", "map", "live")


@pytest.mark.parametrize("name", DRAWING)
def test_every_command_that_draws_takes_a_title_a_theme_and_a_size(name: str) -> None:
    module, function = COMMANDS[name].split(".")
    taken = inspect.signature(getattr(importlib.import_module(f"nlink.cli.{module}"), function), eval_str=True).parameters
    assert taken["title"].annotation == options.Title
    assert taken["theme"].annotation == options.Theme
    if name not in ("animate", "map", "live"):  # whose sizes are in pixels, or of the window
        assert taken["size"].annotation == options.Size


def test_a_report_draws_in_its_theme_and_size(tmp_path: Path) -> None:
    def drawn(**look: object) -> Image.Image:
        Report(False, True, tmp_path / "x.png", None, **look).draw(locus_figure, LOCUS, [], "load (N)", title="A title")
        return Image.open(tmp_path / "x.png").convert("RGB")

    plain, dark = drawn(), drawn(theme="dark", size="column")
    assert plain.getpixel((0, 0)) == (255, 255, 255)
    assert dark.getpixel((0, 0)) == (18, 22, 27)
    assert (plain.size, dark.size) == ((1430, 650), (442, 728))


def test_a_run_is_animated_with_another_title_in_the_dark(saved: Path, tmp_path: Path, here: Any) -> None:
    dark = "--theme", "dark"
    for name, *look in (("a.gif", *dark), ("b.gif", *dark, "--title", "Another"), ("c.html", "--title", "<b>")):
        done = here("animate", str(saved), "-o", name, "--fps", "2", "--size", "200x200", *look, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "a.gif") as one, Image.open(tmp_path / "b.gif") as two:
        first, second = one.convert("RGB"), two.convert("RGB")
    assert first.getpixel((199, 199)) == second.getpixel((199, 199)) == (18, 22, 27)
    assert ImageChops.difference(first.crop((0, 0, 120, 30)), second.crop((0, 0, 120, 30))).getbbox()
    assert "<title>&lt;b&gt;</title>" in (tmp_path / "c.html").read_text(encoding="utf-8")


def test_a_second_run_tells_its_file_and_a_resumed_one_needs_an_end(tmp_path: Path, here: Any) -> None:
    assert "saved      nice-3.nc\n" in here("run", "nice-3", "--until", "0.1", cwd=tmp_path).stdout
    again = here("run", "nice-3", "--until", "0.1", cwd=tmp_path)
    assert "saved      nice-3-2.nc (nice-3.nc is there already)\n" in again.stdout
    done = here("run", "--resume", "nice-3.nc", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "nlink: nice-3.nc has reached its end, t = 0.1 s; give a later one with --until\n"


def test_a_model_as_a_model_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(call("show", "chaotic-5", "--toml", cwd=tmp_path).stdout)
    assert nlink.Scenario.load(tmp_path / "mine.toml").to_dict() == nlink.preset("chaotic-5").to_dict()


@pytest.mark.parametrize("line", ["nlink run ni", "nlink show ni", "nlink derive ni", "nlink modes ni", "nlink map ftle ni"])
def test_presets_complete_in_the_shell(line: str, tmp_path: Path) -> None:
    last = str(line.count(" "))
    done = call(cwd=tmp_path, _NLINK_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=last)
    assert done.stdout.split() == ["nice-3", "nice-5", "nice-6"]
