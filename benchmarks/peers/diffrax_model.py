"""diffrax: Dopri8 in JAX on the articulated sweeps, one compilation for all tolerances."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax

jax.config.update("jax_enable_x64", True)

import diffrax as dfx
import jax.numpy as jnp
import numpy as np

from .cases import Case

SETTINGS = (1e-5, 1e-7, 1e-9, 1e-11, 1e-13)


def inward(below: Any, link: Any) -> tuple[Any, Any]:
    """One link on the way to the pivot: its share in the effective mass and force at its upper hinge."""
    xx, xy, yy, bx, by = below
    c, s, square = link
    px, py = square * s, -square * c
    bx, by = bx - (xx * px + xy * py), by - (xy * px + yy * py)
    fx, fy = xx * c + xy * s, xy * c + yy * s
    inertia, ux, uy = 1 / 3 + c * fx + s * fy, 0.5 * c + fx, 0.5 * s + fy
    gx, gy, rest = ux / inertia, uy / inertia, -(c * bx + s * by)
    above = xx + 1 - gx * ux, xy - gx * uy, yy + 1 - gy * uy, bx - 0.5 * px + gx * rest, by - 0.5 * py + gy * rest
    return above, (rest / inertia, gx, gy)


def outward(hinge: Any, link: Any) -> tuple[Any, Any]:
    ax, ay = hinge
    c, s, square, head, gx, gy = link
    alpha = head - gx * ax - gy * ay
    return (ax + alpha * c - square * s, ay + alpha * s + square * c), alpha


def accelerations(theta: Any, omega: Any) -> Any:
    c, s, square = jnp.cos(theta), jnp.sin(theta), omega * omega
    unroll = len(theta) if len(theta) <= 2 else 1  # unrolled longer loops run slower
    zero = jnp.zeros(())
    _, swept = jax.lax.scan(inward, (zero,) * 5, (c, s, square), reverse=True, unroll=unroll)
    _, alpha = jax.lax.scan(outward, (zero, zero + 9.81), (c, s, square, *swept), unroll=unroll)
    return alpha


@functools.partial(jax.jit, static_argnums=(0, 4))
def integrate(n: int, y0: Any, t: float, tolerance: float, method: str = "Dopri8") -> Any:
    term = dfx.ODETerm(lambda _t, y, _args: jnp.concatenate([y[n:], accelerations(y[:n], y[n:])]))
    control = dfx.PIDController(rtol=tolerance, atol=tolerance)
    adjoint = dfx.RecursiveCheckpointAdjoint(checkpoints=1)
    return dfx.diffeqsolve(
        term,
        getattr(dfx, method)(),
        0.0,
        t,
        1e-3,
        y0,
        saveat=dfx.SaveAt(t1=True),
        stepsize_controller=control,
        max_steps=1_000_000,
        adjoint=adjoint,
    ).ys[0]


def prepare(case: Case, tolerance: float) -> Callable[[float], np.ndarray]:
    n, y0 = case.n, jnp.concatenate([jnp.asarray(case.start), jnp.zeros(case.n)])
    return lambda t: np.asarray(integrate(n, y0, t, tolerance))[:n]


def many(n: int, theta: np.ndarray, t: float, tolerance: float, method: str = "Dopri8") -> Callable[[], np.ndarray]:
    """Follow many starts at rest at once; the function returned runs and returns the angles reached."""
    starts = jnp.asarray(np.concatenate([theta, np.zeros_like(theta)], axis=1))
    run = jax.jit(jax.vmap(lambda y0: integrate(n, y0, t, tolerance, method)))
    return lambda: np.asarray(run(starts))[:, :n]
