"""The GPU: agreement with the processor, and members a second; needs an NVIDIA GPU. Run with PYTHONPATH=src."""

from __future__ import annotations

import sys
import time

import numpy as np

import nlink
from nlink.ensemble.gpu import found_cuda


def starts(members: int, n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (members, n))


def agreement() -> None:
    keep = (nlink.Final(), nlink.FlipTime(), nlink.EnergyDrift(), nlink.Samples((0.0, 0.5, 1.0)), nlink.Extremes())
    for n in (1, 2, 3, 5, 15):
        chain = nlink.Chain.uniform(n)
        loaded = chain.with_loads(nlink.JointSpring(1.0), nlink.JointDamper(0.1), nlink.JointTorque(nlink.Sine(1.0, 0.5, 0.0)))
        swept = loaded.with_loads(nlink.Drag(0.1), nlink.TipForce(0.3, 0.2), nlink.FollowerForce(0.5))
        for name, each in (("gravity", chain), ("loaded", loaded), ("swept", swept)):
            cpu, gpu = (
                nlink.simulate_many(each, starts(200, n), t_end=1.0, keep=keep, backend=backend)
                for backend in (nlink.Threads(), nlink.Cuda())
            )
            known = [k for k in ("theta", "flip_time", "energy_drift") if np.isfinite(cpu[k].values).any()]
            apart = {k: float(np.nanmax(np.abs(cpu[k].values - gpu[k].values))) for k in known}
            print(f"N = {n}, {name}: " + ", ".join(f"{k} {v:.1e}" for k, v in apart.items()), flush=True)


def speed(n: int, members: int, order: int, tol: float, t_end: float = 10.0) -> None:
    chain, theta = nlink.Chain.uniform(n), starts(members, n)
    method = nlink.Taylor(tol, order=order)
    nlink.simulate_many(chain, theta[:1024], t_end=0.1, integrator=method, backend=nlink.Cuda())
    begun = time.perf_counter()
    many = nlink.simulate_many(chain, theta, t_end=t_end, integrator=method, backend=nlink.Cuda())
    wall = time.perf_counter() - begun
    early = nlink.simulate_many(chain, theta[:512], t_end=2.0, integrator=method, backend=nlink.Cuda())
    exact = nlink.simulate_many(chain, theta[:512], t_end=2.0, integrator=nlink.Taylor(1e-17, order=22))
    error = np.median(np.abs(early.theta.values - exact.theta.values).max(1))
    rate = f"{members / wall / 1e6:.3f} million/s (wall {wall:.2f} s), error at 2 s {error:.1e}"
    print(f"N = {n}, order {order}, tol {tol:g}: {rate}, {many.steps.values.mean():.0f} steps", flush=True)


def main() -> None:
    found_cuda()
    if "--quick" not in sys.argv:
        agreement()
    for n, members, settings in (
        (2, 1 << 20, ((10, 1e-9), (12, 1e-9), (12, 1e-10), (14, 1e-10), (16, 1e-11))),
        (5, 1 << 18, ((10, 1e-9), (12, 1e-10))),
        (15, 1 << 15, ((10, 1e-9), (12, 1e-10))),
    ):
        for order, tol in settings:
            speed(n, members, order, tol)


if __name__ == "__main__":
    main()
