"""Small motions of a chain in space about hanging, or about steady turning round the vertical.

In the frame that turns with the chain at the rate W it is at rest. With the changes x of its coordinates along their tangents,

    c~ = c0 + B x        c' = c~' + W x c~        c~'' = c'' - 2 W x c~' - W x (W x c~)        x'' + C x' + K x = 0

(of quaternions (0, W) c~ / 2 stands in place of W x c~), C and K by central differences of order 6 of the accelerations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.analysis.linearize import Mode, companion
from nlink.formulations import formulate
from nlink.mechanics.loads import JointTorque
from nlink.mechanics.space.kinematics import multiplied, turns
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.system import System
from nlink.run.readout import unit_rows

MOST_LINKS = 200
"""Links whose matrices are built."""
STEP = 2e-3
"""Of the differences, in rad and rad/s."""
WEIGHTS = (45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0)
"""Of the central difference of order 6."""
REST = 1e-7
"""Acceleration that is left at a steady state, as a part of those that act."""
NEUTRAL = 1e-5
"""Size of an eigenvalue, as a part of the largest, below which it is zero. That of the turn about the vertical is a double one:
rounding of the matrices splits it by the square root of its size.
"""
UP = np.array([0.0, 1.0, 0.0])


class SteadyState(NamedTuple):
    """A chain at rest in a frame that turns about the vertical: coordinates c0 (K,), the rate W in rad/s, and tangents B (K, F)."""

    system: System
    position: np.ndarray
    rate: float
    tangents: np.ndarray

    def accelerations(self, x: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return x'' (F, M) at many x and x' (F, M)."""
        chain, W = _chain(self.system), self.rate
        c, v = self.position[:, None] + self.tangents @ x, self.tangents @ rates
        for rows in unit_rows(chain):
            e, rate = c[rows], v[rows]
            e = e / np.linalg.norm(e, axis=1, keepdims=True)
            c[rows], v[rows] = e, rate - (e * rate).sum(1, keepdims=True) * e
        curve = self.system.accelerations_of(np.vstack([c, v + _carried(chain, c, W)]))
        steady = curve - 2 * _carried(chain, v, W) - _carried(chain, _carried(chain, c, W), W)
        return np.linalg.pinv(self.tangents) @ steady


class Swing(NamedTuple):
    """A mode, and the complex changes (K,) of the coordinates in it, in the frame that turns with the chain."""

    mode: Mode
    change: np.ndarray


def space_modes(chain: SpatialChain, pose: object = None, omega: object = None) -> list[Mode]:
    """Return the modes about a pose, straight down if not given, and its steady turning at angular velocities omega, by growing
    frequency; their shapes are changes of the directions (N, 3), the largest component of each 1.

    >>> [round(mode.frequency, 4) for mode in space_modes(SpatialChain.uniform(2))]
    [2.6801, 2.6801, 7.1887, 7.1887]
    """
    return [swing.mode for swing in swings(steady_state(chain, pose, omega))]


