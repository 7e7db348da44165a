"""The studio's server: who may speak to it, what it refuses and how it says so, and what becomes of its computations."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import signal
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlink
from nlink.mechanics.chain import Chain, Link
from nlink.mechanics.loads import Drag, FollowerForce, Gravity, JointDamper, JointSpring, JointTorque, LinkDamper, Sine, TipForce
from nlink.scenario import Scenario, Settings, preset, presets
from nlink.simulation.events import Flip

pytest.importorskip("fastapi", reason="needs the extra web: make setup")

from fastapi import WebSocketDisconnect
from fastapi.testclient import TestClient

from nlink.studio import code, flips, jobs, ranges, tasks
from nlink.studio.app import studio_app
from nlink.studio.guard import MOST_BODY
from nlink.studio.mathml import mathml
from nlink.studio.messages import FieldError, checked, in_words, page_model, with_value
from nlink.studio.shelf import Shelf

TOKEN, HOST = "secret", "127.0.0.1:8765"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
LAST = ("done", "failed", "stopped")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("studio") / "runs")


@contextlib.contextmanager
def opened(shelf: Shelf, workers: int = 2) -> Iterator[TestClient]:
    app = studio_app(TOKEN, (HOST,), shelf, preset("chaotic-3"), workers=workers)
    with TestClient(app, base_url=f"http://{HOST}", headers=BEARER) as client:
        yield client


@pytest.fixture(scope="module")
def client(shelf: Shelf) -> Iterator[TestClient]:
    with opened(shelf) as made:
        yield made


class Tab:
    """A page's connection: starts and stops jobs, and keeps what it hears of each."""

    def __init__(self, client: TestClient, session: str, seen: int = 0) -> None:
        self.socket = client.websocket_connect(f"ws://{HOST}/ws?session={session}&seen={seen}&token={TOKEN}")
        self.seen = seen
        self.heard: dict[str, list[dict[str, Any]]] = {}

    def __enter__(self) -> Tab:
        self.socket.__enter__()
        self.hello = self.socket.receive_json()["message"]
        return self

    def __exit__(self, *told: Any) -> None:
        self.socket.__exit__(*told)

    def start(self, job: str, kind: str, **request: Any) -> None:
        self.socket.send_json({"type": "start", "job": job, "kind": kind, "request": request})

    def stop(self, job: str) -> None:
        self.socket.send_json({"type": "stop", "job": job})

    def drop(self, job: str) -> None:
        self.socket.send_json({"type": "drop", "job": job})

    def tell(self, job: str, **content: Any) -> None:
        self.socket.send_json({"type": "tell", "job": job, "content": content})

    def hear(self) -> tuple[str, dict[str, Any]]:
        told = self.socket.receive_json()
        self.seen = told["seq"]
        self.heard.setdefault(told["job"], []).append(told["message"])
        return told["job"], told["message"]

    def until(self, job: str, *kinds: str) -> dict[str, Any]:
        """Return the first message of a job of one of these kinds, or its last."""
        while True:
            name, message = self.hear()
            if name == job and message["type"] in (kinds or LAST):
                return message

    def kinds(self, job: str) -> list[str]:
        return [message["type"] for message in self.heard[job]]


def model(name: str = "chaotic-3", **run: Any) -> dict[str, Any]:
    table = page_model(preset(name))
    return {**table, "run": {**table["run"], **run}}


LONG = {"t_end": 200_000.0, "save": 0.1}


# Who may speak


def test_the_token_is_required(client):
    for path in ("/api/start", "/api/runs", "/api/presets/nice-3", "/api/taken/a/b/csv"):
        for headers in ({"Authorization": ""}, {"Authorization": "Bearer wrong"}):
            refused = client.get(path, headers=headers)
            assert refused.status_code == 403
            assert "token is missing or wrong" in refused.json()["error"]["text"]
        assert client.get(path).status_code in (200, 404)
    assert client.get("/", headers={"Authorization": ""}).status_code == 200  # code of the page, as all below /static


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Host": "127.0.0.1:1"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_a_foreign_host_or_origin_is_refused(client, headers):
    assert client.get("/api/start", headers=headers).status_code == 403
    assert client.get("/static/studio.js", headers=headers).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect) as refused,
        client.websocket_connect(f"ws://{HOST}/ws?session=a&token={TOKEN}", headers=headers),
    ):
        pass
    assert refused.value.code == 4403


def test_a_socket_needs_the_token_too(client):
    for token in ("", "wrong"):
        with (
            pytest.raises(WebSocketDisconnect) as refused,
            client.websocket_connect(f"ws://{HOST}/ws?session=a&token={token}", headers={"Authorization": ""}),
        ):
            pass
        assert refused.value.code == 4403


