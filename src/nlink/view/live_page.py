"""The page that simulates: a chain in the browser, with the equations that `derive` gives as JavaScript, and its numbers to change.

The derived functions are part of the page's code, under every load, so that nothing is written a second time and every load can be
switched on. Steps are those of DOP853, with the package's tableau. `web/live.js` is the page, `web/simulation.js` the motion.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nlink._support.checks import LARGEST, SMALLEST, ModelError, number, whole
from nlink.mechanics.chain import Link
from nlink.mechanics.loads import LOADS, Gravity, JointTorque, torques
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.refusals import refuse_space
from nlink.view.packing import Content
from nlink.view.page import asset, bundle, check_page, framed, page_text, write_text
from nlink.view.style import cut, name_of
from nlink.view.takes import about, chain_data, words
from nlink.view.words import scenario_lines

if TYPE_CHECKING:
    from nlink.integrators.tableaus import Tableau
    from nlink.mechanics.chain import Multibody
    from nlink.mechanics.parameters import Place
    from nlink.scenario import Scenario

MOST_LINKS = 8
"""Most links: the derived code grows as the cube of their number."""
MOST_COPIES = 30
DIFFERENCE = 1e-3
"""rad by which the first angle of each near-copy is larger, at the beginning."""
TOLERANCE = 1e-12
"""Of a step, for angles up to 1 rad and rates: a motion that is not chaotic is then right to 1e-9 after some seconds."""
ENTRY = "live.js"
PLAYED = "simulate it and play the run: nlink run, then nlink animate"
SHAPING = ("length", "mass")
"""The parameters of links that have controls; the others go with them, so that a link stays similar to itself."""
CODE = """const EQUATIONS = (() => {{
{code}
return {{ derivative, energies }};
}})();
"""


class LivePage(str):
    """The text of a page that simulates; a notebook shows it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return framed(self, "A chain that is simulated")


def live_page(
    scenario: Scenario,
    path: str | os.PathLike[str] | None = None,
    *,
    copies: int = 0,
    difference: float = DIFFERENCE,
    theme: str | None = None,
) -> LivePage | Path:
    """Return a page that simulates a scenario in the browser as text, or write it to `path` and return that.

    `copies`: number of near-copies, the first angle of each larger by `difference` in rad than that of the one before.
    `theme`: light or dark; as the reader's system if not given.

    >>> import nlink
    >>> len(live_page(nlink.preset("point-2"), copies=5)) < 300_000
    True
    """
    if path is not None:
        check_page(path)
    copies = whole("copies", copies, least=0, most=MOST_COPIES)
    text = _page(scenario, copies, number("difference", difference), theme)
    return LivePage(text) if path is None else write_text(text, path)


@np.errstate(over="ignore", under="ignore")
def _page(scenario: Scenario, copies: int, difference: float, theme: str | None) -> str:
    chain = scenario.chain
    refuse_space("a live page", chain)
    _refuse(chain)
    from nlink.integrators.tableaus import DOP853_TABLEAU
    from nlink.mechanics.parameters import PARAMETERS  # the table is made once, and loads may be registered before
    from nlink.symbolic import derive

    equations = derive(chain.n, loads=tuple(LOADS), offset=True)
    code = "\n".join(equations.code("javascript", of).replace("export ", "", 1) for of in ("rates", "energies"))
    units = _units(chain)
    title, lines = name_of(scenario, 200), scenario_lines(scenario)
    model = {
        "n": chain.n,
        "parameters": [_parameter(name, place, chain, units) for name, place in PARAMETERS.items()],
        "torques": [name for name, place in PARAMETERS.items() if place.record is JointTorque],
        "powers": list(equations.short_powers),
        "start": {"theta": list(scenario.theta), "omega": np.broadcast_to(scenario.omega, chain.n).tolist()},
        "copies": copies,
        "most": MOST_COPIES,
        "difference": difference,
        "chain": chain_data(chain),
        "tableau": tableau_data(DOP853_TABLEAU) | {"tolerance": TOLERANCE},
    }
    content = {
        "title": title,
        "summary": cut(f"{lines[0][1]}; {lines[-1][1]}", 160),
        "about": about(),
        "words": words(lines),
        "model": model,
    }
    script = CODE.format(code=code) + bundle(ENTRY)
    return page_text(title, content, script, asset("theme.css") + asset("live.css"), theme)


