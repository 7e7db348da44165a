"""The content of a page of a run: chain, motion, energies, events and settings as plain data, with packed arrays."""

from __future__ import annotations

import numpy as np

from nlink._support.checks import ModelError, shown
from nlink._support.version import __version__
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import FollowerForce, JointSpring, PointForce, TipForce
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.points import GROUND, At, Point, checked_points
from nlink.mechanics.space.model import SpatialChain
from nlink.run.run import EventRecord, Run
from nlink.scenario import Scenario
from nlink.view.outline import outline, traced, traced_point
from nlink.view.packing import Content, Rounded, spread
from nlink.view.sampling import Sample, finite, sampled, spread_rows
from nlink.view.space.content import space_chain, space_motion
from nlink.view.space.words import start_text
from nlink.view.style import cut, heading, refuse_empty, within
from nlink.view.words import run_lines, saved_text, scenario_lines

ROOM, LITTLE = 250_000, 80_000
"""Most angles that a page holds, and one inside a notebook."""
ANGLE = 1e-5
"""Angles are rounded to this many rad, or finer where a motion is small."""
RATE_BITS = 18
"""Rates are rounded to the largest one divided by two to this."""
ENERGIES = 3000
"""Most times at which a page has the energies."""
EVENTS = 2000
WORDS = 400
"""Most letters of one line about the model."""
ANGLES = 8
"""Most links whose start angles are listed one by one."""


def run_content(run: Run, room: int = ROOM, look: Content | None = None, trace: Point | None = None) -> Content:
    """Return the content of the page of a run; `look`: speed, trail, hinges, centres and style at its beginning.

    `trace`: the point whose path is shown, if it is not the usual one.
    """
    refuse_empty(run)
    run = finite(run)
    refuse_empty(run)
    chosen = dict(look or {})
    trace = None if trace is None else checked_trace(run.chain, trace)
    take = {**_take(run, sampled(run, room), trace), "rate": chosen.pop("speed", None)}
    return {"title": heading(run, 200), "about": about(), "words": [], "look": chosen, "takes": [take]}


def checked_trace(chain: Multibody, trace: Point) -> Point:
    """Return the point whose path is shown, if there is such a point; in space one along a link."""
    if chain.spatial and not (isinstance(trace, At) and trace.left == 0):
        raise ModelError(f"trace must be a point along a link in space, At(link, along), got {shown(trace)}")
    return checked_points("trace", [trace], chain.n)[0] if chain.spatial else traced(chain, trace)


def about() -> str:
    """Return who made the page."""
    return f"Made by nlink {__version__}. The page holds its data and needs no network."


def _take(run: Run, sample: Sample, trace: Point | None) -> Content:
    lines = scenario_lines(run.scenario)
    return {
        "name": heading(run),
        "summary": cut(lines[0][1] + "; " + lines[-1][1], 160),
        "status": "" if run.status.ok else str(run.status),
        "words": words([*lines, *_settings(run.scenario), *run_lines(run), *_thinned(run, sample)]),
        "chain": chain_data(run.chain, sample.values, trace),
        **motion_data(sample.t, sample.values, sample.rates, run.chain),
        "energy": _energy(run),
        "events": [{"t": event.t, "text": _event_text(event)} for event in run.events[:EVENTS] if within(run, event.t)],
        "trusted": run.trusted_until if within(run, run.trusted_until) else None,
        "step": _step(run.t),
    }


def chain_data(chain: Multibody, theta: np.ndarray | None = None, trace: Point | None = None) -> Content:
    """Return the measures of a chain that its picture needs; of a mechanism its outline too, for the motion theta (T, N).

    `trace`: the point whose path is shown, if it is not the usual one.
    """
    if isinstance(chain, SpatialChain):
        return space_chain(chain, trace)
    tip, follower = chain.load(TipForce), chain.load(FollowerForce)
    spring = chain.each(JointSpring, "stiffness") if chain.load(JointSpring) else None
    drawn: Content = {} if trace is None else {"trace": _placed(chain, trace)}
    if isinstance(chain, Mechanism):
        drawn["outline"] = outline_data(chain, np.zeros(chain.n) if theta is None else theta)
        drawn.setdefault("trace", _placed(chain, traced_point(chain)))
    return drawn | {
        "n": chain.n,
        "length": chain.length.tolist(),
        "mass": chain.mass.tolist(),
        "com": chain.com.tolist(),
        "offset": chain.offset.tolist(),
        "point": ((chain.inertia == 0) & (chain.length > 0)).tolist(),
        "pin": chain.pin and list(chain.pin),
        "spring": None if spring is None else spring.tolist(),
        "rest": None if spring is None else chain.each(JointSpring, "rest").tolist(),
        "tip": tip and [tip.fx, tip.fy],
        "follower": follower and follower.force,
    }


