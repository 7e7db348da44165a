"""Pages: their size, what their data decode to, that nothing in them can act, and what is refused."""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_loop import made_loop
from made_mechanism import MECHANISMS, moved
from made_run import made_run, motion

import nlink
from nlink._support.checks import ModelError
from nlink.mechanics.chain import Chain, Link, wrapped
from nlink.mechanics.loads import FollowerForce, Gravity, JointSpring, TipForce
from nlink.mechanics.points import At
from nlink.run.run import EventRecord, Run, Status
from nlink.scenario import Scenario
from nlink.view import outline
from nlink.view.animate import animate
from nlink.view.map_page import Layer, map_page, stability_page
from nlink.view.modes_page import MOST, modes_page
from nlink.view.packing import Rounded, packed
from nlink.view.page import bundle, notebook_frame, run_page
from nlink.view.sampling import TOLERANCE, finite, sampled
from nlink.view.takes import ANGLE, ROOM

DATA = re.compile(r'<script type="application/json" id="nlink-data">(.*?)</script>', re.DOTALL)


def decoded(text: str) -> dict[str, Any]:
    """Return the content of a page with its arrays, read as data.js reads them."""
    page = json.loads(DATA.findall(text)[0])
    data = zlib.decompress(base64.b64decode(page["data"]))
    return filled(page["content"], data)


def filled(tree: Any, data: bytes) -> Any:
    if isinstance(tree, list):
        return [filled(part, data) for part in tree]
    if not isinstance(tree, dict):
        return tree
    return unpacked(tree, data) if "step" in tree and "at" in tree else {name: filled(part, data) for name, part in tree.items()}


