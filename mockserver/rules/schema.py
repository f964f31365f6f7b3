"""The models of a rules file: they check its shape and give the editor's JSON Schema.

The meaning of a value beyond its shape is checked where it is compiled.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic_core import PydanticCustomError

from mockserver.config.settings import Settings
from mockserver.config.source import Path
from mockserver.config.tables import (
    AfterValidator,
    AsList,
    AsNumber,
    AsTable,
    AsText,
    ByShape,
    Headers,
    NonNegativeInt,
    Table,
    Tag,
    TextOrNumber,
    field,
    make_table,
)
from mockserver.config.timing import TimingTable
from mockserver.config.types import Duration, Share
from mockserver.core.action import POSITIONS, Faults, Kind, Option, is_counted, list_options
from mockserver.core.json import Json
from mockserver.core.plan import FINISHES, OWN_FINISHES, REASONS
from mockserver.kinds import THEN_KEYS
from mockserver.rules.items import INSTEAD, NAMESPACE, ItemSpec
from mockserver.rules.match.fields import FIELDS
from mockserver.rules.mcp_definitions import McpServerSpec

MAX_EVENTS = 10_000
BESIDE: Mapping[str, str] = {
    "probability": "probability for each call, seeded; a retry draws again",
    "times": "how many calls of the rule get the fault, in each namespace",
}


@cache
def make_fault_table(name: str, fault: Any) -> type[Table]:
    fields: dict[str, Any] = {
        "probability": (Share | None, field(None, description=BESIDE["probability"])),
        "times": (Annotated[int, field(ge=1)] | None, field(None, description=BESIDE["times"])),
    }
    for each in list_options(fault):
        if each.kind == "position":
            fields |= {where: _make_position_field(where) for where in each.among}
        else:
            kind = TYPES[each.kind](each)
            shown = [each.default] if isinstance(each.default, str | int) else None
            fields[each.field] = (kind | None, field(None, alias=each.name, description=each.about, examples=shown))
    example = f"{{{name}: {{{_write_example(fault)}}}}}"
    return make_table(f"{name}_fault", Table, fields, __doc__=fault.__doc__, example=example)


def _make_position_field(where: str) -> tuple[Any, Any]:
    kind: Any = NonNegativeInt if is_counted(where) else Literal[True]
    return kind | None, field(None, description=POSITIONS[where])


def _write_example(fault: Any) -> str:
    return ", ".join(map(_write_option, list_options(fault))) or "times: 1"


def _write_option(option: Option) -> str:
    if option.kind == "position":
        return "after_tokens: 3" if "after_tokens" in option.among else "at_start: true"
    return f"{option.name}: {'3s' if option.kind == 'duration' else option.default}"


def make_fault_schema(faults: Faults) -> dict[str, Json]:
    tables = {name: make_fault_table(name, fault) for name, fault in faults.items()}
    named = {"enum": list(tables), "description": "a fault with its defaults"}
    properties = {name: table.model_json_schema() for name, table in tables.items()}
    for name, table in properties.items():
        table |= exclude_each_other([key for key in POSITIONS if key in table["properties"]])
        table["examples"] = [example[name] for example in table["examples"]]
    told = {"type": "object", "properties": properties, "minProperties": 1, "maxProperties": 1}
    return {"anyOf": [named, {**told, "additionalProperties": False}]}


def exclude_each_other(keys: Collection[str]) -> dict[str, Json]:
    others = {key: {"properties": {other: False for other in keys if other != key}} for key in keys}
    return {"dependentSchemas": others}


def _check_media_type(text: str) -> str:
    if text.isascii() and text.isprintable() and text.strip() == text and text:
        return text
    raise PydanticCustomError("expected", "a type such as text/html")


def _check_pointer(text: str) -> str:
    if text.startswith("/") and len(text) > 1:
        return text
    raise PydanticCustomError("expected", "a JSON Pointer such as /choices/0/delta")


def _check_difference(number: int) -> int:
    if number:
        return number
    raise PydanticCustomError("expected", "a number that is not 0")


_MEDIA_TYPE: dict[str, Json] = {"pattern": "^(?! )[ -~]+(?<! )$"}
# The type of a value of each kind.
TYPES: Mapping[Kind, Callable[[Option], Any]] = {
    "close code": lambda _: Annotated[int, field(ge=1000, le=4999)],
    "count": lambda _: Annotated[int, field(ge=1, le=MAX_EVENTS)],
    "difference": lambda _: Annotated[
        int, AfterValidator(_check_difference), field(json_schema_extra={"not": {"const": 0}})
    ],
    "duration": lambda _: Duration,
    "media type": lambda _: Annotated[str, AfterValidator(_check_media_type), field(json_schema_extra=_MEDIA_TYPE)],
    "pointer": lambda _: Annotated[str, AfterValidator(_check_pointer), field(json_schema_extra={"pattern": "^/."})],
    "reason": lambda _: Literal[tuple(REASONS)],
    "speed": lambda _: Annotated[float, field(gt=0, allow_inf_nan=False)],
    "word": lambda each: Literal[each.among],
}


Severity = Literal["safe", "low", "medium", "high"]
if TYPE_CHECKING:
    Finish = str
else:
    Finish = Literal[(*FINISHES, *OWN_FINISHES)]


class SizeSpec(Table):
    """Pieces of this many characters."""

    example = "{size: 7}"

    size: int = field(ge=1, description="characters in each piece")


Chunks = Annotated[
    AsText[Literal["token", "word", "char"]] | AsTable[SizeSpec] | AsList[list[str]],
    ByShape("token, word, char, {size: 7} or a list of pieces"),
]


class ToolCallSpec(Table):
    """A tool call of the answer."""

    example = "{name: get_weather, arguments: {city: Paris}}"
    instead: ClassVar = {
        **dict.fromkeys(("input", "args", "parameters"), '"arguments"'),
        **dict.fromkeys(("type", "function"), f"only the name and the arguments: {example}"),
    }

    name: str = field(min_length=1, description="name of the tool")
    arguments: Annotated[AsTable[dict[str, Any]] | AsText[str], ByShape("a table, a JSON text, or auto")] | None = (
        field(None, description="a table, a JSON string, or auto (generated from the tool's schema)")
    )
    input: str | None = field(None, description="the input of a free-text tool")
    id: str | None = field(None, min_length=1, description="id of the call (default: generated)")
    namespace: str | None = field(None, min_length=1, description=NAMESPACE)


class PartSpec(Table):
    """One part of an answer: a table with one of these keys, and optionally how to stream it."""

    example = "{text: Hello}"

    reasoning: str | None = field(None, description="the reasoning")
    text: str | None = field(None, description="the text")
    refusal: str | None = field(None, description="a refusal")
    tool_call: ToolCallSpec | None = field(None, description="a tool call")
    item: ItemSpec | None = field(None, description="an item of a response")
    chunks: Chunks | None = field(None, description="how to split this part when streaming")


class CitationSpec(Table):
    """A source of an answer, as every dialect that has citations shows it."""

    example = '{url: "https://example.org", title: Example}'

    url: str = field(description="the address of the source")
    title: str | None = field(None, description="its title", examples=["Example"])
    text: str | None = field(
        None, description="the words of the answer that it is for; default: all of it", examples=["nine"]
    )


class FilterSpec(Table):
    """A content filter that trips."""

    example = "{on: completion, category: violence}"

    on: Literal["prompt", "completion"] = field(description="where the filter trips: prompt or completion")
    category: Literal[
        "hate", "self_harm", "sexual", "violence", "jailbreak", "protected_material_text", "protected_material_code"
    ] = field("violence", description="the category that trips it")
    severity: Literal["low", "medium", "high"] | None = field(None, description="severity (default: high)")
    after_tokens: NonNegativeInt | None = field(None, description="tokens of the completion before the cut")


Harm = Annotated[Severity | None, field(description="the severity that the filter reports for this category")]
Detected = Annotated[bool | None, field(description="whether the filter reports this category as detected")]


class HarmsSpec(Table):
    """Severities by category."""

    example = "{violence: low}"

    hate: Harm = None
    self_harm: Harm = None
    sexual: Harm = None
    violence: Harm = None


class PromptHarmsSpec(HarmsSpec):
    """Filter results for the prompt."""

    jailbreak: Detected = None


class CompletionHarmsSpec(HarmsSpec):
    """Filter results for the completion."""

    protected_material_text: Detected = None
    protected_material_code: Detected = None


class AnnotateSpec(Table):
    """Severities that filters report without tripping."""

    example = "{prompt: {violence: low}}"

    prompt: PromptHarmsSpec | None = field(None, description="severities of the prompt")
    completion: CompletionHarmsSpec | None = field(None, description="severities of the completion")


class ContentSpec(Table):
    """The content of an answer, or of one of its choices."""

    example = "{text: Hello}"
    nullable = frozenset(("json",))
    instead = INSTEAD

    text: str | None = field(None, description="text, a template")
    json_: Any = field(None, alias="json", description="a value to send as JSON; its strings are templates")
    refusal: str | None = field(None, description="a refusal")
    tool_calls: list[ToolCallSpec] | None = field(None, min_length=1, description="tool calls")
    items: list[ItemSpec] | None = field(
        None, min_length=1, description="response items, such as results of the provider's own tools"
    )
    parts: list[PartSpec] | None = field(None, min_length=1, description="reasoning, texts and calls, in this order")
    reasoning: str | None = field(None, description="reasoning before the answer")
    citations: list[CitationSpec] | None = field(
        None,
        description="sources of the answer, in each API's form: `url`, `title`, and the `text` that cites them",
    )
    annotations: list[dict[str, Any]] | None = field(None, description="annotations (citations), in one API's form")
    logprobs: list[Annotated[float, field(le=0, allow_inf_nan=False)]] | None = field(
        None, description="log probabilities, one for each token of the text"
    )
    finish: Finish | None = field(
        None, description="the finish reason, or a dialect's own; only Cohere and Fireworks have `error`, others `stop`"
    )
    chunks: Chunks | None = field(None, description="how to split texts and arguments when streaming")
    content_filter: FilterSpec | None = field(None, description="a content filter that trips")
    annotate: AnnotateSpec | None = field(None, description="filter severities to report without tripping")
    tool_error: Any = field(None, description="the error of an MCP tool, as text or JSON", examples=["not allowed"])
    content: list[dict[str, Any]] | None = field(
        None,
        min_length=1,
        description="content blocks in the result of an MCP tool, in MCP's format",
        examples=[[{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]],
    )


class ChoiceSpec(ContentSpec):
    """One of several alternative answers."""


class ErrorSpec(Table):
    """An error, key by key."""

    example = "{status: 429, message: Slow down}"

    status: int | None = field(None, ge=400, le=599, description="HTTP status")
    reason: str | None = field(None, description="a short form, such as rate_limit")
    code: TextOrNumber | None = field(None, description="the error's code")
    data: Any = field(
        None,
        description="more about an error of MCP (JSON-RPC's `data`), or what Groq failed to read (`failed_generation`)",
        examples=[{"path": "a.txt"}],
    )
    type: str | None = field(None, description="the error's type")
    message: str | None = field(None, description="the message, a template")
    param: str | None = field(None, description="the parameter at fault")
    retry_after: Duration | None = field(None, description="the value of Retry-After")
    headers: Headers | None = field(None, description="response headers")


class ProgressSpec(Table):
    """Progress of a call, as clients of MCP are told it."""

    example = "{at: 1s, of: 2, message: half}"

    at: Duration = field(0.0, description="when it is sent, from the start of the answer")
    done: float | None = field(
        None, ge=0, allow_inf_nan=False, description="how much is done (default: its number in the list)", examples=[1]
    )
    of: float | None = field(None, ge=0, allow_inf_nan=False, description="how much there is to do", examples=[2])
    message: str | None = field(None, description="what is being done, a template", examples=["half"])


class LogSpec(Table):
    """A log line of an MCP server during a call."""

    example = "{level: warning, data: Almost full}"
    nullable = frozenset(("data",))

    at: Duration = field(0.0, description="when it is sent, from the start of the answer")
    level: Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] = field(
        "info", description="its level"
    )
    logger: str | None = field(None, description="name of the logger", examples=["disk"])
    data: Any = field(description="what is logged: a text, or a value; its strings are templates")


class QuestionSpec(Table):
    """What an MCP server asks its client before it answers: the user, the model, or for its roots."""

    example = "{user: Which city?, schema: {city: string}}"

    user: str | None = field(None, description="a question to the user (elicitation), a template")
    schema_: dict[str, Any] | None = field(
        None, alias="schema", description="the fields of its form, in the form of a tool's input"
    )
    url: str | None = field(None, min_length=1, description="a page that the user is to open, instead of a form")
    model: str | None = field(None, description="a prompt for the model of the client (sampling), a template")
    system: str | None = field(None, description="the system prompt for the model", examples=["Be brief."])
    max_tokens: int = field(1000, ge=1, description="how long the model may answer")
    roots: Literal[True] | None = field(None, description="the roots of the client")
    name: str | None = field(None, min_length=1, description="its name in inputRequests (default: question)")


LogValue = Annotated[
    AsText[str] | AsTable[LogSpec] | AsList[list[LogSpec]], ByShape("a text, a table with data, or a list of them")
]
ProgressValue = Annotated[
    AsTable[ProgressSpec] | AsList[list[ProgressSpec]], ByShape("a table such as {at: 1s, of: 2}, or a list of them")
]
QuestionValue = Annotated[
    AsTable[QuestionSpec] | AsList[list[QuestionSpec]],
    ByShape("a table such as {user: Which city?}, or a list of them"),
]


class FailedSpec(Table):
    """Why an answer broke off."""

    example = "{code: server_error, message: Sorry}"

    code: str | None = field(None, min_length=1, description="the error's code (default: `server_error`)")
    message: str | None = field(None, description="the message, a template")
    event: Literal["error"] | None = field(
        None, description="`error`: end with a bare error event, as a broken service does"
    )


class GenerateSpec(Table):
    """The options of a generator."""

    example = "{kind: prose, tokens: 80}"

    kind: str = field(description="name of the generator")
    tokens: int | None = field(None, ge=1, description="about how many tokens to generate")
    schema_: dict[str, Any] | None = field(
        None, alias="schema", description="the JSON Schema that the text must match, for kind: schema"
    )


class RawSpec(Table):
    """The exact bytes of a reply."""

    example = "{status: 200, body: hello}"
    nullable = frozenset(("body", "json"))

    status: int = field(200, ge=200, le=599, description="HTTP status")
    headers: Headers | None = field(None, description="response headers")
    body: Any = field(None, description="text to send unchanged, or a value to send as JSON")
    json_: Any = field(None, alias="json", description="a value to send as JSON; its strings are templates")
    frames: list[Any] | None = field(None, description="pieces to send: texts unchanged, values as JSON events")


class UsageSpec(Table):
    """The token usage that the answer reports."""

    example = "{prompt_tokens: 10, completion_tokens: 5}"
    instead: ClassVar = {"total_tokens": "only prompt_tokens and completion_tokens: it is their sum"}

    prompt_tokens: NonNegativeInt | None = field(None, description="tokens of the prompt")
    completion_tokens: NonNegativeInt | None = field(None, description="tokens of the answer, with its reasoning")
    reasoning_tokens: NonNegativeInt | None = field(None, description="tokens of the reasoning")
    cached_tokens: NonNegativeInt | None = field(None, description="tokens of the prompt that came from a cache")
    prompt_audio_tokens: NonNegativeInt | None = field(None, description="tokens of audio in the prompt")
    completion_audio_tokens: NonNegativeInt | None = field(None, description="tokens of audio in the answer")
    accepted_prediction_tokens: NonNegativeInt | None = field(
        None, description="tokens of the prediction that were used"
    )
    rejected_prediction_tokens: NonNegativeInt | None = field(
        None, description="tokens of the prediction that were not used"
    )
    cache_write_tokens: NonNegativeInt | None = field(
        None, description="tokens of the prompt that were written to a cache"
    )


class TimingSpec(TimingTable, Table):
    """When to send the answer: a table, or the name of a profile."""

    example = "{first_token: 300ms, per_token: 12ms}"


class BranchSpec(Table):
    """One branch of `one_of`."""

    example = "{weight: 2, then: {text: Hello}}"

    weight: Annotated[float, field(gt=0, allow_inf_nan=False)] = field(
        1.0, description="how often this branch is chosen, relative to the others"
    )
    then: "ThenSpec" = field(description="the answer of this branch")


ErrorValue = Annotated[
    AsNumber[int] | AsText[str] | AsTable[ErrorSpec],
    ByShape("a status such as 429, a short name such as rate_limit, or a table"),
]
GenerateValue = Annotated[
    AsText[str] | AsTable[GenerateSpec], ByShape("the name of a generator, or a table with its kind")
]
FailedValue = Annotated[
    Annotated[Literal[True], Tag("<other>")] | AsTable[FailedSpec],
    ByShape("true, or a table with a code and a message"),
]


ArtifactSpec = make_table(
    "ArtifactSpec",
    ContentSpec,
    {
        key: (then.value | None, field(None, description=then.doc, examples=[then.example]))
        for key, then in THEN_KEYS.items()
    },
    __doc__="The keys of operations whose successes are artifacts, as their kinds describe them.",
)


class ThenSpec(ArtifactSpec):  # type: ignore[misc, valid-type]
    """The answer of a rule."""

    nullable = frozenset(("json", "system_fingerprint"))
    instead: ClassVar = {**INSTEAD, **dict.fromkeys(("name", "when", "times", "state"), 'it beside "then"')}

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, "ThenSpec"]]:
        """Yield this answer and those of its steps and branches, each with its path."""
        yield path, self
        for at, step in enumerate(self.steps or ()):
            yield from step.walk((*path, "steps", at))
        for at, branch in enumerate(self.one_of or ()):
            yield from branch.then.walk((*path, "one_of", at, "then"))

    choices: list[ChoiceSpec] | None = field(
        None, min_length=1, description="different answers for `n` choices; the last repeats"
    )
    error: ErrorValue | None = field(None, description="an error: a status, a short form or a table", examples=[429])
    retry_after: Duration | None = field(None, description="the Retry-After of an error", examples=["2s"])
    generate: GenerateValue | None = field(None, description="generated text: a kind or a table")
    echo: Literal[True] | None = field(None, description="repeat the last user message")
    raw: RawSpec | None = field(None, description="the exact response: status, headers, body")
    cassette: str | None = field(None, min_length=1, description="replay from this cassette")
    forward: Literal[True] | None = field(None, description="forward to the provider, without recording")
    steps: list["ThenSpec"] | None = field(None, min_length=1, description="one answer per turn; the last repeats")
    one_of: list[BranchSpec] | None = field(None, min_length=1, description="one of these, chosen by seed")
    failed: FailedValue | None = field(None, description="break off after the answer")
    progress: ProgressValue | None = field(
        None, description="progress of an MCP call, before its answer", examples=[[{"at": "1s", "of": 2}]]
    )
    log: LogValue | None = field(None, description="log lines of an MCP call", examples=["Opening the file."])
    ask: QuestionValue | None = field(
        None, description="what an MCP server asks before it answers", examples=[{"user": "Which city?"}]
    )
    faults: list[Any] | None = field(
        None, min_length=1, description="faults of this answer or, without an answer, of later rules' answers"
    )
    usage: UsageSpec | None = field(None, description="the token usage to report")
    model: str | None = field(None, description="the model name to report")
    system_fingerprint: str | None = field(None, min_length=1, description="a chat's system fingerprint, or null")
    headers: Headers | None = field(None, description="response headers")
    timing: TimingSpec | None = field(None, description="timing of the answer: a table or a profile")


class StateSpec(Table):
    """A scenario: the rule answers in one state and leads to another."""

    example = "{is: start, becomes: asked}"

    is_: str = field("start", alias="is", description="the state in which the rule answers (default: start, the first)")
    becomes: str | None = field(None, description="the state after the answer (default: unchanged)")


class RuleSpec(Table):
    """A rule: which requests it matches, and how it answers."""

    example = "{when: {model: gpt-4o*}, then: {text: Hello}}"
    instead: ClassVar = {
        **dict.fromkeys(ThenSpec.model_keys, 'it into "then"'),
        **dict.fromkeys(FIELDS, 'it into "when"'),
    }

    name: str | None = field(None, min_length=1, max_length=120, description="the rule's name in reports")
    when: Any = field(None, description="conditions (default: all chats, completions and responses)")
    then: ThenSpec = field(description="the answer")
    times: int | None = field(None, ge=1, description="how many calls the rule answers")
    state: StateSpec | None = field(None, description="the scenario state that the rule requires and changes")
    service: bool = field(False, description="answers what a program asks on its own; its calls are hidden")


class RulesHead(Table):
    """A rules file whose rules are checked one by one, as a mistake in one must not hide those in others."""

    example = "{version: 1, rules: [{then: {text: Hello}}]}"
    nullable = frozenset(("rules", "settings", "mcp"))
    instead: ClassVar = dict.fromkeys(Settings.model_keys, 'it under "settings"')

    version: Literal[1] = field(1, description="version of the file's format")
    settings: dict[str, Any] | None = field(None, description="settings of the server")
    mcp: dict[str, Any] | None = field(None, description="MCP servers, by name")
    rules: list[Any] | None = None


class RulesFile(RulesHead):
    """Rules of mockserver: the first that matches a request answers it."""

    mcp: dict[str, McpServerSpec] | None = field(None, description="MCP servers, by name")
    rules: list[RuleSpec] | None = field(None, description="the rules, in the order in which they are tried")
