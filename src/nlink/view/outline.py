"""What is drawn of a model: points of its bodies and of the ground, and what joins them. The shape is made once, the places follow.

    outline(model, theta)     Outline: the points, and for the rest numbers of points
    outline.places(theta)     where the points are, (..., P, 2) in m

Links reach from their joint to their tip and to every point where something hangs. A slider is a block on its rail, which is as
long as the motion asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nlink.mechanics import kinematics
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import JointSpring, PointForce, PointSpring
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.points import GROUND, At, Distance, Guide, Pin, Point, checked_points, ends

AIR = 0.35
"""Length of a rail beyond what slides on it, as a part of a link's length."""
SAMPLED = 2000
"""Most moments at which the extent of a motion is looked at."""


class Rail(NamedTuple):
    """A line that something slides on: its ends, and the body that it is part of, or GROUND."""

    a: int
    b: int
    owner: int


class Block(NamedTuple):
    """What slides: its point, its rail, and the slider that it is; GROUND for a point of a link on a guide."""

    point: int
    rail: Rail
    body: int


@dataclass(frozen=True)
class Outline:
    """What is drawn of a model; but for `points`, `pivots` and `pins` numbers are those of points.

    `shapes` has for each body the points that it joins: two for a bar, more for the corners of a plate, none for a slider.
    `driven` has the joints with a prescribed motion. `pivots` and `pins` (K, 2) are hinges on the ground in m. `unit` is the
    length of a usual link in m. With `follows` the picture follows the centre of mass: the model floats far away.
    """

    model: Multibody
    points: tuple[Point, ...]
    shapes: tuple[tuple[int, ...], ...]
    hinges: tuple[int, ...]
    pivots: np.ndarray
    pins: np.ndarray
    unit: float
    blocks: tuple[Block, ...] = ()
    bars: tuple[tuple[int, int], ...] = ()
    springs: tuple[tuple[int, int], ...] = ()
    driven: tuple[int, ...] = ()
    follows: bool = False

    @property
    def grounds(self) -> np.ndarray:
        """The points (G, 2) of the ground in m that hinges are fixed to: pivots, then pins."""
        return np.concatenate([self.pivots, self.pins])

    @property
    def rails(self) -> list[Rail]:
        """The rails on the ground."""
        return [block.rail for block in self.blocks if block.rail.owner == GROUND]

    def places(self, theta: np.ndarray) -> np.ndarray:
        """Return where the points are, (..., P, 2) in m."""
        return kinematics.points(self.model, theta, self.points)

    def lines(self, places: np.ndarray) -> np.ndarray:
        """Return the bodies as one line, (..., L, 2): of a chain its points, else with gaps (NaN) between the bodies."""
        if not isinstance(self.model, Mechanism):
            return places
        gap = np.full((*places.shape[:-2], 1, 2), np.nan)
        paths = [[*shape, *shape[:1] * (len(shape) > 2)] for shape in self.shapes if shape]
        paths += [[block.rail.a, block.rail.b] for block in self.blocks] + [list(bar) for bar in self.bars]
        return np.concatenate([part for path in paths for part in (places[..., path, :], gap)], axis=-2)


def outline(model: Multibody, theta: np.ndarray) -> Outline:
    """Return what is drawn of a model that moves through the coordinates (T, N), or rests at (N,)."""
    return _Drawn(model, np.atleast_2d(theta)).outline() if isinstance(model, Mechanism) else _of_chain(model)


def traced_point(model: Multibody) -> At:
    """Return the point whose path is shown if none is chosen: the tip of the last link, or a middle if a pin holds that.

    In a closed mechanism links that turn about the ground are left out, and the tip gives way if it is kept on a circle or a line.
    """
    if not isinstance(model, Mechanism):
        k = model.n // 2
        return At(model.n - 1) if not model.closed else At(k, float(model.length[k]) / 2) if model.n % 2 else At(k - 1)
    links = np.flatnonzero(~model.slides)
    inner = links[model.parents[links] != GROUND] if model.closed else links
    last = int(next((some[-1] for some in (inner, links) if len(some)), model.n - 1))
    return At(last, float(model.length[last]) / 2) if _on_a_curve(model, At(last)) else At(last)


def _on_a_curve(model: Mechanism, point: At) -> bool:
    """Whether something keeps a point on the ground, on a line or circle of it, or on a body that hangs there."""
    for closure in model.pins:
        both = [model.located(end) for end in ends(closure)]
        if model.located(point) in both:
            other = both[1 - both.index(model.located(point))][0]
            if other == GROUND or (isinstance(closure, Pin) and model.parents[other] == GROUND):
                return True
    return False


