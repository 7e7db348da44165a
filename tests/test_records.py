"""Records by name and by text: read as data, never evaluated."""

from __future__ import annotations

import math

import pytest

from nlink import DOP853, INTEGRATORS, RK4, RK45, Gauss, ModelError, Scipy
from nlink._support.records import record
from nlink.integrators import integrator_record


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("RK4", RK4()),
        ("rk4", RK4()),
        ("RK4(step=0.25)", RK4(0.25)),
        ("  Gauss( step = 1e-2 ) ", Gauss(0.01)),
        ("Scipy(method='BDF', rtol=1e-4)", Scipy("BDF", 1e-4)),
        ("DOP853(max_step=inf, max_steps=7)", DOP853(max_step=math.inf, max_steps=7)),
    ],
)
def test_a_text_makes_its_record(text, made):
    assert record("integrator", text, INTEGRATORS) == made


@pytest.mark.parametrize("made", [RK4(0.3), RK45(1e-3, 1e-6, 0.5, 12), Gauss(), Scipy("LSODA"), DOP853()])
def test_the_text_of_a_record_is_its_repr(made):
    assert record("integrator", repr(made), INTEGRATORS) == made
    assert record("integrator", made, INTEGRATORS) is made
    assert record("integrator", type(made), INTEGRATORS) == type(made)()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("RK4(step=1)(step=2)", "integrator must read like Name"),
        ("RK4(step=1, step=2)", "integrator must read like Name"),
        ("RK4(step=" + 100_000 * "-" + "1)", "integrator must read like Name"),
        ("Euler", "integrator must be one of DOP853, RK45, RK4, Gauss, Rattle, Scipy, IDA, Taylor; got 'Euler'"),
        ("RK44", "did you mean 'RK4"),
        ("RK4(stp=1)", r"RK4 has no option 'stp' \(did you mean 'step'\?\)"),
        ("RK4(0.1)", r"must read like Name\(key=value, ...\)"),
        ("RK4(step=0.1", "must read like"),
        ("RK4(**{})", "must read like"),
        ("RK4(step=-1)", "RK4.step must be positive, got -1"),
        ("RK4(step=True)", "RK4.step must be a number, got True"),
        ("RK4(step=nan)", "RK4.step must be finite"),
        ("RK4(max_steps=0)", "RK4.max_steps must be a whole number, at least 1, got 0"),
        ("Scipy(method='Euler')", "Scipy.method must be one of Radau, BDF"),
        ("DOP853(rtol=0)", "DOP853.rtol must be positive"),
        ("DOP853(max_step=0)", "DOP853.max_step must be positive"),
        ("RK4(step=__import__('os').getpid())", "must be one of|must be a number, a word"),
        ("RK4(step=1+1)", "must be a number, a word in quotes or a record"),
        ("RK4(step=[x for x in (1,)])", "must be a number"),
        ("__import__('os').system('true')", "must be one of"),
        (3, "must be a name"),
        (None, "must be a name"),
    ],
)
def test_what_is_no_record_is_refused(spec, message):
    with pytest.raises(ModelError, match=message):
        record("integrator", spec, INTEGRATORS)


def test_tolerances_go_to_those_who_have_none():
    assert integrator_record(None, 1e-3, 1e-4) == DOP853(1e-3, 1e-4)
    assert integrator_record("RK45", 1e-3, 1e-4) == RK45(1e-3, 1e-4)
    assert integrator_record("RK45(rtol=1e-8)", 1e-3, 1e-4) == RK45(1e-8, 1e-4)
    assert integrator_record(RK45(), 1e-3, 1e-4) == RK45()
    assert integrator_record("Radau", 1e-3, 1e-4) == Scipy("Radau", 1e-3, 1e-4)
    assert integrator_record("RK4(step=0.5)", 1e-3, 1e-4) == RK4(0.5)


def test_a_method_describes_itself_briefly():
    assert RK4(0.5).described() == "RK4(step=0.5)"
    assert DOP853(max_steps=5).described() == "DOP853(rtol=1e-09, atol=1e-09, max_steps=5)"
