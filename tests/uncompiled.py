"""The mechanics and the power series as plain Python, against the independent mechanics of `helpers`: quick enough to run for each
mutant (docs/mutants.md). It needs NUMBA_DISABLE_JIT=1; `test_uncompiled.py` runs it so.

The series is held against the equations of motion themselves: with coefficients up to h^K the residual of theta'' shrinks as
h^(K-1), so half the step must give 2^(K-1) times less. A wrong coefficient of any order spoils this.
"""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from unittest import mock

import numba
import numpy as np
import pytest
from helpers import Mechanics, energy, random_chain, relative

from nlink import (
    Chain,
    Drag,
    FollowerForce,
    Gravity,
    JointDamper,
    JointSpring,
    JointTorque,
    Link,
    LinkDamper,
    ModelError,
    Sine,
    Table,
    TipForce,
    formulate,
    linearize,
    lqr,
)
from nlink.compiled.interpreted import DualVector, Vector, Vectors
from nlink.formulations import recursive
from nlink.formulations.series import loads, motion, one_vector, resistance, rows, sweep, unrolled
from nlink.mechanics import kernels, kinematics, moments, torques
from nlink.mechanics.kernels import turn
from nlink.mechanics.loads import Law
from nlink.mechanics.moments import LEDGER
from nlink.mechanics.parameters import TORQUE
from nlink.mechanics.scratch import LOAD_ROWS, TQ, S
from nlink.mechanics.series import ONE_VECTOR, ORDER_BY_ORDER, SERIES_ROWS, SERIES_SCRATCH, UNROLLED, SeriesRoom, series_layout
from nlink.mechanics.torque_callback import torque_signature
from nlink.mechanics.torques import from_table, piece

LEFT = -7.0
"""What scratch holds from a use before: it must not matter."""
CLOSE = 1e-11
"""Of quantities of order 1 to 100, computed in two ways by sums of a few products."""


def close(got, wanted, within=CLOSE):
    scale = max(1.0, np.max(np.abs(wanted), initial=0.0))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=within * scale)


def bodies(n, seed=0):
    """Return n links with their centres of mass off the line, and a state."""
    rng = np.random.default_rng([seed, n])
    made = [
        Link(rng.uniform(0.5, 1.5), rng.uniform(0.5, 2), rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.3), 0.4 - 0.1 * i)
        for i in range(n)
    ]
    return made, rng.uniform(-3, 3, n), rng.uniform(-2, 2, n)


def each(low, high, n, seed=3):
    return np.random.default_rng(seed).uniform(low, high, n)


def load_cases(n):
    """Return one list of loads for every load alone, and one of all together."""
    table = Table([0.0, 0.5, 1.2], [1.0, -2.0, 0.5])
    alone = {
        "none": [],
        "spring": [JointSpring(each(1, 3, n), each(-0.5, 0.5, n))],
        "joint damper": [JointDamper(each(0.1, 0.5, n))],
        "link damper": [LinkDamper(each(0.1, 0.5, n))],
        "torque": [JointTorque(each(-2, 2, n))],
        "sine": [JointTorque([Sine(2.0, 0.7, 0.3), Sine(-1.0, 0.4, 1.0), 0.5, 0.0][:n])],
        "held sine": [JointTorque(Sine(2.0, 0.0, 0.5))],
        "table": [JointTorque([table, 0.7, Table([0.2], [3.0]), table][:n])],
        "drag": [Drag(each(0.1, 0.5, n))],
        "quadratic drag": [Drag(each(0.1, 0.3, n), each(0.1, 0.5, n, 4))],
        "follower": [FollowerForce(2.0)],
        "tip": [TipForce(1.0, -0.5)],
    }
    joint = [JointTorque([1.5, Sine(2.0, 0.7, 0.3), table, 0.2][:n])]
    together = [
        load for name in ("spring", "joint damper", "link damper", "quadratic drag", "follower", "tip") for load in alone[name]
    ]
    return {**alone, "all": together + joint}


def cases(n, gravity=9.81):
    made, theta, omega = bodies(n)
    for name, acting in load_cases(n).items():
        yield name, Chain(made, [Gravity(gravity), *acting]), theta, omega


def full(system, theta, omega):
    return np.concatenate([theta, omega, np.linspace(1.0, 2.0, system.full_size - system.size)])


# The right-hand side ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 4])
def test_accelerations_and_powers(n):
    for name, chain, theta, omega in cases(n):
        system = formulate(chain)
        system._w += LEFT
        for t in (-0.4, 0.31, 0.5, 5.0):
            here = Mechanics(chain, theta, omega, t)
            got = system.rates(t, full(system, theta, omega))
            close(got[:n], omega)
            close(got[n : 2 * n], here.accelerations())
            wanted = here.powers()
            assert (len(got) > 2 * n) == (name not in ("none", "spring"))
            close(got[2 * n :], [wanted.get(row, 0.0) for row in LEDGER][: len(got) - 2 * n])


def test_long_chains_and_no_gravity():
    for n, g in ((8, 9.81), (9, -3.0), (3, 0.0)):
        made, theta, omega = bodies(n)
        for acting in ([], [Drag(0.1)]):
            chain = Chain(made, [Gravity(g), *acting])
            close(formulate(chain).accelerations(theta, omega), Mechanics(chain, theta, omega).accelerations(), 1e-10)
    chain, theta, omega = random_chain(4)
    close(formulate(chain).accelerations(theta, omega, 0.7), Mechanics(chain, theta, omega, 0.7).accelerations())


def test_python_torques():
    made, theta, omega = bodies(3)
    function = lambda t: [math.sin(t), 2 * t, -1.0]  # noqa: E731
    chain = Chain(made, [Gravity(9.81), JointTorque(function)])
    system, here = formulate(chain), Mechanics(chain, theta, omega, 0.4)
    got = system.rates(0.4, full(system, theta, omega))
    close(got[3:6], here.accelerations())
    assert got[6] == pytest.approx(here.powers()["joint_torque"])


