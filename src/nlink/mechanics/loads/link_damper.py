"""Link dampers: the moment -kappa_i omega_i on link i alone, by Rayleigh's function 1/2 sum kappa_i omega_i^2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nlink.mechanics.loads.base import Each, Law, Load, each


@dataclass(frozen=True)
class LinkDamper(Load):
    """Viscous moment on each link's absolute rate: damping in N m s/rad."""

    name: ClassVar[str] = "link_damper"
    label: ClassVar[str] = "link dampers"
    drains: ClassVar[bool] = True
    law: ClassVar[Law | None] = Law("link", damping="damping")
    damping: Each = each("N m s/rad", "Damping", "kappa", least=0, usual=0.1, slider=(0, 2, 0.01))
