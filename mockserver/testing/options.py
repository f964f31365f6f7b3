"""The options of a server and of rules in tests, as types for editors; the place of the calling test."""

import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from types import FrameType
from typing import Any, Literal, TypedDict

from mockserver.config.errors import ConfigError, SourceLocation

__tracebackhide__ = True  # pytest shows the line of the test instead

_MAX_PART = 150  # bytes of a part of a cassette's name


def name_cassette(parts: Iterable[str]) -> str:
    """Return the cassette of a test, such as `test_app/TestChat.test_greets[gpt-4o]`.

    A part that file systems might reject, or confuse with another, gets a hash suffix.
    """
    return "/".join(map(_make_safe, parts))


def _make_safe(part: str) -> str:
    kept = _LEADING.sub("", _UNSAFE.sub("-", part)).encode()[:_MAX_PART].decode(errors="ignore").rstrip(" .")
    if kept and kept == part and not _AMBIGUOUS.search(part):
        return part
    return f"{kept or '_'}~{sha256(part.encode(errors='backslashreplace')).hexdigest()[:8]}"


_UNSAFE = re.compile(r"[^\w .@+=,()\[\]~-]")
_LEADING = re.compile(r"^[^\w\[]+")
# Case-insensitive file systems confuse parameters that differ only in case; functions hardly ever do.
_AMBIGUOUS = re.compile(r"\[.*[A-Z]|\.yaml$")


def find_caller() -> SourceLocation:
    """Return the innermost line outside this package, with its text."""
    frame = _find_calling_frame()
    file = frame.f_code.co_filename
    line = frame.f_lineno
    text = linecache.getline(file, line).rstrip("\n")
    return SourceLocation(shorten_path(file), line, column=len(text) - len(text.lstrip()) + 1, text=text)


def resolve_path(path: str | Path) -> Path:
    """Return a path relative to the calling file, if that exists, or to the working directory."""
    there = Path(_find_calling_frame().f_code.co_filename).parent / path
    return there if there.exists() else Path(path)


def _find_calling_frame() -> FrameType:
    return next(frame for frame in walk_frames(sys._getframe(1)) if not frame.f_code.co_filename.startswith(PACKAGE))


def walk_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame, its caller, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def find_test_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Return a frame and its callers as far as pytest's."""
    return takewhile(lambda each: _PYTEST not in each.f_code.co_filename, walk_frames(frame))


def is_user_file(file: str) -> bool:
    """Return whether a file of code is below the working directory, and not installed there."""
    return file.startswith(f"{os.getcwd()}{os.sep}") and not file.startswith(_FOREIGN)


def find_user_line(frames: Iterable[FrameType]) -> str:
    """Return the first line of the user's own code, such as `app.py:12`; empty if there is none."""
    found = next((frame for frame in frames if is_user_file(frame.f_code.co_filename)), None)
    return "" if found is None else f"{shorten_path(found.f_code.co_filename)}:{found.f_lineno}"


def shorten_path(file: str | Path) -> str:
    """Return a path relative to the working directory, if it is below it."""
    return _shorten_path(str(file), os.getcwd())


@lru_cache(maxsize=256)
def _shorten_path(file: str, folder: str) -> str:
    path = Path(file)
    here = Path(folder)
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file


PACKAGE = str(Path(__file__).parents[1])
_PYTEST = f"{os.sep}_pytest{os.sep}"
_FOREIGN = (f"{PACKAGE}{os.sep}", *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


# A bare value, one of several, or a table of predicates; by the kind of the field. In a bare text * is a wildcard.
TextCondition = str | Sequence[str] | Mapping[str, Any]
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
    record: Literal["none", "once", "new_episodes", "all"]
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
    keys: Parts
    limits: Mapping[str, Any]
    validation: Literal["live", "published", "off"] | Mapping[str, Literal["live", "published", "off"]]
    strict: bool
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
    if len(text) > 1 or not all(isinstance(each, str) for each in text):
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
