"""From bytes to JSON: strict, and of large bodies without a walk through all that is alive while they grow."""

import gc

from jiter import from_json

from mockserver.core.call import Json

LARGE = 65_536  # bytes


def json_of(body: bytes) -> Json:
    """What the bytes say. Raises ValueError where they are no JSON, have a key twice, or a number that is none."""
    if len(body) <= LARGE or not gc.isenabled():
        return from_json(body, allow_inf_nan=False, catch_duplicate_keys=True)
    gc.disable()
    try:
        return from_json(body, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="none")
    finally:
        gc.enable()
