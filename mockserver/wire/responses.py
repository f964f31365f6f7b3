"""Responses: an Answer as one object with its output items, and the ids of these."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import compute_fingerprint
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.plan import (
    Answer,
    Broken,
    Choice,
    Item,
    Part,
    Reasoning,
    Refusal,
    Text,
    ToolUse,
    Usage,
)
from mockserver.core.seal import Seal, claim, encode_text
from mockserver.wire.chat import pick
from mockserver.wire.logprobs import Block, spread_logprobs

Status = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class ResponseLayout(Struct, frozen=True, dict=True):
    """Which keys a provider shows, in which order, and how its streams differ."""

    response: tuple[str, ...]
    queued: bool = True  # whether a background answer is queued first; False: it is in progress at once
    raw_reasoning: bool = False  # whether the reasoning itself is shown, not only its summary
    unset: Mapping[str, Json] = {}  # defaults of keys that repeat the request

    @lazy_property
    def keys(self) -> frozenset[str]:
        return frozenset(self.response)


class ResponseOptions(Struct, frozen=True):
    """What the request contributes to the object that answers it."""

    request_fields: Mapping[str, Json] = {}  # repeated in the object: tools, metadata, ...
    include: frozenset[str] = frozenset()  # optional values to show, as the provider names them
    summary: bool = False  # whether a summary of the reasoning is requested
    stored: bool = True  # whether the answer is kept for later requests


class StatusEvent(Struct, frozen=True):
    """An event that only says how far the item is; `failed` is its name where the item failed (empty: no event)."""

    name: str
    failed: str | None = None


class TextDeltas(Struct, frozen=True):
    """A string of the item that streams in pieces: `response.<event>.delta`, then `.done` with the whole in `key`."""

    key: str
    event: str


# Besides: previews of an image, the commands of a shell call, and what each of them printed.
ItemEvents = StatusEvent | TextDeltas | Literal["partial_images", "commands", "command_outputs"]


class ItemKind(Struct, frozen=True):
    """One kind of item that a provider's own tools make."""

    prefix: str  # of the item's id
    blank: Mapping[str, Json] = {}  # values of keys while the item is in progress
    shown: Mapping[str, str] = {}  # path of a key -> the `include` that shows it
    events: tuple[ItemEvents, ...] = ()
    status: bool = True  # whether the item has a status


def find_item_kind(name: str) -> ItemKind:
    """Return the kind of an item by its `type`; unknown types are all of one kind."""
    return ITEM_KINDS.get(name, _OTHER)


_DONE = StatusEvent("completed", failed="")
_DONE_OR_FAILED = StatusEvent("completed", failed="failed")
_SEARCH = (StatusEvent("in_progress"), StatusEvent("searching"), _DONE)
_OTHER = ItemKind("it")

# Nobody can read it; equal reasoning gives equal content. It begins as what Fernet encrypts: a version and a time.
ENCRYPTED_CONTENT = Seal("reasoning", b"\x80\x00\x00\x00\x00\x65\x53\xf1\x00", 233, url_safe=True)

ITEM_KINDS: Mapping[str, ItemKind] = {
    "web_search_call": ItemKind(
        "ws",
        shown={"action.sources": "web_search_call.action.sources", "results": "web_search_call.results"},
        events=_SEARCH,
    ),
    "file_search_call": ItemKind(
        "fs", blank={"results": None}, shown={"results": "file_search_call.results"}, events=_SEARCH
    ),
    "code_interpreter_call": ItemKind(
        "ci",
        blank={"code": "", "outputs": None},
        shown={"outputs": "code_interpreter_call.outputs"},
        events=(
            StatusEvent("in_progress"),
            TextDeltas("code", "code_interpreter_call_code"),
            StatusEvent("interpreting"),
            _DONE,
        ),
    ),
    "image_generation_call": ItemKind(
        "ig",
        blank={"result": None},
        events=(StatusEvent("in_progress"), StatusEvent("generating"), "partial_images", _DONE),
    ),
    "mcp_call": ItemKind(
        "mcp",
        blank={"arguments": "", "error": None, "output": None},
        events=(StatusEvent("in_progress"), TextDeltas("arguments", "mcp_call_arguments"), _DONE_OR_FAILED),
    ),
    "mcp_list_tools": ItemKind(
        "mcpl", blank={"tools": [], "error": None}, events=(StatusEvent("in_progress"), _DONE_OR_FAILED), status=False
    ),
    "mcp_approval_request": ItemKind("mcpr", status=False),
    "computer_call": ItemKind("cu"),
    "local_shell_call": ItemKind("lsh"),
    "shell_call": ItemKind("sh", blank={"action": {"commands": []}}, events=("commands",)),
    "shell_call_output": ItemKind("sho", events=("command_outputs",)),
    "apply_patch_call": ItemKind("apc"),
    "apply_patch_call_output": ItemKind("apco", blank={"status": "completed"}),
    "compaction": ItemKind("cmp", events=(StatusEvent("compacting"),), status=False),
}


