"""An eigenvalue of s^2 M + s C + K in multi-precision, from a close one: Newton on the bordered system."""

from __future__ import annotations

from typing import Any

from nlink.analysis.linearize import Linearization

DIGITS = 40


def growth(linear: Linearization, near: complex) -> Any:
    """Return the real part of the eigenvalue next to `near`."""
    import mpmath

    with mpmath.workdps(DIGITS):
        M, C, K = (mpmath.matrix(matrix.tolist()) for matrix in (linear.M, linear.C, linear.K))
        s, n = mpmath.mpc(near), len(linear.M)
        x = _vector(s * s * M + s * C + K, n)
        for _ in range(8):
            L, slope = s * s * M + s * C + K, (2 * s * M + C) * x
            bordered, right = mpmath.zeros(n + 1), mpmath.zeros(n + 1, 1)
            bordered[:n, :n], bordered[:n, n], bordered[n, :n] = L, slope, x.H
            right[:n, 0] = -L * x
            change = mpmath.lu_solve(bordered, right)
            x += change[:n, 0]
            s += change[n]
            if abs(change[n]) <= mpmath.mpf(10) ** (5 - DIGITS) * abs(s):
                break
        return s.real


def _vector(L: Any, n: int) -> Any:
    """Return a vector close to the kernel of a nearly singular matrix: one step of inverse iteration."""
    import mpmath

    shifted = L + mpmath.mpf(10) ** -25 * mpmath.norm(L) * mpmath.eye(n)
    x = mpmath.lu_solve(shifted, mpmath.matrix([mpmath.mpf(1) + i for i in range(n)]))
    return x / mpmath.norm(x)
