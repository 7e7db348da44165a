"""The kernels without the compiler, in processes of their own, as they are compiled or not for good.

`uncompiled.py`, `uncompiled_trees.py`, `uncompiled_lines.py` and `uncompiled_runs.py` run so only. Tests of whole runs, of vectors
and of dual numbers run compiled as well.
"""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
GOLDEN = (
    "simulate: none", "simulate: table", "simulate: 9 links", "simulate: Taylor of order 9", "simulate: all loads by DOP853",
    "simulate: RK45", "simulate: RK4", "simulate: Gauss", "simulate: momentum", "simulate: projection", "simulate: linear",
    "simulate: Maximal(constraints=AugmentedLagrangian())", "simulate: Natural(constraints=MultiplierFilter())",
    "simulate: Natural(constraints=Projection())", "simulate: four-bar by recursive", "simulate: four-bar by momentum",
    "simulate: four-bar by maximal", "simulate: four-bar by natural", "simulate: backwards", "simulate: a Python torque", "flow",
    "simulate_many: Samples", "simulate_many: Extremes", "simulate_many: Reducer", "simulate_many: drag", "simulate_many: all",
    "simulate_many: Samples by DOP853", "simulate_many: Extremes by DOP853", "vary: length[1], mass[2]", "ftle",
)  # fmt: skip
LANES = (
    "test_every_lane_is_as_if_alone", "test_duals_carry_the_derivative", "test_the_rate_of_a_root_at_zero_is_none",
    "test_sine_and_cosine_in_lanes_are_right_to_the_last_digits[10.0]", "test_equal_links_side_by_side[33-2-rod]",
    "test_equal_links_side_by_side[33-3-rod]", "test_equal_links_side_by_side[33-7-rod]",
    "test_many_chains_have_the_rates_of_each[3-every load]", "test_the_tangent_is_the_derivative_of_the_motion[3-swept]",
)  # fmt: skip
SPACE = (
    "test_space_lines.py::test_the_sweep_is_newton_and_euler",
    "test_space_lines.py::test_natural_coordinates_are_the_same_mechanics",
    "test_space_lines.py::test_projection_brings_lengths_back_and_keeps_a_ledger_of_it",
    "test_space_lines.py::test_every_lane_is_as_if_alone", "test_space_bodies.py::test_the_sweep_is_newton_and_euler",
    "test_space_bodies.py::test_hinges_about_z_are_the_plane",
)  # fmt: skip
WHOLE = [
    "uncompiled_runs.py",
    *(f"test_golden.py::test_as_before[{name}]" for name in GOLDEN),
    *(f"test_lanes.py::{name}" for name in LANES),
]


def check(*tests: str) -> None:
    """Run tests as plain Python."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(TESTS / test) for test in tests)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_mechanics_and_the_series_run_as_plain_python():
    check("uncompiled.py")


def test_the_series_of_mechanisms_run_as_plain_python():
    check("uncompiled_trees.py")


def test_the_mechanics_in_space_run_as_plain_python():
    check(*SPACE)


def test_the_series_of_lines_in_space_run_as_plain_python():
    check("uncompiled_lines.py")


def test_whole_runs_give_the_same_as_plain_python():
    check(*WHOLE)
