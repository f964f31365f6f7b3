"""An episode as a document of a cassette, the same for the same episode. What was written is read back before it is

let go: what YAML or JSON would not give back byte for byte is written as plain text, or as base64.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

from mockserver.cassettes import sse_yaml
from mockserver.cassettes.bodies import Lexeme, shown
from mockserver.cassettes.read import VERSION, document_of
from mockserver.cassettes.sse_yaml import flow, lines
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.http import Headers
from mockserver.core.json import Json, parsed
from mockserver.core.text import plural

LONGEST = 80  # letters of what the user said


def summary(episode: Episode) -> str:
    """Such as `openai chat gpt-4o, streamed: "What is the weather in Oslo?" -> 200, 12 events`."""
    request, reply = episode.request, episode.reply
    body = parsed(request.body.decode("utf-8", "replace"))
    said = _short(_said(body)) if isinstance(body, Mapping) else ""
    asked = f': "{said}"' if said else f": {_short(request.method)} {_short(request.path)}"
    streamed = ", streamed" if reply.frames is not None else ""
    events = "" if reply.frames is None else f", {plural(len(reply.frames), 'event')}"
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


HEAD = f"""\
# A cassette of mockserver: recorded calls and their answers, each in a document of its own.
version: {VERSION}
"""


def document(episode: Episode) -> str:
    """The YAML document of an episode, from `---` to the end of its last line. Raises CassetteError where none is."""
    episode = settled(episode)
    for plain in (False, True):
        text = _written(episode, plain=plain)
        if _holds(text, episode):
            return text
    raise CassetteError(
        f"a call to {episode.dialect} cannot be kept in a cassette: its path, query or headers are no text "
        f"({summary(episode)[:200]!a})"
    )


def settled(episode: Episode) -> Episode:
    """The episode as a cassette keeps it: its times to the millisecond, those of a stream to the microsecond."""
    reply = episode.reply
    frames = None if reply.frames is None else tuple((_settled(at), data) for at, data in reply.frames)
    at = datetime.fromtimestamp(round(max(0.0, episode.at) * 1000) / 1000, UTC).timestamp()
    return replace(episode, at=at, reply=replace(reply, frames=frames, took=_settled(reply.took)))


def _settled(seconds: float) -> float:
    return sse_yaml.seconds_of(sse_yaml.milliseconds(seconds))


def _holds(text: str, episode: Episode) -> bool:
    """Whether a document says just this, whoever reads it."""
    try:
        return document_of(text) == episode and len(text.encode()) > 0
    except (CassetteError, UnicodeEncodeError):
        return False


def _written(episode: Episode, *, plain: bool) -> str:
    table = {
        "call": summary(episode),
        "at": Lexeme(_moment(episode.at)),
        "dialect": episode.dialect,
        "operation": episode.operation,
        "model": episode.model,
        "request": _request(episode.request, plain=plain),
        "reply": _reply(episode.reply, plain=plain),
    }
    return "\n".join(("---", *lines(table), ""))


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _request(sent: Sent, *, plain: bool) -> Mapping[str, Json]:
    table: dict[str, Json] = {"method": sent.method, "path": sent.path}
    if sent.query:
        table["query"] = sent.query
    if sent.headers:
        table["headers"] = _headers(sent.headers, plain=plain)
    if sent.body:
        table["body"] = shown(sent.body, plain=plain)
    return table


def _reply(reply: Recorded, *, plain: bool) -> Mapping[str, Json]:
    table: dict[str, Json] = {"status": Lexeme(str(reply.status))}
    if reply.headers:
        table["headers"] = _headers(reply.headers, plain=plain)
    table["took"] = Lexeme(sse_yaml.milliseconds(reply.took))
    if reply.body:
        table["body"] = shown(reply.body, plain=plain)
    if reply.frames is not None:
        form = sse_yaml.form(reply.frames)
        table |= {"style": form.style.name} if form.style.name else {}
        table |= {"ends": form.ends} if form.ends != "lf" else {}
        table["frames"] = [sse_yaml.line(beat, form, plain=plain) for beat in reply.frames]
    return table | {"sha256": Lexeme(sha256(reply.bytes).hexdigest())}


def _headers(headers: Headers, *, plain: bool) -> Json:
    """A table; where a name stands twice, pairs."""
    table = dict(headers)
    return [flow(list(pair)) for pair in headers] if plain or len(table) < len(headers) else table
