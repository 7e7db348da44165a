"""A sample of every attack; `make torture` tries all cases."""

from __future__ import annotations

import pytest
from torture import load
from torture.attack import Absent, Undecided

CASES = [(attack, k) for attack in load().values() for k in range(attack.sample)]


@pytest.mark.parametrize(("attack", "k"), CASES, ids=[f"{attack.name.replace(' ', '-')}-{k}" for attack, k in CASES])
def test_an_attack(attack, k, tmp_path):
    try:
        attack.trial(k, tmp_path)
    except (Absent, Undecided) as reason:
        pytest.skip(str(reason))
