"""Completions: a text that continues each prompt."""

from mockserver.kinds.kind import MCP_ANSWER_KEYS, Conversation

COMPLETION = Conversation(
    name="completions",
    body=lambda text: {"prompt": text},
    body_key="prompt",
    withheld=MCP_ANSWER_KEYS | {"items", "failed", "tool_calls", "system_fingerprint"},
    continues="responses",
)
OPERATIONS = (COMPLETION,)
