"""What makes a live request the same as a recorded one: all that would change an answer, under names, and its key.

Looks at calls, not at bodies: who reads these is a dialect's concern.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

from mockserver.config.cassettes import Match
from mockserver.core.call import Call, fingerprint
from mockserver.core.episode import Episode, Recorded
from mockserver.core.json import Json

SAID = ("messages", "input", "prompt")  # the fields that hold what was said, one after another
STREAM = "stream"
PREVIOUS = "previous_response_id"

View = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Traits:
    """A request in short: what tells quickly how far another one is from it."""

    dialect: str
    operation: str
    fields: frozenset[str]  # a digest of each field but what was said
    said: tuple[str, ...]  # a digest of each message
    ends: tuple[str, str]  # of the last that was said: how it begins and ends
    length: int
    sketch: int  # which words it begins with, each a bit
    stream: bool

    def distance(self, other: "Traits") -> float:
        """How much differs, about: a field or a message counts 1, and more the fewer words two messages share."""
        far = _UNLIKE * (2 * (self.operation != other.operation) + (self.dialect != other.dialect))
        far += _HALF * (self.stream != other.stream)
        far += _HALF * len(self.fields ^ other.fields)
        if self.said == other.said:
            return far
        return far + _unlike(self.said, other.said) + 2 - self._likeness(other)

    def _likeness(self, other: "Traits") -> float:
        """How many words are the same, and how many letters at both ends: 2, if all are."""
        words = (self.sketch & other.sketch).bit_count() / ((self.sketch | other.sketch).bit_count() or 1)
        fewest, most = sorted((self.length, other.length))
        front = alike(self.ends[0], other.ends[0])
        back = min(alike(self.ends[1][::-1], other.ends[1][::-1]), fewest - front)
        return words + ((front + back) / most if most else 1.0)


def view(call: Call, match: Match) -> View:
    """All that must be equal, by name: the fields of the meaning that are not ignored, and what is compared as well."""
    compared = dict(_of_meaning(call))
    for name in match.ignore:
        compared.pop(name, None)
    for name in match.also:
        compared[name] = _also(call, name)
    return {name: value for name, value in compared.items() if value is not None}


def key(call: Call, match: Match) -> str:
    """Equal for requests that one episode answers: by meaning, and whether they are streamed."""
    return fingerprint(call.dialect, call.operation, call.stream, view(call, match))


def traits(call: Call, seen: View) -> Traits:
    """A request in short, from all of it that is compared."""
    said = tuple([fingerprint(item) for name in SAID if name in seen for item in items(seen[name])])
    fields = frozenset(fingerprint(name, value) for name, value in seen.items() if name not in SAID)
    last = call.last_user or (call.messages[-1].text if call.messages else "")
    return Traits(
        dialect=call.dialect,
        operation=call.operation,
        fields=fields,
        said=said,
        ends=(last[:_SKETCHED], last[-_SKETCHED:]),
        length=len(last),
        sketch=_sketch(last),
        stream=call.stream,
    )


def items(value: Json) -> list[Json]:
    """What was said one after another, be it a list or one text."""
    return value if isinstance(value, list) else [value]


def _of_meaning(call: Call) -> Iterator[tuple[str, Json]]:
    meaning: Mapping[str, Json] = call.meaning if isinstance(call.meaning, Mapping) else {}
    yield "model", call.model or None
    yield from meaning.items()
    yield PREVIOUS, call.previous  # as it was sent: whoever replays has the ids that were recorded
    yield "background", call.background or None
    if meaning.keys() <= _LOOKED_UP:  # what is looked up is said by the path, the query and a few fields
        yield from call.raw.items()
        yield from ((f"query.{name}", value) for name, value in call.http.query.items() if name != _VERSION)


def _also(call: Call, name: str) -> Json:
    """What stands in a request under a name with a place in front, or in its body."""
    place, _, inner = name.partition(".")
    match place:
        case "header" if inner:
            return call.http.header(inner)
        case "query" if inner:
            return call.http.query.get(inner)
    value: Json = call.raw
    for step in name.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _unlike(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many messages stand between those that are the same at both ends."""
    fewer, more = sorted((len(one), len(other)))
    front = next((at for at in range(fewer) if one[at] != other[at]), fewer)
    back = next((at for at in range(fewer - front) if one[-1 - at] != other[-1 - at]), fewer - front)
    return more - front - back


def alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike: by halves, as both may be huge."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _sketch(text: str) -> int:
    bits, words = 0, _WORD.findall(text[:_SKETCHED].lower())
    for word in words[:-1] if len(text) > _SKETCHED else words:  # the last one may be cut
        spread = crc32(word.encode("utf-8", "replace")) * _SPREAD & 0xFFFFFFFF
        bits |= 1 << (spread >> _KEPT)
    return bits


_LOOKED_UP = frozenset({"id", "model"})
_VERSION = "api-version"
_UNLIKE, _HALF = 1000.0, 0.5
_WORD = re.compile(r"\w+")
_SKETCHED = 200  # letters
_SPREAD, _KEPT = 0x9E3779B1, 20  # 12 bits that depend on all 32


ParseCall = Callable[[Episode], Call | None]  # the call that an episode's request makes; None: its dialect refuses it


@dataclass(frozen=True, slots=True)
class IndexedEpisode:
    """An episode, its place in the cassette, and what it answers."""

    number: int
    episode: Episode
    reply: Recorded  # its answer, which says where it comes from
    key: str  # what it is looked up by
    traits: Traits


class EpisodeIndex:
    """The episodes of one cassette, by what they answer; `file` is what people call it: `chat.yaml`."""

    def __init__(self, file: str, read: ParseCall, match: Match) -> None:
        self.file, self.read, self.match = file, read, match
        self.size = 0  # how many episodes it has
        self.unread: list[int] = []  # numbers of episodes that can answer nothing
        self._by_key: defaultdict[str, list[IndexedEpisode]] = defaultdict(list)

    def add(self, episode: Episode, number: int) -> None:
        """Have one more; it stands behind those that answer the same."""
        self._put(episode, number, self._seen(episode))

    def again(self, episodes: Iterable[Episode]) -> "EpisodeIndex":
        """The same cassette with other episodes; those that it had are not read anew."""
        known = {entry.episode: (entry.key, entry.traits) for entry in self.entries}
        made = EpisodeIndex(self.file, self.read, self.match)
        for number, episode in enumerate(episodes, 1):
            made._put(episode, number, known.get(episode) or self._seen(episode))
        return made

    def alike(self, episode: Episode) -> Sequence[IndexedEpisode]:
        """Those of its episodes that answer what this one does."""
        call = self.read(episode)
        return () if call is None else self.find(self.key(call))

    def _seen(self, episode: Episode) -> tuple[str, Traits] | None:
        call = self.read(episode)
        return None if call is None else (self.key(call), self.traits(call))

    def _put(self, episode: Episode, number: int, seen: tuple[str, Traits] | None) -> None:
        self.size += 1
        if seen is None:
            self.unread.append(number)
        else:
            reply = replace(episode.reply, source=f"cassette {self.file}#{number}")
            self._by_key[seen[0]].append(IndexedEpisode(number, episode, reply, *seen))

    def key(self, call: Call) -> str:
        """What a request is looked up by."""
        return key(call, self.match)

    def traits(self, call: Call) -> Traits:
        """A request in short, as this cassette compares it."""
        return traits(call, view(call, self.match))

    def find(self, key: str) -> Sequence[IndexedEpisode]:
        """The episodes that answer a request, in their order."""
        return self._by_key.get(key, ())

    @property
    def entries(self) -> tuple[IndexedEpisode, ...]:
        """All episodes that can answer something, in the order of the cassette."""
        found = (entry for entries in tuple(self._by_key.values()) for entry in tuple(entries))
        return tuple(sorted(found, key=lambda entry: entry.number))
