"""One moment of a chain in space on a sheet of pixels: its shadow, then trail, links and bodies from behind to the front."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.kinematics import turned
from nlink.mechanics.space.model import SpatialChain
from nlink.view.looks import Look
from nlink.view.outline import hull
from nlink.view.pen import Pen
from nlink.view.space.floor import draw_pivot
from nlink.view.space.orbit import OrbitCamera
from nlink.view.space.order import painted
from nlink.view.space.reading import Stand
from nlink.view.space.shapes import FINE, LIGHT, Area, bars, blend, mesh_of, sides_for
from nlink.view.space.solids import Solid, pins_of, solid_of
from nlink.view.style import Colour, Theme, link_colours

BALL = 1.75
"""Radius of the heaviest point mass, in that of a bar."""
PALE = 0.5
"""Share of the ground's colour at the far end of what is seen."""
PIECES = 120
"""Most pieces of the trail."""
STEEP = 0.15
"""Share of a link by which it must come towards the eye to cover the point mass at its end."""
BRIGHT = 0.59
"""A colour brighter than this has a dark stripe."""
BLACK, WHITE = np.zeros(3), np.ones(3)


@dataclass
class Item:
    """Something between two places (4,), `half` pixels to each side, how it is drawn, and where it stands along the chain."""

    a: np.ndarray
    b: np.ndarray
    half: float
    draw: Callable[[Pen], None]
    link: float = math.nan


@cache
def _solids(chain: SpatialChain) -> tuple[Solid | None, ...]:
    return tuple(solid_of(link) if isinstance(link, Body) else None for link in chain.links)


