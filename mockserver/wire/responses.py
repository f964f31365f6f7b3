"""The parts of an answer as output items: which of them share one, what each shows, and how it ended.

Knows no event: `responses_steps.py` tells the same items as a stream.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from mockserver.core.call import fingerprint
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Broken, Choice, Item, Part, Reasoning, Refusal, Text, ToolUse, Usage
from mockserver.wire.chat import pick
from mockserver.wire.content_filter import TokenLogprob, response_annotation, spread_logprobs

Status = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class OutputText(TypedDict):
    """A text of a message; `logprobs` is empty where none were asked for."""

    type: Literal["output_text"]
    text: str
    annotations: list[dict[str, Any]]
    logprobs: list[TokenLogprob]


class OutputRefusal(TypedDict):
    """Why the model declines."""

    type: Literal["refusal"]
    refusal: str


class OutputMessage(TypedDict):
    """What the model says: texts and refusals in turn."""

    id: str
    type: Literal["message"]
    status: ItemStatus
    role: Literal["assistant"]
    content: list[OutputText | OutputRefusal]


class FunctionCall(TypedDict):
    """A call of the client's function; the next turn refers to `call_id`, never to `id`."""

    id: str
    type: Literal["function_call"]
    status: ItemStatus
    call_id: str
    name: str
    arguments: str


class CustomToolCall(TypedDict):
    """The same for a tool whose input is free text. It has no status."""

    id: str
    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str


class SummaryText(TypedDict):
    """What is told of the model's thoughts."""

    type: Literal["summary_text"]
    text: str


class ReasoningText(TypedDict):
    """The thoughts themselves."""

    type: Literal["reasoning_text"]
    text: str


class ReasoningItem(TypedDict):
    """What the model thought, as far as it is shown."""

    id: str
    type: Literal["reasoning"]
    status: ItemStatus
    summary: list[SummaryText]
    content: NotRequired[list[ReasoningText]]
    encrypted_content: NotRequired[str]


class InputTokensDetails(TypedDict):
    """Of the tokens read, those that a cache held or took."""

    cached_tokens: int
    cache_write_tokens: int


class OutputTokensDetails(TypedDict):
    """Of the tokens written, those that were thought."""

    reasoning_tokens: int


class ResponseUsage(TypedDict):
    """Tokens counted."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: NotRequired[InputTokensDetails]
    output_tokens_details: NotRequired[OutputTokensDetails]


class IncompleteDetails(TypedDict):
    """Why an answer ends before its end."""

    reason: Literal["max_output_tokens", "content_filter"]


class ResponseError(TypedDict):
    """Why there is no answer."""

    code: str
    message: str


class Response(TypedDict):
    """The keys that come from the answer; those that repeat the request stand among them, in the style's order."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Status
    completed_at: NotRequired[int | None]
    error: ResponseError | None
    incomplete_details: IncompleteDetails | None
    model: str
    output: list[dict[str, Any]]
    usage: ResponseUsage | None


@dataclass(frozen=True, slots=True)
class ResponseLayout:
    """Which keys a provider shows and in which order, and the few habits of its streams."""

    response: tuple[str, ...]
    usage: tuple[str, ...] = (
        "input_tokens",
        "input_tokens_details",
        "output_tokens",
        "output_tokens_details",
        "total_tokens",
    )
    queued: bool = True  # an answer made in the background waits in a queue first; False: it is in progress at once
    incomplete_event: bool = True  # False: `response.completed` ends a stream whose answer is incomplete, too
    raw_reasoning: bool = False  # thoughts are shown as they are, not only what is told of them
    unset: Mapping[str, Json] = field(default_factory=dict)  # what is shown for what a request leaves open


@dataclass(frozen=True, slots=True)
class ResponseOptions:
    """What a request has to do with the object that answers it.

    `echo`: what the object repeats of it (`tools`, `metadata`, `background`, ...), by key;
    `include`: what it wants shown beyond the common, in the provider's words;
    `summary`: whether it wants to be told what the model thought.
    """

    echo: Mapping[str, Json] = field(default_factory=dict)
    include: frozenset[str] = frozenset()
    summary: bool = False


