"""Answers as the fast path keeps them: whole, or as templates; and what requests share that get them."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape
from mockserver.core.exchange import COMPLETE, PIECE, Answered, Exchange, size_of
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Answer, Plan, Stored, ToolUse, Usage
from mockserver.core.protocols import Later
from mockserver.core.seed import Seed
from mockserver.core.text import printable
from mockserver.delivery.drive import encoded, header_lines
from mockserver.dialects import Texts
from mockserver.engine.answer import drawn
from mockserver.engine.engine import Engine
from mockserver.rules.load import Rule
from mockserver.server.body_shapes import Shape, Shapes
from mockserver.server.live import Prepared
from mockserver.state.journal import size_without_bodies

ANY_TEXT, ANY_COUNT = "mockserver says", 7_770_777  # what a template has in place of a text and its tokens
NamesRequest = Callable[[HttpRequest, Call | None], Headers]  # the headers of a reply that name its request
Mark = Callable[[str, str], str]  # what follows from the id of an answer and the fingerprint of its call
Fields = tuple[tuple[bytes, bytes], ...]


class Ready(Struct, eq=False):
    """An answer that is ready to be sent to a request with this body."""

    prepared: Prepared
    call: Call | None
    answered: Answered
    weight: int  # of its row in the journal
    lines: bytes  # of the headers of the reply, up to the number of the call
    rest: bytes | None  # what follows the header lines if it is sent at once; None: the answer, framed


class KnownAnswer(Struct, eq=False):
    """The answer to requests of the same bytes."""

    engine: Engine
    namespace: str
    ready: Ready

    @property
    def size(self) -> int:
        """Return how many bytes it takes, about."""
        return 2 * len(self.ready.answered.answer)


class Variant(Struct, eq=False):
    """What the calls of a template get that have the same number of prompt tokens.

    Of its `headers` those at `places` name the request: what the `lines` of the headers say of these is every second
    one. The body has marks in its `holes`, by number: 0 is the id of the answer. `runs` are what stands between these,
    by runs of the same mark. `like` is what the rows in the journal have in common.
    """

    prepared: Prepared
    headers: list[tuple[str, str]]
    places: tuple[int, ...]
    lines: list[bytes]
    runs: list[tuple[int, list[bytes]]]
    holes: tuple[int, ...]
    chunked: bool
    like: Exchange | None = None

    def row(self, lane: "Lane", engine: Engine) -> Exchange:
        """Return what the rows of requests in the journal have in common."""
        like = self.like
        if like is None or like.rules is not engine.rules:
            self.like = like = lane.row(self.prepared, engine)
        return like

    def filled(
        self, template: "Template", call: Call, id: str, said: Sequence[bytes] = ()
    ) -> tuple[Headers, bytes, bytes]:
        """Return the headers of the answer to a call, their lines, and the body; `said`: what was generated for it."""
        headers, lines, named = self.headers.copy(), self.lines.copy(), template.headers(template.sample.http, call)
        if template.marks or said:
            marks = [id.encode()]
            for mark in template.marks:  # most have none, for which a comprehension takes longer
                marks.append(mark(id, call.fingerprint).encode())
            marks += said
            body = b"".join([marks[hole].join(run) for hole, run in self.runs])
        else:
            body = id.encode().join(self.runs[0][1])
        if said:
            named = (*named, ("content-length", str(len(body))))
        for place, header in enumerate(named):
            headers[self.places[place]] = header
            lines[2 * place + 1] = header[1].encode()
        return tuple(headers), b"".join(lines), body


class Template(Struct, eq=False):
    """What a rule answers to the calls of a shape, learned from its answer to the `sample`; or any generated text.

    `again` renders it for another number of prompt tokens, `headers` returns those that name the request. `id` returns
    that of the answer to a call with this fingerprint; `marks` is what else follows from it and from the fingerprint.
    """

    rule: Rule | None  # None: what is said is generated
    prepared: Prepared
    sample: Call
    again: Callable[[int], Reply]
    headers: NamesRequest
    id: Callable[[str], str]
    marks: tuple[Mark, ...]
    size: int  # of the body of the sample
    usage: Usage  # of its answer
    confirmed: bool = False
    variants: dict[int, Variant] = {}  # by the number of prompt tokens

    def variant(self, tokens: int, lane: "Lane") -> Variant:
        """Return that of a number of prompt tokens. Raises ValueError if the rule states headers that name requests."""
        reply, sample = self.again(tokens), self.sample
        named, said = self.headers(sample.http, sample), list[bytes]()
        if self.rule is None:
            named = (*named, ("content-length", str(len(reply.body))))
            said = said_in(ANY_TEXT, ANY_COUNT, tokens + ANY_COUNT)
        places = tuple(map(reply.headers.index, named))
        lines = [b""]
        for at, (name, value) in enumerate(map(encoded, reply.headers)):
            lines[-1] += b"%b: " % name
            lines += [b"", b"\r\n"] if at in places else []
            lines[-1] += b"" if at in places else b"%b\r\n" % value
        lines[-1] += lane.shown(self.prepared.plan)
        id = self.id(sample.fingerprint)
        marks = [id.encode(), *[mark(id, sample.fingerprint).encode() for mark in self.marks], *said]
        pieces = re.split(b"(%b)" % b"|".join(map(re.escape, marks)), reply.body)
        holes = tuple(map(marks.index, pieces[1::2]))
        prepared = replace(self.prepared, reply=reply, prompt_tokens=tokens)
        runs = [(holes[0] if holes else 0, pieces[:1])]
        for hole, piece in zip(holes, pieces[2::2], strict=True):
            if hole != runs[-1][0]:
                runs.append((hole, [b""]))
            runs[-1][1].append(piece)
        chunked = header_lines(reply.headers)[1] is None
        return Variant(prepared, list(reply.headers), places, lines, runs, holes, chunked)


class KeptAnswer(Later[Stored], frozen=True, eq=False):
    """An answer of a template as it is kept: nothing is made of it before somebody looks it up."""

    sample: Stored
    shape: Shape
    body: bytes
    id: str
    tokens: int
    size: int

    def make(self) -> Stored:
        sample, (call, _) = self.sample, self.shape.call(self.body, None)
        answer = replace(sample.answer, id=self.id, usage=replace(sample.answer.usage, prompt=self.tokens))
        return replace(sample, call=replace(call, http=sample.call.http), answer=answer, size=self.size)


class Sized(Struct, eq=False):
    """What requests of a lane share whose bodies have the same length."""

    lane: "Lane"
    size: int
    headers: Fields
    headers_size: int
    latest: bytes = b""  # the latest request, head and body: one that comes twice is worth knowing


class Lane(Struct, eq=False):
    """What requests with the same head share: its headers before and after the length, the shapes of their bodies."""

    request: HttpRequest
    dialect: str
    query: bytes
    operation: str
    before: Fields
    after: Fields
    texts: Texts | None
    shapes: Shapes | None
    numbered: bool  # replies have headers that say what answered, and the number of the call

    def sized(self, size: int) -> Sized:
        headers = (*self.before, (b"content-length", b"%d" % size), *self.after)
        return Sized(self, size, headers, size_of(headers))

    def row(self, prepared: Prepared, engine: Engine) -> Exchange:
        """Return what the rows of all requests have that get this answer."""
        request, call = self.request, prepared.call
        row = Exchange(0, request.method, request.path, self.dialect, request.namespace, headers_size=0)
        row.query, row.operation, row.plan, row.rules = self.query, self.operation, prepared.plan, engine.rules
        row.model, row.prompt_tokens = "" if call is None else call.model, prepared.prompt_tokens
        row.status, row.ended, row.weight = prepared.reply.status, COMPLETE, size_without_bodies(row) + PIECE
        return row

    def shown(self, plan: Plan) -> bytes:
        """Return the header lines that say what answered, up to the number of the call."""
        return b"x-mockserver-source: %b\r\nx-mockserver-call: " % _source(plan.source) if self.numbered else b""

    def known(self, body: bytes, engine: Engine, prepared: Prepared) -> KnownAnswer:
        """Return the answer to requests with this body, as it was prepared."""
        lines, length = header_lines(prepared.reply.headers)
        sized, reply = self.sized(len(body)), prepared.reply
        rest = framed(reply.body) if length is None else b"\r\n" + reply.body
        lines += self.shown(prepared.plan)
        row = self.row(prepared, engine)
        answered = Answered(row, sized.headers, sized.headers_size, body, reply.headers, reply.body)
        ready = Ready(prepared, prepared.call, answered, answered.weight, lines, rest)
        return KnownAnswer(engine, self.request.namespace, ready)


def framed(body: bytes) -> bytes:
    """Return what follows the header lines of a body without a content-length: it goes in one chunk."""
    return b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


@lru_cache(maxsize=1024)
def _source(source: str) -> bytes:
    return printable(source).encode("latin-1")


def marks_of(answer: Answer, call: Call, seed: Seed, texts: Texts) -> Iterator[Mark]:
    """Yield how what else the body of an answer may hold follows from its id and its call."""
    yield lambda id, fingerprint: fingerprint
    for index, choice in enumerate(answer.choices):
        for at, part in enumerate(choice.parts):
            if isinstance(part, ToolUse):
                yield partial(_tool_call_id, (seed, call.tool_call_ids), (str(index), str(at)))
            if texts.item_id is not None:
                yield partial(_item_id, partial(texts.item_id, stored=call.options.store), at)


def _item_id(item_id: Callable[..., str], at: int, id: str, fingerprint: str) -> str:
    return item_id(id, at)


def _tool_call_id(drawing: tuple[Seed, IdShape], place: tuple[str, str], id: str, fingerprint: str) -> str:
    return drawn(*drawing, "tool call", fingerprint, *place)


def said_in(text: str, count: int, total: int) -> list[bytes]:
    """Return what a body says of a text: its JSON, its tokens, and these with those of the prompt."""
    return [to_json(text), b"%d" % count, b"%d" % total]
