"""Pages of runs in space in a real browser: the motion is that of the run, the camera obeys mouse, keys and fingers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import PHONE, Tab, pixels, settle, wait
from made_space import mixed_chain, spatial_run

from nlink.mechanics.space import kinematics
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.model import SpatialChain
from nlink.view.page import bundle
from nlink.view.space.orbit import About, OrbitCamera
from nlink.view.space.order import painted
from nlink.view.space.reading import rows_of

PLAYER = "document.getElementById('nlink').player"
CAMERA = f"{PLAYER}.stage.camera"
LOOK = f"(({{ azimuth, elevation, zoom, x, y }}) => ({{ azimuth, elevation, zoom, x, y }}))({CAMERA})"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("space") / "run.html"
    spatial_run(mixed_chain(), np.linspace(0, 4, 401), title="Every kind of link").html(path)
    return path


def test_the_motion_that_is_shown_is_that_of_the_run(browser, file):
    run, times = spatial_run(mixed_chain(), np.linspace(0, 4, 401)), [0.0, 0.123, 1.7777, 4.0]
    parts = "[...m.x], [...m.y], [...m.z], [...m.pose], [0, 1, 2, 3, 4, 5].map((i) => m.turning(i)), [...m.rates]"
    parts += ", m.azimuth(3), m.inclination(3)"
    look = f"(times) => times.map((t) => {{ const m = {PLAYER}.motion.at(t); return [{parts}]; }})"
    with Tab(browser, file) as page:
        shown = page.evaluate(look, times)
    for t, (x, y, z, pose, omega, rates, azimuth, inclination) in zip(times, shown, strict=True):
        at: Any = run.at([t])
        rows, _ = rows_of(run.chain, at.position, at.velocity)  # pyright: ignore[reportArgumentType]
        np.testing.assert_allclose(pose, rows[0], atol=1e-4)
        np.testing.assert_allclose(np.stack([x, y, z], 1), kinematics.hinges(run.chain, at.position)[0], atol=3e-4)  # pyright: ignore[reportArgumentType]
        np.testing.assert_allclose(omega, at.omega[0], atol=0.02)
        assert np.all(np.array(rates) <= np.linalg.norm(at.omega[0], axis=-1) + 0.02)
        assert math.remainder(azimuth - at.azimuth[0, 3], 2 * math.pi) == pytest.approx(0.0, abs=1e-3)
        assert inclination == pytest.approx(at.inclination[0, 3], abs=1e-3)


def test_the_camera_is_that_of_the_frames(browser, file):
    points = np.random.default_rng(2).uniform(-1, 1, (10, 3)).tolist()
    about, room = "{ x: 0, z: 0, radius: 1.3, low: -2, high: 0.5 }", "[20, 30, 620, 430]"
    fit = f"(p) => {{ const c = {CAMERA}; c.look(0.7, 0.3); c.fit({about}, {room}); return p.map((q) => c.place(...q)); }}"
    with Tab(browser, file) as page:
        shown = np.array(page.evaluate(fit, points))
        back = page.evaluate(f"{CAMERA}.point({CAMERA}.place(0.1, 0.2, 0.3), {CAMERA}.place(0.1, 0.2, 0.3))")
    camera = OrbitCamera(About(1.3, -2.0, 0.5), (20.0, 20.0, 620.0, 420.0), math.degrees(0.7), math.degrees(0.3))
    expected = camera.places(np.array(points))
    expected[:, 1] = 450.0 - expected[:, 1]  # the canvas counts from its upper edge
    np.testing.assert_allclose(shown, expected, rtol=1e-9, atol=1e-6)
    assert back == pytest.approx([0.1, 0.2, 0.3])


def test_painters_order_is_that_of_the_frames(browser, file):
    rng = np.random.default_rng(3)
    a, b = (np.concatenate([rng.uniform(0, 300, (40, 2)), rng.uniform(-2, 2, (40, 1)), np.full((40, 1), 90.0)], 1) for _ in "ab")
    half, link = rng.uniform(1, 9, 40), np.where(np.arange(40) < 25, np.arange(40.0), np.nan)
    items = [
        {"a": p, "b": q, "half": h, "link": None if math.isnan(k) else k, "k": i}
        for i, (p, q, h, k) in enumerate(zip(a.tolist(), b.tolist(), half.tolist(), link.tolist(), strict=True))
    ]
    order = f"(items) => {PLAYER}.stage.order(items.map((each) => ({{ ...each, link: each.link ?? NaN }}))).map(({{ k }}) => k)"
    with Tab(browser, file) as page:
        assert page.evaluate(order, items) == painted(a, b, half, link)


def test_mouse_and_keys_turn_move_and_zoom(browser, file):
    with Tab(browser, file) as page:
        settle(page)
        home, box = page.evaluate(LOOK), page.locator("main canvas").bounding_box()
        x, y = box["x"] + 300, box["y"] + 250
        drag(page, (x, y), (x + 50, y + 20))
        turned = page.evaluate(LOOK)
        assert turned["azimuth"] == pytest.approx(home["azimuth"] - 50 * 0.008)
        assert turned["elevation"] == pytest.approx(home["elevation"] + 20 * 0.008)
        assert (turned["x"], turned["y"], turned["zoom"]) == (0, 0, 1)
        page.keyboard.down("Shift")
        drag(page, (x, y), (x + 30, y - 10))
        page.keyboard.up("Shift")
        moved = page.evaluate(LOOK)
        assert (moved["x"], moved["y"]) == pytest.approx((30, -10))
        assert moved["azimuth"] == turned["azimuth"]
        before = page.evaluate(f"{CAMERA}.point([300, 250], {PLAYER}.stage.point(2))")
        page.mouse.move(x, y)
        page.mouse.wheel(0, -200)
        settle(page)
        assert page.evaluate(f"{CAMERA}.zoom") > 1.2
        after = page.evaluate(f"{CAMERA}.point([300, 250], {PLAYER}.stage.point(2))")
        assert after == pytest.approx(before, abs=4e-3)  # what is under the pointer stays there, to a part of a pixel
        page.mouse.dblclick(x, y)
        assert page.evaluate(LOOK) == {"azimuth": 0, "elevation": 0, "zoom": 1, "x": 0, "y": 0}
        page.mouse.dblclick(x, y)
        assert page.evaluate(LOOK) == home
        for key, azimuth, elevation in (("3", math.pi / 2, 0.0), ("7", 0.0, math.pi / 2), ("1", 0.0, 0.0)):
            page.keyboard.press(key)
            assert (page.evaluate(f"{CAMERA}.azimuth"), page.evaluate(f"{CAMERA}.elevation")) == (azimuth, elevation)
        for key in ("6", "8", "8", "4", "4", "2"):
            page.keyboard.press(key)
        assert page.evaluate(f"[{CAMERA}.azimuth, {CAMERA}.elevation]") == pytest.approx([-math.pi / 12, math.pi / 12])
        page.keyboard.press("+")
        page.keyboard.press("f")
        assert page.evaluate(f"{CAMERA}.zoom") == 1


def test_arrow_keys_turn_the_view_once_tab_has_reached_the_stage(browser, file):
    with Tab(browser, file) as page:
        settle(page)
        home, focused = page.evaluate(LOOK), "document.activeElement.tagName"
        page.keyboard.press("ArrowRight")
        stepped = page.evaluate(f"{PLAYER}.elapsed")
        assert stepped > 0
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.evaluate(focused) == "CANVAS":
                break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        assert (
            page.evaluate("document.activeElement.getAttribute('aria-description')")
            == "Arrow keys turn the view, with Shift they move it"
        )
        for key in ("ArrowRight", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft"):
            page.keyboard.press(key)
        turned = page.evaluate(LOOK)
        assert turned["azimuth"] == pytest.approx(home["azimuth"] + math.pi / 12)
        assert turned["elevation"] == pytest.approx(home["elevation"] + math.pi / 12)
        assert page.get_by_role("status").first.inner_text() == "seen from 49\u00b0 around, 30\u00b0 above"
        page.keyboard.press("Shift+ArrowLeft")
        page.keyboard.press("Shift+ArrowDown")
        moved = page.evaluate(LOOK)
        assert (moved["x"], moved["y"], moved["azimuth"]) == (-40, 40, turned["azimuth"])
        assert page.evaluate(f"{PLAYER}.elapsed") == stepped
        page.mouse.click(300, 700)  # chosen by the mouse, arrows step again
        page.locator("main canvas").click(position={"x": 20, "y": 200})
        page.keyboard.press("ArrowRight")
        assert page.evaluate(f"{PLAYER}.elapsed") > stepped
        page.keyboard.press("Space")
        assert page.evaluate(f"{PLAYER}.playing")


def test_escape_closes_the_menu_and_gives_the_focus_back(browser, file):
    with Tab(browser, file) as page:
        page.locator("summary").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "SELECT"
        page.keyboard.press("Escape")
        assert page.evaluate("[document.querySelector('details.menu').open, document.activeElement.tagName]") == [False, "SUMMARY"]


def drag(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=6)
    page.mouse.up()


def test_fingers_turn_move_and_zoom(browser, file):
    with Tab(browser, file, viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2) as page:
        settle(page)
        session, box, home = page.context.new_cdp_session(page), page.locator("main canvas").bounding_box(), page.evaluate(LOOK)

        def touch(kind: str, *points: tuple[float, float]) -> None:
            places = [{"x": box["x"] + px, "y": box["y"] + py, "id": k} for k, (px, py) in enumerate(points)]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

        touch("touchStart", (100, 100))
        for k in range(1, 9):
            touch("touchMove", (100 + 5 * k, 100 + 5 * k))
        touch("touchEnd")
        turned = page.evaluate(LOOK)
        assert turned["azimuth"] < home["azimuth"] - 0.2
        assert turned["elevation"] > home["elevation"] + 0.2
        assert page.evaluate("scrollY") == 0
        touch("touchStart", (100, 100), (200, 100))
        for k in range(1, 9):
            touch("touchMove", (100 - 5 * k, 100 + 2 * k), (200 + 5 * k, 100 + 2 * k))
        touch("touchEnd")
        spread = page.evaluate(LOOK)
        assert spread["zoom"] == pytest.approx(1.8, abs=0.1)
        assert spread["azimuth"] == turned["azimuth"]


@pytest.mark.parametrize("depth", [0.8, -0.8])
def test_the_nearer_link_covers_the_other(browser, tmp_path, depth):
    rows = np.array([(0.0, -1.0, 0.0), (0.5, 0.3, depth), (-1.0, 0.1, 0.0)])
    position = np.tile((rows / np.linalg.norm(rows, axis=1)[:, None]).ravel(), (2, 1))
    run = spatial_run(SpatialChain.uniform(3), [0.0, 1.0])
    replace(run, position=position, velocity=0 * position, acceleration=0 * position).html(tmp_path / "run.html")
    where = f"""() => {{ const s = {PLAYER}.stage; s.look.trail = 0; s.look.hinges = false; s.camera.look(0, 0); s.draw(0);
        const [a, b] = [s.point(2), s.point(3)], [c] = s.point(0), y = a[1] + (b[1] - a[1]) * (c - a[0]) / (b[0] - a[0]);
        return [c, y, s.palette.map((colour) => colour.match(/\\d+/g).map(Number))]; }}"""
    with Tab(browser, tmp_path / "run.html") as page:
        x, y, colours = page.evaluate(where)
        pixel = pixels(page, "main canvas")[round(y), round(x)]
    hazy = [np.array(colours) + haze * (np.array([251, 251, 249]) - np.array(colours)) for haze in np.linspace(0, 0.5, 20)]
    assert int(np.argmin(np.min(np.abs(np.array(hazy) - pixel).sum(-1), axis=0))) == (2 if depth > 0 else 0)


def test_a_spin_is_seen_by_its_stripe(browser, tmp_path):
    q = np.array([[1.0, 0, 0, 0], [math.cos(0.7), 0, math.sin(0.7), 0]])
    run = spatial_run(SpatialChain([Body.cylinder(1.0, 1.0, 0.25)]), [0.0, 1.0])
    replace(run, position=q, velocity=0 * q, acceleration=0 * q).html(tmp_path / "run.html")
    with Tab(browser, tmp_path / "run.html") as page:
        settle(page)
        before = pixels(page, "main canvas")
        page.evaluate(f"{PLAYER}.seek(1)")
        settle(page)
        after = pixels(page, "main canvas")
    assert np.mean(np.abs(after - before).max(-1) > 40) > 0.01


def test_it_plays_and_its_plots_follow(browser, file):
    with Tab(browser, file) as page:
        page.get_by_role("button", name="Play").click()
        wait(page, f"{PLAYER}.t > 0.3")
        page.keyboard.press("Space")
        page.evaluate(f"{PLAYER}.seek(2)")
        settle(page)
        values = ".plots .card:nth-of-type(2) .legend span"
        said = page.locator(values).first.inner_text()
        assert said.startswith("\u03b8\u2086 = ")
        page.get_by_label("Quantity").select_option("azimuth")
        settle(page)
        assert page.get_by_role("heading", name="Azimuth (\u00b0)").is_visible()
        page.get_by_label("Quantity").select_option("rate")
        page.get_by_label("Link", exact=True).select_option("3")
        settle(page)
        assert page.get_by_role("heading", name="Rate (\u00b0/s)").is_visible()
        assert page.get_by_role("heading", name="End of link 4 from above").is_visible()
        assert page.locator(values).first.inner_text().startswith("\u03b8\u2084 = ")
        above = pixels(page, "canvas[aria-label='Path of the tip from above']")
        page.evaluate(f"{PLAYER}.seek(3)")
        settle(page)
        assert np.any(pixels(page, "canvas[aria-label='Path of the tip from above']") != above)
        page.keyboard.press("o")  # the trail of the chosen link
        assert page.evaluate(f"{PLAYER}.motion.trace") == [3, 0.5]
        page.keyboard.press("i")
        assert "inclinations" in page.get_by_role("dialog", name="Model and run").inner_text()


def test_a_tap_chooses_a_link(browser, file):
    with Tab(browser, file) as page:
        settle(page)
        box = page.locator("main canvas").bounding_box()
        x, y = page.evaluate(f"[0, 1].map((k) => ({PLAYER}.stage.point(3)[k] + {PLAYER}.stage.point(4)[k]) / 2)")
        page.mouse.click(box["x"] + x, box["y"] + y)
        assert page.evaluate(f"{PLAYER}.link") == 3
        assert page.evaluate(f"{CAMERA}.azimuth") == pytest.approx(0.6)  # a tap does not turn


def test_numbers_are_taken_along(browser, file, tmp_path):
    run = spatial_run(mixed_chain(), np.linspace(0, 4, 401))
    with Tab(browser, file) as page:
        page.get_by_role("button", name="Take along").click()
        with page.expect_download() as found:
            page.get_by_role("button", name="Numbers (CSV)").click()
        found.value.save_as(tmp_path / "run.csv")
    head, *_ = (tmp_path / "run.csv").read_text().splitlines()
    assert head.startswith("t [s],direction_1_x [1],direction_1_y [1],")
    numbers = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(numbers[:, 1:19], run.direction.reshape(len(run.t), -1), atol=1e-3)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("way", [(0.6, 0.26), (2.0, -0.4), (0.0, math.pi / 2), (0.0, -math.pi / 2)])
def test_every_side_in_both_themes_is_drawn_without_an_error(browser, file, scheme, way):
    with Tab(browser, file, color_scheme=scheme) as page:
        settle(page)
        page.evaluate(f"{PLAYER}.stage.from({way[0]}, {way[1]})")
        for style in ("bar", "line"):
            page.evaluate(
                f"{PLAYER}.look.style = '{style}'; {PLAYER}.look.centres = true; {PLAYER}.look.colours = 'rate'; {PLAYER}.seek(2)"
            )
            settle(page)
            drawn = pixels(page, "main canvas")
            assert np.mean(np.any(drawn != drawn[5, drawn.shape[1] // 2], -1)) > 0.01


def test_pages_of_the_plane_carry_nothing_of_space():
    plane, space = bundle("app.js"), bundle("spaceapp.js")
    assert "OrbitCamera" not in plane
    assert "Field" not in space
    assert len(space) - len(plane) < 40_000
