"""Scenario = chain + start + settings: what a model file (TOML) holds and `nlink run` runs.

A model file, every key but `links` optional:

    title = "Three rods"
    links = 3                       # equal links: a number; unequal ones: [[links]] tables
    length = 1.0                    # one number, or one for each link
    mass = [1.0, 1.0, 2.0]
    shape = "rod"                   # or "point"; com, inertia, offset replace what the shape gives

    [loads]                         # gravity is 9.81 unless said
    joint_spring = 1.0              # the load's first value, or a table of its values
    joint_torque = { amplitude = 1.0, frequency = 0.5 }

    [pin]                           # the last tip is held here: a closed loop
    x = 1.0
    y = 0.0

    [start]                         # or start = "zigzag"
    shape = "line"                  # line (at `angle`), zigzag, hanging; or theta = ["90 deg", 0.5]
    angle = 45
    unit = "deg"                    # of angle, theta, drive and omega where they are numbers; default "rad"
    omega = 0.0                     # with a pin: zigzag (along the line to it), or drive = 90 and branch = "open" or "crossed"

    [run]
    t_end = 20.0
    save = 0.01
    formulation = "recursive"
    integrator = "DOP853(rtol=1e-9)"
"""

from __future__ import annotations

import importlib.resources
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlink._support import checks
from nlink._support.checks import ModelError
from nlink._support.endings import MODEL, check_ending
from nlink._support.files import written_whole
from nlink._support.lazy import shown_by
from nlink._support.modelfile import read_model, tables
from nlink._support.records import MOST_LETTERS
from nlink._support.showing import short
from nlink.mechanics import loop_closure
from nlink.mechanics.chain import LINK, MOST_LINKS, Chain, Link, Multibody
from nlink.mechanics.loads import LOADS, Gravity, JointTorque, Load, Sine, Table

if TYPE_CHECKING:
    from nlink.run.run import Run
    from nlink.view.live_page import LivePage

LINK_KEYS = ("length", "mass", "shape", "com", "inertia", "offset")
START_KEYS = ("shape", "angle", "theta", "drive", "branch", "omega", "unit")
FLIPS = ("record", "stop", "off")
SHAPES = ("line", "zigzag", "hanging")
UNITS = {"deg": math.pi / 180, "rad": 1.0}
RATES = {f"{name}/s": unit for name, unit in UNITS.items()}
SAVED = "# A model of nlink"
"""The first line of a model file that nlink has written."""


@short
@dataclass(frozen=True)
class Settings:
    """How a scenario is run.

    Parameters
    ----------
    t_end : s; negative runs backwards
    save : interval in s between saved points, or a tuple of times
    formulation, integrator : a name, a text like "RK4(step=0.001)" or a record; integrator None lets nlink choose
    rtol, atol : tolerances of an adaptive integrator given by name
    flips : "record" every link that turns over, "stop" at the first, or "off"
    """

    t_end: float = 20.0
    save: float | tuple[float, ...] = 0.01
    formulation: Any = "recursive"
    integrator: Any = None
    rtol: float = 1e-9
    atol: float = 1e-9
    flips: str = "record"

    def __post_init__(self) -> None:
        object.__setattr__(self, "t_end", checks.number("run.t_end", self.t_end))
        positive = None if checks.listed(self.save) else 0
        object.__setattr__(self, "save", checks.number_or_each("run.save", self.save, above=positive))
        for name in ("rtol", "atol"):
            object.__setattr__(self, name, checks.number(f"run.{name}", getattr(self, name), above=0))
        checks.choice("run.flips", self.flips, FLIPS)
        for name in ("formulation", "integrator"):
            if isinstance(getattr(self, name), str):
                checks.line(f"run.{name}", getattr(self, name), MOST_LETTERS)