class Painter:
    """Draws moments of a chain through a camera; `radius` in m is half the thickness of a link."""

    def __init__(self, chain: SpatialChain, camera: OrbitCamera, theme: Theme, look: Look) -> None:
        self.chain, self.camera, self.theme, self.look = chain, camera, theme, look
        self.colours = np.array(link_colours(chain.n, theme))
        self.solid, self.pins = self.solids(chain), pins_of(chain)
        self.point = (chain.inertia == 0) & np.array(chain.is_line)
        side, usual = min(look.size), camera.usual
        pixels = min(0.028 * side, max(2.6, 0.13 * float(chain.length.mean()) * usual))
        self.radius, self.pixels, self.thin = 0.5 * pixels / usual, pixels, look.style == "line"
        self.meshes = [None if solid is None else mesh_of(solid, sides_for(solid.side * usual)) for solid in self.solid]
        self.stage, self.ink = np.array(theme.stage), np.array(theme.ink)

    @staticmethod
    def solids(chain: SpatialChain) -> tuple[Solid | None, ...]:
        """Return what the bodies of a chain look like; None for lines."""
        return _solids(chain)

    def paint(self, pen: Pen, at: Stand, centres: np.ndarray, trail: np.ndarray, filled: float) -> None:
        """Draw a moment, with the trail (P, 3), which has filled some share of its length."""
        if self.camera.above:
            self._draw_shadow(pen, at, centres)
        draw_pivot(pen, self.camera, self.theme, 2.3 * self.radius)
        items = [*self._links(at, centres), *self._trail(trail, filled)]
        a, b = (np.array([getattr(item, end) for item in items]) for end in ("a", "b"))
        for k in painted(a, b, np.array([item.half for item in items]), np.array([item.link for item in items])):
            items[k].draw(pen)

    def fade(self, depth: np.ndarray | float) -> np.ndarray | float:
        """Return the share of the ground's colour that something so near to the eye has."""
        return PALE * np.clip(0.5 - depth / (2 * self.camera.reach), 0.0, 1.0)

    def _draw_shadow(self, pen: Pen, at: Stand, centres: np.ndarray) -> None:
        dark = self.theme.stage != max(self.theme.stage, self.theme.ink)
        shade = _colour(blend(self.stage, BLACK if dark else self.ink, 0.5 if dark else 0.2))
        floor = self.camera.about.floor

        def below(points: np.ndarray) -> np.ndarray:
            return self.camera.places(np.stack([points[:, 0], np.full(len(points), floor), points[:, 2]], -1))

        pen.line(below(at.hinges)[:, :2], shade, max(1.5, 0.9 * self.pixels))
        for i, mesh in enumerate(self.meshes):
            if mesh is not None:
                corners = at.hinges[i] + turned(at.rotation[i], mesh.points[: mesh.corners])
                pen.area(_hull(below(corners)), shade)
            elif self.point[i] and self.chain.mass[i] > 0:
                turn = 2 * np.pi * np.arange(24) / 24
                rim = centres[i] + self._ball(i) * np.stack([np.cos(turn), 0 * turn, np.sin(turn)], -1)
                pen.area(below(rim)[:, :2], shade)

    def _trail(self, trail: np.ndarray, filled: float) -> list[Item]:
        if len(trail) < 2:
            return []
        places = self.camera.places(trail)
        bounds = np.unique(np.linspace(0, len(trail) - 1, min(PIECES, len(trail) - 1) + 1).round().astype(int))
        accent, wide, items = np.array(self.theme.accent), max(1.0, 0.0016 * min(self.look.size)), []
        for low, high in pairwise(bounds):
            piece, share = places[low : high + 1], 1.0 - filled * (1.0 - high / (len(trail) - 1))
            strength = 0.95 * share**1.2 * (1 - self.fade(piece[-1, 2]))
            colour, width = _colour(blend(self.stage, accent, strength)), wide * (1 + 1.3 * share)
            items.append(Item(piece[0], piece[-1], 1.0, _line(piece[:, :2], colour, width)))
        return items

    def _links(self, at: Stand, centres: np.ndarray) -> list[Item]:
        """Return the bodies; a hinge is drawn behind the later one of its two."""
        chain, places, drawn = self.chain, self.camera.places(at.hinges), np.zeros(self.chain.n, bool)
        shades = blend(self.colours, self.stage, self.fade((places[:-1, 2] + places[1:, 2]) / 2))
        share = np.where(self.point, 0.5, 1.0) * (0.35 if self.thin else 1.0)
        sticks = bars(places[:-1], places[1:], share * self.radius, shades, self.stage)
        items: list[Item] = []
        for i in range(chain.n):

            def draw(pen: Pen, i: int = i) -> None:
                for corners, shade in sticks[i]:
                    pen.area(corners, _colour(shade))
                self._draw_joints(pen, i, places, at, drawn)

            half = float(share[i] * self.radius * places[i : i + 2, 3].mean())
            if self.meshes[i] is not None:
                items.append(self._body(i, at, places, shades[i], drawn))
            else:
                items.append(Item(places[i], places[i + 1], half, draw, i))
            if self.point[i] and chain.mass[i] > 0:
                items.append(self._mass(i, places, shades[i]))
            if self.look.centres and chain.mass[i] > 0:
                items.append(self._centre(i, centres[i]))
        return items

    def _ball(self, i: int) -> float:
        most = float(self.chain.mass.max()) or 1.0
        return max(0.7, BALL * float(np.sqrt(self.chain.mass[i] / most))) * self.radius

    def _mass(self, i: int, places: np.ndarray, shade: np.ndarray) -> Item:
        """Return a point mass: behind the links that come towards the eye, in front of the others."""
        at, radius = places[i + 1], self._ball(i)
        raised = at + np.array([0.0, 0.0, STEEP * float(self.chain.length[i]), 0.0])
        end = at + np.array([1e-6, 0.0, 0.0, 0.0])
        layers = bars(at[None], end[None], np.array([radius]), shade[None], self.stage, BALL * FINE)[0]
        return Item(raised, raised, radius * at[3], _areas(layers), i + 0.5)

    def _centre(self, i: int, centre: np.ndarray) -> Item:
        at, size = self.camera.places(centre), max(2.0, 0.28 * self.pixels)

        def draw(pen: Pen) -> None:
            pen.disc(at[:2], size, self.theme.ink, self.theme.stage)

        raised = at + np.array([0.0, 0.0, 3 * self.radius + float(self.chain.length[i]), 0.0])
        return Item(raised, raised, size, draw, i)

    def _body(self, i: int, at: Stand, places: np.ndarray, shade: np.ndarray, drawn: np.ndarray) -> Item:
        """Return a body: the parts of its rod behind the solid, its sides that face the eye, the parts of its rod before it."""
        solid, mesh, way = self.solid[i], self.meshes[i], at.hinges[i + 1] - at.hinges[i]
        assert solid is not None
        assert mesh is not None
        q, pivot, length = at.rotation[i], at.hinges[i], float(self.chain.length[i])
        heart = self.camera.places(pivot + turned(q, np.array(solid.centre)))
        ends = [(pivot + way * a / length, pivot + way * b / length, 0.6) for a, b in solid.rods]
        if solid.foot is not None:
            ends.append((pivot + way * solid.foot / length, pivot + turned(q, np.array(solid.centre)), 0.4))
        rods = [(*self.camera.places(np.stack([a, b])), share) for a, b, share in ends]
        corners = pivot + turned(q, mesh.points)
        seen = self.camera.places(corners)

        def draw(pen: Pen) -> None:
            behind = places[i, 2] <= heart[2] and not self.pins[i]
            if behind:  # the solid may cover the hinge
                self._draw_joints(pen, i, places, at, drawn)
            for before in (False, True):
                for a, b, share in rods:
                    if (a[2] + b[2] > 2 * heart[2]) == before:
                        _areas(bars(a[None], b[None], np.array([share * self.radius]), shade[None], self.stage)[0])(pen)
                if not before:
                    self._draw_sides(pen, i, q, corners, seen, shade)
            if not behind:
                self._draw_joints(pen, i, places, at, drawn)

        axis = np.array(solid.axes[1]) * solid.half[1]
        own = [pivot + turned(q, np.array(solid.centre) + side * axis) for side in (-1, 1)]
        a, b = places[i : i + 2] if solid.rods else self.camera.places(np.stack(own))
        return Item(a, b, solid.side * float(heart[3]), draw, i)

    def _draw_sides(self, pen: Pen, i: int, q: np.ndarray, corners: np.ndarray, seen: np.ndarray, shade: np.ndarray) -> None:
        mesh, camera = self.meshes[i], self.camera
        assert mesh is not None
        eye = camera.middle + camera.eye * camera.back
        light = LIGHT @ np.stack([camera.right, camera.up, camera.back])
        pale = self.colours[i] @ np.array([0.3, 0.59, 0.11]) > BRIGHT
        stripe = blend(shade, BLACK if pale else WHITE, 0.6 if pale else 0.78)
        outline = _hull(seen[: mesh.corners])
        pen.line(np.concatenate([outline, outline[:1]]), _colour(self.stage), 1.4 if mesh.fine else 2.8)
        pen.area(outline, _colour(blend(shade, BLACK, 0.2)))
        normals = turned(q, np.array([face.normal for face in mesh.faces]))
        for face, normal in zip(mesh.faces, normals, strict=True):
            if normal @ (eye - corners[face.at[0]]) <= 0:
                continue
            lit = float(normal @ light)
            colour = _colour(
                blend(stripe if face.stripe else shade, WHITE if lit > 0 else BLACK, 0.2 * lit if lit > 0 else -0.45 * lit)
            )
            side = seen[face.at, :2]
            pen.area(side, colour)
            if not mesh.fine:
                pen.line(np.concatenate([side, side[:1]]), colour, 0.7)

    def _draw_joints(self, pen: Pen, i: int, places: np.ndarray, at: Stand, drawn: np.ndarray) -> None:
        drawn[i] = True
        for p in (i, i + 1):
            if self.look.hinges and p < self.chain.n and drawn[p] and (p == 0 or drawn[p - 1]):
                self._draw_hinge(pen, p, places[p], at)

    def _draw_hinge(self, pen: Pen, p: int, place: np.ndarray, at: Stand) -> None:
        """Draw a hinge: the axes of its joint as short pins, a disc for a ball."""
        size = max(0.7, self.radius * float(place[3]))
        for owner, axis in self.pins[p]:
            way = axis if owner < 0 else turned(at.rotation[owner], axis)
            ends = self.camera.places(at.hinges[p] + 2 * self.radius * np.stack([-way, way]))
            pen.line(ends[:, :2], self.theme.ink, max(1.2, 0.5 * size))
        below, above = self.point[p], p > 0 and self.point[p - 1]
        radius = (0.6 if self.thin else 0.32 if below or above else 0.46) * size
        if not self.pins[p] and radius >= 0.9 and not (above and self.chain.mass[p - 1] > 0):
            colour = self.theme.ink if self.thin else _colour(blend(self.stage, self.ink, 0.22))
            pen.disc(place[:2], radius, colour, colour)

    def arrow(self, pen: Pen, end: np.ndarray, force: np.ndarray, onto: bool) -> None:
        """Draw the arrow of a force, away from a point or onto it."""
        size = float(np.linalg.norm(force))
        if not size:
            return
        at, there = self.camera.places(np.stack([end, end + 0.1 * self.camera.reach * force / size]))[:, :2]
        far = float(np.hypot(*(there - at)))
        if far < 0.25 * self.pixels:
            return
        way, long, gap = (there - at) / far, max(20.0, 0.09 * min(self.look.size)), 0.5 * self.pixels + 4
        start = at - (gap + long) * way if onto else at + gap * way
        tip, aside = start + long * way, np.array([-way[1], way[0]])
        pen.line(np.stack([start, tip - 6 * way]), self.theme.accent, 2.2)
        pen.area(np.stack([tip, tip - 11 * way - 5 * aside, tip - 11 * way + 5 * aside]), self.theme.accent)


def _hull(places: np.ndarray) -> np.ndarray:
    """Return the corners (C, 2) of what places (K, 4) cover."""
    return np.array(hull(map(tuple, places[:, :2].tolist())))


def _line(points: np.ndarray, colour: Colour, width: float) -> Callable[[Pen], None]:
    return lambda pen: pen.line(points, colour, width)


def _areas(layers: list[Area]) -> Callable[[Pen], None]:
    def draw(pen: Pen) -> None:
        for corners, shade in layers:
            pen.area(corners, _colour(shade))

    return draw


def _colour(parts: np.ndarray) -> Colour:
    r, g, b = (min(1.0, max(0.0, float(part))) for part in parts)
    return r, g, b
