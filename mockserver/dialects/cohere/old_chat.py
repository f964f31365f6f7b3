"""Chat and generate of v1 (https://docs.cohere.com/v1/reference/chat): before messages, a text with its history."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.json import encode

from mockserver.core.call import Call, Message, Options, Prompt, Tool, ToolCall, ToolChoice
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json, compact
from mockserver.core.plan import Answer
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._parse import (
    Body,
    Complaint,
    complain,
    read_request,
)
from mockserver.dialects._reply import make_json_reply, merge_headers, prepend_lines
from mockserver.dialects.cohere.bodies import GENERATE, NAME, OLD_CHAT
from mockserver.dialects.cohere.errors import EMPTY_MESSAGE, make_old_error_event, make_refuse, write_header_lines
from mockserver.dialects.cohere.request import FINISHES, IDS, attach_documents, count_part, read_options
from mockserver.wire.cohere_v1 import OldOptions, make_generation, make_old_chat, stream_generation, stream_old_chat

USUAL_MODEL = "command-a-03-2025"
LINES_TYPE = "content-type: application/stream+json\r\n"


def make_old_chat_operations() -> tuple[Operation, Operation]:
    return (
        Operation(
            "chat",
            "POST",
            "/v1/chat",
            parse=_parse_chat,
            render=_render_chat,
            error=make_old_error_event,
            body=lambda text: {"message": text},
        ),
        Operation(
            "completions",
            "POST",
            "/v1/generate",
            parse=_parse_generate,
            render=_render_generate,
            error=make_old_error_event,
        ),
    )


def _parse_chat(http: HttpRequest, validation: Validation) -> Call:
    refuse = make_refuse("v1/reference/chat")
    body, parsed = read_request(OLD_CHAT, http, refuse=refuse, validation=validation, is_closed=True)
    if not (parsed.get("message") or parsed.get("tool_results")):
        if parsed.get("message") is None:
            raise refuse(Complaint("missing", ("message",)))
        if validation is not Validation.OFF:
            raise refuse(complain(EMPTY_MESSAGE, "message"))
    tools = tuple(map(_read_tool, parsed.get("tools") or ()))
    return Call(
        dialect=NAME,
        operation="chat",
        model=parsed.get("model") or USUAL_MODEL,
        http=http,
        meaning=_find_meaning(body, "chat"),
        raw=body,
        messages=attach_documents(
            [*_read_messages(parsed)], _list_documents(parsed), is_citable=parsed.get("citation_quality") != "off"
        ),
        tools=tools,
        tool_choice=ToolChoice("auto" if tools else "none"),
        stream=parsed.get("stream") is True,
        ids=IDS,
        finishes=FINISHES,
        part_tokens=count_part,
        options=read_options(parsed),
    )


def _read_messages(body: Body) -> Iterator[Message]:
    if preamble := body.get("preamble"):
        yield Message("system", preamble)
    turns = body.get("chat_history") or ()
    for at, turn in enumerate(turns):
        role = turn["role"].upper()
        if role == "TOOL":
            yield from _read_results(turn.get("tool_results") or (), f"history {at}")
            continue
        calls = [
            _read_call(made, f"history {at + 1}", number) for number, made in enumerate(turn.get("tool_calls") or ())
        ]
        yield Message(_ROLES[role], turn["message"], tool_calls=tuple(calls))
    if text := body.get("message"):
        yield Message("user", text)
    if results := body.get("tool_results"):
        if text or not (turns and turns[-1].get("tool_calls")):  # the calls that the client leaves out
            calls = [_read_call(each["call"], f"history {len(turns)}", at) for at, each in enumerate(results)]
            yield Message("assistant", tool_calls=tuple(calls))
        yield from _read_results(results, f"history {len(turns)}")


def _read_call(call: Body, place: str, at: int) -> ToolCall:
    return ToolCall(f"{place}.{at}", call["name"], compact(call["parameters"]))


def _read_results(results: Any, place: str) -> Iterator[Message]:
    for at, result in enumerate(results):
        outputs = result["outputs"]
        text = compact(outputs[0] if len(outputs) == 1 else outputs)
        yield Message("tool", text, tool_call_id=f"{place}.{at}", name=result["call"]["name"])


def _read_tool(tool: Body) -> Tool:
    """Return a tool with a JSON Schema of its parameters, whose types are those of Python."""
    stated = tool.get("parameter_definitions") or {}
    properties = {name: {**_find_schema(each["type"]), **_describe(each)} for name, each in stated.items()}
    required = [name for name, each in stated.items() if each.get("required")]
    return Tool(tool["name"], tool["description"], {"type": "object", "properties": properties, "required": required})


def _describe(parameter: Body) -> Body:
    return {"description": parameter["description"]} if parameter.get("description") else {}


def _find_schema(kind: str) -> Body:
    front = kind.lower().partition("[")[0]
    if front == "list":
        inner = kind[len(front) + 1 : -1]
        return {"type": "array", **({"items": _find_schema(inner)} if inner else {})}
    return {"type": _TYPES.get(front, front)} if front in _TYPES or front in _TYPES.values() else {}


def _find_meaning(body: Body, operation: str) -> dict[str, Json]:
    kept = find_meaning(body, NAME, f"{operation} v1")
    kept.pop("priority", None)
    for key in ("tools", "response_format"):  # a model writes keys in their order
        if kept.get(key):
            kept[key] = encode(kept[key]).decode()
    return {"model": USUAL_MODEL, **kept}


def _render_chat(call: Call, outcome: Answer) -> Reply:
    raw = call.raw
    asked = ({"role": "USER", "message": raw["message"]},) if raw.get("message") else ()
    options = OldOptions(history=(*(raw.get("chat_history") or ()), *asked), documents=_list_documents(raw))
    if call.stream:
        return _make_stream_reply(call, outcome, stream_old_chat(outcome, options))
    return _make_json_reply(call, outcome, make_old_chat(outcome, options))


def _list_documents(body: Body) -> tuple[Body, ...]:
    return tuple([{"id": f"doc_{at}", **each} for at, each in enumerate(body.get("documents") or ())])


def _parse_generate(http: HttpRequest, validation: Validation) -> Call:
    refuse = make_refuse("v1/reference/generate")
    body, parsed = read_request(GENERATE, http, refuse=refuse, validation=validation, is_closed=True)
    prompt = parsed["prompt"]
    return Call(
        dialect=NAME,
        operation="completions",
        model=parsed.get("model") or USUAL_MODEL,
        http=http,
        meaning=_find_meaning(body, "completions"),
        raw=body,
        messages=(Message("user", prompt),),
        prompts=(Prompt(prompt),),
        stream=parsed.get("stream") is True,
        ids=IDS,
        finishes=FINISHES,
        options=Options(
            n=parsed.get("num_generations") or 1,
            max_tokens=parsed.get("max_tokens"),
            stop=(*(parsed.get("stop_sequences") or ()), *(parsed.get("end_sequences") or ())),
            seed=parsed.get("seed"),
        ),
    )


def _render_generate(call: Call, outcome: Answer) -> Reply:
    prompt = str(call.raw["prompt"])
    if call.stream:
        return _make_stream_reply(call, outcome, stream_generation(outcome, prompt))
    return _make_json_reply(call, outcome, make_generation(outcome, prompt))


def _make_json_reply(call: Call, answer: Answer, body: Mapping[str, Json]) -> Reply:
    return make_json_reply(
        200, body, lines=write_header_lines(call.http, call), headers=answer.headers, tokens=answer.weight
    )


def _make_stream_reply(call: Call, answer: Answer, frames: Any) -> Reply:
    reply = Reply(200, merge_headers(HeaderLines(LINES_TYPE), answer.headers), frames=frames)
    return prepend_lines(reply, write_header_lines(call.http, call))


_ROLES = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system"}
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
