"""The GPU: agreement with the processor, and members a second; needs an NVIDIA GPU. Run with PYTHONPATH=src."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import nlink
from nlink.compiled.cuda import usable_cuda
from nlink.ensemble import gpu

usable_cuda()
from nlink.ensemble import gpu_kernels


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
        self.kernel, self.overloads = kernel, kernel.overloads

    def __getitem__(self, shape: Any) -> Any:
        def run(*given: Any) -> None:
            cuda = usable_cuda()
            cuda.synchronize()
            begun = time.perf_counter()
            self.kernel[shape](*given)
            cuda.synchronize()
            Timed.seconds += time.perf_counter() - begun

        return run


def timed(call: Any) -> tuple[float, float]:
    """Return the seconds of a call, and of the kernels in it when all members go to the card at once; the best of five each."""
    whole, kernels = [], []
    for _ in range(5):
        begun = time.perf_counter()
        call()
        whole.append(time.perf_counter() - begun)
    made, most = {name: getattr(gpu_kernels, name) for name in KERNELS}, gpu.MOST
    try:
        gpu.MOST = 1 << 24
        for name, kernel in made.items():
            setattr(gpu_kernels, name, lambda *given, kernel=kernel: Timed(kernel(*given)))
        for _ in range(5):
            Timed.seconds = 0.0
            call()
            kernels.append(Timed.seconds)
    finally:
        gpu.MOST = most
        for name, kernel in made.items():
            setattr(gpu_kernels, name, kernel)
    return min(whole), min(kernels)


def speed(n: int, members: int, method: Any, t_end: float = 10.0) -> None:
    chain, theta = nlink.Chain.uniform(n), starts(members, n)
    nlink.simulate_many(chain, theta[:1024], t_end=0.1, integrator=method, backend=nlink.Cuda())
    many = nlink.simulate_many(chain, theta, t_end=t_end, integrator=method, backend=nlink.Cuda())
    wall, kernel = timed(lambda: nlink.simulate_many(chain, theta, t_end=t_end, integrator=method, backend=nlink.Cuda()))
    early = nlink.simulate_many(chain, theta[:512], t_end=2.0, integrator=method, backend=nlink.Cuda())
    exact = nlink.simulate_many(chain, theta[:512], t_end=2.0, integrator=nlink.Taylor(1e-17, order=22))
    error = np.median(np.abs(early.theta.values - exact.theta.values).max(1))
    rate = f"{members / kernel / 1e6:.4g} million/s in the kernel, {members / wall / 1e6:.4g} in all, error at 2 s {error:.1e}"
    print(f"N = {n}, {method}: {rate}, {many.steps.values.mean():.0f} steps", flush=True)


def plane(size: int) -> np.ndarray:
    side = np.linspace(-np.pi, np.pi, size)
    return np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)


def a_map(name: str, keep: Any, size: int = 1000) -> None:
    chain, t_end = nlink.Chain.uniform(2), 40 / 9.81**0.5
    nlink.simulate_many(chain, plane(10), t_end=t_end, keep=keep, backend=nlink.Cuda())
    wall, kernel = timed(lambda: nlink.simulate_many(chain, plane(size), t_end=t_end, keep=keep, backend=nlink.Cuda()))
    print(f"{name} map {size} x {size} to 40 sqrt(l/g): {wall:.3f} s, {kernel:.3f} s in the kernels", flush=True)


def peer(n: int, members: int, error: float, t_end: float = 10.0) -> None:
    """Measure diffrax on the same device: each of its methods at the loosest tolerance with at most this error at 2 s."""
    try:
        from peers.diffrax_model import many
    except ImportError:
        print("diffrax is not installed")
        return
    theta = starts(members, n)
    exact = nlink.simulate_many(nlink.Chain.uniform(n), theta[:512], t_end=2.0, integrator=nlink.Taylor(1e-17, order=22))
    for method in PEER_METHODS:
        tolerance, apart = 1e-7, np.inf
        while apart > error and tolerance > 1e-13:
            tolerance /= 10.0**0.5
            apart = float(np.median(np.abs(many(n, theta[:512], 2.0, tolerance, method)() - exact.theta.values).max(1)))
        work, spent = many(n, theta, t_end, tolerance, method), []
        for _ in range(3):
            begun = time.perf_counter()
            work()
            spent.append(time.perf_counter() - begun)
        rate = members / min(spent) / 1e6
        print(f"N = {n}, diffrax {method} at {tolerance:.1e}: {rate:.4g} million/s in all, error at 2 s {apart:.1e}", flush=True)


def main() -> None:
    usable_cuda()
    if "--quick" not in sys.argv:
        agreement()
    for n, members, method in CASES:
        speed(n, members, method)
    a_map("flip", nlink.FlipTime())
    a_map("FTLE", nlink.FTLE())
    peer(2, 1 << 20, 1e-8)


KERNELS = ("kernel_for",)
CASES = (
    (2, 1 << 20, nlink.Taylor(4e-10, order=15)),
    (3, 1 << 19, nlink.Taylor(3e-10, order=12)),
    (3, 1 << 19, nlink.DOP853(3e-9, 3e-9)),
    (5, 1 << 18, nlink.DOP853(6e-9, 6e-9)),
    (8, 1 << 17, nlink.DOP853(1e-8, 1e-8)),
    (15, 1 << 16, nlink.DOP853(1e-8, 1e-8)),
)
"""Links, members, and a method whose error is that of the fifth-order pair of Dormand and Prince at 1e-9 or less: 3e-9 at N = 2,
6.7e-8 at N = 5, 2.0e-6 at N = 15, all at 2 s."""
PEER_METHODS = ("Dopri5", "Tsit5", "Dopri8")

if __name__ == "__main__":
    main()
