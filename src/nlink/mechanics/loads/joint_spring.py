"""Joint springs: the torque -k_i (theta_i - theta_{i-1} - rest_i) at joint i, which stores energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.mechanics.loads.base import Each, Law, Load, each


@dataclass(frozen=True)
class JointSpring(Load):
    """Torsional springs at the hinges: stiffness in N m/rad, rest angle between neighbours in rad."""

    name: ClassVar[str] = "joint_spring"
    label: ClassVar[str] = "joint springs"
    law: ClassVar[Law | None] = Law("joint", stiffness="stiffness", origin="rest")
    stiffness: Each = each("N m/rad", "Stiffness", "k", least=0, slider=(0, 20, 0.1))
    rest: Each = each("rad", "Rest angle", "r", 0.0, odd=True, usual=0.0)
