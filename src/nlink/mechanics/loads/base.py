"""What a load is: a frozen record of parameters, and the law by which it acts.

To add a load, write a record and register it (a load of nlink itself stands in `BUILT_IN`):

    @register
    @dataclass(frozen=True)
    class LinkMoment(Load):
        '''A constant moment on each link: moment in N m.'''

        name: ClassVar[str] = "link_moment"
        label: ClassVar[str] = "link moments"
        law: ClassVar[Law] = Law("link", push="moment")
        moment: Each = each("N m", "Moment", "mu", odd=True)

Rows of numbers, ledger, `vary`, units, symbols, words, model files and the form of the studio follow from the fields; moments,
power, energy, series, linearised matrices and equations from the law.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nlink._support.checks import number, number_or_each, set_checked

Each = float | tuple[float, ...]


class Parameter(NamedTuple):
    """A number of a record: its unit, how it is called and bounded, and how the compiled code sees it."""

    unit: str
    label: str
    """in the form of the studio"""
    symbol: str
    """in equations"""
    single: bool = False
    """whether the chain has one, and not one for each joint or link"""
    least: float | None = None
    above: float | None = None
    odd: bool = False
    """whether the mirror image of the chain has the opposite value"""
    scale: float = 1.0
    """what the compiled code has of it"""
    usual: float = 1.0
    """the value with which the studio begins"""
    slider: tuple[float, float, float] | None = None
    """lowest, highest and step, in the studio"""


def each(unit: str, label: str, symbol: str, default: Any = MISSING, **more: Any) -> Any:
    """Declare a parameter with one value for all joints or links, or one for each."""
    return field(default=default, metadata={"parameter": Parameter(unit, label, symbol, **more)})


def single(unit: str, label: str, symbol: str, default: Any = MISSING, **more: Any) -> Any:
    """Declare a parameter of which the chain has one value."""
    return each(unit, label, symbol, default, single=True, **more)


@cache
def parameters_of(record: type) -> dict[str, Parameter]:
    """Return the parameters of a record by the names of their fields."""
    return {f.name: f.metadata["parameter"] for f in fields(record) if "parameter" in f.metadata}


class Law(NamedTuple):
    """A moment push - damping * rate - stiffness * (angle - origin), each the name of a field of the load, or absent.

    At joint i it acts on link i, and its opposite on link i-1; angle and rate are relative. On a link they are its own, and there
    is no stiffness. The stiffness stores energy; the rest does work, and is in the ledger.
    """

    on: str
    stiffness: str = ""
    origin: str = ""
    damping: str = ""
    push: str = ""

    @property
    def works(self) -> bool:
        """Whether anything but the stiffness acts."""
        return bool(self.damping or self.push)


@dataclass(frozen=True)
class Load:
    """A load: a subclass is a frozen dataclass."""

    name: ClassVar[str]
    """in model files, `vary` and `derive`"""
    label: ClassVar[str]
    """in words"""
    law: ClassVar[Law | None] = None
    """of a moment; other loads are written out in the kernels"""
    conservative: ClassVar[bool] = False
    """whether its work is a change of potential energy, if it has no law"""
    drains: ClassVar[bool] = False
    """whether its work is never positive"""
    moves: ClassVar[bool] = False
    """whether it depends on velocities of points, or acts at the tip"""
    several: ClassVar[bool] = False
    """whether a model may have several of it"""

    def __post_init__(self) -> None:
        for name, parameter in parameters_of(type(self)).items():
            check = number if parameter.single else number_or_each
            set_checked(self, check, name, least=parameter.least, above=parameter.above)

    @classmethod
    def works(cls) -> bool:
        """Whether the ledger keeps its work."""
        return cls.law.works if cls.law else not cls.conservative

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return what can vary of the load, by name."""
        return parameters_of(cls)

    @classmethod
    def values(cls, load: Any, n: int) -> dict[str, np.ndarray]:
        """Return the parameters of a load on n links, each (n,), or a number if the chain has one; zeros for an absent load."""
        found = {}
        for name, parameter in cls.parameters().items():
            value = np.asarray(getattr(load, name, 0.0), float)
            found[name] = value if parameter.single else np.broadcast_to(value, (n,)).copy()
        return found

    @classmethod
    def changed(cls, load: Any, n: int, values: Mapping[str, Any]) -> Any:
        """Return a load on n links, maybe absent so far, with other values of some parameters."""
        others = {} if load else dict.fromkeys(parameters_of(cls), 0.0)
        return replace(load, **values) if load else cls(**(others | dict(values)))

    @property
    def symmetric(self) -> bool:
        """Whether the mirror image of the chain has the same load."""
        return not any(np.any(getattr(self, name)) for name, parameter in parameters_of(type(self)).items() if parameter.odd)
