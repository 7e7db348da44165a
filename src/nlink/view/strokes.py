"""An outline as lines, areas and discs, for whatever draws them: frames, figures, sketches. Lengths as in the places, y upwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nlink.mechanics.points import GROUND
from nlink.view.outline import Block, Outline, Rail

Paint = int | str
"""The colour of the link of that number, or one of the theme by name."""
BLOCK, SMALL = (1.4, 0.85), (0.95, 0.6)
"""Half the length and half the height of a slider, and of a point on a guide, in thicknesses of a bar."""
HATCH = 0.7
"""Between the lines of hatching, and half their length, in thicknesses."""
COILS, COIL = 9, 0.55
"""Corners of a spring, and how far they stand out, in thicknesses."""
MOTOR = 0.45
"""Radius of the mark of a joint with a prescribed motion, in thicknesses."""
PLATE = 0.35
"""Share of a link's colour in its plate."""


class Stroke(NamedTuple):
    """A line through points (K, 2) of some width; with `fill` the area within it too, in that share of the colour."""

    points: np.ndarray
    paint: Paint
    width: float
    fill: float = 0.0


class Disc(NamedTuple):
    """A disc about a point."""

    at: np.ndarray
    radius: float
    paint: Paint


class Pencil(NamedTuple):
    """How thick a bar is, how wide its line is drawn, how wide thin lines are; `thin`: links are lines instead of bars."""

    thickness: float
    width: float
    hair: float
    thin: bool = False


def moving(drawn: Outline, at: np.ndarray, pencil: Pencil) -> Iterator[Stroke]:
    """Yield the bodies and what joins them, at places (P, 2), from behind to the front; hinges come behind these."""
    for pair in drawn.bars:
        yield Stroke(at[list(pair)], "muted", 0.4 * pencil.thickness)
    blocks = {block.body: block for block in drawn.blocks if block.body != GROUND}
    for i, shape in enumerate(drawn.shapes):
        if shape:
            yield from _link(at[list(shape)], i, pencil)
        elif i in blocks:
            yield from _block(drawn, blocks[i], at, pencil)
    for block in drawn.blocks:
        if block.body == GROUND:
            yield from _block(drawn, block, at, pencil)
    for pair in drawn.springs:
        coil = _coil(at[pair[0]], at[pair[1]], pencil.thickness)
        yield Stroke(coil, "stage", 4.0 * pencil.hair)
        yield Stroke(coil, "muted", 1.5 * pencil.hair)


def joints(drawn: Outline, at: np.ndarray, pencil: Pencil, hinges: bool = True) -> Iterator[Disc]:
    """Yield the marks of joints with a prescribed motion, and the hinges."""
    for point in drawn.driven:
        yield Disc(at[point], MOTOR * pencil.thickness, "accent")
    radius, paint = (1.4 * pencil.width, "ink") if pencil.thin else (0.25 * pencil.width, "stage")
    for point in drawn.hinges if hinges else ():
        yield Disc(at[point], radius, paint)


def still(drawn: Outline, at: np.ndarray, pencil: Pencil) -> Iterator[Stroke]:
    """Yield the rails on the ground, on whose line sliders stand: hatched on the lower side."""
    half = {block.rail: (SMALL if block.body == GROUND else BLOCK)[1] for block in drawn.blocks}
    for rail in drawn.rails:
        a, b, along, aside = _side(at, rail)
        a, b = (end + half[rail] * pencil.thickness * aside for end in (a, b))
        yield Stroke(np.stack([a, b]), "muted", 1.5 * pencil.hair)
        step = HATCH * pencil.thickness
        for x in np.arange(step, np.hypot(*(b - a)), step):
            yield Stroke(np.stack([a + x * along, a + (x - step) * along + step * aside]), "muted", pencil.hair)


def _link(corners: np.ndarray, i: int, pencil: Pencil) -> Iterator[Stroke]:
    """Yield a bar, or a plate."""
    plate = len(corners) > 2
    path = np.concatenate([corners, corners[:1]]) if plate else corners
    if not pencil.thin:
        yield Stroke(path, "stage", pencil.width + min(1.6 * pencil.hair, 0.2 * pencil.width), 1.0 if plate else 0.0)
    yield Stroke(path, i, pencil.width * (0.6 if plate and not pencil.thin else 1.0), PLATE if plate and not pencil.thin else 0.0)


def _block(drawn: Outline, block: Block, at: np.ndarray, pencil: Pencil) -> Iterator[Stroke]:
    """Yield a slider; on the rail of a body that too, as a slot."""
    owner, slides = block.rail.owner, block.body != GROUND
    if owner != GROUND:
        slot = at[[block.rail.a, block.rail.b]]
        if not pencil.thin:
            yield Stroke(slot, "stage", 0.62 * pencil.thickness)
            yield Stroke(slot, owner, 0.5 * pencil.thickness)
        yield Stroke(slot, "stage" if not pencil.thin else "muted", 0.24 * pencil.thickness if not pencil.thin else pencil.hair)
    corners = _corners(at, block, BLOCK if slides else SMALL, pencil.thickness)
    yield Stroke(corners, "stage", 1.6 * pencil.hair, 1.0)
    yield Stroke(corners, block.body if slides else "muted", pencil.hair, 0.0 if pencil.thin else 1.0)


def _side(at: np.ndarray, rail: Rail) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the ends of a rail, its direction, and the one across it that points down, or to the left of a vertical rail."""
    a, b = at[rail.a], at[rail.b]
    along = (b - a) / max(float(np.hypot(*(b - a))), 1e-300)
    aside = np.array([along[1], -along[0]])
    return a, b, along, -aside if aside[1] > 1e-9 or (abs(aside[1]) <= 1e-9 and aside[0] > 0) else aside


def _corners(at: np.ndarray, block: Block, size: tuple[float, float], thickness: float) -> np.ndarray:
    """Return the rectangle of a slider, closed, (5, 2)."""
    _, _, along, aside = _side(at, block.rail)
    long, high = (half * thickness for half in size)
    ways = [(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]
    return np.stack([at[block.point] + x * long * along + y * high * aside for x, y in ways])


def _coil(a: np.ndarray, b: np.ndarray, thickness: float) -> np.ndarray:
    """Return a zig-zag from a to b with straight ends."""
    along = b - a
    aside = COIL * thickness * np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-300)
    shares = np.concatenate([[0.0, 0.15], 0.15 + 0.7 * (np.arange(COILS) + 0.5) / COILS, [0.85, 1.0]])
    out = np.concatenate([[0.0, 0.0], np.where(np.arange(COILS) % 2, 1.0, -1.0), [0.0, 0.0]])
    return a + shares[:, None] * along + out[:, None] * aside
