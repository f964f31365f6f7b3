"""Messages of MCP servers in recorded answers (JSON-RPC 2.0): a body, or the events of a stream."""

from collections.abc import Iterator, Mapping

from mockserver.core.episode import Episode, Recorded
from mockserver.core.json import Json, try_parse
from mockserver.core.server_sent_events import find_data

Message = Mapping[str, Json]


def find_response(recorded: Recorded) -> Message | None:
    """Return the message that answers a request, in a body or the events of a stream; None if nothing answers it."""
    return next((message for message in list_messages(recorded) if is_response(message)), None)


def list_messages(recorded: Recorded) -> Iterator[Message]:
    """Yield the messages of an answer in order: notifications and requests of the server, and the response."""
    events = (recorded.body,) if recorded.frames is None else [event for _, event in recorded.frames]
    found = [read_message(event if recorded.frames is None else find_data(event)) for event in events]
    yield from (message for message in found if message is not None)


def read_message(text: bytes) -> Message | None:
    """Read a text as a message; return None if it is not one."""
    message = try_parse(text.decode("utf-8", "replace"))
    return message if isinstance(message, Mapping) else None


def is_response(message: Message) -> bool:
    return "method" not in message and ("result" in message or "error" in message)


class ResponseEvent:
    """Finds the event that ends a stream, as a pattern would: the one with the response."""

    def search(self, event: bytes) -> object:
        """Return something if an event has the response, else None."""
        message = read_message(find_data(event))
        return message if message is not None and is_response(message) else None


def name_request(episode: Episode) -> str:
    """Return what an episode asks, such as `openai chat gpt-4o`, or `mcp files tools/call read_file`."""
    message = read_message(episode.request.body) if episode.dialect == "mcp" else None
    if message is None:
        return " ".join(filter(None, (episode.dialect, episode.operation, episode.model)))
    params = message.get("params")
    target = params.get("name", params.get("uri")) if isinstance(params, Mapping) else None
    words = (episode.dialect, episode.model, message.get("method"), target)
    return " ".join(str(word) for word in words if word)
