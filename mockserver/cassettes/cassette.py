"""A cassette: recorded episodes, found by the requests that they answer.

A dialect parses the requests; a cassette compares what their calls mean, by the names of fields. What answers say is
read in `formats/`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from mockserver.config.settings import MatchSettings
from mockserver.core.call import Call, compute_fingerprint
from mockserver.core.episode import Episode, Recorded
from mockserver.core.json import Json, find_in, write_canonical
from mockserver.core.text import count_shared_start

SAID = ("messages", "input", "prompt", "contents")  # fields with the conversation
STREAM = "stream"
PREVIOUS = "previous_response_id"

Compared = Mapping[str, Json]  # the fields of a request that must be equal
Identity = tuple[str | bool | None, ...]


class Traits(Struct, frozen=True):
    """A digest of a request, from which its distance to another one is quickly computed."""

    dialect: str
    operation: str
    stream: bool
    parts: frozenset[str]  # a digest of each field, and of each message of the conversation
    start: str  # of the last message
    end: str  # of the last message
    length: int  # of the last message

    def measure_distance(self, other: "Traits") -> float:
        """Estimate how much differs: 1 for a field or message, less for a message the more of its ends are equal."""
        far = _UNLIKE * (2 * (self.operation != other.operation) + (self.dialect != other.dialect))
        far += (len(self.parts ^ other.parts) + (self.stream != other.stream)) / 2
        fewest, most = sorted((self.length, other.length))
        front = count_shared_start(self.start, other.start)
        back = min(count_shared_start(self.end[::-1], other.end[::-1]), fewest - front)
        return far + 1 - ((front + back) / most if most else 1.0)


def select_compared(call: Call, match: MatchSettings, *, in_order: bool = False) -> Compared:
    """Return the fields that must be equal: those with meaning that are not ignored, and those of `also`.

    `in_order`: with their keys in the order of the request, for reports.
    """
    meaning: Mapping[str, Json] = call.meaning if isinstance(call.meaning, dict) else {}
    if in_order:
        meaning = _reorder(to_builtins(meaning), call.body)
    meaning = _sort_tools(meaning)
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
        compared = _drop_value(compared, name)
    for name in match.also:
        compared[name] = _find_value(call, name)
    return {name: value for name, value in compared.items() if value is not None}


def identify(call: Call) -> Identity:
    """Return a key that is equal for two calls of a conversation only if they are, even in what `match` ignores."""
    return call.fingerprint, call.model, call.stream, call.previous_response_id, call.options.background


def make_key(call: Call, match: MatchSettings) -> str:
    """Return a key that is equal for requests that get the same answer."""
    return compute_fingerprint(call.dialect, call.operation, call.stream, select_compared(call, match))


def find_traits(call: Call, compared: Compared) -> Traits:
    """Return the traits of a call, of which these fields are compared."""
    values = (compared[name] for name in SAID if name in compared)
    messages = (compute_fingerprint(item) for each in values for item in (each if isinstance(each, list) else [each]))
    fields = (compute_fingerprint(name, value) for name, value in compared.items() if name not in SAID)
    last = call.last_user or ("" if call.last_turn is None else call.last_turn.text)
    return Traits(
        call.dialect,
        call.operation,
        stream=call.stream,
        parts=frozenset((*fields, *messages)),
        start=last[:_COMPARED],
        end=last[-_COMPARED:],
        length=len(last),
    )


def _sort_tools(fields: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return fields with their tools in one order: servers list theirs as it happens."""
    if _OFFERS.isdisjoint(fields):
        return fields
    return {name: _sort_offer(value) if name in _OFFERS else value for name, value in fields.items()}


def _sort_offer(offer: Json) -> Json:
    if isinstance(offer, list):
        return sorted(map(_sort_offer, offer), key=write_canonical)
    return _sort_tools(offer) if isinstance(offer, Mapping) else offer


