"""Loads rules and settings from files, flags and environment."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from mockserver.config.errors import CassetteError, ConfigError, Mistake, MockserverError, RuleError, explain_file_error
from mockserver.config.hosts import HOST_NAMES
from mockserver.config.layers import assemble_valid
from mockserver.config.settings import Settings
from mockserver.config.source import Document, read, read_bytes
from mockserver.config.spelling import FLAGS, Spelling
from mockserver.config.timing import PROFILES
from mockserver.core.json import Json
from mockserver.core.lazy import LazyMapping
from mockserver.core.mcp_server import McpServer
from mockserver.core.text import make_reprs
from mockserver.delivery.faults import FAULTS
from mockserver.dialects import discover, discover_all
from mockserver.dialects._mcp import DIALECT as MCP
from mockserver.rules.load import Rule, load, load_servers

if TYPE_CHECKING:
    from mockserver.server.recording.cassette_store import CassetteStore

Made = TypeVar("Made")


class Errors:
    """Collects the errors of several steps, to be raised as one."""

    def __init__(self) -> None:
        self.found: list[MockserverError] = []

    def attempt(self, make: Callable[[], Made]) -> Made | None:
        """Return what `make` returns; None if it raises an error, which is added."""
        try:
            return make()
        except MockserverError as error:
            self.found.append(error)
            return None

    @property
    def merged(self) -> MockserverError:
        return type(self.found[0])(*dict.fromkeys(mistake for error in self.found for mistake in error.mistakes))


class Sources(Struct, frozen=True):
    """Where rules and settings come from; flags win over the environment, and that over the files."""

    files: tuple[Path, ...] = ()
    flags: Mapping[str, Json] = {}
    environ: Mapping[str, str] = {}
    shown: Callable[[Path], str] = str  # how messages name a file
    spelling: Spelling = FLAGS  # how messages write settings
    presets: tuple[Path, ...] = ()  # files of ours: their rules are tried first, and their settings are defaults

    __repr__, __rich_repr__ = make_reprs("environ", "flags")  # they may hold passwords

    def load(self) -> "Loaded":
        """Load everything but cassettes.

        Raises MockserverError for files that cannot be read; `errors` holds others.
        """
        documents = self.read_documents()
        errors = Errors()
        settings, mistaken = assemble_valid(
            self.flags, self.environ, documents, dialects=discover_all(), spelling=self.spelling
        )
        if mistaken:
            errors.found.append(ConfigError(*mistaken))
        rules = errors.attempt(partial(compile_rules, documents, None if mistaken else settings))
        servers = errors.attempt(partial(load_servers, documents))
        return Loaded(documents, settings, rules=rules or (), servers=servers or {}, errors=errors)

    def read_documents(self) -> tuple[Document, ...]:
        """Return the files, presets first. Raises MockserverError with the mistakes of all of them."""
        errors = Errors()
        found = [errors.attempt(partial(self._read_document, path)) for path in (*self.presets, *self.files)]
        if errors.found:
            raise errors.merged
        return tuple(document for document in found if document is not None)

    def _read_document(self, path: Path) -> Document:
        shown = self.shown(path)
        try:
            return read(read_bytes(path), shown)
        except OSError as error:
            missing = "standard input is /dev/stdin" if shown == "-" else f"mockserver init {shown} creates one"
            words = explain_file_error(shown, "read", error, missing=missing)
            raise ConfigError(words) from error


class Loaded(Struct, frozen=True):
    """What sources hold; of mistaken settings the rest, and no rules if one is mistaken."""

    documents: tuple[Document, ...]
    settings: Settings
    rules: tuple[Rule, ...]
    servers: Mapping[str, McpServer]
    errors: Errors

    @property
    def uses_cassettes(self) -> bool:
        rules = (rule for document in self.documents for rule in find_rules(document) if isinstance(rule, Mapping))
        return self.settings.cassette is not None or any(any(find_cassettes(rule.get("then"))) for rule in rules)


def compile_rules(documents: Sequence[Document], settings: Settings | None) -> tuple[Rule, ...]:
    """Return the rules of documents. Raises RuleError with every mistake.

    Rules may name the timing profiles and the hosts of the settings, and any if those are None.
    """
    # Only rules for a dialect need them.
    features = LazyMapping(
        (*discover(), MCP.name), lambda name: (MCP if name == MCP.name else discover()[name]).features
    )
    if settings is None:
        return load(documents, features, faults=FAULTS, profiles=None)
    hosts = (*HOST_NAMES, *settings.hosts)
    return load(documents, features, faults=FAULTS, profiles=PROFILES | settings.profiles, hosts=hosts)


def find_rules(document: Document) -> Sequence[Json]:
    """Return the rules of a document as written."""
    return _read_list(document.data.get("rules")) if isinstance(document.data, Mapping) else ()


def find_cassettes(then: Json) -> Iterator[str]:
    """Yield the cassettes that a `then`, its steps and its branches name; none if it is not a table."""
    pending = [then]
    while pending:
        if isinstance(each := pending.pop(0), Mapping):
            if isinstance(name := each.get("cassette"), str):
                yield name
            steps = _read_list(each.get("steps"))
            branches = _read_list(each.get("one_of"))
            pending[:0] = [*steps, *(branch.get("then") for branch in branches if isinstance(branch, Mapping))]


def check_cassettes(documents: Iterable[Document], store: "CassetteStore") -> None:
    """Load the cassettes that rules name, also rules with mistakes. Raises RuleError for missing and broken ones."""
    rules = ((document, index, spec) for document in documents for index, spec in enumerate(find_rules(document)))
    mistakes = list[Mistake]()
    for count, (document, index, spec) in enumerate(rules, 1):
        if not isinstance(spec, Mapping):
            continue
        for name in find_cassettes(spec.get("then")):
            place = document.find_place(("rules", index))
            rule = spec.get("name", f"rule {count}")
            try:
                exists = store.exists(name)
            except CassetteError as error:
                mistakes += [Mistake(mistake.message, place) for mistake in error.mistakes]
                continue
            if not exists:
                mistakes.append(Mistake(f'rule "{rule}": {store.explain_missing(name)}', place))
                continue
            try:
                store.load(name)
            except CassetteError as error:
                mistakes += error.mistakes
    if mistakes:
        raise RuleError(*dict.fromkeys(mistakes))


def _read_list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()
