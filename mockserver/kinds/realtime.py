"""Realtime: spoken conversations over a WebSocket, the keys that open one, and calls on the telephone."""

from mockserver.kinds.audio import AUDIO, write_turn
from mockserver.kinds.kind import MCP_ANSWER_KEYS, Conversation
from mockserver.kinds.objects import Creation, ObjectKind

TURN = Conversation(
    name="realtime",
    body=lambda text: {
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}]
    },
    body_key="input",
    withheld=MCP_ANSWER_KEYS | {"items", "system_fingerprint"},
    continues="realtime",
    then=AUDIO,
    write=write_turn,
)
CLIENT_SECRET, TRANSLATION_SECRET = (Creation(name=f"create_{name}_secret") for name in ("client", "translation"))
AUTH_TOKEN = Creation(name="create_auth_token")
CALLS = ObjectKind("call", others=("accept_call", "hang_up_call", "refer_call", "reject_call"))
OPERATIONS = (TURN, CLIENT_SECRET, TRANSLATION_SECRET, AUTH_TOKEN, *CALLS.operations)
