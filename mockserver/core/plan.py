"""What to answer, in no provider's shape: a Plan and the outcomes it can have."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, final

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.action import Fault
from mockserver.core.call import TOOL_NAME, Call, Message, ToolCall
from mockserver.core.episode import Recorded
from mockserver.core.frames import Frame
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView, make_key
from mockserver.core.mcp_server import McpDocument, McpEventId, McpExtras, McpState, McpStream
from mockserver.core.tokens import APPROX, HUGE, Chunks, Tokenizer

# Why a request can fail, and the status that most providers give it.
REASONS: dict[str, int] = {
    "bad_json": 400,
    "bad_parameter": 400,
    "content_filter": 400,
    "context_length": 400,
    "unsupported": 400,  # a feature that the model lacks; see `details`
    "invalid_key": 401,
    "missing_key": 401,
    "billing": 402,
    "forbidden": 403,
    "key_not_allowed": 403,  # the key is known but disabled
    "model_not_allowed": 403,  # the key is limited to other models
    "model_not_found": 404,
    "unknown_model": 404,  # not listed in the settings
    "not_found": 404,  # an object, a response id
    "previous_not_found": 404,  # the response that a call continues
    "not_cancellable": 400,  # it is done, or was never in the background
    "unmatched": 404,  # no rule answers, and generating is off
    "route_not_found": 404,
    "method_not_allowed": 405,
    "timeout": 408,
    "conflict": 409,
    "too_large": 413,
    "unsupported_media_type": 415,
    "unprocessable": 422,
    "rate_limit": 429,
    "over_limit": 429,  # one request exceeds the whole limit
    "quota": 429,
    "server_error": 500,
    "bad_gateway": 502,
    "overloaded": 503,
    "gateway_timeout": 504,
}

# The reason of a bare status in a rule (`error: 429`): the first of that status, but for two.
_FIRST_REASONS = {status: reason for reason, status in reversed(REASONS.items())}
REASON_OF_STATUS = dict(sorted((_FIRST_REASONS | {400: "bad_parameter", 404: "unknown_model"}).items()))


def find_reason(status: int) -> str:
    """Return the usual reason for an error with a status."""
    return REASON_OF_STATUS.get(status, "bad_parameter" if status < 500 else "server_error")


Distribution = Literal["uniform", "normal", "lognormal"]


class Timing(Struct, frozen=True):
    """When tokens are sent, in seconds. `first_token`: None means as `per_token`; `total`: the whole answer.

    `jitter` is a share of each wait: the largest deviation (uniform), or the standard deviation.
    """

    first_token: float | None = None
    per_token: float = 0.0
    jitter: float = 0.0
    total: float | None = None
    prompt_per_1k: float = 0.0  # added delay of the first token per 1,000 prompt tokens
    distribution: Distribution = "uniform"

    @property
    def at_once(self) -> bool:
        return not (self.first_token or self.per_token or self.total or self.prompt_per_1k)

    def add_prompt_delay(self, prompt: int) -> "Timing":
        """Return the timing for a prompt of this many tokens, which delays the first token of the answer."""
        if not self.prompt_per_1k:
            return self
        first = self.per_token if self.first_token is None else self.first_token
        return replace(self, first_token=first + self.prompt_per_1k * prompt / 1000, prompt_per_1k=0.0)


UNTIMED = Timing()


class ModelLimits(NamedTuple):
    """How many tokens a model takes and gives; None: unknown."""

    context: int | None = None
    answer: int | None = None


class Models(Struct, frozen=True):
    """The models that exist, or the requested one; each dialect has its own shape for them."""

    names: tuple[str, ...]
    created: int
    limits: tuple[ModelLimits, ...] = ()  # of each


class Artifact(Struct, frozen=True):
    """A success other than a conversation: what an operation with a kind of its own gives, as `kinds/` tells."""

    @property
    def tokens(self) -> int | None:
        """How many tokens it takes of a limit; None: as many as the prompt has."""
        return None

    @property
    def size(self) -> int:
        """About how many numbers or letters it has."""
        return 0

    def join(self, others: "Sequence[Any]") -> "Artifact":
        """Return it joined with others of its kind, which answer other prompts of the same call."""
        raise NotImplementedError

    def show(self) -> str:
        """Return what people see of it in one line."""
        raise NotImplementedError


HARMS = ("hate", "self_harm", "sexual", "violence")
DETECTIONS_OF_PROMPT = ("jailbreak",)
DETECTIONS_OF_COMPLETION = ("protected_material_code", "protected_material_text")

Tokens = tuple[str, ...] | None  # those left by a limit: splitting the text again might give others


class Sound(Struct, frozen=True):
    """How a text sounds: as in a file, or in a voice."""

    file: bytes | None = None
    voice: str = ""


class Text(Struct, frozen=True, gc=False):
    """Text that the client reads; `chunks` says how a stream cuts it."""

    text: str
    chunks: Chunks = "token"
    annotations: tuple[Mapping[str, Json], ...] = ()
    apart: bool = False  # begins a message of its own after another text
    tokens: Tokens = None
    is_json: bool = False  # it is a value that was meant as one
    sound: Sound | None = None  # how it sounds where it is said, if a rule states that


class Reasoning(Struct, frozen=True, gc=False):
    text: str
    chunks: Chunks = "token"
    summary: str | None = None  # None: the text itself, if the client asks for a summary
    tokens: Tokens = None


class Refusal(Struct, frozen=True, gc=False):
    text: str
    chunks: Chunks = "token"
    tokens: Tokens = None


@final
class ToolUse(Struct, frozen=True, gc=False):
    """A tool call of the answer; `chunks` says how a stream cuts its arguments."""

    call: ToolCall
    chunks: Chunks = "token"
    tokens: Tokens = None
    is_json: bool = False  # its arguments are a table that was written as JSON


@final
class Item(Struct, frozen=True):
    """A use of a hosted tool: its `kind` (`web_search_call`) and the keys of that kind."""

    kind: str
    body: Mapping[str, Json]
    chunks: Chunks = "token"


Part = Text | Reasoning | Refusal | ToolUse | Item


def find_words(part: Part) -> str:
    """Return the text of a part, or the arguments of its tool call; nothing for an item."""
    if type(part) is Item:  # isinstance takes far longer for a Struct
        return ""
    return part.call.arguments if type(part) is ToolUse else part.text


def find_tokens(part: Part, tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the tokens of a part: those that a limit left, or those of its text."""
    if type(part) is Item or part.tokens is None:
        return tokenizer.split(find_words(part))
    return part.tokens


