"""Which recorded request equals a live one, and the report of a miss: the nearest episode and how it differs.

Knows calls, not bodies: parsing these is a dialect's job. Texts of requests are cut and escaped in reports.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from heapq import nsmallest

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from mockserver.config.recording import SCRUBBED, MatchSettings
from mockserver.core.call import Call, fingerprint
from mockserver.core.episode import Episode, Recorded
from mockserver.core.json import Json, try_parse
from mockserver.core.text import count_shared_ends, count_shared_start, one_line, shown, up_to

SAID = ("messages", "input", "prompt", "contents")  # fields with the conversation
STREAM = "stream"
PREVIOUS = "previous_response_id"

View = Mapping[str, Json]
Identity = tuple[str | bool | None, ...]


class Traits(Struct, frozen=True):
    """A digest of a request, from which its distance to another one is quickly computed."""

    dialect: str
    operation: str
    stream: bool
    parts: frozenset[str]  # a digest of each field, and of each message of the conversation
    ends: tuple[str, str]  # the start and end of the last message
    length: int

    def distance(self, other: "Traits") -> float:
        """About how much differs: 1 for a field or message, less for a message the more of its ends are equal."""
        far = _UNLIKE * (2 * (self.operation != other.operation) + (self.dialect != other.dialect))
        far += (len(self.parts ^ other.parts) + (self.stream != other.stream)) / 2
        fewest, most = sorted((self.length, other.length))
        front = count_shared_start(self.ends[0], other.ends[0])
        back = min(count_shared_start(self.ends[1][::-1], other.ends[1][::-1]), fewest - front)
        return far + 1 - ((front + back) / most if most else 1.0)


def view(call: Call, match: MatchSettings, *, in_order: bool = False) -> View:
    """The fields that must be equal: those with meaning that are not ignored, and those of `also`.

    `in_order`: tables only, as they stand in the request, to tell of them.
    """
    meaning: Mapping[str, Json] = call.meaning if isinstance(call.meaning, dict) else {}
    if in_order:
        meaning = _order(to_builtins(meaning), call.body)
    compared: dict[str, Json] = {
        "model": call.model or None,
        **meaning,
        PREVIOUS: call.previous_response_id,  # as sent: replays have the recorded ids
        "background": call.options.background or None,
    }
    if meaning.keys() <= _LOOKED_UP:  # look-ups have all they mean in path, query and few fields
        compared |= call.body
        compared |= {f"query.{name}": value for name, value in call.http.query.items() if name != _VERSION}
    for name in match.ignore:
        compared.pop(name, None)
    for name in match.also:
        compared[name] = _also(call, name)
    return {name: value for name, value in compared.items() if value is not None}


def identity_of(call: Call) -> Identity:
    """Return what two calls of a conversation share only if their views are equal, whatever is ignored."""
    return call.fingerprint, call.model, call.stream, call.previous_response_id, call.options.background


def key(call: Call, match: MatchSettings) -> str:
    return fingerprint(call.dialect, call.operation, call.stream, view(call, match))


def traits(call: Call, seen: View) -> Traits:
    said = (seen[name] if isinstance(seen[name], list) else [seen[name]] for name in SAID if name in seen)
    messages = (fingerprint(item) for items in said for item in items)
    fields = (fingerprint(name, value) for name, value in seen.items() if name not in SAID)
    last = call.last_user or ("" if call.last_turn is None else call.last_turn.text)
    ends = last[:_COMPARED], last[-_COMPARED:]
    return Traits(call.dialect, call.operation, call.stream, frozenset((*fields, *messages)), ends, len(last))


def _order(value: Json, sent: Json) -> Json:
    """A value whose keys stand as they were sent; further ones follow."""
    if isinstance(value, dict) and isinstance(sent, Mapping):
        keys = (*(key for key in sent if key in value), *(key for key in value if key not in sent))
        return {key: _order(value[key], sent.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(sent, list) and len(value) == len(sent):
        return [_order(*pair) for pair in zip(value, sent, strict=True)]
    return value


def _also(call: Call, name: str) -> Json:
    place, _, inner = name.partition(".")
    match place:
        case "header" if inner:
            return call.http.header(inner)
        case "query" if inner:
            return call.http.query.get(inner)
    value: Json = call.body
    for step in name.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


_LOOKED_UP = frozenset({"id", "model"})
_VERSION = "api-version"
_UNLIKE = 1000.0
_COMPARED = 200  # letters


ParseCall = Callable[[Episode], Call | None]  # the call of an episode; None if its dialect refuses it


class Asked(Struct, frozen=True):
    """What is known of a recorded request: its key and traits, and the identity of its call if that implies the key."""

    key: str
    traits: Traits
    identity: Identity | None = None


class IndexedEpisode(Struct, frozen=True):
    """An episode with its number in the cassette, and what it was asked."""

    number: int
    episode: Episode
    reply: Recorded  # its answer, with its source
    asked: Asked

    @property
    def key(self) -> str:
        return self.asked.key

    @property
    def traits(self) -> Traits:
        return self.asked.traits


class EpisodeIndex:
    """The episodes of one cassette by what they answer; `file`: its name for people, such as `chat.yaml`."""

    def __init__(self, file: str, read: ParseCall, match: MatchSettings) -> None:
        self.file, self.read, self.match = file, read, match
        self.size = 0  # number of episodes
        self.unread: list[int] = []  # numbers of episodes whose requests are refused
        self._by_key: defaultdict[str, list[IndexedEpisode]] = defaultdict(list)
        self._keys: dict[Identity, str] = {}  # of requests as they were recorded

    def add(self, episode: Episode, number: int) -> None:
        self._put(episode, number, self._read(episode))

    def again(self, episodes: Iterable[Episode]) -> "EpisodeIndex":
        """The same cassette with other episodes; known ones are not parsed again."""
        known = {entry.episode: entry.asked for entry in self.entries}
        made = EpisodeIndex(self.file, self.read, self.match)
        for number, episode in enumerate(episodes, 1):
            made._put(episode, number, known.get(episode) or self._read(episode))
        return made

    def alike(self, episode: Episode) -> Sequence[IndexedEpisode]:
        call = self.read(episode)
        return () if call is None else self.find(self.key(call))

    def _read(self, episode: Episode) -> Asked | None:
        call = self.read(episode)
        if call is None:
            return None
        implies_key = bool(call.messages) and not self.match.also  # look-ups are told apart by path and query, too
        return Asked(self.key(call), self.traits(call), identity_of(call) if implies_key else None)

    def _put(self, episode: Episode, number: int, asked: Asked | None) -> None:
        self.size += 1
        if asked is None:
            self.unread.append(number)
            return
        reply = replace(episode.reply, source=f"cassette {self.file}#{number}")
        self._by_key[asked.key].append(IndexedEpisode(number, episode, reply, asked))
        if asked.identity is not None:
            self._keys[asked.identity] = asked.key

    def key(self, call: Call) -> str:
        return key(call, self.match)

    def known_key(self, call: Call) -> str | None:
        """Return the key of a call that means all that a recorded one does; None if it must be worked out."""
        return self._keys.get(identity_of(call))

    def traits(self, call: Call) -> Traits:
        return traits(call, view(call, self.match))

    def find(self, key: str) -> Sequence[IndexedEpisode]:
        return self._by_key.get(key, ())

    @property
    def repeated(self) -> tuple[int, int] | None:
        """The numbers of two episodes that answer the same request, if there are any."""
        several = (entries for entries in self._by_key.values() if len(entries) > 1)
        return next(((entries[0].number, entries[1].number) for entries in several), None)

    @property
    def entries(self) -> tuple[IndexedEpisode, ...]:
        found = (entry for entries in tuple(self._by_key.values()) for entry in tuple(entries))
        return tuple(sorted(found, key=lambda entry: entry.number))


MAX_LINES = 8
SHOWN = 60  # characters of a value
CONTEXT = 16  # characters shown on either side of a difference


class Difference(Struct, frozen=True):
    """One place that differs: `field` is its field of the body, `where` its whole path."""

    field: str
    where: str
    recorded: str | None  # as text to show; None if absent
    requested: str | None
    texts: tuple[str, str] | None = None  # both in full, if they are texts

    def __str__(self) -> str:
        if self.recorded is None or self.requested is None:
            where = "in the request" if self.recorded is None else "in the recording"
            value = self.recorded or self.requested
            return f"{self.where}: only {where}" + (f": {value}" if value else "")
        return f"{self.where}: recorded {self.recorded} | request {self.requested}"


def differences(recorded: View, requested: View) -> tuple[Difference, ...]:
    names = dict.fromkeys((*SAID, "tools", *requested, *recorded))
    return tuple(found for name in names for found in _of_field(name, recorded.get(name), requested.get(name)))


def _of_field(name: str, one: Json, other: Json) -> Iterable[Difference]:
    if fingerprint(one) == fingerprint(other):
        return ()
    where = one_line(name[:SHOWN])
    if name == "tools":  # no tools are the same as an empty list
        one, other = one or [], other or []
    found = tuple(_between(where, one, other)) or ((where, shown(one, SHOWN), shown(other, SHOWN)),)
    return (Difference(name, *each) for each in found)


# Where, recorded, requested; and both texts in full, if they are texts.
_Found = tuple[str, str | None, str | None] | tuple[str, str, str, tuple[str, str]]


def _between(where: str, one: Json, other: Json) -> Iterator[_Found]:
    if one == other and type(one) is type(other):
        return
    one, other = _read(one), _read(other)
    if one is None or other is None:
        yield where, _said(one), _said(other)
    elif isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys((*other, *one)):
            inner = where if key == "content" else f"{where}.{one_line(key[:SHOWN])}"
            yield from _between(inner, one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list):
        mine, theirs = _by_name(one), _by_name(other)
        yield from _listed(where, one, other) if mine is None or theirs is None else _named(mine, theirs)
    elif isinstance(one, str) and isinstance(other, str):
        yield where, *_spans(one, other), (one, other)
    else:
        yield where, shown(one, SHOWN), shown(other, SHOWN)


def _named(one: Mapping[str, Json], other: Mapping[str, Json]) -> Iterator[_Found]:
    """Compare tools by name: their order has no meaning."""
    for name in dict.fromkeys((*other, *one)):
        where = f"tool {one_line(name[:SHOWN])}"
        if name not in one or name not in other:
            yield where, "" if name in one else None, "" if name in other else None
        else:
            yield from _between(where, one[name], other[name])
    if list(one) != list(other) and one == other:
        yield "the order of tools", shown(list(one), SHOWN), shown(list(other), SHOWN)


def _listed(where: str, one: list[Json], other: list[Json]) -> Iterator[_Found]:
    front, back = _equal_ends(one, other)
    for at in range(front, max(len(one), len(other)) - back):
        mine = one[at] if at < len(one) - back else None
        theirs = other[at] if at < len(other) - back else None
        yield from _between(_entry(where, at, mine if theirs is None else theirs), mine, theirs)


def _equal_ends(one: list[Json], other: list[Json]) -> tuple[int, int]:
    """The number of equal entries at the front, and at the back of the rest."""
    fewer = min(len(one), len(other))
    front = next((at for at in range(fewer) if one[at] != other[at]), fewer)
    left = fewer - front
    return front, next((at for at in range(left) if one[-1 - at] != other[-1 - at]), left)


def _entry(where: str, at: int, entry: Json) -> str:
    role = entry.get("role") or entry.get("type") if isinstance(entry, Mapping) else None
    return f"{where}[{at}]" + (f" ({one_line(role[:SHOWN])})" if isinstance(role, str) else "")


def _read(value: Json) -> Json:
    """A value to compare: JSON in a text is parsed; a single part of text is its text."""
    if isinstance(value, str) and value.startswith("{"):
        inner = try_parse(value)
        return inner if isinstance(inner, dict) else value
    match value:
        case [{"type": "text" | "input_text" | "output_text", "text": str(text)}]:
            return text
    return value


def _by_name(entries: Iterable[Json]) -> dict[str, Json] | None:
    """Tools by their names; None if these are not tools, or repeat a name."""
    found: dict[str, Json] = {}
    for entry in entries:
        inner = entry.get("function") or entry.get("custom") or entry if isinstance(entry, Mapping) else {}
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(name, str) or name in found or "role" in entry or "call_id" in entry:
            return None
        found[name] = inner
    return found


def _said(value: Json) -> str | None:
    if value is None:
        return None
    content = value.get("content") if isinstance(value, Mapping) else None
    content = _read(content)
    return shown(content if isinstance(content, str) else value, SHOWN)


def _spans(one: str, other: str) -> tuple[str, str]:
    front, back = count_shared_ends(one, other)
    start = max(0, front - CONTEXT) if front > CONTEXT + 2 else 0
    return _span(one, start, back), _span(other, start, back)


def _span(text: str, start: int, back: int) -> str:
    end = len(text) if back <= CONTEXT + 2 else len(text) - back + CONTEXT
    cut = text[start : max(end, start)]
    after = "…" if end < len(text) or len(cut) > SHOWN else ""
    return one_line(json.dumps(("…" if start else "") + cut[:SHOWN] + after, ensure_ascii=False))


_POOL = 16  # episodes that are compared field by field


def miss_report(index: EpisodeIndex, call: Call) -> str:
    """The report for people. Traits select the few episodes to compare in full."""
    entries = index.entries
    if not entries:
        contents = "only requests that their dialects refuse" if index.unread else "none"
        return f"no episode of {index.file} answers this request: it has {contents}; to {_RECORD}"
    wanted = index.traits(call)
    pool = nsmallest(_POOL, entries, key=lambda entry: (entry.traits.distance(wanted), entry.number))
    if all(entry.traits.operation != wanted.operation for entry in pool):
        others = ", ".join(dict.fromkeys(f"{entry.traits.dialect} {entry.traits.operation}" for entry in entries))
        return (
            f"no episode of {index.file} answers this request: it has none of {wanted.dialect} {wanted.operation}, "
            f"only of {others}; to {_RECORD}"
        )
    same = (entry for entry in pool if entry.traits.operation == wanted.operation)
    compared = [(entry, _differences(index, entry, call, wanted)) for entry in same]
    entry, found = min(compared, key=lambda each: (each[0].traits.distance(wanted), len(each[1]), each[0].number))
    told = [f"    {line}" for line in up_to(list(map(str, found)), MAX_LINES)]
    first = f"no episode of {index.file} answers this request; the nearest:"
    return "\n".join((first, f"  {summary(index, entry)}", *told, _advice(index, found)))


def summary(index: EpisodeIndex, entry: IndexedEpisode) -> str:
    """Such as `chat.yaml#3, recorded 2026-11-22: openai chat gpt-4o "What is the weather in Oslo?"`."""
    episode, call = entry.episode, index.read(entry.episode)
    said = "" if call is None else call.last_user
    when = f", recorded {datetime.fromtimestamp(episode.at, UTC):%Y-%m-%d}" if episode.at else ""
    about = (episode.dialect, episode.operation, one_line(episode.model), said and shown(said, SHOWN))
    return f"{index.file}#{entry.number}{when}: {' '.join(filter(None, about))}"


def _differences(index: EpisodeIndex, entry: IndexedEpisode, call: Call, wanted: Traits) -> tuple[Difference, ...]:
    """All differences: dialect and streaming, then field by field."""
    recorded = index.read(entry.episode)
    found: tuple[Difference, ...] = ()
    if recorded is not None:
        found = differences(*(view(each, index.match, in_order=True) for each in (recorded, call)))
    if entry.traits.stream != wanted.stream:
        found = (Difference(STREAM, STREAM, _STREAMED[entry.traits.stream], _STREAMED[wanted.stream]), *found)
    if entry.traits.dialect != wanted.dialect:
        found = (Difference(_DIALECT, _DIALECT, entry.traits.dialect, wanted.dialect), *found)
    return found


def _advice(index: EpisodeIndex, found: Sequence[Difference]) -> str:
    name, fields = index.file.removesuffix(".yaml"), tuple(dict.fromkeys(each.field for each in found))
    if fields == (STREAM,):
        command = f"mockserver cassette rules {name}"
        return f"a stream and a plain answer cannot replace each other; `{command}` makes rules for both"
    if any(SCRUBBED in each.texts[1] and SCRUBBED not in each.texts[0] for each in found if each.texts is not None):
        return f"the recording is not scrubbed yet: `mockserver cassette scrub {name}` does that"
    if fields and all(name in SAID for name in fields) and (pattern := _varying(found)):
        return (
            f"if that changes with every run, remove it: set scrub: [{{regex: '{pattern}'}}], and apply it to the "
            f"recording with `mockserver cassette scrub {name}`; to {_RECORD}"
        )
    also = tuple(name for name in fields if name in index.match.also)  # compared because of match.also
    rest = tuple(name for name in fields if name not in also)
    if not fields or any(name in _ESSENTIAL for name in rest):
        return f"to {_RECORD}"
    taken = (f"remove {', '.join(map(one_line, also))} from match: {{also: [...]}}",) if also else ()
    ignored = (f"set match: {{ignore: [{', '.join(map(one_line, rest))}]}}",) if rest else ()
    return f"to ignore it, {' and '.join((*taken, *ignored))}; to {_RECORD}"


def _varying(found: Sequence[Difference]) -> str | None:
    """A regex for what changes in the texts; None if there are other differences, or the texts are huge."""
    texts = [each.texts for each in found if each.texts is not None]
    if len(texts) < len(found):
        return None
    one, other = ("\n".join(each) for each in zip(*texts, strict=True))
    return varying_pattern(one, other) if len(one) + len(other) <= _MOST_COMPARED else None


_RECORD = "record it, start with --record new_episodes"
_STREAMED = {True: "as a stream", False: "plain"}
_DIALECT = "dialect"
# Fields that mean too much to suggest ignoring them.
_ESSENTIAL = frozenset(
    (
        *SAID,
        STREAM,
        _DIALECT,
        "model",
        "tools",
        "tool_choice",
        "instructions",
        "systemInstruction",
        "response_format",
        "text",
    )
)


def varying_pattern(one: str, other: str) -> str | None:
    """A regex for all words in which two texts differ: numbers, dates and ids. None if they differ in other words."""
    mine, theirs = _WORD.findall(one), _WORD.findall(other)
    words = zip(("", *mine), mine, theirs, strict=False)
    found = dict.fromkeys(_pattern(before, word, changed) for before, word, changed in words if word != changed)
    if len(mine) != len(theirs) or None in found or not 0 < len(found) <= _MAX_PATTERNS:
        return None
    pattern = "|".join(filter(None, found))
    return pattern if re.sub(pattern, "", one) == re.sub(pattern, "", other) else None


def _pattern(before: str, one: str, other: str) -> str | None:
    """A regex for two words; for a bare number, including the word before it."""
    if _ID.fullmatch(one) and _ID.fullmatch(other):
        return _IDS
    shape = _shape(one)
    if shape != _shape(other) or shape == _escaped(one):
        return _prefixed(one, other)
    return shape if shape != _NUMBER else f"{_escaped(before)} {shape}" if before.isalpha() else None


def _prefixed(one: str, other: str) -> str | None:
    """A regex for two ids with the same prefix, such as `call_abc123XYZ`."""
    prefix = _PREFIX.match(one[: count_shared_start(one, other)])
    if prefix is None:
        return None
    rests = one[prefix.end() :], other[prefix.end() :]
    found = (pattern for pattern, random in _RANDOM.items() if all(map(random.fullmatch, rests)))
    return next((rf"\b{_escaped(prefix[0])}{pattern}" for pattern in found), None)


def _shape(word: str) -> str:
    return _DIGITS.sub(lambda _: _NUMBER, _escaped(word))


def _escaped(word: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", word)


_MAX_PATTERNS = 3
_MOST_COMPARED = 200_000  # characters of both texts
_NUMBER = r"\d+"
_DIGITS, _SPECIAL = re.compile(r"\d+"), re.compile(r"[.+]")
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