@numba.cfunc(torque_signature)
def feedback_in_c(t, theta, omega, torque, n):
    for i in range(n):
        torque[i] = math.sin(t) - 0.5 * theta[i] * omega[0]


def test_torques_of_the_state():
    made, theta, omega = bodies(3)
    wanted = [math.sin(0.4) - 0.5 * theta[i] * omega[0] for i in range(3)]
    for function in (feedback_in_c, lambda t, theta, omega: math.sin(t) - 0.5 * theta * omega[0]):
        for name in ("recursive", "momentum", "projection", "maximal", "natural"):
            one, other = (
                formulate(Chain(made, [Gravity(9.81), JointTorque(torque)]), name).accelerations(theta, omega, 0.4)
                for torque in (function, wanted)
            )
            close(one, other)
        chain = Chain.uniform(3).with_loads(JointTorque(function))
        damping = linearize(chain, theta, omega).C - linearize(Chain.uniform(3), theta, omega).C
        close(damping[2], [0.5 * theta[2], 0.0, 0.0], 1e-9)
    regulator = lqr(Chain.uniform(2))
    assert regulator.torque(0.0, regulator.theta + 2 * math.pi, np.zeros(2)) == (0.0, 0.0)
    assert linearize(Chain.uniform(2).with_loads(JointTorque(regulator.torque)), math.pi).stable


@numba.cfunc(torque_signature)
def coupled_in_c(t, theta, omega, torque, n):
    for i in range(n):
        torque[i] = t * (1.0 + theta[i] ** 2 * omega[(i + 1) % n] ** 3)


def test_torques_of_the_state_in_one_chain_and_in_lanes():
    """They come on top of those that are there. The rates begin at any place of a state."""
    n, lanes, at, t = 3, 4, 2, 0.4
    p = formulate(Chain.uniform(n).with_loads(JointTorque(coupled_in_c))).parameters.chain
    p.links[TORQUE] = 1.0, 2.0, 3.0
    theta, omega = each(-2, 2, (n, lanes)), each(-2, 2, (at + n, lanes), 4)
    wanted = p.links[TORQUE][:, None] + t * (1.0 + theta**2 * np.roll(omega[at:], -1, 0) ** 3)
    w = np.full((LOAD_ROWS, n, lanes), LEFT)
    torques.drive(t, Vectors(theta), Vectors(omega), at, p, Vectors(w))
    close(w[TQ], wanted)
    for k in range(lanes):
        w = np.full((LOAD_ROWS, n), LEFT)
        torques.drive(t, theta[:, k].copy(), omega[:, k].copy(), at, p, w)
        close(w[TQ], wanted[:, k])


def test_derivatives_of_torques_of_the_state():
    n, times, states = 3, np.array([0.4, 1.5]), each(-2, 2, (2, 2, 3))
    address = formulate(Chain.uniform(n).with_loads(JointTorque(coupled_in_c))).parameters.chain.callback
    out = np.full((2, n, 2 * n), LEFT)
    torques.differences_many(address, times, states, 1e-3, np.empty((2, n)), np.empty(n), out)
    for t, (theta, omega), found in zip(times, states, out, strict=True):
        other = np.roll(omega, -1)
        by_angles, by_rates = np.diag(2 * theta * other**3), np.roll(np.diag(3 * theta**2 * other**2), 1, 1)
        close(found, t * np.hstack([by_angles, by_rates]), 1e-9)


def test_python_torques_that_fail():
    calls = []

    def function(t):
        calls.append(t)
        if t > 2:
            raise KeyError(t)
        return [1.0, 2.0] if t > 1 else 3.0

    system = formulate(Chain.uniform(3).with_loads(JointTorque(function)))
    assert calls == [0.0]
    with pytest.raises(ModelError, match=r"must return a number or 3 of them, got \[1\.0, 2\.0\] at t = 1\.5"):
        system.accelerations(0.1, 0.0, 1.5)
    assert np.isnan(system.rates(3.0, np.zeros(system.full_size), strict=False)[:6]).any()
    system.rates(4.0, np.zeros(system.full_size), strict=False)
    with pytest.raises(KeyError, match="3"):
        raise system.callback.taken()
    assert not system.failed
    with pytest.raises(ModelError, match=r"must return a number or 1 of them, got 'much' at t = 0"):
        formulate(Chain.uniform(1).with_loads(JointTorque(lambda t: "much")))


def test_what_a_chain_asks_of_the_kernels():
    """Flags, which the compiler takes as they are: what acts, by sines and tables, by velocities, and whose work is kept."""
    sine, wind = JointTorque(Sine(1.0, 0.0, 0.5)), Drag(0.0, [0.1, 0.0])
    for load, wanted in (
        (None, (False, False, 0, 0)),
        (JointSpring(1.0), (True, False, 0, 0)),
        (JointTorque(1.0), (True, False, 0, len(LEDGER))),
        (sine, (True, True, 0, len(LEDGER))),
        (JointTorque(Table([0.0], [1.0])), (True, True, 0, len(LEDGER))),
        (JointTorque(math.sin), (True, False, 0, len(LEDGER))),
        (Drag(0.1), (True, False, 1, len(LEDGER))),
        (TipForce(1.0, 0.0), (True, False, 1, len(LEDGER))),
        (FollowerForce(1.0), (True, False, 1, len(LEDGER))),
        (wind, (True, False, 2, len(LEDGER))),
    ):
        numbers = formulate(Chain.uniform(2).with_loads(*([load] if load else []))).parameters.chain
        got = (numbers.loaded, numbers.timed, numbers.force_level, numbers.ledger)
        assert got == wanted, load
        assert [type(value) for value in got] == [bool, bool, int, int], load


