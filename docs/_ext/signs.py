"""The drawing of the signs of all loads: two links, their angles, and what acts on them if the value of the load is positive."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Arc, FancyArrowPatch

ANGLES = np.radians([25.0, 60.0])
LINKS, ACTS, SAYS = "#2a788e", "#c8442b", "#444444"


def points() -> np.ndarray:
    """Return the pivot and both tips."""
    steps = np.column_stack([np.sin(ANGLES), -np.cos(ANGLES)])
    return np.vstack([[0.0, 0.0], np.cumsum(steps, axis=0)])


def arrow(ax: Any, start: np.ndarray, by: tuple[float, float] | np.ndarray, text: str = "") -> None:
    """Draw a force from a point, with its name at the head."""
    end = start + np.asarray(by)
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=14, color=ACTS, lw=2))
    ax.text(*(end + 0.14 * np.asarray(by) / np.linalg.norm(by)), text, color=ACTS, ha="center", va="center")


def moment(ax: Any, centre: np.ndarray, radius: float, middle: float, text: str, turn: int = 1) -> None:
    """Draw a moment about a point: an arc about the direction `middle` in degrees; turn 1 is counter-clockwise."""
    first, last = middle - 60.0, middle + 60.0
    ax.add_patch(Arc(centre, 2 * radius, 2 * radius, theta1=first, theta2=last, color=ACTS, lw=2))
    end, before = np.radians([last, last - 8.0] if turn > 0 else [first, first + 8.0])
    at = [centre + radius * np.array([np.cos(a), np.sin(a)]) for a in (before, end)]
    ax.add_patch(FancyArrowPatch(*at, arrowstyle="-|>", mutation_scale=14, color=ACTS, lw=2, shrinkA=0, shrinkB=0))
    beside = np.radians(40.0 if middle < 0.0 else middle)  # not over the second link
    place = centre + (radius + 0.25) * np.array([np.cos(beside), np.sin(beside)])
    ax.text(*place, text, color=ACTS, ha="center", va="center")


def chain(ax: Any, title: str, law: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw two links and return their hinges and centres."""
    hinges = points()
    centres = (hinges[1:] + hinges[:-1]) / 2
    ax.plot(*hinges.T, color=LINKS, lw=7, solid_capstyle="round")
    ax.plot(*hinges.T, "o", color="white", mec=LINKS, ms=6)
    ax.plot([-0.18, 0.18], [0.06, 0.06], color=SAYS, lw=3)
    ax.set(xlim=(-0.75, 2.0), ylim=(-2.1, 0.45), aspect="equal")
    ax.axis("off")
    ax.set_title(f"{title}\n{law}", fontsize=9)
    return hinges, centres


def convention(ax: Any) -> None:
    """Draw the axes and the angles."""
    hinges, _ = chain(ax, "angles", "from straight down, counter-clockwise")
    for hinge, angle, name in zip(hinges, np.degrees(ANGLES), ("$\\theta_1$", "$\\theta_2$"), strict=False):
        ax.plot([hinge[0]] * 2, [hinge[1], hinge[1] - 0.8], ":", color=SAYS)
        ax.add_patch(Arc(hinge, 1.2, 1.2, theta1=-90, theta2=angle - 90, color=SAYS))
        ax.text(*(hinge + 0.75 * np.array([np.sin(np.radians(angle / 2)), -np.cos(np.radians(angle / 2))])), name, ha="center")
    for by, name in (((0.5, 0.0), "x"), ((0.0, 0.5), "y")):
        start = np.array([1.2, -0.45])
        ax.add_patch(FancyArrowPatch(start, start + by, arrowstyle="-|>", mutation_scale=10, color=SAYS))
        ax.text(*(start + 1.25 * np.asarray(by)), name, ha="center", va="center")


def draw() -> Figure:
    """Return the drawing of all loads."""
    figure = Figure(figsize=(10, 11), layout="constrained")
    axes = iter(figure.subplots(3, 3).flat)
    convention(next(axes))
    _, centres = chain(ax := next(axes), "Gravity(g)", "(0, -m g) at each centre of mass")
    for centre in centres:
        arrow(ax, centre, (0.0, -0.6), "m g")
    for title, law, text in (
        ("JointTorque(T), T > 0", "+T on link 2, -T on link 1", "T"),
        ("JointSpring(k, r), $\\theta_2-\\theta_1<r$", "$-k(\\theta_2-\\theta_1-r)$ on link 2", "k"),
        ("JointDamper(c), $\\omega_2<\\omega_1$", "$-c(\\omega_2-\\omega_1)$ on link 2", "c"),
    ):
        hinges, _ = chain(ax := next(axes), title, law)
        moment(ax, hinges[1], 0.45, -30.0, f"{text}: on 2", 1)
        moment(ax, hinges[1], 0.45, 150.0, "on 1", -1)
    hinges, centres = chain(
        ax := next(axes), "LinkDamper($\\kappa$), $\\omega_2>0$", "$-\\kappa\\,\\omega_2$ on link 2, against the ground"
    )
    moment(ax, centres[1], 0.4, -30.0, "$\\kappa$", -1)
    hinges, centres = chain(ax := next(axes), "Drag(c1, c2)", "$-(c_1+c_2|v|)\\,v$ at each centre of mass")
    for centre, v in zip(centres, ((0.35, 0.2), (0.5, 0.45)), strict=True):
        ax.add_patch(FancyArrowPatch(centre, centre + v, arrowstyle="-|>", mutation_scale=10, color=SAYS))
        ax.text(*(centre + 1.3 * np.asarray(v)), "v", ha="center", color=SAYS)
        arrow(ax, centre, -0.9 * np.asarray(v))
    hinges, _ = chain(ax := next(axes), "FollowerForce($\\alpha$), $\\alpha>0$", "$-\\alpha\\,e_N$ at the tip: presses the chain")
    along = (hinges[2] - hinges[1]) * 0.6
    ax.add_patch(FancyArrowPatch(hinges[2] + along, hinges[2], arrowstyle="-|>", mutation_scale=14, color=ACTS, lw=2))
    ax.text(*(hinges[2] + along + (0.05, -0.15)), "$\\alpha$", color=ACTS)
    hinges, _ = chain(ax := next(axes), "TipForce(fx, fy)", "the same force always, at the tip")
    arrow(ax, hinges[2], (0.5, 0.3), "F")
    return figure
