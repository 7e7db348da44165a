"""Where the scratch of a closed mechanism has what belongs to the rows of its constraints: behind the rows of the bodies."""

from __future__ import annotations

from nlink.compiled.jit import kernel
from nlink.compiled.views import onward
from nlink.formulations.sharp import SHARP_ROWS

(
    DIAGONAL, BETA, ORDER, END, BEGIN, PIVOT, MISSED, RIGHT, Z, GATE, OFF, LATE, FROM_ROW, TO_ROW, FROM_BODY, TO_BODY, FROM_COLUMN,
    TO_COLUMN, SIZE_LEFT, INFO,
) = range(SHARP_ROWS, SHARP_ROWS + 20)  # fmt: skip
"""Rows of the scratch. A number for each reflection: DIAGONAL of R; BETA, its factor; ORDER, which row of the constraints it is;
END and BEGIN, the last column and the first entry that is not zero; PIVOT in the plain metric; RIGHT, what its row is missed by;
Z, the solution; GATE, whether it counts.

A number for each row of the constraints: MISSED, what it is missed by; OFF, what a dead position misses; LATE, whether it is put
off; the range of the rows, bodies and columns that it is combined of; SIZE_LEFT, the length of the combined row. And INFO.
"""
MATRICES = SHARP_ROWS + 20
"""Where the matrices begin, each with a row for each row of the constraints: gradients, those in reflection, the combined
gradients, how they are combined, and the low parts of the gradients.
"""
SIGMA, KEPT, SPARE, UNDETERMINED, SHARP = range(5)
"""Places in INFO: the smallest pivot against the scale of its row, how many reflections come in the order of the rows, how many
rows are spare, why accelerations are not determined, and whether rows are combined.
"""
ZONE = 0.1
"""Part of its scale at which a row is put off."""
NONE_OFF = -1
"""Instead of how many reflections there are: none but the spare rows nearly follows from others, and the rows are not reflected."""


@kernel
def matrices(p):
    """Return the first rows of the four matrices."""
    m = p.rows.total
    return MATRICES, MATRICES + m, MATRICES + 2 * m, MATRICES + 3 * m


@kernel
def low_parts(p):
    """Return the first row of the low parts of the gradients."""
    return MATRICES + 4 * p.rows.total


@kernel
def stretch(what, p, w):
    """Return one of the arrays behind the matrices: PLAIN, ... of `envelope`."""
    return onward(w, low_parts(p) + p.rows.total + p.rows.envelope.at[what])
