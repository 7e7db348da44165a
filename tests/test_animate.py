"""Animations: real files read back, their frames and times, the options, and what is refused."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from made_loop import made_loop
from made_mechanism import MECHANISMS, moved
from made_run import made_run, motion
from PIL import Image, ImageSequence

from nlink._support.checks import ModelError
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Chain, Link
from nlink.mechanics.points import At
from nlink.run.run import Run
from nlink.view import live as window
from nlink.view.animate import CLEAR, animate, delays
from nlink.view.frames import Frames, gif_palette
from nlink.view.looks import Look, frame_times
from nlink.view.pen import width_of
from nlink.view.scene import title_for
from nlink.view.style import LIGHT, THEMES

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
SMALL = (64, 64)


def frames(run: Run, fps: float = 50, speed: float = 1.0, **look) -> Frames:
    return Frames(run, frame_times(run, speed, fps), Look(**look))


def pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("RGB"), int)


def near(image: Image.Image, colour: tuple[float, float, float], reach: int) -> np.ndarray:
    """Return which pixels (H, W) come near a colour."""
    return np.abs(pixels(image) - np.round(255 * np.array(colour))).sum(-1) < reach


def gif(path: Path) -> tuple[list[np.ndarray], list[int]]:
    """Return the frames of a GIF and how long each stays, in ms."""
    with Image.open(path) as image:
        assert image.info["loop"] == 0  # for ever
        shown = [(pixels(frame), frame.info["duration"]) for frame in ImageSequence.Iterator(image)]
    return [s[0] for s in shown], [s[1] for s in shown]


@pytest.mark.parametrize("fps", [50, 30, 24, 7.5])
@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
def test_frames_and_duration_of_a_gif(tmp_path, fps, speed):
    path = animate(made_run(), tmp_path / "a.gif", fps=fps, speed=speed, size=SMALL)
    shown, stays = gif(path)
    count = math.ceil(1.0 / speed * fps) + 1
    assert len(shown) == count
    assert abs(sum(stays) - 1000 * count / fps) <= 5
    assert max(stays) - min(stays) <= 10
    assert shown[0].shape == (64, 64, 3)


def test_a_moment_is_shown_in_slow_motion():
    run = made_run()
    run.t *= 0.03
    times = frame_times(run, None, 50)
    assert len(times) == 401  # 8 s
    assert times[-1] == 0.03
    assert len(frame_times(run, 1.0, 50)) == 3
    assert len(frame_times(made_run(), None, 50)) == len(frame_times(made_run(), 1.0, 50))


def test_delays_are_spread():
    assert delays(6, 30) == [3, 4, 3, 3, 4, 3]
    assert delays(4, 50) == [2, 2, 2, 2]
    assert sum(delays(2400, 24)) == 10_000


@pytest.mark.parametrize("n", [1, 5, 30])
def test_a_gif_shows_the_frames_as_drawn(tmp_path, n):
    run = made_run(n, spin=3.0)
    path = animate(run, tmp_path / "a.gif", fps=20, size=(200, 220), centres=True)
    drawn, (shown, _) = frames(run, fps=20, size=(200, 220), centres=True), gif(path)
    for k, image in enumerate(shown):
        off = np.abs(image - pixels(drawn.draw(k))).max(-1)
        assert off.max() < 36, k
        assert np.mean(off > 15) < 3e-4, k


@pytest.mark.parametrize("links", [1, 5, 20, 100])
def test_the_palette_leaves_the_clear_colour_alone(links):
    palette = gif_palette(links)
    assert len(palette.getpalette() or []) == 3 * 256
    drawn = frames(made_run(links), centres=True).draw(20).quantize(palette=palette, dither=Image.Dither.NONE)
    assert drawn.getextrema()[1] < CLEAR


def test_the_last_frame_is_the_end_of_the_run(tmp_path):
    run = made_run(times=np.linspace(0.0, 0.503, 30))
    times = frame_times(run, 1.0, 50)
    np.testing.assert_allclose(times, [*np.arange(26) / 50, 0.503], atol=1e-12)
    end = frames(run, size=SMALL).places[-1]
    np.testing.assert_allclose(end, frames(run, size=SMALL).camera.pixels(run.positions()[-1]))
    assert len(frame_times(made_run(times=np.arange(0, 20.005, 0.01)), 1.0, 50)) == 1001


def test_frames_move_between_saved_points(tmp_path):
    run = made_run(2, times=[0.0, 0.5, 1.0], knots=np.linspace(0, 1, 21))
    made = frames(run, fps=50)
    exact = kinematics.hinges(run.chain, motion(2, made.times).theta)
    np.testing.assert_allclose(made.places, made.camera.pixels(exact), atol=0.01)
    shown, _ = gif(animate(run, tmp_path / "a.gif", size=(200, 200), timer=False, trail=0))
    assert all((a != b).any() for a, b in pairwise(shown))


@pytest.mark.parametrize(
    "option", [{"trail": 0}, {"trail": 0.2}, {"hinges": False}, {"timer": False}, {"centres": True}, {"style": "line"}], ids=str
)
def test_each_option_changes_the_picture(option):
    run = made_run(3)
    assert (pixels(frames(run, **option).draw(40)) != pixels(frames(run).draw(40))).any()


WORDS = "A chain of fifteen equal rods that hangs from a pivot, driven by a sine at its first joint, with drag and dampers"
HUNG = "50 rods hung from two points, released from a zig-zag between them"


@pytest.mark.parametrize("size", [(640, 640), (480, 360), (161, 1000), (1920, 1080)])
@pytest.mark.parametrize("title", ["", "Short", HUNG, WORDS, 2 * WORDS, "x" * 90])
def test_the_whole_title_is_shown_beside_the_timer(title, size):
    timer = 100.0 if size[0] > 200 else 40.0
    made = title_for(title, size, timer)
    assert "".join(made.lines).replace(" ", "") == title.replace(" ", "")
    assert max(width_of(line, made.letter) for line in made.lines) <= size[0] - timer - 2.6 * made.usual
    assert 0.6 * made.usual <= made.letter <= made.usual or made.letter == 9.0
    assert len(made.lines) <= 3 or made.letter < made.usual


def test_a_title_that_would_fill_the_picture_is_cut():
    made = title_for("many words " * 90, (320, 240), 100.0)
    assert made.lines[-1].endswith("\N{HORIZONTAL ELLIPSIS}")
    assert made.bottom < 0.35 * 240
    assert title_for("words", (100, 100), 0.0).lines == []


def test_the_picture_begins_below_its_title():
    short, long = (frames(made_run(3, title=title)) for title in ("Short", 3 * WORDS))
    assert short.camera.frame[3] - long.camera.frame[3] > 20
    top = int(640 - long.camera.frame[3])
    for upper in (0, top - 35):  # its first line, and its last
        assert near(long.draw(0).crop((0, upper, 400, upper + 30)), LIGHT.muted, 90).any()


@pytest.mark.parametrize("name", ["light", "dark"])
def test_themes(tmp_path, name):
    run, theme = made_run(5, spin=3.0), THEMES[name]
    drawn = frames(run, fps=10, size=(200, 220), theme=name, centres=True)
    shown, _ = gif(animate(run, tmp_path / "a.gif", fps=10, size=(200, 220), theme=name, centres=True))
    for k, image in enumerate(shown):
        assert np.abs(image - pixels(drawn.draw(k))).max() < 40, k
    assert shown[0][219, 199].tolist() == [round(255 * part) for part in theme.stage]
    with mpl.rc_context({"axes.facecolor": "black" if name == "dark" else "white"}):
        assert frames(run).theme is theme


def test_the_timer_shows_the_time():
    made = frames(made_run(times=np.linspace(0, 2, 50)))
    assert [made.time(k) for k in (0, 1, 100)] == ["t = 0.00 s", "t = 0.02 s", "t = 2.00 s"]
    assert frames(made_run(times=-np.linspace(0, 0.05, 50))).time(-1) == "t = \N{MINUS SIGN}0.0500 s"


@pytest.mark.parametrize("fps", [2, 10, 50])
def test_the_trail_follows_the_last_end_at_any_frame_rate(fps):
    run = made_run(1, times=np.arange(201) / 100, spin=6.0)
    made = frames(run, fps=fps, trail=0.5, style="line", hinges=False)
    image = pixels(made.draw(len(made) - 1))
    red = image[..., 0] - image[..., 2] > 10  # neither the ground nor a link is

    def on_trail(t: float) -> bool:
        x, y = made.camera.pixels(kinematics.hinges(run.chain, motion(1, np.array([t]), 6.0).theta))[0, -1]
        column, row = int(x), int(made.look.size[1] - y)
        return bool(red[row - 2 : row + 3, column - 2 : column + 3].any())

    assert all(on_trail(t) for t in np.linspace(1.65, 1.95, 13))
    assert not any(on_trail(t) for t in np.linspace(1.0, 1.4, 9))


def test_trail_and_view_keep_within_the_picture():
    heavy_side = Chain([Link(0.3, 1.0, 0.9, 0.1, offset=0.6), Link(0.2, 1.0, -0.4, 0.1, offset=-0.5)])
    for size in ((640, 640), (900, 300), (120, 500)):
        made = frames(made_run(chain=heavy_side, spin=6.0), size=size, centres=True)
        for points in (made.places, made.path, made.centres, made.feet):
            assert points.min() > 2.9
            assert (points < np.array(size) - 2.9).all()
        # the picture is used: the motion fills it in one direction
        extent = np.ptp(np.concatenate([made.places.reshape(-1, 2), made.centres.reshape(-1, 2)]), axis=0) / size
        assert extent.max() > 0.6
        np.testing.assert_allclose(np.linalg.norm(made.places[:, 1] - made.places[:, 0], axis=1), 0.3 * made.camera.scale)


def test_the_pivot_stands_in_the_middle_unless_the_motion_is_lopsided():
    def aside(theta: float, swing: float) -> float:
        run = made_run(1)
        run.theta[:, 0] = theta + swing * np.sin(np.arange(101) / 16)
        left, _, right, _ = (camera := frames(run, size=(640, 640), trail=0).camera).frame
        return camera.origin[0] - (left + right) / 2

    assert abs(aside(0.1, 0.8)) < 1
    assert aside(np.pi / 2, 0.2) < -200


def around(image: Image.Image, at: np.ndarray, reach: float) -> Image.Image:
    """Return the square part of a picture around a point that counts from the lower left corner."""
    x, y = at[0], image.size[1] - at[1]
    return image.crop((round(x - reach), round(y - reach), round(x + reach), round(y + reach)))


@pytest.mark.parametrize("option", [{}, {"hinges": False}, {"style": "line"}, {"size": (300, 200)}], ids=str)
def test_the_pin_is_grounded_like_the_pivot(option):
    made = frames(made_loop(3, inner=2.0), timer=False, trail=0, **option)
    half, _ = made.camera.symbol()
    ground = Image.fromarray(made.ground).convert("RGB")
    hatched = [
        near(around(ground, at, half), LIGHT.muted, 60).sum() for at in made.camera.pixels(np.array([[0.0, 0.0], [2.0, 0.0]]))
    ]
    assert min(hatched) > half  # at least the line
    assert hatched[1] == pytest.approx(hatched[0], rel=0.3)


@pytest.mark.parametrize("style", ["bar", "line"])
def test_the_pin_has_a_hinge_mark_if_hinges_are_shown(style):
    def marked(hinges: bool) -> float:
        made = frames(made_loop(3, inner=2.0), timer=False, trail=0, style=style, hinges=hinges)
        colour = LIGHT.ink if style == "line" else LIGHT.stage
        return near(around(made.draw(30), made.places[30, -1], 3), colour, 60).mean()

    assert marked(True) > 0.8
    assert marked(False) < 0.4


@pytest.mark.parametrize("size", [(640, 640), (900, 300), (120, 500)])
def test_the_view_holds_the_pin_and_its_symbol(size):
    run = made_loop(3, spin=0.0)
    run.theta[:, 0] = 0.001 * run.t  # hangs: the pivot and the pin are the outermost points
    run.theta[:, -1] = run.theta[:, 0] + np.pi
    camera = frames(run, size=size).camera
    (left, bottom, right, top), (half, height) = camera.frame, camera.symbol()
    for x, y in camera.pixels(np.array([[0.0, 0.0], [1.0, 0.0]])):
        assert left - 0.5 <= x - half < x + half <= right + 0.5
        assert bottom <= y < y + height <= top + 0.5
    run.theta[:] = 0.0  # a motion that has left its pin: that is shown too
    x, y = frames(run, size=size).camera.pixels(np.array([1.0, 0.0]))
    assert left <= x <= right
    assert bottom <= y <= top


def test_pivot_and_pin_stand_about_the_middle():
    left, _, right, _ = (camera := frames(made_loop(3), trail=0).camera).frame
    assert camera.pixels(np.array([0.5, 0.0]))[0] == pytest.approx((left + right) / 2, abs=1)


@pytest.mark.parametrize("n", [3, 4])
def test_the_trail_of_a_closed_chain_is_that_of_its_middle(n):
    run = made_loop(n)
    made = frames(run, fps=50)
    ends = kinematics.hinges(run.chain, run.at(made.times).theta)
    middle = (ends[:, 1] + ends[:, 2]) / 2 if n == 3 else ends[:, 2]
    parts = (len(made.path) - 1) // (len(made) - 1)
    np.testing.assert_allclose(made.path[::parts], made.camera.pixels(middle), atol=1e-6)
    image = pixels(made.draw(40))
    assert (image[..., 0] - image[..., 2] > 60).sum() > 100


def test_a_gif_of_a_closed_chain_shows_the_frames_as_drawn(tmp_path):
    run = made_loop(5)
    drawn, (shown, _) = frames(run, fps=20, size=(200, 220)), gif(animate(run, tmp_path / "a.gif", fps=20, size=(200, 220)))
    for k, image in enumerate(shown):
        assert np.abs(image - pixels(drawn.draw(k))).max() < 36, k


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_gif_of_a_mechanism_shows_the_frames_as_drawn(tmp_path, name, theme):
    run, look = moved(name), {"size": (200, 220), "theme": theme, "centres": name == "slot"}
    drawn, (shown, _) = frames(run, fps=4, **look), gif(animate(run, tmp_path / "a.gif", fps=4, **look))
    for k, image in enumerate(shown):
        off = np.abs(image - pixels(drawn.draw(k))).max(-1)  # where two colours of bodies meet, edges are of neither's ramp
        assert np.count_nonzero(off > 45) < 8, k
    assert (drawn.places > 0).all()
    assert (drawn.places < look["size"]).all()


def colour_at(made: Frames, k: int, point: Any) -> tuple[int, ...]:
    """Return the colour of a frame at a point of the mechanism."""
    at = made.camera.pixels(kinematics.points(made.run.chain, made.run.at(made.times[k : k + 1]).theta, [point])[0, 0])
    return made.draw(k).getpixel((int(at[0]), int(made.look.size[1] - at[1])))


def as_bytes(colour: Any) -> tuple[int, ...]:
    return tuple(round(255 * part) for part in colour)


def test_plates_sliders_and_driven_joints_are_drawn():
    """A link is a plate between its hinge, its tip and where another hangs beside its axis; a slider a block in its colour."""
    options = {"timer": False, "trail": 0, "fps": 4, "style": "bar"}
    tree, slot = frames(moved("tree"), **options), frames(moved("slot"), **options)
    assert tree.outline.shapes == ((0, 1, 2), (3, 4), (5, 6))
    inside = colour_at(tree, 2, At(0, 0.5, 0.17))
    assert inside == pytest.approx(as_bytes(0.35 * np.array(tree.colours[0]) + 0.65 * np.array(tree.theme.stage)), abs=2)
    assert colour_at(tree, 2, At(0, 0.5, -0.2)) == as_bytes(tree.theme.stage)
    aside = 0.7 * slot.camera.thickness / slot.camera.scale  # beside the link that hangs on it
    assert as_bytes(slot.colours[1]) in [colour_at(slot, 2, At(1, 0.0, side * aside)) for side in (-1, 1)]
    assert near(around(slot.draw(2), slot.camera.pixels(np.zeros(2)), 9), slot.theme.accent, 40).sum() > 20
    assert not near(around(tree.draw(2), tree.camera.pixels(np.zeros(2)), 9), tree.theme.accent, 40).any()


def test_a_rail_is_as_long_as_the_motion_of_its_slider():
    made = frames(moved("cart", far=5.0), fps=4)
    rail, moves = made.outline.blocks[0].rail, made.run.theta[:, 0]
    ends = np.array([made.outline.points[k] for k in (rail.a, rail.b)])
    np.testing.assert_allclose(ends, [[moves.min() - 0.35, 0.0], [moves.max() + 0.35, 0.0]], atol=1e-12)
    ground = Image.fromarray(made.ground).convert("RGB")
    for end in made.places[0, [rail.a, rail.b]]:  # the still ground has it
        assert near(around(ground, end, 25), LIGHT.muted, 60).sum() > 10


def test_the_rail_of_a_guide_is_as_long_as_the_motion_of_its_point():
    made = frames(moved("closed"), fps=4)
    fixed, turning = [block for block in made.outline.blocks if block.body == -1]
    for block, line in ((fixed, (0.0, 0.0)), (turning, At(1))):
        a, b = (made.outline.points[k] for k in block.rail[:2])
        ends = kinematics.points(made.run.chain, made.run.theta, [a, b, line])
        way = (ends[:, 1] - ends[:, 0]) / np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)[:, None]
        at = kinematics.points(made.run.chain, made.run.theta, [made.outline.points[block.point]])[:, 0]
        along = ((at - ends[:, 0]) * way).sum(1)
        assert along.min() == pytest.approx(0.35 * made.outline.unit)
        assert np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)[0] - along.max() == pytest.approx(0.35 * made.outline.unit)
        out = ends[:, 2] - ends[:, 0]
        aside = way[:, 0] * out[:, 1] - way[:, 1] * out[:, 0]
        np.testing.assert_allclose(aside, 0.0, atol=1e-12)  # the line goes through its point


def test_a_floating_chain_is_followed_if_it_leaves():
    near_by, far = (frames(moved("floating", far=far), fps=10) for far in (0.0, 50.0))
    assert (near_by.outline.follows, far.outline.follows) == (False, True)
    assert not len(far.outline.grounds)
    middle = kinematics.centres(far.run.chain, far.run.at(far.times).theta)[:, 2:].mean(1)
    shown = far.camera.pixels(middle) + far.shift
    np.testing.assert_allclose(shown, shown[:1].repeat(len(shown), 0), atol=1e-6)
    at = far.places + far.shift[:, None]
    assert at.min() > 0
    assert (at < far.look.size).all()
    assert far.camera.scale > 3 * frames(moved("cart", far=50.0), fps=10).camera.scale
    assert (pixels(far.draw(5)) != pixels(far.draw(6))).any()


def test_massless_bodies_have_no_centre_of_mass():
    assert frames(moved("floating"), centres=True).centres.shape[1] == 3  # of the links; two sliders let them float
    assert frames(moved("cart"), centres=True).centres.shape[1] == 3


def test_the_trail_of_what_is_followed_leaves_the_title_alone():
    run = moved("floating", far=50.0)
    run.theta[:, 1] -= 50.0 * run.t
    made = frames(run, fps=10, trail=10.0, size=(300, 300))
    height, last = 300 - round(made.camera.frame[3]), made.path + made.shift[-1]
    assert (last[:, 1] > made.camera.frame[3] + 10).any()
    first, end = (np.asarray(made.draw(k))[:height, :200] for k in (0, len(made) - 1))
    np.testing.assert_array_equal(end, first)


@pytest.mark.parametrize("name", ["cart", "chain"])
def test_any_point_draws_the_trail(name):
    run, point = made_run(3) if name == "chain" else moved(name), At(1, 0.5, 0.2)
    made = frames(run, fps=50, trace=point)
    parts = (len(made.path) - 1) // (len(made) - 1)
    exact = kinematics.points(run.chain, run.at(made.times).theta, [point])[:, 0]
    np.testing.assert_allclose(made.path[::parts], made.camera.pixels(exact), atol=1e-9)


def test_a_point_of_no_link_is_refused():
    with pytest.raises(ModelError, match=r"trace\[0\]\.link must be a body of the model, 0 to 1, got 2"):
        frames(made_run(2), trace=At(2))


def test_offset_centres_are_tied_to_their_link():
    chain = Chain([Link(1.0, 1.0, 0.5, 0.1, offset=0.4)])
    run = made_run(chain=chain)
    made = frames(run, centres=True, trail=0, timer=False)
    e, t = kinematics.directions(run.theta[0])
    np.testing.assert_allclose(made.centres[0, 0], made.camera.pixels(0.5 * e[0] + 0.4 * t[0]))
    np.testing.assert_allclose(made.feet[0, 0], made.camera.pixels(0.5 * e[0]))
    dark = near(made.draw(0), LIGHT.ink, 120)
    x, y = (0.4 * made.feet[0, 0] + 0.6 * made.centres[0, 0]).astype(int)
    assert dark[640 - y - 2 : 640 - y + 2, x - 2 : x + 2].any()


def test_the_timer_fades_beyond_the_trusted_time():
    made = frames(made_run(trusted=0.5))
    assert made.trusted.tolist() == [True] * 26 + [False] * 25
    corner = (400, 0, 640, 50)
    dark = [near(made.draw(k).crop(corner), LIGHT.ink, 90).sum() for k in (25, 26)]
    assert dark[0] > 50
    assert dark[1] == 0
    backwards = frames(made_run(times=-np.arange(101) / 100, trusted=-0.5))
    assert backwards.trusted.sum() == 26


@pytest.mark.parametrize("fps", [50, 24])
def test_mp4_has_its_frames_and_seconds(tmp_path, fps, caplog):
    path = animate(made_run(), tmp_path / "a.mp4", fps=fps, speed=0.5, size=(65, 80))
    assert caplog.records == []  # the frames fit the format as they are, nothing is rescaled
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert count == 2 * fps + 1
    assert seconds == pytest.approx(count / fps, abs=0.02)
    reader = imageio_ffmpeg.read_frames(str(path))
    assert next(reader)["size"] == (66, 80)
    first = np.frombuffer(next(reader), np.uint8).reshape(80, 66, 3).astype(int)
    reader.close()
    assert np.abs(first - pixels(frames(made_run(), size=(66, 80)).draw(0))).mean() < 6


def test_mp4_without_its_package_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ModelError, match=r"MP4 needs a package that is not installed: pip install imageio-ffmpeg; or"):
        animate(made_run(), tmp_path / "a.mp4", size=SMALL)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.avi", {}, r"an animation must end in \.gif, \.mp4 or \.html, got 'a\.avi'"),
        ("a", {}, r"an animation must end in \.gif, \.mp4 or \.html, got 'a'"),
        ("a.gif", {"fps": 120}, r"fps must be from 0\.01 to 100 for a \.gif, got 120"),
        ("a.gif", {"fps": 0}, r"fps must be from 0\.01 to 100 for a \.gif, got 0"),
        ("a.mp4", {"fps": 2000}, r"fps must be from 0\.01 to 1000 for a \.mp4, got 2000"),
        ("a.gif", {"fps": "fast"}, "fps must be a number, got 'fast'"),
        ("a.gif", {"speed": 0}, "speed must be positive, got 0"),
        ("a.gif", {"speed": math.nan}, "speed must be finite, got nan"),
        ("a.gif", {"speed": 1e-9}, "the animation would have 50,000,000,000 frames, more than 100,000; raise speed or lower fps"),
        ("a.gif", {"size": (8, 64)}, r"size must be \(width, height\), two whole numbers of pixels from 16 to 4096, got \(8, 64\)"),
        ("a.gif", {"size": (64.5, 64)}, r"two whole numbers of pixels from 16 to 4096, got \(64\.5, 64\)"),
        ("a.mp4", {"size": 640}, "two whole numbers of pixels from 16 to 4096, got 640"),
        ("a.gif", {"trail": -1}, "trail must not be negative, got -1"),
        ("a.gif", {"style": "bars"}, r"style must be one of bar, line; got 'bars' \(did you mean 'bar'\?\)"),
    ],
)
def test_bad_values_are_refused(tmp_path, name, options, message):
    with pytest.raises(ModelError, match=message):
        animate(made_run(), tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.gif", "a.mp4"])
def test_an_interrupted_animation_leaves_the_old_file(tmp_path, name):
    animate(made_run(), tmp_path / name, size=SMALL)
    old = (tmp_path / name).read_bytes()

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        animate(made_run(), tmp_path / name, size=SMALL, progress=stop)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [(name, old)]


def test_progress_is_told(tmp_path):
    told = []
    animate(made_run(), tmp_path / "a.gif", fps=10, size=SMALL, progress=lambda *step: told.append(step))
    assert told == [(k, 11) for k in range(1, 12)]


def test_a_folder_that_is_not_there_is_an_os_error_with_the_name_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.a\.gif"):
        animate(made_run(), tmp_path / "nowhere" / "a.gif", size=SMALL)


def test_unusual_runs(tmp_path):
    shown, _ = gif(animate(made_run(2, times=[0.3]), tmp_path / "one.gif", size=SMALL))
    assert len(shown) == 1
    backwards = frames(made_run(times=-np.arange(101) / 100), size=SMALL)
    assert backwards.times[0] == 0
    assert backwards.times[-1] == -1
    assert (np.diff(backwards.times) < 0).all()
    assert len(gif(animate(made_run(100), tmp_path / "long.gif", fps=10, size=(200, 200)))[0]) == 11
    with pytest.raises(ModelError, match="the run holds no saved point to plot"):
        animate(made_run(times=[]), tmp_path / "none.gif")


def test_a_chain_at_rest_still_has_all_its_frames(tmp_path):
    run = made_run(2)
    run.theta[:], run.omega[:], run.alpha[:] = 0.0, 0.0, 0.0
    shown, stays = gif(animate(run, tmp_path / "still.gif", size=SMALL))
    assert len(shown) == 51
    assert sum(stays) == 1020
    assert all((image == shown[0]).all() for image in shown)


@pytest.mark.parametrize("size", [(16, 16), (16, 300), (160, 160), (161, 1000)])
def test_any_size_is_drawn(size):
    assert frames(made_run(5), size=size).draw(10).size == size


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="has a display without saying so")
def test_without_a_display_the_window_names_the_remedy(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    assert not window.has_display()
    with pytest.raises(ModelError, match="there is no display; give an output file with -o"):
        window.live(made_run())


@pytest.mark.parametrize(("options", "message"), [({"style": "no"}, "style must be"), ({"speed": -1}, "speed must be positive")])
def test_the_window_checks_its_options_first(options, message):
    with pytest.raises(ModelError, match=message):
        window.live(made_run(), **options)


@pytest.fixture
def display():
    """The name of a real display: the one there is, or a virtual one."""
    if window.has_display():
        yield os.environ.get("DISPLAY", "")
        return
    if shutil.which("Xvfb") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs a display, or Xvfb: make system")
    with subprocess.Popen(["Xvfb", "-displayfd", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield f":{server.stdout.readline().strip()}"
        server.terminate()


PLAY = """
import sys
from made_run import made_run
from nlink.view import live as window
from nlink.view.frames import Frames

drawn, opened, draw = [], window._window, Frames.draw

def closing_soon():
    root = opened()
    root.after(400, lambda: (root.focus_force(), root.event_generate(sys.argv[1])))
    return root

window._window = closing_soon
Frames.draw = lambda self, k: (drawn.append(k), draw(self, k))[1]
window.live(made_run(), size=(100, 100))
assert len(set(drawn)) > 3
assert drawn == sorted(drawn)
"""


@pytest.mark.parametrize("key", ["<Escape>", "q"])
def test_the_window_plays_and_closes_by_key(display, key):
    env = os.environ | {"DISPLAY": display}
    command = [sys.executable, "-c", PLAY, key]
    done = subprocess.run(command, cwd=Path(__file__).parent, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
