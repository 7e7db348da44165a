"""Rows of scratch `w` that every formulation of a chain in space has, each of length n.

FX, FY, FZ   force of the loads at the centre of mass (without gravity), in world axes
NX, NY, NZ   moment of the loads about it; of that on a line only the part across it acts
TQ           driving torque at the hinge, in the row that it has in the plane
EX, EY, EZ   direction
OX, OY, OZ   angular velocity; of a line in a chain with friction at its joints its turn about itself is part of it
CX, CY, CZ   of bodies, the centre of mass from the upper hinge; XX ... XZ and ZX ... ZZ their first and third axes
AXIS, DRIFT  three rows for each axis of a joint: the axis s in the world, and what its own turning adds to the angular
             acceleration, (omega before it) x s phi'; those of the second axis follow
PIVOT, FREE  the tridiagonal system of the friction

A formulation has the rows from OWN to EX.
"""

from __future__ import annotations

from nlink.mechanics.scratch import TQ

FX, FY, FZ, NX, NY = range(TQ)
NZ = TQ + 1
OWN = TQ + 2
EX, EY, EZ, OX, OY, OZ, CX, CY, CZ, XX, XY, XZ, ZX, ZY, ZZ, PIVOT, FREE = range(OWN + 60, OWN + 77)
AXIS, DRIFT = OWN + 77, OWN + 80
PER_AXIS = 6
"""Rows from those of one axis to those of the next."""
SPACE_ROWS = OWN + 77 + 2 * PER_AXIS
