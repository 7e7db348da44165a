"""Parameters that vary over the members of an ensemble.

A varied value replaces one value of the chain, and every other value stays. A load that the chain does not have is added with its
other values 0. The torque of a joint is the sum of a constant, a sine, and a table or a function, each 0 if it is absent:
`joint_torque` varies the constant, `joint_torque.amplitude`, `.frequency` and `.phase` the sine.

The names, and where the numbers of a parameter are, stand in `mechanics/parameters.py`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nlink._support.checks import LARGEST, SHORT, ModelError, shown
from nlink.ensemble import varied_in_space
from nlink.mechanics.chain import Link, Multibody
from nlink.mechanics.kernels import chain_parameters
from nlink.mechanics.loads import Parameter, parameters_of
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.parameters import HINGE_INERTIA, PARAMETERS, Place
from nlink.mechanics.space.bodies import Body
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.numbers import BODY_PARAMETERS, spatial_numbers
from nlink.mechanics.tree import WORKS

BODY = ("mass", "com", "offset", "inertia")
"""Fields of a link that its inertia about the hinge is made of."""


class Column(NamedTuple):
    """Where the numbers of a parameter are, the links that it is of (from 0), and its values (members,)."""

    at: Place
    links: Sequence[int]
    values: np.ndarray

    @property
    def of_links(self) -> bool:
        """Whether it is of the links, and not of a load."""
        return self.at.record in (Link, Body)

    def places(self) -> list[tuple[int, int]]:
        """Return where a value goes among a chain's numbers: rows, and links or components."""
        row, component = self.at.row, self.at.component
        return [(row, i) for i in self.links] if component is None else [(row, component)]

    def numbers(self) -> np.ndarray:
        """Return the values as the compiled code takes them."""
        return self.at.parameter.scale * self.values


