"""Runs in space made up from formulas, so that the tests of pictures need no solver and know how every link stands."""

from __future__ import annotations

from typing import Any

import numpy as np

from nlink.mechanics import kinematics
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.model import SpatialChain
from nlink.run.readout import trajectory
from nlink.run.run import Run, Stats, Status
from nlink.scenario import Scenario

STEP = 1e-4
"""s: rates and accelerations are differences over so much."""


def coordinates(chain: SpatialChain, t: np.ndarray) -> np.ndarray:
    """Lines and bodies swing and go around, each at its own pace; bodies spin about their axes (T, K)."""
    out = []
    for i, place in enumerate(chain.places):
        count, inc, az = place.stop - place.start, 0.7 + 0.2 * np.sin((1.5 + 0.4 * i) * t + i), (1.1 + 0.3 * i) * t + 0.8 * i
        e = np.stack([np.sin(inc) * np.cos(az), -np.cos(inc), np.sin(inc) * np.sin(az)], -1)
        if count == 3:
            out.append(e)
        elif count == 4:
            out.append(_turned(e, 5.0 * t))
        else:
            out.append(np.stack([np.sin((1.0 + k + i) * t + k) for k in range(count)], -1))
    return np.concatenate(out, -1)


def _turned(e: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Quaternions that bring straight down to e, after a turn about the vertical."""
    bow = np.stack([1 - e[:, 1], -e[:, 2], 0 * spin, e[:, 0]], -1)
    w, x, _, z = (bow / np.linalg.norm(bow, axis=-1, keepdims=True)).T
    c, s = np.cos(spin / 2), np.sin(spin / 2)
    return np.stack([w * c, x * c - z * s, w * s, z * c + x * s], -1)


def motion(chain: SpatialChain, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    before, here, after = (coordinates(chain, t + step) for step in (-STEP, 0.0, STEP))
    return here, (after - before) / (2 * STEP), (after - 2 * here + before) / STEP**2


def spatial_run(chain: SpatialChain, times: Any = None, title: str = "Made up in space", trusted: float | None = None) -> Run:
    """Return a run of that motion at the saved times."""
    t = np.arange(201) / 50 if times is None else np.asarray(times, float)
    position, velocity, acceleration = motion(chain, t)
    kinetic, potential = kinematics.energies(chain, position, velocity)
    start = [row.tolist() for row in (position[0, place] for place in chain.places)]
    scenario = Scenario(chain, tuple(row if len(row) > 1 else row[0] for row in start), title=title)
    return Run(
        scenario, *trajectory(chain, t, position, velocity, acceleration), kinetic=kinetic, potential=potential, work={},
        drift=np.zeros(len(t)), status=Status("finished", "reached its end"), stats=Stats(0, 0, 0, 0.0), trusted_until=trusted,
    )  # fmt: skip


def mixed_chain() -> SpatialChain:
    """Return a chain of every kind of link and joint."""
    from nlink.mechanics.chain import Link
    from nlink.mechanics.space.joints import Hinge, Universal

    return SpatialChain(
        [
            Body.box(0.6, 1.0, 0.25, 0.12, joint=Hinge((0.0, 0.0, 1.0))),
            Body.box(0.6, 1.0, 0.12, 0.2, joint=Universal((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))),
            Body.cylinder(0.5, 1.0, 0.12),
            Link.rod(0.5, 0.4),
            Body(0.5, 1.0, (0.0, -0.25, 0.0), (0.02, 0.035, 0.02)),
            Link.point(0.4, 0.5),
        ]
    )
