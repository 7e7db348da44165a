"""Scenarios and runs in words: what the command prints and what a page tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nlink._support.showing import table
from nlink.analysis.cycle import limit_cycle
from nlink.mechanics import kinematics, loop_closure
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import FollowerForce, JointTorque, Load, Sine, Table, kinks
from nlink.mechanics.points import At, Point
from nlink.scenario import Scenario, Settings

if TYPE_CHECKING:
    from nlink.run.run import Run

MOST_HINGES = 60
"""Most hinges of a sketch."""
MANY = 1000
"""Knots of a table that are worth a word if most steps end at them."""
SLIGHT = 1e-9
"""A change of the start below this is rounding, and not worth a line."""


def scenario_lines(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the system in words."""
    chain = scenario.chain
    uniform = chain.links.count(chain.links[0]) == chain.n
    count = f"{chain.n} {'equal ' if uniform and chain.n > 1 else ''}link{'s' * (chain.n > 1)}"
    total = f"{count}, {chain.length.sum():g} m and {chain.mass.sum():g} kg in all"
    pin = [("pin", f"at x = {chain.pin[0]:g} m, y = {chain.pin[1]:g} m, holds the last end")] if chain.pin else []
    return [("system", total), *pin, ("loads", "; ".join(map(load_text, chain.loads)))]


SKETCH = (300.0, 60.0)
"""Width and least height of a sketch in pixels."""


def chain_html(chain: Multibody) -> str:
    """Return a sketch of a chain, stretched out to the right or held at its pin, and the system in words."""
    return table("Chain", scenario_lines(Scenario(chain, (0.0,) * chain.n)), _sketch(chain))


def _sketch(chain: Multibody) -> str:
    """Return links and hinges as SVG."""
    theta = loop_closure.zigzag(chain) if chain.pin else np.full(chain.n, np.pi / 2)
    hinges = kinematics.hinges(chain, theta) * [1, -1]
    low, extent = hinges.min(0), np.ptp(hinges, axis=0)
    (wide, least), margin = SKETCH, 10.0
    scale = (wide - 2 * margin) / max(extent.max(), 1e-300)
    high = max(least, scale * extent[1] + 2 * margin)
    points = scale * (hinges - low) + [margin, (high - scale * extent[1]) / 2]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = points if chain.n <= MOST_HINGES else points[[0, -1]]
    discs = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in dots)
    line = f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="2"/>'
    return f'<svg width="{wide:.0f}" height="{high:.0f}" style="display:block" fill="currentColor">{line}{discs}</svg>'


def place_text(point: Point) -> str:
    """Return a point in words."""
    if not isinstance(point, At):
        return f"({point[0]:g}, {point[1]:g}) m"
    along = "tip" if point.along is None else f"{point.along:g} m"
    return f"link {point.link + 1}, {along}" + (f", {point.left:+g} m left" if point.left else "")


def saved_text(settings: Settings) -> str:
    """Return the times at which a run is saved, in words."""
    return f"at {len(settings.save)} times" if isinstance(settings.save, tuple) else f"every {settings.save:g} s"


def load_text(load: Load) -> str:
    """Return a load in words."""
    if isinstance(load, JointTorque):
        return f"{load.label} {_value_text(load.torque)}"
    values = {name: _value_text(getattr(load, name)) for name in load.parameters() if getattr(load, name) != 0.0}
    if len(load.parameters()) == 1 or list(values) == ["stiffness"]:
        return f"{load.label} {next(iter(values.values()), '0')}"
    return f"{load.label} {', '.join(f'{name} {value}' for name, value in values.items()) or '0'}"


def _value_text(value: object) -> str:
    if isinstance(value, Sine):
        return f"{value.amplitude:g} sin(2 pi {value.frequency:g} t + {value.phase:g})"
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
    if len(run.t):
        lines.append(("energy", _energy_text(run)))
    if run.events:
        lines.append(("events", _events_text(run)))
    cycle = limit_cycle(run) if any(run.chain.load(kind) for kind in (FollowerForce, JointTorque)) else None
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
    rows = "".join(f"; {name.replace('_', ' ')} {values[-1]:+.4g} J" for name, values in energy.work.items())
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
