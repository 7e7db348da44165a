"""Vectors of numbers, a lane each, as types of Numba: one source computes one chain, several chains, or several links.

A compiled function written for numbers (`a * b + c`, `math.sqrt(a)`, `where(a > b, a, b)`) and arrays of numbers (`y[i]`,
`w[row, i]`) also takes

    Vec(n)          n numbers in one vector of the processor
    VecArray        an array of such, laid over an ordinary array of float64 (`vectors`, `columns`), or of plain numbers (`numbers`)

Lanes never mix: what happens in one does not reach another. Comparisons give a Mask, to be used by `where` and `anywhere`.
Built on Numba's extension API: types, typing by templates, lowering to LLVM's vectors. `interpreted` has the same in plain Python.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import templates
from numba.core.typing.templates import AbstractTemplate, signature
from numba.extending import lower_builtin, models, register_model

from nlink.compiled import interpreted
from nlink.compiled.dispatch import dispatched
from nlink.compiled.interpreted import Vector, Vectors
from nlink.compiled.jit import intrinsic, kernel
from nlink.compiled.lowering import Builder, Context, Kind, Kinds, Lowered, Operand, Signature, Value, Values

infer_global: Any = templates.infer_global
DOUBLE, WORD, FLAG = ir.DoubleType(), ir.IntType(64), ir.IntType(1)


class Wide(types.Type):
    """Values of several lanes side by side."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"{type(self).__name__}({width})")


class Vec(Wide):
    """n doubles side by side."""

    instance_class = Vector


class Mask(Wide):
    """n truth values side by side."""

    instance_class = Vector


class VecArray(types.Type):
    """An array of Vec: a pointer, and for each dimension a length and a stride (in doubles). It does not own its memory, so that
    taking parts of it costs nothing. Vectors of width 1 are numbers; what else it may hold is in ELEMENTS.
    """

    def __init__(self, width: int, ndim: int, holds: str = "vector") -> None:
        self.width, self.ndim, self.holds = width, ndim, "number" if (width, holds) == (1, "vector") else holds
        self.instance_class, element, *_ = ELEMENTS[self.holds]
        self.element = element(width)
        super().__init__(name=f"VecArray({width}, {ndim}, {self.holds})")


def _load(context: Context, builder: Builder, kind: VecArray, at: Value) -> Value:
    stored = ir.VectorType(DOUBLE, kind.width) if kind.width > 1 else DOUBLE
    return builder.load(builder.bitcast(at, stored.as_pointer()), align=8)


def _store(context: Context, builder: Builder, kind: VecArray, at: Value, given: types.Type, value: Value) -> None:
    whole = kind.width > 1
    stored = splat(context, builder, given, value, kind.width) if whole else context.cast(builder, value, given, types.float64)
    builder.store(stored, builder.bitcast(at, stored.type.as_pointer()), align=8)


ELEMENTS: dict[str, tuple[type, Callable[[int], types.Type], Callable[..., Any], Callable[..., None]]] = {
    "vector": (Vectors, Vec, _load, _store),
    "number": (np.ndarray, lambda width: types.float64, _load, _store),
}
"""What a VecArray may hold: the class of such arrays in Python, the type of an element, how to load it, how to store it."""


@register_model(Vec)
class VecModel(models.PrimitiveModel):
    """An LLVM vector of doubles."""

    def __init__(self, manager: Any, kind: Vec) -> None:
        super().__init__(manager, kind, ir.VectorType(DOUBLE, kind.width))


@register_model(Mask)
class MaskModel(models.PrimitiveModel):
    """An LLVM vector of bits."""

    def __init__(self, manager: Any, kind: Mask) -> None:
        super().__init__(manager, kind, ir.VectorType(FLAG, kind.width))


@register_model(VecArray)
class VecArrayModel(models.StructModel):
    """Pointer, lengths, strides."""

    def __init__(self, manager: Any, kind: VecArray) -> None:
        sizes = types.UniTuple(types.intp, kind.ndim)
        super().__init__(manager, kind, [("data", types.CPointer(types.float64)), ("shape", sizes), ("strides", sizes)])


