"""Pages that simulate, in a real browser: the motion is that of `simulate`; mouse, keys, fingers and addresses are obeyed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import PHONE, Tab, pixels, settle, wait
from helpers import random_chain
from test_live import scenario

import nlink
from nlink import Chain, Gravity, JointTorque, Scenario, Sine
from nlink.mechanics.loads import LOADS
from nlink.view.live_page import MOST_LINKS

LIVE = "document.getElementById('nlink').live"
SIMULATION = f"{LIVE}.simulation"
TIGHT = {"rtol": 1e-13, "atol": 1e-13, "integrator": "DOP853"}
"""How the motion of a page is followed for comparison."""


def advanced(page: Any, t: float, pieces: int = 1) -> np.ndarray:
    """Let the simulation run to a time, in so many pieces; return its state with the ledger behind it."""
    run = f"""([t, pieces]) => {{
      const s = {SIMULATION};
      for (let k = 1; k <= pieces; k++) {{
        s.aim((t * k) / pieces);
        s.work();
      }}
      return [...s.states[0]];
    }}"""
    return np.array(page.evaluate(run, [t, pieces]))


def written(made: Scenario, folder: Path, **options: Any) -> Path:
    path = made.live(folder / "live.html", **options)
    assert isinstance(path, Path)
    return path


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a double pendulum from a lively start."""
    return written(Scenario(Chain.uniform(2), (2.0, 2.5)), tmp_path_factory.mktemp("live"), copies=6)