def count_tokens(part: Part, tokenizer: Tokenizer) -> int:
    """Return how many tokens a part has."""
    if type(part) is Item:
        return 0
    if part.tokens is not None:
        return len(part.tokens)
    words = part.call.arguments if type(part) is ToolUse else part.text
    return len(tokenizer.split(words)) if len(words) > HUGE else tokenizer.count(words)


class Verdict(Struct, frozen=True):
    """A content filter's result in one category: a severity for harms, `detected` for detections."""

    category: str
    severity: str = "safe"
    filtered: bool = False
    detected: bool = False


Safety = tuple[Verdict, ...]  # categories that are not named are safe


class Logprob(Struct, frozen=True):
    """The log probability of a token, and its alternatives (token, log probability), best first."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


SERVED_MCP = "mcp_served"  # the kind of an MCP server's tool whose functions are offered one by one
TOOL_ERROR = "tool_error"  # why an answer of an MCP tool ends that has failed
# Why an answer ends, in words that all dialects can show.
FINISHES = ("stop", "length", "tool_calls", "content_filter", "function_call", "error")
# In words of one dialect's own, each with what other dialects show instead.
OWN_FINISHES: Mapping[str, str] = {
    **dict.fromkeys(("end_turn", "stop_sequence", "pause_turn", "compaction"), "stop"),
    **dict.fromkeys(("COMPLETE", "STOP_SEQUENCE", "ERROR", "TIMEOUT"), "stop"),
    "TOOL_CALL": "tool_calls",
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded", "MAX_TOKENS"), "length"),
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    **dict.fromkeys(("guardrail_intervened", "content_filtered"), "content_filter"),
    **dict.fromkeys(("malformed_model_output", "malformed_tool_use"), "stop"),
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
    **dict.fromkeys(("MODEL_ARMOR", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), "content_filter"),
    **dict.fromkeys(("STOP", "LANGUAGE", "OTHER", "IMAGE_OTHER", "NO_IMAGE", "CONTINUATION", "ESCALATION"), "stop"),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "stop"),
    **dict.fromkeys(("MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"), "stop"),
}


class Choice(Struct, frozen=True, dict=True):
    """One of the `n` choices: its parts in wire order and its finish reason. Renderers keep what they make of it."""

    parts: tuple[Part, ...]
    finish: str = "stop"  # of FINISHES, or of the dialect's own
    safety: Safety = ()
    logprobs: Sequence[Logprob] | None = None  # of the tokens of `echo`, then of the text
    echo: str = ""  # the repeated part of the prompt, before the parts
    stop: str = ""  # the stop sequence that ended it

    # No fields, as nobody compares or stores them: the choice without ids that this one is made of, and what renderers
    # keep: its outline, the pieces of its parts, and templates.
    unsigned: ClassVar["Choice | None"] = None
    outline: ClassVar[Any] = None
    spoken: ClassVar[Any] = None
    templates: ClassVar[Mapping[Any, Any]] = {}

    def sign(self, draw: Callable[[str], str], label: str) -> "Choice":
        """Return the choice with ids for its tool calls that have none, each drawn for the label and its place.

        It remembers this one as `unsigned`, which many answers may share: renderers keep there what they make of both.
        Where a provider's calls have no ids, what is drawn is empty, and this one stays as it is.
        """
        parts: list[Part] = []
        is_signed = False
        for part in self.parts:
            if type(part) is ToolUse and not part.call.id and (name := draw(f"{label}\0{len(parts)}")):
                is_signed = True
                made = part.call
                if name[0] == "{":
                    name = name.replace(TOOL_NAME, made.name, 1)
                use = ToolCall(name, made.name, arguments=made.arguments, kind=made.kind, namespace=made.namespace)
                part = ToolUse(use, part.chunks, part.tokens, part.is_json)
            parts.append(part)
        if not is_signed:
            return self
        signed = replace(self, parts=tuple(parts))
        vars(signed)["unsigned"] = self
        return signed


class Usage(Struct, frozen=True, gc=False):
    """Token counts; reasoning, cached and cache-write tokens are included in the two sums."""

    prompt: int = 0
    completion: int = 0
    reasoning: int = 0
    cached: int = 0
    prompt_audio: int = 0
    completion_audio: int = 0
    accepted_prediction: int = 0
    rejected_prediction: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.prompt + self.completion


class Answer(Struct, frozen=True, gc=False):
    """A success, for every format. `id` has the provider's shape (the call's `ids`).

    `written` is how many tokens its parts have, where the usage may state something else.
    `phase` (queued, in_progress, cancelled) is the status of an unfinished background answer; `broken` says why an
    answer broke off.
    """

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    system_fingerprint: str = ""  # 10 bare hex digits
    stated_fingerprint: str | None = ""  # the whole of it, if a rule states it
    prompt_safety: Safety = ()
    headers: Headers = ()
    phase: str = ""
    broken: "Broken | None" = None
    tokenizer: Tokenizer = APPROX
    written: int | None = None
    prompt: tuple[Message, ...] = ()  # of a call that continues a kept conversation: all of it
    mcp: McpExtras | None = None

    @property
    def weight(self) -> int:
        """How many tokens the answer has: the total weight of a stream's frames."""
        return self.usage.completion if self.written is None else self.written


