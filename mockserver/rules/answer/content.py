"""What an answer says: texts, JSON, refusals, tool calls and reasoning become the parts of a choice."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from mockserver.core.call import ToolCall
from mockserver.core.draft import AT_THE_END, DraftChoice, Moment
from mockserver.core.hosted_tools import item
from mockserver.core.json import Json
from mockserver.core.plan import Item, Part, Reasoning, Refusal, Text, ToolUse
from mockserver.core.tokens import Chunks
from mockserver.core.tokens import Chunks as Cut
from mockserver.rules.answer.context import Site, json_text, json_value
from mockserver.rules.answer.errors import check_filter, verdicts
from mockserver.rules.items import CustomToolCallSpec, FunctionCallSpec, ItemSpec, MessageSpec, ReasoningSpec
from mockserver.rules.schema import Chunks as ChunksSpec
from mockserver.rules.schema import ContentSpec, FilterSpec, PartSpec, SizeSpec, ToolCallSpec
from mockserver.rules.templates import Recipe, both, fixed, together


def tool_use(call: ToolCallSpec, cut: Chunks, site: Site, *, before: int = 0) -> Recipe[Part]:
    """The recipe for a call, before which stand so many of the same tool; without an id it gets one later."""
    return _tool_call(call, site, before).into(lambda made: ToolUse(made, cut))


def _tool_call(call: ToolCallSpec, site: Site, before: int) -> Recipe[ToolCall]:
    identity, name = call.id or "", call.name
    site.at("name").refuse_template(name)
    site.at("id").refuse_template(identity)
    if call.input is not None:
        if call.arguments is not None:
            site.at("input").refuse_key('"input" and "arguments" are two ways to say it; keep one')
        return site.at("input").text(call.input).into(lambda text: ToolCall(identity, name, text, "custom"))
    match call.arguments:
        case None | "auto":
            return Recipe(lambda moment: _automatic(moment, ToolCall(identity, name, "{}"), before))
        case str() as source:
            arguments = site.at("arguments").text(source)
        case table:
            arguments = json_text(table, site.at("arguments"))
    return arguments.into(lambda text: ToolCall(identity, name, text))


def _automatic(moment: Moment, bare: ToolCall, before: int) -> ToolCall:
    """A call whose arguments fit the tool's schema; without any where the request does not offer the tool."""
    if moment.call.tool(bare.name) is not None:
        for part in moment.generate("arguments", {"tool": bare.name, "before": before}, 0).parts:
            if isinstance(part, ToolUse):
                return replace(part.call, id=bare.id)
    return bare


def compile_item(spec: ItemSpec, cut: Chunks, site: Site) -> Iterator[Recipe[Part]]:
    """The recipes for the parts that an item comes to: one each, but for a message, which may say several things."""
    match spec:
        case MessageSpec():
            yield from _message(spec, cut, site)
        case ReasoningSpec():
            yield _reasoning(spec, cut, site)
        case FunctionCallSpec():
            yield tool_use(_call(spec.name, {"arguments": spec.arguments}, spec.call_id), cut, site)
        case CustomToolCallSpec():
            yield tool_use(_call(spec.name, {"input": spec.input}, spec.call_id), cut, site)
        case hosted:
            _check_ways(hosted.type, hosted.model_fields_set, site)
            given = json_value(hosted.model_dump(exclude_unset=True, exclude={"type"}), site)
            yield given.into(partial(item, hosted.type, chunks=cut))


def _call(name: str, said: Mapping[str, Json], call_id: str | None) -> ToolCallSpec:
    """A call as the other kinds of answer write it, with an id where the item states one."""
    named = {} if call_id is None else {"id": call_id}
    return ToolCallSpec.model_validate({"name": name, **said, **named})


