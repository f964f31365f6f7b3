"""The settings: every one with its type, default and description."""

import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self, get_args
from urllib.parse import urlsplit

from msgspec import to_builtins
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from mockserver.config.hosts import HostTable
from mockserver.config.tables import (
    AfterValidator,
    AsTable,
    AsText,
    BaseTable,
    BeforeValidator,
    ByShape,
    Change,
    Table,
    TextOrNumber,
    WithJsonSchema,
    WrittenAs,
    field,
)
from mockserver.config.timing import ProfileSettings, TimingSetting, TimingTable
from mockserver.config.types import (
    Duration,
    Hosts,
    Instant,
    Origins,
    Several,
    Size,
    StateUrl,
    Token,
    make_list_schema,
    make_refusal,
    parse_json_path,
    split_texts,
)
from mockserver.core.http import HEADER_NAME, explain_header_name
from mockserver.core.json import Json
from mockserver.core.mcp_server import is_upstream_name
from mockserver.core.origins import is_loopback
from mockserver.core.plan import Timing
from mockserver.core.rates import UNLIMITED, Kind, Limits, Rate, Rates, Window
from mockserver.core.seed import FROZEN_AT
from mockserver.core.validation import Validation, find_validation

_PLAIN: dict[str, Json] = {"pattern": "^[^*]*$", "items": {"type": "string", "pattern": "^[^*]*$"}}  # no wildcard
_Many = Annotated[int, field(ge=1)]


class RatesTable(BaseTable, title="rates"):
    """Rate limits."""

    requests_per_minute: _Many | None = field(None, description="How many requests to accept per minute.")
    requests_per_day: _Many | None = field(None, description="How many requests to accept per day.")
    tokens_per_minute: _Many | None = field(
        None, description="How many tokens (prompt and answer) to accept per minute."
    )
    tokens_per_day: _Many | None = field(None, description="How many tokens (prompt and answer) to accept per day.")


class LimitsTable(RatesTable, title="limits"):
    """Rate limits and concurrency limits."""

    example: ClassVar[str] = "{requests_per_minute: 60}"

    concurrent_requests: _Many | None = field(
        None, description="How many requests of a namespace to handle at once, until their answers are sent."
    )
    queue: int = field(0, ge=0, description="How many more requests may wait; others get a 503.")
    queue_timeout: Duration | None = field(None, description="How long a request may wait before it gets a 503.")


def _make_rates(table: RatesTable) -> Rates:
    """Return the rates that a table sets; null lifts a rate."""
    return tuple(
        Rate(kind, window, getattr(table, name) or UNLIMITED)
        for name, (kind, window) in _RATES.items()
        if name in table.model_fields_set
    )


def _make_limits(table: LimitsTable) -> Limits:
    if table.concurrent_requests is None:
        for name in ("queue", "queue_timeout"):
            if name in table.model_fields_set:
                raise PydanticCustomError("refused", "{name} requires concurrent_requests", {"name": name})
    return Limits(_make_rates(table), table.concurrent_requests, queue=table.queue, patience=table.queue_timeout)


RatesSetting = Annotated[Rates, WrittenAs(RatesTable), AfterValidator(_make_rates)]
LimitsSetting = Annotated[Limits, WrittenAs(LimitsTable), AfterValidator(_make_limits)]


_RATES: Mapping[str, tuple[Kind, Window]] = {
    "requests_per_minute": ("requests", "minute"),
    "requests_per_day": ("requests", "day"),
    "tokens_per_minute": ("tokens", "minute"),
    "tokens_per_day": ("tokens", "day"),
}


class KeySettings(BaseTable, title="key"):
    """What an API key may do."""

    allowed: bool = field(True, description="Accept requests with this key; if false, they get a 403.")
    models: Several | None = field(None, description="The models it may use (* is a wildcard); others get a 403.")
    limits: Annotated[RatesSetting | None, WithJsonSchema(RatesTable.model_json_schema)] = field(
        None, description="Its rate limits, instead of those of the model or the general ones."
    )


