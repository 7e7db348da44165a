"""The GPU against the processor, where there is one; and what its threads do, on the processor."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nlink
from nlink import Chain, Cuda, Drag, Final, FlipTime, FollowerForce, JointDamper, JointSpring, JointTorque, Sine, Table, Threads
from nlink.compiled.jit import uncached
from nlink.ensemble import engines, gpu, make_job
from nlink.ensemble.engines import ON, Halted, deviations, steady
from nlink.ensemble.kernels.by_series import by_series
from nlink.ensemble.kernels.by_stages import by_stages
from nlink.ensemble.kernels.lanes import ONE, TANGENT, lanes_for
from nlink.ensemble.kernels.loop import Stepped, follow
from nlink.ensemble.kernels.tangents import Deviations, fastest_rates, stretching
from nlink.formulations import formulate
from nlink.mechanics.series import ORDER_BY_ORDER, SERIES, UNROLLED, series_layout

SWING = (JointSpring(1.0), JointDamper(0.1), JointTorque(Sine(1.0, 0.5, 0.0)))
LOADS = {
    "gravity": (),
    "springs, dampers, a sine": SWING,
    "drag, a follower": (Drag(0.1), FollowerForce(0.5)),
    "a table, quadratic drag": (Drag(0.1, 0.2), JointTorque(Table((0.0, 0.5, 1.0), (0.0, 1.0, 0.0)))),
}


def starts(members, n, seed=1):
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (members, n))


@pytest.fixture
def card():
    from numba import cuda

    if not cuda.is_available():
        pytest.skip("there is no NVIDIA GPU")


@pytest.mark.parametrize(("method", "n"), [("series", 2), ("order by order", 2), ("stages", 3)])
def test_a_thread_follows_a_deviation_as_a_lane_does(method, n):
    """A thread is a single lane: the loop that it runs, on the processor."""
    chain = Chain.uniform(n).with_loads(*SWING)
    integrator = nlink.DOP853(1e-10, 1e-10) if method == "stages" else nlink.Taylor(1e-12, order=12)
    job = make_job(chain, starts(1, n), 0.5, 1.0, None, nlink.FTLE(), integrator)
    system = formulate(chain)
    numbers = system.parameters.chain._replace(ledger=0)
    p, members, limits, shared = engines._compiled_arguments(job, numbers, slice(None))
    if method == "stages":
        layout = by_stages(numbers, (1e-10, 1e-10), np.inf, system.formulation.scratch(n), 1, True)
    else:
        kind = series_layout(UNROLLED, n, True) if method == "series" else series_layout(ORDER_BY_ORDER)
        layout = by_series(numbers, SERIES[type(p)][ORDER_BY_ORDER], 1e-12, kind, 12, 1, True)
    own, rate = lanes_for(numbers, 1, True), np.empty(1)
    stepped = Stepped(p, limits, layout, own, ONE, shared, TANGENT)
    fastest_rates(members, stepped, rate)
    observer = Deviations(np.full((1, 2 * n, 2 * n), np.nan), 1.0, steady(job.method) / rate)
    loop = uncached(follow.py_func)
    assert loop(members, 2 * n, stepped, layout, (observer,), ON) == 0
    want = deviations(job, np.arange(1), ON)
    assert_allclose(observer.derivatives, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("m", [2, 4, 10])
def test_the_largest_singular_value(m):
    random = np.random.default_rng(m)
    sizes = 10.0 ** random.uniform(-8, 8, (30, 1, m)) * 10.0 ** random.uniform(-150, 150, (30, 1, 1))
    given = sizes * random.normal(0, 1, (30, m, m))
    given[0], given[1] = np.eye(m), 3.0
    want = np.linalg.svd(given, compute_uv=False)[:, 0]
    assert_allclose([stretching(each.copy()) for each in given], want, rtol=1e-12)
    given[2, 0, 1], given[3, 1, 0] = np.nan, np.inf
    assert np.isnan([stretching(each.copy()) for each in given[2:4]]).all()


class Recorded:
    """Stands for a card, or for an event that does not come, and writes down what is asked of it."""

    def __init__(self, *_):
        self.asked = []

    def __getattr__(self, name):
        return lambda *given, **_: self.asked.append((name, *given))

    def stop(self):
        return True

    def set_off(self, job):
        self.asked.append(("set off", job.members))
        return lambda: self.asked.append(("land", job.members)) or {"status": np.zeros(job.members)}


class Device:
    """Stands for numba's cuda."""

    gpus = (nullcontext(),)


@pytest.fixture
def pretended(monkeypatch):
    made = Recorded()
    monkeypatch.setattr(gpu, "usable_cuda", Device)
    monkeypatch.setattr(gpu, "Card", lambda *_: made)
    return made


def test_the_next_blocks_are_under_way_before_one_is_fetched(pretended):
    job, blocks = make_job(Chain.uniform(1), starts(10, 1), None, 1.0, None, Final()), [(0, 1), (1, 3), (3, 6), (6, 10)]
    assert [block for block, _ in Cuda().run(job, blocks, lambda: False)] == blocks
    steps = [("set off", 1), ("set off", 2), ("set off", 3), ("land", 1), ("set off", 4), ("land", 2), ("land", 3), ("land", 4)]
    assert pretended.asked == [*steps, ("halt",)]


