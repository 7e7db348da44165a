"""`nlink modes` as a user meets it, and the pictures it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageSequence

from nlink.analysis.equilibrium import equilibrium
from nlink.analysis.linearize import linearize
from nlink.mechanics import kinematics, loop_closure
from nlink.mechanics.chain import Chain
from nlink.mechanics.loads import Gravity, JointDamper
from nlink.scenario import preset
from nlink.view.modes import TURN, _motion, bent, eigenvalues_figure, shapes_figure

HANGING = ("four-bar", "--set", "pin.x=1.2", "--set", "start.theta=[6, 90, 174]", "--from", "start")


def rows(text: str) -> list[list[str]]:
    """The cells of the table of modes."""
    return [line.split() for line in text.split("growth 1/s\n")[1].splitlines() if line.split()[0].isdigit()]


def test_table_of_two_point_masses_is_the_textbook_one(tmp_path: Path, here: Any) -> None:
    done = here("modes", "point-2", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 point masses")
    assert "rest       straight down\n" in done.stdout
    assert "stable     yes\n" in done.stdout
    exact = np.sqrt(9.81 * (2 + np.array([-1, 1]) * np.sqrt(2)))
    for row, omega in zip(rows(done.stdout), exact, strict=True):
        assert np.allclose([float(cell) for cell in row[1:6]], [omega, omega / 2 / np.pi, 2 * np.pi / omega, 0, 0], rtol=1e-5)
        assert row[6:] == ["stable"]
    assert not list(tmp_path.iterdir())


def test_growing_and_real_modes_are_named(tmp_path: Path, here: Any) -> None:
    done = here("modes", "follower-5", cwd=tmp_path)
    assert "no: 1 of 9 modes grows, by up to 0.01022 1/s" in done.stdout
    table = rows(done.stdout)
    assert table[-1][6] == "grows"
    assert float(table[-1][4]) < 0 < float(table[-1][5])
    assert table[0][3] == "-"
    assert " ".join(table[0][6:]) == "stable (real, no oscillation)"


def test_closed_chain_has_the_force_of_its_pin_and_start_is_a_guess(tmp_path: Path, here: Any) -> None:
    done = here("modes", *HANGING, cwd=tmp_path)
    assert "rest       at 5.7392, 90, 174.26 deg" in done.stdout  # sin(5.7392 deg) = 0.1: the bottom rod is level
    assert "14.715 N along y" in done.stdout  # half the weight of three rods
    assert len(rows(done.stdout)) == 1


def test_the_rest_of_a_loop_is_the_one_below_its_start_and_others_are_listed(tmp_path: Path, here: Any) -> None:
    done = here("modes", "four-bar", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert "  rest       at 0, 90, 180 deg, downhill from the start" in lines, done.stderr
    others = [line.removeprefix("  others").strip() for line in lines if line.endswith("stable") and " deg: " in line]
    assert sorted(line.split(": ")[1] for line in others) == ["not stable"] * 3 + ["stable"] * 2
    told = json.loads(here("modes", "four-bar", "--json", cwd=tmp_path).stdout)
    assert len(told["others"]) == 5


def test_many_modes_are_cut_short_and_few_links_cannot_move(tmp_path: Path, here: Any) -> None:
    done = here("modes", "nice-3", "--links", "30", "--count", "4", cwd=tmp_path)
    assert len(rows(done.stdout)) == 4
    assert done.stdout.endswith("  and 26 more\n")
    rigid = ("nice-3", "--links", "2", "--set", "pin={x=1.0, y=-1.0}", "--set", "start=zigzag")
    assert "no modes: the links cannot move" in here("modes", *rigid, cwd=tmp_path).stdout
    drawn = here("modes", *rigid, "-o", "pictures", cwd=tmp_path)
    assert (drawn.returncode, drawn.stdout) == (3, "")
    assert "no modes to draw" in drawn.stderr


def test_the_same_modes_are_printed_and_drawn(tmp_path: Path, here: Any) -> None:
    for count in (2, 5):
        done = here("modes", "catenary-50", "--count", str(count), "-o", "pictures", "--format", "svg", cwd=tmp_path)
        numbers = [row[0] for row in rows(done.stdout)]
        assert len(numbers) == count
        drawn = re.findall(r"<!-- mode (\d+)", (tmp_path / "pictures" / "modes.svg").read_text())
        assert drawn == numbers


def test_neutral_modes_are_zero_not_rounding(tmp_path: Path, here: Any) -> None:
    floating = ("nice-3", "--set", "loads.gravity=0.0", "--set", "loads.joint_spring=[0.0, 1.0, 1.0]")
    done = here("modes", *floating, cwd=tmp_path)
    assert "1 of 3 modes neutral" in done.stdout
    assert rows(done.stdout)[0] == ["1", "0", "0", "-", "0", "0", "neutral"]
    still = here("modes", *floating, "--animate", "1", "-q", cwd=tmp_path)
    assert still.returncode == 3
    assert "mode 1 cannot be animated" in still.stderr


def test_json_says_the_same(tmp_path: Path, here: Any) -> None:
    data = json.loads(here("modes", "rayleigh-4", "--json", cwd=tmp_path).stdout)
    chain = preset("rayleigh-4").chain
    small = linearize(chain, np.zeros(4))
    assert data["stable"] is True
    assert data["theta"] == [0, 0, 0, 0]
    assert np.array_equal(np.array(data["eigenvalues"]) @ [1, 1j], small.eigenvalues)
    for mode in data["modes"]:
        x, s = np.array(mode["shape"]) @ [1, 1j], complex(mode["growth"], mode["frequency"])
        assert np.abs((small.M * s**2 + small.C * s + small.K) @ x).max() < 1e-11
    long = json.loads(here("modes", "nice-3", "--links", "101", "--json", cwd=tmp_path).stdout)
    assert len(long["modes"]) == 101
    assert long["modes"][0]["shape"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nice-33"], 3, "there is no preset 'nice-33'"),
        (["nice-3", "--animate", "4"], 2, "--animate must be a mode from 1 to 3, got 4"),
        (["nice-3", "--count", "0"], 2, "--count must be a whole number, at least 1, got 0"),
        (["nice-3", "--from", "up"], 2, "--from must be one of rest, start; got 'up'"),
        (["nice-3", "--format", "jpg"], 2, "--format must be one of png, svg, pdf; got 'jpg'"),
        (["nice-3", "-o", "taken"], 5, "taken is a file; give a folder"),
        (["nice-3", "--set", "loads.joint_torque={amplitude=1.0, frequency=1.0}"], 3, "a torque that changes in time"),
        (["nice-3", "--set", "loads.joint_torque=100.0"], 3, "no equilibrium was found"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], code: int, sentence: str, here: Any) -> None:
    (tmp_path / "taken").touch()
    done = here("modes", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("nlink: ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


def test_pictures_and_animation_are_written(tmp_path: Path, here: Any) -> None:
    done = here("modes", *HANGING, "-o", "pictures", "--animate", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = ("modes.png", "eigenvalues.png", "mode-1.gif")
    assert [line for line in done.stderr.splitlines() if "wrote" in line] == [f"nlink: wrote pictures/{name}" for name in names]
    with Image.open(tmp_path / "pictures" / "mode-1.gif") as film:
        times = [frame.info["duration"] for frame in ImageSequence.Iterator(film)]
    assert sum(times) == 4000  # two periods, 2 s each
    assert here("modes", "nice-3", "-o", "drawn", "--format", "svg", "-q", cwd=tmp_path).stderr == ""
    assert sorted(file.name for file in (tmp_path / "drawn").iterdir()) == ["eigenvalues.svg", "modes.svg"]


def test_animation_without_a_folder_makes_one(tmp_path: Path, here: Any) -> None:
    assert here("modes", "nice-3", "--animate", "2", "-q", cwd=tmp_path).returncode == 0
    assert (tmp_path / "nice-3-modes" / "mode-2.gif").exists()


def test_panels_show_the_shapes_and_their_frequencies() -> None:
    scenario = preset("nice-3")
    small = linearize(scenario.chain)
    figure = shapes_figure(scenario, small, small.table())
    for axes, mode in zip(figure.axes, small.table(), strict=True):
        assert axes.get_title().endswith(f"\n{mode.frequency:.4g} rad/s")
        _, other, first = (np.column_stack(line.get_data()) for line in axes.lines[:3])
        assert np.allclose(first, kinematics.hinges(scenario.chain, TURN * mode.shape.real))
        assert np.allclose(other, first * [-1, 1])


def test_panels_pass_over_fading_modes_and_enlarge_faint_ones() -> None:
    scenario = preset("catenary-50")
    small = linearize(scenario.chain)
    titles = [axes.get_title() for axes in shapes_figure(scenario, small, small.table()).axes]
    oscillating = [k + 1 for k, mode in enumerate(small.table()) if mode.frequency][:9]
    assert [int(title.split()[1].rstrip(",")) for title in titles] == oscillating
    assert oscillating[0] > 1
    assert "\N{MULTIPLICATION SIGN}" not in titles[0]
    assert "\N{MULTIPLICATION SIGN}" in titles[8]


def test_eigenvalues_are_drawn_where_they_are() -> None:
    scenario = preset("follower-5")
    small = linearize(scenario.chain)
    (axes,) = eigenvalues_figure(scenario, small).axes
    stable, growing = (np.array(line.get_data()).T @ [1, 1j] for line in axes.lines[1:])
    assert len(growing) == 2
    assert np.all(growing.real > 0)
    assert np.array_equal(np.sort_complex(np.concatenate([stable, growing])), np.sort_complex(small.eigenvalues))


def test_a_bent_loop_stays_closed() -> None:
    chain = Chain.uniform(5, pin=(2.0, 0.5))
    small = linearize(chain, equilibrium(chain).theta)
    for mode in small.table():
        motion = _motion(small, mode, 2.0)
        assert np.abs(loop_closure.gap(chain, motion.theta)).max() < 1e-9 * chain.length.sum()
    tight = Chain.uniform(3, pin=(2.999, 0.0))
    stiff = linearize(tight, equilibrium(tight).theta)
    theta = bent(stiff, TURN * stiff.table()[0].shape.real)
    assert np.hypot(*loop_closure.gap(tight, theta)) < 1e-8


def test_a_complex_mode_moves_with_its_phases() -> None:
    chain = Chain.uniform(3, loads=(Gravity(9.81), JointDamper((0.0, 0.0, 1.5))))
    small = linearize(chain)
    mode = next(mode for mode in small.table() if np.abs(mode.shape.imag).max() > 0.1)
    motion = _motion(small, mode, 4 * np.pi / mode.frequency)
    exact = TURN * (mode.shape * np.exp(1j * mode.frequency * motion.t)[:, None]).real
    assert np.allclose(motion.theta, exact, atol=1e-12)
    assert np.abs(motion.omega[0]).max() > 0.01  # no moment at which all links rest


def test_the_slowest_modes_of_a_very_long_chain(tmp_path: Path, here: Any) -> None:
    done = here("modes", "nice-3", "--links", "10000", "--count", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1     0.0376607" in done.stdout
    assert "the slowest 3 of 10,000" in done.stdout
    refused = here("modes", "nice-3", "--links", "10000", "-o", "pictures", cwd=tmp_path)
    assert refused.returncode == 3
    assert "pictures of modes are drawn up to 2000 links, got 10000" in refused.stderr
