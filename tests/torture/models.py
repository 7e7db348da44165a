"""Attacks by model files, --set, command options and arguments of Python."""

from __future__ import annotations

import datetime
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomli_w

from nlink._support.checks import ModelError
from nlink.scenario import Scenario, preset_table, presets, read_model
from torture import mutations
from torture.attack import Measure, attack, ended, nlink, start_python

REFUSED = "a normal answer, or one sentence"
CHECK = """
import sys, time
from pathlib import Path
from nlink.scenario import Scenario
begun = time.perf_counter()
try:
    Scenario.load(sys.argv[1])
    said = ""
except ValueError as error:
    said = str(error)
status = Path("/proc/self/status").read_text()  # the peak since this program began: that of getrusage counts its parent's
peak = int(status.partition("VmHWM:")[2].split()[0])
print(time.perf_counter() - begun, peak / 1024, len(said), repr(said[:300]),
sep="\\t")
"""


def refused(said: str) -> None:
    """Insist on one short line without control characters."""
    assert 0 < len(said) < 1000, len(said)
    assert len(said.splitlines()) == 1, said
    assert all(letter.isprintable() for letter in said), repr(said)


def checked(table: Any) -> None:
    """Build a scenario, with its records; it may only be refused in one sentence."""
    from nlink._support.records import record
    from nlink.formulations import FORMULATIONS
    from nlink.integrators import integrator_record

    try:
        scenario = Scenario.from_dict(table)
        settings = scenario.settings
        record("formulation", settings.formulation, FORMULATIONS)
        integrator_record(settings.integrator, settings.rtol, settings.atol)
        Scenario.from_dict(scenario.to_dict())
    except ModelError as error:
        refused(str(error))


@attack(REFUSED, full=2000, sample=40)
def hostile_values_in_models(k: int, folder: Path) -> None:
    """Put hostile values into the tables of presets."""
    checked(mutations.model(random.Random(k)))


@attack(REFUSED, full=600, sample=20)
def hostile_text_of_model_files(k: int, folder: Path) -> None:
    """Cut, double and change letters of the presets' files, some of them in other encodings."""
    rng = random.Random(k)
    name = rng.choice(presets())
    content = tomli_w.dumps(preset_table(name)).encode()
    for _ in range(rng.choice([1, 2, 5])):
        at = rng.randrange(len(content) + 1)
        piece = rng.choice(
            [b"[", b"]", b'"', b"'''", b"=", b".", b"\x00", b"\xff", b"\n", b"9" * 5000, b"1e999", b"nan", "\u2028".encode(), b"#"]
        )
        content = content[:at] + rng.choice([piece, piece * rng.choice([1, 30, 3000]), b""]) + content[at + rng.randrange(4) :]
    if rng.randrange(8) == 0:
        content = rng.choice(
            [b"\xef\xbb\xbf" + content, content.decode(errors="replace").encode("utf-16"), b"\x89PNG\r\n" + content]
        )
    path = folder / "m.toml"
    path.write_bytes(content)
    try:
        Scenario.from_dict(read_model(path))
    except ModelError as error:
        refused(str(error).replace(str(path), "m"))


@attack("exit 0 or 3, one sentence", full=40, sample=0)
def hostile_models_of_the_command(k: int, folder: Path) -> Measure:
    """Give hostile model files and titles to the command itself."""
    rng = random.Random(1000 + k)
    path = folder / "m.toml"
    path.write_text(_toml(mutations.model(rng)), encoding="utf-8", errors="surrogateescape")
    words = rng.choice([["show"], ["run", "--dry-run"], ["show", "--json"]])
    found = nlink(words[0], path, *words[1:], cwd=folder)
    assert "\x1b" not in found.out + found.err, found
    return found.cost if found.code == 0 else found.refused(3).cost