def test_what_is_computed_side_by_side():
    """Open chains whose loads are compiled, and no others."""
    two = Chain.uniform(2)
    for chain, beside in ((two, True), (Chain.uniform(3, pin=(1.0, 0.0)), False), (two.with_loads(JointTorque(math.sin)), False)):
        assert (recursive.Recursive().side_by_side(formulate(chain).parameters) is not None) == beside


def test_tables():
    knots, values = [0.1, 0.2, 0.35, 0.7], [1.1, -2.0, 3.3, 0.4]
    table = np.array([(0.0, 9.0), (9.0, 9.0), *zip(knots, values, strict=True), (0.15, -9.0), (0.3, -9.0)])
    for t in (-1.0, 0.1, 0.15, 0.2, 0.3, 0.35, 0.5, 0.7, 8.0):
        assert from_table(t, table, 2, 6) == pytest.approx(np.interp(t, knots, values), abs=1e-15)
    assert [from_table(t, table, 2, 6) for t in knots] == values
    assert from_table(np.array(knots).view(Vector), table, 2, 6).tolist() == values
    assert from_table(np.array(knots).view(Vector), table, 2, 2).tolist() == [0.0] * 4
    assert from_table(3.0, table, 2, 3) == 1.1
    assert from_table(3.0, table, 2, 2) == 0.0
    for bound, ahead, value, slope in (
        (0.2, True, -2.0, -31.0),
        (0.2, False, -2.0, 5.3 / 0.15),
        (0.1, True, 1.1, 0.0),
        (0.1, False, 1.1, -31.0),
        (0.7, True, 0.4, -2.9 / 0.35),
        (0.7, False, 0.4, 0.0),
        (0.3, True, -2.0 + 0.53 / 0.15, 5.3 / 0.15),
        (5.0, True, 0.4, 0.0),
        (-1.0, False, 1.1, 0.0),
    ):
        assert piece(bound, bound, ahead, table, 2, 6) == pytest.approx((value, slope), abs=1e-12)


def test_moments_by_their_laws():
    """Two loads with the same law, whose parts are there or not: no built-in load has a push, or a stiffness without an origin."""
    links, angles, rates = each(0.5, 2.0, (9, 3)), each(-2.0, 2.0, 3), each(-1.0, 3.0, 3, 5)
    p, at = SimpleNamespace(links=links), {"stiffness": 4, "origin": 5, "damping": 6, "push": 7}
    for there in itertools.product([True, False], repeat=4):
        law = Law("joint", *(name if given else "" for name, given in zip(at, there, strict=True)))
        stiff, origin, damped, pushed = (links[row] * given for row, given in zip(at.values(), there, strict=True))
        found = moments._none()
        for name in LEDGER[1:3]:
            with mock.patch.object(moments, "row", lambda kind, field: at[field]):
                found = moments._with(SimpleNamespace(name=name, law=law), found)
        sums, power, q = found.start(0.0), np.zeros(9), np.zeros((2, 9))
        for i, (angle, rate) in enumerate(zip(angles, rates, strict=True)):
            elastic = -stiff[i] * (angle - origin[i])
            close(found.moment(i, angle, rate, p), 2 * (elastic - damped[i] * rate + pushed[i]))
            close(found.affine(i, angle, p), [2 * (elastic + pushed[i]), 2 * stiff[i], 2 * damped[i]])
            close(found.elastic(i, angle, p), 2 * elastic)
            close(found.energy(i, angle, p), stiff[i] * (angle - origin[i]) ** 2)
            sums = found.works(i, rate, rate**2, p, sums)
        found.store(sums, power, 5)
        found.store_order(sums, q, 1, 4, 0.5)
        done = pushed @ rates - damped @ rates**2
        close(power, [0.0] * 6 + [done, done, 0.0])
        close(q, [[0.0] * 9, [0.0] * 5 + [done / 2, done / 2, 0.0, 0.0]])


# Closed chains -----------------------------------------------------------------------------------------------------------


def closed(n, acting, seed=0):
    """Return a closed chain and a state on it: the pin lies where the tip is, the rates keep it there."""
    made, theta, omega = bodies(n, seed)
    loads = [Gravity(9.81), *acting]
    pin = kinematics_free_tip(made, theta)
    tip = Mechanics(Chain(made, loads), theta, omega).tip
    keep = np.eye(n) - tip @ np.linalg.solve(tip.T @ tip, tip.T)
    return Chain(made, loads, pin=pin), theta, keep @ omega


def kinematics_free_tip(links, theta):
    return (
        sum(link.length * math.sin(a) for link, a in zip(links, theta, strict=True)),
        -sum(link.length * math.cos(a) for link, a in zip(links, theta, strict=True)),
    )


@pytest.mark.parametrize("name", ["none", "spring", "table", "all"])
def test_closed_chains(name):
    """Against the mass matrix bordered by the Jacobian of the tip; and the force of the pin, the reactions and the powers."""
    chain, theta, omega = closed(4, load_cases(4)[name])
    here, system = Mechanics(chain, theta, omega, 0.3), formulate(chain)
    mass, force = here.mass_matrix(), sum(here.generalised().values()) - here.bias()
    inward = np.einsum("i,ix->x", -(omega**2) * chain.length, here.e)
    matrix = np.block([[mass, here.tip], [here.tip.T, np.zeros((2, 2))]])
    solved = np.linalg.solve(matrix, np.concatenate([force, -inward]))
    got = system.rates(0.3, full(system, theta, omega))
    close(got[4:8], solved[:4], 1e-9)
    wanted = here.powers()
    close(got[8:], [wanted.get(row, 0.0) for row in LEDGER], 1e-9)
    reactions = system.reactions(theta, omega, 0.3)
    close(reactions[-1], -solved[4:], 1e-9)
    close(reactions[:-1], upper_forces(here, solved[:4]) + solved[4:], 1e-9)


