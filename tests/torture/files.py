"""Attacks on run files and map files: flipped bits, cut ends, forgeries with valid checksums, ways out of the file, sizes."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from made_run import made_run, motion

import nlink
from nlink.analysis import mapfile
from nlink.analysis.mapfile import MapFileError
from nlink.run.file import UNSUMMED, RunFileError, _digest
from nlink.run.writer import checksum
from torture.attack import Measure, attack, ended, start, start_python

RELEASED = Path(__file__).parents[1] / "data" / "released"
MEGABYTES, SECONDS = 300, 1.0
"""What a refusal may cost more than the import."""
SECRET = 1234.5


@functools.cache
def prepared() -> Path:
    """Return a folder with a run (run.nc), a map (map.nc), a file with a secret, and maps of the released format."""
    folder = Path(tempfile.mkdtemp(prefix="nlink-torture-files-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run = nlink.load(RELEASED / "run-2.nc")
    knots = motion(2, np.linspace(0.0, 0.2, 21))
    replace(run, knots=knots, trusted_until=0.1).save(folder / "run.nc")
    found = nlink.load_map(RELEASED / "map-1.nc")
    nlink.save_map(found, folder / "map.nc")
    shutil.copy(RELEASED / "map-1.nc", folder / "map-1.nc")
    made_run().save(folder / "made.nc")
    np.full(1000, SECRET).tofile(folder / "secret.bin")
    with h5py.File(folder / "secret.h5", "w") as file:
        for name, shape in (("theta", (5, 2)), ("values", (6, 6))):
            file[name] = np.full(shape, SECRET)
    return folder


def told(path: Path) -> Any:
    """Return all that a run or a map holds, to be compared."""
    if "run" in path.name:
        run = nlink.load(path)
        data = [run.t, run.theta, run.omega, run.alpha, run.kinetic, run.potential, run.drift, *run.work.values(), *run.knots]
        data += [run.checkpoint.state, run.checkpoint.rates, *(each for e in run.events for each in (e.theta, e.omega))]
        rest = [
            run.scenario.to_dict(),
            run.meta,
            run.status,
            run.stats,
            run.trusted_until,
            [(e.t, e.name, e.info) for e in run.events],
        ]
        rest += [replace(run.checkpoint, state=None, rates=None)]
    else:
        found = nlink.load_map(path)
        data = [found.x, found.y, found.values, found.status, found.forbidden, found.link]
        rest = [found.plane.chain, found.plane.x, found.plane.y, found.plane.t_end, found.region, found.quantity, found.settings]
    return [np.ascontiguousarray(values).tobytes() for values in data], rest


@functools.cache
def known(name: str) -> Any:
    return told(prepared() / name)


def held(path: Path, name: str) -> bool:
    """Whether a file is refused in one sentence (True), or holds the same as before (False)."""
    try:
        found = told(path)
    except (RunFileError, MapFileError) as error:
        text = str(error)
        assert str(path) in text, text
        assert "\n" not in text, text
        assert len(text) < 600, text
        return True
    assert found == known(name), f"{name} was read, with other data"
    return False


def flipped(name: str, k: int, folder: Path) -> None:
    content = bytearray((prepared() / name).read_bytes())
    rng = np.random.default_rng(k)
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    (folder / name).write_bytes(content)
    held(folder / name, name)


@attack("refused in a sentence, or the same numbers", full=600, sample=6)
def flipped_bits_of_run_files(k: int, folder: Path) -> None:
    flipped("run.nc", k, folder)


@attack("refused in a sentence, or the same numbers", full=600, sample=6)
def flipped_bits_of_map_files(k: int, folder: Path) -> None:
    flipped("map.nc", k, folder)


@attack("refused in a sentence, or the same values", full=400, sample=4)
def flipped_bits_of_map_files_without_checksum(k: int, folder: Path) -> None:
    """What the file says in words has no checksum in format 1."""
    try:
        flipped("map-1.nc", k, folder)
    except AssertionError as error:
        if "with other data" not in str(error):
            raise
        found, whole = nlink.load_map(folder / "map-1.nc"), nlink.load_map(prepared() / "map-1.nc")
        for name in ("values", "status", "forbidden", "link"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
        np.testing.assert_allclose(found.x, whole.x, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.y, whole.y, rtol=0, atol=1e-8)


@attack("refused in a sentence, or the same numbers", full=300, sample=4)
def bad_blocks_of_run_and_map_files(k: int, folder: Path) -> None:
    """A piece of up to 4 kB reads as zeros, as ones or as noise."""
    name, rng = ("run.nc", "map.nc")[k % 2], np.random.default_rng(k)
    content = bytearray((prepared() / name).read_bytes())
    begin, length = rng.integers(len(content)), rng.integers(1, 4097)
    length = min(int(length), len(content) - int(begin))
    noise = (bytes(length), b"\xff" * length, rng.bytes(length))[k % 3]
    content[begin : begin + length] = noise
    (folder / name).write_bytes(content)
    held(folder / name, name)


@attack("refused in a sentence", full=200, sample=4)
def truncated_run_and_map_files(k: int, folder: Path) -> None:
    name = ("run.nc", "map.nc")[k % 2]
    content = (prepared() / name).read_bytes()
    length = (0, 1, 7, 8, 9, 100)[k // 2] if k < 12 else int(np.random.default_rng(k).integers(len(content)))
    (folder / name).write_bytes(content[:length])
    assert held(folder / name, name), f"the first {length} of {len(content)} bytes were read"


# Forgeries: the checksum is made anew, so that only the checks of what a file says are left --------------------------

Change = Callable[[Any], Any]


def put(file: Any, name: str, data: Any, **options: Any) -> None:
    """Replace a variable."""
    if name in file:
        del file[name]
    file.create_dataset(name, data=data, **options)


def sealed(path: Path, line: Change | None = None, fixed: Change | None = None) -> None:
    """Change the last line of a run's log, and what does not change, and make the checksum anew."""
    with h5py.File(path, "r+") as file:
        text = file.attrs["nlink"]
        if fixed:
            text = changed(json.loads(text), fixed)
            file.attrs["nlink"] = text
        last = json.loads(file["log"][()].tobytes().split(b"\n")[-2])
        last.pop("checksum")
        names = [name for name in file if name not in UNSUMMED and there(file, name)]
        digests = {name: [list(file[name].shape or ()), summed(file[name])] for name in names}
        line_text = changed(last, line) if line else json.dumps(last)
        if NESTED not in line_text and isinstance(last := json.loads(line_text), dict):
            line_text = json.dumps(last | {"checksum": checksum(text, last, digests)})
        put(file, "log", np.frombuffer(line_text.encode() + b"\n", np.uint8), chunks=(4096,), maxshape=(None,))