class Varied:
    """What varies over the members of an ensemble: the chain of each, and its numbers."""

    def __init__(self, chain: Multibody, vary: Any, members: int) -> None:
        self.base, self.members = chain, members
        self.columns: list[Column] = []
        keys: dict[tuple[int, int], Any] = {}
        for key, values in dict(vary or {}).items():
            self.columns.append(_column(str(key), values, chain, members))
            for place in self.columns[-1].places():
                if place in keys:
                    raise ModelError(f"vary gives a value twice, by {keys[place]!r} and {key!r}; leave one out")
                keys[place] = key

    def chain(self, member: int) -> Multibody:
        """Return the chain of one member."""
        return self._chain([(column, float(column.values[member])) for column in self.columns]) if self.columns else self.base

    def _chain(self, values: list[tuple[Column, float]]) -> Multibody:
        """Return the chain with these values of columns."""
        changes: dict[type, dict[str, np.ndarray]] = {}
        for column, value in values:
            if column.of_links:
                continue
            fields = changes.setdefault(column.at.record, {})
            if column.at.field not in fields:
                kind = column.at.record
                fields[column.at.field] = np.array(kind.values(self.base.load(kind), self.base.n)[column.at.field])
            fields[column.at.field][column.links if column.at.component is None else ...] = value
        loads = [kind.changed(self.base.load(kind), self.base.n, fields) for kind, fields in changes.items()]
        links = tuple(self._link(i, link, values) for i, link in enumerate(self.base.links))
        return replace(self.base, links=links).with_loads(*loads) if loads else replace(self.base, links=links)

    def _link(self, i: int, link: Any, values: list[tuple[Column, float]]) -> Any:
        """Return link i with these values of columns."""
        fields = {column.at.field: value for column, value in values if column.of_links and i in column.links}
        if not fields:
            return link
        return varied_in_space.changed(link, fields) if self.base.spatial else replace(link, **fields)

    @property
    def places(self) -> np.ndarray:
        """Rows, and links or components (K, 2), of what varies among a chain's numbers."""
        return self._numbers[0]

    @property
    def values(self) -> np.ndarray:
        """The members' numbers (members, K) at these places."""
        return self._numbers[1]

    @cached_property
    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Places and values: of what is given, and of what follows from it."""
        given = [column for column in self.columns if not (self._in_space and column.of_links)]
        places = [place for column in given for place in column.places()]
        values = [column.numbers() for column in given for _ in column.places()]
        own = np.stack(values, axis=1) if values else np.zeros((self.members, 0))
        if self._in_space:
            rows, more = self._in_space.numbers()
        else:
            rows, more = np.array([(HINGE_INERTIA, i) for i in self._moved]), self.hinge_inertia[:, self._moved]
        both = [np.array(each, np.int64).reshape(-1, 2) for each in (places, rows)]
        return np.concatenate(both), np.hstack([own, more])

    @cached_property
    def _in_space(self) -> varied_in_space.Links | None:
        """The links of a chain in space whose numbers vary, if there are any."""
        columns = [(column.at.field, column.links, column.values) for column in self.columns if column.of_links]
        return varied_in_space.Links(self.base, columns, self.members) if isinstance(self.base, SpatialChain) and columns else None

    @property
    def _moved(self) -> list[int]:
        """Links whose inertia about the hinge varies."""
        return sorted({i for column in self.columns if column.at.field in BODY for i in column.links})

    def each(self, field: str) -> np.ndarray:
        """Return a field of the links (members, N)."""
        values = np.tile(getattr(self.base, field), (self.members, 1))
        for column in self.columns:
            if column.at.record is Link and column.at.field == field:
                values[:, list(column.links)] = column.values[:, None]
        return values

    @cached_property
    def hinge_inertia(self) -> np.ndarray:
        """Moments of inertia (members, N) about the upper hinges."""
        mass, com, offset, inertia = (self.each(field) for field in BODY)
        return inertia + mass * (com * com + offset * offset)

    def flagged(self, numbers: Any) -> Any:
        """Return the chain's numbers with the flags of a chain that has all that varies."""
        if not self.columns:
            return numbers
        loaded = self._with_all_loads()
        flags: Any = spatial_numbers(loaded) if isinstance(loaded, SpatialChain) else chain_parameters(loaded)
        rows = WORKS if flags.ledger and isinstance(self.base, Mechanism) else flags.ledger
        ledger = max(numbers.ledger, rows)
        if isinstance(loaded, SpatialChain):
            numbers = numbers._replace(sprung=flags.sprung, damped=flags.damped)
        return numbers._replace(loaded=flags.loaded, timed=flags.timed, force_level=flags.force_level, ledger=ledger)

    def _with_all_loads(self) -> Multibody:
        """Return the chain with every load that varies, its parameters being 1."""
        return self._chain([(column, 1.0) for column in self.columns if not column.of_links])

    @property
    def apart(self) -> bool:
        """Whether each member needs numbers that follow from others: those of the bodies of a mechanism that hang at tips whose
        lengths vary.
        """
        return self.moves_joints

    @property
    def moves_joints(self) -> bool:
        """Whether members have joints at other places of a mechanism: lengths vary, and bodies hang at tips."""
        lengths = any(column.at.record is Link and column.at.field == "length" for column in self.columns)
        return lengths and isinstance(self.base, Mechanism)

    def check(self) -> None:
        """Refuse the first member whose chain is not valid, by its number."""
        for k in self._doubtful().tolist():
            try:
                model = self.chain(k)
                if isinstance(model, Mechanism):
                    model.check_masses()
            except ModelError as error:
                raise ModelError(f"vary: member {k}: {error}") from None

    def _doubtful(self) -> np.ndarray:
        """Return members that include an invalid one if there is any: of a closed chain all; else, of those with a link that has
        no inertia about its hinge, or a slider that has no mass, one for each pattern of zeros.
        """
        if not any(column.of_links for column in self.columns):
            return np.arange(0)
        if isinstance(self.base, SpatialChain) and not self.base.lines:
            return self._in_space.doubtful() if self._in_space else np.arange(0)
        if self.base.closed or self.moves_joints:
            return np.arange(self.members)
        own = (
            np.where(self.base.slides, self.each("mass"), self.hinge_inertia)
            if isinstance(self.base, Mechanism)
            else self.hinge_inertia
        )
        rows = np.flatnonzero((own == 0).any(1))
        length, mass, com, offset, inertia = (self.each(field)[rows] for field in ("length", *BODY))
        zeros = [own[rows] == 0, inertia > 0, mass == 0, com == length, com == 0, offset == 0]
        return np.sort(rows[np.unique(np.hstack(zeros), axis=0, return_index=True)[1]]) if len(rows) else rows


