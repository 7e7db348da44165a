"""Pages that simulate: what is in them, the command that writes them, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers import random_chain

import nlink
from nlink import Chain, Gravity, JointTorque, ModelError, Scenario, Table
from nlink.integrators.tableaus import DOP853_TABLEAU, DOPRI5_TABLEAU
from nlink.mechanics.loads import LOADS
from nlink.view.live_page import MOST_LINKS, live_page, tableau_data


def model_of(text: str) -> dict:
    return json.loads(re.findall(r'id="nlink-data">(.*?)</script>', text, re.DOTALL)[0])["model"]


def scenario(n: int) -> Scenario:
    """Return a chain under every load; tables of torques, which a page does not take, are numbers."""
    chain, theta, omega = random_chain(n, 3)
    torque = [1.5 if isinstance(value, Table) else value for value in chain.load(JointTorque).torque]
    return Scenario(chain.with_loads(JointTorque(torque)), tuple(theta), tuple(omega))


@pytest.mark.parametrize("n", [1, 6, MOST_LINKS])
def test_a_page_is_small_and_holds_every_number(n):
    made = scenario(n)
    text = made.live()
    assert len(text.encode()) < 300_000
    model = model_of(text)
    values = {each["name"]: each["value"] for each in model["parameters"]}
    assert values["mass"] == made.chain.mass.tolist()
    assert values["gravity"] == made.chain.g
    assert values["tip_force.fy"] == -0.5
    assert {name.partition(".")[0] for name in values} >= LOADS.keys()
    for each in model["parameters"]:
        low, high, step = each["range"]
        assert low < high
        assert 39 < high / step < 101
        assert high >= np.max(each["value"])
    assert model["start"] == {"theta": list(made.theta), "omega": list(made.omega)}


def test_the_code_is_the_derived_one():
    text = live_page(nlink.preset("point-2"))
    equations = nlink.derive(2, loads=tuple(LOADS), offset=True)
    for of in ("rates", "energies"):
        assert equations.code("javascript", of).replace("export ", "") in text
    policy = re.findall('Content-Security-Policy" content="(.*?)"', text)[0]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert set(re.findall(r"https?://[^\s\"']*", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\beval\(|new Function|fetch\(|import\(", text)


@pytest.mark.parametrize(("method", "error"), [(DOP853_TABLEAU, 1e-6), (DOPRI5_TABLEAU, 2e-3)])
def test_the_tableau_is_that_of_the_package(method, error):
    """One step of y' = y by the plain data is that of the compressed rows, and the dense output ends where the step does."""
    data = tableau_data(method)
    stages = []
    for weights in data["rows"]:
        stages.append(1.0 + sum(weight * stages[stage] for stage, weight in zip(*weights, strict=True)))
    new = stages[data["stages"]]
    assert new == pytest.approx(np.e, abs=error)
    kept, powers = data["dense"]
    end = 1.0 + sum(sum(row[k] for row in powers) * stages[stage] for k, stage in enumerate(kept))
    assert end == pytest.approx(new, rel=1e-13)
    assert len(data["c"]) == len(data["rows"]) == method.total


def test_a_notebook_shows_the_page():
    page = nlink.preset("point-2").live(copies=3)
    shown = page._repr_html_()
    assert shown.startswith("<iframe title=")
    assert "allow-scripts" in shown
    assert model_of(page)["copies"] == 3


def test_the_command_writes_a_page(tmp_path, here):
    done = here("live", "chaotic-3", "--links", "2", "--copies", "5", "--title", "Two <rods>", "-o", "two.html", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "nlink: wrote two.html\n")
    text = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "<title>Two &lt;rods&gt;</title>" in text
    assert model_of(text)["copies"] == 5
    assert here("live", "point-2", "-o", "two.html", cwd=tmp_path).returncode == 0  # its own page is replaced
    assert "point masses" in (tmp_path / "two.html").read_text(encoding="utf-8")


def test_without_a_name_the_page_has_a_new_one(tmp_path, here):
    (tmp_path / "chaotic-5-live.html").write_text("mine")
    assert here("live", cwd=tmp_path).stderr == "nlink: wrote chaotic-5-live-2.html\n"
    assert (tmp_path / "chaotic-5-live.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["chaotic-15"], 3, "a live page takes up to 8 links, got 15; simulate it and play the run: nlink run, then nlink animate"),
        (["four-bar"], 3, "a live page takes open chains, and this one is closed by a pin; simulate it"),
        (["table.toml"], 3, "a live page takes joint torques that are numbers or sines, got a table at joint 2; simulate it"),
        (["point-2", "-o", "x.png"], 2, "--output must end in .html, got x.png; pictures: nlink plot"),
        (["point-2", "--copies", "31"], 3, "copies must be at most 30, got 31"),
        (["point-2", "--copies", "-1"], 3, "copies must be a whole number, at least 0, got -1"),
        (["point-2", "-o", "no/where.html"], 5, "no/where.html"),
        (["point-2", "-o", "mine.html"], 5, "mine.html is there already and nlink did not make it"),
        (["chaotc-3"], 3, "did you mean 'chaotic-3'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(arguments, code, said, tmp_path, here):
    (tmp_path / "table.toml").write_text("links = 2\nloads.joint_torque = [0, { times = [0, 1], values = [0, 1] }]\n")
    (tmp_path / "mine.html").write_text("<h1>mine</h1>")
    before = sorted(path.name for path in tmp_path.iterdir())
    done = here("live", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_function_as_torque_is_refused():
    chain = Chain.uniform(2, loads=[Gravity(9.81), JointTorque(lambda t: t)])
    with pytest.raises(ModelError, match="numbers or sines, got a Python function; simulate it and play the run"):
        Scenario(chain, (0.1, 0.1)).live()


def test_a_chain_without_weight_has_controls_too():
    chain = Chain.uniform(2, loads=[Gravity(0.0)])
    ranges = {each["name"]: each["range"] for each in model_of(Scenario(chain, (0.1, 0.1)).live())["parameters"]}
    assert ranges["gravity"][1] > 20
    assert ranges["joint_spring.stiffness"][0] == 0
    assert ranges["joint_spring.rest"][0] < 0


@pytest.mark.parametrize("name", ["chaotic-5", "double-pendulum"])
def test_the_pages_of_the_docs_are_there(name):
    """Written by scripts/live_pages.py; the README and the guide lead to them."""
    root = Path(__file__).parents[1]
    text = (root / "docs" / "live" / f"{name}.html").read_text(encoding="utf-8")
    assert '<meta name="generator" content="nlink">' in text
    assert "const EQUATIONS = " in text
    assert len(text) < 200_000
    assert any(f"live/{name}.html" in (root / page).read_text(encoding="utf-8") for page in ("README.md", "docs/guide.md"))


def test_extreme_numbers_have_controls():
    chain = Chain([nlink.Link(1e-90, 1e-90, 0.0, 1e90), nlink.Link(1e90, 1e100, 1e90, 1e100)])
    for each in model_of(Scenario(chain, (0.1, 0.1)).live())["parameters"]:
        assert np.isfinite(each["range"]).all()
        assert each["range"][0] < each["range"][1]