def unpacked(found: dict[str, Any], data: bytes) -> np.ndarray:
    rows, count, width = found["rows"], found["count"], 4 if found["step"] else 8
    planes = np.frombuffer(data, np.uint8, rows * count * width, found["at"]).reshape(width, -1)
    numbers = np.ascontiguousarray(planes.T).view("<u4" if found["step"] else "<f8").reshape(rows, count)
    if not found["step"]:
        return numbers[0]
    whole = np.where(numbers & 1, -(numbers.astype(np.int64) + 1) // 2, numbers.astype(np.int64) // 2).astype(float)
    for _ in range(found["order"]):
        whole = np.cumsum(whole, axis=1)
    return whole * found["step"]


def cubic(take: dict[str, Any], times: np.ndarray) -> np.ndarray:
    """Return the angles (K, N) that the page shows at these times."""
    t, theta, omega = take["t"], take["theta"].T, take["omega"].T
    sign = np.sign(t[-1] - t[0])
    k = np.clip(np.searchsorted(sign * t, sign * times, "right") - 1, 0, len(t) - 2)
    h = (t[k + 1] - t[k])[:, None]
    s = (times - t[k])[:, None] / h
    a, v, rise, w = theta[k], h * omega[k], theta[k + 1] - theta[k], h * omega[k + 1]
    return a + s * (v + s * (3 * rise - 2 * v - w + s * (v + w - 2 * rise)))


def test_twenty_seconds_of_fifteen_links_stay_small():
    run = nlink.preset("chaotic-15").run()
    text = run.html()
    assert isinstance(text, str)
    assert run.chain.n == 15
    assert run.t[-1] == 20.0
    assert len(text.encode()) < 1_500_000
    (take,) = decoded(text)["takes"]
    assert np.abs(cubic(take, run.t) - run.theta).max() < 1e-4
    between = np.random.default_rng(1).uniform(0.0, 20.0, 3000)
    assert np.abs(cubic(take, between) - run.at(between).theta).max() < 1e-4


@pytest.mark.parametrize(
    ("n", "times", "spin"),
    [
        (1, np.linspace(0, 3, 301), 0.0),
        (3, np.linspace(0, -3, 301), 8.0),  # backwards, with many turns
        (2, np.sort(np.random.default_rng(2).uniform(0, 2, 150)), 0.0),  # at odd times
        (2, [0.0, 1.0, 2.0], 0.0),  # saved coarsely: filled by interpolation between the saved points
    ],
)
def test_the_motion_on_the_page_is_that_of_the_run(n, times, spin):
    run = made_run(n, times=times, spin=spin)
    (take,) = decoded(run_page(run))["takes"]
    assert take["t"][0] == run.t[0]
    assert take["t"][-1] == run.t[-1]
    where = np.linspace(run.t[0], run.t[-1], 777)
    assert np.abs(cubic(take, where) - run.at(where).theta).max() < TOLERANCE + 2 * ANGLE
    np.testing.assert_allclose(take["omega"].T, run.at(take["t"]).omega, atol=2e-5 * np.abs(run.omega).max())


def packed_and_back(values):
    """Pack an array behind another one; return its description and the array that a page reads."""
    page = packed({"before": Rounded(np.ones((2, 3)), 1.0), "values": values})
    found = page["content"]["values"]
    return found, unpacked(found, zlib.decompress(base64.b64decode(page["data"])))


def test_rounding_stays_below_half_a_step():
    values = np.cumsum(np.random.default_rng(3).normal(size=(5, 400)), axis=1)
    for step in (1e-5, 1e-3, 7.0):
        found, back = packed_and_back(Rounded(values, step))
        assert found["step"] == step
        assert np.abs(back - values).max() <= 0.5000001 * step
        assert np.abs(back - values).max() > 0.3 * step or step == 7.0


def test_numbers_too_large_for_four_bytes_are_kept_coarser():
    values = np.array([[1e9, -1e9, 3e9, 0.0]])
    found, back = packed_and_back(Rounded(values, 1e-5))
    assert 1e-5 < found["step"] < 20
    assert np.abs(back - values).max() <= found["step"]


def test_times_are_exact():
    times = np.random.default_rng(4).normal(size=50)
    np.testing.assert_array_equal(packed_and_back(times)[1], times)


def test_small_swings_keep_their_shape():
    run = made_run(2)
    small = replace(run, position=1e-7 * run.theta, velocity=1e-7 * run.omega, acceleration=1e-7 * run.alpha)
    (take,) = decoded(run_page(small))["takes"]
    assert np.abs(cubic(take, small.t) - small.theta).max() < 1e-4 * np.ptp(small.theta)


def test_long_runs_are_thinned_where_it_matters_least():
    t = np.linspace(0.0, 60.0, 30_001)
    run = made_run(40, times=t)
    found = sampled(run, 40 * 900)
    assert len(found.t) <= 900
    assert found.error > TOLERANCE
    assert len(sampled(run, ROOM).t) < 6500
    calm = made_run(1, times=t)
    assert len(sampled(calm, ROOM).t) < 3000
    assert sampled(calm, ROOM).error <= TOLERANCE


def test_a_run_of_one_point_and_of_a_thousand_links():
    (take,) = decoded(run_page(made_run(3, times=[0.5])))["takes"]
    np.testing.assert_allclose(take["theta"][:, 0], motion(3, np.array([0.5])).theta[0], atol=ANGLE)
    (take,) = decoded(run_page(made_run(1000, times=np.linspace(0, 0.2, 21))))["takes"]
    assert take["theta"].shape == (1000, len(take["t"]))


def test_a_run_that_blew_up_is_shown_up_to_there():
    run = made_run(2)
    run.theta[60:], run.omega[70:] = np.inf, np.nan
    run.status = Status("diverged", "the angles grew beyond all bounds", "try a smaller step")
    assert len(finite(run).t) == 60
    (take,) = decoded(run_page(run))["takes"]
    assert take["t"][-1] == run.t[59]
    assert take["status"] == "the angles grew beyond all bounds; try a smaller step"


def test_energies_are_changes_and_the_total_is_told_by_itself():
    run = made_run(2, work=("drag", "joint_torque"))
    (take,) = decoded(run_page(run))["takes"]
    energy = take["energy"]
    for name, values in (("kinetic", run.kinetic), ("potential", run.potential), ("total", run.kinetic + run.potential)):
        np.testing.assert_allclose(energy[name][0], values - values[0], atol=2e-6 * np.ptp(values))
    assert list(energy["work"]) == ["drag", "joint torque"]


def test_the_page_tells_events_trust_and_model():
    run = made_loop(dead=(0.25, 0.5))
    run.events.append(EventRecord(0.75, "flip", run.theta[0], run.omega[0], {"link": 1, "direction": 1}))
    run.trusted_until = 0.6
    content = decoded(run_page(run))
    (take,) = content["takes"]
    assert [event["text"] for event in take["events"]] == [
        "dead position at t = 0.25 s", "dead position at t = 0.5 s", "link 2 turns over at t = 0.75 s",
    ]  # fmt: skip
    assert take["trusted"] == 0.6
    assert take["chain"]["pin"] == [1.0, 0.0]
    told = dict(take["words"])
    assert told["system"] == "3 equal links, 3 m and 3 kg in all"
    assert "pin" in told
    run.trusted_until = 5.0  # beyond its end
    assert decoded(run_page(run))["takes"][0]["trusted"] is None


def test_the_chain_of_the_page_has_its_masses_springs_and_forces():
    links = [Link(1.0, 2.0, 0.4, 0.1, offset=0.2), Link.point(0.5, 1.0)]
    chain = Chain(links, loads=[Gravity(9.81), JointSpring([1.0, 0.0], 0.3), FollowerForce(2.0), TipForce(1.0, -1.0)])
    (take,) = decoded(run_page(made_run(chain=chain)))["takes"]
    found = take["chain"]
    assert found["offset"] == [0.2, 0.0]
    assert found["point"] == [False, True]
    assert found["spring"] == [1.0, 0.0]
    assert found["rest"] == [0.3, 0.3]
    assert (found["follower"], found["tip"]) == (2.0, [1.0, -1.0])


@pytest.mark.parametrize(
    "title", ["</script><script>alert(1)</script>", "<!--<script>", "a & b \" ' \u2028", "<img src=x onerror=alert(1)>"]
)
def test_a_title_cannot_act(title):
    text = run_page(made_run(title=title))
    assert isinstance(text, str)
    assert text.count("<script") == 2
    assert text.count("</script") == 2
    assert "<!--" not in text
    assert "<img" not in text
    assert decoded(text)["title"] == " ".join(title.split())
    assert html.unescape(re.findall("<title>(.*?)</title>", text)[0]) == " ".join(title.split())


def test_nothing_in_a_page_is_fetched():
    text = run_page(made_run())
    assert isinstance(text, str)
    policy = re.findall('Content-Security-Policy" content="(.*?)"', text)[0]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    addresses = set(re.findall(r"https?://[^\s\"']*", text))  # a name of a format; and the reader's own studio, as a link to press
    assert addresses == {"http://www.w3.org/2000/svg", "http://127.0.0.1:8765/#model="}
    assert not re.search(r"\b(src|href)=(?!\"data:)", text.replace("${", ""))
    assert "fetch(" not in text
    assert "import(" not in text


def test_modules_of_the_page_share_no_name(monkeypatch):
    code = bundle("app.js")
    assert not any(line.startswith((" ", "//")) or line.count("`") % 2 for line in code.splitlines())  # no text goes over lines
    assert not re.search(r"^(import|export) ", code, re.MULTILINE)
    assert "</script" not in code
    assert code.index("function el(") < code.index("class Stage") < code.index("class Player") < code.index("boot((")
    fakes = {"app.js": 'import { a } from "./b.js";\nconst x = 1;\n', "b.js": "export const a = 1;\nconst x = 2;\n"}
    monkeypatch.setattr("nlink.view.page.asset", fakes.get)
    with pytest.raises(ValueError, match="more than one module of the page has: x"):
        bundle.__wrapped__("app.js")


def test_every_module_is_used_and_named_by_its_imports():
    folder = Path(nlink.view.page.__file__).parent / "web"
    for file in folder.glob("*.js"):
        for names, source in re.findall(r'^import \{ ([^}]*) \} from "\./(\w+\.js)";', file.read_text(), re.MULTILINE):
            for name in names.split(", "):
                assert re.search(
                    rf"^export (?:async )?(?:const|function|class) {name}\b", (folder / source).read_text(), re.MULTILINE
                ), name
                assert len(re.findall(rf"\b{name}\b", file.read_text())) > 1, (file.name, name)


def test_run_html_writes_a_file(tmp_path):
    run = made_run()
    path = run.html(tmp_path / "run.html")
    assert path == tmp_path / "run.html"
    assert path.read_text(encoding="utf-8") == run.html()
    with pytest.raises(OSError, match="No such file"):
        run.html(tmp_path / "missing" / "run.html")


def test_a_notebook_shows_the_run_in_a_frame():
    run = made_run(30, times=np.linspace(0, 100, 10_001))
    frame = run._repr_html_()
    assert frame is not None
    assert frame.startswith("<iframe ")
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    inner = html.unescape(re.findall('srcdoc="(.*)"></iframe>', frame, re.DOTALL)[0])
    (take,) = decoded(inner)["takes"]
    assert sampled(run, ROOM).values.size > 80_000
    assert take["theta"].size <= 80_000
    assert len(frame) < 900_000
    assert notebook_frame(run) == frame
    assert empty()._repr_html_() is None


def empty() -> Run:
    run = made_run()
    rows = {name: getattr(run, name)[:0] for name in ("t", "position", "velocity", "acceleration", "kinetic", "potential", "drift")}
    return replace(run, **rows)


def test_what_a_page_refuses(tmp_path):
    with pytest.raises(ModelError, match="the run holds no saved point"):
        empty().html()
    with pytest.raises(ModelError, match="speed must be positive, got 0"):
        animate(made_run(), tmp_path / "a.html", speed=0.0)
    with pytest.raises(ModelError, match="trail must"):
        animate(made_run(), tmp_path / "a.html", trail=-1.0)
    assert not list(tmp_path.iterdir())


def test_animate_writes_pages_with_their_look(tmp_path):
    path = animate(made_run(), tmp_path / "a.html", speed=0.5, trail=0.3, hinges=False, style="line")
    content = decoded(path.read_text())
    assert content["look"] == {"trail": 0.3, "hinges": False, "centres": False, "style": "line"}
    assert content["takes"][0]["rate"] == 0.5
    assert decoded(made_run().html())["takes"][0]["rate"] is None


@pytest.mark.parametrize("name", ["nice-3", "four-bar", "follower-5"])
def test_modes_have_a_page(name):
    scenario = nlink.preset(name)
    small = nlink.linearize(scenario.chain, nlink.equilibrium(scenario.chain).theta)
    content = decoded(modes_page(scenario, small, small.table()))
    assert content["title"].startswith("Modes of ")
    assert len(content["takes"]) == min(MOST, len(small.table()))
    for take, mode in zip(content["takes"], small.table(), strict=True):
        if mode.frequency:
            assert take["t"][-1] == pytest.approx(2 * np.pi / mode.frequency)
            np.testing.assert_allclose(take["theta"][:, 0], take["theta"][:, -1], atol=2 * ANGLE)
            middle = (take["t"][3] + take["t"][4]) / 2
            turned = cubic(take, np.array([middle]))[0] - wrapped(small.theta)
            if scenario.chain.pin is None:
                np.testing.assert_allclose(turned, 0.35 * np.real(mode.shape * np.exp(1j * mode.frequency * middle)), atol=1e-4)


def test_of_many_modes_those_that_move_come_first_and_few_of_long_chains():
    long = Chain.uniform(60)
    small = nlink.linearize(long)
    assert len(decoded(modes_page(nlink.Scenario(long, (0.0,) * 60), small, small.table()))["takes"]) == MOST
    with pytest.raises(ModelError, match="there are no modes to show"):
        modes_page(nlink.preset("nice-3"), small, [])


def test_maps_have_a_page(tmp_path):
    x, y = np.linspace(0, 1, 7), np.linspace(-1, 1, 5)
    grid = np.add.outer(10 * y, x)
    content = decoded(map_page(x, y, [Layer("sum", grid, "N")], xlabel="x", ylabel="y"))
    np.testing.assert_allclose(content["layers"][0]["values"], grid, atol=1e-5 * np.ptp(grid))
    holes = np.where(grid > 5, np.nan, grid)
    values = decoded(map_page(x, y, [Layer("sum", holes)], xlabel="x", ylabel="y"))["layers"][0]["values"]
    np.testing.assert_array_equal(values, holes.ravel())
    chain = nlink.preset("follower-5").chain
    found = nlink.stability_map(lambda a, b: chain.with_loads(FollowerForce(a), nlink.JointDamper(b)), x / 4, (y + 1) / 100)
    path = stability_page(found, "force (N)", "damping", "A chain", path=tmp_path / "map.html")
    content = decoded(Path(path).read_text())
    np.testing.assert_array_equal(content["layers"][0]["values"], found.kind)
    assert content["layers"][0]["kinds"] == ["stable", "flutter", "divergence"]
    assert content["title"] == "Stability of a chain"


@pytest.mark.parametrize(
    ("x", "y", "shape", "message"),
    [
        ([0.0, 1.0], [0.0], (2, 2), r"the layer 'a' must have the shape \(1, 2\), got \(2, 2\)"),
        ([0.0, 1.0, 3.0], [0.0], (1, 3), "x of a map must be equally spaced and increase"),
        ([0.0, 1.0], [1.0, 0.0], (2, 2), "y of a map must be equally spaced and increase"),
        ([], [0.0], (1, 0), "a map must have from 1 to 2,000,000 cells, got 0 x 1"),
    ],
)
def test_what_a_map_refuses(x, y, shape, message):
    with pytest.raises(ModelError, match=message):
        map_page(np.array(x), np.array(y), [Layer("a", np.zeros(shape))], xlabel="x", ylabel="y")
    with pytest.raises(ModelError, match="a map needs at least one layer"):
        map_page(np.zeros(1), np.zeros(1), [], xlabel="x", ylabel="y")


def test_commands_write_pages(tmp_path, here):
    def done(*words):
        return here(*words, cwd=tmp_path)

    def page(name):
        return decoded((tmp_path / name).read_text())

    made_run(title="A page").save(tmp_path / "run.nc")
    animated = done("animate", "run.nc", "-o", "run.html")
    assert (animated.returncode, animated.stdout) == (0, "run.html\n")
    assert page("run.html")["title"] == "A page"
    assert done("modes", "nice-3", "-o", "modes.html").returncode == 0
    assert len(page("modes.html")["takes"]) == 3
    words = ("stability", "follower-5", "--to", "0.4", "--points", "9", "--vary2", "damping", "--to2", "0.02", "--points2", "5")
    assert done(*words, "-o", "map.html").returncode == 0
    assert page("map.html")["layers"][0]["values"].shape == (5, 9)
    refused = done("modes", "nice-3", "-o", "modes.html", "--animate", "1")
    assert refused.returncode == 2
    assert "--animate goes with a folder: a page moves every mode; leave it out" in refused.stderr
    refused = done("stability", "follower-5", "--to", "0.2", "--points", "9", "-o", "line.html")
    assert refused.returncode == 2
    assert "--output must end in .png, .svg or .pdf, got line.html" in refused.stderr


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_page_of_a_mechanism_has_its_outline(name):
    run = moved(name)
    (take,) = decoded(run.html())["takes"]
    chain, drawn = take["chain"], take["chain"]["outline"]
    assert chain["n"] == len(drawn["parent"]) == len(drawn["shapes"]) == run.chain.n
    numbers = {p for shape in drawn["shapes"] for p in shape} | {*drawn["hinges"], *drawn["driven"]}
    assert max(numbers | {block[k] for block in drawn["blocks"] for k in (0, 1, 2)}) < len(drawn["points"])
    assert chain["trace"] == list(run.chain.located(outline.traced_point(run.chain)))
    assert drawn["follows"] is False


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("slider-crank", At(1, 0.45)),  # the end of the rod stays on a line
        ("peaucellier", At(6)),  # held, but on a body that moves about: the far corner
        ("jansen", At(6)),  # the foot
        ("a02-40", At(80, 0.5)),
        ("andrews", At(6)),
        ("tree-5", At(4)),
        ("cart-2", At(2)),
    ],
)
def test_the_path_that_is_shown_is_one_worth_seeing(name, point):
    assert outline.traced_point(nlink.preset(name).chain) == point


