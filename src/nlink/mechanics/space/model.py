r"""Chains in space: lines and bodies one below another, from a pivot at the origin.

        y ^                 x right, y up, z to the viewer; gravity along -y; the plane of other chains is z = 0
          |
          o----> x          e          direction of a link, from its upper hinge to its lower end
         /                  omega      its angular velocity in world axes: e' = omega x e
        z                   line       a Link: a thin rod or a point mass, without extent across and without twist
                            body       a Body: any tensor of inertia

Coordinates: of a line its direction (3), of a body on a ball joint a unit quaternion (4), of a hinge an angle, of a universal joint
two angles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from nlink._support.checks import ModelError, choice, number_or_each, set_checked, shown, spread, whole
from nlink.mechanics import kinematics
from nlink.mechanics.chain import MOST_LINKS, Multibody, Shape, bodies, check_lengths, ordered_loads
from nlink.mechanics.links import Link, refuse_singular
from nlink.mechanics.loads import BUILT_IN, SPACE_LOADS, JointSpring, JointTorque, JointTorsion, Load
from nlink.mechanics.space import kinematics as space
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.joints import Ball, Hinge, Joint, Universal
from nlink.mechanics.space.poses import position_of, velocity_of
from nlink.mechanics.space.resistance import weak

KINDS = {kind.name: kind for kind in BUILT_IN} | SPACE_LOADS
NAMES = {3: ".x .y .z", 4: ".w .x .y .z", 1: "", 2: ".1 .2"}
"""What follows the number of a link in the labels of its coordinates, by their count."""


@dataclass(frozen=True, repr=False)
class SpatialChain(Multibody):
    """Links in space, one below another from a pivot at the origin, and the loads on them.

    Links are Link (a line: a thin rod or a point mass on a ball joint) and Body, in any order. `spin` is the angular momentum of a
    rotor in each line, along it, in kg m^2/s. Gravity is 9.81 m/s^2 along -y unless a `Gravity` load says otherwise.

    >>> SpatialChain([Link.rod(1.0, 1.0), Body.cylinder(0.5, 2.0, 0.1)]).labels
    ('1.x', '1.y', '1.z', '2.w', '2.x', '2.y', '2.z')
    """

    spatial: ClassVar[bool] = True
    links: tuple[Link | Body, ...]
    loads: tuple[Load, ...] = ()
    spin: float | tuple[float, ...] = 0.0
    pin: None = field(default=None, init=False, repr=False, compare=False)
    """that of a chain in the plane"""

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "links", bodies("SpatialChain", self.links, (Link, Body), "; for equal links use SpatialChain.uniform(n)")
        )
        object.__setattr__(self, "loads", ordered_loads("SpatialChain", self.loads, KINDS))
        set_checked(self, number_or_each, "spin")
        for i, link in enumerate(self.links):
            self._check_link(i, link)
        self._check_spin()
        for load in self.loads:
            self._check_load(load)
        if self.lines:
            refuse_singular("SpatialChain", [link for link in self.links if isinstance(link, Link)])
        else:
            self._refuse_weak()

    @classmethod
    def uniform(cls, n: int, *, length: float = 1.0, mass: float = 1.0, shape: Shape = "rod", loads: Any = ()) -> SpatialChain:
        """Return n equal lines, with gravity 9.81 unless a Gravity load says otherwise; see Chain.uniform.

        >>> SpatialChain.uniform(3).size
        9
        """
        make = {"rod": Link.rod, "point": Link.point}[choice("SpatialChain.uniform: shape", shape, ("rod", "point"))]
        return cls((make(length, mass),) * whole("SpatialChain.uniform: n", n, most=MOST_LINKS), loads)

    @cached_property
    def is_line(self) -> tuple[bool, ...]:
        """Which links are lines (N)."""
        return tuple(isinstance(link, Link) for link in self.links)

    @property
    def lines(self) -> bool:
        """Whether all links are lines."""
        return all(self.is_line)

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The joint at the upper hinge of each link (N): of lines a ball."""
        return tuple(link.joint if isinstance(link, Body) else Ball() for link in self.links)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where the coordinates of each link stand among all (N)."""
        counts = [
            3 if line else joint.freedom + isinstance(joint, Ball) for line, joint in zip(self.is_line, self.joints, strict=True)
        ]
        ends = np.cumsum(counts).tolist()
        return tuple(slice(end - count, end) for end, count in zip(ends, counts, strict=True))

    @property
    def size(self) -> int:
        """Number K of coordinates."""
        return self.places[-1].stop

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the coordinates (K): "1.x", "1.y", "1.z" of a line, "2.w", ... of a body, "3" of a hinge, "4.1", "4.2"."""
        counts = [place.stop - place.start for place in self.places]
        return tuple(f"{i}{name}" for i, count in enumerate(counts, 1) for name in NAMES[count].split() or ("",))

    @cached_property
    def turning(self) -> np.ndarray:
        """Which coordinates are angles (K,): those of hinges and universal joints."""
        turning = np.zeros(self.size, bool)
        for place, joint in zip(self.places, self.joints, strict=True):
            turning[place] = not isinstance(joint, Ball)
        return turning

    def start(self, pose: object, omega: object = None) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and rates (K,) of a pose and of angular velocities, as `poses` says; rates not given are zero.

        >>> SpatialChain.uniform(1).start((0.0,), [(0.0, 0.0, 2.0)])[1].round(3).tolist()
        [2.0, 0.0, -0.0]
        """
        position = position_of(self, pose)
        return position, velocity_of(self, position, 0.0 if omega is None else omega)

    @cached_property
    def com(self) -> np.ndarray:
        """Distances (N,) of the centres of mass along the links, in m."""
        return -self.centre[:, 1]

    @cached_property
    def offset(self) -> np.ndarray:
        """Distances (N,) of the centres of mass along x of the body axes, in m."""
        return self.centre[:, 0]

    @cached_property
    def inertia(self) -> np.ndarray:
        """Moments of inertia (N,) about z of the body axes through the centres of mass, in kg m^2."""
        return self.tensor[:, 2, 2]

    @cached_property
    def centre(self) -> np.ndarray:
        """Centres of mass (N, 3) in body axes from the upper hinge, in m."""
        return np.array([link.com if isinstance(link, Body) else (0.0, -link.com, 0.0) for link in self.links])

    @cached_property
    def tensor(self) -> np.ndarray:
        """Tensors of inertia (N, 3, 3) about the centres of mass, in body axes; a line has no moment about itself."""
        return np.array(
            [link.tensor if isinstance(link, Body) else np.diag([link.inertia, 0.0, link.inertia]) for link in self.links]
        )

    @cached_property
    def momenta(self) -> np.ndarray:
        """The angular momenta (N,) of the rotors in the lines, in kg m^2/s."""
        return np.broadcast_to(np.asarray(self.spin, float), (self.n,)).copy()

    def _check_link(self, i: int, link: Link | Body) -> None:
        where = f"SpatialChain.links[{i}]"
        if isinstance(link, Link):
            if not link.hangs_in_line:
                raise ModelError(f"{where} has a parent, a place on it or a motion; a chain takes none")
            if link.offset:
                raise ModelError(f"{where}.offset must be 0, got {link.offset:g}: a Link in space is a line; use Body")
            return
        if isinstance(link.joint, Hinge | Universal) and i and self.is_line[i - 1]:
            kind = type(link.joint).__name__
            raise ModelError(f"{where} is on a {kind} below a line, which has no twist; make links[{i - 1}] a Body")
        if isinstance(link.joint, Ball):
            self._check_ball(where, link)

    def _check_ball(self, where: str, link: Body) -> None:
        moments = np.linalg.eigvalsh(link.hinge_tensor)
        if moments[0] <= 1e-12 * moments[2]:
            raise ModelError(
                f"{where} has no inertia about an axis through its ball joint: a rod has no spin; use Link.rod, or give it a radius"
            )

    def _check_spin(self) -> None:
        spins = spread("SpatialChain.spin", self.spin, self.n, "links")
        for i, (spin, line) in enumerate(zip(spins, self.is_line, strict=True)):
            if spin and not line and isinstance(self.spin, tuple):
                raise ModelError(f"SpatialChain.spin[{i}] must be 0: links[{i}] is a Body, whose spin is part of its motion")
        if any(spins) and not any(self.is_line):
            raise ModelError("SpatialChain.spin must be 0: no link is a line; give a Body its spin by omega")
        if not isinstance(self.spin, tuple) and self.spin and not self.lines:
            object.__setattr__(self, "spin", tuple(self.spin * line for line in self.is_line))

    def _refuse_weak(self) -> None:
        """Refuse a chain whose mass matrix is singular."""
        i = weak(self)
        if i is None:
            return
        joint = self.joints[i]
        about = "its joint" if isinstance(joint, Ball) else "an axis of its joint" if isinstance(joint, Universal) else "its hinge"
        raise ModelError(
            f"SpatialChain.links[{i}] makes the mass matrix singular: nothing with mass resists a turn about {about}; "
            "give it an inertia there, or a mass away from it"
        )

    def _check_load(self, load: Load) -> None:
        check_lengths(load, self.n)
        link = getattr(load, "link", None)
        if link not in (None, self.n - 1):
            raise ModelError(f"{load.name}: link must be the last link of a chain, {self.n - 1}, got {shown(link)}")
        if isinstance(load, JointSpring) and np.any(load.rest):
            raise ModelError("JointSpring.rest must be 0 in space: a bending spring is straight at rest")
        if isinstance(load, JointTorsion):
            self._check_torsion(load)
        if isinstance(load, JointTorque):
            self._check_torque(load)

    def _check_torsion(self, load: JointTorsion) -> None:
        for i, stiffness in enumerate(spread("JointTorsion.stiffness", load.stiffness, self.n, "links")):
            line = i if self.is_line[i] else i - 1 if i and self.is_line[i - 1] else None
            if stiffness and line is not None:
                raise ModelError(f"JointTorsion.stiffness[{i}] must be 0: links[{line}] is a line, which has no twist; use Body")

    def _check_torque(self, load: JointTorque) -> None:
        if load.function:
            raise ModelError("JointTorque takes no function in space; give a number, Sine or Table")
        parts = JointTorque.values(load, self.n)
        acts = np.abs(parts["constant"]) + np.abs(parts["amplitude"]) > 0
        for i, (part, joint) in enumerate(
            zip(load.torque if isinstance(load.torque, tuple) else (load.torque,) * self.n, self.joints, strict=True)
        ):
            if (acts[i] or not isinstance(part, float)) and not isinstance(joint, Hinge):
                raise ModelError(f"JointTorque.torque[{i}] must be 0: links[{i}] is not on a Hinge; torques act about hinges only")


for _name in (
    "hinges", "hinge_velocities", "points", "centres", "centre_velocities", "centre_accelerations", "energies", "kinetic_energy",
    "potential_energy", "spring_energy", "angular_momentum",
):  # fmt: skip
    getattr(kinematics, _name).register(SpatialChain, getattr(space, _name))
kinematics.along.register(SpatialChain, space.directions)
