"""Attacks by what is around nlink: an event loop, threads, a clock that jumps, a broken ffmpeg."""

from __future__ import annotations

from pathlib import Path

from torture.attack import Measure, attack, ended, nlink, start_python

ASYNC = """
import asyncio, os, signal, threading, nlink

async def main():
    chain, far = nlink.Chain.uniform(5), {"t_end": 1e5, "save": 1.0}
    nlink.simulate(chain, 0.5, t_end=0.1)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        nlink.simulate(chain, [1.5, 3.0, 1.5, 3.0, 1.5], **far)
    except nlink.SimulationError as error:
        assert error.status.code == "interrupted" and len(error.run.t), error
    await asyncio.sleep(0.01)
    runs = await asyncio.gather(*(asyncio.to_thread(nlink.simulate, chain, 0.5 + k, t_end=1.0) for k in range(4)))
    alone = [nlink.simulate(chain, 0.5 + k, t_end=1.0) for k in range(4)]
    assert all((a.theta == b.theta).all() for a, b in zip(runs, alone))
    print("held")

asyncio.run(main())
"""
CLOCK = """
import random, sys, time, nlink, numpy as np
real, jump = time.time, [0.0]
random.seed(int(sys.argv[1]))

def jumping():
    jump[0] += random.choice([-1e6, -3600.0, 0.0, 3600.0, 1e6])
    return real() + jump[0]

chain, start = nlink.Chain.uniform(3), [1.0, 2.0, 3.0]
before = nlink.simulate(chain, start, t_end=5.0)
time.time = jumping
after = nlink.simulate(chain, start, t_end=3.0, file="x.nc").resume(5.0, file="x.nc")
many = nlink.simulate_many(nlink.Chain.uniform(2), np.random.default_rng(0).uniform(-3, 3, (3000, 2)), t_end=1.0, store="x.zarr")
assert (np.asarray(after.theta) == before.theta).all() and not many.status.values.any()
print("held")
"""


def held(code: str, folder: Path, *words: str) -> Measure:
    """Run a script that says so if it holds."""
    done = ended(start_python("-c", code, *words, cwd=folder, PYTHONDEVMODE=""))  # where asyncio tells of slow tasks
    assert (done.code, done.out, done.err) == (0, "held\n", ""), done
    return done.cost


@attack("Ctrl-C stops the run, the event loop continues, threads give the same bits", full=3, sample=1)
def event_loops_and_threads(k: int, folder: Path) -> Measure:
    return held(ASYNC, folder)


@attack("the same bits", full=10, sample=1)
def clocks_that_jump(k: int, folder: Path) -> Measure:
    return held(CLOCK, folder, str(k))


@attack("one sentence, exit 5, nothing half-written", full=2, sample=1)
def broken_ffmpeg(k: int, folder: Path) -> Measure:
    assert nlink("run", "nice-3", "--until", "1", "-q", "-o", "x.nc", cwd=folder).code == 0
    program = ["/nonexistent", "/bin/false"][k]
    done = nlink("animate", "x.nc", "-q", "-o", "x.mp4", cwd=folder, IMAGEIO_FFMPEG_EXE=program).refused(5, "ffmpeg")
    assert [path.name for path in folder.iterdir()] == ["x.nc"]
    return done.cost
