"""What to answer, in no provider's shape: a Plan and the outcomes it can have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from mockserver.core.action import Fault
from mockserver.core.call import Call, ToolCall
from mockserver.core.episode import Recorded
from mockserver.core.http import Frame, Headers
from mockserver.core.json import Json
from mockserver.core.tokens import APPROX, Chunks, Tokenizer

# Why a request can fail, and the status that most providers give it.
REASONS: dict[str, int] = {
    "bad_json": 400,
    "bad_parameter": 400,
    "content_filter": 400,
    "context_length": 400,
    "unsupported": 400,  # what the model lacks; `details` name the feature
    "invalid_key": 401,
    "missing_key": 401,
    "billing": 402,
    "forbidden": 403,
    "key_not_allowed": 403,  # it is known, but may not ask
    "model_not_allowed": 403,  # its key may ask others only
    "model_not_found": 404,
    "unknown_model": 404,  # one that the settings do not list: the client's mistake in every dialect
    "not_found": 404,  # an object, a response id
    "previous_not_found": 404,  # the answer that a call goes on from
    "not_cancellable": 400,  # it is over, or was never made in the background
    "unmatched": 404,  # no rule answers, and generating is off
    "route_not_found": 404,
    "method_not_allowed": 405,
    "timeout": 408,
    "conflict": 409,
    "too_large": 413,
    "unsupported_media_type": 415,
    "unprocessable": 422,
    "rate_limit": 429,
    "over_limit": 429,  # more in one request than a limit lets through in all its time
    "quota": 429,
    "server_error": 500,
    "bad_gateway": 502,
    "overloaded": 503,
    "gateway_timeout": 504,
}

# The reason that a bare status in a rule (`error: 429`) stands for.
REASON_OF_STATUS: dict[int, str] = {
    400: "bad_parameter",
    401: "invalid_key",
    402: "billing",
    403: "forbidden",
    404: "unknown_model",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "unprocessable",
    429: "rate_limit",
    500: "server_error",
    502: "bad_gateway",
    503: "overloaded",
    504: "gateway_timeout",
}


def reason_of(status: int) -> str:
    """The reason that a bare status stands for; any other 4xx is a bad parameter, any other 5xx a server error."""
    return REASON_OF_STATUS.get(status, "bad_parameter" if status < 500 else "server_error")


Distribution = Literal["uniform", "normal", "lognormal"]


@dataclass(frozen=True, slots=True)
class Timing:
    """When tokens go out, in seconds: the first one (None: after as long as any other), each further one, the last.

    `jitter` is the share by which waits stray: by at most so much (uniform), or with this standard deviation.
    """

    first_token: float | None = None
    per_token: float = 0.0
    jitter: float = 0.0
    total: float | None = None
    prompt_per_1k: float = 0.0  # by how much the first token is later for each 1,000 tokens of the prompt
    distribution: Distribution = "uniform"

    @property
    def at_once(self) -> bool:
        """Whether nothing waits at all."""
        return not (self.first_token or self.per_token or self.total or self.prompt_per_1k)

    def after(self, prompt: int) -> "Timing":
        """The timing of an answer to a prompt of so many tokens."""
        if not self.prompt_per_1k:
            return self
        first = self.per_token if self.first_token is None else self.first_token
        return replace(self, first_token=first + self.prompt_per_1k * prompt / 1000, prompt_per_1k=0.0)


Vector = Sequence[float]  # an array, where thousands of them must not fill the memory

# What a moderation looks for.
CATEGORIES = (
    *("harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent"),
    *("self-harm", "self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors"),
    *("violence", "violence/graphic"),
)

DOCUMENTS = ("embeddings", "moderations")  # the operations that are answered so


@dataclass(frozen=True, slots=True)
class Models:
    """The models that exist, or the one that was asked for; each dialect has its own shape for them."""

    names: tuple[str, ...]
    created: int


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A unit vector for each prompt."""

    model: str
    vectors: tuple[Vector, ...]
    prompt_tokens: int
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a moderation found in one prompt; categories that are not named score next to nothing."""

    scores: Mapping[str, float] = field(default_factory=dict)
    flagged: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Moderations:
    """For each prompt a score from 0 to 1 in every category that was seen, and the categories that are flagged."""

    id: str
    model: str
    results: tuple[Judgement, ...]
    headers: Headers = ()


HARMS = ("hate", "self_harm", "sexual", "violence")
DETECTIONS_OF_PROMPT = ("jailbreak",)
DETECTIONS_OF_COMPLETION = ("protected_material_code", "protected_material_text")

Tokens = tuple[str, ...] | None  # those that a limit left of a part, whose text might be split otherwise anew


@dataclass(frozen=True, slots=True)
class Text:
    """Text that the client reads; `chunks` says how a stream cuts it."""

    text: str
    chunks: Chunks = "token"
    annotations: tuple[Mapping[str, Json], ...] = ()
    apart: bool = False  # begins a message of its own, where the text before it is another one
    tokens: Tokens = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What the model thought before it spoke."""

    text: str
    chunks: Chunks = "token"
    summary: str | None = None  # what is told of it; None: the text itself, where the client asks for a summary
    tokens: Tokens = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the model declines."""

    text: str
    chunks: Chunks = "token"
    tokens: Tokens = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of the answer; `chunks` says how a stream cuts its arguments."""

    call: ToolCall
    chunks: Chunks = "token"
    tokens: Tokens = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Item:
    """What one of the provider's own tools was asked and gave: `kind` (`web_search_call`) and the keys of that kind."""

    kind: str
    body: Mapping[str, Json]
    chunks: Chunks = "token"


