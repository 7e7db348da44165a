"""RunWriter: a run file that grows while the run goes on, and can be read at any moment, also after a kill.

The file is netCDF4, in HDF5's mode for one writer and many readers (SWMR): what was flushed stays readable whatever happens to
the writer. Until the run is done it stands beside its place as NAME.part, locked by the process that writes it; then it is renamed.

Saved points, steps and events are only ever appended. After them a line of JSON goes into the variable `log`: how many of each
there are, the status, what it cost, and which of two slots holds the state from which the run goes on. The last whole line counts.
The last line of a finished file also has the checksum of all data.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nlink._support.endings import NUMBERS, RUN, check_ending
from nlink._support.files import UNFINISHED, discard, hidden, hold, own, put_in_place, real, refuse_foreign
from nlink._support.version import __version__
from nlink.mechanics.chain import Multibody
from nlink.mechanics.mechanism import Mechanism
from nlink.run.readout import IN_PLANE, IN_SPACE, EventRecord, knot_names, motion_names
from nlink.run.run import Checkpoint, Run, Stats, Status
from nlink.scenario import Scenario

if TYPE_CHECKING:
    import h5py

FORMAT, FORMAT_OF_MECHANISMS, FORMAT_OF_CHAINS = 4, 3, 2
"""Runs of chains and mechanisms in the plane are written so that an earlier nlink reads them, too; those in space are new."""
CHUNK = 8_192
"""Numbers in a chunk of the file, unless a row has more."""
MOTION = {
    "theta": ("rad", "absolute angle from straight down, counter-clockwise"),
    "omega": ("rad/s", "angular velocity"),
    "alpha": ("rad/s^2", "angular acceleration"),
}
OF_SLIDERS = {
    "theta": "absolute angle of a link from straight down in rad; displacement of a slider in m",
    "omega": "angular velocity of a link in rad/s; speed of a slider in m/s",
    "alpha": "angular acceleration of a link in rad/s^2; acceleration of a slider in m/s^2",
}
"""What these are if some bodies slide; they have no single unit then."""
OF_SPACE = {
    "position": ("", "coordinates, link by link: a direction (x, y, z), a rotation (w, x, y, z), or the angles of a joint in rad"),
    "velocity": ("1/s", "rates of the coordinates"),
    "acceleration": ("1/s^2", "second derivatives of the coordinates"),
}


class Variable(NamedTuple):
    """A variable of the file: its dimensions, unit, meaning and type, and whether a run may lack it."""

    dimensions: tuple[str, ...]
    units: str
    meaning: str
    dtype: str = "f8"
    optional: bool = False

    @property
    def attributes(self) -> dict[str, str]:
        """The unit and the meaning as attributes of netCDF."""
        return ({"units": self.units} if self.units else {}) | {"long_name": self.meaning}


VARIABLES = {
    "time": Variable(("time",), "s", "time"),
    **{name: Variable(("time", "link"), *text) for name, text in MOTION.items()},
    **{name: Variable(("time", "coordinate"), *text) for name, text in OF_SPACE.items()},
    "kinetic": Variable(("time",), "J", "kinetic energy"),
    "potential": Variable(("time",), "J", "potential energy of gravity and springs"),
    "violation": Variable(("time",), "", "distance from the constraints"),
    "pin_force": Variable(("time", "axis"), "N", "force of the pin on the last tip", optional=True),
    "knot": Variable(("knot",), "s", "times of the integrator's steps"),
    **{
        f"knot_{name}": Variable(("knot", dimension), unit, f"{text}, at the integrator's steps")
        for dimension, motion in (("link", MOTION), ("coordinate", OF_SPACE))
        for name, (unit, text) in motion.items()
    },
    "event_time": Variable(("event",), "s", "times of the events"),
    "event_theta": Variable(("event", "link"), "rad", "angles at the events"),
    "event_omega": Variable(("event", "link"), "rad/s", "rates at the events"),
    "event_position": Variable(("event", "coordinate"), "", "coordinates at the events"),
    "event_velocity": Variable(("event", "coordinate"), "1/s", "rates of the coordinates at the events"),
    "event_text": Variable(("sign",), "", "names and details of the events, a line of JSON each", "u1"),
    "link": Variable(("link",), "", "link, counted from the pivot", "i8"),
    "coordinate": Variable(("coordinate",), "", "coordinate, counted from the first link", "i8"),
    "kind": Variable(("link",), "", "what the body is: 0 a link, 1 a slider", "u1", optional=True),
    "checkpoint": Variable(
        ("slot", "part", "state"), "", "two slots of a state, and its rates, from which the run goes on", optional=True
    ),
    "log": Variable(("letter",), "", "what the run says of itself, lines of JSON; the last one counts", "u1"),
}
"""What a run file holds, in the plane or in space, but for the work of the loads."""


def known_names(spatial: bool) -> list[str]:
    """Return the names of the variables that a run in space, or in the plane, may hold, but for the work of the loads."""
    others = IN_PLANE if spatial else (*IN_SPACE, "coordinate")
    return [name for name in VARIABLES if name.removeprefix("knot_").removeprefix("event_") not in others]


class RunFileError(OSError):
    """A run file that cannot be read or written; the message says why."""


def variable(name: str, sliders: bool = False) -> Variable:
    """Return what a variable of the file is, with or without sliders; those that the table does not have are the work of a load."""
    work = Variable(("time",), "J", f"work done by {name.removeprefix('work_').replace('_', ' ')}", optional=True)
    found, motion = VARIABLES.get(name, work), name.removeprefix("knot_").removeprefix("event_")
    return found._replace(units="", meaning=OF_SLIDERS[motion]) if sliders and motion in OF_SLIDERS else found


def attributes(scenario: Scenario, meta: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a run file: format, title, and one JSON text with the scenario and where it came from."""
    kind = "mechanism" if isinstance(scenario.chain, Mechanism) else "chain"
    title = scenario.title or f"{scenario.chain.n}-link {kind}"
    text = json.dumps({"scenario": scenario.to_dict(), "meta": meta})
    version = FORMAT_OF_MECHANISMS if isinstance(scenario.chain, Mechanism) else FORMAT_OF_CHAINS
    version = FORMAT if scenario.chain.spatial else version
    return {"title": title, "nlink_format": version, "nlink_version": __version__, "nlink": text}


