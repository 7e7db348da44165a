"""`lagrange`: agreement with `momentum` in all its options, the balance of power, and its life in the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import TOLERANCE, energy_rate, moving, python, random_chain, relative_difference
from hypothesis import given

from nlink import Chain, JointTorque, Lagrange, ModelError, formulate, simulate
from nlink.formulations import lagrange
from nlink.symbolic.kernel import source

OPTIONS = [Lagrange(simplify, solve) for simplify in (True, False) for solve in ("matrix", "substitution")]
each_option = pytest.mark.parametrize("options", OPTIONS, ids=str)
sizes = pytest.mark.parametrize("n", [1, 2, 3, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 6, 7, 8))])


@each_option
@sizes
def test_every_load_agrees_with_momentum(options, n):
    """Bodies with offsets, rods, point masses and massless links by turns; constant, sine and table torques."""
    for seed in range(5):
        chain, theta, omega = random_chain(n, seed)
        mine, other = formulate(chain, options), formulate(chain, "momentum")
        for t in (0.0, 0.31, 2.0):
            difference = relative_difference(mine.accelerations(theta, omega, t), other.accelerations(theta, omega, t))
            assert difference <= TOLERANCE["agreement"]


@each_option
@given(case=moving(most=4))
def test_any_loads_agree_with_momentum(options, case):
    chain, theta, omega, t = case
    wanted = formulate(chain, "momentum").accelerations(theta, omega, t)
    got = formulate(chain, options).accelerations(theta, omega, t)
    assert np.max(np.abs(got - wanted)) <= TOLERANCE["agreement"] * max(np.max(np.abs(wanted)), 1.0)


@each_option
@given(case=moving(most=4))
def test_the_power_of_the_loads_is_the_rate_of_energy(options, case):
    chain, theta, omega, t = case
    system = formulate(chain, options)
    rates = system.rates(t, np.concatenate([theta, omega, np.zeros(system.full_size - system.size)]))
    change = energy_rate(chain, theta, omega, rates[chain.n : 2 * chain.n])
    scale = max(1.0, np.max(np.abs(rates)) * sum(k.hinge_inertia + 1.0 for k in chain.links) * (1.0 + np.max(np.abs(omega))))
    assert change == pytest.approx(np.sum(rates[2 * chain.n :]), abs=1e-10 * scale)


@each_option
def test_a_run_is_that_of_the_recursive_form(options):
    chain, theta, omega = random_chain(3)
    run = simulate(chain, theta, omega, t_end=2.0, formulation=options, rtol=1e-11, atol=1e-11)
    other = simulate(chain, theta, omega, t_end=2.0, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(run.theta, other.theta, atol=1e-8)
    assert np.max(np.abs(run.energy().residual)) < 1e-8


def test_python_torques_reach_it():
    chain, theta, omega = random_chain(3)
    driven = chain.with_loads(JointTorque(lambda t: [t, -2.0, 3 * t]))
    got, wanted = (formulate(driven, name).accelerations(theta, omega, 0.5) for name in ("lagrange", "momentum"))
    np.testing.assert_allclose(got, wanted, rtol=1e-11)


def test_fifteen_links_are_derived_and_written_and_agree():
    text = source(15, True, False, lagrange.FORCE, lagrange.MATRIX)
    assert text.count("\n") > 500
    chain, theta, omega = random_chain(15)
    got, wanted = (formulate(chain, name).accelerations(theta, omega, 0.3) for name in ("lagrange", "momentum"))
    assert relative_difference(got, wanted) <= TOLERANCE["agreement"]


# Refusals ------------------------------------------------------------------------------------------------------------


def test_too_many_links_are_refused():
    n = lagrange.LARGEST + 1
    with pytest.raises(ModelError, match=f"lagrange takes up to N = {n - 1} links, got {n}; use momentum or recursive"):
        formulate(Chain.uniform(n), "lagrange")


def test_options_by_text_and_bad_options():
    chain = Chain.uniform(2)
    assert formulate(chain, "lagrange").formulation == Lagrange(simplify=True, solve="matrix")
    text = "Lagrange(simplify=False, solve='substitution')"
    assert str(formulate(chain, text).formulation) == text
    with pytest.raises(
        ModelError, match=r"Lagrange\.solve must be one of matrix, substitution; got 'matrx' \(did you mean 'matrix'\?\)"
    ):
        Lagrange(solve="matrx")
    with pytest.raises(ModelError, match=r"Lagrange\.simplify must be True or False, got 1"):
        Lagrange(simplify=1)  # pyright: ignore[reportArgumentType]


# The cache -----------------------------------------------------------------------------------------------------------

USE = """
import json, sys, time
from nlink import Chain, formulate
from nlink.formulations import lagrange
begun = time.perf_counter()
system = formulate(Chain.uniform(2), "lagrange")
seconds = time.perf_counter() - begun
module = sys.modules["nlink_generated.lagrange_2_simplified_matrix"]
first = list(system.accelerations([0.5, 0.7], [0.1, 0.2]))
print(json.dumps([first, "sympy" in sys.modules, module.rates.cache_hits, seconds]))
"""


def test_two_first_processes_at_once_and_a_third_that_only_loads(tmp_path):
    command = [sys.executable, "-W", "error", "-c", USE]
    environment = {"NLINK_CACHE_DIR": str(tmp_path)}
    both = [subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    results = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    third = json.loads(python(USE, **environment).stdout)
    wanted = formulate(Chain.uniform(2), "momentum").accelerations([0.5, 0.7], [0.1, 0.2])
    for values, derived, hits, _ in results:
        np.testing.assert_allclose(values, wanted, rtol=1e-12)
        assert derived or hits == 1  # one may find what the other has just written
    assert third[:3] == [results[0][0], False, 1]
    assert third[3] < 1.0
    assert [path.name for path in tmp_path.rglob("*lagrange_2*.py")] == ["lagrange_2_simplified_matrix.py"]


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Give `generated` a folder and a package of its own."""
    monkeypatch.setattr(lagrange, "FOLDER", tmp_path)
    monkeypatch.setattr(lagrange, "PACKAGE", f"generated_{tmp_path.name}")
    return tmp_path / "generated"


def test_a_kill_while_writing_leaves_no_half_module(fresh, monkeypatch):
    def torn(path, text, **_):
        path.write_bytes(text.encode()[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.write_text", torn)
    with pytest.raises(KeyboardInterrupt):
        lagrange.generated(1, True, False)
    assert list(fresh.iterdir()) == []


def test_what_a_killed_process_left_behind_is_ignored(fresh):
    fresh.mkdir()
    (fresh / ".lagrange_1_simplified_matrix.0123abcd.py").write_text("def rates(")
    assert lagrange.generated(1, True, False).rates.address


def test_a_module_written_meanwhile_is_kept(fresh, monkeypatch):
    """Its date must not change: the compiled code of the other process would be stale."""
    path = fresh / "lagrange_1_simplified_matrix.py"

    def slow(*arguments):
        fresh.mkdir()
        path.write_text("rates = 'of the other process'\n")
        return source(*arguments)

    monkeypatch.setitem(sys.modules, "nlink.symbolic.kernel", SimpleNamespace(source=slow))
    assert lagrange.generated(1, True, False).rates == "of the other process"


def test_formulations_do_not_import_sympy():
    assert python("import sys, nlink.formulations; print('sympy' in sys.modules)").stdout.strip() == "False"
