"""compare(): one scenario in many formulations, integrators and tolerances, side by side: agreement, drift, cost, trust."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from nlink._support.checks import ModelError, listed, number, shown
from nlink._support.lazy import shown_by
from nlink._support.records import record
from nlink._support.showing import short, table
from nlink.analysis.trust import ANGLE, APPROXIMATE, Witnesses, nodes, parted, rerun, tighter, tightest, usable, within
from nlink.formulations import FORMULATIONS, formulate
from nlink.integrators import Taylor, integrator_record, method_for
from nlink.integrators.base import Integrator
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.system import Formulation
from nlink.run.run import Run, Status
from nlink.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEAD = ("formulation", "integrator", "difference", "within", "trusted", "violation", "energy", "steps", "evaluations", "time")
UNITS = ("", "", "rad", "until s", "until s", "", "J", "", "", "s")
FormulationChoice = str | Formulation | type[Formulation]
IntegratorChoice = str | Integrator | type[Integrator]
Tolerance = float | tuple[float, float]


@short
@dataclass(frozen=True, eq=False)
class Row:
    """What one variant gave.

    `difference` (T,) is the largest difference of an angle from the reference at each time in rad, NaN beyond the end of
    the run; `within` the time until which it stays below the comparison's angle; `violation` and `energy` the largest
    constraint violation and energy residual (J). A formulation that is `approximate` (linear) is expected to differ. A
    variant that was refused has no run, only a status that says why.
    """

    formulation: str
    integrator: str
    rtol: float | None
    atol: float | None
    status: Status
    difference: np.ndarray
    approximate: bool = False
    run: Run | None = None
    within: float | None = None
    trusted_until: float | None = None

    @property
    def largest(self) -> float | None:
        """The largest difference of an angle from the reference, rad."""
        return float(np.fmax.reduce(self.difference, initial=0.0)) if self.run else None

    @property
    def violation(self) -> float | None:
        """The largest distance from the constraints."""
        return float(self.run.violation().max(initial=0.0)) if self.run else None

    @property
    def energy(self) -> float | None:
        """The largest residual of the energy balance, J."""
        return float(np.abs(self.run.energy().residual).max(initial=0.0)) if self.run else None

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        if self.run is None:
            return self.formulation, self.integrator, self.status.message
        stats = self.run.stats
        apart, violation, energy = (f"{value:.1e}" if value else "0" for value in (self.largest, self.violation, self.energy))
        cost = f"{stats.steps:,}", f"{stats.nfev:,}", f"{stats.wall:.2g}"
        return self.formulation, self.integrator, apart, f"{self.within:.4g}", f"{self.trusted_until:.4g}", violation, energy, *cost

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data, without the difference over time; None stands for what is not known or not finite."""
        stats = self.run.stats._asdict() if self.run else {}
        table = {
            "formulation": self.formulation,
            "integrator": self.integrator,
            "rtol": self.rtol,
            "atol": self.atol,
            "status": self.status.code,
            "message": str(self.status),
            "largest_difference": self.largest,
            "within_until": self.within,
            "trusted_until": self.trusted_until,
            "violation": self.violation,
            "energy_residual": self.energy,
            "steps": stats.get("steps"),
            "evaluations": stats.get("nfev"),
            "wall": stats.get("wall"),
        }
        return {key: value if not isinstance(value, float) or math.isfinite(value) else None for key, value in table.items()}


