"""Chains in space in the studio: tables that come back as they are, code that makes them, what is not offered, the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from browsing import browser as browser
from browsing import pixels
from made_space import mixed_chain
from studio_server import studio
from studio_tab import MOTION, PLAYER, STAGE, STUDIO, Tab, choose, ran, settled, wait

import nlink
from nlink._support.checks import ModelError
from nlink.analysis.space_modes import steady_state, swings
from nlink.analysis.trust import parted
from nlink.mechanics.chain import Link
from nlink.mechanics.loads import Drag, JointDamper, JointTorsion, TipForce
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.kinematics import directions, inclination
from nlink.mechanics.space.model import SpatialChain
from nlink.scenario import Scenario, preset, presets
from nlink.studio import code, tasks
from nlink.studio.offers import IN_SPACE, plots, refused, takers
from nlink.studio.space import tilted
from nlink.view.space.reading import rows_of

pytest.importorskip("fastapi", reason="needs the extra web: make setup")

from nlink.studio.app import _checked
from nlink.studio.gallery import gallery
from nlink.studio.messages import checked, page_model

IN_PRESETS = [name for name in presets() if preset(name).chain.spatial]
universal = nlink.Universal((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
POSE = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0))


def mixed() -> Scenario:
    chain = mixed_chain()
    position, _ = chain.start([0.3, (0.1, 0.2), 0.5, 0.7, (1.0, 2.0), (0.0, 1.0, 0.0)])
    rows = [position[place].tolist() for place in chain.places]
    return Scenario(chain, tuple(row if len(row) > 1 else row[0] for row in rows), (1.0, (0.5, 0.0), *[(0.1, 0.2, 0.3)] * 4))


SCENARIOS = {
    **{name: preset(name) for name in IN_PRESETS},
    "mixed": mixed(),
    "loads": Scenario(SpatialChain.uniform(2, loads=[TipForce(1.0, 2.0, fz=3.0), Drag(0.1)]), POSE),
    "torsion": Scenario(SpatialChain([Body.cylinder(1.0, 1.0, 0.1)] * 2, JointTorsion(2.0)), (0.3, 0.4)),
    "own": Scenario(SpatialChain([Link(1.0, 2.0, 0.3, 0.1), Body(1.0, 1.0, (0.1, -0.4, 0.2), (0.1, 0.2, 0.15))]), (0.3, 0.4)),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_model_comes_back_from_the_page_as_it_is(name):
    scenario = SCENARIOS[name]
    model = page_model(scenario)
    again = checked(model)
    assert again.chain == scenario.chain
    start, other = (each.chain.start(each.theta, each.omega) for each in (scenario, again))  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(np.concatenate(start), np.concatenate(other), atol=1e-12)
    assert page_model(again) == model
    rows = rows_of(scenario.chain, *start)[0]  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(_checked(scenario)["stand"]["rows"], rows)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_python_of_a_model_makes_it(name, monkeypatch):
    made: dict[str, Any] = {}

    def simulate(chain: Any, pose: Any, omega: Any = 0.0, **settings: Any) -> Any:
        made.update(chain=chain, start=chain.start(pose, omega), settings=settings)
        raise StopIteration

    monkeypatch.setattr(nlink, "simulate", simulate)
    scenario = SCENARIOS[name]
    with pytest.raises(StopIteration):
        exec(code.python(scenario), {})
    assert made["chain"] == scenario.chain
    start = scenario.chain.start(scenario.theta, scenario.omega)  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(np.concatenate(made["start"]), np.concatenate(start), atol=1e-12)
    assert made["settings"]["t_end"] == scenario.settings.t_end
    assert Scenario.from_dict(nlink._support.modelfile.tables(code.toml(scenario), "this")).chain == scenario.chain


def test_what_is_not_offered_says_so_and_what_to_use():
    chain = SpatialChain.uniform(2)
    assert refused(chain) == IN_SPACE
    assert takers(chain) == ["recursive", "natural"]
    assert "azimuth" in plots(chain)
    model = page_model(Scenario(chain, POSE))
    assert set(IN_SPACE) == {"stability", "flips", "equations"}
    for kind, sentence in IN_SPACE.items():
        assert ";" in sentence or ":" in sentence
        request = {"model": model, "copies": 2, "apart": 1e-5, "across": 0, "up": 1, "size": 20, "vary": "loads.follower_force"}
        with pytest.raises(ModelError) as refusal:
            tasks.TASKS[kind](request, Silent())
        assert str(refusal.value) == sentence


def test_a_first_link_is_tilted_by_an_angle_whatever_its_joint():
    bodies = [Body.cylinder(1.0, 1.0, 0.1, joint=joint) for joint in (nlink.Ball(), nlink.Hinge((1.0, 0.0, 0.0)), universal)]
    starts = [(SpatialChain.uniform(2), ((1.0, 0.5), 0.3)), (SpatialChain.uniform(1), (0.0,))]
    starts += [(SpatialChain([body]), ((0.2, 0.4) if body.joint is universal else 0.3,)) for body in bodies]
    for chain, pose in starts:
        scenario = Scenario(chain, pose)
        position, other = (chain.start(each.theta)[0] for each in (scenario, tilted(scenario, 0.01)))
        apart = parted(chain, position[None], other[None])[0]
        assert apart == pytest.approx(0.01, abs=1e-9)
        before, after = (inclination(directions(chain, each)[0]) for each in (position, other))
        if chain.n == 2:
            assert after == pytest.approx(before + 0.01)
            np.testing.assert_array_equal(position[3:], other[3:])


def test_modes_that_are_shown_solve_the_equations_of_small_motions():
    top = SpatialChain([Body.cylinder(0.5, 1.0, 0.1), Body.box(0.5, 1.0, 0.2, 0.1)], loads=[JointTorsion(2.0), JointDamper(0.01)])
    cone = Scenario.from_dict({"space": True, "links": 2, "start": {"shape": "cone", "rate": 4.0}})
    for state in (steady_state(top), steady_state(cone.chain, cone.theta, cone.omega)):  # pyright: ignore[reportArgumentType]
        modes = swings(state)
        for mode, change in modes:
            value = complex(mode.growth, mode.frequency)
            x = np.linalg.pinv(state.tangents) @ change
            size = 1e-5
            parts = [
                state.accelerations(size * part(x)[:, None], size * part(value * x)[:, None])[:, 0] for part in (np.real, np.imag)
            ]
            np.testing.assert_allclose(parts[0] + 1j * parts[1], size * value**2 * x, atol=1e-3 * size * max(1.0, abs(value) ** 2))
            assert 0.4 < np.abs(change).max() < 2.0


class Silent:
    """An outbox that nobody reads."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def test_every_preset_in_space_has_a_picture_in_the_gallery():
    (group,) = (group for group in gallery() if group["name"] == "In space")
    assert sorted(entry["name"] for entry in group["presets"]) == sorted(IN_PRESETS)
    for entry in group["presets"]:
        seen = np.array(entry["sketch"])
        assert seen.shape == (preset(entry["name"]).chain.n + 1, 2)
        assert np.abs(seen).max() <= 0.5 + 1e-9
        assert np.ptp(seen, axis=0).max() > 0.05