def _read_keys(value: Json) -> Json:
    """Read a table as it is. Keys in a list, or in one text separated by commas, may do anything."""
    if not isinstance(value, Mapping):
        return {name: {} for name in split_texts(value)}
    wants = PydanticCustomError("expected", "a table of what it may do, such as {} or {allowed: false}")
    wrong = [
        InitErrorDetails(type=wants, loc=(str(name),), input=table)
        for name, table in value.items()
        if not isinstance(table, Mapping | None)
    ]
    if wrong:
        raise ValidationError.from_exception_data("keys", wrong)
    return {str(name): table or {} for name, table in value.items()}


def _accept_names(table: type[BaseTable]) -> Change:
    """Let the JSON Schema accept names in a list, or as the keys of tables."""

    def make_schema() -> dict[str, Json]:
        tables = {"type": "object", "additionalProperties": {"anyOf": [table.model_json_schema(), {"type": "null"}]}}
        no_aliases = {"patternProperties": {"[*]": {"properties": {"aliases": False}}}}
        return {"anyOf": [{**tables, "allOf": [no_aliases]}, make_list_schema()]}

    return WithJsonSchema(make_schema)


Keys = Annotated[Mapping[str, KeySettings] | None, BeforeValidator(_read_keys), _accept_names(KeySettings)]


class ModelSettings(BaseTable, title="model"):
    """The properties of a model."""

    context_window: int | None = field(None, ge=1, description="The most tokens of prompt and answer together.")
    max_output_tokens: int | None = field(None, ge=1, description="The most tokens of an answer.")
    tokenizer: Literal["approx", "cl100k_base", "o200k_base"] | None = field(
        None, description="How to count its tokens if the setting tokenizer is by-model."
    )
    tools: bool | None = field(None, description="Accept tools.")
    vision: bool | None = field(None, description="Accept images.")
    json_schema: bool | None = field(None, description="Accept a JSON Schema for the answer.")
    reasoning: bool | None = field(None, description="Accept a reasoning effort.")
    sampling: bool | None = field(
        None, description="Accept temperature, top_p, penalties, log probabilities and max_tokens."
    )
    resolved: str | None = field(
        None, min_length=1, json_schema_extra=_PLAIN, description="The model name in its answers. Default: its name."
    )
    aliases: Several = field((), json_schema_extra=_PLAIN, description="Other names for it in requests.")
    timing: Annotated[TimingSetting | None, WithJsonSchema(TimingTable.model_json_schema)] = field(
        None, description="The timing of its answers; a rule's timing wins."
    )
    limits: Annotated[RatesSetting | None, WithJsonSchema(RatesTable.model_json_schema)] = field(
        None, description="Its rate limits, instead of the general ones."
    )


def _read_models(value: Json) -> Json:
    if not isinstance(value, Mapping):
        return {name: {} for name in split_texts(value)}
    if not all(isinstance(properties, Mapping | None) for properties in value.values()):
        raise PydanticCustomError("expected", "a list of names, or a table that gives each name a table of properties")
    return {str(name): properties or {} for name, properties in value.items()}


def _check_names(models: Mapping[str, ModelSettings] | None) -> Mapping[str, ModelSettings] | None:
    owners: dict[str, str] = {}
    errors = [
        found
        for name, model in (models or {}).items()
        for found in _find_alias_errors(name, model, owners=owners, models=models or {})
    ]
    if errors:
        raise ValidationError.from_exception_data("models", errors)
    return models


def _find_alias_errors(
    name: str, model: ModelSettings, owners: dict[str, str], models: Collection[str]
) -> Iterator[InitErrorDetails]:
    if model.resolved is not None and "*" in model.resolved:
        yield make_refusal((name, "resolved"), f'must be a name without *, not "{model.resolved}"', model.resolved)
    for at, alias in enumerate(model.aliases):
        if "*" in alias:
            why = f'must be a name without *, not "{alias}"'
        elif "*" in name:
            why = "a pattern cannot have aliases; only a name can"
        elif alias in models:
            why = f'"{alias}" is already the name of a model'
        elif alias in owners:
            why = f'"{alias}" is already an alias of "{owners[alias]}"'
        else:
            owners[alias] = name
            continue
        yield make_refusal((name, "aliases", at), why, alias)


