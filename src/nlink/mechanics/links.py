"""The links of chains and mechanisms, and where they hang; `chain` has the sign convention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from nlink._support.checks import ModelError, listed, number, number_or_each, set_checked, shown, whole
from nlink.mechanics.loads.base import each, parameters_of
from nlink.mechanics.motions import Motion, motion_of
from nlink.mechanics.points import GROUND


class Jointed:
    """Where a body of a mechanism hangs, and how it moves: `parent` counted from 0, GROUND, or the one before if not given; `at`
    along the parent's axis, or (along, left), its tip if not given, (x, y) on the ground; `motion` prescribes its coordinate.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    parent: int | None
    at: float | tuple[float, float] | None
    motion: Motion | None

    def on(self, parent: int, at: float | Sequence[float] | None = None) -> Self:
        """Return the body hung on another one, or on GROUND: at its tip, so far along it, or at (along, left); at (x, y).

        >>> Link.rod(1.0, 1.0).on(0, 0.4).at
        0.4
        """
        return replace(self, parent=parent, at=at)

    def with_motion(self, *motion: Any) -> Self:
        """Return the body with a prescribed motion, the sum of these terms: its angle in rad, a slider's displacement in m."""
        return replace(self, motion=motion[0] if len(motion) == 1 else motion)

    @property
    def hangs_in_line(self) -> bool:
        """Whether nothing is said of a parent, a place on it or a motion: a link of a chain."""
        return self.parent is None and self.at is None and self.motion is None

    def check_joint(self) -> None:
        """Check parent, place and motion."""
        name = type(self).__name__
        if listed(self.parent):
            said = f"{name}.parent must be one body, got {shown(self.parent)}"
            raise ModelError(f"{said}; a body hangs on one parent: hold it at another by a Pin, in model files [[pins]]")
        set_checked(self, whole, "parent", least=GROUND, optional=True)
        if self.at is not None:
            at = number_or_each(f"{name}.at", self.at)
            if isinstance(at, tuple) and len(at) != 2:
                raise ModelError(f"{name}.at must be a distance along the parent, or (along, left), got {shown(self.at)}")
            object.__setattr__(self, "at", at)
        if self.motion is not None:
            terms = motion_of(f"{name}.motion", self.motion)
            object.__setattr__(self, "motion", terms if len(terms) != 1 else terms[0])

    def __repr__(self) -> str:
        """Return the call that makes it, without what is not said of its joint."""
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        unsaid = ("parent", "at", "motion")
        parts = (f"{name}={value!r}" for name, value in said.items() if value is not None or name not in unsaid)
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, repr=False)
class Link(Jointed):
    """One rigid link: length, mass, centre of mass (`com` along, `offset` to the left), inertia about it.

    What it hangs on in a Mechanism: `Jointed`.

    >>> Link.rod(1.0, 2.0)
    Link(length=1.0, mass=2.0, com=0.5, inertia=0.16666666666666666, offset=0.0)
    """

    length: float = each("m", "Length", "l", above=0)
    mass: float = each("kg", "Mass", "m", least=0)
    com: float = each("m", "Centre of mass", "d")
    inertia: float = each("kg m^2", "Inertia", "I", least=0)
    offset: float = each("m", "Off the axis", "b", 0.0, odd=True)
    parent: int | None = None
    at: float | tuple[float, float] | None = None
    motion: Motion | None = None

    def __post_init__(self) -> None:
        for name, parameter in LINK.items():
            set_checked(self, number, name, least=parameter.least, above=parameter.above)
        self.check_joint()

    @classmethod
    def rod(cls, length: float, mass: float) -> Link:
        """Return a uniform rod: centre of mass in the middle, inertia m l^2/12."""
        length, mass = number("Link.length", length, above=0), number("Link.mass", mass, least=0)
        return cls(length, mass, length / 2, mass * length**2 / 12)

    @classmethod
    def point(cls, length: float, mass: float) -> Link:
        """Return a massless link with a point mass at its end."""
        return cls(length, mass, length, 0.0)

    @property
    def hinge_inertia(self) -> float:
        """Moment of inertia about the upper hinge."""
        return self.inertia + self.mass * (self.com**2 + self.offset**2)


LINK = parameters_of(Link)


def refuse_singular(where: str, links: Sequence[Link]) -> None:
    """Refuse a chain whose mass matrix is singular in some configuration.

    Link i has a solvable acceleration if it resists turning about its upper hinge, or if what hangs on its lower end
    resists every motion of that end ("solid"), in whatever configuration. Walking inwards from the tip:
    """
    solid = False
    for i in reversed(range(len(links))):
        link = links[i]
        if link.hinge_inertia == 0 and not solid:
            rest = "nothing behind it" if i == len(links) - 1 else "what hangs on it can swing without moving a mass"
            raise ModelError(
                f"{where}.links[{i}] makes the mass matrix singular: it has no inertia about its upper hinge and {rest}; "
                f"give it a mass away from the hinge or an inertia (mass {link.mass:g}, inertia {link.inertia:g})"
            )
        if link.inertia > 0:
            solid = solid or link.mass > 0
        elif link.mass == 0 or (link.com == link.length and link.offset == 0):
            solid = False
        elif link.com == 0 and link.offset == 0:
            solid = True
