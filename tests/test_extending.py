"""What a user adds to nlink works everywhere."""

import subprocess
import sys
from pathlib import Path


def test_a_load_with_a_law_works_in_every_formulation_integrator_ensemble_and_analysis(tmp_path):
    script = Path(__file__).with_name("extended_load.py")
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["simulated", "linearised", "varied", "told"]


def test_a_load_is_registered_before_the_kernels_are_compiled(tmp_path):
    program = "import nlink; nlink.formulate(nlink.Chain.uniform(1)); nlink.mechanics.loads.register(nlink.LinkDamper)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert "ModelError: register LinkDamper before the first simulation: the kernels are compiled for all loads" in done.stderr
