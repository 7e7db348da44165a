"""Closed loops: what the pin costs an evaluation, and a crank-rocker beside IDA (scikit-sundae, maximal form) and Exudyn at matched
error; part of `make bench`. Also how far each gets through the dead positions of the IFToMM four-bar.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import warnings
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from main_road import best, repeat
from numba import njit

import nlink
from nlink.formulations.loop import OM, TH, finish, sweep_loop, turn_from
from nlink.mechanics.loop_closure import assemble, zigzag

CRANK = nlink.Chain([nlink.Link.rod(x, x) for x in (1.0, 3.0, 2.5)], [nlink.Gravity(9.81)], pin=(2.5, 0.0))
CRANK_START = [3.0, 2.0937994689477035, -0.09618392000485854], [-2.0, 0.03716100805322943, -0.7732946506211682]
FOUR = nlink.Chain.uniform(3, pin=(1.0, 0.0))
FOUR_START = [math.pi, math.pi / 2, 0.0], [-1.0, 0.0, -1.0]


@njit(fastmath={"contract"}, error_model="numpy")
def _accelerations(p, out, w, count):
    """Accelerations of a state that is closed already."""
    chain = p.chain
    for _ in range(count):
        w[TH, 0] += 1e-14
        turn_from(chain.pin[3], chain, w)
        x, y, sxx, sxy, syy = sweep_loop(chain, w, True, chain.g, 0.0)
        finish(chain, out, w, chain.g - x, -y, sxx, sxy, syy, 1.0, 0.0, 1.0, False)


def evaluations() -> None:
    print("\nOne evaluation of a closed chain in `recursive`, as multiples of the open one (goals 2.5x, 4x)")
    print(f"{'N':>6} {'open, ns':>10} {'accelerations':>14} {'with closing the state':>24}")
    for n in (3, 10, 100):
        chain = nlink.Chain.uniform(n, pin=(1.0 if n == 3 else 0.6 * n, 0.0))
        at = assemble(chain, zigzag(chain), 0.3 * np.cos(np.arange(n)))
        opened, closed = nlink.formulate(nlink.Chain.uniform(n)), nlink.formulate(chain)
        y, count = np.zeros(closed.full_size), 400_000 // n
        y[: 2 * n] = np.concatenate([at.theta, at.omega])
        w, out = closed.scratch(), np.empty_like(y)
        w[TH], w[OM] = at.theta, at.omega
        base = best(lambda y=y, s=opened, n=n, c=count: repeat(y[: 2 * n].copy(), s.parameters, np.empty(2 * n), s.scratch(), c))
        bare = best(lambda s=closed, out=out, w=w, c=count: _accelerations(s.parameters, out, w, c))
        whole = best(lambda y=y, s=closed, out=out, w=w, c=count: repeat(y.copy(), s.parameters, out, w, c))
        print(f"{n:>6} {1e9 * base / count:>10.0f} {bare / base:>13.2f}x {whole / base:>23.2f}x")


def nlink_run(chain: nlink.Chain, start: Any, t_end: float, tolerance: float) -> np.ndarray:
    system = nlink.formulate(chain)
    run = nlink.simulate(system, *start, t_end=t_end, save=(t_end,), rtol=tolerance, atol=tolerance, strict=False)
    return run.theta[-1] if run.status.ok else np.full(chain.n, math.nan)


def ida_run(chain: nlink.Chain, start: Any, t_end: float, tolerance: float) -> np.ndarray:
    """The maximal form (x_G, y_G, theta of each link) with hinges and pin as constraints, stabilised by Gear, Gupta, Leimkuhler."""
    import sksundae as sun

    n = chain.n
    system = nlink.formulate(nlink.Chain(chain.links, chain.loads), "maximal")
    state = system.encode(*start)
    mass = np.column_stack([chain.mass, chain.mass, chain.inertia]).ravel()
    force = np.zeros(3 * n)
    force[1::3] = -chain.mass * chain.g
    args = n, chain.length, chain.com, np.array(chain.pin), mass, force
    k = 2 * (n + 1)

    def residual(_t: float, z: np.ndarray, rate: np.ndarray, out: np.ndarray) -> None:
        ggl(z, rate, out, *args)

    z, rate = np.zeros(6 * n + 2 * k), np.zeros(6 * n + 2 * k)
    z[: 6 * n], rate[: 3 * n] = state, state[3 * n :]
    atol = np.full(len(z), tolerance)
    atol[6 * n :] = 1e100
    solver = sun.ida.IDA(
        residual, rtol=tolerance, atol=atol, algebraic_idx=np.arange(6 * n, len(z)), calc_initcond="yp0", calc_init_dt=1e-6
    )
    solution = solver.solve(np.array([0.0, t_end]), z, rate)
    return solution.y[-1][2 : 3 * n : 3] if solution.success else np.full(n, math.nan)


@njit(error_model="numpy")
def ggl(z, rate, out, n, length, com, pin, mass, force):
    k = 2 * (n + 1)
    q, v, lam, mu = z[: 3 * n], z[3 * n : 6 * n], z[6 * n : 6 * n + k], z[6 * n + k :]
    for i in range(3 * n):
        out[i] = rate[i] - v[i]
        out[3 * n + i] = mass[i] * rate[3 * n + i] - force[i]
    for j in range(n + 1):
        gapx = gapy = fastx = fasty = 0.0
        for side in range(2):
            i = j - 1 + side
            if i < 0 or i == n:
                continue
            s, c = math.sin(q[3 * i + 2]), math.cos(q[3 * i + 2])
            arm, sign = (length[i] - com[i], -1.0) if side == 0 else (-com[i], 1.0)
            gapx += sign * (q[3 * i] + arm * s)
            gapy += sign * (q[3 * i + 1] - arm * c)
            fastx += sign * (v[3 * i] + arm * c * v[3 * i + 2])
            fasty += sign * (v[3 * i + 1] + arm * s * v[3 * i + 2])
            for at, x, y in ((0, mu[2 * j], mu[2 * j + 1]), (3 * n, lam[2 * j], lam[2 * j + 1])):
                out[at + 3 * i] += sign * x
                out[at + 3 * i + 1] += sign * y
                out[at + 3 * i + 2] += sign * arm * (c * x + s * y)
        if j == n:
            gapx += pin[0]
            gapy += pin[1]
        out[6 * n + 2 * j], out[6 * n + 2 * j + 1] = fastx, fasty
        out[6 * n + k + 2 * j], out[6 * n + k + 2 * j + 1] = gapx, gapy


def exudyn_run(chain: nlink.Chain, start: Any, t_end: float, step: float) -> np.ndarray:
    """Rigid bodies in the plane with revolute joints, generalised-alpha, index 2."""
    import exudyn as exu
    from exudyn.itemInterface import Force, MarkerBodyPosition, ObjectGround, RevoluteJoint2D, Rigid2D, RigidBody2D

    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(ObjectGround(referencePosition=[0, 0, 0]))
    state = nlink.formulate(nlink.Chain(chain.links, chain.loads), "maximal").encode(*start)
    q, v = state[: 3 * chain.n].reshape(-1, 3), state[3 * chain.n :].reshape(-1, 3)
    before, bodies = system.AddMarker(MarkerBodyPosition(bodyNumber=ground, localPosition=[0, 0, 0])), []
    for i, link in enumerate(chain.links):
        turned = [q[i, 0], q[i, 1], q[i, 2] - math.pi / 2]
        node = system.AddNode(Rigid2D(referenceCoordinates=turned, initialVelocities=list(v[i])))
        body = system.AddObject(RigidBody2D(physicsMass=link.mass, physicsInertia=link.inertia, nodeNumber=node))
        upper, middle, lower = (
            system.AddMarker(MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
            for x in (-link.com, 0.0, link.length - link.com)
        )
        system.AddLoad(Force(markerNumber=middle, loadVector=[0, -link.mass * chain.g, 0]))
        system.AddObject(RevoluteJoint2D(markerNumbers=[before, upper]))
        before = lower
        bodies.append(node)
    end = system.AddMarker(MarkerBodyPosition(bodyNumber=ground, localPosition=[*chain.pin, 0]))
    system.AddObject(RevoluteJoint2D(markerNumbers=[before, end]))
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = round(t_end / step), t_end
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.generalizedAlpha.useIndex2Constraints = True
    settings.timeIntegration.generalizedAlpha.useNewmark = True
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solutionSettings.writeSolutionToFile = settings.solutionSettings.sensorsWriteFileFooter = False
    settings.timeIntegration.verboseMode = 0
    done = system.SolveDynamic(settings)
    found = [system.GetNodeOutput(node, exu.OutputVariableType.Coordinates)[2] + q[k, 2] for k, node in enumerate(bodies)]
    return np.array(found) if done else np.full(chain.n, math.nan)


PEERS: dict[str, tuple[Callable[..., np.ndarray], tuple[float, ...]]] = {
    "nlink": (nlink_run, tuple(10.0**-k for k in range(4, 13))),
    "IDA": (ida_run, tuple(10.0**-k for k in range(4, 13))),
    "Exudyn": (exudyn_run, (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5)),
}


def matched() -> None:
    exact = nlink_run(CRANK, CRANK_START, 10.0, 1e-13)
    print("\nCrank-rocker 1, 3, 2.5 on pivots 2.5 apart, 10 s: CPU ms at the first setting with an angle error below ...")
    print(f"{'error':>8} " + " ".join(f"{name:>22}" for name in PEERS))
    table = {name: _curve(run, settings, exact) for name, (run, settings) in PEERS.items()}
    for error in (1e-4, 1e-6, 1e-8):
        cells, own = [], None
        for name in PEERS:
            hit = next((cost for wrong, cost in table[name] if wrong <= error), None)
            own = hit if name == "nlink" else own
            ratio = f" ({hit / own:.0f}x)" if hit and own and name != "nlink" else ""
            cells.append("not reached" if hit is None else f"{1e3 * hit:.2f}{ratio}")
        print(f"{error:>8.0e} " + " ".join(f"{cell:>22}" for cell in cells))


def _curve(run: Callable[..., np.ndarray], settings: tuple[float, ...], exact: np.ndarray) -> list[tuple[float, float]]:
    out = []
    for setting in settings:
        try:
            wrong = float(np.abs(_quiet(run, CRANK, CRANK_START, 10.0, setting) - exact).max())
        except ImportError:
            return []
        if math.isfinite(wrong):
            out.append((wrong, best(lambda s=setting: _quiet(run, CRANK, CRANK_START, 10.0, s), 3)))
    return out


def dead_positions() -> None:
    print("\nIFToMM four-bar through its dead positions, 6 s (7 passages): position error of the first joint")
    place = np.array([0.2503560563065217, 0.9681538333708367])  # IFToMM A02, one window: Jacobi elliptic functions
    for name, (run, settings) in PEERS.items():
        errors = []
        for setting in settings[-4:]:
            try:
                theta = _quiet(run, FOUR, FOUR_START, 6.0, setting)
            except ImportError:
                break
            errors.append(float(np.abs([math.sin(theta[0]) - place[0], -math.cos(theta[0]) - place[1]]).max()))
        told = ", ".join("stopped" if math.isnan(e) else f"{e:.0e}" for e in errors) or "not installed"
        print(f"{name:>8}: {told}")


def _quiet(run: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(*arguments)


if __name__ == "__main__":
    evaluations()
    matched()
    dead_positions()
