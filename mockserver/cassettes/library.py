"""A cassette that is loaded: its episodes by what they answer. What is recorded is there at once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from mockserver.cassettes.match import Traits, key, traits, view
from mockserver.config.cassettes import Match
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Recorded

Reader = Callable[[Episode], Call | None]  # the call that an episode's request makes; None: its dialect refuses it


@dataclass(frozen=True, slots=True)
class Entry:
    """An episode, its place in the cassette, and what it answers."""

    number: int
    episode: Episode
    reply: Recorded  # its answer, which says where it comes from
    key: str  # what it is looked up by
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
        self._put(episode, number, self._seen(episode))

    def again(self, episodes: Iterable[Episode]) -> "Library":
        """The same cassette with other episodes; those that it had are not read anew."""
        known = {entry.episode: (entry.key, entry.traits) for entry in self.entries}
        made = Library(self.file, self.read, self.match)
        for number, episode in enumerate(episodes, 1):
            made._put(episode, number, known.get(episode) or self._seen(episode))
        return made

    def alike(self, episode: Episode) -> Sequence[Entry]:
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
            self._by_key[seen[0]].append(Entry(number, episode, reply, *seen))

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