def test_its_own_origin_is_welcome_and_the_page_asks_nothing_of_others(client):
    answer = client.get("/", headers={"Origin": f"http://{HOST}"})
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_long_bodies_and_messages_are_refused(client):
    assert client.post("/api/read", json={"text": "x" * (MOST_BODY + 1)}).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(3):
            yield b"x" * (MOST_BODY // 2)

    assert client.post("/api/read", content=pieces(), headers={"Content-Type": "application/json"}).status_code == 413
    with Tab(client, "long") as tab:
        tab.socket.send_text('"' + "x" * MOST_BODY + '"')
        assert tab.socket.receive()["code"] == 1009


def test_what_is_not_understood_is_answered(client):
    with Tab(client, "odd") as tab:
        for odd in ("{", "[]", '"x"', "{}", '{"type":"start"}', "[" * 5000):
            tab.socket.send_text(odd)
            assert "does not know" in tab.until("", "failed")["text"]
        tab.start("j1", "rm -rf", model={})
        assert "there is no computation 'rm -rf'" in tab.until("j1")["text"]
        tab.start("j2", "run", model=3)
        assert "must be a table" in tab.until("j2")["text"]
        tab.stop("nobody")
        tab.start("j3", "modes", model=model())
        assert tab.until("j3")["type"] == "done"
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(f"ws://{HOST}/ws?session=../x&token={TOKEN}") as socket:
        socket.receive_json()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"\xff", b'{"model": NaN}', b'{"model": 3}', b"[" * 9000, b'{"model": {"links": ' + b"9" * 9000]
)
def test_a_malformed_request_is_a_400_with_one_sentence(client, body):
    answer = client.post("/api/check", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["text"]


def test_what_is_not_there_is_a_404_and_a_wrong_model_an_answer(client):
    assert client.get("/api/runs/nobody").status_code == 404
    assert client.delete("/api/runs/nobody").status_code == 404
    assert client.post("/api/nothing").status_code == 404
    answer = client.post("/api/check", json={"model": {"links": 3, "mass": -1}})
    assert (answer.status_code, answer.json()["error"]["path"]) == (200, "mass")


# The file system


def test_a_hard_link_in_the_runs_folder_is_refused(shelf, tmp_path):
    (tmp_path / "secret.nc").write_text("secret")
    shelf.folder.mkdir(exist_ok=True)
    (shelf.folder / "hard.nc").hardlink_to(tmp_path / "secret.nc")
    for act in (shelf.file, shelf.delete):
        with pytest.raises(FieldError, match="a hard link"):
            act("hard")
    assert "hard" not in [row["name"] for row in shelf.listed()]
    (shelf.folder / "hard.nc").unlink()


def test_only_runs_are_deleted(shelf):
    (shelf.folder / "note.nc").write_text("not a run")
    with pytest.raises(FieldError, match="'note' is not a run of nlink"):
        shelf.delete("note")
    (shelf.folder / "note.nc").unlink()


@pytest.mark.parametrize("name", ["../x", "a/b", "/etc/passwd", ".hidden", "", "a\\b", "x" * 81, "a\0b", "a..b", "x."])
def test_no_name_leads_out_of_the_runs_folder(client, shelf, name):
    for act in (shelf.file, shelf.delete, lambda each: shelf.save("k", each)):
        with pytest.raises(FieldError, match="a name must have 1 to 80 letters"):
            act(name)
    with Tab(client, "paths") as tab:
        tab.start("j1", "open", name=name)
        assert tab.until("j1")["type"] == "failed"
    answer = client.post("/api/runs", json={"session": "s", "job": "j", "name": name})
    assert answer.json()["error"]["path"] == "name"


def test_a_link_out_of_the_runs_folder_is_not_there(shelf, tmp_path):
    (tmp_path / "secret.nc").write_text("secret")
    shelf.folder.mkdir(exist_ok=True)
    (shelf.folder / "link.nc").symlink_to(tmp_path / "secret.nc")
    with pytest.raises(FieldError, match="there is no run 'link'"):
        shelf.file("link")
    assert "link" not in [row["name"] for row in shelf.listed()]
    (shelf.folder / "link.nc").unlink()


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e%2fapp.py", "/web/..%2fpage.py", "/static/x", "/etc/passwd"])
def test_no_path_leads_out_of_the_page(client, path):
    assert client.get(path).status_code == 404


def test_a_request_cannot_name_files(client, tmp_path):
    with Tab(client, "files") as tab:
        tab.start("j1", "run", model=model(t_end=0.5), scratch=str(tmp_path / "x.nc"), path="/etc/passwd")
        assert tab.until("j1")["kept"]
    assert not (tmp_path / "x.nc").exists()


# Models


@pytest.mark.parametrize("name", presets())
def test_the_page_edits_every_preset_without_changing_it(name):
    scenario = preset(name)
    again = checked(json.loads(json.dumps(page_model(scenario))))
    assert again.chain == scenario.chain
    np.testing.assert_allclose(again.theta, scenario.theta, atol=1e-12)
    np.testing.assert_allclose(again.omega, scenario.omega, atol=1e-12)
    assert again.settings == scenario.settings


UNLIKE = {
    "links": [{"shape": "rod", "length": 1.0, "mass": 1.0}, {"shape": "point", "length": 0.5, "mass": 2.0}],
    "start": "hanging",
}


@pytest.mark.parametrize(
    ("change", "path", "text"),
    [
        ({"mass": -1.0}, "mass", "mass of link 1 must not be negative, got -1"),
        ({"length": "abc"}, "length", "length of link 1 must be a number, got 'abc'"),
        ({"length": [1.0, 2.0]}, "length", "length has 2 values for 3 links"),
        ({"links": 0}, "links", "links must be a whole number, at least 1, got 0"),
        ({"links": 100_000_000}, "links", "links must be at most 200 in the studio"),
        (
            {"loads": {"joint_spring": {"stiffness": [1.0, -2.0, 1.0]}}},
            "loads.joint_spring.stiffness.1",
            "stiffness of the joint springs at joint 2 must not be negative",
        ),
        (
            {"loads": {"joint_damper": {"damping": [1.0, 2.0]}}},
            "loads.joint_damper.damping",
            "damping of the joint dampers has 2 values for 3",
        ),
        (
            {"loads": {"joint_torque": {"amplitude": "x", "frequency": 1}}},
            "loads.joint_torque.amplitude",
            "amplitude of the joint torques must be",
        ),
        ({"loads": {"gravity": "x"}}, "loads.gravity.g", "g of the gravity must be a number"),
        ({"loads": {"tip_force": 3}}, "loads.tip_force", "must be [fx, fy], got 3"),
        ({"loads": {"wind": 1}}, "", "[loads] has no key 'wind'"),
        ({"pin": {"x": 99.0, "y": 0.0}}, "pin", "the pin is out of reach"),
        ({"pin": {"x": "a"}}, "pin.x", "pin x must be a number"),
        ({"pin": {"x": 1.0, "y": 0.0}}, "start.theta", "the start leaves the last tip"),
        ({"start": {"theta": [1, "b", 2]}}, "start.theta.1", "angle of link 2 must be a number"),
        ({"start": {"theta": 0.0, "omega": [0, 0]}}, "start.omega", "rate has 2 values for 3 links"),
        ({"run": {"t_end": "soon"}}, "run.t_end", "Run until must be a number"),
        ({"run": {"t_end": 0}}, "run.t_end", "Run until must not be 0"),
        ({"run": {"t_end": 1e9, "save": 1e-3}}, "run.save", "Save every would keep 1e+12 points"),
        ({"run": {"rtol": 0}}, "run.rtol", "Tolerance must be positive"),
        ({"run": {"formulation": "newton"}}, "run.formulation", "formulation must be one of"),
        ({"run": {"integrator": "RK4(size=1)"}}, "run.integrator", "RK4 has no option 'size'"),
        ({"run": {"integrator": "__import__('os')"}}, "run.integrator", "integrator must be one of"),
        ({"shape": "ball"}, "shape", "shape of link 1 must be one of rod, point"),
        ({"title": 3}, "title", "title must be a text"),
    ],
)
def test_wrong_values_are_told_at_their_field(client, change, path, text):
    answer = client.post("/api/check", json={"model": model() | change}).json()
    assert text in answer["error"]["text"]
    assert answer["error"]["path"] == path


def test_unlike_links_are_told_one_by_one(client):
    wrong = copy.deepcopy(UNLIKE)
    wrong["links"][1]["mass"] = -0.3  # pyright: ignore[reportArgumentType]
    answer = client.post("/api/check", json={"model": wrong}).json()
    assert answer["error"] == {"text": "mass of link 2 must not be negative, got -0.3", "path": "links.1.mass"}
    wrong["links"][1]["mass"] = 0.0  # pyright: ignore[reportArgumentType]
    assert client.post("/api/check", json={"model": wrong}).json()["error"]["path"] == "links.1"
    assert client.post("/api/check", json={"model": UNLIKE}).json()["chain"]["point"] == [False, True]


def test_every_preset_stands_in_one_group(client):
    groups = client.get("/api/presets").json()["groups"]
    names = [entry["name"] for group in groups for entry in group["presets"]]
    assert sorted(names) == sorted(nlink.presets())
    assert groups[0]["presets"][0]["label"] == "double pendulum"
    assert "Others" not in [group["name"] for group in groups]


@pytest.mark.parametrize(
    ("name", "formulations", "refused"),
    [
        ("nice-3", ["recursive", "momentum", "lagrange", "projection", "maximal", "natural", "linear"], set()),
        ("four-bar", ["recursive", "momentum", "maximal", "natural"], set()),
        ("tree-5", ["recursive", "projection"], {"flips", "equations", "endless"}),
        ("jansen", ["recursive"], {"flips", "equations", "endless"}),
    ],
)
def test_the_page_offers_what_takes_a_model(client, name, formulations, refused):
    offers = client.get(f"/api/presets/{name}").json()["offers"]
    assert offers["formulations"] == formulations
    assert set(offers["refused"]) == refused
    for form in formulations:
        nlink.Scenario.from_dict(nlink.preset(name).to_dict() | {"run": {"formulation": form}})


@pytest.mark.parametrize("kind", ["flips", "equations", "endless"])
def test_jobs_for_chains_refuse_a_mechanism_as_the_page_says(client, kind):
    sent = client.get("/api/presets/cart-pole").json()
    with Tab(client, f"refused{kind}") as tab:
        tab.start("j1", kind, model=sent["model"], size=8, across=0, up=1)
        failed = tab.until("j1")
    assert (failed["type"], failed["text"]) == ("failed", sent["offers"]["refused"][kind])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("link 0 at 0.1253 rad is the end of its way", "link 1 at 0.1253 rad is the end of its way"),
        ("body 6 is driven", "body 7 is driven"),
        ("Mechanism.links[0] has a prescribed motion", "link 1 has a prescribed motion"),
        ("a point off its link: 2 m along link 1, which is 1 m long", "a point off its link: 2 m along link 2, which is 1 m long"),
        ("stopped by link 2 turning over at t = 3 s", "stopped by link 2 turning over at t = 3 s"),
    ],
)
def test_the_page_counts_bodies_from_one(text, words):
    assert in_words(text) == words


