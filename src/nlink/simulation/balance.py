"""Balance: the energy balance of a run as it goes, and the verdict on a run that has reached its end.

    residual = E(t) - E(0) - W(t)

is zero for the exact motion of every chain, driven and damped ones too, and chaos does not multiply it: the errors of the steps
just add up. It is measured against what the motion exchanges,

    S = largest kinetic energy + range of the potential energy + largest work of each load

A method with tolerances is allowed what they come to over all steps, if every step errs by `SLACK` times its tolerance the same
way: an error of d_omega changes the kinetic energy T by sqrt(2 T J) d_omega, one of d_theta the potential energy by
(sqrt(2 V k) + G) d_theta; J, k, G bound the inertia about the pivot, the stiffness, the moment of the weights. It is always
allowed LEAST of S, and never more than MOST, which is all that is asked of a method with a fixed step. On top come rounding, and
the energy of a motion so small that it is lost in the tolerance: a chain at rest may tremble.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from nlink.integrators.base import Integrator
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import JointSpring, JointTorsion
from nlink.mechanics.space.model import SpatialChain
from nlink.run.readout import motion_names
from nlink.run.run import Run, Status, columns_of
from nlink.simulation.statuses import refined

SLACK = 10.0
LEAST, MOST = 1e-6, 0.1
LOST, LOST_TURN, LOST_RATE = 100.0, 0.03, 0.1
"""A motion of so many tolerances is lost in them, but not one beyond so many rad and rad/s."""
FAR = 1e-7
"""The spacing of an angle, in rad, from which a poor balance is put down to it."""
RESOLUTION = 1e-3
"""The coarsest spacing of floating-point numbers, in rad, at which an angle still means something."""
EPS = float(np.finfo(float).eps)
BLOCK = 100_000
"""Points of an earlier run that are looked at together."""


class Balance:
    """Largest values of a run so far: its energies, residual, angles, rates and violation."""

    def __init__(self, chain: Multibody) -> None:
        self.chain, self.names = chain, motion_names(chain)
        self.start: float | None = None
        self.residual = self.energy = self.kinetic = self.work = self.angle = self.rate = self.violation = 0.0
        self.low, self.high = np.inf, -np.inf

    def take(self, columns: dict[str, np.ndarray]) -> bool:
        """Take points, read out, in the order of time, and return True; if one is not finite in every column, take nothing and
        return False.
        """
        if not columns or not len(columns["kinetic"]):
            return True
        works = [name for name in columns if name.startswith("work_")]
        with np.errstate(over="ignore", invalid="ignore"):
            total = columns["kinetic"] + columns["potential"]
            done = total - sum(columns[name] for name in works) if works else total
            least, most = _least_and_most([done, total, *columns.values()])
        lows, highs = dict(zip(columns, least[2:], strict=True)), dict(zip(columns, most[2:], strict=True))
        if not all(map(math.isfinite, least[2:])) or not all(map(math.isfinite, most[2:])):
            return False
        self.start = float(done[0]) if self.start is None else self.start
        self.residual = max(self.residual, most[0] - self.start, self.start - least[0])
        self.energy, self.kinetic = max(self.energy, most[1], -least[1]), max(self.kinetic, highs["kinetic"])
        self.low, self.high = min(self.low, lows["potential"]), max(self.high, highs["potential"])
        largest = {name: max(highs[name], -lows[name]) for name in (*self.names[:2], *works)}
        self.work = max(self.work, sum(largest[name] for name in works))
        self.angle, self.rate = max(self.angle, largest[self.names[0]]), max(self.rate, largest[self.names[1]])
        self.violation = max(self.violation, highs["violation"])
        return True

    def follow(self, run: Run) -> None:
        """Take the points of an earlier run, some at a time."""
        unused = ("time", self.names[2], "pin_force")
        series = {name: values for name, values in columns_of(run).items() if name not in unused}
        for k in range(0, len(run.t), BLOCK):
            self.take({name: np.asarray(values[k : k + BLOCK]) for name, values in series.items()})

    @property
    def exchanged(self) -> float:
        """The scale S of the balance, J."""
        return self.kinetic + max(self.high - self.low, 0.0) + self.work

    def allowed(self, method: Integrator, steps: int) -> float:
        """Return the largest residual, in J, that a run by this method may have after so many steps."""
        scale, chain = self.exchanged, self.chain
        far, own = _extent(chain)
        reach = np.cumsum(chain.length) - chain.length + far
        stiffness = 4 * float(sum(chain.each(kind, "stiffness").sum() for kind in (JointSpring, JointTorsion)))
        inertia, weight = float(chain.mass @ reach**2 + own), float(abs(chain.g) * (chain.mass @ reach))
        rounding = EPS * (self.energy + weight + self.work) * (100 + 10 * steps**0.5)
        if method.step_tolerances is None:
            return MOST * scale + rounding
        rtol, atol = method.step_tolerances
        turn, rate = atol + rtol * min(self.angle, 1.0), atol + rtol * self.rate
        slope = (2 * scale * inertia) ** 0.5 * rate + ((2 * scale * stiffness) ** 0.5 + weight) * turn
        lost = inertia * min(LOST * rate, LOST_RATE) ** 2 + (weight + stiffness) * min(LOST * turn, LOST_TURN) ** 2
        return min(max(LEAST * scale, SLACK * steps * slope), MOST * scale) + rounding + lost

    def off(self, method: Integrator, steps: int) -> str:
        """Return by how much the balance is off, if that is more than allowed; else nothing."""
        if self.residual <= LEAST * self.exchanged or self.residual <= self.allowed(method, steps):
            return ""
        of = f", {100 * self.residual / self.exchanged:.2g} % of what the motion exchanges" if self.exchanged else ""
        return f"the energy balance is off by {self.residual:.2g} J{of}"

    def verdict(self, ended: Status, method: Integrator, steps: int) -> Status:
        """Return the status of a run that has come to its end: as it ended, or that it is inaccurate."""
        spacing, off = self.angle * EPS, self.off(method, steps)
        turns, finer = "take whole turns off the start", refined(method)
        if spacing > RESOLUTION:
            return _inaccurate(ended, f"angles of {self.angle:.2g} rad are known to {spacing:.2g} rad only", turns)
        if off:
            return _inaccurate(ended, off, turns if spacing > FAR else finer)
        if self.violation > MOST and self.violation > MOST * max(1.0, (length := float(self.chain.length.max())), length**2):
            stabilised = f"{finer}, or stabilise them: Baumgarte, Projection"
            return _inaccurate(ended, f"the constraints are violated by {self.violation:.2g}", stabilised)
        return ended


def _least_and_most(values: list[np.ndarray]) -> tuple[list[float], list[float]]:
    """Return the least and the largest number of each of some arrays: of few numbers all at once, as each call takes a while."""
    first = [0, *accumulate(each.size for each in values[:-1])]
    flat = np.concatenate(values, axis=None)
    return np.minimum.reduceat(flat, first).tolist(), np.maximum.reduceat(flat, first).tolist()


def _extent(chain: Multibody) -> tuple[np.ndarray, float]:
    """Return how far the centres of mass are from their hinges at most (N,), and a bound of the inertia about all of them."""
    if isinstance(chain, SpatialChain):
        return np.abs(chain.centre).sum(1), float(np.trace(chain.tensor, axis1=1, axis2=2).sum())
    return np.abs(chain.com) + np.abs(chain.offset), float(chain.inertia.sum())


def _inaccurate(ended: Status, wrong: str, remedy: str) -> Status:
    return Status("inaccurate", f"{ended.message}, but {wrong}", remedy)
