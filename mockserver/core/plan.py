"""What to answer, in no provider's shape: a Plan and the outcomes it can have."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mockserver.core.action import Fault
from mockserver.core.call import Call, Json, ToolCall
from mockserver.core.documents import Embeddings, Models, Moderations
from mockserver.core.episode import Recorded
from mockserver.core.http import Frame, Headers
from mockserver.core.timing import Timing
from mockserver.core.tokens import APPROX, Chunks, Tokenizer

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


Success = Answer | Models | Embeddings | Moderations | Stored | Listing
Outcome = Success | Failure | Raw | Recorded | Forward


@dataclass(frozen=True, slots=True)
class Plan:
    """What to answer, where that was decided (`rule rules.yaml:14 weather`, `generated`, `stored`), and when.

    `settled` means that nothing was counted and no real clock read: the same request will get the same plan.
    `kept` is what such a plan has left to be looked up: who uses it again without planning must leave that again.
    """

    outcome: Outcome
    source: str
    timing: Timing = Timing()
    settled: bool = False
    kept: Stored | None = None
    faults: tuple[Fault, ...] = ()
    bent_by: tuple[str, ...] = ()  # rules that did not answer, and said how the answer goes out
    through: tuple[str, ...] = ()  # steps, branches and faults of rules: `rule rules.yaml:14 weather: steps[1]`
