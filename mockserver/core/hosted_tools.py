"""Items of an answer for uses of the provider's own tools: expands short forms and adds the keys that the API requires.

Rules and the model share it. An empty `call_id`, `container_id` or `result` is filled in later; an output gets the id
of its call.
"""

from collections.abc import Callable, Mapping

from pydantic_core import to_json

from mockserver.core.json import Json, compact
from mockserver.core.plan import Item
from mockserver.core.tokens import Chunks

Fields = Mapping[str, Json]


def make_item(kind: str, fields: Fields, *, chunks: Chunks = "token") -> Item:
    """Return the item of a kind such as `web_search_call` from the keys of the API or from short forms.

    Kinds without short forms are in the API's form.
    """
    ended = {"status": fields["status"]} if "status" in fields else {}
    rest = {key: value for key, value in fields.items() if key != "status"}
    return Item(kind, {**BODIES.get(kind, dict)(rest), **ended}, chunks)


def _expand_web_search(fields: Fields) -> Fields:
    action = fields.get("action") or {"type": "search", **fields}
    if action["type"] != "search":
        return {"action": action}
    queries = action.get("queries") or [action.get("query") or ""]
    found_at = [source if isinstance(source, str) else source["url"] for source in action.get("sources", ())]
    sources = [{"type": "url", "url": url} for url in found_at]
    found = {"sources": sources} if "sources" in action else {}
    return {"action": {"type": "search", "query": action.get("query", queries[0]), "queries": queries, **found}}


def _expand_file_search(fields: Fields) -> Fields:
    results = fields.get("results")
    found = None if results is None else [{**_NO_RESULT, **result} for result in results]
    return {"queries": fields.get("queries") or [fields.get("query")], "results": found}


def _expand_code(fields: Fields) -> Fields:
    return {"code": fields["code"], "container_id": fields.get("container_id", ""), "outputs": fields.get("outputs")}


def _expand_image(fields: Fields) -> Fields:
    return {"result": "", **fields}


def _expand_computer(fields: Fields) -> Fields:
    checks = [{"id": "", "code": None, "message": None, **check} for check in fields.get("pending_safety_checks", ())]
    done = {"action": _fill_action(fields["action"])} if "action" in fields else {}
    several = {"actions": [_fill_action(action) for action in fields["actions"]]} if "actions" in fields else {}
    return {"call_id": fields.get("call_id", ""), **done, **several, "pending_safety_checks": checks}


def _fill_action(action: Fields) -> Fields:
    return {**_ACTION_DEFAULTS.get(action["type"], {}), **action}


def _expand_mcp_call(fields: Fields) -> Fields:
    error = fields.get("error")
    if isinstance(error, str):
        error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": error}]}
    return {
        "approval_request_id": fields.get("approval_request_id"),
        "arguments": _write_arguments(fields),
        "error": error,
        "name": fields["name"],
        "output": fields.get("output"),
        "server_label": fields["server_label"],
    }


def _expand_mcp_tools(fields: Fields) -> Fields:
    tools = [{**_NO_TOOL, **tool} for tool in fields.get("tools", ())]
    failed = {"error": fields["error"]} if fields.get("error") else {}
    return {"server_label": fields["server_label"], "tools": tools, **failed}


def _expand_mcp_approval(fields: Fields) -> Fields:
    return {"arguments": _write_arguments(fields), "name": fields["name"], "server_label": fields["server_label"]}


def _write_arguments(fields: Fields) -> str:
    arguments = fields.get("arguments", "{}")
    return arguments if isinstance(arguments, str) else to_json(arguments).decode()


def _expand_local_shell(fields: Fields) -> Fields:
    action = fields.get("action") or {"command": fields.get("command")}
    ordered = {"type": "exec", "command": action.get("command"), "env": {}, **action}
    return {"call_id": fields.get("call_id", ""), "action": ordered}


def _expand_shell(fields: Fields) -> Fields:
    action = fields.get("action") or {"commands": fields.get("commands")}
    limits = {"max_output_length": None, "timeout_ms": None}
    environment = fields.get("environment", {"type": "local"})
    ordered = {"commands": action["commands"], **limits, **action}
    return {"call_id": fields.get("call_id", ""), "action": ordered, "environment": environment}


def _expand_patch(fields: Fields) -> Fields:
    operation = fields["operation"]
    diff = {} if operation["type"] == "delete_file" else {"diff": operation.get("diff", "")}
    return {"call_id": fields.get("call_id", ""), "operation": {**operation, **diff}}


def _expand_shell_output(fields: Fields) -> Fields:
    printed = [_expand_command_output(output) for output in fields["output"]]
    longest = fields.get("max_output_length")
    return {"call_id": fields.get("call_id", ""), "output": printed, "max_output_length": longest}


def _expand_command_output(output: Fields) -> Fields:
    exited = {"type": "exit", "exit_code": output.get("exit_code", 0)}
    outcome = {"type": "timeout"} if output.get("timed_out") else exited
    return {"outcome": outcome, "stderr": output.get("stderr", ""), "stdout": output.get("stdout", "")}


def _expand_patch_output(fields: Fields) -> Fields:
    return {"call_id": fields.get("call_id", ""), "output": fields.get("output")}


_NO_RESULT: Fields = {"file_id": None, "filename": None, "score": None, "text": None, "attributes": {}}
_NO_TOOL: Fields = {"name": "", "description": None, "input_schema": {"type": "object"}, "annotations": None}
_ACTION_DEFAULTS: Mapping[str, Fields] = {"click": {"button": "left"}, "scroll": {"scroll_x": 0, "scroll_y": 0}}
BODIES: Mapping[str, Callable[[Fields], Fields]] = {
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
