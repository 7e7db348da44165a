"""One run in a new process: `python -m peers.child TOOL CASE SETTING T` prints its CPU s and its peak memory in MiB as JSON."""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path


def main(tool: str, name: str, setting: str, t: str) -> None:
    model = importlib.import_module(f"peers.{tool}_model")
    from . import cases

    if tool == "heyoka":
        model.fresh()
    case = next(case for case in (*cases.SHORT, *cases.LONG) if case.name == name)
    last = model.prepare(case, float(setting))(float(t))
    print(json.dumps({"cpu": time.process_time(), "peak": peak(), "last": list(map(float, last[:2]))}))


def peak() -> float:
    """Return the peak memory of this process alone; getrusage would count that of the process it was forked from."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), float("nan"))


if __name__ == "__main__":
    main(*sys.argv[1:])
