"""What an answer says: texts, JSON, refusals, tool calls and reasoning become the parts of a choice."""

from collections.abc import Iterator
from dataclasses import replace

from mockserver.core.call import Json
from mockserver.core.plan import Item, Part, Reasoning, Refusal, Text, ToolUse
from mockserver.core.tokens import Chunks as Cut
from mockserver.engine.draft import AT_THE_END, DraftChoice
from mockserver.engine.recipe import Recipe, both, fixed, together
from mockserver.engine.spec.models import Chunks, ContentSpec, FilterSpec, PartSpec, SizeSpec
from mockserver.engine.then.items import compile_item
from mockserver.engine.then.json_text import json_text, json_value
from mockserver.engine.then.safety import check_filter, verdicts
from mockserver.engine.then.site import Site
from mockserver.engine.then.tool_uses import tool_use

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


def cut_of(chunks: Chunks | None) -> Cut:
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
    for index, item in enumerate(content.items or ()):
        yield from compile_item(item, before, site.at("items", index))
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
