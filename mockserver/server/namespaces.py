"""Namespaces: what requests below `/ns/NAME` have of their own, in front of what the files say: rules and a cassette.

Counters, kept answers and the journal go by the name in places of their own; `Namespaces.evicted` names those that must
be forgotten there.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.spelling import ControlSpelling
from mockserver.core.mcp_server import McpServer
from mockserver.engine.engine import Engine
from mockserver.rules.load import Rule
from mockserver.server.recording.cassette_store import CassetteStore
from mockserver.server.recording.player import CassetteChoice, Player
from mockserver.server.sources import find_cassettes
from mockserver.state.in_memory import MAX_NAMESPACES

DEFAULT = "default"  # the namespace of a path that names none
ALL = "*"
ADDED = "api"  # how reports call what no file holds: `rule api flaky`
MAX_NAMESPACE_NAME = 100  # characters of a name


def is_namespace(name: str) -> bool:
    """Return whether a text can be the name of a namespace."""
    return 0 < len(name) <= MAX_NAMESPACE_NAME and name.isprintable() and not name.isspace() and name != ALL


class NamespacedPath(NamedTuple):
    """A namespace, and a path within it."""

    namespace: str
    path: str


def split_namespace(path: str) -> NamespacedPath:
    """Return the namespace of a path, such as `a` of `/ns/a/v1`, and the rest; a path without one is in DEFAULT."""
    namespace, slash, rest = path.removeprefix("/ns/").partition("/")
    if not path.startswith("/ns/") or not is_namespace(namespace):
        return NamespacedPath(DEFAULT, path)
    return NamespacedPath(namespace, slash + rest or "/")


class _MadeEngine(Struct, frozen=True):
    """The engine of a namespace, and the things that it was made of: once one of them changes, another is made."""

    engine: Engine
    base: Engine
    rules: tuple[Rule, ...]
    choice: CassetteChoice | None
    servers: Mapping[str, McpServer]


class Namespace(Struct):
    """What one namespace has of its own."""

    rules: tuple[Rule, ...] = ()  # added while the server runs, the latest batch first
    timed: bool = True  # answers take their time
    named: int = 0  # rules that got a name because they came without one
    choice: CassetteChoice | None = None  # the cassette that is played here; None: that of the settings
    servers: Mapping[str, McpServer] = {}  # MCP servers that are only here
    forgotten: tuple[str, ...] = ()  # counters that a change of shared state resets
    _made: _MadeEngine | None = None

    def find_engine(self, base: Engine) -> Engine:
        """Return the engine that answers here: the base engine, with what this namespace has of its own before it.

        Another thread may put new rules meanwhile.
        """
        if not (self.rules or self.choice or self.servers):
            return base
        made = self._made
        rules = self.rules
        choice = self.choice
        servers = self.servers
        is_made = made is not None and made.rules is rules and made.choice is choice and made.servers is servers
        if made is None or not is_made or made.base is not base:
            engine = replace(base, rule_set=base.rule_set.put_first(rules)) if rules else base
            if choice is not None and isinstance(base.player, Player):
                spelling = ControlSpelling(base.player.spelling)
                engine = replace(engine, player=replace(base.player, choice=choice, spelling=spelling))
            if servers:
                engine = replace(engine, servers={**base.servers, **servers})
            self._made = made = _MadeEngine(engine, base, rules=rules, choice=choice, servers=servers)
        return made.engine

    def list_cassettes(self) -> Iterator[str]:
        """Yield the names of the cassettes that are played here, or that rules name."""
        if self.choice is not None and self.choice.name is not None:
            yield self.choice.name
        for rule in self.rules:
            yield from find_cassettes(rule.spec["then"])


class Namespaces:
    """The namespaces in use; of too many the longest idle are forgotten, but never the default one."""

    def __init__(self, limit: int = MAX_NAMESPACES, *, timed: bool = True) -> None:
        self._spaces: OrderedDict[str, Namespace] = OrderedDict()
        self._timed = timed  # whether answers of a new one take their time
        self._limit = limit
        self.evicted: list[str] = []

    def touch(self, name: str) -> Namespace:
        """Return a namespace, and count this as its use; if there are too many, another one goes."""
        spaces = self._spaces
        if name in spaces:
            spaces.move_to_end(name)
        else:
            spaces[name] = Namespace(timed=self._timed)
            if len(spaces) > self._limit:
                self._evict()
        return spaces[name]

    def get(self, name: str) -> Namespace:
        """Return the namespace of this name; one that is not in use is as if new, and is not kept."""
        return self._spaces.get(name) or Namespace(timed=self._timed)

    def put(self, name: str, space: Namespace) -> None:
        """Have a namespace be this one from now on."""
        self.touch(name)
        self._spaces[name] = space

    def drop(self, name: str) -> None:
        """Forget what a namespace has of its own."""
        self._spaces.pop(name, None)

    def list_names(self) -> tuple[str, ...]:
        """Return the names of the namespaces in use, the default one first."""
        return tuple(dict.fromkeys((DEFAULT, *self._spaces)))

    def load_cassettes(self, store: CassetteStore) -> None:
        """Load the cassettes that namespaces play, as far as they exist."""
        for space in tuple(self._spaces.values()):
            for name in filter(store.exists, space.list_cassettes()):
                store.load(name)

    def _evict(self) -> None:
        oldest = next(old for old in self._spaces if old != DEFAULT)
        del self._spaces[oldest]
        self.evicted.append(oldest)
