"""`nlink compile`: the common paths compiled ahead."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import python
from numba.core import config

from nlink._support.progress import QUIET
from nlink.cli import compile as command
from nlink.compiled import announcing
from nlink.compiled.jit import COMPILING, entry

pytestmark = pytest.mark.skipif(not COMPILING, reason="nothing is compiled")


def half(x):
    """Return half of x."""
    return 0.5 * x


def third(x):
    """Return a third of x."""
    return x / 3


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Let the command know two small paths, and an empty cache."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(announcing, "_file", [tmp_path / "compile-times.json"])
    monkeypatch.delenv(QUIET, raising=False)
    first, second = entry("halves")(half), entry("thirds")(third)
    monkeypatch.setattr(command, "paths", lambda: {"the halves": lambda: first(2.0), "the thirds": lambda: second(2.0)})
    return first


def states(capsys, **options):
    """Return what the command tells of its paths."""
    command.compile(as_json=True, **options)
    return list(json.loads(capsys.readouterr().out)["paths"].values())


def test_what_is_missing_is_compiled_and_listed(small, capsys):
    assert states(capsys, only_list=True) == ["missing", "missing"]
    with announcing.waiting("the halves"):
        small(2.0)
    capsys.readouterr()
    assert states(capsys, only_list=True) == ["compiled", "missing"]
    command.compile()
    out, err = capsys.readouterr()
    assert err == "nlink: compiling the thirds, some seconds, once on this machine\n"
    assert "1 of 2 compiled in" in out
    assert states(capsys, only_list=True) == ["compiled", "compiled"]


def test_a_path_that_something_else_has_compiled_is_noted(small, capsys, monkeypatch):
    small(2.0)
    again = entry("halves")(half)  # as in a new process
    monkeypatch.setattr(command, "paths", lambda: {"the halves": lambda: again(2.0)})
    capsys.readouterr()
    assert states(capsys, only_list=True) == ["missing"]
    command.compile()
    assert capsys.readouterr().err == ""
    assert states(capsys, only_list=True) == ["compiled"]


def test_every_path_runs():
    """As plain Python: to compile all of them takes minutes."""
    code = "from nlink.cli.compile import paths; print(len([path() for path in paths().values()]))"
    done = python(code, NUMBA_DISABLE_JIT="1")
    assert int(done.stdout) == len(command.paths())


@pytest.mark.parametrize("words", [["compile"], ["run", "point-2"], ["lyapunov", "point-2"], ["map", "flip"]])
def test_ctrl_c_ends_a_command_that_compiles(tmp_path, words):
    """Also inside a loop that would keep what it has."""
    environment = {key: value for key, value in os.environ.items() if key != QUIET} | {"NLINK_CACHE_DIR": str(tmp_path / "cache")}
    command = str(Path(sys.executable).with_name("nlink"))
    process = subprocess.Popen(
        [command, *words], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("nlink: compiling ")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=100) == ("", "nlink: interrupted\n")
    assert process.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert not [path for path in tmp_path.rglob("*") if ".tmp." in path.name]