@short
@dataclass(frozen=True)
class Scenario:
    """A chain, its start angles (rad, up to 1e9) and rates (rad/s), and the settings of its run.

    The lines of a title become one, of up to 1,000 letters.

    >>> len(Scenario(Chain.uniform(2), theta=(0.5, 0.5), settings=Settings(t_end=1.0)).run().t)
    101
    """

    chain: Multibody
    theta: tuple[float, ...]
    omega: tuple[float, ...] | float = 0.0
    settings: Settings = Settings()
    title: str = ""

    def __post_init__(self) -> None:
        for name, check in (("theta", checks.angle_or_each), ("omega", checks.number_or_each)):
            value = check(name, getattr(self, name))
            object.__setattr__(self, name, checks.spread(name, value, self.chain.n, "links"))
        if isinstance(self.title, str) and self.title.splitlines() != [self.title]:
            object.__setattr__(self, "title", " ".join(self.title.split()))
        checks.line("title", self.title)

    def run(self, **options: Any) -> Run:
        """Simulate the scenario and return its Run; `options` go to `simulate` (file, progress, strict, events)."""
        from nlink.simulation.integrate import simulate_scenario  # the loop stands behind: see the layers

        return simulate_scenario(self, **options)

    @shown_by("live_page.live_page")
    def live(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        copies: int = 0,
        difference: float = 1e-3,
        theme: str | None = None,
    ) -> LivePage | Path:
        """Return a page that simulates the scenario in any browser, up to 8 links, or write it to `path` (.html) and return that.

        A notebook shows the page. `copies`: number of near-copies, the first angle of each `difference` rad further.
        `theme`: light or dark; as the reader's system if not given.
        """
        ...

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Read a model file (TOML)."""
        table = read_model(path)
        scenario = cls.from_dict(table, where=str(path))
        warn_of_degrees(table, str(path))
        return scenario

    @classmethod
    def from_dict(cls, table: dict[str, Any], where: str = "model") -> Scenario:
        """Build a scenario from the tables of a model file."""
        try:
            _table(table, "the model", "the model", ("title", "links", *LINK_KEYS, "loads", "pin", "start", "run"))
            chain = _chain(table)
            theta, omega = _start(table.get("start", "zigzag" if chain.pin else "hanging"), chain)
            settings = _table(table.get("run", {}), "run", "[run]", [f.name for f in fields(Settings)])
            return cls(chain, theta, omega, Settings(**settings), table.get("title", ""))
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as the tables of a model file, explicit in every value."""
        first = self.chain.links[0]
        uniform = self.chain.links.count(first) == self.chain.n
        settings = {f.name: _setting(getattr(self.settings, f.name)) for f in fields(Settings)}
        return {
            "title": self.title,
            "loads": {load.name: _load_table(load) for load in self.chain.loads},
            **({"pin": dict(zip("xy", self.chain.pin, strict=True))} if self.chain.pin else {}),
            "start": {"theta": _short(self.theta), "omega": _short(self.omega)},
            "run": {key: value for key, value in settings.items() if value is not None},
            **({"links": self.chain.n} | _numbers(first) if uniform else {"links": [_numbers(link) for link in self.chain.links]}),
        }

    def to_toml(self) -> str:
        """Return the scenario as the text of a model file."""
        import tomli_w

        return f"{SAVED}\n{tomli_w.dumps(self.to_dict())}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scenario as a model file (TOML), whole or not at all."""
        check_ending("a model file", Path(path), (MODEL,))
        with written_whole(Path(path), SAVED) as temporary:
            temporary.write_text(self.to_toml(), encoding="utf-8")


def warn_of_degrees(table: dict[str, Any], where: str) -> None:
    """Warn of start angles of a model that look like degrees, but have no unit."""
    start = table.get("start")
    if not isinstance(start, dict) or "unit" in start:
        return
    for key in ("theta", "angle", "drive"):
        value = start.get(key, 0.0)
        numbers = [each for each in (value if checks.listed(value) else [value]) if not isinstance(each, str)]
        checks.warn_of_degrees(f"{where}: start.{key}", numbers, "unit = 'deg'")


