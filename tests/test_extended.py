"""The reference in extended precision, by which trusted times are judged, against multi-precision solutions and other mechanics."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import Mechanics, random_chain, reference
from torture.trust import LONG, PI, Reference

from nlink import Chain, JointTorque

pytestmark = pytest.mark.skipif(np.finfo(LONG).nmant < 63, reason="no floating-point numbers of 80 bits")


@pytest.mark.parametrize("case", ["N1_chaotic", "N2_chaotic", "N3_chaotic", "N3_nice"])
def test_it_meets_the_multi_precision_references(case):
    """They start from exact decimals: the double 9.81 alone is off by 4e-16 of it, which chaos multiplies by 1000 in 4 s."""
    known = reference("uniform_rods")["cases"][case]
    n, values = known["n"], [value for value in known["values"] if value["t"] <= 4]
    theta = np.array([PI / 4 if known["start"] == "nice" else PI if i % 2 else PI / 2 for i in range(n)])
    times = np.array([0.0, *(value["t"] for value in values)])
    found = Reference(Chain.uniform(n)).follow(theta, np.zeros(n), times, lambda k, theta: True)
    for k, value in enumerate(values, 1):
        assert np.abs(found[k].astype(float) - value["theta"]).max() <= 1e-12, value["t"]


@pytest.mark.parametrize("seed", range(5))
def test_its_accelerations_are_those_of_virtual_work(seed):
    chain, theta, omega = random_chain(3, seed)
    assert chain.load(JointTorque)
    found = Reference(chain).accelerations(LONG(0.3), theta.astype(LONG), omega.astype(LONG))
    exact = Mechanics(chain, theta, omega, 0.3).accelerations()
    assert np.abs(found.astype(float) - exact).max() <= 1e-10 * np.abs(exact).max()
