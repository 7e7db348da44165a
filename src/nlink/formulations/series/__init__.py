"""The motion of a chain as a power series in time; `motion` registers it for the integrators, and `tree` that of mechanisms,
which `TreeSweep` loads.
"""

from nlink.formulations.series import motion as motion
