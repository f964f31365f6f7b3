"""Answers requests that are much like earlier ones below ASGI, from what the handler taught it about those.

The handler answers everything first, and teaches four things:

- what is **known**: the answer to requests of the same bytes;
- a **lane**: what requests with the same head share, whatever the length of their body;
- a **shape**: what requests of a lane share whose bodies differ in their texts only;
- a **template**: the answer of a rule that says the same to all requests of a shape. Only ids differ then, and what
  depends on the number of prompt tokens, for which the handler renders it again.

A template is used once the handler has sent a second request exactly the bytes that the template would have given.
"""

import logging
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache, partial
from math import inf
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Plan, Stored, Text, ToolUse
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
MAX_KNOWN = 256  # answers to requests of the same bytes
BARE = 3_000  # bytes of anything learned besides its texts
_LENGTH = (b"\r\ncontent-length: ", b"\r\nContent-Length: ")

Head = tuple[bytes, bytes]  # of a request: before and after the digits of its content-length
NamesRequest = Callable[[HttpRequest, Call | None], Headers]  # the headers of a reply that name its request
Mark = Callable[[Call], str]  # an id that follows from the call
Fields = tuple[tuple[bytes, bytes], ...]


class Connection(Protocol):
    """What an answer is written to; `head`: its header lines."""

    def write_whole(self, status: int, head: bytes, rest: bytes) -> None:
        """Write an answer; `rest`: its body as HTTP frames it."""

    def write_paced(self, status: int, head: bytes, stream: PacedStream) -> None:
        """Write the head of a paced stream, then its parts when they are due."""


LESSON = "mockserver.lesson"  # the extension of an ASGI scope by which the handler teaches the fast path


def parted(data: bytes) -> tuple[Head, bytes] | None:
    """Return the head and body of the one small request that `data` is, or None."""
    end = data.find(b"\r\n\r\n") + 4
    size, at = len(data) - end, -1
    for name in _LENGTH:
        if at < 0:
            at = data.find(name, 0, end)
    stop = at + len(_LENGTH[0]) + len(b"%d" % size)
    if at < 0 or size > MAX_BODY or data[at + len(_LENGTH[0]) : stop + 2] != b"%d\r\n" % size:
        return None
    return (data[: at + len(_LENGTH[0])], data[stop:end]), data[end:]


class ReadyAnswer(Struct, eq=False):
    """An answer that is ready to be sent.

    `fields` are those of its row in the journal, `head` its header lines up to the number of the call, `rest` what
    follows them if it is sent at once.
    """

    lane: "Lane"
    engine: Engine
    prepared: Prepared
    fields: dict[str, Any]
    head: bytes
    rest: bytes


class Variant(Struct, eq=False):
    """What the calls of a template get that have the same number of prompt tokens.

    `lines` are the header lines, with a `%s` for each of the headers `named`, which depend on the call, as does what
    stands between the `pieces` of the body: the first mark.
    """

    reply: Reply
    lines: str
    named: tuple[tuple[int, str], ...]
    pieces: list[bytes]


