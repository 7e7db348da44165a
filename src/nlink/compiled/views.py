"""Views of arrays and records: arrays that do not own their memory, so that handing them on costs nothing.

Kernels see such arrays alone: an entry takes views of what Python gives it. Numba translates an index into one in half the time it
takes for an array of NumPy, and a kernel is compiled once for all entries.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.imputils import impl_ret_borrowed

from nlink.compiled.jit import intrinsic
from nlink.compiled.lowering import Builder, Context, Kind, Lowered, Signature, Value, Values
from nlink.compiled.simd import VecArray, laid_along, made_array, parts_of


@intrinsic(python=lambda record: record)
def views(_typing: Context, record: Any) -> Lowered:
    """Return an array of float64 as one of numbers without a reference count (see `numbers`), and a NamedTuple with its arrays and
    those of NamedTuples in it so. All else stays as it is.
    """

    def kind_of(kind: Kind) -> Any:
        if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
            return types.BaseTuple.from_types([kind_of(each) for each in kind.types], kind.instance_class)
        floats = isinstance(kind, types.Array) and kind.dtype == types.float64 and kind.layout == "C"
        return VecArray(1, kind.ndim) if floats else kind

    def view(context: Context, builder: Builder, kind: Kind, value: Value) -> Value:
        made = kind_of(kind)
        if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
            parts = [view(context, builder, each, builder.extract_value(value, i)) for i, each in enumerate(kind.types)]
            return context.make_tuple(builder, made, parts)
        return laid_along(context, builder, made, kind, value) if made != kind else value

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return impl_ret_borrowed(context, builder, sig.return_type, view(context, builder, record, args[0]))

    return kind_of(record)(record), build


@intrinsic(python=lambda array, row: array.reshape(-1)[row * array.shape[1] :])
def onward(_typing: Context, array: Any, row: Any) -> Lowered:
    """Return the numbers of an array (rows, width) side by side, from the first of a row on."""
    kind = VecArray(1, 1)

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        data, shape, strides = parts_of(context, builder, array, args[0])
        before = builder.mul(context.cast(builder, args[1], sig.args[1], types.intp), strides[0])
        count = builder.sub(builder.mul(shape[0], strides[0]), before)
        return made_array(context, builder, kind, builder.gep(data, [before]), [count], strides[1:])

    return kind(array, row), build