def test_model_files_are_read_and_never_run(client):
    answer = client.post("/api/read", json={"text": 'links = 2\nstart = "zigzag"'}).json()
    assert answer["model"]["start"]["theta"] == pytest.approx([np.pi / 2, np.pi])
    assert "is not a model file (TOML)" in client.post("/api/read", json={"text": "import os"}).json()["error"]["text"]
    assert client.post("/api/read", json={"text": "links = -1"}).json()["error"]["path"] == "links"
    assert client.get("/api/presets/nope").json()["error"]["text"].startswith("there is no preset 'nope'")


ALL_LOADS = (
    Gravity(1.62), JointSpring(2.0, (0.1, 0.2)), JointDamper((0.1, 0.2)), LinkDamper(0.05), JointTorque((Sine(1.0, 0.5), 0.3)),
    Drag(0.1, 0.2), FollowerForce(0.7), TipForce(0.5, -0.5),
)  # fmt: skip


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(Chain.uniform(2), (0.3, 0.4), (0.0, 1.0), Settings(t_end=0.5)),
        Scenario(Chain.uniform(2, mass=2.0, shape="point", loads=ALL_LOADS), (0.3, 0.3), settings=Settings(t_end=0.5, rtol=1e-7)),
        Scenario(
            Chain([Link.rod(1.0, 2.0), Link(0.5, 1.0, 0.2, 0.1, 0.05)], ALL_LOADS[:1]),
            (1.0, 2.0),
            settings=Settings(t_end=0.2, integrator="RK4(step=0.01)", formulation="momentum", flips="off"),
        ),
        Scenario(Chain.uniform(3, pin=(1.0, 0.0)), (3.141592653589793, 1.5707963267948966, 0.0), settings=Settings(t_end=0.2)),
    ],
)
def test_the_texts_to_take_along_give_the_same_run(scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = scenario.run()
    Path("model.toml").write_text(code.toml(scenario))
    again = Scenario.load("model.toml")
    assert again.chain == scenario.chain
    np.testing.assert_allclose(again.run().theta, run.theta, rtol=0, atol=1e-12 if scenario.chain.pin else 0.0)
    exec(compile(code.python(scenario), "copied.py", "exec"), {})
    np.testing.assert_array_equal(nlink.load("run.nc").theta, run.theta)


# Computations


def test_a_run_streams_and_is_the_run_of_the_library(client):
    asked = model(t_end=60.0)
    with Tab(client, "runs") as tab:
        tab.start("j1", "run", model=asked)
        done = tab.until("j1")
    points = [message for message in tab.heard["j1"] if message["type"] == "points"]
    assert tab.kinds("j1")[:2] == ["started", "begin"]
    content = next(message for message in tab.heard["j1"] if message["type"] == "content")
    assert len(points) > 2
    t = [t for message in points for t in message["t"]]
    whole = checked(asked).run()
    np.testing.assert_array_equal(t, whole.t)
    np.testing.assert_allclose([row for message in points for row in message["theta"]], whole.theta, atol=1e-6)
    np.testing.assert_allclose([r for message in points for r in message["residual"]], whole.energy().residual, atol=1e-8)
    assert done["status"] == "finished"
    assert content["content"]["takes"][0]["chain"]["n"] == 3
    assert content["told"]["integrator"].startswith("Taylor")
    saved = client.post("/api/runs", json={"session": "runs", "job": "j1", "name": "a run"}).json()
    assert saved == {"name": "a run"}
    again = client.post("/api/runs", json={"session": "runs", "job": "j1", "name": "a run"}).json()
    assert again["error"]["text"] == "there is a run 'a run' already; give another name"
    with Tab(client, "other") as tab:
        tab.start("j1", "open", name="a run")
        assert tab.until("j1", "model")["model"]["run"]["t_end"] == 60.0
        assert tab.until("j1", "content")["told"]["message"] == "reached t = 60 s"
    loaded = nlink.load(client.app.state.sessions.make("x").shelf.file("a run"))
    np.testing.assert_array_equal(loaded.theta, whole.theta)
    assert len(client.get("/api/runs/a run").content) > 1000
    assert client.delete("/api/runs/a run").json() == {"name": "a run"}
    assert client.get("/api/runs").json()["runs"] == []


def test_a_stopped_run_keeps_what_it_has(client):
    with Tab(client, "stops") as tab:
        tab.start("j1", "run", model=model(**LONG))
        tab.until("j1", "points")
        tab.stop("j1")
        told = tab.until("j1", "content")["told"]
        assert told["status"] == "interrupted"
        assert "stopped by the user at t =" in told["message"]
        assert tab.until("j1")["resumable"]
        assert client.post("/api/runs", json={"session": "stops", "job": "j1", "name": "stopped"}).json() == {"name": "stopped"}
        run = nlink.load(client.app.state.sessions.make("x").shelf.file("stopped"))
        assert 0 < run.t[-1] < 200_000
        assert run.scenario.settings.t_end == 200_000
        assert len(run.resume(run.t[-1] + 5).t) == len(run.t) + 50
        client.delete("/api/runs/stopped")


def test_a_stopped_run_goes_on_to_the_numbers_of_one_that_was_not(client):
    asked = model(t_end=3000.0, save=0.1)
    with Tab(client, "goeson") as tab:
        tab.start("j1", "run", model=asked)
        tab.until("j1", "points")
        tab.stop("j1")
        assert tab.until("j1")["resumable"]
        tab.start("j2", "continue", run="j1")
        done = tab.until("j2")
        assert (done["status"], done["resumable"]) == ("finished", False)
        t = [t for message in tab.heard["j2"] if message["type"] == "points" for t in message["t"]]
        assert (t[0], t[-1]) == (0.0, 3000.0)
        assert client.post("/api/runs", json={"session": "goeson", "job": "j2", "name": "whole"}).json() == {"name": "whole"}
        run = nlink.load(client.app.state.sessions.make("x").shelf.file("whole"))
        client.delete("/api/runs/whole")
        np.testing.assert_array_equal(run.theta, checked(asked).run().theta)
        tab.start("j3", "continue", run="j9")
        assert tab.until("j3")["text"] == "this run is no longer there; run it again"
        tab.start("j4", "continue", run="../x")
        assert tab.until("j4")["type"] == "failed"


def test_files_of_a_run_are_taken_along_once(client, tmp_path):
    asked = model(t_end=0.2)
    with Tab(client, "takes") as tab:
        tab.start("j1", "run", model=asked)
        assert tab.until("j1")["kept"]
        run, taken = checked(asked).run(), {}
        for k, (kind, begin) in enumerate(KINDS.items()):
            tab.start(f"k{k}", "take", run="j1", what=kind, plot="phase", file="/etc/passwd")
            assert tab.until(f"k{k}")["type"] == "done"
            answer = client.get(f"/api/taken/takes/k{k}/{kind}")
            assert answer.content.startswith(begin)
            taken[kind] = answer.content
            assert client.get(f"/api/taken/takes/k{k}/{kind}").status_code == 404
        table = np.loadtxt(taken["csv"].decode().splitlines(), delimiter=",", skiprows=1)
        np.testing.assert_array_equal(table[:, 1:4], run.theta)
        assert taken["csv"].splitlines()[0].startswith(b"t [s],theta_1 [rad]")
        (tmp_path / "taken.nc").write_bytes(taken["nc"])
        np.testing.assert_array_equal(nlink.load(tmp_path / "taken.nc").theta, run.theta)
        for request, text in (
            ({"run": "j1", "what": "exe"}, "the kind of file must be one of html, gif"),
            ({"run": "j9", "what": "csv"}, "this run is no longer there"),
            ({"run": "j1", "what": "png", "plot": "coupler"}, "the plot 'coupler' needs"),
        ):
            tab.start("no", "take", **request)
            assert text in tab.until("no")["text"]
    assert client.get("/api/taken/..%2Fx/j/csv").status_code == 404


KINDS = {"html": b"<!doctype html>", "gif": b"GIF89a", "csv": b"t [s],", "nc": b"\x89HDF", "png": b"\x89PNG", "svg": b"<?xml"}
"""Kinds of files, and what they begin with."""


def test_a_dropped_job_is_not_heard_again_and_frees_its_worker(tmp_path):
    shelf = Shelf(tmp_path)
    with opened(shelf, workers=1) as client, Tab(client, "drops") as tab:
        tab.start("j1", "run", model=model(**LONG))
        tab.until("j1", "points")
        tab.drop("j1")
        tab.start("j2", "run", model=model(t_end=1.0))
        assert tab.until("j2")["status"] == "finished"
        tab.start("j3", "run", model=model(t_end=1.0))
        tab.until("j3", "content")
        tab.drop("j3")  # computed, but not saved yet
        tab.drop("nobody")
        tab.tell("j3", type="pull", hand=None)
        tab.start("j4", "modes", model=model())
        assert tab.until("j4")["type"] == "done"
        assert {tab.heard[job][-1]["type"] for job in ("j1", "j3")} <= {"points", "content"}
        assert sorted(path.stem for path in shelf.scratch.glob("*.nc")) == ["drops-j2"]


def test_preparing_yields_to_other_jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "YIELD_AFTER", 0.05)
    with opened(Shelf(tmp_path), workers=1) as client, Tab(client, "yields") as tab:
        tab.start("j0", "modes", model=model())
        tab.until("j0")
        tab.start("j1", "run", model=model(**LONG))
        tab.until("j1", "points")
        tab.start("j2", "prepare", model=model())
        tab.start("j3", "run", model=model(t_end=1.0))
        tab.stop("j1")
        assert tab.until("j3")["status"] == "finished"  # it came later, and is first
        tab.start("j4", "run", model=model(t_end=2.0))
        assert tab.until("j4")["status"] == "finished"
        assert "done" not in tab.kinds("j2")
        if "stopped" not in tab.kinds("j2"):
            assert tab.until("j2")["type"] in ("stopped", "done")