# ---- the page


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    scenario = Scenario(SpatialChain.uniform(2), ((1.0, 0.5), (0.5, 1.0)), title="Two rods in space")
    settings = replace(scenario.settings, t_end=4.0, integrator="DOP853(rtol=1e-8, atol=1e-8)")
    (folder / "two.toml").write_text(replace(scenario, settings=settings).to_toml(), encoding="utf-8")
    with studio(folder, str(folder / "two.toml")) as found:
        yield found


def at(page: Any, expression: str) -> Any:
    return page.evaluate(f"(() => {{ const p = {PLAYER}, m = p.motion; return {expression}; }})()")


def test_it_opens_runs_and_shows_the_motion(browser, address):
    with Tab(browser, address) as page:
        ran(page)
        table = page.evaluate(f"{STUDIO}.model.table")
        whole = Scenario.from_dict(table).run()
        page.evaluate(f"{PLAYER}.pause()")
        shown = at(page, "[...m.at(3.21).pose]")
        np.testing.assert_allclose(shown, whole.at([3.21]).position[0], atol=1e-4)
        headings = page.eval_on_selector_all(
            ".pane:not([hidden]) .card:not([hidden]) h2", "(nodes) => nodes.map((n) => n.textContent)"
        )
        assert headings == ["Energy changes (J)", "Inclination (\u00b0)", "End of link 2 from above", "Energy residual (J)"]
        assert not page.get_by_role("toolbar", name="Drawing").is_visible()
        for name, kind in (("Stability", "stability"), ("Map", "flips"), ("Equations", "equations")):
            page.get_by_role("tab", name=name).click()
            assert page.locator(".pane:not([hidden])").get_by_text(IN_SPACE[kind]).is_visible()


