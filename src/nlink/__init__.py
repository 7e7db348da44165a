"""nlink: dynamics of N-link pendulums and chains.

Chain + loads -> formulation -> System -> integrator -> Run -> view. Everything public is here, loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from nlink._version import __version__ as __version__

if TYPE_CHECKING:
    from nlink._check import ModelError as ModelError
    from nlink.analysis.bifurcation import Bifurcation as Bifurcation
    from nlink.analysis.bifurcation import bifurcation as bifurcation
    from nlink.analysis.compare import Comparison as Comparison
    from nlink.analysis.compare import compare as compare
    from nlink.analysis.cycle import LimitCycle as LimitCycle
    from nlink.analysis.cycle import amplitudes as amplitudes
    from nlink.analysis.cycle import limit_cycle as limit_cycle
    from nlink.analysis.energy_surface import on_energy as on_energy
    from nlink.analysis.energy_surface import starts_on_energy as starts_on_energy
    from nlink.analysis.equilibrium import Equilibrium as Equilibrium
    from nlink.analysis.equilibrium import equilibria as equilibria
    from nlink.analysis.equilibrium import equilibrium as equilibrium
    from nlink.analysis.ftle import FiniteTime as FiniteTime
    from nlink.analysis.ftle import ftle as ftle
    from nlink.analysis.linearize import Linearization as Linearization
    from nlink.analysis.linearize import linearize as linearize
    from nlink.analysis.lyapunov import Lyapunov as Lyapunov
    from nlink.analysis.lyapunov import lyapunov as lyapunov
    from nlink.analysis.mapfile import load_map as load_map
    from nlink.analysis.mapfile import save_map as save_map
    from nlink.analysis.maps import Map as Map
    from nlink.analysis.maps import chaos_map as chaos_map
    from nlink.analysis.modes import modes as modes
    from nlink.analysis.poincare import Points as Points
    from nlink.analysis.poincare import Section as Section
    from nlink.analysis.poincare import Strobe as Strobe
    from nlink.analysis.poincare import poincare as poincare
    from nlink.analysis.stability import Critical as Critical
    from nlink.analysis.stability import critical_load as critical_load
    from nlink.analysis.stability_map import locus as locus
    from nlink.analysis.stability_map import stability_map as stability_map
    from nlink.analysis.trust import trusted_until as trusted_until
    from nlink.chain import Chain as Chain
    from nlink.chain import Link as Link
    from nlink.closure import assemble as assemble
    from nlink.closure import driven as driven
    from nlink.ensemble import FTLE as FTLE
    from nlink.ensemble import Cuda as Cuda
    from nlink.ensemble import Dask as Dask
    from nlink.ensemble import EnergyDrift as EnergyDrift
    from nlink.ensemble import EnsembleInterrupted as EnsembleInterrupted
    from nlink.ensemble import Extremes as Extremes
    from nlink.ensemble import Final as Final
    from nlink.ensemble import FlipTime as FlipTime
    from nlink.ensemble import Reducer as Reducer
    from nlink.ensemble import Samples as Samples
    from nlink.ensemble import Threads as Threads
    from nlink.ensemble import simulate_many as simulate_many
    from nlink.events import Event as Event
    from nlink.events import Flip as Flip
    from nlink.flows import Flow as Flow
    from nlink.flows import FlowError as FlowError
    from nlink.flows import flow as flow
    from nlink.formulations import FORMULATIONS as FORMULATIONS
    from nlink.formulations import formulate as formulate
    from nlink.formulations.lagrange import Lagrange as Lagrange
    from nlink.formulations.linear import Linear as Linear
    from nlink.formulations.maximal import Maximal as Maximal
    from nlink.formulations.momentum import Momentum as Momentum
    from nlink.formulations.natural import Natural as Natural
    from nlink.formulations.projection import TangentProjection as TangentProjection
    from nlink.formulations.recursive import Recursive as Recursive
    from nlink.formulations.stabilization import AugmentedLagrangian as AugmentedLagrangian
    from nlink.formulations.stabilization import Baumgarte as Baumgarte
    from nlink.formulations.stabilization import MultiplierFilter as MultiplierFilter
    from nlink.formulations.stabilization import Penalty as Penalty
    from nlink.formulations.stabilization import Projection as Projection
    from nlink.formulations.stabilization import Unstabilized as Unstabilized
    from nlink.integrators import INTEGRATORS as INTEGRATORS
    from nlink.integrators.gauss import Gauss as Gauss
    from nlink.integrators.ida import IDA as IDA
    from nlink.integrators.runge_kutta import DOP853 as DOP853
    from nlink.integrators.runge_kutta import RK4 as RK4
    from nlink.integrators.runge_kutta import RK45 as RK45
    from nlink.integrators.scipy_methods import Scipy as Scipy
    from nlink.integrators.taylor import Taylor as Taylor
    from nlink.loads import Drag as Drag
    from nlink.loads import FollowerForce as FollowerForce
    from nlink.loads import Gravity as Gravity
    from nlink.loads import JointDamper as JointDamper
    from nlink.loads import JointSpring as JointSpring
    from nlink.loads import JointTorque as JointTorque
    from nlink.loads import LinkDamper as LinkDamper
    from nlink.loads import Sine as Sine
    from nlink.loads import Table as Table
    from nlink.loads import TipForce as TipForce
    from nlink.run import Run as Run
    from nlink.run import Status as Status
    from nlink.runfile import load as load
    from nlink.scenario import Scenario as Scenario
    from nlink.scenario import Settings as Settings
    from nlink.scenario import preset as preset
    from nlink.scenario import presets as presets
    from nlink.simulation import SimulationError as SimulationError
    from nlink.simulation import simulate as simulate
    from nlink.symbolic import Equations as Equations
    from nlink.symbolic import derive as derive
    from nlink.system import System as System

_HOMES = {
    "chain": ("Link", "Chain"),
    "loads": (
        "Gravity", "JointSpring", "JointDamper", "LinkDamper", "JointTorque", "Sine", "Table", "Drag", "FollowerForce", "TipForce",
    ),
    "closure": ("assemble", "driven"),
    "scenario": ("Scenario", "Settings", "preset", "presets"),
    "formulations": (
        "FORMULATIONS", "formulate", "Recursive", "Momentum", "Lagrange", "TangentProjection", "Maximal", "Natural", "Linear",
    ),
    "formulations.stabilization": (
        "Unstabilized", "Baumgarte", "MultiplierFilter", "Penalty", "AugmentedLagrangian", "Projection",
    ),
    "integrators": ("INTEGRATORS", "DOP853", "RK45", "RK4", "Gauss", "Scipy", "IDA", "Taylor"),
    "symbolic": ("derive", "Equations"),
    "system": ("System",),
    "simulation": ("simulate", "SimulationError"),
    "flows": ("flow", "Flow", "FlowError"),
    "events": ("Event", "Flip"),
    "ensemble": (
        "simulate_many", "EnsembleInterrupted", "Threads", "Cuda", "Dask", "Final", "Samples", "FlipTime", "EnergyDrift", "FTLE",
        "Extremes", "Reducer",
    ),
    "run": ("Run", "Status"),
    "runfile": ("load",),
    "analysis.compare": ("compare", "Comparison"),
    "analysis.trust": ("trusted_until",),
    "analysis.equilibrium": ("equilibrium", "equilibria", "Equilibrium"),
    "analysis.linearize": ("linearize", "Linearization"),
    "analysis.modes": ("modes",),
    "analysis.stability": ("critical_load", "Critical"),
    "analysis.stability_map": ("locus", "stability_map"),
    "analysis.maps": ("chaos_map", "Map"),
    "analysis.mapfile": ("save_map", "load_map"),
    "analysis.cycle": ("limit_cycle", "amplitudes", "LimitCycle"),
    "analysis.lyapunov": ("lyapunov", "Lyapunov"),
    "analysis.ftle": ("ftle", "FiniteTime"),
    "analysis.poincare": ("poincare", "Section", "Strobe", "Points"),
    "analysis.energy_surface": ("on_energy", "starts_on_energy"),
    "analysis.bifurcation": ("bifurcation", "Bifurcation"),
    "_check": ("ModelError",),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nlink' has no attribute {name!r}")
    return getattr(importlib.import_module(f"nlink.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
