"""Bodies in space: links with extent across, hung on a joint.

Body axes are those of the world when the link hangs straight down: the next hinge is at (0, -length, 0). The direction of a link
with the rotation R is e = R (0, -1, 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlink._support.checks import ModelError, listed, number, set_checked, shown
from nlink.mechanics.space.joints import Ball, Joint, Vector, triple

Matrix = tuple[Vector, Vector, Vector]
BALL = Ball()
ROUNDING = 1e-9
"""Part of its largest moment of inertia by which a tensor may miss what a body can have."""


@dataclass(frozen=True)
class Body:
    """A rigid link in space: mass in kg, centre of mass (x, y, z) in m from the upper hinge, tensor of inertia about it in kg m^2,
    three moments or (3, 3), all in body axes; the joint at its upper hinge.

    `section` says how it is drawn, (radius,) or (width, depth): nothing else depends on it.

    >>> Body.cylinder(1.0, 2.0, 0.1).com
    (0.0, -0.5, 0.0)
    """

    length: float
    mass: float
    com: Vector
    inertia: Matrix
    joint: Joint = BALL
    section: tuple[float, ...] = ()
    motion: ClassVar[None] = None

    def __post_init__(self) -> None:
        set_checked(self, number, "length", above=0)
        set_checked(self, number, "mass", least=0)
        set_checked(self, triple, "com")
        set_checked(self, _tensor, "inertia")
        if not isinstance(self.joint, Joint):
            raise ModelError(f"Body.joint must be Ball(), Hinge(axis) or Universal(first, second), got {shown(self.joint)}")
        if not listed(self.section) or len(self.section) > 2:
            raise ModelError(f"Body.section must be (), (radius,) or (width, depth), got {shown(self.section)}")
        section = tuple(number(f"Body.section[{i}]", each, above=0) for i, each in enumerate(self.section))
        object.__setattr__(self, "section", section)

    @classmethod
    def cylinder(cls, length: float, mass: float, radius: float, joint: Joint = BALL) -> Body:
        """Return a uniform cylinder whose axis is the link."""
        length, mass = number("Body.length", length, above=0), number("Body.mass", mass, least=0)
        radius = number("Body.cylinder: radius", radius, above=0)
        across = mass * (3 * radius**2 + length**2) / 12
        return cls(length, mass, (0.0, -length / 2, 0.0), (across, mass * radius**2 / 2, across), joint, (radius,))  # pyright: ignore[reportArgumentType]

    @classmethod
    def box(cls, length: float, mass: float, width: float, depth: float, joint: Joint = BALL) -> Body:
        """Return a uniform box, as wide along x and as deep along z."""
        length, mass = number("Body.length", length, above=0), number("Body.mass", mass, least=0)
        width, depth = number("Body.box: width", width, above=0), number("Body.box: depth", depth, above=0)
        moments = [mass * (a**2 + b**2) / 12 for a, b in ((length, depth), (width, depth), (length, width))]
        return cls(length, mass, (0.0, -length / 2, 0.0), moments, joint, (width, depth))  # pyright: ignore[reportArgumentType]

    @classmethod
    def rod(cls, length: float, mass: float, joint: Joint) -> Body:
        """Return a thin uniform rod on a hinge or a universal joint; on a ball joint it is a Link.rod."""
        length, mass = number("Body.length", length, above=0), number("Body.mass", mass, least=0)
        across = mass * length**2 / 12
        return cls(length, mass, (0.0, -length / 2, 0.0), (across, 0.0, across), joint)  # pyright: ignore[reportArgumentType]

    @property
    def tensor(self) -> np.ndarray:
        """The tensor of inertia about the centre of mass (3, 3)."""
        return np.array(self.inertia)

    @property
    def hinge_tensor(self) -> np.ndarray:
        """The tensor of inertia about the upper hinge (3, 3)."""
        c = np.array(self.com)
        return self.tensor + self.mass * (c @ c * np.eye(3) - np.outer(c, c))


def _tensor(where: str, value: object) -> Matrix:
    """Return a tensor of inertia that a body can have, given by three moments or (3, 3)."""
    rows = tuple(value) if listed(value) else ()
    if len(rows) != 3:
        raise ModelError(f"{where} must be three moments, or 3 x 3 numbers, got {shown(value)}")
    if not any(listed(row) for row in rows):
        a, b, c = triple(where, rows)
        rows = (a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c)
    x, y, z = (triple(f"{where}[{i}]", row) for i, row in enumerate(rows))
    tensor = np.array([x, y, z])
    slack = ROUNDING * max(float(np.abs(tensor).max()), 1e-300)
    if np.abs(tensor - tensor.T).max() > slack:
        raise ModelError(f"{where} must be symmetric, got {shown(value)}")
    tensor = (tensor + tensor.T) / 2
    low, middle, high = np.linalg.eigvalsh(tensor).tolist()
    if low < -slack or low + middle < high - slack:
        raise ModelError(
            f"{where} is one that no body can have: principal moments {low:.4g}, {middle:.4g}, {high:.4g}; "
            "none may be negative, and the largest at most the sum of the others"
        )
    (a, b, c), (d, e, f), (g, h, i) = tensor.tolist()
    return (a, b, c), (d, e, f), (g, h, i)