def _reorder(value: Json, sent: Json) -> Json:
    """Return a value with its keys in the order in which they were sent; others follow."""
    if isinstance(value, dict) and isinstance(sent, Mapping):
        keys = (*(key for key in sent if key in value), *(key for key in value if key not in sent))
        return {key: _reorder(value[key], sent.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(sent, list) and len(value) == len(sent):
        return [_reorder(*pair) for pair in zip(value, sent, strict=True)]
    return value


def _drop_value(fields: dict[str, Json], name: str) -> dict[str, Json]:
    """Return fields without the one of this name, such as `seed`, or `generationConfig.seed` inside another."""
    outer, _, inner = name.partition(".")
    table = to_builtins(fields.get(outer)) if inner and name not in fields else None
    if not isinstance(table, dict):
        return {key: value for key, value in fields.items() if key != name}
    kept = _drop_value(table, inner)
    return {key: kept if key == outer else value for key, value in fields.items() if key != outer or kept}


def _find_value(call: Call, name: str) -> Json:
    place, _, inner = name.partition(".")
    match place:
        case "header" if inner:
            return call.http.find_header(inner)
        case "query" if inner:
            return call.http.query.get(inner)
    return find_in(call.body, *name.split("."))


_OFFERS = frozenset({"tools", "functions", "functionDeclarations", "toolConfig"})
_LOOKED_UP = frozenset({"id", "model"})
_VERSION = "api-version"
_UNLIKE = 1000.0
_COMPARED = 200  # letters


ParseCall = Callable[[Episode], Call | None]  # the call of an episode; None if its dialect refuses it


class RequestDigest(Struct, frozen=True):
    """The key and the traits of a recorded request, and the identity of its call if that implies the key."""

    key: str
    traits: Traits
    identity: Identity | None = None


class CassetteEntry(Struct, frozen=True):
    """An episode with its number in the cassette and the digest of its request."""

    number: int
    episode: Episode
    reply: Recorded  # its answer, with its source
    request: RequestDigest

    @property
    def traits(self) -> Traits:
        return self.request.traits


class Cassette:
    """The episodes of one cassette by the requests that they answer. `file` is its name, such as `chat.yaml`."""

    def __init__(self, file: str, parse: ParseCall, match: MatchSettings) -> None:
        self.file = file
        self.parse = parse
        self.match = match
        self.size = 0  # number of episodes
        self.models: set[tuple[str, str]] = set()  # of its episodes, with their dialects
        self.refused: list[int] = []  # numbers of episodes whose requests are refused by their dialects
        self.edited: tuple[int, ...] = ()  # numbers of episodes that were edited since they were recorded
        self._by_key: defaultdict[str, list[CassetteEntry]] = defaultdict(list)
        self._keys: dict[Identity, str] = {}  # of requests as they were recorded

    @property
    def entries(self) -> tuple[CassetteEntry, ...]:
        found = (entry for entries in tuple(self._by_key.values()) for entry in tuple(entries))
        return tuple(sorted(found, key=lambda entry: entry.number))

    @property
    def repeated(self) -> tuple[int, int] | None:
        """The numbers of two episodes that answer the same request, if there are any."""
        several = (entries for entries in self._by_key.values() if len(entries) > 1)
        return next(((entries[0].number, entries[1].number) for entries in several), None)

    def add(self, episode: Episode, number: int) -> None:
        """Add an episode, whose number in the cassette is this."""
        self._add(episode, number, self._digest(episode))

    def copy_with(self, episodes: Iterable[Episode]) -> "Cassette":
        """Return this cassette with other episodes; those that it has already are not parsed again."""
        known = {entry.episode: entry.request for entry in self.entries}
        made = Cassette(self.file, self.parse, self.match)
        for number, episode in enumerate(episodes, 1):
            made._add(episode, number, known.get(episode) or self._digest(episode))
        return made

    def find(self, key: str) -> Sequence[CassetteEntry]:
        """Return the entries with a key, in the order of the cassette."""
        return self._by_key.get(key, ())

    def find_alike(self, episode: Episode) -> Sequence[CassetteEntry]:
        """Return the entries that answer the request of an episode."""
        call = self.parse(episode)
        return () if call is None else self.find(self.make_key(call))

    def make_key(self, call: Call) -> str:
        """Return the key of a call, by which its answers are found."""
        return make_key(call, self.match)

    def find_known_key(self, call: Call) -> str | None:
        """Return the key of a call that means all that a recorded one does; None if it must be worked out."""
        return self._keys.get(identify(call))

    def find_traits(self, call: Call) -> Traits:
        """Return the traits of a call, by which the nearest episodes are found."""
        return find_traits(call, select_compared(call, self.match))

    def _digest(self, episode: Episode) -> RequestDigest | None:
        call = self.parse(episode)
        if call is None:
            return None
        implies_key = bool(call.messages) and not self.match.also  # look-ups are told apart by path and query, too
        return RequestDigest(self.make_key(call), self.find_traits(call), identify(call) if implies_key else None)

    def _add(self, episode: Episode, number: int, request: RequestDigest | None) -> None:
        self.size += 1
        if request is None:
            self.refused.append(number)
            return
        reply = replace(episode.reply, source=f"cassette {self.file}#{number}")
        self.models.add((episode.dialect, episode.model))
        self._by_key[request.key].append(CassetteEntry(number, episode, reply=reply, request=request))
        if request.identity is not None:
            self._keys[request.identity] = request.key