PANE = f"{STUDIO}.pane"


def done(page: Any) -> Any:
    """Wait until the pane that is shown has its result; return what the player in it shows."""
    wait(page, f"{PANE}.filled && !{PANE}.job")
    return page.evaluate(f"{PANE}.player.content")


def test_copies_part_among_the_links(browser, address):
    with Tab(browser, address) as page:
        ran(page)
        page.get_by_role("tab", name="Copies").click()
        page.get_by_role("textbox", name="Copies").fill("3")
        page.get_by_label("Apart by").fill("5")
        page.get_by_role("button", name="Run copies").click()
        content = done(page)
        assert [ghost["name"] for ghost in content["others"]] == ["copy 2", "copy 3"]
        first = page.evaluate(f"{PANE}.player.ghosts[1].motion.at(0).inclination(0)")
        assert np.degrees(first) == pytest.approx(np.degrees(1.0) + 10, abs=1e-3)  # rounded to 1e-5
        before = pixels(page, STAGE)
        page.evaluate(f"{PANE}.player.stage.ghosts = []; {PANE}.player.draw()")
        without = pixels(page, STAGE)
        assert np.mean(np.abs(before - without).max(-1) > 40) > 1e-3
        assert page.get_by_text("the copies differ by 5\u00b0 from t = 0 s on").is_visible()


def test_formulations_are_compared(browser, address):
    with Tab(browser, address) as page:
        ran(page)
        page.get_by_role("tab", name="Compare").click()
        page.get_by_role("button", name="Compare", exact=True).click()
        content = done(page)
        assert [ghost["name"] for ghost in content["others"]] == ["natural"]
        rows = page.locator(".pane:not([hidden]) tbody tr")
        assert [row.split("\t")[0] for row in rows.all_inner_texts()] == ["recursive", "natural"]
        assert page.get_by_text("trusted until t = 4 s").is_visible()


def test_modes_about_hanging_and_steady_turning_are_seen(browser, address):
    with Tab(browser, address) as page:
        ran(page)
        page.get_by_role("tab", name="Modes").click()
        content = done(page)
        assert [take["name"] for take in content["takes"]] == [
            f"mode {k}: {rate} rad/s" for k, rate in ((1, "2.68"), (2, "2.68"), (3, "7.189"), (4, "7.189"))
        ]
        assert page.get_by_text("stable there; 4 modes").is_visible()
        page.get_by_role("button", name="3", exact=True).click()
        assert page.evaluate(f"{PANE}.player.index") == 2
        sides = f"(() => {{ const m = {PANE}.player.motion; return [0, 0.5].map((s) => m.at(s * m.span).direction(0)); }})()"
        swing = page.evaluate(sides)
        assert np.add(*swing)[[0, 2]] == pytest.approx([0.0, 0.0], abs=1e-4)  # half a period later on the other side
        page.get_by_label("Equilibrium").select_option("start")
        refusal = "this state is neither; choose the pose steady turning"
        wait(page, f"!{PANE}.job && {PANE}.failure.textContent.includes({refusal!r})")
        page.get_by_label("Pose").select_option("cone")
        settled(page)
        page.get_by_role("button", name="Find modes").click()
        wait(page, f"!{PANE}.job && {PANE}.said.textContent.includes('steady turning at 4 rad/s')")


