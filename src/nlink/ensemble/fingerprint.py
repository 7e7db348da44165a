"""What makes an ensemble this one: a short text for each part of it, so that a store of another is known, and what differs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any

import numpy as np

from nlink._support.version import __version__
from nlink.ensemble.job import Job


def parts(job: Job) -> dict[str, str]:
    """Return the parts of an ensemble in words or, where those would be long, as digests of their bits."""
    n = job.chain.n
    return {
        "number of members": str(job.members),
        "number of links": str(n),
        "t_end": repr(job.t_end),
        "integrator": job.method.described(),
        "keep": ", ".join(type(each).__name__ for each in job.keep),
        "vary": ", ".join(job.vary) or "nothing",
        "version of nlink": __version__,
        "chain": digest(job.chain),
        "theta": digest(job.position),
        "omega": digest(job.velocity),
        "settings of the integrator": digest(job.method),
        "what is kept": digest(job.keep),
        "values of vary": digest(job.vary),
    }


def fingerprint(told: dict[str, str]) -> str:
    """Return the SHA-256 of all parts."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def difference(theirs: dict[str, str], ours: dict[str, str]) -> str:
    """Return in words the first part that differs."""
    name = next((name for name in ours if theirs.get(name) != ours[name]), "")
    if not name:
        return "it has settings that this nlink does not know"
    short = all(len(told.get(name, "")) < 64 for told in (theirs, ours))
    return f"the {name} is {theirs.get(name)} there, {ours[name]} here" if short else f"the {name} differs"


def digest(value: Any) -> str:
    """Return the SHA-256 of a value made of numbers, texts, arrays, records and functions."""
    total = hashlib.sha256()
    _feed(value, total)
    return total.hexdigest()


def _feed(value: Any, total: Any) -> None:
    """Add a value to a digest, its type first."""
    function = getattr(value, "py_func", getattr(value, "__wrapped__", value))
    total.update(f"{type(value).__name__}:".encode())
    if isinstance(value, np.ndarray):
        total.update(f"{value.dtype.str}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        _feed({field.name: getattr(value, field.name) for field in fields(value)}, total)
    elif isinstance(value, dict):
        _feed(list(value.items()), total)
    elif isinstance(value, list | tuple):
        total.update(f"{len(value)};".encode())
        for each in value:
            _feed(each, total)
    elif isinstance(value, CodeType):
        _feed([value.co_code, value.co_consts, value.co_names], total)
    elif hasattr(function, "__code__"):
        bound = [cell.cell_contents for cell in function.__closure__ or ()]
        known = {name: function.__globals__.get(name) for name in function.__code__.co_names}
        named = {name: each for name, each in known.items() if isinstance(each, float | int | list | tuple | np.ndarray)}
        _feed([function.__code__, function.__defaults__, bound, named], total)
    else:
        total.update(f"{value!r};".encode())
