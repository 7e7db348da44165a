"""Records passed on by their address: a call of a large function then hands over one word instead of all arrays of a NamedTuple.

`by_address(record)` writes a NamedTuple to the stack and returns a Reference, whose fields are read as those of the record; one
that is a NamedTuple is a Reference again. A record of many arrays has hundreds of words, and a call with it takes 0.1 us.

Nothing changes the record, and its reads are marked as such, so that they can be moved: therefore the function that writes it must
not read it. Pass what `by_address` returns to a function that is `apart`, and to nothing else.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, models, register_model

from nlink.compiled.jit import intrinsic
from nlink.compiled.lowering import Builder, Context, Kind, Lowered, Signature, Value, Values


class Reference(types.Type):
    """The address of a NamedTuple."""

    def __init__(self, record: Kind) -> None:
        self.record, self.instance_class = record, record.instance_class
        super().__init__(name=f"Reference({record.name})")

    def field(self, name: str) -> tuple[int, Kind]:
        """Return the number of a field and its type."""
        index = self.record.fields.index(name)
        return index, self.record.types[index]


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):
    """A pointer to the record."""

    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, manager.lookup(kind.record).get_value_type().as_pointer())


def _held(kind: Kind) -> Kind:
    return Reference(kind) if isinstance(kind, types.NamedTuple | types.NamedUniTuple) else kind


@intrinsic(python=lambda record: record)
def by_address(_typing: Context, record: Kind) -> Lowered:
    """Return a Reference to a record; see the module."""

    def build(context: Context, builder: Builder, sig: Signature, args: Values) -> Value:
        return cgutils.alloca_once_value(builder, args[0])

    return Reference(record)(record), build


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, attr: str) -> Kind | None:
        return _held(reference.field(attr)[1]) if attr in reference.record.fields else None


@lower_getattr_generic(Reference)
def _field(context: Context, builder: Builder, kind: Reference, value: Value, attr: str) -> Value:
    index, field = kind.field(attr)
    at = cgutils.gep_inbounds(builder, value, 0, index)
    return at if _held(field) != field else _read(builder, at)


def _read(builder: Builder, at: Value) -> Value:
    """Return what is at an address; of a structure its members one by one, so that those not used are not read."""
    kind: Any = at.type.pointee
    if not isinstance(kind, ir.LiteralStructType | ir.ArrayType):
        number = builder.load(at)
        number.set_metadata("invariant.load", builder.module.add_metadata([]))
        return number
    whole = kind(None)
    for i in range(len(kind)):
        whole = builder.insert_value(whole, _read(builder, cgutils.gep_inbounds(builder, at, 0, i)), i)
    return whole
