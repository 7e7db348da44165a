"""Pictures of chains in space: the camera, painter's order, what bodies look like, frames, plots, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_run import made_run
from made_space import mixed_chain, spatial_run
from PIL import Image

import nlink
from nlink._support.checks import ModelError
from nlink.mechanics.chain import Link
from nlink.mechanics.loads import FollowerForce, TipForce
from nlink.mechanics.space import kinematics
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.model import SpatialChain
from nlink.view.looks import Look, frame_times
from nlink.view.plot import figure, save_plots, suiting
from nlink.view.sampling import sampled
from nlink.view.space.frames import SpaceFrames
from nlink.view.space.orbit import FAR, About, OrbitCamera
from nlink.view.space.order import painted
from nlink.view.space.plots import SPACE_PLOTS
from nlink.view.space.reading import rows_of
from nlink.view.space.solids import Solid, solid_of
from nlink.view.style import DARK, LIGHT
from nlink.view.takes import run_content

FRAME = (20.0, 30.0, 420.0, 380.0)
angles = st.floats(-180.0, 180.0)


@given(angles, st.floats(-90.0, 90.0), st.floats(0.1, 5.0), st.floats(-5.0, 0.0), st.floats(0.1, 5.0))
def test_the_camera_sees_along_straight_lines_and_fits_the_cylinder(azimuth, elevation, radius, low, high):
    camera = OrbitCamera(About(radius, low, high), FRAME, azimuth, elevation)
    a, e = math.radians(azimuth), math.radians(elevation)
    turn = np.array([[math.cos(a), 0, -math.sin(a)], [0, 1, 0], [math.sin(a), 0, math.cos(a)]])
    tilt = np.array([[1, 0, 0], [0, math.cos(e), -math.sin(e)], [0, math.sin(e), math.cos(e)]])
    points = np.random.default_rng(1).uniform(-1, 1, (20, 3)) * [radius / 1.5, 0.0, radius / 1.5]
    points[:, 1] = np.linspace(low, high, 20)
    right, up, near = (tilt @ turn @ (points - camera.middle).T) / camera.eye
    seen = camera.places(points)
    scale = camera.focus / camera.eye
    np.testing.assert_allclose(seen[:, 0], camera.centre[0] + scale * camera.eye * right / (1 - near), atol=1e-6)
    np.testing.assert_allclose(seen[:, 1], camera.centre[1] + scale * camera.eye * up / (1 - near), atol=1e-6)
    np.testing.assert_allclose(seen[:, 2], near * camera.eye, atol=1e-9)
    left, bottom, far, top = FRAME
    assert np.all((seen[:, 0] > left - 2) & (seen[:, 0] < far + 2))
    assert np.all((seen[:, 1] > bottom - 2) & (seen[:, 1] < top + 2))
    assert camera.eye == pytest.approx(FAR * camera.reach)


def test_from_the_front_x_is_to_the_right_y_up_and_z_towards_the_viewer():
    camera = OrbitCamera(About(1.0, -1.0, 1.0), FRAME, 0.0, 0.0)
    origin, x, y, z = camera.places(np.concatenate([np.zeros((1, 3)), np.eye(3)]))
    assert x[0] > origin[0] + 50
    assert x[1] == pytest.approx(origin[1])
    assert y[1] > origin[1] + 50
    assert z[2] == pytest.approx(1.0)
    assert z[3] > origin[3]
    side = OrbitCamera(About(1.0, -1.0, 1.0), FRAME, 90.0, 0.0).places(np.eye(3))
    assert side[0][2] == pytest.approx(1.0)  # from the right: x comes towards the viewer
    assert side[2][0] < side[0][0]


def order_of(*items: Any) -> list[int]:
    """The order of things (a, b, half, link)."""
    a, b, half, link = zip(*items, strict=True)
    return painted(np.array(a, float), np.array(b, float), np.array(half, float), np.array(link, float))


def test_what_is_nearer_where_two_things_cross_is_painted_later():
    tilted = ((0, 0, -3, 1), (100, 0, 1, 1), 2, 0)  # its middle is behind the other, where they cross it is before it
    across = ((90, -50, -0.5, 1), (90, 50, -0.5, 1), 2, 5)
    assert order_of(tilted, across) == [1, 0]
    assert order_of(across, tilted) == [0, 1]
    assert order_of(tilted, ((10, -50, -1.2, 1), (10, 50, -1.2, 1), 2, 5)) == [0, 1]
    assert order_of(tilted, ((90, 300, -0.5, 1), (90, 400, -0.5, 1), 2, 5)) == [0, 1]  # they do not cross: by their middles


def test_neighbours_and_rings_are_painted_by_their_middles():
    assert order_of(((0, 0, 0, 1), (50, 0, 1, 1), 5, 0), ((50, 0, 1, 1), (100, 0, 4, 1), 5, 1)) == [0, 1]
    ring = [((0, 0, -1, 1), (100, 10, 1, 1), 1, 0), ((100, 0, -1, 1), (0, 100, 1, 1), 1, 4), ((5, 100, -1, 1), (10, 0, 1, 1), 1, 8)]
    assert sorted(order_of(*ring)) == [0, 1, 2]


@given(st.integers(0, 10_000))
def test_every_pair_that_crosses_without_a_ring_is_in_order(seed):
    rng = np.random.default_rng(seed)
    ends = rng.uniform(-100, 100, (2, 12, 2))
    depth = rng.permutation(12).astype(float)  # each flat, at its own depth: no rings
    a, b = (np.concatenate([each, depth[:, None], np.ones((12, 1))], 1) for each in ends)
    order = painted(a, b, np.full(12, 1.0), 10.0 * np.arange(12))
    assert [depth[k] for k in order] == sorted(depth)


def inertia_of(solid: Solid, mass: float) -> np.ndarray:
    """The tensor of a uniform cylinder or box, by its sides."""
    (a, b, c), axes = (2 * np.array(solid.half)).tolist(), np.array(solid.axes)
    if solid.round:
        across = mass * (3 * (a / 2) ** 2 + b**2) / 12
        own = np.diag([across, mass * (a / 2) ** 2 / 2, across])
    else:
        own = mass / 12 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2])
    return axes.T @ own @ axes


@given(st.tuples(*[st.floats(0.2, 1.0)] * 3), st.tuples(*[st.floats(-1.0, 1.0)] * 4), st.booleans())
def test_a_body_is_drawn_as_the_box_or_cylinder_that_turns_like_it(sides, turn, symmetric):
    squares = np.array(sides if not symmetric else (sides[0], sides[1], sides[0])) ** 2
    q = np.add(turn, [2.0, 0, 0, 0])
    axes = np.stack([kinematics.turned(q / np.linalg.norm(q), axis) for axis in np.eye(3)])
    tensor = axes.T @ np.diag((squares.sum() - squares) * 2.0 / 12) @ axes
    body = Body(1.0, 2.0, (0.0, -0.5, 0.0), tensor.tolist())
    np.testing.assert_allclose(inertia_of(solid_of(body), 2.0), tensor, atol=1e-6)


def test_cylinders_and_boxes_are_drawn_as_such():
    cylinder, box = solid_of(Body.cylinder(1.0, 2.0, 0.1)), solid_of(Body.box(1.0, 2.0, 0.2, 0.4))
    assert cylinder.round
    assert cylinder.half == (0.1, 0.5, 0.1)
    assert not box.round
    assert box.half == (0.1, 0.5, 0.2)
    assert cylinder.rods == box.rods == ()
    assert not solid_of(Body.box(1.0, 2.0, 0.2, 0.2)).round  # although it turns like a cylinder
    disc = solid_of(Body(1.0, 1.0, (0.0, -0.5, 0.0), (0.02, 0.03, 0.02)))
    assert disc.round
    assert [round(b - a, 3) for a, b in disc.rods] == [round(0.5 - disc.half[1], 3)] * 2
    aside = solid_of(Body(1.0, 1.0, (0.6, -0.5, 0.0), (0.02, 0.03, 0.02)))
    assert aside.rods == ((0.0, 1.0),)
    assert aside.foot == pytest.approx(0.5)
    assert solid_of(Body(1.0, 0.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1))).reach < 1e-6  # nothing to be seen


def test_the_rows_of_a_motion_are_unit_vectors_and_their_rates():
    chain = mixed_chain()
    run, step = spatial_run(chain), 1e-5
    rows, rates = rows_of(chain, run.position, run.velocity)
    later, _ = rows_of(chain, run.position + step * run.velocity, run.velocity)
    np.testing.assert_allclose(rates, (later - rows) / step, atol=1e-2)
    assert rows.shape[1] == 4 * 4 + 2 * 3
    np.testing.assert_allclose((rows**2).sum(1), chain.n, atol=1e-9)


@pytest.mark.parametrize("chain", [SpatialChain.uniform(3), mixed_chain()])
def test_a_page_holds_the_moments_that_follow_the_run(chain):
    run = spatial_run(chain, np.linspace(0, 4, 2001))
    found = sampled(run, 100_000)
    assert found.error < 1e-4
    assert len(found.t) < 2001
    assert len(sampled(run, 2000).t) <= 2000 // found.values.shape[1]
    content = run_content(run)
    take: Any = content["takes"][0]  # pyright: ignore[reportIndexIssue]
    assert take["rows"].values.shape == (found.values.shape[1], len(found.t))
    assert take["chain"]["turns"] == [not line for line in chain.is_line]


def shots(chain: SpatialChain, *times: float, **look: Any) -> list[np.ndarray]:
    run = spatial_run(chain)
    frames = SpaceFrames(run, np.array([0.0, 1.0, 2.0, 3.0, 4.0]) if not times else np.array(times), Look((240, 240), **look), 25.0)
    return [np.asarray(frames.draw(k), int) for k in range(len(frames))]


@pytest.mark.parametrize("style", ["bar", "line"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_frames_of_every_kind_of_link(theme, style):
    first, *others = shots(mixed_chain(), theme=theme, style=style, centres=True)
    ground = np.round(255 * np.array((LIGHT if theme == "light" else DARK).stage)).astype(int)
    assert np.mean(np.all(first == ground, -1)) > 0.5
    for other in others:
        assert np.mean(np.any(other != first, -1)) > 0.02


def test_the_view_may_stand_anywhere_and_turn():
    chain = SpatialChain.uniform(2)
    plain, again, front = (shots(chain, 1.0, 2.0, **view)[1] for view in ({}, {}, {"azimuth": 0.0, "elevation": 0.0}))
    assert np.array_equal(plain, again)
    assert not np.array_equal(plain, front)
    still, turning = shots(chain, 1.0, 1.0, trail=0.0), shots(chain, 1.0, 1.0, trail=0.0, turn=500.0)
    assert np.array_equal(*still)
    assert np.array_equal(still[0], turning[0])
    assert not np.array_equal(*turning)  # the chain rests, the view turns


@pytest.mark.parametrize("depth", [0.8, -0.8])
def test_the_nearer_link_covers_the_other(depth):
    chain, rows = SpatialChain.uniform(3), np.array([(0.0, -1.0, 0.0), (0.5, 0.3, depth), (-1.0, 0.1, 0.0)])
    position = np.tile((rows / np.linalg.norm(rows, axis=1)[:, None]).ravel(), (2, 1))
    still = replace(spatial_run(chain, [0.0, 1.0]), position=position, velocity=0 * position, acceleration=0 * position)
    look = Look((400, 400), 0.0, hinges=False, timer=False, azimuth=0.0, elevation=0.0, theme="light")
    frames = SpaceFrames(still, np.array([0.0, 1.0]), look, 25.0)
    a, b = frames.camera.places(frames.stand.hinges[0])[2:4]
    x, y, *_ = a + (b - a) * (200 - a[0]) / (b[0] - a[0])  # the last link passes before or behind the first one, in the middle
    pixel = np.asarray(frames.draw(0), float)[400 - round(y), round(x)] / 255
    hazy = [frames.painter.colours + haze * (np.array(LIGHT.stage) - frames.painter.colours) for haze in np.linspace(0, 0.5, 20)]
    assert int(np.argmin(np.min(np.abs(np.array(hazy) - pixel).sum(-1), axis=0))) == (2 if depth > 0 else 0)


def test_a_spin_is_seen_by_its_stripe():
    chain = SpatialChain([Body.cylinder(1.0, 1.0, 0.25)])
    run, q = spatial_run(chain, [0.0, 1.0]), np.array([[1.0, 0, 0, 0], [math.cos(0.7), 0, math.sin(0.7), 0]])
    spun = replace(run, position=q, velocity=0 * q, acceleration=0 * q)
    frames = SpaceFrames(spun, np.array([0.0, 1.0]), Look((240, 240), 0.0, timer=False), 25.0)
    first, second = (np.asarray(frames.draw(k), int) for k in (0, 1))
    assert np.mean(np.abs(first - second).max(-1) > 40) > 0.01


def test_an_animation_of_a_run_in_space(tmp_path):
    run = spatial_run(mixed_chain(), np.linspace(0, 1, 51))
    path = run.animate(tmp_path / "run.gif", size=(160, 160), fps=10, turn=20.0, theme="dark")
    with Image.open(path) as image:
        assert image.n_frames == 11  # pyright: ignore[reportAttributeAccessIssue]
        image.seek(10)
        shown = np.asarray(image.convert("RGB"), int)
    drawn = np.asarray(SpaceFrames(run, frame_times(run, None, 10), Look((160, 160), theme="dark", turn=20.0), 10.0).draw(10), int)
    assert np.abs(shown - drawn).max() < 30  # 255 colours stand for all
    assert np.abs(shown - drawn).mean() < 1


def test_forces_are_drawn_where_they_act():
    bare, pulled, pressed = (
        shots(SpatialChain.uniform(1, loads=loads), 0.0, 1.0, trail=0.0)[0]
        for loads in ((), TipForce(0.0, 0.0, fz=2.0), FollowerForce(1.0))
    )
    assert not np.array_equal(bare, pulled)
    assert not np.array_equal(bare, pressed)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda run: run.animate("a.gif", elevation=100.0), "elevation"),
        (lambda run: run.animate("a.gif", turn=math.inf), "turn"),
        (lambda run: run.animate("a.gif", trace=(0.0, 1.0)), "trace must be a point along a link in space"),
        (lambda run: run.animate("a.gif", trace=nlink.At(0, 0.5, 0.1)), "trace must be a point along a link in space"),
        (lambda run: run.plot("phase"), "the plot 'phase' is for runs in the plane; take inclination"),
        (lambda run: run.plot("angle"), "plot must be one of inclination"),
        (lambda run: run.plot("tip", trace=[nlink.At(0)]), "omit trace"),
    ],
)
def test_what_a_run_in_space_refuses(call, said):
    with pytest.raises(ModelError, match=said):
        call(spatial_run(SpatialChain.uniform(2)))


def test_what_a_run_in_the_plane_refuses():
    with pytest.raises(ModelError, match="turn is for runs in space"):
        made_run().animate("a.gif", turn=10.0)
    with pytest.raises(ModelError, match="the plot 'momentum' is for runs in space; take angles"):
        made_run().plot("momentum")


@pytest.mark.parametrize("name", SPACE_PLOTS)
@pytest.mark.parametrize("chain", [SpatialChain.uniform(8), mixed_chain()])
def test_every_plot_of_a_run_in_space(name, chain):
    drawn = figure(spatial_run(chain, trusted=2.0), name, links=[0, 2], t=(1.0, 3.0), theme="dark")
    assert drawn.axes[0].get_title(loc="left") == SPACE_PLOTS[name].meaning
    plain = figure(spatial_run(chain), name, size="column")
    assert all(axes.get_ylabel() or name == "paths" for axes in plain.axes[:1])


def test_the_plots_show_what_they_say():
    run = spatial_run(SpatialChain.uniform(2))
    shown = {name: figure(run, name).axes for name in SPACE_PLOTS}
    np.testing.assert_allclose(shown["inclination"][0].lines[1].get_ydata()[-1], np.degrees(run.inclination[-1, 1]))  # pyright: ignore[reportIndexIssue,reportArgumentType,reportCallIssue]
    np.testing.assert_allclose(shown["azimuth"][0].lines[0].get_ydata()[-1], np.degrees(run.azimuth[-1, 0]), atol=1e-6)  # pyright: ignore[reportIndexIssue,reportArgumentType,reportCallIssue]
    np.testing.assert_allclose(shown["momentum"][0].lines[0].get_ydata(), run.about_vertical())
    assert [axes.get_ylabel() for axes in shown["rates"]] == [rf"$\omega_{axis}$ (rad/s)" for axis in "xyz"]
    assert shown["tip"][0].yaxis_inverted()  # z towards the reader is down
    assert shown["tip"][0].get_aspect() == 1


def test_a_link_that_hangs_straight_has_no_azimuth():
    chain = SpatialChain([Link.rod(1.0, 1.0)])
    t = np.linspace(-1, 1, 21)
    angle = 0.5 * t
    position = np.stack([np.sin(angle), -np.cos(angle), 0 * t], -1)
    run = replace(spatial_run(chain, t), position=position, velocity=np.gradient(position, t, axis=0))
    (line,) = figure(run, "azimuth").axes[0].lines
    values = np.asarray(line.get_ydata())
    assert np.isnan(values).sum() == 1
    assert set(np.round(np.unique(values[~np.isnan(values)]))) <= {0.0, 180.0, -180.0}
    hanging = replace(run, position=np.tile([0.0, -1.0, 0.0], (21, 1)), velocity=0 * position)
    assert "azimuth" not in suiting(hanging)
    with pytest.raises(ModelError, match="needs a link that is not vertical all the time"):
        figure(hanging, "azimuth")


def test_plots_are_written_for_all_that_suits(tmp_path):
    run = spatial_run(SpatialChain.uniform(3), np.linspace(0, 1, 30))
    assert [path.stem for path in save_plots(run, tmp_path, dpi=30)] == list(SPACE_PLOTS)
    with mpl.rc_context():
        assert figure(run).axes[0].get_title(loc="left") == "Inclinations from straight down"
