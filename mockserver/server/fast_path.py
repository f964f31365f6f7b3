"""Answers requests that are much like earlier ones below ASGI, from what the handler taught it about those.

The handler answers everything first, and teaches three things:

- a **lane**: what requests with the same head share, whatever the length of their body;
- a **shape**: what requests of a lane share whose bodies differ in their texts only;
- a **template**: the answer of a rule that says the same to all requests of a shape. Only ids differ then, and what
  depends on the number of prompt tokens, for which the handler renders it again.

A template is used once the handler has sent a second request exactly the bytes that the template would have given.
"""

import logging
import re
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from math import inf
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.exchange import Exchange
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Plan, ToolUse
from mockserver.core.seed import Seed
from mockserver.core.text import printable
from mockserver.delivery.drive import COMPLETE, PacedStream, fits, header_lines
from mockserver.delivery.script import AT_ONCE, Pace
from mockserver.dialects import Operation, Texts
from mockserver.dialects._parse import read_json
from mockserver.engine.answer import drawn, with_tokenizer
from mockserver.engine.engine import Engine
from mockserver.rules.load import Rule
from mockserver.server.live import Live, Prepared

log = logging.getLogger("mockserver")
MAX_BODY = 32_768  # bytes of a request
MAX_LEARNED = 16_000_000  # bytes, roughly; beyond these all is forgotten and learned again
BARE = 3_000  # bytes of anything learned besides its texts
_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: ([0-9]{1,8})\r\n")

Head = tuple[bytes, bytes]  # of a request: before and after the digits of its content-length
NamesRequest = Callable[[HttpRequest, Call | None], Headers]  # the headers of a reply that name its request
Mark = Callable[[Call], str]  # an id that follows from the call


class Connection(Protocol):
    """What an answer is written to; `head`: its header lines."""

    def write_whole(self, status: int, head: bytes, body: bytes) -> None:
        """Write an answer; without a content-length it goes in one chunk."""

    def write_paced(self, status: int, head: bytes, stream: PacedStream) -> None:
        """Write the head of a paced stream, then its parts when they are due."""


LESSON = "mockserver.lesson"  # the extension of an ASGI scope by which the handler teaches the fast path


def parted(data: bytes) -> tuple[Head, bytes] | None:
    """Return the head and body of the one small request that `data` is, or None."""
    end = data.find(b"\r\n\r\n") + 4
    found = _LENGTH.search(data, 0, end)
    if found is None or int(found[1]) != len(data) - end or len(data) - end > MAX_BODY:
        return None
    at, stop = found.span(1)
    return (data[:at], data[stop:end]), data[end:]


class Variant(Struct, eq=False):
    """What the calls of a template get that have the same number of prompt tokens.

    `lines` are the header lines, with a `%s` for each of the headers `named`, which depend on the call.
    """

    reply: Reply
    lines: str
    named: tuple[str, ...]


class Template(Struct, eq=False):
    """What a rule answers to the calls of a shape, learned from its answer to the `sample`.

    `again` renders it for another number of prompt tokens, `headers` returns those that name the request; `marks` are
    the bytes that follow from the sample, and how.
    """

    rule: Rule
    plan: Plan
    sample: Call
    again: Callable[[int], Reply]
    headers: NamesRequest
    marks: tuple[tuple[bytes, Mark], ...]
    pace: Pace
    timed: bool | None  # the timing override of the requests
    confirmed: bool = False
    variants: dict[int, Variant] = {}  # by the number of prompt tokens

    def variant(self, tokens: int) -> Variant:
        reply, own = self.again(tokens), dict(self.headers(self.sample.http, self.sample))
        named = tuple([name for name, _ in reply.headers if name in own])
        stated = [(name, "%s" if name in own else value.replace("%", "%%")) for name, value in reply.headers]
        return Variant(reply, "".join([f"{name}: {value}\r\n" for name, value in stated]), named)

    def filled(self, variant: Variant, call: Call) -> tuple[Reply, bytes]:
        """Return the reply to a call, and its header lines."""
        body, own, reply = variant.reply.body, dict(self.headers(call.http, call)), variant.reply
        for old, mark in self.marks:
            body = body.replace(old, mark(call).encode())
        headers = tuple([(name, own.get(name, value)) for name, value in reply.headers])
        lines = variant.lines % tuple([own[name] for name in variant.named])
        return Reply(reply.status, headers, body, parts=reply.parts), lines.encode("latin-1")


class Shape(Struct, eq=False):
    """What requests share whose bodies differ in their texts only.

    `others` counts the prompt tokens besides those of the texts; with more than `most` the context window may matter.
    """

    sample: Call
    others: int
    most: float
    templates: dict[int, Template | None] = {}  # by the id of a rule; None: it has no template