def splat(context: Context, builder: Builder, kind: types.Type, value: Value, width: int) -> Value:
    """Return a value as a vector: a number serves all lanes."""
    if isinstance(kind, Vec):
        return value
    return vector_of(builder, context.cast(builder, value, kind, types.float64), width)


def vector_of(builder: Builder, number: Operand, width: int) -> Value:
    """Return a number in every lane of a vector, and a vector as it is; a vector of one lane is a number."""
    if width == 1 or isinstance(number.type, ir.VectorType):
        return number
    vector = ir.VectorType(DOUBLE, width)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), order)


def overload_for(function: Any, arity: int, kind: type, beside: tuple[type, ...], result: Callable[[int], Any], build: Any) -> None:
    """Let `function` take values of a kind, and of others beside them; build(context, builder, sig, args, width) emits its code."""

    def width_of(kinds: Kinds) -> int:
        """Return the width of the lanes, 0 if there are none, or if a type does not fit."""
        widths = {each.width for each in kinds if isinstance(each, kind)}
        fits = len(kinds) == arity and all(isinstance(each, (kind, *beside)) for each in kinds)
        return widths.pop() if fits and len(widths) == 1 else 0

    class Template(AbstractTemplate):
        def generic(self, args: Kinds, kws: object) -> Signature | None:
            width = width_of(args)
            return signature(result(width), *args) if width else None

    infer_global(function)(Template)

    def lower(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return build(context, builder, sig, args, width_of(sig.args))

    for kinds in itertools.product((kind, *beside), repeat=arity):
        if kind in kinds:
            lower_builtin(function, *kinds)(lower)


def _register(function: Any, arity: int, result: Callable[[int], types.Type], build: Callable[..., Any]) -> None:
    """Let `function` take vectors, and numbers beside them."""

    def lower(context: Context, builder: Builder, sig: Signature, args: Values, width: int) -> Value:
        return build(builder, *(splat(context, builder, k, a, width) for k, a in zip(sig.args, args, strict=True)))

    overload_for(function, arity, Vec, (types.Number,), result, lower)


def _unary(name: str) -> Callable[..., Any]:
    def build(builder: Builder, a: Operand) -> Value:
        kind = ir.FunctionType(a.type, [a.type])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{a.type.count}f64"), [a])

    return build


def _binary(name: str) -> Callable[..., Any]:
    return lambda builder, a, b: getattr(builder, name)(a, b, flags=("contract",))


def _compare(sign: str) -> Callable[..., Any]:
    return lambda builder, a, b: builder.fcmp_ordered(sign, a, b)


ARITHMETIC = {
    operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv",
    operator.iadd: "fadd", operator.isub: "fsub", operator.imul: "fmul", operator.itruediv: "fdiv",
}  # fmt: skip
COMPARISONS = {operator.gt: ">", operator.lt: "<", operator.ge: ">=", operator.le: "<=", operator.eq: "=="}
for _operator, _name in ARITHMETIC.items():
    _register(_operator, 2, Vec, _binary(_name))
for _operator, _sign in COMPARISONS.items():
    _register(_operator, 2, Mask, _compare(_sign))
_register(operator.neg, 1, Vec, lambda builder, a: builder.fneg(a))
_register(math.sqrt, 1, Vec, _unary("sqrt"))
_register(abs, 1, Vec, _unary("fabs"))
_register(max, 2, Vec, lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
_register(min, 2, Vec, lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b))


overload_for(operator.and_, 2, Mask, (), Mask, lambda context, builder, sig, args, width: builder.and_(*args))
overload_for(operator.or_, 2, Mask, (), Mask, lambda context, builder, sig, args, width: builder.or_(*args))


@intrinsic(python=interpreted.chosen)
def _select(_typing: Context, condition: Operand, yes: Operand, no: Operand) -> Lowered:
    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        mask, *sides = args
        width = condition.width
        return builder.select(mask, *(splat(context, builder, k, a, width) for k, a in zip(sig.args[1:], sides, strict=True)))

    return Vec(condition.width)(condition, yes, no), build


@intrinsic(python=np.any)
def _any(_typing: Context, condition: Operand) -> Lowered:
    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        bits = builder.bitcast(args[0], ir.IntType(condition.width))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(condition), build


@intrinsic(python=interpreted.spread)
def _spread(_typing: Context, value: Value, example: Operand) -> Lowered:
    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return splat(context, builder, sig.args[0], args[0], example.width)

    return example(value, example), build


WHERE: dict[type, Any] = {}
ALIKE: dict[type, Any] = {Vector: lambda value, example: _spread(value, example)}
VALUE_OF: dict[type, Any] = {}
SINCOS: dict[type, Any] = {}
"""How the functions below take other classes than numbers; `duals` adds its own."""


def _where(condition: type, yes: type, no: type) -> Any:
    if condition is not Vector:
        return lambda condition, yes, no: yes if condition else no
    return WHERE.get(yes) or WHERE.get(no) or (lambda condition, yes, no: _select(condition, yes, no))


@dispatched(_where, "condition", "yes", "no")
def where(condition, yes, no):
    """Choose without a branch, lane by lane."""


@dispatched(lambda kind: (lambda condition: _any(condition)) if kind is Vector else (lambda condition: condition), "condition")
def anywhere(condition):
    """Whether a condition holds in any lane."""


@dispatched(lambda kind: ALIKE.get(kind, lambda value, example: value), "example")
def alike(value, example):
    """Return a number as what `example` is: a number, or a vector with it in every lane."""


@dispatched(lambda kind: VALUE_OF.get(kind, lambda x: x), "x")
def value_of(x):
    """Return a number without what it carries besides its value."""


@dispatched(lambda kind: SINCOS.get(kind, polynomial_sincos), "x")
def sincos(x):
    """Return sine and cosine."""


@dispatched(lambda kind: (lambda x: polynomial_sincos(x)[0]) if kind is Vector else (lambda x: math.sin(x)), "x")
def sine(x):
    """Return the sine: of a number by the library, to the last bit for any size."""


def of_numbers(alone: Any, lanes: Any) -> Callable[[type], Any]:
    """Return a choice by the class of an array: `alone` for numbers of the processor, `lanes` for vectors, duals and a GPU."""
    return lambda kind: alone if kind is np.ndarray else lanes


def parts_of(context: Context, builder: Builder, kind: Kind, array: Value) -> tuple[Value, list[Value], list[Value]]:
    """Return the address, the lengths and the strides (in doubles) of an array, of this module or of NumPy."""
    if isinstance(kind, VecArray):
        shape, strides = ([builder.extract_value(array, [field, axis]) for axis in range(kind.ndim)] for field in (1, 2))
        return builder.extract_value(array, 0), shape, strides
    given = context.make_array(kind)(context, builder, array)
    strides = [builder.sdiv(stride, ir.Constant(WORD, 8)) for stride in cgutils.unpack_tuple(builder, given.strides)]
    return given.data, cgutils.unpack_tuple(builder, given.shape), strides


def _element(
    context: Context, builder: Builder, kind: VecArray, array: Kind, indices: list[Value]
) -> tuple[Value, list[Value], list[Value]]:
    """Return the address of what the first indices select, and the lengths and strides of what is left."""
    data, shape, strides = parts_of(context, builder, kind, array)
    offset = None
    for index, stride in zip(indices, strides, strict=False):
        far = builder.mul(index, stride, flags=("nsw",))
        offset = builder.add(offset, far, flags=("nsw",)) if offset else far
    return builder.gep(data, [offset]), shape[len(indices) :], strides[len(indices) :]


def _indices(context: Context, builder: Builder, kind: Kind, value: Value) -> list[Value]:
    several = isinstance(kind, types.UniTuple | types.Tuple)
    kinds, values = (list(kind), cgutils.unpack_tuple(builder, value)) if several else ([kind], [value])
    return [context.cast(builder, v, k, types.intp) for k, v in zip(kinds, values, strict=True)]


def _count(kind: Kind) -> int:
    """Return how many whole numbers an index has, 0 if it is none."""
    if isinstance(kind, types.Integer):
        return 1
    kinds: list[Value] = list(kind) if isinstance(kind, types.UniTuple | types.Tuple) else [None]
    return len(kinds) if all(isinstance(each, types.Integer) for each in kinds) else 0


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Kinds, kws: object) -> Signature | None:
        array, index = args
        count = _count(index) if isinstance(array, VecArray) else 0
        if not 0 < count <= getattr(array, "ndim", 0):
            return None
        left = array.ndim - count
        return signature(VecArray(array.width, left, array.holds) if left else array.element, array, index)


