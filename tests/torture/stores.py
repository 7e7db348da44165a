"""Attacks on stores and on runs under way: flipped bits, lost files, changed metadata, links, a full disk, SIGKILL."""

from __future__ import annotations

import atexit
import functools
import json
import os
import resource
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nlink
from nlink import Chain, Final, FlipTime, Threads, simulate, simulate_many
from nlink.simulation import loop, streaming
from torture.attack import Absent, Measure, attack

MEMBERS, BLOCK = 96, 8
FILES = ("theta", "omega", "flip_time", "flip_link", "status", "steps")


class Small(Threads):
    """One thread, and blocks of 8 members."""

    def size(self, job: Any) -> int:
        return BLOCK


def arguments(t_end: float = 2.0) -> dict[str, Any]:
    theta = np.random.default_rng(1).uniform(-3.0, 3.0, (MEMBERS, 2))
    return {"chain": Chain.uniform(2), "theta": theta, "t_end": t_end, "keep": (Final(), FlipTime()), "backend": Small(1)}


def told(found: Any) -> dict[str, bytes]:
    return {str(name): np.ascontiguousarray(found[name].values).tobytes() for name in found}


@functools.cache
def expected(t_end: float = 2.0) -> dict[str, bytes]:
    return told(simulate_many(**arguments(t_end)))


