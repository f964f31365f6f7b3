"""What an answer of an upstream says about a wrong setup, such as an invalid key, which nobody wants to record."""

import re
from collections.abc import Mapping

from mockserver.config.settings import name_key_variable
from mockserver.config.spelling import Spelling
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.json import try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.core.mcp_messages import find_response
from mockserver.core.mcp_server import INVALID_PARAMS, METHOD_NOT_FOUND, UNKNOWN_RESOURCE
from mockserver.dialects import discover_all

_REJECTED = "{status}: the upstream rejected the API key; give the client a valid one, or set {key}"
_HIDDEN = compile_lazily(rb"may not exist|not found \(or permission denied\)")  # Google's 403 of what there is not
_PATH = compile_lazily(r"(?<![\w.])/[^\s\"']*")
_MISSING = compile_lazily(
    r"model_?not_?found|deployment_?not_?found|\bwith id\b|\b(?:response|completion)_id\b", re.IGNORECASE
)
_MCP_ERRORS = (METHOD_NOT_FOUND, INVALID_PARAMS, UNKNOWN_RESOURCE)  # they depend on the request alone


def find_misconfiguration(reply: Recorded, call: Call, spelling: Spelling) -> str | None:
    """Return what is wrong with a key or URL by an answer, and what to do next, or None."""
    why = _find_refusal(reply, call, spelling) if call.mcp is None else _find_mcp_refusal(reply, call, spelling)
    return None if why is None else f"{why} ({spelling.write('record_errors', True)} records it too)"


def _find_refusal(reply: Recorded, call: Call, spelling: Spelling) -> str | None:
    status = reply.status
    dialect = call.label
    if status == 403 and _HIDDEN.search(reply.bytes):
        return None
    if status in (401, 403) or (status == 400 and b"API_KEY_INVALID" in reply.bytes):
        return _REJECTED.format(status=status, key=name_key_variable(dialect))
    if status == 404 and not _names_missing_object(call, reply.bytes.decode("utf-8", "replace")):
        has_version = "/v1" in discover_all().get(dialect, discover_all()[call.dialect]).mounts[0]
        end = "which ends in /v1" if has_version else "without /v1"
        written = spelling.write("upstream", {dialect: "URL"})
        return f"404: the URL in {written} looks wrong; give the base URL, {end}"
    return None


def _find_mcp_refusal(reply: Recorded, call: Call, spelling: Spelling) -> str | None:
    """Return why an MCP server refused a message, if the reason is its setup or its state, not the message; or None."""
    status = reply.status
    if status in (401, 403):
        return _REJECTED.format(status=status, key=name_key_variable(call.upstream))
    response = find_response(reply)
    if response is None:
        written = spelling.write("upstream", {call.upstream: "URL"})
        return f"{status}: not an answer of an MCP server; check the URL in {written}"
    error = response.get("error")
    stated = error if isinstance(error, Mapping) else {"message": ""}
    if status < 400 or stated.get("code") in _MCP_ERRORS:
        return None
    return f"{status}: the MCP server refused the message: {stated.get('message')}"


def _names_missing_object(call: Call, body: str) -> bool:
    """Return whether an error names the model or the id of the request, outside of paths.

    A server at a wrong URL cannot do that.
    """
    if not isinstance(try_parse(body), dict | list):
        return False
    said = _PATH.sub("", body)
    return any(name and name in said for name in (call.model, call.id)) or _MISSING.search(said) is not None
