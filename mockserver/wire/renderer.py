"""Renderers: each kind of answer has one, which makes bodies and streams, by templates as far as they hold these.

A renderer is run twice for an answer whose values are marks, different ones each time. The bytes are cut at the marks;
an answer of the same form is rendered by putting its own values between. If the two renderings differ elsewhere, a
value got into the bytes in a way that is not known here: then there is no template, and the renderer itself answers.
Nothing is learned from requests: which template an answer gets hangs on its form alone. If a choice comes again, as
that of a rule does, the template is kept with it, with all filled in that does not change from request to request.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import astuple, replace
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.lazy import remember
from mockserver.core.plan import (
    Answer,
    Choice,
    Item,
    Logprob,
    Part,
    Reasoning,
    Refusal,
    Text,
    ToolUse,
    Usage,
    find_tokens,
)
from mockserver.core.tokens import Tokenizer, weigh_pieces
from mockserver.wire.template import (
    FilledFrames,
    FrameTemplate,
    Pieces,
    SealedFrames,
    StreamTemplate,
    Template,
    cut_at,
)

Form = tuple[Hashable, ...]
Options = TypeVar("Options")
Kept = TypeVar("Kept")

MAX_KEPT = 100  # characters of a value of the request or the answer that outlines keep
MAX_TEMPLATES = 512  # of one renderer
MAX_BOUND = 16  # templates that are kept with a choice
MAX_CHOICES = 4  # of an answer: more have too many forms
MAX_PARTS = 8  # of a choice
MAX_PIECES = 4_096  # of a stream whose frames are made at once


class Outline(Struct, frozen=True, gc=False):
    """What decides how something is rendered, and the values that it is filled with: JSON, of texts without quotes."""

    form: Form
    values: tuple[bytes, ...]


def find_outline(choice: Choice) -> Outline | None:
    """Return the outline of a choice, which is kept with it; None: no template can hold it.

    Raises UnicodeEncodeError for lone surrogates.
    """
    found: Outline | None = choice.outline
    if found is None:
        found = vars(choice)["outline"] = _outline_choice(choice)
    return found


def _outline_choice(choice: Choice) -> Outline | None:
    if len(choice.parts) > MAX_PARTS:
        return None
    form: list[Hashable] = [choice.finish, choice.safety]
    texts: list[str] = []
    if choice.echo or choice.stop:
        form.append(Choice)
        texts += (choice.echo, choice.stop)
    for part in choice.parts:
        kind = type(part)
        if kind is Item:
            return None
        form += (kind, type(part.chunks) is tuple)
        if type(part) is Text:  # first, as most are
            if part.annotations:
                return None
            form.append(part.apart)
            texts.append(part.text)
        else:
            _OUTLINES[kind](part, form, texts)
    return Outline((*form, *map(bool, texts)), encode_texts(texts))


def _outline_refusal(part: Refusal, form: list[Hashable], texts: list[str]) -> None:
    texts.append(part.text)


def _outline_reasoning(part: Reasoning, form: list[Hashable], texts: list[str]) -> None:
    form.append(part.summary is None)
    texts += (part.text, part.summary or "")


def _outline_call(part: ToolUse, form: list[Hashable], texts: list[str]) -> None:
    call = part.call
    form += (call.kind, call.arguments.lstrip()[:1] == "{")
    texts += (call.id, call.name, call.namespace, call.arguments)


_OUTLINES: Mapping[type, Callable[[Any, list[Hashable], list[str]], None]] = {
    Refusal: _outline_refusal,
    Reasoning: _outline_reasoning,
    ToolUse: _outline_call,
}


class Marks:
    """Texts and numbers that stand for values: each is given once, and no other series has it."""

    def __init__(self, series: int) -> None:
        self._series = series
        self._given = 0

    def draw_text(self, instead_of: str | None = " ") -> str:
        """Return a mark for a text; what is empty stays as it is."""
        if not instead_of:
            return instead_of or ""
        self._given += 1
        return f"~{self._series}.{self._given}~"

    def draw_texts(self, count: int) -> tuple[str, ...]:
        return tuple(self.draw_text() for _ in range(count))

    def mark_usage(self, usage: Usage) -> Usage:
        """Return marks for numbers of tokens: of sums and differences of some of them, no two are equal."""
        return Usage(*(self._series * 5 ** (20 - at) if count else 0 for at, count in enumerate(astuple(usage))))

    def mark_answer(self, answer: Answer, counts: Sequence[int] = ()) -> Answer:
        """Return the answer with marks for its values. `counts`: in how many pieces each part of a stream comes."""
        given = iter(counts)
        choices: list[Choice] = []
        for choice in answer.choices:
            unsigned = choice.unsigned or choice
            marked = replace(
                unsigned,
                parts=tuple([self._mark_part(part, next(given, 1)) for part in unsigned.parts]),
                logprobs=choice.logprobs and (Logprob(self.draw_text(), 0.0),),
                echo=self.draw_text(choice.echo),
                stop=self.draw_text(choice.stop),
            )
            choices.append(marked if unsigned is choice else marked.sign(lambda _: self.draw_text(), ""))
        return replace(
            answer,
            id=self.draw_text(),
            created=1_654_320_987 + self._series,
            model=self.draw_text(answer.model),
            choices=tuple(choices),
            usage=self.mark_usage(answer.usage),
            system_fingerprint=self.draw_text(answer.system_fingerprint),
            stated_fingerprint=None if answer.stated_fingerprint is None else self.draw_text(answer.stated_fingerprint),
        )

    def _mark_part(self, part: Part, count: int) -> Part:
        match part:
            case ToolUse(call=call):
                pieces = self.draw_texts(count) if call.arguments else ()
                if pieces and call.arguments.lstrip()[:1] == "{":
                    pieces = ('{"' + pieces[0], *pieces[1:])
                    pieces = (*pieces[:-1], pieces[-1] + '":0}')
                names = (call.id, call.name, call.namespace)
                call_id, name, namespace = (self.draw_text(name) for name in names)
                call = replace(call, id=call_id, name=name, namespace=namespace, arguments="".join(pieces))
                part = replace(part, call=call)
            case Reasoning():
                pieces = self.draw_texts(count) if part.text else ()
                summary = None if part.summary is None else self.draw_text(part.summary)
                part = replace(part, text="".join(pieces), summary=summary)
            case Text() | Refusal():
                pieces = self.draw_texts(count) if part.text else ()
                part = replace(part, text="".join(pieces))
            case Item():  # no outline has one
                return part
        return replace(part, tokens=pieces, chunks=pieces if type(part.chunks) is tuple else "token")


class GivenValues(Struct, frozen=True):
    """The outline of what differs from request to request, and the choices without their calls' ids, which do too.

    With these choices is kept what is made of them.
    """

    form: Form
    values: tuple[bytes, ...]
    choices: tuple[Choice, ...]


class FoundTemplate(Struct, frozen=True):
    """The template of an answer, and the values that it takes after those that are given.

    None: the answer has no template. One that is kept with a choice has the values filled in, which are those of this
    choice and the `others`.
    """

    template: Any  # Template | StreamTemplate | None
    values: tuple[bytes, ...] = ()
    others: tuple[Choice, ...] = ()


# Which pieces of a part stand for which, by how many there are: the first and the last may differ from the others.
_BOUNDS: tuple[tuple[tuple[int | None, int | None], ...], ...] = (
    (),
    ((None, None),),
    ((None, 1), (1, None)),
    ((None, 1), (1, -1), (-1, None)),
)
_NOTHING = Outline((), ())
_SERIES = (3, 77)  # two numbers whose marks differ in length, too
_UNKNOWN: Any = object()
_read_outline = attrgetter("outline")


class Renderer(Generic[Options]):
    """Renders answers: by templates, as far as they hold what is rendered.

    Each kind of answer has its own, which says how a body or the frames of a stream are made of an answer and what its
    request wants (`options`), and what of these options counts. `reads_model`: the name of a model also decides what
    else is rendered, so that a template is for one model. `seals`: the frames of its streams are checksummed.
    """

    reads_model = False
    seals = False

    def __init__(self) -> None:
        self._templates = dict[Form, Template | StreamTemplate | None]()

    def render_body(self, answer: Answer, options: Options) -> dict[str, Json]:
        raise NotImplementedError

    def render_frames(self, answer: Answer, options: Options) -> Iterator[Frame]:
        raise NotImplementedError

    def encode(self, body: Mapping[str, Json], options: Options) -> bytes:
        return to_json(body)

    def outline(self, answer: Answer, options: Options) -> Outline | None:
        """Return the outline of the options, and of what the renderer makes of values of the answer.

        None: no template can hold what is rendered so. Raises UnicodeEncodeError for lone surrogates.
        """
        return _NOTHING

    def mark(self, options: Options, marks: Marks) -> Options:
        """Return the options with marks for their values."""
        return options

    def encode_logprobs(self, logprobs: Sequence[Logprob]) -> bytes | None:
        """Return what a body has of the log probabilities of a choice, in one place; None: no template can hold it.

        Raises UnicodeEncodeError for lone surrogates.
        """
        return None

    def stream(self, answer: Answer, options: Options) -> Iterable[Frame]:
        """Return the frames of a stream."""
        return self.fill_frames(answer, options) or self.render_frames(answer, options)

    def fill_body(self, answer: Answer, options: Options) -> bytes | None:
        """Return the JSON of a body; None if no template holds it."""
        given = self._outline_given(answer, options)
        if given is None:
            return None
        key = (self, given.form, answer.model, answer.system_fingerprint, answer.stated_fingerprint, None)
        found: FoundTemplate | None = given.choices[0].templates.get(key)
        if found is None or found.others != given.choices[1:]:
            found = self._find(answer, options, given, key, None)
        template: Template | None = found.template
        return None if template is None else template.form % template.pick(given.values + found.values)

    def fill_frames(self, answer: Answer, options: Options) -> FilledFrames | None:
        """Return the frames of a stream; None if no template holds it."""
        if len(answer.choices) != 1 or answer.phase or answer.choices[0].logprobs is not None:
            return None
        given = self._outline_given(answer, options)
        if given is None:
            return None
        choice = given.choices[0]
        spoken = _find_spoken(choice, answer.tokenizer)
        if spoken is None or spoken.pieces > MAX_PIECES:
            return None
        key = (self, given.form, answer.model, answer.system_fingerprint, answer.stated_fingerprint, spoken.counts)
        found: FoundTemplate | None = choice.templates.get(key)
        if found is None:
            found = self._find(answer, options, given, key, spoken.counts)
        template: StreamTemplate | None = found.template
        if template is None:
            return None
        filled = SealedFrames if self.seals else FilledFrames
        return filled(template, given.values + found.values, spoken.parts)

    def _outline_given(self, answer: Answer, options: Options) -> GivenValues | None:
        """Return the outline of all but choices and names: of what differs from request to request."""
        choices = answer.choices
        if not choices or len(choices) > MAX_CHOICES or answer.broken is not None:
            return None
        ids: tuple[bytes, ...] = ()
        try:
            own = self.outline(answer, options)
            name = encode(answer.id)[1:-1]
            for choice in choices:
                if choice.unsigned is not None:
                    for part in choice.parts:
                        if type(part) is ToolUse:
                            ids = (*ids, encode(part.call.id)[1:-1])
        except UnicodeEncodeError:
            return None
        if own is None:
            return None
        counted = _outline_counts(answer.usage)
        form: Form = (own.form, counted.form, answer.phase, answer.prompt_safety)
        values = (name, b"%d" % answer.created, *counted.values, *own.values)
        if not ids:
            return GivenValues(form, values, choices)
        unsigned = tuple([choice.unsigned or choice for choice in choices])
        return GivenValues((*form, len(ids)), values + ids, unsigned)

    def _outline_rest(self, answer: Answer, choices: Sequence[Choice]) -> Outline | None:
        """Return the outline of the names and choices of an answer; None: no template can hold them."""
        try:
            model, fixed = ("", answer.model) if self.reads_model else (answer.model, "")
            if len(fixed) > MAX_KEPT:
                return None
            named = _outline_names(model, answer.system_fingerprint, answer.stated_fingerprint)
            form: Form = (named.form, fixed)
            values = named.values
            for choice in choices:
                outline = find_outline(choice)
                if outline is None:
                    return None
                form = (*form, outline.form)
                values = values + outline.values
                if choice.logprobs is None:
                    continue
                written = self.encode_logprobs(choice.logprobs)
                if written is None:
                    return None
                form = (*form, (Logprob, bool(written)))
                values = (*values, written)
        except UnicodeEncodeError:
            return None
        return Outline(form, values)

    def _find(
        self, answer: Answer, options: Options, given: GivenValues, key: Form, counts: tuple[int, ...] | None
    ) -> FoundTemplate:
        """Return the template of an answer whose choices have none; keep it by the key if they came before.

        `counts`: of the pieces of a stream, up to 3 of each part.
        """
        choices = given.choices
        came_before = None not in map(_read_outline, choices)
        rest = self._outline_rest(answer, choices)
        if rest is None:
            return FoundTemplate(None)
        form = (counts, given.form, rest.form)
        template = self._templates.get(form, _UNKNOWN)
        if template is _UNKNOWN:
            made = self._make_body(answer, options) if counts is None else self._make_stream(answer, options, counts)
            template = _keep(self._templates, form, made, MAX_TEMPLATES)
        if template is None or not came_before:
            return FoundTemplate(template, rest.values)
        kept: dict[Form, FoundTemplate] = vars(choices[0]).setdefault("templates", {})
        return _keep(
            kept, key, FoundTemplate(template.bind(len(given.values), rest.values), others=choices[1:]), MAX_BOUND
        )

    def _make_body(self, answer: Answer, options: Options) -> Template | None:
        once, again = (self._cut_body(answer, options, Marks(series)) for series in _SERIES)
        return once if once == again else None

    def _cut_body(self, answer: Answer, options: Options, marks: Marks) -> Template | None:
        marked = self._mark_answer(answer, marks)
        asked = self.mark(options, marks)
        values = self._encode_marked(answer, options, marked, asked)
        return None if values is None else cut_at(values, self.encode(self.render_body(marked, asked), asked))

    def _mark_answer(self, answer: Answer, marks: Marks, counts: Sequence[int] = ()) -> Answer:
        marked = marks.mark_answer(answer, counts)
        return replace(marked, model=answer.model) if self.reads_model else marked

    def _encode_marked(
        self, answer: Answer, options: Options, marked: Answer, asked: Options
    ) -> Sequence[bytes] | None:
        """Return the JSON of the marks, no bytes where there is no hole; None if the form is not that of the values."""
        own = self._outline(answer, options)
        other = self._outline(marked, asked)
        if own is None or other is None or own.form != other.form:
            return None
        return [b"" if each == b"0" else each for each in other.values]

    def _outline(self, answer: Answer, options: Options) -> Outline | None:
        """Return the outline of an answer: a value that is empty or zero belongs to the form."""
        given = self._outline_given(answer, options)
        rest = None if given is None else self._outline_rest(answer, given.choices)
        return None if given is None or rest is None else Outline((given.form, rest.form), given.values + rest.values)

    def _make_stream(self, answer: Answer, options: Options, counts: Sequence[int]) -> StreamTemplate | None:
        once, again = (self._cut_frames(answer, options, counts, Marks(series)) for series in _SERIES)
        if once is None or once != again:
            return None
        runs: list[FrameTemplate] = []
        for frame in once:
            both = runs[-1].join_next(frame) if runs else None
            runs[-1:] = [*runs[-1:], frame] if both is None else [both]
        return StreamTemplate(runs)

    def _cut_frames(
        self, answer: Answer, options: Options, counts: Sequence[int], marks: Marks
    ) -> list[FrameTemplate] | None:
        marked = self._mark_answer(answer, marks, counts)
        asked = self.mark(options, marks)
        values = self._encode_marked(answer, options, marked, asked)
        texts = [find_tokens(part, answer.tokenizer) for part in marked.choices[0].parts]
        if values is None or [*map(len, texts)] != [*counts]:
            return None
        pieces = [encode(text) for part in texts for text in part]
        places = [(part, *bounds) for part, count in enumerate(counts) for bounds in _BOUNDS[count]]
        made: list[FrameTemplate] = []
        for frame in self.render_frames(marked, asked):
            empty = replace(frame, data=b"")
            if not frame.tokens:
                made.append(FrameTemplate(empty, cut_at(values, frame.data)))
                continue
            cuts = cut_at([*pieces, *values], frame.data)
            between = cuts.between
            found = cuts.holes
            shown = [at for at, number in enumerate(found) if number < len(pieces)]
            if frame.tokens != 1 or len(shown) not in (1, 2) or found[shown[0]] != found[shown[-1]]:
                return None
            at = shown[0]
            last = shown[-1]
            marks_of = [number - len(pieces) for number in found]
            part, first, end = places[found[at]]
            cut = FrameTemplate(
                empty,
                before=Template(between[: at + 1], marks_of[:at]),
                again=None if at == last else Template(between[at + 1 : last + 1], marks_of[at + 1 : last]),
                after=Template(between[last + 1 :], marks_of[last + 1 :]),
                part=part,
                first=first,
                end=end,
            )
            made.append(cut)
        return made


@remember(64)
def _outline_names(model: str, fingerprint: str, stated: str | None) -> Outline:
    texts = (model, fingerprint, stated or "")
    return Outline((stated is None, *map(bool, texts)), encode_texts(texts))


@lru_cache(maxsize=4096)
def _outline_counts(usage: Usage) -> Outline:
    prompt, completion, *details = astuple(usage)
    numbers = [prompt, completion, prompt + completion]
    if any(details):
        numbers += details
        numbers += (max(prompt - usage.cached - usage.cache_write, 0), max(completion - usage.reasoning, 0))
    return Outline(tuple(map(bool, numbers)), tuple(map(encode, numbers)))


def encode_texts(texts: Iterable[str]) -> tuple[bytes, ...]:
    """Return JSON without quotes. Raises UnicodeEncodeError for lone surrogates."""
    return tuple([written[1:-1] for written in map(encode, texts)])


class SplitParts(Struct, frozen=True):
    """The pieces of each part of a choice; `counts`: how many there are, up to 3."""

    tokenizer: Tokenizer
    parts: Sequence[Pieces]
    counts: tuple[int, ...]
    pieces: int


def _find_spoken(choice: Choice, tokenizer: Tokenizer) -> SplitParts | None:
    """Return the pieces of a choice, which are kept with it; None if there are lone surrogates."""
    found: SplitParts | None = choice.spoken
    if found is None or found.tokenizer is not tokenizer:
        try:
            parts = [_cut_part(part, tokenizer) for part in choice.parts]
        except UnicodeEncodeError:
            return None
        lengths = [len(part.tokens) for part in parts]
        found = SplitParts(tokenizer, parts, tuple([min(length, 3) for length in lengths]), sum(lengths))
        vars(choice)["spoken"] = found
    return found


def _cut_part(part: Part, tokenizer: Tokenizer) -> Pieces:
    tokens = find_tokens(part, tokenizer)
    if part.chunks == "token" and all(tokens):
        return Pieces(_encode_pieces(tokens), (1,) * len(tokens))
    pieces = [*weigh_pieces(tokens, part.chunks)]
    return Pieces(_encode_pieces([piece for piece, _ in pieces]), [weight for _, weight in pieces])


def _encode_pieces(pieces: Sequence[str]) -> list[bytes]:
    try:
        return [*map(encode, pieces)]
    except TypeError:  # tokens of a vocabulary are texts of a class of their own
        return [*map(to_json, pieces)]


def _keep(kept: dict[Form, Kept], key: Form, value: Kept, most: int) -> Kept:
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value
