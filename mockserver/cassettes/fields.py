"""An episode from the nodes of its document. It must not know of files, nor in which one the document stands."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TypeVar

from mockserver.cassettes import beats
from mockserver.cassettes.bodies import body, string, style
from mockserver.cassettes.nodes import Node, Refused
from mockserver.core.episode import Beat, Episode, Recorded, Sent
from mockserver.core.http import Headers
from mockserver.positions import did_you_mean

UNKNOWN = "unknown"  # the hash of a body that nobody recorded
PLACEHOLDER = "0"  # of an event that was read already

Read = TypeVar("Read")
Known = Mapping[int, Beat]  # events that were read already, by the line of the document


def episode(node: Node, known: Known) -> tuple[Episode, Node]:
    """The episode, and where the hash of its answer's body stands. Raises Refused."""
    table = _table(node, "an episode", _EPISODE, ("dialect", "request", "reply"))
    reply, hashed = _reply(table["reply"], known)
    words = {name: string(table[name]) for name in ("dialect", "operation", "model") if name in table}
    found = Episode(
        dialect=words["dialect"],
        operation=words.get("operation", ""),
        model=words.get("model", ""),
        request=_request(table["request"]),
        reply=reply,
        at=_optional(table.get("at"), _moment, 0.0),
    )
    return found, hashed


def form(node: Node | None) -> beats.Form | None:
    """How the events of an episode are laid out, where one stands."""
    reply = node.value.get("reply") if node and isinstance(node.value, dict) else None
    return _form(reply.value) if reply and isinstance(reply.value, dict) else None


def claimed(node: Node, lines: set[int]) -> bool:
    """Whether all the placeholders in these lines are events of the reply, so that none is, say, part of a text."""
    reply = node.value.get("reply") if isinstance(node.value, dict) else None
    frames = reply.value.get("frames") if reply and isinstance(reply.value, dict) else None
    items = frames.value if frames and isinstance(frames.value, list) else ()
    return lines <= {item.spot[0] for item in items if item.bare and item.value == PLACEHOLDER}


def _request(node: Node) -> Sent:
    table = _table(node, "a request", _REQUEST, ("method", "path"))
    return Sent(
        method=string(table["method"]),
        path=string(table["path"]),
        query=_optional(table.get("query"), string, ""),
        headers=_optional(table.get("headers"), _headers, ()),
        body=_optional(table.get("body"), body, b""),
    )


def _reply(node: Node, known: Known) -> tuple[Recorded, Node]:
    table = _table(node, "a reply", _REPLY, ("status",))
    hashed = table.get("sha256")
    if hashed is None:
        raise Refused(_CUT_OFF, node.spot)
    if not (isinstance(hashed.value, str) and (_HASH.fullmatch(hashed.value) or hashed.value == UNKNOWN)):
        raise Refused(f"64 hex digits must stand here, or {UNKNOWN}; was the file cut off?", hashed.spot)
    form = _form(table)
    reply = Recorded(
        status=_status(table["status"]),
        headers=_optional(table.get("headers"), _headers, ()),
        body=_optional(table.get("body"), body, b""),
        frames=_frames(table["frames"], form, known) if "frames" in table else None,
        took=_optional(table.get("took"), beats.seconds, 0.0),
    )
    return reply, hashed


def _form(reply: Mapping[str, Node]) -> beats.Form:
    ends = _optional(reply.get("ends"), string, "lf")
    if ends not in beats.ENDS:
        raise Refused(f"lines end with {' or '.join(beats.ENDS)}", reply["ends"].spot)
    return beats.Form(style(reply.get("style")), ends)


def _frames(node: Node, form: beats.Form, known: Known) -> tuple[Beat, ...]:
    if not isinstance(node.value, list):
        raise Refused("a list of events must stand here", node.spot)
    return tuple(
        known[item.spot[0]] if item.spot[0] in known and item.value == PLACEHOLDER else beats.beat(item, form)
        for item in node.value
    )


def _headers(node: Node) -> Headers:
    pairs = [*_pairs(node)]
    for name, value in pairs:
        if not _NAME.fullmatch(string(name)):
            raise Refused(f"no header has the name {string(name)[:60]!a}", name.spot)
        if not _VALUE.fullmatch(string(value)):
            raise Refused("a header is one line of Latin letters and signs", value.spot)
    return tuple((string(name), string(value)) for name, value in pairs)


def _pairs(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node.value, dict):
        for name, value in node.value.items():
            yield Node(name, (node.keys or {})[name]), value
        return
    pairs = node.value if isinstance(node.value, list) else (node,)
    for pair in pairs:
        if not isinstance(pair.value, list) or len(pair.value) != 2:
            raise Refused("headers are a table, or a list of [name, value]", pair.spot)
        yield pair.value[0], pair.value[1]


def _status(node: Node) -> int:
    if not (isinstance(node.value, str) and _STATUS.fullmatch(node.value)):
        raise Refused("a status from 200 to 599 must stand here", node.spot)
    return int(node.value)


def _moment(node: Node) -> float:
    try:
        moment = datetime.fromisoformat(string(node))
        if moment.tzinfo is not None:
            return moment.timestamp()
    except (ValueError, OverflowError):
        pass
    raise Refused("a time in UTC must stand here, such as 2026-01-31T12:00:00Z", node.spot)


def _table(node: Node, what: str, known: tuple[str, ...], needed: tuple[str, ...]) -> Mapping[str, Node]:
    """The fields of a table that has these keys and no others."""
    if not isinstance(node.value, dict):
        raise Refused(f"{what} must be a table", node.spot)
    for key in node.value:
        if key not in known:
            raise Refused(f'{what} has no "{key[:60]}"{did_you_mean(key, known)}', (node.keys or {})[key])
    for key in needed:
        if key not in node.value:
            raise Refused(f'{what} needs "{key}"; was the file cut off?', node.spot)
    return node.value


def _optional(node: Node | None, read: Callable[[Node], Read], otherwise: Read) -> Read:
    return otherwise if node is None else read(node)


_EPISODE = ("call", "at", "dialect", "operation", "model", "request", "reply")
_REQUEST = ("method", "path", "query", "headers", "body")
_REPLY = ("status", "headers", "took", "body", "style", "ends", "frames", "sha256")
_STATUS = re.compile(r"[2-5][0-9]{2}")
_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # what HTTP can carry
_HASH = re.compile(r"[0-9a-f]{64}")
_CUT_OFF = (
    f'a reply ends with the "sha256" of its body, which is not there: was the file cut off? '
    f"Of a reply written by hand, say sha256: {UNKNOWN}"
)
