"""Answers of named fields, as DSPy's prompts order them: `[[ ## answer ## ]]`, or JSON with these fields."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice

from msgspec.structs import replace

from mockserver.core.call import Call, Message, ToolCall, ToolChoice
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.core.plan import Failure, Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.arguments import find_mentions
from mockserver.model.notations import read_tools
from mockserver.model.orders import Request, compute, obey
from mockserver.model.passages import describe_results, find_passage
from mockserver.model.prose import Speaker, find_topic
from mockserver.model.schema import generate_instance
from mockserver.model.shapes import read_loosely, read_note
from mockserver.model.tool_uses import list_tool_uses
from mockserver.model.vocabulary import cut_excerpt, make_vocabulary, split_name


def answer_in_fields(call: Call, seed: Seed) -> DraftChoice | None:
    """Return the fields that a prompt asks for; None if it asks for none.

    Where the prompt lists tools, they are the next one and its arguments, and after observations the tool that ends.
    """
    tail = call.last_user[-_LONGEST_ORDER:]
    order = _ORDER.search(tail) if "Respond with" in tail and _MARK in call.last_user else None
    asked = {found[1]: found[2] or "str" for found in _ASKED.finditer(order[1])} if order else {}
    if order is None or not asked:  # or the calls of native tools are all that is wanted
        return None
    rules = cut_excerpt("\n".join(message.text for message in call.messages if message.role != "user"), _MOST_READ)
    said = cut_excerpt(call.last_user, _MOST_READ).removesuffix(order[0])
    given = {name: text.strip() for name, text in _FIELD.findall(said)}
    inputs = rules.partition("output fields")[0]
    own = _make_schema(asked, rules)
    task = "\n".join(text for name, text in given.items() if name in inputs and name not in ("trajectory", "tools"))
    listed = try_parse(given.get("tools", ""))
    told = "\n".join((rules, *(str(each) for each in (listed if isinstance(listed, list) else ()))))
    tools = tuple(read_tools(told, names)) if (names := _TOOL.findall(told)) else ()
    inner = replace(call, messages=(Message("user", task), *_read_steps(given)), tools=tools)
    values = _fill_texts(inner, [name for name, kind in asked.items() if kind == "str"], seed)
    if (result := compute(task)) is not None:
        numeric = [name for name, kind in asked.items() if kind in ("int", "float") and {*split_name(name)} & _ANSWERS]
        values |= dict.fromkeys(numeric, try_parse(result))
    if calls := [name for name in asked if "tool_calls" in own["properties"][name].get("properties", ())]:
        uses = list_tool_uses(replace(inner, tool_choice=ToolChoice("required")), seed)
        made = [
            {"name": use.call.name, "args": try_parse(use.call.arguments)} for use in uses if isinstance(use, ToolUse)
        ]
        values |= {key: {"tool_calls": made} for key in calls}
    elif inner.tools:
        values |= _choose_step(inner, asked, seed)
    schema = call.options.schema or own
    try:
        filled = generate_instance(schema, seed.branch("schema"), find_mentions(cut_excerpt(task)).add_stated(values))
    except Failure:
        if call.options.schema:
            raise
        return None  # only the schema of a request is refused
    if call.options.response_format != "text" or "JSON" in order[0][:_OPENING]:
        return DraftChoice((Text(compact(filled)),))
    written = {name: filled[name] if isinstance(filled[name], str) else compact(filled[name]) for name in asked}
    written |= {name: str(filled[name]) for name in asked if isinstance(filled[name], bool)}
    shown = "".join(f"{_MARK}{name} ## ]]\n{text}\n\n" for name, text in written.items())
    return DraftChoice((Text(f"{shown}{_MARK}completed ## ]]"),))


def _choose_step(call: Call, asked: Mapping[str, str], seed: Seed) -> dict[str, Json]:
    """Return the next tool and its arguments.

    After an observation it is only what is still to be done, then the tool that ends.
    """
    ends = next((tool for tool in call.tools if split_name(tool.name)[-1:] == ("finish",)), call.tools[-1])
    mode = "auto" if len(call.messages) > 1 else "required"
    work = replace(call, tools=tuple(tool for tool in call.tools if tool != ends), tool_choice=ToolChoice(mode))
    use = next((use for use in list_tool_uses(work, seed) if isinstance(use, ToolUse)), None)
    name, arguments = (use.call.name, try_parse(use.call.arguments)) if use else (ends.name, {})
    thought = f"I need to call {name} for this." if use else "The observations are enough to answer."
    said = {"name": name, "arg": arguments}
    return {field: said.get(split_name(field)[-1], thought) for field in asked}


def _fill_texts(call: Call, fields: Sequence[str], seed: Seed) -> dict[str, Json]:
    """Return thoughts for fields of reasoning; for an answer a result, a sentence of the prompt, or prose."""
    about = find_topic(call)
    rng = seed.stream("fields")
    asked = Request(about.text, "", about)
    speaker = Speaker(about, rng)
    values: dict[str, Json] = {}
    for name in fields:
        if name == fields[-1] and (results := describe_results(call)):
            values[name] = results
        elif {*split_name(name)} & _THOUGHTS:
            values[name] = next(speaker.write_thoughts())
        elif {*split_name(name)} & _ANSWERS:
            values[name] = obey(asked, rng) or find_passage(call, about) or next(speaker.write_sentences())[0]
    return values


def _read_steps(given: Mapping[str, str]) -> Iterator[Message]:
    """Yield the trajectory as calls of tools and their results, without the one that ends."""
    given = {**given, **{name: text.strip() for name, text in _TAGGED.findall(given.get("trajectory", ""))}}
    for at in islice(count(), _MOST_STEPS):
        if f"tool_name_{at}" not in given:
            return
        if given[f"tool_name_{at}"] == "finish":
            continue
        made = ToolCall(str(at), given[f"tool_name_{at}"], given.get(f"tool_args_{at}", "{}"))
        yield Message("assistant", tool_calls=(made,))
        yield Message("tool", given.get(f"observation_{at}", ""), tool_call_id=str(at))


def _make_schema(asked: Mapping[str, str], rules: str) -> dict[str, Json]:
    """Return the schema of all fields; that of one keeps its references to its own definitions."""
    properties: dict[str, Json] = {}
    for name, kind in asked.items():
        stated = re.search(rf"\{{{name}\}}[^\n]{{0,300}}JSON schema: (?=\{{)", rules)
        found = read_loosely(rules, stated.end()) if stated else None
        schema = found.value if found else read_note(kind) or {"type": "string"}
        properties[name] = {"$id": f"urn:field:{name}", **schema} if "$defs" in schema else schema
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_THOUGHTS = make_vocabulary("reasoning rationale thought")
_ANSWERS = make_vocabulary("answer response reply output")
_MARK = "[[ ## "
_OPENING = 40  # characters
_MOST_READ = 50_000  # characters
_LONGEST_ORDER = 5_000  # characters
_MOST_STEPS = 100  # characters
_FIELD = compile_lazily(r"\[\[ ## (\w{1,60}) ## \]\]\n(.*?)(?=\n\[\[ ## |\Z)", re.DOTALL)
_TAGGED = compile_lazily(r"<((?:tool_name|tool_args|observation)_\d{1,3})>(.{0,8000}?)</\1>", re.DOTALL)
_ORDER = compile_lazily(r"Respond with (?:the corresponding output fields|a JSON object)([^\n]*)\s*$")
_ASKED = compile_lazily(
    r"`(?:\[\[ ## )?(?!completed)(\w{1,60})(?: ## \]\])?`"
    r"(?: \(must be formatted as a valid Python ([^\n]{1,2000}?)\)(?=, then|, and|\.|$))?"
)
_TOOL = compile_lazily(r"(?m)^(?:\s*\(\d{1,3}\) )?(\w{1,60}), whose description is")
