"""Numbers of twice the digits: pairs (high, low) whose sum is meant, |low| at most half a unit in the last place of high.

T. J. Dekker, A floating-point technique for extending the available precision (1971). The errors of rounding are themselves
computed, so no product and sum here may become one operation of the processor: `exact`.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
from numba import types

from nlink.compiled.jit import exact, intrinsic, precise
from nlink.compiled.lowering import Builder, Context, Lowered, Operand, Signature, Value, Values

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
STEPS = 256
"""Angles of the table over a turn."""
SPLIT = 134217729.0  # 2^27 + 1: halves of a number
SIXTH, SIXTH_LOW = 0.16666666666666666, 9.25185853854297e-18
FORTH, FORTH_LOW = 0.041666666666666664, 2.3129646346357427e-18  # 1/24
PER_STEP = STEPS / (2 * math.pi)


@precise
def two_sum(a, b):
    """Return a + b and what its rounding has lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _lost_by_halves(a, b, product):
    """Return a b - product by halves of the numbers, whose products are exact."""
    c = SPLIT * a
    ah = c - (c - a)
    al = a - ah
    c = SPLIT * b
    bh = c - (c - b)
    bl = b - bh
    return ((ah * bh - product) + ah * bl + al * bh) + al * bl


@intrinsic(python=_lost_by_halves)
def lost(_typing: Context, a: Operand, b: Operand, product: Operand) -> Lowered:
    """Return a b - product, what the rounding of a product has lost: one operation of the processor."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return builder.fma(args[0], args[1], builder.fneg(args[2]))

    return types.float64(types.float64, types.float64, types.float64), build


@precise
def two_product(a, b):
    """Return a b and what its rounding has lost."""
    product = a * b
    return product, lost(a, b, product)


@precise
def added(ah, al, bh, bl):
    """Return the sum of two pairs."""
    high, low = two_sum(ah, bh)
    return two_sum(high, low + (al + bl))


@precise
def times(ah, al, b):
    """Return a pair times a number."""
    high, low = two_product(ah, b)
    return two_sum(high, low + al * b)


@precise
def product(ah, al, bh, bl):
    """Return the product of two pairs."""
    high, low = two_product(ah, bh)
    return two_sum(high, low + (ah * bl + al * bh))


@exact
def sum_of_products(ah, al, b, ch, cl, d):
    """Return the pair a b + c d of pairs a, c and numbers b, d."""
    xh, xl = times(ah, al, b)
    yh, yl = times(ch, cl, d)
    return added(xh, xl, yh, yl)


@exact
def sines_of(angle, low, table):
    """Return sine and cosine of the angle (angle, low) as pairs (sh, sl, ch, cl), to about 1e-26: the nearest angle of the table,
    and a short series of what is left.
    """
    count = math.floor(angle * PER_STEP + 0.5)
    rest, lost = two_sum(angle - count * table[STEPS, 0], -count * table[STEPS, 1])
    rh, rl = two_sum(rest, lost + (low - count * table[STEPS, 2]))
    j = int(count) % STEPS
    zh, zl = product(rh, rl, rh, rl)
    ch, cl = product(zh, zl, rh, rl)
    th, tl = product(ch, cl, -SIXTH, -SIXTH_LOW)
    tl += ch * zh * (1.0 / 120.0) * (1.0 - zh * (1.0 / 42.0) * (1.0 - zh * (1.0 / 72.0)))
    sh, sl = added(rh, rl, th, tl)
    qh, ql = product(zh, zl, zh, zl)
    th, tl = product(qh, ql, FORTH, FORTH_LOW)
    tl -= qh * zh * (1.0 / 720.0) * (1.0 - zh * (1.0 / 56.0))
    dh, dl = added(-0.5 * zh, -0.5 * zl, th, tl)  # cosine - 1
    ah, al, bh, bl = table[j, 0], table[j, 1], table[j, 2], table[j, 3]
    uh, ul = product(ah, al, dh, dl)
    vh, vl = product(bh, bl, sh, sl)
    uh, ul = added(uh, ul, vh, vl)
    sine, sine_low = added(ah, al, uh, ul)
    uh, ul = product(bh, bl, dh, dl)
    vh, vl = product(ah, al, sh, sl)
    uh, ul = added(uh, ul, -vh, -vl)
    cosine, cosine_low = added(bh, bl, uh, ul)
    return sine, sine_low, cosine, cosine_low


@cache
def sine_table() -> np.ndarray:
    """Return sine and cosine of all steps of a turn as pairs, (STEPS + 1, 4); the last row is the step itself in three parts.

    The first two have so few digits that their products with whole numbers below 2^20 are exact.
    """
    out = np.zeros((STEPS + 1, 4))
    with localcontext() as context:
        context.prec = 60
        step = 2 * PI / STEPS
        turn = _sine_and_cosine(step)
        s, c = Decimal(0), Decimal(1)
        for j in range(STEPS):
            out[j] = *pair_of(s), *pair_of(c)
            s, c = s * turn[1] + c * turn[0], c * turn[1] - s * turn[0]
        rest = step
        for k in range(3):
            mantissa, exponent = math.frexp(float(rest))
            part = math.ldexp(math.floor(mantissa * 2**32), exponent - 32) if k < 2 else float(rest)
            out[STEPS, k], rest = part, rest - Decimal(part)
    return out


def pair_of(value: Decimal) -> tuple[float, float]:
    """Return a number of many digits as a pair."""
    high = float(value)
    return high, float(value - Decimal(high))


def _sine_and_cosine(x: Decimal) -> tuple[Decimal, Decimal]:
    """Return sine and cosine of a small number by their series."""
    sums, term = [Decimal(0), Decimal(0)], Decimal(1)
    for k in range(40):
        sums[k % 2] += term if k % 4 < 2 else -term
        term = term * x / (k + 1)
    return sums[1], sums[0]
