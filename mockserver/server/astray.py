"""Answers that tell how the provider was asked, not what: of a wrong key, of a wrong address.

They are not recorded unless all errors are wanted: they would be played again long after the mistake is mended.
"""

import re

from mockserver.core.episode import Recorded
from mockserver.core.json_text import parsed
from mockserver.kinds.cassettes import UPSTREAM_KEY


def astray(reply: Recorded, dialect: str) -> str | None:
    """What such an answer tells, and what next; None: it answers what was asked."""
    status = reply.status
    if status in (401, 403):
        return f"a {status} tells of the key: give the client one that the upstream takes, or set {_key(dialect)}{_ALL}"
    if status == 404 and not _speaks_of_what_was_asked(reply.bytes):
        return (
            f"a 404 that names no model tells of the address: is all of it in --upstream {dialect}=URL, as /v1?{_ALL}"
        )
    return None


def _key(dialect: str) -> str:
    return UPSTREAM_KEY + dialect.upper()


def _speaks_of_what_was_asked(body: bytes) -> bool:
    """Whether an error names a model, a deployment or an id, as no server does that does not know the path."""
    return isinstance(parsed(body.decode("utf-8", "replace")), dict) and _ASKED.search(body) is not None


_ALL = " (--record-errors records it too)"
_ASKED = re.compile(rb"\bmodel(?!s\b)|\bdeployment(?!s\b)|(?:\b|_)id\b", re.IGNORECASE)
