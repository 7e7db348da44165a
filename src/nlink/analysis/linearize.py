"""linearize(): small motions about an equilibrium or a state, M x'' + C x' + K x = 0, with exact matrices, and what they say.

In absolute angles x are the changes of theta; in relative ones those of the joint angles; of a closed chain or mechanism the
coordinates of its tangent space, with the geometric stiffness of the forces of the pins. `basis` maps x to changes of theta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlink._support.checks import ModelError, angle_or_each, choice, number_or_each, spread
from nlink._support.lazy import shown_by
from nlink._support.showing import short
from nlink.mechanics import linearised, loop_closure
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import Gravity, JointTorque
from nlink.mechanics.mechanism import Mechanism, a_model
from nlink.mechanics.mobility import mobility
from nlink.mechanics.motions import moves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURED = 9
"""Modes that are drawn and printed, unless others are asked for."""
BALANCE = 1e-8
"""Moment left over at an equilibrium, as a part of the largest moment there."""
MOST_LINKS, MOST_BODIES = 4000, 200
"""Links of a chain, and bodies of a closed mechanism, whose matrices are built."""
ComplexArray = NDArray[np.complex128]
FLAT = 1e-9
"""Real part, as a part of the largest eigenvalue, that counts as none."""
ROUNDING = 1e-14
"""Square of a frequency, as a part of the largest, whose sign is decided by rounding errors."""


@short
class Mode(NamedTuple):
    """One way to move: exp(growth t) with a damped and an undamped frequency (rad/s), the damping ratio, and the shape (N,) in
    absolute angles, complex, its largest 1. A real eigenvalue has frequency 0.
    """

    growth: float
    frequency: float
    undamped: float
    ratio: float
    shape: np.ndarray


@short
@dataclass(frozen=True, eq=False)
class Linearization:
    """The matrices of small motions about `theta` (and rates `omega`), and their eigenvalues.

    M, C, K are (n, n) with n the freedom of the chain; K is unsymmetric under a follower force, C has the gyroscopic terms of a
    moving state. `basis` (N, n) maps the coordinates to absolute angles.
    """

    chain: Multibody
    theta: np.ndarray
    omega: np.ndarray
    M: np.ndarray
    C: np.ndarray
    K: np.ndarray
    basis: np.ndarray

    @cached_property
    def A(self) -> np.ndarray:  # noqa: N802
        """The state matrix (2n, 2n): (x, x')' = A (x, x')."""
        return companion(np.linalg.solve(self.M, np.hstack([self.K, self.C])))

    @property
    def eigenvalues(self) -> ComplexArray:
        """The eigenvalues (2n,) in 1/s, by growing frequency."""
        return self._solved[0]

    @property
    def modes(self) -> np.ndarray:
        """The shapes (N, 2n) that belong to the eigenvalues, in absolute angles, the largest of each 1."""
        return self._solved[1]

    @property
    def frequencies(self) -> np.ndarray:
        """The undamped frequencies (n,) in rad/s: roots of the eigenvalues of M^-1 K; not a number where they are not real."""
        squares = self.squares
        real = np.abs(squares.imag) <= FLAT * np.abs(squares).max(initial=0.0)
        with np.errstate(invalid="ignore"):
            return np.sort(np.sqrt(np.where(real, _neutral(squares.real), np.nan)))

    @cached_property
    def squares(self) -> ComplexArray:
        """The eigenvalues (n,) of M^-1 K, by growing real part: squares of the frequencies if there is no damping."""
        if self.conservative:
            from scipy.linalg import eigh

            return eigh(self.K, self.M, eigvals_only=True).astype(complex)
        return np.sort_complex(np.linalg.eigvals(np.linalg.solve(self.M, self.K))).astype(complex)

    @cached_property
    def conservative(self) -> bool:
        """Whether K is symmetric."""
        return bool(np.abs(self.K - self.K.T).max(initial=0.0) <= 1e-12 * np.abs(self.K).max(initial=0.0))

    @cached_property
    def undamped(self) -> bool:
        """Whether nothing depends on the rates."""
        return not self.C.any()

    @property
    def worst(self) -> np.complex128:
        """The eigenvalue with the largest real part, in 1/s."""
        return self.eigenvalues[self.eigenvalues.real.argmax()]

    @property
    def growth(self) -> float:
        """The largest real part of an eigenvalue in 1/s."""
        return float(self.eigenvalues.real.max(initial=-np.inf))

    @property
    def stable(self) -> bool:
        """Whether no small motion grows (to rounding)."""
        if self.undamped:
            return bool(np.all(np.isfinite(self.frequencies)))
        return bool(self.growth <= FLAT * np.abs(self.eigenvalues).max(initial=0.0))

    def table(self) -> list[Mode]:
        """Return the modes, one for each pair of eigenvalues, by growing frequency."""
        values, shapes = self.eigenvalues, self.modes
        out = []
        for k, value in enumerate(values):
            if value.imag >= 0:
                size = abs(value)
                ratio = float(-value.real / size) if size else 0.0
                out.append(Mode(float(value.real), float(value.imag), float(size), ratio, shapes[:, k]))
        return out

    @shown_by("modes.modes_figure")
    def plot(
        self,
        kind: str = "modes",
        count: int = PICTURED,
        *,
        ax: Axes | Sequence[Axes] | None = None,
        size: tuple[float, float] | str | None = None,
        theme: str | None = None,
    ) -> Figure:
        """Return the shapes of up to `count` modes, or with kind="eigenvalues" the eigenvalues in their plane.

        `ax`: axes to draw into, one for each mode that is shown; the rest as in `Run.plot`.
        """
        ...

    @cached_property
    def _solved(self) -> tuple[ComplexArray, np.ndarray]:
        if self.undamped and self.conservative:  # real shapes, frequencies to the last digits
            from scipy.linalg import eigh

            squares, shapes = eigh(self.K, self.M)
            roots = np.sqrt(-_neutral(squares).astype(complex))
            values: ComplexArray = np.concatenate([roots, -roots])
            shapes = np.hstack([shapes, shapes])
        else:
            values, vectors = cast(tuple[ComplexArray, np.ndarray], np.linalg.eig(self.A))
            shapes = vectors[: len(self.M)]
        order = np.lexsort((values.imag < 0, values.real, np.round(np.abs(values.imag), 12)))
        values, shapes = values[order], self.basis @ shapes[:, order]
        largest = shapes[np.abs(shapes).argmax(0), np.arange(shapes.shape[1])] if len(shapes) else np.ones(0)
        return values, shapes / np.where(largest == 0, 1, largest)


def foremost(modes: list[Mode], most: int) -> list[int]:
    """Return the numbers, from 0, of at most so many modes; those that oscillate or grow come first."""
    fades = [mode.frequency == 0 and mode.growth <= 0 for mode in modes]
    return sorted(sorted(range(len(modes)), key=lambda k: (fades[k], k))[:most])


def linearize(
    chain: Multibody, theta: ArrayLike | None = None, omega: ArrayLike | None = None, coordinates: str = "absolute"
) -> Linearization:
    """Return the small motions about angles `theta` (rad) and rates `omega`: about straight down, or where a closed chain rests, if
    not given.

    About a state that is no equilibrium they are those about the motion through it, at that moment. A torque function of the state
    is differentiated numerically, at t = 0.

    >>> from nlink.mechanics.chain import Chain
    >>> linearize(Chain.uniform(2)).frequencies.round(4).tolist()
    [2.6801, 7.1887]
    """
    choice("coordinates", coordinates, ("absolute", "relative"))
    a_model("linearize", chain)
    if isinstance(chain, Mechanism) and chain.closed and chain.n > MOST_BODIES:
        raise ModelError(f"linearize takes closed mechanisms of up to {MOST_BODIES} bodies, got {chain.n}; simulate a small motion")
    if chain.n > MOST_LINKS:
        raise ModelError(f"linearize builds matrices of N x N for up to {MOST_LINKS} links, got {chain.n}; use modes(chain, count)")
    if theta is None:
        from nlink.analysis.equilibrium import equilibrium

        theta = equilibrium(chain).theta if chain.closed else 0.0
    angles = np.array(spread("theta", angle_or_each("theta", theta), chain.n, "links"))
    rates = np.array(spread("omega", number_or_each("omega", 0.0 if omega is None else omega), chain.n, "links"))
    angles, rates = chain.given(0.0, angles, rates)
    if chain.closed:
        chain = chain.as_assembled(angles) if isinstance(chain, Mechanism) else chain
        (M, C, K), basis = _closed(chain, angles, rates)
    else:
        M, C, K = matrices(chain, angles, rates, _accelerations(chain, angles, rates))
        basis = _directions(chain, coordinates)
    if chain.closed or coordinates == "relative" or chain.prescribed.any():
        M, C, K = (basis.T @ matrix @ basis for matrix in (M, C, K))
    return Linearization(chain, angles, rates, M, C, K, basis)


def _neutral(squares: np.ndarray) -> np.ndarray:
    """Return squares of frequencies, those that are zero to rounding not negative: a neutral mode does not grow."""
    return np.where(np.abs(squares) <= ROUNDING * np.abs(squares).max(initial=0.0), np.abs(squares), squares)


def companion(solved: np.ndarray) -> np.ndarray:
    """Return the state matrices (..., 2n, 2n) of x'' = -solved (x, x') with solved = M^-1 (K, C), (..., n, 2n)."""
    *many, n, _ = solved.shape
    A = np.zeros((*many, 2 * n, 2 * n))
    A[..., :n, n:] = np.eye(n)
    A[..., n:, :] = -solved
    return A


def matrices(
    chain: Multibody, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray, t: ArrayLike = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M, C, K in absolute angles of a chain without its pin, at times t for torque functions; of a mechanism in its
    coordinates, at times t, with M = 1 and C = K = 0 for what is prescribed, and in K the geometric stiffness of its closures.
    """
    if isinstance(chain, Mechanism):
        return _of_mechanism(chain, theta, omega, alpha, t)
    M, C, K = linearised.inertial(chain, theta, omega, alpha)
    _, dampings, stiffnesses = linearised.working(chain, theta, omega)
    fed_back = linearised.feedback(chain, theta, omega, t)
    K = K + linearised.conservative(chain, theta)[1] + stiffnesses.sum(0) + fed_back[1]
    return M, C + dampings.sum(0) + fed_back[0], K


def _directions(chain: Multibody, coordinates: str) -> np.ndarray:
    """Return the changes (N, freedom) of the coordinates of an open chain or mechanism that belong to those asked for."""
    free = np.flatnonzero(~chain.prescribed)
    basis = np.eye(chain.n)[:, free]
    if coordinates == "relative":
        basis[free] = np.linalg.inv(linearised.joints(chain)[np.ix_(free, free)])
    return basis


def _of_mechanism(
    model: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M, C, K (..., N, N) in all coordinates."""
    from nlink.formulations.tree_slopes import balances  # Numba

    left, M, C, K = balances(model, t, q, v, a)
    if model.closed:
        left = left - linearised.function_torques(model, q, v, t)
        K = K + loop_closure.geometric(model, q, closing_forces(model, q, -left))
    fed_back, held = linearised.feedback(model, q, v, t), linearised.diagonal(model.prescribed.astype(float))
    free = np.eye(model.n) - held
    return free @ M @ free + held, free @ (C + fed_back[0]) @ free, free @ (K + fed_back[1]) @ free


def _on_mechanism(model: Mechanism, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the forces (..., N) on the coordinates at rest, but for those of drives, their stiffness and their size."""
    from nlink.formulations.tree_slopes import balances  # Numba

    for i, body in enumerate(model.links):
        if body.motion is not None and moves(body.motion):
            raise ModelError(
                f"Mechanism.links[{i}] has a prescribed motion, which leaves no equilibrium; make it constant, Ramp(start, 0), or "
                "ask floquet() about motions that repeat"
            )
    torques, rest = linearised.steady_torques(model, q), np.zeros_like(q)
    torque = model.load(JointTorque)
    function = torque is not None and torque.takes_state
    at = model.given(0.0, q, rest)[0]
    left, _, _, K = balances(model, 0.0, at, rest, rest)
    free = ~model.prescribed
    left = np.where(free, (torques if function else 0.0) - left, 0.0)
    K = (K + linearised.feedback(model, at, rest)[1]) * free * free[:, None]
    return left, K, _sizes(model, at)


def _sizes(model: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return how large the forces of the loads are at rest at coordinates q (..., N): those that are to balance, each by itself."""
    from nlink.formulations.tree_slopes import balances  # Numba

    rest, sizes = np.zeros_like(q), np.full(q.shape[:-1], 1e-300)
    for load in (Gravity(model.g), *(load for load in model.loads if not isinstance(load, Gravity | JointTorque))):
        alone = replace(model, loads=(load,) if isinstance(load, Gravity) else (Gravity(0.0), load))
        left, _, _, K = balances(alone, 0.0, q, rest, rest)
        sizes = np.maximum(sizes, np.maximum(np.abs(left).max(-1), np.abs(K).max((-1, -2))))
    torques = linearised.steady_torques(model, q)
    return np.maximum(sizes, np.abs(torques).max(-1))


def closing_forces(chain: Multibody, theta: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return the forces (..., rows) of the closures that balance the moments (..., N); the smallest, if rows are spare."""
    return -(np.swapaxes(loop_closure.inverse(chain, theta), -1, -2) @ left[..., None])[..., 0]


class Statics(NamedTuple):
    """The moments left over at rest along the free directions, their stiffness there, these directions (N, freedom), the size of
    moments, and the force (2,) of the pin of a chain on its tip, which balances the other moments.
    """

    left: np.ndarray
    stiffness: np.ndarray
    basis: np.ndarray
    scale: float
    pin_force: np.ndarray | None

    def balanced(self, tolerance: float = BALANCE) -> bool:
        """Whether the chain can rest there."""
        return bool(np.abs(self.left).max(initial=0.0) <= tolerance * self.scale)


def moments(chain: Multibody, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the moments (..., N) on chains at rest without their pin, their stiffness (..., N, N) and their size (...)."""
    if isinstance(chain, Mechanism):
        return _on_mechanism(chain, theta)
    force, stiffness = linearised.conservative(chain, theta)
    forces, _, stiffnesses = linearised.working(chain, theta, np.zeros_like(theta))
    torques, (_, fed_back) = linearised.steady_torques(chain, theta), linearised.feedback(chain, theta, np.zeros_like(theta))
    sizes = np.abs(force).max(-1), np.abs(forces).max((0, -1)), np.abs(torques).max(-1), np.abs(stiffness).max((-1, -2))
    scale = np.maximum(np.maximum.reduce(sizes), 1e-300)
    return force + forces.sum(0) + torques, stiffness + stiffnesses.sum(0) + fed_back, scale


def statics(chain: Multibody, theta: np.ndarray) -> Statics:
    """Return the balance of moments of a chain at rest at these angles."""
    left, K, scale = moments(chain, theta)
    basis, forces = loop_closure.tangent(chain, theta), None
    if chain.closed:
        forces = closing_forces(chain, theta, left)
        K = K + loop_closure.geometric(chain, theta, forces)
    return Statics(basis.T @ left, basis.T @ K @ basis, basis, float(scale), forces if chain.pin else None)


def _accelerations(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the accelerations of an open chain, exact zeros at an equilibrium."""
    from nlink.formulations import formulate

    try:
        resting = not omega.any() and statics(chain, theta).balanced()
    except ModelError:  # a torque that changes in time
        resting = False
    return np.zeros(chain.n) if resting else formulate(chain).accelerations(theta, omega)


def _closed(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return M, C, K of a closed chain or mechanism in its coordinates, and the free directions."""
    what = "mechanism" if isinstance(chain, Mechanism) else "chain"
    if omega[~chain.prescribed].any():
        raise ModelError(f"a closed {what} is linearised about an equilibrium, at rest; leave omega out")
    rest, gap = statics(chain, theta), loop_closure.gap(chain, theta)
    if np.linalg.norm(gap) > BALANCE * loop_closure.size_of(chain) or not rest.balanced():
        raise ModelError(
            f"a closed {what} is linearised where it closes and can rest; give the theta of equilibrium({what}, guess)"
        )
    M, C, K = matrices(chain, theta, omega, omega)
    if isinstance(chain, Mechanism):
        if mobility(chain, theta).freedom < rest.basis.shape[1]:
            raise ModelError(
                "the mechanism rests on a dead position, where small motions are not linear; simulate it from beside there"
            )
        return (M, C, K), rest.basis
    assert rest.pin_force is not None
    return (M, C, K + loop_closure.geometric(chain, theta, rest.pin_force)), rest.basis