def _message(message: MessageSpec, cut: Chunks, site: Site) -> Iterator[Recipe[Part]]:
    if (message.text is None) == (message.content is None):
        site.refuse("a message has either text or content")
    elif message.text is not None:
        yield _items_text(message.text, message.annotations, partial(Text, chunks=cut, apart=True), site)
    if message.annotations and message.content is not None:
        site.at("annotations").refuse_key('"annotations" are of the text; put them into its part')
    for at, part in enumerate(message.content or ()):
        here, apart = site.at("content", at), at == 0
        if part.type == "refusal":
            yield here.at("refusal").text(part.refusal).into(partial(Refusal, chunks=cut))
        else:
            yield _items_text(part.text, part.annotations, partial(Text, chunks=cut, apart=apart), here)


def _items_text(text: str, notes: list[dict[str, Json]] | None, make: Callable[..., Text], site: Site) -> Recipe[Part]:
    noted: Recipe[Json] = json_value(notes or [], site.at("annotations"))
    return both(site.at("text").text(text), noted, lambda said, listed: make(said, annotations=tuple(listed)))


def _reasoning(thought: ReasoningSpec, cut: Chunks, site: Site) -> Recipe[Part]:
    if thought.text is None and thought.summary is None:
        site.refuse("reasoning needs a text, a summary, or both")
    text = site.at("text").text(thought.text or "")
    if thought.summary is None:
        return text.into(partial(Reasoning, chunks=cut))
    summary = site.at("summary").text(thought.summary)
    return both(text, summary, lambda said, told: Reasoning(said, cut, told))


def _check_ways(kind: str, keys: frozenset[str] | set[str], site: Site) -> None:
    """Tell `site` of an item that says what it does in two ways, or not at all."""
    ways = [key for key in _WAYS.get(kind, ()) if key in keys]
    if len(ways) > 1:
        site.at(ways[1]).refuse_key(f'"{ways[1]}" and "{ways[0]}" are two ways to say it; keep one')
    elif not ways and kind in _WAYS:
        site.refuse(f"{kind} needs one of {', '.join(_WAYS[kind])}")
    if "sources" in keys and "action" in keys and kind == "web_search_call":
        site.at("sources").refuse_key('"sources" are what a search found; put them into "action"')


# Of these keys an item has exactly one.
_WAYS: Mapping[str, tuple[str, ...]] = {
    "web_search_call": ("query", "action"),
    "file_search_call": ("query", "queries"),
    "computer_call": ("action", "actions"),
    "local_shell_call": ("command", "action"),
    "shell_call": ("commands", "action"),
}


_Notes = Recipe[tuple[Json, ...]]
_NO_NOTES: _Notes = fixed(())


def compile_content(content: ContentSpec, site: Site) -> Recipe[DraftChoice]:
    """The recipe for one choice."""
    parts = together(_parts(content, site))
    if isinstance(content.chunks, list):
        _check_pieces(content.chunks, parts, site.at("chunks"))
    return finished(content, site, parts.into(DraftChoice))


def finished(content: ContentSpec, site: Site, choice: Recipe[DraftChoice]) -> Recipe[DraftChoice]:
    """The choice with the finish, the log probabilities and the filters that a rule states."""
    trip = content.content_filter
    if trip is not None:
        check_filter(trip, site.at("content_filter"))
    logprobs = None if content.logprobs is None else tuple(content.logprobs)
    safety = verdicts(content.annotate, trip, "completion")
    finish, after = content.finish, _filter_after(trip)
    if (finish, logprobs, safety, after) == (None, None, (), None):
        return choice
    return choice.into(lambda made: replace(made, finish=finish, logprobs=logprobs, safety=safety, filter_after=after))


def _filter_after(trip: FilterSpec | None) -> int | None:
    """After how many tokens a filter trips, if there is one: at the end of the text where it does not say."""
    if trip is None:
        return None
    return AT_THE_END if trip.after_tokens is None else trip.after_tokens


def cut_of(chunks: ChunksSpec | None) -> Cut:
    """How texts are cut, as the core says it."""
    match chunks:
        case None:
            return "token"
        case SizeSpec(size=size):
            return size
        case list():
            return tuple(chunks)
    return chunks


