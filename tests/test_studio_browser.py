"""The studio in a real browser: build, pose, run, stop, play, and what happens when something is wrong."""

from __future__ import annotations

import json
import tomllib
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from browsing import PHONE
from browsing import browser as browser
from studio_server import studio
from studio_tab import MOTION, PLAYER, STAGE, STUDIO, Tab, choose, fill, ran, run, settled, wait

import nlink

pytest.importorskip("fastapi", reason="needs the extra web: make setup")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with studio(tmp_path_factory.mktemp("runs"), "chaotic-3") as found:
        yield found


def test_load_build_and_run(browser, address):
    with Tab(browser, address) as page:
        assert page.title() == "3 unit rods from an upward zig-zag, at rest: chaos \N{EN DASH} nlink studio"
        fill(page, "Links", "2")
        wait(page, f"{PLAYER}.stage.motion.n === 2")
        page.get_by_label("Joint dampers").check()
        fill(page, "Damping", "0.1, 0.2")
        page.get_by_label("All links alike").uncheck()
        fill(page, "mass of link 2", "3")
        fill(page, "Run until", "4")
        ran(page)  # without a press of the button
        table = page.evaluate(f"{STUDIO}.model.table")
        assert table["links"] == [{"shape": "rod", "length": 1, "mass": 1}, {"shape": "rod", "length": 1, "mass": 3}]
        assert table["loads"]["joint_damper"]["damping"] == [0.1, 0.2]
        whole = nlink.Scenario.from_dict(table).run()
        shown = page.evaluate(f"(() => {{ const m = {PLAYER}.motion.at(3.21); return [...m.angles]; }})()")
        np.testing.assert_allclose(shown, whole.at([3.21]).theta[0], atol=1e-4)
        assert "reached t = 4 s" in page.locator(".gobar").inner_text()
        names = page.eval_on_selector_all(
            ".pane:not([hidden]) .card:not([hidden]) h2", "(nodes) => nodes.map((n) => n.textContent)"
        )
        assert names == ["Energy changes (J)", "Angles (\N{DEGREE SIGN})", "Phase portrait of link 1", "Energy residual (J)"]
        assert page.get_by_label("Integrator").locator("option").first.inner_text().startswith("chosen: Taylor")


def test_a_preset_is_posed_by_dragging_and_undone(browser, address):
    with Tab(browser, address) as page:
        choose(page, "nice-3")
        wait(page, f"{STUDIO}.model.table.title.includes('zero energy') || {STUDIO}.model.table.start.theta[2] < 0.79")
        ran(page)
        before = page.evaluate(f"{STUDIO}.model.table.start.theta")
        drag(page, 2, 0.0, 60.0)
        after = page.evaluate(f"{STUDIO}.model.table.start.theta")
        assert after[:2] == before[:2]
        assert abs(after[2] - before[2]) > 0.2
        ran(page)
        assert page.evaluate(f"{PLAYER}.t") == 0
        assert page.evaluate(f"{PLAYER}.motion.at(0).angles[2]") == pytest.approx(after[2], abs=1e-4)
        assert page.evaluate(f"{PLAYER}.motion.span") > 1
        field = page.get_by_label("Angle of link 3 in degrees")
        assert float(field.input_value()) == pytest.approx(np.degrees(after[2]), abs=1e-4)
        page.get_by_role("button", name="Undo").click()
        assert page.evaluate(f"{STUDIO}.model.table.start.theta") == before
        page.get_by_role("button", name="Redo").click()
        assert page.evaluate(f"{STUDIO}.model.table.start.theta") == after
        page.keyboard.press("Control+z")
        page.keyboard.press("Control+z")
        assert page.evaluate(f"{STUDIO}.model.table.title").startswith("3 unit rods from an upward")


def test_presets_are_pictures_in_groups_and_the_chosen_one_stands_out(browser, address):
    with Tab(browser, address) as page:
        marked = page.locator(".gallery [aria-pressed=true]")
        page.get_by_role("button", name="Presets", exact=True).click()
        page.get_by_role("region", name="First steps").get_by_text("double pendulum").wait_for()
        assert marked.get_attribute("aria-label") == "chaotic-3: three rods"
        assert page.locator(".gallery svg path").count() == len(nlink.presets())
        page.get_by_role("button", name="point-2: double pendulum").click()
        wait(page, f"{PLAYER}.stage.motion.n === 2")
        ran(page)
        page.get_by_role("button", name="Presets", exact=True).click()
        assert marked.get_attribute("aria-label") == "point-2: double pendulum"
        page.keyboard.press("Escape")
        fill(page, "Run until", "4")
        page.get_by_role("button", name="Presets", exact=True).click()
        assert marked.count() == 0


