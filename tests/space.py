"""Random chains in space, and an independent mechanics of them: Newton and Euler link by link, dense, with the forces of the hinges
and the moments of the joints as unknowns; loads written out again in NumPy and SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from helpers import TOLERANCE
from hypothesis import strategies as st
from scipy.linalg import lstsq
from scipy.spatial.transform import Rotation

from nlink import (
    Ball,
    Body,
    Drag,
    FollowerForce,
    Gravity,
    Hinge,
    JointDamper,
    JointSpring,
    JointTorque,
    JointTorsion,
    Link,
    LinkDamper,
    Sine,
    SpatialChain,
    TipForce,
    Universal,
    formulate,
)
from nlink.mechanics import kinematics
from nlink.mechanics.space.kinematics import turns

DOWN = np.array([0.0, -1.0, 0.0])


def cross(v: np.ndarray) -> np.ndarray:
    """Return the matrix of v x."""
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


@dataclass
class Newton:
    """A chain at coordinates and rates (K,) and a time."""

    chain: SpatialChain
    position: np.ndarray
    velocity: np.ndarray
    t: float = 0.0

    def __post_init__(self) -> None:
        chain, n = self.chain, self.chain.n
        self.e, self.omega = np.empty((n, 3)), np.empty((n, 3))
        self.turned: list[Rotation | None] = []
        self.axes: list[np.ndarray | None] = []
        self.sigma = np.zeros((n, 3))
        for i, link in enumerate(chain.links):
            c, v = self.position[chain.places[i]], self.velocity[chain.places[i]]
            above = self.turned[-1] if i else Rotation.identity()
            before = self.omega[i - 1] if i else np.zeros(3)
            if isinstance(link, Link):
                self.e[i], self.omega[i] = c, np.cross(c, v)
                self.turned.append(None)
                self.axes.append(None)
            elif isinstance(link.joint, Ball):
                w, x, y, z = c
                self.turned.append(Rotation.from_quat([x, y, z, w]))
                rate = np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])  # omega = 2 (G) q'
                self.omega[i] = 2 * rate @ v
                self.e[i] = self.turned[-1].apply(DOWN)
                self.axes.append(None)
            else:
                assert above is not None
                axes = [np.array(axis) for axis in link.joint.axes]
                world, turned, omega = [], above, before
                for axis, angle, speed in zip(axes, c, v, strict=True):
                    s = turned.apply(axis)
                    self.sigma[i] += np.cross(omega, s) * speed
                    omega, turned = omega + s * speed, turned * Rotation.from_rotvec(angle * axis)
                    world.append(s)
                self.turned.append(turned)
                self.omega[i], self.e[i] = omega, turned.apply(DOWN)
                self.axes.append(np.array(world).T)

    @cached_property
    def centre(self) -> np.ndarray:
        """Centres of mass from the upper hinges, in world axes."""
        return np.array(
            [
                link.com * self.e[i] if isinstance(link, Link) else self.turned[i].apply(link.com)
                for i, link in enumerate(self.chain.links)
            ]
        )

    @cached_property
    def tensor(self) -> np.ndarray:
        """Tensors of inertia in world axes."""
        found = []
        for i, link in enumerate(self.chain.links):
            if isinstance(link, Link):
                found.append(link.inertia * (np.eye(3) - np.outer(self.e[i], self.e[i])))
            else:
                R = self.turned[i].as_matrix()
                found.append(R @ np.array(link.inertia) @ R.T)
        return np.array(found)

    @cached_property
    def speeds(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities of the hinges (N+1, 3) and of the centres of mass."""
        hinge = np.zeros((self.chain.n + 1, 3))
        for i, link in enumerate(self.chain.links):
            hinge[i + 1] = hinge[i] + link.length * np.cross(self.omega[i], self.e[i])
        return hinge, hinge[:-1] + np.cross(self.omega, self.centre)

    @cached_property
    def whole(self) -> np.ndarray:
        """Angular velocities with the turns of lines about themselves that minimise what the dampers waste."""
        chain, n = self.chain, self.chain.n
        c, kappa = chain.each(JointDamper, "damping"), chain.each(LinkDamper, "damping")
        lines = [i for i in range(n) if isinstance(chain.links[i], Link)]
        if not lines or not c.any():
            return self.omega
        rows, right = [], []
        for i in range(n):  # sqrt(c) (W_i - W_{i-1}) and sqrt(kappa) W_i, least squares
            for weight, other in ((c[i], i - 1), (kappa[i], -1)):
                block = np.zeros((3, len(lines)))
                rest = self.omega[i] - (self.omega[other] if other >= 0 else 0.0)
                if i in lines:
                    block[:, lines.index(i)] = self.e[i]
                if other >= 0 and other in lines:
                    block[:, lines.index(other)] -= self.e[other]
                rows.append(np.sqrt(weight) * block)
                right.append(-np.sqrt(weight) * rest)
        spins = np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0]
        found = self.omega.copy()
        for k, i in enumerate(lines):
            found[i] += spins[k] * self.e[i]
        return found

    def loads(self) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
        """Return force at and moment about each centre of mass (N, 3), and the power by the name of the load."""
        chain, n = self.chain, self.chain.n
        hinge, centre = self.speeds
        powers: dict[str, float] = {}
        F, N = np.zeros((n, 3)), np.zeros((n, 3))
        F[:, 1] -= chain.mass * chain.g
        drag = chain.load(Drag)
        if drag:
            factor = chain.each(Drag, "linear") + chain.each(Drag, "quadratic") * np.linalg.norm(centre, axis=1)
            F -= factor[:, None] * centre
            powers["drag"] = -float((factor * (centre**2).sum(1)).sum())
        for kind in (TipForce, FollowerForce):
            load = chain.load(kind)
            if load:
                force = np.array([load.fx, load.fy, load.fz or 0.0]) if kind is TipForce else -load.force * self.e[-1]
                F[-1] += force
                N[-1] += np.cross(chain.length[-1] * self.e[-1] - self.centre[-1], force)
                powers[load.name] = float(force @ hinge[-1])
        W = self.whole
        for load, moment in (
            (JointDamper, self._between(lambda i: -chain.each(JointDamper, "damping")[i] * self._relative(W, i))),
            (JointSpring, self._between(self._bending)),
            (JointTorsion, self._between(self._torsion)),
            (LinkDamper, -chain.each(LinkDamper, "damping")[:, None] * W),
        ):
            if chain.load(load):
                N += moment
                if load in (JointDamper, LinkDamper):
                    powers[load.name] = float((moment * W).sum())
        N -= chain.momenta[:, None] * np.cross(self.omega, self.e)
        return F, N, powers

    def _between(self, moment) -> np.ndarray:
        out = np.zeros((self.chain.n, 3))
        for i in range(self.chain.n):
            m = moment(i)
            out[i] += m
            if i:
                out[i - 1] -= m
        return out

    def _relative(self, W: np.ndarray, i: int) -> np.ndarray:
        return W[i] - (W[i - 1] if i else 0.0)

    def _bending(self, i: int) -> np.ndarray:
        p = self.e[i - 1] if i else DOWN
        x = np.cross(p, self.e[i])
        size = np.linalg.norm(x)
        beta = np.arctan2(size, p @ self.e[i])
        k = self.chain.each(JointSpring, "stiffness")[i]
        return -k * beta * x / size if size > 1e-9 else -k * x

    def twist(self, i: int) -> float:
        above = self.turned[i - 1] if i else Rotation.identity()
        p = above.inv() * self.turned[i]
        _, y, _, w = p.as_quat()
        return 2 * np.arctan2(y, w) if w >= 0 else 2 * np.arctan2(-y, -w)

    def _torsion(self, i: int) -> np.ndarray:
        k = self.chain.each(JointTorsion, "stiffness")[i]
        if not k:
            return np.zeros(3)
        a, b = -(self.e[i - 1] if i else DOWN), -self.e[i]
        return -k * self.twist(i) * (a + b) / (1 + a @ b)

    def torque(self, i: int) -> float:
        """Return the driving torque of joint i."""
        load = self.chain.load(JointTorque)
        torque = (load.torque if isinstance(load.torque, tuple) else (load.torque,) * self.chain.n)[i] if load else 0.0
        if isinstance(torque, Sine):
            return torque.amplitude * np.sin(2 * np.pi * torque.frequency * self.t + torque.phase) + torque.offset
        return float(torque)

    def energy(self) -> float:
        chain = self.chain
        _, speed = self.speeds
        kinetic = 0.5 * (chain.mass * (speed**2).sum(1)).sum() + 0.5 * np.einsum("ni,nij,nj", self.omega, self.tensor, self.omega)
        hinge = np.vstack([np.zeros(3), np.cumsum(chain.length[:, None] * self.e, 0)])
        potential = chain.g * (chain.mass * (hinge[:-1] + self.centre)[:, 1]).sum()
        for i in range(chain.n):
            p = self.e[i - 1] if i else DOWN
            beta = np.arctan2(np.linalg.norm(np.cross(p, self.e[i])), p @ self.e[i])
            potential += 0.5 * chain.each(JointSpring, "stiffness")[i] * beta**2
            if chain.each(JointTorsion, "stiffness")[i]:
                potential += 0.5 * chain.each(JointTorsion, "stiffness")[i] * self.twist(i) ** 2
        return float(kinetic + potential)

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return angular accelerations (N, 3) in world axes, and the forces at the upper hinges (N, 3)."""
        chain, n = self.chain, self.chain.n
        F, N, _ = self.loads()
        A, b, row = np.zeros((16 * n, 12 * n)), np.zeros(16 * n), 0
        part = lambda kind, i: slice(3 * (kind * n + i), 3 * (kind * n + i) + 3)  # noqa: E731  a_G, alpha, force, moment
        for i in range(n):
            c, w, low = self.centre[i], self.omega[i], chain.length[i] * self.e[i] - self.centre[i]
            line = isinstance(chain.links[i], Link)
            P = np.eye(3) - np.outer(self.e[i], self.e[i]) if line else np.eye(3)
            A[row : row + 3, part(0, i)] = chain.mass[i] * np.eye(3)
            A[row : row + 3, part(2, i)] = -np.eye(3)
            b[row : row + 3] = F[i]
            A[row + 3 : row + 6, part(1, i)] = self.tensor[i]
            A[row + 3 : row + 6, part(2, i)] = P @ cross(c)
            A[row + 3 : row + 6, part(3, i)] = -P
            b[row + 3 : row + 6] = P @ (N[i] - np.cross(w, self.tensor[i] @ w))
            if i + 1 < n:
                A[row : row + 3, part(2, i + 1)] = np.eye(3)
                A[row + 3 : row + 6, part(2, i + 1)] = P @ cross(low)
                A[row + 3 : row + 6, part(3, i + 1)] = P
            row += 6
            A[row : row + 3, part(0, i)] = np.eye(3)
            A[row : row + 3, part(1, i)] = cross(c)
            b[row : row + 3] = np.cross(w, np.cross(w, c))
            if i:
                low, w = chain.length[i - 1] * self.e[i - 1] - self.centre[i - 1], self.omega[i - 1]
                A[row : row + 3, part(0, i - 1)] = -np.eye(3)
                A[row : row + 3, part(1, i - 1)] = cross(low)
                b[row : row + 3] += np.cross(w, np.cross(w, low))
            row += 3
            if line:
                A[row, part(1, i)] = self.e[i]
                row += 1
            S = self.axes[i]
            if S is None:
                A[row : row + 3, part(3, i)] = np.eye(3)
                row += 3
                continue
            across = np.eye(3) - S @ np.linalg.pinv(S)
            A[row : row + 3, part(1, i)] = across
            if i:
                A[row : row + 3, part(1, i - 1)] = -across
            b[row : row + 3] = across @ self.sigma[i]
            row += 3
            count = S.shape[1]
            A[row : row + count, part(3, i)] = S.T
            b[row : row + count] = self.torque(i) if count == 1 else 0.0
            row += count
        x = lstsq(A[:row], b[:row], cond=1e-13, lapack_driver="gelsy")[0]
        return x[3 * n : 6 * n].reshape(n, 3), x[6 * n : 9 * n].reshape(n, 3)


def random_lines(n: int, rng: np.random.Generator) -> tuple[Link, ...]:
    """Return unequal rods, point masses, massless lines with inertia, and lines with any centre of mass on them."""
    found = []
    for i in range(n):
        length, mass = rng.uniform(0.4, 2.0), rng.uniform(0.3, 2.0)
        kind = rng.integers(4)
        if kind == 0:
            found.append(Link.rod(length, mass))
        elif kind == 1:
            found.append(Link.point(length, mass))
        elif kind == 2 and i < n - 1:
            found.append(Link(length, 0.0, 0.5 * length, rng.uniform(0.05, 0.5)))
        else:
            found.append(Link(length, mass, length * rng.uniform(-0.3, 1.3), rng.uniform(0.01, 0.5)))
    return tuple(found)


def random_tensor(rng: np.random.Generator) -> np.ndarray:
    """Return a tensor of inertia of a random cloud of masses."""
    x = rng.normal(size=(6, 3)) * rng.uniform(0.05, 0.4, 3)
    return (x**2).sum() * np.eye(3) - x.T @ x


def random_body(rng: np.random.Generator, joint: Ball | Hinge | Universal | None = None) -> Body:
    """Return a body on this joint, or on a ball."""
    length = rng.uniform(0.3, 1.2)
    com = rng.normal(size=3) * 0.15 + [0, -length / 2, 0]
    return Body(length, rng.uniform(0.3, 2.0), tuple(com), random_tensor(rng), joint or Ball())


def random_joint(rng: np.random.Generator) -> Ball | Hinge | Universal:
    kind = rng.integers(3)
    if kind == 0:
        return Ball()
    return Hinge(rng.normal(size=3)) if kind == 1 else Universal(rng.normal(size=3), rng.normal(size=3))


def random_links(n: int, rng: np.random.Generator, joints: bool) -> tuple[Link | Body, ...]:
    """Return lines and bodies mixed; on any joints, or on balls alone."""
    found: list[Link | Body] = []
    for _ in range(n):
        below_line = bool(found) and isinstance(found[-1], Link)
        if rng.random() < 0.35:
            found.append(Link.rod(rng.uniform(0.4, 1.5), rng.uniform(0.3, 2.0)))
        else:
            found.append(random_body(rng, None if below_line or not joints else random_joint(rng)))
    return tuple(found)


def random_loads(chain: SpatialChain, rng: np.random.Generator) -> SpatialChain:
    """Return the chain with every load that it takes."""
    n = chain.n
    each = lambda high: tuple(rng.uniform(0, high, n))  # noqa: E731
    loads = [
        Gravity(rng.uniform(0, 12)), JointSpring(each(5.0)), JointDamper(each(0.5)), LinkDamper(each(0.4)),
        Drag(each(0.5), each(0.3)), FollowerForce(rng.uniform(-5, 5)), TipForce(*rng.uniform(-5, 5, 2), fz=rng.uniform(-5, 5)),
    ]  # fmt: skip
    line = [isinstance(link, Link) for link in chain.links]
    twisting = [not line[i] and not (i and line[i - 1]) for i in range(n)]
    if any(twisting):
        loads.append(JointTorsion(tuple(rng.uniform(0, 3) * own for own in twisting)))
    hinged = [isinstance(joint, Hinge) for joint in chain.joints]
    if any(hinged):
        loads.append(JointTorque([Sine(*rng.uniform(0, 2, 3)) if own and rng.random() < 0.5 else 2.0 * own for own in hinged]))
    spin = tuple(rng.normal() * own for own in line)
    return SpatialChain(chain.links, loads, spin)


def random_state(chain: SpatialChain, rng: np.random.Generator, speed: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates and rates (K,), on their spheres."""
    c, v = rng.normal(size=chain.size), speed * rng.normal(size=chain.size)
    for place in chain.places:
        if place.stop - place.start > 2:
            c[place] /= np.linalg.norm(c[place])
            v[place] -= (c[place] @ v[place]) * c[place]
    return c, v