class Broken(Struct, frozen=True):
    """Why an answer broke off. `event`: sent as a bare error event instead of a failed answer."""

    code: str = "server_error"
    message: str = "The model failed to generate a response."
    event: bool = False


class Stored(Struct, frozen=True):
    """A stored answer and its call. `gone`: it was deleted."""

    call: Call
    answer: Answer
    gone: bool = False
    polls: int = 0  # how many more look-ups find it in progress
    size: int = 0  # approximate bytes

    @property
    def key(self) -> str:
        """The key under which it is kept."""
        return make_key(self.call.dialect, self.call.operation, self.answer.id)


Kept = Stored | KeptObject  # for later calls


class Listing(Struct, frozen=True):
    """A page of stored answers; `more`: others follow."""

    entries: tuple[Stored, ...]
    more: bool = False


class McpBatch(Struct, frozen=True):
    """What the messages of an array get, each with its call."""

    results: "tuple[tuple[Call, Outcome], ...]"


class McpResumed(Struct, frozen=True, eq=False):
    """The rest of an answer that was a stream, for a client that takes it up again after an event."""

    call: Call
    outcome: "Outcome"
    after: McpEventId


@dataclass(eq=True)  # not frozen: Python sets __traceback__ when it is raised
class Failure(Exception):  # noqa: N818  # also used as a value
    """An error for the client, as a value and an exception at once.

    `reason` is a key of REASONS; each dialect gives it its own status, type, code and words.
    A field that is not None wins over the dialect's. One with a `source` is an answer like any other, which that gave;
    without, the request is refused. `defect` says what is wrong with a rule, or with mockserver, if that is why;
    `advice` says in reports what to do, where that does not follow from the reason.
    """

    reason: str
    message: str | None = None
    status: int | None = None
    code: str | int | None = None
    kind: str | None = None
    param: str | None = None
    retry_after: float | None = None  # seconds
    details: Mapping[str, Json] = field(default_factory=dict)
    headers: Headers = ()
    source: str | None = None
    defect: str = ""
    advice: str = ""

    def __post_init__(self) -> None:
        super().__init__(self.message or self.reason)

    __hash__ = Exception.__hash__

    def renew(self) -> "Failure":
        """Return an equal failure, which no traceback belongs to."""
        failure = Failure.__new__(Failure, *self.args)
        vars(failure).update(vars(self))
        return failure

    def replace(self, **fields: Any) -> "Failure":
        """Return the failure with other values in these fields."""
        return dataclasses.replace(self, **fields)


