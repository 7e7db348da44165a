"""Run by tests in a process of its own, to be interrupted or killed: an ensemble into a store."""

import os
import sys
import time

import numpy as np

from nlink import Chain, Dask, EnsembleInterrupted, Final, Threads, simulate_many
from nlink.ensemble.backends import Sink


class Telling(Threads):
    """Threads that tell when they begin to compute blocks: from then on Ctrl-C keeps what is done."""

    def run(self, *given):
        print("running", flush=True)
        yield from super().run(*given)


BACKENDS = {"threads": lambda: Telling(1), "dask": Dask}


class Unpacked(Final):
    """Final() that counts how often a process has unpacked it."""

    count = 0

    def __reduce__(self):
        return unpacked, ()


def unpacked():
    Unpacked.count += 1
    return Unpacked()


def unpacked_count():
    return Unpacked.count


class Noted(Sink):
    """Notes in a file, which outlives the workers, each block that is computed: when it is begun, and when the sink has it."""

    def __init__(self, sink, log):
        self.sink, self.log, self.keeps = sink, log, sink.keeps

    def has(self, block):
        there = self.sink.has(block)
        if not there:
            self.note("begun", block)
        return there

    def take(self, block, found):
        returned = self.sink.take(block, found)
        self.note("ended", block)
        return returned

    def note(self, what, block):
        with open(self.log, "ab", buffering=0) as file:
            file.write(f"{what} {block[1] - block[0]} {os.getpid()}\n".encode())


def arguments(members, t_end, n=2):
    angles = np.random.default_rng(1).uniform(-3.0, 3.0, (members, n))
    return {"chain": Chain.uniform(n), "theta": angles, "t_end": t_end}


def main(backend, members, t_end, n, store):
    given = arguments(int(members), float(t_end), int(n))
    store = None if store == "none" else store
    print("begun", flush=True)
    try:
        simulate_many(**given, backend=BACKENDS[backend](), store=store)
    except EnsembleInterrupted as error:
        print(f"interrupted {time.time()} {error}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