class Lane(Struct, eq=False):
    """What requests with the same head share; it holds for these settings."""

    settings: object
    request: HttpRequest
    dialect: str
    operation: str
    query: bytes
    texts: Texts | None
    shapes: dict[tuple[bytes, Hashable], Shape] = {}

    def headers(self, body: bytes) -> tuple[tuple[bytes, bytes], ...]:
        length = str(len(body)).encode()
        return tuple([(name, length if name == b"content-length" else value) for name, value in self.request.headers])

    def outline(self, body: bytes) -> tuple[tuple[bytes, Hashable], Json] | None:
        """Return what decides the shape of a body, and its texts; None if it holds more than texts."""
        texts = self.texts
        try:
            raw = None if texts is None else read_json(body)
        except Failure:
            return None
        if texts is None or type(raw) is not dict:
            return None
        value = raw.pop(texts.key, None)
        outline = texts.outline(value)
        return None if outline is None else ((to_json(raw), outline), value)


class FastPath:
    """Answers requests for one server; `learn` is how the handler teaches it."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._lanes: dict[Head, Lane] = {}
        self._learned = 0

    def lane(self, head: Head) -> Lane | None:
        lane = self._lanes.get(head)
        return lane if lane is not None and lane.settings is self._live.settings else None

    def answer(self, data: bytes, connection: Connection) -> bool:
        """Answer the request that `data` is, or return False: the handler has to."""
        request, live = parted(data), self._live
        lane = None if request is None else self.lane(request[0])
        if request is None or lane is None or live.limiter is not None:
            return False
        if live.unsent.held > live.settings.max_unsent:
            return False
        body, engine = request[1], live.engine_of(lane.request.namespace)
        prepared = live.memo.get((lane, body), engine)
        if prepared is None:
            try:
                prepared = self._filled(lane, body, engine)
            except Exception:  # a bug, for which the client shall still get its answer
                log.exception("a fault of mockserver itself, on the fast path of %s", ascii(lane.request.path))
        elif not _is_simple(prepared):
            prepared = None
        if prepared is None:
            return False
        exchange = self._open(lane, body, engine)
        self._send(exchange, prepared, connection)
        return True

    def _filled(self, lane: Lane, body: bytes, engine: Engine) -> Prepared | None:
        """Return what a template gives, if there is one."""
        seen = lane.outline(body)
        shape = None if seen is None else lane.shapes.get(seen[0])
        if seen is None or shape is None or lane.texts is None:
            return None
        call = lane.texts.call(shape.sample, seen[1])
        rule = engine.constant_rule(call)
        template = None if rule is None else shape.templates.get(id(rule))
        tokens = _tokens(shape, call)
        if template is None or template.rule is not rule or not template.confirmed or tokens > shape.most:
            return None
        reply, lines = template.filled(self._variant(template, tokens), call)
        pace, timed = template.pace, template.timed
        return Prepared(template.plan, reply, call, pace, timed, prompt_tokens=tokens, lines=lines)

    def _variant(self, template: Template, tokens: int) -> Variant:
        variant = template.variants.get(tokens)
        if variant is None:
            variant = template.variants[tokens] = template.variant(tokens)
            self._keep(len(variant.reply.body))
        return variant

    def _keep(self, size: int) -> None:
        self._learned += BARE + size
        if self._learned > MAX_LEARNED:
            self._lanes.clear()
            self._learned = 0

    def _open(self, lane: Lane, body: bytes, engine: Engine) -> Exchange:
        request = lane.request
        exchange = self._live.journal.open(request.method, request.path, lane.dialect, request.namespace)
        exchange.query, exchange.headers, exchange.operation = lane.query, lane.headers(body), lane.operation
        exchange.asked, exchange.rules = exchange.began, engine.rules
        exchange.take(body)
        return exchange

    def _send(self, exchange: Exchange, prepared: Prepared, connection: Connection) -> None:
        journal, reply, call = self._live.journal, prepared.reply, prepared.call
        exchange.plan, exchange.prompt_tokens = prepared.plan, prepared.prompt_tokens
        exchange.status, exchange.reply_headers = reply.status, reply.headers
        if call is not None:
            exchange.model = call.model
            if journal.keeps_calls:
                http = replace(call.http, body=exchange.body, headers=tuple(exchange.headers))
                exchange.call = replace(call, http=http)
        head = prepared.lines or header_lines(reply.headers)[0]
        if self._live.settings.source_headers:
            source = printable(prepared.plan.source).encode("latin-1")
            head += b"x-mockserver-source: %b\r\nx-mockserver-call: %d\r\n" % (source, exchange.seq)
        if self._live.pace_of(prepared, exchange.namespace) is not AT_ONCE:
            on_end = partial(journal.close, exchange)
            connection.write_paced(reply.status, head, PacedStream(reply, exchange.began, exchange.note, on_end))
            return
        exchange.note(reply.body)
        connection.write_whole(reply.status, head, reply.body)
        journal.close(exchange, COMPLETE)

    def learn(self, head: Head, request: HttpRequest, origin: tuple[str, str, bytes, Texts | None]) -> Lane:
        """Return the lane of a head; `origin` is the dialect, operation, query and texts of the request that had it."""
        lane = self.lane(head)
        if lane is None:
            self._keep(len(head[0]) + len(head[1]))
            lane = self._lanes[head] = Lane(self._live.settings, replace(request, body=b""), *origin)
        return lane

    def learn_answer(self, lane: Lane, body: bytes, prepared: Prepared, engine: Engine) -> None:
        """Learn from the handler's answer to a request of this lane: make a template of it, or confirm the one made."""
        call, seen = prepared.call, lane.outline(body)
        if call is None or seen is None or lane.texts is None or not _is_simple(prepared):
            return
        rule, shape = engine.constant_rule(call), lane.shapes.get(seen[0])
        if rule is None or rule.source != prepared.plan.source or prepared.plan.remarks:
            return
        if shape is None:
            self._keep(2 * len(body))
            shape = lane.shapes[seen[0]] = _shape(call, engine)
        template = shape.templates.get(id(rule))
        if template is None:
            if id(rule) not in shape.templates:
                shape.templates[id(rule)] = _template(rule, prepared, lane.texts.headers, engine.policy.seed)
        elif not template.confirmed and template.sample.fingerprint != call.fingerprint:
            made = lane.texts.call(shape.sample, seen[1])
            same = (made.meaning, made.messages, made.raw) == (call.meaning, call.messages, call.raw)
            template.confirmed = same and _same(
                template.filled(self._variant(template, _tokens(shape, made)), call), prepared.reply
            )
            if not template.confirmed:
                shape.templates[id(rule)] = None


