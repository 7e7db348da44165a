"""The motion as a power series in time, as integrators ask for it: see `formulations/series` for how it is computed.

One source of the recurrence serves all layouts but ONE_VECTOR, which has its own. ns of a step, gravity alone, on one core with
AVX-512 (2026-11-16; in one vector 2026-11-18):

    layout           for                           coefficients       links               N = 2     3     5     15
    ORDER_BY_ORDER   one chain                     in loops           in vectors of 8      2293         2701   3359
    ONE_VECTOR       one chain, up to 16 links     unrolled           in one vector         224   243    349   1115
    ORDER_BY_ORDER   chains in lanes, a member     in loops           in loops              124   201    339   1510
    LINK_BY_LINK     chains in lanes, a member     unrolled           in loops               95   144    243    835
    UNROLLED         chains in lanes, a member     unrolled           unrolled               65   111

ORDER_BY_ORDER takes what the others do not: long chains, drag and forces at the tip of one chain, deviations, threads of a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nlink.compiled.dispatch import ByClass, class_of, dispatched
from nlink.compiled.lowering import Operand


class SeriesSize(NamedTuple):
    """How much memory a series needs, in rows."""

    terms: int
    """of coefficients"""
    plain_terms: int
    """likewise, with neither loads nor ledger"""
    scratch: int
    """of what is the same for a step, and of what is of one order"""


class Series(NamedTuple):
    """The motion as a power series in time: plain functions that a formulation brings for the generic ones of the same names."""

    begin: Callable[..., None]
    series: Callable[..., Any]
    horizon: Callable[..., Any]
    arrival: Callable[..., None]
    accelerations: Callable[..., None]
    polynomials: Callable[..., None]
    powers: Callable[..., None]
    size: SeriesSize
    refusal: Callable[[Any], str] = lambda p: ""
    """why it does not take parameters, or nothing if it does"""
    acting: Callable[[Any], int] = lambda chain: chain.loaded
    """what acts on a chain besides gravity, as a number that chooses compiled code"""
    takes: Callable[[Any], bool] = lambda chain: not chain.force_level
    """of ONE_VECTOR: whether it takes the loads of a chain"""
    parts: int = 1
    """of ONE_VECTOR: how many lanes a link takes"""
    most: int = 16
    """of ONE_VECTOR: links of the longest chain"""
    ones: tuple[int, ...] = ()
    """rows of coefficients that begin with 1 at every step: filled once for all, where the memory is made"""


SERIES: dict[type, dict[int, Series]] = ByClass()
"""By the type of the parameters, and the kind of the layout."""


class SeriesRoom(NamedTuple):
    """Where a series is computed. Arrays come twice: as numbers, a link each, and as vectors of links or chains over the same."""

    chain: Operand
    """the parameters of the chain"""
    terms: Operand
    """(SERIES_ROWS, order + 2, links): coefficients by order"""
    wide: Operand
    w: Operand
    """(SERIES_SCRATCH, links): what stays the same for a step"""
    v: Operand
    u: Operand
    """(SERIES_SCRATCH, links): what is of one order"""
    uv: Operand
    layout: Operand
    order: Operand
    """the order as a constant of the compiled code: only the length of the tuple matters"""


SERIES_ROWS, SERIES_ROWS_OF_GRAVITY, SERIES_SCRATCH = CHAIN_SIZE = SeriesSize(10, 3, 27)
"""Of chains."""
ORDER_BY_ORDER, ONE_VECTOR, LINK_BY_LINK, UNROLLED = range(4)
"""Layouts of the computation: see above."""


class SeriesLayout(NamedTuple):
    """A layout in numbers that are known when compiling: in a room they are the lengths of tuples."""

    kind: Any
    links: Any
    """of UNROLLED and ONE_VECTOR"""
    moments: Any
    """what acts, if unrolled: see `Series.acting`"""
    forces: Any
    """whether drag or a force at the tip acts, if LINK_BY_LINK"""


def series_layout(kind: int, links: int = 0, moments: int = 0, forces: bool = False) -> SeriesLayout:
    """Return a layout."""
    return SeriesLayout(*((0,) * number for number in (kind, links, moments, forces)))


def layout_of(room: Operand) -> SeriesLayout:
    """Return the numbers of the layout of a room, or of the rooms of a Numba type."""
    return SeriesLayout(*map(len, room[SeriesRoom._fields.index("layout")]))


def kind_of(argument: Operand) -> Any:
    """Return what chooses a series: the class of parameters, and the kind of the layout of a room."""
    kind = class_of(argument)
    return layout_of(argument).kind if kind is SeriesRoom else kind


def chosen(name: str) -> Any:
    """Return a decorator: the function of this name that a formulation brings."""
    return dispatched(lambda kind, layout: getattr(SERIES[kind][layout], name), "p", "room", of=kind_of)


@chosen("begin")
def begin(p, room):
    """Fill what of the room stays the same for a run of one chain."""


@chosen("series")
def series(t, bound, ahead, y, p, room, order):
    """Fill the room with the coefficients of the motion from the state y; return the sizes of the last two, and the largest rate.

    `bound` is the end of the time in which the loads are smooth; it lies later if `ahead`.
    """


@chosen("horizon")
def horizon(h, p, room, order):
    """Return the part of a step h in which the series in the room stays true: a load may have a kink."""


@chosen("arrival")
def arrival(h, y, p, room, order, new):
    """Fill `new` with the state, on its constraints and without its ledger, at the time h after the start y of the series."""


@chosen("accelerations")
def accelerations(p, room, f):
    """Fill the second half of f with the accelerations of the coordinates at the start of the series in the room."""


@chosen("polynomials")
def polynomials(p, room, order, q):
    """Fill q (order, m) with the coefficients of the state, for powers of time from the first on."""


@chosen("powers")
def powers(p, room, order, q):
    """Fill q (order, m) with the coefficients of the ledger, for powers of time from the first on."""
