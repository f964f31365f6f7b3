"""The calls of the journal as rows of a list: in short, masked, and kept as bytes once a call is closed.

Nothing here runs while a call is answered. A row is worked out once, when somebody looks at it.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from mockserver.cassettes.formats import parse_response
from mockserver.cassettes.parsed_response import ParsedResponse
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.json import Json, compact, drop_empty
from mockserver.core.row import Row
from mockserver.core.seed import make_token
from mockserver.core.sent_body import count_frames
from mockserver.core.text import truncate
from mockserver.engine.counters import Attempts, ClientAttempt
from mockserver.kinds.wire_formats import find_format
from mockserver.server.explain import is_unmatched
from mockserver.server.masking import find_head_secrets, mask_texts
from mockserver.state.journal import Journal

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.shown_secrets import Secrets

_MAX_SHOWN = 160  # characters of a text that a digest shows
SEARCHED = 1_000  # characters that `contains` looks at


class Digest(Struct, frozen=True):
    """What was said last, what was answered, the tools that the answer calls, and the conversation that it is of."""

    said: str
    answered: str
    tools: tuple[str, ...] = ()
    conversation: str | None = None

    def has(self, text: str) -> bool:
        """Return whether a text in lower case was said or answered."""
        return text in self.said.lower() or text in self.answered.lower()

    @property
    def short(self) -> "Digest":
        said, answered = (truncate(" ".join(text.split()), _MAX_SHOWN) for text in (self.said, self.answered))
        return msgspec.structs.replace(self, said=said, answered=answered)


class EncodedCall(Struct):
    """A closed call as JSON, whole and compact, as long as what it says stays the same."""

    stamp: tuple[Json, ...]
    whole: bytes
    compact: bytes
    digest: Digest | None = None


class Rows:
    """What was worked out of the calls of one journal. `boot` names this journal: another one has other calls."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.boot = make_token()
        self.again: dict[int, int] = {}  # calls that were sent again, by the number of the new one
        self._encoded: dict[int, EncodedCall] = {}
        self._attempts: dict[str, Attempts] = {}

    def select(self, namespaces: Sequence[str]) -> list[Row]:
        """Return the calls of namespaces in order, with their attempts counted."""
        found = list[Row]()
        for name in namespaces:
            rows = self.journal.list_rows(name)
            if rows:
                self._attempts.setdefault(name, Attempts()).update(rows)
            found += rows
        self._attempts = {name: counted for name, counted in self._attempts.items() if self.journal.find_first(name)}
        if len(self._encoded) > 2 * len(self.journal) + 100:
            there = {row.seq for row in self.journal}
            self._encoded = {seq: listed for seq, listed in self._encoded.items() if seq in there}
            self.again = {seq: of for seq, of in self.again.items() if seq in there}
        return sorted(found, key=attrgetter("seq")) if len(namespaces) > 1 else found

    def find_attempt(self, row: Row) -> ClientAttempt:
        """Return which attempt of its client a call is."""
        counted = self._attempts.get(row.namespace)
        return ClientAttempt() if counted is None else counted.found.get(row.seq, ClientAttempt())

    def find_tries(self, row: Row) -> list[int]:
        """Return the numbers of all attempts that a call is one of."""
        counted = self._attempts.get(row.namespace)
        first = self.find_attempt(row).first or row.seq
        found = {} if counted is None else counted.found
        return [seq for seq, attempt in found.items() if (attempt.first or seq) == first] or [row.seq]

    def encode_call(self, row: Row, known: tuple[str, ...]) -> EncodedCall:
        """Return a call as JSON, without credentials; `known` are those of the environment."""
        kept = self._encoded.get(row.seq)
        stamp = (row.recorded, row.unrecorded, self.find_attempt(row))
        if kept is not None and kept.stamp == stamp:
            return kept
        secrets = find_head_secrets(row, known)
        whole = self.summarize(row)
        made = EncodedCall(stamp, _encode_masked(whole, secrets), _encode_masked(_shorten_summary(whole), secrets))
        if row.ended:
            self._encoded[row.seq] = made
        return made

    def summarize(self, row: Row) -> dict[str, Json]:
        """Show a call in short, as lists do."""
        attempt, first = self.find_attempt(row)
        again = self.again.get(row.seq)
        streamed = row.streams
        whole = {
            "call": row.seq,
            "at": datetime.fromtimestamp(row.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "namespace": row.namespace,
            "method": row.method,
            "path": row.path,
            "websocket": row.is_socket,
            "part_of": row.part_of,
            "dialect": row.dialect,
            "operation": row.operation or None,
            "model": row.model or None,
            "attempt": attempt,
            "retry_of": first,
            "again_of": again,
            "source": row.source or None,
            "unmatched": is_unmatched(row),
            "service": row.is_service,
            "modified_by": list(row.modified_by),
            "through": list(row.trace),
            "status": row.status or None,
            "defect": row.defect,
            "faults": list(row.faults),
            "remarks": list(row.remarks),
            "recorded": row.recorded,
            "unrecorded": row.unrecorded,
            "ended": row.ending,
            "first_byte_ms": convert_to_milliseconds(row.first) if row.written else None,
            "elapsed_ms": convert_to_milliseconds(row.elapsed) if row.ended else None,
            "streamed": streamed,
            "bytes": row.written,
            **({"frames": row.unkept + sum([count_frames(data) for _, data in row.sent])} if streamed else {}),
            "usage": show_usage(row),
        }
        return drop_empty(whole, _OPTIONAL)


def _shorten_summary(whole: Mapping[str, Json]) -> dict[str, Json]:
    """Return what differs from most calls; the path only where it leads to no operation."""
    usual = {**_USUAL, "path": whole["path"]} if whole["operation"] else _USUAL
    return {name: value for name, value in whole.items() if value and usual.get(name) != value}


_OPTIONAL = frozenset(
    [
        "websocket",
        "part_of",
        "retry_of",
        "again_of",
        "unmatched",
        "service",
        "modified_by",
        "through",
        "defect",
        "remarks",
        "recorded",
        "unrecorded",
    ]
)
_USUAL = {"namespace": "default", "method": "POST", "attempt": 1, "ended": "complete"}


def show_usage(row: Row) -> Json:
    """Return the tokens of a call as JSON; null if its answer states none."""
    used = row.usage
    return None if used is None else {"prompt_tokens": used.prompt, "completion_tokens": used.completion}


def convert_to_milliseconds(seconds: float) -> float:
    """Return seconds as milliseconds, rounded to microseconds."""
    return round(seconds * 1000, 3)


def _encode_masked(content: Json, secrets: "Secrets") -> bytes:
    encoded = encode(content)
    return encoded if secrets.mask_bytes(encoded) is encoded else encode(mask_texts(content, secrets))


def encode(content: Json) -> bytes:
    """Return a value as compact JSON; half of a character as an escape."""
    try:
        return msgspec.json.encode(content)
    except ValueError:  # a lone surrogate
        return json.dumps(content, separators=(",", ":")).encode()


def read_answer(row: Row) -> ParsedResponse:
    """Return the answer to a call, read from the bytes that were sent."""
    body = b"".join([data for _, data in row.sent])
    pieces = tuple((at - row.began, data) for at, data in row.sent)
    sent = Recorded(row.status, (*row.reply_headers,), *((b"", pieces) if row.streams else (body,)))
    return parse_response(sent, find_format(row.dialect, row.operation, row.path))


def describe_error(response: ParsedResponse) -> str:
    """Return the message of an error, or all of it as JSON."""
    error = response.error
    words = error.get("message") if isinstance(error, Mapping) else error
    return words if isinstance(words, str) else "" if error is None else json.dumps(error)


def make_digest(row: Row, call: Call | None, secrets: "Secrets") -> Digest:
    """Return the digest of a call; `call` is its request, parsed, if that was possible."""
    answer = read_answer(row)
    parts = [part for choice in answer.choices for part in choice.parts]
    used = [part.call for part in parts if part.call is not None]
    answered = "\n".join(part.text for part in parts if part.text and part.kind != "reasoning")
    calls = "\n".join(f"{each.name}({each.text})" for each in used)
    answered = "\n".join(filter(None, (answered, calls, describe_error(answer))))
    return Digest(
        said="" if call is None else truncate(secrets.mask_text(_find_question(call)), SEARCHED),
        answered=truncate(secrets.mask_text(answered), SEARCHED),
        tools=tuple(dict.fromkeys(secrets.mask_text(each.name) for each in used)),
        conversation=None if call is None or not call.messages else call.opening_fingerprint,
    )


def _find_question(call: Call) -> str:
    """Return the text that a call asks its answer for: the last of its user, with a result of a tool behind it."""
    if call.prompts:
        return call.prompts[0].text
    if call.mcp is not None:
        return f"{call.mcp.target} {compact(call.mcp.arguments)}"
    if not call.last_user:
        return next((message.text for message in reversed(call.messages) if message.text), "")
    last = call.last_turn
    return f"{call.last_user} → {last.text}" if last is not None and last.role == "tool" else call.last_user