def _is_simple(prepared: Prepared) -> bool:
    """Whether a reply is sent at once and as it is, and nothing is counted or kept for it."""
    return (
        (prepared.pace is AT_ONCE or prepared.reply.parts != ())
        and (prepared.kept is None and prepared.charge is None and not prepared.plan.faults)
        and fits(prepared.reply)
        and header_lines(prepared.reply.headers)[1] in (None, len(prepared.reply.body))
    )


def _same(filled: tuple[Reply, bytes], other: Reply) -> bool:
    reply, lines = filled
    same = (reply.status, reply.headers, reply.body) == (other.status, other.headers, other.body)
    return same and reply.parts == other.parts and lines == header_lines(other.headers)[0]


def _shape(call: Call, engine: Engine) -> Shape:
    sample = with_tokenizer(call, engine.policy.tokenizer(call.model))
    known, asked = engine.policy.models.find(call.model), call.options.max_tokens or 0
    window = known.refusing.context_window
    most = inf if window is None else -1 if known.stated.context_window is not None else window - asked - 1
    return Shape(sample, sample.prompt_tokens - _text_tokens(sample), most)


def _text_tokens(call: Call) -> int:
    count = call.tokenizer.count
    return sum([count(message.text) for message in call.messages])


def _tokens(shape: Shape, call: Call) -> int:
    return shape.others + _text_tokens(call)


def _template(rule: Rule, prepared: Prepared, headers: NamesRequest, seed: Seed) -> Template | None:
    call, made, again = prepared.call, prepared.made, prepared.again
    if call is None or made is None or again is None:
        return None
    marks = [(mark(call).encode(), mark) for mark in _marks(made, seed)]
    shown = tuple([each for each in marks if each[0] in prepared.reply.body])
    return Template(rule, prepared.plan, call, again, headers, shown, prepared.pace, prepared.timed)


def _marks(answer: Answer, seed: Seed) -> Iterator[Mark]:
    """Yield how the ids of an answer follow from its call."""
    yield lambda call: call.fingerprint
    yield lambda call: drawn(seed, call.ids, "id", call.fingerprint)
    for index, choice in enumerate(answer.choices):
        for at, part in enumerate(choice.parts):
            if isinstance(part, ToolUse):
                labels = ("tool call", str(index), str(at))
                yield partial(_tool_call_id, seed, labels)


def _tool_call_id(seed: Seed, labels: tuple[str, str, str], call: Call) -> str:
    kind, index, at = labels
    return drawn(seed, call.tool_call_ids, kind, call.fingerprint, index, at)


class Lesson(Struct, frozen=True, eq=False):
    """By which the handler teaches the fast path how it answers a request with this head and query."""

    fast_path: FastPath
    head: Head
    query: bytes

    def learn(self, http: HttpRequest, operation: Operation, prepared: Prepared, engine: Engine) -> Hashable | None:
        """Return the key by which the fast path looks an equal request up; None if it can't answer that."""
        if not _is_simple(prepared):
            return None
        assert prepared.call is not None  # noqa: S101  # what can be cached has one
        origin = (prepared.call.dialect, operation.name, self.query, operation.texts)
        lane = self.fast_path.learn(self.head, http, origin)
        if prepared.made is not None:
            self.fast_path.learn_answer(lane, http.body, prepared, engine)
        return lane, http.body