# Hamilton's form -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 4])
def test_hamilton(n):
    """M omega and back; the momentum changes by dT/dtheta, by a complex step, and the generalised forces."""
    for _, chain, theta, omega in cases(n):
        system, here = formulate(chain), Mechanics(chain, theta, omega, 0.31)
        y, w = full(system, theta, omega), system.scratch() + LEFT
        z, back, out = np.full_like(y, np.nan), np.full_like(y, np.nan), np.full_like(y, np.nan)
        recursive.to_momenta(y, system.parameters, z, w)
        close(z, np.concatenate([theta, here.mass_matrix() @ omega, y[2 * n :]]))
        recursive.from_momenta(z, system.parameters, back, w)
        close(back, y)
        recursive.hamilton_rates(0.31, z, system.parameters, out, w)
        close(out[:n], omega)
        close(out[n : 2 * n], slope_of_kinetic(chain, theta, omega) + sum(here.generalised().values()))
        wanted = here.powers()
        close(out[2 * n :], [wanted.get(row, 0.0) for row in LEDGER][: len(out) - 2 * n])


def slope_of_kinetic(chain, theta, omega):
    free = Chain(chain.links, Gravity(0.0))
    return [np.imag(energy(free, theta + 1e-30j * unit, omega)) / 1e-30 for unit in np.eye(chain.n)]


# Kinematics, energies and reactions -----------------------------------------------------------------------------------------


def upper_forces(here, alpha):
    """Return the force on each link at its upper hinge without a pin: what all links from there on need and do not get."""
    acceleration = np.einsum("jix,i->jx", here.centre, alpha) + np.einsum("jix,i->jx", here.bend, here.omega**2)
    net = here.chain.mass[:, None] * acceleration - sum(here.centre_forces().values())
    net[-1] -= sum(here.tip_forces().values())
    return np.array([net[i:].sum(0) for i in range(here.chain.n)])


@pytest.mark.parametrize("n", [1, 2, 4])
def test_kinematics(n):
    for _, chain, theta, omega in cases(n):
        here, alpha = Mechanics(chain, theta, omega), np.linspace(-2.0, 3.0, n)
        length, com, offset = chain.length[:, None], chain.com[:, None], chain.offset[:, None]
        before = np.tril(np.ones((n, n)), -1)
        ends = np.vstack([np.zeros(2), np.tril(np.ones((n, n))) @ (length * here.e)])
        two = np.array([theta, theta + 1.0]), np.array([omega, omega - 1.0]), np.array([alpha, 2 * alpha])
        for got in (kinematics.hinges(chain, theta), kinematics.hinges(chain, two[0])[0]):
            close(got, ends)
        close(kinematics.directions(theta), [here.e, here.left])
        close(kinematics.centres(chain, theta), before @ (length * here.e) + com * here.e + offset * here.left)
        speeds = np.vstack([np.zeros(2), np.cumsum(length * omega[:, None] * here.left, 0)])
        close(kinematics.hinge_velocities(chain, theta, omega), speeds)
        close(kinematics.hinge_velocities(chain, *two[:2])[0], speeds)
        close(kinematics.centre_velocities(chain, theta, omega), here.velocity)
        acceleration = np.einsum("jix,i->jx", here.centre, alpha) + np.einsum("jix,i->jx", here.bend, omega**2)
        for got in (kinematics.centre_accelerations(chain, theta, omega, alpha), kinematics.centre_accelerations(chain, *two)[0]):
            close(got, acceleration)
        acting = sum(here.centre_forces().values())
        acting[-1] += sum(here.tip_forces().values())
        close(kinematics.forces(chain, theta, omega), acting)
        wanted = upper_forces(here, alpha)
        close(kinematics.reactions(chain, theta, omega, alpha), wanted)
        close(kinematics.reactions(chain, *two)[0], wanted)
        pulled = kinematics.reactions(chain, theta, omega, alpha, np.array([3.0, -2.0]))
        close(pulled, [*(wanted - [3.0, -2.0]), [3.0, -2.0]])


@pytest.mark.parametrize("n", [1, 2, 4])
def test_energies(n):
    for _, chain, theta, omega in cases(n):
        kinetic = omega @ Mechanics(chain, theta, omega).mass_matrix() @ omega / 2
        potential, system = energy(chain, theta, 0 * omega), formulate(chain)
        spring = chain.load(JointSpring)
        stored = sum(np.array(spring.stiffness) * (relative(theta) - spring.rest) ** 2) / 2 if spring else 0.0
        many = np.array([theta, theta + 1.0]), np.array([omega, omega])
        close(kinematics.energies(chain, theta, omega), [kinetic, potential])
        close(np.array(kinematics.energies(chain, *many))[:, 0], [kinetic, potential])
        close([kinematics.kinetic_energy(chain, theta, omega), kinematics.potential_energy(chain, theta)], [kinetic, potential])
        close(kinematics.spring_energy(chain, theta), stored)
        assert kinematics.spring_energy(chain, many[0]).shape == (2,)
        close(np.array(system.energy(np.hstack(many)))[:, 0], [kinetic, potential])
        w, frame = np.zeros((LOAD_ROWS, n)), 0.7
        turn(theta - frame, n, w)
        given = theta, np.append(9.0, omega), 1, system.parameters.chain, w, math.sin(frame), math.cos(frame)
        close(kernels.energies(*given), [kinetic, potential])
        close(kernels.energy(*given), kinetic + potential)


