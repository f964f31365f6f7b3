"""A cassette that is loaded: its episodes by what they answer. What is recorded is there at once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from mockserver.cassettes.matching import Traits, traits, view
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Recorded
from mockserver.kinds.cassettes import Match

Reader = Callable[[Episode], Call | None]  # the call that an episode's request makes; None: its dialect refuses it


@dataclass(frozen=True, slots=True)
class Entry:
    """An episode, its place in the cassette (`cassette chat.yaml#3`), and what it answers."""

    number: int
    source: str
    episode: Episode
    traits: Traits

    @property
    def reply(self) -> Recorded:
        """What it answers with."""
        return replace(self.episode.reply, source=self.source)


class Library:
    """The episodes of one cassette, by what they answer; `file` is what people call it: `chat.yaml`."""

    def __init__(self, file: str, read: Reader, match: Match) -> None:
        self.file, self.read, self.match = file, read, match
        self.size = 0  # how many episodes it has
        self.unread: list[int] = []  # numbers of episodes that can answer nothing
        self._by_key: defaultdict[str, list[Entry]] = defaultdict(list)

    def add(self, episode: Episode, number: int) -> None:
        """Have one more; it stands behind those that answer the same."""
        self._put(episode, number, self._traits_of(episode))

    def again(self, episodes: Iterable[Episode]) -> "Library":
        """The same cassette with other episodes; those that it had are not read anew."""
        known = {entry.episode: entry.traits for entry in self.entries}
        made = Library(self.file, self.read, self.match)
        for number, episode in enumerate(episodes, 1):
            made._put(episode, number, known.get(episode) or self._traits_of(episode))
        return made

    def alike(self, episode: Episode) -> Sequence[Entry]:
        """Those of its episodes that answer what this one does."""
        seen = self._traits_of(episode)
        return () if seen is None else self.find(seen.key)

    def _traits_of(self, episode: Episode) -> Traits | None:
        call = self.read(episode)
        return None if call is None else self.traits(call)

    def _put(self, episode: Episode, number: int, seen: Traits | None) -> None:
        self.size += 1
        if seen is None:
            self.unread.append(number)
        else:
            self._by_key[seen.key].append(Entry(number, f"cassette {self.file}#{number}", episode, seen))

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
