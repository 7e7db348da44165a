"""What a user adds to nlink works everywhere."""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import nlink
from nlink.mechanics.loads import Each, Load, each

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


@dataclass(frozen=True)
class Bounded(Load):
    value: Each = each("N m", "Value", "v", above=0)


def test_both_kinds_of_bounds_of_a_parameter_hold():
    assert Bounded([1.0, 2.0]).value == (1.0, 2.0)
    with pytest.raises(nlink.ModelError, match=r"Bounded\.value must be positive, got 0"):
        Bounded(0.0)
    with pytest.raises(nlink.ModelError, match=r"LinkDamper\.damping must"):
        nlink.LinkDamper(-1.0)


def test_a_load_with_a_law_works_in_every_formulation_integrator_ensemble_and_analysis(tmp_path):
    script = Path(__file__).with_name("extended_load.py")
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["simulated", "stored", "linearised", "varied", "told"]


def test_a_load_is_registered_before_the_kernels_are_compiled(tmp_path):
    program = "import nlink; nlink.formulate(nlink.Chain.uniform(1)); nlink.mechanics.loads.register(nlink.LinkDamper)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert "ModelError: register LinkDamper before the first simulation: the kernels are compiled for all loads" in done.stderr


def test_a_load_needs_a_name_of_its_own_and_a_law(tmp_path):
    program = "from nlink.mechanics.loads import Law, LinkDamper, Load, register; register({})"
    kinds = {
        "LinkDamper": "LinkDamper.name must be new, got 'link_damper', which LinkDamper has",
        "type('Own', (Load,), {'name': 'own'})": "Own.law must be a Law on joints, or one on links without stiffness",
        "type('Own', (Load,), {'name': 'own', 'law': Law('link', stiffness='k')})": "Own.law must be a Law on joints, or one on",
    }
    for kind, message in kinds.items():
        words = [sys.executable, "-c", program.replace("{}", kind)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
        assert f"ModelError: {message}" in done.stderr


def example(title: str) -> dict:
    """Return the names that the first example of a section of docs/extending.md defines."""
    names: dict = {"__name__": __name__}
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1]
    exec(compile(section.split("```python\n")[1].split("```")[0], str(PAGE), "exec"), names)
    return names


def test_an_output_works_in_lanes_by_both_methods_with_what_varies_and_one_by_one():
    keep = example("An output")["Travel"]()
    chain, theta, masses = nlink.Chain.uniform(2), np.array([[1.0, 0.5], [2.5, -1.0], [0.3, 3.0]]), np.array([1.0, 2.0, 3.0])
    options = {"t_end": 3.0, "vary": {"mass[2]": masses}, "keep": (keep, nlink.Final())}
    found = {
        method: nlink.simulate_many(chain, theta, integrator=method, **options) for method in (None, "DOP853", "RK4(step=0.001)")
    }
    for many in found.values():
        assert many.travel.attrs == {"units": "rad", "long_name": "angle travelled by the first link"}
    links = chain.links
    for k in range(3):
        own = nlink.Chain([links[0], replace(links[1], mass=masses[k])], chain.loads)
        turned = nlink.simulate(own, theta[k], t_end=3.0, save=1e-4).theta[:, 0]
        for many in found.values():
            assert many.travel[k] <= np.abs(np.diff(turned)).sum() + 1e-6
            assert many.travel[k] == pytest.approx(np.abs(np.diff(turned)).sum(), rel=0.2)


@pytest.fixture
def pair(monkeypatch):
    """Return the Runge-Kutta pair of docs/extending.md."""
    monkeypatch.setattr("nlink.integrators.INTEGRATORS", dict(nlink.INTEGRATORS))
    return example("An integrator")["BogackiShampine"]


def test_a_runge_kutta_pair_works_in_every_formulation_and_is_resumed_to_the_bit(pair):
    chain, theta, method = nlink.Chain.uniform(2), [0.3, 0.5], pair(rtol=1e-7, atol=1e-7)
    for form in nlink.FORMULATIONS:
        options = {"formulation": form, "save": 0.1}
        run = nlink.simulate(chain, theta, t_end=1.0, integrator=method, **options)
        wanted = nlink.simulate(chain, theta, t_end=1.0, integrator="DOP853", **options)
        np.testing.assert_allclose(run.theta, wanted.theta, atol=1e-5, err_msg=form)
        assert run.stats.steps > 2 * wanted.stats.steps, form
        parts = nlink.simulate(chain, theta, t_end=0.45, integrator=method, **options).resume(1.0)
        np.testing.assert_array_equal(parts.theta, run.theta[np.isin(run.t, parts.t)], err_msg=form)


