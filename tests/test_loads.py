"""Loads as records: numbers or lists of them, checked when made, refused in words that name the place."""

import dataclasses
import math

import numpy as np
import pytest

from nlink import (
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    LinkDamper,
    ModelError,
    Sine,
    Table,
    TipForce,
)
from nlink.mechanics.loads import LOADS
from nlink.mechanics.moments import LEDGER

ONE = [
    (Gravity, "g", {}),
    (FollowerForce, "force", {}),
    (TipForce, "fx", {"fy": 0.0}),
    (TipForce, "fy", {"fx": 0.0}),
    (Sine, "amplitude", {"frequency": 1.0}),
    (Sine, "frequency", {"amplitude": 1.0}),
    (Sine, "phase", {"amplitude": 1.0, "frequency": 1.0}),
]
EACH = [
    (JointSpring, "stiffness", {}),
    (JointSpring, "rest", {"stiffness": 1.0}),
    (JointDamper, "damping", {}),
    (LinkDamper, "damping", {}),
    (Drag, "linear", {}),
    (Drag, "quadratic", {}),
]
NOT_NEGATIVE = [case for case in EACH if case[1] != "rest"]
BAD = [True, "1", None, np.True_, 1j, {}]


@pytest.mark.parametrize(("kind", "name", "others"), ONE + EACH)
@pytest.mark.parametrize("value", BAD)
def test_what_is_not_a_number_is_refused(kind, name, others, value):
    with pytest.raises(ModelError, match=rf"^{kind.__name__}\.{name} must be a number, got "):
        kind(**others, **{name: value})


@pytest.mark.parametrize(("kind", "name", "others"), ONE + EACH)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(kind, name, others, value):
    with pytest.raises(ModelError, match=rf"^{kind.__name__}\.{name} must be finite, got -?(nan|inf)$"):
        kind(**others, **{name: value})


@pytest.mark.parametrize(("kind", "name", "others"), EACH)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, math.nan], r"\[1\] must be finite, got nan"),
        ([1.0, 2.0, True], r"\[2\] must be a number, got True"),
        (["1"], r"\[0\] must be"),
    ],
)
def test_lists_are_checked_one_by_one(kind, name, others, value, message):
    with pytest.raises(ModelError, match=rf"^{kind.__name__}\.{name}{message}"):
        kind(**others, **{name: value})


@pytest.mark.parametrize(("kind", "name", "others"), EACH)
@pytest.mark.parametrize("value", [[], (), np.array([])])
def test_empty_lists_are_refused(kind, name, others, value):
    with pytest.raises(ModelError, match=rf"^{kind.__name__}\.{name} must not be an empty list; give one number, or one for each"):
        kind(**others, **{name: value})


@pytest.mark.parametrize(("kind", "name", "others"), EACH)
@pytest.mark.parametrize("value", [np.array([1.0, 2.0]), (1, 2), [np.float32(1), np.int64(2)], range(1, 3)])
def test_lists_of_every_kind_become_tuples_of_floats(kind, name, others, value):
    got = getattr(kind(**others, **{name: value}), name)
    assert got == (1.0, 2.0)
    assert all(type(v) is float for v in got)


@pytest.mark.parametrize(("kind", "name", "others"), ONE + EACH)
@pytest.mark.parametrize("value", [2, np.float64(2), np.float32(2), np.int32(2)])
def test_numbers_of_every_kind_become_floats(kind, name, others, value):
    got = getattr(kind(**others, **{name: value}), name)
    assert got == 2.0
    assert type(got) is float


@pytest.mark.parametrize(("kind", "name", "others"), NOT_NEGATIVE)
def test_what_would_feed_energy_is_refused(kind, name, others):
    with pytest.raises(ModelError, match=rf"^{kind.__name__}\.{name} must not be negative, got -0.1$"):
        kind(**others, **{name: -0.1})
    with pytest.raises(ModelError, match=rf"^{kind.__name__}\.{name}\[1\] must not be negative, got -1$"):
        kind(**others, **{name: [1.0, -1.0]})


def test_forces_and_gravity_may_be_negative():
    assert Gravity(-1.0).g == -1.0
    assert FollowerForce(-1.0).force == -1.0
    assert JointSpring(1.0, rest=-0.5).rest == -0.5


