"""A run of a closed chain made up from formulas: its first link swings, its last one keeps parallel, those between stay level."""

from __future__ import annotations

from typing import Any

import numpy as np
from made_run import made_run

from nlink.mechanics.chain import Chain, Link
from nlink.mechanics.loads import Gravity
from nlink.run.run import EventRecord, Run


def made_loop(n: int = 3, *, times: Any = None, spin: float = 6.0, dead: tuple[float, ...] = (), inner: float = 1.0) -> Run:
    """Return a run of n rods on a pin at (n - 2) `inner`: theta_1 = 0.4 + spin t + 0.8 sin 2t, theta_n = theta_1 + pi, else pi/2.

    The first and the last link are 1 m long, those between `inner`. The force of the pin is (3 + t, 4 + t) N; `dead`: times of
    dead positions.
    """
    rods = [Link.rod(1.0 if i in (0, n - 1) else inner, 1.0) for i in range(n)]
    run = made_run(chain=Chain(rods, loads=[Gravity(9.81)], pin=((n - 2) * inner, 0.0)), times=times, spin=spin)
    run.theta[:, 1:-1], run.omega[:, 1:-1], run.alpha[:, 1:-1] = np.pi / 2, 0.0, 0.0
    run.theta[:, -1], run.omega[:, -1], run.alpha[:, -1] = run.theta[:, 0] + np.pi, run.omega[:, 0], run.alpha[:, 0]
    run.pin_force = np.stack([3.0 + run.t, 4.0 + run.t], 1)
    run.events = [EventRecord(t, "dead position", run.theta[0], run.omega[0], {"sigma": 0.0}) for t in dead]
    return run
