"""Numbers packed for a page: whole multiples of a step, differenced, their bytes sorted, deflated, in base64.

Each array (rows, count) is rounded to multiples of `step` (an error of half a step), differenced twice along its rows, the sign
folded into the last bit, and its four bytes put into planes of their own, which compresses well because high bytes are mostly
zero. Times are exact: plain float64 in eight planes. `web/data.js` reads it.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import NamedTuple

import numpy as np

ORDER = 2
"""Times an array is differenced."""
LARGEST = 2**31 - 1
"""The largest difference that four bytes hold with its sign."""

Content = dict[str, object]
"""What a page shows: plain data for JSON, and arrays: exact as (count,), or Rounded."""


class Rounded(NamedTuple):
    """Numbers (rows, count) or (count,), rounded to multiples of `step`, or of a coarser one where four bytes ask for it."""

    values: np.ndarray
    step: float


def spread(values: np.ndarray, bits: int = 20) -> Rounded:
    """Return numbers rounded to the part 2^-bits of the range that they span."""
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    span = max(float(np.ptp(values)), 1e-9 * float(np.abs(values).max(initial=0.0)), 1e-300)
    return Rounded(values, span * 2.0**-bits)


def packed(content: Content) -> dict[str, object]:
    """Return the content with a description in place of each array, and as `data` all arrays, deflated and in base64."""
    parts: list[bytes] = []
    described = _described(content, parts)
    return {"content": described, "data": base64.b64encode(zlib.compress(b"".join(parts), 9)).decode("ascii")}


def _described(value: object, parts: list[bytes]) -> object:
    """Return plain data; add the bytes of its arrays to `parts`, and describe where they lie and how they are stored."""
    if isinstance(value, dict):
        return {key: _described(each, parts) for key, each in value.items()}
    if isinstance(value, list):
        return [_described(each, parts) for each in value]
    if isinstance(value, Rounded):
        numbers, step = _whole_numbers(*value)
        rows, order = len(numbers), ORDER
    elif isinstance(value, np.ndarray):
        numbers, rows, step, order = np.ascontiguousarray(value, "<f8"), 1, 0, 0
    else:
        return value
    at = sum(map(len, parts))
    parts.append(np.ascontiguousarray(numbers.view(np.uint8).reshape(-1, numbers.itemsize).T).tobytes())
    return {"at": at, "rows": rows, "count": numbers.shape[-1], "step": step, "order": order}


def _whole_numbers(values: np.ndarray, step: float) -> tuple[np.ndarray, float]:
    """Return the differences of the multiples of a step, signs folded into the last bit, and the step: a coarser one if need be."""
    values = np.atleast_2d(values)
    while True:
        whole = np.rint(values / step)
        for _ in range(ORDER):
            whole = np.diff(whole, axis=-1, prepend=0.0)
        if np.abs(whole).max(initial=0.0) <= LARGEST // 2:
            break
        step *= 2.0
    whole = whole.astype(np.int64)
    return np.ascontiguousarray(np.where(whole < 0, -2 * whole - 1, 2 * whole), "<u4"), step


def finite_json(value: object) -> object:
    """Return plain data with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