def drag(page: Any, link: int, dx: float, dy: float, release: bool = True) -> None:
    """Drag the outer end of a link by so many pixels; the button stays down if it is not to be released."""
    at = f"(() => {{ const s = {PLAYER}.stage, m = s.motion; return s.pixel(m.x[{link + 1}], m.y[{link + 1}]); }})()"
    (x, y), box = page.evaluate(at), page.locator(".pane:not([hidden]) .stage canvas").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.down()
    page.mouse.move(box["x"] + x + dx, box["y"] + y + dy, steps=6)
    if release:
        page.mouse.up()


def middle(page: Any, link: int) -> tuple[float, float]:
    """Return where the middle of a link is in the window."""
    at = f"(s, m) => s.pixel((m.x[{link}] + m.x[{link + 1}]) / 2, (m.y[{link}] + m.y[{link + 1}]) / 2)"
    (x, y), box = page.evaluate(f"({at})({PLAYER}.stage, {PLAYER}.motion)"), page.locator(STAGE).bounding_box()
    return box["x"] + x, box["y"] + y


def grabbed(page: Any, link: int, condition: str) -> tuple[float, float]:
    """Press the mouse on the middle of a link that moves, until a condition says that it is in the hand; return where."""
    for _ in range(30):
        x, y = middle(page, link)
        page.mouse.move(x, y)
        page.mouse.down()
        if page.evaluate(condition):
            return x, y
        page.mouse.up()
    raise AssertionError(condition)


def playing(browser: Any, address: str, **context: Any) -> Tab:
    """Return a tab of someone who does not ask for less motion."""
    return Tab(browser, address, reduced_motion="no-preference", **context)


def test_it_moves_when_it_is_opened_and_a_change_keeps_the_time(browser, address):
    with playing(browser, address) as page:
        wait(page, f"{PLAYER}.playing && {PLAYER}.t > 0.5")
        ran(page)
        page.evaluate(
            f"window.spans = []; (function look() {{ window.spans.push({PLAYER}.motion.span); requestAnimationFrame(look); }})()"
        )
        before = page.evaluate(f"[{PLAYER}.t, {PLAYER}.motion.at(15).angles[0]]")
        page.get_by_label("Mass, slider").evaluate("(node) => { node.value = 4; node.dispatchEvent(new Event('input')); }")
        page.get_by_label("Joint dampers").check()
        ran(page)
        after = page.evaluate(f"[{PLAYER}.t, {PLAYER}.motion.at(15).angles[0], {PLAYER}.playing]")
        assert 0.4 < after[0] < 19  # where a slow machine has not come so far yet, the player waits for it
        assert abs(after[1] - before[1]) > 0.1
        assert after[2]
        assert min(page.evaluate("window.spans")) > 0.4  # never blank


def test_a_link_that_is_grabbed_while_it_moves_is_thrown(browser, address):
    with playing(browser, address) as page:
        ran(page)
        wait(page, f"{PLAYER}.playing && {PLAYER}.t > 0.3")
        held = f"{MOTION}.hand.poser.held"
        x, y = grabbed(page, 2, f"{held} && {held}.grip.link === 2")
        assert not page.evaluate(f"{PLAYER}.playing")
        theta = page.evaluate(f"[...{held}.theta]")
        across, up = np.cos(theta[2]), np.sin(theta[2])
        for k in range(1, 13):
            page.mouse.move(x + 5 * k * across, y - 5 * k * up)
        moved = page.evaluate(f"[...{held}.theta]")
        page.mouse.up()
        ran(page)
        start = page.evaluate(f"{STUDIO}.model.table.start")
        assert start["theta"][:2] == pytest.approx(theta[:2])
        assert start["theta"] == pytest.approx(moved)
        turn = moved[2] - theta[2]
        assert turn > 0.1
        assert start["omega"][:2] == [0, 0]
        assert start["omega"][2] * turn >= 0  # a slow machine may have let the hand rest
        wait(page, f"{PLAYER}.playing && {PLAYER}.t > 0")
        page.get_by_role("button", name="Undo").click()
        wait(page, f"{STUDIO}.model.table.start.theta[0] > 1.57 && {STUDIO}.model.table.start.theta[0] < 1.58")


