"""What the page offers for a model: the formulations that take it, and a sentence for each pane that does not."""

from __future__ import annotations

from nlink._support.checks import ModelError
from nlink.formulations import FORMULATIONS
from nlink.mechanics.chain import Multibody
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.system import Formulation

REFUSED = {
    "flips": "the map of flips takes chains, not mechanisms; use Copies to see starts part, or nlink.simulate_many in Python",
    "equations": "equations are typeset for chains, not for mechanisms; use Modes for small motions, Code for the model in Python",
    "endless": "Endless takes chains, not mechanisms; use Run, pose the mechanism by hand, or drive it",
}
"""Kinds of jobs that take chains alone, and what to use instead."""


def refuse_mechanism(kind: str, model: Multibody) -> None:
    """Refuse a mechanism for a kind of jobs that takes chains alone."""
    if isinstance(model, Mechanism):
        raise ModelError(REFUSED[kind])


def refused(model: Multibody) -> dict[str, str]:
    """Return the kinds of jobs that refuse a model, each with its sentence."""
    return REFUSED if isinstance(model, Mechanism) else {}


def takers(model: Multibody) -> list[str]:
    """Return the names of the formulations that take a model."""
    return [name for name, kind in FORMULATIONS.items() if _takes(kind(), model)]


def _takes(formulation: Formulation, model: Multibody) -> bool:
    if not isinstance(model, Mechanism):
        return formulation.closes or not model.pin
    try:
        formulation.of_mechanism(model)
    except ModelError:
        return False
    return True
