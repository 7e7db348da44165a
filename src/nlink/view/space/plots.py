"""Plots of runs in space: how the links stand and turn, their paths from above and from any side, and what is conserved."""

from __future__ import annotations

import math

import numpy as np
from matplotlib import collections
from matplotlib.axes import Axes

from nlink.mechanics.space import kinematics
from nlink.mechanics.space.model import SpatialChain
from nlink.run.run import Run
from nlink.view import energy, forces
from nlink.view.kinds import PlotKind
from nlink.view.sheet import Sheet
from nlink.view.space.floor import grid_step
from nlink.view.space.orbit import OBLIQUE, About, OrbitCamera
from nlink.view.space.reading import stand
from nlink.view.style import mixed, palette, stroke

AXES = "xyz"
STEPS = (1, 2, 5, 10, 15, 30, 45, 90, 180, 360, 720, 1800, 3600)
"""Degrees between ticks."""
FEW = 3
"""So many links have their paths in space drawn if none are chosen; of longer chains the last alone."""
FLOOR = 6
"""Lines of the floor in each direction from its middle."""
PALE = 0.5
"""Share of the colours of the chain that stands behind the paths."""


def inclinations(sheet: Sheet) -> None:
    """Draw the angles from straight down."""
    (axes,) = sheet.over_time("inclination (degrees)")
    sheet.lines(axes, sheet.motion.t, np.degrees(kinematics.inclination(_directions(sheet))))
    axes.set_ylim(bottom=0.0)
    _round_angles(axes)
    sheet.name_links(r"$\theta_{{{i}}}$")


def azimuths(sheet: Sheet) -> None:
    """Draw the angles about the vertical, with a gap where a link hangs or stands straight."""
    (axes,) = sheet.over_time("azimuth (degrees)")
    sheet.lines(axes, sheet.motion.t, np.degrees(sheet.motion.azimuth))
    _round_angles(axes)
    sheet.name_links(r"$\varphi_{{{i}}}$")


def rates(sheet: Sheet) -> None:
    """Draw the angular velocities in world axes."""
    _three(sheet, sheet.motion.omega, r"$\omega_{}$ (rad/s)")
    sheet.name_links("link {i}")


def positions(sheet: Sheet) -> None:
    """Draw where the link ends are."""
    _three(sheet, kinematics.hinges(_chain(sheet), sheet.motion.position)[:, 1:], "${}$ (m)")
    sheet.name_links("end {i}")


def velocities(sheet: Sheet) -> None:
    """Draw the velocities of the link ends."""
    motion = sheet.motion
    _three(sheet, kinematics.hinge_velocities(_chain(sheet), motion.position, motion.velocity)[:, 1:], "$v_{}$ (m/s)")
    sheet.name_links("end {i}")


def tip(sheet: Sheet) -> None:
    """Draw the path of the last end seen from above, in the colours of the time."""
    (axes,) = sheet.column(1)
    end = kinematics.hinges(_chain(sheet), sheet.motion.position)[:, -1][:, [0, 2]]
    axes.set_aspect("equal", adjustable="datalim")
    axes.plot(0.0, 0.0, "+", color=palette().ink, markersize=8, zorder=5)
    sheet.timed_path(axes, end)
    axes.invert_yaxis()
    axes.set_xlabel("x (m), + pivot", fontsize=sheet.fontsize)
    axes.set_ylabel("z (m), towards you", fontsize=sheet.fontsize)


def paths(sheet: Sheet) -> None:
    """Draw the paths of link ends in space, and the chain at the start, as the orbit camera sees them."""
    chain, (axes,) = _chain(sheet), sheet.column(1)
    if not sheet.chosen and chain.n > FEW:
        sheet.links = [chain.n - 1]
    ends = kinematics.hinges(chain, sheet.motion.position)
    about = About.of(ends, float(chain.length.sum()))
    camera = OrbitCamera(about, (-0.5, -0.5, 0.5, 0.5), *OBLIQUE)
    axes.set_aspect("equal", adjustable="datalim")
    _draw_floor(axes, camera)
    _draw_start(axes, sheet, camera)
    seen = camera.places(ends[:, 1:])
    for i in sheet.links:
        sheet.line(axes, seen[:, i, 0], seen[:, i, 1], i)
    _draw_shadows(axes, sheet, camera, ends[:, 1:])
    axes.set_axis_off()
    sheet.name_links("end {i}")


def momentum(sheet: Sheet) -> None:
    """Draw the angular momentum about the vertical, and by how much it changes, at the saved points."""
    run = sheet.run
    whole = run.angular_momentum()
    about = whole[:, 1]
    upper, lower = sheet.over_time("angular momentum\n(kg m\N{SUPERSCRIPT TWO}/s)", "its change", heights=(2, 1))
    for axes, values in ((upper, about), (lower, about - about[0])):
        axes.plot(run.t, values, color=palette().ink, linewidth=1.3 * sheet.thin, marker=sheet.marker)
    air = max(0.1 * float(np.ptp(about)), 0.05 * float(np.linalg.norm(whole, axis=-1).max()), 1e-12)  # rounding is not to fill it
    upper.set_ylim(about.min() - air, about.max() + air)
    lower.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))


