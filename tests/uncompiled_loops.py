"""Closed mechanisms as plain Python: tests of their equations of motion that are quick enough for mutants (docs/mutants.md)."""

from test_closed_mechanisms import test_accelerations_are_those_of_virtual_work_with_multipliers as test_accelerations
from test_closed_mechanisms import test_forces_that_are_unique_are_right_in_spite_of_spare_rows as test_unique_forces
from test_closed_mechanisms import test_moved_as_a_whole_it_moves_the_same as test_moved_as_a_whole
from test_closed_mechanisms import test_powers_are_those_of_virtual_work_and_change_the_energy as test_powers
from test_closed_mechanisms import test_reactions_are_the_multipliers_and_every_body_obeys_newton as test_reactions
from test_closed_mechanisms import test_redundant_bars_change_nothing_and_are_told as test_redundant_bars
from test_closed_mechanisms import test_sliders_without_a_length_have_the_size_of_their_points as test_sliders_without_a_length
from test_closed_mechanisms import test_the_mirror_image_moves_as_the_mirror_image as test_mirror_image
from test_closed_mechanisms import test_the_order_of_closures_changes_nothing as test_order_of_closures

__all__ = [
    "test_accelerations", "test_mirror_image", "test_moved_as_a_whole", "test_order_of_closures", "test_powers", "test_reactions",
    "test_redundant_bars", "test_sliders_without_a_length", "test_unique_forces",
]  # fmt: skip
