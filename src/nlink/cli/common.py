"""What several commands share: finding a model or a run, reading sizes and settings, choosing a file name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlink._support.checks import ModelError, number, shown
from nlink._support.modelfile import DEEP, MOST_DEPTH, refuse_large, tables
from nlink.scenario import preset_table, presets, read_model

if TYPE_CHECKING:
    from nlink.run.run import Run

DEFAULT = "chaotic-5"


def model_table(name: str) -> tuple[str, dict[str, Any]]:
    """Return a short name and the tables of a preset or of a model file."""
    if name in presets() or not (name.endswith(".toml") or Path(name).exists()):
        return name, preset_table(name)
    if name.endswith((".nc", ".gif", ".png")):
        raise ModelError(f"{name} is not a model file (.toml); give a preset or a model")
    return Path(name).stem, read_model(name)


def put(table: dict[str, Any], key: str, value: Any) -> None:
    """Set a value by its dotted key, like loads.joint_spring."""
    *path, last = (part.strip() for part in key.split("."))
    if len(path) >= MOST_DEPTH:
        raise ModelError(f"--set {shown(key)}: {DEEP}")
    for part in path:
        inner = table.setdefault(part, {})
        inner = {"shape": inner} if part == "start" and isinstance(inner, str) else inner
        if not isinstance(inner, dict):
            raise ModelError(f"--set {shown(key)}: {shown(part)} is not a table in this model")
        table[part] = inner
        table = inner
    table[last] = value


def put_text(table: dict[str, Any], setting: str) -> None:
    """Apply one --set key=value; the value is read as TOML, or as a word."""
    key, equals, text = setting.partition("=")
    if not equals or not key.strip() or not text.strip():
        raise ModelError(f"--set must read key=value, like loads.joint_spring=2.0, got {shown(setting)}")
    put(table, key.strip(), _value(text))


def _value(text: str) -> Any:
    """Return what a text is in TOML; else it is a word."""
    refuse_large(text, "the value of --set")
    try:
        return tables(f"value = {text}", "--set")["value"]
    except ModelError:
        return text.strip()


def load_run(path: Path, newest: bool = False) -> Run:
    """Read a run file, or say how to make one; with `newest` the run that is being written under its name, or was cut off."""
    from nlink.run import file
    from nlink.run.file import RunFileError, load

    if path.suffix == ".toml" or (not path.exists() and str(path) in presets()):
        raise RunFileError(f"{path} is a model, not a run; make one with: nlink run {path}")
    return load(file.newest(path) if newest else path)


def free_name(stem: str, suffix: str) -> Path:
    """Return a file name in this folder that is not taken yet."""
    path, count = Path(stem + suffix), 2
    while path.exists() or path.with_name(path.name + ".part").exists():
        path, count = Path(f"{stem}-{count}{suffix}"), count + 1
    return path


def pair(option: str, text: str) -> tuple[float, float]:
    """Read a size like 8x5."""
    parts = text.lower().split("x")
    try:
        width, height = (number(option, float(part)) for part in parts)
    except ModelError:
        raise
    except ValueError:
        raise ModelError(f"{option} must read WIDTHxHEIGHT, like 8x5, got {shown(text)}") from None
    return width, height