def test_the_path_of_a_four_bar_is_that_of_its_coupler():
    bars = [Link.rod(1.0, 1.0), Link.rod(3.0, 1.0), Link.rod(2.5, 1.0).on(nlink.GROUND, (2.5, 0.0))]
    assert outline.traced_point(nlink.Mechanism(bars, pins=nlink.Pin(At(1), At(2)))) == At(1, 1.5)


def test_small_displacements_keep_their_digits_on_a_page():
    run = moved("kapitza")
    run.theta[:, 0] *= 1e-4
    run.omega[:, 0] *= 1e-4
    (take,) = decoded(run.html())["takes"]
    np.testing.assert_allclose(take["theta"][0], run.at(take["t"]).theta[:, 0], atol=1e-4 * np.ptp(run.theta[:, 0]))


def test_the_trail_of_a_page_is_that_of_the_point_asked_for(tmp_path):
    animate(made_run(3), tmp_path / "a.html", trace=At(1, 0.25, -0.1))
    assert decoded((tmp_path / "a.html").read_text())["takes"][0]["chain"]["trace"] == [1, 0.25, -0.1]
    assert "trace" not in decoded(made_run(3).html())["takes"][0]["chain"]


def test_a_live_page_of_a_mechanism_is_refused():
    with pytest.raises(ModelError, match="a live page takes chains, not mechanisms; simulate it and play the run"):
        Scenario(MECHANISMS["cart"], (0.0, 0.0, 0.0)).live()
