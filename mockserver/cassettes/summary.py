"""A call and its answer in one line, for people who look through a cassette. Reads what all dialects have in common."""

from collections.abc import Mapping

from mockserver.core.episode import Episode
from mockserver.core.json_text import Json, parsed

LONGEST = 80  # letters of what the user said


def summary(episode: Episode) -> str:
    """Such as `openai chat gpt-4o, streamed: "What is the weather in Oslo?" -> 200, 12 events`."""
    request, reply = episode.request, episode.reply
    body = parsed(request.body.decode("utf-8", "replace"))
    said = _short(_said(body)) if isinstance(body, Mapping) else ""
    asked = f': "{said}"' if said else f": {_short(request.method)} {_short(request.path)}"
    streamed = ", streamed" if reply.frames is not None else ""
    events = "" if reply.frames is None else f", {len(reply.frames)} event{'s' if len(reply.frames) != 1 else ''}"
    named = " ".join(_short(word) for word in (episode.dialect, episode.operation, episode.model) if word)
    return f"{named}{streamed}{asked} -> {reply.status}{events}"


def _said(body: Mapping[str, Json]) -> str:
    """What the user said last."""
    messages = body.get("messages", body.get("input"))
    if isinstance(messages, list):
        users = [each for each in messages if isinstance(each, Mapping) and each.get("role") == "user"]
        return _text(users[-1].get("content")) if users else _text(messages)
    return _text(messages if messages is not None else body.get("prompt"))


def _text(content: Json) -> str:
    """The texts of a content: one, or parts that hold some."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return " ".join(text for text in texts if isinstance(text, str))


def _short(text: str) -> str:
    """A text on one line, cut."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * LONGEST]).split())
    return line if len(line) <= LONGEST and len(text) <= 4 * LONGEST else line[: LONGEST - 1] + "…"
