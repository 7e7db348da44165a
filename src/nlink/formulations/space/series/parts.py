"""Vectors that have the three numbers of each line side by side, in code that is written down: see `one_vector`."""

from __future__ import annotations

from nlink.compiled.lowering import Operand
from nlink.formulations.series.one_vector import total

PARTS = 3
"""Numbers of a line."""


def parted(vector, links):
    """Write down the sum of the parts of each line, in all its lanes."""
    return (vector + vector.at(turned(1, links, len(vector)))) + vector.at(turned(2, links, len(vector)))


def turned(by, links, width):
    """Return the lanes of a vector with the parts of each line `by` further on."""
    return [lane - lane % PARTS + (lane + by) % PARTS if lane < PARTS * links else lane for lane in range(width)]


def of(vector, j, links):
    """Write down a vector that has the parts of line j in the lanes of all lines."""
    if links == 1:
        return vector
    return vector.at([PARTS * j + lane % PARTS if lane < PARTS * links else lane for lane in range(len(vector))])


def applied(columns, vector, links, start: Operand = 0.0) -> Operand:
    """Write down the product of a matrix and a vector, and add it to a start."""
    return total(columns, [of(vector, j, links) for j in range(links)], start)


def half_square(k, terms):
    """Write down half of what coefficient k of the square of a series has without its first coefficient, part by part."""
    found = total(terms[1 : (k + 1) // 2], terms[k - 1 : k // 2 : -1])
    return found + 0.5 * (terms[k // 2] * terms[k // 2]) if k % 2 == 0 else found


def square(k, terms):
    """Write down coefficient k of the square of a series, part by part."""
    found = total(terms[: (k + 1) // 2], terms[k : k // 2 : -1])
    return (found + found) + terms[k // 2] * terms[k // 2] if k % 2 == 0 else found + found
