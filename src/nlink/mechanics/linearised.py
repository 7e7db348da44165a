"""Exact derivatives of the equations of motion in absolute angles: plain NumPy, dense, vectorised over leading axes (time).

The equations are F = M alpha + h - Q = 0 with, for i < j and delta = theta_j - theta_i,

    M_ij = l_i (c_j cos delta - o_j sin delta)         c_j = m_j d_j + l_j (m_{j+1} + ... + m_N),   o_j = m_j b_j
    h_i  = sum_j Y_ij omega_j^2                        Y_ij = dM_ij/dtheta_j = -Y_ji

so that with M = dF/dalpha, C = dF/domega, K = dF/dtheta a small deviation x obeys M x'' + C x' + K x = 0. Loads come row by row as
in the ledger. The follower force makes K unsymmetric; the force f of a pin adds its geometric stiffness diag(l e.f).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nlink._support.checks import ModelError
from nlink.mechanics import kinematics
from nlink.mechanics.chain import Multibody
from nlink.mechanics.loads import Drag, FollowerForce, JointTorque, TipForce, ledger
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.tree_kinematics import relative


def mass_matrix(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return M (..., N, N) with kinetic energy 1/2 omega.M omega."""
    return _coupled(chain, theta)[0]


def _coupled(chain: Multibody, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M and Y."""
    moment, aside = chain.mass * chain.com + chain.length * chain.mass_behind, chain.mass * chain.offset
    delta = theta[..., None, :] - theta[..., :, None]
    s, c = np.sin(delta), np.cos(delta)
    upper = np.triu(np.ones((chain.n, chain.n)), 1) * chain.length[:, None]
    M, Y = upper * (moment * c - aside * s), -upper * (moment * s + aside * c)
    own = chain.inertia + chain.mass * (chain.com**2 + chain.offset**2) + chain.length**2 * chain.mass_behind
    return M + np.swapaxes(M, -1, -2) + np.diag(own), Y - np.swapaxes(Y, -1, -2)


def diagonal(values: np.ndarray) -> np.ndarray:
    """Return the matrices (..., N, N) with these values (..., N) on their diagonals."""
    return values[..., None] * np.eye(values.shape[-1])


def inertial(
    chain: Multibody, theta: np.ndarray, omega: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M, and what M alpha + h adds to C and to K."""
    M, Y = _coupled(chain, theta)
    apart = M * (1 - np.eye(chain.n))
    turned = Y * alpha[..., None, :] - apart * omega[..., None, :] ** 2
    return M, 2 * Y * omega[..., None, :], turned - diagonal(turned.sum(-1))


def conservative(chain: Multibody, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the force -V' and the stiffness V'' of gravity and springs."""
    moment, aside = chain.mass * chain.com + chain.length * chain.mass_behind, chain.mass * chain.offset
    s, c = np.sin(theta), np.cos(theta)
    force, stiffness = -chain.g * (moment * s + aside * c), diagonal(chain.g * (moment * c - aside * s))
    D = differences(chain.n)
    for load in chain.loads:
        if load.law and load.law.stiffness:
            k = chain.each(type(load), load.law.stiffness)
            force = force - (k * (theta @ D.T - chain.each(type(load), load.law.origin))) @ D
            stiffness = stiffness + D.T @ (k[:, None] * D)
    return force, stiffness


def working(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each row of the ledger but the torques its force (rows, ..., N) and what it adds to C and K (rows, ..., N, N)."""
    n, D, many, names = chain.n, differences(chain.n), theta.shape[:-1], ledger()
    force = np.zeros((len(names), *many, n))
    C, K = np.zeros((len(names), *many, n, n)), np.zeros((len(names), *many, n, n))
    row = {name: i for i, name in enumerate(names)}
    for load in chain.loads:
        if load.law and load.law.works:
            k, arm = row[load.name], D if load.law.on == "joint" else np.eye(n)
            C[k] = arm.T @ (chain.each(type(load), load.law.damping)[:, None] * arm)
            force[k] = chain.each(type(load), load.law.push) @ arm - (C[k] @ omega[..., None])[..., 0]
    if chain.load(Drag):
        k = row["drag"]
        force[k], C[k], K[k] = _drag(chain, theta, omega)
    e, t = kinematics.directions(theta)
    follower, tip = chain.load(FollowerForce), chain.load(TipForce)
    if follower:
        k, turned = row["follower_force"], follower.force * chain.length
        last_e, last_t = e[..., -1, :, None], t[..., -1, :, None]
        force[k] = -turned * (t @ last_e)[..., 0]
        K[k] = -diagonal(turned * (e @ last_e)[..., 0])
        K[k][..., -1] += turned * (t @ last_t)[..., 0]
    if tip:
        k, push = row["tip_force"], np.array([tip.fx, tip.fy])
        force[k] = chain.length * (t @ push)
        K[k] = diagonal(chain.length * (e @ push))
    return force, C, K


def _drag(chain: Multibody, theta: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the force of drag, and what it adds to C and to K."""
    J, bend = centre_jacobian(chain, theta)
    v = np.einsum("...jak,...k->...ja", J, omega)
    speed = np.sqrt((v**2).sum(-1))
    linear, quadratic = chain.each(Drag, "linear"), chain.each(Drag, "quadratic")
    F = -(linear + quadratic * speed)[..., None] * v
    along = np.divide(quadratic, speed, out=np.zeros_like(speed), where=speed > 0)
    slope = (linear + quadratic * speed)[..., None, None] * np.eye(2) + along[..., None, None] * v[..., :, None] * v[..., None, :]
    pushed, swept = slope @ J, slope @ (bend * omega[..., None, None, :])
    K = np.einsum("...jak,...jal->...kl", J, swept) - diagonal(np.einsum("...jak,...ja->...k", bend, F))
    return np.einsum("...jak,...ja->...k", J, F), np.einsum("...jak,...jal->...kl", J, pushed), K


def centre_jacobian(chain: Multibody, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return d centre_j/d theta_k (..., N, 2, N), and its derivative by theta_k."""
    e, t = kinematics.directions(theta)
    before = np.tril(np.ones((chain.n, chain.n)), -1)
    J = np.einsum("jk,...ka->...jak", before, chain.length[:, None] * t)
    bend = np.einsum("jk,...ka->...jak", before, -chain.length[:, None] * e)
    own = np.eye(chain.n)
    J = J + np.einsum("jk,...ka->...jak", own, chain.com[:, None] * t - chain.offset[:, None] * e)
    return J, bend + np.einsum("jk,...ka->...jak", own, -chain.com[:, None] * e - chain.offset[:, None] * t)


def steady_torques(chain: Multibody, theta: np.ndarray) -> np.ndarray:
    """Return the generalised forces (..., N) of torques at rest at angles (..., N): numbers, or a function of the state at t = 0;
    refuse those that change in time.
    """
    load, n = chain.load(JointTorque), chain.n
    if load and load.takes_state:
        return function_torques(chain, theta, np.zeros_like(theta))
    if load and not load.steady:
        raise ModelError(
            "a torque that changes in time leaves no equilibrium; give numbers as joint torques, or a function of t, theta, omega"
        )
    return np.broadcast_to(JointTorque.values(load, n)["constant"] @ joints(chain), theta.shape)


def function_torques(chain: Multibody, theta: np.ndarray, omega: np.ndarray, t: ArrayLike = 0.0) -> np.ndarray:
    """Return the generalised forces (..., N) of a torque function at states (..., N) and times (...); zeros without one."""
    load, n = chain.load(JointTorque), chain.n
    if not (load and load.function):
        return np.zeros_like(theta)
    function, times = load.at(n), np.broadcast_to(t, theta.shape[:-1]).ravel()
    states = zip(times.tolist(), theta.reshape(-1, n), omega.reshape(-1, n), strict=True)
    torques = [np.broadcast_to(function(*state), (n,)) for state in states]
    return np.reshape(torques, theta.shape) @ joints(chain)


def feedback(chain: Multibody, theta: np.ndarray, omega: np.ndarray, t: ArrayLike = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return what a torque function of the state adds to C and K (..., N, N) at times (...)."""
    load, n = chain.load(JointTorque), chain.n
    if not (load and load.takes_state):
        return np.zeros((n, n)), np.zeros((n, n))
    from nlink.mechanics.torque_callback import TorqueCallback  # Numba

    slopes = TorqueCallback(load.at(n)).slopes(np.broadcast_to(t, theta.shape[:-1]), theta, omega)
    both = joints(chain).T @ slopes
    return -both[..., n:], -both[..., :n]


def joints(chain: Multibody) -> np.ndarray:
    """Return the matrix (N, N) that takes coordinates to those of the joints: angles against the parents', displacements."""
    if not isinstance(chain, Mechanism):
        return differences(chain.n)
    return relative(chain, np.eye(chain.n)).T


def differences(n: int) -> np.ndarray:
    """Return D (N, N) with (D x)_i = x_i - x_{i-1}."""
    return np.eye(n) - np.eye(n, k=-1)