Models = Annotated[
    Mapping[str, ModelSettings] | None,
    BeforeValidator(_read_models),
    AfterValidator(_check_names),
    _accept_names(ModelSettings),
]


def _accept_text(value: Json) -> Json:
    """Read one text as a list of it: what looks like a secret may hold commas."""
    return split_texts([value] if isinstance(value, str) else value)


AllowedSecrets = Annotated[
    tuple[Annotated[str, field(min_length=1)], ...],
    BeforeValidator(_accept_text),
    WithJsonSchema(lambda: {"type": ["array", "string"], "items": {"type": "string"}}),
]


def _check_compared(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return what to compare, with names of headers in lower case."""
    headers = {at: name.removeprefix("header.") for at, name in enumerate(names) if name.startswith("header.")}
    errors = [make_refusal((at,), why, names[at]) for at, name in headers.items() if (why := explain_header_name(name))]
    if errors:
        raise ValidationError.from_exception_data("also", errors)
    return tuple(name.lower() if at in headers else name for at, name in enumerate(names))


_COMPARED = make_list_schema(rf"header\.{HEADER_NAME.pattern}|(?!\s*header\.)[^,]*")
Compared = Annotated[Several, AfterValidator(_check_compared), WithJsonSchema(lambda: _COMPARED)]


class MatchSettings(BaseTable, title="match"):
    """Which parts of a request to ignore, or to compare as well, when looking for a recording."""

    example: ClassVar[str] = "{ignore: [temperature]}"

    ignore: Several = field(
        (), description="Body fields to ignore, such as temperature, or generationConfig.seed inside another."
    )
    also: Compared = field(
        (), description="What to compare as well: header.x-tenant, query.api-version, or a body field such as user."
    )


def _check_json_path(text: str) -> str:
    try:
        parse_json_path(text)
    except ValueError as error:
        raise PydanticCustomError("refused", "is not a valid JSONPath: {why}", {"why": str(error)}) from None
    return text


def _check_pattern(text: str) -> str:
    import regex  # type: ignore[import-untyped]  # slow to import, and most settings have no pattern

    try:
        regex.compile(text)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise PydanticCustomError("refused", "is not a valid regular expression: {why}", {"why": str(error)}) from None
    return text


SCRUBBED = "<scrubbed>"


class Scrub(BaseTable, title="scrub", validate_by_name=True, validate_by_alias=True):
    """Something to remove from recordings, and from live requests before a recording is looked up."""

    path: Annotated[str, AfterValidator(_check_json_path)] | None = field(
        None, description="The JSONPath of a value in a JSON body, such as $.user."
    )
    regex: Annotated[str, field(min_length=1), AfterValidator(_check_pattern)] | None = field(
        None, description="Or a regular expression that matches it anywhere."
    )
    placeholder: str = field(SCRUBBED, alias="with", min_length=1, description="The replacement.")

    def _check(self) -> Self:
        if (self.path is None) == (self.regex is None):
            raise PydanticCustomError("refused", "give either path or regex")
        return self


def _read_scrubs(value: Json) -> Json:
    if isinstance(value, Mapping):
        return (value,)
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("expected", "a list of tables, such as {path: $.user}")
    return tuple(value)


def _read_upstreams(value: Json) -> Json:
    if isinstance(value, Mapping):
        return value
    pairs = [text.partition("=") for each in split_texts(value) for text in split_texts(each)]
    if any(not (name and equals and url) for name, equals, url in pairs):
        raise PydanticCustomError("expected", "dialect=URL, such as openai=https://api.openai.com/v1")
    return {name: url for name, _, url in pairs}


def _is_address(url: str) -> bool:
    """Return whether a URL is an http(s) address, with a port that there can be if it has one."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not parts.fragment
    except ValueError:
        return False


def _check_addresses(upstreams: Mapping[str, str]) -> Mapping[str, str]:
    for url in upstreams.values():
        if "@" in url:  # not quoted: what is before it may be a password
            raise PydanticCustomError(
                "refused",
                f"a URL must not contain a user or password; the key for openai goes into {UPSTREAM_KEY}OPENAI",
            )
        if not _is_address(url) or urlsplit(url).query:
            raise PydanticCustomError(
                "expected", "http(s) addresses without a query, such as https://api.openai.com/v1"
            )
    # paths follow the URL of a provider; that of an MCP server is whole
    return {name: url if is_upstream_name(name) else url.rstrip("/") for name, url in upstreams.items()}


MCP_ADDRESS = "MOCKSERVER_MCP_"  # plus the name of an MCP server: the variable of its URL, for programs
UPSTREAM_KEY = "MOCKSERVER_UPSTREAM_KEY_"  # begins the variables of keys to send upstream


def name_key_variable(upstream: str) -> str:
    """Return the variable of the key for an upstream: `MOCKSERVER_UPSTREAM_KEY_MCP_FILES` for `mcp/files`."""
    return UPSTREAM_KEY + re.sub(r"\W", "_", upstream).upper()


def _check_webhook_url(url: str | None) -> str | None:
    if url is None:
        return None
    if not _is_address(url) or "@" in urlsplit(url).netloc:
        raise PydanticCustomError("expected", "an http(s) address such as http://localhost:3000/webhooks")
    if not is_loopback(urlsplit(url).hostname or ""):
        raise PydanticCustomError(
            "refused", "webhooks are sent to this machine only: use localhost, and forward them from there"
        )
    return url


def _check_webhook_secret(secret: str) -> str:
    try:
        is_right = secret.startswith("whsec_") and bool(b64decode(secret.removeprefix("whsec_"), validate=True))
    except ValueError:
        is_right = False
    if not is_right:
        raise PydanticCustomError("refused", "write whsec_ and base64 behind it, as in whsec_c2VjcmV0")  # not quoted
    return secret


_URLS = {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^@?#]+$"}}
Upstreams = Annotated[
    Mapping[str, str],
    BeforeValidator(_read_upstreams),
    AfterValidator(_check_addresses),
    WithJsonSchema(lambda: {"anyOf": [_URLS, {"type": ["array", "string"], "items": {"type": "string"}}]}),
]
WebhookUrl = Annotated[
    str | None,
    AfterValidator(_check_webhook_url),
    WithJsonSchema(lambda: {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^@#]+$"}),
]
WebhookSecret = Annotated[str, AfterValidator(_check_webhook_secret)]
Scrubs = Annotated[tuple[Scrub, ...], BeforeValidator(_read_scrubs)]


class UnmatchedError(Table):
    """The error that a request gets if no rule matches."""

    example = "{status: 501}"

    status: int | None = field(None, ge=400, le=599, description="HTTP status (default: 404)")
    code: TextOrNumber | None = field(None, description="the error's code")
    message: str | None = field(None, description="the message (default: why the nearest rules do not match)")


Validations = Literal["live", "published", "off"]
RecordMode = Literal["none", "once", "new_episodes", "all"]
RECORD_MODES: tuple[str, ...] = get_args(RecordMode)
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
    tls_cert: str | None = field(
        None,
        min_length=1,
        description="A certificate with its chain (PEM), with which the server speaks TLS: https:// and wss://.",
        examples=["cert.pem"],
    )
    tls_key: str | None = field(
        None,
        min_length=1,
        description="The private key of `tls_cert` (PEM), if it is not in the same file.",
        examples=["key.pem"],
    )
    workers: int = field(
        1,
        ge=1,
        le=500,
        description="How many processes serve. "
        "Without shared state, several refuse rules and settings that count or keep anything.",
    )
    dialect: str = field("openai", description="The dialect of bare paths: /v1 for openai, / for azure.")
    hosts: HostTable = field(
        default_factory=dict,
        description="Hosts of the dialect compatible besides the built-in ones, by name, which is also their path: "
        "{acme: {like: openrouter, reasoning: reasoning_content}}.",
    )
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
        None,
        repr=False,
        description="The API keys to accept: a list, or a table of what each may do. Default: any key, or none.",
    )
    limits: LimitsSetting = field(default_factory=Limits, description="Rate and concurrency limits. Default: none.")
    validation: ValidationSetting = field(
        Validation.PUBLISHED,
        json_schema_extra={"default": "published"},
        description="Which requests to refuse. published: those that the provider's published schema refuses; live: "
        "also those that only the live provider refuses; off: skip validation; any request with a model and a "
        "conversation is answered, as compatible servers do. Or a table by dialect: {openai: off}.",
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
        50_000_000,
        ge=1,
        description="How many bytes of answers and files each namespace stores; the oldest go first. "
        "Uploads that are on disk do not count.",
    )
    stored_files: Size = field(
        4_000_000_000,
        ge=0,
        description="How many bytes of uploads all namespaces together keep on disk; the oldest of the namespace that "
        "needs room go first.",
    )
    state: StateUrl = field(
        "memory",
        repr=False,
        description="Where counters, limits and stored answers are kept: memory, or a Redis that several servers "
        "share: redis://HOST:6379/0. Needs the extra redis.",
    )
    background_polls: int = field(
        1, ge=0, description="How many retrievals find a background response in progress before it is complete."
    )
    webhook_url: WebhookUrl = field(
        None,
        description="Where to send webhooks about batches, jobs, evals and background responses that end: a URL on "
        "this machine. With it, they end on their own; without it, after look-ups.",
        examples=["http://localhost:3000/webhooks"],
    )
    webhook_secret: WebhookSecret = field(
        "whsec_bW9ja3NlcnZlci13ZWJob29rLXNlY3JldA==",
        repr=False,
        min_length=1,
        description="The secret that signs webhooks; the receiver needs it, too: whsec_ and base64.",
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
    max_upload: Size = field(
        512_000_000,
        ge=1,
        description="The largest request with files, such as an upload; what is over 1 MB is kept on disk.",
    )
    max_unsent: Size = field(
        256_000_000,
        ge=1,
        description="How many bytes of large requests and unread answers to hold at once; beyond that, clients get "
        "a 503.",
    )
    cassette: str | None = field(
        None, min_length=1, description="The cassette to replay if no rule matches, and to record into."
    )
    cassettes: str = field("cassettes", min_length=1, description="The folder of the cassettes.")
    record: RecordMode = field(
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
        default_factory=dict,
        description="The provider's base URL, by dialect or host of compatible: openai=https://api.openai.com/v1. For "
        "an MCP server, its URL: mcp/files=https://mcp.example.com/mcp.",
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
    scrub: Scrubs = field((), repr=False, description="What to remove from recordings, in addition to credentials.")
    allow_secrets: AllowedSecrets = field(
        (), repr=False, description="Texts that look like secrets but may be recorded; * is a wildcard."
    )
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
    sockets: bool = field(True, description="Serve Responses over WebSockets, too; if false, clients get a 426 there.")
    source_headers: bool = field(True, description="Add x-mockserver-source and x-mockserver-call to answers.")
    reload: bool = field(True, description="Watch rules files and cassettes, and apply valid changes at once.")
    log: Literal["none", "text", "json"] = field("none", description="Log a line for each request, as text or JSON.")

    @property
    def polls(self) -> int:
        """How many retrievals find a background response in progress: none where webhooks tell how it ends."""
        return 0 if self.webhook_url else self.background_polls

    @property
    def scheme(self) -> str:
        """How the URLs of the server begin."""
        return "http" if self.tls_cert is None else "https"

    def find_validation(self, dialect: str) -> Validation:
        return find_validation(dialect, self.validation)


def dump_settings(settings: Settings) -> dict[str, Json]:
    """Return the settings that differ from their defaults, secrets included, as plain values."""
    usual = vars(Settings())
    changed = {name: value for name, value in vars(settings).items() if value != usual[name]}
    dumped: dict[str, Json] = to_builtins(changed, enc_hook=lambda table: table.model_dump(exclude_unset=True))
    return dumped


def show_settings(settings: Settings) -> dict[str, Json]:
    """Show the settings that differ from their defaults. Secrets are left out; of several, it says how many."""
    dumped = dump_settings(settings)
    secret = {name for name in dumped if not Settings.model_fields[name].repr}
    shown = {name: value for name, value in dumped.items() if name not in secret}
    if settings.clock is None:
        shown["clock"] = "real"
    return shown | {name: len(dumped[name]) for name in secret if not isinstance(dumped[name], str)}
