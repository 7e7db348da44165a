"""The rows of what closes a mechanism, in NumPy: gaps, their derivatives by the coordinates, and their rates of change.

    Pin        a - b                                   2 rows, m
    Guide      normal of the line . (point - through)  m
    Distance   (|a - b|^2 - length^2) / (2 length)     m
    Gear       q_i - ratio q_j - offset                rad, or m of a slider

Coordinates come first here, states behind: q (N, ...) gives gaps (rows, ...) and derivatives (rows, N, ...), so that many states
cost little more than one. A point moves with a link by S r, r from the link's joint to it, and with a slide along its direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nlink._support.checks import ModelError
from nlink.mechanics import tree_kinematics
from nlink.mechanics.points import At, Closure, Distance, Gear, Guide, Pin, Point, ends

if TYPE_CHECKING:
    from nlink.mechanics.mechanism import Mechanism

STEP = 1e-30
"""A complex step: its square vanishes beside 1."""


class Poses(NamedTuple):
    """Sine and cosine of the angle of each body, its origin, and the direction of its slide; one item for each body."""

    s: list[Any]
    c: list[Any]
    x: list[Any]
    y: list[Any]
    dx: list[Any]
    dy: list[Any]

    def seen(self, body: int, along: float, left: float) -> tuple[Any, Any]:
        """Return a vector that is given in the frame of a body, or of the ground."""
        if body < 0:
            return left, -along
        s, c = self.s[body], self.c[body]
        return along * s + left * c, left * s - along * c

    def place(self, body: int, along: float, left: float) -> tuple[Any, Any]:
        """Return where a point of a body, or of the ground, is."""
        x, y = self.seen(body, along, left)
        return (x, y) if body < 0 else (self.x[body] + x, self.y[body] + y)


def poses(model: Mechanism, q: np.ndarray) -> Poses:
    """Return where the bodies are at coordinates q (N, ...)."""
    at = Poses([], [], [], [], [], [])
    alongs, lefts = model.levers.tolist()
    turned = model.directions.T.tolist()
    for i, k in enumerate(model.parents.tolist()):
        x, y = at.place(k, alongs[i], lefts[i])
        dx = dy = 0.0
        if model.slides[i]:
            dx, dy = at.seen(k, *turned[i])
            x, y = x + q[i] * dx, y + q[i] * dy
            s, c = (at.s[k], at.c[k]) if k >= 0 else (0.0, 1.0)
        else:
            s, c = np.sin(q[i]), np.cos(q[i])
        for values, value in zip(at, (s, c, x, y, dx, dy), strict=True):
            values.append(value)
    return at


def moves(model: Mechanism, at: Poses, body: int, x: Any, y: Any) -> Iterator[tuple[int, Any, Any]]:
    """Yield the coordinates that move the point (x, y) of a body, and its velocity at their unit rate."""
    while body >= 0:
        turner = int(model.turners[body])
        if turner >= 0:
            yield turner, at.y[body] - y, x - at.x[body]
        if model.slides[body]:
            yield body, at.dx[body], at.dy[body]
        x, y, body = at.x[body], at.y[body], int(model.parents[body])


def located(model: Mechanism, closure: Closure) -> list[tuple[int, float, float]]:
    """Return the two points of a pin, guide or bar: body, along, left."""
    return [model.located(point) for point in ends(closure)]


def gaps(model: Mechanism, q: np.ndarray, at: Poses | None = None) -> np.ndarray:
    """Return how far each row is from being closed, (rows, ...), at coordinates q (N, ...)."""
    at, out, row = at or poses(model, q), np.empty((model.rows, *q.shape[1:]), q.dtype), 0
    for index, closure in enumerate(model.pins):
        if isinstance(closure, Gear):
            out[row] = q[closure.i] - closure.ratio * q[closure.j] - decided(index, closure)
        else:
            x, y = _span(model, at, closure)
            if isinstance(closure, Pin):
                out[row], out[row + 1] = x, y
            elif isinstance(closure, Guide):
                nx, ny = _normal(model, at, closure)
                out[row] = nx * x + ny * y
            else:
                length = decided(index, closure)
                out[row] = (x * x + y * y - length**2) / (2 * length)
        row += closure.rows
    return out


def jacobians(model: Mechanism, q: np.ndarray, at: Poses | None = None) -> np.ndarray:
    """Return the derivatives of the gaps by the coordinates, (rows, N, ...)."""
    at, out, row = at or poses(model, q), np.zeros((model.rows, model.n, *q.shape[1:]), q.dtype), 0
    for index, closure in enumerate(model.pins):
        if isinstance(closure, Gear):
            out[row, closure.i] += 1.0
            out[row, closure.j] -= closure.ratio
        elif isinstance(closure, Pin):
            for (body, along, left), sign in zip(located(model, closure), (1.0, -1.0), strict=True):
                for k, ux, uy in moves(model, at, body, *at.place(body, along, left)):
                    out[row, k] += sign * ux
                    out[row + 1, k] += sign * uy
        else:
            x, y = _span(model, at, closure)
            if isinstance(closure, Guide):
                nx, ny = _normal(model, at, closure)
                owner = located(model, closure)[1][0]
                if owner >= 0 and model.turners[owner] >= 0:
                    out[row, model.turners[owner]] += nx * y - ny * x
            else:
                nx, ny = x / decided(index, closure), y / decided(index, closure)
            for (body, along, left), sign in zip(located(model, closure), (1.0, -1.0), strict=True):
                for k, ux, uy in moves(model, at, body, *at.place(body, along, left)):
                    out[row, k] += sign * (nx * ux + ny * uy)
        row += closure.rows
    return out


def curvatures(model: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the second derivatives in time of the gaps (rows, ...) at rates v (N, ...) and no accelerations of the coordinates."""
    q, v = np.moveaxis(q, 0, -1), np.moveaxis(v, 0, -1)
    at, out, row = tree_kinematics.frames(model, q, v), np.zeros((model.rows, *q.shape[:-1]), q.dtype), 0
    for index, closure in enumerate(model.pins):
        if not isinstance(closure, Gear):
            d, u, a = _relative(model, at, closure)
            if isinstance(closure, Pin):
                out[row], out[row + 1] = a[..., 0], a[..., 1]
            elif isinstance(closure, Distance):
                out[row] = ((u * u).sum(-1) + (d * a).sum(-1)) / decided(index, closure)
            else:
                owner = located(model, closure)[1][0]
                w = at.rate[..., owner, None] if owner >= 0 else 0.0
                n = np.stack(np.broadcast_arrays(*_normal(model, poses(model, np.moveaxis(q, -1, 0)), closure)), -1)
                turned = np.stack([-n[..., 1], n[..., 0]], -1)
                out[row] = (n * a + 2 * w * turned * u - w**2 * n * d).sum(-1)
        row += closure.rows
    return out


