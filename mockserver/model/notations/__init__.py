"""Notations of tool calls in text: what prompts of agents show in place of the API's own tools.

Each module here is one notation. Its `read` finds the agent that a prompt describes: the prompt as a call that offers
tools and holds the earlier steps as calls and results, and how the next calls and the last answer are written. Which
tool is called, and with what, is decided as for all calls. Modules are found by being here; only `named_fields` answers
itself, as its notation keeps values besides calls.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import islice
from pkgutil import iter_modules

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Tool, ToolCall, ToolChoice
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.core.plan import Failure, Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.shapes import find_objects, infer_shape, read_loosely
from mockserver.model.tool_uses import list_tool_uses
from mockserver.model.vocabulary import RULING, cut_excerpt

MAX_PROMPT = 50_000  # characters
MAX_TOOLS = 50  # tools and places that are looked at


class TextAgent(Struct, frozen=True):
    """An agent whose tools and calls are text: its prompt as a call, and how calls and the answer are written."""

    call: Call
    write_calls: Callable[[Sequence[ToolCall]], str]
    write_answer: Callable[[str], str]


class AgentStep(Struct, frozen=True):
    """A call that an agent has made: the tool, its input as it was written, and what was observed."""

    name: str
    given: str
    seen: str = ""


Answer = Callable[[Call, Seed, Mapping[str, Json]], DraftChoice]  # in words


def answer_in_notation(call: Call, seed: Seed, answer: Answer) -> DraftChoice | None:
    """Return the next calls of the agent that a prompt describes, or its last answer; None if it describes none."""
    from mockserver.model.notations.named_fields import answer_in_fields

    if (fields := answer_in_fields(call, seed)) is not None:
        return fields
    if (agent := find_text_agent(call)) is None:
        return None
    is_json = call.options.response_format == "json_object"
    with suppress(Failure):  # what the prompt says of a tool's arguments is not a schema after all
        if calls := [use.call for use in list_tool_uses(agent.call, seed) if isinstance(use, ToolUse)]:
            written = agent.write_calls(calls)
            return None if is_json and try_parse(written) is None else DraftChoice((Text(written),))
        options = replace(agent.call.options, response_format="text")
        parts = answer(replace(agent.call, tools=(), options=options), seed, {}).parts
        said = agent.write_answer("\n".join(part.text for part in parts if isinstance(part, Text)))
        return DraftChoice((Text(compact({"answer": said}) if is_json else said),))
    return None


def find_text_agent(call: Call) -> TextAgent | None:
    """Return the agent that a prompt describes; None if it describes none, or the API's own tools are offered."""
    said = call.messages or tuple(Message("user", prompt.text) for prompt in call.prompts)
    in_words = call.options.response_format in ("text", "json_object")
    if call.tools or not in_words or not any("\n" in each.text for each in said):
        return None
    call = replace(call, messages=said, prompts=())
    ruling = [each.text for each in said if each.role in RULING]
    first = next((each.text for each in said if each.role == "user"), "")
    prompt = cut_excerpt("\n".join((*ruling, first, call.last_user if call.last_user != first else "")), MAX_PROMPT)
    return next((agent for read in list_readers() if (agent := read(call, prompt)) is not None), None)


