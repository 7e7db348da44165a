"""Compiled functions that other compiled code calls by their address, and records that it takes by theirs.

What calls a function by its address is compiled once for all such functions, and a function once for all that call it. An entry
writes down a record, and gives the addresses of functions that take it:

    by_address(function, kinds)    makes two functions: address(place) returns the address of `function`, compiled for the types
                                   that kinds(type of place) names; call(address, arguments) calls it
    keep(record, memory)           writes a record into memory; returns its place
    record_at(place)               reads it

A function has one copy for each entry. A call costs some ns, as it hands over its arrays by pointer, lengths and strides.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.errors import TypingError
from numba.extending import register_model

from nlink.compiled.jit import intrinsic
from nlink.compiled.lowering import Builder, Context, Kind, Kinds, Lowered, Operand, Signature, Value, Values
from nlink.compiled.simd import VecArray, made_array, parts_of

WORD = ir.IntType(64)


class Place(types.Type):
    """The address of a record in memory: its numbers, and the beginnings and lengths of its arrays, a word each. The strides of an
    array with gaps follow them.
    """

    def __init__(self, record: Kind) -> None:
        self.record, self.instance_class = record, record.instance_class
        super().__init__(name=f"Place({record})")


@register_model(Place)
class PlaceModel(models.PrimitiveModel):
    """A word."""

    def __init__(self, manager: Operand, kind: Place) -> None:
        super().__init__(manager, kind, WORD)


def words(record: Operand) -> int:
    """Return how many words of memory a record takes."""
    if isinstance(record, tuple):
        return sum(words(each) for each in record)
    if isinstance(record, np.ndarray):
        return 1 + (1 if record.flags.c_contiguous else 2) * record.ndim
    return 1


class Cursor:
    """Where in memory the next word of a record stands."""

    def __init__(self, builder: Builder, start: Value) -> None:
        self.builder, self.start, self.count = builder, start, 0

    def _next(self, kind: Kind) -> Value:
        place = self.builder.gep(self.start, [ir.Constant(WORD, self.count)])
        self.count += 1
        return self.builder.bitcast(place, kind.as_pointer())

    def write(self, value: Value) -> None:
        """Write a number or an address."""
        self.builder.store(value, self._next(value.type), align=8)

    def read(self, kind: Kind) -> Value:
        """Read a number or an address that nothing changes meanwhile."""
        value = self.builder.load(self._next(kind), align=8)
        value.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return value


def parts_in(kind: Kind) -> Kind:
    """Return the types of what a tuple holds."""
    return kind.types


def _write(context: Context, builder: Builder, kind: Kind, value: Value, to: Cursor) -> None:
    """Write a value, with all that is in it."""
    if isinstance(kind, types.BaseTuple):
        for i, each in enumerate(parts_in(kind)):
            _write(context, builder, each, builder.extract_value(value, i), to)
    elif isinstance(kind, VecArray | types.Array):
        data, shape, strides = (parts_of if isinstance(kind, VecArray) else _parts)(context, builder, kind, value)
        for each in (data, *shape, *(strides if _has_gaps(kind) else ())):
            to.write(each)
    else:
        to.write(value)


def _has_gaps(kind: Kind) -> bool:
    """Whether the strides of an array do not follow from its lengths."""
    return isinstance(kind, types.Array) and kind.layout != "C"


def _parts(context: Context, builder: Builder, kind: Kind, value: Value) -> tuple[Value, list[Value], list[Value]]:
    """Return the address, the lengths and the strides in bytes of an array of NumPy."""
    array = context.make_array(kind)(context, builder, value)
    return array.data, cgutils.unpack_tuple(builder, array.shape), cgutils.unpack_tuple(builder, array.strides)


def _read(context: Context, builder: Builder, kind: Kind, at: Cursor) -> Value:
    """Read a value, with all that is in it. Of arrays the last stride is a constant, so that loops over them become vector code."""
    if isinstance(kind, types.BaseTuple):
        return context.make_tuple(builder, kind, [_read(context, builder, each, at) for each in parts_in(kind)])
    if isinstance(kind, VecArray):
        data, shape = at.read(ir.DoubleType().as_pointer()), [at.read(WORD) for _ in range(kind.ndim)]
        return made_array(context, builder, kind, data, shape, contiguous_strides(builder, shape))
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder)
        item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        data, shape = at.read(array.data.type), [at.read(WORD) for _ in range(kind.ndim)]
        if _has_gaps(kind):
            strides = [at.read(WORD) for _ in range(kind.ndim)]
        else:
            strides = [builder.mul(each, ir.Constant(WORD, item)) for each in contiguous_strides(builder, shape)]
        from numba.np import arrayobj  # which only compiling needs

        arrayobj.populate_array(array, data, shape, strides, item, None)
        return array._getvalue()
    return at.read(context.get_value_type(kind))


def contiguous_strides(builder: Builder, shape: list[Value]) -> list[Value]:
    """Return the strides of an array without gaps, counted in its elements."""
    strides = [ir.Constant(WORD, 1)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length, flags=("nsw",)))
    return strides


@intrinsic
def keep(_typing: Context, record: Kind, memory: Kind) -> Lowered:
    """Write a record into an array of words; return its place."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        start = context.make_array(memory)(context, builder, args[1]).data
        _write(context, builder, record, args[0], Cursor(builder, start))
        return builder.ptrtoint(start, WORD)

    return Place(record)(record, memory), build


@intrinsic
def start_of(_typing: Context, memory: Kind) -> Lowered:
    """Return the address of an array."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return builder.ptrtoint(context.make_array(memory)(context, builder, args[0]).data, WORD)

    return types.intp(memory), build


@intrinsic
def record_at(_typing: Context, place: Kind) -> Lowered:
    """Return the record at a place."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return _read(context, builder, place.record, Cursor(builder, builder.inttoptr(args[0], WORD.as_pointer())))

    return place.record(place), build


@intrinsic(python=lambda array: array)
def contiguous(_typing: Context, array: Kind) -> Lowered:
    """Return an array that is known to have no gaps: the function that is called cannot see it."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        data, shape, _ = parts_of(context, builder, array, args[0])
        return made_array(context, builder, array, data, shape, contiguous_strides(builder, shape))

    return array(array), build


def by_address(
    function: Operand, kinds: Callable[[Kind], Kinds], result: Kind = types.none
) -> tuple[Callable[..., Operand], Callable[..., Operand]]:
    """Return two functions: one returns the address of `function`, the other calls what is at an address. See above.

    What is called raises no exceptions, and returns what is of the type `result`.
    """

    @intrinsic
    def address(typing: Context, place: Kind) -> Lowered:
        function.get_call_template(kinds(place), {})
        compiled = function.overloads[kinds(place)]

        def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
            context.active_code_library.add_linking_library(compiled.library)
            return builder.ptrtoint(context.declare_function(builder.module, compiled.fndesc), WORD)

        return types.intp(place), build

    expected = kinds(types.intp)

    @intrinsic
    def call(typing: Context, address: Kind, arguments: Kind) -> Lowered:
        given = [types.unliteral(each) for each in arguments.types]
        if given != list(expected):
            raise TypingError(f"a function at an address takes {expected}, not {given}")

        def build(context: Kind, builder: Builder, sig: Signature, args: Values) -> Value:
            at = builder.inttoptr(args[0], context.call_conv.get_function_type(result, expected).as_pointer())
            values = [builder.extract_value(args[1], i) for i in range(len(expected))]
            return context.call_conv.call_function(builder, at, result, expected, values)[1]

        return result(address, arguments), build

    return address, call