def test_fifty_links_are_grabbed_while_they_move_and_thrown(browser, address, record_property):
    with playing(browser, address) as page:
        fill(page, "Links", "50")
        wait(page, f"{STUDIO}.model.table.links === 50")
        ran(page)
        wait(page, f"{PLAYER}.playing && {PLAYER}.t > 0.3")
        held = f"{MOTION}.hand.poser.held"
        x, y = grabbed(page, 25, f"Boolean({held})")
        link, before = page.evaluate(f"[{held}.grip.link, [...{held}.theta]]")
        page.evaluate(
            "window.gaps = []; let last; "
            "(function look(now) { if (last) gaps.push(now - last); last = now; requestAnimationFrame(look); })()"
        )
        across, up = np.cos(before[link]), np.sin(before[link])
        for k in range(1, 41):
            page.mouse.move(x + 3 * k * across, y - 3 * k * up)
        moved = page.evaluate(f"[...{held}.theta]")
        record_property("frames_a_second", 1000 / float(np.median(page.evaluate("window.gaps.slice(1)"))))
        page.mouse.up()
        ran(page)
        start = page.evaluate(f"{STUDIO}.model.table.start")
        assert len(start["theta"]) == 50
        assert start["theta"] == pytest.approx(moved)
        assert np.flatnonzero(np.abs(np.subtract(moved, before)) > 1e-9).tolist() == [link]
        wait(page, f"{PLAYER}.playing && {PLAYER}.t > 0")


def test_the_throw_of_a_closed_chain_keeps_it_closed(browser, address):
    with playing(browser, address) as page:
        choose(page, "five-bar")
        wait(page, f"{PLAYER}.motion.chain.pin")
        ran(page)
        x, y = grabbed(page, 1, f"Boolean({MOTION}.hand.full)")
        for k in range(1, 9):
            page.mouse.move(x + 5 * k, y + 4 * k)
        page.mouse.up()
        ran(page)
        start, length = page.evaluate(f"[{STUDIO}.model.table.start, {PLAYER}.motion.chain.length]")
        theta, omega = np.array(start["theta"]), np.array(start["omega"])
        assert abs(length * np.cos(theta) @ omega) + abs(length * np.sin(theta) @ omega) < 1e-9
        assert page.evaluate(f"{STUDIO}.error") is None


def test_a_press_on_a_link_does_not_stop_it(browser, address):
    with playing(browser, address) as page:
        ran(page)
        wait(page, f"{PLAYER}.playing && {PLAYER}.t > 0.2")
        page.mouse.move(0, 0)
        page.mouse.click(*middle(page, 0))
        assert page.evaluate(f"{PLAYER}.playing && {PLAYER}.t > 0.1 && !{PLAYER}.posed")


def test_the_endless_mode_pulls_changes_and_keeps(browser, address):
    with playing(browser, address) as page:
        ran(page)
        page.get_by_role("button", name="Endless", exact=True).click()
        wait(page, f"{MOTION}.endless.on && {PLAYER}.t > 0.3")
        x, y = grabbed(page, 0, f"Boolean({PLAYER}.hand)")
        page.mouse.move(x + 60, y - 60, steps=5)
        hand = page.evaluate(f"{PLAYER}.hand")
        t = page.evaluate(f"{PLAYER}.motion.end")
        wait(page, f"{PLAYER}.motion.end > {t} + 0.5")
        page.mouse.up()
        assert page.evaluate(f"{PLAYER}.hand") is None
        assert hand["y"] > -1
        fill(page, "g", "2")
        page.get_by_label("Joint dampers").check()
        settled(page)
        t = page.evaluate(f"{PLAYER}.motion.end")
        wait(page, f"{PLAYER}.motion.end > {t} + 0.3")
        assert page.evaluate(f"{MOTION}.endless.on")  # the same motion goes on
        page.get_by_role("button", name="Stop", exact=True).click()
        wait(page, f"!{MOTION}.job && {MOTION}.run?.kept", 10)
        events = page.evaluate(f"{PLAYER}.shown.events.map((event) => event.text.split(' at t')[0])")
        assert events[0].startswith("hand on link")
        assert events[1:] in (
            ["hand off", "change to gravity 2, joint dampers 0.1"],
            ["hand off", "change to gravity 2", "change to joint dampers 0.1"],
        )
        assert "simulated in real time" in page.locator(".gobar .said").inner_text()
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_label("Name", exact=True).fill("by hand")
        page.get_by_role("button", name="Save the run").click()
        page.locator(".said", has_text="saved as by hand").wait_for()