@dataclass(frozen=True, slots=True)
class StatusEvent:
    """An event that says only how far the item is; `failed` is its name where the item failed (empty: no event)."""

    name: str
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class TextDeltas:
    """A string of the item that comes in pieces: `response.<event>.delta`, then `.done` with the whole under `key`."""

    key: str
    event: str


@dataclass(frozen=True, slots=True)
class PartialImages:
    """The images that come before an image is ready, as many as the request's tool asks for."""


@dataclass(frozen=True, slots=True)
class CommandDeltas:
    """The commands of a shell call, one after the other."""


@dataclass(frozen=True, slots=True)
class CommandOutputs:
    """What each command of a shell call printed."""


ItemEvent = StatusEvent | TextDeltas | PartialImages | CommandDeltas | CommandOutputs


@dataclass(frozen=True, slots=True)
class ItemKind:
    """One kind of item."""

    prefix: str  # of the item's id
    blank: Mapping[str, Json] = field(default_factory=dict)  # what stands while the item is in progress
    shown: Mapping[str, str] = field(default_factory=dict)  # path of a key -> the `include` that shows it
    stages: tuple[ItemEvent, ...] = ()
    status: bool = True  # whether the item has a status


def item_kind(name: str) -> ItemKind:
    """The row of a kind; of one that is not in the table, a plain one."""
    return ITEM_KINDS.get(name, _ANY)


_DONE = StatusEvent("completed", failed="")
_DONE_OR_FAILED = StatusEvent("completed", failed="failed")
_SEARCH = (StatusEvent("in_progress"), StatusEvent("searching"), _DONE)
_ANY = ItemKind("it")

ITEM_KINDS: Mapping[str, ItemKind] = {
    "web_search_call": ItemKind(
        "ws",
        shown={"action.sources": "web_search_call.action.sources", "results": "web_search_call.results"},
        stages=_SEARCH,
    ),
    "file_search_call": ItemKind(
        "fs", blank={"results": None}, shown={"results": "file_search_call.results"}, stages=_SEARCH
    ),
    "code_interpreter_call": ItemKind(
        "ci",
        blank={"code": "", "outputs": None},
        shown={"outputs": "code_interpreter_call.outputs"},
        stages=(
            StatusEvent("in_progress"),
            TextDeltas("code", "code_interpreter_call_code"),
            StatusEvent("interpreting"),
            _DONE,
        ),
    ),
    "image_generation_call": ItemKind(
        "ig",
        blank={"result": None},
        stages=(StatusEvent("in_progress"), StatusEvent("generating"), PartialImages(), _DONE),
    ),
    "mcp_call": ItemKind(
        "mcp",
        blank={"arguments": "", "error": None, "output": None},
        stages=(StatusEvent("in_progress"), TextDeltas("arguments", "mcp_call_arguments"), _DONE_OR_FAILED),
    ),
    "mcp_list_tools": ItemKind(
        "mcpl", blank={"tools": [], "error": None}, stages=(StatusEvent("in_progress"), _DONE_OR_FAILED), status=False
    ),
    "mcp_approval_request": ItemKind("mcpr", status=False),
    "computer_call": ItemKind("cu"),
    "local_shell_call": ItemKind("lsh"),
    "shell_call": ItemKind("sh", blank={"action": {"commands": []}}, stages=(CommandDeltas(),)),
    "shell_call_output": ItemKind("sho", stages=(CommandOutputs(),)),
    "apply_patch_call": ItemKind("apc"),
    "apply_patch_call_output": ItemKind("apco", blank={"status": "completed"}),
    "compaction": ItemKind("cmp", stages=(StatusEvent("compacting"),), status=False),
}


@dataclass(frozen=True, slots=True)
class OutputItem:
    """An output item as it stands in the end, and the parts of the answer that it shows: several for a message.

    `open`: it was never closed, as the answer broke off within it.
    """

    item: Mapping[str, Json]
    parts: tuple[Part, ...]
    open: bool = False


