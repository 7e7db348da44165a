"""Numbers packed for a page: whole multiples of a step, differenced, their bytes sorted, deflated, in base64.

Each array (rows, count) is rounded to multiples of `step` (an error of half a step), differenced twice along its rows, the sign
folded into the last bit, and its four bytes put into planes of their own, which compresses well because high bytes are mostly
zero. Times are exact: plain float64 in eight planes. `web/data.js` reads it.
"""

from __future__ import annotations

import base64
import math
import zlib

import numpy as np

ORDER = 2
"""Times an array is differenced."""
LARGEST = 2**31 - 1
"""The largest difference that four bytes hold with its sign."""

Packed = dict[str, int | float]
"""Where an array lies in the packed bytes, and how it is stored."""
Content = dict[str, object]
"""What a page shows: plain data for JSON, arrays as Packed."""


class Packer:
    """Collects arrays; each call that adds one returns the description by which the page finds it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def exact(self, values: np.ndarray) -> Packed:
        """Add numbers (count,) as they are."""
        values = np.ascontiguousarray(values, "<f8")
        return self._add(values.view(np.uint8).reshape(-1, 8), {"rows": 1, "count": len(values), "step": 0, "order": 0})

    def rounded(self, values: np.ndarray, step: float) -> Packed:
        """Add numbers (rows, count) or (count,) rounded to multiples of `step`, or of a coarser one where four bytes ask for it."""
        values = np.atleast_2d(values)
        whole = np.rint(values / step)
        while (differences := _differences(whole)) is None:
            step *= 2.0
            whole = np.rint(values / step)
        folded = np.ascontiguousarray(np.where(differences < 0, -2 * differences - 1, 2 * differences), "<u4")
        rows, count = values.shape
        return self._add(folded.view(np.uint8).reshape(-1, 4), {"rows": rows, "count": count, "step": step, "order": ORDER})

    def spread(self, values: np.ndarray, bits: int = 20) -> Packed:
        """Add numbers rounded to the part 2^-bits of the range that they span."""
        values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
        span = max(float(np.ptp(values)), 1e-9 * float(np.abs(values).max(initial=0.0)), 1e-300)
        return self.rounded(values, span * 2.0**-bits)

    def text(self) -> str:
        """Return all arrays, deflated and in base64."""
        return base64.b64encode(zlib.compress(b"".join(self.parts), 9)).decode("ascii")

    def _add(self, rows: np.ndarray, description: Packed) -> Packed:
        planes, at = np.ascontiguousarray(rows.T).tobytes(), self.size
        self.parts.append(planes)
        self.size += len(planes)
        return {"at": at, **description}


def finite_json(value: object) -> object:
    """Return plain data with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _differences(whole: np.ndarray) -> np.ndarray | None:
    """Return the differences as whole numbers, or None if they do not fit into four bytes."""
    for _ in range(ORDER):
        whole = np.diff(whole, axis=-1, prepend=0.0)
    return whole.astype(np.int64) if np.abs(whole).max(initial=0.0) <= LARGEST // 2 else None
