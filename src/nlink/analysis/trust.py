"""trusted_until(): how far a run can be believed, judged by independent runs of the same motion.

A chaotic chain multiplies every error, of the start, of a step, of rounding, by e a few times a second, until the angles
mean nothing. Two witnesses show when. Each is a DOP853 run of the same scenario in another formulation, with at least
ten times tighter tolerances, from a start moved by a few units in its last digit, one to each side. The run is trusted
as long as no angle differs from either witness by more than a fifth of the angle asked for.

Why a fifth, two, and moved: a witness carries errors of its own along the same unstable direction, and one that happens
to be wrong in the same way would vouch for too much. With one witness and the whole angle the stated time came after
the true departure in nearly half of the runs measured against more precise solutions, mostly by little; with this rule
in none of 1320 (2, 3 and 5 rods from random starts, tolerances 1e-3 to 1e-15), at the price of about 0.7 s in 10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from nlink._support.checks import ModelError, number
from nlink._support.records import record
from nlink.formulations import FORMULATIONS, formulate
from nlink.integrators import integrator_record
from nlink.integrators.base import Integrator
from nlink.integrators.runge_kutta import DOP853
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.rows import turned_further
from nlink.mechanics.system import Formulation
from nlink.run.readout import HAND, unit_rows
from nlink.run.run import Run
from nlink.scenario import LostFunction, Scenario
from nlink.simulation.integrate import SimulationError, SimulationInterrupted

ANGLE = 1e-3
"""Difference in rad beyond which an angle is not trusted."""
PRUDENCE = 5.0
"""By this the angle is divided before runs are compared."""
NUDGE = 16 * 2.0**-52
"""Relative change of the witnesses' start: some units in the last digit, about what rounding adds up to on the way."""
FINEST, COARSEST = 1e-15, 1e-10
"""Bounds of the witnesses' tolerances: below, only rounding is left; above, there is nothing to save."""
UNSTATED = 1e-12
"""Taken for the tolerance of a method with a fixed step."""
APPROXIMATE = ("linear",)
"""Formulations that follow another motion, and so cannot be witnesses."""
DENSE, LONG = ("momentum", "lagrange", "projection"), 50
"""Formulations with a full mass matrix, and the number of links beyond which others come first."""


def trusted_until(run_or_scenario: Run | Scenario, angle: float = ANGLE, *, progress: bool = False) -> float:
    """Return the time in s until which every angle of a run is within `angle` (rad) of the exact motion.

    It is the last saved point, or step of the integrator, before the run and two independent ones (see the head of this
    module) differ by more than angle/5; the end of the run, if they never do. Runs backwards in time have negative times.
    The run itself is not changed: set `run.trusted_until` to the result to keep it.

    What it is not: a proof. The exact motion is that of the model with its numbers as given, to their last digits;
    whether the model is right it does not ask. Between saved points (where interpolation adds its own error) and for
    rates and energies it promises nothing. Where a witness cannot go on, or takes too many steps in a stiff chain, the
    trust ends too.

    >>> import nlink
    >>> nlink.trusted_until(nlink.simulate(nlink.Chain.uniform(2), 0.5, t_end=2.0))
    2.0
    """
    angle = number("angle", angle, above=0)
    run = run_or_scenario.run(progress=progress) if isinstance(run_or_scenario, Scenario) else run_or_scenario
    if not isinstance(run, Run):
        raise ModelError(f"trusted_until needs a Run or a Scenario, got {type(run).__name__}")
    if not len(run.t):
        raise ModelError("the run holds no saved point to be trusted")
    if HAND in run.work:
        raise ModelError("this run cannot be checked: a hand has pulled it in the studio, which no file holds; simulate again")
    times, position = nodes(run)
    settings = run.scenario.settings
    formulation = record("formulation", settings.formulation, FORMULATIONS)
    method = integrator_record(settings.integrator, settings.rtol, settings.atol, formulation.method)
    return Witnesses(run.scenario, times, progress).trusted_until(position, formulation, method, angle)


