"""Chains of lines in space: the sweep beside that of the plane, digits in long chains beside Pinocchio and MuJoCo, one trajectory
and ensembles beside heyoka at nearly the same error. What is not installed is left out.

    python benchmarks/space.py [--quick]
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from main_road import repeat
from report import head, row

import nlink
from nlink import Chain, Link, SpatialChain, Taylor
from nlink.integrators.base import Restart
from nlink.mechanics.system import System

SIZES = (2, 5, 15, 64)
LONG = (15, 30, 64)
WORK = 200_000
GRAVITY = 9.81
TRAJECTORIES = ((1, 10.0), (2, 10.0), (3, 10.0), (5, 5.0))
ENSEMBLES = ((1, 10.0, 8192), (2, 10.0, 4096), (3, 5.0, 4096))
BATCH = 8
TOLERANCES = (1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14)
"""Of heyoka: the loosest counts whose error is at most twice that of nlink."""


def found(name: str) -> Any:
    """Return a module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def alternately(times: int, *calls: Callable[[], Any]) -> list[float]:
    """Return the least processor time of each call in s; they take turns, since others may use the machine."""
    least = [np.inf] * len(calls)
    for _ in range(times):
        for k, call in enumerate(calls):
            begun = time.process_time()
            call()
            least[k] = min(least[k], time.process_time() - begun)
    return least


# The sweep ------------------------------------------------------------------------------------------------------------


def evaluation(system: System, state: np.ndarray, count: int) -> Callable[[], None]:
    """Return a call that evaluates the accelerations so many times in a compiled loop."""
    y, w = np.zeros(system.full_size), system.scratch()
    y[: system.size] = state
    return lambda: repeat(y, system.parameters, np.empty_like(y), w, count)


