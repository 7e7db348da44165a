"""Names of the rows in which a series is computed."""

from __future__ import annotations

X, Y, LAM, RATE, MOMENT, DRIVE, RELATIVE, SPEEDX, SPEEDY, SPEED_SIZE = range(10)
"""Arrays (order + 2, links): coefficients by order."""
LC, LS = range(2, 4)
"""Rows of `w` and `v`, the same for a step, behind S and C: length times cosine and sine."""
A11, A12, A21, A22, QX, QY, INVERSE = range(4, 11)
"""Of the recursions over the links: their matrix, q / D, 1 / D."""
ZX, ZY, H, J = range(11, 15)
"""What an acceleration along the link does: to the bias b, across the link, and along it."""
GX, GY = range(15, 17)
"""The weight of the link and of what hangs on it, times their levers."""
BEND, STIFF, DAMP, PUSH, BRAKE = range(17, 22)
"""Of the loads: moments at the joints without driving torques and damping, their stiffness and damping; moments on links, and their
damping."""
FIRST = 22
"""The first power of time in the speed of the link."""
P11, P12, P21, P22 = range(23, 27)
"""For every other link, the product of its matrix with the next link's."""
REACH, LEVEL, SHIFT, INERTIA, REST, CONSTANT, SIZE, FREQUENCY, PHASE, VALUE, SLOPE = range(11)
"""Of one chain in one vector, the same for a run: length; moments of all mass behind the upper hinge along the link and across it,
and of inertia; moments of springs at angles of zero. Torques: constant, amplitude, frequency, phase; value, slope of tables."""
ALONG, FREE, CX, CY, BX, BY, AX, AY, ACROSS, PULL, NEXT_ALONG, NEXT_ACROSS, NEXT_PULL = range(13)
"""Rows of `u` and `uv`, of one order: acceleration along the link, turning without acceleration of the hinge, what is known, b, a,
moment and pull of forces; and sums for the order after."""
ANGLE, SPEED, LAST, BEFORE, POWER, RELATIVE_SQUARE, RATE_SQUARE = range(7)
"""Rows of `u` and `uv` at the end of a step."""
