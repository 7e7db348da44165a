"""lyapunov(): how fast neighbouring motions part: the spectrum of Lyapunov exponents, with error bars.

Orthonormal deviations are carried along the motion (`variations`), and made orthonormal again by QR whenever they have grown apart:
the exponents are the means of ln R_ii over time (Benettin et al., Meccanica 15, 1980). Errors are standard errors of the means of
ten blocks of equal time. What must hold is there to be looked at: the sum is the mean rate at which volumes change, known exactly,
and without damping the exponents come in pairs of opposite sign.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError, number
from nlink._support.lazy import shown_by
from nlink._support.progress import Bar
from nlink._support.showing import short
from nlink.analysis.motion import followed
from nlink.analysis.tangent_flow import TangentFlow
from nlink.compiled.announcing import waiting
from nlink.integrators.accuracy import EXPONENTS
from nlink.mechanics.chain import Multibody
from nlink.mechanics.space.kinematics import turns
from nlink.mechanics.space.model import SpatialChain
from nlink.run.run import Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST = 200
"""Values of the history, at the least."""
BLOCKS = 10


@short
@dataclass(frozen=True, eq=False)
class Lyapunov:
    """The spectrum of Lyapunov exponents in 1/s and what led to it.

    exponents (count,) falling, errors (count,) their standard errors, history (T, count) the means up to the times (T,) in s;
    divergence: the mean rate at which volumes of all deviations change, exact, which the sum of a full spectrum equals;
    freedom: the dimension of the space of deviations, 2N, or 2(N-2) with a pin, or 4N in space; residual: the largest error in the
    balance of energy on the way, in J; theta, omega: where the motion ended, in space directions and angular velocities; status:
    how.
    """

    exponents: np.ndarray
    errors: np.ndarray
    times: np.ndarray
    history: np.ndarray
    divergence: float
    freedom: int
    residual: float
    theta: np.ndarray
    omega: np.ndarray
    status: Status

    @property
    def sum(self) -> float:
        """The sum of the exponents."""
        return float(self.exponents.sum())

    @property
    def pairing(self) -> np.ndarray:
        """The sums (freedom/2,) of the first and the last, the second and the last but one: zero without damping, all equal if the
        damping is proportional to the masses; empty unless the spectrum is full.
        """
        full = len(self.exponents) == self.freedom
        return (self.exponents + self.exponents[::-1])[: self.freedom // 2] if full else np.empty(0)

    @property
    def entropy(self) -> float:
        """The sum of the positive exponents in 1/s: the rate at which the start is forgotten (Pesin); exponents within twice their
        error of zero do not count.
        """
        return float(self.exponents[self.exponents > 2 * np.nan_to_num(self.errors)].sum())

    @shown_by("chaos.convergence_figure")
    def plot(self, *, ax: Axes | None = None, size: tuple[float, float] | str | None = None, theme: str | None = None) -> Figure:
        """Return the exponents up to each time, and bands of two standard errors about the last; the rest as in `Run.plot`."""
        ...


@waiting("exponents")
def lyapunov(
    chain: Multibody,
    theta: ArrayLike,
    omega: ArrayLike | None = None,
    *,
    t_end: float,
    count: int | None = None,
    transient: float = 0.0,
    progress: bool = False,
) -> Lyapunov:
    """Return the Lyapunov exponents of the motion from angles theta (N,) in rad and rates omega (N,) in rad/s up to t_end.

    Parameters
    ----------
    theta, omega : a number for every link, or one each; in space a pose and rates as `simulate` takes them, of lines
    t_end : s; errors fall with its square root in chaos, exponents that are zero like ln t / t
    count : how many exponents, the largest first; all if not given: 2N, or 2(N-2) for a closed chain, or 4N in space
    transient : s at the beginning that are not counted: the way to an attractor
    progress : show a progress bar on a terminal

    Ctrl-C, or a motion that cannot be followed further, ends it early: the result holds what was found, and its `status` says why.

    >>> from nlink import Chain
    >>> found = lyapunov(Chain.uniform(2), [2.0, 3.0], t_end=50.0)
    >>> bool(found.exponents[0] > 0.5), abs(found.sum - found.divergence) < 1e-9
    (True, True)
    """
    t_end, transient = number("t_end", t_end, above=0), number("transient", transient, least=0)
    if transient >= t_end:
        raise ModelError(f"transient must be below t_end, {t_end:g} s, got {transient:g}")
    flow = TangentFlow(chain, theta, omega, EXPONENTS, count)
    with Bar("following deviations", progress) as bar:
        status = followed(_times(flow, transient, t_end), t_end, "exponents", lambda t: bar.update(t, t_end))
    return _result(flow, status)


def _times(flow: TangentFlow, transient: float, t_end: float) -> Iterator[float]:
    """Follow the motion, and yield the times of the QRs; the count begins at the end of the transient."""
    for _ in flow.factors(transient, transient / LEAST):
        yield flow.t
    if transient:
        flow.begin()
    for _ in flow.factors(t_end, (t_end - transient) / LEAST):
        yield flow.t


def block_errors(times: np.ndarray, logs: np.ndarray, blocks: int = BLOCKS) -> np.ndarray:
    """Return the standard errors (K,) of mean growth rates by blocks of equal time, from logarithms (T, K) at times (T,)."""
    if len(times) < blocks + 1:
        return np.full(logs.shape[1], np.nan)
    edges = np.linspace(times[0], times[-1], blocks + 1)
    at = np.stack([np.interp(edges, times, column) for column in logs.T], axis=1)
    means = np.diff(at, axis=0) / np.diff(edges)[:, None]
    return means.std(axis=0, ddof=1) / math.sqrt(blocks)


def _result(flow: TangentFlow, status: Status) -> Lyapunov:
    times, logs = np.array(flow.times), np.array(flow.logs)
    history = logs[1:] / (times[1:] - flow.origin)[:, None]
    exponents = history[-1] if len(history) else np.full(flow.count, np.nan)
    order = np.argsort(-exponents, kind="stable")
    theta, omega = (values.copy() for values in flow.angles())
    if isinstance(flow.chain, SpatialChain):
        at = turns(flow.chain, theta, omega)
        theta, omega = at.direction, at.omega
    return Lyapunov(
        exponents[order], block_errors(times, logs)[order], times[1:], history[:, order], flow.divergence, flow.freedom,
        flow.residual, theta, omega, status,
    )  # fmt: skip