def swings(state: SteadyState) -> list[Swing]:
    """Return the modes about a steady state with the changes of its coordinates, by growing frequency."""
    damping, stiffness = _matrices(state)
    values, vectors = np.linalg.eig(companion(np.hstack([stiffness, damping])))
    neutral = np.abs(values) <= NEUTRAL * np.abs(values).max(initial=1e-300)
    growth, frequency = (np.where(neutral, 0.0, part(values)) for part in (np.real, np.imag))
    order = [k for k in np.lexsort((growth, np.round(frequency, 9))).tolist() if frequency[k] >= 0]
    zeros = [k for k in order if neutral[k]]
    order = zeros[: (len(zeros) + 1) // 2] + [k for k in order if not neutral[k]]  # a neutral mode has two zeros
    moves = vectors[: len(stiffness)]
    shapes, changes = _directions(state) @ moves, state.tangents @ moves
    return [_swing(complex(growth[k], frequency[k]), shapes[:, k].reshape(-1, 3), changes[:, k]) for k in order]


def steady_state(chain: SpatialChain, pose: object = None, omega: object = None) -> SteadyState:
    """Return the chain at rest, or in steady turning; refuse a state that is neither."""
    if chain.n > MOST_LINKS:
        raise ModelError(
            f"modes in space are found for up to {MOST_LINKS} links, got {chain.n}; those of a Chain about hanging come twice"
        )
    torque = chain.load(JointTorque)
    if torque is not None and not all(isinstance(each, float) for each in np.atleast_1d(np.array(torque.torque, object))):
        raise ModelError("modes are about a steady state: the torque changes in time; make it a number")
    hanging = [(0.0, 0.0) if len(joint.axes) == 2 else 0.0 for joint in chain.joints]
    position, velocity = chain.start(hanging if pose is None else pose, omega)
    carried = _carried(chain, position[:, None], 1.0)[:, 0]
    rate = float(carried @ velocity / max(carried @ carried, 1e-300)) if velocity.any() else 0.0
    if rate and chain.joints[0].axes:
        raise ModelError("modes about steady turning need a first link on a ball joint; give a pose at rest")
    state = SteadyState(formulate(chain), position, rate, _tangents(chain, position))
    none = np.zeros((state.tangents.shape[1], 1))
    left = np.abs(state.accelerations(none, none)).max()
    scale = max(chain.g / float(chain.length.min()), rate**2, 1.0)
    if np.abs(velocity - rate * carried).max() > REST * max(abs(rate), 1.0) or left > REST * scale:
        raise ModelError(
            "modes are about rest or steady turning round the vertical, and this state is neither; start.shape = 'cone' finds it"
        )
    return state


def _chain(system: System) -> SpatialChain:
    assert isinstance(system.chain, SpatialChain)
    return system.chain


def _carried(chain: SpatialChain, c: np.ndarray, rate: float) -> np.ndarray:
    """Return what turning about the vertical at a rate adds to the rates of coordinates c (K, M): nothing to those of joints."""
    out = np.zeros_like(c)
    for rows in unit_rows(chain) if rate else ():
        values = np.moveaxis(c[rows], 1, -1)
        if rows.shape[1] == 3:
            turned_on = np.cross(rate * UP, values)
        else:
            turned_on = multiplied(np.broadcast_to([0.0, 0.0, rate / 2, 0.0], values.shape), values)
        out[rows] = np.moveaxis(turned_on, -1, 1)
    return out


def _tangents(chain: SpatialChain, position: np.ndarray) -> np.ndarray:
    """Return the ways (K, F) in which the coordinates can change: two of a direction, three of a quaternion, each angle."""
    columns = []
    for place in chain.places:
        c = position[place]
        if len(c) < 3:
            own = np.eye(len(c))
        elif len(c) == 3:
            own = np.linalg.svd(c[None])[2][1:].T
        else:
            own = 0.5 * np.column_stack([multiplied(np.append(0.0, axis), c) for axis in np.eye(3)])
        column = np.zeros((chain.size, own.shape[1]))
        column[place] = own
        columns.append(column)
    return np.hstack(columns)


def _matrices(state: SteadyState) -> tuple[np.ndarray, np.ndarray]:
    """Return C and K (F, F)."""
    count = state.tangents.shape[1]
    unit, none = np.eye(count), np.zeros((count, count))
    damping, stiffness = np.zeros((count, count)), np.zeros((count, count))
    for k, weight in enumerate(WEIGHTS, start=1):
        step = k * STEP
        stiffness -= weight / STEP * (state.accelerations(step * unit, none) - state.accelerations(-step * unit, none))
        damping -= weight / STEP * (state.accelerations(none, step * unit) - state.accelerations(none, -step * unit))
    return damping, stiffness


def _directions(state: SteadyState) -> np.ndarray:
    """Return the changes (3 N, F) of the directions with x."""
    chain, columns = _chain(state.system), []
    for column in state.tangents.T:
        ahead, behind = (turns(chain, state.position + sign * 1e-5 * column).direction.ravel() for sign in (1, -1))
        columns.append((ahead - behind) / 2e-5)
    return np.column_stack(columns)


def _swing(value: complex, shape: np.ndarray, change: np.ndarray) -> Swing:
    """Return a mode; a spin that no direction shows has the shape zero, and turns its body by up to 1."""
    largest, most = shape.ravel()[np.abs(shape).argmax()], change[np.abs(change).argmax()]
    size, seen = abs(value), abs(largest) > 1e-9
    shape, change = (shape / largest, change / largest) if seen else (np.zeros_like(shape), 0.5 * change / most)
    return Swing(Mode(float(value.real), float(value.imag), size, float(-value.real / size) if size else 0.0, shape), change)