class Template(Struct, eq=False):
    """What a rule answers to the calls of a shape, learned from its answer to the `sample`.

    `again` renders it for another number of prompt tokens, `headers` returns those that name the request; `marks` are
    the bytes that follow from the sample, and how. `kept` is the answer to be stored.
    """

    rule: Rule
    plan: Plan
    sample: Call
    again: Callable[[int], Reply]
    headers: NamesRequest
    marks: tuple[tuple[bytes, Mark], ...]
    pace: Pace
    timed: bool | None  # the timing override of the requests
    kept: Stored | None
    id: Mark  # of the answer that is kept
    confirmed: bool = False
    variants: dict[int, Variant] = {}  # by the number of prompt tokens

    def variant(self, tokens: int) -> Variant:
        reply, own = self.again(tokens), dict(self.headers(self.sample.http, self.sample))
        named = tuple([(at, name) for at, (name, _) in enumerate(reply.headers) if name in own])
        stated = [(name, "%s" if name in own else value.replace("%", "%%")) for name, value in reply.headers]
        lines = "".join([f"{name}: {value}\r\n" for name, value in stated])
        pieces = reply.body.split(self.marks[0][0]) if self.marks else [reply.body]
        return Variant(reply, lines, named, pieces)

    def stored(self, call: Call, tokens: int, length: int) -> Stored | None:
        """Return what is kept of the answer to a call whose body has this length."""
        kept = self.kept
        if kept is None:
            return None
        asked, usage = replace(call, http=kept.call.http), replace(kept.answer.usage, prompt=tokens)
        answer = replace(kept.answer, id=self.id(call), usage=usage)
        return replace(kept, call=asked, answer=answer, size=kept.size + length - len(self.sample.http.body))

    def filled(self, variant: Variant, call: Call) -> tuple[Reply, bytes]:
        """Return the reply to a call, and its header lines."""
        own, reply = dict(self.headers(call.http, call)), variant.reply
        values = [mark(call).encode() for _, mark in self.marks]
        body = values[0].join(variant.pieces) if values else reply.body
        for (old, _), value in zip(self.marks[1:], values[1:], strict=True):
            body = body.replace(old, value)
        headers = list(reply.headers)
        for at, name in variant.named:
            headers[at] = name, own[name]
        lines = variant.lines % tuple([own[name] for _, name in variant.named])
        return Reply(reply.status, tuple(headers), body, parts=reply.parts), lines.encode("latin-1")


class Shape(Struct, eq=False):
    """What requests share whose bodies differ in their texts only.

    `others` counts the prompt tokens besides those of the texts; with more than `most` the context window may matter.
    """

    sample: Call
    others: int
    most: float
    templates: dict[int, Template | None] = {}  # by the id of a rule; None: it has no template


class Lane(Struct, eq=False):
    """What requests with the same head share: `fields` of the journal's row, headers before and after the length."""

    request: HttpRequest
    dialect: str
    fields: dict[str, Any]
    before: Fields
    after: Fields
    texts: Texts | None
    named: bool  # replies have headers that say what answered
    shapes: dict[tuple[bytes, Hashable], Shape] = {}

    def outline(self, body: bytes) -> tuple[tuple[bytes, Hashable], Json] | None:
        """Return what decides the shape of a body, and its texts; None if it holds more than texts."""
        texts = self.texts
        if texts is None:
            return None
        try:
            raw = read_json(body)
        except Failure:
            return None
        if type(raw) is not dict:
            return None
        value = raw.pop(texts.key, None)
        outline = texts.outline(value)
        return None if outline is None else ((to_json(raw), outline), value)

    def known(self, body: bytes, engine: Engine, prepared: Prepared, lines: bytes) -> ReadyAnswer:
        """Return the answer to a request with this body, as it was prepared; `lines` are the header lines."""
        reply, call, length = prepared.reply, prepared.call, len(body)
        fields = {
            **self.fields,
            "headers": (*self.before, (b"content-length", b"%d" % length), *self.after),
            "body": body,
            "received": length,
            "unweighed": length,
            "model": "" if call is None else call.model,
            "plan": prepared.plan,
            "rules": engine.rules,
            "status": reply.status,
            "reply_headers": reply.headers,
            "prompt_tokens": prepared.prompt_tokens,
        }
        if self.named:
            lines += b"x-mockserver-source: %b\r\nx-mockserver-call: " % _source(prepared.plan.source)
        return ReadyAnswer(self, engine, prepared, fields, lines, _framed(lines, reply.body))


def _framed(lines: bytes, body: bytes) -> bytes:
    """Return what follows the header lines: without a content-length the body goes in one chunk."""
    if b"content-length: " in lines:
        return b"\r\n" + body
    return b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


