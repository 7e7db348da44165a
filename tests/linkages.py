"""Linkages for tests: builders, each with a state that closes it, or nearly. Dimensions as in `tests/data/mechanisms`, whose files
name their sources, and as said below; bars are uniform rods of 1 kg/m unless said otherwise.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nlink import GROUND, At, Gravity, Guide, JointTorque, Link, Mechanism, Pin, PointSpring, Ramp, Slider

DATA = Path(__file__).parent / "data" / "mechanisms"


class Linkage(NamedTuple):
    """A mechanism and coordinates that nearly close it."""

    model: Mechanism
    near: np.ndarray


def reference(name: str) -> dict[str, Any]:
    """Return what a file of references holds, its numbers as texts."""
    return json.loads((DATA / f"{name}.json").read_text())


def referenced(name: str) -> Mechanism:
    """Return the mechanism of a file of references, with its drive and torques."""
    model = reference(name)["model"]
    bodies: list[Link | Slider] = []
    for body in model["bodies"]:
        numbers = {key: float(body.get(key, 0)) for key in ("mass", "com", "offset", "inertia")}
        place = tuple(float(each) for each in body["at"])
        if body.get("joint") == "slide":
            bodies.append(Slider(**numbers, direction=float(body["direction"])).on(body["parent"], place))
            continue
        motion = Ramp(float(body["motion"]["offset"]), float(body["motion"]["rate"])) if "motion" in body else None
        bodies.append(Link(float(body["length"]), **numbers, motion=motion).on(body["parent"], place))
    pins = []
    for pin in model["pins"]:
        (along, left), other = (float(each) for each in pin["at"]), tuple(float(each) for each in pin["point"])
        pins.append(Pin(At(pin["body"], along, left), other if pin["to"] == GROUND else At(pin["to"], *other)))
    loads = [Gravity(float(model["g"]))]
    if "joint_torque" in model:
        loads.append(JointTorque(tuple(map(float, model["joint_torque"]))))
    return Mechanism(bodies, loads, pins)


def bar(length: float) -> Link:
    """A uniform rod of 1 kg/m."""
    return Link.rod(length, length)


def massless(linkage: Linkage) -> Linkage:
    """The same linkage without masses."""
    light = [type(body)(**(vars(body) | {"mass": 0.0, "inertia": 0.0})) for body in linkage.model.links]
    return Linkage(Mechanism(light, linkage.model.loads, linkage.model.pins), linkage.near)


def angle(a: Any, b: Any) -> float:
    """The angle theta of a link from one point to another."""
    return math.atan2(b[0] - a[0], a[1] - b[1])


def four_bar(crank: float = 1.0, coupler: float = 3.0, rocker: float = 2.5, ground: float = 2.5) -> Linkage:
    """Crank and rocker on the ground, the coupler on the crank and pinned to the rocker; near the open branch."""
    bars = [bar(crank), bar(coupler), bar(rocker).on(GROUND, (ground, 0.0))]
    return Linkage(Mechanism(bars, pins=Pin(At(1), At(2))), np.array([1.0, 0.9, 0.3]))


def five_bar() -> Linkage:
    """Two cranks on the ground and two couplers: two freedoms."""
    bars = [bar(1.0), bar(1.5), bar(1.0).on(GROUND, (2.0, 0.0)), bar(1.5).on(2)]
    return Linkage(Mechanism(bars, pins=Pin(At(1), At(3))), np.array([2.0, 0.906, 3.0, -0.034]))


def slider_crank(guided: bool = False) -> Linkage:
    """Crank, rod and slider of `slider_crank.json`; or the end of the rod guided on the line instead of the slider."""
    crank, rod = Link(0.3, 0.4, 0.15, 0.003), Link(0.9, 0.8, 0.45, 0.054)
    near = np.array([2.27364436, 1.35362889, 1.10776182])
    if guided:
        return Linkage(Mechanism([crank, rod], JointTorque((0.25, 0.0)), Guide(At(1), (0.0, 0.0))), near[:2])
    bodies = [crank, rod, Slider(0.5).on(GROUND, (0.0, 0.0))]
    return Linkage(Mechanism(bodies, JointTorque((0.25, 0.0, 0.0)), Pin(At(1), At(2))), near)


def rockers(places: tuple[float, ...] = (0.0, 0.3, 1.1, 1.7), lengths: float | tuple[float, ...] = 1.0) -> Linkage:
    """Rockers on level ground under one rigid coupler: all but two of them are redundant bars."""
    each = lengths if isinstance(lengths, tuple) else (lengths,) * len(places)
    bars = [bar(length).on(GROUND, (x, 0.0)) for length, x in zip(each, places, strict=True)]
    pins = [Pin(At(len(places), x - places[0]), At(i + 1)) for i, x in enumerate(places[1:])]
    model = Mechanism([*bars, bar(places[-1] - places[0]).on(0)], pins=pins)
    return Linkage(model, np.array([3.0] * len(places) + [math.pi / 2]))


def a02(n: int) -> Linkage:
    """IFToMM A02: n parallel four-bars in a row, rods of 1 m and 1 kg; body 0 and every second one after it are rockers."""
    bars, last = [Link.rod(1.0, 1.0)], 0
    for i in range(n):
        bars += [Link.rod(1.0, 1.0).on(last), Link.rod(1.0, 1.0).on(GROUND, (i + 1.0, 0.0))]
        last = 2 * i + 2
    model = Mechanism(bars, pins=[Pin(At(2 * i + 1), At(2 * i + 2)) for i in range(n)])
    return Linkage(model, np.array([3.0] + [math.pi / 2, 3.0] * n))


def a02_start(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The start of the benchmark: rockers straight up, couplers level, tips moving at 1 m/s to the right."""
    return np.array([math.pi] + [math.pi / 2, math.pi] * n), np.array([-1.0] + [0.0, -1.0] * n)


