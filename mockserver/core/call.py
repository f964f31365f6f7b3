"""What a request asks, in no provider's shape: the Call that rules match and generators answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from mockserver.core.conversation import CARRIED_OUT as CARRIED_OUT
from mockserver.core.conversation import Message as Message
from mockserver.core.conversation import Prompt as Prompt
from mockserver.core.conversation import Tool as Tool
from mockserver.core.conversation import ToolCall as ToolCall
from mockserver.core.http import HttpRequest
from mockserver.core.json_text import Json as Json
from mockserver.core.overhead import prompt_tokens
from mockserver.core.page import FIRST_PAGE, Page
from mockserver.core.tokens import APPROX, Tokenizer


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """How free the model is: `mode` is none, auto, required or named; `names` are the tools allowed then.

    Of MCP servers, which all have one name, `servers` tells the labels of those allowed (none: all), each with the
    name of the one tool that is meant (empty: any).
    """

    mode: str
    names: tuple[str, ...] = ()
    servers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class IdShape:
    """How a provider's ids look: a prefix, then so many letters and digits (`alnum`) or hex digits (`hex`)."""

    prefix: str = "chatcmpl-"
    length: int = 29
    alphabet: str = "alnum"


@dataclass(frozen=True)
class Call:
    """One operation that a client asks for, whatever the dialect.

    `meaning` holds every field that would change what a model answers; `fingerprint` hashes it.
    `raw` is the whole parsed body, `http` the request it came in.
    """

    dialect: str
    operation: str
    model: str
    http: HttpRequest
    meaning: Json
    raw: Mapping[str, Json] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    prompts: tuple[Prompt, ...] = ()  # where there is no conversation: each is answered by itself
    instructions: bool = False  # whether the first message is of this call alone, no part of the conversation
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = ToolChoice("none")
    parallel_tool_calls: bool = True
    bare_functions: bool = False  # whether functions are offered as they were before there were tools: one call, no id
    stream: bool = False
    include_usage: bool = False
    n: int = 1
    max_tokens: int | None = None
    usual_tokens: int | None = None  # the provider's own limit, for text that no rule gives; None: the client set one
    max_tool_calls: int | None = None  # how many of the provider's own tools may be called
    overflow: str = "error"  # when a prompt is too long for its model: error, or truncate what is asked for
    ignore_eos: bool = False  # go on to the last token that is allowed
    echo: int = 0  # how many of the prompt's last tokens the answer repeats first
    stop: tuple[str, ...] = ()
    logprobs: int | None = None  # how many alternatives for each token; None: no log probabilities are asked for
    dimensions: int | None = None  # how many numbers a vector is to have
    seed: int | None = None
    effort: str | None = None  # how hard the model is to think (none, minimal, low, medium, high...); None: unasked
    verbosity: str | None = None  # how much it is to say: low, medium, high
    response_format: str = "text"
    schema: Json = None  # the JSON Schema that the answer's text must satisfy
    ids: IdShape = IdShape()
    id: str = ""  # of the answer, where the client names it: one that is looked up, for instance
    previous: str | None = None  # id of the answer that this call goes on from
    store: bool = False  # whether the answer is kept, to be looked up later
    background: bool = False  # whether the answer is made while the client waits elsewhere
    page: Page = FIRST_PAGE  # which part of a list is wanted
    tokenizer: Tokenizer = APPROX  # of the model, as the engine knows it
    attempt: int = 1

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the meaning: 32 hex digits, equal for equal meaning on every machine and Python."""
        return fingerprint(self.dialect, self.operation, self.meaning)

    @cached_property
    def occasion(self) -> str:
        """A hash of the meaning without its schemas and tools: a property more shifts no other value that is made."""
        if not isinstance(self.meaning, Mapping) or _SHAPING.isdisjoint(self.meaning):
            return self.fingerprint
        kept = {key: value for key, value in self.meaning.items() if key not in _SHAPING}
        return fingerprint(self.dialect, self.operation, kept)

    @cached_property
    def last_user(self) -> str:
        """The text of the last user message, or an empty string."""
        return next((m.text for m in reversed(self.messages) if m.role == "user"), "")

    @cached_property
    def since_user(self) -> tuple[Message, ...]:
        """The messages after the last one of the user: all, where the user has said nothing."""
        said = (at for at in range(len(self.messages), 0, -1) if self.messages[at - 1].role == "user")
        return self.messages[next(said, 0) :]

    @cached_property
    def turn(self) -> int:
        """How many messages the assistant has written so far."""
        return sum(m.role == "assistant" for m in self.messages)

    @cached_property
    def opening(self) -> str:
        """A hash of the conversation up to its first user message: what a conversation keeps while it grows."""
        spoken = self.spoken
        first = next((i for i, m in enumerate(spoken) if m.role == "user"), len(spoken) - 1)
        said = [[m.role, m.text] for m in spoken[: first + 1]]
        return fingerprint(self.dialect, self.operation, said)

    @cached_property
    def prompt_tokens(self) -> int:
        """How many tokens the prompt has: texts, tool calls, tools and images, each with what frames it."""
        if self.prompts:
            return sum(prompt.count(self.tokenizer) for prompt in self.prompts)
        return prompt_tokens(self.messages, self.tools, self.tokenizer)

    @property
    def spoken(self) -> tuple[Message, ...]:
        """The conversation that a later call goes on from: all but this call's own instructions."""
        return self.messages[1:] if self.instructions else self.messages

    def tool(self, name: str) -> Tool | None:
        """The offered tool of that name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)


# What of a meaning says which shape an answer has, rather than what it is about.
_SHAPING = frozenset({"tools", "tool_choice", "functions", "function_call", "response_format", "text"})

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def fingerprint(*parts: Json) -> str:
    """32 hex digits that name these JSON values, whatever the order of their keys."""
    return blake2b(_canonical(parts).encode("ascii"), digest_size=16).hexdigest()
