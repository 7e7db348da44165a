"""nlink beside its peers, in one run on this machine: part of `make bench`; `--record` writes the tables into RESULTS.md.

one evaluation      of the accelerations, one chain and many at once
whole trajectories  at matched error against a reference, and the plot of work and precision
a new process       set-up and memory
figures to reach    goal, measured, reached

Every peer is optional. CPU time, one thread, the best of several; `--forms` compares the forms of the equations for heyoka.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import importlib
import importlib.metadata
import json
import math
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from report import head, row

from . import cases, nlink_model, reference
from .cases import Case
from .measure import Curve, best, sweep

HERE = Path(__file__).parents[1]
RESULTS, PLOT = HERE / "RESULTS.md", HERE / "work_precision.png"
BEGIN, END = "<!-- peers: written by `python -m peers.speed --record` -->", "<!-- end of peers -->"
PACKAGES = {"heyoka": "heyoka", "diffrax": "diffrax", "scipy": "scipy", "pin": "pin", "mujoco": "mujoco", "exudyn": "exudyn"}
MOST = {"heyoka": 100, "diffrax": 100, "scipy": 1000, "pin": 100, "mujoco": 100, "exudyn": 100}
"""The longest chain a peer is asked for: beyond, set-up takes minutes or memory runs out (heyoka, pin), or a run does."""
ERRORS = (1e-4, 1e-6, 1e-8, 1e-10)
EVALUATED = (2, 5, 15, 64, 256, 1024)
TIE = "A ratio is the time of the peer over that of nlink. Treat less than 1.5x as a tie."

Peers = dict[str, ModuleType]
Curves = dict[tuple[str, str], Curve]
Row = tuple[str, float, float, str]


class Report:
    """Prints lines and keeps them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, text: str = "") -> None:
        """Print and keep."""
        self.lines.extend(text.split("\n"))
        print(text, flush=True)


def installed(say: Report) -> Peers:
    """Import what is there; say in a line what is not."""
    peers = {}
    for name, package in PACKAGES.items():
        try:
            peers[name] = importlib.import_module(f"peers.{name}_model")
        except ImportError as error:
            say(f"{package} is left out: {error}")
    return peers


def machine(peers: Peers) -> str:
    cpu = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.processor())
    wide = ", AVX-512" if any("avx512f" in line for line in _cpuinfo()) else ""
    packages = ["nlink", "numpy", "numba", *(PACKAGES[name] for name in peers), *(["jax"] if "diffrax" in peers else [])]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    where = f"{os.cpu_count()} cores ({cpu}{wide}), {platform.system()}, Python {platform.python_version()}"
    return f"{date.today()}, {where};\n{versions}.\n`python -m peers.speed --record` in `benchmarks/`."


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def times(ratio: float) -> str:
    return "" if math.isnan(ratio) else f"{ratio:.1f}x" if ratio < 100 else f"{ratio:.0f}x"


# one evaluation