def event_names(chain: Multibody) -> dict[str, str]:
    """Return the names of times, coordinates and rates of events in a file, and the fields that hold them."""
    position, velocity, _ = motion_names(chain)
    return {"event_time": "t", f"event_{position}": "position", f"event_{velocity}": "velocity"}


def event_columns(events: list[EventRecord], names: dict[str, str]) -> dict[str, np.ndarray]:
    """Return times, coordinates and rates of events: name in the file -> values."""
    return {name: np.array([getattr(event, field) for event in events], float) for name, field in names.items()}


def part_name(path: Path) -> Path:
    """Return the name under which a run is written until it is done."""
    return path.with_name(path.name + ".part")


class Claim:
    """The place of a run that is being made: held by this process from before the first compilation on, by a lock beside it.

    Another process, or a second run of this one, that wants the same place is refused at once.
    """

    def __init__(self, path: str | os.PathLike[str], going_on: bool) -> None:
        self.path = real(path)
        if not self.path.is_dir():  # which has a message of its own
            check_ending("the file of a run", Path(path), (RUN,), NUMBERS)
        self._file = self.path.with_name(f".{self.path.name}.nlink-lock")
        _refuse_place(self.path)
        try:
            self._lock = self._locked()
        except BlockingIOError:
            raise RunFileError(f"{path} is being written by another process; wait for it to end, or give another file") from None
        except OSError as error:
            raise RunFileError(f"cannot write {path}: {error.strerror}") from None
        part = part_name(self.path)
        if part.exists() and not (going_on and own(part)):
            self.__exit__()
            held = "holds a run that was cut off; resume it, or delete that file to begin anew"
            raise RunFileError(f"{part} {held if own(part) else 'is there already and nlink did not make it; give another file'}")

    def _locked(self) -> int:
        """Make the lock and take it; again, if the process that held it removed it meanwhile."""
        while True:
            os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o666))
            with contextlib.suppress(FileNotFoundError):
                lock = hold(self._file)
                if os.path.samestat(os.fstat(lock), self._file.stat()):
                    UNFINISHED.add(self._file)
                    return lock
                os.close(lock)

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go."""
        discard(self._file)
        os.close(self._lock)


def _refuse_place(path: Path) -> None:
    """Refuse a place where a run cannot be written, or where something stands that is not nlink's."""
    if not path.parent.is_dir():
        raise RunFileError(
            f"cannot write {path}: No such file or directory; there is no folder {path.parent}; make it, or give another name"
        )
    try:
        refuse_foreign(path)
    except OSError as error:
        raise RunFileError(str(error)) from None


