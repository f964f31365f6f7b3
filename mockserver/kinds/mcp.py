"""Requests to MCP servers: for tools, resources and prompts, with handshakes, lists and notifications around them."""

from mockserver.core.mcp_server import SESSION_OPERATION
from mockserver.kinds.kind import OperationKind

_WORDS_OF_MODELS = frozenset(
    (
        *("refusal", "tool_calls", "items", "parts", "choices", "reasoning", "annotations", "logprobs", "finish"),
        *("failed", "usage", "model", "system_fingerprint", "content_filter", "annotate", "chunks"),
        *("steps", "cassette", "forward"),  # there are no turns, and nothing is recorded
    )
)


class McpOperation(OperationKind, frozen=True, kw_only=True):
    """An operation of MCP; `is_session`: it only surrounds calls, and no rule answers it with a text."""

    is_session: bool = False
    names_model: bool = False
    withheld: frozenset[str] = _WORDS_OF_MODELS


TOOL_CALL = McpOperation(name="mcp_call")
RESOURCE_READ = McpOperation(name="mcp_read", withheld=_WORDS_OF_MODELS | {"tool_error"})
PROMPT_GET = McpOperation(name="mcp_prompt", withheld=_WORDS_OF_MODELS | {"tool_error"})
SESSION = McpOperation(name=SESSION_OPERATION, is_session=True, takes_text=False)
ANSWERED = {"tools/call": TOOL_CALL, "resources/read": RESOURCE_READ, "prompts/get": PROMPT_GET}  # by rules
OPERATIONS = (*ANSWERED.values(), SESSION)
