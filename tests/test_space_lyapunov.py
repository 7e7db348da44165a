"""Lyapunov exponents of lines in space: exact volumes, pairs, zeros of conserved quantities, tangency, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nlink import Body, Drag, JointDamper, JointSpring, LinkDamper, ModelError, SpatialChain, simulate
from nlink.analysis import ftle, lyapunov
from nlink.analysis.space_deviations import DualsInSpace, couplings, resistance
from nlink.formulations import formulate
from nlink.mechanics.kinematics import energies
from nlink.mechanics.space.tangents import frames, tangents

WILD = {"theta": [(math.pi / 2, 0.4), (math.pi - 0.3, 1.3)], "omega": [(0.3, 0.5, -0.2)] * 2}
LOADS = [LinkDamper((0.1, 0.3)), Drag((0.05, 0.2)), JointSpring(1.0)]


@pytest.mark.parametrize(("loads", "spin"), [((), 0.0), (LOADS, 0.0), (LOADS, 0.4)])
def test_the_sum_is_the_exact_rate_of_volumes(loads, spin):
    """To the last digits, with friction and without: no other check is as sharp."""
    chain = SpatialChain(SpatialChain.uniform(2).links, loads, spin)
    found = lyapunov(chain, **WILD, t_end=3.0)
    assert found.freedom == 8
    assert abs(found.sum - found.divergence) < 1e-9
    assert found.residual < 1e-9
    assert (found.divergence < -0.3) == bool(loads)


def test_four_zeros_and_pairs_of_a_conservative_chain():
    """Two rods in chaos: over 100,000 s 0.970(6), 0.609(4), four below 2e-4; by differences over 2000 s 0.998, 0.670."""
    found = lyapunov(SpatialChain.uniform(2), **WILD, t_end=2000.0)
    np.testing.assert_allclose(found.exponents[[0, 1, 6, 7]], [0.97, 0.61, -0.61, -0.97], atol=0.12)
    assert np.abs(found.exponents[2:6]).max() < 8e-3
    assert np.abs(found.pairing).max() < 8e-3


def test_one_line_is_not_chaotic():
    found = lyapunov(SpatialChain.uniform(1), [(1.2, 0.3)], [(0.0, 2.0, 0.0)], t_end=100.0)
    assert np.abs(found.exponents).max() < 0.1
    assert abs(found.sum - found.divergence) < 1e-10


def test_small_motions_about_hanging_turn_and_do_not_grow():
    """At rest nothing limits the steps but the deviations themselves: a long chain has fast ones."""
    found = lyapunov(SpatialChain.uniform(6), np.zeros(6), t_end=30.0)
    assert np.abs(found.exponents).max() < 0.15
    assert abs(found.sum - found.divergence) < 1e-9


def test_deviations_are_the_derivative_of_the_motion_and_stay_tangent():
    chain = SpatialChain(SpatialChain.uniform(2).links, LOADS, 0.3)
    position, velocity = chain.start(WILD["theta"], WILD["omega"])
    state, frame, h = np.concatenate([position, velocity]), frames(chain, position, velocity), 1e-5
    engine = DualsInSpace(chain, 1e-14)
    y = np.concatenate([state, np.zeros(engine.system.full_size - engine.system.size)])
    segment = engine.advance(0.0, 0.4, y, frame)

    def end(start):
        run = simulate(chain, state=start, t_end=0.4, save=(0.4,), rtol=1e-12, atol=1e-12)
        return np.concatenate([run.position[-1], run.velocity[-1]])

    for column in (0, 3, 7):
        by_difference = (end(state + h * frame[:, column]) - end(state - h * frame[:, column])) / (2 * h)
        np.testing.assert_allclose(segment.deviations[:, column], by_difference, atol=1e-6)
    here = frames(chain, segment.y[:6], segment.y[6:12])
    np.testing.assert_allclose(here @ (here.T @ segment.deviations), segment.deviations, atol=1e-11)


def test_the_matrices_are_those_of_energy_and_power():
    chain = SpatialChain(SpatialChain.uniform(3).links, [LinkDamper((0.1, 0.3, 0.0)), Drag((0.05, 0.2, 0.4))])
    position, velocity = chain.start([(1.0, 0.2), (0.3, 1.0), (2.0, -1.0)], [(0.3, 1.0, 0.2)] * 3)
    rates = velocity.reshape(3, 3)
    assert energies(chain, position, velocity)[0] == pytest.approx(0.5 * np.einsum("ij,ic,jc", couplings(chain), rates, rates))
    system = formulate(chain)
    powers = system.rates(0.0, np.concatenate([position, velocity, np.zeros(system.full_size - system.size)]))[system.size :]
    assert -np.einsum("ij,ic,jc", resistance(system.parameters.chain), rates, rates) == pytest.approx(powers.sum())
    basis, follow = tangents(chain, position, velocity)
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-15)
    e = position.reshape(3, 3)
    for column in range(6):
        de, dv = basis[:, column].reshape(3, 3), follow[:, column].reshape(3, 3)
        np.testing.assert_allclose((e * de).sum(1), 0, atol=1e-15)
        np.testing.assert_allclose((e * dv + rates * de).sum(1), 0, atol=1e-15)


def test_the_finite_time_exponent_is_that_of_the_largest_stretching():
    chain = SpatialChain.uniform(2)
    found = ftle(chain, **WILD, t=2.0)
    assert len(found.singular_values) == 8
    position, velocity = chain.start(**{"pose": WILD["theta"], "omega": WILD["omega"]})
    engine, frame = DualsInSpace(chain, 1e-14), frames(chain, position, velocity)
    whole = engine.advance(0.0, 2.0, np.concatenate([position, velocity]), frame).deviations
    assert found.exponent == pytest.approx(math.log(np.linalg.svd(whole, compute_uv=False)[0]) / 2.0, rel=1e-8)


@pytest.mark.parametrize(
    ("chain", "reason"),
    [
        (SpatialChain.uniform(2, loads=[JointDamper(0.1)]), "Taylor does not take friction of joints in space"),
        (SpatialChain.uniform(2, loads=[Drag(0.0, 0.1)]), "Taylor has no derivative of quadratic drag"),
        (SpatialChain([Body.cylinder(1.0, 1.0, 0.1)]), "Taylor takes lines in space, not bodies"),
    ],
)
def test_what_has_no_series_is_refused(chain, reason):
    with pytest.raises(ModelError, match=f"lyapunov in space follows deviations by Taylor: {reason}"):
        lyapunov(chain, 0.3, t_end=1.0)
