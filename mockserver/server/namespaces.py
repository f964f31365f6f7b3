"""Namespaces: what each has of its own in front of what the files say, for a bounded number of them.

Counters, kept answers and the journal go by a namespace's name in places of their own; `evicted` names those that
must be forgotten there.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mockserver.engine.engine import Engine, behind, playing
from mockserver.rules.load import Rule
from mockserver.server.cassette_store import CassetteStore, named_in
from mockserver.server.replay import CassetteChoice, Player
from mockserver.state.in_memory import MAX_NAMESPACES

DEFAULT = "default"  # the namespace of a path that names none
ALL = "*"
LONGEST = 100  # characters of a name


@dataclass(slots=True)
class Namespace:
    """What one namespace has of its own."""

    rules: tuple[Rule, ...] = ()  # added while the server runs, the latest batch first
    timed: bool = True  # answers take their time
    named: int = 0  # rules that got a name because they came without one
    choice: CassetteChoice | None = None  # the cassette that is played here; None: that of the settings
    _made: tuple[tuple[object, ...], Engine] | None = None  # what the engine was made from, and that engine

    def engine(self, base: Engine) -> Engine:
        """What answers here: the base behind the rules of this namespace. Another thread may put new ones meanwhile."""
        made, rules, choice = self._made, self.rules, self.choice
        if not rules and choice is None:
            return base
        if made is None or made[0][0] is not rules or made[0][1] is not choice or made[0][2] is not base:
            engine = behind(base, rules) if rules else base
            if choice is not None and isinstance(base.tapes, Player):
                engine = playing(engine, replace(base.tapes, choice=choice))
            self._made = made = ((rules, choice, base), engine)
        return made[1]

    def cassettes(self) -> Iterator[str]:
        """The names of those that are played here."""
        if self.choice is not None and self.choice.name is not None:
            yield self.choice.name
        for rule in self.rules:
            yield from named_in(rule.spec["then"])


def allowed(name: str) -> bool:
    """Whether a namespace may have this name."""
    return 0 < len(name) <= LONGEST and name.isprintable() and not name.isspace() and name != ALL


class Namespaces:
    """The namespaces in use; of too many the longest idle are forgotten, but never the default one."""

    def __init__(self, limit: int = MAX_NAMESPACES, *, timed: bool = True) -> None:
        self._spaces: OrderedDict[str, Namespace] = OrderedDict()
        self._timed = timed  # whether answers of a new one take their time
        self._limit = limit
        self.evicted: list[str] = []

    def touch(self, name: str) -> Namespace:
        """The namespace of this name, which is in use now."""
        space = self._spaces.get(name)
        if space is None:
            space = self._spaces[name] = Namespace(timed=self._timed)
            if len(self._spaces) > self._limit:
                self._evict()
        else:
            self._spaces.move_to_end(name)
        return space

    def get(self, name: str) -> Namespace:
        """The namespace of this name; one that is not in use is as if new, and is not kept."""
        return self._spaces.get(name) or Namespace(timed=self._timed)

    def drop(self, name: str) -> None:
        """Forget what a namespace has of its own."""
        self._spaces.pop(name, None)

    def names(self) -> tuple[str, ...]:
        """The names of all in use, and the default one."""
        return tuple(dict.fromkeys((DEFAULT, *self._spaces)))

    def load_cassettes(self, store: CassetteStore) -> None:
        """Load the cassettes that are played in any namespace, if they exist. Raises CassetteError for a broken one."""
        for space in tuple(self._spaces.values()):
            for name in filter(store.exists, space.cassettes()):
                store.load(name)

    def _evict(self) -> None:
        oldest = next(old for old in self._spaces if old != DEFAULT)
        del self._spaces[oldest]
        self.evicted.append(oldest)
