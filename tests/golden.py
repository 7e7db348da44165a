"""The net: about a hundred results of every kind, kept as values in tests/data/golden.json.

tests/test_golden.py holds the package against the values, to the digits that differ between processors. For a change that must not
move a bit, compare on one machine:

    PYTHONPATH=tests python -m golden before.json     writes the hashes, if there is no such file
    PYTHONPATH=tests python -m golden before.json     compares with them, if there is
    PYTHONPATH=tests python -m golden --record        writes the values anew: for a change of results that is meant
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from uncompiled import bodies, load_cases

import nlink
from nlink import Chain, Extremes, Final, FlipTime, Gravity, JointTorque, Reducer, Samples, Sine, Strobe, Threads

VALUES = Path(__file__).parent / "data" / "golden.json"
MOST = 12
"""Numbers of each array that are kept."""
Arrays = dict[str, np.ndarray]
INTEGRATORS = {
    "Taylor": "Taylor(tol=1e-12)",
    "Taylor of order 9": "Taylor(tol=1e-8, order=9)",
    "DOP853": "DOP853(rtol=1e-10, atol=1e-10)",
    "RK45": "RK45(rtol=1e-9, atol=1e-9)",
    "RK4": "RK4(step=0.001)",
    "Gauss": "Gauss(step=0.005)",
    "Radau": "Scipy(method='Radau', rtol=1e-8, atol=1e-8)",
}
CONSTRAINTS = ("Unstabilized()", "Baumgarte()", "MultiplierFilter()", "Penalty()", "AugmentedLagrangian()", "Projection()")
FOUR_BAR = {"pin": (1.0, 0.0)}
CLOSED = [3.1, 1.6, 0.03]


def loaded(n: int, name: str) -> Chain:
    return Chain(bodies(n)[0], [Gravity(9.81), *load_cases(n)[name]])


def _add(memory: np.ndarray, t: float, theta: np.ndarray, omega: np.ndarray) -> None:
    memory[0] += theta[0] * omega[0]


def columns(run: nlink.Run) -> Arrays:
    """Return what a run holds."""
    found = {name: getattr(run, name) for name in ("t", "theta", "omega", "alpha", "kinetic", "potential", "drift")}
    found |= {f"work of {name}": values for name, values in run.work.items()} | {"events": np.array([e.t for e in run.events])}
    return found if run.pin_force is None else found | {"pin force": run.pin_force}


def simulated(chain: Chain, theta: Any = None, omega: Any = None, t_end: float = 0.6, **options: Any) -> Arrays:
    _, angles, rates = bodies(chain.n)
    theta, omega = angles if theta is None else theta, rates if theta is None else omega
    return columns(nlink.simulate(chain, theta, omega, t_end=t_end, save=0.1, **options))


def many(chain: Chain, keep: Any, members: int = 9, closed: Any = None, **options: Any) -> Arrays:
    rng = np.random.default_rng(chain.n)
    theta = rng.uniform(-2, 2, (members, chain.n)) if closed is None else np.array([closed] * members)
    omega = rng.uniform(-1, 1, (members, chain.n)) if closed is None else np.zeros((members, chain.n))
    found = nlink.simulate_many(chain, theta, omega, t_end=0.8, keep=keep, backend=Threads(1), **options)
    return {str(name): found[name].values for name in found}


def runs() -> Iterator[tuple[str, Callable[[], Arrays]]]:
    for name in load_cases(2):
        yield f"simulate: {name}", lambda name=name: simulated(loaded(2, name))
    for n in (1, 3, 6, 9):
        yield f"simulate: {n} links", lambda n=n: simulated(Chain(bodies(n)[0], [Gravity(9.81)]))
    for name, method in INTEGRATORS.items():
        yield f"simulate: {name}", lambda method=method: simulated(loaded(2, "none"), integrator=method)
        if "Gauss" not in name:
            yield f"simulate: all loads by {name}", lambda method=method: simulated(loaded(2, "all"), integrator=method)
    for form in nlink.FORMULATIONS:
        chain = Chain.uniform(2) if form == "linear" else loaded(2, "spring")
        yield f"simulate: {form}", lambda form=form, chain=chain: simulated(chain, formulation=form)
    for kind in ("Maximal", "Natural"):
        for each in CONSTRAINTS:
            form = f"{kind}(constraints={each})"
            yield f"simulate: {form}", lambda form=form: simulated(loaded(2, "joint damper"), formulation=form)
    for form in ("recursive", "momentum", "maximal", "natural"):
        chain = Chain.uniform(3, **FOUR_BAR)
        yield f"simulate: four-bar by {form}", lambda form=form, chain=chain: simulated(chain, CLOSED, formulation=form)
    yield "simulate: backwards", lambda: simulated(loaded(2, "sine"), t_end=-0.6)
    yield "simulate: a Python torque", lambda: simulated(Chain.uniform(2).with_loads(JointTorque(lambda t: [np.sin(t), t])))
    yield "simulate: flips", lambda: simulated(Chain.uniform(2), [3.0, 3.0], [2.0, 1.0], t_end=2.0, events=[nlink.Flip()])
    yield "flow", lambda: {"state": np.concatenate(nlink.flow(loaded(3, "none"))(*bodies(3)[1:], 0.7))}


def ensembles() -> Iterator[tuple[str, Callable[[], Arrays]]]:
    outputs: dict[str, Any] = {
        "Final": (Final(),),
        "Samples": (Samples((0.2, 0.5)),),
        "FlipTime": (FlipTime(),),
        "EnergyDrift": (nlink.EnergyDrift(),),
        "FTLE": (nlink.FTLE(),),
        "Extremes": (Extremes(),),
        "Reducer": (Reducer("sum", 1, _add),),
    }
    for name, keep in outputs.items():
        yield f"simulate_many: {name}", lambda keep=keep: many(Chain.uniform(2), keep)
        if name != "Reducer":  # compiled anew in each process
            yield f"simulate_many: {name} by DOP853", lambda keep=keep: many(Chain.uniform(3), keep, integrator="DOP853")
        yield f"simulate_many: {name}, one by one", lambda keep=keep: many(Chain.uniform(3, **FOUR_BAR), keep, closed=CLOSED)
    for name in ("spring", "sine", "drag", "quadratic drag", "follower", "all"):
        yield f"simulate_many: {name}", lambda name=name: many(loaded(2, name), (Final(), nlink.EnergyDrift()))
    varied = {"length[1]": "mass[2]", "gravity": "joint_torque.amplitude[1]", "joint_spring.stiffness[1]": "drag.linear[2]"}
    for pair in varied.items():
        given = {key: np.linspace(1.0, 2.0, 9) for key in pair}
        chain = Chain.uniform(2).with_loads(nlink.JointSpring(1.0), nlink.Drag(0.1), JointTorque(Sine(1.0, 0.7)))
        yield f"vary: {', '.join(pair)}", lambda given=given, chain=chain: many(chain, (Final(),), vary=given)
        yield (
            f"vary by RK45: {', '.join(pair)}",
            lambda given=given, chain=chain: many(chain, (Final(),), vary=given, integrator="RK45"),
        )


def analyses() -> Iterator[tuple[str, Callable[[], Arrays]]]:
    two, theta, omega = Chain.uniform(2), [1.0, 0.5], [0.0, 0.3]
    yield "lyapunov", lambda: {"exponents": nlink.lyapunov(two, theta, omega, t_end=5.0).exponents}
    yield "ftle", lambda: {"exponents": np.atleast_1d(nlink.ftle(two, theta, omega, t=2.0).exponent)}
    yield "poincare", lambda: {"theta": nlink.poincare(two, theta, omega, t_end=5.0).theta}
    driven = nlink.preset("driven-1")
    strobe = Strobe(2 / 3 / (2 * np.pi))
    yield "strobe", lambda: {"theta": nlink.poincare(driven.chain, driven.theta, t_end=40.0, section=strobe).theta}
    yield "linearize", lambda: {"eigenvalues": np.sort_complex(nlink.linearize(loaded(3, "spring"), np.zeros(3)).eigenvalues)}
    yield "modes", lambda: {"frequencies": np.array([mode.frequency for mode in nlink.modes(Chain.uniform(4))])}
    yield (
        "modes of a four-bar",
        lambda: {"frequencies": np.array([mode.frequency for mode in nlink.modes(nlink.preset("four-bar").chain)])},
    )
    yield "equilibria", lambda: {"theta": np.array([each.theta for each in nlink.equilibria(Chain.uniform(2))])}
    yield "critical load", lambda: {"load": np.array([_critical()])}
    for quantity in ("flip", "ftle"):
        yield f"map: {quantity}", lambda q=quantity: {"values": nlink.chaos_map(two, q, size=(6, 6), t_end=2.0).values}
    yield (
        "trusted until",
        lambda: {"t": np.array([nlink.trusted_until(nlink.simulate(Chain.uniform(3), [2.0, 2.5, 3.0], t_end=8.0))])},
    )
    yield "run file", _from_file


def _critical() -> float:
    scenario = nlink.preset("follower-5")
    found: Any = nlink.critical_load(lambda load: scenario.chain.with_loads(nlink.FollowerForce(load)), (0.1, 60.0))
    return found.load


def _from_file() -> Arrays:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.nc"
        nlink.simulate(Chain.uniform(2), [1.0, 2.0], t_end=1.0, save=0.1, file=path)
        nlink.load(path).resume(2.0, file=path)
        return columns(nlink.load(path))


CASES: dict[str, Callable[[], Arrays]] = {name: case for part in (runs, ensembles, analyses) for name, case in part()}


def kept(found: Arrays) -> dict[str, Any]:
    """Return the last numbers of each array, and its shape."""
    return {name: [list(np.shape(values)), _numbers(values)] for name, values in found.items()}


def _numbers(values: Any) -> list[Any]:
    flat = np.ravel(values)[-MOST:]
    plain = np.stack([flat.real, flat.imag], -1).ravel() if np.iscomplexobj(flat) else flat.astype(float)
    return [float(f"{value:.12g}") if np.isfinite(value) else str(value) for value in plain.tolist()]


def bits(found: Arrays) -> str:
    """Return a hash of all arrays."""
    total = hashlib.sha256()
    for name, values in found.items():
        total.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return total.hexdigest()


def main(words: list[str]) -> int:
    """Record the values, or record or compare the hashes of this machine."""
    if words == ["--record"]:
        VALUES.write_text(json.dumps({name: kept(case()) for name, case in CASES.items()}, indent=0) + "\n")
        return 0
    path, found = Path(words[0]), {name: bits(case()) for name, case in CASES.items()}
    if not path.exists():
        path.write_text(json.dumps(found, indent=0))
        return 0
    before = json.loads(path.read_text())
    changed = [name for name in before if found.get(name) != before[name]]
    print(*changed, f"{len(changed)} of {len(before)} changed", sep="\n")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
