"""Episodes as people read them in a terminal: nothing recorded is printed raw, so no escape sequence gets through."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from mockserver.cassettes.parse_response import Said, Told, events, told
from mockserver.core.call import Call, Message
from mockserver.core.episode import Episode
from mockserver.core.json import compact, parsed
from mockserver.core.text import plural

WIDE = 160  # characters of a line of a list


def line(text: str, longest: int = WIDE) -> str:
    """A text on one line, cut; what does not show as itself as an escape."""
    cut = text if len(text) <= longest else f"{text[:longest]}…"
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in cut)


def block(text: str, indent: str) -> Iterator[str]:
    """A text line by line, whole, each after an indent."""
    for row in text.split("\n"):
        yield indent + "".join(letter if letter.isprintable() or letter == "\t" else _escape(letter) for letter in row)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape", "backslashreplace").decode("ascii")


def day(at: float) -> str:
    """The day of a recording."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def size(count: int) -> str:
    """Bytes as people say them."""
    for unit, bytes_each in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= bytes_each:
            return f"{count / bytes_each:.1f} {unit}"
    return f"{count} B"


def headline(source: str, episode: Episode) -> str:
    """An episode in a line: what was asked, and what came."""
    said = told(episode.reply, episode.operation)
    streamed = f" in {plural(len(episode.reply.frames), 'event')}" if episode.reply.frames is not None else ""
    asked = f"{episode.dialect} {episode.operation} {episode.model}".strip()
    return line(f"{source}  {asked} -> {episode.reply.status}{streamed}: {_short(said) or _listed(episode)}")


def _short(said: Told) -> str:
    if said.error is not None:
        return f"error {_error(said)}"
    if not said.choices:
        return ""
    first = said.choices[0]
    calls = " ".join(f"{used.name}({used.text})" for used in first.calls)
    return " ".join(filter(None, (first.joined("text") or first.joined("refusal"), calls))) or first.finish or "-"


def _listed(episode: Episode) -> str:
    """How many things an answer has that says nothing: `2 embeddings`."""
    body = parsed(episode.reply.bytes.decode("utf-8", "replace"))
    values = body.values() if isinstance(body, Mapping) else ()
    found = next((value for value in values if isinstance(value, list)), None)
    return "-" if found is None else plural(len(found), episode.operation.removesuffix("s"))


def _error(said: Told) -> str:
    """Its code and message, which may stand beside what is called the error."""
    tables = (each for each in (said.error, said.body) if isinstance(each, Mapping))
    words = (" ".join(str(each[key]) for key in ("code", "message") if each.get(key) is not None) for each in tables)
    return next(filter(None, words), str(said.error))


def whole(source: str, episode: Episode, call: Call | None) -> Iterator[str]:
    """All of an episode that a reader wants: request, answer, beat."""
    sent, recorded = episode.request, f", recorded {day(episode.at)}" if episode.at else ""
    query = f"?{sent.query}" if sent.query else ""
    yield line(f"{source}: {episode.dialect} {episode.operation} {episode.model}".rstrip() + recorded)
    yield line(f"{sent.method} {sent.path}{query}")
    yield from _body(episode) if call is None or not call.messages else _asked(call)
    yield from _answered(episode)


def _body(episode: Episode) -> Iterator[str]:
    if episode.request.body:
        yield from block(episode.request.body.decode("utf-8", "replace"), "  ")


def _asked(call: Call) -> Iterator[str]:
    for message in call.messages:
        yield from _message(message)
    if call.tools:
        yield line(f"  tools: {', '.join(tool.name for tool in call.tools)}")
    beside = {name: value for name, value in call.raw.items() if name not in _SHOWN}
    if beside:
        yield line("  with: " + ", ".join(f"{name} {compact(value)}" for name, value in beside.items()), 400)


def _message(message: Message) -> Iterator[str]:
    first, *rest = block(message.text, "") if message.text or not message.tool_calls else ("",)
    if first or rest or not message.tool_calls:
        yield f"  {line(message.role)}: {first}"
        yield from (f"    {row}" for row in rest)
    for part in message.parts:
        yield f"    ({line(str(part.get('type')))})"
    for made in message.tool_calls:
        yield line(f"  {message.role} calls {made.name}({made.arguments})", 2000)


def _answered(episode: Episode) -> Iterator[str]:
    reply, said = episode.reply, told(episode.reply, episode.operation)
    yield f"-> {reply.status}{_beat(episode)}"
    for choice in said.choices:
        yield from _choice(choice, len(said.choices), said.choices.index(choice))
    if said.error is not None:
        first, *rest = block(_error(said), "")
        yield f"  error: {first}"
        yield from (f"    {row}" for row in rest)
    if not said.choices and said.error is None and reply.bytes:
        yield from block(reply.bytes.decode("utf-8", "replace")[:2000], "  ")
    if not said.whole:
        yield "  (the stream breaks off here)"
    if said.usage:
        counts = {name: count for name, count in said.usage.items() if isinstance(count, int)}
        yield "  usage: " + ", ".join(f"{line(name)} {count}" for name, count in counts.items())


def _beat(episode: Episode) -> str:
    reply = episode.reply
    if reply.frames is None:
        return f", {size(len(reply.body))}" + (f" after {reply.took:.3f} s" if reply.took else "")
    count = len(events(reply.frames))
    if not reply.frames or not reply.frames[-1][0]:
        return f", {plural(count, 'event')}"
    return (
        f", {plural(count, 'event')}, the first after {reply.frames[0][0]:.3f} s, the last {reply.frames[-1][0]:.3f} s"
    )


def _choice(choice: Said, of: int, at: int) -> Iterator[str]:
    if of > 1:
        yield f"  choice {at}"
    for part in choice.parts:
        if part.used is not None:
            yield line(f"  calls {part.used.name}({part.used.text})", 2000)
        elif part.item is not None:
            yield line(f"  ({part.item.get('type')}) {compact(part.item)}", 400)
        else:
            first, *rest = block(part.text, "")
            yield f"  {part.kind}: {first}"
            yield from (f"    {row}" for row in rest)
    if choice.finish:
        yield f"  finish: {line(choice.finish)}"


_SHOWN = frozenset(("model", "messages", "input", "prompt", "tools", "stream"))
