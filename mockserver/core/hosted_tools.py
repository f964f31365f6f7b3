"""Items of an answer for uses of the provider's own tools: expands short forms and adds the keys that the API requires.

Rules and the model share it. An empty `call_id`, `container_id` or `result` is filled in later; an output gets the id
of its call.
"""

from collections.abc import Callable, Mapping

from pydantic_core import to_json

from mockserver.core.json import Json, compact
from mockserver.core.plan import Item
from mockserver.core.tokens import Chunks

Given = Mapping[str, Json]


def make_item(kind: str, given: Given, *, chunks: Chunks = "token") -> Item:
    """Return the item of a kind such as `web_search_call` from the keys of the API or from short forms.

    Kinds without short forms are in the API's form.
    """
    ended = {"status": given["status"]} if "status" in given else {}
    rest = {key: value for key, value in given.items() if key != "status"}
    return Item(kind, {**BODIES.get(kind, dict)(rest), **ended}, chunks)


def _expand_web_search(given: Given) -> Given:
    action = given.get("action") or {"type": "search", **given}
    if action["type"] != "search":
        return {"action": action}
    queries = action.get("queries") or [action.get("query") or ""]
    found_at = [source if isinstance(source, str) else source["url"] for source in action.get("sources", ())]
    sources = [{"type": "url", "url": url} for url in found_at]
    found = {"sources": sources} if "sources" in action else {}
    return {"action": {"type": "search", "query": action.get("query", queries[0]), "queries": queries, **found}}


def _expand_file_search(given: Given) -> Given:
    results = given.get("results")
    found = None if results is None else [{**_NO_RESULT, **result} for result in results]
    return {"queries": given.get("queries") or [given.get("query")], "results": found}


def _expand_code(given: Given) -> Given:
    return {"code": given["code"], "container_id": given.get("container_id", ""), "outputs": given.get("outputs")}


def _expand_image(given: Given) -> Given:
    return {"result": "", **given}


def _expand_computer(given: Given) -> Given:
    checks = [{"id": "", "code": None, "message": None, **check} for check in given.get("pending_safety_checks", ())]
    done = {"action": _fill_action(given["action"])} if "action" in given else {}
    several = {"actions": [_fill_action(action) for action in given["actions"]]} if "actions" in given else {}
    return {"call_id": given.get("call_id", ""), **done, **several, "pending_safety_checks": checks}


def _fill_action(action: Given) -> Given:
    return {**_ACTION_DEFAULTS.get(action["type"], {}), **action}


def _expand_mcp_call(given: Given) -> Given:
    error = given.get("error")
    if isinstance(error, str):
        error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": error}]}
    return {
        "approval_request_id": given.get("approval_request_id"),
        "arguments": _write_arguments(given),
        "error": error,
        "name": given["name"],
        "output": given.get("output"),
        "server_label": given["server_label"],
    }


def _expand_mcp_tools(given: Given) -> Given:
    tools = [{**_NO_TOOL, **tool} for tool in given.get("tools", ())]
    return {"server_label": given["server_label"], "tools": tools, "error": given.get("error")}


def _expand_mcp_approval(given: Given) -> Given:
    return {"arguments": _write_arguments(given), "name": given["name"], "server_label": given["server_label"]}


def _write_arguments(given: Given) -> str:
    arguments = given.get("arguments", "{}")
    return arguments if isinstance(arguments, str) else to_json(arguments).decode()


def _expand_local_shell(given: Given) -> Given:
    action = given.get("action") or {"command": given.get("command")}
    ordered = {"type": "exec", "command": action.get("command"), "env": {}, **action}
    return {"call_id": given.get("call_id", ""), "action": ordered}


def _expand_shell(given: Given) -> Given:
    action = given.get("action") or {"commands": given.get("commands")}
    limits = {"max_output_length": None, "timeout_ms": None}
    environment = given.get("environment", {"type": "local"})
    ordered = {"commands": action["commands"], **limits, **action}
    return {"call_id": given.get("call_id", ""), "action": ordered, "environment": environment}


def _expand_patch(given: Given) -> Given:
    operation = given["operation"]
    diff = {} if operation["type"] == "delete_file" else {"diff": operation.get("diff", "")}
    return {"call_id": given.get("call_id", ""), "operation": {**operation, **diff}}


def _expand_shell_output(given: Given) -> Given:
    printed = [_expand_command_output(output) for output in given["output"]]
    return {"call_id": given.get("call_id", ""), "output": printed, "max_output_length": given.get("max_output_length")}


def _expand_command_output(output: Given) -> Given:
    exited = {"type": "exit", "exit_code": output.get("exit_code", 0)}
    outcome = {"type": "timeout"} if output.get("timed_out") else exited
    return {"outcome": outcome, "stderr": output.get("stderr", ""), "stdout": output.get("stdout", "")}


def _expand_patch_output(given: Given) -> Given:
    return {"call_id": given.get("call_id", ""), "output": given.get("output")}


_NO_RESULT: Given = {"file_id": None, "filename": None, "score": None, "text": None, "attributes": {}}
_NO_TOOL: Given = {"name": "", "description": None, "input_schema": {"type": "object"}, "annotations": None}
_ACTION_DEFAULTS: Mapping[str, Given] = {"click": {"button": "left"}, "scroll": {"scroll_x": 0, "scroll_y": 0}}
BODIES: Mapping[str, Callable[[Given], Given]] = {
    "web_search_call": _expand_web_search,
    "file_search_call": _expand_file_search,
    "code_interpreter_call": _expand_code,
    "image_generation_call": _expand_image,
    "computer_call": _expand_computer,
    "mcp_call": _expand_mcp_call,
    "mcp_list_tools": _expand_mcp_tools,
    "mcp_approval_request": _expand_mcp_approval,
    "local_shell_call": _expand_local_shell,
    "shell_call": _expand_shell,
    "shell_call_output": _expand_shell_output,
    "apply_patch_call": _expand_patch,
    "apply_patch_call_output": _expand_patch_output,
}


def describe_error(error: Json) -> str:
    """Return an error of a call as a text."""
    if not isinstance(error, Mapping):
        return str(error or "")
    content = error.get("content")
    texts = [block.get("text") for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    return "\n".join(text for text in texts if isinstance(text, str)) or str(error.get("message") or compact(error))
