"""Mechanisms: what an evaluation of the accelerations of a tree costs a body, alone, side by side, and beside Pinocchio; of closed
mechanisms what a body of a ladder costs, IFToMM A02 with 40 loops, and Andrews' mechanism beside Exudyn; part of `make bench`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from main_road import best, repeat

import nlink
from nlink import GROUND, At, Gravity, JointTorque, Link, Mechanism, Pin, PointSpring, Slider
from nlink.mechanics.equations import rates_many

SIZES = (5, 15, 63, 255, 1000)
WORK = 1_000_000
STATES = 512
EARLIER = {5: 288.0, 15: 247.0, 63: 230.0, 255: 221.0}
"""ns a body of Pinocchio's aba on binary trees, for where it is not installed: pin 4.1.0, 2026-11-19, the machine of RESULTS.md."""


def rod() -> Link:
    return Link.rod(1.0, 1.0)


def binary(n: int) -> Mechanism:
    """Two links on the tip of each."""
    return Mechanism([rod().on(GROUND, (0.0, 0.0)) if i == 0 else rod().on((i - 1) // 2) for i in range(n)])


def y_trees(n: int) -> Mechanism:
    """A trunk of a third of the links, and two arms on its tip."""
    trunk = n // 3
    arm = (n - trunk) // 2
    parents = [*range(-1, trunk - 1), *(trunk - 1 if i in (trunk, trunk + arm) else i - 1 for i in range(trunk, n))]
    return Mechanism([rod().on(parent) for parent in parents])


def comb(n: int) -> Mechanism:
    """A tooth hangs from the middle of every link of a chain."""
    return Mechanism([rod().on(i - 1 if i % 2 else i - 2 if i else GROUND, 0.5 if i % 2 else None) for i in range(n)])


def floating(n: int) -> Mechanism:
    """A binary tree that two sliders carry."""
    return Mechanism([Slider(), Slider(direction=np.pi / 2), *(rod().on(1 if i == 0 else 2 + (i - 1) // 2) for i in range(n - 2))])


SHAPES: dict[str, Callable[[int], Mechanism]] = {"binary": binary, "Y": y_trees, "comb": comb, "floating": floating}


def one(model: nlink.Chain | Mechanism) -> float:
    """Return the CPU time of one evaluation in s, in a compiled loop."""
    system, n = nlink.formulate(model), model.n
    y, count = np.random.default_rng(1).normal(size=2 * n), max(20, WORK // n)
    return best(lambda: repeat(y, system.parameters, np.empty(2 * n), system.scratch(), count), 5) / count


def beside(model: Mechanism) -> float:
    """Return the CPU time of one of many states that are evaluated side by side."""
    system, n = nlink.formulate(model), model.n
    states, count = np.random.default_rng(1).normal(size=(2 * n, STATES)), max(1, WORK // (n * STATES))
    return best(lambda: [system.accelerations_of(states) for _ in range(count)], 5) / (count * STATES)


def from_python(model: Mechanism) -> float:
    """Return the CPU time of one evaluation that Python calls."""
    system, n = nlink.formulate(model), model.n
    y = np.random.default_rng(1).normal(size=2 * n)
    calls = range(max(10, 20_000 // n))
    return best(lambda: [system.rates(0.0, y) for _ in calls], 5) / len(calls)


def pinocchio(model: Mechanism) -> float | None:
    """Return the CPU time of Pinocchio's articulated-body algorithm on a tree of links, called from Python."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    tree: Any = pin.Model()
    joints = []
    for i, (parent, at) in enumerate(zip(model.parents.tolist(), model.levers.T, strict=True)):
        place = pin.SE3(np.eye(3), np.array([at[1], -at[0], 0.0]))
        joints.append(tree.addJoint(joints[parent] if parent >= 0 else 0, pin.JointModelRZ(), place, f"j{i}"))
        tree.appendBodyToJoint(
            joints[i], pin.Inertia(1.0, np.array([0, -0.5, 0.0]), np.diag([1 / 12, 1e-9, 1 / 12])), pin.SE3.Identity()
        )
    tree.gravity.linear = np.array([0, -9.81, 0.0])
    data, zero = tree.createData(), np.zeros(model.n)
    theta, omega = np.random.default_rng(1).normal(size=(2, model.n))
    above = model.parents
    q, v = (x - np.where(above >= 0, x[above], 0.0) for x in (theta, omega))
    own = nlink.formulate(model).accelerations(theta, omega)
    found = pin.aba(tree, data, q, v, zero)
    assert np.allclose(found, own - np.where(above >= 0, own[above], 0.0), atol=1e-6 * np.abs(own).max())
    calls = range(max(10, 20_000 // model.n))
    return best(lambda: [pin.aba(tree, data, q, v, zero) for _ in calls], 5) / len(calls)


def trees() -> None:
    print("\nOne evaluation of the accelerations of a tree, ns a body (goals: 20 alone, 4 side by side, 15x ahead of Pinocchio)")
    print(
        f"{'N':>6} {'chain':>7} "
        + " ".join(f"{name:>9}" for name in SHAPES)
        + f" {'side by side':>13} {'from Python':>12} {'pin.aba':>9} {'ratio':>14}"
    )
    for n in SIZES:
        alone = [1e9 * one(make(n)) / n for make in SHAPES.values()]
        lanes, python, peer = (
            1e9 * beside(binary(n)) / n,
            1e9 * from_python(binary(n)) / n,
            pinocchio(binary(n)) if n < 1000 else None,
        )
        their = 1e9 * peer / n if peer else EARLIER.get(n)
        mark = "" if peer else "*"
        told = f"{their:>8.0f}{mark:1} {their / python:>5.1f}x ({their / alone[0]:.0f}x)" if their else ""
        print(
            f"{n:>6} {1e9 * one(nlink.Chain.uniform(n)) / n:>7.1f} "
            + " ".join(f"{each:>9.1f}" for each in alone)
            + f" {lanes:>13.1f} {python:>12.1f} {told}"
        )
    print(
        "(ratio: both called from Python, and in brackets to a compiled loop; * as measured earlier, Pinocchio not being installed)"
    )


LADDERS = (1, 2, 10, 40, 100, 300)
"""Loops of the ladders."""
EXUDYN = ((4e-5, 0.14), (2e-6, 0.68), (1e-7, 2.7))
"""Errors of Exudyn's angles of Andrews' mechanism at 0.03 s, and the time in s that it takes: exudyn 1.13.6, measured earlier."""


def ladder(loops: int) -> Mechanism:
    """IFToMM A02: parallel four-bars in a row, rods of 1 m and 1 kg."""
    links, last = [rod().on(GROUND, (0.0, 0.0))], 0
    for i in range(loops):
        links += [rod().on(last), rod().on(GROUND, (i + 1.0, 0.0))]
        last = 2 * i + 2
    return Mechanism(links, pins=[Pin(At(2 * i + 1), At(2 * i + 2)) for i in range(loops)])


def leaning(loops: int, angle: float) -> np.ndarray:
    """Return a state of a ladder whose rockers are turned by so much from straight down."""
    theta, omega = np.full(2 * loops + 1, math.pi / 2), np.zeros(2 * loops + 1)
    theta[::2], omega[::2] = angle, -1.0
    return np.concatenate([theta, omega])


def squeezer() -> tuple[Mechanism, np.ndarray]:
    """Andrews' squeezing mechanism and its start: Hairer and Wanner, Solving Ordinary Differential Equations II, VII.7."""
    a = (-0.06934, -0.00227)
    links = [
        Link(0.007, 0.04325, 0.00092, 2.194e-6),
        Link(0.028, 0.00365, 0.0115, 4.410e-7),
        Link(0.035, 0.02373, 0.01874, 5.255e-6, offset=0.01043).on(GROUND, (-0.03635, 0.03273)),
        Link(0.04, 0.07050, 0.02308, 1.169e-5, offset=0.00916).on(GROUND, a),
        Link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7),
        Link(0.04, 0.05498, 0.01228, 1.912e-5, offset=-0.00449).on(GROUND, a),
        Link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7),
    ]
    spring = PointSpring(At(2, 0.018, 0.02), (0.014, 0.072), stiffness=4530.0, length=0.07785)
    loads = [Gravity(0.0), JointTorque((0.033, *[0.0] * 6)), spring]
    beta, gamma, phi = -0.061713890014276450, 0.45527981916307038, 0.22266839016588588
    delta, epsilon = 0.48736497954384255, 1.2305474445498212
    quarter = math.pi / 2
    start = [beta + quarter, beta - quarter, gamma, delta + quarter, phi + delta, epsilon, epsilon - phi + quarter]
    return Mechanism(links, loads, [Pin(At(1), At(i)) for i in (2, 4, 6)]), np.array(start)


def many(model: Mechanism, state: np.ndarray, count: int) -> float:
    """Return the CPU time in s of one of many evaluations in a compiled loop."""
    system = nlink.formulate(model)
    states = np.zeros((count, system.full_size))
    states[:, : len(state)] = state
    out, forces, w = np.empty_like(states), np.zeros((count, 2)), system.scratch()
    return best(lambda: rates_many(np.zeros(count), states, system.parameters, out, forces, w), 3) / count


def formulating(loops: int) -> float:
    """Return the CPU time in s in which a ladder that was not seen before becomes a system."""
    model = ladder(loops)
    other = Mechanism([Link.rod(1.0, 2.0).on(GROUND, (0.0, 0.0)), *model.links[1:]], pins=model.pins)
    begin = time.process_time()
    nlink.formulate(other)
    return time.process_time() - begin


def loops() -> None:
    print("\nOne evaluation of a ladder of loops (IFToMM A02), its state being closed in it, ns a body (goal: 25 for any length)")
    print(f"{'loops':>6} {'away':>9} {'beside a dead position by 0.05 rad':>36} {'formulate, s':>14}")
    for count in LADDERS:
        bodies = 2 * count + 1
        away = many(ladder(count), leaning(count, 2.4), max(2, 50_000 // bodies))
        beside = many(ladder(count), leaning(count, math.pi / 2 + 0.05), max(1, 5_000 // bodies))
        print(f"{count:>6} {1e9 * away / bodies:>9.0f} {1e9 * beside / bodies:>36.0f} {formulating(count):>14.2f}")
    whole_run()
    squeezed()


def whole_run() -> None:
    """Print what 20 s of A02 with 40 loops take."""
    start, system = leaning(40, math.pi), nlink.formulate(ladder(40))
    theta, omega = np.split(start, 2)

    def run() -> nlink.Run:
        return nlink.simulate(system, theta, omega, t_end=20.0, save=20.0, rtol=1e-9, atol=1e-9)

    took, done = best(run, 3), run()
    passed, energy = sum(event.name == "dead position" for event in done.events), float(np.abs(done.energy().residual).max())
    print(f"A02 with 40 loops, 20 s at 1e-9: {took:.3f} s of processor time (goal 0.2); {passed} dead positions, {energy:.1e} J")


def squeezed() -> None:
    """Print errors and times of Andrews' mechanism."""
    mechanism, angles = squeezer()
    system = nlink.formulate(mechanism)

    def end(tolerance: float) -> np.ndarray:
        return nlink.simulate(system, angles, t_end=0.03, save=0.03, rtol=tolerance, atol=tolerance).theta[-1]

    exact = end(1e-13)
    print("Andrews' mechanism, 0.03 s: error of the angles, ms of processor time (goal 10 ms at 1e-8)")
    for tolerance in (1e-5, 1e-7, 1e-8):
        took = best(lambda tol=tolerance: end(tol), 5)
        print(f"{'nlink':>8} {np.abs(end(tolerance) - exact).max():>9.0e} {1e3 * took:>8.1f}")
    for error, seconds in EXUDYN:
        print(f"{'Exudyn*':>8} {error:>9.0e} {1e3 * seconds:>8.0f}")
    print("(* as measured earlier, time by the clock)")


def main() -> None:
    trees()
    loops()


if __name__ == "__main__":
    main()