def test_a_motion_in_real_time_is_pulled_changed_stopped_and_kept(client):
    asked = model("nice-3")
    with Tab(client, "endless") as tab:
        tab.start("j1", "endless", model=asked)
        assert tab.until("j1", "begin")["kept"] == 600.0
        begun = time.monotonic()
        tab.until("j1", "points")
        tab.tell("j1", type="pull", hand={"link": 2, "along": 1.0, "left": 0.0, "x": 1.5, "y": -1.0})
        tab.tell("j1", type="pull", hand={"link": 7})
        assert "a pull needs a link" in tab.until("j1", "refused")["text"]
        tab.tell("j1", type="model", model={**asked, "loads": {"gravity": 2.0}})
        tab.tell("j1", type="model", model={**asked, "mass": 2.0})
        assert "start the endless mode again" in tab.until("j1", "refused")["text"]
        while (last := tab.until("j1", "points"))["t"][-1] < 1.0:
            pass
        tab.tell("j1", type="pull", hand=None)
        assert last["t"][-1] <= time.monotonic() - begun + 0.5
        tab.stop("j1")
        assert tab.until("j1")["kept"]
        points = [message for message in tab.heard["j1"] if message["type"] == "points"]
        t = [t for message in points for t in message["t"]]
        np.testing.assert_allclose(np.diff(t), 1 / 60, atol=1e-12)
        assert max(abs(r) for message in points for r in message["residual"]) < 1e-6
        client.post("/api/runs", json={"session": "endless", "job": "j1", "name": "by hand"})
        run = nlink.load(client.app.state.sessions.make("x").shelf.file("by hand"))
        tab.start("j2", "open", name="by hand")
        assert "joint_torque" not in tab.until("j2", "model")["model"]["loads"]
        assert tab.until("j2")["type"] == "done"
        client.delete("/api/runs/by hand")
        assert [event.name for event in run.events[:2]] == ["hand on link 3", "change to gravity 2"]
        assert [event.name for event in run.events[2:]] in (["hand off"], [])
        tab.start("j3", "endless", model=asked)
        tab.until("j3", "points")
        tab.drop("j3")
        tab.start("j4", "modes", model=asked)
        assert tab.until("j4")["type"] == "done"


