"""Trace a kernel: run its Python source once on symbolic values that emit LLVM instructions, which gives fully unrolled code.

The code has no loops and no indices, and what the source stores and reads again stays in registers. Tracing pays for small sizes
that are known when compiling. `Number` stands for a number or a vector, `Cells` for an array of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import copy
from types import FunctionType, SimpleNamespace
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher

from nlink.compiled.duals import RULES, negated
from nlink.compiled.jit import COMPILING
from nlink.compiled.lowering import Builder, Context, Kind, Operand, Value
from nlink.compiled.simd import VecArray, parts_of, polynomial_sincos, sincos, vector_of, where


def traced(function: Any, known: dict[Any, Any] | None = None) -> Callable[..., Any]:
    """Return the Python source of a kernel, calling the sources of other kernels; without the compiler it is the kernel itself."""
    if not COMPILING:
        return function
    known = {} if known is None else known
    source = getattr(function, "py_func", function)
    if source not in known:
        names: dict[str, Any] = {}
        known[source] = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
        for name, value in source.__globals__.items():
            if name in source.__code__.co_names:
                value = INSTEAD.get(id(value), value)
                names[name] = traced(value, known) if isinstance(value, Dispatcher) else value
    return known[source]


def selected(condition: Number, yes: Operand, no: Operand) -> Number:
    """Choose without a branch."""
    return Number(condition.builder, condition.builder.select(condition.value, yes.value, no.value))


INSTEAD = {
    id(sincos): polynomial_sincos,
    id(where): selected,
    id(math): SimpleNamespace(sqrt=lambda number: number.root()),
}
"""What stands for a function or a module in traced code, by its identity."""


class Number:
    """A symbolic number or vector: the builder that emits the code, and its value."""

    def __init__(self, builder: Builder, value: Value) -> None:
        self.builder, self.value = builder, value

    def parts(self) -> list[Value]:
        """Return what it consists of."""
        return [self.value]

    def _with(self, other: Operand) -> tuple[Value, Value]:
        """Return both values, alike."""
        a, b = self.value, other.value if isinstance(other, Number) else ir.Constant(ir.DoubleType(), float(other))
        wide = next((each.type.count for each in (a, b) if isinstance(each.type, ir.VectorType)), 0)
        return (vector_of(self.builder, a, wide), vector_of(self.builder, b, wide)) if wide else (a, b)

    def _made(self, name: str, a: Operand, b: Operand) -> Number:
        return Number(self.builder, getattr(self.builder, name)(a, b, flags=("contract",)))

    def __add__(self, other: Operand) -> Number:
        if isinstance(other, float) and other == 0.0:
            return self
        return self._made("fadd", *self._with(other))

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Number:
        if isinstance(other, float) and other == 0.0:
            return self
        return self._made("fsub", *self._with(other))

    def __rsub__(self, other: Operand) -> Number:
        if isinstance(other, float) and other == 0.0:
            return -self
        return self._made("fsub", *self._with(other)[::-1])

    def __mul__(self, other: Operand) -> Operand:
        if isinstance(other, float) and other == 0.0:
            return 0.0
        return self._made("fmul", *self._with(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Number:
        return self._made("fdiv", *self._with(other))

    def __rtruediv__(self, other: Operand) -> Number:
        return self._made("fdiv", *self._with(other)[::-1])

    def _compared(self, sign: str, other: Operand) -> Number:
        return Number(self.builder, self.builder.fcmp_ordered(sign, *self._with(other)))

    def __gt__(self, other: Operand) -> Number:
        return self._compared(">", other)

    def __eq__(self, other: Operand) -> Operand:
        return self._compared("==", other)

    __hash__ = object.__hash__

    def __abs__(self) -> Number:
        kind = self.value.type
        name = f"llvm.fabs.v{kind.count}f64"
        function = cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(kind, [kind]), name)
        return Number(self.builder, self.builder.call(function, [self.value]))

    def __neg__(self) -> Number:
        return self._made("fsub", *Number(self.builder, self._with(-0.0)[1])._with(self))  # GPUs know no fneg

    def __len__(self) -> int:
        return self.value.type.count

    def __bool__(self) -> bool:
        return True

    def _chosen(self, other: Number, lanes: list[int]) -> Number:
        order = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
        return Number(self.builder, self.builder.shuffle_vector(self.value, other.value, order))

    def moved(self, by: int) -> Number:
        """Return a vector with everything some lanes later, and zeros for what comes in."""
        count = self.value.type.count
        zero = Number(self.builder, ir.Constant(self.value.type, [0.0] * count))
        return self._chosen(zero, [k - by if 0 <= k - by < count else count for k in range(count)])

    def lane(self, i: int) -> Number:
        """Return what is in one lane in all lanes."""
        return self._chosen(self, [i] * self.value.type.count)

    def at(self, lanes: Iterable[int]) -> Number:
        """Return a vector of what is in these lanes."""
        return self._chosen(self, list(lanes))

    def root(self) -> Number:
        """Return the square root."""
        kind = self.value.type
        function = cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(kind, [kind]), f"llvm.sqrt.v{kind.count}f64")
        return Number(self.builder, self.builder.call(function, [self.value]))

    def number(self, i: int) -> Number:
        """Return what is in one lane."""
        return Number(self.builder, self.builder.extract_element(self.value, ir.Constant(ir.IntType(32), i)))

    def taking(self, other: Operand, lanes: Iterable[int]) -> Number:
        """Return a vector that has some lanes of another, or a number in them."""
        taken, count = set(lanes), self.value.type.count
        given = Number(self.builder, self._with(other)[1])
        return self._chosen(given, [k + count * (k in taken) for k in range(count)])

    def largest(self) -> Number:
        """Return the largest number of all lanes."""
        count = self.value.type.count
        if count == 1:
            return self.number(0)
        a, b = (self._chosen(self, list(range(first, first + count // 2))) for first in (0, count // 2))
        return selected(a > b, a, b).largest()


def gathered(context: Context, builder: Builder, kind: Kind, array: Value, part: int, n: Value, places: int, width: int) -> Number:
    """Return numbers part * n, part * n + 1, ... of an array of numbers side by side: as many as there are places, or n if that is
    less, and zeros behind them.
    """
    data, none = Cells(context, builder, kind, array).data, ir.Constant(ir.DoubleType(), 0.0)
    vector, first = ir.Constant(ir.VectorType(ir.DoubleType(), width), [0.0] * width), builder.mul(n, ir.Constant(n.type, part))
    for i in range(places):
        at = ir.Constant(n.type, i)
        there = builder.icmp_signed("<", at, n)
        place = builder.add(first, builder.select(there, at, ir.Constant(n.type, 0)))
        number = builder.select(there, builder.load(builder.gep(data, [place])), none)
        vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), i))
    return Number(builder, vector)


def scattered(context: Context, builder: Builder, kind: Kind, array: Value, first: int, vector: Number, count: int) -> None:
    """Fill numbers `first`, `first` + 1, ... of an array of numbers side by side from as many lanes of a vector."""
    data = Cells(context, builder, kind, array).data
    for i in range(count):
        builder.store(vector.number(i).value, builder.gep(data, [ir.Constant(ir.IntType(64), first + i)]))


class DualNumber(Number):
    """A symbolic dual number: its value and its rate."""

    def __init__(self, builder: Builder, value: Value, rate: Operand) -> None:
        super().__init__(builder, value)
        self.rate = rate

    def parts(self) -> list[Value]:
        """Return value and rate."""
        return [self.value, self.rate]

    def _with(self, other: Operand) -> tuple[Value, Value]:
        if isinstance(other, DualNumber):
            return (self.value, self.rate), (other.value, other.rate)
        return (self.value, self.rate), (Number(self.builder, self.value)._with(other)[1], None)

    def _made(self, name: str, a: Operand, b: Operand) -> Number:
        return DualNumber(self.builder, *RULES[name](self.builder, a, b))

    def __neg__(self) -> Number:
        return DualNumber(self.builder, *(negated(self.builder, part) for part in self.parts()))


class Cells:
    """An array of vectors: what has been read or written stays at hand, and is written to memory as well, or only those parts of it
    whose first index is in `stored`.
    """

    def __init__(self, context: Context, builder: Builder, kind: Kind, value: Value, stored: tuple[int, ...] | None = None) -> None:
        self.builder, self.kind, self.known, self.stored = builder, kind, {}, stored
        self.width = kind.width if isinstance(kind, VecArray) else 1
        self.paired = isinstance(kind, VecArray) and kind.holds == "dual"
        self.data, _, self.strides = parts_of(context, builder, kind, value)

    def _at(self, index: tuple[int, ...]) -> Any:
        offset = ir.Constant(ir.IntType(64), 0)
        for each, stride in zip(index, self.strides, strict=True):
            offset = self.builder.add(offset, self.builder.mul(ir.Constant(ir.IntType(64), each), stride))
        kind = ir.VectorType(ir.DoubleType(), self.width) if self.width > 1 else ir.DoubleType()
        return self.builder.bitcast(self.builder.gep(self.data, [offset]), kind.as_pointer())

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) < len(self.strides):
            return Part(self, *index)
        if index not in self.known:
            parts = [self.builder.load(at, align=8) for at in self._places(index)]
            self.known[index] = (DualNumber if self.paired else Number)(self.builder, *parts)
        return self.known[index]

    def __setitem__(self, index: Any, value: Number | float) -> None:
        index = index if isinstance(index, tuple) else (index,)
        self.known[index] = value
        if self.stored is None or index[0] in self.stored:
            places = self._places(index)
            parts = value.parts() if isinstance(value, Number) else [self._constant(each) for each in (value, 0.0)[: len(places)]]
            for part, at in zip(parts, places, strict=True):
                self.builder.store(part, at, align=8)

    def _constant(self, value: float) -> Any:
        number = ir.Constant(ir.DoubleType(), value)
        return vector_of(self.builder, number, self.width) if self.width > 1 else number

    def _places(self, index: tuple[int, ...]) -> list[Value]:
        """Return where a number lies, or a dual one's value and rate."""
        at = self._at(index)
        return [at, self.builder.gep(at, [ir.Constant(ir.IntType(64), 1)])] if self.paired else [at]

    def of_last(self, i: Any, *lengths: int) -> Cells:
        """Return the cells whose last index is i, in an array that has them together: places are then known when compiling, for all
        but the first of the other axes have these lengths. The last index of what is asked for is 0 from now on.
        """
        data = self.builder.gep(self.data, [self.builder.mul(i, self.strides[-1])])
        sizes = [math.prod(lengths[axis:]) * self.width for axis in range(len(lengths) + 1)]
        made = copy(self)
        made.data, made.known, made.strides = data, {}, [ir.Constant(ir.IntType(64), size) for size in (*sizes, 0)]
        return made