class FastPath:
    """Answers requests for one server; `learn` is how the handler teaches it."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._settings = live.settings  # for which all below was learned
        self._known: dict[bytes, ReadyAnswer] = {}
        self._lanes: dict[Head, Lane] = {}
        self._learned = 0

    def lane(self, head: Head) -> Lane | None:
        return self._lanes.get(head)

    def answer(self, data: bytes, connection: Connection) -> bool:
        """Answer the request that `data` is, or return False: the handler has to."""
        live = self._live
        if live.settings is not self._settings:
            self._forget()
        if live.limiter is not None or live.unsent.held > live.settings.max_unsent:
            return False
        known = self._known.get(data)
        if known is None or known.engine is not live.engine_of(known.lane.request.namespace):
            known = self._filled(data)
        if known is None:
            return False
        self._send(known, connection)
        return True

    def _forget(self) -> None:
        self._known.clear()
        self._lanes.clear()
        self._learned, self._settings = 0, self._live.settings

    def _filled(self, data: bytes) -> ReadyAnswer | None:
        """Return what a template gives, if there is one."""
        request = parted(data)
        lane = None if request is None else self.lane(request[0])
        if request is None or lane is None:
            return None
        try:
            return self._from_template(lane, request[1], self._live.engine_of(lane.request.namespace))
        except Exception:  # a bug, for which the client shall still get its answer
            log.exception("a fault of mockserver itself, on the fast path of %s", ascii(lane.request.path))
            return None

    def _from_template(self, lane: Lane, body: bytes, engine: Engine) -> ReadyAnswer | None:
        seen = lane.outline(body)
        shape = None if seen is None else lane.shapes.get(seen[0])
        if seen is None or shape is None or lane.texts is None:
            return None
        call = lane.texts.call(shape.sample, seen[1])
        rule = engine.constant_rule(call)
        template = None if rule is None else shape.templates.get(id(rule))
        tokens = shape.others + _text_tokens(call)
        if template is None or template.rule is not rule or not template.confirmed or tokens > shape.most:
            return None
        reply, lines = template.filled(self._variant(template, tokens), call)
        kept = None if template.kept is None else template.stored(call, tokens, len(body))
        pace, timed = template.pace, template.timed
        prepared = Prepared(template.plan, reply, call, pace, timed, kept, prompt_tokens=tokens)
        return lane.known(body, engine, prepared, lines)

    def _variant(self, template: Template, tokens: int) -> Variant:
        variant = template.variants.get(tokens)
        if variant is None:
            variant = template.variants[tokens] = template.variant(tokens)
            self._keep(len(variant.reply.body))
        return variant

    def _keep(self, size: int) -> None:
        self._learned += BARE + size
        if self._learned > MAX_LEARNED:
            self._forget()

    def _send(self, known: ReadyAnswer, connection: Connection) -> None:
        live, lane, prepared = self._live, known.lane, known.prepared
        journal, request, reply = live.journal, lane.request, prepared.reply
        exchange = journal.open(request.method, request.path, lane.dialect, request.namespace, **known.fields)
        exchange.asked = exchange.began
        if prepared.kept is not None:
            known.engine.memory.put(prepared.kept)
        if journal.keeps_calls and prepared.call is not None:
            http = replace(prepared.call.http, body=exchange.body, headers=exchange.headers)
            exchange.call = replace(prepared.call, http=http)
        head = b"%b%d\r\n" % (known.head, exchange.seq) if lane.named else known.head
        if prepared.pace is not AT_ONCE and live.pace_of(prepared, request.namespace) is not AT_ONCE:
            on_end = partial(journal.close, exchange)
            connection.write_paced(reply.status, head, PacedStream(reply, exchange.began, exchange.note, on_end))
            return
        exchange.note(reply.body)
        connection.write_whole(reply.status, head, known.rest)
        journal.close(exchange, COMPLETE)

    def learn(self, head: Head, request: HttpRequest, origin: tuple[str, str, bytes, Texts | None]) -> Lane:
        """Return the lane of a head; `origin` is the dialect, operation, query and texts of the request that had it."""
        lane = self.lane(head)
        if lane is None:
            self._keep(len(head[0]) + len(head[1]))
            dialect, operation, query, texts = origin
            names = [name for name, _ in request.headers]
            at = names.index(b"content-length")
            lane = self._lanes[head] = Lane(
                replace(request, body=b""),
                dialect,
                {"query": query, "operation": operation},
                request.headers[:at],
                request.headers[at + 1 :],
                texts,
                named=self._settings.source_headers,
            )
        return lane

    def learn_answer(self, lane: Lane, body: bytes, prepared: Prepared, engine: Engine) -> None:
        """Learn from the handler's answer to a request of this lane: make a template of it, or confirm the one made."""
        call, seen = prepared.call, lane.outline(body)
        if call is None or seen is None or lane.texts is None:
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
                self._keep(len(body) + len(prepared.reply.body))
                shape.templates[id(rule)] = _template(rule, prepared, lane.texts, engine.policy.seed)
        elif not template.confirmed and template.sample.fingerprint != call.fingerprint:
            made = lane.texts.call(shape.sample, seen[1])
            same = (made.meaning, made.messages, made.raw) == (call.meaning, call.messages, call.raw)
            tokens = shape.others + _text_tokens(made)
            filled = template.filled(self._variant(template, tokens), call)
            kept = template.stored(made, tokens, len(body))
            template.confirmed = same and kept == prepared.kept and _same(filled, prepared.reply)
            if not template.confirmed:
                shape.templates[id(rule)] = None

    def learn_bytes(self, data: bytes, known: ReadyAnswer) -> None:
        """Answer requests of the same bytes so from now on; of too many the oldest are forgotten."""
        self._keep(len(data) + 2 * len(known.rest))
        self._known[data] = known
        if len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]