def make_response(answer: Answer, layout: ResponseLayout, options: ResponseOptions) -> dict[str, Json]:
    """Return the object of a response, with all its output items."""
    return make_response_of_items(answer, layout, options, items=list_output_items(answer, layout, options))


def make_response_of_items(
    answer: Answer, layout: ResponseLayout, options: ResponseOptions, *, items: Sequence["OutputItem"]
) -> dict[str, Json]:
    """Return the object of a response with these output items."""
    status = find_status(answer, layout)
    ended = status in ("completed", "incomplete")
    full: dict[str, Json] = {
        "id": answer.id,
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "completed_at": answer.created if status == "completed" else None,
        "error": _make_error(answer) if status == "failed" else None,
        "incomplete_details": {"reason": _find_limit(answer)} if status == "incomplete" else None,
        "model": answer.model,
        "output": [dict(each.body) for each in items],
        "usage": make_response_usage(answer.usage) if ended else None,
    }
    return pick({**layout.unset, **options.request_fields, **full}, layout.response)


def make_response_in_progress(
    answer: Answer, layout: ResponseLayout, options: ResponseOptions, *, queued: bool = False
) -> dict[str, Json]:
    """Return the object as it is before its first output item."""
    started = replace(answer, phase="queued" if queued else "in_progress", broken=None)
    return make_response_of_items(started, layout, options, items=())


def find_status(answer: Answer, layout: ResponseLayout) -> Status:
    """Return the `status` of a response."""
    match answer:
        case Answer(phase="queued"):
            return "queued" if layout.queued else "in_progress"
        case Answer(phase="in_progress" | "cancelled" as phase):
            return phase
        case Answer(broken=Broken()):
            return "failed"
    return "incomplete" if _is_cut(answer) else "completed"


def make_response_usage(usage: Usage) -> dict[str, Json]:
    """Return the `usage` of a response."""
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total,
    }


def _make_error(answer: Answer) -> dict[str, Json] | None:
    if answer.broken is None:
        return None
    return {"code": answer.broken.code, "message": answer.broken.message}


def _find_limit(answer: Answer) -> str:
    """Return what has cut an answer."""
    return "content_filter" if answer.choices[0].finish == "content_filter" else "max_output_tokens"


def _is_cut(answer: Answer) -> bool:
    return answer.broken is not None or (
        bool(answer.choices) and answer.choices[0].finish in ("length", "content_filter")
    )


class OutputItem(Struct, frozen=True):
    """A finished output item, and the parts of the answer that it shows: several for a message."""

    body: Mapping[str, Json]
    parts: tuple[Part, ...]
    open: bool = False  # never closed, as the answer broke off within it


def list_output_items(answer: Answer, layout: ResponseLayout, options: ResponseOptions) -> list[OutputItem]:
    """Return the output items of an answer in wire order; none while it is not finished."""
    if answer.phase or not answer.choices:
        return []
    choice = answer.choices[0]
    builder = _ItemBuilder(answer_id=answer.id, layout=layout, options=options, logprobs=_spread_over_texts(choice))
    groups = list(_group_parts(choice.parts))
    items: list[OutputItem] = []
    for at, parts in enumerate(groups):
        cut = at == len(groups) - 1 and not isinstance(parts[0], Item) and _is_cut(answer)
        body = builder.make_item(parts, "incomplete" if cut else "completed", items)
        items.append(OutputItem(body, parts, open=cut and answer.broken is not None))
    return items


def _group_parts(parts: Iterable[Part]) -> Iterator[tuple[Part, ...]]:
    """Yield the parts of each item: consecutive texts and refusals share a message, unless a text is `apart`."""
    spoken: list[Part] = []
    for part in parts:
        is_spoken = type(part) in _SPOKEN
        if spoken and (not is_spoken or (type(part) is Text and part.apart)):
            yield tuple(spoken)
            spoken = []
        if is_spoken:
            spoken.append(part)
        else:
            yield (part,)
    if spoken:
        yield tuple(spoken)


