"""Completions: a text that continues each prompt."""

from mockserver.kinds.kind import OF_TOOLS, Conversation

COMPLETION = Conversation(
    name="completions",
    body=lambda text: {"prompt": text},
    body_key="prompt",
    withheld=OF_TOOLS | {"items", "failed", "tool_calls", "system_fingerprint"},
    continues="responses",
)
OPERATIONS = (COMPLETION,)
