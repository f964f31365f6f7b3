"""Answers requests that are much like earlier ones below ASGI, from what the handler taught it about those.

The handler answers everything first, and teaches five things:

- what is **known**: the answer to requests of the same bytes;
- a **lane**: what requests with the same head share, whatever the length of their body;
- a **shape**: what requests of a lane share whose bodies differ in their texts only;
- a **template**: the answer of a rule that says the same to all requests of a shape. Only ids differ then, and what
  depends on the number of prompt tokens, for which the handler renders it again;
- how answers to a shape are **generated** where no rule matches.

The last two are used once the handler has sent a second request exactly the bytes that they would have given.
"""

import logging
from contextlib import suppress
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.settings import Settings
from mockserver.core.call import Call
from mockserver.core.exchange import COMPLETE, Answered, SentAtOnce
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Answer, Choice, Text
from mockserver.core.seed import Seed, monotonic, wall
from mockserver.delivery.drive import PacedStream, fits, header_lines
from mockserver.delivery.script import AT_ONCE
from mockserver.dialects import Operation, Texts
from mockserver.engine.answer import signer
from mockserver.engine.engine import Engine, generated_text, takes_text
from mockserver.engine.offload import LARGE
from mockserver.rules.load import Rule
from mockserver.server.answer_templates import (
    ANY_COUNT,
    ANY_TEXT,
    KeptAnswer,
    KnownAnswer,
    Lane,
    Ready,
    Sized,
    Template,
    Variant,
    framed,
    marks_of,
    said_in,
)
from mockserver.server.body_shapes import Found, Shape, Shapes
from mockserver.server.live import Live, Prepared

log = logging.getLogger("mockserver")
MAX_BODY = 32_768  # bytes of a request
MAX_REQUEST = 2 * MAX_BODY  # bytes with the head; to look one up, all of its bytes are hashed
MAX_LEARNED = 16_000_000  # bytes, roughly; beyond these all is forgotten and learned again
MAX_TEXT = 10_000  # characters of a generated text
MAX_KNOWN = 256  # answers to requests of the same bytes
BARE = 3_000  # bytes of anything learned besides its texts
_LENGTH = (b"\r\ncontent-length: ", b"\r\nContent-Length: ")

Head = tuple[bytes, bytes]  # of a request: before and after the digits of its content-length


class Connection(Protocol):
    """What an answer is written to; `head`: its header lines."""

    def write_head(self, status: int, head: bytes, rest: bytes, number: bytes = b"") -> None:
        """Write an answer; `number`: what ends its header lines; `rest`: its body as HTTP frames it."""

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