def test_a_job_that_the_machine_does_not_let_run_keeps_what_it_has(client, monkeypatch):
    """Its process is stopped while it is asked, and goes on once the server has looked at it twice."""
    looks, look = [], jobs.Pool._end_unless_starved
    monkeypatch.setattr(jobs, "PATIENCE", 0.1)
    monkeypatch.setattr(jobs.Pool, "_end_unless_starved", lambda *args: (looks.append(args), look(*args)))
    with Tab(client, "starved") as tab:
        tab.start("j1", "run", model=model(**LONG))
        tab.until("j1", "points")
        process = next(each.process.pid for each in client.app.state.pool.workers if each.job)
        os.kill(process, signal.SIGSTOP)
        tab.stop("j1")
        deadline = time.monotonic() + 30
        while len(looks) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(process, signal.SIGCONT)
        monkeypatch.setattr(jobs, "PATIENCE", 5.0)
        assert tab.until("j1")["status"] == "interrupted"


def test_a_job_whose_answer_waits_in_its_pipe_keeps_what_it_has(client, monkeypatch):
    """The server reads the answer of the job only once its patience is over."""
    look, unread, over = jobs.Pool._end_unless_starved, [], []

    def hear(self, who, message):
        if not over and (unread or message[:1] == jobs.STOPPING):
            unread.append((who, message))
        else:
            self.loop.call_soon_threadsafe(self._take, who, message)

    def read_and_look(self, who, job):
        if not unread:
            self.loop.call_soon(self._end_unless_starved, who, job)
            return
        over.append(True)
        for each in unread:
            self.hear(*each)
        look(self, who, job)

    monkeypatch.setattr(jobs, "PATIENCE", 0.0)
    monkeypatch.setattr(jobs.Pool, "_end_unless_starved", read_and_look)
    monkeypatch.setattr(jobs.Pool, "hear", hear)
    with Tab(client, "unread") as tab:
        tab.start("j1", "run", model=model(**LONG))
        tab.until("j1", "points")
        tab.stop("j1")
        assert tab.until("j1")["status"] == "interrupted"
    assert unread