def test_at_ctrl_c_what_is_done_is_kept(pretended):
    job, asked = make_job(Chain.uniform(1), starts(10, 1), None, 1.0, None, Final()), iter([False, False, False, True])
    done = Cuda().run(job, [(0, 1), (1, 3), (3, 6), (6, 10)], lambda: next(asked))
    assert [block for block, _ in done] == [(0, 1), (1, 3), (3, 6)]
    assert ("set off", 4) not in pretended.asked


def test_threads_leave_off_before_their_memory_goes():
    flight: Any = gpu.Flight.__new__(gpu.Flight)
    flight.card = flight.event = made = Recorded()
    with pytest.raises(Halted):
        flight.land()
    assert made.asked == [("query",), ("halt",), ("synchronize",)]


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize("n", [1, 2, 3, 5, 15])
@pytest.mark.parametrize("loads", LOADS)
def test_exponents_on_the_card(n, loads):
    chain, theta = Chain.uniform(n).with_loads(*LOADS[loads]), starts(20, n)
    method = nlink.DOP853(1e-12, 1e-12) if n > 3 or loads == "a table, quadratic drag" else nlink.Taylor(1e-12, order=16)
    both = [
        nlink.simulate_many(chain, theta, t_end=1.0, keep=nlink.FTLE(), integrator=method, backend=backend)
        for backend in (Threads(), Cuda())
    ]
    kinks = n < 3 and "quadratic" in loads  # a link that comes to rest: no method is more accurate than this there
    assert_allclose(both[0].ftle, both[1].ftle, rtol=1e-5 if kinks else 1e-9)


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize("method", [nlink.Taylor(1e-12, order=16), nlink.DOP853(1e-12, 1e-12)])
def test_exponents_of_members_of_their_own(method):
    vary = {"gravity": np.linspace(3, 10, 20), "mass[2]": np.linspace(0.5, 2, 20), "joint_damper.damping": np.linspace(0, 1, 20)}
    both = [
        nlink.simulate_many(
            Chain.uniform(2), starts(20, 2), t_end=1.0, vary=vary, keep=(nlink.FTLE(), Final()), integrator=method, backend=backend
        )
        for backend in (Threads(), Cuda())
    ]
    assert_allclose(both[0].ftle, both[1].ftle, rtol=1e-9)


@pytest.mark.usefixtures("card")
def test_members_without_an_end_have_no_exponent():
    few = nlink.Taylor(1e-12, order=16, max_steps=5)
    many = nlink.simulate_many(
        Chain.uniform(2), starts(20, 2), t_end=10.0, keep=(nlink.FTLE(), Final()), integrator=few, backend=Cuda()
    )
    assert (many.status == 3).all()
    assert np.isnan(many.ftle).all()


@pytest.mark.usefixtures("card")
def test_blocks_follow_each_other(monkeypatch):
    chain, theta, keep = Chain.uniform(2), starts(1000, 2), (Final(), FlipTime(), nlink.Samples((0.0, 0.5)))
    whole = nlink.simulate_many(chain, theta, 0.1, t_end=1.0, keep=keep, backend=Cuda())
    monkeypatch.setattr(gpu, "MOST", 96)
    parts = nlink.simulate_many(chain, theta, 0.1, t_end=1.0, keep=keep, backend=Cuda())
    assert whole.identical(parts)


@pytest.mark.usefixtures("card")
def test_what_does_not_fit_goes_in_halves(monkeypatch):
    chain, theta = Chain.uniform(2), starts(1000, 2)
    whole = nlink.simulate_many(chain, theta, t_end=1.0, backend=Cuda())
    array = gpu.Card.array

    def small(self, shape, kind, order="C"):
        if np.prod(shape) > 600:
            raise gpu.usable_cuda().cudadrv.driver.CudaAPIError(2, "CUDA_ERROR_OUT_OF_MEMORY")
        return array(self, shape, kind, order)

    monkeypatch.setattr(gpu.Card, "array", small)
    assert whole.identical(nlink.simulate_many(chain, theta, t_end=1.0, backend=Cuda()))
    monkeypatch.setattr(gpu.Card, "array", lambda *_: small(None, 1000, "f8"))
    with pytest.raises(nlink.ModelError, match=r"no memory for a single member; use Threads\(\)"):
        nlink.simulate_many(chain, theta, t_end=1.0, backend=Cuda())


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize("keep", [Final(), nlink.FTLE()])
def test_ctrl_c_is_answered_at_once(keep, monkeypatch):
    chain, theta = Chain.uniform(5), starts(1 << 16, 5)
    nlink.simulate_many(chain, theta[:2], t_end=1.0, keep=keep, backend=Cuda())  # compiles
    monkeypatch.setattr(gpu, "MOST", 1 << 14)
    monkeypatch.setattr(gpu, "PAIRS", 1 << 17)
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1.0, press)
    timer.start()
    with pytest.raises(nlink.EnsembleInterrupted):
        nlink.simulate_many(chain, theta, t_end=1000.0, keep=keep, backend=Cuda())
    answered = time.perf_counter() - pressed[0]
    assert answered < 1.0
