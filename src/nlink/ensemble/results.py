"""Results of an ensemble: its blocks, the Dataset with its named dimensions, and what is left of one that was stopped."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from nlink._support.version import __version__
from nlink.ensemble.job import STATUS, Job

Block = tuple[int, int]
"""The members first ... last - 1."""


class EnsembleInterrupted(KeyboardInterrupt):
    """An ensemble stopped by Ctrl-C.

    `done` (members,) says which members are done. `result` holds those; or, with a store, all that is in it.
    """

    def __init__(self, result: Any, done: np.ndarray, remedy: str) -> None:
        super().__init__(f"stopped by the user after {int(done.sum())} of {len(done)} members; {remedy}")
        self.result, self.done = result, done


def blocks(members: int, size: int) -> list[Block]:
    """Return the blocks of an ensemble."""
    return [(first, min(first + size, members)) for first in range(0, members, size)]


def settings(job: Job) -> dict[str, Any]:
    """Return what a Dataset says about how it came to be."""
    return {
        "t_end": job.t_end,
        "integrator": job.method.described(),
        "nlink_version": __version__,
        "status_codes": ", ".join(STATUS),
    }


def coordinates(job: Job) -> dict[str, tuple[str, np.ndarray, dict[str, str]]]:
    """Return dimension, values and attributes of the coordinates."""
    links: dict[str, Any] = {"link": ("link", np.arange(1, job.chain.n + 1), {})}
    return links | {name: each for keep in job.keep for name, each in keep.coordinates().items()}


def dataset(job: Job, results: dict[str, Any]) -> xarray.Dataset:
    """Return results as a Dataset with named dimensions and settings."""
    variables = {
        name: (("member", *output.dims), results[name], {"units": output.units, "long_name": output.meaning})
        for name, output in job.outputs().items()
    }
    return xarray.Dataset(variables, coordinates(job), settings(job))
