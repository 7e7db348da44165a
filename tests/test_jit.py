"""The compiler's border: the cache folder follows the sources, and the kernels run uncompiled too."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np
from helpers import python, random_chain

import nlink
from nlink import _jit


def test_the_cache_folder_follows_the_sources(tmp_path, monkeypatch):
    package = tmp_path / "nlink"
    shutil.copytree(_jit.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("NLINK_CACHE_DIR", str(tmp_path / "cache"))
    assert _jit.cache_folder().parent == tmp_path / "cache" / "nlink"
    monkeypatch.setattr(_jit, "PACKAGE", package)
    before = _jit.cache_folder()
    assert before == _jit.cache_folder()
    with (package / "formulations" / "recursive.py").open("a") as source:
        source.write("# changed\n")
    assert _jit.cache_folder() != before


def test_compiled_code_lives_where_the_cache_looks():
    """A kernel outside COMPILED would run old code after an edit."""
    for path in _jit.PACKAGE.rglob("*.py"):
        if not _jit.compiled(path):
            text = path.read_text()
            assert "import numba" not in text, path
            assert "from numba" not in text, path
            assert not re.search(r"_jit import .*(kernel|entry)", text), path


def test_a_cache_folder_that_cannot_be_written_is_replaced(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("NLINK_CACHE_DIR", str(blocked))
    folder = _jit.cache_folder()
    assert folder.is_dir()
    assert blocked not in folder.parents


def test_old_cache_folders_are_tidied(tmp_path):
    folders = [tmp_path / name for name in "abcdefg"]
    for folder in folders:
        folder.mkdir()
    _jit.tidy(folders[0], keep=3)
    assert len(list(tmp_path.iterdir())) == 3
    assert folders[0].exists()


def test_the_kernels_run_without_the_compiler():
    chain, theta, omega = random_chain(4)
    code = """
import json, sys
sys.path.insert(0, "tests")
from helpers import random_chain
import nlink
chain, theta, omega = random_chain(4)
systems = [nlink.formulate(chain, name) for name in ("recursive", "momentum", "projection", "maximal", "natural")]
print(json.dumps([list(system.accelerations(theta, omega, 0.7)) for system in systems]))
"""
    done = python(code, NUMBA_DISABLE_JIT="1")
    for name, values in zip(("recursive", "momentum", "projection", "maximal", "natural"), json.loads(done.stdout), strict=True):
        compiled = nlink.formulate(chain, name).accelerations(theta, omega, 0.7)
        assert np.allclose(values, compiled, rtol=1e-11, atol=1e-11 * np.abs(compiled).max())


def test_importing_nlink_is_light():
    heavy = ["numba", "numpy", "scipy", "sympy", "xarray", "matplotlib", "h5py", "typer", "rich"]
    done = python(f"import sys, nlink; print([m for m in {heavy} if m in sys.modules])")
    assert done.stdout.strip() == "[]"


START = """
import nlink
print(nlink.formulate(nlink.Chain.uniform(2)).accelerations([0.5, 0.5], [0.0, 0.0]).tolist())
"""


def started(folder):
    return subprocess.Popen(
        [sys.executable, "-c", START],
        env={**os.environ, "NLINK_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_first_runs_side_by_side_and_a_kill_while_compiling_do_no_harm(tmp_path):
    killed = started(tmp_path)
    time.sleep(2.5)
    killed.kill()
    killed.communicate()
    both = [started(tmp_path) for _ in range(2)]
    answers = [process.communicate(timeout=200) for process in both]
    assert all(process.returncode == 0 for process in both), answers
    assert answers[0][0] == answers[1][0]
    later = started(tmp_path)
    assert later.communicate(timeout=200)[0] == answers[0][0]
