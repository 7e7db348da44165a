"""Linkages drawn with the mouse in the studio, in a real browser: tools, drive, the form of bodies, presets with pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from browsing import PHONE
from browsing import browser as browser
from studio_server import studio
from studio_tab import MOTION, PLAYER, STAGE, STUDIO, Tab, choose, fill, settled, wait

import nlink

pytest.importorskip("fastapi", reason="needs the extra web: make setup")
DRIVE = f"{MOTION}.drive"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with studio(tmp_path_factory.mktemp("runs"), "nice-3") as found:
        yield found


def at(page: Any, x: float, y: float) -> tuple[float, float]:
    """Return where a point of the plane is in the window."""
    (px, py), box = page.evaluate(f"{PLAYER}.stage.pixel({x}, {y})"), page.locator(STAGE).bounding_box()
    return box["x"] + px, box["y"] + py


def drag(page: Any, start: tuple[float, float], end: tuple[float, float], release: bool = True) -> None:
    """Drag from one point of the plane to another, then wait for what the server says of it."""
    page.mouse.move(*at(page, *start))
    page.mouse.down()
    page.mouse.move(*at(page, *end), steps=5)
    if release:
        page.mouse.up()
        settled(page)


def tap(page: Any, x: float, y: float) -> None:
    page.mouse.click(*at(page, x, y))
    settled(page)


def line(page: Any) -> str:
    return page.locator(".nature").inner_text()


def table(page: Any) -> Any:
    return page.evaluate(f"{STUDIO}.model.table")


def four_bar(page: Any) -> None:
    """Draw a four-bar from an empty stage: a crank, a coupler, a rocker that ends on it."""
    page.get_by_role("button", name="New", exact=True).click()
    drag(page, (0, 0), (0, 0.5))
    drag(page, (0, 0.5), (1.2, 0.9))
    drag(page, (1, 0), (1.2, 0.9))


def test_a_four_bar_is_drawn_driven_and_undone(browser, address):
    with Tab(browser, address) as page:
        before = table(page)
        page.get_by_role("button", name="New", exact=True).click()
        assert page.locator(".pose-hint").inner_text() == "Press anywhere and drag"
        page.keyboard.press("Escape")
        assert line(page) == "3 links, 3 freedoms"  # nothing was drawn: the model is still there
        four_bar(page)
        assert line(page) == "3 links, 1 loop, 1 freedom"
        model = nlink.Scenario.from_dict(table(page)).chain
        assert isinstance(model, nlink.Mechanism)
        assert [body.parent for body in model.links] == [-1, 0, -1]
        assert [body.length for body in model.links] == pytest.approx([0.5, np.hypot(1.2, 0.4), np.hypot(0.2, 0.9)], abs=1e-9)
        assert model.links[2].mass == pytest.approx(model.links[2].length, abs=1e-5)
        page.keyboard.press("o")
        tap(page, 0.6, 0.7)  # the middle of the coupler
        page.keyboard.press("w")
        wait(page, f"{DRIVE}.path.length > 20")
        q, way = page.evaluate(f"[[...{DRIVE}.theta], {DRIVE}.course.freedom]")
        assert way == 1
        ends = nlink.mechanics.kinematics.points(model, np.array(q), [model.pins[0].a, model.pins[0].b, nlink.At(0)])
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
        path = np.array(page.evaluate(f"{DRIVE}.path"))
        coupler = nlink.mechanics.kinematics.points(model, np.array(page.evaluate(f"[...{DRIVE}.theta]")), [nlink.At(1, 0.63)])
        assert np.ptp(path[:, 0]) > 0.01
        assert path[-1] == pytest.approx(coupler[0], abs=0.2)
        page.keyboard.press("w")
        settled(page)
        assert table(page)["start"]["theta"] == pytest.approx(page.evaluate(f"[...{PLAYER}.stage.motion.angles]"), abs=1e-6)
        assert table(page)["start"]["theta"][0] != pytest.approx(np.pi)
        for _ in range(4):
            page.get_by_role("button", name="Undo").click()
        assert table(page)["links"] == before["links"]


def test_ends_are_held_pinned_and_guided_by_dragging(browser, address):
    with Tab(browser, address) as page:
        page.get_by_role("button", name="New", exact=True).click()
        drag(page, (-0.5, 0), (-0.5, 0.6))
        drag(page, (0.5, 0), (0.5, 0.6))
        page.keyboard.press("l")
        drag(page, (-0.5, 0.6), (0.2, 0.9))
        assert line(page) == "3 links, 3 freedoms"
        page.keyboard.press("g")
        drag(page, (0.2, 0.9), (0.5, 0.6))  # an end onto a point
        assert line(page) == "3 links, 1 loop, 1 freedom"
        pin = table(page)["pins"][0]
        assert (pin["kind"], pin["a"]["link"], pin["b"]["link"]) == ("pin", 2, 1)
        page.keyboard.press("x")
        tip = page.evaluate(f"(({{ x, y }}) => [x, y])({MOTION}.tools.targets()[5])")
        tap(page, *tip)  # the pin again
        assert line(page) == "3 links, 3 freedoms"
        page.keyboard.press("g")
        tap(page, *tip)  # held to the ground
        assert table(page)["pins"][0]["b"] == pytest.approx(tip, abs=1e-9)
        page.get_by_role("button", name="Undo").click()
        settled(page)
        page.keyboard.press("s")
        drag(page, tuple(tip), (tip[0] + 0.5, tip[1]))  # guided along a level line
        guide = table(page)["pins"][0]
        assert (guide["kind"], guide["direction"]) == ("guide", pytest.approx(0, abs=1e-9))
        assert line(page) == "3 links, 1 loop, 2 freedoms"
        drag(page, (-1.0, -0.5), (-0.5, -0.5))  # a slider on a rail
        assert table(page)["links"][3]["kind"] == "slider"
        page.keyboard.press("k")
        drag(page, (-1.0, -0.5), (-1.0, -1.0))
        spring = table(page)["loads"]["point_spring"][0]
        assert spring["a"]["link"] == 3
        assert spring["b"] == pytest.approx([-1.0, -1.0])
        assert page.evaluate(f"{STUDIO}.error") is None
        page.keyboard.press("x")
        tap(page, -0.5, 0.3)
        left = table(page)
        assert len(left["links"]) == 2  # the coupler hung on the first
        assert left["loads"]["point_spring"][0]["a"]["link"] == 1


def test_what_cannot_close_is_refused_and_what_cannot_move_is_said(browser, address):
    with Tab(browser, address) as page:
        four_bar(page)
        before = table(page)
        page.keyboard.press("g")
        drag(page, (1.2, 0.9), (1.9, -1.5))
        assert "do not reach each other" in page.locator(".pose-hint").inner_text()
        assert table(page) == before
        page.keyboard.press("l")
        drag(page, (0.0, 0.5), (1.0, 0.0))
        assert line(page) == "4 links, 2 loops; over-determined: cannot move"


def test_bodies_are_edited_in_the_form(browser, address):
    with Tab(browser, address) as page:
        choose(page, "cart-2")
        wait(page, f"{STUDIO}.valid.chain.outline")
        settled(page)
        assert line(page) == "2 links, 1 slider, 3 freedoms"
        fill(page, "mass of slider 1", "-2")
        error = page.locator(".error", has_text="must not be negative")
        error.wait_for(state="visible")
        assert error.inner_text() == "mass of link 1 must not be negative, got -2"
        fill(page, "mass of slider 1", "3")
        fill(page, "Direction of slider 1 in degrees", "90")
        fill(page, "Place of link 3 on what it hangs on", "0.4, 0.1")
        settled(page)
        page.get_by_label("Drive a body").select_option("0")
        settled(page)
        assert line(page) == "2 links, 1 slider, 1 driven, 2 freedoms"
        page.get_by_label("Motion of slider 1").select_option("sine")
        settled(page)
        model = nlink.Scenario.from_dict(table(page)).chain
        assert model.links[0] == nlink.Slider(3.0, np.pi / 2, motion=nlink.Sine(0.1, 1.0))
        assert model.links[2].at == (0.4, 0.1)
        assert page.evaluate(f"{STUDIO}.error") is None
        page.get_by_role("tab", name="Code").click()
        page.get_by_text("nlink.Slider(", exact=False).wait_for()


def test_presets_of_mechanisms_run_and_their_bodies_are_posed(browser, address):
    with Tab(browser, address) as page:
        choose(page, "cart-pole")
        wait(page, f"{MOTION}.run && {PLAYER}.motion.chain.outline && {PLAYER}.motion.span > 9", 120)
        shown = page.evaluate(f"(() => {{ const m = {PLAYER}.motion.at(1.0); return [...m.angles]; }})()")
        cart = nlink.preset("cart-pole")
        expected = nlink.simulate(cart.chain, theta=cart.theta, t_end=1.0).theta[-1]
        np.testing.assert_allclose(shown, expected, atol=1e-4)
        x, y = page.evaluate(f"(() => {{ const m = {PLAYER}.motion.at(0); return [m.ox[0], m.oy[0]]; }})()")
        page.evaluate(f"{PLAYER}.jump(0)")
        drag(page, (x, y - 0.02), (x + 0.4, y - 0.02))  # the cart, along its rail
        assert table(page)["start"]["theta"][0] == pytest.approx(0.4, abs=0.02)


def test_linkages_are_drawn_on_a_phone(browser, address):
    with Tab(browser, address, viewport=PHONE, has_touch=True) as page:
        page.get_by_role("button", name="New", exact=True).click()
        page.locator(STAGE).scroll_into_view_if_needed()
        drag(page, (0, 0), (0, 0.5))
        drag(page, (0, 0.5), (0.8, 0.7))
        assert line(page) == "2 links, 2 freedoms"
        for label in ("Pose", "Link", "Slider", "Hold", "Point", "Spring", "Delete", "Drive"):
            box = page.get_by_role("button", name=f"{label}:").bounding_box()
            assert 0 <= box["x"] <= PHONE["width"] - box["width"]
            assert box["height"] >= 34
        page.get_by_role("button", name="Drive:").click()
        wait(page, f"{DRIVE}.path.length > 5")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