class RunWriter:
    """A run file being written.

    Parameters
    ----------
    path : where the run will be when it is done
    scenario, meta : what was asked for, and where the run comes from
    size : number of numbers in a checkpoint's state (0: it has none)
    columns : names of the variables over time
    points : most points that will be saved
    """

    def __init__(self, path: Path, scenario: Scenario, meta: dict[str, Any], size: int, columns: list[str], points: int) -> None:
        import h5py

        self.path, self.attributes, self.commits = real(path), attributes(scenario, meta), 0
        self._event_names = event_names(scenario.chain)
        names = (*columns, *knot_names(scenario.chain), *self._event_names, "event_text")
        self.sums = {name: hashlib.sha256() for name in names}
        _refuse_place(self.path)
        self._file: Any = None
        self._failed = self.whole = False
        self._unflushed: set[str] = set()
        self._lock: int | None = None
        with self._told():
            self.part, self._lock = hidden(self.path)
        try:
            with self._told():
                self.part.write_bytes(self._image(scenario.chain, size, names, points))
                self._file = h5py.File(self.part, "r+", libver="latest", locking=False)
                self._file.swmr_mode = True  # one writer, many readers
                self._data = datasets(self._file)  # held open: closing writes, and hides what fails
        except BaseException:
            self.leave()
            raise

    def publish(self) -> None:
        """Let the file be seen, as the part of its name; until then it is hidden."""
        with self._told():
            os.replace(self.part, part_name(self.path))
            UNFINISHED.discard(self.part)
            self.part = part_name(self.path)

    def append(self, columns: dict[str, np.ndarray]) -> None:
        """Append rows to variables: name -> values."""
        with self._told():
            for name, values in columns.items():
                values = np.ascontiguousarray(values)
                self._extend(name, values)
                self.sums[name].update(values.data.cast("B") if values.size else b"")

    def append_events(self, events: list[EventRecord]) -> None:
        """Append events."""
        if events:
            lines = "".join(json.dumps({"name": e.name, "info": e.info}) + "\n" for e in events)
            columns = event_columns(events, self._event_names)
            self.append(columns | {"event_text": np.frombuffer(lines.encode(), np.uint8)})

    def commit(self, status: Status, stats: Stats, point: Checkpoint | None, **more: float | None) -> None:
        """Bring all that was appended to the file, and then the line that makes it count."""
        with self._told():
            table = None
            if point is not None:
                slot, both = self.commits % 2, np.stack([point.state, point.rates])
                self._data["checkpoint"][slot] = both
                self._data["checkpoint"].flush()
                names = ("t", "step", "origin", "count", "thinning")
                table = {name: getattr(point, name) for name in names} | {"slot": slot, "crc": zlib.crc32(both.data)}
            for name in self.sums.keys() & self._unflushed:
                self._data[name].flush()
            self._unflushed.clear()
            counts = {name: len(self._data[f"{name}_time" if name == "event" else name]) for name in ("time", "knot", "event")}
            line = {"counts": counts, "status": status._asdict(), "stats": stats._asdict(), "checkpoint": table, **more}
            self._log(line)
            self.commits += 1

    def finish(self, status: Status, stats: Stats, point: Checkpoint | None, **more: float | None) -> Run:
        """Commit for the last time, with the checksum; give the file its name once it has been read back; return the run read."""
        from nlink.run.file import opened  # it needs the writer, too

        self.commit(status, stats, point, **more)
        with self._told():
            digests = {name: [list(self._data[name].shape), total.hexdigest()] for name, total in self.sums.items()}
            self._log({**self._last, "checksum": checksum(self.attributes["nlink"], self._last, digests)})
            self._file.flush()
            self._file.close()
        run, self.whole = opened(self.part, self.path, made_here=True), True
        with self._told("; the run is whole all the same, in {part}"):
            put_in_place(self.part, self.path)
        self._release()
        return run

    def leave(self, remove: bool = False) -> None:
        """Stop writing; what was committed stays in the part, unless it is to be removed or was never to be seen."""
        self._shut()
        discard(self.part)
        if remove:
            self.part.unlink(missing_ok=True)
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None

    def _shut(self) -> None:
        """Close the file, whatever state the disk is in.

        HDF5 does not survive a write that fails when it closes a file: it tries again at the exit, and crashes. What is on the disk
        is what was committed, as after a kill; what HDF5 still wants to write goes to nowhere.
        """
        if not self._file:
            return
        with contextlib.suppress(OSError, RuntimeError):
            if not self._failed:
                self._file.flush()
                self._file.close()
                return
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, self._file.id.get_vfd_handle())
        os.close(nowhere)
        with contextlib.suppress(OSError, RuntimeError):
            self._file.close()

    def _image(self, chain: Multibody, size: int, names: tuple[str, ...], points: int) -> bytes:
        """Return the bytes of the file as it is before the first point: made in memory, so that HDF5 meets no full disk."""
        import h5py

        kinds, coordinates = tuple(chain.slides.tolist()), chain.size if chain.spatial else 0
        image = io.BytesIO(empty(kinds, coordinates, size, names, min(points, CHUNK)))
        with h5py.File(image, "r+", libver="latest") as file:
            file.attrs.update(self.attributes)
        return image.getvalue()

    def _extend(self, name: str, values: np.ndarray) -> None:
        """Append rows to a variable by the functions of HDF5 itself: h5py's arrays take four times as long."""
        import h5py

        if not len(values):
            return
        data = self._data[name].id
        begin, *row = data.shape
        data.set_extent((begin + len(values), *row))
        place = data.get_space()
        place.select_hyperslab((begin, *(0 for _ in row)), values.shape)
        data.write(h5py.h5s.create_simple(values.shape), place, values)
        self._unflushed.add(name)

    def _log(self, line: dict[str, Any]) -> None:
        self._last = line
        self._extend("log", np.frombuffer((json.dumps(line) + "\n").encode(), np.uint8))
        self._data["log"].flush()

    @contextlib.contextmanager
    def _told(self, rest: str = "") -> Iterator[None]:
        """Turn what the system or HDF5 says of a write that failed into one sentence; write nothing more."""
        try:
            yield
        except RunFileError:
            raise
        except (OSError, RuntimeError) as error:
            self._failed = True
            self._shut()
            raise RunFileError(f"cannot write {self.path}: {_reason(error)}{rest.format(part=self.part)}") from None