@pytest.mark.parametrize(
    ("times", "values", "message"),
    [
        ([0.0, 1.0], [0.0], r"Table\.values must be as long as Table\.times \(2\), got 1"),
        ([0.0, 0.0], [0.0, 1.0], r"Table\.times must increase, got 0 then 0 at \[1\]"),
        ([0.0, 2.0, 1.0], [0.0] * 3, r"Table\.times must increase, got 2 then 1 at \[2\]"),
        (1.0, [0.0], r"Table\.times must be a list of numbers, got 1\.0"),
        ([0.0], 1.0, r"Table\.values must be a list of numbers, got 1\.0"),
        ([], [], r"Table\.times must not be an empty list"),
        ([0.0, math.nan], [0.0, 1.0], r"Table\.times\[1\] must be finite, got nan"),
        ([0.0, 1.0], [0.0, "1"], r"Table\.values\[1\] must be a number, got '1'"),
        ("01", [0.0, 1.0], r"Table\.times must be a list of numbers, got '01'"),
    ],
)
def test_tables_are_checked(times, values, message):
    with pytest.raises(ModelError, match=message):
        Table(times, values)


def test_a_table_holds_floats():
    table = Table(np.array([0, 1]), range(2))
    assert table == Table((0.0, 1.0), (0.0, 1.0))
    assert hash(table) == hash(Table((0.0, 1.0), (0.0, 1.0)))


@pytest.mark.parametrize(
    ("torque", "message"),
    [
        ("1", r"JointTorque\.torque must be a number, got '1'"),
        (None, r"JointTorque\.torque must be a number, got None"),
        (True, r"JointTorque\.torque must be a number, got True"),
        (math.nan, r"JointTorque\.torque must be finite, got nan"),
        ([], r"JointTorque\.torque must not be an empty list; give one torque, or one for each joint"),
        ([1.0, "1"], r"JointTorque\.torque\[1\] must be a number, got '1'"),
        ([1.0, [2.0]], r"JointTorque\.torque\[1\] must be a number, got \[2\.0\]"),
        ([1.0, lambda t: t], r"JointTorque\.torque\[1\] must be a number, got <function"),
        ([math.inf], r"JointTorque\.torque\[0\] must be finite"),
        ({"amplitude": 1.0}, r"JointTorque\.torque must be a number, got \{'amplitude': 1\.0\}"),
    ],
)
def test_torques_are_checked(torque, message):
    with pytest.raises(ModelError, match=message):
        JointTorque(torque)


def test_torques_of_every_kind():
    sine, table = Sine(1, 2), Table([0.0, 1.0], [1.0, 2.0])
    assert JointTorque(2).torque == 2.0
    assert JointTorque(sine).torque == Sine(1.0, 2.0, 0.0)
    assert JointTorque([1, sine, table]).torque == (1.0, sine, table)
    assert JointTorque(np.array([1, 2])).torque == (1.0, 2.0)
    assert JointTorque(math.sin).torque is math.sin


@pytest.mark.parametrize("kind", [*LOADS.values(), Sine, Table])
def test_loads_are_frozen(kind):
    made = {TipForce: (1.0, 1.0), Sine: (1.0, 1.0), Table: ([0.0], [1.0])}.get(kind, (1.0,))
    load = kind(*made)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(load, dataclasses.fields(load)[0].name, 2.0)
    assert load == kind(*made)


def test_the_ledger_lists_every_load_without_a_potential():
    assert set(LEDGER) & set(LOADS) == set(LOADS) - {"gravity", "joint_spring"}
    assert len(set(LEDGER)) == len(LEDGER)


@pytest.mark.parametrize("function", [lambda: 1.0, lambda t, theta: 1.0, lambda *, t: 1.0])
def test_a_torque_function_takes_the_time_alone(function):
    with pytest.raises(ModelError, match=r"^JointTorque\.torque must be a function of t, or of t, theta, omega, got <lambda>\("):
        JointTorque(function)
    for fine in (math.sin, lambda t, scale=2.0: scale * t, lambda *values: 0.0):
        assert JointTorque(fine).torque is fine
