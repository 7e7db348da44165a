"""A run made up from formulas, so that the tests of pictures need no solver and know every angle exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from nlink.mechanics import kinematics
from nlink.mechanics.chain import Chain, Multibody
from nlink.run.run import Run, Stats, Status, Trajectory
from nlink.scenario import Scenario


def motion(n: int, t: np.ndarray, spin: float = 0.0) -> Trajectory:
    """theta_i = 0.4 + i/10 + spin t + 0.8 sin(w_i t), w_i = 2 + i/2; rates and accelerations by differentiation."""
    i, t = np.arange(n), np.asarray(t, float)
    w, s = 2.0 + i / 2, t[:, None]
    theta = 0.4 + i / 10 + spin * s + 0.8 * np.sin(w * s)
    return Trajectory(t, theta, spin + 0.8 * w * np.cos(w * s), -0.8 * w**2 * np.sin(w * s))


def made_run(
    n: int = 2,
    *,
    times: Any = None,
    spin: float = 0.0,
    chain: Multibody | None = None,
    knots: Any = None,
    work: tuple[str, ...] = (),
    title: str = "Made up",
    trusted: float | None = None,
) -> Run:
    """Return a run of that motion at the saved times; each load in `work` has done its share of the energy's change."""
    chain = chain or Chain.uniform(n)
    track = motion(chain.n, np.arange(101) / 100 if times is None else np.asarray(times, float), spin)
    kinetic, potential = kinematics.kinetic_energy(chain, track.theta, track.omega), kinematics.potential_energy(chain, track.theta)
    total = kinetic + potential
    shares = {name: (total - total[:1]) / len(work) for name in work}
    return Run(
        Scenario(chain, tuple(motion(chain.n, np.zeros(1)).theta[0]), title=title),
        *track,
        kinetic=kinetic,
        potential=potential,
        work=shares,
        drift=np.zeros(len(track.t)),
        status=Status("finished", "reached its end"),
        stats=Stats(0, 0, 0, 0.0),
        knots=None if knots is None else motion(chain.n, knots, spin),
        trusted_until=trusted,
    )
