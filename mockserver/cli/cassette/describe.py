"""An episode for people, in one line or in full. Nothing recorded is printed raw: no escape sequence gets through."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from mockserver.cassettes.formats import parse_answer
from mockserver.cassettes.parsed_response import ParsedChoice, ParsedResponse
from mockserver.cassettes.stream_events import parse_events
from mockserver.core.call import Call, Message
from mockserver.core.episode import Episode, join_header
from mockserver.core.http import Headers, read_media_type
from mockserver.core.json import compact, try_parse
from mockserver.core.mcp_messages import name_request
from mockserver.core.text import count_noun, format_size, join_to_line, truncate
from mockserver.dialects._forms import FormReader

WIDTH = 160  # characters of a line in a list
MAX_FINDING = 400  # characters of what is found in an episode


def shorten_line(text: str, longest: int = WIDTH) -> str:
    """Return a text on one line, cut, with unprintable characters escaped."""
    return join_to_line(truncate(text, longest))


def indent_block(text: str, indent: str) -> Iterator[str]:
    return (indent + join_to_line(row) for row in text.split("\n"))


def format_day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def summarize_episode(source: str, episode: Episode) -> str:
    """Return an episode on one line: the request, and a summary of the answer."""
    response = parse_answer(episode)
    streamed = f" in {count_noun(len(episode.reply.frames), 'event')}" if episode.reply.frames is not None else ""
    request = name_request(episode)
    answer = _summarize(response) or _describe_item(episode)
    return shorten_line(f"{source}  {request} -> {episode.reply.status}{streamed}: {answer}")


def _summarize(response: ParsedResponse) -> str:
    if response.error is not None:
        return f"error {_describe_error(response)}"
    if not response.choices:
        return ""
    first = response.choices[0]
    calls = " ".join(f"{call.name}({call.text})" for call in first.calls)
    return (
        " ".join(filter(None, (first.join_texts("text") or first.join_texts("refusal"), calls))) or first.finish or "-"
    )


def _describe_item(episode: Episode) -> str:
    """Return how many items an answer lists, which object it is, or the type and size of one that is not JSON."""
    reply = episode.reply
    body = try_parse(reply.bytes.decode("utf-8", "replace"))
    if not isinstance(body, Mapping):
        return _describe_bytes(join_header(reply.headers, "content-type"), reply.bytes) if reply.bytes else "-"
    listed = next((value for value in body.values() if isinstance(value, list)), None)
    if listed is not None:
        return count_noun(len(listed), episode.operation.removesuffix("s"))
    return str(body.get("id") or body.get("name") or "-")


def _describe_error(response: ParsedResponse) -> str:
    """Return its code and message; some providers put these next to `error`."""
    tables = (each for each in (response.error, response.body) if isinstance(each, Mapping))
    words = (" ".join(str(each[key]) for key in ("code", "message") if each.get(key) is not None) for each in tables)
    return next(filter(None, words), str(response.error))


def describe_episode(source: str, episode: Episode, call: Call | None) -> Iterator[str]:
    """Yield the lines of an episode: request, answer and timing."""
    sent = episode.request
    recorded = f", recorded {format_day(episode.at)}" if episode.at else ""
    query = f"?{sent.query}" if sent.query else ""
    yield shorten_line(f"{source}: {name_request(episode)}{recorded}")
    yield shorten_line(f"{sent.method} {sent.path}{query}")
    if call is not None and call.messages:
        yield from _describe_call(call)
    elif sent.body:
        yield from _describe_body(sent.headers, sent.body)
    yield from _describe_answer(episode)


def _describe_body(headers: Headers, body: bytes, longest: int | None = None) -> Iterator[str]:
    """Yield the fields and files of a form, the first `longest` characters of a text, or else type and size."""
    media_type = dict(headers).get("content-type", "")
    try:
        reader = FormReader(media_type)
        reader.write(body)
        parts = reader.finish().parts
    except ValueError:
        parts = ()
    for part in parts:
        shown = _describe_bytes(part.media_type, part.data, part.file_name) if part.is_file else part.text
        yield shorten_line(f"  {part.name}: {shown}")
    if not parts:
        try:
            yield from indent_block(body.decode()[:longest], "  ")
        except UnicodeDecodeError:
            yield shorten_line(f"  {_describe_bytes(media_type, body)}")


def _describe_bytes(media_type: str | None, data: bytes, name: str | None = None) -> str:
    return ", ".join(filter(None, (name, read_media_type(media_type or ""), format_size(len(data)))))


def _describe_call(call: Call) -> Iterator[str]:
    for message in call.messages:
        yield from _describe_message(message)
    if call.tools:
        yield shorten_line(f"  tools: {', '.join(tool.name for tool in call.tools)}")
    others = {name: value for name, value in call.body.items() if name not in _SHOWN}
    if others:
        yield shorten_line("  with: " + ", ".join(f"{name} {compact(value)}" for name, value in others.items()), 400)


def _describe_message(message: Message) -> Iterator[str]:
    if message.text or not message.tool_calls:
        yield from _label(shorten_line(message.role), message.text)
    for part in message.parts:
        yield f"    ({shorten_line(str(part.get('type')))})"
    for made in message.tool_calls:
        yield shorten_line(f"  {message.role} calls {made.name}({made.arguments})", 2000)


def _label(label: str, text: str) -> Iterator[str]:
    first, *rest = indent_block(text, "")
    yield f"  {label}: {first}"
    yield from (f"    {row}" for row in rest)


def _describe_answer(episode: Episode) -> Iterator[str]:
    reply = episode.reply
    response = parse_answer(episode)
    yield f"-> {reply.status}{_describe_timing(episode)}"
    for at, choice in enumerate(response.choices):
        if len(response.choices) > 1:
            yield f"  choice {at}"
        yield from _describe_choice(choice)
    if response.error is not None:
        yield from _label("error", _describe_error(response))
    if not response.choices and response.error is None and reply.bytes:
        yield from _describe_body(reply.headers, reply.bytes, longest=2000)
    if not response.complete:
        yield "  (the stream breaks off here)"
    if response.usage:
        counts = {name: number for name, number in response.usage.items() if isinstance(number, int)}
        yield "  usage: " + ", ".join(f"{shorten_line(name)} {number}" for name, number in counts.items())


def _describe_timing(episode: Episode) -> str:
    reply = episode.reply
    if reply.frames is None:
        return f", {format_size(len(reply.body))}" + (f" after {reply.took:.3f} s" if reply.took else "")
    total = count_noun(len(parse_events(reply.frames)), "event")
    if not reply.frames or not reply.frames[-1][0]:
        return f", {total}"
    return f", {total}, the first after {reply.frames[0][0]:.3f} s, the last {reply.frames[-1][0]:.3f} s"


def _describe_choice(choice: ParsedChoice) -> Iterator[str]:
    for part in choice.parts:
        if part.call is not None:
            yield shorten_line(f"  calls {part.call.name}({part.call.text})", 2000)
        elif part.item is not None:
            yield shorten_line(f"  ({part.item.get('type')}) {compact(part.item)}", 400)
        else:
            yield from _label(part.kind, part.text)
    if choice.finish:
        yield f"  finish: {shorten_line(choice.finish)}"


_SHOWN = frozenset(("model", "messages", "input", "prompt", "contents", "systemInstruction", "tools", "stream"))