def test_a_motion_in_real_time_is_pulled_in_the_plane_of_the_view_and_kept(browser, address):
    with Tab(browser, address) as page:
        ran(page)
        page.evaluate(f"{STUDIO}.model.set('loads', {{ link_damper: 20 }}, 'whole')")  # slowly, so that the hand meets the link
        ran(page)
        page.get_by_role("button", name="Endless").click()
        wait(page, f"{MOTION}.endless.on && {PLAYER}.t > 0.3")
        tip = at(page, "p.stage.point(2)")
        box = page.locator(STAGE).bounding_box()
        page.mouse.move(box["x"] + tip[0], box["y"] + tip[1])
        page.mouse.down()
        assert page.evaluate(f"{MOTION}.hand.full")
        page.mouse.move(box["x"] + tip[0] + 60, box["y"] + tip[1] - 40, steps=4)
        hand = at(page, "p.hand")
        seen = at(page, f"p.stage.camera.place({hand['x']}, {hand['y']}, {hand['z']})")
        assert seen[:2] == pytest.approx([tip[0] + 60, tip[1] - 40], abs=1e-3)
        held = at(page, "p.t")
        wait(page, f"{PLAYER}.t > {held} + 0.3")
        page.mouse.up()
        page.get_by_role("button", name="Stop").click()
        wait(page, f"!{MOTION}.job && {MOTION}.run?.kept")
        events = page.evaluate(f"{PLAYER}.shown.events.map((event) => event.text)")
        assert [event.partition(" at ")[0] for event in events] == [f"hand on link {at(page, 'p.link') + 1}", "hand off"]
        assert page.get_by_text("a hand has pulled it").first.is_visible()
        residual = page.evaluate(f"{MOTION}.series.largest")
        assert residual < 1e-5


def test_the_view_has_room_for_every_pose_and_no_more(browser, address):
    ends = [[0, 0, 0], *(np.eye(3) * 2.0).tolist(), *(np.eye(3) * -2.0).tolist()]
    with Tab(browser, address) as page:
        ran(page)
        for azimuth, elevation in ((0.6, 0.26), (0.0, 0.0), (2.0, -0.7), (0.0, np.pi / 2)):
            page.evaluate(f"{PLAYER}.stage.from({azimuth}, {elevation}); {PLAYER}.draw()")
            seen = np.array(at(page, f"{ends}.map((end) => p.stage.camera.place(...end))"))[:, :2]
            width, height = at(page, "[p.stage.width, p.stage.height]")
            assert np.all(seen > 0)
            assert np.all(seen < [width, height])
            assert np.hypot(*(seen[1:] - seen[0]).T).max() > 0.36 * min(width, height)


def drag(page: Any, start: list[float], end: list[float]) -> None:
    box = page.locator(STAGE).bounding_box()
    page.mouse.move(box["x"] + start[0], box["y"] + start[1])
    page.mouse.down()
    page.mouse.move(box["x"] + end[0], box["y"] + end[1], steps=8)
    page.mouse.up()