def changed(table: Any, change: Change) -> str:
    found = change(table)
    return found if isinstance(found, str) else json.dumps(table if found is None else found)


def there(file: Any, name: str) -> bool:
    try:
        return isinstance(file.get(name), h5py.Dataset)
    except RuntimeError:  # a link to itself
        return False


def summed(data: Any) -> str:
    try:
        return _digest(data)
    except Exception:  # the forger's own reader may well fail
        return "0" * 64


def setting(*keys: str, to: Any) -> Change:
    """Return a change of one value of a table."""

    def change(table: Any) -> None:
        for key in keys[:-1]:
            table = table[key]
        table[keys[-1]] = to

    return change


def without(*keys: str) -> Change:
    """Return a change that takes a value away."""

    def change(table: Any) -> None:
        for key in keys[:-1]:
            table = table[key]
        del table[keys[-1]]

    return change


def written(name: str, data: Any, **options: Any) -> Change:
    return lambda file: put(file, name, data, **options)


def declared(name: str, shape: tuple[int, ...], dtype: Any = "f8", **options: Any) -> Change:
    """Return a change that declares a variable and writes nothing into it."""

    def change(file: Any) -> None:
        del file[name]
        file.create_dataset(name, shape, dtype, **options)

    return change


def absent(name: str) -> Change:
    return lambda file: file.__delitem__(name)


def bare(name: str) -> Change:
    return lambda file: file.attrs.__delitem__(name)


def group(name: str) -> Change:
    def change(file: Any) -> None:
        del file[name]
        file.create_group(name)

    return change


def attributes(item: str, name: str, value: Any) -> Change:
    return lambda file: (file[item] if item else file).attrs.__setitem__(name, value)