@cache
def list_readers() -> Sequence[Callable[[Call, str], TextAgent | None]]:
    """Return what reads the prompts of each notation: the function `read` of each module here."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return [module.read for module in modules if hasattr(module, "read")]


# What notations have in common


def read_steps(
    call: Call, read_calls: Callable[[str], Iterable[AgentStep]], pattern: re.Pattern[str] | None = None
) -> tuple[str, list[AgentStep]]:
    """Return the last request, and the steps for it: calls in the assistant's texts, and what followed each text.

    `read_calls` finds the calls in a text, before anything was seen. `pattern` finds what is said of a request
    besides: its group `said`, or else nothing of it, is the request.
    """
    request = ""
    steps = list[AgentStep]()
    pending = list[AgentStep]()
    for message in call.messages:
        if message.role in RULING:
            continue
        if message.role == "assistant":
            pending = [*read_calls(message.text)][:MAX_TOOLS]
            continue
        if pending:
            seen = _split_results(message.text, len(pending))
            steps += [replace(step, seen=text) for step, text in zip(pending, seen, strict=True)]
        else:
            request = pattern.sub(r"\g<said>", message.text) if pattern else message.text
            steps = []
        pending = []
    return request, steps


def _split_results(text: str, number: int) -> Sequence[str]:
    """Return what each of so many calls gave: its own of equal tags that hold all of a text, or else the whole text."""
    inner = text.strip()
    if number > 1 and (opening := _OPENING_TAG.match(inner)) is not None:
        *results, rest = [each.strip() for each in inner.split(f"</{opening[1]}>")]
        if len(results) == number and not rest and all(each.startswith(opening[0]) for each in results):
            return [each.removeprefix(opening[0]).strip() for each in results]
    return [_remove_tag(text)] * number


def _remove_tag(text: str) -> str:
    """Return a text without the tag that encloses all of it, if there is one."""
    inner = text.strip()
    opening = _OPENING_TAG.match(inner)
    if opening is None or not inner.endswith(closing := f"</{opening[1]}>"):
        return text
    return inner[opening.end() : -len(closing)].strip()


def make_agent_call(call: Call, request: str, tools: Sequence[Tool], steps: Iterable[AgentStep]) -> Call:
    """Return the call as if its tools, the request and the steps for it had come in the API's own fields."""
    known = {tool.name: tool for tool in tools}
    messages = [Message("user", request.strip())]
    for at, step in enumerate(steps):
        loose = read_loosely(step.given, step.given.find("{")) if step.given.lstrip().startswith("{") else None
        value = try_parse(step.given, loose.value if loose else None)
        only = next(iter(known[step.name].parameters["properties"]), "input") if step.name in known else "input"
        arguments = compact(value) if isinstance(value, Mapping) else compact({only: step.given.strip(" \"'")})
        made = ToolCall(f"step_{at}", step.name, arguments)
        messages += [Message("assistant", tool_calls=(made,)), Message("tool", step.seen.strip(), tool_call_id=made.id)]
    return replace(call, messages=tuple(messages), tools=tuple(tools), tool_choice=ToolChoice("auto"))


def write_keywords(arguments: str) -> str:
    """Return arguments in JSON as Python writes them in a call."""
    value = try_parse(arguments)
    return ", ".join(f"{name}={inner!r}" for name, inner in value.items()) if isinstance(value, Mapping) else ""


def read_tools(prompt: str, names: Sequence[str] = ()) -> list[Tool]:
    """Return the tools of these names, or else all that a prompt lists, with what it says of them."""
    if not names:
        section = _SECTION.search(prompt)
        names = [found[1] for found in islice(_LISTED.finditer(section[1]), MAX_TOOLS)] if section else []
    starts = {}
    for name in islice(dict.fromkeys(names), MAX_TOOLS):
        found = re.search(rf"{_ENTRY}{re.escape(name)}[\"'`*]{{0,3}}(?=[(:,]| -|\n)", prompt)
        starts[name] = found.end() if found else len(prompt)
    ends = sorted((*starts.values(), len(prompt)))
    tools = []
    for name, start in starts.items():
        end = ends[ends.index(start) + 1] if start < len(prompt) else start
        entry = prompt[start : min(end, start + _LONGEST_ENTRY)]
        tools.append(Tool(name, _read_description(entry), _read_parameters(entry)))
    return tools


def read_json_tools(prompt: str) -> Iterator[Tool]:
    """Yield the tools in the JSON of a prompt: objects with a name and parameters or a description."""
    waiting: list[Json] = [found.value for found in find_objects(prompt)][:MAX_TOOLS]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, list):
            waiting = [*value[:MAX_TOOLS], *waiting]
        elif isinstance(value, Mapping) and isinstance(value.get("function"), Mapping):
            waiting.insert(0, value["function"])
        elif isinstance(value, Mapping) and isinstance(value.get("name"), str):
            schema = next((value[key] for key in _SCHEMAS if isinstance(value.get(key), Mapping | list)), None)
            if schema is not None or "description" in value:
                yield Tool(value["name"], str(value.get("description", "")), read_argument_schema(schema or {}))


