"""Dead positions whose lengths fit to rounding only: what a loop then misses, exactly.

Around a loop go levers, each fixed in a body that turns: from joint to joint, and on the ground. Where all lie in line, a row of
the loop vanishes, and the closure there is the sum of +-lengths. Lengths like 0.1 + 0.2 and 0.3 miss it by 1e-16, and such a
linkage would turn away shortly before it: by the root of that. What is missed by less than EXACT of the loop is taken off its
rows. A slide on the ground is a line that the levers must be normal to.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from nlink.compiled.digits import added, pair_of
from nlink.compiled.jit import apart
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.points import GROUND, Closure, Distance, Gear, Guide
from nlink.mechanics.scratch import C, S

EXACT = 1e-11
"""Part of the lengths of a loop by which it may miss a dead position that it has."""
NEAR = 0.05
"""Sine of the largest angle between levers that lie nearly in line."""
LENGTH, LENGTH_LOW, ALONG, LEFT = range(4)
"""Columns of `levers`: length as a pair, and the direction in the frame of the body."""
FIRST, LAST = 0, 1


class LoopNumbers(NamedTuple):
    """The levers around each closure as numbers."""

    levers: np.ndarray
    """(levers, 4): LENGTH, ..."""
    bodies: np.ndarray
    """(levers,) the bodies that they turn with"""
    spans: np.ndarray
    """(2, closures): the levers of each, the one on the ground first; none, if they say nothing of its dead positions"""
    normals: np.ndarray
    """(closures, 2): normal of the line of a slide or guide; zeros without"""
    bars: np.ndarray
    """(closures,): the length of a bar, 0 without"""


class LeverLoop(NamedTuple):
    """The levers around one closure: [(body, length, its low part, along, left)], the normal of a line, and the length of a bar."""

    levers: list[tuple[float, ...]]
    normal: tuple[float, float] = (0.0, 0.0)
    bar: float = 0.0


@apart
def missed_in_line(c, loops, w):
    """Return the vector by which closure c misses the dead position nearby, (the length that misses, 0) of a bar; or zeros."""
    first, last = loops.spans[FIRST, c], loops.spans[LAST, c]
    if first == last:
        return 0.0, 0.0
    ux, uy = loops.normals[c, 0], loops.normals[c, 1]
    if ux == 0.0 and uy == 0.0:
        longest = first
        if loops.bodies[first] >= 0:
            for k in range(first, last):
                if loops.levers[k, LENGTH] > loops.levers[longest, LENGTH]:
                    longest = k
        ux, uy = lever_direction(longest, loops, w)
    total = low = size = 0.0
    for k in range(first, last):
        x, y = lever_direction(k, loops, w)
        if abs(x * uy - y * ux) > NEAR:
            return 0.0, 0.0
        sign = 1.0 if x * ux + y * uy > 0.0 else -1.0
        size += loops.levers[k, LENGTH]
        total, low = added(total, low, sign * loops.levers[k, LENGTH], sign * loops.levers[k, LENGTH_LOW])
    if loops.bars[c] > 0.0:
        sign = 1.0 if total > 0.0 else -1.0
        total, low = added(sign * total, sign * low, -loops.bars[c], 0.0)
        ux, uy = 1.0, 0.0
    gap = total + low
    if abs(gap) > EXACT * size:
        return 0.0, 0.0
    return gap * ux, gap * uy


@apart
def lever_direction(k, loops, w):
    """Return the direction of a lever."""
    i, along, left = loops.bodies[k], loops.levers[k, ALONG], loops.levers[k, LEFT]
    if i < 0:
        return left, -along
    return along * w[S, i] + left * w[C, i], left * w[S, i] - along * w[C, i]


def loop_numbers(loops: list[LeverLoop]) -> LoopNumbers:
    """Return the levers of all closures as numbers."""
    levers = np.array([lever for loop in loops for lever in loop.levers]).reshape(-1, 5)
    last = np.cumsum([len(loop.levers) for loop in loops])
    spans = np.array([last - [len(loop.levers) for loop in loops], last])
    normals, bars = np.array([loop.normal for loop in loops]), np.array([loop.bar for loop in loops])
    return LoopNumbers(np.ascontiguousarray(levers[:, 1:]), levers[:, 0].astype(np.int64), spans, normals, bars)


def lever_loop(model: Mechanism, closure: Closure, where: tuple[tuple[int, float, float], ...]) -> LeverLoop:
    """Return the levers around a closure; none, if a line turns with a body, or there are two lines."""
    if isinstance(closure, Gear):
        return LeverLoop([])
    sums: dict[int, list[Fraction]] = {GROUND: [Fraction(0), Fraction(0)]}
    lines: list[tuple[float, float]] = []
    for sign, (body, along, left) in zip((1, -1), where, strict=True):
        while True:
            turner = GROUND if body == GROUND else int(model.turners[body])
            vector = sums.setdefault(turner, [Fraction(0), Fraction(0)])
            vector[0] += sign * Fraction(along)
            vector[1] += sign * Fraction(left)
            if body == GROUND:
                break
            parent = int(model.parents[body])
            if model.slides[body]:
                if parent != GROUND and model.turners[parent] != GROUND:
                    return LeverLoop([])
                lines.append((float(model.directions[1, body]), float(-model.directions[0, body])))
            along, left = model.levers[:, body].tolist()
            body = parent
    if isinstance(closure, Guide):
        if where[1][0] != GROUND and model.turners[where[1][0]] != GROUND:
            return LeverLoop([])
        lines.append((float(np.cos(closure.direction)), float(np.sin(closure.direction))))
    if any(abs(x * lines[0][1] - y * lines[0][0]) > EXACT for x, y in lines) or (lines and isinstance(closure, Distance)):
        return LeverLoop([])
    normal = (-lines[0][1], lines[0][0]) if lines else (0.0, 0.0)
    along, left = sums[GROUND]
    if lines:  # of the ground only what lies along the normal counts
        across = left * Fraction(normal[0]) - along * Fraction(normal[1])
        sums[GROUND] = [-across * Fraction(normal[1]), across * Fraction(normal[0])]
    bar = closure.length if isinstance(closure, Distance) else None
    turning = [_lever(body, *vector) for body, vector in sums.items() if any(vector)]
    return LeverLoop(turning, normal, bar or 0.0)


def _lever(body: int, along: Fraction, left: Fraction) -> tuple[float, ...]:
    """Return a lever: its body, length as a pair, and direction."""
    with localcontext() as context:
        context.prec = 60
        square = along * along + left * left
        length = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
        parts = [float(Decimal(part.numerator) / Decimal(part.denominator) / length) for part in (along, left)]
        return float(body), *pair_of(length), *parts