class FastPath:
    """Answers requests for one server; `learn` is how the handler teaches it."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._settings: Settings | None = None  # for which all below was learned
        self._known: dict[bytes, KnownAnswer] = {}
        self._lanes: dict[Head, Lane] = {}
        self._heads: dict[bytes, Sized] = {}
        self._learned = 0
        self._latest: tuple[bytes, Sized] | None = None  # the head of the latest request
        self._limited = self._numbered = False  # whether requests are, and replies
        self._max_unsent = 0

    def answer(self, data: bytes, connection: Connection) -> bool:
        """Answer the request that `data` is, or return False: the handler has to."""
        live = self._live
        if live.settings is not self._settings:
            self._forget()
        if self._limited or len(data) > MAX_REQUEST or live.unsent.held > self._max_unsent:
            return False
        if live.line is not None and live.line.lost:
            return False
        known = self._known.get(data)
        if known is not None and known.engine is self._engine_of(known.namespace):
            ready = known.ready
            if ready.prepared.kept is not None:
                known.engine.memory.put(ready.prepared.kept)
            self._send(ready, connection)
            return True
        filled = self._filled(data)
        if filled is None:
            return False
        self._send(filled, connection)
        return True

    def _engine_of(self, namespace: str) -> Engine | None:
        """Return what answers in a namespace; None if other servers have changed what the handler has to read first."""
        live, fleet = self._live, self._live.fleet
        return live.engine_of(namespace) if fleet is None or fleet.is_current(namespace) else None

    def _forget(self) -> None:
        self._known.clear()
        self._lanes.clear()
        self._heads.clear()
        self._latest, self._learned, self._settings = None, 0, self._live.settings
        self._limited, self._max_unsent = self._live.limiter is not None, self._settings.max_unsent
        self._numbered = self._settings.source_headers

    def _filled(self, data: bytes) -> Ready | None:
        """Return what a template gives, if there is one."""
        if self._latest is None or not data.startswith(self._latest[0]):
            end = data.find(b"\r\n\r\n") + 4
            found = self._heads.get(data[:end]) or self._sized(data, end)
            if found is None:
                return None
            self._latest = data[:end], found
        head, sized = self._latest
        if len(data) - len(head) != sized.size:
            return None
        request = sized.lane.request
        engine = self._engine_of(request.namespace)
        if engine is None:
            return None
        try:
            ready = self._from_template(sized, data, engine)
            if sized.latest == data and ready is not None and ready.prepared.kept is None:
                self.learn_bytes(data, KnownAnswer(engine, request.namespace, ready))
            sized.latest = data
            return ready
        except Exception:  # a bug, for which the client shall still get its answer
            log.exception("a fault of mockserver itself, on the fast path of %s", ascii(request.path))
            return None

    def _sized(self, data: bytes, end: int) -> Sized | None:
        request = parted(data)
        lane = None if request is None else self._lanes.get(request[0])
        if request is None or lane is None:
            return None
        sized = self._heads[data[:end]] = lane.sized(len(request[1]))
        self._keep(end + len(data))
        return sized

    def _from_template(self, sized: Sized, data: bytes, engine: Engine) -> Ready | None:
        shapes, body = sized.lane.shapes, data[len(data) - sized.size :]
        try:
            found = None if shapes is None else shapes.find(body)
            if found is None:
                return None
            shape, texts = found
            call, tokens = shape.call(body, None if engine.reads_bodies or self._live.journal.keeps_calls else texts)
        except ValueError:  # the handler says what is wrong
            return None
        rule = engine.constant_rule(call, shape.left)
        template: Template | None = shape.templates.get(id(rule))
        if template is not None and (template.rule is not rule or not template.confirmed or tokens > shape.most):
            template = None
        if rule is None:
            return self._generated(sized, data, engine, (shape, call, template)) if shape.confirmed else None
        if template is None:
            return None
        variant = template.variants.get(tokens) or self._variant(template, tokens, sized.lane)
        if variant is None:
            return None
        answer_id = template.id(call.fingerprint)
        headers, lines, answer = variant.filled(template, call, answer_id)
        if template.prepared.kept is not None:
            sample = template.prepared.kept
            size = sample.size + len(body) - template.size
            later = KeptAnswer(sample, shape, body, answer_id, tokens, size)
            engine.memory.put_later(sample, answer_id, later, size=size)
        rest = None if variant.chunked else b"\r\n" + answer
        row = variant.row(sized.lane, engine)
        answered = Answered(row, sized.headers, sized.headers_size, body, headers, answer)
        return Ready(variant.prepared, call, answered, answered.weight, lines, rest)

    def _generated(
        self, sized: Sized, data: bytes, engine: Engine, asked: tuple[Shape, Call, Template | None]
    ) -> Ready | None:
        """Return what is generated if no rule answers."""
        (shape, call, template), body = asked, data[len(data) - sized.size :]
        if _has_form(shape):
            call, _ = shape.call(body, None)
        ready = None if template is None else self._written(sized, body, engine, (template, call))
        if ready is None:
            prepared: Prepared | None = shape.generate(engine, call)
            if prepared is None or not _is_simple(prepared):
                return None
            prepared.made = prepared.again = prepared.generate = None
            if prepared.kept is not None:
                engine.memory.put(prepared.kept)
            ready = sized.lane.known(body, engine, prepared).ready
        return ready

    def _written(self, sized: Sized, body: bytes, engine: Engine, asked: tuple[Template, Call]) -> Ready | None:
        """Return the same, with the text that is generated in a template; None if it needs more than that."""
        template, call = asked
        text, count = (generated_text(engine, call) if len(body) <= LARGE else None) or ("", 0)
        tokens, most = call.prompt_tokens, call.options.max_tokens
        if not text or len(text) > MAX_TEXT or (most is not None and count > most):
            return None
        variant = self._variant(template, tokens, sized.lane)
        if variant is None:
            return None
        said, answer_id = said_in(text, count, tokens + count), template.id(call.fingerprint)
        headers, lines, answer = variant.filled(template, call, answer_id, said)
        row = variant.row(sized.lane, engine)
        answered = Answered(row, sized.headers, sized.headers_size, body, headers, answer, count)
        return Ready(variant.prepared, call, answered, answered.weight, lines, b"\r\n" + answer)

    def _variant(self, template: Template, tokens: int, lane: Lane) -> Variant | None:
        """Return what calls with so many tokens get, or None if their answer holds a mark by chance."""
        variant = template.variants.get(tokens)
        if variant is None:
            variant = template.variant(tokens, lane)
            if variant.holes != next(iter(template.variants.values()), variant).holes:
                return None
            template.variants[tokens] = variant
            self._keep(len(variant.prepared.reply.body))
        return variant

    def _keep(self, size: int) -> None:
        self._learned += BARE + size
        if self._learned > MAX_LEARNED:
            self._forget()

    def _send(self, ready: Ready, connection: Connection) -> None:
        answered, live, at, began = ready.answered, self._live, wall(), monotonic()
        journal, like, prepared = live.journal, answered.like, ready.prepared
        number = journal.number()
        named = b"%d\r\n" % number if self._numbered else b""
        paced = prepared.pace is not AT_ONCE and live.pace_of(prepared, like.namespace) is not AT_ONCE
        rest = ready.rest or (b"" if paced else framed(answered.answer))
        if not paced and journal.on_close is None and not journal.keeps_calls:
            connection.write_head(like.status, ready.lines, rest, named)
            journal.record(SentAtOnce(answered, number, at, began, monotonic() - began, ready.weight))
            return
        row, call = answered.row(number, at, began), ready.call
        row.ended, row.weight, row.unweighed = "", 0, len(row.body)
        if journal.keeps_calls and call is not None:
            row.call = replace(call, http=replace(call.http, body=row.body, headers=row.headers))
        journal.enter(row)  # before the client has its answer, and a test in another thread looks
        if paced:
            stream = PacedStream(replace(prepared.reply, body=answered.answer), began, row, journal.close)
            connection.write_paced(like.status, ready.lines + named, stream)
        else:
            connection.write_head(like.status, ready.lines, rest, named)
            row.note(answered.answer)
            journal.close(row, COMPLETE)

    def learn(self, head: Head, request: HttpRequest, origin: tuple[str, str, bytes, Texts | None]) -> Lane:
        """Return the lane of a head; `origin` is the dialect, operation, query and texts of the request that had it."""
        lane = self._lanes.get(head)
        if lane is None:
            self._keep(len(head[0]) + len(head[1]))
            dialect, operation, query, texts = origin
            names = [name for name, _ in request.headers]
            at = names.index(b"content-length")
            bare, before, after = replace(request, body=b""), request.headers[:at], request.headers[at + 1 :]
            shapes = None if texts is None else Shapes(texts)
            lane = Lane(bare, dialect, query, operation, before, after, texts, shapes, numbered=self._numbered)
            self._lanes[head] = lane
        return lane

    def learn_answer(self, lane: Lane, body: bytes, prepared: Prepared, engine: Engine) -> None:
        """Learn from the handler's answer to a request of this lane: make a template of it, or confirm the one made."""
        call, shapes = prepared.call, lane.shapes
        rule = None if call is None else engine.constant_rule(call, {})
        if call is None or shapes is None or prepared.plan.remarks or prepared.plan.history_remarks or rule is False:
            return
        if prepared.plan.source != ("generated" if rule is None else rule.source):
            return
        found = shapes.find(body)
        if found is None:
            self._keep(2 * len(body))
            shapes.learn(body, call, engine)
            found = shapes.find(body)
        if found is None or lane.texts is None:
            return
        shape, texts = found
        if rule is None:
            _learn_generated(shape, texts, prepared, (engine, body))
            if prepared.again is None or not takes_text(engine, shape.sample):
                return
        template: Template | None = shape.templates.get(id(rule))
        if template is None:
            if id(rule) not in shape.templates:
                self._keep(len(body) + len(prepared.reply.body))
                shape.templates[id(rule)] = _template(rule, prepared, lane.texts, engine.policy.seed)
        elif not template.confirmed and template.sample.fingerprint != call.fingerprint:
            shape.check(call, texts)
            made, tokens = shape.call(body, None)
            same = (made.meaning, made.messages, made.raw) == (call.meaning, call.messages, call.raw)
            variant, answer_id = self._variant(template, tokens, lane), template.id(call.fingerprint)
            sample = template.prepared.kept
            size = 0 if sample is None else sample.size + len(body) - template.size
            kept = sample and KeptAnswer(sample, shape, body, answer_id, tokens, size).make()
            if variant is not None and same and kept == prepared.kept:
                filled = variant.filled(template, call, answer_id, _said_to(engine, made) if rule is None else ())
                template.confirmed = _same(variant, filled, prepared.reply)
            if not template.confirmed:
                shape.templates[id(rule)] = None

    def learn_bytes(self, data: bytes, known: KnownAnswer) -> None:
        """Answer requests of the same bytes so from now on; of too many the oldest are forgotten."""
        self._keep(len(data) + known.size)
        self._known[data] = known
        if len(self._known) > MAX_KNOWN:
            oldest = next(iter(self._known))
            self._learned -= BARE + len(oldest) + self._known.pop(oldest).size


