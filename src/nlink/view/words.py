"""Scenarios and runs in words: what the command prints and what a page tells."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nlink._support.checks import ModelError
from nlink._support.showing import table
from nlink.analysis.cycle import limit_cycle
from nlink.mechanics import loop_closure, mobility
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import FollowerForce, JointTorque, Load, PointForce, PointSpring, Sine, Table, TipForce, kinks
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.motions import Motion, Ramp, Spline
from nlink.mechanics.points import GROUND, At, Closure, Gear, Guide, Pin, Point, ends
from nlink.scenario import Scenario, Settings
from nlink.view.outline import outline

if TYPE_CHECKING:
    from nlink.run.run import Run

MOST_HINGES = 60
"""Most hinges of a sketch."""
MOST_PARTS = 4
"""Most drives or pins that are named one by one."""
MANY = 1000
"""Knots of a table that are worth a word if most steps end at them."""
SLIGHT = 1e-9
"""A change of the start below this is rounding, and not worth a line."""


def scenario_lines(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the system in words."""
    chain = scenario.chain
    if isinstance(chain, Mechanism):
        return _mechanism_lines(chain, np.array(scenario.theta))
    uniform = chain.links.count(chain.links[0]) == chain.n
    count = f"{chain.n} {'equal ' if uniform and chain.n > 1 else ''}link{'s' * (chain.n > 1)}"
    count += " in space" if chain.spatial else ""
    total = f"{count}, {chain.length.sum():g} m and {chain.mass.sum():g} kg in all"
    pin = [("pin", f"at x = {chain.pin[0]:g} m, y = {chain.pin[1]:g} m, holds the last end")] if chain.pin else []
    return [("system", total), *pin, ("loads", "; ".join(map(load_text, chain.loads)))]


def _mechanism_lines(model: Mechanism, theta: np.ndarray) -> list[tuple[str, str]]:
    total = f"{counted(model, theta)}, {model.length.sum():g} m and {model.mass.sum():g} kg in all"
    drives = [f"body {i + 1} moves as {_motion_text(body.motion)}" for i, body in enumerate(model.links) if body.motion is not None]
    lines = [("driven", drives), ("pins", [_closure_text(closure) for closure in model.pins])]
    shortened = [
        (name, texts[:MOST_PARTS] + [f"{len(texts) - MOST_PARTS} more"] * (len(texts) > MOST_PARTS)) for name, texts in lines
    ]
    told = [(name, "; ".join(texts)) for name, texts in shortened if texts]
    return [("system", total), *told, ("loads", "; ".join(map(load_text, model.loads)))]


def counted(model: Mechanism, theta: np.ndarray) -> str:
    """Return what a mechanism consists of: a cart and 2 links; 7 links, 3 loops, 1 freedom."""
    rails, links = int(model.slides.sum()), int((~model.slides).sum())
    named = f"{links} link{'s' * (links > 1)}"
    loose = model.slides & ~model.prescribed
    if rails == 1 and loose[0] and links:
        text = f"a cart and {named}"
    elif rails == 2 and loose[:2].all() and not model.mass[:2].any() and links:
        text = f"{named} afloat"
    else:
        text = " and ".join([f"{rails} slider{'s' * (rails > 1)}"] * bool(rails) + [named] * bool(links))
    return ", ".join([text, *_loops_text(model, theta)])


def _loops_text(model: Mechanism, theta: np.ndarray) -> list[str]:
    """Return how many loops a mechanism has, and how it can move at the start theta; if that does not close it, anywhere."""
    if not model.closed:
        return []
    try:
        found = mobility.mobility_near(model, theta)
    except ModelError:
        rows = model.rows
        return [f"{model.loops} loop{'s' * (model.loops != 1)}", f"{rows} row{'s' * (rows > 1)} of constraints"]
    free = f"{found.freedom} freedom{'s' * (found.freedom != 1)}" if found.freedom or not model.prescribed.any() else "driven"
    spare = [f"{found.spare} spare row{'s' * (found.spare > 1)}"] * bool(found.spare)
    return [f"{model.loops} loop{'s' * (model.loops != 1)}", free, *spare]


def _closure_text(closure: Closure) -> str:
    if isinstance(closure, Gear):
        return f"body {closure.i + 1} geared to body {closure.j + 1} by {closure.ratio:g}"
    a, b = map(point_text, ends(closure))
    if isinstance(closure, Guide):
        return f"{a} on a line through {b} at {np.degrees(closure.direction):.6g} deg"
    if isinstance(closure, Pin):
        return f"{a} on {b}"
    return f"{a} on a bar{'' if closure.length is None else f' of {closure.length:g} m'} from {b}"