NESTED = "[" * 100_000 + "]" * 100_000
WRONG = (None, True, -1, 10**30, 0.5, float("nan"), float("inf"), "x", [], {}, [1])
"""Values of wrong types or sizes for a count."""
RUN_LINES: dict[str, Change] = {
    **{f"count of {name} {value!r}": setting("counts", name, to=value) for name in ("time", "knot", "event") for value in WRONG},
    **{f"count of {name} too large": setting("counts", name, to=10**9) for name in ("time", "knot", "event")},
    **{f"{name} {value!r}": setting(name, to=value) for name in ("counts", "status", "stats") for value in (None, [], "x", 3)},
    **{f"without {name}": without(name) for name in ("counts", "status", "stats")},
    **{f"status {name} {value!r}": setting("status", name, to=value) for name in ("code", "message") for value in (None, 3, [])},
    **{f"stats {name} {value!r}": setting("stats", name, to=value) for name in ("nfev", "steps") for value in WRONG},
    **{f"wall {value!r}": setting("stats", "wall", to=value) for value in ("x", None, [], -1, 10**400, float("nan"))},
    **{f"trusted {value!r}": setting("trusted_until", to=value) for value in ("x", [], {}, True, 10**400)},
    **{f"slot {value!r}": setting("checkpoint", "slot", to=value) for value in (2, -1, None, 0.5, "0", [0])},
    **{f"checkpoint {k} {v!r}": setting("checkpoint", k, to=v) for k in ("t", "step", "count") for v in ("x", None, [], 10**400)},
    **{f"thinning {value!r}": setting("checkpoint", "thinning", to=value) for value in (None, [1], [1, 2, "x"], [0, 0, 0], 3)},
    **{f"checkpoint {value!r}": setting("checkpoint", to=value) for value in ([], "x", 3, {})},
    "crc": setting("checkpoint", "crc", to=0),
    "nested": lambda table: '{"counts": ' + NESTED + "}",
    "a list": lambda table: [table],
}
RUN_TEXTS: dict[str, Change] = {
    **{f"scenario {value!r}": setting("scenario", to=value) for value in (None, [], "x", 3, {})},
    **{
        f"links {value!r}": setting("scenario", "links", to=value)
        for value in (None, 0, 3, 10**7, 10**12, "2", [], [1, 2], [{}] * 3, 2.0)
    },
    **{f"mass {value!r}": setting("scenario", "mass", to=value) for value in ("x", -1, None, [1, 2, 3], float("nan"), {}, 10**400)},
    **{
        f"loads {value!r}": setting("scenario", "loads", to=value)
        for value in (3, [], {"gravity": "x"}, {"magic": 1}, {"joint_spring": {}})
    },
    **{f"pin {value!r}": setting("scenario", "pin", to=value) for value in (3, "x", [1], {"z": 1}, {"x": "y"})},
    **{f"start {value!r}": setting("scenario", "start", to=value) for value in (3, {"theta": [1]}, {"theta": "x"}, {"shape": 3})},
    **{f"run {value!r}": setting("scenario", "run", to=value) for value in (3, {"t_end": "x"}, {"save": []}, {"none": 1})},
    **{f"title {value!r}": setting("scenario", "title", to=value) for value in (3, [], {})},
    **{
        f"meta {value!r}": setting("meta", to=value)
        for value in (None, 3, [], {"formulation": 3}, {"integrator": "x"}, {"start": {"moved": "x"}})
    },
    "meta start": setting("meta", "start", to=3),
    "trusted angle": setting("meta", "trusted_angle", to="x"),
    "without meta": without("meta"),
    "not JSON": lambda table: "{",
    "nested": lambda table: '{"scenario": ' + NESTED + "}",
    "nested meta": lambda table: json.dumps(table)[:-1] + ', "meta": ' + NESTED + "}",
    "a list": lambda table: [table],
}
FIVE = np.arange(5.0)
COMPOUND = np.zeros(5, [("a", "f8"), ("b", "i4")])
RUN_DATA: dict[str, Change] = {
    **{f"no {name}": absent(name) for name in ("time", "theta", "log", "link", "event_text", "knot", "violation")},
    **{f"{name} a group": group(name) for name in ("time", "theta", "log", "link", "checkpoint", "event_time", "event")},
    **{f"theta of type {kind}": written("theta", np.zeros((5, 2), kind)) for kind in ("f4", "i8", ">f8", "c16", "S8", "?", "u1")},
    "theta of texts": written("theta", np.full((5, 2), "x", object), dtype=h5py.string_dtype()),
    "theta of lists": declared("theta", (5, 2), h5py.vlen_dtype("f8")),
    "theta of references": written("theta", np.full((5, 2), None, object), dtype=h5py.ref_dtype),
    "theta of choices": written("theta", np.zeros((5, 2), "i1"), dtype=h5py.enum_dtype({"a": 0})),
    "theta opaque": written("theta", np.zeros((5, 2), "V8")),
    "theta a scalar": written("theta", 3.0),
    "theta empty": written("theta", h5py.Empty("f8")),
    "theta a record": written("time", COMPOUND),
    "theta short": written("theta", np.zeros((4, 2))),
    "theta long": written("theta", np.zeros((6, 2))),
    "theta wide": written("theta", np.zeros((5, 3))),
    "theta flat": written("theta", np.zeros(10)),
    "theta packed": written("theta", np.zeros((5, 2)), compression="gzip"),
    "theta shuffled": written("theta", np.zeros((5, 2)), shuffle=True, chunks=(5, 2)),
    "theta with a sum": written("theta", np.zeros((5, 2)), fletcher32=True, chunks=(5, 2)),
    "theta scaled": written("theta", np.zeros((5, 2), "i8"), scaleoffset=4),
    "times of NaN": written("time", np.full(5, np.nan)),
    "times in disorder": written("time", np.array([0.0, 0.1, 0.05, 0.2, 0.3])),
    "log of numbers": written("log", FIVE),
    "log empty": written("log", np.zeros(0, "u1")),
    "log of zeros": written("log", np.zeros(5, "u1")),
    "log a text": written("log", "{}"),
    "link short": written("link", np.arange(1)),
    "link of floats": written("link", np.array([1.0, 2.0])),
    "checkpoint flat": written("checkpoint", np.zeros(8)),
    "checkpoint of floats": written("checkpoint", np.zeros((2, 2, 4), "f4")),
    "checkpoint narrow": written("checkpoint", np.zeros((1, 2, 4))),
    "events of no JSON": written("event_text", np.frombuffer(b"x\n", np.uint8)),
    "events without a line": written("event_text", np.zeros(0, "u1")),
    "events nested": written("event_text", np.frombuffer(NESTED.encode() + b"\n", np.uint8)),
    "events without info": written("event_text", np.frombuffer(b'{"name": "flip"}\n', np.uint8)),
    "a flip of no link": written("event_text", np.frombuffer(b'{"name": "flip", "info": {"link": 7}}\n', np.uint8)),
    "an event without a name": written("event_text", np.frombuffer(b'{"name": 3, "info": {}}\n', np.uint8)),
    "a variable more": written("secret", FIVE),
    "a hundred variables more": lambda file: [file.create_dataset(f"x{i}", data=0.0) for i in range(100)],
    "a type": lambda file: file.__setitem__("work_drag", np.dtype("f8")),
    **{f"format {value!r}": attributes("", "nlink_format", value) for value in ("x", 3.5, [2, 2], np.zeros((2, 2)), [], 10**6)},
    **{f"text {str(value)[:9]!r}": attributes("", "nlink", value) for value in (3, [1.0], np.bytes_(b"{"), COMPOUND)},
    "format empty": attributes("", "nlink_format", h5py.Empty("f8")),
    "text empty": attributes("", "nlink", h5py.Empty("S1")),
    "texts": attributes("", "nlink", ["{}", "{}"]),
    "no text": lambda file: file.attrs.__delitem__("nlink"),
}  # fmt: skip
FORGED_RUNS = [*((name, "line", c) for name, c in RUN_LINES.items()), *((name, "fixed", c) for name, c in RUN_TEXTS.items()),
               *((name, "data", c) for name, c in RUN_DATA.items())]  # fmt: skip