def outline_data(model: Mechanism, theta: np.ndarray) -> Content:
    """Return what the picture of a mechanism needs: its tree, and the outline with places (body, along, left)."""
    drawn = outline(model, theta)
    return {
        "parent": model.parents.tolist(),
        "slides": model.slides.tolist(),
        "levers": model.levers.T.tolist(),
        "ways": model.directions.T.tolist(),
        "points": [_placed(model, point) for point in drawn.points],
        "shapes": drawn.shapes,
        "hinges": drawn.hinges,
        "blocks": [[block.point, block.rail.a, block.rail.b, block.rail.owner, block.body] for block in drawn.blocks],
        "bars": drawn.bars,
        "springs": drawn.springs,
        "driven": drawn.driven,
        "grounds": drawn.grounds.tolist(),
        "unit": drawn.unit,
        "follows": drawn.follows,
        "arrows": _arrows(model),
    }


def _arrows(model: Mechanism) -> list[tuple[float, ...]]:
    """Return the forces at points: the place and (fx, fy); of one that turns with its link, what presses along it."""
    arrows: list[tuple[float, ...]] = []
    for load in model.loads:
        if isinstance(load, TipForce | FollowerForce):
            place = model.located(At(model.n - 1 if load.link is None else load.link))
            arrows.append((*place, load.fx, load.fy) if isinstance(load, TipForce) else (*place, load.force))
        if isinstance(load, PointForce):
            arrows.append((*model.located(load.point), load.fx, load.fy))
    return arrows


def _placed(model: Multibody, point: Point) -> tuple[int, float, float]:
    """Return the body of a point, and where it is on it: along and left in m."""
    if isinstance(model, Mechanism):
        return model.located(point)
    if isinstance(point, At):
        return point.link, float(model.length[point.link]) if point.along is None else point.along, point.left
    return GROUND, -point[1], point[0]


def motion_data(t: np.ndarray, theta: np.ndarray, omega: np.ndarray, chain: Multibody | None = None) -> Content:
    """Return the motion: times exact, angles to ANGLE, rates to a small part of the largest; small displacements finer.

    Of a chain in space theta and omega are the rows of `reading` and their rates.
    """
    if isinstance(chain, SpatialChain):
        return space_motion(t, theta, omega)
    fine = min(ANGLE, float(np.ptp(theta)) * 2.0**-16 or ANGLE)
    if chain is not None and len(theta):
        moved = np.ptp(theta[:, chain.slides], axis=0)
        fine = min(fine, float(moved[moved > 0].min(initial=1.0)) * 2.0**-14)
    peak = float(np.abs(omega).max(initial=0.0)) or 1.0
    return {"t": t, "theta": Rounded(theta.T, fine), "omega": Rounded(omega.T, peak * 2.0**-RATE_BITS)}


def words(lines: list[tuple[str, str]]) -> list[list[str]]:
    """Return lines about a model, none too long."""
    return [[name, cut(text, WORDS)] for name, text in lines]


def _energy(run: Run) -> Content:
    """Return the changes of the energies since the start; the total by itself, since it may be far smaller than its parts."""
    rows = spread_rows(len(run.t), ENERGIES)

    def change(values: np.ndarray) -> Rounded:
        return spread(values[rows] - values[0])

    return {
        "t": run.t[rows],
        "kinetic": change(run.kinetic),
        "potential": change(run.potential),
        "total": change(run.kinetic + run.potential),
        "work": {name.replace("_", " "): change(values) for name, values in run.work.items()},
    }


def _settings(scenario: Scenario) -> list[tuple[str, str]]:
    slides, settings = scenario.chain.slides, scenario.settings
    if isinstance(scenario.chain, SpatialChain):
        return [("start", start_text(scenario)), ("asked for", f"t = {settings.t_end:g} s, saved {saved_text(settings)}")]
    start = np.array(scenario.theta)
    theta, moved = np.degrees(start[~slides]), start[slides]
    each = len(theta) <= ANGLES
    angles = "at " + ", ".join(f"{a:.4g}" for a in theta) if each else f"at angles from {theta.min():.4g} to {theta.max():.4g}"
    angles = f"{angles} degrees" if len(theta) else "at"
    angles += (", " if len(theta) else " ") + ", ".join(f"{s:.4g}" for s in moved[:ANGLES]) + " m" if len(moved) else ""
    moving = ", moving" if any(scenario.omega if isinstance(scenario.omega, tuple) else [scenario.omega]) else ", at rest"
    return [("start", f"{angles}{moving}"), ("asked for", f"t = {settings.t_end:g} s, saved {saved_text(settings)}")]


def _thinned(run: Run, sample: Sample) -> list[tuple[str, str]]:
    length = " or lengths of a link" if run.chain.slides.any() else ""
    shown = f"{len(sample.t):,} moments of {len(run.t):,} saved ones, between them cubic curves"
    return [("shown", f"{shown} that are off by at most {sample.error + ANGLE / 2:.1g} rad{length}")] if len(run.t) > 1 else []


def _event_text(event: EventRecord) -> str:
    at = f"at t = {event.t:.6g} s"
    return f"link {event.info['link'] + 1} turns over {at}" if event.name == "flip" else f"{event.name} {at}"


def _step(t: np.ndarray) -> float:
    """Return how far one press of a key goes: the usual distance of the saved points, but not less than a small part of all."""
    return max(float(np.median(np.abs(np.diff(t)))), abs(float(t[-1] - t[0])) / 5000) if len(t) > 1 else 1.0
