"""Vectors and dual numbers in plain Python: what kernels compute with if NUMBA_DISABLE_JIT=1 turns the compiler off.

    Vector          numbers or truth values side by side, one a lane      stands for Vec and Mask of `simd`
    Vectors         an array of them, laid over an array of float64       for VecArray
    DualVector      a vector with its derivative                          for Dual of `duals`
    DualVectors     an array of them                                      for a VecArray of duals

The types of Numba name these classes as their `instance_class`, so that a table of `dispatch` has one key for both.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from types import SimpleNamespace

import numpy as np

from nlink.compiled.lowering import Operand


class Vector(np.ndarray):
    """Numbers or truth values side by side, with the arithmetic of NumPy; no operation changes one in place."""

    def __iadd__(self, other: Operand) -> Operand:
        return self + other

    def __isub__(self, other: Operand) -> Operand:
        return self - other

    def __imul__(self, other: Operand) -> Operand:
        return self * other

    def __itruediv__(self, other: Operand) -> Operand:
        return self / other

    def first(self) -> Operand:
        """Return the first half."""
        return self[: len(self) // 2]

    def second(self) -> Operand:
        """Return the second half."""
        return self[len(self) // 2 :]

    def moved(self, by: int) -> Vector:
        """Return a vector with everything some lanes later, and zeros for what comes in."""
        out = np.zeros_like(self)
        out[max(by, 0) : len(self) + min(by, 0)] = self[max(-by, 0) : len(self) - max(by, 0)]
        return out

    def lane(self, i: int) -> Vector:
        """Return what is in one lane in all lanes."""
        return np.full_like(self, self[i])

    def at(self, lanes: Iterable[int]) -> Vector:
        """Return a vector of what is in these lanes."""
        return self[list(lanes)].view(Vector)

    def root(self) -> Vector:
        """Return the square root."""
        return np.sqrt(self).view(Vector)

    def number(self, i: int) -> float:
        """Return what is in one lane."""
        return float(self[i])

    def taking(self, other: Operand, lanes: Iterable[int]) -> Vector:
        """Return a vector that has some lanes of another, or a number in them."""
        taken = self.copy()
        for i in lanes:
            taken[i] = other[i] if isinstance(other, Vector) else other
        return taken

    def largest(self) -> float:
        """Return the largest number of all lanes."""
        return float(self.max())


def padded(numbers: np.ndarray, width: int) -> Vector:
    """Return numbers side by side, and zeros behind them."""
    return np.pad(numbers, (0, width - len(numbers))).view(Vector)


class DualVector:
    """A vector with the rate at which each lane changes."""

    __array_ufunc__ = None  # NumPy leaves arithmetic to this class

    def __init__(self, value: Operand, rate: Operand) -> None:
        self.value, self.rate = value, rate

    def __add__(self, other: Operand) -> DualVector:
        value, rate = _parts(other)
        return DualVector(self.value + value, self.rate + rate)

    __radd__ = __add__

    def __neg__(self) -> DualVector:
        return DualVector(-self.value, -self.rate)

    def __sub__(self, other: Operand) -> DualVector:
        return self + -other

    def __rsub__(self, other: Operand) -> DualVector:
        return other + -self

    def __mul__(self, other: Operand) -> DualVector:
        value, rate = _parts(other)
        return DualVector(self.value * value, self.rate * value + rate * self.value)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> DualVector:
        value, rate = _parts(other)
        share = self.value / value
        return DualVector(share, (self.rate - rate * share) / value)

    def __rtruediv__(self, other: Operand) -> DualVector:
        return DualVector(other, 0.0) / self

    def __abs__(self) -> DualVector:
        return chosen(self < 0.0, -self, self)

    def __lt__(self, other: Operand) -> Operand:
        return self.value < _parts(other)[0]

    def __gt__(self, other: Operand) -> Operand:
        return self.value > _parts(other)[0]


def _parts(x: Operand) -> tuple[Operand, Operand]:
    """Return value and rate, which is 0 if x has none."""
    return (x.value, x.rate) if isinstance(x, DualVector) else (x, 0.0)


class Vectors:
    """An array of vectors: the last axis of an array of numbers."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int | tuple[int, ...]) -> Operand:
        part = self.numbers[index]
        return type(self)(part) if part.ndim > 1 else part.copy().view(Vector)

    def __setitem__(self, index: int | tuple[int, ...], value: Operand) -> None:
        self.numbers[index] = value


