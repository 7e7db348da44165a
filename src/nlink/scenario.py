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
                                    # of a slider theta is in m, omega in m/s, or a text like "20 cm"

    [run]
    t_end = 20.0
    save = 0.01
    formulation = "recursive"
    integrator = "DOP853(rtol=1e-9)"

With space = true the links move in space; `models/space.py` and `models/space_starts.py` have the keys.

A model is a Mechanism if a body says of its joint, or if something is held or acts at points:

    floating = true                 # two massless sliders carry the first link

    [[links]]
    kind = "slider"                 # or "link"
    mass = 2.0
    direction = "90 deg"            # or rad, from +x on the ground, from the left normal of a parent
    parent = -1                     # the body it hangs on, from 0; -1 is the ground; if not given the one before
    at = [0.0, 1.0]                 # along and left of the parent, one number along it, or x and y on the ground
    motion = { amplitude = 0.02, frequency = 40.0 }  # or { start, rate }, { times, values }; a list of them is their sum

    [[pins]]                        # kind = "pin" if not said; "guide": point, through, direction; "distance": a, b, length;
    a = { link = 2 }                # "gear": i, j, ratio, offset; a point of a body: along and left, its tip if not given
    b = [3.0, 0.0]                  # a point of the ground

    [[loads.point_spring]]          # a, b, stiffness, length, damping; point_force: point, fx, fy
"""

from __future__ import annotations

import importlib.resources
import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlink._support import checks
from nlink._support.checks import ModelError
from nlink._support.endings import MODEL, check_ending
from nlink._support.files import written_whole
from nlink._support.lazy import shown_by
from nlink._support.modelfile import read_model as read_model
from nlink._support.modelfile import tables
from nlink._support.records import MOST_LETTERS
from nlink._support.showing import short
from nlink.mechanics.chain import Multibody
from nlink.mechanics.space.refusals import refuse_space
from nlink.models.loads import LostFunction as LostFunction
from nlink.models.space import KEYS as SPACE_KEYS
from nlink.models.starts import read_start, stated, warn_of_degrees, write_start
from nlink.models.systems import LINK_KEYS, read_system, system_keys, write_system
from nlink.models.tables import table_of

if TYPE_CHECKING:
    from nlink.run.run import Run
    from nlink.view.live_page import LivePage

FLIPS = ("record", "stop", "off")
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
        checks.set_checked(self, checks.number, "t_end", where="run")
        checks.set_checked(self, checks.number_or_each, "save", where="run", above=None if checks.listed(self.save) else 0)
        checks.set_checked(self, checks.number, "rtol", "atol", where="run", above=0)
        checks.choice("run.flips", self.flips, FLIPS)
        for name in ("formulation", "integrator"):
            if isinstance(getattr(self, name), str):
                checks.line(f"run.{name}", getattr(self, name), MOST_LETTERS)


@short
@dataclass(frozen=True)
class Scenario:
    """A chain or a mechanism, its start angles (rad, up to 1e9) and rates (rad/s), and the settings of its run.

    Of sliders theta has displacements in m, omega speeds in m/s; joints with a prescribed motion begin as that says. Of a chain in
    space theta is its pose and omega its angular velocities, both kept as rows of numbers, an entry for each link; it has no flips.

    The lines of a title become one, of up to 1,000 letters.

    >>> from nlink import Chain
    >>> len(Scenario(Chain.uniform(2), theta=(0.5, 0.5), settings=Settings(t_end=1.0)).run().t)
    101
    """

    chain: Multibody
    theta: tuple[Any, ...]
    omega: tuple[Any, ...] | float = 0.0
    settings: Settings = Settings()
    title: str = ""

    def __post_init__(self) -> None:
        for name, values in zip(("theta", "omega"), stated(self.chain, self.theta, self.omega), strict=True):
            object.__setattr__(self, name, values)
        if self.chain.spatial and self.settings.flips != "off":
            if self.settings.flips == "stop":
                refuse_space("run.flips", self.chain)
            object.__setattr__(self, "settings", replace(self.settings, flips="off"))
        if isinstance(self.title, str) and self.title.splitlines() != [self.title]:
            object.__setattr__(self, "title", " ".join(self.title.split()))
        checks.line("title", self.title)

    @classmethod
    def of_checked(cls, chain: Multibody, theta: tuple[Any, ...], omega: tuple[Any, ...], settings: Settings) -> Scenario:
        """Return a scenario of a start that has been checked before, with settings that suit the chain."""
        made = object.__new__(cls)
        made.__dict__.update(chain=chain, theta=theta, omega=omega, settings=settings, title="")
        return made

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
        try:
            table = read_model(path)
        except FileNotFoundError:
            remedy = f"; it is a preset: preset({str(path)!r})" if str(path) in presets() else ""
            raise FileNotFoundError(f"there is no model file {path}{remedy}") from None
        scenario = cls.from_dict(table, where=str(path))
        warn_of_degrees(table, scenario.chain, str(path))
        return scenario

    @classmethod
    def from_dict(cls, table: dict[str, Any], where: str = "model") -> Scenario:
        """Build a scenario from the tables of a model file."""
        try:
            table_of(table, "the model", "the model", ("title", *system_keys(table), "start", "run"))
            chain = read_system(table)
            theta, omega = read_start(table, chain)
            settings = table_of(table.get("run", {}), "run", "[run]", [f.name for f in fields(Settings)])
            return cls(chain, theta, omega, Settings(**settings), table.get("title", ""))
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as the tables of a model file, explicit in every value."""
        settings = {f.name: _setting(getattr(self.settings, f.name)) for f in fields(Settings)}
        system = write_system(self.chain)
        bodies = {key: system.pop(key) for key in dict.fromkeys(("links", *LINK_KEYS, *SPACE_KEYS)) if key in system}
        run = {key: value for key, value in settings.items() if value is not None}
        start = write_start(self.chain, self.theta, self.omega)
        return {"title": self.title, **system, "start": start, "run": run, **bodies}

    def to_toml(self) -> str:
        """Return the scenario as the text of a model file."""
        import tomli_w

        return f"{SAVED}\n{tomli_w.dumps(self.to_dict())}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scenario as a model file (TOML), whole or not at all."""
        check_ending("a model file", Path(path), (MODEL,))
        with written_whole(Path(path), SAVED) as temporary:
            temporary.write_text(self.to_toml(), encoding="utf-8")


def presets() -> list[str]:
    """Return the names of the presets."""
    folder = importlib.resources.files("nlink") / "presets"
    names = [file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")]
    return sorted(names, key=lambda name: [part.zfill(4) if part.isdigit() else part for part in name.replace("-", " - ").split()])


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


def _setting(value: Any) -> Any:
    return value if value is None or isinstance(value, float | str) else list(value) if isinstance(value, tuple) else repr(value)
