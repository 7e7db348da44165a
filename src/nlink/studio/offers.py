"""What the page offers for a model: formulations that take it, plots, and a sentence for each pane that does not take it."""

from __future__ import annotations

from nlink._support.checks import ModelError
from nlink.formulations import FORMULATIONS
from nlink.mechanics.chain import Multibody
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.system import Formulation
from nlink.view.plot import PLOTS
from nlink.view.space.plots import SPACE_PLOTS

OF_MECHANISMS = {
    "flips": "the map of flips takes chains, not mechanisms; use Copies to see starts part, or nlink.simulate_many in Python",
    "equations": "equations are typeset for chains, not for mechanisms; use Modes for small motions, Code for the model in Python",
    "endless": "Endless takes chains, not mechanisms; use Run, pose the mechanism by hand, or drive it",
}
"""Kinds of jobs that take chains alone, and what to use instead."""
IN_SPACE = {
    "stability": "stability is drawn in the plane; for a chain in space simulate a small motion at each load",
    "flips": "the map of flips takes chains in the plane: to pass straight up in space takes two coordinates at once",
    "equations": "equations are typeset in the plane; those of chains in space stand in docs/space.md",
}
"""Kinds of jobs that take models in the plane alone, and what to use instead."""


def refuse(kind: str, model: Multibody) -> None:
    """Refuse a model for a kind of jobs that does not take it."""
    sentence = refused(model).get(kind)
    if sentence:
        raise ModelError(sentence)


def refused(model: Multibody) -> dict[str, str]:
    """Return the kinds of jobs that refuse a model, each with its sentence."""
    return IN_SPACE if model.spatial else OF_MECHANISMS if isinstance(model, Mechanism) else {}


def takers(model: Multibody) -> list[str]:
    """Return the names of the formulations that take a model."""
    return [name for name, kind in FORMULATIONS.items() if _takes(kind(), model)]


def plots(model: Multibody) -> list[str]:
    """Return the names of the plots of a model's runs."""
    return list(SPACE_PLOTS if model.spatial else PLOTS)


def _takes(formulation: Formulation, model: Multibody) -> bool:
    if not isinstance(model, Mechanism | SpatialChain):
        return formulation.closes or not model.pin
    try:
        formulation.of_space(model) if isinstance(model, SpatialChain) else formulation.of_mechanism(model)
    except ModelError:
        return False
    return True
