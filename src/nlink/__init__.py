"""nlink: dynamics of N-link pendulums, chains and planar mechanisms.

Chain + loads -> formulation -> System -> integrator -> Run -> view. The public names stand in `__init__.pyi`.
"""

from nlink._support.lazy import lazy

lazy(__name__)
