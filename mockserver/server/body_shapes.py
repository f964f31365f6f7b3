"""Recognises the bodies of requests that differ in their texts only, without reading all of their JSON again.

Such bodies have one **shape**: they are the same bytes between the strings that hold texts, and ids, which only name
other parts of the same body. From a shape and the texts follows what its requests ask.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from hashlib import blake2b
from json.encoder import encode_basestring_ascii as quoted
from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Prompt
from mockserver.core.json import Json, canonical
from mockserver.core.validation import validation_of
from mockserver.dialects import Texts
from mockserver.dialects._parse import parse_json
from mockserver.engine.answer import with_tokenizer
from mockserver.engine.engine import ConditionsLeft, Engine

MAX_LAYOUTS = 8  # of the bodies of an operation that have the same number of strings
# The texts of a body, as JSON has them: all but the last, the last, and that again if it has no escapes.
Found = tuple[list[bytes], bytes, str | None]


class CallMaker(Struct, eq=False):
    """How calls follow from their texts, but for `raw` and `meaning`, which stay those of the `sample`.

    `tokens` counts those of the prompt but for the last text, `others` those besides the texts.
    `places` are those of the texts among the messages; `around` is the JSON around them whose hash is the fingerprint.
    What follows from all texts but the last is kept, as it is mostly the same next time: messages, tokens and hash.
    """

    sample: Call
    places: tuple[int, ...]
    around: tuple[str, ...]
    rest: bytes  # the last of what is around
    others: int
    asks: bool = False  # whether the last text is that of the last message of a user
    system: str | None = None  # the system prompt, unless the last text is part of it
    earlier: Sequence[bytes] | None = None
    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()
    tokens: int = 0
    hashed: Any = None

    def call(self, texts: Found) -> tuple[Call, int]:
        """Return the call with these texts, and its prompt tokens. Raises ValueError."""
        earlier, last, text = texts
        if earlier is not self.earlier and earlier != self.earlier:
            self._begin(earlier)
        sample, hashed = self.sample, self.hashed.copy()
        if text is not None and text.isascii() and text.isprintable() and text.strip():
            hashed.update(b'"%b"' % last)
        else:
            text = _text(last)
            hashed.update(quoted(text).encode("ascii"))
        hashed.update(self.rest)
        message = replace(sample.messages[self.places[-1]], text=text)
        call = replace(sample, messages=(*self.before, message, *self.after))
        if sample.prompts:
            call = replace(call, prompts=(Prompt(text),))
        known = call.__dict__
        known["fingerprint"] = hashed.hexdigest()
        if self.asks:
            known["last_user"] = text
        if self.system is not None:
            known["system"] = self.system
        tokens = known["prompt_tokens"] = self.tokens + sample.tokenizer.count(text)
        return call, tokens

    def _begin(self, earlier: list[bytes]) -> None:
        texts, messages = list(map(_text, earlier)), list(self.sample.messages)
        for at, text in zip(self.places, texts, strict=False):
            messages[at] = replace(messages[at], text=text)
        json = [f"{around}{quoted(text)}" for around, text in zip(self.around, texts, strict=False)]
        self.hashed = blake2b("".join((*json, self.around[-2])).encode("ascii"), digest_size=16)
        at, self.earlier = self.places[-1], earlier
        self.before, self.after = tuple(messages[:at]), tuple(messages[at + 1 :])
        self.asks = messages[at].role == "user" and all(message.role != "user" for message in self.after)
        instructs = messages[at].role in ("system", "developer")
        self.system = None if instructs else replace(self.sample, messages=tuple(messages)).system
        del messages[at]
        self.tokens = self.others + _tokens(self.sample, messages)


def _text(json: bytes) -> str:
    """Return the text of a JSON string without its quotes. Raises ValueError if it is none, or blank."""
    text: str = parse_json(b'"%b"' % json)
    if not text.strip():
        raise ValueError("blank")
    return text


def _tokens(call: Call, messages: Sequence[Message]) -> int:
    count = call.tokenizer.count
    return sum([count(message.text) for message in messages])


class Shape(Struct, eq=False):
    """What requests share whose bodies differ in their texts only.

    `others` counts the prompt tokens besides those of the texts; with more than `most` the context window may matter.
    """

    texts: Texts
    outline: Hashable
    sample: Call
    others: int
    most: float
    maker: CallMaker | None
    left: ConditionsLeft = {}
    templates: dict[int, Any] = {}  # what the fast path learned of their answers, by the id of a rule
    generate: Any = None  # the same of answers that no rule gives
    confirmed: bool = False  # whether it gave the bytes that the handler sent

    def call(self, body: bytes, texts: Found | None) -> tuple[Call, int]:
        """Return the call of a body and its prompt tokens; given its texts, `raw` and `meaning` may be another body's.

        Raises ValueError if the body has another shape after all.
        """
        if self.maker is not None and texts is not None:
            return self.maker.call(texts)
        value = parse_json(body)[self.texts.key]
        if self.texts.outline(value) != self.outline:
            raise ValueError("another shape")
        call = self.texts.call(self.sample, value)
        tokens = vars(call)["prompt_tokens"] = self.others + _tokens(call, call.messages)
        return call, tokens

    def check(self, call: Call, texts: Found) -> None:
        """Do without the maker if it would not make this call, which has these texts."""
        if self.maker is not None:
            made, _ = self.maker.call(texts)
            if (made.messages, made.prompts, made.fingerprint) != (call.messages, call.prompts, call.fingerprint):
                self.maker = None


class BodyLayout(Struct, eq=False):
    """Where bodies hold texts and ids among their `strings`."""

    texts: tuple[int, ...]
    ids: tuple[int, ...]
    shapes: dict[bytes, Shape] = {}  # by what the bodies hold besides

    def outline(self, found: list[bytes]) -> bytes:
        """Return JSON of these strings without its texts, and with ordinals for ids. Raises ValueError."""
        outline = found.copy()
        for at in self.texts:
            outline[at] = b""
        if self.ids:
            self._number(outline)
        return b'"'.join(outline)

    def marked(self, found: list[bytes], marks: Sequence[str]) -> bytes:
        """Return the same with marks for the texts."""
        marked = found.copy()
        for at, mark in zip(self.texts, marks, strict=True):
            marked[at] = mark.encode()
        self._number(marked)
        return b'"'.join(marked)

    def _number(self, found: list[bytes]) -> None:
        ordinals = dict[bytes, bytes]()
        for at in self.ids:
            if b"\\" in found[at]:
                raise ValueError("an id of several spellings")
            found[at] = ordinals.setdefault(found[at], b"#%d" % len(ordinals))


class Shapes:
    """The shapes of the bodies that one operation reads; `texts`: where these hold them."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._layouts: dict[int, list[BodyLayout]] = {}  # by the number of strings
        self._latest: tuple[Shape, list[bytes], bytes, bytes] | None = None  # and what was around the last text

    def find(self, body: bytes) -> tuple[Shape, Found] | None:
        """Return the shape of a body and its texts. Raises ValueError."""
        if self._latest is not None:
            shape, earlier, before, after = self._latest
            start, end = len(before), len(body) - len(after)
            if start < end and body[:start] == before and body[end:] == after:
                last = body[start:end]
                text = last.decode()  # methods of str take a third of the time
                if '"' not in text and "\\" not in text:
                    return shape, (earlier, last, text)
        found = strings(body)
        for layout in self._layouts.get(len(found), ()):
            known = layout.shapes.get(layout.outline(found))
            if known is not None:
                *others, at = layout.texts
                earlier = [found[other] for other in others]
                if body.find(b"\\") < 0:
                    self._latest = known, earlier, b'"'.join((*found[:at], b"")), b'"'.join((b"", *found[at + 1 :]))
                return known, (earlier, found[at], None)
        return None

    def learn(self, body: bytes, call: Call, engine: Engine) -> None:
        """Learn the shape of a body that asks for this call, unless it holds more than texts. Raises ValueError."""
        texts, raw, found = self._texts, parse_json(body), strings(body)
        outline = texts.outline(raw.get(texts.key)) if isinstance(raw, dict) else None
        if outline is None:
            return
        layout = self._layout(raw, len(found))
        marks = [f"mockserver text {number}" for number in range(len(layout.texts))]
        value = parse_json(layout.marked(found, marks))[texts.key]
        if texts.outline(value) != outline:  # something else has such keys, too
            return
        sample = with_tokenizer(call, engine.policy.tokenizer(call.model))
        others = sample.prompt_tokens - _tokens(sample, sample.messages)
        maker = None if layout.ids else _call_maker(sample, texts.call(sample, value), marks, others)
        shape = Shape(texts, outline, sample, others, _most_tokens(call, engine), maker)
        layout.shapes[layout.outline(found)] = shape

    def _layout(self, raw: Mapping[str, Json], size: int) -> BodyLayout:
        """Return the layout of a body with so many strings."""
        texts, kinds = self._texts, list[str]()
        names = {**dict.fromkeys(texts.ids, "id"), **dict.fromkeys(texts.names, "text")}
        for key, value in raw.items():
            kinds += ["", *_kinds(value, names if key == texts.key else {}, key)]
        if size != 2 * len(kinds) + 1:
            raise ValueError("strings are missing")
        at = {kind: tuple([2 * i + 1 for i, one in enumerate(kinds) if one == kind]) for kind in ("text", "id")}
        layouts = self._layouts.setdefault(size, [])
        for layout in layouts:
            if (layout.texts, layout.ids) == (at["text"], at["id"]):
                return layout
        layout = BodyLayout(at["text"], at["id"])
        if len(layouts) < MAX_LAYOUTS:
            layouts.append(layout)
        return layout


