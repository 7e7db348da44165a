"""Mechanisms: what an evaluation of the accelerations of a tree costs a body, alone, side by side, and beside Pinocchio; part of
`make bench`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from main_road import best, repeat

import nlink
from nlink import GROUND, Link, Mechanism, Slider

SIZES = (5, 15, 63, 255, 1000)
WORK = 1_000_000
STATES = 512
EARLIER = {5: 399.0, 15: 339.0, 63: 311.0, 255: 306.0}
"""ns a body of Pinocchio's aba on trees, where it is not installed: measured on the same kind of machine, 2026-11-17."""


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


def main() -> None:
    trees()


if __name__ == "__main__":
    main()