def _toml(table: Any) -> str:
    """Return a table as TOML; what TOML does not have becomes a text."""

    def plain(each: Any, depth: int = 0) -> Any:
        if isinstance(each, dict):
            return {str(key): plain(inner, depth + 1) for key, inner in each.items()} if depth < 100 else "deep"
        if isinstance(each, list):
            return [plain(inner, depth + 1) for inner in each] if depth < 100 else "deep"
        return each if not isinstance(each, int) or abs(each) < 10**4000 else 10**4000

    return tomli_w.dumps(plain(table))


SETTINGS = [
    "mass=" + "1" * 5000, "mass=[[[[1]]]]", "loads.joint_spring=" + "[" * 500, ".".join(["a"] * 500) + "=1", "=1", "x",
    "links=0x" + "f" * 3000,
    "links=1e9", "links=100000000000", "title='a\x1b[31m'", "start.theta=1e12", "start.angle=nan", "run.save=1e-300",
    "run.t_end=inf",
    "run.integrator=Taylor(order=100)", "run.formulation=Maximal(constraints=AugmentedLagrangian(iterations=1000000000))",
    "run.integrator='RK4(step=1e-200)'", "length=1e-200", "offset=1e308", "pin=[1,2,3]", "loads.joint_torque=1979-05-27",
    "run.rtol=1e-320",
]  # fmt: skip


@attack("exit 3, one sentence", full=len(SETTINGS), sample=1)
def hostile_settings(k: int, folder: Path) -> Measure:
    """Give hostile --set to the command."""
    return nlink("run", "nice-3", "--set", SETTINGS[k], "-o", "x.nc", cwd=folder).refused(3).cost


OPTIONS = [
    ["run", "nice-3", "--until", "1e200"], ["run", "nice-3", "-n", "99999999999"], ["run", "nice-3", "--rtol", "nan"],
    ["run", "x" * 3000], ["run", "nice-3\x1b[2J"], ["run", "nice-3", "--integrator", "Taylor(order=" + "-" * 5000 + "1)"],
    ["map", "flip", "--size", "nanx5"], ["map", "flip", "--size", "infxinf"], ["map", "flip", "--size", "1e6x1e6"], ["map",
    "flip", "--region", "nan,1,2,3"],
    ["map", "flip", "--x", "theta" + "9" * 5000], ["map", "flip", "--threads", "100000"], ["map",
    "largest_theta[" + "9" * 5000 + "]"],
    ["map", "flip", "--x", "mass[\N{SUPERSCRIPT TWO}]"], ["map", "flip", "--at", "1e300"],
    ["poincare", "nice-3", "--section", "link=nan"], ["poincare", "nice-3", "--section", "link=1e400"], ["poincare", "nice-3",
    "--starts", "10000000000"],
    ["poincare", "nice-3", "--section", "period=1e-99"], ["bifurcation", "driven-1", "--vary", "torque", "--from", "0", "--to",
    "1", "--points", "1000000000"],
    ["lyapunov", "nice-3", "--until", "nan"], ["lyapunov", "nice-3", "--transient", "inf"], ["derive", "1000"], ["modes",
    "nice-3", "--count", "0"],
    ["stability", "nice-3", "--vary", "x" * 3000, "--from", "0", "--to", "1"], ["compare", "nice-3", "--formulations", "(" * 300],
]  # fmt: skip


@attack("exit 2, 3 or 5, no traceback", full=len(OPTIONS), sample=1)
def hostile_options(k: int, folder: Path) -> Measure:
    """Give hostile options to the command."""
    found = nlink(*OPTIONS[k], cwd=folder)
    assert found.code in (2, 3, 5), found
    assert "Traceback" not in found.err, found.err[-2000:]
    assert "\x1b[2J" not in found.err, found.err
    return found.cost if found.code == 2 else found.refused(found.code).cost


def _many(count: int) -> str:
    return "links = 2\nmass = [" + "1," * count + "]"