def test_the_energy_of_springs_is_that_of_all_loads_with_a_stiffness():
    """A chain has one load of each type, and of the built-in ones only one has a stiffness."""
    made, theta, _ = bodies(3)
    chain = Chain(made, [JointSpring(each(1, 3, 3), 0.2)])
    twice = SimpleNamespace(loads=2 * [*chain.loads], each=chain.each)
    close(kinematics.spring_energy(twice, theta), 2 * kinematics.spring_energy(chain, theta))


# Power series ----------------------------------------------------------------------------------------------------------------


def room_of(chain, order):
    terms = np.full((SERIES_ROWS, order + 2, chain.n), LEFT)
    terms[[rows.X, rows.Y], :2] = terms[rows.SPEED_SIZE, order - 1 :] = 0.0
    terms[rows.X, 0] = 1.0
    w, u = np.full((2, SERIES_SCRATCH, chain.n), LEFT)
    return SeriesRoom(formulate(chain).parameters.chain, terms, terms, w, w, u, u, series_layout(ORDER_BY_ORDER), (0,) * order)


def vector_of(chain, order, spare=1):
    """Return a room whose vectors have all links, with `spare` places that are not needed, and a lane more."""
    places = chain.n + spare
    terms, u = (np.full((*shape, places + 1), LEFT) for shape in ((SERIES_ROWS, order + 2), (SERIES_SCRATCH,)))
    w = np.zeros_like(u)
    w[:, : chain.n] = LEFT
    wide, v, uv = (Vectors(each[..., None, :]) for each in (terms, w, u))
    numbers = formulate(chain).parameters.chain
    return SeriesRoom(numbers, terms, wide, w, v, u, uv, series_layout(ONE_VECTOR, places, numbers.loaded), (0,) * order)


def made_series(chain, theta, omega, t, bound, order, way=motion.IN_LOOPS, spare=1):
    """Return the room of a series, what it returned, and the coefficients of angles, rates and ledger."""
    room = room_of(chain, order) if way is motion.IN_LOOPS else vector_of(chain, order, spare)
    way.begin(None, room)
    sizes = way.series(t, bound, bound > t, np.concatenate([theta, omega]), None, room, order)
    q = np.full((order, 2 * chain.n + room.chain.ledger), np.nan)
    if room.chain.ledger:
        way.powers(None, room, order, q)
    way.polynomials(None, room, order, q)
    return room, sizes, q


def at(q, start, h):
    """Return a polynomial without its constant term, `start`, and its derivative at h."""
    powers = np.arange(1, len(q) + 1)
    return start + h**powers @ q, (powers * h ** (powers - 1)) @ q


def falls(errors, order, floor):
    """Whether an error at h is that much larger than at h/2, unless both are rounding."""
    large, small = (float(np.max(np.abs(error), initial=0.0)) for error in errors)
    power = math.log2(large / small) if min(large, small) > 0 else math.inf
    told = f"the error {large:.2g} falls as h^{power:.1f}, not as h^{order}: coefficient {power:.0f} is the first wrong one"
    assert small <= floor or large >= 2 ** (order - 0.7) * small, told


def residuals(chain, y, t, q, h):
    """Return how far angles, rates and works at h are off their equations."""
    n = chain.n
    state, rate = at(q[:, : 2 * n], y, h)
    here = Mechanics(chain, state[:n], state[n:], t + h)
    powers = here.powers()
    works = at(q[:, 2 * n :], 0.0, h)[1]
    return rate[:n] - state[n:], rate[n:] - here.accelerations(), works - [powers.get(row, 0.0) for row in LEDGER][: len(works)]


def check_series(chain, theta, omega, t, bound, order, way=motion.IN_LOOPS, spare=1):
    n, y = chain.n, np.concatenate([theta, omega])
    room, sizes, q = made_series(chain, theta, omega, t, bound, order, way, spare)
    f = np.full(2 * n, np.nan)
    way.accelerations(None, room, f)
    close(f[n:], Mechanics(chain, theta, omega, t).accelerations(), 1e-10)
    h = math.copysign(SHARE * sizes[0] ** (-1 / order), bound - t)
    *both, works = zip(*(residuals(chain, y, t, q, step) for step in (h, h / 2)), strict=True)
    for errors in both:
        falls(errors, order - 1, 1e-12)
    falls(works, order if room.chain.force_level < 2 else order - 2, 1e-12)  # of |v| the last coefficient is not found
    ends = []
    for step in (h, h / 2):
        new = np.empty(2 * n)
        way.arrival(step, y, None, room, order, new)
        ends.append(new - at(q[:, : 2 * n], y, step)[0])
    falls([end[:n] for end in ends], order + 1, 1e-14)
    falls([end[n:] for end in ends], order, 1e-13)
    looped = room if way is motion.IN_LOOPS else made_series(chain, theta, omega, t, bound, order)[0]
    last = np.abs(looped.terms[[rows.X, rows.Y]]).sum(0).max(-1)
    close(sizes, [last[order], last[order - 1], np.abs(omega).max()])
    assert way.horizon(h, None, room, order) == h or room.chain.force_level == 2


SHARE = 0.04
"""Part of the radius of convergence: small, so that the first term left out is the error."""


@pytest.mark.parametrize(("n", "order"), [(1, 8), (2, 9), (3, 8), (4, 9)])
@pytest.mark.parametrize("name", load_cases(1))
def test_series(name, n, order):
    chain, theta, omega = next(case for each, *case in cases(n) if each == name)
    for t, bound in ((0.1, 0.5), (0.4, 0.0)):
        check_series(chain, theta, omega, t, bound, order)


@pytest.mark.parametrize(("n", "order"), [(1, 8), (2, 9), (2, 20), (3, 8), (4, 9)])
def test_series_in_one_vector(n, order):
    for _, chain, theta, omega in cases(n):
        if not formulate(chain).parameters.chain.force_level:
            for t, bound in ((0.1, 0.5), (0.4, 0.0)):
                for spare in (0, 1):
                    check_series(chain, theta, omega, t, bound, order, one_vector.IN_ONE_VECTOR, spare)