def slopes(function: Callable[[np.ndarray], np.ndarray], q: np.ndarray) -> np.ndarray:
    """Return the derivatives of a function of coordinates (N, ...) by these, the last axis, exact to rounding: complex steps."""
    steps = 1j * STEP * np.eye(len(q)).reshape(len(q), *(1,) * (q.ndim - 1), len(q))
    return np.imag(function(q[..., None] + steps)) / STEP


def bends(model: Mechanism, q: np.ndarray) -> np.ndarray:
    """Return the second derivatives (rows, N, ..., N) of the gaps by the coordinates (N, ...)."""
    return slopes(lambda q: jacobians(model, q), q)


def decided(index: int, closure: Distance | Gear) -> float:
    """Return the length of a bar or the offset of a gear; refuse one that is to be taken as assembled."""
    value, name = (closure.length, "length") if isinstance(closure, Distance) else (closure.offset, "offset")
    if value is None:
        raise ModelError(
            f"Mechanism.pins[{index}].{name} is not given, and is taken as assembled; give it, or use mechanism.as_assembled(theta)"
        )
    return value


def open_ends(model: Mechanism, gap: np.ndarray) -> np.ndarray:
    """Return how far each closure is open, (pins, ...), of gaps (rows, ...)."""
    first = np.cumsum([0] + [closure.rows for closure in model.pins[:-1]])
    return np.sqrt(np.add.reduceat(gap**2, first, axis=0))


def widest_gap(model: Mechanism, gap: np.ndarray) -> str:
    """Return which closure is open the furthest, and by how much."""
    apart = open_ends(model, gap)
    worst = int(np.argmax(apart))
    closure = model.pins[worst]
    unit = "rad" if isinstance(closure, Gear) and not model.slides[closure.i] else "m"
    return f"Mechanism.pins[{worst}] ({closure.name}) stays {apart[worst]:.3g} {unit} open"


def _span(model: Mechanism, at: Poses, closure: Closure) -> tuple[Any, Any]:
    """Return the vector from the second point of a closure to its first."""
    (x, y), (u, v) = (at.place(*point) for point in located(model, closure))
    return x - u, y - v


def _normal(model: Mechanism, at: Poses, guide: Guide) -> tuple[Any, Any]:
    """Return the unit normal of the line of a guide."""
    return at.seen(located(model, guide)[1][0], -np.cos(guide.direction), -np.sin(guide.direction))


def _relative(model: Mechanism, at: tree_kinematics.Frames, closure: Closure) -> tuple[np.ndarray, ...]:
    """Return the vector from the second point to the first, and its first two derivatives in time, each (..., 2)."""
    a, b = (_followed(model, at, point) for point in ends(closure))
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _followed(model: Mechanism, at: tree_kinematics.Frames, point: Point) -> tuple[np.ndarray, ...]:
    """Return where a point is, its velocity and its acceleration."""
    place, speed = tree_kinematics.spot(model, at, point)
    if not isinstance(point, At):
        return place, speed, np.zeros_like(speed)
    body = point.link
    r = place - at.origin[..., body, :]
    turned = np.stack([-r[..., 1], r[..., 0]], -1)
    return place, speed, at.acceleration[..., body, :] + at.alpha[..., body, None] * turned - at.rate[..., body, None] ** 2 * r
