"""The report of a miss: the recorded request that is nearest to a live one, and how they differ.

Texts of requests are cut and escaped.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from heapq import nsmallest
from typing import NamedTuple

from msgspec import Struct

from mockserver.cassettes.cassette import SAID, STREAM, Cassette, CassetteEntry, Compared, Traits, select_compared
from mockserver.config.settings import SCRUBBED
from mockserver.config.spelling import Spelling
from mockserver.core.call import Call, compute_fingerprint
from mockserver.core.episode import SUFFIX
from mockserver.core.json import Json, try_parse
from mockserver.core.json_diff import ABSENT, JsonDifference, Pairs, find_differences, is_equal
from mockserver.core.mcp_messages import name_request
from mockserver.core.text import count_shared_ends, count_shared_start, join_to_line, limit_lines, show_value

MAX_LINES = 8
SHOWN = 60  # characters of a value
CONTEXT = 16  # characters shown on either side of a difference


class ChangedText(NamedTuple):
    """A text as it was recorded, and as it is in the request."""

    recorded: str
    requested: str


class Difference(Struct, frozen=True):
    """One place that differs: `field` is its field of the body, `where` its whole path."""

    field: str
    where: str
    recorded: str | None  # as text to show; None if absent
    requested: str | None
    text: ChangedText | None = None  # in full, if both are texts

    def __str__(self) -> str:
        if self.recorded is None or self.requested is None:
            where = "in the request" if self.recorded is None else "in the recording"
            value = self.recorded or self.requested
            return f"{self.where}: only {where}" + (f": {value}" if value else "")
        return f"{self.where}: recorded {self.recorded} | request {self.requested}"


def compare_fields(recorded: Compared, requested: Compared) -> tuple[Difference, ...]:
    """Return where two requests differ: first in the conversation, then in the tools, then in other fields."""
    names = dict.fromkeys((*SAID, "tools", *requested, *recorded))
    return tuple(found for name in names for found in _compare_field(name, recorded.get(name), requested.get(name)))


def _compare_field(name: str, one: Json, other: Json) -> Sequence[Difference]:
    if compute_fingerprint(one) == compute_fingerprint(other):
        return ()
    if name == "tools":  # no tools are the same as an empty list
        one = one or []
        other = other or []
    found = find_differences(_mark_absent(one), _mark_absent(other), pair=_pair_parts)
    where = join_to_line(name[:SHOWN])
    return [_describe(name, where, each) for each in found] or [
        Difference(
            name, where, recorded=show_value(one, SHOWN), requested=show_value(other, SHOWN)
        )  # they only differ in what is simplified
    ]


class _ToolStep(str):
    """A step of a path to a tool, which is known by its name alone: what leads to it is not shown."""


def _describe(field: str, where: str, found: JsonDifference) -> Difference:
    for step in found.path:
        where = str(step) if isinstance(step, _ToolStep) else f"{where}{step}"
    if found.kind != "changed":
        is_tool = bool(found.path) and isinstance(found.path[-1], _ToolStep)
        recorded = _show(found.one, in_short=is_tool)
        requested = _show(found.other, in_short=is_tool)
        return Difference(field, where, recorded=recorded, requested=requested)
    one = _simplify(found.one)
    other = _simplify(found.other)
    if is_equal(one, other):  # a text, and the same as a part
        one = found.one
        other = found.other
    if isinstance(one, str) and isinstance(other, str):
        recorded, requested = _show_spans(one, other)
        return Difference(field, where, recorded=recorded, requested=requested, text=ChangedText(one, other))
    return Difference(field, where, recorded=show_value(one, SHOWN), requested=show_value(other, SHOWN))


def _mark_absent(value: Json) -> Json:
    return ABSENT if value is None else value  # providers take null for an absent value


def _pair_parts(one: Json, other: Json) -> Pairs | None:
    """Pair the parts of two values, each with its step as text; what is equal needs no pairs."""
    if is_equal(one, other):
        return ()
    one = _simplify(one)
    other = _simplify(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return _pair_values(one, other)
    if isinstance(one, list) and isinstance(other, list):
        mine = _index_tools(one)
        theirs = _index_tools(other)
        return _pair_entries(one, other) if mine is None or theirs is None else _pair_tools(mine, theirs)
    return None


def _pair_values(one: Mapping[str, Json], other: Mapping[str, Json]) -> Pairs:
    for key in dict.fromkeys((*other, *one)):
        step = "" if key == "content" else f".{join_to_line(key[:SHOWN])}"
        yield step, _mark_absent(one.get(key)), _mark_absent(other.get(key))


def _pair_tools(one: Mapping[str, Json], other: Mapping[str, Json]) -> Pairs:
    """Pair tools by name, as their order has no meaning."""
    for name in dict.fromkeys((*other, *one)):
        yield _ToolStep(f"tool {join_to_line(name[:SHOWN])}"), one.get(name, ABSENT), other.get(name, ABSENT)


def _pair_entries(one: list[Json], other: list[Json]) -> Pairs:
    """Pair the entries between those that are equal at the front and at the back."""
    front, back = _count_equal_ends(one, other)
    for at in range(front, max(len(one), len(other)) - back):
        mine = one[at] if at < len(one) - back else None
        theirs = other[at] if at < len(other) - back else None
        entry = mine if theirs is None else theirs
        role = entry.get("role") or entry.get("type") if isinstance(entry, Mapping) else None
        label = f" ({join_to_line(role[:SHOWN])})" if isinstance(role, str) else ""
        yield f"[{at}]{label}", _mark_absent(mine), _mark_absent(theirs)


def _count_equal_ends(one: list[Json], other: list[Json]) -> tuple[int, int]:
    """Return the number of equal entries at the front, and at the back of the rest."""
    fewer = min(len(one), len(other))
    front = next((at for at in range(fewer) if one[at] != other[at]), fewer)
    left = fewer - front
    return front, next((at for at in range(left) if one[-1 - at] != other[-1 - at]), left)


def _simplify(value: Json) -> Json:
    """Return a value to compare: JSON in a text is parsed; a single part of text is its text."""
    if isinstance(value, str) and value.startswith("{"):
        inner = try_parse(value)
        return inner if isinstance(inner, dict) else value
    match value:
        case [{"type": "text" | "input_text" | "output_text", "text": str(text)}]:
            return text
    return value


def _index_tools(entries: Iterable[Json]) -> dict[str, Json] | None:
    """Return tools by their names; None if these are not tools, or repeat a name."""
    found: dict[str, Json] = {}
    for entry in entries:
        inner = entry.get("function") or entry.get("custom") or entry if isinstance(entry, Mapping) else {}
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(name, str) or name in found or "role" in entry or "call_id" in entry:
            return None
        found[name] = inner
    return found


def _show(value: Json, *, in_short: bool) -> str | None:
    """Return the text for a value that only one side has, empty if its name says enough; None if it is absent."""
    if value is ABSENT:
        return None
    if in_short:
        return ""
    content = value.get("content") if isinstance(value, Mapping) else None
    content = _simplify(content)
    return show_value(content if isinstance(content, str) else value, SHOWN)


def _show_spans(one: str, other: str) -> tuple[str, str]:
    front, back = count_shared_ends(one, other)
    start = max(0, front - CONTEXT) if front > CONTEXT + 2 else 0
    return _show_span(one, start, back), _show_span(other, start, back)


def _show_span(text: str, start: int, back: int) -> str:
    end = len(text) if back <= CONTEXT + 2 else len(text) - back + CONTEXT
    cut = text[start : max(end, start)]
    after = "…" if end < len(text) or len(cut) > SHOWN else ""
    return join_to_line(json.dumps(("…" if start else "") + cut[:SHOWN] + after, ensure_ascii=False))


_POOL = 16  # episodes that are compared field by field


class NearEntry(NamedTuple):
    """A recorded request of the operation that is asked for, and where the live one differs from it."""

    entry: CassetteEntry
    differences: tuple[Difference, ...]

    def measure_distance(self, wanted: Traits) -> tuple[object, ...]:
        """Return what sorts the nearest first; of several, the earliest."""
        return (self.entry.traits.measure_distance(wanted), len(self.differences), self.entry.number)


def report_miss(cassette: Cassette, call: Call, spelling: Spelling) -> str:
    """Return the report, of several lines. Traits select the few episodes to compare in full."""
    cure = f"to record it, set {spelling.write('record', 'new_episodes')}"
    entries = cassette.entries
    if not entries:
        contents = "only requests that their dialects refuse" if cassette.refused else "none"
        return f"no episode of {cassette.file} answers this request: it has {contents}; {cure}"
    wanted = cassette.find_traits(call)
    pool = nsmallest(_POOL, entries, key=lambda entry: (entry.traits.measure_distance(wanted), entry.number))
    if all(entry.traits.operation != wanted.operation for entry in pool):
        others = ", ".join(dict.fromkeys(f"{entry.traits.dialect} {entry.traits.operation}" for entry in entries))
        return (
            f"no episode of {cassette.file} answers this request: it has none of {wanted.dialect} {wanted.operation}, "
            f"only of {others}; {cure}"
        )
    same = (entry for entry in pool if entry.traits.operation == wanted.operation)
    compared = [NearEntry(entry, _compare_requests(cassette, entry, call=call, wanted=wanted)) for entry in same]
    nearest = min(compared, key=lambda near: near.measure_distance(wanted))
    lines = [f"    {line}" for line in limit_lines(list(map(str, nearest.differences)), MAX_LINES)]
    advice = _advise(cassette, nearest.differences, cure)
    first = f"no episode of {cassette.file} answers this request; the nearest:"
    return "\n".join((first, f"  {summarize_entry(cassette, nearest.entry)}", *lines, advice))


def summarize_entry(cassette: Cassette, entry: CassetteEntry) -> str:
    """Return a text such as `chat.yaml#3, recorded 2026-11-22: openai chat gpt-4o "What is the weather in Oslo?"`."""
    episode = entry.episode
    call = cassette.parse(entry.episode)
    question = "" if call is None else call.last_user
    when = f", recorded {datetime.fromtimestamp(episode.at, UTC):%Y-%m-%d}" if episode.at else ""
    about = (join_to_line(name_request(episode)), question and show_value(question, SHOWN))
    return f"{cassette.file}#{entry.number}{when}: {' '.join(filter(None, about))}"


def _compare_requests(
    cassette: Cassette, entry: CassetteEntry, *, call: Call, wanted: Traits
) -> tuple[Difference, ...]:
    """Return all differences: dialect and streaming, then field by field."""
    recorded = cassette.parse(entry.episode)
    found: tuple[Difference, ...] = ()
    if recorded is not None:
        before = select_compared(recorded, cassette.match, in_order=True)
        found = compare_fields(before, select_compared(call, cassette.match, in_order=True))
    if entry.traits.stream != wanted.stream:
        found = (
            Difference(STREAM, STREAM, recorded=_STREAMED[entry.traits.stream], requested=_STREAMED[wanted.stream]),
            *found,
        )
    if entry.traits.dialect != wanted.dialect:
        found = (Difference(_DIALECT, _DIALECT, recorded=entry.traits.dialect, requested=wanted.dialect), *found)
    return found


def _advise(cassette: Cassette, found: Sequence[Difference], cure: str) -> str:
    """Return advice that lets the recording answer, if there is some, and else the cure."""
    name = cassette.file.removesuffix(SUFFIX)
    fields = tuple(dict.fromkeys(each.field for each in found))
    if fields == (STREAM,):
        command = f"mockserver cassette rules {name}"
        return f"a stream and a plain answer cannot replace each other; `{command}` makes rules for both"
    texts = [each.text for each in found if each.text is not None]
    if any(SCRUBBED in text.requested and SCRUBBED not in text.recorded for text in texts):
        return f"the recording is not scrubbed yet: `mockserver cassette scrub {name}` does that"
    if fields and all(name in SAID for name in fields) and (pattern := _find_varying(found)):
        return (
            f"if that changes with every run, remove it: set scrub: [{{regex: '{pattern}'}}], and apply it to the "
            f"recording with `mockserver cassette scrub {name}`; {cure}"
        )
    also = tuple(name for name in fields if name in cassette.match.also)  # compared because of match.also
    rest = tuple(name for name in fields if name not in also)
    if not fields or any(name in _ESSENTIAL for name in rest):
        return cure
    taken = (f"remove {', '.join(map(join_to_line, also))} from match: {{also: [...]}}",) if also else ()
    ignored = (f"set match: {{ignore: [{', '.join(map(join_to_line, rest))}]}}",) if rest else ()
    return f"to ignore it, {' and '.join((*taken, *ignored))}; {cure}"


def _find_varying(found: Sequence[Difference]) -> str | None:
    """Return a regex for the words that vary in the texts; None if there are other differences, or texts are huge."""
    texts = [each.text for each in found if each.text is not None]
    if len(texts) < len(found):
        return None
    one, other = ("\n".join(each) for each in zip(*texts, strict=True))
    return find_varying_pattern(one, other) if len(one) + len(other) <= _MAX_COMPARED else None


_STREAMED = {True: "as a stream", False: "plain"}
_DIALECT = "dialect"
# Fields that mean too much to suggest ignoring them.
_ESSENTIAL = frozenset(
    (
        *SAID,
        STREAM,
        _DIALECT,
        "model",
        "server",
        "method",
        "target",
        "arguments",
        "params",  # of MCP
        "tools",
        "tool_choice",
        "instructions",
        "systemInstruction",
        "response_format",
        "text",
    )
)


def find_varying_pattern(one: str, other: str) -> str | None:
    """Return a regex for all words in which two texts differ: numbers, dates and ids.

    It is None if they differ in other words.
    """
    mine = _WORD.findall(one)
    theirs = _WORD.findall(other)
    words = zip(("", *mine), mine, theirs, strict=False)
    found = dict.fromkeys(_find_pattern(before, word, changed) for before, word, changed in words if word != changed)
    if len(mine) != len(theirs) or None in found or not 0 < len(found) <= _MAX_PATTERNS:
        return None
    pattern = "|".join(filter(None, found))
    return pattern if re.sub(pattern, "", one) == re.sub(pattern, "", other) else None


def _find_pattern(before: str, one: str, other: str) -> str | None:
    """Return a regex for two words; for a bare number, including the word before it."""
    if _ID.fullmatch(one) and _ID.fullmatch(other):
        return _IDS
    shape = _find_shape(one)
    if shape != _find_shape(other) or shape == _escape(one):
        return _find_prefixed(one, other)
    return shape if shape != _NUMBER else f"{_escape(before)} {shape}" if before.isalpha() else None


def _find_prefixed(one: str, other: str) -> str | None:
    """Return a regex for two ids with the same prefix, such as `call_abc123XYZ`."""
    prefix = _PREFIX.match(one[: count_shared_start(one, other)])
    if prefix is None:
        return None
    rests = one[prefix.end() :], other[prefix.end() :]
    found = (pattern for pattern, random in _RANDOM.items() if all(map(random.fullmatch, rests)))
    return next((rf"\b{_escape(prefix[0])}{pattern}" for pattern in found), None)


def _find_shape(word: str) -> str:
    return _DIGITS.sub(lambda _: _NUMBER, _escape(word))


def _escape(word: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", word)


_MAX_PATTERNS = 3
_MAX_COMPARED = 200_000  # characters of both texts
_NUMBER = r"\d+"
_DIGITS = re.compile(r"\d+")
_SPECIAL = re.compile(r"[.+]")
_WORD = re.compile(r"\w(?:[\w.:/+-]*\w)?")
_ID = re.compile(r"(?=.*\d)[0-9a-fA-F-]{16,}")
_IDS = "[0-9a-fA-F-]{16,}"
_PREFIX = re.compile(r".*[a-zA-Z][_-]")
# Regexes for what follows a prefix, and what must look random for that: short texts without four letters of a word.
_RANDOM: Mapping[str, re.Pattern[str]] = {
    _IDS: _ID,
    "(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{16,}": re.compile(r"(?=.*\d[a-zA-Z])[0-9a-zA-Z]{16,}"),
    "(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{8,}": re.compile(r"(?=.*\d[a-zA-Z])(?!.*([a-z]{4}|[A-Z]{4}))[0-9a-zA-Z]{8,}"),
}
