"""What a tolerance means to each method: every factor between the tolerance that is asked for and the one a method is given.

A tolerance of 1e-9 stands for errors like those of DOP853 with rtol = atol = 1e-9. The factors were measured against that.
"""

from __future__ import annotations

SERIES = 1e-3
"""Taylor's tolerance is the size of the last terms of a series. With this share its error is a tenth of that of DOP853, or less."""
SERIES_ORDER, TAIL = 18, 6
"""Of series of a higher order the steps are longer and what is left out falls slower: with equal last terms the error grows as the
sixth power of the order: over 400 starts of three and five links 1.7 times from order 18 to 22 at a tolerance of 1e-9, 3.1 times at
1e-12, 6 times at 1e-15. One chain is given the tolerance that makes up for it."""
MANY_SERIES, MANY_DEVIATIONS = 0.1, 0.03
"""The share of Taylor's tolerance that ensembles take by default: many starts have worse ones among them, and the series of
deviations converge later. Then 500 random starts of up to 15 links are right to 1e-9 rad after 1 s, and exponents to 3e-10 / s."""
STAGES_AS_SERIES = 2e-4
"""The share of a tolerance with which DOP853 is as accurate as series with all of it: on a GPU."""
IDA_STEPS = 0.01
"""The share that IDA is given: the errors of its steps add up to about a hundred times theirs, those of DOP853 do not."""
IDA_FINEST, SCIPY_FINEST = 1e-14, 3e-14
"""The smallest tolerances that these solvers take."""
MAPS = 1e-11
"""The default tolerance of maps: flips of long chaotic motions need tight ones."""
SECTIONS, CLOSED_SECTIONS = 1e-13, 1e-11
"""Tolerances of Poincare sections: of open chains, and of closed ones, which DOP853 follows."""
EXPONENTS = 1e-13
"""The error of a step of the motion along which Lyapunov exponents are measured."""
FLIP_PICTURE = 1e-6
"""The tolerance of the flip map of closed chains in the studio: enough to see the picture; a cell at a border may be off."""


def series_tolerance(rtol: float, atol: float, share: float = SERIES) -> float:
    """Return a share of the mean of two tolerances, to two digits."""
    return float(f"{share * 0.5 * (rtol + atol):.2g}")


def tolerance_of_order(tol: float, order: int) -> float:
    """Return the size of the last terms at which series of this order have the error of those of SERIES_ORDER at tol."""
    return tol * min(1.0, (SERIES_ORDER / order) ** TAIL)