def test_the_tour_is_shown_once_and_goes_by_keys(browser, address):
    with Tab(browser, address, tour=True) as page:
        tour = page.get_by_role("dialog", name="Tour")
        tour.get_by_text("It moves.").wait_for()
        ran(page)
        tour.get_by_role("button", name="Next").focus()
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        assert tour.get_by_text("6 of 6").is_visible()
        page.keyboard.press("ArrowLeft")
        assert tour.get_by_text("5 of 6").is_visible()
        page.keyboard.press("Escape")
        assert tour.is_hidden()
        page.reload()
        page.wait_for_selector(".editor details")
        wait(page, f"Boolean({PLAYER})")
        assert tour.is_hidden()
        page.get_by_role("button", name="Help").click()
        page.get_by_role("button", name="Show the tour").click()
        assert tour.is_visible()


def test_the_theme_is_remembered(browser, address):
    with Tab(browser, address) as page:
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Dark or light").first.click()
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert light != dark
        page.reload()
        page.wait_for_selector(".editor details")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_fields_show_degrees_and_no_rounding_errors(browser, address):
    with Tab(browser, address) as page:
        choose(page, "four-bar")
        wait(page, f"{STUDIO}.model.table.pin && {STUDIO}.judged === {STUDIO}.model.table")
        shown = [page.get_by_label(f"Angle of link {i} in degrees").input_value() for i in (1, 2, 3)]
        assert shown == ["180", "90", "0"]
        rates = [page.get_by_label(f"Rate of link {i} in degrees per second").input_value() for i in (1, 2, 3)]
        assert [float(rate) for rate in rates] == pytest.approx([-57.29578, 0, -57.29578], abs=1e-5)
        assert rates[1] == "0"
        page.get_by_role("checkbox", name="Joint springs").check()
        fill(page, "Rest angle", "90")
        settled(page)
        assert page.evaluate(f"{STUDIO}.model.table.loads.joint_spring.rest") == pytest.approx(np.pi / 2)


def test_the_other_branch_closes_too(browser, address):
    with Tab(browser, address) as page:
        button = page.get_by_role("button", name="Other branch")
        assert button.is_hidden()
        choose(page, "five-bar")
        wait(page, f"{PLAYER}.motion.chain.pin")
        ran(page)
        before = page.evaluate(f"{STUDIO}.model.table.start.theta")
        button.click()
        ran(page)
        after = page.evaluate(f"{STUDIO}.model.table.start.theta")
        assert page.evaluate(f"{STUDIO}.error") is None
        assert after[0] == pytest.approx(before[0], abs=1e-4)
        assert max(abs(a - b) for a, b in zip(after, before, strict=True)) > 0.1
        button.click()
        ran(page)
        assert np.cos(page.evaluate(f"{STUDIO}.model.table.start.theta")) == pytest.approx(np.cos(before), abs=1e-4)


PULLING = """async ([length, pin, start, turns]) => {
  const { linkageOf } = await import("/static/linkage.js"), { pulled } = await import("/static/pulling.js");
  const linkage = linkageOf({ n: length.length, length, pin });
  let theta = linkage.closed(start), most = 0, gap = 0;
  const course = {}, first = theta[0];
  for (let k = 0; k <= turns * 120; k++) {
    const angle = first + (2 * Math.PI * k) / 120, hand = [length[0] * Math.sin(angle), -length[0] * Math.cos(angle)];
    const next = pulled(linkage, theta, { link: 0, along: length[0], left: 0 }, hand, { course });
    next.forEach((value, i) => { most = Math.max(most, Math.abs(value - theta[i])); });
    theta = next;
    gap = Math.max(gap, linkage.closing(theta, { rounds: 0 }).gap);
  }
  return { theta: [...theta], most, gap, first };
}"""


THROWING = """async ([times, angles, now]) => {
  const { thrown } = await import("/static/pulling.js");
  return [...thrown(times.map((time, k) => ({ time, theta: [angles[k], 1.0] })), now)];
}"""