_SPOKEN = (Text, Refusal)


def _spread_over_texts(choice: Choice) -> Iterator[list[Block]] | None:
    if choice.logprobs is None:
        return None
    texts = [part.text for part in choice.parts if isinstance(part, Text)]
    return (block["content"] or [] for block in spread_logprobs(texts, choice.logprobs))


class OutputItemId(Struct, frozen=True, kw_only=True):
    """What the id of an output item contains, so that it is recognized without being kept.

    `answer` is a hash of the answer's id, `place` that of the item in its answer. `reasoning` is how many items before
    it the reasoning stands that led to it (0: none). `stored`: the item is kept for later requests.
    """

    answer: bytes
    place: int
    reasoning: int
    stored: bool

    @property
    def text(self) -> str:
        """The id, without the prefix of its type."""
        one, two, three = self.answer[:3]  # so that ids look random
        content = self.answer + bytes((self.place ^ one, self.reasoning ^ two, self.stored ^ three))
        return (content + _compute_checksum(content)).hex()

    @property
    def reasoning_id(self) -> str | None:
        """The id of the reasoning item that led to this one; None if there is none."""
        if not self.reasoning:
            return None
        return f"rs_{replace(self, place=self.place - self.reasoning, reasoning=0).text}"


def make_item_id(answer_id: str, at: int, *, reasoning: int = 0, stored: bool = True) -> str:
    """Return the id of the output item at a place of its answer, without the prefix of its type.

    `reasoning` is how many items before it the reasoning stands that led to it (0: none).
    """
    block, place = divmod(at, 256)
    answer = _ANSWERS.copy()
    answer.update(f"{answer_id}\0{block}".encode("utf-8", "surrogatepass"))
    before = reasoning if reasoning <= place else 0
    return OutputItemId(answer=answer.digest(), place=place, reasoning=before, stored=stored).text


def read_item_id(text: str) -> OutputItemId | None:
    """Return what an id with its prefix contains; None if this server did not make it."""
    found = _ITEM_ID.fullmatch(text)
    raw = bytes.fromhex(found[1]) if found else b""
    if not raw or raw[12:] != _compute_checksum(raw[:12]):
        return None
    place, reasoning, stored = (one ^ other for one, other in zip(raw[9:12], raw[:3], strict=True))
    return OutputItemId(answer=raw[:9], place=place, reasoning=reasoning, stored=bool(stored))


def _compute_checksum(content: bytes) -> bytes:
    checksum = _CHECKSUM.copy()
    checksum.update(content)
    return checksum.digest()


_ANSWERS = blake2b(digest_size=9)
_CHECKSUM = blake2b(digest_size=4, key=b"output item")
_ITEM_ID = re.compile(r"[a-z]+_([0-9a-f]{32})")


def list_item_ids(answer: Answer, *, stored: bool) -> list[str]:
    """Return the ids of the output items of an answer without hosted tools, each without the prefix of its type."""
    own = answer.choices[0].parts if answer.choices else ()
    made: list[str] = []
    thought: int | None = None
    for at, parts in enumerate(_group_parts(own) if len(own) > 1 else (own,) if own else ()):
        kind = type(parts[0])
        if kind is Reasoning:
            thought = at
        before = at - thought if thought is not None and kind is ToolUse else 0
        made.append(make_item_id(answer.id, at, reasoning=before, stored=stored))
    return made


