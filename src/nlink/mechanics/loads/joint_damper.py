"""Joint dampers: the torque -c_i (omega_i - omega_{i-1}) at joint i."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.mechanics.loads.base import Each, Law, Load, each


@dataclass(frozen=True)
class JointDamper(Load):
    """Viscous friction at the hinges, on the relative rate: damping in N m s/rad."""

    name: ClassVar[str] = "joint_damper"
    label: ClassVar[str] = "joint dampers"
    drains: ClassVar[bool] = True
    law: ClassVar[Law | None] = Law("joint", damping="damping")
    damping: Each = each("N m s/rad", "Damping", "c", least=0, usual=0.1, slider=(0, 2, 0.01))
