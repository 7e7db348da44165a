"""The task that prepares: while nobody waits, it compiles what the next changes of a model are likely to need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nlink._support.checks import ModelError
from nlink.mechanics.loads import Drag, JointDamper, JointTorque, Load
from nlink.scenario import Scenario, preset
from nlink.studio.messages import Json, checked
from nlink.studio.worker import Outbox

SHORT = 1e-3
"""Seconds of the motions."""
LIKELY: tuple[Load, ...] = (JointTorque(0.0), JointDamper(0.1), Drag(0.1))
"""One load of each kind of code: torques (a hand in the endless mode), moments, forces."""
OTHERS = ("point-2", "four-bar")


def prepare(request: Json, out: Outbox) -> None:
    """Run what is likely to come for an instant each, the most likely first, and compile it so."""
    count = 0
    for scenario in _likely(checked(request["model"])):
        out.look()
        try:
            scenario.run(strict=False)
            count += 1
        except ModelError:
            continue  # a load that this formulation does not take
    out.end("done", prepared=count)


def _likely(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the model with one load more, then other common chains."""
    for each in (scenario, *map(preset, OTHERS)):
        short = replace(each, settings=replace(each.settings, t_end=SHORT, save=SHORT))
        yield short
        for load in LIKELY:
            if each.chain.load(type(load)) is None and not (each.chain.spatial and isinstance(load, JointTorque)):
                yield replace(short, chain=each.chain.with_loads(load))