class CellsByLink:
    """The cells of an array with n last indices, which has what belongs to each together: read anew after `forget`, where it stands
    in memory already, rather than put aside in another place.
    """

    def __init__(self, cells: Cells, n: int, *lengths: int) -> None:
        self.builder = cells.builder
        self.links = [cells.of_last(ir.Constant(ir.IntType(64), i), *lengths) for i in range(n)]

    def __getitem__(self, index: Any) -> Any:
        return self.links[index[-1]][(*index[:-1], 0)] if isinstance(index, tuple) else Part(self, index)

    def __setitem__(self, index: tuple[int, ...], value: Number | float) -> None:
        self.links[index[-1]][(*index[:-1], 0)] = value

    def forget(self) -> None:
        """Let everything be read from memory from now on."""
        self.builder.asm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", [], side_effect=True)
        for each in self.links:
            each.known = {}


class Handed:
    """A vector that each turn of a loop hands on to the next: zero before the first."""

    def __init__(self, builder: Builder, width: int) -> None:
        kind = ir.VectorType(ir.DoubleType(), width)
        self.builder, self.place = builder, cgutils.alloca_once(builder, kind)
        builder.store(ir.Constant(kind, [0.0] * width), self.place)

    def get(self) -> Number:
        """Return what the turn before has set."""
        return Number(self.builder, self.builder.load(self.place))

    def set(self, value: Number) -> None:
        """Set it for the next turn."""
        self.builder.store(value.value, self.place)


class Part:
    """The cells with one first index."""

    def __init__(self, cells: Cells | CellsByLink, first: int) -> None:
        self.cells, self.first = cells, first

    def __getitem__(self, index: tuple[int, ...]) -> Number:
        return self.cells[(self.first, *index)]

    def __setitem__(self, index: tuple[int, ...], value: Number) -> None:
        self.cells[(self.first, *index)] = value


def fields(builder: Builder, kind: Kind, value: Value) -> dict[str, tuple[Value, Value]]:
    """Return the fields of a NamedTuple with their types."""
    return {name: (kind.types[i], builder.extract_value(value, i)) for i, name in enumerate(kind.fields)}
