"""Names of the rows in which a series of a mechanism is computed; `w` begins with the rows of its pose (`mechanics/tree.py`)."""

from __future__ import annotations

from nlink.mechanics.series import SeriesSize
from nlink.mechanics.tree import TREE_ROWS

SINE, COORDINATE, COSINE, RATE, LEVERX, LEVERY, DRIVE, FORCEX, FORCEY, DRIVING, SPEEDX, SPEEDY = range(12)
"""Arrays (order + 2, bodies) of coefficients: of the angles of links (zeros of sliders), coordinates and rates; V and N; driving
torques; what prescribed joints take; velocities of the origins."""
SERIES_ROWS = 12
COMX, COMY, MXX, MXY, MYY, HX, HY, J, INVERSE, WX, WY, Z, BEND, STIFF, DAMP, PUSHING, BRAKE = range(TREE_ROWS, TREE_ROWS + 17)
"""Rows of `w`, the same for a step, behind those of the pose: S r of the centre of mass; M, h, J; 1 / J of hinges, 1 / D of slides;
M d and h.d of slides; moments at joints and on bodies, as in the series of chains."""
SCRATCH = TREE_ROWS + 17
KS, KC, TURN, BX, BY, CZ, OX, OY, GX, GY, AX, AY, AL, FX, FY, FLX, FLY, MZ, TQ, BENT, ANGLE, SPEED = range(22)
"""Rows of `u`, of one order: what is known of sine, cosine and t.V; b and c; m r''_G and g as known; accelerations; forces, their
levers (as in V), moments; the force along a slide; the product of its direction with N; changes and rates at the end of a step."""
TREE_SIZE = SeriesSize(SERIES_ROWS, SERIES_ROWS, SCRATCH)