BOMBS: dict[str, Any] = {
    "a dotted key of 20,000 parts": lambda: ".".join(["a"] * 20_000) + " = 1",
    "a dotted header": lambda: "[" + ".".join(["a"] * 20_000) + "]",
    "quoted parts": lambda: ".".join(['"a"'] * 20_000) + " = 1",
    "1e7 masses": lambda: _many(10**7),
    "100 MB of comment": lambda: "#" * 100_000_000,
    "500 lists": lambda: "mass = " + "[" * 500 + "]" * 500,
    "100,000 lists": lambda: "mass = " + "[" * 100_000,
    "100,000 inline tables": lambda: "mass = " + "{a=" * 100_000,
    "brackets behind strings": lambda: 'a = """x""""" # "\nb = "\\"" \nmass = ' + "[" * 100_000,
    "strings without end": lambda: '"""' + ' \\"""' * 1_000_000,
    "a key of 1 MB": lambda: "k" * 1_000_000 + " = 1\nlinks = 3",
    "a title of 1 MB": lambda: 'links = 3\ntitle = "' + "t" * 1_000_000 + '"',
    "a number of 1 MB": lambda: "links = 3\nmass = " + "1" * 1_000_000,
    "hex digits of 1 MB": lambda: "links = 0x" + "f" * 1_000_000,
    "400,000 tables": lambda: "".join(f"[t{i}]\n" for i in range(500_000)),
    "1e7 links of 1e10": lambda: "links = 10000000000",
    "a million words": lambda: "links = 3\nformulation = [" + '"x",' * 1_300_000 + "]",
}


@attack("refused in 1 s and 300 MB", full=len(BOMBS), sample=1)
def size_bombs(k: int, folder: Path) -> Measure:
    """Read files that would take long or much memory."""
    path = folder / "m.toml"
    path.write_text(list(BOMBS.values())[k]())
    seconds, megabytes, letters, said = _read(path, folder)
    assert 0 < letters < 500, (list(BOMBS)[k], letters, said)
    assert megabytes < 300, f"{megabytes:.0f} MB: {list(BOMBS)[k]}"
    return Measure(seconds, megabytes)


def _read(path: Path, folder: Path) -> tuple[float, float, int, str]:
    found = ended(start_python("-c", CHECK, path, cwd=folder), 120)
    assert found.code == 0, found
    seconds, megabytes, letters, said = found.out.strip().split("\t")
    return float(seconds), float(megabytes), int(letters), said


HONEST: dict[str, Any] = {
    "100,000 masses": lambda: "links = 100000\nmass = [" + ", ".join(f"{1 + 1e-6 * i!r}" for i in range(100_000)) + "]",
    "100,000 links": lambda: "".join(f"[[links]]\nmass = {1 + 1e-6 * i!r}\nlength = 0.5\ncom = 0.2\n\n" for i in range(100_000)),
    "a table of 100,001 knots": lambda: "links = 2\n[loads.joint_torque]\ntimes = ["
    + ", ".join(f"{0.01 * i!r}" for i in range(100_001)) + "]\nvalues = ["
    + ", ".join(f"{0.5 * (i % 7)!r}" for i in range(100_001)) + "]",
    "a million equal links": lambda: "links = 1000000\n",
    "a mark at the start": lambda: "\ufefflinks = 3\n",
    "dots and brackets in texts": lambda: "links = 3 # " + "[" * 40 + ".a" * 40 + '\ntitle = "' + "[.{" * 100 + '"',
}  # fmt: skip


@attack("taken", full=len(HONEST), sample=0)
def large_but_honest_models(k: int, folder: Path) -> Measure:
    """Read long models that are right."""
    path = folder / "m.toml"
    path.write_text(list(HONEST.values())[k](), encoding="utf-8")
    seconds, megabytes, letters, said = _read(path, folder)
    assert letters == 0, said
    return Measure(seconds, megabytes)


