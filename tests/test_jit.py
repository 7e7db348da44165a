"""The compiler's border: the cache folder follows the sources, and the kernels run uncompiled too."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import python, random_chain, worked

import nlink
from nlink.compiled import cache_folder, jit
from nlink.integrators.steps import advance


def test_the_cache_folder_follows_the_sources(tmp_path, monkeypatch):
    package = tmp_path / "nlink"
    shutil.copytree(jit.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("NLINK_CACHE_DIR", str(tmp_path / "cache"))
    assert jit.cache_folder().parent == tmp_path / "cache" / "nlink"
    monkeypatch.setattr(jit, "PACKAGE", package)
    before = jit.cache_folder()
    assert before == jit.cache_folder()
    with (package / "formulations" / "recursive.py").open("a") as source:
        source.write("# changed\n")
    assert jit.cache_folder() != before


def test_compiled_code_lives_where_the_cache_looks():
    """A kernel outside COMPILED would run old code after an edit."""
    for path in set(jit.PACKAGE.rglob("*.py")) - set(jit.compiled_files()):
        text = path.read_text()
        assert "import numba" not in text, path
        assert "from numba" not in text, path
        assert not re.search(r"compiled.jit import .*(kernel|entry)", text), path


def test_a_cache_folder_that_cannot_be_written_is_replaced(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("NLINK_CACHE_DIR", str(blocked))
    folder = jit.cache_folder()
    assert folder.is_dir()
    assert blocked not in folder.parents


def kernels(parent, count, marked=True):
    """Make folders like those of older sources, the oldest first."""
    folders = [parent / f"kernels-{k:016x}" for k in range(count)]
    for k, folder in enumerate(folders):
        folder.mkdir(parents=True)
        (folder / "x.nbi").write_text("")
        if marked:
            (folder / cache_folder.MARK).write_text("")
        os.utime(folder, (k, k))
    return folders


def test_old_cache_folders_are_tidied(tmp_path):
    folders = kernels(tmp_path, 7)
    (tmp_path / cache_folder.MARK).write_text("")
    cache_folder.tidy(folders[0])
    assert sorted(tmp_path.glob("kernels-*")) == [folders[0], *folders[-cache_folder.KEEP + 1 :]]


@pytest.mark.parametrize("spoilt", ["parent without mark", "folders without mark", "links", "other names"])
def test_folders_that_nlink_did_not_make_are_never_removed(tmp_path, spoilt):
    own = tmp_path / "nlink"
    folders = kernels(own, 7, marked=spoilt != "folders without mark")
    if spoilt != "parent without mark":
        (own / cache_folder.MARK).write_text("")
    if spoilt == "links":
        for folder in folders[1:]:
            folder.rename(tmp_path / folder.name)
            folder.symlink_to(tmp_path / folder.name)
    if spoilt == "other names":
        folders = [folders[0]] + [folder.rename(own / f"my-{folder.name}") for folder in folders[1:]]
    cache_folder.tidy(folders[0])
    assert all((folder / "x.nbi").exists() for folder in folders)


def test_a_folder_nlink_that_is_someone_elses_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("NLINK_CACHE_DIR", str(tmp_path))
    clone = tmp_path / "nlink"
    for name in ("src", "docs", ".git"):
        (clone / name).mkdir(parents=True)
    before = sorted(clone.rglob("*"))
    folder = jit.cache_folder()
    cache_folder.tidy(folder)
    assert folder.parent == tmp_path / "nlink-cache"
    assert sorted(clone.rglob("*")) == before


FALLBACK = """
import os, sys
from nlink.compiled import jit
print(jit.FOLDER, flush=True)
if len(sys.argv) > 1: os.kill(os.getpid(), 9)
"""


def test_a_fallback_removes_itself_and_nothing_else(tmp_path):
    for name in ("a", "b", "nlink-kernels-abcdefgh", "nlink-thesis"):
        (tmp_path / "tmp" / name / "inside").mkdir(parents=True)
    decoys = sorted((tmp_path / "tmp").rglob("*"))

    def fallback(*words):
        places = {"TMPDIR": str(tmp_path / "tmp"), "NLINK_CACHE_DIR": "/proc/none"}
        done = subprocess.run(
            [sys.executable, "-c", FALLBACK, *words], env={**os.environ, **places}, capture_output=True, text=True
        )
        return Path(done.stdout.strip())

    ended = fallback()
    assert ended.parent == tmp_path / "tmp"
    assert sorted((tmp_path / "tmp").rglob("*")) == decoys
    killed = fallback("kill")
    assert killed.is_dir()
    fallback()
    assert sorted((tmp_path / "tmp").rglob("*")) == decoys


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


COMPILING_NEEDS = ["scipy.linalg", "numba.np.linalg", "numba.np.arrayobj", "sympy", "xarray", "matplotlib"]
MECHANISMS = ["nlink.mechanics.tree", "nlink.formulations.tree", "nlink.formulations.closure", "nlink.formulations.series.tree"]
SPACE = ["nlink.formulations.space.base", "nlink.formulations.space.series", "nlink.formulations.space.rattle"]


def test_a_run_whose_kernels_are_compiled_loads_nothing_that_only_compiling_or_other_models_need():
    code = f"""
import sys, nlink
nlink.simulate(nlink.Chain.uniform(2), 0.5, t_end=0.1)
print([m for m in {COMPILING_NEEDS + MECHANISMS + SPACE} if m in sys.modules])
"""
    python(code)
    assert python(code).stdout.strip() == "[]"


def test_the_index_of_the_cache_holds_words_alone():
    """To read types would import the modules of every model that a function has been compiled for."""
    nlink.simulate(nlink.Chain.uniform(2), 0.5, t_end=0.1)
    index = advance._cache._cache_file._load_index()
    assert index
    assert all(isinstance(word, str) for key in index for word in key)


@pytest.mark.parametrize("model", ["cart-2", "spherical-1"])
def test_the_series_of_a_model_comes_with_its_parameters(model):
    code = f"import nlink; print(repr(nlink.Taylor.refusal(nlink.formulate(nlink.preset('{model}').chain))))"
    assert python(code).stdout.strip() == "''"


def test_the_stage_of_rattle_comes_with_lines():
    code = """
import nlink
system = nlink.formulate(nlink.SpatialChain.uniform(1))
from nlink.mechanics.contract import RATTLES
print(type(system.parameters) in RATTLES)
"""
    assert python(code).stdout.strip() == "True"


START = """
import nlink
loads = nlink.JointSpring(1.0), nlink.JointDamper(0.1), nlink.Drag(0.1, 0.1), nlink.TipForce(1.0, 0.0)
for name in ("recursive", "maximal", "natural"):
    print(nlink.formulate(nlink.Chain.uniform(2).with_loads(*loads), name).accelerations([0.5, 0.5], [0.0, 0.0]).tolist())
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
    worked(2.0, killed.pid)
    killed.kill()
    killed.communicate()
    both = [started(tmp_path) for _ in range(2)]
    answers = [process.communicate(timeout=200) for process in both]
    assert all(process.returncode == 0 for process in both), answers
    assert answers[0][0] == answers[1][0]
    later = started(tmp_path)
    assert later.communicate(timeout=200)[0] == answers[0][0]
