"""Attacks on the GPU: one that is lost while an ensemble is computed on it."""

from __future__ import annotations

from pathlib import Path

from torture.attack import Absent, Measure, attack, ended, start_python

CALL = """
import hashlib, sys
import numpy as np
from nlink import Chain, Cuda, Final, FlipTime, simulate_many
from nlink.ensemble import gpu

theta = np.random.default_rng(3).uniform(-3.0, 3.0, (400_000, 2))
landed, count = gpu.landed, 0


def lose(*arguments):
    global count
    count += 1
    if count == 2:
        from numba import cuda

        @cuda.jit
        def astray(values):
            for k in range(1 << 10):
                values[k << 40] = 1.0  # far outside of the memory that the card has

        astray[1, 1](cuda.device_array(1))
    return landed(*arguments)


class Small(Cuda):
    def size(self, job):
        return 50_000


if sys.argv[1] == "lost":
    gpu.landed = lose
found = simulate_many(Chain.uniform(2), theta, t_end=20.0, keep=(Final(), FlipTime()), backend=Small())
digest = hashlib.sha256()
for name in sorted(map(str, found)):
    digest.update(np.ascontiguousarray(found[name].values).tobytes())
print(digest.hexdigest())
"""


def has_card() -> bool:
    try:
        from nlink.compiled.cuda import usable_cuda

        usable_cuda()
    except Exception:
        return False
    return True


@attack("a BackendError in a sentence, no crash; the same call again gives the same bits", full=5, sample=1)
def cards_that_are_lost(k: int, folder: Path) -> Measure:
    if not has_card():
        raise Absent("no GPU")
    wanted, broken, again = (ended(start_python("-c", CALL, word, cwd=folder)) for word in ("whole", "lost", "whole"))
    assert wanted.code == 0, wanted.err[-2000:]
    assert broken.code == 1, f"exit {broken.code}: {broken.err[-2000:]}"
    assert "BackendError: the GPU failed" in broken.err.strip().splitlines()[-1], broken.err[-2000:]
    assert (again.code, again.out) == (0, wanted.out), again.err[-2000:]
    return broken.cost
