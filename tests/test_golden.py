"""Results of every kind are those of before; see golden.py."""

from __future__ import annotations

import json

import numpy as np
import pytest
from golden import CASES, VALUES, kept

WANTED = json.loads(VALUES.read_text())
TOLERANCE = 1e-9
"""Relative and absolute: short runs, whose rounding differs between processors."""


def test_every_case_is_recorded():
    assert set(WANTED) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_as_before(name):
    found = kept(CASES[name]())
    assert list(found) == list(WANTED[name])
    for array, (shape, numbers) in WANTED[name].items():
        assert found[array][0] == shape, array
        np.testing.assert_allclose(
            np.array(found[array][1], float), np.array(numbers, float), rtol=TOLERANCE, atol=TOLERANCE, err_msg=array
        )
