"""How OpenAI refuses a schema that nothing can be made of: which of the request's schemas it is, and by which name.

Knows where the families of OpenAI's wire carry schemas (`wire/openai.md`), not what is wrong with one.
"""

from collections.abc import Mapping
from dataclasses import replace

from mockserver.core.call import Call, Json
from mockserver.core.plan import Failure
from mockserver.dialects._shared.parse import clip


def of_schema(failure: Failure, call: Call | None, *, coded: bool) -> Failure:
    """The failure in OpenAI's words where its details hold a schema that the call brought.

    It gets a `param`, and, `coded`, OpenAI's code, which look-alikes do not have.
    """
    details = failure.details
    if call is None or failure.param is not None or details.get("schema") is None:
        return failure
    found = _of_format(call, details["schema"]) or _of_tool(call, details["schema"])
    if found is None:
        return failure
    what, param, code = found
    message = f"Invalid schema for {what}: {details['why']} (at {details['pointer']})."
    return replace(failure, message=message, param=param, code=code if coded and failure.code is None else failure.code)


def _of_format(call: Call, schema: Json) -> tuple[str, str, str | None] | None:
    if call.schema is not schema:
        return None
    chat, responses = _within(call.raw, "response_format", "json_schema"), _within(call.raw, "text", "format")
    name = clip(str(chat.get("name") or responses.get("name") or ""))
    what = f"response_format '{name}'" if name else "response_format"
    return (what, "text.format.schema", "invalid_json_schema") if responses else (what, "response_format", None)


def _of_tool(call: Call, schema: Json) -> tuple[str, str, str] | None:
    for at, tool in enumerate(call.tools):
        if tool.parameters is schema:
            what = f"function '{clip(tool.name)}'"
            return what, _PLACES.get(_spelling(call.raw), _CHAT).format(at), "invalid_function_parameters"
    return None


def _spelling(raw: Mapping[str, Json]) -> str:
    """Which of the keys the request has that only one way of giving tools has."""
    return next((key for key in ("functions", "input", "previous_response_id") if key in raw), "")


def _within(found: Json, *keys: str) -> Mapping[str, Json]:
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


_CHAT = "tools[{}].function.parameters"
_PLACES = {
    "functions": "functions[{}].parameters",
    "input": "tools[{}].parameters",
    "previous_response_id": "tools[{}].parameters",
}
