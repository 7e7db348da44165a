"""Closed mechanisms that several tests run: A02, Andrews' squeezing mechanism, linkages from files of references."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from nlink import Gravity, JointTorque, Link
from nlink.mechanics.loads import PointSpring
from nlink.mechanics.mechanism import Mechanism, Slider
from nlink.mechanics.motions import Ramp
from nlink.mechanics.points import GROUND, At, Pin

REFERENCES = Path(__file__).parent / "data" / "mechanisms"


def parallel_loops(loops: int) -> tuple[Mechanism, list[float], list[float]]:
    """Return IFToMM A02: rockers and couplers of 1 m and 1 kg, straight up and moving at 1 rad/s."""
    rockers = [Link.rod(1.0, 1.0).on(GROUND, (float(i), 0.0)) for i in range(loops + 1)]
    couplers = [Link.rod(1.0, 1.0).on(i) for i in range(loops)]
    pins = [Pin(At(loops + 1 + i), At(i + 1)) for i in range(loops)]
    angles = [math.pi] * (loops + 1) + [math.pi / 2] * loops
    return Mechanism(rockers + couplers, pins=pins), angles, [-1.0] * (loops + 1) + [0.0] * loops


def rockers(pivots: tuple[float, ...]) -> tuple[Mechanism, list[float], list[float]]:
    """Return rockers of 1 m under one rigid coupler of 1.7 m: all but the first two rockers are spare."""
    links = [Link.rod(1.0, 1.0).on(GROUND, (x, 0.0)) for x in pivots]
    coupler = Link.rod(1.7, 2.0).on(0)
    n = len(pivots)
    pins = [Pin(At(n, x), At(i + 1)) for i, x in enumerate(pivots[1:])]
    return Mechanism([*links, coupler], pins=pins), [math.pi] * n + [math.pi / 2], [-1.0] * n + [0.0]


def four_bar(first: float, second: float, third: float, pin: float) -> Mechanism:
    """Return a four-bar of rods of 1 kg/m."""
    return Mechanism([Link.rod(length, length) for length in (first, second, third)], pins=Pin(At(2), (pin, 0.0)))


def referenced(name: str) -> tuple[Mechanism, dict[str, Any]]:
    """Return a mechanism from a file of references, and the file."""
    found = json.loads((REFERENCES / f"{name}.json").read_text())
    bodies = found["model"]["bodies"]
    links: list[Link | Slider] = []
    for body in bodies:
        numbers = {key: float(body.get(key, 0)) for key in ("mass", "com", "offset", "inertia")}
        place = tuple(float(each) for each in body.get("at", (0, 0)))
        parent = body.get("parent", len(links) - 1)
        if body.get("joint") == "slide":
            links.append(Slider(**numbers, direction=float(body["direction"])).on(parent, place))
            continue
        motion = Ramp(float(body["motion"]["offset"]), float(body["motion"]["rate"])) if "motion" in body else None
        links.append(Link(float(body["length"]), **numbers, motion=motion).on(parent, place))
    pins = []
    for pin in found["model"]["pins"]:
        (along, left), other = (float(each) for each in pin["at"]), tuple(float(each) for each in pin["point"])
        pins.append(Pin(At(pin["body"], along, left), other if pin["to"] == GROUND else At(pin["to"], *other)))
    torques = found["model"].get("joint_torque")
    loads = [Gravity(float(found["model"]["g"])), *([JointTorque(tuple(map(float, torques)))] if torques else [])]
    return Mechanism(links, loads, pins), found


def andrews() -> tuple[Mechanism, np.ndarray]:
    """Return Andrews' squeezing mechanism and its start: Hairer and Wanner, Solving Ordinary Differential Equations II, VII.7."""
    a = (-0.06934, -0.00227)

    def link(length: float, mass: float, com: float, inertia: float, offset: float = 0.0) -> Link:
        return Link(length, mass=mass, com=com, inertia=inertia, offset=offset)

    links = [
        link(0.007, 0.04325, 0.00092, 2.194e-6),
        link(0.028, 0.00365, 0.0115, 4.410e-7),
        link(0.035, 0.02373, 0.01874, 5.255e-6, 0.01043).on(GROUND, (-0.03635, 0.03273)),
        link(0.04, 0.07050, 0.02308, 1.169e-5, 0.00916).on(GROUND, a),
        link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7),
        link(0.04, 0.05498, 0.01228, 1.912e-5, -0.00449).on(GROUND, a),
        link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7),
    ]
    loads = [
        Gravity(0.0),
        JointTorque((0.033, *[0.0] * 6)),
        PointSpring(At(2, 0.018, 0.02), (0.014, 0.072), stiffness=4530.0, length=0.07785),
    ]
    start = (
        -0.0617138900142764496358948458001, 0.0, 0.455279819163070380255912382449, 0.222668390165885884674473185609,
        0.487364979543842550225598953530, -0.222668390165885884674473185609, 1.23054744454982119249735015568,
    )  # fmt: skip
    return Mechanism(links, loads, [Pin(At(1), At(i)) for i in (2, 4, 6)]), andrews_angles(np.array(start))


def andrews_angles(published: np.ndarray) -> np.ndarray:
    """Return the absolute angles for beta, Theta, gamma, Phi, delta, Omega, epsilon."""
    beta, theta, gamma, phi, delta, omega, epsilon = published
    quarter = math.pi / 2
    turned = (beta + quarter, beta + theta + 3 * quarter, gamma, delta + quarter, phi + delta, epsilon, omega + epsilon + quarter)
    return np.array(turned)
