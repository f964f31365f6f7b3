"""Episodes as text for a terminal. Nothing recorded is printed raw, so no escape sequence gets through."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from mockserver.cassettes.parse_response import ParsedChoice, ParsedResponse, events, parse_response
from mockserver.core.call import Call, Message
from mockserver.core.episode import Episode
from mockserver.core.json import compact, parsed
from mockserver.core.text import one_line, plural, truncate

WIDTH = 160  # characters of a line in a list


def line(text: str, longest: int = WIDTH) -> str:
    """A text on one line, cut, with unprintable characters escaped."""
    return one_line(truncate(text, longest))


def block(text: str, indent: str) -> Iterator[str]:
    """The indented lines of a text, with unprintable characters escaped."""
    return (indent + one_line(row) for row in text.split("\n"))


def day(at: float) -> str:
    """The date of a Unix time."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def size(bytes_: int) -> str:
    """Such as `5.3 kB`."""
    for unit, bytes_each in (("MB", 1_000_000), ("kB", 1_000)):
        if bytes_ >= bytes_each:
            return f"{bytes_ / bytes_each:.1f} {unit}"
    return f"{bytes_} B"


def headline(source: str, episode: Episode) -> str:
    """An episode on one line: the request, and a summary of the answer."""
    response = parse_response(episode.reply, episode.operation)
    streamed = f" in {plural(len(episode.reply.frames), 'event')}" if episode.reply.frames is not None else ""
    request = f"{episode.dialect} {episode.operation} {episode.model}".strip()
    answer = _summary(response) or _item_count(episode)
    return line(f"{source}  {request} -> {episode.reply.status}{streamed}: {answer}")


def _summary(response: ParsedResponse) -> str:
    if response.error is not None:
        return f"error {_error(response)}"
    if not response.choices:
        return ""
    first = response.choices[0]
    calls = " ".join(f"{call.name}({call.text})" for call in first.calls)
    return " ".join(filter(None, (first.joined("text") or first.joined("refusal"), calls))) or first.finish or "-"


def _item_count(episode: Episode) -> str:
    body = parsed(episode.reply.bytes.decode("utf-8", "replace"))
    values = body.values() if isinstance(body, Mapping) else ()
    found = next((value for value in values if isinstance(value, list)), None)
    return "-" if found is None else plural(len(found), episode.operation.removesuffix("s"))


def _error(response: ParsedResponse) -> str:
    """Its code and message; some providers put these next to `error`."""
    tables = (each for each in (response.error, response.body) if isinstance(each, Mapping))
    words = (" ".join(str(each[key]) for key in ("code", "message") if each.get(key) is not None) for each in tables)
    return next(filter(None, words), str(response.error))


def full_description(source: str, episode: Episode, call: Call | None) -> Iterator[str]:
    """The lines of an episode: request, answer and timing."""
    sent, recorded = episode.request, f", recorded {day(episode.at)}" if episode.at else ""
    query = f"?{sent.query}" if sent.query else ""
    yield line(f"{source}: {episode.dialect} {episode.operation} {episode.model}".rstrip() + recorded)
    yield line(f"{sent.method} {sent.path}{query}")
    if call is not None and call.messages:
        yield from _call(call)
    elif sent.body:
        yield from block(sent.body.decode("utf-8", "replace"), "  ")
    yield from _answer(episode)


def _call(call: Call) -> Iterator[str]:
    for message in call.messages:
        yield from _message(message)
    if call.tools:
        yield line(f"  tools: {', '.join(tool.name for tool in call.tools)}")
    others = {name: value for name, value in call.raw.items() if name not in _SHOWN}
    if others:
        yield line("  with: " + ", ".join(f"{name} {compact(value)}" for name, value in others.items()), 400)


def _message(message: Message) -> Iterator[str]:
    if message.text or not message.tool_calls:
        yield from _labelled(line(message.role), message.text)
    for part in message.parts:
        yield f"    ({line(str(part.get('type')))})"
    for made in message.tool_calls:
        yield line(f"  {message.role} calls {made.name}({made.arguments})", 2000)


def _labelled(label: str, text: str) -> Iterator[str]:
    first, *rest = block(text, "")
    yield f"  {label}: {first}"
    yield from (f"    {row}" for row in rest)


def _answer(episode: Episode) -> Iterator[str]:
    reply, response = episode.reply, parse_response(episode.reply, episode.operation)
    yield f"-> {reply.status}{_timing(episode)}"
    for at, choice in enumerate(response.choices):
        if len(response.choices) > 1:
            yield f"  choice {at}"
        yield from _choice(choice)
    if response.error is not None:
        yield from _labelled("error", _error(response))
    if not response.choices and response.error is None and reply.bytes:
        yield from block(reply.bytes.decode("utf-8", "replace")[:2000], "  ")
    if not response.complete:
        yield "  (the stream breaks off here)"
    if response.usage:
        counts = {name: number for name, number in response.usage.items() if isinstance(number, int)}
        yield "  usage: " + ", ".join(f"{line(name)} {number}" for name, number in counts.items())


def _timing(episode: Episode) -> str:
    reply = episode.reply
    if reply.frames is None:
        return f", {size(len(reply.body))}" + (f" after {reply.took:.3f} s" if reply.took else "")
    total = plural(len(events(reply.frames)), "event")
    if not reply.frames or not reply.frames[-1][0]:
        return f", {total}"
    return f", {total}, the first after {reply.frames[0][0]:.3f} s, the last {reply.frames[-1][0]:.3f} s"


def _choice(choice: ParsedChoice) -> Iterator[str]:
    for part in choice.parts:
        if part.call is not None:
            yield line(f"  calls {part.call.name}({part.call.text})", 2000)
        elif part.item is not None:
            yield line(f"  ({part.item.get('type')}) {compact(part.item)}", 400)
        else:
            yield from _labelled(part.kind, part.text)
    if choice.finish:
        yield f"  finish: {line(choice.finish)}"


_SHOWN = frozenset(("model", "messages", "input", "prompt", "tools", "stream"))