def test_a_job_that_does_not_listen_is_ended_with_its_process(client, monkeypatch):
    pool, processes = client.app.state.pool, [each.process.pid for each in client.app.state.pool.workers]
    monkeypatch.setattr(jobs.Worker, "ask_to_stop", lambda self: None)
    with Tab(client, "deaf") as tab:
        tab.start("j1", "run", model=model(**LONG))
        tab.until("j1", "points")
        begun = time.monotonic()
        tab.stop("j1")
        assert tab.until("j1") == {"type": "stopped"}
        assert time.monotonic() - begun < 5
        tab.start("j2", "modes", model=model())
        assert tab.until("j2")["type"] == "done"
    assert len({each.process.pid for each in pool.workers} - set(processes)) == 1


def test_a_killed_worker_is_told_and_replaced(client):
    with Tab(client, "kills") as tab:
        tab.start("j1", "run", model=model(**LONG))
        tab.until("j1", "points")
        worker = next(each for each in client.app.state.pool.workers if each.job is not None)
        os.kill(worker.process.pid, signal.SIGKILL)
        assert "ended unexpectedly (exit code -9)" in tab.until("j1")["text"]
        tab.start("j2", "run", model=model(t_end=1.0))
        assert tab.until("j2")["status"] == "finished"


def test_jobs_queue_with_their_place_and_tabs_do_not_disturb_each_other(tmp_path):
    with opened(Shelf(tmp_path), workers=1) as client, Tab(client, "one") as one, Tab(client, "two") as two:
        one.start("j1", "run", model=model(**LONG))
        one.until("j1", "points")
        two.start("j1", "run", model=model(t_end=1.0))
        assert two.hear() == ("j1", {"type": "queued", "place": 1})
        one.start("j2", "modes", model=model())
        assert one.until("j2", "queued")["place"] == 2
        two.start("j9", "modes", model=model())
        assert two.until("j9", "queued")["place"] == 3
        two.stop("j9")
        assert two.until("j9")["type"] == "stopped"
        two.stop("j2")  # the other tab's
        one.stop("j1")
        assert two.until("j1")["status"] == "finished"
        assert one.until("j2")["type"] == "done"
        assert one.heard["j1"][-1]["type"] == "done"


