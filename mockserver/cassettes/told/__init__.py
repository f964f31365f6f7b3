"""What a recorded answer says, in no provider's shape: parts of each choice, usage, an error. Plain and streamed alike.

What it cannot make sense of it leaves out: it reads for people and for rules, the bytes are told nowhere else.
"""

from collections.abc import Callable, Mapping, Sequence

from mockserver.cassettes.told.chats import of_chat, of_chunks
from mockserver.cassettes.told.events import Event, events
from mockserver.cassettes.told.responses import of_response, of_steps
from mockserver.cassettes.told.texts import of_completion, of_text_chunks
from mockserver.cassettes.told.told import Part, Said, Told, Used, table
from mockserver.core.episode import Recorded
from mockserver.core.json_text import Json, parsed

__all__ = ["Event", "Part", "Said", "Told", "Used", "events", "told"]


def told(reply: Recorded, operation: str) -> Told:
    """What the answer to an operation says."""
    if reply.frames is not None:
        return _streamed(reply, operation)
    text = reply.body.decode("utf-8", "replace")
    body = parsed(text)
    if reply.status >= 400:
        whole = text if body is None else body
        return Told(error=_error(whole), status=reply.status, body=whole)
    read = _PLAIN.get(operation)
    if read is None or not isinstance(body, Mapping):
        return Told(status=reply.status)
    return read(body)


def _streamed(reply: Recorded, operation: str) -> Told:
    found = events(reply.frames or ())
    if reply.status >= 400:
        text = "".join(event.text for event in found)
        return Told(error=text, status=reply.status, body=text)
    read = _STREAMED.get(operation)
    return Told() if read is None else read(found)


def _error(body: Json) -> Json:
    """What stands in the envelope of an error; the whole body where it is none."""
    return body.get("error") or table(body) if isinstance(body, Mapping) else body


_PLAIN: Mapping[str, Callable[[Mapping[str, Json]], Told]] = {
    "chat": of_chat,
    "completions": of_completion,
    "responses": of_response,
    "response": of_response,
    "stored_chat": of_chat,
}
_STREAMED: Mapping[str, Callable[[Sequence[Event]], Told]] = {
    "chat": of_chunks,
    "completions": of_text_chunks,
    "responses": of_steps,
    "response": of_steps,
}