def strings(body: bytes) -> list[bytes]:
    """Split JSON at the quotes around its strings: every second piece is what one holds."""
    if body.find(b"\\") >= 0:  # `in` raises within, and catches, a TypeError
        body = body.replace(b"\\\\", b"\\u005c").replace(b'\\"', b"\\u0022")
    return body.split(b'"')


def _kinds(value: Json, names: Mapping[str, str], name: str = "") -> Iterator[str]:
    """Yield what each string of a JSON value is, by the name of its key; blank ones and keys are nothing special."""
    match value:
        case str():
            yield names.get(name, "") if value.strip() or names.get(name) == "id" else ""
        case dict():
            for key, inner in value.items():
                yield ""
                yield from _kinds(inner, names, key)
        case list():
            for inner in value:
                yield from _kinds(inner, names, name)


def _call_maker(sample: Call, marked: Call, marks: Sequence[str], others: int) -> CallMaker | None:
    """Return how calls follow from their texts, if that is simple; `marked` is the call with these."""
    said = [message.text for message in marked.messages]
    rest, around = canonical((marked.dialect, marked.operation, marked.meaning)), list[str]()
    for mark in marks:
        before, found, rest = rest.partition(f'"{mark}"')
        if not found or mark not in said:
            return None
        around.append(before)
    return CallMaker(sample, tuple(map(said.index, marks)), (*around, rest), rest.encode("ascii"), others)


def _most_tokens(call: Call, engine: Engine) -> float:
    """Return how many tokens a prompt may have before the context window matters."""
    known, asked = engine.policy.models.find(call.model), call.options.max_tokens or 0
    window = known.refusing[validation_of(call.dialect, engine.policy.models.validation)].context_window
    if window is None:
        return inf
    return -1 if known.stated.context_window is not None else window - asked - 1
