"""Linkages drawn with the mouse in the studio, in a real browser: tools, drive, the form of bodies, presets with pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from browsing import PHONE
from browsing import browser as browser
from studio_server import studio
from studio_tab import MOTION, PLAYER, STAGE, STUDIO, Tab, choose, fill, ran, settled, wait

import nlink
from nlink.mechanics.kinematics import points

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
        (pin,) = model.pins
        assert isinstance(pin, nlink.Pin)
        ends = points(model, np.array(q), [pin.a, pin.b, nlink.At(0)])
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
        path = np.array(page.evaluate(f"{DRIVE}.path"))
        coupler = points(model, np.array(page.evaluate(f"[...{DRIVE}.theta]")), [nlink.At(1, 0.63)])
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


def key(page: Any, name: str, times: int = 1) -> None:
    for _ in range(times):
        page.keyboard.press(name)


def test_a_linkage_is_drawn_with_the_keys(browser, address):
    """Enter presses and lets go, arrows move the cursor by 10 pixels; what it is on is said."""
    with Tab(browser, address) as page:
        page.get_by_role("button", name="New", exact=True).click()
        key(page, "l")
        key(page, "Enter")
        key(page, "ArrowUp", 8)
        key(page, "Enter")
        settled(page)
        key(page, "Enter")
        key(page, "ArrowRight", 12)
        key(page, "Enter")
        settled(page)
        key(page, "Enter")
        key(page, "ArrowDown", 8)
        key(page, "Enter")
        settled(page)
        assert line(page) == "3 links, 3 freedoms"
        key(page, "g")
        key(page, "ArrowRight", 12)
        key(page, "ArrowDown", 2)
        key(page, "ArrowUp", 2)
        assert page.evaluate(f"{PLAYER}.said.textContent").startswith("a point of link 3 at")
        key(page, "Enter", 2)
        settled(page)
        assert line(page) == "3 links, 1 loop, 1 freedom"
        width = page.evaluate(f"(([a, b]) => b[0] - a[0])([{PLAYER}.stage.world([0, 0]), {PLAYER}.stage.world([120, 0])])")
        assert table(page)["pins"][0]["b"] == pytest.approx([width, 0], abs=0.01)


def test_the_tools_are_a_toolbar_with_one_stop(browser, address):
    with Tab(browser, address) as page:
        buttons = page.locator(".toolbox button")
        buttons.first.focus()
        key(page, "ArrowUp")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Drive:")
        key(page, "ArrowDown", 2)
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Link:")
        assert page.evaluate("[...document.querySelectorAll('.toolbox button')].filter((each) => each.tabIndex === 0).length") == 1
        key(page, "Enter")
        assert buttons.nth(1).get_attribute("aria-pressed") == "true"
        assert page.evaluate(f"{PLAYER}.elapsed") == 0


def test_points_beside_links_carry_links(browser, address):
    """As the triangles of Jansen's leg: drag from a link to where its point is, then hang a link there."""
    with Tab(browser, address) as page:
        four_bar(page)
        page.keyboard.press("o")
        drag(page, (0.6, 0.7), (0.4, 1.4))
        point = page.evaluate(f"{DRIVE}.point")
        assert point["link"] == 1
        model = nlink.Scenario.from_dict(table(page))
        there = points(model.chain, np.array(model.theta), [nlink.At(1, point["along"], point["left"])])
        np.testing.assert_allclose(there[0], (0.4, 1.4), atol=0.02)
        page.keyboard.press("l")
        drag(page, (0.4, 1.4), (0.9, 1.6))
        link = table(page)["links"][3]
        assert (link["parent"], link["at"]) == (1, [point["along"], point["left"]])
        page.keyboard.press("o")
        tap(page, 1.8, -1.5)
        assert page.locator(".pose-hint").inner_text().startswith("A point belongs to a link")
        choose(page, "nice-3")
        settled(page)
        assert page.evaluate(f"[{DRIVE}.point, {MOTION}.tools.marks.length]") == [None, 0]


def script(session: Any) -> float:
    """Return the seconds of processor time that the scripts of a page have taken."""
    return next(each["value"] for each in session.send("Performance.getMetrics")["metrics"] if each["name"] == "ScriptDuration")