def test_a_registered_integrator_has_a_name_in_texts_and_files(pair, tmp_path):
    run = nlink.simulate(nlink.Chain.uniform(2), 0.5, t_end=0.5, integrator="BogackiShampine(atol=1e-6)", file=tmp_path / "run.nc")
    assert run.scenario.settings.integrator == pair(atol=1e-6)
    resumed = nlink.load(tmp_path / "run.nc").resume(1.0)
    assert resumed.meta["integrator"] == "BogackiShampine(rtol=1e-09, atol=1e-06)"
    whole = nlink.simulate(nlink.Chain.uniform(2), 0.5, t_end=1.0, integrator=pair(atol=1e-6))
    np.testing.assert_array_equal(resumed.theta, whole.theta)
    with pytest.raises(nlink.ModelError, match=r"BogackiShampine\.max_steps must be a whole number, at least 1, got 0"):
        pair(max_steps=0)


def test_a_formulation_works_with_every_load_and_integrator(monkeypatch):
    monkeypatch.setattr("nlink.formulations.FORMULATIONS", dict(nlink.FORMULATIONS))
    relative = example("A formulation")["Relative"]
    loads = [
        nlink.Gravity(9.81),
        nlink.JointDamper(0.1),
        nlink.JointSpring(1.0),
        nlink.Drag(0.1, 0.2),
        nlink.TipForce(0.3, 0.2),
    ]
    chain, theta = nlink.Chain.uniform(3, loads=loads), [1.0, 0.5, -0.2]
    wanted = nlink.simulate(chain, theta, t_end=2.0, integrator="DOP853", save=0.1)
    for method in ("DOP853", "RK4(step=0.002)", "LSODA"):
        run = nlink.simulate(chain, theta, t_end=2.0, formulation=relative(), integrator=method, save=0.1)
        np.testing.assert_allclose(run.theta, wanted.theta, atol=1e-6)
        assert np.abs(run.energy().residual).max() < 1e-5
    with pytest.raises(nlink.ModelError, match="Taylor takes the formulation recursive, not relative"):
        nlink.simulate(chain, theta, t_end=1.0, formulation="relative", integrator="Taylor")


def test_an_analysis_follows_a_motion_to_its_end_or_says_why_not():
    turning = example("An analysis")["turning"]
    chain, theta, omega = nlink.Chain.uniform(2), [0.5, 2.0], [8.0, 1.0]
    found, run = turning(chain, theta, omega, t_end=5.0), nlink.simulate(chain, theta, omega, t_end=5.0)
    np.testing.assert_allclose(found.rate, (run.theta[-1] - run.theta[0]) / 5.0, atol=1e-7)
    assert (found.status.code, found.t) == ("finished", 5.0)

    def raises(t):
        if t > 0.5:
            raise ZeroDivisionError("too late")
        return 0.1

    failed = turning(chain.with_loads(nlink.JointTorque(raises)), theta, omega, t_end=5.0)
    assert failed.status.code == "torque_failed"
    assert "ZeroDivisionError: too late" in failed.status.message
    assert 0 < failed.t < 0.6
    assert np.isfinite(failed.rate).all()


def test_the_letter_of_a_parameter_is_new(tmp_path):
    program = """if True:
        from dataclasses import dataclass
        from typing import ClassVar
        from nlink.mechanics.loads import Each, Law, Load, each, register
        @register
        @dataclass(frozen=True)
        class Brake(Load):
            name: ClassVar[str] = "brake"
            label: ClassVar[str] = "brakes"
            law: ClassVar = Law("link", damping="damping")
            damping: Each = each("N m s/rad", "Damping", LETTER, least=0)
        from nlink.mechanics.parameters import PARAMETERS
        print([name for name in PARAMETERS if name.startswith("brake")])
        """
    told = {
        "kappa": "ModelError: Brake.damping: the letter 'kappa' is that of link_damper; choose another",
        "f": "ModelError: Brake.damping: the letter 'f' is that of angles, links or written code; choose another",
        "beta": "['brake.damping']",
    }
    for letter, answer in told.items():
        words = [sys.executable, "-c", program.replace("LETTER", repr(letter))]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
        assert answer in done.stdout + done.stderr


def test_a_run_is_resumed_by_a_process_that_knows_more_loads(tmp_path):
    """Without the compiler, for a set of loads has kernels of its own."""
    options = "integrator='RK4(step=0.01)', save=0.05"
    start = f"nlink.simulate(nlink.Chain.uniform(2).with_loads(nlink.JointDamper(0.1)), [1.0, 0.5], {options}, "
    write = f"import nlink; {start} t_end=0.1, file='a.nc')"
    go_on = f"""
from pathlib import Path
exec(Path({str(PAGE)!r}).read_text().split('```python')[1].split('```')[0])
import nlink
run, whole = nlink.load('a.nc').resume(0.2), {start} t_end=0.2)
print(abs(run.theta[-1] - whole.theta[-1]).max(), abs(run.work['joint_damper'][-1] - whole.work['joint_damper'][-1]))
"""
    plain = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    for program, answer in ((write, ""), (go_on, "0.0 0.0")):
        words = [sys.executable, "-c", program]
        done = subprocess.run(words, cwd=tmp_path, env=plain, capture_output=True, text=True, timeout=600, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, answer), done.stderr
