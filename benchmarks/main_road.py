"""The main road's figures as ratios, in one run on this machine: `make bench`.

whole trajectories   against scipy's solve_ivp(DOP853) on the same compiled right-hand side at the same tolerance
what is kept         saved points, flips and files against `flow`; long runs against short ones
one evaluation       against Pinocchio's articulated-body algorithm (pin.aba)
cost per link        N = 3 to 10,000
the command          help, a run with and without compiled kernels, a GIF
"""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numba import njit

import nlink
from nlink.mechanics.contract import rhs
from nlink.mechanics.equations import rates

TOLERANCE = 1e-9
COMMAND = Path(sys.executable).with_name("nlink")


def best(work: Callable[[], Any], repeats: int = 7) -> float:
    """Return the best CPU time in s of several: what else the machine does counts less than on the clock."""
    work()
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def start(n: int) -> np.ndarray:
    """Return the zig-zag start for short chains, 45 degrees for long ones."""
    return np.where(np.arange(n) % 2, math.pi, math.pi / 2) if n <= 15 else np.full(n, math.pi / 4)


def trajectories() -> None:
    from scipy.integrate import solve_ivp

    print("\nWhole trajectories at rtol = atol = 1e-9, CPU ms (best), one thread; zig-zag 10 s for N <= 15, 45 degrees 2 s above")
    print(f"{'N':>5} {'saved':>8} {'nlink':>9} {'scipy':>9} {'ratio':>7} {'goal':>5}")
    for n, goal in ((2, 20), (3, None), (5, None), (15, 8), (100, None), (1000, 1.5)):
        t_end = 10.0 if n <= 15 else 2.0
        system, theta = nlink.formulate(nlink.Chain.uniform(n)), start(n)
        p, w, y0 = system.parameters, system.scratch(), np.concatenate([theta, np.zeros(n)])

        def derivative(t: float, y: np.ndarray, p: Any = p, w: np.ndarray = w) -> np.ndarray:
            out = np.empty_like(y)
            rates(t, y, p, out, w)
            return out

        grid = np.linspace(0, t_end, round(100 * t_end) + 1)
        for label, save, points in (("the end", (t_end,), None), ("100 Hz", 0.01, grid)):
            ours = best(
                lambda s=system, a=theta, e=t_end, k=save: nlink.simulate(s, a, t_end=e, save=k, rtol=TOLERANCE, atol=TOLERANCE)
            )
            theirs = best(
                lambda f=derivative, e=t_end, y=y0, g=points: solve_ivp(f, (0, e), y, "DOP853", g, rtol=TOLERANCE, atol=TOLERANCE),
                3,
            )
            aim = f"{goal}x" if goal else ""
            print(f"{n:>5} {label:>8} {1e3 * ours:>9.2f} {1e3 * theirs:>9.1f} {theirs / ours:>6.1f}x {aim:>5}")


def recorded() -> None:
    """What it costs to keep a run: multiples of `flow`, which keeps nothing, of the same run."""
    print("\nOne run of 10 s, CPU ms: flow; and as multiples of it simulate, which saves ... (goals in brackets)")
    print(f"{'N':>5} {'flow':>8} {'the end':>14} {'100 Hz':>14} {'and flips':>14} {'flips to none':>14}")
    for n, goals in ((2, (1.5, 2.0, 2.5)), (5, (None,) * 3), (15, (1.1, 1.2, 1.3))):
        chain, theta = nlink.Chain.uniform(n), start(n)
        system, motion = nlink.formulate(chain), nlink.flow(chain)
        kinds: tuple[dict[str, Any], ...] = ({"save": (10.0,)}, {}, {"events": nlink.Flip()})
        least = [best(lambda m=motion, a=theta: m(a, t=10.0), 40)]
        least += [best(lambda s=system, a=theta, k=kind: nlink.simulate(s, a, t_end=10.0, **k), 40) for kind in kinds]
        told = [f"{each / least[0]:.1f}x" + (f" ({goal}x)" if goal else "") for each, goal in zip(least[1:], goals, strict=True)]
        print(f"{n:>5} {1e3 * least[0]:>8.3f} {told[0]:>14} {told[1]:>14} {told[2]:>14} {least[3] / least[2]:>8.2f}x (1.2x)")


