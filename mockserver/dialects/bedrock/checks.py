"""Mistakes in Converse requests that no type can express, in Bedrock's words. The first is sent."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._parse import Body, clip

Problems = Iterator[tuple[str, str]]  # the place of each, and the message
Check = Callable[[Body], Problems]


def check_converse(body: Body, *, model: str, validation: Validation, is_plain: bool) -> None:
    """Raise the Failure of a Converse request with the right types that Bedrock refuses.

    `is_plain`: it has no tools, and its turns and instructions are texts in which nothing is wrong.
    """
    turns = body.get("messages")
    if not turns and not _names_prompt(model):
        raise refuse(NO_MESSAGES)
    checks: Sequence[Check] = () if is_plain else _CHECKS
    live = () if takes_repeated(model) else (find_repeated,)
    for check in (*checks, *(live if validation is Validation.LIVE else ())):
        for _, message in check(body):
            raise refuse(message)


def refuse(message: str) -> Failure:
    """Return the Failure of a request that Bedrock refuses in these words."""
    return Failure("bad_parameter", message)


def _names_prompt(model: str) -> bool:
    """Return whether a model is the ARN of a prompt, which has messages of its own."""
    return model.startswith("arn:") and ":prompt/" in model


def takes_repeated(model: str) -> bool:
    """Return whether neighbouring turns of a model's conversations may have one role: those of Amazon's may."""
    return "amazon." in model


def find_empty(body: Body) -> Problems:
    """Yield turns without content, and empty texts."""
    for at, turn in enumerate(body.get("messages") or ()):
        if not turn.get("content"):
            yield f"messages.{at}", _EMPTY.format(at)
        for index, block in enumerate(turn.get("content") or ()):
            yield from _find_blank(block, f"messages.{at}.content.{index}", "ContentBlock")
    for at, block in enumerate(body.get("system") or ()):
        yield from _find_blank(block, f"system.{at}", "SystemContentBlock")


def _find_blank(block: Body, place: str, kind: str) -> Problems:
    if block.get("text") == "":
        yield place, _BLANK.format(kind, place)


def find_misnamed_documents(body: Body) -> Problems:
    """Yield documents whose name has letters that Bedrock refuses."""
    for at, turn in enumerate(body.get("messages") or ()):
        for index, block in enumerate(turn.get("content") or ()):
            name = (block.get("document") or {}).get("name")
            if isinstance(name, str) and not _DOCUMENT_NAME.fullmatch(name):
                yield f"messages.{at}.content.{index}", _MISNAMED


def find_unions(body: Body) -> Problems:
    """Yield objects that have none of the members of their union, or several."""
    for at, turn in enumerate(body.get("messages") or ()):
        for index, block in enumerate(turn.get("content") or ()):
            place = f"messages.{at}.content.{index}"
            yield from _check_union(block, "ContentBlock", place=place, members=CONTENT)
            if result := block.get("toolResult"):
                for inner, each in enumerate(result.get("content") or ()):
                    where = f"{place}.toolResult.content.{inner}"
                    yield from _check_union(each, "ToolResultContentBlock", place=where, members=_RESULT)
            for kind in ("image", "document", "video", "audio"):
                if media := block.get(kind):
                    source = media.get("source") or {}
                    name = f"{kind.capitalize()}Source"
                    yield from _check_union(source, name, place=f"{place}.{kind}.source", members=_SOURCE)
    for at, block in enumerate(body.get("system") or ()):
        yield from _check_union(block, "SystemContentBlock", place=f"system.{at}", members=_SYSTEM)
    config: Body = body.get("toolConfig") or {}
    for at, tool in enumerate(config.get("tools") or ()):
        yield from _check_union(tool, "Tool", place=f"toolConfig.tools.{at}", members=_TOOL)
    if choice := config.get("toolChoice"):
        yield from _check_union(choice, "ToolChoice", place="toolConfig.toolChoice", members=("auto", "any", "tool"))


def _check_union(value: Body, kind: str, place: str, members: Sequence[str]) -> Problems:
    found = [name for name in members if value.get(name) is not None]
    if len(found) != 1:
        what = "one of the following keys" if not found else "only one of the following keys"
        yield place, f"{kind} object at {place} must set {what}: {', '.join(members)}."


def find_untyped_inputs(body: Body) -> Problems:
    """Yield tools whose input is not an object."""
    for at, tool in enumerate((body.get("toolConfig") or {}).get("tools") or ()):
        held: Body = (tool.get("toolSpec") or {}).get("inputSchema") or {}
        place = f"toolConfig.tools.{at}.toolSpec.inputSchema.json"
        schema = held.get("json")
        if schema is None:
            continue
        if not isinstance(schema, Mapping):
            yield (
                place,
                f"The format of the value at {place} is invalid. Provide a json object for the field and try again.",
            )
        elif schema.get("type") != "object":
            yield place, f"The value at {place}.type must be one of the following: object."


def find_unanswered(body: Body) -> Problems:
    """Yield calls without an immediate result."""
    for at, calls, results in _list_exchanges(body):
        answered = {result.get("toolUseId") for result in results}
        open_ids = [str(call.get("toolUseId")) for call in calls if call.get("toolUseId") not in answered]
        if open_ids:
            yield f"messages.{at}", _UNANSWERED.format(at, clip(", ".join(open_ids), 400))


def find_excess(body: Body) -> Problems:
    """Yield turns with more results than the turn before has calls."""
    for at, calls, results in _list_exchanges(body):
        if len(results) > len(calls):
            yield f"messages.{at}", _EXCESS.format(at)


def _list_exchanges(body: Body) -> Iterator[tuple[int, list[Body], list[Body]]]:
    """Yield each turn's place with its results, and the calls of the assistant's turn before it."""
    calls = list[Body]()
    turns = body.get("messages") or ()
    for at, turn in enumerate(turns):
        content = turn.get("content") or ()
        results = [block["toolResult"] for block in content if block.get("toolResult")]
        if turn.get("role") == "assistant":  # the assistant's turn has the results of the provider's own tools
            answered = {result.get("toolUseId") for result in results}
            calls += [
                use for block in content if (use := block.get("toolUse")) and use.get("toolUseId") not in answered
            ]
            if at + 1 == len(turns) and calls:
                yield at + 1, calls, []
            continue
        if calls or results:
            yield at, calls, results
        calls = []


def find_undefined(body: Body) -> Problems:
    """Yield the first tool block of a request that offers no tools."""
    if (body.get("toolConfig") or {}).get("tools"):
        return
    for at, turn in enumerate(body.get("messages") or ()):
        for index, block in enumerate(turn.get("content") or ()):
            if block.get("toolUse") or block.get("toolResult"):
                yield f"messages.{at}.content.{index}", _UNDEFINED


def find_failed(body: Body) -> Problems:
    """Yield failed results that do not explain their error."""
    for at, turn in enumerate(body.get("messages") or ()):
        for index, block in enumerate(turn.get("content") or ()):
            result: Body = block.get("toolResult") or {}
            if result.get("status") == "error" and not result.get("content"):
                place = f"messages.{at}.content.{index}.toolResult"
                yield place, f"The content field at {place} cannot be empty when status value is error."


def find_repeated(body: Body) -> Problems:
    """Yield turns with the role of the one before."""
    turns = body.get("messages") or ()
    for at, (before, turn) in enumerate(pairwise(turns), start=1):
        if before.get("role") == turn.get("role"):
            yield f"messages.{at}", _REPEATED


_CHECKS = (
    find_empty,
    find_unions,
    find_untyped_inputs,
    find_misnamed_documents,
    find_unanswered,
    find_excess,
    find_undefined,
    find_failed,
)
CONTENT = (
    "text", "image", "toolUse", "toolResult", "document", "video", "audio", "cachePoint", "reasoningContent",
    "guardContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval",
)  # fmt: skip
_RESULT = ("text", "image", "document", "json", "video", "searchResult")
_SOURCE = ("bytes", "s3Location", "text", "content")
_SYSTEM = ("text", "guardContent", "cachePoint")
_TOOL = ("toolSpec", "systemTool", "cachePoint")
NO_MESSAGES = (
    "A conversation must start with a user message. Try again with a conversation that starts with a user message."
)
_EMPTY = (
    "The content field in the Message object at messages.{} is empty. "
    "Add a ContentBlock object to the content field and try again."
)
_BLANK = "The text field in the {} object at {} is blank. Add text to the text field, and try again."
_DOCUMENT_NAME = re.compile(r"(?:[a-zA-Z0-9_()\[\]-]|\s(?!\s))+")
_MISNAMED = (
    "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and "
    "square brackets. The name can't contain more than one consecutive whitespace character."
)
_UNANSWERED = "Expected toolResult blocks at messages.{}.content for the following Ids: {}"
_EXCESS = (
    "The number of toolResult blocks at messages.{}.content exceeds the number of toolUse blocks of previous turn."
)
_UNDEFINED = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
_REPEATED = (
    "A conversation must alternate between user and assistant roles. "
    "Make sure the conversation alternates between user and assistant roles and try again."
)
