"""Links in space whose numbers vary over the members of an ensemble: the rows that follow from them, all members at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nlink.mechanics.chain import Link
from nlink.mechanics.space.bodies import ROUNDING, Body
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.numbers import BODY_PARAMETERS, link_rows

AXES = "xyz"
SHARED = ("length", "mass")
"""What lines and bodies both have."""
HARDLY = 1e-9
"""Part of the largest moment of inertia about its hinge below which a body may be one that the chain refuses."""


class Masses(NamedTuple):
    """Lengths and masses (members, links), centres of mass (members, links, 3) and tensors about them (members, links, 3, 3)."""

    length: np.ndarray
    mass: np.ndarray
    centre: np.ndarray
    tensor: np.ndarray

    def put(self, field: str, links: list[int], values: np.ndarray) -> None:
        """Give some links values (members, 1) of a field of Link or Body."""
        name, _, axes = field.partition(".")
        if name in SHARED:
            getattr(self, name)[:, links] = values
        elif name == "com":
            self.centre[:, links, AXES.index(axes or "y")] = values if axes else -values
        elif axes:
            a, b = map(AXES.index, axes)
            self.tensor[:, links, a, b] = self.tensor[:, links, b, a] = values
        else:
            self.tensor[:, links, 0, 0] = self.tensor[:, links, 2, 2] = values


def has(link: Link | Body, name: str) -> bool:
    """Whether a link in space has a field that varies."""
    return name in SHARED or (name in BODY_PARAMETERS) == isinstance(link, Body)


def changed(link: Link | Body, fields: dict[str, float]) -> Link | Body:
    """Return a link with other values of some fields."""
    if isinstance(link, Link):
        return replace(link, **fields)
    made = masses_of(1, np.array([link.length]), np.array([link.mass]), np.array([link.com]), link.tensor[None])
    for field, value in fields.items():
        made.put(field, [0], np.array([[value]]))
    length, mass, com, tensor = (each[0, 0].tolist() for each in made)
    return replace(link, length=length, mass=mass, com=com, inertia=tensor)


def masses_of(members: int, *arrays: np.ndarray) -> Masses:
    """Return lengths, masses, centres and tensors of links, once for each member."""
    return Masses(*(np.repeat(np.asarray(each, float)[None], members, 0) for each in arrays))


class Links:
    """The links of a chain in space whose numbers vary: `columns` are their fields, links and values (members,)."""

    def __init__(self, chain: SpatialChain, columns: Sequence[tuple[str, Sequence[int], np.ndarray]], members: int) -> None:
        self.which = sorted({i for _, links, _ in columns for i in links})
        self.line = np.array(chain.is_line)[self.which]
        arrays = tuple(each[self.which] for each in (chain.length, chain.mass, chain.centre, chain.tensor))
        self.before, self.now = masses_of(1, *arrays), masses_of(members, *arrays)
        for field, links, values in columns:
            self.now.put(field, [self.which.index(i) for i in links], values[:, None])

    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the numbers stand that vary, rows and links (K, 2), and the numbers of all members (members, K)."""
        before, now = (link_rows(*each, self.line) for each in (self.before, self.now))
        rows, at = np.nonzero((now != before).any(0))
        return np.column_stack([rows, np.array(self.which, np.int64)[at]]), now[:, rows, at]

    def doubtful(self) -> np.ndarray:
        """Return the members with a link that may be invalid, or that may not resist a turn about its joint."""
        _, mass, centre, tensor = self.now
        low, middle, high = np.moveaxis(np.linalg.eigvalsh(tensor), -1, 0)
        square = (centre**2).sum(-1)[..., None, None] * np.eye(3) - centre[..., :, None] * centre[..., None, :]
        about = np.linalg.eigvalsh(tensor + mass[..., None, None] * square)
        impossible = (low < -ROUNDING * high) | (low + middle < (1 - ROUNDING) * high)
        weak = about[..., 0] <= HARDLY * about[..., 2]
        return np.flatnonzero(np.where(self.line, about[..., 2] == 0, impossible | weak).any(1))
