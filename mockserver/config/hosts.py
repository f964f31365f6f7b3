"""The type of `hosts` in settings: hosts of the dialect `compatible` besides the built-in ones, or in their place."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic_core import InitErrorDetails, ValidationError

from mockserver.config.source import did_you_mean
from mockserver.config.tables import AfterValidator, BaseTable, field
from mockserver.config.types import Several, make_refusal
from mockserver.core.json import Json
from mockserver.core.plan import REASONS

GENERIC = "compatible"  # the host at the bare paths of the dialect, and that others are like unless they say so
HostName = Literal[
    "compatible", "cerebras", "deepseek", "groq", "lmstudio", "openrouter", "perplexity", "together", "vllm", "xai"
]
HOST_NAMES: tuple[str, ...] = get_args(HostName)
# First segments of paths that do not name a host, besides the names of dialects.
RESERVED = frozenset(("v1", "v1beta", "v2", "ns", "mcp", "__mockserver__", "azure-openai"))
UsagePlace = Literal["requested", "finish", "last", "every"]


class HostSettings(BaseTable, title="host"):
    """A host that speaks OpenAI's chat API in its own way. What is not stated is taken from the host in `like`."""

    like: HostName | None = field(
        None, description="The built-in host that it behaves like. Default: the one of the same name, else compatible."
    )
    prefixes: Several = field((), description="What may stand between its name and a route, besides /v1.")
    reasoning: Annotated[str, field(min_length=1)] | None = field(
        None,
        description="The key of reasoning in messages and deltas, such as reasoning_content or reasoning; "
        "think: in the content, between tags; none: it is not shown.",
    )
    history: Literal["ignore", "require", "refuse"] | None = field(
        None, description="What it does with that key in a history: require it beside tool calls, or refuse it."
    )
    usage: UsagePlace | None = field(
        None,
        description="Where streams have usage: requested, in a last chunk if requested; last, there in any case; "
        "finish, with the finish reason; every, in each chunk.",
    )
    role: Literal["first", "every"] | None = field(None, description="Which deltas have the role.")
    comment: Annotated[str, field(min_length=1)] | None = field(
        None, description="An SSE comment at the start of streams."
    )
    errors: HostName | None = field(None, description="The built-in host whose error bodies it uses.")
    statuses: Mapping[str, Annotated[int, field(ge=400, le=599)]] = field(
        default_factory=dict, description="The status of an error where it differs, such as {model_not_found: 400}."
    )
    models: Several = field((), description="The models that it lists if the setting models names none.")
    extras: Mapping[str, Json] = field(
        default_factory=dict, description="More keys of each answer and chunk, such as {provider: Acme}."
    )


def _check_hosts(hosts: Mapping[str, HostSettings]) -> Mapping[str, HostSettings]:
    errors = [found for name, host in hosts.items() for found in _find_errors(name, host)]
    if errors:
        raise ValidationError.from_exception_data("hosts", errors)
    return hosts


def _find_errors(name: str, host: HostSettings) -> list[InitErrorDetails]:
    found: list[InitErrorDetails] = []
    if not _NAME.fullmatch(name):
        found.append(
            make_refusal((name,), "this name is part of a path; use lower-case letters, digits, - and _", name)
        )
    for at, prefix in enumerate(host.prefixes):
        if not _PREFIX.fullmatch(prefix):
            why = f'must be the start of a path, such as /api/v1, not "{prefix}"'
            found.append(make_refusal((name, "prefixes", at), why, prefix))
    if host.comment is not None and not host.comment.isprintable():
        found.append(make_refusal((name, "comment"), "must be one line of printable text", host.comment))
    for reason in host.statuses:
        if reason not in REASONS:
            why = f'unknown error "{reason}"{did_you_mean(reason, REASONS)}'
            found.append(make_refusal((name, "statuses", reason), why, reason))
    for key in host.extras:
        if key in _OWN_KEYS:
            found.append(make_refusal((name, "extras", key), "every answer has this key; choose another", key))
    return found


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")
_OWN_KEYS = frozenset(("id", "object", "created", "model", "choices", "usage"))

HostTable = Annotated[Mapping[str, HostSettings], AfterValidator(_check_hosts)]
NO_HOSTS: Mapping[str, HostSettings] = {}
