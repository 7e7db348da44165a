"""bifurcation(): the points of a section over a parameter, after the motion has settled: what doubles, what turns to chaos."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, number
from nlink._support.lazy import shown_by
from nlink._support.progress import Bar
from nlink._support.showing import short
from nlink.analysis.poincare import Points, Section, Strobe, poincare
from nlink.mechanics.chain import Multibody, wrapped
from nlink.mechanics.loads import JointSpring, JointTorque, Sine
from nlink.run.run import Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAME = 1e-3
"""Points nearer than this, in rad and rad/s, are one when periods are counted."""
LONGEST = 64
"""Longest period that is looked for, in points."""
BLOCKS, FALL, NEAR = 4, 0.8, 0.1
"""A motion settles if what its points lack of a period falls from each of so many blocks to the next, in all to this part of the
first, and to this part of the extent of all points."""


@short
@dataclass(frozen=True, eq=False)
class Bifurcation:
    """The points of each value of a parameter: values (V,), and for every value its Points."""

    values: np.ndarray
    points: tuple[Points, ...]
    status: Status

    @cached_property
    def periods(self) -> np.ndarray:
        """After how many points the motion repeats at each value (V,): 0 if it does not, up to LONGEST or half of the points."""
        return np.array([_period(points) for points in self.points], int)

    @cached_property
    def settling(self) -> np.ndarray:
        """The period that the motion approaches slowly at each value (V,), as near a bifurcation; 0 if it repeats already, or never
        comes nearer to repeat, as in chaos. A longer transient turns it into a period.
        """
        return np.array([0 if period else _settling(points) for period, points in zip(self.periods, self.points, strict=True)], int)

    @shown_by("chaos.bifurcation_figure")
    def plot(
        self,
        label: str = "parameter",
        link: int | None = None,
        *,
        ax: Sequence[Axes] | None = None,
        size: tuple[float, float] | str | None = None,
        theme: str | None = None,
    ) -> Figure:
        """Return the diagram: angle and rate of a link (from 0; the last if not given) over the parameter, named by `label`.

        `ax`: two axes to draw into; the rest as in `Run.plot`.
        """
        ...


def drive_period(chain: Multibody) -> float | None:
    """Return the period in s of the first sine among the joint torques; None if there is none."""
    load = chain.load(JointTorque)
    torque = load.torque if load else ()
    for each in torque if isinstance(torque, tuple) else (torque,):
        if isinstance(each, Sine) and each.amplitude != 0 and each.frequency != 0:
            return 1 / abs(each.frequency)
    return None


def default_section(chain: Multibody) -> Section | Strobe:
    """Return the section that suits a chain: once per period of a sine torque, or where the first link passes straight down."""
    period = drive_period(chain)
    return Section() if period is None else Strobe(period)


def bifurcation(
    chain_of: Callable[[float], Multibody],
    values: ArrayLike,
    theta: ArrayLike,
    omega: ArrayLike | None = None,
    *,
    t_end: float,
    transient: float,
    section: Section | Strobe | None = None,
    follow: bool = True,
    progress: bool = False,
) -> Bifurcation:
    """Return the section points of the chains `chain_of(value)` between the times transient and t_end, for each of the values.

    Parameters
    ----------
    theta, omega : the start (N,) in rad and rad/s
    section : Section or Strobe; if not given once per period of a sine torque, or where the first link passes straight down
    follow : begin each motion where that of the value before ended, so that one attractor is followed; else each from the start

    Ctrl-C keeps the values that are done.
    """
    t_end, transient = number("t_end", t_end, above=0), number("transient", transient, least=0)
    if transient >= t_end:
        raise ModelError(f"transient must be below t_end, {t_end:g} s, got {transient:g}")
    values, found = np.asarray(values, float), []
    status = Status("finished", f"all {len(values)} values")
    start, rates = theta, omega
    with Bar("bifurcation", progress) as bar:
        for k, value in enumerate(values.tolist()):
            chain = chain_of(value)
            cut, end = _cut(chain, section, t_end)
            points = poincare(chain, start, rates, t_end=end, section=cut, transient=transient)
            if points.status[0].code == "interrupted":
                status = Status("interrupted", f"stopped by the user after {k} of {len(values)} values", "those are kept")
                break
            found.append(points)
            bar.update(k + 1, len(values))
            if follow and points.status[0].ok:
                start, rates = points.last[0, : chain.n], points.last[0, chain.n :]
                start = start if chain.load(JointSpring) else wrapped(start)
    return Bifurcation(values[: len(found)], tuple(found), status)


def _cut(chain: Multibody, section: Section | Strobe | None, t_end: float) -> tuple[Section | Strobe, float]:
    """Return the section, and the end of the motion: whole periods of a drive, so that the next begins in step with it."""
    period = drive_period(chain)
    section = default_section(chain) if section is None else section
    whole = period or (section.period if isinstance(section, Strobe) else None)
    return section, t_end if whole is None else whole * math.ceil(t_end / whole - 1e-9)


def _period(points: Points) -> int:
    periods = range(1, min(LONGEST, len(points) // 2) + 1)
    return next((period for period in periods if _lack(points, period).max() < SAME), 0)


def _lack(points: Points, period: int) -> np.ndarray:
    """Return how far each point is from the one that comes `period` points later, in rad or rad/s."""
    angles = wrapped(points.theta[period:] - points.theta[:-period])
    return np.abs(np.hstack([angles, points.omega[period:] - points.omega[:-period]])).max(1)


def _settling(points: Points) -> int:
    """Return the shortest period that the points come ever nearer to; 0 if there is none."""
    if len(points) < 3 * BLOCKS:
        return 0
    extent = max(np.ptp(np.unwrap(points.theta, axis=0), axis=0).max() % (2 * np.pi), np.ptp(points.omega, axis=0).max())
    falling: list[int] = []
    for period in range(1, min(LONGEST, len(points) // (2 * BLOCKS)) + 1):
        sizes = np.array([block.max() for block in np.array_split(_lack(points, period), BLOCKS)])
        if (np.diff(sizes) < 0).all() and sizes[-1] < FALL * sizes[0]:
            falling.append(period)
            if sizes[-1] < NEAR * extent:  # of a motion that comes from both sides in turn, half of this falls too
                return next(part for part in falling if period % part == 0)
    return 0