def _is_simple(prepared: Prepared) -> bool:
    """Whether a reply is sent at once and as it is, and nothing is counted for it."""
    return (
        (prepared.pace is AT_ONCE or prepared.reply.parts.times != ())
        and (prepared.charge is None and not prepared.plan.faults)
        and (prepared.reply.body != b"" and fits(prepared.reply))
        and header_lines(prepared.reply.headers)[1] in (None, len(prepared.reply.body))
    )


def _same(variant: Variant, filled: tuple[Headers, bytes, bytes], other: Reply) -> bool:
    headers, lines, body = filled
    made = variant.prepared.reply
    same = (made.status, headers, body, made.parts) == (other.status, other.headers, other.body, other.parts)
    return same and lines.startswith(header_lines(other.headers)[0])


def _learn_generated(shape: Shape, texts: Found, prepared: Prepared, origin: tuple[Engine, bytes]) -> None:
    """Learn to generate answers to requests of a shape, or confirm that the same bytes come of it."""
    call, (engine, body) = prepared.call, origin
    if call is None:
        return
    if shape.generate is None:
        shape.generate = prepared.generate
    elif not shape.confirmed and shape.sample.fingerprint != call.fingerprint:
        shape.check(call, texts)
        made, _ = shape.call(body, None if engine.reads_bodies or _has_form(shape) else texts)
        again: Prepared | None = shape.generate(engine, made)
        shape.confirmed = again is not None and _is_equal(again, prepared)


