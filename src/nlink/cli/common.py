"""What commands share: how models and runs are found, changed and varied, and how sizes and links are read."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlink._support.checks import MOST_TITLE, ModelError, nearest, number, printable, shown, whole
from nlink._support.endings import ANIMATIONS, ENDINGS, FORMATS, MODEL, PICTURES, RUN
from nlink._support.modelfile import DEEP, MOST_DEPTH, read_model, refuse_large, tables
from nlink.mechanics.chain import Chain
from nlink.mechanics.links import LINK
from nlink.mechanics.loads import LOADS
from nlink.mechanics.mechanism import Mechanism
from nlink.mechanics.points import At
from nlink.models.starts import warn_of_degrees
from nlink.scenario import Scenario, preset_table, presets

if TYPE_CHECKING:
    from nlink.mechanics.chain import Multibody
    from nlink.run.run import Run

DEFAULT = "chaotic-5"
"""The model of a command that is given none."""

Table = dict[str, object]
"""A table of a model file, or of JSON."""

SHORT = {
    "follower": "loads.follower_force",
    "damping": "loads.joint_damper",
    "stiffness": "loads.joint_spring",
    "gravity": "loads.gravity",
    "torque": "loads.joint_torque",
}
"""Short names of parameters; any other is named by its key in the model file."""
NUMBERED = re.compile(r"(\w+)\[(\d{1,9})\]")
"""A part of a key that names one table of a list."""
MOST_POINTS = 1_000_000


def model_table(name: str) -> tuple[str, Table]:
    """Return a short name and the tables of a preset or of a model file."""
    if name in presets() or not (name.endswith(MODEL) or Path(name).exists()):
        return name, preset_table(name)
    if name.endswith(RUN):
        model = f"its model: nlink show {name} --toml > {Path(name).stem}.toml"
        raise ModelError(f"{name} is a run, not a model; {model}; to go on with it: nlink run --resume {name} --until TIME")
    if name.endswith((*PICTURES, *ANIMATIONS)):
        raise ModelError(f"{name} is not a model file (.toml); give a preset or a model")
    return Path(name).stem, read_model(name)


def read_scenario(model: str | None, changes: Table, settings: list[str] | None) -> tuple[str, Table, Scenario]:
    """Return the short name, the tables and the scenario of a model, changed by the options of a command."""
    name, table = model_table(model or DEFAULT)
    return name, table, changed(name, table, changes, settings)


def chain_of(name: str, scenario: Scenario, what: str, remedy: str) -> Chain:
    """Return the chain of a scenario; refuse a mechanism where `what` is for chains, with what to do instead."""
    chain = scenario.chain
    if chain.spatial:
        raise ModelError(f"{name} moves in space, and {what} chains in the plane; {remedy}")
    chain = chain.as_chain() if isinstance(chain, Mechanism) else chain
    if not isinstance(chain, Chain):
        raise ModelError(f"{name} is a mechanism, and {what} chains; {remedy}")
    return chain


def changed(name: str, table: Table, changes: Table, settings: list[str] | None) -> Scenario:
    """Return the scenario of a model's tables with the values of the options put in, then those of --set.

    A title that tells of the model as it was gives way to its name and what was changed, unless it is one of the changes.
    """
    words, title = [], table.get("title")
    for key, value in changes.items():
        if value is not None:
            if key == "links" and isinstance(table.get("links"), list):
                raise ModelError(f"--links goes with uniform chains; {name} lists its links one by one")
            put(table, key, value)
            words.append(f"{key} = {value}")
    for setting in settings or []:
        key, _, text = setting.partition("=")
        if not key.strip() or not text.strip():
            raise ModelError(f"--set must read key=value, like loads.joint_spring=2.0, got {shown(setting)}")
        put(table, key.strip(), _value(text))
        words.append(f"{key.strip()} = {text.strip()}")
    told = ", ".join(word for word in words if not word.startswith("run."))
    if told and title and table.get("title") == title:
        table["title"] = printable(f"{name}, changed: {told}")[:MOST_TITLE]
    scenario = Scenario.from_dict(table, where=name)
    warn_of_degrees(table, scenario.chain, name)
    return scenario


def put(table: Table, key: str, value: object) -> None:
    """Set a value by its dotted key, like loads.joint_spring or links[1].mass."""
    *path, last = (part.strip() for part in key.split("."))
    if len(path) >= MOST_DEPTH:
        raise ModelError(f"--set {shown(key)}: {DEEP}")
    for part in path:
        inner = _inner(table, key, part)
        if part == "start" and isinstance(inner, str):
            inner = table[part] = Table(shape=inner)
        if not isinstance(inner, dict):
            raise ModelError(f"--set {shown(key)}: {shown(part)} is not a table in this model")
        table = inner
    table[last] = value


def _inner(table: Table, key: str, part: str) -> Any:
    """Return the table that one part of a key names: made if it is not there, or one of a list by its number."""
    found = NUMBERED.fullmatch(part)
    if found is None:
        return table.setdefault(part, {})
    rows, number = table.get(found[1]), int(found[2])
    if not isinstance(rows, list):
        raise ModelError(f"--set {shown(key)}: {shown(found[1])} is not a list of tables in this model")
    if number >= len(rows):
        raise ModelError(f"--set {shown(key)}: the model has {len(rows)} {found[1]}, from 0 to {len(rows) - 1}")
    return rows[number]


def _value(text: str) -> object:
    """Return the value of a text in TOML; a text that is not TOML is a word."""
    refuse_large(text, "the value of --set")
    try:
        return tables(f"value = {text}", "--set")["value"]
    except ModelError:
        return text.strip()


def load_run(path: Path, newest: bool = False) -> Run:
    """Read a run file, or say how to make one; with `newest` the run that is being written under its name, or was cut off."""
    from nlink.run import file

    if path.suffix == MODEL or (not path.exists() and str(path) in presets()):
        raise file.RunFileError(f"{path} is a model, not a run; make one with: nlink run {path}")
    return file.load(file.newest(path) if newest else path)


def titled_run(path: Path, title: str | None) -> Run:
    """Read a run file, and give the run another title."""
    run = load_run(path)
    return run if title is None else replace(run, scenario=replace(run.scenario, title=title))


def free_name(stem: str, suffix: str) -> Path:
    """Return a file name in this folder that is not taken yet."""
    path, count = Path(stem + suffix), 2
    while path.exists() or path.with_name(path.name + ".part").exists():
        path, count = Path(f"{stem}-{count}{suffix}"), count + 1
    return path


def check_folder(path: Path, what: str, option: str = "--output") -> None:
    """Refuse a file, or a name of one, where a folder is needed."""
    if path.exists() and not path.is_dir():
        raise OSError(f"{path} is a file; give a folder for the {what} with {option}")
    ending = path.suffix.lower()
    if ending in ENDINGS and not path.exists():
        form = ending[1:] if ending in PICTURES else "|".join(FORMATS)
        remedy = f" --format {form}" if what != "runs" else ""
        raise ModelError(f"{option} must be a folder for the {what}, got {path}; give {path.with_suffix('')}{remedy}")


def check_link(link: int | None, n: int) -> None:
    """Refuse a link that the chain does not have."""
    if link is not None and not 1 <= link <= n:
        raise ModelError(f"--link must be from 1 to {n}, got {link}")


def numbers_of_links(text: str, n: int) -> list[int]:
    """Return the links of a text like 1,3-5, counted from 0."""
    try:
        ends = [tuple(map(int, part.split("-"))) for part in text.split(",")]
        chosen = [link for end in ends for link in range(end[0], end[-1] + 1)] if all(len(end) < 3 for end in ends) else []
    except ValueError:
        chosen = []
    if not chosen or not 1 <= min(chosen) <= max(chosen) <= n:
        raise ModelError(f"--links must be links from 1 to {n}, like 1 or 1,3-5, got {shown(text)}")
    return [link - 1 for link in chosen]


def point_of(text: str, n: int) -> At:
    """Return the point of a text like 2 (the tip of link 2), 2,0.5 or 2,0.5,0.1: along the link and to its left, in m."""
    try:
        link, *place = text.split(",")
        point = At(int(link) - 1, *map(float, place)) if len(place) < 3 and 1 <= int(link) <= n else None
    except (ValueError, ModelError):
        point = None
    if point is None:
        raise ModelError(
            f"--trace must be a link from 1 to {n} and a place on it in m, like 2 or 2,0.5 or 2,0.5,0.1, got {shown(text)}"
        )
    return point


def picture_size(text: str | None) -> tuple[float, float] | str | None:
    """Read the size of a picture: inches, or column."""
    return text if text in (None, "column") else pair("--size", text)


def pair(option: str, text: str, example: str = "8x5") -> tuple[float, float]:
    """Read a size like 8x5."""
    try:
        width, height = map(float, text.lower().split("x"))
    except ValueError:
        like = f"{text}x{text}" if text.isdecimal() else example
        raise ModelError(f"{option} must read WIDTHxHEIGHT, like {like}, got {shown(text)}") from None
    return number(option, width), number(option, height)


def parameter(option: str, text: str) -> tuple[str, str]:
    """Return the key of a parameter in the model that an option names, and its label in pictures."""
    known = [*SHORT, *LINK]
    if text not in known and "." not in text:
        names = f"one of {', '.join(known)}, or a key of the model like loads.drag.linear, links[0].motion.amplitude"
        raise ModelError(f"{option} must be {names}, got {shown(text)}{nearest(text, known)}")
    key = SHORT.get(text, text)
    name = key.removeprefix("loads.")
    unit = f" ({next(iter(LOADS[name].parameters().values())).unit})" if name in LOADS else ""
    unit = " (Hz)" if name.endswith("motion.frequency") else unit
    return key, name.replace("_", " ") + unit


def about(text: str | None, chain: Multibody) -> list[float] | None:
    """Return the coordinates that the option --about stands for: down, up, or one in degrees (of a slider in m) for each body."""
    if text is None or text == "down":
        return None
    if text == "up":
        return [0.0 if slides else np.pi for slides in chain.slides]
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != chain.n:
        raise ModelError(
            f"--about must be down, up, or {chain.n} angles in degrees like {','.join(['180'] * chain.n)}, got {shown(text)}"
        )
    return [value if slides else np.radians(value) for value, slides in zip(values, chain.slides, strict=True)]


def values_between(first: str, last: str, low: float, high: float, points: int) -> np.ndarray:
    """Return values from low to high; `first` and `last` are the options they come from."""
    low, high = number(first, low), number(last, high)
    if low >= high:
        raise ModelError(f"{last} must be above {first} {low:g}, got {high:g}")
    return np.linspace(low, high, whole("--points", points, least=2, most=MOST_POINTS))


def chains(name: str, table: Table, *keys: str) -> Callable[..., Multibody]:
    """Return the function that makes the chain with these values put into the model."""

    def chain_of(*values: float) -> Multibody:
        model = copy.deepcopy(table)
        for key, value in zip(keys, values, strict=True):
            put(model, key, float(value))
        return Scenario.from_dict(model, where=name).chain

    return chain_of
