"""The GPU: agreement with the processor, and members a second; needs an NVIDIA GPU. Run with PYTHONPATH=src."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import nlink
from nlink.ensemble.gpu import found_cuda


def starts(members: int, n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (members, n))


def agreement() -> None:
    keep = (nlink.Final(), nlink.FlipTime(), nlink.EnergyDrift(), nlink.Samples((0.0, 0.5, 1.0)))
    for n in (1, 2, 3, 5, 15):
        chain = nlink.Chain.uniform(n)
        loaded = chain.with_loads(nlink.JointSpring(1.0), nlink.JointDamper(0.1), nlink.JointTorque(nlink.Sine(1.0, 0.5, 0.0)))
        swept = loaded.with_loads(nlink.Drag(0.1), nlink.TipForce(0.3, 0.2), nlink.FollowerForce(0.5))
        table = nlink.JointTorque(nlink.Table((0.0, 0.5, 1.0), (0.0, 1.0, 0.0)))
        rough = chain.with_loads(nlink.Drag(0.1, 0.2), table)
        for name, each in (("gravity", chain), ("loaded", loaded), ("swept", swept), ("table, quadratic drag", rough)):
            cpu, gpu = (
                nlink.simulate_many(each, starts(200, n), t_end=1.0, keep=keep, backend=backend)
                for backend in (nlink.Threads(), nlink.Cuda())
            )
            known = [k for k in ("theta", "flip_time", "energy_drift") if np.isfinite(cpu[k].values).any()]
            apart = {k: float(np.nanmax(np.abs(cpu[k].values - gpu[k].values))) for k in known}
            print(f"N = {n}, {name}: " + ", ".join(f"{k} {v:.1e}" for k, v in apart.items()), flush=True)


class Timed:
    """A kernel that notes how long it runs."""

    seconds = 0.0

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, shape: Any) -> Any:
        def run(*given: Any) -> None:
            cuda = found_cuda()
            cuda.synchronize()
            begun = time.perf_counter()
            self.kernel[shape](*given)
            cuda.synchronize()
            Timed.seconds = time.perf_counter() - begun

        return run


def speed(n: int, members: int, method: Any, t_end: float = 10.0) -> None:
    chain, theta = nlink.Chain.uniform(n), starts(members, n)
    nlink.simulate_many(chain, theta[:1024], t_end=0.1, integrator=method, backend=nlink.Cuda())
    begun = time.perf_counter()
    many = nlink.simulate_many(chain, theta, t_end=t_end, integrator=method, backend=nlink.Cuda())
    wall, kernel = time.perf_counter() - begun, Timed.seconds
    early = nlink.simulate_many(chain, theta[:512], t_end=2.0, integrator=method, backend=nlink.Cuda())
    exact = nlink.simulate_many(chain, theta[:512], t_end=2.0, integrator=nlink.Taylor(1e-17, order=22))
    error = np.median(np.abs(early.theta.values - exact.theta.values).max(1))
    rate = f"{members / kernel / 1e6:.4g} million/s in the kernel, {members / wall / 1e6:.4g} in all, error at 2 s {error:.1e}"
    print(f"N = {n}, {method}: {rate}, {many.steps.values.mean():.0f} steps", flush=True)


def flip_map(size: int = 1000) -> None:
    side = np.linspace(-np.pi, np.pi, size)
    theta = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    for _ in range(2):
        begun = time.perf_counter()
        nlink.simulate_many(nlink.Chain.uniform(2), theta, t_end=40 / 9.81**0.5, keep=nlink.FlipTime(), backend=nlink.Cuda())
    print(f"flip map {size} x {size} to 40 sqrt(l/g): {time.perf_counter() - begun:.3f} s, {Timed.seconds:.3f} s in the kernel")


def main() -> None:
    found_cuda()
    if "--quick" not in sys.argv:
        agreement()
    from nlink.ensemble import gpu_kernels

    for name in ("by_series", "by_stages"):
        made = getattr(gpu_kernels, name)
        setattr(gpu_kernels, name, lambda *given, made=made: Timed(made(*given)))
    for n, members, method in CASES:
        speed(n, members, method)
    flip_map()


CASES = (
    (2, 1 << 20, nlink.Taylor(5e-10, order=14)),
    (3, 1 << 19, nlink.Taylor(3e-10, order=12)),
    (3, 1 << 19, nlink.DOP853(3e-9, 3e-9)),
    (5, 1 << 18, nlink.DOP853(6e-9, 6e-9)),
    (8, 1 << 17, nlink.DOP853(1e-8, 1e-8)),
    (15, 1 << 16, nlink.DOP853(1e-8, 1e-8)),
)
"""Links, members, and a method whose error is that of the fifth-order pair of Dormand and Prince at 1e-9 or less: 3e-9 at N = 2,
6.7e-8 at N = 5, 2.0e-6 at N = 15, all at 2 s."""


if __name__ == "__main__":
    main()
