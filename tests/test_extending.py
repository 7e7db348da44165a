"""What a user adds to nlink works everywhere."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import nlink
from nlink.mechanics.loads import Each, Load, each


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