@functools.lru_cache(maxsize=8)
def empty(slides: tuple[bool, ...], coordinates: int, size: int, names: tuple[str, ...], points: int) -> bytes:
    """Return the bytes of a file of these variables without values and attributes, for bodies that slide or do not, or in space
    for so many coordinates; h5netcdf takes 20 ms for it, so that they are kept for the next runs of the kind.
    """
    import h5netcdf

    n, sliders = len(slides), any(slides)
    sizes = {"time": None, "link": n, "axis": 2, "knot": None, "event": None, "sign": None, "letter": None}
    sizes |= {"coordinate": coordinates} if coordinates else {}
    sizes |= {"slot": 2, "part": 2, "state": size} if size else {}
    image = io.BytesIO()
    with h5netcdf.File(image, "w", libver="latest") as file:
        file.dimensions = {dim: size for dim, size in sizes.items() if dim != "axis" or "pin_force" in names}
        file.create_variable("link", ("link",), data=np.arange(1, n + 1)).attrs.update(variable("link").attributes)
        if coordinates:
            numbers, attributes = np.arange(1, coordinates + 1), variable("coordinate").attributes
            file.create_variable("coordinate", ("coordinate",), data=numbers).attrs.update(attributes)
        if sliders:
            file.create_variable("kind", ("link",), data=np.array(slides, np.uint8)).attrs.update(variable("kind").attributes)
        for name in (*names, "log", *(["checkpoint"] if size else [])):
            each = variable(name, sliders)
            first, *rest = each.dimensions
            row = [sizes[dim] for dim in rest]
            most = 4096 if each.dtype == "u1" else 1 if name == "checkpoint" else points if first == "time" else 128
            chunks = (max(1, min(most, CHUNK // int(np.prod(row)))), *row)
            file.create_variable(name, each.dimensions, each.dtype, chunks=chunks).attrs.update(each.attributes)
    return image.getvalue()


def datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Return the variables of a file that this process has made, by name; `file[name]` takes twice as long."""
    import h5py

    names = [name.decode() for name in file.id]
    return {name: h5py.Dataset(h5py.h5d.open(file.id, name.encode())) for name in names}


def _reason(error: Exception) -> str:
    """Return why a write failed, in the words of the system, also where HDF5 wraps them."""
    code = re.search(r"errno = (\d+)", str(error))
    number = int(code[1]) if code else getattr(error, "errno", None)
    return os.strerror(number) if number else " ".join(str(error).split())[:200]


def checksum(text: str, line: dict[str, Any], digests: dict[str, list[Any]]) -> str:
    """Return the SHA-256 of the JSON text, the last line without its checksum, and shape and SHA-256 of each variable."""
    return hashlib.sha256(json.dumps([text, line, dict(sorted(digests.items()))]).encode()).hexdigest()
