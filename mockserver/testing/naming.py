"""Cassettes that are named after tests: one name for each test, the same on every machine, allowed on every disk."""

import re
from collections.abc import Iterable
from hashlib import sha256

LONGEST = 150  # bytes of a part of a name


def after(parts: Iterable[str]) -> str:
    """The cassette of a test: `test_app/TestChat.test_greets[gpt-4o]` of `test_app` and `TestChat.test_greets[gpt-4o]`.

    What a disk may not take as it is, or may take for the same as another, ends in a mark of its own.
    """
    return "/".join(map(_safe, parts))


def _safe(part: str) -> str:
    kept = _START.sub("", _OTHER.sub("-", part)).encode()[:LONGEST].decode(errors="ignore").rstrip(" .")
    if kept and kept == part and not _VARIES.search(part):
        return part
    return f"{kept or '_'}~{sha256(part.encode(errors='backslashreplace')).hexdigest()[:8]}"


_OTHER = re.compile(r"[^\w .@+=,()\[\]~-]")
_START = re.compile(r"^[^\w\[]+")
# Some disks take upper case for lower case: nobody names two functions so, but of parameters there may be both.
_VARIES = re.compile(r"\[.*[A-Z]|\.yaml$")