def _is_simple(prepared: Prepared) -> bool:
    """Whether a reply is sent at once and as it is, and nothing is counted for it."""
    return (
        (prepared.pace is AT_ONCE or prepared.reply.parts != ())
        and (prepared.charge is None and not prepared.plan.faults)
        and fits(prepared.reply)
        and header_lines(prepared.reply.headers)[1] in (None, len(prepared.reply.body))
    )


@lru_cache(maxsize=1024)
def _source(source: str) -> bytes:
    return printable(source).encode("latin-1")


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


def _template(rule: Rule, prepared: Prepared, texts: Texts, seed: Seed) -> Template | None:
    call, made, again, kept = prepared.call, prepared.made, prepared.again, prepared.kept
    if call is None or made is None or again is None or "usage" in rule.spec["then"]:  # which states the tokens
        return None
    if kept is not None and not all(isinstance(part, Text) for choice in made.choices for part in choice.parts):
        return None  # the parts that are kept have ids, too
    marks = [(mark(call).encode(), mark) for mark in _marks(made, seed, texts)]
    shown = tuple([each for each in marks if each[0] in prepared.reply.body])
    own_id = partial(_answer_id, seed)
    return Template(rule, prepared.plan, call, again, texts.headers, shown, prepared.pace, prepared.timed, kept, own_id)


def _marks(answer: Answer, seed: Seed, texts: Texts) -> Iterator[Mark]:
    """Yield how the ids of an answer follow from its call."""
    yield partial(_answer_id, seed)
    yield lambda call: call.fingerprint
    for index, choice in enumerate(answer.choices):
        for at, part in enumerate(choice.parts):
            if isinstance(part, ToolUse):
                labels = ("tool call", str(index), str(at))
                yield partial(_tool_call_id, seed, labels)
            if texts.item_id is not None:
                yield partial(_item_id, seed, texts.item_id, at)


def _answer_id(seed: Seed, call: Call) -> str:
    return drawn(seed, call.ids, "id", call.fingerprint)


def _item_id(seed: Seed, item_id: Callable[[str, int], str], at: int, call: Call) -> str:
    return item_id(_answer_id(seed, call), at)


def _tool_call_id(seed: Seed, labels: tuple[str, str, str], call: Call) -> str:
    kind, index, at = labels
    return drawn(seed, call.tool_call_ids, kind, call.fingerprint, index, at)


class Lesson(Struct, frozen=True, eq=False):
    """By which the handler teaches the fast path how it answers the request that `data` is, with this query."""

    fast_path: FastPath
    data: bytes
    query: bytes

    def learn(self, http: HttpRequest, operation: Operation, prepared: Prepared, engine: Engine) -> bool:
        """Return whether the fast path answers equal requests from now on."""
        request = parted(self.data)
        if prepared.call is None or request is None or not _is_simple(prepared):
            return False
        origin = (prepared.call.dialect, operation.name, self.query, operation.texts)
        lane = self.fast_path.learn(request[0], http, origin)
        if prepared.made is not None:
            self.fast_path.learn_answer(lane, http.body, prepared, engine)
        lines = header_lines(prepared.reply.headers)[0]
        self.fast_path.learn_bytes(self.data, lane.known(http.body, engine, prepared, lines))
        return True