def tensions(sheet: Sheet) -> None:
    """Draw how hard the links are pulled; a string would be slack below zero."""
    (axes,) = sheet.over_time("tension (N)")
    values = kinematics.tensions(_chain(sheet), sheet.motion.position, sheet.motion.velocity, sheet.motion.acceleration)
    sheet.lines(axes, sheet.motion.t, values)
    axes.axhline(0.0, color=palette().muted, linewidth=0.8, zorder=1)
    sheet.name_links("$T_{{{i}}}$")


def has_direction(run: Run) -> bool:
    """Whether a link is ever off the vertical, so that it has an azimuth."""
    chain = run.chain
    assert isinstance(chain, SpatialChain)
    return bool(np.isfinite(kinematics.azimuth(kinematics.directions(chain, run.position))).any())


def _chain(sheet: Sheet) -> SpatialChain:
    chain = sheet.run.chain
    assert isinstance(chain, SpatialChain)
    return chain


def _directions(sheet: Sheet) -> np.ndarray:
    return kinematics.directions(_chain(sheet), sheet.motion.position)


def _three(sheet: Sheet, values: np.ndarray, label: str) -> None:
    """Draw vectors (T, N, 3) over time, one component below another."""
    for k, axes in enumerate(sheet.over_time(*(label.format(axis) for axis in AXES))):
        sheet.lines(axes, sheet.motion.t, values[:, :, k])


def _round_angles(axes: Axes) -> None:
    """Put the ticks of an axis in degrees at round angles."""
    low, high = axes.get_ylim()
    step = next((each for each in STEPS if 9 * each >= high - low), None)
    if step and high - low > 5:
        axes.set_yticks(np.arange(np.ceil(low / step), high / step) * step)


def _draw_floor(axes: Axes, camera: OrbitCamera) -> None:
    step = grid_step(camera)
    count = min(FLOOR, math.ceil(1.2 * camera.about.radius / step))
    ends, lines = count * step, step * np.arange(-count, count + 1)
    floor = camera.about.floor
    corners = [[(x, floor, -ends), (x, floor, ends)] for x in lines] + [[(-ends, floor, z), (ends, floor, z)] for z in lines]
    pieces = collections.LineCollection(list(camera.places(np.array(corners))[..., :2]), colors=[palette().lines], linewidths=0.8)
    axes.add_collection(pieces, autolim=True)
    x, y = camera.places(np.array([0.0, floor, ends]))[:2].tolist()
    axes.annotate(
        f"grid {step:g} m", (x, y), xytext=(0, -9), textcoords="offset points", ha="center", va="top", color=palette().muted
    )


def _draw_start(axes: Axes, sheet: Sheet, camera: OrbitCamera) -> None:
    """Draw the chain as it stands at the start, in pale colours."""
    places = camera.places(stand(_chain(sheet), sheet.run.position[0]).hinges)
    for i in range(len(places) - 1):
        colour = mixed(sheet.colours[i], palette().ground, PALE)
        axes.plot(*places[i : i + 2, :2].T, color=colour, linewidth=stroke(3.0), solid_capstyle="round", zorder=2)
    axes.plot(*places[0, :2], "+", color=palette().ink, markersize=8, zorder=5)


def _draw_shadows(axes: Axes, sheet: Sheet, camera: OrbitCamera, ends: np.ndarray) -> None:
    """Draw the paths on the floor, where they show how far away they are."""
    below = ends.copy()
    below[..., 1] = camera.about.floor
    seen = camera.places(below)
    for i in sheet.links:
        axes.plot(*seen[:, i, :2].T, color=mixed(palette().muted, palette().ground, 0.35), linewidth=0.8, zorder=1)


SPACE_PLOTS: dict[str, PlotKind] = {
    "inclination": PlotKind("Inclinations from straight down", inclinations),
    "azimuth": PlotKind("Azimuths about the vertical", azimuths, has_direction, "a link that is not vertical all the time"),
    "rates": PlotKind("Angular velocities", rates),
    "positions": PlotKind("Positions of the link ends", positions),
    "velocities": PlotKind("Velocities of the link ends", velocities),
    "paths": PlotKind("Paths of link ends in space", paths),
    "tip": PlotKind("Path of the last end from above", tip),
    "energy": PlotKind("Energy", energy.draw),
    "momentum": PlotKind("Angular momentum about the vertical", momentum),
    "reactions": PlotKind("Forces at the hinges", forces.draw),
    "tensions": PlotKind("Tensions", tensions),
}
"""The plots of runs in space by name."""