def _refuse(chain: Multibody) -> None:
    """Refuse what a page cannot simulate."""
    if isinstance(chain, Mechanism):
        raise ModelError(f"a live page takes chains, not mechanisms; {PLAYED}")
    if chain.n > MOST_LINKS:
        raise ModelError(f"a live page takes up to {MOST_LINKS} links, got {chain.n}; {PLAYED}")
    if chain.pin:
        raise ModelError(f"a live page takes open chains, and this one is closed by a pin; {PLAYED}")
    load = chain.load(JointTorque)
    if load and callable(load.torque):
        raise ModelError(f"a live page takes joint torques that are numbers or sines, got a Python function; {PLAYED}")
    for i, torque in enumerate(torques(load, chain.n)):
        if torque.table:
            raise ModelError(f"a live page takes joint torques that are numbers or sines, got a table at joint {i + 1}; {PLAYED}")


def tableau_data(method: Tableau) -> Content:
    """Return a Runge-Kutta pair as plain data: its stages and errors, and the powers of its dense output, as pairs of lists."""
    rows = [
        [[int(stage), float(weight)] for stage, weight in zip(pick, weights, strict=True) if weight]
        for pick, weights in zip(method.pick, method.weight, strict=True)
    ]
    first = method.total + 2
    stages, alike = slice(0, 4 * int(method.blocks[first])), slice(first, first + method.powers)
    return {
        "stages": method.stages,
        "exponent": method.exponent,
        "c": method.c.tolist(),
        "rows": [_columns(row) for row in rows[: method.total]],
        "errors": [[method.pick[row].tolist(), method.weight[row].tolist()] for row in (method.total, method.total + 1)],
        "dense": [method.pick[first, stages].tolist(), method.weight[alike, stages].tolist()],
    }


def _columns(row: list[list[float]]) -> list[list[float]]:
    return [[each[k] for each in row] for k in (0, 1)]


def _parameter(name: str, place: Place, chain: Multibody, units: dict[str, float]) -> Content:
    """Return a number of the chain, or one for each link: its name, letter and value, and the control that changes it."""
    parameter, kind = place.parameter, place.record
    value = getattr(chain, place.field) if kind is Link else kind.values(chain.load(kind), chain.n)[place.field]
    return {
        "name": name,
        "symbol": parameter.symbol,
        "each": not parameter.single,
        "value": value.tolist(),
        "group": _group(name, place),
        "shown": kind in (Link, Gravity) or bool(value.any()),
        "label": parameter.label,
        "unit": parameter.unit.replace("^2", "\N{SUPERSCRIPT TWO}"),
        "range": _range(place, value, units),
        "least": parameter.least,
        "above": parameter.above,
    }


def _group(name: str, place: Place) -> str:
    """Return the heading under which a number stands; nothing if it has no control."""
    if place.record is Link:
        return "Links" if place.field in SHAPING else ""
    return LOADS[name.partition(".")[0]].label.capitalize()


def _units(chain: Multibody) -> dict[str, float]:
    """Return how far controls go by their units: as far as is felt by a chain of this length and mass under gravity."""
    length, g = chain.length.sum(), abs(chain.g) or 9.81
    mass = chain.mass.sum() + (chain.inertia / chain.length**2).sum()
    force, time = mass * g, np.sqrt(length / g)
    return {
        "m/s^2": 2.5 * g, "rad": math.pi, "Hz": 1 / time, "N": force, "N m": force * length / 2, "N m/rad": force * length / 4,
        "N m s/rad": force * length * time / 20, "N s/m": force * time / length / 2, "N s^2/m^2": force * (time / length) ** 2 / 2,
    }  # fmt: skip


def _range(place: Place, value: np.ndarray, units: dict[str, float]) -> list[float]:
    """Return lowest, highest and step of a slider: about a hundred steps from zero, of a round size."""
    parameter, most, least = place.parameter, float(np.abs(value).max()), float(value.min())
    high = 3 * most or 1.0 if place.record is Link else max(units.get(parameter.unit, 1.0), 1.5 * most)
    high = min(max(high, SMALLEST), LARGEST)
    power = 10.0 ** math.floor(math.log10(high / 100))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= high / 100)
    count = math.ceil(high / step)
    positive = parameter.above == 0 or (place.record is Link and least > 0)
    nonnegative = parameter.least == 0 or parameter.unit in ("Hz", "m/s^2")
    return [float(f"{k * step:.12g}") for k in (1 if positive else 0 if nonnegative and least >= 0 else -count, count, 1)]
