"""The chain for heyoka, in the forms that are fastest there.

Trajectories: Hamiltonian states (theta, p = M omega). The rates follow from p by eliminating the mass matrix in the cosines of the
differences of angles (`elimination`: best up to N = 3), by its closed inverse (`closed`: N = 2 and 3, a little slower than the
elimination), or by the articulated sweep from the tip to the pivot and back (`recursion`: best from N = 5 on). Then

    p_i' = -omega_i e_i . (m_i d_i v_i + l_i P_{i+1}) - G_i sin theta_i + T_i - T_{i+1}

with the velocity v_i of hinge i and the momentum P_{i+1} of the links below. Many chains: `cfunc` of the accelerations by the
sweep, for N = 2 and 3 by the closed inverse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import heyoka as hy
import numpy as np

from . import cases
from .cases import Case

hy.set_nthreads(1)

M, L, D, J, G = 1.0, 1.0, 0.5, 1 / 3, 9.81  # mass, length, centre of mass, inertia about the upper hinge, gravity
Pair = tuple[Any, Any]


def fresh() -> None:
    """Forget all compiled code and keep none, so that set-up is counted in full."""
    hy.llvm_state.set_diskcache_enabled(False)
    hy.llvm_state.set_memcache_limit(0)
    hy.llvm_state.clear_memcache()


def names(n: int, letter: str) -> list[Any]:
    return [hy.expression(f"{letter}{i}") for i in range(n)]


def total(terms: list[Any]) -> Any:
    """Sum of what is there; None stands for zero, which keeps zeros out of the expressions."""
    there = [x for x in terms if x is not None]
    return hy.sum(there) if len(there) > 1 else (there[0] if there else None)


def times(factor: Any, x: Any) -> Any:
    return None if x is None else factor * x


def torques(n: int, theta: list[Any], omega: list[Any]) -> list[Any]:
    """Moment of springs, dampers and sines on each link; the sines by one sine and one cosine of time."""
    turn = 2 * math.pi * cases.FREQUENCY * hy.time
    sine, cosine = hy.sin(turn), hy.cos(turn)
    joint = []
    for i in range(n):
        bend, rate = (theta[i], omega[i]) if i == 0 else (theta[i] - theta[i - 1], omega[i] - omega[i - 1])
        a, b = (cases.AMPLITUDE * f(cases.phase(i)) for f in (math.cos, math.sin))
        joint.append(hy.sum([-cases.STIFFNESS * bend, -cases.DAMPING * rate, a * sine, b * cosine]))
    return [joint[i] - joint[i + 1] if i < n - 1 else joint[i] for i in range(n)]


def solve(t: list[Pair], moment: list[Any]) -> tuple[list[Any], list[Pair], list[Pair]]:
    """Solve M x = moment by a sweep to the pivot and one back; return x, and the motion it makes of hinges and centres of mass."""
    n = len(t)
    heads, arms = [None] * n, [None] * n
    xx, xy, yy, bx, by = (None,) * 5
    for i in reversed(range(n)):
        c, s = t[i]
        inertia, ux, uy, rest = hy.expression(J), M * D * c, M * D * s, moment[i]
        if i < n - 1:
            fx, fy = xx * c + xy * s, xy * c + yy * s
            inertia, ux, uy = J + L * L * (c * fx + s * fy), ux + L * fx, uy + L * fy
            rest = rest - L * (c * bx + s * by)
        gx, gy = ux / inertia, uy / inertia
        heads[i], arms[i] = rest / inertia, (gx, gy)
        bx, by = total([bx, gx * rest]), total([by, gy * rest])
        xx, xy, yy = total([xx, M - gx * ux]), total([xy, -gx * uy]), total([yy, M - gy * uy])
    result, hinges, centres, v = [], [], [], (None, None)
    for (c, s), head, (gx, gy) in zip(t, heads, arms, strict=True):
        x = head if v[0] is None else head - (gx * v[0] + gy * v[1])
        step = x * c, x * s
        result.append(x)
        hinges.append(v)
        centres.append(tuple(total([a, D * b]) for a, b in zip(v, step, strict=True)))
        v = tuple(total([a, L * b]) for a, b in zip(v, step, strict=True))
    return result, hinges, centres


def recursion(n: int, loaded: bool = False) -> list[Pair]:
    """Hamiltonian equations by the sweeps, O(N)."""
    theta, p = names(n, "t"), names(n, "p")
    t = [(hy.cos(x), hy.sin(x)) for x in theta]
    omega, hinges, centres = solve(t, p)
    rates, below = [None] * n, (None, None)
    for i in reversed(range(n)):
        c, s = t[i]
        bx, by = (total([times(M * D, a), times(L, b)]) for a, b in zip(hinges[i], below, strict=True))
        turning = None if bx is None else -omega[i] * (s * bx - c * by)
        rates[i] = total([turning, -G * lever(n, i) * s])
        below = tuple(total([b, M * a]) for a, b in zip(centres[i], below, strict=True))
    return equations(n, theta, p, omega, rates, loaded)


def lever(n: int, i: int) -> float:
    """First moment about its upper hinge of link i with all below hung on its tip."""
    return M * (D + L * (n - 1 - i))


def equations(n: int, theta: list[Any], p: list[Any], omega: list[Any], rates: list[Any], loaded: bool) -> list[Pair]:
    if loaded:
        rates = [a + b for a, b in zip(rates, torques(n, theta, omega), strict=True)]
    return [*zip(theta, omega, strict=True), *zip(p, rates, strict=True)]


def couplings(n: int) -> np.ndarray:
    """The constant matrix C of M_ij = C_ij cos(theta_i - theta_j)."""
    below = np.arange(n)[::-1] * M
    first = M * D + L * below
    matrix = L * first[np.maximum.outer(np.arange(n), np.arange(n))]
    np.fill_diagonal(matrix, J + L * L * below)
    return matrix


def dense(n: int, rates_of: Callable[[Any, list[Any]], list[Any]], loaded: bool) -> list[Pair]:
    theta, p, matrix = names(n, "t"), names(n, "p"), couplings(n)
    mass = [[matrix[i, j] * hy.cos(theta[max(i, j)] - theta[min(i, j)]) for j in range(n)] for i in range(n)]
    for i in range(n):
        mass[i][i] = hy.expression(matrix[i, i])
    omega = rates_of(mass, p)
    force = {(i, j): matrix[i, j] * hy.sin(theta[i] - theta[j]) * (omega[i] * omega[j]) for i in range(n) for j in range(i)}
    rates = []
    for i in range(n):
        others = [-force[i, j] for j in range(i)] + [force[j, i] for j in range(i + 1, n)]
        rates.append(hy.sum([*others, -G * lever(n, i) * hy.sin(theta[i])]))
    return equations(n, theta, p, omega, rates, loaded)


def elimination(n: int, loaded: bool = False) -> list[Pair]:
    """Hamiltonian equations with M = L D L^T."""
    return dense(n, eliminate, loaded)


def eliminate(mass: list[list[Any]], p: list[Any]) -> list[Any]:
    n, a, q = len(p), [list(row) for row in mass], list(p)
    lower = [[None] * n for _ in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            lower[i][k] = a[i][k] / a[k][k]
            q[i] = q[i] - lower[i][k] * q[k]
            for j in range(k + 1, i + 1):
                a[i][j] = a[i][j] - lower[i][k] * a[j][k]
    omega = [None] * n
    for i in reversed(range(n)):
        known = [lower[j][i] * omega[j] for j in range(i + 1, n)]
        omega[i] = q[i] / a[i][i] - hy.sum(known) if known else q[i] / a[i][i]
    return omega


def closed(n: int, loaded: bool = False) -> list[Pair]:
    """Hamiltonian equations with the inverse of M written out: N = 2 and 3."""
    return dense(n, {2: invert2, 3: invert3}[n], loaded)


def invert2(m: Any, p: list[Any]) -> list[Any]:
    (a, x), (_, b) = m
    over = 1.0 / (a * b - x * x)
    return [over * (b * p[0] - x * p[1]), over * (a * p[1] - x * p[0])]


def invert3(m: Any, p: list[Any]) -> list[Any]:
    (a, x, y), (_, b, z), (_, _, c) = m
    k00, k01, k02, k11, k12, k22 = b * c - z * z, y * z - x * c, x * z - b * y, a * c - y * y, x * y - a * z, a * b - x * x
    over = 1.0 / (a * k00 + x * k01 + y * k02)
    rows = (k00, k01, k02), (k01, k11, k12), (k02, k12, k22)
    return [over * (r[0] * p[0] + r[1] * p[1] + r[2] * p[2]) for r in rows]


def accelerations(n: int) -> tuple[list[Any], list[Any]]:
    """The accelerations as functions of (theta, omega), and these variables.

    The moment on link i is t_i . (lever_i a_i + l_i F_i): a_i the centripetal acceleration of its hinge against gravity, F_i the
    centripetal force of the links below.
    """
    theta, omega = names(n, "t"), names(n, "w")
    t = [(hy.cos(x), hy.sin(x)) for x in theta]
    if n <= 3:
        return coupled(t, omega), [*theta, *omega]
    pulls = [(w * w * s, w * w * c) for w, (c, s) in zip(omega, t, strict=True)]  # x and -y of omega^2 e
    moment: list[Any] = [None] * n
    above: list[Pair] = []
    ax, ay = None, hy.expression(-G)
    for px, py in pulls:
        above.append((ax, ay))
        ax, ay = total([ax, L * px]), ay - L * py
    fx, fy = None, None
    for i in reversed(range(n)):
        (c, s), (ax, ay), arm = t[i], above[i], lever(n, i)
        x, y = total([times(arm, ax), times(L, fx)]), total([arm * ay, times(L, fy)])
        moment[i] = total([times(c, x), s * y])
        fx, fy = total([fx, arm * pulls[i][0]]), total([fy, -arm * pulls[i][1]])
    return solve(t, moment)[0], [*theta, *omega]


def coupled(t: list[Pair], omega: list[Any]) -> list[Any]:
    """The accelerations of two or three links, from sines and cosines of the differences of angles and the closed inverse of M."""
    n, matrix = len(t), couplings(len(t))
    pairs = [(i, j) for j in range(n) for i in range(j)]
    mass: Any = [[hy.expression(matrix[i, i])] * n for i in range(n)]
    moment: list[list[Any]] = [[-G * lever(n, i) * s] for i, (_, s) in enumerate(t)]
    for i, j in pairs:
        (c, s), (cj, sj) = t[i], t[j]
        mass[i][j] = mass[j][i] = matrix[i, j] * (c * cj + s * sj)
        sine = matrix[i, j] * (c * sj - s * cj)
        moment[i].append(sine * (omega[j] * omega[j]))
        moment[j].append(-sine * (omega[i] * omega[i]))
    return {2: invert2, 3: invert3}[n](mass, [hy.sum(each) for each in moment])


def settings(case: Case) -> tuple[float, ...]:
    """Tolerances, fewer where a set-up takes long."""
    if case.n < 15:
        return 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16
    return (1e-5, 1e-7, 1e-9, 1e-11, 1e-13) if case.n == 15 else (1e-9,)


FORMS = {"elimination": elimination, "closed": closed, "recursion": recursion}


def best_form(n: int) -> Callable[..., list[Pair]]:
    """The fastest of the forms on the machine of RESULTS.md; `python -m peers.speed --forms` compares them."""
    return elimination if n <= 3 else recursion


def prepare(case: Case, tolerance: float, form: str | None = None) -> Callable[[float], np.ndarray]:
    """Compile an integrator: flat below N = 32, where compact mode is three to four times slower."""
    equations = (FORMS[form] if form else best_form(case.n))(case.n, case.loaded)
    start = np.concatenate([case.start, np.zeros(case.n)])
    run = hy.taylor_adaptive(equations, start.tolist(), tol=tolerance, compact_mode=case.n >= 32, fast_math=True)

    def go(t: float) -> np.ndarray:
        run.time = 0.0
        run.state[:] = start
        run.propagate_until(t)
        return run.state[: case.n].copy()

    return go


def evaluation(n: int) -> Any:
    """The compiled accelerations of many chains, (2N, K) to (N, K), in the best of modes."""
    width = 32 if n == 2 else 16 if n <= 64 else 8
    return hy.cfunc(*accelerations(n), compact_mode=n > 256, fast_math=True, batch_size=width)