def test_a_throw_is_the_slope_of_the_last_poses(browser, address):
    with Tab(browser, address) as page:
        rates = lambda *given: page.evaluate(THROWING, list(given))  # noqa: E731
        times = [float(t) for t in range(0, 200, 10)]
        steady = [0.003 * t for t in times]
        assert rates(times, steady, 190) == pytest.approx([3.0, 0.0])
        late = [3.0 * max(0.0, t - 150) / 1000 for t in times]  # what was before the last 80 ms does not count
        assert 1.0 < rates(times, late, 190)[0] < 3.0
        assert rates(times, steady, 400) == [0, 0]  # the hand has come to rest
        assert 0 < rates(times, steady, 240)[0] < 1.5
        assert rates([0.0], [1.0], 5) == [0, 0]
        assert rates([0.0, 1.0], [0.0, 1.0], 1) == [50, 0]  # no faster than a hand can be


@pytest.mark.parametrize(
    ("length", "start", "turned"), [([1, 1, 1], [2.8, 1.57, -0.3], (2, 0, 2)), ([0.5, 1, 1], [2.8, 2.0, 0.1], (2, 0, 0))]
)
def test_a_loop_under_the_hand_stays_on_its_branch_through_dead_positions(browser, address, length, start, turned):
    """The crank of a parallelogram, and of another loop, goes around twice in steps of 3 degrees."""
    with Tab(browser, address) as page:
        found = page.evaluate(PULLING, [length, [1.0, 0.0], start, 2])
        assert found["gap"] < 1e-9
        assert found["most"] < 0.2
        expected = [found["first"] + 2 * np.pi * turned[0]]
        assert found["theta"][0] == pytest.approx(expected[0], abs=1e-3)
        begun = page.evaluate(PULLING, [length, [1.0, 0.0], start, 0])["theta"]
        assert np.subtract(found["theta"], begun) == pytest.approx(2 * np.pi * np.array(turned), abs=0.01)


def test_a_closed_chain_stays_closed_while_it_is_dragged(browser, address):
    with Tab(browser, address) as page:
        page.get_by_label("Pin at the last end").check()
        wait(page, f"{PLAYER}.stage.chain.pin && !{STUDIO}.error")
        ran(page)
        before = page.evaluate(f"{STUDIO}.model.table.start.theta")
        drag(page, 0, 25.0, 25.0, release=False)
        tip = page.evaluate(f"(() => {{ const m = {PLAYER}.stage.motion; return [m.x[3], m.y[3]]; }})()")
        pin = page.evaluate(f"{STUDIO}.model.table.pin")
        page.mouse.up()
        ran(page)
        assert abs(page.evaluate(f"{STUDIO}.model.table.start.theta")[0] - before[0]) > 0.05
        assert tip == pytest.approx([pin["x"], pin["y"]], abs=1e-6)
        assert page.evaluate(f"{STUDIO}.error") is None
        fill(page, "Pin x", "1.2")
        wait(page, f"!{STUDIO}.error && Math.abs({PLAYER}.motion.x[3] - 1.2) < 1e-4")


def test_stop_keeps_what_was_computed_and_it_plays(browser, address):
    with Tab(browser, address) as page:
        fill(page, "Run until", "50000")
        wait(page, f"{PLAYER}.motion.span > 30")  # it is shown while it is being computed
        assert "energy residual" in page.locator(".gobar .said").inner_text()
        page.wait_for_timeout(500)  # a press at the moment at which Run becomes Stop is not taken for one of Stop
        page.get_by_role("button", name="Stop", exact=True).click()
        wait(page, f"!{STUDIO}.motion.job", 5)
        assert "stopped by the user" in page.locator(".gobar .said").inner_text()
        span = page.evaluate(f"{PLAYER}.motion.span")
        assert 20 < span < 50_000
        box = page.get_by_role("slider", name="Time", exact=True).last.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert page.evaluate(f"{PLAYER}.t") == pytest.approx(span / 2, rel=0.02)
        begun = page.evaluate(f"{PLAYER}.motion.span")
        page.get_by_role("button", name="Go on", exact=True).click()
        wait(page, f"{PLAYER}.motion.span > {begun} + 20 && {PLAYER}.motion.theta.every(Number.isFinite)")
        assert page.evaluate(f"{PLAYER}.t") == pytest.approx(span / 2, rel=0.02)  # the time that is shown stays
        page.keyboard.press("Escape")
        wait(page, f"!{MOTION}.job", 10)