class DualVectors(Vectors):
    """An array of dual vectors: the last axis holds values, then rates."""

    def __getitem__(self, index: int | tuple[int, ...]) -> Operand:
        both = super().__getitem__(index)
        return DualVector(both.first(), both.second()) if isinstance(both, Vector) else both

    def __setitem__(self, index: int | tuple[int, ...], value: Operand) -> None:
        half = self.numbers.shape[-1] // 2
        self.numbers[index][:half], self.numbers[index][half:] = _parts(value)


def chosen(condition: Operand, yes: Operand, no: Operand) -> Operand:
    """Choose lane by lane."""
    if isinstance(yes, DualVector) or isinstance(no, DualVector):
        return DualVector(*(chosen(condition, *both) for both in zip(_parts(yes), _parts(no), strict=True)))
    return np.where(condition, yes, no).view(Vector)


def spread(value: float, example: Operand) -> Operand:
    """Return a number in every lane of a vector like the example."""
    if isinstance(example, DualVector):
        return DualVector(spread(value, example.value), spread(0.0, example.value))
    return np.full_like(example, value)


def vectors(array: np.ndarray, width: int | tuple[int, ...]) -> Operand:
    """Lay vectors along the last axis; the width is a number or the length of a tuple."""
    lanes = _count(width)
    return Vectors(array.reshape(*array.shape[:-1], -1, lanes)) if lanes > 1 else array


def columns(array: np.ndarray, first: int, width: int | tuple[int, ...]) -> Operand:
    """Take columns as vectors, one a row."""
    lanes = _count(width)
    return Vectors(array[..., first : first + lanes]) if lanes > 1 else array[..., first]


def flat(array: Operand) -> np.ndarray:
    """Return the numbers of an array of one dimension side by side, from its first one on."""
    if isinstance(array, Vectors):
        return array.numbers.reshape(-1)
    return np.lib.stride_tricks.as_strided(array, array.shape, (array.itemsize,))


def _count(width: int | tuple[int, ...]) -> int:
    return len(width) if isinstance(width, tuple) else width


def with_lane(vector: Vector, index: int, number: float) -> Vector:
    """Return a vector with another number in one lane."""
    changed = vector.copy()
    changed[index] = number
    return changed


def mantissa(x: Operand) -> Operand:
    """Return m of x = m 2^k, 1 <= m < 2."""
    return 2.0 * np.frexp(x)[0]


def exponent(x: Operand) -> Operand:
    """Return k of x = m 2^k, 1 <= m < 2."""
    return np.frexp(x)[1] - 1.0


def two_to(k: Operand) -> Operand:
    """Return 2^k for a whole k."""
    return np.ldexp(1.0, np.asarray(k).astype(np.int64))


def by_quarters(sine: Operand, cosine: Operand, k: Operand) -> tuple[Operand, Operand]:
    """Return sine and cosine of an angle k quarter turns further on; k stands in the lowest bits of numbers."""
    bits = np.asarray(k).view(np.int64)
    sign, odd = np.where(bits & 2, -1.0, 1.0), (bits & 1).astype(bool)
    return chosen(odd, sign * cosine, sign * sine), chosen(odd, -sign * sine, sign * cosine)


def root(x: Operand) -> Operand:
    """Return the square root; the rate of that of 0 is 0."""
    if isinstance(x, DualVector):
        value = np.sqrt(x.value)
        return DualVector(value, chosen(value == 0.0, 0.0, x.rate / (value + value)))
    return np.sqrt(x)


def largest(*values: Operand, **options: object) -> Operand:
    """Return the larger of two vectors lane by lane, and of other values what Python's max does."""
    return chosen(values[0] > values[1], *values) if _of_vectors(values) else builtins.max(*values, **options)


def smallest(*values: Operand, **options: object) -> Operand:
    """Return the smaller of two vectors lane by lane, and of other values what Python's min does."""
    return chosen(values[0] < values[1], *values) if _of_vectors(values) else builtins.min(*values, **options)


def _of_vectors(values: tuple[Operand, ...]) -> bool:
    return any(isinstance(value, Vector | DualVector) for value in values)


MATH = SimpleNamespace(**(vars(math) | {"sqrt": root, "floor": np.floor}))
BUILTINS = {"max": largest, "min": smallest, "math": MATH}
"""What these names mean in modules with kernels: as in compiled code they take vectors, and numbers that are not finite."""