class _ItemBuilder(Struct, frozen=True, kw_only=True):
    """Makes the output items of one answer, in their order."""

    answer_id: str
    layout: ResponseLayout
    options: ResponseOptions
    logprobs: Iterator[list[Block]] | None

    def make_item(self, parts: tuple[Part, ...], status: ItemStatus, before: list[OutputItem]) -> Mapping[str, Json]:
        """Return the next item, which shows these parts; `before` are the items that were made so far."""
        at = len(before)
        stored = self.options.stored
        name = make_item_id(self.answer_id, at, stored=stored)
        match parts[0]:
            case Reasoning() as reasoning:
                return self._make_reasoning(reasoning, status, name)
            case ToolUse() as use:
                thought = next((n for n in reversed(range(at)) if before[n].body["type"] == "reasoning"), at)
                return _make_tool_call(
                    use, status, make_item_id(self.answer_id, at, reasoning=at - thought, stored=stored)
                )
            case Item() as item:
                return make_hosted_tool_item(item, self.options, name, call_id=_find_last_call(before))
        return self._make_message(parts, status, name)

    def _make_message(self, parts: tuple[Part, ...], status: ItemStatus, name: str) -> dict[str, Json]:
        return {
            "id": f"msg_{name}",
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": [self._make_content(part) for part in parts if isinstance(part, Text | Refusal)],
        }

    def _make_content(self, part: Text | Refusal) -> dict[str, Json]:
        if isinstance(part, Refusal):
            return {"type": "refusal", "refusal": part.text}
        return {
            "type": "output_text",
            "text": part.text,
            "annotations": [_make_annotation(note) for note in part.annotations],
            "logprobs": next(self.logprobs) if self.logprobs else [],
        }

    def _make_reasoning(self, part: Reasoning, status: ItemStatus, name: str) -> dict[str, Json]:
        summary = _find_summary(part, self.layout, self.options)
        item: dict[str, Json] = {
            "id": f"rs_{name}",
            "type": "reasoning",
            "status": status,
            "summary": [] if summary is None else [{"type": "summary_text", "text": summary}],
        }
        if self.layout.raw_reasoning:
            item["content"] = [{"type": "reasoning_text", "text": part.text}]
        if "reasoning.encrypted_content" in self.options.include:
            sealed = claim(name.encode(), encode_text(part.text))
            item["encrypted_content"] = ENCRYPTED_CONTENT.close(sealed)
        return item


def _make_annotation(note: Mapping[str, Json]) -> dict[str, Json]:
    """Return an annotation as Responses show it: flat, where chat nests it under its type."""
    kind = note.get("type")
    inner = note.get(kind) if isinstance(kind, str) else None
    return {"type": kind, **inner} if isinstance(inner, Mapping) else dict(note)


def _find_summary(part: Reasoning, layout: ResponseLayout, options: ResponseOptions) -> str | None:
    if part.summary is None and options.summary and not layout.raw_reasoning:
        return part.text
    return part.summary


def _make_tool_call(use: ToolUse, status: ItemStatus, name: str) -> dict[str, Json]:
    call = use.call
    custom = call.kind == "custom"
    head = {"id": f"ctc_{name}", "type": "custom_tool_call"}
    if not custom:
        head = {"id": f"fc_{name}", "type": "function_call", "status": status}
    namespace = {"namespace": call.namespace} if call.namespace else {}
    key = "input" if custom else "arguments"
    return {**head, "call_id": call.id, "name": call.name, **namespace, key: call.arguments}


def make_hosted_tool_item(item: Item, options: ResponseOptions, name: str, *, call_id: str = "") -> dict[str, Json]:
    """Return the item of a hosted tool, without values that `options.include` does not name.

    Its ids derive from `name`; `call_id` is the id of the call before it, which an output refers to.
    """
    kind = find_item_kind(item.kind)
    body = dict(item.body)
    for path, include in kind.shown.items():
        if include not in options.include:
            body = _blank_out(body, path.split("."), kind.blank)
    head: dict[str, Json] = {"id": f"{kind.prefix}_{name}", "type": item.kind}
    if kind.status:
        head["status"] = "failed" if item.kind == "mcp_call" and body.get("error") else "completed"
    if body.get("call_id") == "":
        body["call_id"] = (
            item.kind.endswith("_output") and call_id
        ) or f"call_{compute_fingerprint(name, 'call')[:24]}"
    if body.get("container_id") == "":
        body["container_id"] = f"cntr_{compute_fingerprint(name, 'container')}"
    return {**head, **body, "type": item.kind}


def _find_last_call(before: list[OutputItem]) -> str:
    last = before[-1].body if before else {"type": "message"}
    return "" if last["type"].endswith("_output") else last.get("call_id", "")


def _blank_out(body: Mapping[str, Json], path: list[str], blank: Mapping[str, Json]) -> dict[str, Json]:
    """Return the body with the `blank` value at a path of keys, or without the key if `blank` has no value for it."""
    key, *rest = path
    if rest and isinstance(inner := body.get(key), Mapping):
        return {**body, key: _blank_out(inner, rest, {})}
    if rest or key in blank:
        return {**body, **({} if rest else {key: blank[key]})}
    return {name: value for name, value in body.items() if name != key}