def to_files() -> None:
    """What a file costs, and what a long run does."""
    print("\nFive links, CPU ms: the end in memory, and as multiples of it 100 Hz in memory, the end and 100 Hz in a file (1.5x)")
    with tempfile.TemporaryDirectory() as folder:
        system, theta, file = nlink.formulate(nlink.Chain.uniform(5)), start(5), Path(folder) / "run.nc"
        for t_end in (20.0, 400.0, 4000.0):
            kinds: tuple[dict[str, Any], ...] = ({"save": (t_end,)}, {}, {"save": (t_end,), "file": file}, {"file": file})
            end, *rest = (best(lambda k=kind, t=t_end: nlink.simulate(system, theta, t_end=t, **k), 3) for kind in kinds)
            print(f"{t_end:>8g} s {1e3 * end:>9.2f} " + " ".join(f"{each / end:>8.2f}x" for each in rest))
        print("Two links into a file, with flips: us a step, as multiples of the run of 400 s at the same interval (goal 1.1x)")
        for save, spans in ((0.01, (400.0, 20_000.0)), (1.0, (400.0, 1e6))):
            each = []
            for t_end in spans:
                begun = time.process_time()
                run = nlink.simulate(nlink.Chain.uniform(2), [1.5, 3.0], t_end=t_end, save=save, events=nlink.Flip(), file=file)
                each.append(1e6 * (time.process_time() - begun) / run.stats.steps)
            print(f"save = {save:g}: {each[0]:.2f} us to {spans[0]:g} s, {each[1] / each[0]:.2f}x to {spans[1]:g} s")


@njit
def repeat(y, p, out, w, count):
    for _ in range(count):
        y[0] += 1e-12
        rhs(0.0, y, p, out, w)


def evaluations() -> None:
    print("\nOne evaluation of the accelerations, microseconds")
    print(f"{'N':>6} {'in a compiled loop':>19} {'from Python':>12} {'pin.aba':>9} {'ratio':>7} {'goal':>5} {'ns a link':>10}")
    for n in (3, 15, 64, 256, 1000, 10000):
        system = nlink.formulate(nlink.Chain.uniform(n))
        p, w, out = system.parameters, system.scratch(), np.empty(2 * n)
        y = np.random.default_rng(1).normal(size=2 * n)
        count = max(20, 1_000_000 // n)
        loop = best(lambda y=y, p=p, out=out, w=w, k=count: repeat(y, p, out, w, k)) / count
        calls = range(max(10, 20_000 // n))
        code = system.equations  # what a System called from Python evaluates
        python = best(lambda y=y, p=code, out=out, w=w, c=calls: [rates(0.0, y, p, out, w) for _ in c]) / len(calls)
        peer = _pinocchio(n, y) if n <= 256 else None
        their = f"{1e6 * peer:.2f}" if peer else ""
        ratio = f"{peer / python:.1f}x" if peer else ""
        goal = "10x" if n == 256 else ""
        print(f"{n:>6} {1e6 * loop:>19.3f} {1e6 * python:>12.2f} {their:>9} {ratio:>7} {goal:>5} {1e9 * loop / n:>10.1f}")
    print("(ratio: both called from Python)")


def _pinocchio(n: int, y: np.ndarray) -> float | None:
    try:
        import pinocchio as pin
    except ImportError:
        return None
    model = pin.Model()
    joint = 0
    for i in range(n):
        place = pin.SE3(np.eye(3), np.array([0.0, -1.0 if i else 0.0, 0.0]))
        joint = model.addJoint(joint, pin.JointModelRZ(), place, f"j{i}")
        model.appendBodyToJoint(
            joint, pin.Inertia(1.0, np.array([0, -0.5, 0.0]), np.diag([1 / 12, 1e-9, 1 / 12])), pin.SE3.Identity()
        )
    model.gravity.linear = np.array([0, -9.81, 0.0])
    data, zero = model.createData(), np.zeros(n)
    q, v = np.diff(y[:n], prepend=0.0), np.diff(y[n:], prepend=0.0)
    relative = pin.aba(model, data, q, v, zero)
    exact = nlink.formulate(nlink.Chain.uniform(n)).accelerations(y[:n], y[n:])
    assert np.allclose(np.cumsum(relative), exact, rtol=1e-6, atol=1e-6 * np.abs(exact).max()), "the peer computes another motion"
    calls = range(max(5, 5000 // n))
    return best(lambda: [pin.aba(model, data, q, v, zero) for _ in calls]) / len(calls)


def commands() -> None:
    print("\nThe command, s")
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            ("nlink --help", ["--help"], {}, 0.7),
            (
                "nlink run nice-3, first ever (empty cache)",
                ["run", "nice-3", "-o", "a.nc"],
                {"NLINK_CACHE_DIR": f"{folder}/cold"},
                20.0,
            ),
            ("nlink run nice-3, second process", ["run", "nice-3", "-o", "b.nc"], {"NLINK_CACHE_DIR": f"{folder}/cold"}, 2.5),
            ("nlink run chaotic-5", ["run", "chaotic-5", "-o", "c.nc"], {"NLINK_CACHE_DIR": f"{folder}/cold"}, None),
            ("nlink animate, 20 s at 50 frames a second", ["animate", "c.nc", "-o", "c.gif"], {}, 15.0),
        ]
        for label, arguments, extra, goal in rows:
            begun = time.perf_counter()
            subprocess.run([COMMAND, *arguments], cwd=folder, env=os.environ | extra, check=True, capture_output=True)
            print(f"{label:<45} {time.perf_counter() - begun:>6.2f}   {f'goal {goal:g}' if goal else ''}")


if __name__ == "__main__":
    print(f"nlink {nlink.__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores")
    trajectories()
    recorded()
    to_files()
    evaluations()
    commands()
