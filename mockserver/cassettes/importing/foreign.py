"""An exchange as another tool wrote it down, in one shape for all of them; and what cannot be taken over."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from mockserver.core.episode import Beat
from mockserver.core.http import Headers
from mockserver.core.json_text import Json


@dataclass(frozen=True, slots=True)
class Foreign:
    """A request and its answer. Bodies may still be coded, as their headers say; `beats` are known to few tools."""

    where: str
    method: str
    url: str
    headers: Headers
    body: bytes
    status: int
    reply_headers: Headers
    reply: bytes
    beats: tuple[Beat, ...] | None = None
    at: float = 0.0
    took: float = 0.0
    dialect: str = ""  # where the tool knows it


@dataclass(frozen=True, slots=True)
class Left:
    """What was not taken over, and why; `host` where it is no provider's and nobody would have expected it."""

    where: str
    why: str
    host: str = ""


class UnfitError(ValueError):
    """An exchange that is not as its format has it; says what is wrong."""


def listed(headers: Json) -> Headers:
    """Headers as pairs: of a table of texts or of lists of these, or of a list of {name, value}. Raises UnfitError."""
    pairs = list[tuple[str, Json]]()
    if isinstance(headers, Mapping):
        pairs = [(str(name), each) for name, value in headers.items() for each in _several(value)]
    elif isinstance(headers, list):
        pairs = [(str(row.get("name")), row.get("value")) for row in headers if isinstance(row, Mapping)]
    elif headers is not None:
        raise UnfitError("its headers are no table")
    return tuple((name.lower(), _text(value)) for name, value in pairs if _NAME.fullmatch(name))


def _several(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _text(value: Json) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")


def moment(text: Json) -> float:
    """The Unix time of an ISO 8601 one, in UTC where it does not say; 0 where it is none."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return 0.0
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def encoded(text: str) -> bytes:
    """A text as bytes; half a character, which JSON can hold, as the bytes that would be half of it."""
    return text.encode("utf-8", "surrogatepass")


def header(headers: Headers, name: str) -> str:
    """The values of a header, with commas between; an empty text where it is absent."""
    return ", ".join(value for key, value in headers if key == name)


_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