@attack("refused in a sentence", full=len(FORGED_RUNS), sample=8)
def forged_run_files_with_valid_checksums(k: int, folder: Path) -> None:
    name, kind, change = FORGED_RUNS[k * 37 % len(FORGED_RUNS)]
    path = forged_run(kind, change, folder)
    assert held(path, "run.nc"), f"{name} was read"


def forged_run(kind: str, change: Change, folder: Path) -> Path:
    path = Path(shutil.copy(prepared() / "run.nc", folder / "run.nc"))
    if kind == "data":
        with h5py.File(path, "r+") as file:
            change(file)
            whole = all(isinstance(file.get(name), h5py.Dataset) for name in ("log",)) and file["log"].shape == (840,)
        if whole and "nlink" in h5py.File(path).attrs and isinstance(h5py.File(path).attrs["nlink"], str):
            sealed(path)
    else:
        sealed(path, **{kind: change})
    return path


def resealed(path: Path) -> None:
    """Make the checksum of a map anew, if it can be made."""
    with h5py.File(path, "r+") as file:
        try:
            file.attrs["checksum"] = mapfile._checksum(file)
        except Exception:  # the forger's own reader may well fail
            file.attrs["checksum"] = "0" * 64


MODEL = '{"links": 2}'
MAP_DATA: dict[str, Change] = {
    **{f"no {name}": absent(name) for name in ("x", "y", "values", "status", "forbidden")},
    **{f"{name} a group": group(name) for name in ("x", "y", "values", "status", "link")},
    **{f"values of type {kind}": written("values", np.zeros((6, 6), kind)) for kind in ("f4", "i8", ">f8", "c16", "S8", "?")},
    "values of texts": written("values", np.full((6, 6), "x", object), dtype=h5py.string_dtype()),
    "values of lists": declared("values", (6, 6), h5py.vlen_dtype("f8")),
    "values a scalar": written("values", 3.0),
    "values empty": written("values", h5py.Empty("f8")),
    "values short": written("values", np.zeros((5, 6))),
    "values flat": written("values", np.zeros(36)),
    "values shuffled": written("values", np.zeros((6, 6)), shuffle=True, chunks=(6, 6)),
    "values by lzf": written("values", np.zeros((6, 6)), compression="lzf"),
    "values without a chunk": declared("values", (6, 6), chunks=(3, 3), compression="gzip"),
    "x short": written("x", FIVE),
    "x of NaN": written("x", np.full(6, np.nan)),
    "x elsewhere": written("x", np.arange(6.0)),
    "no pixels": lambda file: [put(file, name, np.zeros(0)) for name in ("x", "y")],
    "status 99": written("status", np.full((6, 6), 99, "i1")),
    "forbidden 2": written("forbidden", np.full((6, 6), 2, "i1")),
    "link 7": written("link", np.full((6, 6), 7, "i4")),
    "a variable more": written("secret", FIVE),
    **{f"format {value!r}": attributes("", "nlink_map", value) for value in ("x", 1.5, 0, 3, [1, 2], [])},
    **{f"quantity {value!r}": attributes("", "quantity", value) for value in ("x", "flip[9]", 3, "", "theta[0]")},
    **{f"region {value!r}": attributes("", "region", value) for value in ("x", [1.0], [0.0] * 4, [np.nan] * 4, [0.0, 1.0, 2.0])},
    **{f"t_end {value!r}": attributes("", "t_end", value) for value in ("x", np.nan, [1.0, 2.0], np.inf)},
    **{f"model {value[:20]!r}": attributes("", "model", value) for value in (
        "", "{", "[]", "3", "{}", '{"links": 0}', '{"links": 10000000}', '{"links": 1000000000000}', '{"links": "x"}', NESTED)},
    **{f"settings {value[:20]!r}": attributes("", "settings", value) for value in ("", "[]", "3", NESTED)},
    **{f"axis {value!r}": attributes("x", "long_name", value) for value in ("x", 3, "theta9", "theta2", "mass[7]", "")},
    **{f"no {name}": bare(name) for name in ("quantity", "region", "t_end", "model", "settings")},
    "model of numbers": attributes("", "model", 3),
    "a hundred attributes": lambda file: [file.attrs.__setitem__(f"x{i}", i) for i in range(100)],
}  # fmt: skip
FORGED_MAPS = list(MAP_DATA.items())


