"""Templates: bytes with holes, and frames of streams with holes, which are cut at marks and filled with values."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.frames import Frame, FrameRun, Frames
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property

Write = Callable[[Frame | FrameRun], bytes]  # what returns the bytes of a frame

_RUN = 128  # frames that are alike, and are joined at once


class Template(Struct, frozen=True, dict=True):
    """Bytes with holes for values: what stands `between` the holes, and the number of the value in each."""

    between: list[bytes]
    holes: list[int]

    @lazy_property
    def form(self) -> bytes:
        """The format string of `form % pick(values)`, where `pick` chooses the values of the holes from a tuple."""
        return b"%b".join([each.replace(b"%", b"%%") for each in self.between])

    @lazy_property
    def pick(self) -> Callable[[tuple[bytes, ...]], Any]:
        return itemgetter(*self.holes or (slice(0),))

    def fill(self, values: tuple[bytes, ...]) -> bytes:
        """Return the bytes with these values in the holes."""
        filled: bytes = self.form % self.pick(values)
        return filled

    def surround(self, before: bytes, after: bytes) -> "Template":
        """Return it with bytes before and after."""
        return Template([before], []).append(self).append(Template([after], []))

    def append(self, other: "Template") -> "Template":
        """Return it with another after it."""
        *whole, last = self.between
        return Template([*whole, last + other.between[0], *other.between[1:]], [*self.holes, *other.holes])

    def bind(self, first: int, values: Sequence[bytes]) -> "Template":
        """Return it with `values` filled into its holes, of which `first` is the number of the first one."""
        between = self.between[:1]
        holes = list[int]()
        for number, text in zip(self.holes, self.between[1:], strict=True):
            if number < first:
                holes.append(number)
                between.append(text)
            else:
                between[-1] += values[number - first] + text
        return Template(between, holes)


def cut_at(marks: Sequence[bytes], data: bytes) -> Template:
    """Cut bytes at marks: each hole has the number of its mark. Empty marks, and marks within others, are left out."""
    places = sorted((at, -len(mark), number) for number, mark in enumerate(marks) if mark for at in _find(mark, data))
    between = list[bytes]()
    found = list[int]()
    end = 0
    for at, length, number in places:
        if at >= end:
            between.append(data[end:at])
            found.append(number)
            end = at - length
    return Template([*between, data[end:]], found)


def _find(mark: bytes, data: bytes) -> Iterator[int]:
    at = data.find(mark)
    is_number = mark.isdigit()
    while at >= 0:
        end = at + len(mark)
        within = is_number and (data[max(at - 1, 0) : at].isdigit() or data[end : end + 1].isdigit())
        if not within:
            yield at
        at = data.find(mark, at + 1)


class Pieces(Struct, frozen=True):
    """JSON of the pieces of a part in a stream, and the tokens of each."""

    texts: Sequence[bytes]
    tokens: Sequence[int]


class FrameTemplate(Struct, frozen=True, dict=True):
    """A frame whose data has holes, or a run of frames that differ only in a piece of a text.

    `part` is the number of the part of which a piece stands between `before` and `after`; `first` and `end` say which
    of its pieces are in such frames. If the piece stands there twice, `again` is what comes between.
    """

    frame: Frame
    before: Template
    again: Template | None = None
    after: Template | None = None
    part: int | None = None
    first: int | None = None
    end: int | None = None

    def bind(self, first: int, values: Sequence[bytes]) -> "FrameTemplate":
        """Return it with `values` filled into its holes, of which `first` is the number of the first one."""
        return replace(
            self,
            before=self.before.bind(first, values),
            again=None if self.again is None else self.again.bind(first, values),
            after=None if self.after is None else self.after.bind(first, values),
        )

    def join_next(self, other: "FrameTemplate") -> "FrameTemplate | None":
        """Return both as one, if the other comes next and differs only in its piece."""
        follows = self.part is not None and self.end is not None and self.end == other.first
        both = replace(other, first=self.first)
        return both if follows and both == replace(self, end=other.end) else None

    @property
    def has_holes(self) -> bool:
        return any(each is not None and each.holes for each in (self.before, self.again, self.after))

    def fill(self, values: tuple[bytes, ...], parts: Sequence[Pieces]) -> Sequence[Frame | FrameRun]:
        """Return the frames with these values in the holes, and the pieces of their part."""
        frame = self.frame
        data = self.before.fill(values)
        if self.part is None or self.after is None:
            return (Frame(data, frame.event, 0, frame.part, frame.framing),)
        behind = self.after.fill(values)
        shown = parts[self.part]
        texts = shown.texts[self.first : self.end]
        weights = shown.tokens[self.first : self.end]
        if self.again is not None:
            texts = _repeat(texts, self.again.fill(values))
        slices = [slice(at, at + _RUN) for at in range(0, len(texts), _RUN)]
        return [
            FrameRun(data, texts[some], behind, weights[some], frame.event, frame.part, frame.framing)
            for some in slices
        ]

    def weigh(self, parts: Sequence[Pieces]) -> Sequence[int]:
        """Return the tokens of its frames, if they have a hole for the tokens so far."""
        if not self._counts:
            return ()
        return (0,) if self.part is None else parts[self.part].tokens[self.first : self.end]

    @lazy_property
    def _counts(self) -> bool:
        return any(each is not None and HOLE in b"".join(each.between) for each in (self.before, self.after))


def _repeat(texts: Sequence[bytes], between: bytes) -> Sequence[bytes]:
    return [text + between + text for text in texts]


# The bytes that open a stream, and its frames with holes, each with the bytes of what comes before the next.
WrittenAhead = tuple[bytes, Sequence[tuple[FrameTemplate, bytes]]]


class PiecesBetween(Struct, frozen=True):
    """The bytes of a stream before some pieces of a part, and between them; `again`: between two copies of one."""

    before: Template
    between: Template
    again: Template | None
    part: int
    shown: slice


class StreamTemplate:
    """The frames of a stream, with holes for values and for the pieces of its parts."""

    def __init__(self, frames: Sequence[FrameTemplate], *, is_bound: bool = False) -> None:
        self.frames = frames
        self._is_bound = is_bound
        self.joined: tuple[Sequence[PiecesBetween], Template] | None = None  # made when first needed
        self._ahead: tuple[Sequence[Pieces], WrittenAhead] | None = None

    def bind(self, first: int, values: Sequence[bytes]) -> "StreamTemplate":
        """Return it with `values` filled into its holes, of which `first` is the number of the first one."""
        return StreamTemplate([frame.bind(first, values) for frame in self.frames], is_bound=True)

    def write_ahead(self, parts: Sequence[Pieces], write: Write) -> WrittenAhead:
        """Return the bytes that need no values; those of pieces only if the template is bound to them."""
        if not self._is_bound:
            return b"", [(frame, b"") for frame in self.frames]
        if self._ahead is None or self._ahead[0] is not parts:
            steps = list[tuple[FrameTemplate, bytes]]()
            written = b""
            for frame in reversed(self.frames):
                if frame.has_holes:
                    steps.append((frame, written))
                    written = b""
                else:
                    written = b"".join(map(write, frame.fill((), parts))) + written
            self._ahead = parts, (written, steps[::-1])
        return self._ahead[1]

    def join(self, write: Write) -> tuple[Sequence[PiecesBetween], Template]:
        """Return the bytes of the stream before and between pieces, and those at its end, as templates."""
        made = list[PiecesBetween]()
        text = Template([b""], [])
        for each in self.frames:
            before, after = write(replace(each.frame, data=_HERE)).split(_HERE)
            if each.part is None or each.after is None:
                text = text.append(each.before.surround(before, after))
                continue
            between = each.after.surround(b"", after).append(each.before.surround(before, b""))
            text = text.append(each.before.surround(before, b""))
            made.append(
                PiecesBetween(text, between, again=each.again, part=each.part, shown=slice(each.first, each.end))
            )
            text = each.after.surround(b"", after)
        self.joined = made, text
        return self.joined


_HERE = b"\0"  # stands for the data of a frame


class FilledFrames(Frames):
    """The frames of a stream by its template: they are made when somebody looks, and need not be made to be joined."""

    __slots__ = ("_template", "_values", "parts")

    def __init__(self, template: StreamTemplate, values: tuple[bytes, ...], parts: Sequence[Pieces]) -> None:
        self._template = template
        self._values = values
        self.parts = parts

    @property
    def runs(self) -> list[Frame | FrameRun]:
        """The frames, those that are alike as one."""
        values = self._values
        parts = self.parts
        return [frame for each in self._template.frames for frame in each.fill(values, parts)]

    def join(self, write: Write) -> bytes:
        """Return the bytes of all frames; `write` returns those of each."""
        template = self._template
        values = self._values
        parts = self.parts
        steps, end = template.joined or template.join(write)
        made: list[bytes] = []
        for step in steps:
            before = step.before
            between = step.between
            texts = parts[step.part].texts[step.shown]
            if step.again is not None:
                texts = _repeat(texts, step.again.fill(values))
            made += (before.form % before.pick(values), (between.form % between.pick(values)).join(texts))
        made.append(end.form % end.pick(values))
        return b"".join(made)

    @property
    def weights(self) -> list[int]:
        """The tokens of each frame that has a HOLE for the tokens so far."""
        return [*chain.from_iterable([each.weigh(self.parts) for each in self._template.frames])]


class SealedFrames(FilledFrames):
    """Frames that are checksummed when they are written; those without holes are written only once."""

    __slots__ = ()

    def join(self, write: Write) -> bytes:
        """Return the bytes of all frames; `write` returns those of each."""
        values = self._values
        parts = self.parts
        opening, steps = self._template.write_ahead(parts, write)
        made = [opening]
        for frame, written in steps:
            made += map(write, frame.fill(values, parts))
            made.append(written)
        return b"".join(made)


class CountedFrames(Frames):
    """The frames of a stream in which something is counted up, such as the numbers of events or the tokens so far.

    `uncounted` has a HOLE wherever a frame states the count; `list_counts()` gives what is written there, in the order
    of the frames.
    """

    __slots__ = ("_list_counts", "_uncounted")

    def __init__(self, uncounted: FilledFrames, list_counts: Callable[[], Iterator[bytes]]) -> None:
        self._uncounted = uncounted
        self._list_counts = list_counts

    @property
    def runs(self) -> list[Frame]:
        """The frames, of which no two are alike."""
        return [*fill_counts(self._uncounted, self._list_counts())]

    def join(self, write: Write) -> bytes:
        """Return the bytes of all frames; `write` returns those of each."""
        return fill_holes(self._uncounted.join(write), self._list_counts())


def fill_counts(frames: Iterable[Frame], counts: Iterator[bytes]) -> Iterator[Frame]:
    """Yield the frames; each that has a HOLE gets the next of the counts in its place."""
    for frame in frames:
        yield replace(frame, data=frame.data.replace(HOLE, next(counts))) if HOLE in frame.data else frame


def fill_token_counts(frames: Iterable[Frame], write: Callable[[int], bytes]) -> Iterator[Frame]:
    """Yield the frames; each that has a HOLE gets `write(tokens)` in its place, for the tokens of the frames so far."""
    so_far = 0
    for frame in frames:
        so_far += frame.tokens
        yield replace(frame, data=frame.data.replace(HOLE, write(so_far))) if HOLE in frame.data else frame


# A hole for a number that grows through a stream: of an event, or of the tokens so far. JSON has no such byte.
HOLE = b"\0"


def fill_holes(data: bytes, values: Iterable[bytes]) -> bytes:
    """Return bytes with the values in their holes; surplus values are left."""
    plain = data.replace(b"%", b"%%")
    form = plain.replace(HOLE, b"%b")  # longer by the number of holes
    return form % tuple(islice(values, len(form) - len(plain)))


class ChunkTemplate:
    """Writes the chunks of a stream that has no template: the bytes that chunks of one form share are made once."""

    def __init__(self, make: Callable[[Any, Json], Json], write: Callable[[Json], bytes] = to_json) -> None:
        """`make(form, value)` returns a whole chunk that contains `value`."""
        self._make = make
        self._write = write
        self._around = dict[Hashable, tuple[bytes, bytes]]()

    def fill(self, form: Hashable, value: Json) -> bytes:
        """Return the JSON of the chunk of a form that contains `value`."""
        around = self._around.get(form)
        if around is None:
            before, _, after = self._write(self._make(form, _PLACEHOLDER)).partition(self._write(_PLACEHOLDER))
            around = self._around[form] = (before, after)
        return around[0] + to_json(value) + around[1]


_PLACEHOLDER: Mapping[str, Json] = {"\0": 0}
