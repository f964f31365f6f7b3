"""Items of a response compiled: what every answer can say becomes its parts, the rest the wire keys of a tool's use.

Keys that the API requires and a rule leaves out are filled in; an empty `call_id` or `container_id` is made later, that
of an output being the one of the call before it.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pydantic_core import to_json

from mockserver.core.call import Json
from mockserver.core.plan import Item, Part, Reasoning, Refusal, Text
from mockserver.core.tokens import Chunks
from mockserver.engine.spec.items import CustomToolCallSpec, FunctionCallSpec, ItemSpec, MessageSpec, ReasoningSpec
from mockserver.engine.spec.models import ToolCallSpec
from mockserver.engine.then.json_text import json_value
from mockserver.engine.then.recipe import Recipe, both
from mockserver.engine.then.site import Site
from mockserver.engine.then.tool_uses import tool_use

Given = Mapping[str, Json]


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
            yield given.into(partial(_item, hosted.type, cut))


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


def _item(kind: str, cut: Chunks, given: Given) -> Part:
    ended = {"status": given["status"]} if "status" in given else {}
    rest = {key: value for key, value in given.items() if key != "status"}
    return Item(kind, {**_BODIES[kind](rest), **ended}, cut)


def _web_search(given: Given) -> Given:
    action = given.get("action") or {"type": "search", **given}
    if action["type"] != "search":
        return {"action": action}
    queries = action.get("queries") or [action.get("query") or ""]
    found_at = [source if isinstance(source, str) else source["url"] for source in action.get("sources", ())]
    sources = [{"type": "url", "url": url} for url in found_at]
    found = {"sources": sources} if "sources" in action else {}
    return {"action": {"type": "search", "queries": queries, "query": action.get("query", queries[0]), **found}}


def _file_search(given: Given) -> Given:
    results = given.get("results")
    found = None if results is None else [{**_NO_RESULT, **result} for result in results]
    return {"queries": given.get("queries") or [given.get("query")], "results": found}


def _code(given: Given) -> Given:
    return {"code": given["code"], "container_id": given.get("container_id", ""), "outputs": given.get("outputs")}


def _computer(given: Given) -> Given:
    checks = [{"id": "", "code": None, "message": None, **check} for check in given.get("pending_safety_checks", ())]
    done = {"action": _action(given["action"])} if "action" in given else {}
    several = {"actions": [_action(action) for action in given["actions"]]} if "actions" in given else {}
    return {"call_id": given.get("call_id", ""), **done, **several, "pending_safety_checks": checks}


def _action(action: Given) -> Given:
    return {**_ACTION_DEFAULTS.get(action["type"], {}), **action}


def _mcp_call(given: Given) -> Given:
    error = given.get("error")
    if isinstance(error, str):
        error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": error}]}
    return {
        "approval_request_id": given.get("approval_request_id"),
        "arguments": _arguments(given),
        "error": error,
        "name": given["name"],
        "output": given.get("output"),
        "server_label": given["server_label"],
    }


def _mcp_tools(given: Given) -> Given:
    tools = [{**_NO_TOOL, **tool} for tool in given.get("tools", ())]
    return {"server_label": given["server_label"], "tools": tools, "error": given.get("error")}


def _mcp_approval(given: Given) -> Given:
    return {"arguments": _arguments(given), "name": given["name"], "server_label": given["server_label"]}


def _arguments(given: Given) -> str:
    arguments = given.get("arguments", "{}")
    return arguments if isinstance(arguments, str) else to_json(arguments).decode()


def _local_shell(given: Given) -> Given:
    action = given.get("action") or {"command": given.get("command")}
    return {"call_id": given.get("call_id", ""), "action": {"type": "exec", "env": {}, **action}}


def _shell(given: Given) -> Given:
    action = given.get("action") or {"commands": given.get("commands")}
    limits = {"max_output_length": None, "timeout_ms": None}
    environment = given.get("environment", {"type": "local"})
    return {"call_id": given.get("call_id", ""), "action": {**limits, **action}, "environment": environment}


def _patch(given: Given) -> Given:
    operation = given["operation"]
    diff = {} if operation["type"] == "delete_file" else {"diff": operation.get("diff", "")}
    return {"call_id": given.get("call_id", ""), "operation": {**operation, **diff}}


def _shell_output(given: Given) -> Given:
    printed = [_printed(output) for output in given["output"]]
    return {
        "call_id": given.get("call_id", ""),
        "output": printed,
        "max_output_length": given.get("max_output_length"),
    }


def _printed(output: Given) -> Given:
    exited = {"type": "exit", "exit_code": output.get("exit_code", 0)}
    outcome = {"type": "timeout"} if output.get("timed_out") else exited
    return {"outcome": outcome, "stderr": output.get("stderr", ""), "stdout": output.get("stdout", "")}


def _patch_output(given: Given) -> Given:
    return {"call_id": given.get("call_id", ""), "output": given.get("output")}


_NO_RESULT: Given = {"file_id": None, "filename": None, "score": None, "text": None, "attributes": {}}
_NO_TOOL: Given = {"name": "", "description": None, "input_schema": {"type": "object"}, "annotations": None}
_ACTION_DEFAULTS: Mapping[str, Given] = {"click": {"button": "left"}, "scroll": {"scroll_x": 0, "scroll_y": 0}}
# Of these keys an item has exactly one.
_WAYS: Mapping[str, tuple[str, ...]] = {
    "web_search_call": ("query", "action"),
    "file_search_call": ("query", "queries"),
    "computer_call": ("action", "actions"),
    "local_shell_call": ("command", "action"),
    "shell_call": ("commands", "action"),
}
_BODIES: Mapping[str, Callable[[Given], Given]] = {
    "web_search_call": _web_search,
    "file_search_call": _file_search,
    "code_interpreter_call": _code,
    "image_generation_call": dict,
    "computer_call": _computer,
    "mcp_call": _mcp_call,
    "mcp_list_tools": _mcp_tools,
    "mcp_approval_request": _mcp_approval,
    "local_shell_call": _local_shell,
    "shell_call": _shell,
    "shell_call_output": _shell_output,
    "apply_patch_call": _patch,
    "apply_patch_call_output": _patch_output,
}
