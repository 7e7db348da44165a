"""What a run file says of itself in JSON, turned into records; whatever nlink does not write is refused."""

from __future__ import annotations

import math
from typing import Any

from nlink._support.checks import ModelError
from nlink._support.guarded import Refused, entry, parsed
from nlink.run.run import Checkpoint, EventRecord, Stats, Status
from nlink.scenario import Scenario

MOST = 2**53
"""Largest count."""
LINE = {"counts", "status", "stats", "checkpoint", "trusted_until", "checksum"}
"""What a line of the log may hold. A letter of "checksum" that has changed must not make a run an unfinished one."""
TEXTS = ("version", "date", "command", "formulation", "integrator")


def links_in(fixed: dict[str, Any]) -> int:
    """Return the number of links of a run, before any of them is made."""
    table = entry(fixed, "scenario", dict)
    each = table.get("links")
    return len(each) if isinstance(each, list) else entry(table, "links", int, least=1, most=MOST)


def scenario_in(fixed: dict[str, Any]) -> Scenario:
    """Return the scenario of a run."""
    try:
        return Scenario.from_dict(entry(fixed, "scenario", dict), where="its scenario")
    except ModelError as error:
        raise Refused(str(error)[:300]) from None


def meta_in(fixed: dict[str, Any]) -> dict[str, Any]:
    """Return where a run comes from."""
    meta = entry(fixed, "meta", dict)
    for name in TEXTS:
        entry(meta, name, str) if name in meta else None
    if ("formulation" in meta) != ("integrator" in meta):
        raise Refused("its meta names a formulation or an integrator only")
    for name, value in {"trusted_angle": meta.get("trusted_angle", 0.0), **meta.get("start", {})}.items():
        entry({name: value}, name, float)
    return meta


def counts_in(line: dict[str, Any]) -> dict[str, int]:
    """Return how many saved points, steps and events there are."""
    if set(line) - LINE:
        raise Refused("its log says what nlink does not write")
    counts = entry(line, "counts", dict)
    return {name: entry(counts, name, int, least=0, most=MOST) for name in ("time", "knot", "event")}


def status_in(line: dict[str, Any]) -> Status:
    """Return how a run ended."""
    table = entry(line, "status", dict)
    return Status(*(entry(table, name, str) for name in Status._fields))


def stats_in(line: dict[str, Any]) -> Stats:
    """Return what a run cost."""
    table = entry(line, "stats", dict)
    counts = (entry(table, name, int, least=0, most=MOST) for name in ("nfev", "steps", "rejected"))
    return Stats(*counts, wall=entry(table, "wall", float, least=0.0, most=math.inf))


def checkpoint_in(line: dict[str, Any], slots: Any) -> Checkpoint | None:
    """Return where a run goes on; `slots` (2, 2, size) holds the states."""
    if line.get("checkpoint") is None:
        return None
    table = entry(line, "checkpoint", dict)
    state, rates = slots[slot_in(table)]
    thinning = [entry({"thinning": value}, "thinning", int, least=0, most=MOST) for value in entry(table, "thinning", list)]
    if len(thinning) != 3 or not thinning[0]:
        raise Refused("its thinning is not three numbers")
    return Checkpoint(
        t=entry(table, "t", float, least=-1e300, most=1e300),
        step=entry(table, "step", float),
        state=state,
        rates=rates,
        origin=entry(table, "origin", float),
        count=entry(table, "count", int, least=0, most=MOST),
        thinning=(thinning[0], thinning[1], thinning[2]),
    )


def slot_in(table: dict[str, Any]) -> int:
    """Return which of its two slots holds a checkpoint."""
    return entry(table, "slot", int, least=0, most=1)


def events_in(data: dict[str, Any], count: int) -> list[EventRecord]:
    """Return the first events of a file: a line of JSON for each, times (E,), angles and rates (E, N)."""
    lines = data["event_text"][()].tobytes().split(b"\n")[:-1][:count]
    times, theta, omega = (data[f"event_{name}"][:count] for name in ("time", "theta", "omega"))
    if len(lines) != len(times):
        raise Refused(f"it has {len(times)} events and the names of {len(lines)}")
    events = []
    for line, t, angles, rates in zip(lines, times, theta, omega, strict=True):
        table = parsed(line)
        name, info = entry(table, "name", str), entry(table, "info", dict)
        if name == "flip":
            entry(info, "link", int, least=0, most=len(angles) - 1)
        events.append(EventRecord(float(t), name, angles, rates, info))
    return events
