"""Checks on what a user hands in: every refusal is a ModelError that names the place, the rule, the value and the remedy."""

from __future__ import annotations

import dataclasses
import difflib
import math
import numbers
import reprlib
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")

LARGEST, SMALLEST = 1e100, 1e-100
"""Magnitudes that numbers may have, so that their squares neither overflow nor vanish."""
WIDEST_ANGLE = 1e9
"""rad: a double has 16 digits, so that an angle beyond would be known to less than 1e-7 rad."""
MOST_TITLE = 1000
"""Letters of a title, or of another line of text."""
DEGREES = 4 * math.pi
"""rad: whoever starts beyond has often meant degrees."""
ANGLES = {"deg": math.pi / 180, "rad": 1.0}
RATES = {f"{name}/s": unit for name, unit in ANGLES.items()}
DISPLACEMENTS = {"m": 1.0, "cm": 0.01, "mm": 0.001}
SPEEDS = {f"{name}/s": unit for name, unit in DISPLACEMENTS.items()}
LIKE = {"deg": 90, "rad": 90, "deg/s": 90, "rad/s": 90, "cm": 20, "cm/s": 20, "mm": 200, "mm/s": 200}
"""Numbers of these units that a message has as an example; of others 0.2."""
Units = Mapping[str, float]
"""Units that a text may have, and how many of those of nlink one is."""
MOST_NUMBERS = 10_000_000
"""Numbers that a list may have."""
FEW = 3
"""Most names that are suggested for a wrong one."""
SHORT = 60
"""Letters of a value that a message shows."""
TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Letters that turn the direction of the text after them."""


class ModelError(ValueError):
    """An invalid model: the message says where, which rule, the value, and what to do."""

    @property
    def of_option(self) -> bool:
        """Whether an option of the command is wrong: the message begins with its name then."""
        return str(self).startswith("--")


class BackendError(RuntimeError):
    """A place to compute that is not there, or does not fit: the message says which, and what to do."""


def number(where: str, value: object, *, least: float | None = None, above: float | None = None, most: float = LARGEST) -> float:
    """Return `value` as a float if it is a finite real number within its bounds, of a magnitude up to `most`.

    A number that must be positive must be at least SMALLEST.
    """
    found = value if type(value) is float else _float(where, value)
    if not math.isfinite(found):
        raise ModelError(f"{where} must be finite, got {found}")
    if abs(found) > most:
        raise ModelError(f"{where} must be at most {most:g}{' in magnitude' * (found < 0)}, got {shown(value)}")
    if above is not None and found <= above:
        raise ModelError(f"{where} must be {'positive' if above == 0 else f'above {above:g}'}, got {found:g}")
    if above == 0 and found < SMALLEST:
        raise ModelError(f"{where} must be at least {SMALLEST:g}, got {found:g}; its square would vanish")
    if least is not None and found < least:
        raise ModelError(f"{where} must {'not be negative' if least == 0 else f'be at least {least:g}'}, got {found:g}")
    return found


def _float(where: str, value: object) -> float:
    """Return a real number of any kind as a float; one that a float cannot hold as one beyond LARGEST."""
    value = value.item() if _zero_dimensional(value) else value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ModelError(f"{where} must be a number, got {shown(value)}")
    try:
        return float(value)
    except (OverflowError, ValueError):
        return 10 * LARGEST


def whole(where: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """Return `value` as an int if it is a whole number, not below `least` and not above `most`."""
    value = value.item() if _zero_dimensional(value) else value
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ModelError(f"{where} must be a whole number, at least {least}, got {shown(value)}")
    if most is not None and int(value) > most:
        raise ModelError(f"{where} must be at most {most:,}, got {shown(value)}")
    return int(value)


def listed(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether `value` is a list of some kind (a tuple or an array too), not a single value."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | dict) and not _zero_dimensional(value)


def number_or_each(
    where: str, value: object, *, least: float | None = None, above: float | None = None
) -> float | tuple[float, ...]:
    """Return one number that serves all, or a tuple with one for each."""
    if not listed(value):
        return number(where, value, least=least, above=above)
    values = tuple(islice(getattr(value, "tolist", lambda: value)(), MOST_NUMBERS + 1))
    if not values:
        raise ModelError(f"{where} must not be an empty list; give one number, or one for each")
    if len(values) > MOST_NUMBERS:
        raise ModelError(f"{where} must have at most {MOST_NUMBERS:,} numbers")
    plain = _plain_numbers(values, least, above)
    return plain or tuple(number(f"{where}[{i}]", v, least=least, above=above) for i, v in enumerate(values))


def _plain_numbers(values: tuple[Any, ...], least: float | None, above: float | None) -> tuple[float, ...] | None:
    """Return the floats of a list if all of them are within the bounds; it looks at them all at once, as long chains need."""
    if not {type(value) for value in values} <= {float, int}:
        return None
    try:
        found = tuple(map(float, values))
    except OverflowError:
        return None
    low, high = min(found), max(found)
    good = all(map(math.isfinite, found)) and low >= -LARGEST and high <= LARGEST
    good = good and (least is None or low >= least) and (above is None or low > above)
    return found if good and (above != 0 or low >= SMALLEST) else None


def measured(where: str, value: Any, unit: float, units: Units) -> float:
    """Return a value in the units of nlink: a number of this unit, or a text that says its own."""
    if not isinstance(value, str):
        return unit * number(where, value)
    amount, _, name = value.strip().partition(" ")
    try:
        return units[name.strip()] * number(where, float(amount))
    except (KeyError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
    like = " or ".join(f"'{LIKE.get(name, 0.2)} {name}'" for name in units)
    raise ModelError(f"{where} must be a number, or a text like {like}, got {shown(value)}")


def measured_each(where: str, value: object, *units: Units) -> object:
    """Return a value, or those of a list, with texts in the units of nlink; `units` serve all, or are one for each."""
    if isinstance(value, str):
        return measured(where, value, 1.0, units[0])
    read = {i: measured(f"{where}[{i}]", text, 1.0, units[min(i, len(units) - 1)]) for i, text in _texts(value).items()}
    return tuple(read.get(i, each) for i, each in enumerate(value)) if read and isinstance(value, Iterable) else value


def without_texts(value: Any) -> Any:
    """Return a value, or those of a list, with 0 in place of texts."""
    texts = {0: value} if isinstance(value, str) else _texts(value)
    return [0.0 if i in texts else each for i, each in enumerate([value] if isinstance(value, str) else value)] if texts else value


def _texts(value: object) -> dict[int, str]:
    """Return the texts in a list by their places."""
    if not listed(value) or getattr(getattr(value, "dtype", None), "kind", "O") not in "UO":
        return {}
    return {i: str(each) for i, each in enumerate(value) if isinstance(each, str)}


def angle_or_each(where: str, value: object) -> float | tuple[float, ...]:
    """Return one angle in rad, or a tuple with one for each, none beyond WIDEST_ANGLE; texts like "90 deg" say their unit."""
    found = number_or_each(where, measured_each(where, value, ANGLES))
    several = found if isinstance(found, tuple) else (found,)
    if max(several) > WIDEST_ANGLE or min(several) < -WIDEST_ANGLE:
        i = next(i for i, angle in enumerate(several) if abs(angle) > WIDEST_ANGLE)
        place = f"{where}[{i}]" if isinstance(found, tuple) else where
        raise ModelError(
            f"{place} must be within {WIDEST_ANGLE:g} rad, got {several[i]:g}: a larger angle loses digits; take it modulo 2 pi"
        )
    return found


def warn_of_degrees(where: str, theta: Iterable[float], remedy: str) -> None:
    """Warn of an angle that looks like degrees: beyond DEGREES, and of few decimals, as nobody writes but by hand."""
    far = next((angle for angle in theta if abs(angle) > DEGREES and round(angle, 3) == angle), None)
    if far is not None:
        text = f"{where}: {far:g} rad is {far / (2 * math.pi):.1f} turns; degrees? then give {remedy}"
        warnings.warn(text, UserWarning, stacklevel=3)


def line(where: str, value: object, most: int = MOST_TITLE) -> str:
    """Return `value` if it is one line of text that a terminal and a file can take."""
    if not isinstance(value, str):
        raise ModelError(f"{where} must be a text, got {shown(value)}")
    if len(value) > most:
        raise ModelError(f"{where} must have at most {most:,} letters, got {len(value):,}")
    if value != printable(value):
        raise ModelError(f"{where} must be one line without control characters, got {shown(value)}")
    return value


def printable(text: str) -> str:
    """Return a text with escapes for what would move the cursor of a terminal, break the line or cannot be encoded."""
    if text.isascii() and text.isprintable():
        return text
    steering = {letter for letter in text if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") or letter in TURNS}
    return "".join(letter.encode("unicode_escape").decode() if letter in steering else letter for letter in text)


def spread(where: str, value: T | tuple[T, ...], n: int, what: str) -> tuple[T, ...]:
    """Return `value` as n values: one serves all, a tuple must have n."""
    if not isinstance(value, tuple):
        return (value,) * n
    if len(value) != n:
        count = f"{len(value)} value{'s' * (len(value) != 1)}"
        raise ModelError(f"{where} has {count} for {n} {what}; give one number, or {n}")
    return value


def set_checked(
    record: object, check: Callable[..., object], *names: str, where: str = "", optional: bool = False, **bounds: float | None
) -> None:
    """Replace fields of a frozen record by what a check returns of them, like number("At.left", value, **bounds).

    `where` is what messages call the record, if not by its type; with `optional` a field that is None stays so.
    """
    for name in names:
        value = getattr(record, name)
        if value is not None or not optional:
            object.__setattr__(record, name, check(f"{where or type(record).__name__}.{name}", value, **bounds))


def choice(where: str, value: object, names: Iterable[str]) -> str:
    """Return `value` if it is one of `names`; else refuse with the list and the nearest name."""
    names = list(names)
    if isinstance(value, str) and value in names:
        return value
    raise ModelError(f"{where} must be one of {', '.join(names)}; got {shown(value)}{nearest(value, names)}")


def known_keys(where: str, table: Mapping[str, object], names: Iterable[str]) -> None:
    """Refuse the first key of `table` that is not in `names`, suggesting the nearest."""
    names = list(names)
    for key in table:
        if key not in names:
            hint = nearest(key, names) or f"; known keys: {', '.join(names)}"
            raise ModelError(f"{where} has no key {shown(key)}{hint}")


def nearest(value: object, names: Iterable[str]) -> str:
    """Return ' (did you mean ...?)' for the name closest to `value`, or a few that are equally close, or nothing."""
    word = value.lower() if isinstance(value, str) and len(value) <= SHORT else ""
    known = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word, known, n=FEW, cutoff=0.65)
    alike = {name: difflib.SequenceMatcher(None, name, word).ratio() for name in close}
    best = [repr(name) for key, name in known.items() if alike.get(key, 0.0) == max(alike.values(), default=1.0)]
    return f" (did you mean {' or '.join([', '.join(best[:-1])] * (len(best) > 1) + best[-1:])}?)" if best else ""


class _Shown(reprlib.Repr):
    """Values as messages show them: it looks at no more of a value than is shown, however large or deep it is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxother = 4, 2 * SHORT
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = SHORT // 3

    def repr_str(self, x: str, level: int) -> str:
        return repr(x[: SHORT + 1])

    repr_bytes = repr_str

    def repr_int(self, x: int, level: int) -> str:
        return repr(x) if x.bit_length() < 400 else f"a whole number of about {int(x.bit_length() * math.log10(2)) + 1:,} digits"

    def repr_instance(self, x: object, level: int) -> str:
        if dataclasses.is_dataclass(x) and not isinstance(x, type) and level > 0:
            parts = (f"{field.name}={self.repr1(getattr(x, field.name), level - 1)}" for field in dataclasses.fields(x))
            return f"{type(x).__name__}({', '.join(parts)})"
        if isinstance(x, numbers.Rational) and not isinstance(x, int):
            return f"{type(x).__name__}({self.repr1(x.numerator, level)}, {self.repr1(x.denominator, level)})"
        return super().repr_instance(x, level)


def shown(value: object) -> str:
    """Return `value` as a message shows it: on one line, cut short."""
    text = " ".join(printable(part) for part in _Shown().repr(value).split())
    return text if len(text) <= SHORT else text[: SHORT - 3] + "..."


def _zero_dimensional(value: object) -> TypeGuard[np.ndarray]:
    return getattr(value, "ndim", None) == 0 and hasattr(value, "item")