def compare(page: Any, made: Scenario) -> None:
    """Hold the state, the work of each load and the energies after a second against `simulate`."""
    n, run = made.chain.n, nlink.simulate(made.chain, made.theta, made.omega, t_end=1.0, save=[0.0, 1.0], **TIGHT)
    state = advanced(page, 1.0)
    np.testing.assert_allclose(state[:n], run.theta[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(state[n : 2 * n], run.omega[-1], rtol=0, atol=1e-8)
    scale = max(1.0, float(np.abs(run.kinetic).max()), float(np.abs(run.potential).max()))
    loads = page.evaluate(f"{SIMULATION}.model.powers")
    assert set(loads) == {name for name, kind in LOADS.items() if kind.works()}
    for load, work in zip(loads, state[2 * n :], strict=False):
        assert work == pytest.approx(run.work[load][-1] if load in run.work else 0.0, abs=1e-9 * scale), load
    energy = page.evaluate(f"(() => {{ const s = {SIMULATION}; return s.energy(s.states[0]); }})()")
    assert energy["kinetic"] == pytest.approx(run.kinetic[-1], abs=1e-8 * scale)
    assert energy["potential"] == pytest.approx(run.potential[-1], abs=1e-8 * scale)
    assert abs(energy["residual"]) < 1e-10 * scale


@pytest.mark.parametrize("n", [*range(1, 7), MOST_LINKS])
def test_the_motion_is_that_of_simulate(browser, n, tmp_path):
    """Under every load at once, from a random state."""
    made = scenario(n)
    with Tab(browser, written(made, tmp_path)) as page:
        compare(page, made)


@pytest.mark.parametrize("load", LOADS)
def test_each_load_is_that_of_simulate(browser, load, tmp_path):
    chain, theta, omega = random_chain(3, 5)
    acting = JointTorque([Sine(2.0, 0.7, 0.3), -1.0, Sine(1.0, 1.5)]) if load == "joint_torque" else chain.load(LOADS[load])
    made = Scenario(Chain(chain.links, [acting] if load == "gravity" else [acting, Gravity(0.0)]), tuple(theta), tuple(omega))
    with Tab(browser, written(made, tmp_path)) as page:
        compare(page, made)


def test_frames_do_not_change_the_motion(browser, double):
    with Tab(browser, double) as page:
        at_once = advanced(page, 2.0)
        page.keyboard.press("Home")
        np.testing.assert_array_equal(advanced(page, 2.0, 317), at_once)
        taken = "(s) => [s.bodies[0].t > s.t, s.next * s.interval - s.t]"
        beyond, late = page.evaluate(f"({taken})({SIMULATION})")
        assert beyond  # the last step goes on behind the frame: frames are no steps
        assert 0 < late <= 0.0101


def test_points_are_recorded_on_a_grid_with_their_energies(browser, double):
    with Tab(browser, double) as page:
        advanced(page, 1.0, 61)
        rows = f"[h.t, h.theta[1], h.total].map((row) => [...row.slice(0, {LIVE}.history.count)])"
        t, theta, total = np.array(page.evaluate(f"((h) => {rows})({LIVE}.history)"))
        np.testing.assert_allclose(t, np.arange(101) / 100, atol=1e-12)
        run = nlink.simulate(Chain.uniform(2), [2.0, 2.5], t_end=1.0, **TIGHT)
        np.testing.assert_allclose(theta, run.theta[:, 1], atol=1e-8)
        np.testing.assert_allclose(total, total[0], atol=1e-9)


def test_it_begins_by_itself_and_shows_its_residual(browser, double):
    with Tab(browser, double, reduced_motion="no-preference") as page:
        wait(page, f"{SIMULATION}.t > 0.5")
        page.keyboard.press("Space")
        settle(page)
        assert page.locator(".clock").inner_text() == f"{page.evaluate(SIMULATION + '.t'):.2f} s"
        legend = page.locator(".legend").first.inner_text()
        assert "residual" in legend
        energy = page.evaluate(f"(() => {{ const s = {SIMULATION}; return s.energy(s.states[0]); }})()")
        assert abs(energy["residual"]) < 1e-9
        assert len(np.unique(pixels(page, "main canvas").reshape(-1, 3), axis=0)) > 30


def test_it_waits_where_motion_is_not_wanted(browser, double):
    with Tab(browser, double) as page:
        settle(page)
        assert page.evaluate(f"{SIMULATION}.t") == 0.0
        page.get_by_role("button", name="Play").click()
        wait(page, f"{SIMULATION}.t > 0.1")
        page.get_by_role("button", name="Pause").click()
        held = page.evaluate(f"{SIMULATION}.t")
        page.get_by_role("button", name="One step on").click()
        assert page.evaluate(f"{SIMULATION}.t") == pytest.approx(held + 1 / 60)
        page.get_by_role("button", name="To the start").click()
        assert page.evaluate(f"[{SIMULATION}.t, {SIMULATION}.states[0][1]]") == [0.0, 2.5]


def pixel(page: Any, link: int, share: float = 1.0) -> tuple[float, float]:
    """Return where on the screen a point of a link is."""
    along = "const along = (row) => row[i] + u * (row[i + 1] - row[i]);"
    where = f"([i, u]) => {{ {along} const s = {LIVE}.stage; return s.pixel(along(s.motion.x), along(s.motion.y)); }}"
    x, y = page.evaluate(where, [link, share])
    box = page.locator("main canvas").bounding_box()
    return box["x"] + x, box["y"] + y


def test_a_link_is_grabbed_pulled_and_thrown(browser, tmp_path):
    """A chain at rest is lifted to the right, thrown, and swings; the hand's work is in the balance."""
    with Tab(browser, written(Scenario(Chain.uniform(2), (0.0, 0.0)), tmp_path, copies=2)) as page:
        page.keyboard.press("Space")
        settle(page)
        x, y = pixel(page, 1)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 120, y - 60, steps=8)
        wait(page, f"{SIMULATION}.t > 1.5")
        held = page.evaluate(f"[{LIVE}.stage.motion.x[2], {LIVE}.stage.motion.y[2], {SIMULATION}.hand.x, {SIMULATION}.hand.y]")
        assert held[:2] == pytest.approx(held[2:], abs=0.15)  # on a spring that the weight stretches
        page.mouse.move(x + 200, y - 260, steps=3)
        page.mouse.up()
        assert page.evaluate(f"{SIMULATION}.hand") is None
        wait(page, f"{SIMULATION}.t > 2.5")
        page.keyboard.press("Space")
        energy = page.evaluate(f"(() => {{ const s = {SIMULATION}; return s.energy(s.states[0]); }})()")
        assert energy["work"] > 0.5
        assert energy["total"] > energy["work"] - 9.81 * 3
        assert abs(energy["residual"]) < 1e-8
        assert page.evaluate(f"Math.max(...{SIMULATION}.states[0].slice(0, 2).map(Math.abs))") > 0.1


def test_a_link_is_posed_while_it_stands_still(browser, double):
    with Tab(browser, double) as page:
        settle(page)
        x, y = pixel(page, 0, 0.0)
        page.mouse.move(*pixel(page, 0, 0.6))
        page.mouse.down()
        page.mouse.move(x + 100, y, steps=5)
        page.mouse.up()
        theta = page.evaluate(f"{SIMULATION}.origin.theta")
        assert theta == pytest.approx([np.pi / 2, 2.5], abs=0.02)
        assert page.evaluate(f"[...{SIMULATION}.states[0].slice(0, 4)]") == [*theta, 0.0, 0.0]
        assert page.evaluate(f"{SIMULATION}.states[3][0]") == pytest.approx(theta[0] + 3e-3)
        page.keyboard.press("r")
        assert page.evaluate(f"{SIMULATION}.origin.theta") == [2.0, 2.5]


def slide(page: Any, name: str, value: float) -> None:
    page.get_by_label(f"{name}, slider").first.evaluate(
        "(node, value) => { node.value = value; node.dispatchEvent(new Event('input', { bubbles: true })); }", value
    )


def test_controls_change_the_chain_while_it_moves(browser, double):
    with Tab(browser, double) as page:
        state = advanced(page, 0.5)
        slide(page, "Mass", 2.0)
        page.get_by_label("Links that the controls change").select_option("link 2")
        page.locator("#nlink .row", has_text="Length").locator("input[type=text]").fill("0.5")
        page.keyboard.press("Enter")
        np.testing.assert_array_equal(page.evaluate(f"[...{SIMULATION}.states[0]]"), state)
        numbers = page.evaluate(f"(() => {{ const {{ l, m, d, I }} = {SIMULATION}.p; return {{ l, m, d, I }}; }})()")
        assert numbers == {"l": [1.0, 0.5], "m": [2.0, 2.0], "d": [0.5, 0.25], "I": pytest.approx([2 / 12, 2 / 48])}
        assert page.evaluate(f"{LIVE}.history.chain.length") == [1.0, 0.5]
        links = [nlink.Link.rod(1.0, 2.0), nlink.Link.rod(0.5, 2.0)]
        run = nlink.simulate(Chain(links), state[:2], state[2:4], t_end=1.0, save=[0.0, 1.0], **TIGHT)
        np.testing.assert_allclose(advanced(page, 1.5)[:2], run.theta[-1], atol=1e-8)
        energy = page.evaluate(f"(() => {{ const s = {SIMULATION}; return s.energy(s.states[0]); }})()")
        assert abs(energy["residual"]) < 1e-9  # what a change brings is no error
        page.get_by_label("Links that the controls change").select_option("all links")
        assert page.locator("#nlink .row", has_text="Length").locator("input[type=text]").get_attribute("placeholder") == "differ"
        page.get_by_role("button", name="Reset to the model").click()
        assert page.evaluate(f"{SIMULATION}.p.m") == [1.0, 1.0]


def test_a_wrong_number_is_told_at_its_field(browser, double):
    with Tab(browser, double) as page:
        row = page.locator("#nlink .row", has_text="Mass")
        for text, said in (("-1", "must be at least 0"), ("heavy", "must be a number"), ("", "must be a number")):
            row.locator("input[type=text]").fill(text)
            page.keyboard.press("Enter")
            assert row.locator(".error").inner_text() == said
        page.get_by_role("textbox", name="Number").fill("31")
        page.keyboard.press("Enter")
        assert page.locator(".part").first.locator(".error:visible").inner_text() == "must be at most 30"
        row.locator("input[type=text]").evaluate("(node) => node.blur()")
        assert row.locator("input[type=text]").input_value() == "1"
        assert page.evaluate(f"{SIMULATION}.values.mass") == [1.0, 1.0]


def test_every_load_has_controls_that_act(browser, double):
    """The last number of each group is changed by the keyboard, and the motion with it."""
    with Tab(browser, double) as page:
        for group in page.locator(".part").all():
            name = group.locator("summary").inner_text()
            if not group.evaluate("(node) => node.open"):
                group.locator("summary").click()
            if name in ("Near-copies", "Start"):
                continue
            before = json.dumps(page.evaluate(f"{SIMULATION}.values"))
            slider = group.locator("input[type=range]").first
            slider.focus()
            page.keyboard.press("ArrowRight")
            assert json.dumps(page.evaluate(f"{SIMULATION}.values")) != before, name
            assert slider.get_attribute("aria-valuetext")
        assert not page.evaluate(f"{LIVE}.playing")
        advanced(page, 0.2)
        assert not page.evaluate(f"{SIMULATION}.failed")


def test_the_start_can_be_typed(browser, double):
    with Tab(browser, double) as page:
        page.locator("summary", has_text="Start").click()
        page.locator("#nlink .row", has_text="Angle").last.locator("input[type=text]").fill("90")
        page.keyboard.press("Enter")
        assert page.evaluate(f"{SIMULATION}.origin.theta") == pytest.approx([np.pi / 2] * 2)
        assert page.evaluate(f"{SIMULATION}.states[0][1]") == pytest.approx(np.pi / 2)


def test_near_copies_part_and_are_gathered(browser, double):
    with Tab(browser, double) as page:
        first = page.evaluate(f"{SIMULATION}.states.map((s) => s[0])")
        np.testing.assert_allclose(np.diff(first), 1e-3, atol=1e-12)
        advanced(page, 8.0, 20)
        assert page.evaluate(f"{SIMULATION}.apart()") > 0.1
        page.get_by_role("button", name="Gather").click()
        assert 0 < page.evaluate(f"{SIMULATION}.apart()") < 0.02
        slide(page, "Number", 30)
        page.get_by_label("Difference of the first angle").select_option("0.1 rad")
        apart = page.evaluate(f"{SIMULATION}.states.map((s) => s[0] - {SIMULATION}.states[0][0])")
        np.testing.assert_allclose(apart, 0.1 * np.arange(31), atol=1e-12)
        settle(page)
        assert page.get_by_role("heading", name="Near-copies apart").is_visible()
        copy = Chain.uniform(2)
        state = np.array(page.evaluate(f"[...{SIMULATION}.states[2]]"))
        run = nlink.simulate(copy, state[:2], state[2:], t_end=0.5, save=[0.0, 0.5], **TIGHT)
        advanced(page, 8.5)
        np.testing.assert_allclose(page.evaluate(f"[...{SIMULATION}.states[2].slice(0, 2)]"), run.theta[-1], atol=1e-9)


def test_an_address_restores_what_was_changed(browser, double):
    with Tab(browser, double) as page:
        slide(page, "Mass", 2.5)
        slide(page, "Number", 3)
        page.evaluate(f"{LIVE}.pose(new Float64Array([0.1234567890123, -1]))")
        page.keyboard.press("s")
        address = page.get_by_label("Address").input_value()
        assert address == page.url
        assert address.endswith("#mass=2.5&theta=0.1234567890123,-1&copies=3")
    tab = Tab(browser, double)
    tab.address = address
    with tab as page:
        assert page.evaluate(f"[{SIMULATION}.p.m, {SIMULATION}.origin.theta, {SIMULATION}.count, {SIMULATION}.states.length]") == [
            [2.5, 2.5], [0.1234567890123, -1], 3, 4,
        ]  # fmt: skip
        assert page.get_by_label("Mass, slider").first.input_value() == "2.5"
        assert page.locator(".status").inner_text() == ""
        page.keyboard.press("r")
        assert page.evaluate(f"{SIMULATION}.p.m") == [1.0, 1.0]
        tab.asked = [double.as_uri()]
        tab.address = double.as_uri()


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        ("weight=3", 'it has "weight", which this chain does not have'),
        ("theta=1,2,3", "theta must have 1 or 2 numbers, got 3"),
        ("theta=1,", "theta must be numbers, got 1,"),
        ("mass=-1", "mass must be at least 0, got -1"),
        ("length=0", "length must be above 0, got 0"),
        ("gravity=1e300", "gravity must be at most 1000000000 in magnitude, got 1e300"),
        ("copies=2.5", "copies must be a whole number, got 2.5"),
        ("copies=31", "copies must be at most 30 in magnitude, got 31"),
        ("__proto__=1", 'it has "__proto__", which this chain does not have'),
        ("<img src=x onerror=alert(1)>", "which this chain does not have"),
    ],
)
def test_a_malformed_address_gives_a_sentence_and_the_model(browser, double, fragment, said):
    tab = Tab(browser, double)
    tab.address += "#" + fragment
    with tab as page:
        text = page.locator(".status").inner_text()
        assert said in text
        assert text.endswith("This is the model as it was made.")
        assert page.evaluate(f"[{SIMULATION}.origin.theta, {SIMULATION}.p.m, {SIMULATION}.count]") == [[2.0, 2.5], [1.0, 1.0], 6]
        tab.asked, tab.address = [], ""
        tab.asked = [tab.address]


