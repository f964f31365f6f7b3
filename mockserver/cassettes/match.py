"""Which recorded request equals a live one: the fields to compare, the look-up key, and the index of episodes.

Knows calls, not bodies: parsing these is a dialect's job.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mockserver.config.recording import MatchSettings
from mockserver.core.call import Call, fingerprint
from mockserver.core.episode import Episode, Recorded
from mockserver.core.json import Json

SAID = ("messages", "input", "prompt")  # fields with the conversation
STREAM = "stream"
PREVIOUS = "previous_response_id"

View = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Traits:
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
        front = alike(self.ends[0], other.ends[0])
        back = min(alike(self.ends[1][::-1], other.ends[1][::-1]), fewest - front)
        return far + 1 - ((front + back) / most if most else 1.0)


def view(call: Call, match: MatchSettings) -> View:
    """The fields that must be equal: those with meaning that are not ignored, and those of `also`."""
    compared = dict(_of_meaning(call))
    for name in match.ignore:
        compared.pop(name, None)
    for name in match.also:
        compared[name] = _also(call, name)
    return {name: value for name, value in compared.items() if value is not None}


def key(call: Call, match: MatchSettings) -> str:
    """The key for look-up, equal for requests that one episode answers."""
    return fingerprint(call.dialect, call.operation, call.stream, view(call, match))


def traits(call: Call, seen: View) -> Traits:
    """The traits of a request, from the fields that are compared."""
    said = (fingerprint(item) for name in SAID if name in seen for item in items(seen[name]))
    fields = (fingerprint(name, value) for name, value in seen.items() if name not in SAID)
    last = call.last_user or (call.messages[-1].text if call.messages else "")
    ends = last[:_COMPARED], last[-_COMPARED:]
    return Traits(call.dialect, call.operation, call.stream, frozenset((*fields, *said)), ends, len(last))


def items(value: Json) -> list[Json]:
    """The items of a conversation, which may be a single text."""
    return value if isinstance(value, list) else [value]


def _of_meaning(call: Call) -> Iterator[tuple[str, Json]]:
    meaning: Mapping[str, Json] = call.meaning if isinstance(call.meaning, Mapping) else {}
    yield "model", call.model or None
    yield from meaning.items()
    yield PREVIOUS, call.previous_response_id  # as sent: replays have the recorded ids
    yield "background", call.options.background or None
    if meaning.keys() <= _LOOKED_UP:  # look-ups have all they mean in path, query and few fields
        yield from call.raw.items()
        yield from ((f"query.{name}", value) for name, value in call.http.query.items() if name != _VERSION)


def _also(call: Call, name: str) -> Json:
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


def alike(one: str, other: str) -> int:
    """The length of the common prefix, by bisection, as both texts may be huge."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_LOOKED_UP = frozenset({"id", "model"})
_VERSION = "api-version"
_UNLIKE = 1000.0
_COMPARED = 200  # letters


ParseCall = Callable[[Episode], Call | None]  # the call of an episode; None if its dialect refuses it


@dataclass(frozen=True, slots=True)
class IndexedEpisode:
    """An episode with its number in the cassette, its key and its traits."""

    number: int
    episode: Episode
    reply: Recorded  # its answer, with its source
    key: str
    traits: Traits


class EpisodeIndex:
    """The episodes of one cassette by what they answer; `file`: its name for people, such as `chat.yaml`."""

    def __init__(self, file: str, read: ParseCall, match: MatchSettings) -> None:
        self.file, self.read, self.match = file, read, match
        self.size = 0  # number of episodes
        self.unread: list[int] = []  # numbers of episodes whose requests are refused
        self._by_key: defaultdict[str, list[IndexedEpisode]] = defaultdict(list)

    def add(self, episode: Episode, number: int) -> None:
        """Add an episode, after those that answer the same."""
        self._put(episode, number, self._seen(episode))

    def again(self, episodes: Iterable[Episode]) -> "EpisodeIndex":
        """The same cassette with other episodes; known ones are not parsed again."""
        known = {entry.episode: (entry.key, entry.traits) for entry in self.entries}
        made = EpisodeIndex(self.file, self.read, self.match)
        for number, episode in enumerate(episodes, 1):
            made._put(episode, number, known.get(episode) or self._seen(episode))
        return made

    def alike(self, episode: Episode) -> Sequence[IndexedEpisode]:
        """The episodes that answer the same request as this one."""
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
        """The look-up key of a request."""
        return key(call, self.match)

    def traits(self, call: Call) -> Traits:
        """The traits of a request, as this cassette compares it."""
        return traits(call, view(call, self.match))

    def find(self, key: str) -> Sequence[IndexedEpisode]:
        """The episodes with this key, in order."""
        return self._by_key.get(key, ())

    @property
    def entries(self) -> tuple[IndexedEpisode, ...]:
        """All episodes whose requests are not refused, in order."""
        found = (entry for entries in tuple(self._by_key.values()) for entry in tuple(entries))
        return tuple(sorted(found, key=lambda entry: entry.number))
