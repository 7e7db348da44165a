"""Mechanisms and made-up runs of them for the tests of pictures: every kind of body, joint and closure, and no solver."""

from __future__ import annotations

from typing import Any

import numpy as np
from made_run import made_run

from nlink import (
    GROUND,
    At,
    Distance,
    Gravity,
    Guide,
    JointSpring,
    Link,
    Mechanism,
    Pin,
    PointForce,
    PointSpring,
    Ramp,
    Sine,
    Slider,
)
from nlink.run.run import Run

CART = Mechanism([Slider(2.0), Link.rod(1.0, 1.0), Link.rod(1.0, 1.0)])
KAPITZA = Mechanism([Slider(direction=np.pi / 2, motion=Sine(0.05, 20.0)), Link.rod(1.0, 1.0)])
TREE = Mechanism(
    [Link.rod(1.0, 1.0), Link.rod(0.8, 1.0).on(0, (0.5, 0.4)), Link.rod(0.5, 0.3).on(0)], [PointForce(At(1), 1.0, 2.0)]
)
SLOT = Mechanism(
    [Link.rod(1.5, 1.0).with_motion(Ramp(0.0, 1.0)), Slider(0.5, direction=-np.pi / 2).on(0, 0.6), Link.point(0.6, 0.5)],
    [Gravity(9.81), JointSpring((0.0, 80.0, 0.0)), PointSpring(At(2), (1.0, 1.0), 5.0, 0.5)],
)
CLOSED = Mechanism(
    [Link.rod(0.5, 1.0), Link.rod(1.3, 1.0), Link.rod(1.0, 1.0).on(GROUND, (1.5, 0.0))],
    pins=[
        Distance(At(1, 0.6, 0.3), (2.0, 1.0), 1.0),
        Guide(At(1, 0.3), (0.0, 0.0), 0.3),
        Guide(At(2, 0.3), At(1), 1.2),
        Pin(At(1), At(2)),
    ],
)
FLOATING = Mechanism.floating([Link.rod(1.0, 1.0)] * 3)
MECHANISMS = {"cart": CART, "kapitza": KAPITZA, "tree": TREE, "slot": SLOT, "closed": CLOSED, "floating": FLOATING}


def moved(name: str, far: float = 0.0, **options: Any) -> Run:
    """Return a made-up run of a mechanism; its pins need not hold. Its first coordinate moves `far` beyond that."""
    run = made_run(chain=MECHANISMS[name], **options)
    run.theta[:, 0] += far * run.t
    run.omega[:, 0] += far
    return run