def test_numbers_out_of_bounds_stop_with_a_sentence(browser, tmp_path):
    with Tab(browser, written(nlink.preset("point-2"), tmp_path)) as page:
        page.keyboard.press("Space")
        wait(page, f"{SIMULATION}.t > 0.1")
        page.locator("#nlink .row", has_text="Mass").locator("input[type=text]").fill("0")
        page.keyboard.press("Enter")
        wait(page, f"!{LIVE}.playing")
        assert page.locator(".status").inner_text().startswith("The motion cannot be followed beyond t = 0.")
        page.get_by_role("button", name="Reset to the model").click()
        assert page.locator(".status").inner_text() == ""
        page.get_by_role("button", name="Play").click()
        wait(page, f"{SIMULATION}.t > 0.1")


def test_a_motion_that_is_too_fast_goes_slowly_and_freezes_nothing(browser, double):
    """A damping of 1e7 needs steps of about a microsecond."""
    with Tab(browser, double) as page:
        page.evaluate(f"{SIMULATION}.change(() => {SIMULATION}.values['joint_damper.damping'].fill(1e6))")
        page.keyboard.press("Space")
        wait(page, "document.querySelector('.note').textContent.startsWith('slow motion: ')")
        page.keyboard.press("Space")
        assert not page.evaluate(f"{LIVE}.playing")


