"""The parts of an answer as output items: which of them share one, what each shows, and how it ended.

Knows no event: `responses_steps.py` tells the same items as a stream.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mockserver.core.call import Json, fingerprint
from mockserver.core.plan import Answer, Choice, Item, Part, Reasoning, Refusal, Text, ToolUse
from mockserver.formats.extras import TokenLogprob, flat, spread_logprobs
from mockserver.formats.responses_hosted import kind_of
from mockserver.formats.responses_objects import (
    CustomToolCall,
    FunctionCall,
    ItemStatus,
    OutputMessage,
    OutputRefusal,
    OutputText,
    ReasoningItem,
)
from mockserver.formats.responses_style import Asked, ResponseStyle


@dataclass(frozen=True, slots=True)
class Output:
    """An output item as it stands in the end, and the parts of the answer that it shows: several for a message.

    `open`: it was never closed, as the answer broke off within it.
    """

    item: Mapping[str, Json]
    parts: tuple[Part, ...]
    open: bool = False


def outputs(answer: Answer, style: ResponseStyle, asked: Asked) -> list[Output]:
    """The output items of an answer, in wire order: none while it is not there yet."""
    if answer.phase or not answer.choices:
        return []
    choice = answer.choices[0]
    builder = _Builder(answer.id, style, asked, _weighed(choice))
    groups = list(_groups(choice.parts))
    built: list[Output] = []
    for at, parts in enumerate(groups):
        cut = at == len(groups) - 1 and not isinstance(parts[0], Item) and is_cut(answer)
        status: ItemStatus = "incomplete" if cut else "completed"
        item = builder.item(parts, status, built)
        built.append(Output(item, parts, open=cut and answer.broken is not None))
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
    style: ResponseStyle
    asked: Asked
    weighed: Iterator[list[TokenLogprob]] | None

    def item(self, parts: tuple[Part, ...], status: ItemStatus, before: list[Output]) -> Mapping[str, Json]:
        """The item that shows these parts, after those before it."""
        name = fingerprint(self.answer_id, len(before))
        match parts[0]:
            case Reasoning() as thought:
                return self._reasoning(thought, status, name)
            case ToolUse() as use:
                return _tool_call(use, status, name)
            case Item() as used:
                return hosted(used, self.asked, name, _last_call(before))
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
            "annotations": [flat(note) for note in part.annotations],
            "logprobs": next(self.weighed) if self.weighed else [],
        }

    def _reasoning(self, part: Reasoning, status: ItemStatus, name: str) -> ReasoningItem:
        told = told_of(part, self.style, self.asked)
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


def told_of(part: Reasoning, style: ResponseStyle, asked: Asked) -> str | None:
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


def hosted(used: Item, asked: Asked, name: str, call_id: str = "") -> dict[str, Json]:
    """The use of one of the provider's own tools, less what nobody asked for.

    `name` makes its ids; `call_id` is that of the call before it, which an output belongs to.
    """
    kind = kind_of(used.kind)
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


def _last_call(before: list[Output]) -> str:
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
