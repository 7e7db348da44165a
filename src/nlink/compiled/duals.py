"""Duals: numbers that carry a derivative, in lanes: the same kernels, fed with them, give the exact derivative of their results.

A Dual(n) is a Vec(n) with the rate at which each lane changes; an array of them holds 2 n doubles for each, values before rates.
A Dual(1), which a GPU takes, is a number with its rate.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import models, register_model

from nlink.compiled import interpreted
from nlink.compiled.interpreted import DualVector, DualVectors
from nlink.compiled.jit import intrinsic, kernel
from nlink.compiled.lowering import Builder, Context, Kind, Lowered, Operand, Signature, Value, Values
from nlink.compiled.simd import (
    ALIKE,
    ARITHMETIC,
    COMPARISONS,
    DOUBLE,
    ELEMENTS,
    SINCOS,
    VALUE_OF,
    WHERE,
    Mask,
    Vec,
    VecArray,
    Wide,
    constant_of,
    laid_over,
    overload_for,
    sincos,
    splat,
)

FLAGS = ("contract",)


class Dual(Wide):
    """n doubles side by side, each with its rate."""

    instance_class = DualVector


@register_model(Dual)
class DualModel(models.StructModel):
    """Values and rates."""

    def __init__(self, manager: Any, kind: Dual) -> None:
        super().__init__(manager, kind, [("value", _plain_type(kind.width)), ("rate", _plain_type(kind.width))])


def _plain_type(width: int) -> types.Type:
    """Return the type of values, and of rates."""
    return Vec(width) if width > 1 else types.float64


def _truth_type(width: int) -> types.Type:
    """Return the type of what a comparison gives."""
    return Mask(width) if width > 1 else types.boolean


def _same(kind: Kind, number: float) -> Any:
    """Return a constant with the same number in every lane."""
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


def _parts(context: Context, builder: Builder, kind: types.Type, value: Value, width: int) -> tuple[Value, Value]:
    """Return value and rate; the rate of a plain number is None."""
    if isinstance(kind, Dual):
        return builder.extract_value(value, 0), builder.extract_value(value, 1)
    return splat(context, builder, kind, value, width), None


def _made(context: Context, builder: Builder, width: int, value: Value, rate: Operand) -> Value:
    pair = ir.LiteralStructType([value.type, value.type])
    zero = _same(value.type, 0.0)
    out = builder.insert_value(ir.Constant(pair, ir.Undefined), value, 0)
    return builder.insert_value(out, zero if rate is None else rate, 1)


def _register(function: Any, arity: int, build: Callable[..., Any], compares: bool = False) -> None:
    """Let `function` take duals, and plain numbers and vectors beside them."""

    def lower(context: Context, builder: Builder, sig: Signature, args: Values, width: int) -> Value:
        made = build(builder, *(_parts(context, builder, k, a, width) for k, a in zip(sig.args, args, strict=True)))
        return made if compares else _made(context, builder, width, *made)

    overload_for(function, arity, Dual, (Vec, types.Number), _truth_type if compares else Dual, lower)


def _sum(builder: Builder, a: Operand, b: Operand) -> Value:
    return b if a is None else a if b is None else builder.fadd(a, b, flags=FLAGS)


def _scaled(builder: Builder, rate: Operand, by: Any) -> Value:
    return None if rate is None else builder.fmul(rate, by, flags=FLAGS)


def negated(builder: Builder, value: Value) -> Value:
    """Return minus a value: as a difference for a number, since GPUs know no fneg."""
    return builder.fneg(value) if isinstance(value.type, ir.VectorType) else builder.fsub(_same(value.type, -0.0), value)


def _negative(builder: Builder, rate: Operand) -> Value:
    return None if rate is None else negated(builder, rate)


def _add(builder: Builder, a: Operand, b: Operand) -> Value:
    return builder.fadd(a[0], b[0], flags=FLAGS), _sum(builder, a[1], b[1])


def _subtract(builder: Builder, a: Operand, b: Operand) -> Value:
    return builder.fsub(a[0], b[0], flags=FLAGS), _sum(builder, a[1], _negative(builder, b[1]))


def _multiply(builder: Builder, a: Operand, b: Operand) -> Value:
    rate = _sum(builder, _scaled(builder, a[1], b[0]), _scaled(builder, b[1], a[0]))
    return builder.fmul(a[0], b[0], flags=FLAGS), rate


def _divide(builder: Builder, a: Operand, b: Operand) -> Value:
    value = builder.fdiv(a[0], b[0], flags=FLAGS)
    over = _sum(builder, a[1], _negative(builder, _scaled(builder, b[1], value)))
    return value, builder.fdiv(over, b[0], flags=FLAGS)


def _chosen(builder: Builder, condition: Operand, a: Operand, b: Operand) -> Value:
    zero = _same(a[0].type, 0.0)
    rates = (zero if each is None else each for each in (a[1], b[1]))
    return builder.select(condition, a[0], b[0]), builder.select(condition, *rates)


def _absolute(builder: Builder, a: Operand) -> Value:
    below = builder.fcmp_ordered("<", a[0], _same(a[0].type, 0.0))
    return _chosen(builder, below, (negated(builder, a[0]), negated(builder, a[1])), a)


def _root(builder: Builder, a: Operand) -> Value:
    """Return the root; its rate at 0, which there is none, is 0: so |v| v has its rate 0 at rest."""
    kind = ir.FunctionType(a[0].type, [a[0].type])
    lanes = f"v{a[0].type.count}" if isinstance(a[0].type, ir.VectorType) else ""
    value = builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.{lanes}f64"), [a[0]])
    zero = _same(value.type, 0.0)
    rate = builder.fdiv(a[1], builder.fadd(value, value), flags=FLAGS)
    return value, builder.select(builder.fcmp_ordered("==", value, zero), zero, rate)


RULES: dict[str, Callable[..., Any]] = {"fadd": _add, "fsub": _subtract, "fmul": _multiply, "fdiv": _divide}
"""How values with rates (None for 0) are joined, by the name of what is done to the values."""
for _operator, _name in ARITHMETIC.items():
    _register(_operator, 2, RULES[_name])
for _operator, _sign in COMPARISONS.items():
    _register(_operator, 2, lambda builder, a, b, sign=_sign: builder.fcmp_ordered(sign, a[0], b[0]), compares=True)
_register(operator.neg, 1, lambda builder, a: (negated(builder, a[0]), negated(builder, a[1])))
_register(abs, 1, _absolute)
_register(math.sqrt, 1, _root)
_register(max, 2, lambda builder, a, b: _chosen(builder, builder.fcmp_ordered(">", a[0], b[0]), a, b))
_register(min, 2, lambda builder, a, b: _chosen(builder, builder.fcmp_ordered("<", a[0], b[0]), a, b))


@intrinsic(python=DualVector)
def dual(_typing: Context, value: Value, rate: Operand) -> Lowered:
    """Join values and rates."""
    width = value.width if isinstance(value, Vec) else 1

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return _made(context, builder, width, *args)

    return Dual(width)(value, rate), build


def _part(which: int, name: str) -> Any:
    def take(_typing: Context, x: Operand) -> Lowered:
        return _plain_type(x.width)(x), lambda context, builder, sig, args: builder.extract_value(args[0], which)

    return intrinsic(take, python=operator.attrgetter(name))


_value, rate_of = _part(0, "value"), _part(1, "rate")


@kernel
def _sincos(x):
    s, c = sincos(_value(x))
    return dual(s, c * rate_of(x)), dual(c, -s * rate_of(x))


@intrinsic(python=lambda array, width: DualVectors(array), prefer_literal=True)
def duals(_typing: Context, array: Kind, width: Kind) -> Lowered:
    """Take the last axis of a contiguous array, 2 `width` long (see `vectors`), as duals: (..., k, 2 width) becomes (..., k)."""
    kind = VecArray(constant_of(width), array.ndim - 1, "dual")

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return laid_over(context, builder, kind, array, args[0])

    return kind(array, width), build


@intrinsic(python=interpreted.chosen)
def _select(_typing: Context, condition: Operand, yes: Operand, no: Operand) -> Lowered:
    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        sides = [_parts(context, builder, k, a, condition.width) for k, a in zip(sig.args[1:], args[1:], strict=True)]
        return _made(context, builder, condition.width, *_chosen(builder, args[0], *sides))

    return Dual(condition.width)(condition, yes, no), build


@intrinsic(python=interpreted.spread)
def _constant(_typing: Context, value: Value, example: Operand) -> Lowered:
    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return _made(context, builder, example.width, splat(context, builder, sig.args[0], args[0], example.width), None)

    return example(value, example), build


def _load(context: Context, builder: Builder, kind: VecArray, at: Value) -> Value:
    vector = ir.VectorType(DOUBLE, kind.width) if kind.width > 1 else DOUBLE
    pointer = builder.bitcast(at, vector.as_pointer())
    later = builder.gep(pointer, [ir.Constant(ir.IntType(64), 1)])
    return _made(context, builder, kind.width, builder.load(pointer, align=8), builder.load(later, align=8))


def _store(context: Context, builder: Builder, kind: VecArray, at: Value, given: types.Type, value: Value) -> None:
    first, rate = _parts(context, builder, given, value, kind.width)
    pointer = builder.bitcast(at, first.type.as_pointer())
    builder.store(first, pointer, align=8)
    zero = _same(first.type, 0.0)
    builder.store(zero if rate is None else rate, builder.gep(pointer, [ir.Constant(ir.IntType(64), 1)]), align=8)


ELEMENTS["dual"] = (DualVectors, Dual, _load, _store)
WHERE[DualVector] = lambda condition, yes, no: _select(condition, yes, no)
ALIKE[DualVector] = lambda value, example: _constant(value, example)
VALUE_OF[DualVector] = lambda x: _value(x)
SINCOS[DualVector] = _sincos
