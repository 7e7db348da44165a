"""The motion of a chain as a power series in time; `motion` registers it for the integrators."""

from nlink.formulations.series import motion as motion
from nlink.formulations.series import tree as tree
