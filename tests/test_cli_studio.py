"""`nlink studio` as a command: it starts, it ends, and it says in a sentence why it cannot."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import worked
from studio_server import children, gone, started, stopped

from nlink.cli import main
from nlink.scenario import preset

pytest.importorskip("fastapi", reason="needs the extra web: make setup")

from websockets.sync.client import connect

from nlink.studio.messages import page_model


def failed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["nlink", "studio", "--no-browser", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0), capsys.readouterr().err


def test_without_the_extra_it_says_how_to_install_it(monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else found(name))
    code, told = failed(monkeypatch, capsys)
    assert code == 2
    assert told == "nlink: the studio needs packages that are not installed: pip install fastapi uvicorn websockets\n"


def test_a_used_port_is_one_sentence(monkeypatch, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, told = failed(monkeypatch, capsys, "--port", str(port))
    assert code == 5
    assert told == f"nlink: port {port} is in use; give another with --port, or --port 0 for a free one\n"


@pytest.mark.parametrize(
    ("argument", "code", "text"),
    [
        ("chaotik-5", 3, "there is no preset 'chaotik-5' (did you mean 'chaotic-5'?)"),
        ("missing.toml", 5, "missing.toml"),
        ("missing.nc", 5, "missing.nc"),
    ],
)
def test_a_model_that_is_not_there_is_one_sentence(monkeypatch, capsys, argument, code, text):
    left, told = failed(monkeypatch, capsys, argument)
    assert left == code
    assert text in told
    assert told.count("\n") == 1


def test_too_long_a_chain_is_one_sentence(monkeypatch, capsys, tmp_path):
    (tmp_path / "long.toml").write_text("links = 5000")
    code, told = failed(monkeypatch, capsys, str(tmp_path / "long.toml"))
    assert code == 3
    assert "links must be at most 200 in the studio, got 5000" in told


def test_ctrl_c_ends_it_and_its_workers_without_a_word_too_many(tmp_path):
    process, address = started(tmp_path, "nice-3")
    assert address.startswith("http://127.0.0.1:")
    assert "/?token=" in address
    workers = children(process.pid)
    assert len(workers) >= 2
    code, told = stopped(process)
    assert code == 0
    assert "Traceback" not in told
    assert told.splitlines()[-1] == "nlink: the studio is closed"
    assert gone(workers)


def test_a_killed_studio_leaves_no_orphans(tmp_path):
    process, address = started(tmp_path)
    workers = children(process.pid)
    base, token = address.split("/?token=")
    model = page_model(preset("chaotic-3"))
    model["run"] |= {"t_end": 200_000.0, "save": 0.1}
    with connect(f"{base.replace('http', 'ws')}/ws?session=a&token={token}") as socket:
        socket.send(json.dumps({"type": "start", "job": "j1", "kind": "compare", "request": {"model": model}}))
        while "started" not in str(socket.recv()):
            pass
        worked(0.5, *workers)  # busy, not waiting at its pipe
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=20)
        assert gone(workers)


def test_it_listens_on_this_machine_only(tmp_path):
    process, address = started(tmp_path)
    port = address.split(":")[2].split("/")[0]
    listening = Path("/proc/net/tcp").read_text()
    stopped(process)
    assert f"0100007F:{int(port):04X} 00000000:0000 0A" in listening
    assert f"00000000:{int(port):04X} 00000000:0000 0A" not in listening


def test_help_names_the_options():
    told = subprocess.run(
        [sys.executable, "-c", "from nlink.cli import main; main()", "studio", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for option in ("--port", "--no-browser", "--runs"):
        assert option in told