@lower_builtin(operator.getitem, VecArray, types.Any)
def _getitem(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
    kind, index = sig.args
    at, shape, strides = _element(context, builder, kind, args[0], _indices(context, builder, index, args[1]))
    if sig.return_type == kind.element:
        return ELEMENTS[kind.holds][2](context, builder, kind, at)
    return made_array(context, builder, sig.return_type, at, shape, strides)


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Kinds, kws: object) -> Signature | None:
        array, index, value = args
        if not isinstance(array, VecArray) or _count(index) != array.ndim:
            return None
        fits = value == array.element or isinstance(value, types.Float | types.Integer | Vec)
        return signature(types.void, array, index, value) if fits else None


@lower_builtin(operator.setitem, VecArray, types.Any, types.Any)
def _setitem(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
    kind, index, value = sig.args
    at, _, _ = _element(context, builder, kind, args[0], _indices(context, builder, index, args[1]))
    ELEMENTS[kind.holds][3](context, builder, kind, at, value, args[2])
    return context.get_dummy_value()


@infer_global(len)
class _Len(AbstractTemplate):
    def generic(self, args: Kinds, kws: object) -> Signature | None:
        return signature(types.intp, *args) if len(args) == 1 and isinstance(args[0], Vec | VecArray) else None


@lower_builtin(len, Vec)
def _lanes(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
    return ir.Constant(WORD, sig.args[0].width)


@lower_builtin(len, VecArray)
def _len(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
    return builder.extract_value(args[0], [1, 0])


def made_array(context: Context, builder: Builder, kind: VecArray, data: Value, shape: list[Value], strides: list[Value]) -> Value:
    """Return an array with these parts."""
    value = builder.insert_value(ir.Constant(context.get_value_type(kind), ir.Undefined), data, 0)
    for field, sizes in ((1, shape), (2, strides)):
        for axis, size in enumerate(sizes):
            value = builder.insert_value(value, size, [field, axis])
    return value


def constant_of(width: Kind) -> int:
    """Return a number that is known when compiling: a literal, or the length of a tuple."""
    return width.count if isinstance(width, types.UniTuple) else width.literal_value


@intrinsic(python=interpreted.vectors, prefer_literal=True)
def vectors(_typing: Context, array: Kind, width: Kind) -> Lowered:
    """Lay vectors along the last axis of a contiguous array: shape (..., k * width) becomes (..., k). The width is a constant, or
    the length of a tuple.
    """
    kind = VecArray(constant_of(width), array.ndim)

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return laid_along(context, builder, kind, array, args[0])

    return kind(array, width), build


def laid_along(context: Context, builder: Builder, kind: VecArray, array: Kind, value: Value) -> Value:
    """Return an array of vectors along the last axis of a contiguous array."""
    data, shape, strides = parts_of(context, builder, array, value)
    shape[-1] = builder.sdiv(shape[-1], ir.Constant(WORD, kind.width))
    strides[-1] = ir.Constant(WORD, kind.width)
    return made_array(context, builder, kind, data, shape, strides)


def laid_over(context: Context, builder: Builder, kind: VecArray, array: Kind, value: Value, first: Any = None) -> Value:
    """Return an array of what lies along the last axis of a contiguous array, or of one of numbers, from `first` on."""
    data, shape, strides = parts_of(context, builder, array, value)
    return made_array(context, builder, kind, builder.gep(data, [first]) if first else data, shape[:-1], strides[:-1])


def aligned(*shape: int) -> np.ndarray:
    """Return an array of zeros from the beginning of a line of the processor's cache on: a vector across two lines takes longer."""
    size = math.prod(shape)
    room = np.zeros(size + 8)
    first = -room.__array_interface__["data"][0] % 64 // 8
    return room[first : first + size].reshape(shape)


@kernel
def numbers(array):
    """Take a contiguous array as one of numbers that does not own its memory."""
    return vectors(array, 1)


@intrinsic(python=interpreted.columns, prefer_literal=True)
def columns(_typing: Context, array: Kind, first: Any, width: Kind) -> Lowered:
    """Take columns of an array from `first` on, as many as `width` (see `vectors`), as an array of vectors, one a row."""
    kind = VecArray(constant_of(width), array.ndim - 1)

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return laid_over(context, builder, kind, array, args[0], context.cast(builder, args[1], sig.args[1], types.intp))

    return kind(array, first, width), build


@intrinsic(python=interpreted.flat)
def flat(_typing: Context, array: Kind) -> Lowered:
    """Return the numbers of an array of one dimension side by side, from its first one on, as many as its vectors have together; of
    an array of numbers that lie apart, what is between them.
    """
    kind = VecArray(1, 1)

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        data, shape, _ = parts_of(context, builder, array, args[0])
        count = builder.mul(shape[0], ir.Constant(WORD, array.width))
        return made_array(context, builder, kind, data, [count], [ir.Constant(WORD, 1)])

    return kind(array), build


@intrinsic(python=operator.getitem)
def lane(_typing: Context, vector: Operand, index: Any) -> Lowered:
    """Return the number in one lane."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return builder.extract_element(args[0], builder.trunc(args[1], ir.IntType(32)))

    return types.float64(vector, types.int64), build


@intrinsic(python=interpreted.with_lane)
def with_lane(_typing: Context, vector: Operand, index: Any, number: Operand) -> Lowered:
    """Return a vector with another number in one lane."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return builder.insert_element(args[0], args[2], builder.trunc(args[1], ir.IntType(32)))

    return vector(vector, types.int64, types.float64), build


def _words(value: Value) -> tuple[Any, Callable[[int], Any]]:
    """Return the type of 64-bit words as many as `value` has lanes, and how to make a constant of it."""
    if isinstance(value.type, ir.VectorType):
        kind = ir.VectorType(WORD, value.type.count)
        return kind, lambda number: ir.Constant(kind, [number] * kind.count)
    return WORD, lambda number: ir.Constant(WORD, number)


@intrinsic(python=interpreted.mantissa)
def mantissa(_typing: Context, x: Operand) -> Lowered:
    """Return m of x = m 2^k, 1 <= m < 2, for a positive normal x."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        kind, constant = _words(args[0])
        bits = builder.and_(builder.bitcast(args[0], kind), constant(2**52 - 1))
        return builder.bitcast(builder.or_(bits, constant(1023 << 52)), args[0].type)

    return x(x), build


@intrinsic(python=interpreted.exponent)
def exponent(_typing: Context, x: Operand) -> Lowered:
    """Return k of x = m 2^k, 1 <= m < 2, for a positive normal x, as a number."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        kind, constant = _words(args[0])
        bits = builder.lshr(builder.bitcast(args[0], kind), constant(52))
        return builder.sitofp(builder.sub(bits, constant(1023)), args[0].type)

    return x(x), build


@intrinsic(python=interpreted.two_to)
def two_to(_typing: Context, k: Operand) -> Lowered:
    """Return 2^k for a whole k between -1022 and 1023."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        kind, constant = _words(args[0])
        bits = builder.add(builder.fptosi(args[0], kind), constant(1023))
        return builder.bitcast(builder.shl(bits, constant(52)), args[0].type)

    return k(k), build


@kernel
def binary_logarithm(x):
    """The logarithm to the base 2 to 2e-6, for 1e-300 < x < 1e300, without a division: a polynomial between 1 and 2."""
    m = mantissa(x) - 1.5
    tail = 0.141718158877009 + m * (-0.0705896756746174 + m * (0.04392862784783997 + m * -0.025123203285849185))
    return exponent(x) + (0.5849627653299247 + m * (0.9618212283041843 + m * (-0.32063233270425884 + m * tail)))


@kernel
def power(x, share):
    """x^share to about six digits, for 1e-300 < x < 1e300 and |share| <= 1: a step size needs no more."""
    return power_of_two(binary_logarithm(x) * share)


@kernel
def power_of_two(z):
    """2^z to seven digits, for |z| < 1000."""
    k = (z + 6755399441055744.0) - 6755399441055744.0
    r = z - k
    tail = 0.05550410866482158 + r * (0.009618129107628477 + r * 0.0013333558146428443)
    return two_to(k) * (1.0 + r * (0.6931471805599453 + r * (0.2402265069591007 + r * tail)))


@kernel
def polynomial_sincos(x):
    """Sine and cosine together, branch-free: reduction by pi/2 in three parts, minimax polynomials (Cody and Waite).

    The rounding to the nearest quarter turn adds and subtracts 1.5 * 2^52. Error about 1 ulp.
    """
    k = (x * 0.6366197723675814 + 6755399441055744.0) - 6755399441055744.0
    r = ((x - k * 1.5707963267341256) - k * 6.077100506303966e-11) - k * 2.0222662487959506e-21
    z = r * r
    ps = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    ps = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * ps))
    sine = r + r * z * (-1.66666666666666324348e-01 + z * ps)
    pc = 2.08757232129817482790e-09 + z * -1.13596475577881948265e-11
    pc = -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * pc))
    cosine = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * pc)
    turn = (k * 0.25 + 6755399441055744.0) - 6755399441055744.0
    q = k - 4.0 * turn
    odd = q * q == 1.0
    a = where(odd, cosine, sine)
    b = where(odd, sine, cosine)
    return where(q * q - q > 1.0, -a, a), where(q * q + q > 1.0, -b, b)


@intrinsic(python=interpreted.by_quarters)
def _by_quarters(_typing: Context, sine: Operand, cosine: Operand, k: Operand) -> Lowered:
    """Return sine and cosine of an angle k quarter turns further on; k stands in the lowest bits of vectors."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        s, c, k = args
        kind, constant = _words(k)
        bits = builder.bitcast(k, kind)
        odd = builder.trunc(bits, ir.VectorType(FLAG, kind.count))
        sign = builder.and_(builder.shl(bits, constant(62)), constant(-(2**63)))
        s, c = (builder.bitcast(builder.xor(builder.bitcast(each, kind), sign), k.type) for each in (s, c))
        both = builder.select(odd, c, s), builder.select(odd, builder.fneg(s), c)
        return context.make_tuple(builder, sig.return_type, both)

    return types.UniTuple(sine, 2)(sine, cosine, k), build


@kernel
def lane_sincos(x):
    """Sine and cosine of vectors: as `polynomial_sincos`, with fewer operations, for lanes do not wait for one another.

    Reduction in two parts, a cosine shorter by a term, and the quarter turns from the lowest bits of x 2/pi + 1.5 * 2^52.
    """
    shifted = x * 0.6366197723675814 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    r = (x - k * 1.5707963267341256) - k * 6.077100506506192e-11
    z = r * r
    ps = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    ps = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * ps))
    sine = r + r * z * (-1.66666666666666324348e-01 + z * ps)
    pc = 2.4801580971668792e-05 + z * (-2.7555567130243807e-07 + z * 2.064773780991428e-09)
    cosine = 1.0 + z * (-0.5 + z * (0.04166666666660226 + z * (-0.0013888888878274331 + z * pc)))
    return _by_quarters(sine, cosine, shifted)


SINCOS[Vector] = lane_sincos
