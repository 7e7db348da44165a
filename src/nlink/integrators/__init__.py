"""Integrators: compiled methods and adapters, looked up by name."""

from __future__ import annotations

from typing import Any, TypeVar

from nlink._support.checks import ModelError, number
from nlink._support.records import record
from nlink.integrators.base import Integrator
from nlink.integrators.gauss import Gauss
from nlink.integrators.ida import IDA
from nlink.integrators.rattle import Rattle
from nlink.integrators.runge_kutta import DOP853, RK4, RK45
from nlink.integrators.scipy_methods import METHODS, Scipy
from nlink.integrators.taylor import Taylor
from nlink.mechanics.system import System

INTEGRATORS: dict[str, type[Integrator]] = {kind.__name__: kind for kind in (DOP853, RK45, RK4, Gauss, Rattle, Scipy, IDA, Taylor)}
Method = TypeVar("Method", bound=type[Integrator])


def register(kind: Method) -> Method:
    """Add an integrator to the table of names."""
    INTEGRATORS[kind.__name__] = kind
    return kind


def method_for(system: System, spec: object, rtol: float, atol: float) -> Integrator:
    """Return the integrator that `spec` stands for; None is the fastest by measurement: Taylor for what it takes, but for quadratic
    drag, whose series is dear; else DOP853.
    """
    rough = Taylor.refusal(system) or system.parameters.chain.force_level > 1
    if spec is None and system.formulation.method is None and not rough:
        return Taylor.like(number("rtol", rtol, above=0), number("atol", atol, above=0)).with_order(system)
    made = integrator_record(spec, rtol, atol, system.formulation.method)
    return made.with_order(system) if isinstance(made, Taylor) else made


def integrator_record(spec: object, rtol: float, atol: float, brought: Any = None) -> Integrator:
    """Return the integrator that `spec` stands for: a record as it is; None (DOP853), a name or a text with these tolerances
    where it gives none itself. The methods of SciPy that nlink does not have answer to their own names too.

    A formulation may bring its own method: the record `brought`, in which a tolerance of None stands for this one.
    """
    if brought is not None:
        own = {"rtol": brought.rtol or rtol, "atol": brought.atol or atol}
        made = integrator_record(type(brought).__name__, **own)
        given = integrator_record(spec, rtol, atol)
        if not isinstance(given, (type(made), DOP853)):
            raise ModelError(f"constraints={brought} bring their own integrator, got {given.name} too; leave one of them out")
        return given if isinstance(given, type(made)) else made
    if isinstance(spec, Integrator):
        return spec
    spec = "DOP853" if spec is None else spec
    if isinstance(spec, str) and spec in METHODS and spec not in INTEGRATORS:
        spec = f"Scipy(method={spec!r})"
    made: Integrator = record("integrator", spec, INTEGRATORS)
    return made.with_tolerances(rtol, atol, str(spec))