def point_text(point: Point) -> str:
    """Return a point in words; bodies are counted from 1, as everywhere in words."""
    if not isinstance(point, At):
        return f"({point[0]:g}, {point[1]:g}) m"
    if point.along is None and point.left == 0:
        return f"the tip of body {point.link + 1}"
    along = "the tip" if point.along is None else f"{point.along:g} m"
    return f"body {point.link + 1} at {along}{f', {point.left:g} m to its left' if point.left else ''}"


def _motion_text(motion: Motion) -> str:
    if isinstance(motion, tuple):
        return " + ".join(map(_motion_text, motion))
    if isinstance(motion, Ramp):
        return f"{motion.start:g} {'-' if motion.rate < 0 else '+'} {abs(motion.rate):g} t"
    return f"a spline of {len(motion.times)} points" if isinstance(motion, Spline) else _value_text(motion)


SKETCH = (300.0, 60.0)
"""Width and least height of a sketch in pixels."""
FAN = 0.9
"""Angle in rad between links on one body in a sketch."""


def chain_html(chain: Multibody) -> str:
    """Return a sketch of a chain, stretched out to the right or held at its pin, and the system in words."""
    kind = "Mechanism" if isinstance(chain, Mechanism) else "Chain"
    return table(kind, scenario_lines(Scenario(chain, (0.0,) * chain.n)), _sketch(chain))


def _sketch(chain: Multibody) -> str:
    """Return links and hinges as SVG; of a mechanism that is closed as it would be without what closes it."""
    theta = spread_out(chain) if isinstance(chain, Mechanism) else np.full(chain.n, np.pi / 2)
    theta = loop_closure.zigzag(chain) if chain.pin else theta
    drawn = outline(chain, theta)
    places = drawn.places(theta) * [1, -1]
    low, extent = places.min(0), np.ptp(places, axis=0)
    (wide, least), margin = SKETCH, 10.0
    scale = (wide - 2 * margin) / max(extent.max(), 1e-300)
    high = max(least, scale * extent[1] + 2 * margin)
    points = scale * (places - low) + [margin, (high - scale * extent[1]) / 2]
    paths = np.ma.clump_unmasked(np.ma.masked_invalid(drawn.lines(points)[:, 0]))
    lines = "".join(_polyline(drawn.lines(points)[path]) for path in paths)
    hinges = points if not isinstance(chain, Mechanism) else points[list(drawn.hinges)]
    discs = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in (hinges if chain.n <= MOST_HINGES else hinges[[0, -1]])
    )
    blocks = "".join(
        f'<rect x="{x - 9:.1f}" y="{y - 6:.1f}" width="18" height="12"/>' for x, y in points[[b.point for b in drawn.blocks]]
    )
    return f'<svg width="{wide:.0f}" height="{high:.0f}" style="display:block" fill="currentColor">{lines}{blocks}{discs}</svg>'


def spread_out(model: Mechanism) -> np.ndarray:
    """Return coordinates (N,) in which the links of a mechanism can be told apart: those on one body spread like a fan."""
    theta = np.zeros(model.n)
    for i in np.flatnonzero(~model.slides).tolist():
        parent = int(model.parents[i])
        beside = np.flatnonzero((model.parents == parent) & ~model.slides)
        turner = int(model.turners[parent]) if parent >= 0 else GROUND
        first = theta[turner] if turner >= 0 else np.pi / 2
        first -= np.pi / 4 if parent >= 0 and model.slides[parent] else 0.0
        theta[i] = first + FAN * (np.searchsorted(beside, i) - (len(beside) - 1) / 2) * (parent >= 0)
    return theta


def _polyline(points: np.ndarray) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="2"/>'


def saved_text(settings: Settings) -> str:
    """Return the times at which a run is saved, in words."""
    return f"at {len(settings.save)} times" if isinstance(settings.save, tuple) else f"every {settings.save:g} s"


def load_text(load: Load) -> str:
    """Return a load in words."""
    if isinstance(load, PointSpring):
        damper = f", damping {load.damping:g}" * bool(load.damping)
        spring = f"spring of {load.stiffness:g} N/m and {load.length:g} m{damper}"
        return f"{spring} between {point_text(load.a)} and {point_text(load.b)}"
    if isinstance(load, PointForce):
        return f"force of ({load.fx:g}, {load.fy:g}) N at {point_text(load.point)}"
    if isinstance(load, TipForce | FollowerForce) and load.link is not None:
        return f"{load_text(replace(load, link=None))} at body {load.link + 1}"
    if isinstance(load, JointTorque):
        return f"{load.label} {_value_text(load.torque)}"
    values = {name: _value_text(getattr(load, name)) for name in load.parameters() if getattr(load, name) != 0.0}
    if isinstance(load, TipForce) and load.fz:
        values["fz"] = _value_text(load.fz)
    if len(load.parameters()) == 1 or list(values) == ["stiffness"]:
        return f"{load.label} {next(iter(values.values()), '0')}"
    return f"{load.label} {', '.join(f'{name} {value}' for name, value in values.items()) or '0'}"