def presets() -> list[str]:
    """Return the names of the presets."""
    folder = importlib.resources.files("nlink") / "presets"
    names = [file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")]
    return sorted(names, key=lambda name: [int(part) if part.isdigit() else part for part in name.replace("-", " - ").split()])


def preset_table(name: str) -> dict[str, Any]:
    """Return the tables of a preset's model file."""
    names = presets()
    if name not in names:
        raise ModelError(f"there is no preset {checks.shown(name)}{checks.nearest(name, names)}; presets: {', '.join(names)}")
    return tables((importlib.resources.files("nlink") / "presets" / f"{name}.toml").read_text(encoding="utf-8"), name)


def preset(name: str) -> Scenario:
    """Return the preset of this name.

    >>> preset("nice-3").chain.n
    3
    """
    return Scenario.from_dict(preset_table(name), where=name)


def _chain(table: dict[str, Any]) -> Chain:
    links = table.get("links")
    if links is None:
        raise ModelError("the model has no 'links'; give their number (links = 3) or [[links]] tables")
    if isinstance(links, list):
        extra = [key for key in LINK_KEYS if key in table]
        if extra:
            raise ModelError(f"{extra[0]} belongs inside the [[links]] tables when links are given one by one")
        if not links:
            raise ModelError("links must not be an empty list")
        made = tuple(_link(f"links[{i}]", row) for i, row in enumerate(links))
    else:
        n = checks.whole("links", links, most=MOST_LINKS)
        values = {key: tuple(table[key]) if checks.listed(table[key]) else table[key] for key in LINK_KEYS if key in table}
        columns = {key: checks.spread(key, value, n, "links") for key, value in values.items()}
        same = not any(isinstance(value, tuple) for value in values.values())
        made = tuple(_link(f"links[{i}]", {key: column[i] for key, column in columns.items()}) for i in range(1 if same else n))
        made = made * n if same else made
    loads = _table(table.get("loads", {}), "loads", "[loads]", LOADS)
    return Chain(made, tuple(_load(name, value) for name, value in loads.items()), _pin(table.get("pin")))


def _pin(value: Any) -> Any:
    """Read a pin: a table of x and y, or a list of both."""
    if not isinstance(value, dict):
        return value
    _table(value, "pin", "[pin]", "xy")
    return tuple(checks.number(f"pin.{key}", value.get(key, 0.0)) for key in "xy")


def _link(where: str, row: Any) -> Link:
    _table(row, where, where, LINK_KEYS)
    shape = checks.choice(f"{where}.shape", row.get("shape", "rod"), ("rod", "point"))
    try:
        link = (Link.rod if shape == "rod" else Link.point)(row.get("length", 1.0), row.get("mass", 1.0))
        others = {key: row[key] for key in ("com", "inertia", "offset") if key in row}
        return replace(link, **others) if others else link
    except ModelError as error:
        raise ModelError(str(error).replace("Link.", f"{where}.", 1)) from None


def _numbers(link: Link) -> dict[str, float]:
    """Return the numbers of a link; in a chain nothing else is said of it."""
    return {name: getattr(link, name) for name in LINK}


def _load(name: str, value: Any) -> Load:
    kind = LOADS[name]
    try:
        if kind is JointTorque:
            return JointTorque(_torque(value))
        if isinstance(value, dict):
            return _record(kind, value, f"loads.{name}")
        if name == "tip_force":
            if not checks.listed(value) or len(value) != 2:
                raise ModelError(f"must be [fx, fy], got {checks.shown(value)}")
            return kind(*value)
        return kind(value)
    except ModelError as error:
        text = str(error)
        raise ModelError(text if text.startswith("loads.") else f"loads.{name}: {text}") from None


def _torque(value: Any) -> Any:
    """Read a torque: a number, a sine or a table in time, or a list of these."""
    if isinstance(value, dict) and "function" in value:
        return LostFunction(checks.line("a function's name", value["function"]))
    if isinstance(value, dict):
        kind = Table if "times" in value or "values" in value else Sine
        return _record(kind, value, "a torque", f"a {kind.__name__.lower()}")
    return [_torque(v) if isinstance(v, dict) else v for v in value] if checks.listed(value) else value


def _record(kind: Any, table: dict[str, Any], where: str, name: str = "") -> Any:
    """Make a record of a table of its fields; messages call the table `where` and the record `name`."""
    checks.known_keys(where, table, [f.name for f in fields(kind)])
    missing = [f.name for f in fields(kind) if f.name not in table and f.default is f.default_factory]
    if missing:
        raise ModelError(f"{name or where} needs {missing[0]!r}")
    return kind(**table)


@dataclass(frozen=True)
class LostFunction:
    """Stands for a torque function that a file names but cannot hold."""

    name: str

    def __call__(self, t: float) -> float:
        """Refuse: the function is not here."""
        raise ModelError(f"the torque was the function {self.name[:200]!r}, which a file cannot hold; simulate again with it")


def _load_table(load: Load) -> Any:
    table = {f.name: _plain(getattr(load, f.name)) for f in fields(load) if getattr(load, f.name) is not None}
    return next(iter(table.values())) if isinstance(load, Gravity | JointTorque) else table


def _plain(value: Any) -> Any:
    """Return a value of a load as a model file holds it."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Sine | Table):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, LostFunction):
        return {"function": value.name}
    return {"function": getattr(value, "__qualname__", type(value).__name__)} if callable(value) else value


def _short(values: Any) -> Any:
    """Return a list, or the one number that stands in all of its places."""
    first = values[0]
    same = values.count(first) == len(values) and (first != 0 or len({math.copysign(1.0, v) for v in values}) == 1)
    return first if same else list(values)


def _setting(value: Any) -> Any:
    return value if value is None or isinstance(value, float | str) else list(value) if isinstance(value, tuple) else repr(value)


def _table(value: Any, where: str, name: str, keys: Iterable[str]) -> dict[str, Any]:
    """Return a table that has no other keys than these; messages call its place `where`, and the table itself `name`."""
    if not isinstance(value, dict):
        raise ModelError(f"{where} must be a table, got {checks.shown(value)}")
    checks.known_keys(name, value, keys)
    return value


def _start(start: Any, chain: Multibody) -> tuple[tuple[float, ...], tuple[float, ...]]:
    table = _table({"shape": start} if isinstance(start, str) else start, "start", "[start]", START_KEYS)
    unit = math.pi / 180 if checks.choice("start.unit", table.get("unit", "rad"), ("rad", "deg")) == "deg" else 1.0
    omega = _each("start.omega", table.get("omega", 0.0), chain.n, unit, RATES)
    driven = "drive" in table or "branch" in table
    name = "theta" if "theta" in table else "drive" if driven else "shape"
    others = {"theta": ("shape", "angle", "drive", "branch"), "drive": ("shape", "angle"), "shape": ()}[name]
    clash = [key for key in others if key in table]
    if clash:
        raise ModelError(f"start has both {name} and {clash[0]}; give one")
    if name == "theta":
        return _each("start.theta", table["theta"], chain.n, unit), omega
    if name == "shape":
        return _shape(table, chain, unit), omega
    if "drive" not in table:
        raise ModelError("start.branch needs start.drive, the angle of the first link")
    theta = loop_closure.driven(chain, _in_radians("start.drive", table["drive"], unit), table.get("branch", "open"))
    return tuple(theta.tolist()), omega


def _each(where: str, value: Any, n: int, unit: float, units: Mapping[str, float] = UNITS) -> tuple[float, ...]:
    if isinstance(value, str) or (checks.listed(value) and any(isinstance(each, str) for each in value)):
        found = (
            _in_radians(where, value, unit, units)
            if isinstance(value, str)
            else tuple(_in_radians(f"{where}[{i}]", each, unit, units) for i, each in enumerate(value))
        )
        return checks.spread(where, found, n, "links")
    return tuple(unit * each for each in checks.spread(where, checks.number_or_each(where, value), n, "links"))


def _in_radians(where: str, value: Any, unit: float, units: Mapping[str, float] = UNITS) -> float:
    """Return an angle or a rate in rad or rad/s: a number of this unit, or a text that says its own."""
    if not isinstance(value, str):
        return unit * checks.number(where, value)
    amount, _, name = value.strip().partition(" ")
    try:
        return units[name.strip()] * checks.number(where, float(amount))
    except (KeyError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
    like = " or ".join(f"'90 {name}'" for name in units)
    raise ModelError(f"{where} must be a number, or a text like {like}, got {checks.shown(value)}")


def _shape(table: dict[str, Any], chain: Multibody, unit: float) -> tuple[float, ...]:
    shape = checks.choice("start.shape", table.get("shape", "line" if "angle" in table else "hanging"), SHAPES)
    if "angle" in table and shape != "line":
        raise ModelError(f"start.angle belongs to the shape line, got it with {shape}")
    if shape == "line":
        return (_in_radians("start.angle", table["angle"], unit) if "angle" in table else math.pi / 4,) * chain.n
    if shape == "zigzag" and chain.pin:
        return tuple(loop_closure.zigzag(chain).tolist())
    return tuple(math.pi if i % 2 else math.pi / 2 for i in range(chain.n)) if shape == "zigzag" else (0.0,) * chain.n