def _has_form(shape: Shape) -> bool:
    """Whether requests state tools or the form of an answer: what is generated does not follow from their hash then."""
    return shape.sample.content_fingerprint != shape.sample.fingerprint


def _is_equal(one: Prepared, other: Prepared) -> bool:
    mine, theirs = one.reply, other.reply
    same = (one.plan, one.pace, one.timed, one.kept) == (other.plan, other.pace, other.timed, other.kept)
    sent = (mine.status, mine.headers, mine.body, mine.parts)
    return same and sent == (theirs.status, theirs.headers, theirs.body, theirs.parts)


def saying(answer: Answer) -> Answer | None:
    """Return a generated answer with another text and count of tokens, of which a template is made, if it is a text."""
    choice = answer.choices[0]
    text = choice.parts[0].text if len(choice.parts) == 1 and isinstance(choice.parts[0], Text) else ""
    if not text or len(answer.choices) > 1 or choice != Choice((Text(text),), "stop"):
        return None
    choices = (replace(choice, parts=(Text(ANY_TEXT),)),)
    return replace(answer, choices=choices, usage=replace(answer.usage, completion=ANY_COUNT))


def _said_to(engine: Engine, call: Call) -> list[bytes]:
    text, count = generated_text(engine, call) or ("", 0)
    return said_in(text, count, call.prompt_tokens + count)


def _template(rule: Rule | None, prepared: Prepared, texts: Texts, seed: Seed) -> Template | None:
    call, made, again, kept = prepared.call, prepared.made, prepared.again, prepared.kept
    if call is None or made is None or again is None:
        return None
    if rule is not None and "usage" in rule.spec["then"]:  # which states the tokens
        return None
    if kept is not None and not all(isinstance(part, Text) for choice in made.choices for part in choice.parts):
        return None  # the parts that are kept have ids, too
    name, fingerprint, body = signer(seed, call.ids), call.fingerprint, prepared.reply.body
    marks = [
        mark for mark in marks_of(made, call, seed, texts) if mark(name(fingerprint), fingerprint).encode() in body
    ]
    return Template(rule, prepared, call, again, texts.headers, name, tuple(marks), len(call.http.body), made.usage)


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
        if prepared.made is not None or prepared.generate is not None:
            with suppress(ValueError):  # the body came compressed, for one
                self.fast_path.learn_answer(lane, http.body, prepared, engine)
        self.fast_path.learn_bytes(self.data, lane.known(http.body, engine, prepared))
        return True