def output_items(answer: Answer, style: ResponseLayout, asked: ResponseOptions) -> list[OutputItem]:
    """The output items of an answer, in wire order: none while it is not there yet."""
    if answer.phase or not answer.choices:
        return []
    choice = answer.choices[0]
    builder = _Builder(answer.id, style, asked, _weighed(choice))
    groups = list(_groups(choice.parts))
    built: list[OutputItem] = []
    for at, parts in enumerate(groups):
        cut = at == len(groups) - 1 and not isinstance(parts[0], Item) and is_cut(answer)
        status: ItemStatus = "incomplete" if cut else "completed"
        item = builder.item(parts, status, built)
        built.append(OutputItem(item, parts, open=cut and answer.broken is not None))
    return built


def is_cut(answer: Answer) -> bool:
    """Whether the answer ended before its end."""
    return answer.broken is not None or (
        bool(answer.choices) and answer.choices[0].finish in ("length", "content_filter")
    )


def _groups(parts: Iterable[Part]) -> Iterator[tuple[Part, ...]]:
    """The parts of each item: what is said in a row shares a message, unless it stands apart."""
    said: list[Part] = []
    for part in parts:
        spoken = isinstance(part, Text | Refusal)
        if said and (not spoken or (isinstance(part, Text) and part.apart)):
            yield tuple(said)
            said = []
        if spoken:
            said.append(part)
        else:
            yield (part,)
    if said:
        yield tuple(said)