def many(n: int, peers: Peers) -> tuple[float, float]:
    """Return ns per link and chain of nlink and heyoka for many chains at once."""
    count = max(64, 32768 // n // 64 * 64)
    states, share = np.random.default_rng(1).normal(size=(2 * n, count)), 1e9 / (n * count)
    ours = nlink_model.evaluation(n)
    ours(states)
    mine = best(lambda: ours(states)) * share
    if "heyoka" not in peers:
        return mine, math.nan
    theirs, out = peers["heyoka"].evaluation(n), np.empty((n, count))
    theirs(states, outputs=out)
    assert np.allclose(out, ours(states), rtol=1e-6, atol=1e-6 * np.abs(out).max()), "heyoka computes another motion"
    return mine, best(lambda: theirs(states, outputs=out)) * share


def calls(work: Callable[[], Any]) -> float:
    """Return microseconds a call from Python."""
    work()
    begun = time.process_time()
    work()
    count = range(max(1, int(0.01 / max(time.process_time() - begun, 1e-7))))
    return best(lambda: [work() for _ in count]) / len(count) * 1e6


def evaluations(say: Report, peers: Peers) -> list[Row]:
    say("\n### Evaluations\n")
    say("Of the accelerations: ns a link for many chains at once; microseconds for one chain called from Python.\n")
    say(head("N", "nlink, ns", "heyoka, ns", "ratio", "nlink, us", "`pin.aba`, us", "ratio", "`mj_forward`, us", "ratio"))
    rows = []
    for n in EVALUATED:
        mine, theirs = many(n, peers)
        theta, omega = np.random.default_rng(2).normal(size=(2, n))
        ours = calls(nlink_model.single(n, theta, omega))
        cells = [f"{mine:.2f}", f"{theirs:.2f}", times(theirs / mine), f"{ours:.2f}"]
        for name in ("pin", "mujoco"):
            peer = calls(peers[name].evaluation(n, theta, omega)) if name in peers and n <= 256 else math.nan
            cells += [f"{peer:.2f}", times(peer / ours)]
        say(row(n, *cells))
        rows.append((f"one evaluation, many chains, N = {n}: heyoka", 1.6, theirs / mine, ""))
    return rows


# whole trajectories


def curves_of(peers: Peers) -> Curves:
    found = {}
    for case in (*cases.SHORT, *cases.LONG):
        exact = reference.angles(case)
        for name, model in {"nlink": nlink_model, **peers}.items():
            if case.n > MOST.get(name, case.n) or (case.loaded and name not in ("nlink", "heyoka")):
                continue
            found[name, case.name] = sweep(name, model, case, exact, name in ("nlink", "heyoka"))
    return found


def trajectories(say: Report, peers: Peers, curves: Curves) -> None:
    say("\n### Trajectories at matched error\n")
    say("Error of the last angles, processor ms of nlink, ratios of the peers. Zig-zag start for N <= 15, all links at")
    say("45 degrees above; `loaded`: spring, damper and sine at every joint. Empty: not reached, or not asked for. <: the loosest")
    say("setting is much better than the error.\n")
    say(head("case", "to", "error", "nlink, ms", *peers))
    for case in (*cases.SHORT, *cases.LONG):
        for error in ERRORS:
            mine = curves["nlink", case.name].at(error)
            if not math.isnan(mine):
                cells = [_ratio(curves.get((name, case.name)), error, mine) for name in peers]
                say(row(case.name, f"{case.horizon:g} s", f"{error:.0e}", f"{1e3 * mine:.3f}", *cells))


def _ratio(curve: Curve | None, error: float, mine: float) -> str:
    if curve is None:
        return ""
    return ("<" if curve.overdone(error) else "") + times(curve.at(error) / mine)


def against(curves: Curves, name: str, case: Case, label: str, goal: float) -> Row:
    """Return the figure against a peer; one that did not reach the error is taken at its best, which flatters it."""
    mine, peer = curves["nlink", case.name], curves.get((name, case.name))
    if peer is None or not peer.errors:
        return label, goal, math.nan, "not measured"
    note, error = "", case.error
    if peer.reached > error:
        error, note = peer.reached, f"at least: {name} reached {peer.reached:.0e}"
    ours, theirs = mine.at(case.error, whole=True), peer.at(error, whole=True)
    note = note or f"{1e3 * ours:.3g} and {1e3 * theirs:.3g} ms"
    return label, goal, theirs / ours, note


def figures(curves: Curves) -> list[Row]:
    rows = []
    for case, goal in zip(cases.SHORT, (2, 4, 6, 6, 2, 2, 2, 2), strict=True):
        kind = "loaded, " if case.loaded else ""
        label = f"{kind}10 s, N = {case.n}, {case.error:.0e} at {case.horizon:g} s: heyoka"
        rows.append(against(curves, "heyoka", case, label, goal))
    rows += [
        against(curves, "scipy", case, f"2 s, N = {case.n}, {case.error:.0e}: scipy DOP853", goal)
        for case, goal in zip(cases.LONG, (8, 3), strict=True)
    ]
    short = Case(15, False, 3.0, 3.0, 1e-8)
    for case in (short, cases.LONG[0]):
        for name in ("pin", "mujoco", "exudyn"):
            label = f"{case.horizon:g} s, N = {case.n}, {case.error:.0e}: {name}"
            clipped = {k: _clipped(curve) for k, curve in curves.items() if k[1] == case.name}
            rows.append(against(clipped, name, case, label, 50))
    return rows


def _clipped(curve: Curve) -> Curve:
    """The same run up to the horizon only."""
    return Curve(curve.tool, curve.case, curve.settings, curve.errors, curve.short, curve.short)


def per_link() -> Row:
    cost = {}
    for n, t_end in ((100, 2.0), (10_000, 0.1)):
        go = nlink_model.prepare(Case(n, False, t_end, t_end, 0.0), 1e-13)
        go(0.01)
        cost[n] = 1e9 * best(lambda g=go, t=t_end: g(t)) / (n * nlink_model.steps(n, t_end, 1e-13))
    note = f"{cost[10_000]:.0f} and {cost[100]:.0f} ns a link and step"
    return "cost per link and step, N = 10,000 over N = 100 (at most)", 1.3, cost[10_000] / cost[100], note


# a new process


def new_process(tool: str, case: Case, setting: float, t: float, **extra: str) -> dict[str, float]:
    arguments = [sys.executable, "-m", "peers.child", tool, case.name, repr(setting), repr(t)]
    begun = time.perf_counter()
    done = subprocess.run(arguments, cwd=HERE, env=os.environ | extra, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - begun
    if done.returncode:
        return {"wall": math.nan, "cpu": math.nan, "peak": math.nan}
    return {"wall": wall, **json.loads(done.stdout.splitlines()[-1])}


def setups(say: Report, peers: Peers) -> None:
    say("\n### A new process\n")
    say("To its first 0.1 s of motion: processor time, and peak memory. heyoka works without its caches. Empty: set-up of minutes,")
    say("or more memory than the machine has, or not asked for.\n")
    sizes = (cases.SHORT[3], *cases.LONG)
    say(head("", *(f"N = {case.n}" for case in sizes)))
    with tempfile.TemporaryDirectory() as empty:
        rows: list[tuple[str, str, dict[str, str]]] = [
            ("nlink, nothing compiled yet", "nlink", {"NLINK_CACHE_DIR": empty}),
            ("nlink", "nlink", {}),
            *((name, name, {}) for name in peers),
        ]
        for label, name, extra in rows:
            cells = []
            for case in sizes:
                skip = case.n > MOST.get(name, case.n) or (bool(extra) and case.n != sizes[0].n)
                setting = 1e-3 if name in ("mujoco", "exudyn") else 1e-9
                runs = 0 if skip else 2 if label == "nlink" else 1  # the first may have to compile
                costs = [new_process(name, case, setting, 0.1, **extra) for _ in range(runs)]
                cost = min(costs, key=lambda c: c["cpu"], default=None)
                cells.append(f"{cost['cpu']:.2f} s, {cost['peak']:.0f} MiB" if cost else "")
            say(row(label, *cells))


def cold(curves: Curves) -> Row:
    """From a new process to the end of the run."""
    case, label = cases.SHORT[3], "N = 15, 10 s, from a new process: heyoka with set-up"
    seconds = {}
    for name, repeats in (("nlink", 4), ("heyoka", 2)):
        if (name, case.name) not in curves:
            return label, 3, math.nan, "not measured"
        setting = curves[name, case.name].setting(case.error)
        seconds[name] = min(new_process(name, case, setting, case.t_end)["wall"] for _ in range(repeats))
    return label, 3, seconds["heyoka"] / seconds["nlink"], f"{seconds['nlink']:.2f} and {seconds['heyoka']:.2f} s"


# all together


def plot(curves: Curves, peers: Peers, path: Path = PLOT) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    from nlink.view.style import LIGHT

    colours = {
        "nlink": LIGHT.accent,
        **dict(zip(peers, ("#1f4e79", "#7a52a3", "#2a9d8f", "#8a8f98", "#c08a1e", "#5b8c2a"), strict=False)),
    }
    marks = dict(zip(colours, "osD^vPX", strict=False))
    shown = [case for case in (*cases.SHORT, *cases.LONG) if not case.loaded]
    figure, axes = plt.subplots(2, 3, figsize=(12, 7.5), layout="constrained")
    for ax, case in zip(axes.flat, shown, strict=True):
        for name, colour in colours.items():
            curve = curves.get((name, case.name))
            if curve and curve.errors:
                order = np.argsort(curve.errors)
                x, y = np.array(curve.errors)[order], 1e3 * np.array(curve.short)[order]
                front = name == "nlink"
                ax.loglog(
                    x, y, marks[name] + "-", color=colour, label=name, lw=2.2 if front else 1.3, ms=5, zorder=3 if front else 2
                )
        ax.set_xlim(1e0, 1e-15)
        start = "zig-zag" if case.n <= 15 else "45 degrees"
        ax.set_title(f"N = {case.n}, {start}, {case.horizon:g} s", color=LIGHT.ink, fontsize=11)
        ax.grid(color=LIGHT.lines)
    for ax in axes[-1]:
        ax.set_xlabel("largest error of the last angles, rad")
    for ax in axes[:, 0]:
        ax.set_ylabel("CPU time, ms")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(colours), frameon=False)
    figure.suptitle("Work and precision, one core", color=LIGHT.ink)
    figure.savefig(path, dpi=110)


def summary(say: Report, rows: Iterable[Row]) -> None:
    say("\n### Figures to reach\n")
    say(head("", "goal", "measured", "reached", ""))
    for label, goal, measured, note in rows:
        good = measured <= goal if "at most" in label else measured >= goal
        reached = "" if math.isnan(measured) else "yes" if good else "no"
        shown = f"{measured:.2f}x" if measured < 10 else times(measured)
        say(row(label, f"{goal:g}x", shown, reached, note))


def forms(say: Report, peers: Peers) -> None:
    """Compare the forms of the equations for heyoka at one tolerance."""
    if "heyoka" not in peers:
        return
    say("\nheyoka's CPU ms for 10 s at tolerance 1e-9, flat")
    for case in cases.SHORT:
        cells = []
        for name, most in (("closed", 3), ("elimination", 5), ("recursion", 15)):
            if case.n <= most:
                go = peers["heyoka"].prepare(case, 1e-9, name)
                cells.append(f"{name} {1e3 * best(lambda g=go: g(10.0)):.3f}")
        say(f"{case.name:>10} " + ", ".join(cells))


def record(lines: list[str]) -> None:
    """Write the tables between the marks of RESULTS.md, or at its end."""
    text = RESULTS.read_text()
    block = "\n".join([BEGIN, "## Beside other packages", "", *lines, "", "![work and precision](work_precision.png)", END])
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2] if rest else "\n"
    RESULTS.write_text(f"{head.rstrip()}\n\n{block}{tail}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the tables into RESULTS.md")
    parser.add_argument("--forms", action="store_true", help="only compare the forms of the equations for heyoka")
    options = parser.parse_args()
    say, begun = Report(), time.perf_counter()
    peers = installed(say)
    say(machine(peers))
    if options.forms:
        return forms(say, peers)
    say(f"\n{TIE}")
    evaluated = evaluations(say, peers)
    curves = curves_of(peers)
    trajectories(say, peers, curves)
    plot(curves, peers)
    setups(say, peers)
    summary(say, [*figures(curves), cold(curves), *evaluated, per_link()])
    print(f"\n{time.perf_counter() - begun:.0f} s; the plot is {PLOT.name}")
    if options.record:
        record(say.lines)
    return None


if __name__ == "__main__":
    main()