def test_an_error_is_told_at_its_field_and_nothing_is_lost(browser, address):
    with Tab(browser, address) as page:
        fill(page, "Mass", "-1")
        error = page.locator(".row", has=page.get_by_label("Mass", exact=True)).locator(".error")
        error.wait_for(state="visible")
        assert error.inner_text() == "mass of link 1 must not be negative, got -1"
        assert page.get_by_label("Mass", exact=True).get_attribute("aria-invalid") == "true"
        assert page.get_by_role("button", name="Run", exact=True).is_disabled()
        assert page.locator(".gobar .said").inner_text() == "Cannot run: mass of link 1 must not be negative, got -1"
        fill(page, "Mass", "2")
        error.wait_for(state="hidden")
        page.get_by_label("Integrator").select_option("Gauss")
        page.get_by_label("Formulation", exact=True).select_option("maximal")
        told = page.locator(".row", has=page.get_by_label("Integrator")).locator(".error")
        told.wait_for(state="visible", timeout=60_000)
        assert told.inner_text().startswith("Gauss needs Hamilton's form")
        page.get_by_label("Formulation", exact=True).select_option("recursive")
        settled(page)
        fill(page, "Run until", "2")
        settled(page)
        run(page)
        page.get_by_role("tab", name="Copies").click()
        fill(page, "Copies", "many")
        page.get_by_role("button", name="Run copies").click()
        page.locator(".pane:not([hidden]) .error", has_text="copies must be a whole number").wait_for()


def test_a_reload_brings_the_model_back_and_two_tabs_do_not_disturb_each_other(browser, address):
    with Tab(browser, address) as one, Tab(browser, address) as two:
        fill(one, "Links", "4")
        fill(two, "Title", "the other")
        settled(one)
        settled(two)
        fill(one, "Run until", "50000")
        wait(one, f"{PLAYER}.motion.span > 30")
        fill(two, "Run until", "1")
        settled(two)
        run(two)
        assert one.evaluate(f"Boolean({STUDIO}.motion.job)")
        one.reload()
        one.wait_for_selector(".editor details")
        wait(one, f"Boolean({PLAYER})")
        assert one.evaluate(f"{STUDIO}.model.table.links") == 4
        assert two.evaluate(f"{STUDIO}.model.table.links") == 3
        fill(one, "Run until", "1")
        settled(one)
        run(one)


def test_a_lost_connection_comes_back(browser, address):
    with Tab(browser, address) as page:
        fill(page, "Run until", "1500")
        wait(page, f"{PLAYER}.motion.span > 30")
        page.evaluate(
            f"window.states = []; new MutationObserver(() => window.states.push({STUDIO}.state.textContent))"
            f".observe({STUDIO}.state, {{ childList: true, characterData: true, subtree: true }})"
        )
        page.evaluate(f"{STUDIO}.line.socket.close(4000)")
        wait(page, "window.states.some((state) => state.startsWith('connection lost'))")
        wait(page, f"{STUDIO}.state.textContent === '' && !{STUDIO}.motion.job && {STUDIO}.motion.run")
        assert page.evaluate(f"{PLAYER}.motion.span") == 1500


