"""The mechanics without the compiler: `uncompiled.py` in a process of its own, as kernels are compiled or not for good."""

import os
import subprocess
import sys
from pathlib import Path


def test_the_mechanics_and_the_series_run_as_plain_python():
    tests = Path(__file__).with_name("uncompiled.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
