"""Loads that are moments, by their laws: what joints and links feel, the energy stored and the work done, composed when compiling.

`JOINTS` and `LINKS` hold functions over all loads with a law on joints or on links:

    moment(i, angle, rate, p)          the sum of the moments
    affine(i, angle, p)                their constant part at an angle, stiffness and damping: what a series needs
    elastic(i, angle, p)               the moment of what stores energy, and
    energy(i, angle, p)                its energy
    start(like)                        sums of power for the loads in the ledger, all zero: a pair (first, those of the others)
    works(i, rate, square, p, sums)    the sums with the power of joint or link i added; square is rate^2
    store(sums, power, at)             fills the rows of the ledger, the first being power[at]
    store_order(sums, q, k, at, by)    fills them in q[k], the sums times `by`
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nlink.compiled.jit import kernel
from nlink.compiled.simd import alike
from nlink.mechanics.loads import LOADS, Law, ledger
from nlink.mechanics.parameters import row

LEDGER = ledger()
POWERS = len(LEDGER)
ABSENT = -1


class Moments(NamedTuple):
    """Compiled functions over loads: see the head of the module."""

    moment: Any
    affine: Any
    elastic: Any
    energy: Any
    start: Any
    works: Any
    store: Any
    store_order: Any


def _composed(on: str) -> Moments:
    """Return the functions over all loads with a law on joints or on links."""
    found = _none()
    for kind in reversed([kind for kind in LOADS.values() if kind.law and kind.law.on == on]):
        found = _with(kind, found)
    return found


def _none() -> Moments:
    @kernel
    def moment(i, angle, rate, p):
        return alike(-0.0, rate)  # adding it changes nothing, and the compiler knows: not so for 0.0

    @kernel
    def affine(i, angle, p):
        zero = alike(-0.0, angle)
        return zero, zero, zero

    @kernel
    def elastic(i, angle, p):
        return alike(-0.0, angle)

    @kernel
    def start(like):
        return 0

    @kernel
    def works(i, rate, square, p, sums):
        return sums

    @kernel
    def store(sums, power, at):
        return None

    @kernel
    def store_order(sums, q, k, at, by):
        return None

    return Moments(moment, affine, elastic, elastic, start, works, store, store_order)


def _with(kind: Any, others: Moments) -> Moments:
    """Return the functions with one load more."""
    law: Law = kind.law
    stiff, origin, damped, pushed = (
        row(kind, name) if name else ABSENT for name in (law.stiffness, law.origin, law.damping, law.push)
    )
    other_moment, other_affine, other_elastic, other_energy, *_ = others

    @kernel
    def stretch(i, angle, p):
        return angle - p.links[origin, i] if origin != ABSENT else angle

    @kernel
    def moment(i, angle, rate, p):
        total = other_moment(i, angle, rate, p)
        if damped != ABSENT:
            total -= p.links[damped, i] * rate
        if stiff != ABSENT:
            total -= p.links[stiff, i] * stretch(i, angle, p)
        if pushed != ABSENT:
            total += p.links[pushed, i]
        return total

    @kernel
    def affine(i, angle, p):
        constant, stiffness, damping = other_affine(i, angle, p)
        if damped != ABSENT:
            damping += p.links[damped, i]
        if stiff != ABSENT:
            constant -= p.links[stiff, i] * stretch(i, angle, p)
            stiffness += p.links[stiff, i]
        if pushed != ABSENT:
            constant += p.links[pushed, i]
        return constant, stiffness, damping

    @kernel
    def elastic(i, angle, p):
        total = other_elastic(i, angle, p)
        if stiff != ABSENT:
            total -= p.links[stiff, i] * stretch(i, angle, p)
        return total

    @kernel
    def energy(i, angle, p):
        total = other_energy(i, angle, p)
        if stiff != ABSENT:
            stretched = stretch(i, angle, p)
            total += 0.5 * p.links[stiff, i] * stretched * stretched
        return total

    ledger = _ledger_with(LEDGER.index(kind.name), damped, pushed, others) if law.works else others[-4:]
    return Moments(moment, affine, elastic, energy, *ledger)


def _ledger_with(slot: int, damped: int, pushed: int, others: Moments) -> tuple[Any, ...]:
    """Return start, works, store and store_order with one load more."""
    *_, other_start, other_works, other_store, other_store_order = others

    @kernel
    def start(like):
        return alike(0.0, like), other_start(like)

    @kernel
    def works(i, rate, square, p, sums):
        own, rest = sums
        if damped != ABSENT:
            own -= p.links[damped, i] * square
        if pushed != ABSENT:
            own += p.links[pushed, i] * rate
        return own, other_works(i, rate, square, p, rest)

    @kernel
    def store(sums, power, at):
        own, rest = sums
        power[at + slot] = own
        other_store(rest, power, at)

    @kernel
    def store_order(sums, q, k, at, by):
        own, rest = sums
        q[k, at + slot] = own * by
        other_store_order(rest, q, k, at, by)

    return start, works, store, store_order


JOINTS, LINKS = _composed("joint"), _composed("link")