def _value_text(value: object) -> str:
    if isinstance(value, Sine):
        offset = f" + {value.offset:g}" * bool(value.offset)
        return f"{value.amplitude:g} sin(2 pi {value.frequency:g} t + {value.phase:g}){offset}"
    if isinstance(value, Table):
        return f"from a table of {len(value.times)} points"
    if callable(value):
        return f"from the function {getattr(value, '__name__', getattr(value, 'name', 'given'))}"
    return "[" + ", ".join(map(_value_text, value)) + "]" if isinstance(value, tuple) else f"{value:g}"


def run_lines(run: Run) -> list[tuple[str, str]]:
    """Return what happened in a run, in words."""
    stats, meta = run.stats, run.meta
    done = abs(run.t[-1]) if len(run.t) else 0.0
    speed = f": {done / stats.wall:,.0f} times faster than real time" if stats.wall > 0 and done > stats.wall else ""
    lines = [("method", f"{meta['formulation']}, {meta['integrator']}")] if "formulation" in meta else []
    lines += [
        ("steps", f"{stats.steps:,}, {stats.rejected:,} rejected; {stats.nfev:,} evaluations{_knots_text(run)}"),
    ]
    moved, sped = (meta.get("start", {}).get(key, 0.0) for key in ("moved", "sped"))
    if moved > SLIGHT or sped > SLIGHT:
        lines.append(("start", f"closed by turning links up to {moved:.2g} rad and changing rates up to {sped:.2g} rad/s"))
    if spare := meta.get("spare"):
        rows = "1 row of the pins depends" if spare == 1 else f"{spare} rows of the pins depend"
        lines.append(("reactions", f"{rows} on others: forces of pins are not unique, the smallest are given"))
    if len(run.t):
        lines.append(("energy", _energy_text(run)))
    if run.events:
        lines.append(("events", _events_text(run)))
    driven = any(run.chain.load(kind) for kind in (FollowerForce, JointTorque))
    cycle = limit_cycle(run) if driven and not run.chain.slides.any() and not run.chain.spatial else None
    if cycle:
        swing = f"the last link swings {np.degrees(cycle.amplitude[-1]):.4g} degrees to either side"
        lines.append(("cycle", f"settled on a limit cycle of {cycle.period:.6g} s: {swing}"))
    lines.append(("time", f"{stats.wall:.3g} s for {done:g} s of motion{speed}"))
    if run.trusted_until is not None:
        angle = f" (angles within {meta['trusted_angle']:g} rad)" if "trusted_angle" in meta else ""
        lines.append(("trusted", f"until t = {run.trusted_until:.4g} s{angle}"))
    return lines + ([("stopped", run.status.message.removeprefix("stopped "))] if run.status.code == "event" else [])


def _knots_text(run: Run) -> str:
    """Return how many steps a table has forced, if they are many."""
    t, found = run.t[-1] if len(run.t) else 0.0, kinks(run.chain.load(JointTorque))
    count = int(np.count_nonzero((found > min(t, 0.0)) & (found < max(t, 0.0))))
    if count < max(MANY, run.stats.steps / 2):
        return ""
    return f"; {count:,} of the steps end at knots of a table, and a coarser table would be faster"


def _energy_text(run: Run) -> str:
    energy = run.energy()
    scale = max(float(np.ptp(energy.kinetic)), float(np.ptp(energy.potential)), 1e-300)
    worst = float(np.abs(energy.residual).max())
    rows = "".join(f"; {name.replace('_', ' ')} {values[-1]:+.4g} J" for name, values in energy.work.items() if values.any())
    return f"residual {worst:.2g} J, {worst / scale:.1g} of the energy exchanged{rows and '; work' + rows[1:]}"


def _events_text(run: Run) -> str:
    names = sorted({event.name for event in run.events})
    parts: list[str] = []
    for name in names:
        events = [event for event in run.events if event.name == name]
        first = events[0]
        if name == "flip":
            times = f", {len(events)} times in all" if len(events) > 1 else ""
            parts.append(f"link {first.info['link'] + 1} is the first to turn over, at t = {first.t:.6g} s{times}")
        elif name == "dead position":
            count = f"{len(events)} dead positions, the first" if len(events) > 1 else "1 dead position,"
            parts.append(f"{count} at t = {first.t:.6g} s")
        else:
            parts.append(f"{name} first at t = {first.t:.6g} s, {len(events)} in all")
    return "; ".join(parts)
