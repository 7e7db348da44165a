"""The motion of lines in space as a power series in time; `motion` registers it for the integrators."""

from nlink.formulations.space.series import motion as motion
