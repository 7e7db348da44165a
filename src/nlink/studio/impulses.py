"""How the velocities of a chain in space change by an impulse at a point of a link.

v and w are the changes of a link's velocity, at its centre of mass, and angular velocity, P is the impulse, r from the centre to
where it acts, L the impulse that a link takes from its parent, c from its upper hinge to the centre, d from there to its lower end:

    m v = L - L' + P        I w = -c x L - d x L' + r x P + moments of the joint        (') of the next link
    v - w x c = v_p + w_p x d_p        what the joint does not allow of w - w_p is zero        (p) of the parent

Ordered link by link the matrix is symmetric and banded, so that the cost is that of the number of links.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_banded

from nlink.mechanics.space.kinematics import Turns, multiplied, turned
from nlink.mechanics.space.model import SpatialChain
from nlink.view.space.solids import pins_of

FREE = 3
"""Axes about which a ball joint lets a link turn; of other joints as many as they have."""
Block = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows (M,), columns (M,) of the first of 3 x 3 values each, and the values (M, 3, 3)."""


class Impulses:
    """The equations of a chain: which unknowns there are, and where they stand."""

    def __init__(self, chain: SpatialChain) -> None:
        self.chain, self.pins = chain, pins_of(chain)
        self.lines, self.balls = (
            np.array([i for i, place in enumerate(chain.places) if place.stop - place.start == size], int) for size in (3, 4)
        )
        held = np.array([FREE - len(axes) if axes else 0 for axes in self.pins])
        self.force = np.concatenate([[0], np.cumsum(9 + held)[:-1]])
        self.moment, self.velocity = self.force + 3, self.force + 3 + held
        self.spin, self.count = self.velocity + 3, int((9 + held).sum())

    def answer(self, at: Turns, link: int, along: float, impulse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the changes of the angular velocities (N, 3, M) and of the velocity of the point (3, M) by impulses (3, M) there.

        `at`: how the links stand; `along`: how far along the link the point is, in m.
        """
        chain = self.chain
        centre = self._centres(at)
        arm = along * at.direction[link] - centre[link]
        rows, columns, values = self._matrix(at, centre, chain.length[:, None] * at.direction - centre)
        wide = int(np.abs(rows - columns).max())
        band, right = np.zeros((2 * wide + 1, self.count)), np.zeros((self.count, impulse.shape[1]))
        band[wide + rows - columns, columns] = values
        right[self.velocity[link] + np.arange(3)] = impulse
        right[self.spin[link] + np.arange(3)] = np.cross(arm, impulse, axisb=0, axisc=0)
        found = solve_banded((wide, wide), band, right)
        spins = found[self.spin[:, None] + np.arange(3)]
        return spins, found[self.velocity[link] + np.arange(3)] + np.cross(spins[link], arm, axisa=0, axisc=0)

    def rates(self, c: np.ndarray, at: Turns, spins: np.ndarray) -> np.ndarray:
        """Return the changes (K,) of the rates of coordinates c by changes (N, 3) of the angular velocities."""
        chain, out = self.chain, np.zeros(self.chain.size)
        first = np.array([place.start for place in chain.places])
        rows = first[self.lines, None] + np.arange(3)
        out[rows] = np.cross(spins[self.lines], c[rows])
        rows = first[self.balls, None] + np.arange(4)
        out[rows] = 0.5 * multiplied(np.column_stack([np.zeros(len(self.balls)), spins[self.balls]]), c[rows])
        for i, place in enumerate(chain.places):
            if self.pins[i]:
                against = spins[i] - (spins[i - 1] if i else 0.0)
                out[place] = np.linalg.lstsq(self._axes(at, i).T, against, rcond=None)[0]
        return out

    def _axes(self, at: Turns, i: int) -> np.ndarray:
        """Return the axes of the joint of link i in space."""
        return np.array([axis if owner < 0 else turned(at.rotation[owner], axis) for owner, axis in self.pins[i]])

    def _parent_axes(self, at: Turns, i: int) -> np.ndarray:
        """Return the ways in which the joint of link i keeps it with its parent, across the axes about which it turns."""
        axes = self._axes(at, i)
        return np.linalg.svd(axes)[2][len(axes) :]

    def _centres(self, at: Turns) -> np.ndarray:
        """Return the centres of mass (N, 3) from the upper hinges."""
        chain = self.chain
        out = chain.com[:, None] * at.direction
        bodies = ~np.array(chain.is_line)
        out[bodies] = turned(at.rotation[bodies], chain.centre[bodies])
        return out

    def _inertias(self, at: Turns) -> np.ndarray:
        """Return the tensors (N, 3, 3) in space; a line has some inertia about itself, which nothing turns."""
        chain, e = self.chain, at.direction
        along = e[:, :, None] * e[:, None, :]
        some = float((chain.mass * chain.length**2).sum())
        out = chain.inertia[:, None, None] * (np.eye(3) - along) + some * along
        bodies = ~np.array(chain.is_line)
        axes = turned(at.rotation[bodies][:, None], np.eye(3))  # rows are the axes of the body
        out[bodies] = np.einsum("nai,nab,nbj->nij", axes, chain.tensor[bodies], axes)
        return out

    def _matrix(self, at: Turns, centre: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, columns and values of all that is not zero."""
        n, one = self.chain.n, np.eye(3)
        ones = np.broadcast_to(one, (n, 3, 3))
        coupled: list[Block] = [
            (self.force, self.velocity, -ones),
            (self.force, self.spin, -crossing(centre)),
            (self.force[1:], self.velocity[:-1], ones[1:]),
            (self.force[1:], self.spin[:-1], -crossing(end[:-1])),
        ]
        own: list[Block] = [
            (self.velocity, self.velocity, self.chain.mass[:, None, None] * one),
            (self.spin, self.spin, self._inertias(at)),
        ]
        parts = [_spread(block) for block in own + coupled]
        parts += [(columns, rows, values) for rows, columns, values in parts[len(own) :]]
        for i in range(n):
            for k, way in enumerate(self._parent_axes(at, i) if self.pins[i] else ()):
                row, mine = np.full(3, self.moment[i] + k), self.spin[i] + np.arange(3)
                parts += [(row, mine, -way), (mine, row, -way)]
                if i:
                    parts += [(row, self.spin[i - 1] + np.arange(3), way), (self.spin[i - 1] + np.arange(3), row, way)]
        rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        return rows, columns, values


def crossing(vectors: np.ndarray) -> np.ndarray:
    """Return the matrices (M, 3, 3) that multiply like vectors (M, 3) times, as cross products."""
    out = np.zeros((len(vectors), 3, 3))
    x, y, z = vectors.T
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -z, y, -x
    return out - np.swapaxes(out, 1, 2)


def _spread(block: Block) -> Block:
    """Return row, column and value of each number of the 3 x 3 blocks."""
    rows, columns, values = block
    r, c = np.indices((3, 3)).reshape(2, 9)
    return (rows[:, None] + r).ravel(), (columns[:, None] + c).ravel(), values.reshape(-1)