def _read_description(entry: str) -> str:
    if said := _DESCRIBED.search(entry):
        return (said[1] or said[2])[:900]
    about = re.split(r"\n[ \t]*\n|(?i:\b(?:tool )?(?:args|arguments|parameters)\b\W)", entry, maxsplit=1)[0]
    return re.sub(r"^\([^()\n]*\)", "", about).strip(" \n:->\"'`")[:900] or entry.strip()[:900]


def _read_parameters(entry: str) -> Json:
    """Return the JSON Schema of the parameters in a tool's entry: `args: {…}`, or a signature; else one text."""
    found = _ARGUMENTS.search(entry)
    value = read_loosely(entry, found.end()) if found else None
    if value and isinstance(value.value, Mapping | list):
        return read_argument_schema(value.value)
    signature = _SIGNATURE.match(entry)
    named = _PARAMETER.findall(signature[1]) if signature else [("input", "", "")]
    properties = {name: _read_type(kind.strip() or "string") for name, kind, _ in named if name != "self"}
    required = [name for name, _, default in named if not default and name in properties]
    return {"type": "object", "properties": properties, "required": required}


def read_argument_schema(value: Mapping[str, Json] | list[Json]) -> Json:
    """Return the JSON Schema of arguments as prompts show them: a schema, a type for each name, or a list of both."""
    if isinstance(value, list):
        value = {str(each.get("name")): each for each in value if isinstance(each, Mapping)}
    listed = value.get("properties", value)
    fields = {name: _read_type(each) for name, each in listed.items()} if isinstance(listed, Mapping) else {}
    required = value.get("required")
    needed = required if isinstance(required, list) else [name for name in fields if "default" not in fields[name]]
    return {"type": "object", "properties": fields, "required": [name for name in needed if name in fields]}


def _read_type(said: Json) -> Json:
    if not isinstance(said, Mapping):
        return infer_shape(str(said))
    kind = said.get("type")
    about = {"description": said["description"]} if said.get("description") else {}
    said = {key: inner for key, inner in said.items() if key != "required" or isinstance(inner, list)}
    return {**said, **(infer_shape(kind) if isinstance(kind, str) else {})} | about


_SCHEMAS = ("parameters", "input_schema", "inputSchema", "args", "arguments")
_OPENING_TAG = compile_lazily(r"<(\w{1,40})>")
_LONGEST_ENTRY = 1_500  # characters that are read of a tool
_ENTRY = r"(?m)^[ \t>*#(\d.)-]{0,12}(?:Tool Name:|name:|def )?[ \t\"'`*]{0,6}"
_DESCRIBED = compile_lazily(r"\bDescription:[ \t]*((?:[^\n]+\n?)+)|<desc>((?s:.{0,900}?))</desc>")
_ARGUMENTS = compile_lazily(r"(?i)\b(?:args|arguments|parameters|inputs?|schema)\b[\"']?\s*:?\s*(?=\{|\[\{)")
_SIGNATURE = compile_lazily(r"\s*\(((?:[^()\n]|\([^()\n]*\)){0,500})\)")
_PARAMETER = compile_lazily(r"(\w+)\s*(?::\s*((?:[^,=\[\]]|\[[^\]]*\])+))?\s*(=)?[^,]*(?:,|$)")
_SECTION = compile_lazily(r"(?i)\b(?:tools?|functions?|actions?)\b[^\n]{0,80}:[ \t]*\n\s*((?:[^\n]+\n)+)")
_LISTED = compile_lazily(
    r"(?m)^[ \t>*\d.)-]{0,12}[`*\"]{0,3}([a-zA-Z_]\w{1,60})[`*]*(?:\([^()\n]{0,300}\))?[^\n:]{0,60}?(?::| -)[ \t]+\S"
)