def _parts(content: ContentSpec, site: Site) -> Iterator[Recipe[Part]]:
    cut, notes = cut_of(content.chunks), _annotations(content, site)
    # An exact list of pieces is of the text; what stands before it is cut as usual.
    before = "token" if isinstance(cut, tuple) else cut
    if content.reasoning is not None:
        yield site.at("reasoning").text(content.reasoning).into(lambda text: Reasoning(text, before))
    for index, spec in enumerate(content.items or ()):
        yield from compile_item(spec, before, site.at("items", index))
    if content.text is not None:
        yield _text(site.at("text").text(content.text), cut, notes)
    if "json_" in content.model_fields_set:
        yield _text(json_text(content.json_, site.at("json")), cut, notes)
    if content.refusal is not None:
        yield site.at("refusal").text(content.refusal).into(lambda text: Refusal(text, cut))
    for index, call in enumerate(content.tool_calls or ()):
        before = sum(earlier.name == call.name for earlier in (content.tool_calls or ())[:index])
        yield tool_use(call, cut, site.at("tool_calls", index), before=before)
    for index, part in enumerate(content.parts or ()):
        chunks = content.chunks if part.chunks is None else part.chunks
        yield from _part(part, cut_of(chunks), notes, site.at("parts", index))
        if part.text is not None:
            notes = _NO_NOTES  # they are of the first text


def _annotations(content: ContentSpec, site: Site) -> _Notes:
    if not content.annotations:
        return _NO_NOTES
    return json_value(content.annotations, site.at("annotations")).into(tuple)


def _text(text: Recipe[str], cut: Cut, notes: _Notes) -> Recipe[Part]:
    return both(text, notes, lambda made, noted: Text(made, cut, noted))


def _part(part: PartSpec, cut: Cut, notes: _Notes, site: Site) -> Iterator[Recipe[Part]]:
    if len(part.model_fields_set - {"chunks"}) != 1:
        site.refuse("a part has exactly one of reasoning, text, refusal, tool_call and item")
        return
    made = tuple(_made(part, cut, notes, site))
    if isinstance(part.chunks, list):
        _check_pieces(part.chunks, together(made), site.at("chunks"))
    yield from made


def _made(part: PartSpec, cut: Cut, notes: _Notes, site: Site) -> Iterator[Recipe[Part]]:
    if part.reasoning is not None:
        yield site.at("reasoning").text(part.reasoning).into(lambda text: Reasoning(text, cut))
    if part.text is not None:
        yield _text(site.at("text").text(part.text), cut, notes)
    if part.refusal is not None:
        yield site.at("refusal").text(part.refusal).into(lambda text: Refusal(text, cut))
    if part.tool_call is not None:
        yield tool_use(part.tool_call, cut, site.at("tool_call"))
    if part.item is not None:
        yield from compile_item(part.item, cut, site.at("item"))


def _check_pieces(pieces: list[str], parts: Recipe[tuple[Part, ...]], site: Site) -> None:
    """An exact list of pieces is of one text, which must be the same for every call."""
    if not parts.known:
        site.refuse("pieces need a text without templates; use token, word, char or {size: 7}")
        return
    texts = [_words(part) for part in parts.known[0] if not isinstance(part, Item)]
    if len(texts) > 1 and isinstance(parts.known[0][0], Reasoning):
        texts = texts[1:]
    if len(texts) != 1:
        site.refuse("pieces are of one text, and here are several; give each its own chunks under parts")
    elif "".join(pieces) != texts[0]:
        site.refuse(f"these pieces do not join to the text: {_first_difference(''.join(pieces), texts[0])}")


def _words(part: Part) -> str:
    match part:
        case ToolUse():
            return part.call.arguments
        case Item():
            return ""
    return part.text


def _first_difference(joined: str, text: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(joined, text, strict=False)) if a != b), min(len(joined), len(text)))
    return f"after {at} character{'s' * (at != 1)} they have {_next(joined, at)}, the text has {_next(text, at)}"


def _next(text: str, at: int) -> str:
    return f'"{text[at : at + 12]}"' if text[at:] else "nothing more"
