"""Chats, and stored chats that can be retrieved, changed and deleted."""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Stored
from mockserver.kinds.audio import AUDIO, write_turn
from mockserver.kinds.kind import MCP_ANSWER_KEYS, Conversation
from mockserver.kinds.stored_answers import AnswerLookUp, FoundAnswer, delete, show


def _update_metadata(call: Call, stored: Stored) -> FoundAnswer:
    raw = {**stored.call.raw, "metadata": call.raw.get("metadata")}
    changed = replace(stored, call=replace(stored.call, raw=raw))
    return FoundAnswer(show(call, changed).seen, changed)


CHAT = Conversation(
    name="chat",
    body=lambda text: {"messages": [{"role": "user", "content": text}]},
    body_key="messages",
    withheld=MCP_ANSWER_KEYS | {"items", "failed"},
    continues="chat",
    needs_previous=True,
    then=AUDIO,
    write=write_turn,
)
OPERATIONS = (
    CHAT,
    AnswerLookUp(name="stored_chats", made_by=CHAT.name),
    AnswerLookUp(name="stored_chat", made_by=CHAT.name, act=show),
    AnswerLookUp(name="update_chat", made_by=CHAT.name, act=_update_metadata),
    AnswerLookUp(name="delete_chat", made_by=CHAT.name, act=delete),
    AnswerLookUp(name="chat_messages", made_by=CHAT.name, act=show),
    AnswerLookUp(name="generation", made_by=CHAT.name, act=show),  # what a chat took
)
