"""Pictures of modes in space: what they show is the small motion of the chain; the files, and the page in a browser."""

from __future__ import annotations

import math
import shlex
import sys
from typing import Any

import numpy as np
import pytest
from browsing import Tab
from PIL import Image, ImageSequence

import nlink
from nlink import Body, LinkDamper, Scenario, SpatialChain, simulate
from nlink.analysis.space_modes import steady_state, swings
from nlink.cli import command
from nlink.cli.codes import USAGE
from nlink.mechanics import kinematics
from nlink.mechanics.space.turning import steady_turning
from nlink.view.modes import TURN
from nlink.view.space.modes import motion_in, space_shapes
from nlink.view.space.modes_page import space_modes_page

PLAYER = "document.getElementById('nlink').player"


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder; return its exit code and what it prints."""
    monkeypatch.chdir(tmp_path)

    def called(line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nlink", *shlex.split(line)])
        return command(), *capsys.readouterr()

    return called


def turning() -> tuple[Scenario, Any, Any]:
    """Two rods that turn steadily, the state, and its modes."""
    chain = SpatialChain.uniform(2)
    scenario = Scenario(chain, tuple(steady_turning(chain, 4.0).tolist()), ((0.0, 4.0, 0.0),) * 2)
    state = steady_state(chain, scenario.theta, scenario.omega)
    return scenario, state, swings(state)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_mode_about_steady_turning_goes_round_as_the_chain_does(k):
    """The chain is started in a mode, and looked at a quarter and a half of a period later in the frame that turns with it."""
    scenario, state, found = turning()
    swing, small, chain = found[k], 1e-6, scenario.chain
    w, period = swing.mode.frequency, 2 * math.pi / swing.mode.frequency
    change, pace = np.real(swing.change), np.real(1j * w * swing.change)
    carried = (np.cross([0.0, state.rate, 0.0], (state.position + small * change).reshape(-1, 3))).ravel()
    start = np.concatenate([state.position + small * change, carried + small * pace])
    run = simulate(chain, state=start, t_end=period, save=(period / 4, period / 2), rtol=1e-13, atol=1e-13)
    for row, (t, factor) in enumerate(zip(run.t[:2], (1j, -1.0), strict=True)):
        s, c = math.sin(-state.rate * t), math.cos(-state.rate * t)
        back = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        moved = ((run.direction[row] @ back.T).ravel() - state.position) / small
        np.testing.assert_allclose(moved, np.real(factor * swing.change), atol=2e-4)


def test_the_picture_of_a_mode_is_its_motion_on_the_spheres():
    _, state, found = turning()
    t, c, v = motion_in(state, found[1], 64)
    assert t[-1] == pytest.approx(2 * math.pi / found[1].mode.frequency)
    np.testing.assert_array_equal(c[0], c[-1])
    e = c.reshape(-1, 2, 3)
    np.testing.assert_allclose(np.linalg.norm(e, axis=-1), 1.0, atol=1e-15)
    turned = np.arccos(np.clip((e[0] * state.position.reshape(2, 3)).sum(-1), -1, 1))
    assert 0.8 * TURN < turned.max() <= math.sqrt(3) * TURN
    np.testing.assert_allclose(v[8], (c[9] - c[7]) / (t[9] - t[7]), atol=2e-2)
    assert motion_in(state, found[0], 64)[0].tolist() == [0.0]


def test_a_mode_that_does_not_oscillate_falls_to_rest():
    state = steady_state(SpatialChain.uniform(1, loads=[LinkDamper(20.0)]))
    slow = swings(state)[0]
    assert slow.mode.frequency == 0.0
    t, c, _ = motion_in(state, slow, 64)
    assert t[-1] == pytest.approx(4.0 / abs(slow.mode.growth))
    away = np.abs(c - state.position).max(1)
    assert np.all(np.diff(away) < 0)
    assert away[-1] == pytest.approx(away[0] * math.exp(-4.0), rel=0.1)


def top() -> SpatialChain:
    return SpatialChain([Body(0.2, 1.5, (0, -0.1, 0), (0.004, 0.006, 0.004))])


def test_a_spin_turns_its_body_and_no_direction():
    """A body that hangs can turn about itself: its mode has no shape, and its quaternion changes by half the angle."""
    state = steady_state(top())
    (spin,) = [swing for swing in swings(state) if not np.abs(swing.mode.shape).max()]
    assert np.abs(spin.change).max() == pytest.approx(0.5)
    t, c, _ = motion_in(state, spin, 8)
    assert len(t) == 1
    np.testing.assert_allclose(kinematics.hinges(top(), c)[0, 1], [0.0, -0.2, 0.0], atol=1e-15)


def test_the_figure_has_a_panel_for_each_mode_and_three_views():
    scenario, state, found = turning()
    figure = space_shapes(scenario, state, found, 3)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title().split("\n")[1] for axes in panels] == ["5.097 rad/s", "9.084 rad/s", "12.44 rad/s"]
    lines = panels[1].get_lines()
    assert len(lines) == 3 * (3 + 2 + 1)
    front, side, above = (lines[k].get_xydata() for k in (0, 6, 12))
    rest = kinematics.hinges(scenario.chain, state.position)
    np.testing.assert_allclose(front, rest[:, :2])
    np.testing.assert_allclose(np.diff(side, axis=0), np.diff(np.column_stack([-rest[:, 2], rest[:, 1]]), axis=0), atol=1e-15)
    np.testing.assert_allclose(np.diff(above, axis=0), np.diff(np.column_stack([rest[:, 0], -rest[:, 2]]), axis=0), atol=1e-15)


def test_the_command_writes_pictures_and_refuses_by_one_sentence(call, tmp_path):
    code, _, err = call("modes cone-2 --from start -o shapes --format svg --animate 2 -q")
    assert (code, err) == (0, "")
    assert {path.name for path in (tmp_path / "shapes").iterdir()} == {"modes.svg", "eigenvalues.svg", "mode-2.gif"}
    with Image.open(tmp_path / "shapes" / "mode-2.gif") as film:
        frames = [np.asarray(frame.convert("L"), float) for frame in ImageSequence.Iterator(film)]
    assert len(frames) == 200
    assert np.abs(frames[50] - frames[0]).mean() > 1.0
    code, _, err = call("modes cone-2 --animate 9 -o shapes")
    assert (code, err) == (USAGE, "nlink: --animate must be a mode from 1 to 4, got 9\n")


def test_the_page_moves_the_chosen_mode(browser, tmp_path):
    scenario, state, found = turning()
    page_file = space_modes_page(scenario, state, found, tmp_path / "modes.html")
    with Tab(browser, page_file) as page:
        page.select_option("select", index=2)
        moment = f"(t) => {{ const m = {PLAYER}.motion.at(t); return [[...m.x], [...m.y], [...m.z]]; }}"
        t, c, _ = motion_in(state, found[2], 96)
        shown = np.array(page.evaluate(moment, float(t[31])))
        legends = page.evaluate("[...document.querySelectorAll('.legend')].map((node) => node.textContent)")
    np.testing.assert_allclose(shown.T, kinematics.hinges(scenario.chain, c[31]), atol=1e-4)
    assert any(legend.startswith("growth (1/s) across, frequency (rad/s) up") for legend in legends)


def test_presets_in_space_have_pictures_of_their_modes(call, tmp_path):
    for name in (name for name in nlink.presets() if nlink.preset(name).chain.spatial):
        code, _, err = call(f"modes {name} --links 3 -o {name}.html -q" if name == "rope-50" else f"modes {name} -o {name}.html -q")
        assert (code, err) == (0, ""), name
        assert (tmp_path / f"{name}.html").stat().st_size > 50_000, name