def test_every_view_shows_something(browser, address):
    with Tab(browser, address) as page:
        fill(page, "Run until", "5")
        settled(page)
        for name, press, inside in (
            ("Copies", "Run copies", ".player .stage canvas"),
            ("Compare", "Compare", "table >> text=momentum"),
            ("Modes", None, "table >> text=2.181"),
            ("Stability", "Draw", "section[aria-label^=Growth] canvas"),
            ("Map", "Compute", ".plane canvas"),
            ("Equations", None, "math >> nth=2"),
            ("Code", None, "pre >> nth=1"),
        ):
            page.get_by_role("tab", name=name).click()
            if name == "Compare":
                page.get_by_label("maximal").uncheck()
                page.get_by_label("natural").uncheck()
            if name == "Map":
                fill(page, "Cells a side", "40")
                page.locator(".pane:not([hidden])").get_by_label("Until").fill("3")
            if press:
                page.get_by_role("button", name=press, exact=True).click()
            page.locator(f".pane:not([hidden]) {inside}").first.wait_for(timeout=60_000)
            wait(page, f"!{STUDIO}.pane.job")
            assert page.locator(".pane:not([hidden]) > .error").is_hidden(), name
        assert tomllib.loads(page.locator(".texts pre").nth(1).inner_text())["links"] == 3
        page.get_by_role("tab", name="Equations").click()
        page.get_by_role("button", name="Copy LaTeX").click()
        told = page.locator("article").get_by_role("button")
        wait(page, "document.querySelector('article .copy').textContent !== 'Copy LaTeX'")
        assert told.inner_text() == "Copied" or "\\theta" in page.get_by_label("LaTeX").inner_text()
        page.get_by_role("tab", name="Map").click()
        plane = f"{STUDIO}.panes.find((pane) => pane.name === 'Map').plane"
        wait(page, f"{plane}.box().width > 100")  # it is laid out anew with the next frame
        box = page.locator(".plane canvas").bounding_box()
        x, y = page.evaluate(f"(({{ x, y, width, height }}) => [x + 0.75 * width, y + 0.3 * height])({plane}.box())")
        page.mouse.click(box["x"] + x, box["y"] + y)
        wait(page, f"{STUDIO}.pane.name === 'Motion'", 10)
        theta = np.degrees(page.evaluate(f"{STUDIO}.model.table.start.theta"))
        assert theta[:2] == pytest.approx([90, 72], abs=6)
        page.get_by_role("tab", name="Map").click()
        page.get_by_role("button", name="Zoom in (+)").last.click()
        page.get_by_role("button", name="Finer here").click()
        wait(page, f"{plane}.edges[0][1] < 179 && {plane}.content.x.length === 40")
        page.get_by_role("button", name="Whole plane").click()
        assert page.evaluate(f"{plane}.edges[0][1]") == pytest.approx(180)


def test_runs_and_models_are_saved_and_opened(browser, address, tmp_path):
    with Tab(browser, address) as page:
        fill(page, "Run until", "2")
        fill(page, "Title", "To keep")
        settled(page)
        run(page)
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_label("Name", exact=True).fill("../escape")
        page.get_by_role("button", name="Save the run").click()
        page.locator("dialog .error", has_text="a name must have").wait_for()
        page.get_by_label("Name", exact=True).fill("kept")
        page.get_by_role("button", name="Save the run").click()
        page.locator(".said", has_text="saved as kept").wait_for()
        page.get_by_role("button", name="Save", exact=True).click()
        with page.expect_download() as found:
            page.get_by_role("button", name="Download the model").click()
        found.value.save_as(tmp_path / "model.toml")
        fill(page, "Links", "1")
        settled(page)
        page.get_by_role("button", name="Open", exact=True).click()
        page.get_by_role("button", name="kept", exact=True).click()
        wait(page, f"{STUDIO}.motion.run && {PLAYER}.motion.span === 2")
        assert page.evaluate(f"{STUDIO}.model.table.title") == "To keep"
        page.get_by_role("button", name="Open", exact=True).click()
        (tmp_path / "bad.toml").write_text("links = ")
        page.get_by_label("Model file").set_input_files(tmp_path / "bad.toml")
        page.locator("dialog .error", has_text="is not a model file").wait_for()
        page.get_by_label("Model file").set_input_files(tmp_path / "model.toml")
        wait(page, "!document.querySelector('dialog[open]')")
        assert page.evaluate(f"{STUDIO}.model.table.title") == "To keep"
    assert nlink.Scenario.load(tmp_path / "model.toml").title == "To keep"


def test_a_phone(browser, address):
    with Tab(browser, address, viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        ran(page)
        for name in ("Modes", "Equations", "Code", "Map", "Motion"):
            page.get_by_role("tab", name=name).tap()
            page.wait_for_timeout(100)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
        for button in page.locator(".top button:visible, .gobar button:visible, .transport button:visible").all():
            box = button.bounding_box()
            assert min(box["width"], box["height"]) >= 36
            assert 0 <= box["x"] <= PHONE["width"] - box["width"]


def test_dark_keys_and_names(browser, address):
    nameless = (
        "(nodes) => nodes.filter((n) => n.type !== 'hidden' && "
        "!(n.getAttribute('aria-label') || n.textContent.trim() || n.closest('label'))).length"
    )
    with Tab(browser, address, color_scheme="dark") as page:
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 16, 20)"
        assert page.eval_on_selector_all("button, select, input, summary, canvas:not([aria-hidden])", nameless) == 0
        fill(page, "Run until", "2")
        ran(page)
        page.keyboard.press("Control+Enter")
        wait(page, f"!{STUDIO}.motion.job && {STUDIO}.motion.run")
        page.locator(".stage canvas").first.focus()
        page.keyboard.press("End")
        assert page.evaluate(f"{PLAYER}.t") == 2.0
        page.get_by_label("Title", exact=True).fill("")
        page.get_by_label("Title", exact=True).press_sequentially("Home f d")  # keys of the player are letters of a title here
        assert page.evaluate(f"{STUDIO}.model.table.title") == "Home f d"
        page.get_by_role("tab", name="Motion").focus()
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("tab", name="Copies").get_attribute("aria-selected") == "true"