def sweeps(times: int) -> None:
    print("\nOne evaluation of the accelerations, ns a link: lines in space beside the plane, alternately.")
    print("Goal: 35 where the plane takes 17.\n")
    print(head("N", "plane", "space", "ratio"))
    rng = np.random.default_rng(1)
    for n in SIZES:
        plane, space = nlink.formulate(Chain.uniform(n)), nlink.formulate(SpatialChain.uniform(n))
        flat = plane.encode(rng.normal(size=n), rng.normal(size=n))
        state = space.encode(rng.normal(size=(n, 3)), rng.normal(size=(n, 3)))
        count = max(3, WORK // n)
        calls = evaluation(plane, flat, count), evaluation(space, state, count)
        alternately(1, *calls)  # compiles
        a, b = (1e9 * each / count / n for each in alternately(times, *calls))
        print(row(n, f"{a:.1f}", f"{b:.1f}", f"{b / a:.1f}x"))


# Digits ---------------------------------------------------------------------------------------------------------------


def random_rods(n: int, rng: np.random.Generator) -> tuple[SpatialChain, np.ndarray, np.ndarray]:
    """Return a chain of unequal rods, directions and angular velocities across them."""
    chain = SpatialChain(Link.rod(*values) for values in rng.uniform(0.5, 1.5, (n, 2)))
    e = rng.normal(size=(n, 3))
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    omega = rng.normal(size=(n, 3))
    return chain, e, omega - (e * omega).sum(1, keepdims=True) * e


def skew(v: np.ndarray) -> np.ndarray:
    """Return the matrices (..., 3, 3) of v x."""
    zero, (x, y, z) = np.zeros(v.shape[:-1]), np.moveaxis(v, -1, 0)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(*v.shape[:-1], 3, 3)


def dense(chain: SpatialChain, e: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the angular accelerations by a dense solve of sum_j C_ij e_j'' = f_i + lambda_i e_i with all |e_i| = 1, refined."""
    n, behind = chain.n, np.append(np.cumsum(chain.mass[::-1])[::-1][1:], 0.0)
    level = chain.mass * chain.com + chain.length * behind
    C = np.triu(chain.length[:, None] * level, 1)
    C = C + C.T + np.diag(chain.inertia + chain.mass * chain.com**2 + chain.length**2 * behind)
    left, right = np.zeros((4 * n, 4 * n), np.longdouble), np.zeros(4 * n, np.longdouble)
    left[: 3 * n, : 3 * n] = np.kron(C, np.eye(3))
    for i in range(n):
        at, row = slice(3 * i, 3 * i + 3), 3 * n + i
        left[at, row], left[row, at] = -e[i], e[i]
        right[3 * i + 1], right[row] = -GRAVITY * level[i], -(omega[i] @ omega[i])
    solution, inverse = np.zeros(4 * n, np.longdouble), np.linalg.inv(left.astype(float))
    for _ in range(20):
        solution = solution + inverse @ (right - left @ solution)
    return np.cross(e, solution[: 3 * n].reshape(n, 3).astype(float))


def turned_down(e: np.ndarray) -> np.ndarray:
    """Return rotation matrices (N, 3, 3) whose second column is -e: body axes with the link along -y."""
    y = -e
    x = np.cross(y, np.eye(3)[np.abs(e).argmin(1)])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.stack([x, y, np.cross(x, y)], -1)


def by_pinocchio(pin: Any, chain: SpatialChain, e: np.ndarray, omega: np.ndarray, thin: float) -> np.ndarray:
    """Return the angular accelerations by Pinocchio's articulated bodies on ball joints; rods get a little inertia about
    themselves, for else their spin is not determined; it does not change the motion of what does not spin.
    """
    model, parent, R = pin.Model(), 0, turned_down(e)
    model.gravity.linear = np.array([0.0, -GRAVITY, 0.0])
    q, v, before, omega_before = [], [], np.eye(3), np.zeros(3)
    for i in range(chain.n):
        place = pin.SE3(np.eye(3), np.array([0.0, -chain.length[i - 1] if i else 0.0, 0.0]))
        parent = model.addJoint(parent, pin.JointModelSpherical(), place, f"{i}")
        tensor = np.diag([chain.inertia[i], thin * chain.inertia[i], chain.inertia[i]])
        model.appendBodyToJoint(parent, pin.Inertia(chain.mass[i], np.array([0.0, -chain.com[i], 0.0]), tensor), pin.SE3.Identity())
        q.append(pin.Quaternion(before.T @ R[i]).coeffs())
        v.append(R[i].T @ (omega[i] - omega_before))
        before, omega_before = R[i], omega[i]
    a = pin.aba(model, model.createData(), np.concatenate(q), np.concatenate(v), np.zeros(model.nv)).reshape(chain.n, 3)
    return summed(a, R, omega)


def by_mujoco(mujoco: Any, chain: SpatialChain, e: np.ndarray, omega: np.ndarray, thin: float) -> np.ndarray:
    """Return the angular accelerations by MuJoCo on ball joints, likewise."""
    R, (length, com, mass) = turned_down(e), (each.tolist() for each in (chain.length, chain.com, chain.mass))
    parts = ['<mujoco><option gravity="0 -9.81 0" timestep="0.001"><flag contact="disable"/></option><worldbody>']
    for i in range(chain.n):
        inertia = " ".join(repr(float(scale * chain.inertia[i])) for scale in (1.0, thin, 1.0))
        parts.append(f'<body pos="0 {-length[i - 1] if i else 0.0} 0"><joint type="ball"/>')
        parts.append(f'<inertial pos="0 {-com[i]} 0" mass="{mass[i]}" diaginertia="{inertia}"/>')
    model = mujoco.MjModel.from_xml_string("".join(parts) + "</body>" * chain.n + "</worldbody></mujoco>")
    data, before, omega_before = mujoco.MjData(model), np.eye(3), np.zeros(3)
    for i in range(chain.n):
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, (before.T @ R[i]).ravel())
        data.qpos[4 * i : 4 * i + 4], data.qvel[3 * i : 3 * i + 3] = quaternion, R[i].T @ (omega[i] - omega_before)
        before, omega_before = R[i], omega[i]
    mujoco.mj_forward(model, data)
    return summed(data.qacc.reshape(chain.n, 3), R, omega)


def summed(relative: np.ndarray, R: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return angular accelerations in world axes from those of ball joints in body axes: the rates between neighbours turn with the
    body.
    """
    total, out, before = np.zeros(3), [], np.zeros(3)
    for i in range(len(R)):
        total = total + R[i] @ relative[i] + np.cross(omega[i], omega[i] - before)
        before = omega[i]
        out.append(total)
    return np.array(out)


def digits(chains: int) -> None:
    pin, mujoco = found("pinocchio"), found("mujoco")
    print(f"\nLargest relative error of the accelerations of {chains} random chains of rods against a dense solve.\n")
    print(head("N", "nlink", "Pinocchio", "MuJoCo"))
    for n in LONG:
        errors = np.zeros((chains, 3))
        for k in range(chains):
            chain, e, omega = random_rods(n, np.random.default_rng(100 * n + k))
            system, exact = nlink.formulate(chain), dense(chain, e, omega)
            across = lambda alpha, e=e: alpha - (e * alpha).sum(1, keepdims=True) * e  # noqa: E731  of a rod only that is determined
            got = [system.accelerations(e, omega)]
            got.append(by_pinocchio(pin, chain, e, omega, 1e-2) if pin else np.full((n, 3), np.nan))
            got.append(by_mujoco(mujoco, chain, e, omega, 1e-2) if mujoco else np.full((n, 3), np.nan))
            errors[k] = [np.abs(across(each) - exact).max() / np.abs(exact).max() for each in got]
        print(row(n, *(f"{each:.0e}" for each in errors.max(0))))


# Trajectories and ensembles -------------------------------------------------------------------------------------------


def wild(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return directions and their rates (N, 3) of a wild start."""
    inclination, azimuth = np.where(np.arange(n) % 2 == 0, np.pi / 2, np.pi - 0.3), 0.4 + 0.9 * np.arange(n)
    s = np.sin(inclination)
    e = np.stack([s * np.cos(azimuth), -np.cos(inclination), s * np.sin(azimuth)], 1)
    return e, np.cross(np.tile([0.3, 0.5, -0.2], (n, 1)), e)


def random_starts(n: int, members: int) -> tuple[np.ndarray, np.ndarray]:
    """Return directions and their rates (members, N, 3)."""
    rng = np.random.default_rng(0)
    e, v = rng.normal(size=(members, n, 3)), rng.normal(size=(members, n, 3))
    e /= np.linalg.norm(e, axis=2, keepdims=True)
    return e, v - (e * v).sum(2, keepdims=True) * e


def equations(hy: Any, n: int) -> list[Any]:
    """Return the equations of uniform rods in unit vectors for heyoka: tensions by a symbolic LDL^T, |e|^2 written out."""
    chain = SpatialChain.uniform(n)
    behind = np.append(np.cumsum(chain.mass[::-1])[::-1][1:], 0.0)
    level = chain.mass * chain.com + chain.length * behind
    C = np.triu(chain.length[:, None] * level, 1)
    inverse = np.linalg.inv(C + C.T + np.diag(chain.inertia + chain.mass * chain.com**2 + chain.length**2 * behind))
    inverse[np.abs(inverse) < 1e-12] = 0.0
    fall, names = inverse @ (-GRAVITY * level), [f"{axis}{i}" for i in range(n) for axis in "xyz"]
    E = np.array(hy.make_vars(*names)).reshape(n, 3)
    V = np.array(hy.make_vars(*["d" + name for name in names])).reshape(n, 3)
    lower, diagonal, right = [[0.0] * n for _ in range(n)], [0.0] * n, []
    zero = lambda value: isinstance(value, float) and value == 0.0  # noqa: E731
    for i in range(n):
        right.append(hy.sum([-hy.sum([V[i, c] * V[i, c] for c in range(3)]), -float(fall[i]) * E[i, 1]]))
        for j in range(i + 1):
            entry = 0.0 if inverse[i, j] == 0 else inverse[i, j] * hy.sum([E[i, c] * E[j, c] for c in range(3)])
            for m in range(j):
                if not zero(lower[i][m]) and not zero(lower[j][m]):
                    entry = entry - lower[i][m] * lower[j][m] * diagonal[m]
            if i == j:
                diagonal[i] = entry
            else:
                lower[i][j] = 0.0 if zero(entry) else entry / diagonal[j]
    for i in range(n):
        for j in range(i):
            right[i] = right[i] if zero(lower[i][j]) else right[i] - lower[i][j] * right[j]
    pulls: list[Any] = [None] * n
    for i in reversed(range(n)):
        pulls[i] = right[i] / diagonal[i]
        for j in range(i + 1, n):
            pulls[i] = pulls[i] if zero(lower[j][i]) else pulls[i] - lower[j][i] * pulls[j]
    found: list[Any] = [(E[i, c], V[i, c]) for i in range(n) for c in range(3)]
    for i in range(n):
        for c in range(3):
            terms = [inverse[i, j] * (pulls[j] * E[j, c]) for j in range(n) if inverse[i, j] != 0]
            found.append((V[i, c], hy.sum([*terms, hy.expression(float(fall[i]))] if c == 1 and fall[i] else terms)))
    return found


def stepped(system: System, method: Any, start: np.ndarray, t_end: float) -> Callable[[], np.ndarray]:
    """Return a call that follows a state to t_end and returns the directions there."""
    stepper = method.stepper(system, Restart.at(0.0, start), t_end)

    def run() -> np.ndarray:
        stepper.restart(Restart.at(0.0, start.copy()), t_end)
        while True:
            chunk = stepper.advance(np.array([t_end]), 100_000)
            if chunk.code:
                return chunk.y[-1, : system.chain.size].copy()

    return run


def matched(made: Callable[[float], Callable[[], np.ndarray]], error: Callable[[np.ndarray], float], goal: float) -> Any:
    """Return the call of another package with the loosest tolerance by which its error is at most twice `goal`."""
    call = made(TOLERANCES[-1])
    for tol in TOLERANCES:
        call = made(tol)
        if error(call()) <= 2 * goal:
            break
    return call


def compared(least: list[float], errors: list[float], scale: Callable[[float], str], goal: float) -> list[str]:
    """Return times or speeds with errors of nlink and heyoka, their ratio, and the goal."""
    told = [f"{scale(each)} ({error:.0e})" for each, error in zip(least, errors, strict=True)]
    ratio = f"{least[-1] / least[0]:.1f}x" if len(least) > 1 else ""
    return [*told, *[""] * (2 - len(told)), ratio, f"{goal}x"]


def trajectories(times: int) -> None:
    hy = found("heyoka")
    print("\nOne trajectory of rods from a wild start, processor ms (largest error), alternately.\n")
    print(head("N", "t_end", "Taylor", "heyoka", "ratio", "goal", "DOP853"))
    for (n, t_end), goal in zip(TRAJECTORIES, (1.2, 2.5, 2.8, 4.0), strict=True):
        system, (e, v) = nlink.formulate(SpatialChain.uniform(n)), wild(n)
        start = np.concatenate([e.ravel(), v.ravel()])
        exact = stepped(system, Taylor(1e-17, order=24), start, t_end)()
        off = lambda end, exact=exact: float(np.abs(end - exact).max())  # noqa: E731
        calls = [stepped(system, Taylor().with_order(system), start, t_end)]
        if hy:
            model = equations(hy, n)

            def made(tol: float, model=model, start=start, t_end=t_end, n=n) -> Callable[[], np.ndarray]:
                other = hy.taylor_adaptive(model, list(start), tol=tol, fast_math=True, compact_mode=False)

                def run() -> np.ndarray:
                    other.time = 0.0
                    other.state[:] = start
                    other.propagate_until(t_end)
                    return other.state[: 3 * n].copy()

                return run

            calls.append(matched(made, off, off(calls[0]())))
        errors, least = [off(call()) for call in calls], alternately(times, *calls)
        stages = stepped(system, nlink.DOP853(1e-9, 1e-9), start, t_end)
        last = f"{1e3 * alternately(times, stages)[0]:.3f} ({off(stages()):.0e})"
        print(row(n, f"{t_end:g}", *compared(least, errors, lambda each: f"{1e3 * each:.3f}", goal), last), flush=True)


def ensembles(times: int) -> None:
    hy = found("heyoka")
    print("\nEnsembles of rods, one thread, members a second of processor time (median error), alternately.\n")
    print(head("N", "t_end", "nlink", "heyoka", "ratio", "goal"))
    for (n, t_end, members), goal in zip(ENSEMBLES, (2.5, 3.5, 3.0), strict=True):
        chain, (e, v) = SpatialChain.uniform(n), random_starts(n, members)
        omega = np.cross(e, v)

        def many(method: Any, chain=chain, e=e, omega=omega, t_end=t_end) -> np.ndarray:
            found = nlink.simulate_many(chain, e, omega, t_end=t_end, integrator=method, backend=nlink.Threads(1))
            return found["direction"].values

        exact = many(Taylor(1e-16, order=18))
        off = lambda ends, exact=exact: float(np.median(np.abs(ends - exact[: len(ends)]).max((1, 2))))  # noqa: E731
        calls = [lambda many=many: many(Taylor(1e-12, order=16))]
        if hy:
            model, states = equations(hy, n), np.concatenate([e.reshape(members, -1), v.reshape(members, -1)], 1)

            def made(tol: float, model=model, states=states, t_end=t_end, n=n) -> Callable[[], np.ndarray]:
                other = hy.taylor_adaptive_batch(model, np.zeros((6 * n, BATCH)), tol=tol, fast_math=True)

                def run() -> np.ndarray:
                    out = []
                    for first in range(0, len(states), BATCH):
                        other.state[:] = states[first : first + BATCH].T
                        other.set_time(np.zeros(BATCH))
                        other.propagate_until([t_end] * BATCH)
                        out.append(other.state[: 3 * n].T.copy())
                    return np.concatenate(out).reshape(len(states), n, 3)

                return run

            calls.append(matched(made, off, off(calls[0]())))
        errors, least = [off(call()) for call in calls], alternately(times, *calls)
        print(row(n, f"{t_end:g}", *compared(least, errors, lambda each, m=members: f"{m / each:,.0f}", goal)), flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="fewer repeats")
    times = 3 if options.parse_args().quick else 15
    sweeps(times)
    digits(2 if times == 3 else 5)
    trajectories(times)
    ensembles(max(2, times // 4))


if __name__ == "__main__":
    main()