def test_a_link_is_posed_in_the_plane_of_the_view_and_beside_it_the_view_turns(browser, address):
    with Tab(browser, address) as page:
        ran(page)
        page.evaluate(f"{PLAYER}.pause(); {PLAYER}.jump(0); {PLAYER}.draw()")
        azimuth, before = at(page, "p.stage.camera.azimuth"), page.evaluate(f"{STUDIO}.model.table.start.pose")
        grip = at(page, "[0, 1].map((k) => 0.3 * p.stage.point(0)[k] + 0.7 * p.stage.point(1)[k])")
        drag(page, grip, [grip[0] - 60, grip[1] - 30])
        settled(page)
        after = page.evaluate(f"{STUDIO}.model.table.start.pose")
        seen = at(page, f"p.stage.camera.place(...{after[0]}.map((part) => 0.7 * part))")
        assert at(page, "p.stage.camera.azimuth") == azimuth
        assert after[1] == pytest.approx(before[1])  # the link behind keeps its direction
        way = np.array(after[0])
        assert np.linalg.norm(way) == pytest.approx(1.0)
        centre = at(page, "p.stage.point(0)")
        hand, shown = np.array([grip[0] - 60, grip[1] - 30]) - centre[:2], np.array(seen[:2]) - centre[:2]
        assert hand @ shown > 0.97 * np.linalg.norm(hand) * np.linalg.norm(shown)  # it points to the hand
        ran(page)
        drag(page, [40, 300], [90, 300])
        assert at(page, "p.stage.camera.azimuth") == pytest.approx(azimuth - 50 * 0.008)
        assert page.evaluate(f"{STUDIO}.model.table.start.pose") == after
        page.get_by_role("button", name="Undo").click()
        assert page.evaluate(f"{STUDIO}.model.table.start.pose") == before


def test_a_link_that_is_grabbed_while_it_moves_is_thrown(browser, address):
    with Tab(browser, address) as page:
        ran(page)
        page.evaluate(f"{PLAYER}.jump(0.5); {PLAYER}.setSpeed(0); {PLAYER}.play()")  # slowly, so that the hand meets the link
        wait(page, f"{PLAYER}.t > 0.5")
        tip = at(page, "p.stage.point(2)")
        box = page.locator(STAGE).bounding_box()
        page.mouse.move(box["x"] + tip[0] - 2, box["y"] + tip[1] - 2)
        page.mouse.down()
        for k in range(12):
            page.mouse.move(box["x"] + tip[0] + 5 * k, box["y"] + tip[1])
            page.wait_for_timeout(15)
        page.mouse.up()
        settled(page)
        start = page.evaluate(f"{STUDIO}.model.table.start")
        assert abs(np.dot(start["omega"][1], start["pose"][1])) < 1e-6  # no spin; a slow machine may have let the hand rest
        assert start["pose"] != page.evaluate(f"{STUDIO}.known.model.start.pose")


STANDING = """async ([chain, poses, seconds]) => {
  const { Standing, ratesOf } = await import("/static/spaceposer.js");
  const [before, after] = poses.map((rows) => new Standing(chain, rows));
  return [before.pose(), ratesOf(before, after, seconds)];
}"""


def test_poses_and_throws_are_those_of_the_model(browser, address):
    scenario, step = mixed(), 1e-4
    chain: Any = scenario.chain
    position, velocity = chain.start(scenario.theta, scenario.omega)
    rows = [rows_of(chain, each, velocity)[0].tolist() for each in (position, position + step * velocity)]
    with Tab(browser, address) as page:
        pose, omega = page.evaluate(STANDING, [_checked(scenario)["chain"], rows, step])
    again, rates = chain.start(pose, omega)
    np.testing.assert_allclose(again, position, atol=1e-9)
    np.testing.assert_allclose(rates, velocity, atol=1e-3)


