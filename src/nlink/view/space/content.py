"""The content of a page of a run in space: chain and motion as plain data, with packed arrays. `web/spacemotion.js` reads it."""

from __future__ import annotations

import numpy as np

from nlink.mechanics.loads import FollowerForce, TipForce
from nlink.mechanics.points import At, Point
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.model import SpatialChain
from nlink.view.packing import Content, Rounded
from nlink.view.space.solids import Solid, pins_of, solid_of

ROUNDED = 1e-5
"""Components of directions and of quaternions are rounded to this."""
RATE_BITS = 18
"""Rates are rounded to the largest one divided by two to this."""


def space_chain(chain: SpatialChain, trace: Point | None = None) -> Content:
    """Return the measures of a chain in space that its picture needs; `trace`: what draws the trail, if not the last end."""
    tip, follower = chain.load(TipForce), chain.load(FollowerForce)
    drawn: Content = {}
    if isinstance(trace, At):
        drawn["trace"] = [trace.link, float(chain.length[trace.link]) if trace.along is None else trace.along]
    return drawn | {
        "space": True,
        "n": chain.n,
        "length": chain.length.tolist(),
        "mass": chain.mass.tolist(),
        "com": chain.centre.tolist(),
        "offset": [],
        "point": [line and not body.inertia for line, body in zip(chain.is_line, chain.links, strict=True)],
        "turns": [not line for line in chain.is_line],
        "solids": [_solid(solid_of(link)) if isinstance(link, Body) else None for link in chain.links],
        "pins": [[[owner, axis.tolist()] for owner, axis in pins] for pins in pins_of(chain)],
        "tip": tip and [tip.fx, tip.fy, tip.fz or 0.0],
        "follower": follower and follower.force,
    }


def _solid(solid: Solid) -> Content:
    return {**solid._asdict(), "side": solid.side, "reach": solid.reach}


def space_motion(t: np.ndarray, rows: np.ndarray, rates: np.ndarray) -> Content:
    """Return the motion: times exact, rows (T, R) to ROUNDED or finer, rates to a small part of the largest."""
    spans = np.ptp(rows, axis=0) if len(rows) else np.zeros(1)
    peak = float(np.abs(rates).max(initial=0.0)) or 1.0
    fine = min(ROUNDED, float(spans.max()) * 2.0**-16 or ROUNDED)
    return {"t": t, "rows": Rounded(rows.T, fine), "rates": Rounded(rates.T, peak * 2.0**-RATE_BITS)}
