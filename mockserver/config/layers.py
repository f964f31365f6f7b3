"""Layers of settings become one frozen value: flags win over variables, these over files, later files over earlier."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import ValidationError

from mockserver.config.errors import ConfigError, Mistake, MockserverError
from mockserver.config.hosts import GENERIC, HOST_NAMES, RESERVED
from mockserver.config.settings import MCP_ADDRESS, UPSTREAM_KEY, Settings, name_key_variable
from mockserver.config.source import Document, Path, did_you_mean, read
from mockserver.config.spelling import FLAGS, Spelling
from mockserver.config.timing import PROFILES, Profiles
from mockserver.config.validation_errors import Wording, find_mistakes
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
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
    profiles = _find_profiles(layers)
    hosts = _find_hosts(layers)
    for layer in layers:
        try:
            settings = settings.model_copy(update=layer.check(dialects, profiles, hosts))
        except MockserverError as error:
            mistakes += error.mistakes
            settings = settings.model_copy(update=dict(layer.select_valid(profiles)))
    if dialects:
        _warn_of_misspelt_keys(environ, (*settings.upstream, *dialects))
    return ValidSettings(settings, mistakes)


def format_variable(name: str) -> str:
    return _PREFIX + name.upper()


class _Layer(Struct, frozen=True):
    """Settings from one origin: their values, how names are spelled there, and the file, if any."""

    values: Json
    spell: Callable[[str], str] = str
    document: Document | None = None

    def check(
        self, dialects: Collection[str], profiles: Profiles | None, hosts: Collection[str] = ()
    ) -> dict[str, Json]:
        """Return the settings of this layer, checked. Raises ConfigError with every mistake.

        `hosts` are those of all layers, which may be named where dialects may be.
        """
        values = self.read_values()
        names = values if isinstance(values, Mapping) else ()
        unknown = [name for name in names if name not in Settings.model_fields]
        mistakes = [self.make_mistake((name,), self._explain_unknown(name), key=True) for name in unknown]
        try:
            known = {name: values[name] for name in names if name not in unknown} if unknown else values
            # Flags and variables are texts, which stand for numbers; in a file, "8000" in quotes is not a number.
            strict = self.document is not None
            context = {"profiles": profiles}
            settings = Settings.model_validate(known, strict=strict, context=context)
        except ValidationError as error:
            found = find_mistakes(error, Settings, Wording(self._name, "setting", "must be"))
            mistakes += (self.make_mistake(each.path, each.message, key=each.key) for each in found)
        if mistakes:
            raise ConfigError(*mistakes)
        if dialects:
            self._check_dialects(settings, dialects, hosts)
        return {name: getattr(settings, name) for name in settings.model_fields_set}

    def select_valid(self, profiles: Profiles | None) -> Iterator[tuple[str, Json]]:
        """Yield the valid settings of a layer that has others, too."""
        for name in self.values if isinstance(self.values, Mapping) else ():
            one = replace(self, values={name: self.values[name]})
            with suppress(MockserverError):
                yield from one.check((), profiles).items()

    def read_values(self) -> Json:
        """Return the values; those that are not from a file may be tables as text. Raises ConfigError."""
        if self.document:
            return self.values
        return {name: self._parse_braces(name, value) for name, value in self.values.items()}

    def make_mistake(self, path: Path, words: str, *, key: bool = False) -> Mistake:
        place = self.document.find_place(("settings", *path), key=key) if self.document else None
        return Mistake(words, place)

    def _check_dialects(self, settings: Settings, dialects: Collection[str], hosts: Collection[str]) -> None:
        proper = [name for name in dialects if name == GENERIC or name not in HOST_NAMES]
        everything = tuple(dict.fromkeys((*dialects, *hosts)))
        named: list[tuple[Path, str, Collection[str]]] = [
            (("upstream", name), name, everything) for name in settings.upstream
        ]
        if isinstance(settings.validation, Mapping):
            named += [(("validation", name), name, proper) for name in settings.validation]
        if "dialect" in settings.model_fields_set:
            named.insert(0, (("dialect",), settings.dialect, everything))
        for name in settings.hosts:
            if name in RESERVED or (name in dialects and name not in HOST_NAMES):
                words = f"{self._name(('hosts', name))}: this name begins other paths of mockserver; choose another"
                raise ConfigError(self.make_mistake(("hosts", name), words))
        for path, name, known in named:
            if path[0] == "upstream" and is_upstream_name(name):
                continue
            if name not in known:
                what = self._name(path[:1]) + (": a dialect" if len(path) > 1 else "")
                near = did_you_mean(name, known)
                words = f"{what} must be one of {', '.join(known)}, not {show_value(name)}{near}"
                raise ConfigError(self.make_mistake(path, words, key=len(path) > 1))

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
    """Warn of keys for upstreams whose names look misspelt. They are no mistakes, as they may be for other runs."""
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


_KEY_VARIABLE = lazy_pattern("_KEY_[A-Z]")


def _find_profiles(layers: Sequence[_Layer]) -> Profiles | None:
    """Return the profiles of all layers; None if they have mistakes, which are reported with their layer."""
    stated = [layer for layer in layers if isinstance(layer.values, Mapping) and "profiles" in layer.values]
    if not stated:
        return PROFILES
    try:
        value = stated[-1].read_values()["profiles"]
        return PROFILES | Settings.model_validate({"profiles": value}, strict=stated[-1].document is not None).profiles
    except (ValidationError, MockserverError):
        return None


def _find_hosts(layers: Sequence[_Layer]) -> Collection[str]:
    """Return the names of the hosts that the last layer with any states; mistakes are reported with that layer."""
    stated = [layer for layer in layers if isinstance(layer.values, Mapping) and "hosts" in layer.values]
    try:
        value = stated[-1].read_values()["hosts"] if stated else {}
    except MockserverError:
        return ()
    return [str(name) for name in value] if isinstance(value, Mapping) else ()


def _locate_in_value(mistake: Mistake, value: str) -> str:
    column = 0 if mistake.place is None else mistake.place.column
    return f"{mistake.message} (column {column} of {show_value(value)})" if column else mistake.message


_PREFIX = "MOCKSERVER_"
log = logging.getLogger("mockserver")
_SURROGATE = lazy_pattern(r"[\ud800-\udfff]")