seeds = st.integers(0, 10**6)


def lines_case(n: int, seed: int, loaded: bool = True) -> tuple[SpatialChain, np.ndarray, np.ndarray]:
    """Return a random chain of lines with every load, and a state."""
    rng = np.random.default_rng(seed)
    chain = SpatialChain(random_lines(n, rng))
    chain = random_loads(chain, rng) if loaded else chain
    return chain, *random_state(chain, rng)


def bodies_case(n: int, seed: int, joints: bool) -> tuple[SpatialChain, np.ndarray, np.ndarray]:
    """Return a random chain of lines and bodies with every load, and a state."""
    rng = np.random.default_rng(seed)
    chain = random_loads(SpatialChain(random_links(n, rng, joints)), rng)
    return chain, *random_state(chain, rng)


def rates_of(chain, c, v, formulation="recursive"):
    """Return the second derivatives of the coordinates and the powers by the names of the ledger."""
    system = formulate(chain, formulation)
    state = system.formulation.encode(chain, c, v)
    rates = system.rates(0.0, np.concatenate([state, np.zeros(system.full_size - system.size)]))
    powers = dict(zip(system.rows_of_ledger, rates[system.size :], strict=False))
    return system.formulation.decode_rates(chain, state, rates[: system.size]), powers


def check_newton(chain, c, v):
    """Hold how links stand, accelerations, reactions, powers and energy against Newton and Euler."""
    curve, powers = rates_of(chain, c, v)
    newton, at = Newton(chain, c, v), turns(chain, c, v, curve)
    np.testing.assert_allclose(at.direction, newton.e, atol=1e-12)
    np.testing.assert_allclose(at.omega, newton.omega, atol=1e-11)
    alpha, force = newton.solve()
    for found, wanted in ((at.alpha, alpha), (kinematics.reactions(chain, c, v, curve), force)):
        assert np.abs(found - wanted).max() <= TOLERANCE["agreement"] * (1.0 + np.abs(wanted).max())
    done = newton.loads()[2]
    assert {name for name, power in powers.items() if power} - {"joint_torque"} <= set(done)
    for name, power in done.items():
        assert powers[name] == pytest.approx(power, rel=1e-11, abs=1e-11)
    assert sum(formulate(chain).energy(np.concatenate([c, v]))) == pytest.approx(newton.energy(), rel=1e-12, abs=1e-12)


def check_power(chain, c, v, formulation="recursive", within=1e-6):
    """Hold the power of all loads against the rate of the energy, by a central difference of order 4 along the rates."""
    system = formulate(chain, formulation)
    state = system.formulation.encode(chain, c, v)
    rates = system.rates(0.0, np.concatenate([state, np.zeros(system.full_size - system.size)]))
    h = 1e-4
    energy = {k: sum(system.energy(state + k * h * rates[: system.size])) for k in (-2, -1, 1, 2)}
    slope = (8 * (energy[1] - energy[-1]) - (energy[2] - energy[-2])) / (12 * h)
    assert slope == pytest.approx(rates[system.size :].sum(), rel=within, abs=within * (1.0 + np.abs(rates[: system.size]).max()))


def check_digits(chain, c, v, within):
    """Hold the accelerations of a long chain against Newton and Euler."""
    alpha, _ = Newton(chain, c, v).solve()
    assert np.abs(turns(chain, c, v, rates_of(chain, c, v)[0]).alpha - alpha).max() <= within * np.abs(alpha).max()