def nodes(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return times and coordinates where a run is known without interpolation: its saved points and, where kept, its steps."""
    if run.knots is None:
        return run.t, run.position
    times, index = np.unique(np.concatenate([run.t, run.knots.t]), return_index=True)
    position = np.concatenate([run.position, run.knots.position])[index]
    return (times[::-1], position[::-1]) if run.scenario.settings.t_end < 0 else (times, position)


def difference(theta: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the largest difference of the angles (T, N) of two motions at each time, (T,), as far as both go.

    Whole turns between their starts do not count; turns made on the way do.
    """
    count = min(len(theta), len(other))
    apart = theta[:count] - other[:count]
    turns = 2 * np.pi * np.round(apart[:1] / (2 * np.pi))
    return np.abs(apart - turns).max(1, initial=0.0)


def parted(chain: Multibody, position: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the largest angle by which two motions (T, K) of a chain differ at each time, (T,), as far as both go: in space that
    between directions, or of the turn from one rotation to the other.
    """
    if not isinstance(chain, SpatialChain):
        return difference(position, other)
    count = min(len(position), len(other))
    first, second = position[:count], other[:count]
    parts = [difference(first[:, chain.turning], second[:, chain.turning])] if chain.turning.any() else []
    for rows in unit_rows(chain):
        chord = np.linalg.norm(first[:, rows] - second[:, rows], axis=-1)
        if rows.shape[1] == 4:  # a quaternion and its negative are one rotation, of twice the angle
            chord = np.minimum(chord, np.linalg.norm(first[:, rows] + second[:, rows], axis=-1))
        angle = 2 * np.arcsin(np.minimum(chord / 2, 1.0)) * (2 if rows.shape[1] == 4 else 1)
        parts.append(np.where(np.isnan(chord), np.nan, angle).max(1))
    return np.max(parts, axis=0)


def within(times: np.ndarray, apart: np.ndarray, limit: float) -> float:
    """Return the last of the times before the difference `apart` passes the limit or ends; 0 if it begins beyond."""
    beyond = np.flatnonzero(~(apart <= limit))
    count = beyond[0] if len(beyond) else len(apart)
    return float(times[count - 1]) if count else 0.0


def rerun(scenario: Scenario, formulation: str | Formulation, method: Integrator, times: np.ndarray, progress: bool = False) -> Run:
    """Return the run of a scenario by other means, saved at these times; one that fails is returned as far as it came."""
    means = {"formulation": formulation, "integrator": method, "flips": "off"}
    settings = replace(scenario.settings, t_end=float(times[-1]), save=tuple(times.tolist()), **means)
    try:
        return replace(scenario, settings=settings).run(progress=progress)
    except SimulationInterrupted:
        raise
    except SimulationError as error:
        return error.run


def tightest(method: Integrator) -> float:
    """Return the smaller tolerance of a method."""
    return min(method.tolerances or (UNSTATED,))


def tighter(tolerance: float, times: float = 10.0) -> DOP853:
    """Return DOP853 with tolerances at least this many times tighter."""
    value = float(f"{max(min(tolerance, 10 * COARSEST) / times, FINEST):.2g}")
    return DOP853(value, value)


def usable(scenario: Scenario, other_than: str = "") -> Iterator[str]:
    """Yield the names of the formulations that take this chain and follow its full motion, the cheap ones first."""
    for name in sorted(FORMULATIONS, key=lambda name: scenario.chain.n > LONG and name in DENSE):
        if name not in (*APPROXIMATE, other_than):
            try:
                formulate(scenario.chain, name)
            except ModelError:
                continue
            yield name


@dataclass
class Witnesses:
    """The independent runs of a scenario, saved at the given times, made when first asked for."""

    scenario: Scenario
    times: np.ndarray
    progress: bool = False
    made: dict[tuple[str, DOP853, float], Run] = field(default_factory=dict)

    def __post_init__(self) -> None:
        load = self.scenario.chain.load(JointTorque)
        if load and isinstance(load.torque, LostFunction):
            raise ModelError("this run cannot be checked: its torque was a function, which its file does not hold; simulate again")

    def trusted_until(self, position: np.ndarray, formulation: Formulation, method: Integrator, angle: float) -> float:
        """Return the time until which the coordinates, known at the first of the times, are trusted."""
        if self.times[-1] == 0:
            return 0.0
        name, chain = next(usable(self.scenario, formulation.name), formulation.name), self.scenario.chain
        tolerance = tightest(method)
        pair = self._run(name, tighter(tolerance), NUDGE), self._run(name, tighter(tolerance, 30.0), -NUDGE)
        return min((within(self.times, parted(chain, position, run.position), angle / PRUDENCE) for run in pair), key=abs)

    def _run(self, name: str, method: DOP853, nudge: float) -> Run:
        """Return the run with every start value made a little larger and smaller by turns; zeros are exact and stay."""
        if (name, method, nudge) not in self.made:
            factors = 1 + nudge * (1 - 2 * (np.arange(self.scenario.chain.n) % 2))
            moved = _moved(self.scenario, factors)
            self.made[name, method, nudge] = rerun(moved, name, method, self.times, self.progress)
        return self.made[name, method, nudge]


def _moved(scenario: Scenario, factors: np.ndarray) -> Scenario:
    """Return a scenario whose start angles and rates, in space those of turns from the hanging chain, are factors (N,) larger."""
    if isinstance(scenario.chain, SpatialChain):
        assert isinstance(scenario.omega, tuple)
        theta, omega = turned_further(scenario.chain, scenario.theta, scenario.omega, factors.tolist())
    else:
        theta, omega = (tuple((np.array(values) * factors).tolist()) for values in (scenario.theta, scenario.omega))
    return replace(scenario, theta=theta, omega=omega)
