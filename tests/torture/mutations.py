"""Hostile values, and models with some of them put in: what the attacks on model files, options and the studio share."""

from __future__ import annotations

import copy
import random
from typing import Any

from nlink.scenario import preset_table, presets

NUMBERS = [
    0, -0.0, 1, -1, 3, 1e-300, 5e-324, 1e-100, 1e99, 1e101, 1e308, -1e308, 10**400, -(10**400), 10**5000, 2**63, 2**64, 0.1, 1e9,
    1e10,
    float("inf"), float("-inf"), float("nan"),
]  # fmt: skip
TEXTS = [
    "", " ", "x", "zigzag", "rod", "\x1b[31mred\x1b[0m", "two\nlines", "\x00", "\u2028", "\u202eabc", "<script>alert(1)</script>",
    "\N{ARABIC-INDIC DIGIT THREE}", "\N{SUPERSCRIPT TWO}", "a" * 5000, "RK4(step=1e-300)", "Taylor(order=1000000000)",
    "Taylor(order=61)",
    "Maximal(constraints=AugmentedLagrangian(iterations=1000000000))", "Maximal(constraints=Penalty(alpha=1e308))",
    "Linear(about=1e300)",
    "Gauss(step=0.0)", "RK4(step=nan)", "DOP853(max_steps=10**9)", "DOP853(rtol=[1])", "Scipy(method='x')", "DOP853(" + "(" * 300,
    "Taylor(order=" + "-" * 3000 + "1)", "Taylor(order=" + "9" * 6000 + ")", "Natural(constraints=Natural())",
    "__import__('os')", "DOP853()()",
]  # fmt: skip
KEYS = ["", "links", "mass", "x" * 5000, "a.b", "\x1b[2J", "theta", "gravity", "constructor", "__proto__"]


def nested(depth: int, kind: str) -> Any:
    """Return lists or tables within one another."""
    made: Any = 1.0
    for _ in range(depth):
        made = [made] if kind == "list" else {"a": made}
    return made


def value(rng: random.Random) -> Any:
    """Return a hostile value."""
    choices = [
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(TEXTS),
        lambda: rng.choice([True, False]),
        lambda: [rng.choice(NUMBERS) for _ in range(rng.randrange(5))],
        lambda: [rng.choice(TEXTS), rng.choice(NUMBERS)],
        lambda: nested(rng.choice([1, 2, 30, 200]), rng.choice(["list", "table"])),
        lambda: {rng.choice(KEYS): rng.choice(NUMBERS)},
        lambda: [{}, {"times": [0, 1], "values": [1]}, {"amplitude": rng.choice(NUMBERS), "frequency": rng.choice(NUMBERS)}],
        lambda: {"function": rng.choice(TEXTS)},
    ]
    return rng.choice(choices)()


def places(table: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values of a table."""
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    return [path, *(found for key, each in items for found in places(each, (*path, key)))]


def put(table: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a table with the value at a path changed."""
    if not path:
        return new
    made = copy.copy(table)
    made[path[0]] = put(made[path[0]], path[1:], new)
    return made


def mutated(table: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a table with some values changed, added or taken out."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        path = rng.choice(places(table)[1:] or [()])
        change = rng.randrange(6)
        if change == 0 and path:
            outer = copy.copy(_at(table, path[:-1]))
            del outer[path[-1]]
            table = put(table, path[:-1], outer)
        elif change == 1:
            known = ["title", "length", "mass", "com", "offset", "inertia", "shape", "loads", "pin", "start", "run", *KEYS]
            table = {**table, rng.choice(known): value(rng)}
        else:
            table = put(table, path, value(rng))
        if not isinstance(table, dict):
            return {"links": table}
    return table


def _at(table: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        table = table[key]
    return table


def model(rng: random.Random) -> dict[str, Any]:
    """Return a hostile model, made from a preset."""
    table = {**{"start": {}, "run": {}, "loads": {}}, **preset_table(rng.choice(presets()))}
    return mutated(table, rng)
