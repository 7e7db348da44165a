"""What a user meets while something compiles: one true line, and an answer to Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext

import numpy as np
import pytest
from helpers import python
from numba.core import config, event

import nlink
from nlink._support.interrupt import Interrupt
from nlink._support.progress import QUIET
from nlink.compiled import announcing
from nlink.compiled.announcing import waiting
from nlink.compiled.answering import answering
from nlink.compiled.jit import COMPILING, entry, uncached

pytestmark = pytest.mark.skipif(not COMPILING, reason="nothing is compiled")


def double(x):
    """Return twice x."""
    return 2 * x


def triple(x):
    """Return three times x."""
    return 3 * x


@pytest.fixture(autouse=True)
def cold(tmp_path, monkeypatch):
    """Give each test an empty cache and no memory of earlier compilations."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(announcing, "_file", [tmp_path / "compile-times.json"])
    monkeypatch.delenv(QUIET, raising=False)


def test_a_line_is_written_when_something_compiles_and_only_then(capsys):
    doubled = entry("doubles")(double)
    assert capsys.readouterr().err == ""
    assert doubled(2.0) == 4.0
    assert capsys.readouterr().err == "nlink: compiling doubles, some seconds, once on this machine\n"
    assert doubled(3.0) == 6.0
    assert entry("doubles")(double)(4.0) == 8.0  # as a new process: the cache has it
    assert capsys.readouterr() == ("", "")
    assert doubled(3) == 6  # other types
    assert capsys.readouterr().err == "nlink: compiling doubles, about 1 s, once on this machine\n"


def test_one_wait_has_one_line(capsys):
    with waiting(), waiting("two functions"), waiting("one of them"):
        assert entry("doubles")(double)(2.0) + entry("triples")(triple)(2.0) == 10.0
    assert capsys.readouterr().err == "nlink: compiling two functions, some seconds, once on this machine\n"


def test_the_estimate_is_for_what_the_cache_does_not_hold(capsys, tmp_path):
    def both(first, second):
        with waiting("both"):
            return entry("doubles")(first)(2.0) + entry("triples")(second)(2.0)

    both(double, triple)
    times = announcing.Times.read()
    assert [name.rpartition(".")[2] for name in times.waits["both"]] == ["double", "triple"]
    for k, part in enumerate(sorted(times.seconds)):
        times.seconds[part] = 20.0 + k
    times.write()
    for path in (tmp_path / "kernels").rglob("*double*"):
        path.unlink()
    capsys.readouterr()
    both(double, triple)
    assert "compiling both, about 20 s," in capsys.readouterr().err
    announcing.Times(dict(times.seconds), times.waits).write()
    for path in (tmp_path / "kernels").rglob("*.nb?"):
        path.unlink()
    both(double, triple)
    assert "compiling both, about 41 s," in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"seconds": 1, "waits": {}}', '{"seconds": {"a": "b"}, "waits": {}}', "\0\xff"]
)
def test_a_damaged_memory_counts_as_empty(tmp_path, content, capsys):
    (tmp_path / "compile-times.json").write_bytes(content.encode("latin-1"))
    assert entry("doubles")(double)(2.0) == 4.0
    assert "compiling doubles, some seconds," in capsys.readouterr().err


def test_a_listener_gets_the_line_in_place_of_stderr(capsys, monkeypatch):
    heard = []
    monkeypatch.setattr(announcing, "_listeners", [])
    announcing.announce_to(heard.append)
    with waiting("listening"):
        announcing.began(announcing.Part("made_for_a_listener", "()"))
    assert heard == ["compiling listening, some seconds, once on this machine"]
    assert capsys.readouterr().err == ""


def test_what_is_not_kept_says_so(capsys):
    assert uncached(double, "your doubles")(2.0) == 4.0
    assert "compiling your doubles, some seconds, in each process" in capsys.readouterr().err


def test_the_line_can_be_silenced_and_stderr_may_be_missing(capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        assert entry("doubles")(double)(2.0) == 4.0
    monkeypatch.setenv(QUIET, "1")
    assert entry("triples")(triple)(2.0) == 6.0
    assert capsys.readouterr() == ("", "")


def test_quiet_commands_are_silent():
    code = "import os; from nlink.cli import app; app(WORDS, standalone_mode=False)"
    code += f"; print(repr(os.environ.get('{QUIET}')))"
    environment = {key: value for key, value in os.environ.items() if key != QUIET}
    for words, expected in ((["run", "nice-3", "--dry-run", "-q"], "'1'"), (["run", "nice-3", "--dry-run"], "None")):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("WORDS", str(words))], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == expected


def press():
    """Send Ctrl-C to this process."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("inside", [False, True])
def test_the_main_thread_answers_while_another_compiles(inside):
    """LLVM cannot be stopped: the answer must not wait for it; nor for a loop that would look at a flag."""
    ended = threading.Event()

    def compile():
        press()
        assert ended.wait(60)

    with pytest.raises(KeyboardInterrupt), Interrupt() if inside else nullcontext():
        answering(compile)()
    ended.set()


def test_a_signal_that_came_before_is_answered_too():
    with Interrupt() as interrupt:
        press()
        with pytest.raises(KeyboardInterrupt):
            answering(lambda: None)()
        assert interrupt.asked


class PressedAt(event.Listener):
    """Presses Ctrl-C at the start of a pass of the compiler."""

    def __init__(self, number):
        self.left = number

    def on_start(self, event):
        self.left -= 1
        if self.left == 0:
            press()
            while not getattr(threading.current_thread(), "abandoned", True):
                threading.Event().wait(0.001)

    def on_end(self, event):
        pass


@pytest.mark.parametrize("number", [1, 10, 20])
def test_an_interrupted_compilation_leaves_nothing_and_can_be_repeated(tmp_path, number, capsys):
    doubled = entry("doubles")(double)
    with event.install_listener("numba:run_pass", PressedAt(number)), pytest.raises(KeyboardInterrupt):
        doubled(2.0)
    for thread in threading.enumerate():
        if thread.name == "nlink-compiling":
            thread.join(60)
    assert not list((tmp_path / "kernels").rglob("*.nb?"))
    assert not doubled.overloads
    assert doubled(2.0) == 4.0


def test_errors_of_the_compiler_come_through():
    with pytest.raises(Exception, match="Cannot determine Numba type"):
        uncached(double)(object())


def test_user_code_that_calls_an_entry_compiles(capsys):
    from numba import njit

    doubled = entry("doubles")(double)
    assert njit(lambda x: doubled(x) + 1.0)(2.0) == 5.0


INTERRUPTED = """
import nlink
print(nlink.formulate(nlink.Chain.uniform(2), "momentum").accelerations([0.5, 0.5], [0.0, 0.0]).tolist())
"""


def test_ctrl_c_in_a_script_that_compiles(tmp_path):
    """The line on stderr tells that it compiles; the next run compiles again, and works."""
    environment = {key: value for key, value in os.environ.items() if key != QUIET} | {"NLINK_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line == "nlink: compiling the equations of motion, about 2 s, once on this machine\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == -signal.SIGINT, err
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert out == ""
    assert not [path for path in tmp_path.rglob("*") if ".tmp." in path.name]
    done = python(INTERRUPTED, NLINK_CACHE_DIR=str(tmp_path))
    expected = nlink.formulate(nlink.Chain.uniform(2), "momentum").accelerations([0.5, 0.5], [0.0, 0.0])
    assert np.array_equal(np.array(eval(done.stdout)), expected)