def test_bodies_on_joints_are_posed_within_their_freedom(browser, address):
    chain = SpatialChain([Body.box(1.0, 1.0, 0.2, 0.1, joint=nlink.Hinge((0.0, 0.0, 1.0))), Body.cylinder(0.8, 1.0, 0.1)])
    model = page_model(Scenario(chain, (0.4, 0.2)))
    model["run"] |= {"t_end": 1.0, "integrator": "DOP853(rtol=1e-8, atol=1e-8)"}
    with Tab(browser, address) as page:
        page.evaluate(f"(model) => {STUDIO}.preset(model)", model)
        wait(page, f"{PLAYER}.motion.chain.turns[0]")
        ran(page)
        page.evaluate(f"{PLAYER}.pause(); {PLAYER}.jump(0); {PLAYER}.stage.from(0, 0); {PLAYER}.draw()")
        tip = at(page, "[0, 1].map((k) => 0.2 * p.stage.point(0)[k] + 0.8 * p.stage.point(1)[k])")
        drag(page, tip, [tip[0] - 80, tip[1] - 60])
        settled(page)
        hinge, ball = page.evaluate(f"{STUDIO}.model.table.start.pose")
        at_hand = np.add(tip, [-80, -60]) - at(page, "p.stage.point(0)")[:2]
        assert hinge == pytest.approx(np.arctan2(at_hand[0], at_hand[1]), abs=0.05)
        assert np.linalg.norm(ball) == pytest.approx(1.0)
        scenario = checked(page.evaluate(f"{STUDIO}.model.table"))
        assert scenario.theta[0] == pytest.approx(hinge)


def test_the_form_edits_a_chain_in_space_and_takes_it_to_the_plane_and_back(browser, address):
    with Tab(browser, address) as page:
        ran(page)
        page.get_by_label("Inclination of link 1 in degrees").fill("90")
        page.get_by_label("Azimuth of link 1 in degrees").fill("-90")
        page.get_by_label("Rates of link 2 in degrees per second").fill("0, 180, 0")
        settled(page)
        start = page.evaluate(f"{STUDIO}.model.table.start")
        assert start["pose"][0] == pytest.approx([0.0, 0.0, -1.0], abs=1e-9)
        assert start["omega"][1] == pytest.approx([0.0, np.pi, 0.0])
        page.get_by_label("All links alike").uncheck()
        page.get_by_label("Shape of link 2").select_option("cylinder")
        settled(page)
        assert page.evaluate(f"{STUDIO}.error") is None
        scenario = checked(page.evaluate(f"{STUDIO}.model.table"))
        assert scenario.chain.links[1] == Body.cylinder(1.0, 1.0, 0.1)
        page.get_by_label("Joint of link 1").select_option("hinge z")
        settled(page)
        assert "hinge" in page.evaluate(f"JSON.stringify({STUDIO}.model.table.links[0].joint)")
        page.get_by_role("checkbox", name="In space").uncheck()
        wait(page, f"!{MOTION}.inSpace")
        ran(page)
        assert page.get_by_role("toolbar", name="Drawing").is_visible()
        assert isinstance(checked(page.evaluate(f"{STUDIO}.model.table")).chain, nlink.Chain)
        page.get_by_role("checkbox", name="In space").check()
        wait(page, f"{MOTION}.inSpace && {STUDIO}.judged === {STUDIO}.model.table")
        assert page.evaluate(f"{STUDIO}.error") is None
        page.get_by_role("button", name="New").click()
        wait(page, f"!{MOTION}.inSpace")


def test_what_is_wrong_is_told_at_its_field(browser, address):
    with Tab(browser, address) as page:
        ran(page)
        page.get_by_label("Mass", exact=True).fill("-1")
        wait(page, f"Boolean({STUDIO}.error)")
        assert page.get_by_text("must not be negative, got -1").first.is_visible()


def test_a_preset_is_chosen_by_its_picture(browser, address):
    with Tab(browser, address) as page:
        choose(page, "turning-over")
        wait(page, f"{PLAYER}.motion.chain.solids?.[0]")
        ran(page)
        assert at(page, "m.span") == preset("turning-over").settings.t_end
