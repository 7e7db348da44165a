"""Rows of scratch `w` that every formulation has, each of length n.

S, C     sine and cosine of the angles
FX, FY   force of the loads at the centre of mass (without gravity)
MZ       moment of the loads about the centre of mass
TQ       driving torque at the hinge
TIP      its first two values: the force of the pin on the last tip, in the world frame, for chains that have one
"""

from __future__ import annotations

S, C, FX, FY, MZ, TQ, TIP = range(7)
LOAD_ROWS = 7
