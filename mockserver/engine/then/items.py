"""Items of a response compiled: what every answer can say becomes its parts, the rest the wire keys of a tool's use."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from mockserver.core.call import Json
from mockserver.core.plan import Part, Reasoning, Refusal, Text
from mockserver.core.tokens import Chunks
from mockserver.engine.own_tools import item
from mockserver.engine.recipe import Recipe, both
from mockserver.engine.spec.items import CustomToolCallSpec, FunctionCallSpec, ItemSpec, MessageSpec, ReasoningSpec
from mockserver.engine.spec.models import ToolCallSpec
from mockserver.engine.then.json_text import json_value
from mockserver.engine.then.site import Site
from mockserver.engine.then.tool_uses import tool_use


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
        yield _text(message.text, message.annotations, partial(Text, chunks=cut, apart=True), site)
    if message.annotations and message.content is not None:
        site.at("annotations").refuse_key('"annotations" are of the text; put them into its part')
    for at, part in enumerate(message.content or ()):
        here, apart = site.at("content", at), at == 0
        if part.type == "refusal":
            yield here.at("refusal").text(part.refusal).into(partial(Refusal, chunks=cut))
        else:
            yield _text(part.text, part.annotations, partial(Text, chunks=cut, apart=apart), here)


def _text(text: str, notes: list[dict[str, Json]] | None, make: Callable[..., Text], site: Site) -> Recipe[Part]:
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
