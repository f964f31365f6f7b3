"""The settings: what there is to set, and how flags, environment variables and files become one frozen value."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import ValidationError

from mockserver.config.errors import ConfigError, Mistake, MockserverError
from mockserver.config.models_and_limits import Keys, LimitsSetting, Models
from mockserver.config.recording import UPSTREAM_KEY, MatchSettings, Scrubs, Upstreams
from mockserver.config.source import Document, Path, did_you_mean, read
from mockserver.config.tables import AsTable, AsText, BaseTable, ByShape, Table, TextOrNumber, field
from mockserver.config.timing import PROFILES, Profiles, ProfileSettings, TimingSetting
from mockserver.config.types import Duration, Hosts, Instant, Origins, Several, Size, StateUrl, Token
from mockserver.config.validation_errors import Wording, find_mistakes
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Timing
from mockserver.core.rates import Limits
from mockserver.core.seed import FROZEN_AT
from mockserver.core.text import shown
from mockserver.core.validation import Validation, validation_of


class UnmatchedError(Table):
    """The error that a request gets if no rule matches."""

    example = "{status: 501}"

    status: int | None = field(None, ge=400, le=599, description="HTTP status (default: 404)")
    code: TextOrNumber | None = field(None, description="the error's code")
    message: str | None = field(None, description="the message (default: why the nearest rules do not match)")


Validations = Literal["live", "published", "off"]
ValidationSetting = Annotated[
    AsText[Validations] | AsTable[Mapping[str, Validations]],
    ByShape("live, published, off, or a table by dialect such as {openai: off}"),
]


class Settings(BaseTable, title="settings"):
    """Every setting. The descriptions appear in the documentation, in `--help` and in editors."""

    host: str = field(
        "127.0.0.1",
        min_length=1,
        description="The address to listen on. Addresses other than loopback open the server to the network.",
    )
    port: int = field(8000, ge=0, le=65535, description="The port to listen on; 0 picks a free one.")
    workers: int = field(
        1,
        ge=1,
        le=500,
        description="How many processes serve. "
        "Without shared state, several refuse rules and settings that count or keep anything.",
    )
    dialect: str = field("openai", description="The dialect of bare paths: /v1 for openai, / for azure.")
    unmatched: Annotated[
        AsText[Literal["generate", "error"]] | AsTable[UnmatchedError],
        ByShape("generate, error, or a table such as {status: 501}"),
    ] = field(
        "generate",
        description="What to do if no rule matches: generate an answer, or return an error: the dialect's 404, or "
        "another one: {status: 501}.",
    )
    seed: int = field(0, description="The seed of everything generated: texts, ids, jitter.")
    clock: Instant = field(
        FROZEN_AT,
        json_schema_extra={"default": "frozen"},
        description="The time in answers: frozen, real, Unix seconds or an ISO 8601 time.",
    )
    ids: Literal["stable", "unique"] = field(
        "stable", description="stable: equal requests get equal ids; unique: ids never repeat until a reset."
    )
    tokenizer: Literal["approx", "cl100k_base", "o200k_base", "by-model"] = field(
        "approx",
        description="How to count tokens: approx estimates; cl100k_base and o200k_base count exactly; "
        "by-model uses the tokenizer of each model. All but approx need the extra tokens.",
    )
    models: Models = field(
        None,
        description="The models that exist: names (* is a wildcard), or a table of their properties. "
        "Default: every model exists.",
    )
    known_models: bool = field(True, description="Apply published limits to well-known models.")
    timing: TimingSetting = field(
        default_factory=Timing,
        description="The timing of answers: a table or the name of a profile. Default: no delay.",
    )
    profiles: ProfileSettings = field(
        default_factory=dict, description="Named timings that timing can refer to, in addition to the built-in ones."
    )
    keys: Keys = field(
        None, description="The API keys to accept: a list, or a table of what each may do. Default: any key, or none."
    )
    limits: LimitsSetting = field(default_factory=Limits, description="Rate and concurrency limits. Default: none.")
    validation: ValidationSetting = field(
        Validation.PUBLISHED,
        json_schema_extra={"default": "published"},
        description="Which requests to refuse. published: those that the provider's published schema refuses; live: "
        "also those that only the live provider refuses; off: skip validation; any request with a model and a "
        "conversation is answered, as compatible servers do. Or a table by dialect: {openai: off}.",
    )
    strict: bool | None = field(
        None, description="Deprecated: true is validation: live, false is validation: published."
    )
    lint: Literal["warn", "error", "off"] = field(
        "warn",
        description="Remarks on a rule's answer that no model could give: a tool that was not offered, arguments or "
        "JSON that a strict schema refuses, a wrong finish. With error, they fail a test.",
    )
    replay: Literal["warn", "error", "off"] = field(
        "warn",
        description="Remarks on a history that the live provider would refuse, as the client changed it: a lost "
        "thought signature, a call without its reasoning, encrypted content that was cut. With error, the client gets "
        "the provider's own error. A history whose recorded answer succeeded gets no remark.",
    )
    stored_answers: int = field(
        1000, ge=0, description="How many answers each namespace stores for later requests; the oldest go first."
    )
    stored_bytes: Size = field(
        50_000_000, ge=1, description="How many bytes of answers each namespace stores; the oldest go first."
    )
    state: StateUrl = field(
        "memory",
        repr=False,
        description="Where counts, limits and kept answers are: memory, or a Redis that several servers share: "
        "redis://HOST:6379/0. Needs the extra redis.",
    )
    background_polls: int = field(
        1, ge=0, description="How many retrievals find a background response in progress before it is complete."
    )
    journal_calls: int = field(
        1000, ge=0, description="How many calls the journal keeps for each namespace; the oldest go first."
    )
    journal_bytes: Size = field(
        50_000_000,
        ge=1,
        description="How many bytes of calls the journal keeps for each namespace; the oldest go first.",
    )
    max_body: Size = field(10_000_000, ge=1, description="The largest request body, in bytes or as 10MB.")
    max_unsent: Size = field(
        256_000_000,
        ge=1,
        description="How many bytes large requests and answers may take until clients have read them; beyond it, 503.",
    )
    cassette: str | None = field(
        None, min_length=1, description="The cassette to replay if no rule matches, and to record into."
    )
    cassettes: str = field("cassettes", min_length=1, description="The folder of the cassettes.")
    record: Literal["none", "once", "new_episodes", "all"] = field(
        "none",
        description="What to forward upstream and record. none: nothing; once: everything, if the cassette "
        "is empty; new_episodes: what is not recorded yet; all: everything, replacing recordings.",
    )
    record_errors: bool | None = field(
        None,
        description="Record all errors (true) or none (false). Default: all but 401, 403, and a 404 that "
        "names no model.",
    )
    upstream: Upstreams = field(
        default_factory=dict, description="The provider's base URL, by dialect: openai=https://api.openai.com/v1."
    )
    upstream_timeout: Duration = field(
        600,
        gt=0,
        json_schema_extra={"default": "10m"},
        description="How long an upstream may stay silent: before its answer begins (then a 504), and during it.",
    )
    match: MatchSettings = field(
        default_factory=MatchSettings,
        description="Which request fields to ignore, or to compare as well, when looking for a recording.",
    )
    scrub: Scrubs = field((), description="What to remove from recordings, in addition to credentials.")
    allow_secrets: Several = field((), description="Texts that look like secrets but may be recorded; * is a wildcard.")
    replay_speed: float = field(
        0, ge=0, description="The speed of replayed answers: 1 as recorded, 2 twice as fast, 0 without delay."
    )
    cors: Origins = field(
        (),
        description="The origins whose web pages may call the server, such as https://app.example; * for "
        "all, except on control paths.",
    )
    allowed_hosts: Hosts = field(
        (), description="Host names to accept, in addition to those of this machine and network, such as *.mock.test."
    )
    control_token: Token = field(
        None,
        repr=False,
        description="The token that control paths require. Default: none on loopback, else a random one.",
    )
    inspector: bool = field(True, description="Serve the inspector, a page that shows the calls, at /__mockserver__/.")
    inspector_writes: bool = field(False, description="Let the inspector change rules in the rules files.")
    sockets: bool = field(True, description="Serve Responses over a WebSocket, too; without, clients get a 426 there.")
    source_headers: bool = field(True, description="Add x-mockserver-source and x-mockserver-call to answers.")
    reload: bool = field(True, description="Watch rules files and cassettes, and apply valid changes at once.")
    log: Literal["none", "text", "json"] = field("none", description="Log a line for each request, as text or JSON.")

    def validation_of(self, dialect: str) -> Validation:
        return validation_of(dialect, self.validation)


class Keywords(dict[str, Json]):
    """Settings passed as Python keywords: errors name `seed`, not `--seed`."""


def assemble(
    flags: Mapping[str, Json],
    environ: Mapping[str, str],
    documents: Sequence[Document],
    *,
    dialects: Collection[str] = (),
) -> Settings:
    """Assemble settings: flags win over `MOCKSERVER_*` variables, these over files, later files over earlier ones.

    If `dialects` are given, no other is accepted. Raises ConfigError with every mistake and its place.
    """
    settings, mistakes = assemble_valid(flags, environ, documents, dialects=dialects)
    if mistakes:
        raise ConfigError(*mistakes)
    return settings


def assemble_valid(
    flags: Mapping[str, Json],
    environ: Mapping[str, str],
    documents: Sequence[Document],
    *,
    dialects: Collection[str] = (),
) -> tuple[Settings, Sequence[Mistake]]:
    """Assemble the settings that are valid, as `assemble` does; return them and the mistakes of the others."""
    settings, mistakes = Settings(), list[Mistake]()
    flagged = _Layer(flags, str if isinstance(flags, Keywords) else format_flag)
    layers = (*map(_read_document, documents), _read_environ(environ), flagged)
    profiles = _find_profiles(layers)
    for layer in layers:
        try:
            settings = settings.model_copy(update=_check_layer(layer, dialects, profiles))
        except MockserverError as error:
            mistakes += error.mistakes
            settings = settings.model_copy(update=dict(_select_valid(layer, profiles)))
    try:
        settings = _resolve_strict(settings, [layer for layer in layers if isinstance(layer.values, Mapping)])
    except MockserverError as error:
        mistakes += error.mistakes
    return settings, mistakes


def format_flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def format_variable(name: str) -> str:
    return _PREFIX + name.upper()


class _Layer(Struct, frozen=True):
    """Settings from one origin: their values, how names are spelled there, and the file, if any."""

    values: Json
    written: Callable[[str], str] = str
    document: Document | None = None

    def mistake(self, path: Path, words: str, *, key: bool = False) -> Mistake:
        place = self.document.find_place(("settings", *path), key=key) if self.document else None
        return Mistake(words, place)

    def name(self, path: Path) -> str:
        if not path:
            return "settings"
        within = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])
        return self.written(str(path[0])) + within


def _read_document(document: Document) -> _Layer:
    values = document.data.get("settings") if isinstance(document.data, Mapping) else None
    return _Layer({} if values is None else values, document=document)


def _read_environ(environ: Mapping[str, str]) -> _Layer:
    """Read the variables `MOCKSERVER_*`. Unknown names are ignored unless they look like a misspelt setting."""
    named = {
        name.removeprefix(_PREFIX).lower(): text
        for name, text in environ.items()
        if name.startswith(_PREFIX) and not name.startswith(UPSTREAM_KEY)
    }
    known = Settings.model_fields
    return _Layer(
        {name: text for name, text in named.items() if text and (name in known or did_you_mean(name, known))},
        format_variable,
    )


def _find_profiles(layers: Sequence[_Layer]) -> Profiles | None:
    """Return the profiles of all layers; None if they have mistakes, which are reported with their layer."""
    stated = [layer for layer in layers if isinstance(layer.values, Mapping) and "profiles" in layer.values]
    if not stated:
        return PROFILES
    try:
        value = _read_values(stated[-1])["profiles"]
        return PROFILES | Settings.model_validate({"profiles": value}, strict=stated[-1].document is not None).profiles
    except (ValidationError, MockserverError):
        return None


def _read_values(layer: _Layer) -> Json:
    if layer.document:
        return layer.values
    return {name: _parse_braces(layer, name, value) for name, value in layer.values.items()}


def _check_layer(layer: _Layer, dialects: Collection[str], profiles: Profiles | None) -> dict[str, Json]:
    values = _read_values(layer)
    names = values if isinstance(values, Mapping) else ()
    unknown = [name for name in names if name not in Settings.model_fields]
    mistakes = [layer.mistake((name,), _explain_unknown(layer.written(name), layer), key=True) for name in unknown]
    try:
        known = {name: values[name] for name in names if name not in unknown} if unknown else values
        # Flags and variables are texts, which stand for numbers; in a file, "8000" in quotes is not a number.
        strict, context = layer.document is not None, {"profiles": profiles}
        settings = Settings.model_validate(known, strict=strict, context=context)
    except ValidationError as error:
        found = find_mistakes(error, Settings, Wording(layer.name, "setting", "must be"))
        mistakes += (layer.mistake(each.path, each.message, key=each.key) for each in found)
    if mistakes:
        raise ConfigError(*mistakes)
    named = [(("dialect",), settings.dialect, "")] if "dialect" in settings.model_fields_set else []
    by_dialect = [("upstream", name) for name in settings.upstream]
    by_dialect += [("validation", name) for name in settings.validation if isinstance(settings.validation, Mapping)]
    for path, name, what in (*named, *((path, path[1], ": a dialect") for path in by_dialect)):
        if dialects and name not in dialects:
            known = f"must be one of {', '.join(dialects)}, not {shown(name)}{did_you_mean(name, dialects)}"
            raise ConfigError(layer.mistake(path, f"{layer.name(path[:1])}{what} {known}", key=len(path) > 1))
    return {name: getattr(settings, name) for name in settings.model_fields_set}


def _resolve_strict(settings: Settings, layers: Sequence[_Layer]) -> Settings:
    """Replace the deprecated `strict` by `validation`. Raises ConfigError if both are set."""
    layer = next((each for each in reversed(layers) if "strict" in each.values), None)
    if layer is None or settings.strict is None:
        return settings
    strict = layer.written("strict")
    if successor := next((each for each in layers if "validation" in each.values), None):
        words = f"{strict} and {successor.written('validation')} are both set; remove {strict}"
        raise ConfigError(layer.mistake(("strict",), words, key=True))
    meant = Validation.LIVE if settings.strict else Validation.PUBLISHED
    instead = f"{layer.written('validation')}{': ' if layer.document else '='}{meant}"
    log.warning("%s", layer.mistake(("strict",), f"{strict} is deprecated; write {instead}", key=True).render())
    return settings.model_copy(update={"validation": meant})


def _select_valid(layer: _Layer, profiles: Profiles | None) -> Iterator[tuple[str, Json]]:
    """Yield the valid settings of a layer that has others, too."""
    for name in layer.values if isinstance(layer.values, Mapping) else ():
        one = replace(layer, values={name: layer.values[name]})
        with suppress(MockserverError):
            yield from _check_layer(one, (), profiles).items()


def _parse_braces(layer: _Layer, name: str, value: Json) -> Json:
    """Parse a value that is not from a file: text in braces is a YAML table."""
    if isinstance(value, list):
        return [_parse_braces(layer, name, each) for each in value]
    if isinstance(value, str) and _SURROGATE.search(value):  # Python's stand-in for bytes that are not UTF-8
        raise ConfigError(layer.mistake((name,), f"{layer.written(name)} must be UTF-8 text, not {value!a}"))
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return read(value, layer.written(name)).data
        except MockserverError as error:
            here = f"{layer.written(name)} is not valid YAML: "
            raise ConfigError(
                *(layer.mistake((name,), here + _locate_in_value(each, value)) for each in error.mistakes)
            ) from None
    return value


def _locate_in_value(mistake: Mistake, value: str) -> str:
    column = 0 if mistake.place is None else mistake.place.column
    return f"{mistake.message} (column {column} of {shown(value)})" if column else mistake.message


def _explain_unknown(name: str, layer: _Layer) -> str:
    return f"unknown setting {shown(name)}{did_you_mean(name, map(layer.written, Settings.model_fields))}"


_PREFIX = "MOCKSERVER_"
log = logging.getLogger("mockserver")
_SURROGATE = lazy_pattern(r"[\ud800-\udfff]")