@pytest.mark.parametrize("order", [8, 9, 10, 11])
def test_the_end_of_a_step_in_one_vector_is_where_its_polynomials_lead(order):
    """Whatever its length: a coefficient that is taken twice or not at all is not lost among those left out."""
    made, theta, omega = bodies(3, 0)
    chain, y = Chain(made, [Gravity(9.81)]), np.concatenate([theta, omega])
    room, sizes, q = made_series(chain, theta, omega, 0.0, 1.0, order, one_vector.IN_ONE_VECTOR)
    for share in (0.3, 1.0, 2.0):
        h, new = share * sizes[0] ** (-1 / order), np.empty(6)
        one_vector.IN_ONE_VECTOR.arrival(h, y, None, room, order, new)
        close(new, y + at(q, 0.0, h)[0])


@pytest.mark.parametrize(("n", "seed"), [(5, 1), (6, 0)])
def test_series_of_more_links_than_two_pairs(n, seed):
    made, theta, omega = bodies(n, seed)
    for acting in ([], [JointSpring(1.0), LinkDamper(0.2)]):
        check_series(Chain(made, [Gravity(9.81), *acting]), theta, omega, 0.0, 1.0, 8)


def test_the_rate_at_the_end_of_a_step_is_that_of_the_angle():
    """Even where the truncated unit vector is longer than 1: both are of one vector, to the third power of the excess."""
    _, chain, theta, omega = list(cases(3))[-1]
    y, order = np.concatenate([theta, omega]), 8
    room, sizes, _ = made_series(chain, theta, omega, 0.1, 0.5, order)
    h, new, ends = 0.55 * sizes[0] ** (-1 / order), np.empty(6), []
    for step in (h - 1e-6, h, h + 1e-6):
        motion.chain_arrival(step, y, None, room, order, new)
        ends.append(new.copy())
    longer = max(abs(math.hypot(*motion.position(h, room.wide, order, i)[:2]) - 1) for i in range(3))
    assert 1e-4 < longer < 3e-3
    np.testing.assert_allclose(ends[1][3:], (ends[2] - ends[0])[:3] / 2e-6, rtol=20 * longer**3, atol=1e-8)


@pytest.mark.parametrize("order", [8, 9])
def test_the_work_of_sines_is_found_to_the_last_coefficient(order):
    """Power is torque times relative rate: a product of two series, of which that of a sine is known."""
    made, theta, omega = bodies(3)
    sines, t, powers = [Sine(2.0, 0.7, 0.3), Sine(-1.0, 0.4, 1.0), Sine(1.5, 0.5)], 0.1, np.arange(order)
    *_, q = made_series(Chain(made, [Gravity(9.81), JointTorque(sines)]), theta, omega, t, 0.5, order)
    rate = np.diff(np.vstack([omega, q[:-1, 3:6]]), axis=1, prepend=0.0)
    power = np.zeros(order)
    for i, sine in enumerate(sines):
        pulse = 2 * math.pi * sine.frequency
        slopes = sine.amplitude * pulse**powers * np.sin(pulse * t + sine.phase + powers * math.pi / 2)
        power += np.convolve(slopes / [math.factorial(k) for k in powers], rate[:, i])[:order]
    close(q[:, 6], power / (powers + 1))


def test_the_work_of_pushes():
    """A constant moment does work by the angle alone, which is a series: at joints, between two links, and on links."""
    (made, theta, omega), n, push = bodies(3), 3, each(-2, 2, 3)
    rows_of = {"joint": LEDGER.index("joint_damper"), "link": LEDGER.index("link_damper")}
    patched = {}
    for on, slot in rows_of.items():
        patched[f"{on}_start"] = lambda like: 0.0 * like
        patched[f"{on}_works"] = lambda i, rate, square, p, sums: sums + push[i] * rate
        patched[f"{on}_store"] = lambda sums, q, k, at, by, slot=slot: q[k].__setitem__(at + slot, sums * by)
    with mock.patch.multiple(loads, **patched):
        *_, q = made_series(Chain(made, [Gravity(9.81), JointDamper(0.0)]), theta, omega, 0.0, 1.0, 8)
    close(q[:, 2 * n + rows_of["joint"]], np.diff(q[:, :n], axis=1, prepend=0.0) @ push)
    close(q[:, 2 * n + rows_of["link"]], q[:, :n] @ push)


def test_series_of_quadratic_drag_from_rest():
    """The speed grows as t, with the other sign before: forwards and back; some links without drag; a chain at rest stays."""
    made, theta, _ = bodies(3)
    for drag in ([0.5, 0.4, 0.3], [0.0, 0.4, 0.0]):
        chain = Chain(made, [Gravity(9.81), Drag(0.1, drag), TipForce(1.0, 0.3)])
        for bound in (1.0, -1.0):
            check_series(chain, theta, np.zeros(3), 0.0, bound, 9)
    late = Chain(made, [Gravity(0.0), Drag(0.1, 0.4), JointTorque(Table([-1.0, 1.0], [-2.0, 2.0]))])
    check_series(late, theta, np.zeros(3), 0.0, -1.0, 9)  # speed as t^2
    some = Chain(made, [Gravity(9.81), Drag(0.1, 0.4)])
    check_series(some, theta, np.array([0.0, 1.5, 0.0]), 0.0, -1.0, 9)
    room, sizes, q = made_series(Chain.uniform(2).with_loads(Drag(0.1, 0.2)), np.zeros(2), np.zeros(2), 0.0, 1.0, 8)
    assert sizes == (0.0, 0.0, 0.0)
    assert not q.any()
    assert motion.chain_horizon(0.5, None, room, 8) == 0.5