def _python() -> list[Any]:
    """Return calls of the Python interface with hostile arguments."""
    from decimal import Decimal
    from fractions import Fraction

    import numpy as np

    import nlink as library
    from nlink import formulations
    from nlink.formulations.stabilization import AugmentedLagrangian, Baumgarte
    from nlink.integrators import RK4, Gauss, Taylor

    odd = [
        10**400, -(10**5000), Fraction(10**5000, 7), Decimal("1e500"), True, "1", b"1", None, 1 + 2j, np.float32("inf"),
        np.longdouble("1e4000"),
        [[1.0]], {}, {1: 2}, object(), np.zeros((2, 2)), np.array("x"), np.array(1e200), 5e-324, 1e101, datetime.date.today(),
        range(0), iter([1.0, "x"]),
    ]  # fmt: skip
    chain = library.Chain.uniform(2)
    calls: list[Any] = [lambda v=v: library.Link(v, 1.0, 0.5, 0.1) for v in odd]
    calls += [lambda v=v: library.Link(1.0, 1.0, 0.5, 0.1, v) for v in odd if not _zero(v)]
    calls += [lambda v=v: library.Gravity(v) for v in odd if not _zero(v)]
    calls += [lambda v=v: library.JointSpring(v) for v in odd if not _zero(v)]
    calls += [lambda v=v: library.simulate(chain, v, t_end=1.0) for v in odd if not _zero(v) and not isinstance(v, dict)]
    calls += [lambda v=v: library.Chain(v) for v in odd]
    calls += [lambda v=v: library.Chain.uniform(v) for v in (10**12, 10**5000, 0, -1, 1.5, True)]
    calls += [lambda v=v: Scenario.from_dict(v) for v in (None, 3, [], "x", {1: 2}, {"links": odd}, {("a",): 1})]
    calls += [lambda v=v: Taylor(order=v) for v in (61, 10**9, 10**5000, 3, -1, 4.0, True)]
    calls += [lambda v=v: Taylor(max_steps=v) for v in (10**13, 0, 10**5000)]
    calls += [lambda v=v: AugmentedLagrangian(iterations=v) for v in (101, 10**9, 0)]
    calls += [
        lambda: Baumgarte(w=10**400),
        lambda: RK4(step=10**-200),
        lambda: Gauss(step=1e-200),
        lambda: formulations.formulate(chain, 3),
    ]
    calls += [lambda: library.simulate(chain, 1e10, t_end=1.0), lambda: library.simulate(chain, [0.0, -1e12], t_end=1.0)]
    calls += [
        lambda v=v: library.simulate_many(chain, v, t_end=1.0)
        for v in ("x", [[1e10, 0.0]], [[1e200, 0.0]], [["a", "b"]], [[10**400, 0]])
    ]
    calls += [lambda: library.simulate_many(chain, [[0.1, 0.2]], t_end=1.0, vary=3)]
    calls += [lambda: library.simulate_many(chain, [[0.1, 0.2]], t_end=1.0, vary={"mass[" + "9" * 5000 + "]": [1.0]})]
    return calls


def _zero(value: Any) -> bool:
    """Whether a value is a number that is small enough to be meant."""
    return isinstance(value, float) and abs(value) < 1e-300


@attack("refused in one sentence", full=150, sample=25)
def hostile_arguments_of_python(k: int, folder: Path) -> None:
    """Call the library with values that are no numbers, too large or too small."""
    calls = _python()
    call = calls[k * 7 % len(calls)] if k < 25 else calls[k % len(calls)]
    try:
        call()
    except ModelError as error:
        refused(str(error))
    else:
        raise AssertionError("taken")


STREAMS = ["2>&-", "", ">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"]


@attack("the run is saved", full=len(STREAMS), sample=1)
def closed_streams(k: int, folder: Path) -> None:
    """Run the command with some of the standard streams closed: its files must not get their numbers."""
    import nlink as library

    script = f'exec "{sys.executable}" -m nlink run nice-3 --until 0.5 -o x.nc {STREAMS[k]}'
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env=dict(os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert done.returncode == 0, done
    assert sorted(path.name for path in folder.iterdir()) == ["x.nc"]
    assert len(library.load(folder / "x.nc").t) == 51
