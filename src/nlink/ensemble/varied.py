"""Parameters that vary over the members of an ensemble: their names, and where their values go among the numbers of a chain."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from typing import Any

import numpy as np

from nlink import kernels
from nlink._check import ModelError
from nlink.chain import Chain, Link
from nlink.ensemble.noting import TIP, G
from nlink.loads import (
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    LinkDamper,
    Sine,
    TipForce,
)

LINKS = {"length": kernels.LENGTH, "mass": kernels.MASS, "com": kernels.COM, "offset": kernels.OFFSET, "inertia": kernels.INERTIA}
JOINTS = {
    "joint_spring.stiffness": kernels.STIFFNESS,
    "joint_spring.rest": kernels.REST,
    "joint_damper.damping": kernels.JOINT_DAMPING,
    "link_damper.damping": kernels.LINK_DAMPING,
    "joint_torque": kernels.TORQUE,
    "joint_torque.amplitude": kernels.AMPLITUDE,
    "joint_torque.frequency": kernels.FREQUENCY,
    "joint_torque.phase": kernels.PHASE,
    "drag.linear": kernels.LINEAR_DRAG,
    "drag.quadratic": kernels.QUADRATIC_DRAG,
}
WHOLE = {"gravity": (G, 0), "tip_force.fx": (TIP, 0), "tip_force.fy": (TIP, 1), "follower_force": (TIP, 2)}
TIMED = ("joint_torque.amplitude", "joint_torque.frequency", "joint_torque.phase")
SWEPT = ("drag.linear", "drag.quadratic", "tip_force.fx", "tip_force.fy", "follower_force")
NOT_NEGATIVE = ("length", "mass", "inertia", "joint_spring.stiffness", "joint_damper.damping", "link_damper.damping", *SWEPT[:2])


class Varied:
    """Names and values (members, K) of what varies."""

    def __init__(self, chain: Chain, vary: Any, members: int) -> None:
        self.names: list[str] = []
        places, values = [], []
        for key, given in dict(vary or {}).items():
            name, where = _places(str(key), chain.n)
            column = _values(name, given, members)
            self.names.append(name)
            for place in where:
                places.append(place)
                values.append(column * (2 * np.pi if name == "joint_torque.frequency" else 1.0))
        self.places = np.array(places, np.int64).reshape(-1, 2)
        self.values = np.stack(values, axis=1) if values else np.zeros((members, 0))
        self._inertia(chain)

    def _inertia(self, chain: Chain) -> None:
        """Add the inertia about the hinge wherever a part of it varies."""
        rows = (kernels.MASS, kernels.COM, kernels.OFFSET, kernels.INERTIA)
        moved = sorted({int(i) for row, i in self.places if row in rows})
        for i in moved:
            link = chain.links[i]
            parts: dict[int, Any] = dict(zip(rows, (link.mass, link.com, link.offset, link.inertia), strict=True))
            for k, (row, at) in enumerate(self.places[: self.values.shape[1]]):
                if at == i and row in parts:
                    parts[row] = self.values[:, k]
            mass, com, offset, inertia = parts.values()
            column = np.broadcast_to(inertia + mass * (com * com + offset * offset), len(self.values))
            self.places = np.concatenate([self.places, [[kernels.HINGE_INERTIA, i]]])
            self.values = np.concatenate([self.values, column[:, None]], axis=1)

    def flagged(self, numbers: kernels.ChainParameters) -> kernels.ChainParameters:
        """Return the chain's numbers with the flags that what varies needs."""
        loads = [name for name in self.names if name not in LINKS and name != "gravity"]
        return numbers._replace(
            loaded=numbers.loaded or bool(loads),
            timed=numbers.timed or any(name in TIMED for name in loads),
            swept=max(numbers.swept, int(any(name in SWEPT for name in loads))),
            ledger=kernels.POWERS if numbers.ledger or any(name.split(".")[0] != "joint_spring" for name in loads) else 0,
        )

    def own(self, numbers: kernels.ChainParameters, member: int) -> kernels.ChainParameters:
        """Return the numbers of one member's chain."""
        links, tip, g = numbers.links.copy(), numbers.tip.copy(), numbers.g
        for (row, i), value in zip(self.places, self.values[member], strict=True):
            if row == G:
                g = float(value)
            elif row == TIP:
                tip[i] = value
            else:
                links[row, i] = value
        return numbers._replace(links=links, tip=tip, g=g)

    def chain(self, base: Chain, numbers: kernels.ChainParameters, member: int) -> Chain:
        """Return the chain of one member."""
        if not self.names:
            return base
        own = self.own(numbers, member)
        return _chain(base, own.links, own.tip, own.g, self.names)


def _chain(base: Chain, rows: np.ndarray, tip: np.ndarray, g: float, names: list[str]) -> Chain:
    def each(*which: int) -> list[Any]:
        return [tuple(rows[row].tolist()) for row in which]

    links = [Link(*values) for values in zip(*each(0, 1, 2, 4, 3), strict=True)]
    changed: dict[str, Any] = {
        "joint_spring": lambda: JointSpring(*each(kernels.STIFFNESS, kernels.REST)),
        "joint_damper": lambda: JointDamper(*each(kernels.JOINT_DAMPING)),
        "link_damper": lambda: LinkDamper(*each(kernels.LINK_DAMPING)),
        "joint_torque": lambda: _torques(rows, names),
        "drag": lambda: Drag(*each(kernels.LINEAR_DRAG, kernels.QUADRATIC_DRAG)),
        "tip_force": lambda: TipForce(float(tip[0]), float(tip[1])),
        "follower_force": lambda: FollowerForce(float(tip[2])),
        "gravity": lambda: Gravity(g),
    }
    loads = [changed[name]() for name in dict.fromkeys(name.split(".")[0] for name in names if name not in LINKS)]
    return replace(base, links=tuple(links)).with_loads(*loads)


def _torques(rows: np.ndarray, names: list[str]) -> JointTorque:
    if any(name in TIMED for name in names):
        sines = zip(*(rows[row].tolist() for row in (kernels.AMPLITUDE, kernels.FREQUENCY, kernels.PHASE)), strict=True)
        return JointTorque(tuple(Sine(a, f / (2 * np.pi), phase) for a, f, phase in sines))
    return JointTorque(tuple(rows[kernels.TORQUE].tolist()))


def _places(key: str, n: int) -> tuple[str, list[tuple[int, int]]]:
    """Return the name of a parameter, and where its value goes: to one link (from 1), like mass[2], or to all."""
    found = re.fullmatch(r"(?:loads\.)?([a-z_.]+)(?:\[(\d+)\])?", key.strip())
    name = found.group(1) if found else key
    known = {**LINKS, **JOINTS, **WHOLE}
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; choose from {', '.join(known)}"
        raise ModelError(f"vary does not know {key!r}{hint}")
    if name in WHOLE:
        return name, [WHOLE[name]]
    link = found.group(2) if found else None
    if link is not None and not 1 <= int(link) <= n:
        raise ModelError(f"vary {key!r}: links count from 1 to {n}, got {link}")
    return name, [(known[name], i) for i in (range(n) if link is None else [int(link) - 1])]


def _values(name: str, given: Any, members: int) -> np.ndarray:
    values = np.asarray(given, float)
    if values.shape != (members,):
        raise ModelError(f"vary {name!r} must give a value for each of the {members} members, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ModelError(f"vary {name!r} must be finite, got {values[~np.isfinite(values)][0]}")
    if name in NOT_NEGATIVE and values.min(initial=0.0) < 0:
        raise ModelError(f"vary {name!r} must not be negative, got {values.min():g}")
    return values