def _column(key: str, given: object, chain: Multibody, members: int) -> Column:
    """Return what a key like mass, mass[2] or loads.gravity stands for, with its values."""
    n = chain.n
    match = re.fullmatch(r"(?:loads\.)?([a-z_.]+)(?:\[([0-9]+)\])?", key.strip())
    name, link = match.groups() if match else (key, None)
    known = PARAMETERS | (BODY_PARAMETERS if chain.spatial else {})
    if name not in known:
        close = difflib.get_close_matches(name[:SHORT], known, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; choose from {', '.join(known)}"
        raise ModelError(f"vary does not know {shown(key)}{hint}")
    at = known[name]
    if link and at.component is not None:
        raise ModelError(f"vary {shown(key)}: the chain has one {name}, not one for each link; leave out [{link[:SHORT]}]")
    if link and not (len(link) < 10 and 1 <= int(link) <= n):  # int() refuses thousands of digits
        raise ModelError(f"vary {shown(key)}: links count from 1 to {n}, got {link[:SHORT]}")
    links = [int(link) - 1] if link else range(n)
    if at.record in (Link, Body):
        links = [i for i in links if _has(chain, i, at.field)]
        if not links and chain.spatial:
            raise ModelError(f"vary {shown(key)}: {_without(name, f'link {link}' if link else 'every link')}")
        if not links:
            raise ModelError(f"vary {shown(key)}: body {link} is a slider, which has no {name}; choose a link")
    return Column(at, links, _values(name, at.parameter, given, members))


def _has(chain: Multibody, i: int, field: str) -> bool:
    """Whether link i has a field that varies."""
    if chain.spatial:
        return field != "offset" and varied_in_space.has(chain.links[i], field)
    return field in parameters_of(type(chain.links[i]))


def _without(name: str, which: str) -> str:
    """Return why no link in space has this field, and what to use instead."""
    if name in BODY_PARAMETERS or name == "offset":
        return f"{which} is a line, which has no {name}; use a Body"
    return f"{which} is a Body, which has no single {name}; vary {', '.join(each for each in BODY_PARAMETERS if name in each)}"


def numbers_of(where: str, given: object, most: float = LARGEST) -> np.ndarray:
    """Return values as an array of floats, if they are numbers, up to `most` in magnitude."""
    try:
        values = np.asarray(given, float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{where} must be an array of numbers, got {shown(given)}") from None
    if np.abs(values[np.isfinite(values)]).max(initial=0.0) > most:
        raise ModelError(f"{where} must be at most {most:g} in magnitude")
    return values


def _values(name: str, parameter: Parameter, given: object, members: int) -> np.ndarray:
    values = numbers_of(f"vary {name!r}", given)
    if values.shape != (members,):
        raise ModelError(f"vary {name!r} must give a value for each of the {members} members, got shape {values.shape}")
    rules = [("be finite", np.isfinite(values))]
    rules += [("not be negative", values >= 0)] * (parameter.least == 0) + [("be positive", values > 0)] * (parameter.above == 0)
    for rule, good in rules:
        if not good.all():
            k = int(np.argmin(good))
            raise ModelError(f"vary {name!r} must {rule}, got {values[k]:g} for member {k}")
    return values