Part = Text | Reasoning | Refusal | ToolUse | Item


def words_of(part: Part) -> str:
    """What a model writes for this part, token by token."""
    if isinstance(part, Item):
        return ""
    return part.call.arguments if isinstance(part, ToolUse) else part.text


def tokens_of(part: Part, tokenizer: Tokenizer) -> tuple[str, ...]:
    """The tokens of the part: chunks, usage and log probabilities all come from these."""
    if isinstance(part, Item) or part.tokens is None:
        return tokenizer.split(words_of(part))
    return part.tokens


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a content filter saw in one category: a severity for harms, `detected` for detections."""

    category: str
    severity: str = "safe"
    filtered: bool = False
    detected: bool = False


Safety = tuple[Verdict, ...]  # categories that are not named are safe


@dataclass(frozen=True, slots=True)
class Logprob:
    """How sure the model was of a token, and the alternatives (token, log probability) that it weighed, best first."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the `n` alternatives: its parts in wire order and why it ended."""

    parts: tuple[Part, ...]
    finish: str = "stop"  # stop | length | tool_calls | content_filter | function_call
    safety: Safety = ()
    logprobs: tuple[Logprob, ...] | None = None  # of the tokens of `echo`, then of the text's
    echo: str = ""  # what is repeated of the prompt, before the parts


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens counted; the details are part of the two sums, not beside them."""

    prompt: int = 0
    completion: int = 0
    reasoning: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Answer:
    """A success, for every format. `id` is whole, as the call's `ids` shape it.

    `written` is how many tokens its parts have, where the usage may state something else.
    `phase` (queued, in_progress, cancelled) says where an answer stands that is not there yet, or never will be;
    `broken` what ended it before it was whole.
    """

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    system_fingerprint: str = ""  # 10 bare hex digits
    prompt_safety: Safety = ()
    headers: Headers = ()
    phase: str = ""
    broken: "Broken | None" = None
    tokenizer: Tokenizer = APPROX
    written: int | None = field(default=None, compare=False)

    @property
    def weight(self) -> int:
        """How many tokens the answer takes to be written: a stream's frames weigh as much together."""
        return self.usage.completion if self.written is None else self.written


@dataclass(frozen=True, slots=True)
class Broken:
    """Why an answer broke off: a code and words. `event`: told by a bare error event instead of a failed answer."""

    code: str = "server_error"
    message: str = "The model failed to generate a response."
    event: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer that is kept, with the call it is for. `gone`: it has been deleted."""

    call: Call
    answer: Answer
    gone: bool = False
    polls: int = 0  # how many look-ups will still find it being made
    size: int = 0  # bytes that it takes, about


@dataclass(frozen=True, slots=True)
class Listing:
    """Kept answers, as many as were asked for; `more`: there are others after them."""

    entries: tuple[Stored, ...]
    more: bool = False


@dataclass(eq=True)  # not frozen: Python sets __traceback__ on an exception while it travels
class Failure(Exception):  # noqa: N818  # it is a value first
    """What went wrong for the client, as a value and as an exception at once.

    `reason` is a key of REASONS; each dialect gives it its own status, type, code and words.
    A field that is not None wins over the dialect's.
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

    def __post_init__(self) -> None:
        super().__init__(self.message or self.reason)

    __hash__ = Exception.__hash__


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as a rule gives them: a body, or the frames of a stream; a Frame among them is framed as ever."""

    status: int
    headers: Headers
    body: bytes = b""
    frames: tuple[Frame | bytes, ...] | None = None


@dataclass(frozen=True, slots=True)
class Forward:
    """The provider's own server is to be asked; `cassette` keeps what it answers, None: nobody does."""

    cassette: str | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a plan keeps of its outcome once that is rendered to a reply: the tokens of an answer."""

    usage: Usage | None = None


Success = Answer | Models | Embeddings | Moderations | Stored | Listing
Outcome = Success | Failure | Raw | Recorded | Forward | Rendered


@dataclass(frozen=True, slots=True)
class Plan:
    """What to answer, where that was decided (`rule rules.yaml:14 weather`, `generated`, `stored`), and when.

    `cacheable` means that nothing was counted and no real clock read: the same request will get the same plan.
    `kept` is what such a plan has left to be looked up: who uses it again without planning must leave that again.
    """

    outcome: Outcome
    source: str
    timing: Timing = Timing()
    cacheable: bool = False
    kept: Stored | None = None
    faults: tuple[Fault, ...] = ()
    modified_by: tuple[str, ...] = ()  # rules that did not answer, and said how the answer goes out
    trace: tuple[str, ...] = ()  # steps, branches and faults of rules: `rule rules.yaml:14 weather: steps[1]`

    @property
    def rendered(self) -> "Plan":
        """The plan without what only a reply needs: a journal keeps it, and must not keep whole answers."""
        usage = self.outcome.usage if isinstance(self.outcome, Answer) else None
        return Plan(
            _NOTHING if usage is None else Rendered(usage),
            self.source,
            cacheable=self.cacheable,
            faults=self.faults,
            modified_by=self.modified_by,
            trace=self.trace,
        )


_NOTHING = Rendered()
