"""The options of a server and of rules in tests, as types for editors."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from mockserver.config.errors import ConfigError
from mockserver.config.settings import RecordMode
from mockserver.testing.callers import find_caller

__tracebackhide__ = True  # pytest shows the line of the test instead

# A bare value, one of several, or a table of predicates; by the kind of the field. In a bare text * is a wildcard; a
# compiled pattern is searched for.
TextCondition = str | re.Pattern[str] | Sequence[str] | Mapping[str, Any]
NumberCondition = float | Sequence[float] | Mapping[str, Any]
BooleanCondition = bool | Mapping[str, Any]
JsonCondition = str | float | bool | Sequence[Any] | Mapping[str, Any]
Parts = Mapping[str, Any] | Sequence[Any]

# fmt: off
ErrorName = Literal[
    "bad_parameter", "content_filter", "context_length", "invalid_key", "billing", "forbidden", "model_not_found",
    "unknown_model", "timeout", "conflict", "too_large", "unsupported_media_type", "unprocessable", "rate_limit",
    "quota", "server_error", "bad_gateway", "overloaded", "gateway_timeout",
]
FaultName = Literal[
    "cut", "disconnect", "reset", "stall", "slow", "keepalive", "malformed_json", "split_frame", "split_utf8",
    "join_frames", "duplicate", "reorder", "crlf", "wrong_content_type", "wrong_content_length", "empty_body",
    "error_event", "missing_field", "drop_usage", "bad_tool_arguments", "unknown_tool", "breaks_schema",
    "wrong_id", "twice", "session_lost", "wrong_checksum",
]
# fmt: on


class ServerOptions(TypedDict, total=False):
    """The options of a server in tests: settings by their names, `timing` and `allow_hosts`.

    docs/reference/settings.md lists the settings.

    `timing`: True lets answers take the time that rules and settings define; a table or a profile applies to all
    answers; with False, the default, they are sent at once. `allow_hosts`: providers that clients may connect to.
    """

    unmatched: Literal["error", "generate"] | Mapping[str, Any]
    seed: int
    dialect: str
    timing: bool | str | Mapping[str, Any]
    cassette: str | None
    cassettes: str | Path
    record: RecordMode
    record_errors: bool
    upstream: Mapping[str, str]
    allow_hosts: Sequence[str]
    upstream_timeout: float | str
    match: Mapping[str, Any]
    scrub: Sequence[Mapping[str, Any]]
    allow_secrets: Sequence[str]
    replay_speed: float
    clock: str | int
    hosts: Parts
    ids: Literal["stable", "unique"]
    tokenizer: Literal["approx", "cl100k_base", "o200k_base", "by-model"]
    models: Parts
    known_models: bool
    tls_cert: str
    tls_key: str
    keys: Parts
    limits: Mapping[str, Any]
    validation: Literal["live", "published", "off"] | Mapping[str, Literal["live", "published", "off"]]
    lint: Literal["warn", "error", "off"]
    replay: Literal["warn", "error", "off"]
    profiles: Mapping[str, Any]
    stored_answers: int
    background_polls: int
    webhook_url: str
    webhook_secret: str
    journal_calls: int
    max_body: int | str
    max_upload: int | str
    max_unsent: int | str
    sockets: bool
    source_headers: bool


class When(TypedDict, total=False):
    """The fields of a rule's `when` (docs/reference/rules.md). `param`, `header`, `query` and `metadata` are tables."""

    dialect: TextCondition
    host: TextCondition
    operation: TextCondition
    path: TextCondition
    method: TextCondition
    model: TextCondition
    stream: BooleanCondition
    last_user: TextCondition
    last_message: TextCondition
    system: TextCondition
    conversation: TextCondition
    turn: NumberCondition
    tools: TextCondition
    tool_choice: TextCondition
    tool_result: Mapping[str, Any]
    response_format: TextCondition
    previous_response: TextCondition
    images: NumberCondition
    param: Mapping[str, JsonCondition]
    header: Mapping[str, TextCondition]
    query: Mapping[str, TextCondition]
    metadata: Mapping[str, JsonCondition]
    key: TextCondition
    attempt: NumberCondition
    namespace: TextCondition
    mcp: TextCondition
    tool: TextCondition
    arguments: JsonCondition
    resource: TextCondition
    prompt_name: TextCondition
    client_answer: JsonCondition
    client_action: TextCondition
    prompt_tokens: NumberCondition
    body: JsonCondition
    any: Sequence[Mapping[str, Any]]
    all: Sequence[Mapping[str, Any]]
    not_: Mapping[str, Any]


class Then(TypedDict, total=False):
    """The keys of a rule's `then` (docs/reference/rules.md) except those with a method of their own."""

    json: Any
    refusal: str
    tool_calls: Sequence[Mapping[str, Any]]
    items: Sequence[Mapping[str, Any]]
    parts: Sequence[Mapping[str, Any]]
    choices: Sequence[Mapping[str, Any]]
    reasoning: str
    citations: Sequence[Mapping[str, Any]]
    annotations: Sequence[Mapping[str, Any]]
    logprobs: Sequence[float]
    finish: Literal["stop", "length", "tool_calls", "content_filter", "function_call", "error"]
    usage: Mapping[str, int]
    model: str
    system_fingerprint: str | None
    headers: Mapping[str, str]
    content_filter: Mapping[str, Any]
    annotate: Mapping[str, Any]
    failed: bool | Mapping[str, Any]
    embedding: Any
    moderation: Any
    image: Any
    audio: Any
    transcript: str
    markdown: str | Sequence[str]
    status: str | list[str]
    rerank: Sequence[float] | Mapping[str, Any]
    search_results: Sequence[Mapping[str, Any]]
    tool_error: Any
    content: Sequence[Mapping[str, Any]]
    progress: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    log: str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ask: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    generate: str | Mapping[str, Any]
    echo: bool
    cassette: str
    forward: bool
    raw: Mapping[str, Any]
    timing: str | Mapping[str, Any]
    chunks: str | Mapping[str, Any] | Sequence[str]
    faults: Sequence[FaultName | Mapping[str, Any]]


class Details(TypedDict, total=False):
    """The details of an error that differ from the provider's usual ones (docs/reference/errors.md)."""

    code: str | int
    type: str
    message: str
    data: Any
    param: str
    retry_after: float | str
    headers: Mapping[str, str]
    timing: str | Mapping[str, Any]
    faults: Sequence[FaultName | Mapping[str, Any]]


def merge_text(text: Sequence[object], when: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `when` of keywords and what the user says, of which there is one text at most. Raises ConfigError."""
    if len(text) > 1 or not all(isinstance(each, str | re.Pattern) for each in text):
        given = ", ".join(map(repr, text))
        why = f'expected the text that the user says, and keywords, such as ("*hello*", model=...), not {given}'
        raise ConfigError(f"{find_caller().where}: {why}")
    if text and "last_user" in when:
        raise ConfigError(f"{find_caller().where}: expected a text or last_user=, not both")
    return flatten_when({**when, "last_user": text[0]} if text else when)


def flatten_when(when: Mapping[str, Any]) -> dict[str, Any]:
    """Return a `when` as rules files have it: `param={"n": 2}` becomes `param.n: 2`, `not_` becomes `not`."""
    found: dict[str, Any] = {}
    for name, value in when.items():
        if name in FAMILIES and isinstance(value, Mapping):
            found |= {f"{name}.{inner}": condition for inner, condition in value.items()}
        else:
            found[name.removesuffix("_")] = value
    return found


FAMILIES = ("param", "header", "query", "metadata")