def peaucellier() -> Linkage:
    """The straight-line linkage of `peaucellier_driven.json`: crank, long arms, a rhombus; the tip of body 5 stays on x = 3.375."""
    bars = [bar(1.0).on(GROUND, (1.0, 0.0)), bar(3.0).on(GROUND), bar(3.0).on(GROUND)]
    bars += [bar(1.5).on(arm) for arm in (1, 2, 1, 2)]
    near = [float(x) for x in reference("peaucellier_driven")["results"]["0"]["theta"]]
    return Linkage(Mechanism(bars, pins=[Pin(At(3), At(0)), Pin(At(4), At(0)), Pin(At(5), At(6))]), np.array(near))


def watt() -> Linkage:
    """Watt's linkage: two equal arms and a short coupler, whose middle draws a figure of eight with two nearly straight parts."""
    bars = [bar(2.0), bar(1.0), bar(2.0).on(GROUND, (4.0, -1.0))]
    return Linkage(Mechanism(bars, pins=Pin(At(1), At(2))), np.array([math.pi / 2, 0.0, -math.pi / 2]))


def jansen() -> Linkage:
    """Theo Jansen's leg with the lengths of `jansen_leg.json`, as published; the crank is body 0, the foot a point of body 6.

    1 the triangle F-A-C, 2 F-B, 3 crank-A, 4 crank-B, 5 C-D, 6 the triangle B-D-foot.
    """
    data = reference("jansen_leg")
    size = {name: float(value) for name, value in data["lengths"].items()}
    pivot = (-size["a"], -size["l"])
    knee = _corner(size["b"], size["d"], size["e"])
    bars = [bar(size["m"]), bar(size["b"]).on(GROUND, pivot), bar(size["c"]).on(GROUND, pivot), bar(size["j"]).on(0)]
    bars += [bar(size["k"]).on(0), bar(size["f"]).on(1, knee), bar(size["g"]).on(2)]
    pins = [Pin(At(3), At(1)), Pin(At(4), At(2)), Pin(At(5), At(6))]
    at = {name: [float(x) for x in place] for name, place in data["results"]["0"].items()} | {"F": pivot, "O": (0.0, 0.0)}
    ways = [("O", "crank"), ("F", "A"), ("F", "B"), ("crank", "A"), ("crank", "B"), ("C", "D"), ("B", "D")]
    return Linkage(Mechanism(bars, pins=pins), np.array([angle(at[a], at[b]) for a, b in ways]))


def foot() -> At:
    """The foot of Jansen's leg: a point of body 6."""
    size = {name: float(value) for name, value in reference("jansen_leg")["lengths"].items()}
    return At(6, *_corner(size["g"], size["i"], size["h"]))


def _corner(base: float, near: float, far: float) -> tuple[float, float]:
    """The third corner of a triangle over its base, to the left: along and left from the corner that is `near` away."""
    along = (base**2 + near**2 - far**2) / (2 * base)
    return along, math.sqrt(near**2 - along**2)


def andrews() -> Linkage:
    """Andrews' squeezing mechanism: seven bodies, three loops, one spring, a constant torque; without gravity.

    Numbers of Schiehlen (ed.), Multibody Systems Handbook (1990), as in Hairer and Wanner, Solving Ordinary Differential
    Equations II (1996), section VII.7. Bodies: K1, K2 on it, K3 with the spring, K5 and K4 on it, K7 and K6 on it.
    """
    a, b, c = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
    bodies = [
        Link(0.007, 0.04325, 0.00092, 2.194e-6),
        Link(0.028, 0.00365, 0.0115, 4.410e-7).on(0),
        Link(0.035, 0.02373, 0.01874, 5.255e-6, offset=0.01043).on(GROUND, b),
        Link(0.04, 0.07050, 0.02308, 1.169e-5, offset=0.00916).on(GROUND, a),
        Link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7).on(3),
        Link(0.04, 0.05498, 0.01228, 1.912e-5, offset=-0.00449).on(GROUND, a),
        Link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7).on(5),
    ]
    spring = PointSpring(At(2, 0.018, 0.02), c, stiffness=4530.0, length=0.07785)
    torque = JointTorque((0.033,) + (0.0,) * 6)
    model = Mechanism(bodies, [Gravity(0.0), spring, torque], [Pin(At(1), At(i)) for i in (2, 4, 6)])
    return Linkage(model, andrews_angles(ANDREWS_START))


ANDREWS_START = (
    -0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885884, 0.487364979543842550, -0.222668390165885884,
    1.23054744454982119,
)  # fmt: skip
"""beta, Theta, gamma, Phi, delta, Omega and epsilon of the source at the start."""
ANDREWS_END = (
    15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304, 0.5347301163226948,
    1.048080741042263,
)  # fmt: skip
"""The same at 0.03 s as published: right to about nine digits."""


def andrews_angles(source: tuple[float, ...]) -> np.ndarray:
    """The absolute angles of Andrews' mechanism from the seven coordinates of the source."""
    beta, theta, gamma, phi, delta, omega, epsilon = source
    quarter = math.pi / 2
    angles = [beta + quarter, beta + theta - quarter, gamma, delta + quarter, phi + delta, epsilon, omega + epsilon + quarter]
    return np.array(angles)