def test_a_lost_tab_comes_back_to_what_it_missed(client):
    with Tab(client, "lost") as tab:
        assert tab.hello == {"type": "hello", "known": False}
        tab.start("j1", "run", model=model(t_end=4000.0, save=0.1))
        tab.until("j1", "points")
        tab.socket.close(4000)
    with Tab(client, "lost", tab.seen) as again:
        assert again.hello["known"]
        done = again.until("j1")
    t = [t for part in (tab, again) for message in part.heard["j1"] if message["type"] == "points" for t in message["t"]]
    assert done["status"] == "finished"
    np.testing.assert_allclose(np.diff(t), np.diff(t)[0], rtol=1e-6)


def test_a_tab_that_is_closed_ends_its_jobs(client):
    with Tab(client, "closed") as tab:
        tab.start("j1", "run", model=model(**LONG))
        tab.until("j1", "points")
        tab.socket.close(1001)
    end = time.monotonic() + 10
    while any(each.job for each in client.app.state.pool.workers):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("kind", "request_", "part"),
    [
        ("copies", {"copies": 3, "apart": 1e-6}, "others"),
        ("compare", {"formulations": ["recursive", "momentum"]}, "apart"),
        ("modes", {"from": "rest"}, "takes"),
        (
            "stability",
            {"vary": "loads.follower_force", "low": 0, "high": 8, "vary2": "loads.joint_damper", "low2": 0, "high2": 1},
            "x",
        ),
    ],
)
def test_other_computations(client, kind, request_, part):
    with Tab(client, f"kind{kind}") as tab:
        tab.start("j1", kind, model=model(t_end=2.0), **request_)
        done = tab.until("j1")
    assert done["type"] == "done", done
    assert done["content"][part]


class Told:
    """An outbox that keeps the last message."""

    last: dict[str, Any]

    def progress(self, done: float, total: float) -> None:
        """Nobody looks."""

    def end(self, kind: str, **values: Any) -> None:
        self.last = values


def test_copies_of_a_mechanism_part_in_its_first_free_angle(monkeypatch):
    """Shifted carts would move side by side, so the pole is turned; nothing can part where drives prescribe all motion."""
    monkeypatch.setattr(tasks, "packed", lambda content: {"content": content})
    scenario, told = nlink.preset("cart-pole"), Told()
    short = page_model(replace(scenario, settings=replace(scenario.settings, t_end=0.05)))
    tasks.copies({"model": short, "copies": 3, "apart": 1e-3}, told)
    content = told.last["content"]
    starts = [each["theta"].values[:, 0] for each in (content["takes"][0], *content["others"])]
    np.testing.assert_allclose(np.array(starts) - starts[0], [[0, 0], [0, 1e-3], [0, 2e-3]], atol=1e-5)
    with pytest.raises(nlink.ModelError, match="drives prescribe the whole motion, so copies cannot part; take one away"):
        tasks.copies({"model": page_model(nlink.preset("jansen")), "copies": 3, "apart": 1e-3}, told)


def test_the_stability_diagram_finds_ziegler(client):
    ziegler = {"links": 2, "shape": "point", "loads": {"gravity": 0.0, "joint_spring": 1.0}, "start": "hanging"}
    exact = nlink.critical_load(
        lambda load: nlink.Scenario.from_dict(with_value(ziegler, "loads.follower_force", load)).chain, (0, 4)
    )
    with Tab(client, "ziegler") as tab:
        tab.start("j1", "stability", model=ziegler, vary="loads.follower_force", low=0, high=4)
        done = tab.until("j1")
    assert done["critical"][0]["kind"] == "flutter"
    assert done["critical"][0]["load"] == pytest.approx(exact.load, rel=1e-9)  # pyright: ignore[reportAttributeAccessIssue]
    assert np.shape(done["growth"]) == (4, len(done["loads"]))


@pytest.mark.parametrize(
    ("name", "key", "low", "high"),
    [
        ("follower-5", "loads.follower_force", 0.0, 0.29),  # flutter at 0.1832 N
        ("chaotic-3", "loads.follower_force", 0.0, None),
        ("nice-3", "loads.gravity", 0.0, 39.0),
        ("five-bar", "pin.x", -0.3, 3.3),
    ],
)
def test_the_range_of_a_stability_diagram_is_chosen_from_the_chain(name, key, low, high):
    table = model(name)
    found = ranges.ends({"model": table}, key, lambda value: Scenario.from_dict(with_value(table, key, value)).chain, "low", "high")
    assert found[0] == pytest.approx(low)
    assert high is None or found[1] == pytest.approx(high)
    assert found[0] < found[1] < 1e3
    assert ranges.ends(
        {"model": table, "low": 0.1, "high": ""}, key, lambda v: Scenario.from_dict(with_value(table, key, v)).chain, "low", "high"
    ) == (0.1, found[1])