def traced(model: Multibody, point: Point | None) -> Point:
    """Return the point whose path is shown, checked."""
    return traced_point(model) if point is None else checked_points("trace", [point], model.n)[0]


def ground_marks(model: Multibody) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of the ground that hinges are fixed to, (K, 2) in m: pivots, and pins."""
    if not isinstance(model, Mechanism):
        return np.zeros((1, 2)), np.array([model.pin] if model.pin else []).reshape(-1, 2)
    along, left = model.levers
    fixed = (model.parents == GROUND) & ~model.slides
    pivots = dict.fromkeys((float(x), float(-y)) for x, y in zip(left[fixed], along[fixed], strict=True))
    pins = [point for pin in model.pins if isinstance(pin, Pin | Distance) for point in ends(pin)]
    springs = [point for load in model.loads if isinstance(load, PointSpring) for point in (load.a, load.b)]
    held = dict.fromkeys(point for point in [*pins, *springs] if isinstance(point, tuple) and point not in pivots)
    return np.array(list(pivots)).reshape(-1, 2), np.array(list(held)).reshape(-1, 2)


def floating(model: Multibody) -> set[int]:
    """Return the sliders that are not drawn: of two massless ones, one on the other and both free, that let what hangs on them
    float.
    """
    if not isinstance(model, Mechanism):
        return set()
    free = model.slides & (model.mass == 0) & ~model.prescribed & (model.each(JointSpring, "stiffness") == 0)
    found: set[int] = set()
    for j in np.flatnonzero(free).tolist():
        i = int(model.parents[j])
        if i >= 0 and free[i] and (model.parents == i).sum() == 1:
            found |= {i, j}
    return found


def _of_chain(chain: Multibody) -> Outline:
    n = chain.n
    points: tuple[Point, ...] = ((0.0, 0.0), *map(At, range(n)))
    shapes = tuple((i, i + 1) for i in range(n))
    hinges = tuple(range(n + 1 if chain.closed else n))
    return Outline(chain, points, shapes, hinges, *ground_marks(chain), unit=float(chain.length.mean()))


class _Drawn:
    """The outline of a mechanism while it is made: its points so far, each once."""

    def __init__(self, model: Mechanism, theta: np.ndarray) -> None:
        self.model, self.hidden = model, floating(model)
        self.theta = theta[np.unique(np.linspace(0, len(theta) - 1, SAMPLED).astype(int))] if len(theta) > SAMPLED else theta
        self.numbers: dict[tuple[int, float, float], int] = {}
        lengths = model.length[~model.slides]
        moved = float(np.ptp(self.theta[:, model.slides], axis=0).max(initial=0.0))
        self.unit = float(lengths.mean()) if len(lengths) else moved or 1.0
        self.attached = self._attached()

    def outline(self) -> Outline:
        """Return the whole."""
        model = self.model
        shapes = tuple(() if model.slides[i] else self._shape(i) for i in range(model.n))
        blocks = [self._block(i) for i in np.flatnonzero(model.slides).tolist() if i not in self.hidden]
        springs = [(block.rail.a, block.point) for block in blocks if model.each(JointSpring, "stiffness")[block.body]]
        blocks += [self._guided(pin) for pin in model.pins if isinstance(pin, Guide)]
        bars = [self._pair(pin.a, pin.b) for pin in model.pins if isinstance(pin, Distance)]
        springs += [self._pair(load.a, load.b) for load in model.loads if isinstance(load, PointSpring)]
        hinges = [self._hinge(i) for i in np.flatnonzero(~model.slides).tolist() if self._turns(i)]
        pinned = [self._of(pin.a if isinstance(pin.a, At) else pin.b) for pin in model.pins if isinstance(pin, Pin)]
        guided = [block.point for block in blocks if block.body == GROUND]
        joints = dict.fromkeys([*hinges, *pinned, *(end for bar in bars for end in bar), *guided])
        driven = [self._hinge(i) if not model.slides[i] else self._of(At(i)) for i in np.flatnonzero(model.prescribed).tolist()]
        pivots, pins = ground_marks(model)
        loose = not len(pivots) + len(pins) and all(block.rail.owner != GROUND for block in blocks)
        points = tuple(_point(*key) for key in self.numbers)
        return Outline(
            model, points, shapes, tuple(joints), pivots, pins, self.unit, tuple(blocks), tuple(bars), tuple(springs),
            tuple(driven), loose and self._leaves(points),
        )  # fmt: skip

    def _number(self, body: int, along: float, left: float) -> int:
        return self.numbers.setdefault((body, float(along) + 0.0, float(left) + 0.0), len(self.numbers))

    def _of(self, point: Point) -> int:
        return self._number(*self.model.located(point))

    def _pair(self, a: Point, b: Point) -> tuple[int, int]:
        return self._of(a), self._of(b)

    def _hinge(self, i: int) -> int:
        """Return the origin of a body."""
        return self._number(i, 0.0, 0.0)

    def _turns(self, i: int) -> bool:
        """Whether a link turns on something: not if it alone hangs on what lets it float."""
        parent = int(self.model.parents[i])
        return parent not in self.hidden or int((self.model.parents == parent).sum()) > 1

    def _attached(self) -> list[tuple[int, float, float]]:
        """Return the points of bodies where something hangs or pulls."""
        model = self.model
        joints = [(int(k), float(u), float(v)) for k, u, v in zip(model.parents, *model.levers, strict=True)]
        held = [point for pin in model.pins for point in (ends(pin)[:1] if isinstance(pin, Guide) else ends(pin))]
        pulled = [point for load in model.loads if isinstance(load, PointSpring) for point in (load.a, load.b)]
        pushed = [load.point for load in model.loads if isinstance(load, PointForce)]
        return [*joints, *(model.located(point) for point in [*held, *pulled, *pushed])]

    def _shape(self, i: int) -> tuple[int, ...]:
        """Return the points that a link joins: the ends of a bar, or the corners of a plate."""
        spots = {(0.0, 0.0), (float(self.model.length[i]), 0.0), *((u, v) for k, u, v in self.attached if k == i)}
        return tuple(self._number(i, u, v) for u, v in hull(spots))

    def _block(self, i: int) -> Block:
        """Return a slider on its rail, from the least to the largest displacement."""
        model, owner = self.model, int(self.model.parents[i])
        foot, way, moved = model.levers[:, i], model.directions[:, i], self.theta[:, i]
        return Block(self._of(At(i)), self._rail(owner, foot, way, moved), i)

    def _guided(self, guide: Guide) -> Block:
        """Return a point of a link on its guide."""
        owner, along, left = self.model.located(guide.through)
        way = np.array([-np.sin(guide.direction), np.cos(guide.direction)])
        gap = np.diff(kinematics.points(self.model, self.theta, [guide.through, guide.point]), axis=1)[:, 0]
        angle = kinematics.angles(self.model, self.theta)[:, owner] if owner >= 0 else np.zeros(len(gap))
        e, t = kinematics.directions(angle)
        moved = (gap * (way[0] * e + way[1] * t)).sum(-1)
        return Block(self._of(guide.point), self._rail(owner, np.array([along, left]), way, moved), GROUND)

    def _rail(self, owner: int, foot: np.ndarray, way: np.ndarray, moved: np.ndarray) -> Rail:
        air = AIR * self.unit
        first, last = (foot + shift * way for shift in (moved.min() - air, moved.max() + air))
        return Rail(self._number(owner, *first), self._number(owner, *last), owner)

    def _leaves(self, points: Sequence[Point]) -> bool:
        """Whether the motion goes further than the model is large."""
        middle = centre_of_mass(self.model, self.theta)
        around = kinematics.points(self.model, self.theta, points) - middle[:, None]
        return bool(np.ptp(middle, axis=0).max() > np.ptp(around, axis=(0, 1)).max())


def centre_of_mass(model: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the centre of mass of all bodies, (..., 2) in m."""
    return (model.mass[:, None] * kinematics.centres(model, theta)).sum(-2) / model.mass.sum()


def _point(body: int, along: float, left: float) -> Point:
    return (left, -along) if body == GROUND else At(body, along, left)


def hull(spots: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of the convex hull of points, counter-clockwise; of points on a line its two ends.

    >>> hull([(0.0, 0.0), (1.0, 0.0), (0.5, 0.0), (0.5, 0.3)])
    [(0.0, 0.0), (1.0, 0.0), (0.5, 0.3)]
    """
    sides: list[list[tuple[float, float]]] = []
    order = sorted(spots)
    for way in (order, order[::-1]):
        side: list[tuple[float, float]] = []
        for x, y in way:
            while len(side) > 1 and _turn(side[-2], side[-1], (x, y)) <= 0:
                side.pop()
            side.append((x, y))
        sides.append(side[:-1])
    return [*sides[0], *sides[1]]


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Return twice the area that three points span: positive if they turn to the left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
