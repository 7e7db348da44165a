"""Names of the rows in which a series is computed."""

from __future__ import annotations

X, Y, LAM, RATE, MOMENT, DRIVE, RELATIVE, SPEEDX, SPEEDY, SPEED_SIZE = range(10)
"""Arrays (order + 2, links): coefficients by order."""
LC, LS, A11, A12, A21, A22, QX, QY, INVERSE, ZX, ZY, H, J, GX, GY, BEND, STIFF, DAMP, PUSH, BRAKE, FIRST = range(2, 23)
P11, P12, P21, P22 = range(23, 27)
"""Rows of `w` and `v`, the same for a step: length times cosine and sine, the matrix of the recursions, q / D, 1 / D, what
multiplies the acceleration along the link, the weight of the link and of what hangs on it times their levers; the loads'
moments at the joints without driving torques and damping, their stiffness and damping, their moments on links and the damping of
these, and the first power of time in the speed of the link; and, for every other link, the product of its matrix with the next
link's."""
ALONG, FREE, CX, CY, BX, BY, AX, AY, ACROSS, DRAWN, NEXT_ALONG, NEXT_ACROSS, NEXT_PULL = range(13)
"""Rows of `u` and `uv`, of one order: acceleration along the link, turning without acceleration of the hinge, what is known, b, a,
moment and pull of forces; and sums for the order after."""
ANGLE, SPEED, LAST, BEFORE, POWER, RELATIVE_SQUARE, RATE_SQUARE = range(7)
"""Rows of `u` and `uv` at the end of a step."""
