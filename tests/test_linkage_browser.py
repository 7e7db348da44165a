"""The kinematics of linkages in the page of the studio, in a real browser, against those of the library and closed forms."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from browsing import browser as browser

import nlink
from nlink.mechanics import tree_kinematics

HOME = "http://nlink.test"
FOLDERS = {"static": ("nlink.studio", "static"), "web": ("nlink.view", "web")}
EVERYTHING = {
    "links": [
        {"kind": "slider", "mass": 1.0, "direction": 0.3, "parent": -1, "at": [1.0, 2.0]},
        {"length": 1.0},
        {"length": 0.8, "parent": 1, "at": [0.5, 0.1]},
        {"kind": "slider", "mass": 1.0, "parent": 2, "at": [0.3, 0.2], "direction": 0.7},
        {"length": 0.7},
        {"length": 0.9, "parent": -1, "at": [2.0, 0.0]},
    ],
    "pins": [
        {"a": {"link": 4}, "b": {"link": 5, "along": 0.5, "left": 0.1}},
        {"kind": "guide", "point": {"link": 4, "along": 0.2}, "through": {"link": 1, "along": 0.3, "left": 0.1}, "direction": 0.4},
        {"kind": "guide", "point": {"link": 2}, "through": {"x": 0.1, "y": 0.2}, "direction": 1.0},
        {"kind": "distance", "a": {"link": 3, "along": 0.1, "left": 0.2}, "b": [0.0, 1.0], "length": 1.3},
        {"kind": "gear", "i": 1, "j": 4, "ratio": 2.0, "offset": 0.1},
    ],
}
"""Every kind of body and of closure."""
FOUR_BAR = {
    "links": [{"length": 0.5}, {"length": 1.2}, {"length": 0.9, "parent": -1, "at": [1.0, 0.0]}],
    "pins": [{"a": {"link": 1}, "b": {"link": 2}}],
}


@pytest.fixture(scope="module")
def page(browser) -> Iterator[Any]:
    """A page that imports the modules of the studio, without a server."""

    def answer(route: Any) -> None:
        folder, _, name = route.request.url.removeprefix(f"{HOME}/").partition("/")
        if not name:
            route.fulfill(body="<!doctype html>", content_type="text/html")
            return
        package, inner = FOLDERS[folder]
        text = (importlib.resources.files(package) / inner / name).read_text(encoding="utf-8")
        route.fulfill(body=text, content_type="text/javascript")

    context = browser.new_context()
    context.route(f"{HOME}/**", answer)
    opened = context.new_page()
    opened.goto(f"{HOME}/")
    yield opened
    context.close()


def asked(page: Any, body: str, *given: Any) -> Any:
    """Return what a function of the page returns that has linkageOf, pulled, driven and the changes of models."""
    names = (
        "const { linkageOf } = await import('/static/linkage.js'), { pulled, driven } = await import('/static/pulling.js'), "
        "building = await import('/static/building.js');"
    )
    return page.evaluate(f"async (given) => {{ {names} {body} }}", list(given))


def model_of(table: dict[str, Any]) -> nlink.Mechanism:
    model = nlink.Scenario.from_dict({**table, "start": {"theta": [0.0] * len(table["links"])}}).chain
    assert isinstance(model, nlink.Mechanism)
    return model


def test_points_of_bodies_are_those_of_the_library(page):
    model, theta = model_of(EVERYTHING), np.random.default_rng(1).uniform(-3, 3, (5, 6))
    points = [nlink.At(link, 0.3, -0.2) for link in range(6)]
    told = """const [table, thetas, points] = given, linkage = linkageOf(table);
      const place = (frames) => (point) => { const { x, y } = linkage.point(frames, point); return [x, y]; };
      return thetas.map((q) => points.map(place(linkage.frames(q))));"""
    found = asked(page, told, EVERYTHING, theta.tolist(), [vars(point) for point in points])
    frames = tree_kinematics.frames(model, theta)
    expected = np.stack([tree_kinematics.spot(model, frames, point)[0] for point in points], 1)
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_rows_are_the_derivatives_of_the_gaps(page):
    told = """const [table, q] = given, linkage = linkageOf(table), h = 1e-6, { rows } = linkage.rows(q);
      let worst = 0;
      q.forEach((_, j) => {
        const [a, b] = [h, -h].map((step) => linkage.rows(q.map((value, i) => value + (i === j ? step : 0))).gaps);
        rows.forEach((row, k) => { worst = Math.max(worst, Math.abs(((a[k] - b[k]) / (2 * h)) * linkage.scales[j] - row[j])); });
      });
      return [worst, rows.length];"""
    worst, count = asked(page, told, EVERYTHING, [0.3, 0.5, 1.1, -0.4, 2.0, 0.7])
    assert worst < 1e-8
    assert count == 6


def test_gaps_vanish_where_the_closures_say(page):
    told = "const [table, q] = given; return linkageOf(table).rows(q).gaps;"
    crank, size = 0.9, 1.0
    rod, rocker = np.array(crank_rocker(crank)[1:])
    np.testing.assert_allclose(asked(page, told, FOUR_BAR, [crank, rod, rocker]), [0, 0], atol=1e-14)
    guide = {"links": [{"length": 0.3}, {"length": 0.9}], "pins": [{"kind": "guide", "point": {"link": 1}, "through": [0.0, 0.1]}]}
    y = -0.3 * np.cos(0.7) - 0.9 * np.cos(1.4) - 0.1
    assert abs(asked(page, told, guide, [0.7, 1.4])[0]) == pytest.approx(abs(y) / 0.9)
    gear = {"links": [{"length": size}, {"length": size}], "pins": [{"kind": "gear", "i": 1, "j": 0, "ratio": 2.0, "offset": 0.5}]}
    assert asked(page, told, gear, [0.4, 1.3]) == pytest.approx([0])


def crank_rocker(angle: float) -> tuple[float, float, float]:
    """Return the angles of FOUR_BAR, by circle meets circle."""
    a, b, c = np.array([0.5 * np.sin(angle), -0.5 * np.cos(angle)]), 1.2, 0.9
    far = np.array([1.0, 0.0]) - a
    d = np.hypot(*far)
    x = (b**2 - c**2 + d**2) / (2 * d)
    tip = a + (x * far + np.sqrt(b**2 - x**2) * np.array([-far[1], far[0]])) / d
    rod, rocker = tip - a, tip - [1.0, 0.0]
    return angle, float(np.arctan2(rod[0], -rod[1])), float(np.arctan2(rocker[0], -rocker[1]))


def test_a_driven_crank_rocker_is_where_circles_meet(page):
    told = """const [table, start] = given, linkage = linkageOf(table), course = {}, found = [];
      let q = Float64Array.from(start);
      for (let k = 0; k < 200; k++) { q = driven(linkage, q, 0, 0.07, course); found.push([...q]); }
      return found;"""
    found = np.array(asked(page, told, FOUR_BAR, crank_rocker(0.9)))
    np.testing.assert_allclose(found[:, 0], 0.9 + 0.07 * np.arange(1, 201), atol=1e-9)
    expected = np.array([crank_rocker(angle) for angle in found[:, 0]])
    np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * expected), atol=1e-8)


def test_a_crank_that_cannot_turn_further_turns_back_and_the_linkage_goes_on(page):
    """A double rocker: the largest turn of the crank is where the other two are in line, and they pass through it."""
    told = """const [table] = given, linkage = linkageOf(table), course = {}, angles = [], bends = [];
      let q = linkage.closed([1.5, 1.7, 2.0]), most = 0;
      for (let k = 0; k < 400; k++) {
        const next = driven(linkage, q, 0, 0.05, course);
        most = Math.max(most, ...next.map((value, i) => Math.abs(value - q[i])));
        q = next;
        angles.push(q[0]);
        bends.push(Math.sign(Math.sin(q[2] - q[1])));
      }
      return [Math.max(...angles), Math.min(...angles), most, bends.filter((bend, i) => i && bend !== bends[i - 1]).length];"""
    table = {"links": [{"length": 1.0}, {"length": 0.5}, {"length": 0.6}], "pins": [{"a": {"link": 2}, "b": [1.5, 0.0]}]}
    high, low, most, bent = asked(page, told, table)
    reach = np.arccos((1 + 1.5**2 - 1.1**2) / (2 * 1.5))  # of the crank above or below the line of the pivots
    assert high == pytest.approx(np.pi / 2 + reach, abs=0.01)
    assert low == pytest.approx(np.pi / 2 - reach, abs=0.01)
    assert most < 0.4
    assert bent > 10


PEAUCELLIER = {
    "links": [
        {"length": 1.0, "parent": -1, "at": [1.0, 0.0]},
        {"length": 3.0, "parent": -1, "at": [0.0, 0.0]},
        {"length": 3.0, "parent": -1, "at": [0.0, 0.0]},
        *({"length": 1.5, "parent": parent} for parent in (1, 2, 1, 2)),
    ],
    "pins": [{"a": {"link": 3}, "b": {"link": 0}}, {"a": {"link": 4}, "b": {"link": 0}}, {"a": {"link": 5}, "b": {"link": 6}}],
}
PEAUCELLIER_START = [
    2.42079632679489,
    2.39567900609851,
    1.5959136474912798,
    -0.25333184560011,
    4.244924499189911,
    1.103331845600111,
    2.888260807989683,
]
"""At 2.5 s of the reference, to 14 digits; there the pen is on x = 3.375 m."""


def test_peaucellier_draws_a_straight_line(page):
    told = """const [table, start] = given, linkage = linkageOf(table), course = {}, pen = [];
      let q = linkage.closed(start), moved = Math.max(...q.map((value, i) => Math.abs(value - start[i])));
      for (let k = 0; k < 60; k++) {
        q = driven(linkage, q, 0, k < 20 ? 0.02 : -0.02, course);
        const { x, y } = linkage.point(linkage.frames(q), { link: 5, along: 1.5, left: 0 });
        pen.push([x, y]);
      }
      return [moved, pen, linkage.nature(q)];"""
    moved, pen, nature = asked(page, told, PEAUCELLIER, PEAUCELLIER_START)
    pen = np.array(pen)
    assert moved < 1e-12
    np.testing.assert_allclose(pen[:, 0], 3.375, atol=1e-10)
    assert np.ptp(pen[:, 1]) > 0.5
    assert (nature["freedom"], nature["loops"], nature["spare"]) == (1, 3, 0)


def rungs(n: int) -> dict[str, Any]:
    """Return n + 1 parallel rockers with a coupler from each tip to the next: the IFToMM benchmark A02."""
    rockers = [{"length": 1.0, "parent": -1, "at": [float(i), 0.0]} for i in range(n + 1)]
    couplers = [{"length": 1.0, "parent": i} for i in range(n)]
    return {"links": rockers + couplers, "pins": [{"a": {"link": n + 1 + i}, "b": {"link": i + 1}} for i in range(n)]}


def test_several_loops_pass_their_dead_positions_at_once(page):
    told = """const [table, start] = given, linkage = linkageOf(table), course = {};
      let q = linkage.closed(start), gap = 0;
      for (let k = 0; k < 160; k++) {
        q = driven(linkage, q, 0, 0.05, course);
        gap = Math.max(gap, linkage.closing(q, { rounds: 0 }).gap);
      }
      return [[...q], gap];"""
    n = 4
    q, gap = asked(page, told, rungs(n), [2.0] * (n + 1) + [np.pi / 2] * n)
    np.testing.assert_allclose(q[: n + 1], 2.0 + 160 * 0.05, atol=1e-9)
    np.testing.assert_allclose(q[n + 1 :], np.pi / 2, atol=1e-9)
    assert gap < 1e-9


@pytest.mark.parametrize(
    ("table", "theta", "line"),
    [
        ({"links": 3, "length": 1.0}, [0.1, 0.2, 0.3], "3 links, 3 freedoms"),
        (FOUR_BAR, crank_rocker(0.9), "3 links, 1 loop, 1 freedom"),
        (PEAUCELLIER, PEAUCELLIER_START, "7 links, 3 loops, 1 freedom"),
        (rungs(2), [np.pi / 2] * 5, "5 links, 2 loops, 1 freedom, near a dead position"),
        (
            {
                "links": [*rungs(2)["links"][:3], {"length": 2.0, "parent": 0}],
                "pins": [{"a": {"link": 3, "along": 1.0}, "b": {"link": 1}}, {"a": {"link": 3}, "b": {"link": 2}}],
            },
            [2.0, 2.0, 2.0, np.pi / 2],
            "4 links, 2 loops, 1 freedom, 1 spare row: its reactions are not unique",
        ),
        (
            {"links": 2, "length": 1.0, "pin": {"x": 1.0, "y": 0.0}},
            [np.pi / 2 + np.pi / 3, np.pi / 2 - np.pi / 3],
            "2 links, 1 loop; over-determined: cannot move",
        ),
        ({"links": [{"kind": "slider"}, {"length": 1.0}]}, [0.0, 0.1], "1 link, 1 slider, 2 freedoms"),
        (
            {"links": [{"kind": "slider", "motion": {"start": 0, "rate": 1}}, {"length": 1.0}]},
            [0.0, 0.1],
            "1 link, 1 slider, 1 driven, 1 freedom",
        ),
    ],
)  # fmt: skip
def test_the_line_says_what_a_linkage_is(page, table, theta, line):
    told = "const [table, theta] = given; return building.natureText(linkageOf(table), theta);"
    assert asked(page, told, table, list(theta)) == line


def test_a_pose_under_the_hand_stays_closed_and_comes_near(page):
    told = """const [table, start, hand] = given, linkage = linkageOf(table), grip = { link: 4, along: 1.0, left: 0 };
      const q = pulled(linkage, linkage.closed(start), grip, hand), { x, y } = linkage.point(linkage.frames(q), grip);
      return [linkage.closing(q, { rounds: 0 }).gap, x, y];"""
    far, on = [2 + 2 * np.sin(2.6), -2 * np.cos(2.6)], [2 + np.sin(2.6), -np.cos(2.6)]
    gap, x, y = asked(page, told, rungs(2), [2.0] * 3 + [np.pi / 2] * 2, far)
    assert gap < 1e-11
    assert [x, y] == pytest.approx(on, abs=1e-4)


DRAWING = """const [table] = given, { withLink, withPin, withSlider, withGuide, withSpring, without } = building;
  const places = (point) => point;
  let model = withLink(table, [1, 0], { x: 1, y: 0.8 }, null, places);
  model = { ...model, start: { ...model.start, theta: [Math.PI, Math.PI / 2, Math.PI] } };
  model = withPin(model, { link: 1, along: 1, left: 0 }, { link: 2, along: 0.8, left: 0 });
  const slid = withGuide(withSlider(model, { link: 0, along: 0.5, left: 0 }, 0.3), { link: 3, along: 0, left: 0.1 }, [0, 0.5], 0);
  const sprung = withSpring(slid, { link: 1, along: 0.5, left: 0 }, [0, 2], 1.2);
  let refused = "";
  try { withPin(model, { link: 0, along: 1, left: 0 }, [9, 9]); } catch (error) { refused = error.message; }
  return [model, sprung, without(sprung, 2), without(without(sprung, 3), 1), refused];"""


def test_what_is_drawn_is_a_model_file(page):
    """A chain becomes a mechanism, closes where it is pinned, and loses what hangs on what is taken away."""
    chain = {
        "title": "",
        "links": 2,
        "shape": "rod",
        "length": 1,
        "mass": 1,
        "loads": {"joint_damper": [0.1, 0.2]},
        "start": {"theta": [3.0, 1.5], "omega": [0, 0]},
    }
    pinned, sprung, less, least, refused = asked(page, DRAWING, json.loads(json.dumps(chain)))
    model, start = read(pinned)
    assert [body.parent for body in model.links] == [-1, 0, -1]
    assert model.pins == (nlink.Pin(nlink.At(1, 1.0), nlink.At(2, 0.8)),)
    tips = nlink.mechanics.kinematics.points(model, np.array(start), [model.pins[0].a, model.pins[0].b])
    np.testing.assert_allclose(tips[0], tips[1], atol=1e-10)
    assert model.each(nlink.JointDamper, "damping").tolist() == [0.1, 0.2, 0.0]
    slid, _ = read(sprung)
    assert isinstance(slid.links[3], nlink.Slider)
    assert isinstance(slid.pins[1], nlink.Guide)
    assert slid.loads[-1].length == 1.2
    assert [read(each)[0].n for each in (less, least)] == [3, 2]
    assert "pins" in less
    assert "pins" not in least
    assert refused.startswith("these do not reach each other: the nearest pose leaves a gap of")


def read(table: dict[str, Any]) -> tuple[nlink.Mechanism, tuple[float, ...]]:
    scenario = nlink.Scenario.from_dict(table)
    assert isinstance(scenario.chain, nlink.Mechanism)
    return scenario.chain, scenario.theta
