"""Torsion springs of joints in space: the energy k psi^2/2 of the twist psi between neighbours about their axes.

The twist is a function of the pose, -pi to pi: beyond half a turn the spring pulls on, round the other way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.mechanics.loads.base import Each, Load, each


@dataclass(frozen=True)
class JointTorsion(Load):
    """Springs against the twist psi = 2 atan2(p_y, p_w) of joints in space, p = conj(q_parent) q: stiffness in N m/rad."""

    name: ClassVar[str] = "joint_torsion"
    label: ClassVar[str] = "torsion springs"
    conservative: ClassVar[bool] = True
    stiffness: Each = each("N m/rad", "Stiffness", "k_t", least=0, slider=(0, 20, 0.1))