def blame_rule(why: str) -> Failure:
    """Return the failure of a call that a rule cannot answer as it is written: nobody meant it, so it fails tests."""
    return Failure("server_error", why, status=500, defect=why)


class Cause(Struct, frozen=True, gc=False):
    """What is left of a Failure once it is rendered: its reason, and what only reports say of it."""

    reason: str
    defect: str = ""
    advice: str = ""


class Raw(Struct, frozen=True):
    """Bytes of a rule: a body, or the frames of a stream; a Frame among them is framed as usual."""

    status: int
    headers: Headers
    body: bytes = b""
    frames: tuple[Frame | bytes, ...] | None = None


class Forward(Struct, frozen=True):
    """Ask the provider's own server; `cassette` names the cassette that records the answer, if any."""

    cassette: str | None = None


Mcp = McpState | McpStream | McpDocument | McpBatch | McpResumed
Success = Answer | Models | Artifact | Stored | Listing | ObjectView | Mcp
Outcome = Success | Failure | Raw | Recorded | Forward | Usage | Cause | None  # the last three: left once rendered


CRASH = "crashed"  # the source of what mockserver failed to answer
SERVICE = "service "  # how the source begins of an answer to what a program asks for itself


class Plan(Struct, frozen=True, gc=False):
    """What to answer, its source (`rule rules.yaml:14 weather`, `generated`, `stored`), timing and faults."""

    outcome: Outcome
    source: str
    timing: Timing = UNTIMED
    faults: tuple[Fault, ...] = ()
    modified_by: tuple[str, ...] = ()  # rules that changed the delivery without answering
    trace: tuple[str, ...] = ()  # steps, branches and faults of rules: `rule rules.yaml:14 weather: steps[1]`
    remarks: tuple[str, ...] = ()  # those on the call, and why no model could answer so, with the rule's place
    history_remarks: tuple[str, ...] = ()  # why the live provider would refuse the history of its call
    carried_out: "tuple[CarriedOut, ...]" = ()  # other calls that were answered for this one
    events: "tuple[WebhookEvent, ...]" = ()  # what a webhook tells because of the call
    release: Callable[[], None] | None = None  # gives back, once the answer is sent, what no other call may use

    @property
    def is_service(self) -> bool:
        """Whether a rule answers what a program asks for itself."""
        return self.source.startswith(SERVICE)

    @property
    def rendered(self) -> "Plan":
        """The plan as it is kept after rendering."""
        outcome = self.outcome
        left: Usage | Cause | None = None
        if type(outcome) is Answer:
            left = outcome.usage
        elif isinstance(outcome, Failure):
            left = Cause(outcome.reason, outcome.defect, outcome.advice)
        elif isinstance(outcome, Usage | Cause):
            left = outcome
        return Plan(  # positional arguments: names take longer
            left, self.source, UNTIMED, self.faults, self.modified_by, self.trace, self.remarks, self.history_remarks
        )


class WebhookEvent(Struct, frozen=True):
    """Something that has happened to an object, `about` whose id webhooks tell: its `kind` is `batch.completed`, ..."""

    dialect: str
    id: str
    created: int
    kind: str
    about: str


class CarriedOut(Struct, frozen=True):
    """A call that was answered for another one, and its own plan: of a tool of an MCP server, or a line of a batch.

    `call` is None if its request was refused, and `operation` what that asked for. `reply` is what it got, if that is
    rendered already. `part_of` says which part of what it is: `line 3 of batch_1, custom_id "a"`.
    """

    http: HttpRequest
    call: Call | None
    plan: Plan
    operation: str = ""
    reply: Reply | None = None
    part_of: str = ""