def test_keys_and_the_look(browser, double):
    with Tab(browser, double) as page:
        for key, path, value in (
            ("n", "link", 1), ("t", "look.trail", 2), ("h", "look.hinges", False), (".", "pace", 5), (",", "pace", 4),
        ):  # fmt: skip
            page.keyboard.press(key)
            assert page.evaluate(f"{LIVE}.{path}") == value, key
        assert page.get_by_role("heading", name="Phase portrait").is_visible()
        page.keyboard.press("ArrowRight")
        assert page.evaluate(f"{SIMULATION}.t") == pytest.approx(1 / 60)
        page.keyboard.press("Home")
        assert page.evaluate(f"{SIMULATION}.t") == 0.0
        page.keyboard.press("?")
        assert "Take hold of a link while it moves" in page.get_by_role("dialog", name="Help and keys").inner_text()
        page.keyboard.press("Escape")
        light = pixels(page, "main canvas").mean()
        page.keyboard.press("d")
        settle(page)
        assert pixels(page, "main canvas").mean() < light - 150
        page.keyboard.press("i")
        assert "2 equal links, 2 m and 2 kg in all" in page.get_by_role("dialog", name="The model").inner_text()


def test_a_phone(browser, double):
    with Tab(browser, double, viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        for button in page.locator(".transport button:visible, .tools button").all():
            box = button.bounding_box()
            assert min(box["width"], box["height"]) >= 36
        page.get_by_role("button", name="Play").tap()
        wait(page, f"{SIMULATION}.t > 0.1")
        page.evaluate(f"{LIVE}.setPace(0)")  # so that the link is still there when the finger comes
        x, y = pixel(page, 1, 0.5)
        session = page.context.new_cdp_session(page)
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y, "id": 0}]})
        for k in range(1, 6):
            session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y + 12 * k, "id": 0}]})
        assert page.evaluate(f"{SIMULATION}.hand?.toY") is not None
        assert page.evaluate("scrollY") == 0
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        settle(page)
        assert page.evaluate(f"{SIMULATION}.hand") is None


