"""Random mechanisms with loops, closed at random states, and an independent mechanics of them: virtual work, and multipliers in one
dense solve. What the rows are is written here once more, for complex steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers import angles, rates, tenths
from hypothesis import assume
from hypothesis import strategies as st
from trees import APART, Tree, angle_of, derivatives, mechanisms, origin, placed, slope

from nlink import GROUND, At, Distance, Gear, Guide, Mechanism, ModelError, Pin, PointSpring
from nlink.mechanics.motions import motion_at

NEAR = 0.02
"""Smallest singular value of the rows, as a part of the largest: nearer to dead positions rounding counts."""


# Random mechanisms with loops ----------------------------------------------------------------------------------------


def seen_from(model: Mechanism, q: np.ndarray, body: int, x: float, y: float) -> Any:
    """Return the point of a body, or of the ground, that is at (x, y)."""
    if body == GROUND:
        return float(x), float(y)
    (u, v), turned = origin(model, q, body), angle_of(model, q, body)
    s, c = np.sin(turned), np.cos(turned)
    return At(body, float((x - u) * s - (y - v) * c), float((x - u) * c + (y - v) * s))


@st.composite
def closures(draw: st.DrawFn, model: Mechanism, q: np.ndarray) -> Any:
    """A pin, guide, bar or gear that holds at this state."""
    i = draw(st.integers(0, model.n - 1))
    j = draw(st.integers(GROUND, model.n - 1).filter(lambda j: j != i))
    kind = draw(st.sampled_from([Pin, Pin, Guide, Distance, Gear]))
    if kind is Gear and j != GROUND:
        ratio = draw(st.sampled_from([-2.0, -1.0, 0.5, 3.0]))
        return Gear(i, j, ratio, float(q[i] - ratio * q[j]))
    a = At(i, draw(tenths(-5, 15)), draw(tenths(1, 8)))
    x, y = placed(model, q, i, a.along, a.left)
    if kind is Distance:
        length, turned = draw(tenths(2, 20)), draw(tenths(-30, 30))
        return Distance(a, seen_from(model, q, j, x + length * np.cos(turned), y + length * np.sin(turned)), length)
    if kind is Guide:
        way, far = draw(tenths(-30, 30)), draw(tenths(-10, 10))
        turned = way + angle_of(model, q, j)
        return Guide(a, seen_from(model, q, j, x - far * np.cos(turned), y - far * np.sin(turned)), way)
    return Pin(a, seen_from(model, q, j, x, y))


@st.composite
def turning(draw: st.DrawFn, most: int = 6, **options: Any) -> tuple[Mechanism, np.ndarray, np.ndarray, float]:
    """A mechanism with one to three closures, a state in which they hold, and a time; not near a dead position."""
    tree = draw(mechanisms(most=most, **options).filter(lambda model: model.n > 1))
    t = draw(tenths(-10, 50))
    q, v = tree.given(t, draw(angles(tree.n)), draw(rates(tree.n)))
    try:
        model = Mechanism(tree.links, tree.loads, draw(st.lists(closures(tree, q), min_size=1, max_size=3)))
        model.check_masses()
    except ModelError as error:
        assume(not any(words in str(error) for words in ("prescribed joints only", "singular", "off its link")))
        raise
    here = Loops(model, q, v, t)
    sizes = np.linalg.svd(here.gradients()[:, here.free], compute_uv=False)
    assume(len(here.free) >= model.rows and sizes[-1] > NEAR * max(sizes[0], 1.0))
    assume(all(abs(here.span(load)[0]) > APART for load in model.loads if isinstance(load, PointSpring)))
    assume(np.linalg.cond(here.free_mass()) < 1e6)
    v[here.free] -= np.linalg.pinv(here.gradients()[:, here.free]) @ (here.gradients() @ v)
    assume(np.abs(v).max() < 20)
    return model, q, v, t


# An independent mechanics --------------------------------------------------------------------------------------------


class Loops(Tree):
    """The rows of a mechanism at one state, and its motion by multipliers."""

    def missed(self, q: Any) -> Any:
        """Return by how much each row is missed; q may be complex."""
        return np.array([miss for closure in self.model.pins for miss in self._missed(closure, q)])

    def _missed(self, closure: Any, q: Any) -> list[Any]:
        if isinstance(closure, Gear):
            return [q[closure.i] - closure.ratio * q[closure.j] - closure.offset]
        first, second = (closure.point, closure.through) if isinstance(closure, Guide) else (closure.a, closure.b)
        (x, y), (u, v) = self.at(first, q), self.at(second, q)
        if isinstance(closure, Pin):
            return [x - u, y - v]
        if isinstance(closure, Guide):
            way = closure.direction + (angle_of(self.model, q, second.link) if isinstance(second, At) else 0.0)
            return [np.cos(way) * (y - v) - np.sin(way) * (x - u)]
        return [((x - u) ** 2 + (y - v) ** 2 - closure.length**2) / (2 * closure.length)]

    def at(self, point: Any, q: Any) -> tuple[Any, Any]:
        """Return where a point is."""
        if not isinstance(point, At):
            return point
        along = self.model.links[point.link].length if point.along is None else point.along
        return placed(self.model, q, point.link, along, point.left)

    def gradients(self) -> np.ndarray:
        """Return the derivatives (rows, N) of the rows."""
        return derivatives(self.missed, self.q)

    def bent(self) -> np.ndarray:
        """Return the second derivatives in time of the rows without accelerations."""
        return slope(lambda s: derivatives(lambda h: self.missed(self.q + (s + h[0]) * self.v), np.zeros(1))[:, 0])

    def motion(self) -> tuple[np.ndarray, np.ndarray]:
        """Return accelerations and multipliers: M a = forces - bias + J^T multipliers, J a = -bent."""
        M, J, f = self.mass_matrix(), self.gradients(), self.free
        push = sum(self.generalised().values()) - self.bias()
        a = np.zeros(self.model.n)
        for i in self.given:
            a[i] = motion_at(self.model.links[i].motion, self.t)[2]
        known = np.concatenate(
            [push[f] - M[np.ix_(f, self.given)] @ a[self.given], -self.bent() - J[:, self.given] @ a[self.given]]
        )
        whole = np.block([[M[np.ix_(f, f)], -J[:, f].T], [J[:, f], np.zeros((len(J), len(J)))]])
        solved = np.linalg.solve(whole, known)
        a[f] = solved[: len(f)]
        return a, solved[len(f) :]

    def closure_forces(self) -> np.ndarray:
        """Return the force (closures, 2) on the first body of each closure; of gears zero."""
        forces, sizes = [], list(self.motion()[1])
        for closure in self.model.pins:
            first = sizes.pop(0)
            if isinstance(closure, Pin):
                forces.append([first, sizes.pop(0)])
            elif isinstance(closure, Gear):
                forces.append([0.0, 0.0])
            else:
                point = closure.point if isinstance(closure, Guide) else closure.a
                here = self.point(point)[0]

                def pushed(r: Any, closure: Any = closure) -> Any:
                    other = closure.through if isinstance(closure, Guide) else closure.b
                    (u, v), x, y = self.at(other, self.q), r[0], r[1]
                    if isinstance(closure, Distance):
                        return np.array([((x - u) ** 2 + (y - v) ** 2 - closure.length**2) / (2 * closure.length)])
                    way = closure.direction + (angle_of(self.model, self.q, other.link) if isinstance(other, At) else 0.0)
                    return np.array([np.cos(way) * (y - v) - np.sin(way) * (x - u)])

                forces.append(first * derivatives(pushed, here)[0])
        return np.array(forces)

    def drive_power(self) -> float:
        """Return the power of the drives of the prescribed joints."""
        a, sizes = self.motion()
        forces = self.mass_matrix() @ a + self.bias() - sum(self.generalised().values()) - self.gradients().T @ sizes
        return float(forces[self.given] @ self.v[self.given])