def test_a_run_its_plots_and_its_model_are_taken_along(browser, address, tmp_path):
    with Tab(browser, address) as page:
        fill(page, "Run until", "1")
        run(page)
        page.get_by_role("button", name="Take along", exact=True).click()
        page.get_by_label("Plot", exact=True).select_option("phase")
        page.get_by_label("Format", exact=True).select_option("svg")
        for button, ending in (("Numbers (CSV)", "chaos.csv"), ("Download the plot", "chaos-phase.svg"), ("Python", "chaos.py")):
            with page.expect_download() as found:
                page.get_by_role("button", name=button).click()
            assert found.value.suggested_filename.endswith(ending)
            found.value.save_as(tmp_path / ending)
        assert len((tmp_path / "chaos.csv").read_text().splitlines()) == 102
        assert "nlink.Chain.uniform(3)" in (tmp_path / "chaos.py").read_text()


def test_a_link_holds_the_model_and_opens_the_studio(browser, address):
    with Tab(browser, address) as page:
        fill(page, "Links", "2")
        fill(page, "Title", "50 % \N{GREEK SMALL LETTER THETA} & more")
        ran(page)
        page.get_by_role("button", name="Take along", exact=True).click()
        link, model = page.get_by_label("Address with the model").input_value(), page.evaluate(f"{STUDIO}.model.table")
        assert "token" not in link
        other = page.context.new_page()  # of the same browser, which knows the token
        other.goto(link)
        wait(other, f"{STUDIO}?.model.table.title === '50 % \N{GREEK SMALL LETTER THETA} & more'")
        assert other.evaluate(f"{STUDIO}.model.table") == model
        assert other.url == address.split("?")[0]
        other.evaluate("location.hash = '#model=%7Bno'")
        other.get_by_text("the model of the link cannot be taken: it is not whole").wait_for()
        other.evaluate("location.hash = '#model=%7B%22links%22%3A-1%7D'")
        other.get_by_text("the model of the link cannot be taken: links must be").wait_for()
        assert other.evaluate(f"{STUDIO}.model.table") == model
        other.close()


def test_without_a_token_the_page_says_what_to_open_and_keeps_the_model_of_a_link(browser, address):
    context = browser.new_context()
    page = context.new_page()
    page.goto(address.split("?")[0] + "#model=%7B%22links%22%3A4%7D")
    page.get_by_text("open the address that nlink studio printed when it started; the model of this link will be there").wait_for()
    page.goto(address)
    page.wait_for_selector(".editor details")
    wait(page, f"{STUDIO}.model.table.links === 4")
    context.close()


def test_fifty_clients_while_two_runs_compute(browser, address):
    """No error for anyone; how fast is measured by benchmarks/studio.py."""
    base, token = address.split("/?token=")
    model = nlink.preset("chaotic-5").to_dict()

    def asked(k: int) -> list[int]:
        out = []
        for path, body in (("/", None), ("/api/start", None), ("/api/check", {"model": model}), ("/static/studio.js", None)) * 2:
            data = None if body is None else json.dumps(body).encode()
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            with urllib.request.urlopen(urllib.request.Request(base + path, data, headers), timeout=60) as answer:
                out.append(answer.status)
        return out

    with Tab(browser, address) as one, Tab(browser, address) as two:
        for page in (one, two):
            fill(page, "Run until", "50000")
            wait(page, f"{PLAYER}.motion.span > 30")
        with ThreadPoolExecutor(50) as clients:
            statuses = [status for each in clients.map(asked, range(50)) for status in each]
        assert set(statuses) == {200}
        for page in (one, two):
            assert page.evaluate(f"Boolean({STUDIO}.motion.job)")
            page.keyboard.press("Escape")
            wait(page, f"!{STUDIO}.motion.job", 10)
