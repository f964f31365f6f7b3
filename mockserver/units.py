"""How people write amounts: durations, sizes and shares, as numbers or as text with a unit.

Knows nothing of what is measured. Every function raises ValueError in words for the person who wrote the amount.
"""

import json
import math
import re
from typing import Any

_AMOUNT = re.compile(r"\s*(\d+(?:_\d+)*(?:\.\d+)?|\.\d+)\s*([A-Za-z%]*)\s*")

_LONGEST = 60

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SHARES = {"%": 0.01}


def seconds(value: Any) -> float:
    """A duration in seconds: `300ms`, `2s`, `1.5m`, `1h`, or a number of seconds."""
    amount = _amount(value, _SECONDS)
    if amount is None:
        raise ValueError(f"{_shown(value)} is not a duration; write 300ms, 2s, 1m or a number of seconds")
    return amount


def size(value: Any) -> int:
    """A size in bytes: `10MB`, `512KiB`, or a whole number of bytes."""
    amount = _amount(value, _BYTES)
    if amount is None or not amount.is_integer():
        raise ValueError(f"{_shown(value)} is not a size; write 512KB, 10MB or a whole number of bytes")
    return int(amount)


def share(value: Any) -> float:
    """A part of a whole, from 0 to 1: `20%` or `0.2`."""
    amount = _amount(value, _SHARES)
    if amount is None or amount > 1:
        raise ValueError(f"{_shown(value)} is not a share; write 20% or 0.2, at most 100%")
    return amount


def _amount(value: Any, units: dict[str, Any]) -> float | None:
    """The number times its unit, or None for what is no finite amount of at least zero."""
    if isinstance(value, str):
        found = _AMOUNT.fullmatch(value)
        if found is None:
            return None
        digits, unit = found.groups()
        scale = units.get(unit.lower()) if unit else 1
        # Rounded, because 0.1 * 3 is not 0.3: an amount is what was written.
        amount = math.inf if scale is None else round(float(digits) * scale, 9)
    elif isinstance(value, int | float) and not isinstance(value, bool) and value < 1e15:
        amount = float(value)
    else:
        return None
    return amount if 0 <= amount < math.inf else None


def _shown(value: Any) -> str:
    """The value as a file would show it, in at most one short line."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
