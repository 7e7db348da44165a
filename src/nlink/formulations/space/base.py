"""What formulations in the coordinates of a chain in space have in common: the state is (c, c')."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nlink.compiled.jit import entry
from nlink.compiled.views import views
from nlink.mechanics.contract import settled
from nlink.mechanics.space import kinematics
from nlink.mechanics.space.model import SpatialChain
from nlink.mechanics.space.numbers import SpaceParameters, SpatialNumbers
from nlink.mechanics.system import Formulation


@entry("the spheres")
def settle_many(y, p, w):
    """Bring each row of y back onto its spheres."""
    y, p, w = views(y), views(p), views(w)
    for k in range(len(y)):
        settled(y[k], p, w)


class SpaceFormulation(Formulation):
    """A formulation in the coordinates of a chain in space and their rates (..., K)."""

    kind: ClassVar[type[SpaceParameters]]

    def of_space(self, chain: SpatialChain) -> Formulation:
        """Return itself."""
        return self

    def parameters(self, chain: SpatialChain, numbers: SpatialNumbers) -> SpaceParameters:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take every chain and load that a SpatialChain takes."""
        return self.kind(numbers)

    @property
    def projected(self) -> bool:
        """True: directions and quaternions are scaled to length 1 after each step."""
        return True

    def encode(self, chain: SpatialChain, theta: np.ndarray, omega: np.ndarray) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Join coordinates and rates."""
        return np.concatenate([theta, omega], axis=-1)

    def decode(self, chain: SpatialChain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Split a state into coordinates and rates."""
        return state[..., : chain.size], state[..., chain.size : 2 * chain.size]

    def decode_rates(self, chain: SpatialChain, state: np.ndarray, rates: np.ndarray) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the second half of the rates: the second derivatives of the coordinates."""
        return rates[..., chain.size : 2 * chain.size]

    def energy(self, chain: SpatialChain, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return kinetic and potential energy of states."""
        return kinematics.energies(chain, *self.decode(chain, state))

    def violation(self, chain: SpatialChain, state: np.ndarray) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return how far directions and quaternions are from length 1."""
        c, _ = self.decode(chain, state)
        sizes = [np.linalg.norm(c[..., place], axis=-1) - 1 for place in chain.places if place.stop - place.start > 2]
        return np.abs(sizes).max(0) if sizes else np.zeros(np.shape(state)[:-1])

    def settled(self, parameters: SpaceParameters, states: np.ndarray, scratch: np.ndarray, plain: bool) -> tuple[float, float]:
        """Scale the coordinates to their spheres and project the rates, in place; what was off before is not told."""
        settle_many(states, parameters, scratch)
        return 0.0, 0.0

    def turning(self, n: int) -> np.ndarray:
        """Return no angles: `turning_of` knows the chain."""
        return np.zeros(n, bool)

    def turning_of(self, chain: SpatialChain) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return which components of the state are angles (size,)."""
        return np.concatenate([chain.turning, np.zeros(chain.size, bool)])