@attack("refused in a sentence", full=2 * len(FORGED_MAPS), sample=6)
def forged_map_files_with_valid_checksums(k: int, folder: Path) -> None:
    name, change = FORGED_MAPS[(k // 2) * 11 % len(FORGED_MAPS)]
    path = Path(shutil.copy(prepared() / ("map.nc", "map-1.nc")[k % 2], folder / "map.nc"))
    with h5py.File(path, "r+") as file:
        change(file)
    if k % 2 == 0:
        resealed(path)
    assert held(path, "map.nc") or (k % 2 and name == "a hundred attributes"), f"{name} was read"


# Ways out of the file -------------------------------------------------------------------------------------------------


def linked(link: Any) -> Callable[[Any, str, tuple[int, ...]], None]:
    def change(file: Any, name: str, shape: tuple[int, ...]) -> None:
        del file[name]
        file[name] = link(name)

    return change


def stored_outside(file: Any, name: str, shape: tuple[int, ...]) -> None:
    del file[name]
    file.create_dataset(name, shape, "f8", external=[(str(prepared() / "secret.bin"), 0, h5py.h5f.UNLIMITED)])


def virtual(file: Any, name: str, shape: tuple[int, ...]) -> None:
    del file[name]
    layout = h5py.VirtualLayout(shape, "f8")
    layout[:] = h5py.VirtualSource(prepared() / "secret.h5", name, shape)
    file.create_virtual_dataset(name, layout)


def by_a_type(file: Any, name: str, shape: tuple[int, ...]) -> None:
    del file[name]
    file["x_type"] = np.dtype("f8")
    file.create_dataset(name, shape, file["x_type"])


OUTSIDE = {
    "external link": linked(lambda name: h5py.ExternalLink(str(prepared() / "secret.h5"), name)),
    "external link without a file": linked(lambda name: h5py.ExternalLink("no-such-file.h5", name)),
    "soft link": linked(lambda name: h5py.SoftLink("/omega" if name == "theta" else "/status")),
    "soft link to nothing": linked(lambda name: h5py.SoftLink("/nothing")),
    "soft link to itself": linked(lambda name: h5py.SoftLink(f"/{name}")),
    "external storage": stored_outside,
    "virtual dataset": virtual,
    "committed type": by_a_type,
}
WAYS = [(way, name) for way in OUTSIDE for name in ("run.nc", "map.nc", "map-1.nc")]


@attack("refused in a sentence, the other file is not read", full=len(WAYS), sample=6)
def files_that_point_outside(k: int, folder: Path) -> None:
    way, name = WAYS[k]
    path = Path(shutil.copy(prepared() / name, folder / name))
    with h5py.File(path, "r+") as file:
        OUTSIDE[way](file, *(("theta", (5, 2)) if name == "run.nc" else ("values", (6, 6))))
    sealed(path) if name == "run.nc" else resealed(path)
    assert held(path, name), f"{way} was followed"


# Declared sizes -------------------------------------------------------------------------------------------------------

LARGE = 2**33
"""Numbers of 8 bytes: 64 GB."""


def large_map(packed: dict[str, Any]) -> Change:
    def change(file: Any) -> None:
        for name, shape, kind in (("x", (2**16,), "f8"), ("y", (2**16,), "f8")):
            declared(name, shape, kind)(file)
            file[name][:] = np.arange(shape[0])
        for name, kind in mapfile.TYPES.items():
            declared(name, (2**16, 2**16), kind, **packed)(file)

    return change


def many_rows(file: Any) -> None:
    for name in ("time", "kinetic", "potential", "violation", "theta", "omega", "alpha"):
        shape = (LARGE, *file[name].shape[1:])
        declared(name, shape, chunks=(5, *shape[1:]), maxshape=(None, *shape[1:]))(file)


SIZES: dict[str, tuple[str, Change, Change | None]] = {
    "run.nc, a log of 64 GB": ("run.nc", declared("log", (2**36,), "u1"), None),
    "run.nc, a log of 64 GB in chunks": ("run.nc", declared("log", (2**36,), "u1", chunks=(4096,)), None),
    "run.nc, columns of 64 GB": ("run.nc", many_rows, setting("counts", "time", to=LARGE)),
    "run.nc, a text of 64 GB": ("run.nc", declared("event_text", (2**36,), "u1"), setting("counts", "event", to=1)),
    "run.nc, events of 64 GB": ("run.nc", declared("event_theta", (LARGE // 2, 2)), setting("counts", "event", to=LARGE // 2)),
    "run.nc, links": ("run.nc", declared("link", (10**7,), "i8"), None),
    "run.nc, a checkpoint of 64 GB": ("run.nc", declared("checkpoint", (2, 2, LARGE // 4)), None),
    "run.nc, one chunk": ("run.nc", declared("theta", (2**27, 2), chunks=(2**27, 2)), setting("counts", "time", to=2**27)),
    "map.nc, 64 GB": ("map.nc", large_map({}), None),
    "map.nc, 64 GB in chunks": ("map.nc", large_map({"chunks": (256, 256), "compression": "gzip"}), None),
    "map-1.nc, 64 GB in chunks": ("map-1.nc", large_map({"chunks": (256, 256), "compression": "gzip"}), None),
    "map-1.nc, links": ("map-1.nc", attributes("", "model", '{"links": 10000000}'), None),
}  # fmt: skip
CODE = """
import resource, sys, time, nlink
from nlink.run import file
from nlink.analysis import mapfile
import h5py
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, begun = peak(), time.perf_counter()
try:
    (nlink.load if "run" in sys.argv[1] else nlink.load_map)(sys.argv[1])
    print("read")
except OSError as error:
    print("refused", time.perf_counter() - begun, peak() - before, error)
"""


@attack(f"refused within {SECONDS:g} s and {MEGABYTES} MB", full=len(SIZES), sample=1)
def declared_sizes_of_64_gigabytes(k: int, folder: Path) -> Measure:
    name, change, line = list(SIZES.values())[k]
    path = Path(shutil.copy(prepared() / name, folder / name))
    with h5py.File(path, "r+") as file:
        change(file)
    if line:
        declare(path, line)
    done = ended(start_python("-c", CODE, path, cwd=folder))
    word, seconds, megabytes, *_ = done.out.split()
    assert word == "refused", done.out + done.err
    assert float(seconds) < SECONDS, done.out
    assert float(megabytes) < MEGABYTES, done.out
    return Measure(float(seconds), float(megabytes))


def declare(path: Path, line: Change) -> None:
    """Change the last line of a log; its checksum is left wrong, for sizes are refused before it is made."""
    with h5py.File(path, "r+") as file:
        last = json.loads(file["log"][()].tobytes().split(b"\n")[-2])
        line(last)
        put(file, "log", np.frombuffer(json.dumps(last).encode() + b"\n", np.uint8), chunks=(4096,), maxshape=(None,))


# The command ----------------------------------------------------------------------------------------------------------

COMMANDS = [
    (name, words)
    for name, commands in {
        "run.nc": (["show"], ["show", "--json"], ["plot", "-o", "x.png"], ["animate", "-o", "x.html"], ["run", "--resume"]),
        "map.nc": (["map"], ["map", "-o", "x.png"], ["map", "--region", "0,10,0,10"]),
    }.items()
    for words in commands
]
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "text": lambda content: b"theta, omega\n",
    "flipped": lambda content: bytes(byte ^ 0x55 if i > 2000 and i % 97 == 0 else byte for i, byte in enumerate(content)),
}
HURT = [(command, damage) for damage in DAMAGES for command in COMMANDS]


@attack("exit 5 and one sentence", full=len(HURT), sample=1)
def commands_on_damaged_files(k: int, folder: Path) -> Measure:
    (name, words), damage = HURT[k * 5 % len(HURT)]
    (folder / name).write_bytes(DAMAGES[damage]((prepared() / name).read_bytes()))
    before = (folder / name).read_bytes()
    first, *rest = words
    arguments = [first, *rest, name] if rest[:1] == ["--resume"] else [first, name, *rest]
    done = ended(start(*arguments, cwd=folder)).refused(5, name)
    assert [each.name for each in folder.iterdir()] == [name], [each.name for each in folder.iterdir()]
    assert (folder / name).read_bytes() == before
    return done.cost


@attack("the same numbers as in memory", full=1)
def files_of_the_present_format(k: int, folder: Path) -> None:
    """What all other attacks compare with is right."""
    begun = time.perf_counter()
    run = nlink.load(prepared() / "run.nc")
    assert run.theta.tolist() == json.loads((RELEASED / "expected.json").read_text())["run-2.nc"]["theta"]
    assert known("map.nc") == known("map-1.nc")
    assert time.perf_counter() - begun < 60.0, "a hang"
