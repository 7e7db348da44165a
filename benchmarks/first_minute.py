"""What a new user waits for: processor time of first calls with nothing compiled, each from an empty cache, and again when warm.

The last line is what every program that uses these libraries takes: `import numba, scipy.integrate`. Python finds the bytecode of
all modules, as `pip install` leaves it: without, as with PYTHONDONTWRITEBYTECODE in a clone, a warm command takes 0.25 s more.
"""

from __future__ import annotations

import compileall
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import nlink

COMMAND = str(Path(sys.executable).with_name("nlink"))
LOADED = "simulate(chain.with_loads(JointDamper(0.1), JointSpring(2.0)), 1.0, t_end=1.0)"
MANY = "import numpy as np; starts = np.ones((8, 2)); simulate_many(chain, starts, t_end=1.0"
PYTHON = {
    "simulate(...)": "simulate(chain, 1.0, t_end=1.0)",
    "simulate(...), then with other loads": f"simulate(chain, 1.0, t_end=1.0); {LOADED}",
    "simulate_many(...)": f"{MANY})",
    "simulate_many(..., keep=FTLE())": f"{MANY}, keep=FTLE())",
    "simulate_many(..., integrator=DOP853())": f"{MANY}, integrator=DOP853())",
}
WORDS = {
    "nlink run chaotic-5": "run chaotic-5 -o run.nc",
    "nlink run four-bar": "run four-bar -o run.nc",
    "nlink compare chaotic-3": "compare chaotic-3",
    "nlink lyapunov chaotic-5": "lyapunov chaotic-5 --until 20",
    "nlink map flip": "map flip --size 40x40 -o flip.png",
}


def seconds(words: list[str], cache: str) -> float:
    """Return the processor time of a command in a folder of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(words, cwd=folder, env=environment | {"NLINK_CACHE_DIR": cache}, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Print the table."""
    for folder in nlink.__path__:
        compileall.compile_dir(folder, quiet=2)
    first = "from nlink import *; chain = Chain.uniform(2); "
    paths = {name: [sys.executable, "-c", first + text] for name, text in PYTHON.items()}
    paths |= {name: [COMMAND, *text.split()] for name, text in WORDS.items()}
    paths["import numba, scipy.integrate"] = [sys.executable, "-c", "import numba, scipy.integrate"]
    print(f"{'processor time in s':<42} {'cold':>7} {'warm':>7}")
    for name, words in paths.items():
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = (seconds(words, cache) for _ in range(2))
        print(f"{name:<42} {cold:7.1f} {warm:7.2f}", flush=True)


if __name__ == "__main__":
    main()
