"""Names of the rows in which a series of lines in space is computed.

The speed of the centres of mass and its first power of time have the rows that they have in the plane: `resistance` serves both.
"""

from __future__ import annotations

from nlink.formulations.series.rows import FIRST as FIRST
from nlink.formulations.series.rows import SPEED_SIZE as SPEED_SIZE
from nlink.mechanics.series import SeriesSize

X, Y, Z, LAM, SPEEDX, SPEEDY, SPEEDZ = range(7)
"""Arrays (order + 2, links) of coefficients: unit vectors, pulls along them, velocities of the centres of mass."""
(
    SUMX, SUMY, SUMZ, NEAR, ROOT1, ROOT2, ROOT3, PAIR, ALL, SMALL, SQUARE, CUBE, FOURTH, OUTER, INNER, RATIO,
) = range(10, 26)  # fmt: skip
"""Of springs: half the sum of the directions and its square, cosines of the half to the eighth of the bend, their products, powers
of sin^2 of a part, parts of a polynomial of it, bend over sine."""
SERIES_ROWS, SERIES_ROWS_OF_GRAVITY = 26, 4
V11, V12, V13, V22, V23, V33, W11, W12, W13, W21, W22, W23, W31, W32, W33, YX, YY, YZ, KX, KY, KZ, INVERSE = range(22)
"""Rows of `w`, the same for a step: X - y y^T/s, y k^T/s - C X, y/s, k/s, 1/s of the sweep."""
REACH, SHARE, HALF1, HALF2, HALF3, OVER, BENDS = range(23, 30)
"""Length and its inverse; half the inverse of each root of a spring at the start of a step, and the inverse of their product; 1 at
joints with a spring."""
SCRATCH = 30
PX, PY, PZ, BENT, CX, CY, CZ, BX, BY, BZ, FREEX, FREEY, FREEZ, PULL, AX, AY, AZ, QX, QY, QZ = range(20)
"""Rows of `u`, of one order: couples of the forces, length times the bend of the path, what is known of the bias, bias, free
acceleration and pull, acceleration of the hinge, forces of the loads."""
ENDX, ENDY, ENDZ, RATEX, RATEY, RATEZ, LAST, BEFORE = range(8)
"""Rows of `u` at the end of a step: unit vectors and their rates; sizes of the last two coefficients."""
LINE_SIZE = SeriesSize(SERIES_ROWS, SERIES_ROWS_OF_GRAVITY, SCRATCH)
LINE, WORK = range(2)
"""Of one chain in one vector: the rows of coefficients of unit vectors, and of powers, a load in each lane."""
MOST = 10
"""Up to how many lines, by measurement."""
FALL, COLUMN, BRAKE, FOLLOW, LONG, CENTRE, RESIST = 0, 1, 1 + MOST, *range(1 + 2 * MOST, 5 + 2 * MOST)
"""Rows of `w`, the same for a run: the acceleration without pulls; from COLUMN on, a column of C^-1 each, from BRAKE on one of
C^-1 R; C^-1 times what a follower force does; length, place of the centre of mass, and what resists turning."""
DRAGGING, TIPPING, PULLING, STIFF, ROTOR = range(SCRATCH, SCRATCH + 5)
"""Linear drag, length times the force at the tip, the follower force at the last line, stiffness of springs, momentum of rotors."""
VECTOR_SIZE = LINE_SIZE._replace(scratch=SCRATCH + 5)
