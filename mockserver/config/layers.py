"""Layers of settings become one frozen value: flags win over variables, these over files, later files over earlier."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from pydantic_core import ValidationError

from mockserver.config.errors import ConfigError, Mistake, MockserverError
from mockserver.config.hosts import GENERIC, HOST_NAMES, RESERVED
from mockserver.config.settings import MCP_ADDRESS, UPSTREAM_KEY, Settings, name_key_variable
from mockserver.config.source import Document, Path, did_you_mean, read
from mockserver.config.spelling import FLAGS, Spelling
from mockserver.config.timing import PROFILES, Profiles
from mockserver.config.validation_errors import Wording, find_mistakes
from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily
from mockserver.core.mcp_server import is_upstream_name
from mockserver.core.text import show_value


def assemble(
    flags: Mapping[str, Json],
    environ: Mapping[str, str],
    documents: Sequence[Document],
    *,
    dialects: Collection[str] = (),
    spelling: Spelling = FLAGS,
) -> Settings:
    """Assemble settings: flags win over `MOCKSERVER_*` variables, these over files, later files over earlier ones.

    If `dialects` are given, no other is accepted. Raises ConfigError with every mistake and its place; `spelling` is
    that of the flags.
    """
    settings, mistakes = assemble_valid(flags, environ, documents, dialects=dialects, spelling=spelling)
    if mistakes:
        raise ConfigError(*mistakes)
    return settings


class ValidSettings(NamedTuple):
    """The settings that are valid, and the mistakes of the others."""

    settings: Settings
    mistakes: Sequence[Mistake]


def assemble_valid(
    flags: Mapping[str, Json],
    environ: Mapping[str, str],
    documents: Sequence[Document],
    *,
    dialects: Collection[str] = (),
    spelling: Spelling = FLAGS,
) -> ValidSettings:
    """Assemble the settings that are valid, as `assemble` does."""
    settings = Settings()
    mistakes = list[Mistake]()
    layers = (*map(_read_document, documents), _read_environ(environ), _Layer(flags, spelling.name))
    known = _Known(dialects, _find_hosts(layers), _find_profiles(layers))
    for layer in layers:
        settings = settings.model_copy(update=layer.select_valid(known, mistakes))
    if dialects:
        _warn_of_misspelt_keys(environ, (*settings.upstream, *dialects))
    return ValidSettings(settings, mistakes)


def format_variable(name: str) -> str:
    return _PREFIX + name.upper()


class _Known(Struct, frozen=True):
    """What a setting may name: dialects, if any are given, and the hosts and profiles of all layers.

    `profiles` is None if they have mistakes.
    """

    dialects: Collection[str]
    hosts: Collection[str]
    profiles: Profiles | None


class _Layer(Struct, frozen=True):
    """Settings from one origin: their values, how names are spelled there, and the file, if any."""

    values: Json
    spell: Callable[[str], str] = str
    document: Document | None = None

    @property
    def names(self) -> Collection[str]:
        """The names of its settings; none if it is not a table."""
        return self.values if isinstance(self.values, Mapping) else ()

    def select_valid(self, known: _Known, mistakes: list[Mistake]) -> dict[str, Json]:
        """Return the valid settings of this layer, and add the mistakes of the others."""
        if not isinstance(self.values, Mapping):
            mistakes.append(self.make_mistake((), f"settings must be a table, not {show_value(self.values)}"))
        found: dict[str, Json] = {}
        for name in self.names:
            try:
                found[name] = self._check(name, known)
            except ConfigError as error:
                mistakes += error.mistakes
        return found

    def _check(self, name: str, known: _Known) -> Json:
        """Return the checked value of a setting. Raises ConfigError with every mistake."""
        if name not in Settings.model_fields:
            raise ConfigError(self.make_mistake((name,), self._explain_unknown(name), key=True))
        # Flags and variables are texts, which stand for numbers; in a file, "8000" in quotes is not a number.
        strict = self.document is not None
        context = {"profiles": known.profiles}
        try:
            settings = Settings.model_validate({name: self.read(name)}, strict=strict, context=context)
        except ValidationError as error:
            found = find_mistakes(error, Settings, Wording(self._name, "setting", "must be"))
            mistakes = [self.make_mistake(each.path, each.message, key=each.key) for each in found]
            raise ConfigError(*mistakes) from None
        value = getattr(settings, name)
        if mistakes := [*self._find_misnamed(name, value, known)]:
            raise ConfigError(*mistakes)
        return value

    def read(self, name: str) -> Json:
        """Return the value of a setting; one that is not from a file may be a table as text. Raises ConfigError."""
        value = self.values[name]
        return value if self.document else self._parse_braces(name, value)

    def make_mistake(self, path: Path, words: str, *, key: bool = False) -> Mistake:
        place = self.document.find_place(("settings", *path), key=key) if self.document else None
        return Mistake(words, place)

    def _find_misnamed(self, setting: str, value: Json, known: _Known) -> Iterator[Mistake]:
        """Yield the mistakes of the dialects and hosts that a checked value names."""
        if not known.dialects:
            return
        named = tuple(dict.fromkeys((*known.dialects, *known.hosts)))
        dialects = [name for name in known.dialects if name == GENERIC or name not in HOST_NAMES]
        match setting:
            case "dialect" if value not in named:
                yield self._refuse_name((setting,), value, named)
            case "upstream":
                for name in value:
                    if name not in named and not is_upstream_name(name):
                        yield self._refuse_name((setting, name), name, named)
            case "validation" if isinstance(value, Mapping):
                for name in value:
                    if name not in dialects:
                        yield self._refuse_name((setting, name), name, dialects)
            case "hosts":
                taken = RESERVED.union(dialects).difference(HOST_NAMES)
                for name in value:
                    if name in taken:
                        words = "this name begins other paths of mockserver; choose another"
                        yield self.make_mistake((setting, name), f"{self._name((setting, name))}: {words}")

    def _refuse_name(self, path: Path, name: str, accepted: Collection[str]) -> Mistake:
        is_key = len(path) > 1
        what = self._name(path[:1]) + (": a dialect" if is_key else "")
        words = f"{what} must be one of {', '.join(accepted)}, not {show_value(name)}{did_you_mean(name, accepted)}"
        return self.make_mistake(path, words, key=is_key)

    def _name(self, path: Path) -> str:
        if not path:
            return "settings"
        within = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])
        return self.spell(str(path[0])) + within

    def _explain_unknown(self, name: str) -> str:
        spelled = self.spell(name)
        return f"unknown setting {show_value(spelled)}{did_you_mean(spelled, map(self.spell, Settings.model_fields))}"

    def _parse_braces(self, name: str, value: Json) -> Json:
        """Parse a value that is not from a file: text in braces is a YAML table."""
        if isinstance(value, list):
            return [self._parse_braces(name, each) for each in value]
        if not isinstance(value, str):
            return value
        if _SURROGATE.search(value):  # Python's stand-in for bytes that are not UTF-8
            raise ConfigError(self.make_mistake((name,), f"{self.spell(name)} must be UTF-8 text, not {value!a}"))
        if not value.lstrip().startswith("{"):
            return value
        try:
            return read(value, self.spell(name)).data
        except MockserverError as error:
            here = f"{self.spell(name)} is not valid YAML: "
            found = (self.make_mistake((name,), here + _locate_in_value(each, value)) for each in error.mistakes)
            raise ConfigError(*found) from None


def _read_document(document: Document) -> _Layer:
    values = document.data.get("settings") if isinstance(document.data, Mapping) else None
    return _Layer({} if values is None else values, document=document)


def _read_environ(environ: Mapping[str, str]) -> _Layer:
    """Read the variables `MOCKSERVER_*`. Unknown names are ignored unless they look like a misspelt setting."""
    named = {
        name.removeprefix(_PREFIX).lower(): text
        for name, text in environ.items()
        if name.startswith(_PREFIX) and not name.startswith((UPSTREAM_KEY, MCP_ADDRESS))
    }
    known = Settings.model_fields
    return _Layer(
        {name: text for name, text in named.items() if text and (name in known or did_you_mean(name, known))},
        format_variable,
    )


def _warn_of_misspelt_keys(environ: Mapping[str, str], upstreams: Collection[str]) -> None:
    """Warn of keys for upstreams whose names look misspelt. They may be for other runs, and so are not errors."""
    known = [*map(name_key_variable, upstreams)]
    named = {each.removeprefix(UPSTREAM_KEY) for each in known}
    for variable in environ:
        hint = ""
        if variable.startswith(UPSTREAM_KEY) and variable not in known:
            hint = did_you_mean(variable.removeprefix(UPSTREAM_KEY), named)
        elif variable.startswith(_PREFIX) and _KEY_VARIABLE.search(variable) and variable not in known:
            hint = did_you_mean(variable, known)
        if hint:
            log.warning("%s is the key of no upstream%s", variable, hint)


_KEY_VARIABLE = compile_lazily("_KEY_[A-Z]")


def _find_profiles(layers: Sequence[_Layer]) -> Profiles | None:
    """Return the profiles of all layers; None if they have mistakes, which are reported with their layer."""
    stated = [layer for layer in layers if "profiles" in layer.names]
    if not stated:
        return PROFILES
    try:
        value = stated[-1].read("profiles")
        return PROFILES | Settings.model_validate({"profiles": value}, strict=stated[-1].document is not None).profiles
    except (ValidationError, MockserverError):
        return None


def _find_hosts(layers: Sequence[_Layer]) -> Collection[str]:
    """Return the names of the hosts that the last layer with any states; mistakes are reported with that layer."""
    stated = [layer for layer in layers if "hosts" in layer.names]
    try:
        value = stated[-1].read("hosts") if stated else {}
    except MockserverError:
        return ()
    return [str(name) for name in value] if isinstance(value, Mapping) else ()


def _locate_in_value(mistake: Mistake, value: str) -> str:
    column = 0 if mistake.place is None else mistake.place.column
    return f"{mistake.message} (column {column} of {show_value(value)})" if column else mistake.message


_PREFIX = "MOCKSERVER_"
log = logging.getLogger("mockserver")
_SURROGATE = compile_lazily(r"[\ud800-\udfff]")
