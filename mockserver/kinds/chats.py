"""Chats, and stored chats that can be retrieved, changed and deleted."""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Stored
from mockserver.kinds.kind import OF_TOOLS, Conversation
from mockserver.kinds.objects import Found, ObjectKind, delete, show


def _update_metadata(call: Call, stored: Stored) -> Found:
    raw = {**stored.call.raw, "metadata": call.raw.get("metadata")}
    changed = replace(stored, call=replace(stored.call, raw=raw))
    return Found(show(call, changed).seen, changed)


CHAT = Conversation(
    name="chat",
    body=lambda text: {"messages": [{"role": "user", "content": text}]},
    body_key="messages",
    withheld=OF_TOOLS | {"items", "failed"},
    continues="chat",
    needs_previous=True,
)
STORED_CHATS = ObjectKind(
    made_by="chat",
    listed_by="stored_chats",
    acts={"stored_chat": show, "update_chat": _update_metadata, "delete_chat": delete, "chat_messages": show},
)
OPERATIONS = (CHAT, *STORED_CHATS.look_ups)
