"""Answers that tell how the provider was asked, not what: of a wrong key, of a wrong address.

They are not recorded unless all errors are wanted: they would be played again long after the mistake is mended.
"""

import re

from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.json_text import parsed
from mockserver.kinds.cassettes import UPSTREAM_KEY


def astray(reply: Recorded, call: Call) -> str | None:
    """What such an answer to a call tells, and what next; None: it answers what was asked."""
    status, dialect = reply.status, call.dialect
    if status in (401, 403):
        return f"a {status} tells of the key: give the client one that the upstream takes, or set {_key(dialect)}{_ALL}"
    if status == 404 and not _speaks_of(call, reply.bytes.decode("utf-8", "replace")):
        return (
            f"a 404 that names no model tells of the address: is all of it in --upstream {dialect}=URL, as /v1?{_ALL}"
        )
    return None


def _key(dialect: str) -> str:
    return UPSTREAM_KEY + dialect.upper()


def _speaks_of(call: Call, body: str) -> bool:
    """Whether an error names the model or the id that was asked, as no server does that does not know the path.

    A path that it repeats says nothing: there are models in paths.
    """
    if not isinstance(parsed(body), dict | list):
        return False
    said = _PATH.sub("", body)
    return any(name and name in said for name in (call.model, call.id)) or _ASKED.search(said) is not None


_ALL = " (--record-errors records it too)"
_PATH = re.compile(r"(?<![\w.])/[^\s\"']*")
_ASKED = re.compile(
    r"model_?not_?found|deployment_?not_?found|\bwith id\b|\b(?:response|completion)_id\b", re.IGNORECASE
)
