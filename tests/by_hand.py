"""The chain of a varied member, built by hand: torques as a Python function, everything else as public records.

It shares no line with `nlink.ensemble.varied`, which it checks.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from typing import Any

import numpy as np
from helpers import OTHERS, torques_at

from nlink import (
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    Sine,
    Table,
    TipForce,
)

NAMES = (
    "length", "mass", "com", "offset", "inertia", "joint_spring.stiffness", "joint_spring.rest", "joint_damper.damping",
    "link_damper.damping", "joint_torque", "joint_torque.amplitude", "joint_torque.frequency", "joint_torque.phase", "drag.linear",
    "drag.quadratic", "gravity", "tip_force.fx", "tip_force.fy", "follower_force",
    *(f"{kind.name}.{name}" for kind in OTHERS for name in kind.parameters()),
)  # fmt: skip
SINGLE = [f"{kind.name}.{name}" for kind in OTHERS for name, each in kind.parameters().items() if each.single]
WHOLE = ("gravity", "tip_force.fx", "tip_force.fy", "follower_force", *SINGLE)


def by_hand(chain: Chain, vary: dict[str, float]) -> Chain:
    """Return the chain with other values of some parameters, all others as they are."""
    values = values_of(chain)
    for key, value in vary.items():
        name, link = re.fullmatch(r"([a-z_.]+)(?:\[(\d)\])?", key).groups()
        if name in WHOLE:
            values[name] = value
        else:
            values[name][int(link) - 1 if link else slice(None)] = value
    links = [Link(*row) for row in zip(*(values[k].tolist() for k in ("length", "mass", "com", "inertia", "offset")), strict=True)]
    loads = [
        Gravity(values["gravity"]),
        JointSpring(values["joint_spring.stiffness"], values["joint_spring.rest"]),
        JointDamper(values["joint_damper.damping"]),
        LinkDamper(values["link_damper.damping"]),
        Drag(values["drag.linear"], values["drag.quadratic"]),
        TipForce(values["tip_force.fx"], values["tip_force.fy"]),
        FollowerForce(values["follower_force"]),
        *(kind(**{name: values[f"{kind.name}.{name}"] for name in kind.parameters()}) for kind in OTHERS),
    ]
    if chain.load(JointTorque) or any(key.startswith("joint_torque") for key in vary):
        loads.append(JointTorque(_torque(chain, values)))
    return Chain(links, loads, chain.pin)


def _torque(chain: Chain, values: dict[str, Any]) -> Any:
    parts = ("", ".amplitude", ".frequency", ".phase")
    constant, amplitude, frequency, phase = (values[f"joint_torque{part}"] for part in parts)
    others = _each(chain)
    if not callable(others):
        others = [each if isinstance(each, Table) else 0.0 for each in others]
    rest = Chain(chain.links, [JointTorque(others)])
    return lambda t: constant + amplitude * np.sin(2 * math.pi * frequency * t + phase) + torques_at(rest, t)


def _each(chain: Chain) -> Any:
    load = chain.load(JointTorque)
    torque = load.torque if load else 0.0
    return torque if isinstance(torque, tuple) or callable(torque) else (torque,) * chain.n


def values_of(chain: Chain) -> dict[str, Any]:
    """Return all values of a chain by the names that `vary` knows."""
    found: dict[str, Any] = {
        name: np.array([asdict(link)[name] for link in chain.links]) for name in ("length", "mass", "com", "offset", "inertia")
    }
    for name, kind, field in (
        ("joint_spring.stiffness", JointSpring, "stiffness"),
        ("joint_spring.rest", JointSpring, "rest"),
        ("joint_damper.damping", JointDamper, "damping"),
        ("link_damper.damping", LinkDamper, "damping"),
        ("drag.linear", Drag, "linear"),
        ("drag.quadratic", Drag, "quadratic"),
        *((f"{other.name}.{each}", other, each) for other in OTHERS for each in other.parameters()),
    ):
        value = getattr(chain.load(kind), field, 0.0)
        found[name] = value if name in SINGLE else np.broadcast_to(value, chain.n).astype(float)
    tip, follower = chain.load(TipForce), chain.load(FollowerForce)
    found |= {"gravity": chain.g, "tip_force.fx": tip.fx if tip else 0.0, "tip_force.fy": tip.fy if tip else 0.0}
    found["follower_force"] = follower.force if follower else 0.0
    for part in ("", ".amplitude", ".frequency", ".phase"):
        found[f"joint_torque{part}"] = np.zeros(chain.n)
    each = _each(chain)
    for i, torque in enumerate(() if callable(each) else each):
        if isinstance(torque, Sine):
            for part in ("amplitude", "frequency", "phase"):
                found[f"joint_torque.{part}"][i] = getattr(torque, part)
        elif not isinstance(torque, Table):
            found["joint_torque"][i] = torque
    return found