CLOSED = {
    "slider-crank": "2 links, 1 slider, 1 loop, 1 freedom",
    "peaucellier": "7 links, 3 loops, 1 driven, 0 freedoms",
    "jansen": "7 links, 3 loops, 1 driven, 0 freedoms",
    "andrews": "7 links, 3 loops, 1 freedom",
    "a02-40": "81 links, 40 loops, 1 freedom",
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_presets_are_driven(browser, address, name, record_property):
    """They stay closed, and a point draws its path; the processor time of the script of a frame is recorded."""
    with Tab(browser, address) as page:
        choose(page, name)
        wait(page, f"{STUDIO}.valid.chain.n === {nlink.preset(name).chain.n}")
        settled(page)
        assert line(page) == CLOSED[name]
        before = table(page)
        page.keyboard.press("w")
        wait(page, f"{DRIVE}.path.length > 60")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        first, seen = script(session), page.evaluate(f"{DRIVE}.path.length")
        wait(page, f"{DRIVE}.path.length > {seen + 60}")
        frames = page.evaluate(f"{DRIVE}.path.length") - seen
        record_property("milliseconds_a_frame", 1e3 * (script(session) - first) / frames)
        assert page.evaluate(f"{DRIVE}.linkage.closing({DRIVE}.theta, {{ rounds: 0 }}).gap") < 1e-9
        assert np.ptp(np.array(page.evaluate(f"{DRIVE}.path")), 0).max() > 1e-3
        page.keyboard.press("w")
        settled(page)
        driven = any("motion" in body for body in before["links"])
        assert (table(page)["start"] == before["start"]) == driven
        assert page.evaluate(f"{STUDIO}.error") is None


def test_a_driven_crank_is_posed_and_its_motion_begins_there(browser, address):
    with Tab(browser, address) as page:
        choose(page, "jansen")
        wait(page, f"{STUDIO}.valid.chain.n === 7")
        ran(page)  # else the end of the run would begin to play while the foot is dragged
        wait(page, f"{PLAYER}.stage.motion.n === 7")
        page.evaluate(f"({PLAYER}.pause(), {PLAYER}.jump(0))")
        before = table(page)
        foot = points(nlink.preset("jansen").chain, np.array(before["start"]["theta"]), [nlink.At(6)])[0]
        drag(page, tuple(foot), (foot[0] + 0.15, foot[1] + 0.05))
        after = table(page)
        crank = after["start"]["theta"][0]
        assert abs(crank - before["start"]["theta"][0]) > 0.1
        assert after["links"][0]["motion"] == {
            "start": pytest.approx(crank, abs=1e-9),
            "rate": before["links"][0]["motion"]["rate"],
        }
        assert page.evaluate(f"{STUDIO}.error") is None


def test_panes_say_what_they_do_not_take_and_compare_what_does(browser, address):
    with Tab(browser, address) as page:
        choose(page, "cart-pole")
        wait(page, f"{STUDIO}.valid.chain.n === 2")
        settled(page)
        for name, sentence in (("Map", "the map of flips takes chains"), ("Equations", "equations are typeset for chains")):
            page.get_by_role("tab", name=name).click()
            pane = page.locator(".pane:not([hidden])")
            assert pane.locator(".said").inner_text().startswith(sentence)
            assert pane.locator("button.go").is_disabled()
            assert pane.locator(".error:visible").count() == 0
        page.get_by_role("tab", name="Compare").click()
        boxes = page.get_by_role("group", name="Formulations").get_by_role("checkbox")
        assert [box.get_attribute("aria-label") or box.locator("..").inner_text() for box in boxes.all()] == [
            "recursive",
            "projection",
        ]
        assert all(box.is_checked() for box in boxes.all())
        page.get_by_role("tab", name="Stability").click()
        page.get_by_role("button", name="Draw", exact=True).click()
        page.locator("section[aria-label^=Growth] canvas").wait_for(timeout=60_000)
        page.get_by_role("tab", name="Map").click()
        page.get_by_role("button", name="Undo").click()
        settled(page)
        wait(page, f"{STUDIO}.pane.refusal === ''")
        assert page.locator(".pane:not([hidden]) button.go").is_enabled()


def test_plots_keep_their_height_and_their_legends_apart_from_them(browser, address):
    """A legend of three lines makes its card taller; drawing does not."""
    with Tab(browser, address) as page:
        choose(page, "slider-crank")
        wait(page, f"{MOTION}.run && {PLAYER}.motion.chain.n === 3 && {PLAYER}.motion.span > 9", 120)
        shown = "[...document.querySelectorAll('.pane:not([hidden]) .card')].map((card) => card.offsetHeight)"
        heights = f"{shown}.filter((height) => height)"
        wait(page, f"{heights}[0] > {heights}[1]")
        before = page.evaluate(heights)
        for _ in range(3):
            page.set_viewport_size({"width": 1280, "height": 900})
            page.set_viewport_size({"width": 1280, "height": 800})
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate(heights) == before
        assert max(before) < 260
        legend, plot = (page.locator(f".pane:not([hidden]) .card {kind}").first.bounding_box() for kind in (".legend", "canvas"))
        assert legend["y"] + legend["height"] <= plot["y"] + 1
