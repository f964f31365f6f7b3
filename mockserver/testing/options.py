"""The options of a server in tests, and of what is declared for it, so that editors and type checkers know them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

Condition = str | float | bool | Sequence[Any] | Mapping[str, Any] | None  # a bare value, or a table of predicates
Parts = Mapping[str, Any] | Sequence[Any]


class Options(TypedDict, total=False):
    """What a server in tests can be told: settings by their names (docs/settings.md), and `timing`.

    `timing`: True lets answers take the time that rules and settings say, a table or a profile states it for all
    answers; False, the default, lets them leave at once.
    """

    unmatched: Literal["error", "generate"]
    seed: int
    dialect: str
    timing: bool | str | Mapping[str, Any]
    cassette: str | None
    cassettes: str
    record: Literal["none", "once", "new_episodes", "all"]
    record_errors: bool
    upstream: Mapping[str, str]
    match: Mapping[str, Any]
    scrub: Sequence[Mapping[str, Any]]
    allow_secrets: Sequence[str]
    replay_speed: float
    clock: str | int
    ids: Literal["stable", "unique"]
    tokenizer: Literal["approx", "cl100k_base", "o200k_base", "by-model"]
    models: Parts
    known_models: bool
    keys: Parts
    limits: Mapping[str, Any]
    strict: bool
    profiles: Mapping[str, Any]
    stored_answers: int
    background_polls: int
    journal_calls: int
    max_body: int | str
    source_headers: bool


class When(TypedDict, total=False):
    """The fields of a rule's `when` (docs/rules.md). `param`, `header`, `query` and `metadata` are tables of names."""

    dialect: Condition
    operation: Condition
    path: Condition
    model: Condition
    stream: Condition
    last_user: Condition
    last_message: Condition
    system: Condition
    conversation: Condition
    turn: Condition
    tools: Condition
    tool_choice: Condition
    tool_result: Condition
    response_format: Condition
    previous_response: Condition
    images: Condition
    param: Mapping[str, Condition]
    header: Mapping[str, Condition]
    query: Mapping[str, Condition]
    metadata: Mapping[str, Condition]
    key: Condition
    attempt: Condition
    namespace: Condition
    prompt_tokens: Condition
    body: Condition
    any: Sequence[Mapping[str, Any]]
    all: Sequence[Mapping[str, Any]]
    not_: Mapping[str, Any]


class Then(TypedDict, total=False):
    """The keys of a rule's `then` that go with an answer (docs/rules.md)."""

    json: Any
    refusal: str
    tool_calls: Sequence[Mapping[str, Any]]
    items: Sequence[Mapping[str, Any]]
    parts: Sequence[Mapping[str, Any]]
    choices: Sequence[Mapping[str, Any]]
    reasoning: str
    annotations: Sequence[Mapping[str, Any]]
    logprobs: Sequence[float]
    finish: Literal["stop", "length", "tool_calls", "content_filter", "function_call"]
    usage: Mapping[str, int]
    model: str
    headers: Mapping[str, str]
    content_filter: Mapping[str, Any]
    annotate: Mapping[str, Any]
    failed: bool | Mapping[str, Any]
    embedding: Any
    moderation: Any
    generate: str | Mapping[str, Any]
    echo: bool
    cassette: str
    forward: bool
    raw: Mapping[str, Any]
    timing: str | Mapping[str, Any]
    chunks: str | Mapping[str, Any] | Sequence[str]
    faults: Sequence[str | Mapping[str, Any]]


class Details(TypedDict, total=False):
    """What an error says, where it is not the provider's own words (docs/errors.md)."""

    code: str | int
    type: str
    message: str
    param: str
    retry_after: float | str
    headers: Mapping[str, str]
    timing: str | Mapping[str, Any]
    faults: Sequence[str | Mapping[str, Any]]


def table(when: Mapping[str, Any]) -> dict[str, Any]:
    """A `when` as rules files have it: `param={"n": 2}` becomes `param.n: 2`, `not_` becomes `not`."""
    found: dict[str, Any] = {}
    for name, value in when.items():
        if name in FAMILIES and isinstance(value, Mapping):
            found |= {f"{name}.{inner}": wanted for inner, wanted in value.items()}
        else:
            found[name.removesuffix("_")] = value
    return found


FAMILIES = ("param", "header", "query", "metadata")
