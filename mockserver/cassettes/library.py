"""A cassette that is loaded: its episodes by what they answer. What is recorded is there at once."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mockserver.cassettes.matching import Traits, key, traits, view
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Recorded
from mockserver.kinds.cassettes import Match

Reader = Callable[[Episode], Call | None]  # the call that an episode's request makes; None: its dialect refuses it


@dataclass(frozen=True, slots=True)
class Entry:
    """An episode, its place in the cassette, and what it answers."""

    number: int
    episode: Episode
    reply: Recorded  # its answer, which says where it comes from
    traits: Traits


class Library:
    """The episodes of one cassette, by what they answer; `file` is what people call it: `chat.yaml`."""

    def __init__(self, file: str, read: Reader, match: Match) -> None:
        self.file, self.read, self.match = file, read, match
        self.size = 0  # how many episodes it has
        self.unread: list[int] = []  # numbers of episodes that can answer nothing
        self._by_key: defaultdict[str, list[Entry]] = defaultdict(list)

    def add(self, episode: Episode, number: int) -> None:
        """Have one more; it stands behind those that answer the same."""
        self.size += 1
        call = self.read(episode)
        if call is None:
            self.unread.append(number)
            return
        reply = replace(episode.reply, source=f"cassette {self.file}#{number}")
        self._by_key[self.key(call)].append(Entry(number, episode, reply, self.traits(call)))

    def key(self, call: Call) -> str:
        """What a request is looked up by."""
        return key(call, self.match)

    def traits(self, call: Call) -> Traits:
        """A request in short, as this cassette compares it."""
        return traits(call, view(call, self.match))

    def find(self, key: str) -> Sequence[Entry]:
        """The episodes that answer a request, in their order."""
        return self._by_key.get(key, ())

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All episodes that can answer something, in the order of the cassette."""
        found = (entry for entries in tuple(self._by_key.values()) for entry in tuple(entries))
        return tuple(sorted(found, key=lambda entry: entry.number))