@short
@dataclass(frozen=True, eq=False)
class Comparison:
    """Variants of one scenario side by side; `str` of it is a table.

    `reference` is the run from which differences are measured: recursive (or the first formulation that takes the
    chain), DOP853 at tolerances ten times tighter than the tightest variant's. `t` (T,) are its saved times and steps,
    at which every variant is saved. `angle` in rad is the difference at which variants part.
    """

    scenario: Scenario
    angle: float
    reference: Run
    rows: tuple[Row, ...]

    @property
    def t(self) -> np.ndarray:
        """The times (T,) at which the variants are compared, s."""
        return self.reference.t

    @property
    def runs(self) -> list[Run]:
        """The runs of the variants that were not refused, in the order of the rows."""
        return [row.run for row in self.rows if row.run is not None]

    @property
    def trusted_until(self) -> float | None:
        """The time until which every variant that solves the full equations can be trusted; see `trusted_until`."""
        return min((row.trusted_until for row in self._full() if row.trusted_until is not None), key=abs, default=None)

    def agreement(self) -> dict[str, float]:
        """Return, for each integrator, the time until which its formulations stay within `angle` of each other."""
        times = {}
        for name in dict.fromkeys(row.integrator for row in self._full()):
            runs = [row.run for row in self._full() if row.integrator == name and row.run]
            pairs = [within(self.t, parted(a.chain, a.position, b.position), self.angle) for a, b in combinations(runs, 2)]
            times |= {name: min(pairs, key=abs)} if pairs else {}
        return times

    def _full(self) -> list[Row]:
        return [row for row in self.rows if row.run and not row.approximate]

    @shown_by("compare.comparison_figure")
    def plot(
        self,
        coordinates: str | None = None,
        link: int = -1,
        *,
        ax: Axes | Sequence[Axes] | None = None,
        size: tuple[float, float] | str | None = None,
        theme: str | None = None,
    ) -> Figure:
        """Return the differences from the reference over time; or, with coordinates angles or positions, those of a link in every
        variant.

        `ax`: axes to draw into, two for positions; the rest as in `Run.plot`.
        """
        ...

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return table("Comparison", [HEAD, *(row.cells() for row in self.rows)])

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data for JSON."""
        return {
            "title": self.scenario.title,
            "links": self.scenario.chain.n,
            "t_end": self.scenario.settings.t_end,
            "angle": self.angle,
            "reference": f"{self.reference.meta['formulation']}, {self.reference.meta['integrator']}",
            "trusted_until": self.trusted_until,
            "formulations_agree_until": self.agreement(),
            "rows": [row.to_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        """Return the table, what it is measured from, and the trusted time."""
        told = [HEAD, UNITS, *(row.cells() for row in self.rows)]
        full = [cells for cells in told if len(cells) == len(HEAD)]
        widths = [max(len(cells[k]) for cells in (told if k < 2 else full)) + (k >= 2) for k in range(len(HEAD))]
        lines = []
        for cells in told:  # a sentence instead of numbers stays as it is
            names = map(str.ljust, cells[:2], widths)
            others = map(str.rjust, cells[2:], widths[2:]) if len(cells) == len(HEAD) else cells[2:]
            lines.append(" ".join([*names, *others]).rstrip())
        meta = self.reference.meta
        lines += ["", f"difference: largest angle difference from {meta['formulation']}, {meta['integrator']}"]
        lines += [f"within: that stays below {self.angle:g} rad; trusted: so it does from independent runs, with a margin"]
        for name, time in self.agreement().items():
            lines.append(f"{name}: its formulations agree with each other until t = {time:.4g} s")
        lines += [f"{row.integrator}, {row.formulation}: {row.status}" for row in self.rows if row.run and not row.status.ok]
        if self.trusted_until is not None:
            lines.append(f"trusted until t = {self.trusted_until:.4g} s (angles within {self.angle:g} rad)")
        return "\n".join(lines)


def compare(
    scenario: Scenario,
    formulations: FormulationChoice | Iterable[FormulationChoice] | None = None,
    tolerances: Tolerance | Iterable[Tolerance] | None = None,
    integrators: IntegratorChoice | Iterable[IntegratorChoice] | None = None,
    *,
    angle: float = ANGLE,
    progress: bool = False,
) -> Comparison:
    """Run a scenario in every combination of formulations, integrators and tolerances, and measure how they agree.

    Parameters
    ----------
    formulations : names, texts or records; all if not given
    tolerances : numbers (for rtol and atol), or pairs (rtol, atol); those of the scenario if not given. An integrator with
        tolerances of its own, or with a fixed step, keeps to them
    integrators : names, texts or records; if not given that of the scenario, in its own formulation the one that its run takes
    angle : difference in rad beyond which angles are not trusted
    progress : show a progress bar for each run

    A formulation or integrator that refuses the chain is listed with its reason. Flips do not stop the runs.

    >>> import nlink
    >>> found = compare(nlink.preset("nice-3"), ["recursive", "momentum"])
    >>> found.trusted_until, len(found.rows)
    (20.0, 3)
    """
    if not isinstance(scenario, Scenario):
        raise ModelError(f"compare needs a Scenario, got {type(scenario).__name__}; make one: Scenario(chain, theta)")
    angle = number("angle", angle, above=0)
    variants = _variants(scenario, formulations, tolerances, integrators)
    reference = _reference(scenario, variants, progress)
    witnesses = Witnesses(scenario, reference.t, progress)
    return Comparison(scenario, angle, reference, tuple(_row(*variant, reference, witnesses, angle) for variant in variants))


def _variants(
    scenario: Scenario, formulations: object, tolerances: object, integrators: object
) -> list[tuple[Formulation, Integrator]]:
    """Return the combinations of formulations and methods, each once, and first what the scenario takes if it names no method."""
    settings, own = scenario.settings, (scenario.settings.rtol, scenario.settings.atol)
    pairs = [own] if tolerances is None else [_pair(value) for value in _several("tolerances", tolerances)]
    free = integrators is None and (settings.integrator is None or isinstance(settings.integrator, Taylor))
    if integrators is None:
        usual = integrator_record(None if isinstance(settings.integrator, Taylor) else settings.integrator, *own)
        adjustable = tolerances is not None and usual.tolerances
        methods = [usual.with_tolerances(*pair) if adjustable else usual for pair in pairs]
    else:
        methods = [integrator_record(each, *pair) for each, pair in product(_several("integrators", integrators), pairs)]
    names = _several("formulations", _usual(scenario) if formulations is None else formulations)
    forms = [record("formulation", each, FORMULATIONS) for each in names]
    combined = product(methods, forms)  # a formulation may bring its own method, which gets these tolerances
    made = [(form, integrator_record(each, *(each.tolerances or own), form.method)) for each, form in combined]
    form = record("formulation", settings.formulation, FORMULATIONS)
    mine = [(form, method) for method in _chosen(scenario, form, pairs)] if free and form in forms else []
    return list(dict.fromkeys(mine + made))


def _usual(scenario: Scenario) -> list[str]:
    """Return the names of all formulations; of mechanisms and in space of those that take them, or all would refuse alike."""
    if not isinstance(scenario.chain, Mechanism | SpatialChain):
        return list(FORMULATIONS)
    return list(usable(scenario)) or list(FORMULATIONS)


def _chosen(scenario: Scenario, form: Formulation, pairs: list[tuple[float, float]]) -> list[Integrator]:
    """Return the methods that a run of the scenario takes with these tolerances; none if the formulation refuses the chain."""
    try:
        system = formulate(scenario.chain, form)
    except ModelError:
        return []
    return [method_for(system, scenario.settings.integrator, *pair) for pair in pairs]


def _reference(scenario: Scenario, variants: list[tuple[Formulation, Integrator]], progress: bool) -> Run:
    """Return the reference run, saved where the scenario asks and at each of its own steps."""
    name = next(usable(scenario), "recursive")
    finest = min(tightest(method) for _, method in variants)
    settings = replace(scenario.settings, formulation=name, integrator=tighter(finest), flips="off")
    first = replace(scenario, settings=settings).run(progress=progress)
    return rerun(scenario, name, settings.integrator, nodes(first)[0], progress)


def _row(formulation: Formulation, method: Integrator, reference: Run, witnesses: Witnesses, angle: float) -> Row:
    apart = np.full(len(reference.t), np.nan)
    approximate, (rtol, atol) = formulation.name in APPROXIMATE, method.tolerances or (None, None)
    names = formulation.described(), method.described(), rtol, atol
    try:
        run = rerun(witnesses.scenario, formulation, method, reference.t, witnesses.progress)
    except ModelError as error:
        return Row(*names, Status("refused", str(error)), apart, approximate)
    known = parted(run.chain, run.position, reference.position)
    apart[: len(known)] = known
    trusted = witnesses.trusted_until(run.position, formulation, method, angle)
    return Row(*names, run.status, apart, approximate, run, within(run.t, known, angle), trusted)


def _several(where: str, value: object) -> list[object]:
    values = list(value) if listed(value) else [value]
    if not values:
        raise ModelError(f"{where} must not be an empty list; leave it out for the usual ones")
    return values


def _pair(value: object) -> tuple[float, float]:
    if not listed(value):
        tolerance = number("tolerance", value, above=0)
        return tolerance, tolerance
    if len(pair := tuple(value)) != 2:
        raise ModelError(f"a tolerance must be a number or a pair (rtol, atol), got {shown(value)}")
    return number("rtol", pair[0], above=0), number("atol", pair[1], above=0)