def _weighed(choice: Choice) -> Iterator[list[TokenLogprob]] | None:
    """The log probabilities of each text in turn, where they were asked for."""
    if choice.logprobs is None:
        return None
    texts = [part.text for part in choice.parts if isinstance(part, Text)]
    return (block["content"] or [] for block in spread_logprobs(texts, choice.logprobs))


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds the items of one answer, in order."""

    answer_id: str
    style: ResponseLayout
    asked: ResponseOptions
    weighed: Iterator[list[TokenLogprob]] | None

    def item(self, parts: tuple[Part, ...], status: ItemStatus, before: list[OutputItem]) -> Mapping[str, Json]:
        """The item that shows these parts, after those before it."""
        name = fingerprint(self.answer_id, len(before))
        match parts[0]:
            case Reasoning() as thought:
                return self._reasoning(thought, status, name)
            case ToolUse() as use:
                return _tool_call(use, status, name)
            case Item() as used:
                return hosted_tool_item(used, self.asked, name, _last_call(before))
        return self._message(parts, status, name)

    def _message(self, parts: tuple[Part, ...], status: ItemStatus, name: str) -> OutputMessage:
        return {
            "id": f"msg_{name}",
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": [self._content(part) for part in parts if isinstance(part, Text | Refusal)],
        }

    def _content(self, part: Text | Refusal) -> OutputText | OutputRefusal:
        if isinstance(part, Refusal):
            return {"type": "refusal", "refusal": part.text}
        return {
            "type": "output_text",
            "text": part.text,
            "annotations": [response_annotation(note) for note in part.annotations],
            "logprobs": next(self.weighed) if self.weighed else [],
        }

    def _reasoning(self, part: Reasoning, status: ItemStatus, name: str) -> ReasoningItem:
        told = reasoning_summary(part, self.style, self.asked)
        item: ReasoningItem = {
            "id": f"rs_{name}",
            "type": "reasoning",
            "status": status,
            "summary": [] if told is None else [{"type": "summary_text", "text": told}],
        }
        if self.style.raw_reasoning:
            item["content"] = [{"type": "reasoning_text", "text": part.text}]
        if "reasoning.encrypted_content" in self.asked.include:
            item["encrypted_content"] = _sealed(part.text, name)
        return item


def reasoning_summary(part: Reasoning, style: ResponseLayout, asked: ResponseOptions) -> str | None:
    """What a client is told of the thoughts: what a rule says, else themselves, unless they are shown."""
    if part.summary is None and asked.summary and not style.raw_reasoning:
        return part.text
    return part.summary


def _sealed(text: str, name: str) -> str:
    """Something that nobody can read, which stands for the thoughts: the same for the same thoughts."""
    return b64encode(bytes.fromhex("".join(fingerprint(name, text, i) for i in range(6)))).decode()


def _tool_call(use: ToolUse, status: ItemStatus, name: str) -> FunctionCall | CustomToolCall:
    call = use.call
    if call.kind == "custom":
        return {
            "id": f"ctc_{name}",
            "type": "custom_tool_call",
            "call_id": call.id,
            "name": call.name,
            "input": call.arguments,
        }
    return {
        "id": f"fc_{name}",
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def hosted_tool_item(used: Item, asked: ResponseOptions, name: str, call_id: str = "") -> dict[str, Json]:
    """The use of one of the provider's own tools, less what nobody asked for.

    `name` makes its ids; `call_id` is that of the call before it, which an output belongs to.
    """
    kind = item_kind(used.kind)
    body = dict(used.body)
    for path, include in kind.shown.items():
        if include not in asked.include:
            body = _hidden(body, path.split("."), kind.blank)
    head: dict[str, Json] = {"id": f"{kind.prefix}_{name}", "type": used.kind}
    if kind.status:
        head["status"] = "failed" if used.kind == "mcp_call" and body.get("error") else "completed"
    if body.get("call_id") == "":
        body["call_id"] = (used.kind.endswith("_output") and call_id) or f"call_{fingerprint(name, 'call')[:24]}"
    if body.get("container_id") == "":
        body["container_id"] = f"cntr_{fingerprint(name, 'container')}"
    return {**head, **body, "type": used.kind}


def _last_call(before: list[OutputItem]) -> str:
    """The id of the call that the next item can be the output of: that of the item before it."""
    last = before[-1].item if before else {"type": "message"}
    return "" if last["type"].endswith("_output") else last.get("call_id", "")


def _hidden(body: Mapping[str, Json], path: list[str], blank: Mapping[str, Json]) -> dict[str, Json]:
    """The same with a blank in place of what stands at a path of keys, or without it where there is no blank."""
    key, *rest = path
    if rest and isinstance(inner := body.get(key), Mapping):
        return {**body, key: _hidden(inner, rest, {})}
    if rest or key in blank:
        return {**body, **({} if rest else {key: blank[key]})}
    return {name: value for name, value in body.items() if name != key}


__all__ = ["Asked", "ResponseStyle", "begun", "response", "status_of", "usage_block", "whole"]


def response(answer: Answer, style: ResponseLayout, asked: ResponseOptions) -> dict[str, Json]:
    """The body of a plain answer (`wire/openai.md` section 6, in the style's keys and order)."""
    return response_of_items(answer, style, asked, output_items(answer, style, asked))


def response_of_items(
    answer: Answer, style: ResponseLayout, asked: ResponseOptions, built: Sequence[OutputItem]
) -> dict[str, Json]:
    """The same, of items that are already built."""
    status = status_of(answer, style)
    ended = status in ("completed", "incomplete")
    full: Response = {
        "id": answer.id,
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "completed_at": answer.created if status == "completed" else None,
        "error": _error(answer) if status == "failed" else None,
        "incomplete_details": _incomplete(answer) if status == "incomplete" else None,
        "model": answer.model,
        "output": [dict(each.item) for each in built],
        "usage": response_usage(answer.usage, style) if ended else None,
    }
    return pick({**asked.echo, **full}, style.response)


def response_in_progress(
    answer: Answer, style: ResponseLayout, asked: ResponseOptions, *, queued: bool = False
) -> dict[str, Json]:
    """The object while nothing of the answer is there yet."""
    started = replace(answer, phase="queued" if queued else "in_progress", broken=None)
    return response_of_items(started, style, asked, ())


def status_of(answer: Answer, style: ResponseLayout) -> Status:
    """Where an answer stands, in the provider's word."""
    match answer:
        case Answer(phase="queued"):
            return "queued" if style.queued else "in_progress"
        case Answer(phase="in_progress" | "cancelled" as phase):
            return phase
        case Answer(broken=Broken()):
            return "failed"
    return "incomplete" if is_cut(answer) else "completed"


def response_usage(usage: Usage, style: ResponseLayout) -> ResponseUsage:
    """Token counts, with their details where the provider gives them."""
    full: ResponseUsage = {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total,
    }
    return pick(full, style.usage)  # type: ignore[return-value]  # some of the keys of a ResponseUsage


def _error(answer: Answer) -> ResponseError | None:
    if answer.broken is None:
        return None
    return {"code": answer.broken.code, "message": answer.broken.message}


def _incomplete(answer: Answer) -> IncompleteDetails:
    return {"reason": "content_filter" if answer.choices[0].finish == "content_filter" else "max_output_tokens"}