@pytest.mark.parametrize("sign", [1, -1])
def test_steps_of_quadratic_drag_end_where_a_link_comes_to_rest(sign):
    chain = Chain([Link.point(1.0, 1.0), Link.point(1.0, 0.5)], [Gravity(9.81), Drag(0.0, [0.3, 0.0])])
    theta, omega = np.array([0.3, 0.3]), sign * np.array([1e-3, 1e-3])
    room, _, q = made_series(chain, theta, omega, 0.0, 5.0 * sign, 20)
    h = motion.chain_horizon(0.1 * sign, None, room, 20)
    assert 0 < h * sign < 0.1
    assert abs(at(q, np.concatenate([theta, omega, np.zeros(len(LEDGER))]), h)[0][2]) < 1e-9
    assert resistance.speed_at(h, 0, room.terms, 20) <= 0 <= resistance.speed_at(h * (1 - 1e-9), 0, room.terms, 20)


def test_steps_of_quadratic_drag_are_short_where_the_speed_converges_slowly():
    made, theta, omega = bodies(2)
    chain, order = Chain(made, [Gravity(9.81), Drag(0.0, [0.0, 0.3])]), 12
    for sign in (1, -1):
        room, *_ = made_series(chain, theta, omega, 0.0, sign, order)
        h = motion.chain_horizon(0.5 * sign, None, room, order)
        last = [abs(room.terms[rows.SPEED_SIZE, k, 1]) * abs(h) ** k for k in (order - 3, order - 2)]
        assert math.copysign(1.0, h) == sign
        assert max(last) == pytest.approx(resistance.SMALL, rel=1e-6)


def test_a_link_at_rest_has_no_speed_whatever_its_neighbours_do():
    order, room = 8, room_of(Chain.uniform(2).with_loads(Drag(0.0, 0.3)), 8)
    u = np.zeros((max(rows.ACROSS, rows.PULL) + 1, 2))
    for i in range(2):
        room.w[rows.FIRST], room.terms[:] = 0.0, 0.0
        for k in range(order - 1):
            resistance.one_resist(k, i, True, 0.0, 0.0, room.chain, room.terms, room.w, u)
        assert room.w[rows.FIRST].tolist() == [-1.0, 0.0][:: 1 - 2 * i]
        assert not room.terms[rows.SPEED_SIZE, : order - 1, i].any()
        assert not u.any()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("h", "first"), [(0.05, 0.02), (0.1, 0.02), (0.2, 0.02), (0.03, 0.02), (0.015, 0.015)])
def test_a_speed_that_passes_through_zero_twice_in_a_step(h, first, sign):
    """The size of a speed is (t - 0.02) (t - 0.04), in 1/s^2."""
    room = room_of(Chain.uniform(1).with_loads(Drag(0.0, 0.3)), 10)
    room.w[rows.FIRST], room.terms[:] = 0.0, 0.0
    room.terms[rows.SPEED_SIZE, :3, 0] = 0.02 * 0.04, -0.06 * sign, 1.0
    assert motion.chain_horizon(h * sign, None, room, 10) == pytest.approx(first * sign, rel=1e-9)


LOOK = 0.0625
"""Time between two looks at a speed in the tests below: a step of 0.5 in 8 parts, exact in binary."""


