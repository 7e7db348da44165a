"""`nlink compile`: compile the common paths ahead, for images of containers, clusters, and those who do not want to wait later."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from nlink._support.progress import QUIET, Bar
from nlink.cli.options import Json, Quiet
from nlink.cli.report import Report

Paths = dict[str, Callable[[], object]]
"""What is compiled, in words, and a short computation that needs it."""
SHORT = 1e-3
"""Seconds of the motions."""
UNLOADED = {"1 or 2 links": 2, "3 or 4 links": 3, "5 links": 5, "6 to 8 links": 6, "9 to 16 links": 15}
LOADED = {"1 or 2 links": 2, "3 or 4 links": 3, "5 to 8 links": 6, "9 to 16 links": 15}
"""Numbers of links for which Taylor has code of its own, without and with loads besides gravity."""

SPACE_PRESETS = ("spherical-1", "cone-2", "spiral-5", "gyro-3", "lasso-20", "rope-50", "top")
"""Presets in space that need code of their own; turning-over has that of the top."""


def compile(
    only_list: Annotated[bool, typer.Option("--list", help="List the common paths, compiled or not; compile nothing.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile the common paths now, in some minutes, so that nothing waits for the compiler later. It skips compiled paths.

    Examples: nlink compile | nlink compile --list | NLINK_CACHE_DIR=/opt/cache nlink compile -q
    """
    from nlink.compiled.announcing import held, waiting
    from nlink.compiled.jit import FOLDER

    began, table = time.perf_counter(), paths()
    there = {words: held(words) for words in table}
    missing = [words for words in table if not there[words]]
    if not only_list:
        if sys.stderr.isatty():
            os.environ[QUIET] = "1"  # the bar tells
        with Bar("compiling", not quiet) as bar:
            for k, words in enumerate(missing):
                bar.update(k, len(missing))
                with waiting(words, noted=True):
                    table[words]()
    state = {words: "compiled" if there[words] else "missing" if only_list else "compiled now" for words in table}
    seconds, width = time.perf_counter() - began, max(map(len, table))
    done = f"{len(missing)} of {len(table)} {'missing' if only_list else f'compiled in {seconds:.3g} s'}; the cache is {FOLDER}"
    Report(as_json, quiet).show(
        lambda: {"paths": state, "folder": str(FOLDER), "wall": seconds},
        lambda: [*(f"  {words:<{width}}  {each}" for words, each in state.items()), f"  {done}"],
    )


def paths() -> Paths:
    """Return the common paths, the most common ones first."""
    import nlink
    from nlink.ensemble import Samples, simulate_many
    from nlink.ensemble.outputs import PLAIN
    from nlink.formulations import FORMULATIONS
    from nlink.formulations.side_by_side import LANES

    moments, forces = (nlink.JointDamper(0.1),), (nlink.JointDamper(0.1), nlink.Drag(0.1, 0.1), nlink.FollowerForce(0.1))
    closed = nlink.preset("four-bar")
    keeps = [*(kind() for kind in PLAIN), Samples((SHORT,))]
    found: Paths = {}
    for text, loads, sizes in (("", (), UNLOADED), (" with moments", moments, LOADED), (" with forces", forces, LOADED)):
        for many, n in sizes.items():
            chain = nlink.Chain.uniform(n).with_loads(*loads)
            found[f"Taylor for {many}{text}"] = partial(nlink.simulate, chain, 0.5, t_end=SHORT, integrator="Taylor")
    if LANES > 16:  # else the same code as for 9 to 16 links with forces
        found["Taylor for more links"] = partial(nlink.simulate, nlink.Chain.uniform(50), 0.5, t_end=SHORT, integrator="Taylor")
    two, several = (nlink.Chain.uniform(n) for n in (2, 3))
    for name, kind in FORMULATIONS.items():
        options = {"t_end": SHORT, "formulation": name, "integrator": "DOP853"}
        found[f"DOP853 in {name}"] = partial(nlink.simulate, two, 0.5, **options)
        if kind.closes:
            found[f"DOP853 in {name} for closed chains"] = partial(
                nlink.simulate, closed.chain, closed.theta, closed.omega, **options
            )
    found["exponents"] = lambda: nlink.lyapunov(two, 0.5, t_end=SHORT)
    for method, many, chain in (("Taylor", "1 or 2 links", two), ("Taylor", "more links", several), ("DOP853", "any chain", two)):
        for keep in keeps:
            found[f"ensembles by {method} for {many}: {type(keep).__name__}"] = partial(
                simulate_many, chain, 0.5, t_end=SHORT, keep=keep, integrator=method
            )
    return found | in_space()


def in_space() -> Paths:
    """Return the common paths of chains in space: those of the presets, other joints and integrators, ensembles, exponents."""
    import nlink
    from nlink import Body, Hinge, SpatialChain

    two, rates = SpatialChain.uniform(2), [(0.0, 1.0, 0.0)] * 2
    balls = SpatialChain((Body.cylinder(1.0, 1.0, 0.1),) * 2)
    hinged = SpatialChain((Body.cylinder(1.0, 1.0, 0.1), Body.rod(1.0, 1.0, Hinge((1.0, 0.0, 0.0)))))
    found: Paths = {f"in space, preset {name}": partial(_short, name) for name in SPACE_PRESETS}
    found["in space, bodies on hinges"] = partial(nlink.simulate, hinged, 0.5, t_end=SHORT)
    found["in space, Rattle"] = partial(nlink.simulate, two, 0.5, rates, t_end=SHORT, integrator=nlink.Rattle(SHORT / 2))
    found["in space, exponents"] = lambda: nlink.lyapunov(two, 0.5, rates, t_end=SHORT)
    for words, chain in (("lines", two), ("bodies", balls)):
        found[f"in space, ensembles of {words}"] = partial(nlink.simulate_many, chain, [[0.5, 0.5]], [rates], t_end=SHORT)
    return found


def _short(name: str) -> object:
    """Run a preset for a moment."""
    import nlink

    scenario = nlink.preset(name)
    return replace(scenario, settings=replace(scenario.settings, t_end=SHORT)).run()