def test_everything_that_can_be_pressed_has_a_name_and_can_be_reached(browser, double):
    named = "n.getAttribute('aria-label') || n.textContent.trim() || n.closest('label') || n.labels?.length"
    nameless = f"(nodes) => nodes.filter((n) => !({named})).length"
    with Tab(browser, double) as page:
        assert page.eval_on_selector_all("button, select, input, summary, canvas:not([aria-hidden])", nameless) == 0
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"))
        assert {"Play (space)", "Speed", "Mass, slider", "Reset to the model", "Share (s)", "Joint springs", "Gather"} <= reached


def test_in_a_notebook(browser, tmp_path):
    page = Scenario(Chain.uniform(2), (2.0, 2.5)).live()
    (tmp_path / "notebook.html").write_text(f"<h1>Notebook</h1>{page._repr_html_()}", encoding="utf-8")
    tab = Tab(browser, tmp_path / "notebook.html")
    with tab as page:
        frame = page.frame_locator("iframe")
        assert frame.locator("h1").inner_text() == "Chain of 2 links"
        frame.get_by_role("button", name="Play").click()
        page.wait_for_timeout(300)
        frame.get_by_role("button", name="Pause").click()
        assert frame.locator(".clock").inner_text() != "0.00 s"
        assert frame.get_by_role("button", name="Share").count() == 0
        tab.asked = [url for url in tab.asked if url != "about:srcdoc"]


def test_frames_a_second(browser, double, record_property):
    """Two links with thirty near-copies; the figure is for the report, the work for a frame is held."""
    measured = """() => new Promise((done) => {
      const times = [];
      const tick = (now) => { times.push(now); if (times.length < 91) requestAnimationFrame(tick); else done(times); };
      requestAnimationFrame(tick);
    })"""
    spent = """(live) => {
      const begun = performance.now();
      for (let k = 0; k < 60; k++) { live.simulation.aim(live.simulation.t + 1 / 60); live.simulation.work(); }
      return (performance.now() - begun) / 60;
    }"""
    with Tab(browser, double) as page:
        slide(page, "Number", 30)
        page.keyboard.press("Space")
        wait(page, f"{SIMULATION}.t > 1")
        gaps = np.diff(page.evaluate(measured))
        page.keyboard.press("Space")
        work = page.evaluate(f"({spent})({LIVE})")
    record_property("frames_a_second", float(1000 / np.median(gaps)))
    print(f"2 links and 30 near-copies: {1000 / np.median(gaps):.0f} frames a second, {work:.2f} ms of simulation for a frame")
    assert work < 16