def rest_of(speed, sign):
    """Return the horizon of a step of 8 looks, in looks; the speed of the second link is a polynomial of the time in looks."""
    room = room_of(Chain.uniform(2).with_loads(Drag(0.0, [0.0, 0.3])), 10)
    room.w[rows.FIRST], room.terms[:] = 0.0, 0.0
    room.terms[rows.SPEED_SIZE, : len(speed), 1] = np.array(speed)[::-1] / (sign * LOOK) ** np.arange(len(speed))
    return motion.chain_horizon(8 * sign * LOOK, None, room, 10) / (sign * LOOK)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_first_rest_between_looks(sign):
    """Two zeros between looks, beside the first look and others; a zero at a look, in the last part, after the step; a touch."""
    pairs = [(1.31, 1.34), (2.25, 2.75), (0.25, 0.75), (0.76, 0.79), (3.3, 3.33), (2.7, 2.73), (3.0, 3.25), (7.5, 99.0), (8.1, 8.2)]
    for zeros in pairs:
        for size in (1.0, 0.01):
            assert rest_of(size * np.poly(zeros), sign) == pytest.approx(min(zeros[0], 8.0), rel=1e-9), zeros
    assert rest_of(np.poly([3.0, 3.0]), sign) == 8.0
    times = [-0.15, 0.0, 0.7, 1.0, 2.0]
    speed = np.polyfit(times, [-0.2, 1.0, -0.1, 0.5, 2.5], 4)  # at rest before the step, too
    assert rest_of(speed, sign) == pytest.approx(min(zero for zero in np.roots(speed).real if zero > 0), rel=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_horizon_of_given_speeds(sign):
    """The first zero of a dragged link's speed, or where one of its last two terms is SMALL; other links do not count."""
    order, room = 10, room_of(Chain.uniform(2).with_loads(Drag(0.0, [0.3, 0.0])), 10)
    size, room.w[rows.FIRST] = room.terms[rows.SPEED_SIZE], 0.0
    size[:] = 0.0
    size[0], size[1] = 1.0, [-sign / 0.05, -sign / 0.02]
    assert motion.chain_horizon(0.5 * sign, None, room, order) == pytest.approx(0.05 * sign, rel=1e-12)
    assert motion.chain_horizon(0.04 * sign, None, room, order) == 0.04 * sign
    room.w[rows.FIRST, 0] = -1.0
    assert motion.chain_horizon(0.5 * sign, None, room, order) == 0.5 * sign
    room.w[rows.FIRST, 0], size[1], size[order - 4], size[order - 1] = 0.0, 0.0, 1e3, 1e9
    assert motion.chain_horizon(0.5 * sign, None, room, order) == 0.5 * sign
    for k in (order - 3, order - 2):
        size[order - 3 :] = 0.0
        size[k] = 1e6
        assert motion.chain_horizon(0.5 * sign, None, room, order) == pytest.approx(sign * (resistance.SMALL / 1e6) ** (1 / k))


def test_speeds_are_polynomials():
    """Up to the power order - 2: of |v| the last coefficient is not found."""
    order, size = 8, np.random.default_rng(8).normal(size=(10, 2))
    terms = np.full((SERIES_ROWS, 10, 2), np.nan)
    terms[rows.SPEED_SIZE] = size
    for i in range(2):
        close(resistance.speed_at(0.7, i, terms, order), np.polyval(size[order - 2 :: -1, i], 0.7))


@pytest.mark.parametrize("order", [8, 9])
def test_positions_are_polynomials(order):
    coefficients = np.random.default_rng(order).normal(size=(2, order + 1))
    coefficients[:, 0], h = (1.0, 0.0), 0.7
    wanted = [np.polyval(each[::-1], h) for each in coefficients]
    slopes = [np.polyval(np.polyder(each[::-1]), h) for each in coefficients]
    close(motion.position(h, coefficients[:, :, None], order, 0), wanted + slopes)


@pytest.mark.parametrize(("n", "order"), [(1, 8), (2, 9), (3, 8)])
def test_every_layout_of_the_series_is_the_same(n, order):
    """Links one after another, and few links unrolled.

    All have the same products and rates, which this does not check: `test_series` does.
    """
    for _, chain, theta, omega in cases(n):
        room, *_ = made_series(chain, theta, omega, 0.1, 0.5, order)
        kept = [rows.RATE] if room.chain.force_level else [rows.RATE, rows.MOMENT]
        layouts = [in_lanes] if room.chain.force_level else [in_lanes, few_links]
        for layout in layouts:
            other = begun(room)
            layout(other, order)
            close(other.terms[:2, : order + 1], room.terms[:2, : order + 1], 1e-9)
            if room.chain.loaded:
                close(other.terms[kept, : order - 1], room.terms[kept, : order - 1], 1e-9)
            close(other.terms[rows.LAM, : order - 2], room.terms[rows.LAM, : order - 2], 1e-9)


def test_pushes_on_links_in_every_layout():
    """A constant moment on a link, which no built-in load has, is the difference of two joint torques."""
    (made, theta, omega), push, order = bodies(3), each(-2, 2, 3), 8
    wanted, still = ([Gravity(9.81), JointTorque(torque)] for torque in (np.cumsum(push[::-1])[::-1], 0.0))
    given = theta, omega, 0.1, 0.5, order

    def affine(i, angle, p):
        assert angle == theta[i]
        return push[i], 0.0, 0.0

    with mock.patch.object(loads, "link_affine", affine):
        room, *_ = made_series(Chain(made, still), *given)
    with mock.patch.object(one_vector, "LINKS", SimpleNamespace(affine=lambda i, angle, p: (push[i], 0.0, 0.0))):
        *_, q = made_series(Chain(made, still), *given, one_vector.IN_ONE_VECTOR)
    others = [begun(room) for _ in range(2)]
    for other, layout in zip(others, (in_lanes, few_links), strict=True):
        layout(other, order)
    pushed, _, wanted = made_series(Chain(made, wanted), *given)
    for got in (room, *others):
        close(got.terms[:2, : order + 1], pushed.terms[:2, : order + 1], 1e-9)
    close(q[:, :6], wanted[:, :6], 1e-9)


def begun(room):
    """Return another room with the same start."""
    other = room._replace(terms=np.full_like(room.terms, LEFT), w=room.w.copy(), u=np.full_like(room.u, LEFT))
    other.terms[rows.SPEED_SIZE] = 0.0
    other.terms[:, :2], other.terms[rows.DRIVE] = room.terms[:, :2], room.terms[rows.DRIVE]
    return other._replace(wide=other.terms, v=other.w, uv=other.u)


def in_lanes(room, order):
    unrolled.link_by_link(room, True)


def few_links(room, order):
    room.w[rows.LC : rows.GY + 1] = np.nan
    sweep.levers(room.chain, room.w)
    unrolled.unrolled_links(room._replace(layout=series_layout(UNROLLED, room.chain.n, room.chain.loaded)))


def test_angles_of_vectors():
    for a in [*np.linspace(-3.14, 3.14, 101), math.pi / 8 + 1e-9, -math.pi / 8, 1e-9, -1e-300]:
        for size in (1.0, 0.3):
            x, y = size * math.cos(a), size * math.sin(a)
            assert motion.angle(y, x) == pytest.approx(math.atan2(y, x), rel=4e-16, abs=0)
    assert motion.angle(1.0, 1.0) == math.pi / 4
    assert motion.angle(0.0, 2.0) == 0.0
    assert motion.angle(0.0, -2.0) == math.pi
    assert motion.angle(3.0, 0.0) == math.pi / 2


def test_angles_of_dual_vectors():
    """The rate of an angle is that of the vector across itself."""
    a, size, turning = np.array([0.3, 2.0, -2.5]).view(Vector), 0.7, 1.3
    x, y = DualVector(size * np.cos(a), -turning * size * np.sin(a)), DualVector(size * np.sin(a), turning * size * np.cos(a))
    found = motion.angle(y + 0.1 * y, x + 0.1 * x)
    close(found.value, a)
    close(found.rate, np.full(3, turning))


def test_sines_and_cosines_of_a_row():
    w = np.zeros((LOAD_ROWS, 3))
    turn(np.array([0.3, -2.0, 7.0]), 3, w)
    close(w[S], np.sin([0.3, -2.0, 7.0]))
