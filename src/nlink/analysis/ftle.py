"""ftle(): how far neighbouring starts part in a given time, by the singular values of the derivative of the motion."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from nlink._support.checks import number
from nlink._support.showing import short
from nlink.analysis.motion import Failure
from nlink.analysis.space_deviations import no_series
from nlink.analysis.tangent_flow import TangentFlow
from nlink.ensemble.engines import FINEST, ON, deviations
from nlink.ensemble.job import Job
from nlink.formulations import formulate
from nlink.mechanics.chain import Multibody
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.tangents import frames
from nlink.simulation.flow import FlowError

FINE = 1e-16
"""Error of a step."""


@short
class FiniteTime(NamedTuple):
    """The finite-time exponent ln(largest singular value)/t in 1/s, and all singular values of the derivative of the motion."""

    exponent: float
    singular_values: np.ndarray


def ftle(chain: Multibody, theta: ArrayLike, omega: ArrayLike | None = None, t: float = 10.0) -> FiniteTime:
    """Return the finite-time Lyapunov exponent of a start over the time t in s: ln of the largest singular value of the derivative
    of the state (theta, omega) at t by the start, in rad and rad/s, divided by t.

    Of a closed chain it is that within its tangent space; in space that of deviations of the coordinates along their spheres.

    >>> from nlink import Chain
    >>> round(ftle(Chain.uniform(2), [0.7853981633974483] * 2, t=1.0).exponent, 6)
    1.714573
    """
    t = number("t", t, above=0)
    if isinstance(chain, SpatialChain) and no_series(formulate(chain)):
        sizes = np.linalg.svd(_by_stages(chain, theta, omega, t), compute_uv=False)
        return FiniteTime(math.log(sizes[0]) / t, sizes)
    flow = TangentFlow(chain, theta, omega, FINE)
    product = np.eye(flow.count)
    try:
        for R in flow.factors(t, rest=1e-3):
            product = R @ product
    except Failure as failure:
        raise FlowError(str(failure)) from None
    sizes = _singular_values(product)
    return FiniteTime(math.log(sizes[0]) / t, sizes)


def _by_stages(chain: SpatialChain, theta: ArrayLike, omega: ArrayLike | None, t: float) -> np.ndarray:
    """Return the derivative (2K, 2F) of the coordinates and rates at t by deviations of a start, by the steps of DOP853 in dual
    numbers. Small singular values lose digits: errors are those of the largest.
    """
    position, velocity = chain.start(theta, omega)
    job = Job(chain, position[None], velocity[None], t, (), FINEST)
    product = deviations(job, np.arange(1), ON)[0] @ frames(chain, position, velocity)
    if not np.isfinite(product).all():
        raise FlowError("the motion or its deviations could not be followed to the end; simulate the motion to see why")
    return product


def _singular_values(product: np.ndarray) -> np.ndarray:
    """Return the singular values of a triangular product, small ones too to their own digits: one-sided Jacobi rotations."""
    scale = max(float(np.abs(product).max()), 1e-300)
    values, _, _, work, _, info = lapack.dgejsv(product / scale, joba=3, jobu=3, jobv=3)  # pyright: ignore[reportAttributeAccessIssue]
    if info != 0:
        return np.linalg.svd(product, compute_uv=False)
    return np.sort(values * (work[0] / work[1]) * scale)[::-1]