@pytest.mark.parametrize(
    ("kind", "request_", "path", "text"),
    [
        ("copies", {"copies": 1, "apart": 1e-6}, "copies", "copies must be a whole number, at least 2"),
        ("copies", {"copies": 99, "apart": 1e-6}, "copies", "copies must be at most 12, got 99"),
        ("copies", {"copies": 3, "apart": "x"}, "apart", "apart must be a number"),
        ("stability", {"vary": "title", "low": 0, "high": 1}, "vary", "what is varied must be one of"),
        ("stability", {"vary": "loads.gravity", "low": 1, "high": 0}, "high", "high must be above low, 1; got 0"),
        ("flips", {"across": 1, "up": 1, "size": 8, "t_end": 1.0}, "up", "up must be another link than across"),
        ("flips", {"across": 0, "up": 1, "size": 8, "t_end": 1e9}, "t_end", "Until must be at most 200"),
        ("run", {"model": {"links": -1}}, "links", "links must be a whole number"),
        (
            "run",
            {"model": model(integrator="Gauss(step=0.01)", formulation="maximal")},
            "run.integrator",
            "Gauss needs Hamilton's form",
        ),
        ("equations", {"model": page_model(preset("chaotic-5"))}, "", "up to 3 links, got 5"),
    ],
)
def test_wrong_requests_are_told(client, kind, request_, path, text):
    with Tab(client, "wrong") as tab:
        tab.start("j1", kind, **({"model": model()} | request_))
        failed = tab.until("j1")
    assert failed["type"] == "failed"
    assert text in failed["text"]
    assert failed["path"] == path


def test_the_flip_map_is_that_of_the_library_in_finer_passes(client):
    with Tab(client, "flips") as tab:
        tab.start("j1", "flips", model=model("nice-3"), across=0, up=2, size=33, t_end=3.0)
        assert tab.until("j1")["type"] == "done"
    sizes = [message["content"]["x"]["count"] for message in tab.heard["j1"] if message["type"] == "plane"]
    assert sizes == [24, 33]
    scenario, request = preset("nice-3"), {"across": 0, "up": 2, "size": 9, "t_end": 3.0, "region": [-180, 180, 0, 90]}
    grid = flips.Grid.of(request, scenario.chain)
    (content,) = flips.passes(scenario, grid)
    times = content["layers"][0]["values"].reshape(9, 9)
    np.testing.assert_allclose(content["x"], np.linspace(-160, 160, 9), atol=1e-12)
    np.testing.assert_allclose(content["y"], np.linspace(5, 85, 9))
    assert (times == -np.inf).any()
    for row, column in ((0, 0), (4, 4), (8, 7)):
        start = flips.start_at(scenario, grid, np.radians(content["x"][column]), np.radians(content["y"][row]))
        run = nlink.simulate(scenario.chain, start["theta"], t_end=3.0, events=[Flip(terminal=True)])
        if run.status.code == "event":
            assert times[row, column] == pytest.approx(run.events[-1].t, abs=1e-7)
        else:
            assert not np.isfinite(times[row, column])


def test_the_flip_map_of_a_closed_chain_has_the_plane_of_its_freedoms():
    four, five = preset("four-bar"), preset("five-bar")
    for scenario, x, y in ((four, four.theta[0], four.omega[0]), (five, *five.theta[:2])):
        grid = flips.Grid.of({"across": 0, "up": 1, "size": 4}, scenario.chain)
        start = flips.start_at(scenario, grid, x, y)
        np.testing.assert_allclose(start["theta"], scenario.theta, atol=1e-12)
        np.testing.assert_allclose(start["omega"], scenario.omega, atol=1e-12)
    start = flips.start_at(five, grid, 2.5, 2.0)
    assert start["theta"][:2] == [2.5, 2.0]
    assert np.abs(nlink.mechanics.loop_closure.gap(five.chain, np.array(start["theta"]))).max() < 1e-14
    with pytest.raises(FieldError, match="the loop does not close there"):
        flips.start_at(five, grid, -1.5, -1.5)
    (content,) = flips.passes(five, flips.Grid.of({"across": 0, "up": 1, "size": 4, "t_end": 0.5}, five.chain))
    times, first = (np.asarray(getattr(layer["values"], "values", layer["values"])).reshape(4, 4) for layer in content["layers"])
    assert ((times == -np.inf) == (first == 0)).all()
    assert 0 < (first == 0).sum() < 16
    assert content["square"]
    rigid = Chain.uniform(2, pin=(1.0, 0.0))
    with pytest.raises(FieldError, match="this chain cannot move"):
        flips.Grid.of({"size": 4}, rigid)


def test_a_place_on_the_map_is_a_start(client):
    asked = {"model": model("point-2"), "across": 1, "up": 0, "size": 4, "t_end": ""}
    answer = client.post("/api/cell", json=asked | {"x": 30, "y": -90}).json()
    assert answer["start"] == {"theta": pytest.approx([-np.pi / 2, np.pi / 6]), "omega": [0.0, 0.0]}
    told = client.post("/api/cell", json=asked | {"x": "far", "y": 0}).json()["error"]
    assert told["text"] == "a request here needs 'x', a number"


def test_equations_are_mathml_of_what_derive_gives():
    title, parts, latex = mathml(preset("point-2").chain)
    assert latex == nlink.derive(2, shape="point", loads=["gravity"]).latex()
    assert title == "2 point masses in absolute angles under gravity"
    assert [part["name"] for part in parts] == ["Energies", "Mass matrix, symmetric", "Forcing"]
    tree = ElementTree.fromstring(parts[1]["math"])
    assert len(tree.findall(".//{*}mtr")) == 3
    assert "".join(tree.itertext()).startswith("M1,1=")
    assert "Invisible" not in parts[1]["math"]
    everything = Chain(
        [Link(1.0, 1.0, 0.5, 0.1, 0.1)] * 3, loads=[Gravity(1.0), JointDamper(1.0), Drag(1.0, 1.0), FollowerForce(1.0)]
    )
    assert len(mathml(everything)[1]) == 4
    for part in mathml(everything)[1]:
        ElementTree.fromstring(part["math"])