@functools.cache
def prepared() -> Path:
    """Return a finished store."""
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise Absent("zarr") from None
    folder = Path(tempfile.mkdtemp(prefix="nlink-torture-stores-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    assert told(simulate_many(**arguments(), store=folder / "x.zarr")) == expected()
    return folder / "x.zarr"


def copied(folder: Path) -> Path:
    return Path(shutil.copytree(prepared(), folder / "x.zarr"))


def held(store: Path) -> bool:
    """Whether the same call refuses a store in one sentence (True), or gives the right numbers (False)."""
    from nlink.ensemble.store import StoreError

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        refusal = ""
        try:
            found = told(simulate_many(**arguments(), store=store))
        except StoreError as error:
            refusal = str(error)
    texts = [str(each.message) for each in said]
    assert all("was damaged" in text or "at .hidden is not recognized" in text for text in texts), texts
    assert refusal or found == expected(), "other numbers"
    assert "\n" not in refusal, refusal
    assert len(refusal) < 600, refusal
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if (store / ".hidden").exists() else "error")
        assert refusal or told(simulate_many(**arguments(), store=store)) == expected(), "not repaired"
    return bool(refusal)


def some_file(k: int, store: Path) -> tuple[Path, Any]:
    rng = np.random.default_rng(k)
    files = sorted(path for path in store.rglob("*") if path.is_file())
    return files[rng.integers(len(files))], rng


@attack("the right numbers, or refused in a sentence", full=300, sample=3)
def flipped_bits_of_stores(k: int, folder: Path) -> None:
    path, rng = some_file(k, store := copied(folder))
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    path.write_bytes(content)
    assert held(store) == (path == store / "zarr.json"), path


@attack("the right numbers, or refused in a sentence", full=200, sample=4)
def lost_cut_and_exchanged_files_of_stores(k: int, folder: Path) -> None:
    path, rng = some_file(k, store := copied(folder))
    content = path.read_bytes()
    if k % 4 == 0:
        path.unlink()
    elif k % 4 == 1:
        path.write_bytes(content[: rng.integers(len(content))])
    elif k % 4 == 2:
        path.write_bytes(content + b"\0" * int(rng.integers(1, 100)))
    else:
        shutil.copy(some_file(k + 1000, store)[0], folder / "other")
        path.write_bytes((folder / "other").read_bytes())
    held(store)


# Metadata -------------------------------------------------------------------------------------------------------------

Change = Callable[[Path], Any]


def metadata(name: str, *keys: Any, to: Any) -> Change:
    """Return a change of one value in a zarr.json."""

    def change(store: Path) -> None:
        path = store / name / "zarr.json"
        table = json.loads(path.read_text())
        place = table
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to
        path.write_text(json.dumps(table))

    return change


def replaced(name: str, content: bytes) -> Change:
    return lambda store: (store / name).write_bytes(content)


def folder_for(name: str) -> Change:
    def change(store: Path) -> None:
        (store / name).unlink()
        (store / name).mkdir()

    return change


def linked(name: str, target: str) -> Change:
    """Return a change that puts a link in the place of a file or a folder."""

    def change(store: Path) -> None:
        path = store / name
        outside = store.parent / target
        outside.parent.mkdir(exist_ok=True)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.symlink_to(outside)

    return change


def pipe(name: str) -> Change:
    def change(store: Path) -> None:
        (store / name).unlink()
        os.mkfifo(store / name)

    return change


NESTED = b"[" * 100_000 + b"]" * 100_000
CODEC = [{"name": "bytes", "configuration": {"endian": "big"}}]
ZSTD = [
    {"name": "bytes", "configuration": {"endian": "little"}},
    {"name": "zstd", "configuration": {"level": 0, "checksum": False}},
]
CHUNKS = ("chunk_grid", "configuration", "chunk_shape")
BAD = (b"", b"[]", b"\xff", NESTED)
TAMPERED: dict[str, Change] = {
    **{f"shape {v!r}": metadata("theta", "shape", to=v) for v in ([96], [2**40, 2], [0, 2], [-1, 2], [97, 2], "x", None)},
    **{f"done {v!r}": metadata("done", "shape", to=v) for v in ([10**9], [2**60], [1], [])},
    **{f"chunks {v!r}": metadata("theta", *CHUNKS, to=v) for v in ([96, 2], [0, 2], [2**40, 2], [1], "x")},
    **{f"type {v!r}": metadata("theta", "data_type", to=v) for v in ("int64", "float32", "x", 3, None, "string", {"name": "x"})},
    **{f"fill {v!r}": metadata("theta", "fill_value", to=v) for v in (0.0, "x", None, [1], "Infinity")},
    **{f"codecs {v!r}": metadata("theta", "codecs", to=v) for v in ([], CODEC, ZSTD, [{"name": "x"}], "x", None, {})},
    **{f"scaled {v!r}": metadata("theta", "attributes", to={"scale_factor": v}) for v in (2.0, "x", None)},
    **{f"missing {v!r}": metadata("theta", "attributes", to={"_FillValue": v}) for v in (0.0, "x", 1.5)},
    "other dimensions": metadata("theta", "dimension_names", to=["link", "member"]),
    "no dimensions": metadata("theta", "dimension_names", to=None),
    "other keys": metadata("theta", "chunk_key_encoding", to={"name": "v2"}),
    "a group": metadata("theta", "node_type", to="group"),
    "format 2": metadata("theta", "zarr_format", to=2),
    "a key more": metadata("theta", "x", to=1),
    "a transformer": metadata("theta", "storage_transformers", to=[{"name": "x"}]),
    **{f"{name} {str(c)[:9]!r}": replaced(name, c) for name in ("theta/zarr.json", "done/zarr.json") for c in BAD},
    **{f"head {str(c)[:9]!r}": replaced("zarr.json", c) for c in (b"", b"[]", b"{}", b"\xff", NESTED, b'{"attributes": 3}')},
    **{f"block_size {v!r}": metadata(".", "attributes", "block_size", to=v) for v in (0, -1, 7, 16, 10**12, "8", None, [8], True)},
    **{f"scenario {str(v)!r}": metadata(".", "attributes", "scenario", to=v) for v in ("", "{}", "[]", "3", 3, '{"t_end": 3}')},
    **{f"fingerprint {v!r}": metadata(".", "attributes", "fingerprint", to=v) for v in ("", 3, None)},
    **{f"t_end {v!r}": metadata(".", "attributes", "t_end", to=v) for v in (3.0, "x", None)},
    "attributes a list": metadata(".", "attributes", to=[]),
    "format of the group": metadata(".", "zarr_format", to=2),
    "group an array": metadata(".", "node_type", to="array"),
    "consolidated": metadata(".", "consolidated_metadata", to={"kind": "inline", "must_understand": False, "metadata": {}}),
    "a key more in the head": metadata(".", "x", to=1),
    **{f"folder for {name}": folder_for(name) for name in ("zarr.json", "theta/zarr.json", "theta/c/0/0", "done/c/0")},
    **{f"pipe for {name}": pipe(name) for name in ("zarr.json", "theta/zarr.json", "theta/c/0/0", "done/c/0", "link/c/0")},
    **{f"link for {name}": linked(name, "outside/x") for name in (
        "zarr.json", "theta/zarr.json", "theta/c/0/0", "theta/c/0", "theta/c", "theta", "done", "done/c/0", "link/c/0")},
    "link to itself": linked("theta/c", "x.zarr"),
    "an array more": lambda store: shutil.copytree(store / "theta", store / "more"),
    "a folder more": lambda store: (store / "more").mkdir(),
    "a text more": replaced("notes.txt", b"mine"),
    "a hidden text more": replaced(".hidden", b"mine"),
    "deep folders": lambda store: (store / "theta" / "/".join("x" * 40)).mkdir(parents=True),
}  # fmt: skip


@attack("the right numbers, or refused in a sentence; nothing outside is touched", full=len(TAMPERED), sample=5)
def tampered_stores(k: int, folder: Path) -> None:
    name = list(TAMPERED)[k * 29 % len(TAMPERED)]
    store = copied(folder)
    (folder / "outside").mkdir()
    (folder / "outside" / "kept.partial").write_bytes(b"mine")
    TAMPERED[name](store)
    begun = time.perf_counter()
    held(store)
    assert time.perf_counter() - begun < 60.0, name
    assert [path.name for path in (folder / "outside").iterdir()] == ["kept.partial"], name
    assert {path.name for path in folder.iterdir()} == {"outside", "x.zarr"}, name


# Processes that are killed, and disks that are full -------------------------------------------------------------------


def forked(work: Callable[[], Any], seconds: float | None = None) -> int:
    """Do work in a process of its own, killed after so many seconds; return its exit code. Compiled functions are there already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12: a process with threads may not like to fork
        child = os.fork()
    if not child:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            code = work() or 0
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@functools.cache
def duration() -> float:
    """Return how long the ensemble of the killed processes takes."""
    prepared()
    expected(20.0)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        assert forked(lambda: simulate_many(**arguments(20.0), store=Path(folder) / "x.zarr") and 0) == 0
        return time.perf_counter() - begun


@attack("the same call completes it, to the last bit", full=100, sample=1)
def ensembles_killed_at_any_moment(k: int, folder: Path) -> None:
    store = folder / "x.zarr"
    moment = duration() * ((k * 37 % 100) / 100 if k % 2 else 0.2 * (k * 37 % 100) / 100)
    forked(lambda: simulate_many(**arguments(20.0), store=store) and 0, moment)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert told(simulate_many(**arguments(20.0), store=store)) == expected(20.0)
    empty = [path for path in folder.iterdir() if path != store and any(path.iterdir())]
    assert not empty, f"left behind: {empty}"
    assert not list(store.rglob("*.partial"))


@attack("exit by StoreError; finished blocks stay, and the same call completes it", full=30, sample=1)
def disks_full_while_a_block_is_written(k: int, folder: Path) -> None:
    """A limit on the size of files stands for the disk: chunks of 132 bytes (theta, omega) do not fit, at some block on."""
    from nlink.ensemble.store import StoreError, Writer

    store, after = copied(folder), k % 11
    for i in range(after + 1, MEMBERS // BLOCK):
        for name in ("done", *FILES):
            path = store / name / "c" / str(i)
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in store.rglob("c/*") if path.is_file()}

    def limited() -> int:
        take = Writer.take

        def full(writer: Any, block: Any, found: Any) -> Any:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
            return take(writer, block, found)

        Writer.take = full  # type: ignore[method-assign]
        try:
            simulate_many(**arguments(), store=store)
        except StoreError as error:
            return 5 if "cannot write" in str(error) and "the same call goes on" in str(error) else 1
        return 2

    assert forked(limited) == 5
    assert all(path.stat().st_mtime_ns == at for path, at in before.items())
    assert told(simulate_many(**arguments(), store=store)) == expected()


LONG = {"t_end": 1.0, "save": 0.1, "integrator": "DOP853(rtol=1e-12, atol=1e-12)"}


def long_run(path: Path) -> Any:
    """Run to a file that is committed after each few steps."""
    loop.CHUNK_SECONDS, loop.FIRST_WORK, streaming.SECONDS, streaming.SHARE = 0.0, 0, 0.0, 0
    return simulate(Chain.uniform(3), [1.5, 3.0, 1.5], [0.0, 8.0, 0.0], events=[nlink.Flip()], file=path, **LONG)


@functools.cache
def whole_run() -> tuple[Any, float]:
    """Return the run that was not killed, and how long it takes."""
    simulate(Chain.uniform(3), [1.5, 3.0, 1.5], [0.0, 8.0, 0.0], events=[nlink.Flip()], **LONG)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        begun = time.perf_counter()
        assert forked(lambda: long_run(path) and 0) == 0
        return nlink.load(path), time.perf_counter() - begun


@attack("the committed part loads, and resumes to the last bit", full=60, sample=1)
def runs_killed_at_any_moment(k: int, folder: Path) -> Measure | None:
    run, seconds = whole_run()
    path = folder / "run.nc"
    forked(lambda: long_run(path) and 0, seconds * (k * 37 % 60) / 60)
    if not path.exists() and not (folder / "run.nc.part").exists():
        return None  # killed before anything was committed
    begun = time.perf_counter()
    found = nlink.load(path)
    if found.status.code != "finished":
        found = found.resume(file=path, events=[nlink.Flip()])
    taken = time.perf_counter() - begun
    for name in ("t", "theta", "omega", "alpha", "kinetic", "potential", "drift"):
        np.testing.assert_array_equal(getattr(found, name), getattr(run, name), err_msg=name)
    assert [(e.t, e.info) for e in found.events] == [(e.t, e.info) for e in run.events]
    np.testing.assert_array_equal(found.checkpoint.state, run.checkpoint.state)
    return Measure(taken)
